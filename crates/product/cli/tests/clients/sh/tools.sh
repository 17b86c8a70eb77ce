# PostgreSQL's command-line tools.

. "$(dirname "$0")/steps.sh"

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

# Names of databases and files, as the server stores them.
names_of_files() {
    oid2name | grep -q ' tools_app ' && oid2name -d tools_app -t book | grep -q ' book$'
}

# bench MODE: as many transactions as asked for, and books that balance. A transaction that conflicts is tried again.
bench() {
    pgbench --no-vacuum --client=4 --jobs=2 --transactions=25 --max-tries=1000 --protocol="$1" tools_copy 2>&1 | tee report
    grep -Fx 'number of transactions actually processed: 100/100' report && grep -F 'number of failed transactions: 0 ' report || exit 1
    ask -d tools_copy -c "SELECT (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(bbalance) FROM pgbench_branches)
        AND (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(tbalance) FROM pgbench_tellers)" | has t
}

bench_init() { pgbench --initialize --init-steps=dtgvpf --scale=1 --quiet tools_copy; }
bench_all() { for mode in simple extended prepared; do bench "$mode" || exit 1; done; }

bench_script() {
    cat >script.sql <<'SQL'
\set account random_zipfian(1, 100000, 1.1)
\if :client_id % 2 = 0
\startpipeline
SELECT abalance FROM pgbench_accounts WHERE aid = :account;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :account;
\endpipeline
\else
SELECT abalance AS before FROM pgbench_accounts WHERE aid = :account \gset
\endif
SQL
    pgbench --client=2 --transactions=20 --protocol=extended --max-tries=100 --file=script.sql tools_copy
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
step "oid2name" names_of_files
step "pgbench --initialize" bench_init
step "pgbench in three protocols" bench_all
step "pgbench with a script" bench_script
step "dropdb and dropuser" drop_all
