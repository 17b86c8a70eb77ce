# pgbouncer between clients and the server: pools of transactions and of sessions, with fewer connections than clients.

. "$(dirname "$0")/steps.sh"

direct=$PGHOST:$PGPORT
socket=$PWD/socket
pooled=bouncer_$PGDATABASE

# start MODE: a pool of two connections. It listens on a socket of its own, and refuses to run as root.
start() {
    cat >pgbouncer.ini <<INI
[databases]
$pooled = host=${direct%:*} port=${direct#*:} user=$PGUSER dbname=$PGDATABASE
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = $socket
auth_type = trust
auth_file = $PWD/users
admin_users = $PGUSER
pool_mode = $1
default_pool_size = 2
ignore_startup_parameters = extra_float_digits
INI
    echo "\"$PGUSER\" \"\"" >users
    mkdir -p -m 777 socket
    if [ "$(id -u)" = 0 ]; then as="-u postgres"; fi
    pgbouncer --quiet $as pgbouncer.ini 2>>log &
    bouncer=$!
    until through pg_isready --quiet; do
        kill -0 $bouncer || { cat log >&2; exit 1; }
    done
}

stop() {
    kill -INT $bouncer && wait $bouncer
}

# through PROGRAM ...: connects it to the pool.
through() {
    (
        export PGHOST="$socket" PGPORT=6432 PGDATABASE="$pooled"
        "$@"
    )
}

connected() { through ask -c 'SELECT 1' | has 1; }

migrated() {
    through ask -c 'CREATE TABLE item (id serial PRIMARY KEY, name text UNIQUE)' -c "INSERT INTO item (name) SELECT 'n' || n FROM generate_series(1, 100) n"
    through ask -c 'SELECT count(*) FROM item' | has 100
}

# Each of eight clients is served by whichever of two connections is free.
many_clients() {
    through pgbench --initialize --quiet || exit 1
    for mode in simple extended; do
        through pgbench --no-vacuum --client=8 --transactions=25 --max-tries=1000 --protocol=$mode 2>&1 | has 'number of transactions actually processed: 200/200' || exit 1
    done
    through ask -c 'SELECT sum(delta) = (SELECT sum(abalance) FROM pgbench_accounts) FROM pgbench_history' | has t
    ask -c "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()" | has 2
}

# What one client's transaction has set for itself, the next one does not see.
transactions() {
    through ask -c "BEGIN; SET LOCAL work_mem = '7MB'; SELECT pg_advisory_xact_lock(1); COMMIT" -c 'SHOW work_mem' | grep -Fx '7MB' && exit 1
    through ask -c 'BEGIN' -c "INSERT INTO item (name) VALUES ('gone')" -c ROLLBACK -c 'SELECT count(*) FROM item' | has 100
    through ask -c "INSERT INTO item (name) VALUES ('n1')" 2>&1 | grep -F 23505
}

# A session that ends is reset with DISCARD ALL before another client gets its connection.
sessions() {
    for _ in 1 2 3; do
        through ask -c "SET search_path = nowhere; CREATE TEMP TABLE scratch (a int); PREPARE p AS SELECT 1; SELECT pg_advisory_lock(7)" || exit 1
        through ask -c 'SHOW search_path' | has '"$user", public' || exit 1
        through ask -c 'SELECT count(*) FROM pg_prepared_statements' | has 0 || exit 1
    done
}

copied() {
    through ask -c "\copy item (name) FROM PROGRAM 'seq 1 500'" && through ask -c '\copy (SELECT name FROM item ORDER BY id OFFSET 599) TO STDOUT' | has 500
}

cancelled() {
    through ask -c "SET statement_timeout = '100ms'; SELECT pg_sleep(300)" 2>&1 | grep -F 57014
}

console() { through ask -d pgbouncer -c 'SHOW POOLS' | grep -F "$pooled|$PGUSER"; }

echo "version PgBouncer $(pgbouncer --version | sed -n 's/^PgBouncer \([0-9]*\.[0-9]*\).*/\1/p')"
start transaction
step "connect" connected
step "migrate" migrated
step "pool of transactions" many_clients
step "transactions" transactions
step "copy" copied
step "cancel" cancelled
step "console" console
stop
start session
step "pool of sessions" sessions
stop
