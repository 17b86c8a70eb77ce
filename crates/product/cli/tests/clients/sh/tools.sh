# PostgreSQL's command-line tools, and what pgAdmin 4 asks when it connects.

# step NAME FUNCTION: prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`; the next one runs either way.
step() {
    if ("$2") >output 2>&1; then
        echo "ok $1"
    else
        code=$(sed -n 's/.*ERROR:  *\([0-9A-Z]\{5\}\): .*/\1/p' output | head -n 1)
        echo "failed $1: ${code:------} $(tr '\n' ' ' <output | cut -c 1-300)"
        cat output >&2
    fi
}

ask() {
    psql --no-psqlrc --quiet --no-align --tuples-only --set ON_ERROR_STOP=1 --set VERBOSITY=verbose "$@"
}

# has LINE: whether a line of the input is this one.
has() {
    tee all | grep -Fx -e "$1" || { cat all; exit 1; }
}

make_user() { createuser --createdb --no-superuser tools_ada; }
make_database() { createdb --owner=tools_ada tools_app "for the tools" && createdb tools_copy; }
ready() { pg_isready --quiet; }
list_databases() { ask -c '\l' | cut -d '|' -f 1-3 | has 'tools_app|tools_ada|UTF8'; }
list_roles() { ask -c '\du' | cut -d '|' -f 1-2 | has 'tools_ada|Create DB'; }

use() {
    ask -U tools_ada -d tools_app <<'SQL' || exit 1
CREATE TABLE author (id serial PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE book (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author_id int REFERENCES author, title text);
CREATE INDEX book_author ON book (author_id);
CREATE VIEW titles AS SELECT name, title FROM book JOIN author ON author.id = author_id;
INSERT INTO author (name) VALUES ('Ada');
\copy book (author_id, title) FROM STDIN
1	one
1	two
\.
SQL
    ask -d tools_app -c '\dt' | has 'public|book|table|tools_ada'
}

# A dump of a database restores into another one, and its dump is the same.
dump() {
    pg_dump tools_app >dump.sql && ask -d tools_copy -f dump.sql && pg_dump tools_copy >again.sql || exit 1
    # Its corrections write a random word into each dump.
    sed -i '/restrict/d' dump.sql again.sql && diff dump.sql again.sql || exit 1
    ask -d tools_copy -c 'SELECT * FROM titles ORDER BY title' | has 'Ada|two'
}

maintain() { vacuumdb --quiet --analyze tools_app && vacuumdb --quiet --analyze-only --table=book tools_app && reindexdb --quiet tools_app; }

pgadmin() {
    ask <<'SQL'
SET DateStyle=ISO; SET client_min_messages=notice;
SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output';
SET client_encoding='utf-8';
SELECT version();
SELECT db.oid AS did, db.datname, db.datallowconn, pg_encoding_to_char(db.encoding) AS serverencoding,
    has_database_privilege(db.oid, 'CREATE') AS cancreate, datistemplate
    FROM pg_catalog.pg_database db WHERE db.datname = current_database();
SELECT roles.oid AS id, roles.rolname AS name, roles.rolsuper AS is_superuser,
    CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END AS can_create_role,
    CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END AS can_create_db,
    CASE WHEN 'pg_signal_backend'=ANY(ARRAY(WITH RECURSIVE cte AS (
        SELECT pg_roles.oid, pg_roles.rolname FROM pg_roles WHERE pg_roles.oid = roles.oid
        UNION ALL SELECT m.roleid, pgr.rolname FROM cte cte_1 JOIN pg_auth_members m ON m.member = cte_1.oid
        JOIN pg_roles pgr ON pgr.oid = m.roleid) SELECT rolname FROM cte)) THEN True ELSE False END AS can_signal_backend
    FROM pg_catalog.pg_roles AS roles WHERE rolname = current_user;
SELECT CASE WHEN usesuper THEN pg_is_in_recovery() ELSE FALSE END AS inrecovery,
    CASE WHEN usesuper AND pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE FALSE END AS isreplaypaused
    FROM pg_user WHERE usename = current_user;
SELECT db.oid AS did, db.datname AS name, ta.spcname AS spcname, db.datallowconn, db.datistemplate AS is_template,
    pg_catalog.has_database_privilege(db.oid, 'CREATE') AS cancreate, datdba AS owner, descr.description
    FROM pg_catalog.pg_database db LEFT OUTER JOIN pg_catalog.pg_tablespace ta ON db.dattablespace = ta.oid
    LEFT OUTER JOIN pg_catalog.pg_shdescription descr ON (db.oid = descr.objoid AND descr.classoid = 'pg_database'::regclass)
    WHERE db.oid > 16383::OID OR db.datname IN ('postgres', 'edb') ORDER BY datname;
SELECT 'dashboard', count(*) > 0 FROM pg_catalog.pg_stat_activity WHERE datname = current_database();
SQL
}

drop_all() {
    dropdb tools_app && dropdb tools_copy && dropuser tools_ada
    ask -c '\du tools_ada' >left
    test ! -s left
}

echo "version PostgreSQL $(psql --version | sed 's/.*) \([0-9]*\).*/\1/')"
step "pg_isready" ready
step "createuser" make_user
step "createdb" make_database
step 'psql \l' list_databases
step 'psql \du' list_roles
step "psql as the user" use
step "pg_dump" dump
step "vacuumdb and reindexdb" maintain
step "pgAdmin's connection" pgadmin
step "dropdb and dropuser" drop_all
