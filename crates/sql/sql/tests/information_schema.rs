//! Views of `information_schema`: each answer is PostgreSQL 15's.

mod common;

use common::{Client, database};

const SCHEMA: &str = "
    CREATE SCHEMA s1;
    CREATE TABLE s1.a (id serial PRIMARY KEY, n varchar(10) NOT NULL UNIQUE, arr int[], c numeric(5,2) CHECK (c > 0),
        iv interval day to second(3), g int GENERATED ALWAYS AS (3 * 2) STORED);
    CREATE TABLE s1.b (id int PRIMARY KEY REFERENCES s1.a, t text, ts timestamptz(3));
    CREATE VIEW s1.v AS SELECT a.id, a.n, b.t FROM s1.a JOIN s1.b USING (id);
    CREATE VIEW s1.w AS SELECT n FROM s1.v;
    CREATE SEQUENCE s1.q;
";

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let mut client = Client::new(&database());
    client.run(SCHEMA);
    for (sql, expected) in cases {
        assert_eq!(client.show(sql), *expected, "{sql}");
    }
}

#[test]
fn privileges_are_the_owners() {
    check(&[
        (
            "SELECT * FROM information_schema.table_privileges WHERE table_schema = 's1' AND table_name = 'w' ORDER BY 6",
            "postgres|postgres|postgres|s1|w|DELETE|YES|NO\n\
             postgres|postgres|postgres|s1|w|INSERT|YES|NO\n\
             postgres|postgres|postgres|s1|w|REFERENCES|YES|NO\n\
             postgres|postgres|postgres|s1|w|SELECT|YES|YES\n\
             postgres|postgres|postgres|s1|w|TRIGGER|YES|NO\n\
             postgres|postgres|postgres|s1|w|TRUNCATE|YES|NO\n\
             postgres|postgres|postgres|s1|w|UPDATE|YES|NO",
        ),
        ("SELECT count(*) FROM information_schema.role_table_grants WHERE table_schema = 's1'", "28"),
        ("SELECT count(*) FROM information_schema.column_privileges WHERE table_schema = 's1'", "52"),
        ("SELECT count(*) FROM information_schema.role_column_grants WHERE table_name = 'a'", "24"),
        (
            "SELECT grantee, udt_name, is_grantable FROM information_schema.udt_privileges WHERE udt_schema = 's1' ORDER BY 1, 2 LIMIT 5",
            "PUBLIC|a|NO\nPUBLIC|b|NO\nPUBLIC|v|NO\nPUBLIC|w|NO\npostgres|a|YES",
        ),
        ("SELECT count(*) FROM information_schema.usage_privileges WHERE object_schema = 's1'", "0"),
        ("SELECT count(*) FROM information_schema.enabled_roles WHERE role_name IN ('postgres', 'pg_monitor')", "2"),
        (
            "SELECT grantee, role_name FROM information_schema.applicable_roles WHERE grantee = 'postgres'",
            "postgres|pg_database_owner",
        ),
    ]);
}

#[test]
fn types_and_their_elements() {
    check(&[
        (
            "SELECT object_name, object_type, collection_type_identifier, data_type, udt_name, dtd_identifier
             FROM information_schema.element_types WHERE object_schema = 's1'",
            "a|TABLE|3|integer|int4|a3",
        ),
        (
            "SELECT object_name, string_agg(dtd_identifier, ',' ORDER BY dtd_identifier)
             FROM information_schema.data_type_privileges WHERE object_schema = 's1' GROUP BY 1 ORDER BY 1",
            "a|1,2,3,4,5,6\nb|1,2,3\nv|1,2,3\nw|1",
        ),
        (
            "SELECT udt_name, string_agg(column_name, ',' ORDER BY column_name)
             FROM information_schema.column_udt_usage WHERE table_schema = 's1' AND table_name = 'a' GROUP BY 1 ORDER BY 1",
            "_int4|arr\nint4|g,id\ninterval|iv\nnumeric|c\nvarchar|n",
        ),
        (
            "SELECT interval_type, datetime_precision FROM information_schema.columns WHERE column_name = 'iv' AND table_schema = 's1'",
            "DAY TO SECOND(3)|3",
        ),
        ("SELECT collation_name, pad_attribute FROM information_schema.collations WHERE collation_name = 'C'", "C|NO PAD"),
        (
            "SELECT information_schema._pg_char_max_length(1043, 14), information_schema._pg_char_octet_length(25, -1),
                    information_schema._pg_numeric_precision(1700, 327686), information_schema._pg_numeric_scale(1700, 327686),
                    information_schema._pg_datetime_precision(1184, -1), information_schema._pg_interval_type(1186, 327679)",
            "10|1073741824|5|2|6|YEAR",
        ),
    ]);
}

#[test]
fn what_views_and_routines_use() {
    check(&[
        (
            "SELECT view_name, table_name, column_name FROM information_schema.view_column_usage
             WHERE view_schema = 's1' ORDER BY 1, 2, 3",
            "v|a|id\nv|a|n\nv|b|id\nv|b|t\nw|v|n",
        ),
        (
            "SELECT view_name, table_name FROM information_schema.view_table_usage WHERE view_schema = 's1' ORDER BY 1, 2",
            "v|a\nv|b\nw|v",
        ),
        (
            "SELECT ordinal_position, parameter_mode, data_type, udt_name FROM information_schema.parameters
             WHERE specific_name ~ '^substr_' ORDER BY specific_name, ordinal_position LIMIT 3",
            "1|IN|bytea|bytea\n2|IN|integer|int4\n3|IN|integer|int4",
        ),
        ("SELECT count(*) FROM information_schema.triggers", "0"),
        ("SELECT count(*) FROM information_schema.domains WHERE domain_schema = 's1'", "0"),
        ("SELECT count(*) FROM information_schema.foreign_tables", "0"),
        ("SELECT pg_get_serial_sequence('s1.v', 'id') IS NULL, pg_get_serial_sequence('s1.a', 'id')", "t|s1.a_id_seq"),
        (
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'information_schema' AND table_name !~ '^(_pg|sql_)'",
            "60",
        ),
    ]);
}
