//! Roles and privileges, as the standard shows them. Source: PostgreSQL 15, `information_schema.sql`.

use crate::pg_catalog::layout::{SystemView, columns, views};

pub(super) static VIEWS: &[SystemView] = views! { "information_schema":
    13325 enabled_roles = r#"SELECT CAST(a.rolname AS name) AS role_name FROM pg_authid a WHERE pg_has_role(a.oid, 'USAGE')"#; {
        role_name: Name
    }
    13236 applicable_roles = r#"SELECT CAST(a.rolname AS name) AS grantee, CAST(b.rolname AS name) AS role_name, CAST(CASE WHEN
            m.admin_option THEN 'YES' ELSE 'NO' END AS varchar) AS is_grantable FROM (SELECT member, roleid,
            admin_option FROM pg_auth_members UNION SELECT datdba, pg_authid.oid, false FROM pg_database,
            pg_authid WHERE datname = current_database() AND rolname = 'pg_database_owner') m JOIN pg_authid
            a ON (m.member = a.oid) JOIN pg_authid b ON (m.roleid = b.oid) WHERE pg_has_role(a.oid, 'USAGE')"#; {
        grantee: Name, role_name: Name, is_grantable: Varchar
    }
    13241 administrable_role_authorizations = r#"SELECT * FROM information_schema.applicable_roles WHERE is_grantable = 'YES'"#; {
        grantee: Name, role_name: Name, is_grantable: Varchar
    }
    13416 table_privileges = r#"SELECT CAST(u_grantor.rolname AS name) AS grantor, CAST(grantee.rolname AS name) AS grantee,
            CAST(current_database() AS name) AS table_catalog, CAST(nc.nspname AS name) AS table_schema,
            CAST(c.relname AS name) AS table_name, CAST(c.prtype AS varchar) AS privilege_type, CAST(CASE
            WHEN pg_has_role(grantee.oid, c.relowner, 'USAGE') OR c.grantable THEN 'YES' ELSE 'NO' END AS
            varchar) AS is_grantable, CAST(CASE WHEN c.prtype = 'SELECT' THEN 'YES' ELSE 'NO' END AS
            varchar) AS with_hierarchy FROM (SELECT oid, relname, relnamespace, relkind, relowner,
            (aclexplode(coalesce(relacl, acldefault('r', relowner)))).* FROM pg_class) AS c (oid, relname,
            relnamespace, relkind, relowner, grantor, grantee, prtype, grantable), pg_namespace nc,
            pg_authid u_grantor, (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') AS
            grantee (oid, rolname) WHERE c.relnamespace = nc.oid AND c.relkind IN ('r', 'v', 'f', 'p') AND
            c.grantee = grantee.oid AND c.grantor = u_grantor.oid AND c.prtype IN ('INSERT', 'SELECT',
            'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER') AND (pg_has_role(u_grantor.oid,
            'USAGE') OR pg_has_role(grantee.oid, 'USAGE') OR grantee.rolname = 'PUBLIC')"#; {
        grantor: Name, grantee: Name, table_catalog: Name, table_schema: Name, table_name: Name,
        privilege_type: Varchar, is_grantable: Varchar, with_hierarchy: Varchar
    }
    13421 role_table_grants = r#"SELECT grantor, grantee, table_catalog, table_schema, table_name, privilege_type, is_grantable,
            with_hierarchy FROM information_schema.table_privileges WHERE grantor IN (SELECT role_name FROM
            information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM
            information_schema.enabled_roles)"#; {
        grantor: Name, grantee: Name, table_catalog: Name, table_schema: Name, table_name: Name,
        privilege_type: Varchar, is_grantable: Varchar, with_hierarchy: Varchar
    }
    13285 column_privileges = r#"SELECT CAST(u_grantor.rolname AS name) AS grantor, CAST(grantee.rolname AS name) AS grantee,
            CAST(current_database() AS name) AS table_catalog, CAST(nc.nspname AS name) AS table_schema,
            CAST(x.relname AS name) AS table_name, CAST(x.attname AS name) AS column_name, CAST(x.prtype AS
            varchar) AS privilege_type, CAST(CASE WHEN pg_has_role(x.grantee, x.relowner, 'USAGE') OR
            x.grantable THEN 'YES' ELSE 'NO' END AS varchar) AS is_grantable FROM (SELECT pr_c.grantor,
            pr_c.grantee, attname, relname, relnamespace, pr_c.prtype, pr_c.grantable, pr_c.relowner FROM
            (SELECT oid, relname, relnamespace, relowner, (aclexplode(coalesce(relacl, acldefault('r',
            relowner)))).* FROM pg_class WHERE relkind IN ('r', 'v', 'f', 'p')) pr_c (oid, relname,
            relnamespace, relowner, grantor, grantee, prtype, grantable), pg_attribute a WHERE a.attrelid =
            pr_c.oid AND a.attnum > 0 AND NOT a.attisdropped UNION SELECT pr_a.grantor, pr_a.grantee,
            attname, relname, relnamespace, pr_a.prtype, pr_a.grantable, c.relowner FROM (SELECT attrelid,
            attname, (aclexplode(coalesce(attacl, acldefault('c', relowner)))).* FROM pg_attribute a JOIN
            pg_class cc ON (a.attrelid = cc.oid) WHERE attnum > 0 AND NOT attisdropped) pr_a (attrelid,
            attname, grantor, grantee, prtype, grantable), pg_class c WHERE pr_a.attrelid = c.oid AND
            relkind IN ('r', 'v', 'f', 'p')) x, pg_namespace nc, pg_authid u_grantor, (SELECT oid, rolname
            FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') AS grantee (oid, rolname) WHERE x.relnamespace
            = nc.oid AND x.grantee = grantee.oid AND x.grantor = u_grantor.oid AND x.prtype IN ('INSERT',
            'SELECT', 'UPDATE', 'REFERENCES') AND (pg_has_role(u_grantor.oid, 'USAGE') OR
            pg_has_role(grantee.oid, 'USAGE') OR grantee.rolname = 'PUBLIC')"#; {
        grantor: Name, grantee: Name, table_catalog: Name, table_schema: Name, table_name: Name,
        column_name: Name, privilege_type: Varchar, is_grantable: Varchar
    }
    13344 role_column_grants = r#"SELECT grantor, grantee, table_catalog, table_schema, table_name, column_name, privilege_type, is_grantable
            FROM information_schema.column_privileges WHERE grantor IN (SELECT role_name FROM
            information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM
            information_schema.enabled_roles)"#; {
        grantor: Name, grantee: Name, table_catalog: Name, table_schema: Name, table_name: Name,
        column_name: Name, privilege_type: Varchar, is_grantable: Varchar
    }
    13353 routine_privileges = r#"SELECT CAST(u_grantor.rolname AS name) AS grantor, CAST(grantee.rolname AS name) AS grantee,
            CAST(current_database() AS name) AS specific_catalog, CAST(n.nspname AS name) AS
            specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS specific_name,
            CAST(current_database() AS name) AS routine_catalog, CAST(n.nspname AS name) AS routine_schema,
            CAST(p.proname AS name) AS routine_name, CAST('EXECUTE' AS varchar) AS privilege_type, CAST(CASE
            WHEN pg_has_role(grantee.oid, p.proowner, 'USAGE') OR p.grantable THEN 'YES' ELSE 'NO' END AS
            varchar) AS is_grantable FROM (SELECT oid, proname, proowner, pronamespace,
            (aclexplode(coalesce(proacl, acldefault('f', proowner)))).* FROM pg_proc) p (oid, proname,
            proowner, pronamespace, grantor, grantee, prtype, grantable), pg_namespace n, pg_authid
            u_grantor, (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') AS grantee
            (oid, rolname) WHERE p.pronamespace = n.oid AND grantee.oid = p.grantee AND u_grantor.oid =
            p.grantor AND p.prtype IN ('EXECUTE') AND (pg_has_role(u_grantor.oid, 'USAGE') OR
            pg_has_role(grantee.oid, 'USAGE') OR grantee.rolname = 'PUBLIC')"#; {
        grantor: Name, grantee: Name, specific_catalog: Name, specific_schema: Name, specific_name:
        Name, routine_catalog: Name, routine_schema: Name, routine_name: Name, privilege_type: Varchar,
        is_grantable: Varchar
    }
    13358 role_routine_grants = r#"SELECT grantor, grantee, specific_catalog, specific_schema, specific_name, routine_catalog, routine_schema,
            routine_name, privilege_type, is_grantable FROM information_schema.routine_privileges WHERE
            grantor IN (SELECT role_name FROM information_schema.enabled_roles) OR grantee IN (SELECT
            role_name FROM information_schema.enabled_roles)"#; {
        grantor: Name, grantee: Name, specific_catalog: Name, specific_schema: Name, specific_name:
        Name, routine_catalog: Name, routine_schema: Name, routine_name: Name, privilege_type: Varchar,
        is_grantable: Varchar
    }
    13445 udt_privileges = r#"SELECT CAST(u_grantor.rolname AS name) AS grantor, CAST(grantee.rolname AS name) AS grantee,
            CAST(current_database() AS name) AS udt_catalog, CAST(n.nspname AS name) AS udt_schema,
            CAST(t.typname AS name) AS udt_name, CAST('TYPE USAGE' AS varchar) AS privilege_type, CAST(CASE
            WHEN pg_has_role(grantee.oid, t.typowner, 'USAGE') OR t.grantable THEN 'YES' ELSE 'NO' END AS
            varchar) AS is_grantable FROM (SELECT oid, typname, typnamespace, typtype, typowner,
            (aclexplode(coalesce(typacl, acldefault('T', typowner)))).* FROM pg_type) AS t (oid, typname,
            typnamespace, typtype, typowner, grantor, grantee, prtype, grantable), pg_namespace n, pg_authid
            u_grantor, (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') AS grantee
            (oid, rolname) WHERE t.typnamespace = n.oid AND t.typtype = 'c' AND t.grantee = grantee.oid AND
            t.grantor = u_grantor.oid AND t.prtype IN ('USAGE') AND (pg_has_role(u_grantor.oid, 'USAGE') OR
            pg_has_role(grantee.oid, 'USAGE') OR grantee.rolname = 'PUBLIC')"#; {
        grantor: Name, grantee: Name, udt_catalog: Name, udt_schema: Name, udt_name: Name,
        privilege_type: Varchar, is_grantable: Varchar
    }
    13450 role_udt_grants = r#"SELECT grantor, grantee, udt_catalog, udt_schema, udt_name, privilege_type, is_grantable FROM
            information_schema.udt_privileges WHERE grantor IN (SELECT role_name FROM
            information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM
            information_schema.enabled_roles)"#; {
        grantor: Name, grantee: Name, udt_catalog: Name, udt_schema: Name, udt_name: Name,
        privilege_type: Varchar, is_grantable: Varchar
    }
    13454 usage_privileges = r#"SELECT CAST(u.rolname AS name) AS grantor, CAST('PUBLIC' AS name) AS grantee, CAST(current_database() AS
            name) AS object_catalog, CAST(n.nspname AS name) AS object_schema, CAST(c.collname AS name) AS
            object_name, CAST('COLLATION' AS varchar) AS object_type, CAST('USAGE' AS varchar) AS
            privilege_type, CAST('NO' AS varchar) AS is_grantable FROM pg_authid u, pg_namespace n,
            pg_collation c WHERE u.oid = c.collowner AND c.collnamespace = n.oid AND collencoding IN (-1,
            (SELECT encoding FROM pg_database WHERE datname = current_database())) UNION ALL SELECT
            CAST(u_grantor.rolname AS name) AS grantor, CAST(grantee.rolname AS name) AS grantee,
            CAST(current_database() AS name) AS object_catalog, CAST(n.nspname AS name) AS object_schema,
            CAST(t.typname AS name) AS object_name, CAST('DOMAIN' AS varchar) AS object_type, CAST('USAGE'
            AS varchar) AS privilege_type, CAST(CASE WHEN pg_has_role(grantee.oid, t.typowner, 'USAGE') OR
            t.grantable THEN 'YES' ELSE 'NO' END AS varchar) AS is_grantable FROM (SELECT oid, typname,
            typnamespace, typtype, typowner, (aclexplode(coalesce(typacl, acldefault('T', typowner)))).*
            FROM pg_type) AS t (oid, typname, typnamespace, typtype, typowner, grantor, grantee, prtype,
            grantable), pg_namespace n, pg_authid u_grantor, (SELECT oid, rolname FROM pg_authid UNION ALL
            SELECT 0::oid, 'PUBLIC') AS grantee (oid, rolname) WHERE t.typnamespace = n.oid AND t.typtype =
            'd' AND t.grantee = grantee.oid AND t.grantor = u_grantor.oid AND t.prtype IN ('USAGE') AND
            (pg_has_role(u_grantor.oid, 'USAGE') OR pg_has_role(grantee.oid, 'USAGE') OR grantee.rolname =
            'PUBLIC') UNION ALL SELECT CAST(u_grantor.rolname AS name) AS grantor, CAST(grantee.rolname AS
            name) AS grantee, CAST(current_database() AS name) AS object_catalog, CAST('' AS name) AS
            object_schema, CAST(fdw.fdwname AS name) AS object_name, CAST('FOREIGN DATA WRAPPER' AS varchar)
            AS object_type, CAST('USAGE' AS varchar) AS privilege_type, CAST(CASE WHEN
            pg_has_role(grantee.oid, fdw.fdwowner, 'USAGE') OR fdw.grantable THEN 'YES' ELSE 'NO' END AS
            varchar) AS is_grantable FROM (SELECT fdwname, fdwowner, (aclexplode(coalesce(fdwacl,
            acldefault('F', fdwowner)))).* FROM pg_foreign_data_wrapper) AS fdw (fdwname, fdwowner, grantor,
            grantee, prtype, grantable), pg_authid u_grantor, (SELECT oid, rolname FROM pg_authid UNION ALL
            SELECT 0::oid, 'PUBLIC') AS grantee (oid, rolname) WHERE u_grantor.oid = fdw.grantor AND
            grantee.oid = fdw.grantee AND fdw.prtype IN ('USAGE') AND (pg_has_role(u_grantor.oid, 'USAGE')
            OR pg_has_role(grantee.oid, 'USAGE') OR grantee.rolname = 'PUBLIC') UNION ALL SELECT
            CAST(u_grantor.rolname AS name) AS grantor, CAST(grantee.rolname AS name) AS grantee,
            CAST(current_database() AS name) AS object_catalog, CAST('' AS name) AS object_schema,
            CAST(srv.srvname AS name) AS object_name, CAST('FOREIGN SERVER' AS varchar) AS object_type,
            CAST('USAGE' AS varchar) AS privilege_type, CAST(CASE WHEN pg_has_role(grantee.oid,
            srv.srvowner, 'USAGE') OR srv.grantable THEN 'YES' ELSE 'NO' END AS varchar) AS is_grantable
            FROM (SELECT srvname, srvowner, (aclexplode(coalesce(srvacl, acldefault('S', srvowner)))).* FROM
            pg_foreign_server) AS srv (srvname, srvowner, grantor, grantee, prtype, grantable), pg_authid
            u_grantor, (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') AS grantee
            (oid, rolname) WHERE u_grantor.oid = srv.grantor AND grantee.oid = srv.grantee AND srv.prtype IN
            ('USAGE') AND (pg_has_role(u_grantor.oid, 'USAGE') OR pg_has_role(grantee.oid, 'USAGE') OR
            grantee.rolname = 'PUBLIC') UNION ALL SELECT CAST(u_grantor.rolname AS name) AS grantor,
            CAST(grantee.rolname AS name) AS grantee, CAST(current_database() AS name) AS object_catalog,
            CAST(n.nspname AS name) AS object_schema, CAST(c.relname AS name) AS object_name,
            CAST('SEQUENCE' AS varchar) AS object_type, CAST('USAGE' AS varchar) AS privilege_type,
            CAST(CASE WHEN pg_has_role(grantee.oid, c.relowner, 'USAGE') OR c.grantable THEN 'YES' ELSE 'NO'
            END AS varchar) AS is_grantable FROM (SELECT oid, relname, relnamespace, relkind, relowner,
            (aclexplode(coalesce(relacl, acldefault('r', relowner)))).* FROM pg_class) AS c (oid, relname,
            relnamespace, relkind, relowner, grantor, grantee, prtype, grantable), pg_namespace n, pg_authid
            u_grantor, (SELECT oid, rolname FROM pg_authid UNION ALL SELECT 0::oid, 'PUBLIC') AS grantee
            (oid, rolname) WHERE c.relnamespace = n.oid AND c.relkind = 'S' AND c.grantee = grantee.oid AND
            c.grantor = u_grantor.oid AND c.prtype IN ('USAGE') AND (pg_has_role(u_grantor.oid, 'USAGE') OR
            pg_has_role(grantee.oid, 'USAGE') OR grantee.rolname = 'PUBLIC')"#; {
        grantor: Name, grantee: Name, object_catalog: Name, object_schema: Name, object_name: Name,
        object_type: Varchar, privilege_type: Varchar, is_grantable: Varchar
    }
    13459 role_usage_grants = r#"SELECT grantor, grantee, object_catalog, object_schema, object_name, object_type, privilege_type,
            is_grantable FROM information_schema.usage_privileges WHERE grantor IN (SELECT role_name FROM
            information_schema.enabled_roles) OR grantee IN (SELECT role_name FROM
            information_schema.enabled_roles)"#; {
        grantor: Name, grantee: Name, object_catalog: Name, object_schema: Name, object_name: Name,
        object_type: Varchar, privilege_type: Varchar, is_grantable: Varchar
    }
};
