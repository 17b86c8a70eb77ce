"""psycopg2: named cursors, COPY, `execute_values`, isolation levels, notices, notifications, two-phase commit, its pool."""

import datetime
import decimal
import io
import select
import uuid

import psycopg2
import psycopg2.extras
import psycopg2.pool
from psycopg2 import extensions, sql
from steps import URL, equal, step, version

KEY = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")


def refused(code, run):
    try:
        run()
    except psycopg2.Error as error:
        assert error.pgcode in code.split("|"), error
    else:
        raise AssertionError(f"not refused with {code}")


def named(connection):
    with connection, connection.cursor("forward") as cursor:
        cursor.itersize = 7
        cursor.execute("SELECT n FROM generate_series(1, %s) n", [30])
        equal([row[0] for row in cursor], list(range(1, 31)))
    with connection, connection.cursor("both", scrollable=True) as cursor:
        cursor.execute("SELECT id FROM item ORDER BY id")
        equal(cursor.fetchmany(3), [(1,), (2,), (3,)])
        cursor.scroll(-2)
        equal(cursor.fetchone(), (2,))
    cursor = connection.cursor("held", withhold=True)
    cursor.execute("SELECT id FROM item ORDER BY id")
    connection.commit()
    equal(cursor.fetchone(), (1,))
    cursor.close()
    connection.commit()


def copies(connection):
    with connection, connection.cursor() as cursor:
        cursor.copy_from(io.StringIO("c1\t1.5\nc2\t\\N\n"), "item", columns=("name", "price"))
        equal(cursor.rowcount, 2)
        cursor.copy_expert("COPY item (name, price) FROM STDIN (FORMAT csv, HEADER)", io.StringIO('name,price\n"a, b",2\n'))
        out = io.StringIO()
        cursor.copy_expert("COPY (SELECT name, price FROM item WHERE name ~ '^(c|a,)' ORDER BY name) TO STDOUT (FORMAT csv, FORCE_QUOTE *)", out)
        equal(out.getvalue(), '"a, b","2.00"\n"c1","1.50"\n"c2",\n')
        out = io.StringIO()
        cursor.copy_to(out, "item", columns=("name",))
        equal(len(out.getvalue().splitlines()), 13)


def transactions(connection):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM item")
        connection.rollback()
    refused("22012", lambda: connection.cursor().execute("SELECT 1/0"))
    refused("25P02", lambda: connection.cursor().execute("SELECT 1"))
    connection.rollback()
    connection.set_session(isolation_level="SERIALIZABLE", readonly=True, deferrable=True)
    refused("25006", lambda: connection.cursor().execute("DELETE FROM item"))
    connection.rollback()
    connection.set_session(isolation_level="DEFAULT", readonly=False, deferrable=False)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO item (name) VALUES ('n1')")
        raise AssertionError("a duplicate was accepted")
    except psycopg2.errors.UniqueViolation as error:
        equal(error.diag.constraint_name, "item_name_key")


def two_phase(connection):
    """PostgreSQL has it switched off unless it is configured: its SQLSTATE is 55000."""
    connection.tpc_begin(connection.xid(1, "global", "branch"))
    connection.cursor().execute("SELECT 1")
    refused("0A000|55000", connection.tpc_prepare)


def notifications(connection):
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("LISTEN news")
        cursor.execute("NOTIFY news, 'hello'")
    while not connection.notifies:
        assert select.select([connection], [], [], 30) != ([], [], []), "no notification in 30 s"
        connection.poll()
    told = connection.notifies.pop()
    equal((told.channel, told.payload, told.pid), ("news", "hello", connection.get_backend_pid()))
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS nosuch")
    assert any("does not exist, skipping" in notice for notice in connection.notices)
    connection.autocommit = False


def asynchronous():
    connection = psycopg2.connect(URL, async_=True)

    def wait():
        while (state := connection.poll()) != extensions.POLL_OK:
            ready = ([connection], []) if state == extensions.POLL_READ else ([], [connection])
            assert select.select(*ready, [], 30) != ([], [], []), "nothing in 30 s"

    wait()
    cursor = connection.cursor()
    cursor.execute("SELECT 42")
    wait()
    equal(cursor.fetchone(), (42,))
    connection.close()


def main():
    version("psycopg2-binary")
    psycopg2.extras.register_uuid()
    connection = psycopg2.connect(URL, options="-c search_path=public", connection_factory=extensions.connection)
    with step("connect"):
        equal(connection.get_parameter_status("integer_datetimes"), "on")
        assert connection.server_version // 10000 == 15
    with step("migrate"), connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL UNIQUE, price numeric(10,2), tags text[], extra jsonb, key uuid, cover bytea, day date)")
    with step("insert"), connection, connection.cursor() as cursor:
        row = ("n1", decimal.Decimal("1.50"), ["x", None], psycopg2.extras.Json({"k": [1, 2]}), KEY, psycopg2.Binary(b"\0\xff"), datetime.date(2024, 2, 29))
        cursor.execute("INSERT INTO item (name, price, tags, extra, key, cover, day) VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id", row)
        equal(cursor.fetchone(), (1,))
        ids = psycopg2.extras.execute_values(cursor, "INSERT INTO item (name, price) VALUES %s RETURNING id", [(f"n{n}", n) for n in range(2, 9)], page_size=3, fetch=True)
        equal(ids, [(n,) for n in range(2, 9)])
        psycopg2.extras.execute_batch(cursor, "INSERT INTO item (name) VALUES (%s)", [("n9",), ("n10",)])
    with step("select"), connection, connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("SELECT * FROM item WHERE id IN %s", [(1, 99)])
        found = cursor.fetchone()
        equal((found["price"], found["tags"], found["extra"], found["key"], bytes(found["cover"])), (decimal.Decimal("1.50"), ["x", None], {"k": [1, 2]}, KEY, b"\0\xff"))
        cursor.execute(sql.SQL("SELECT {} FROM {} ORDER BY 1 LIMIT 1").format(sql.Identifier("name"), sql.Identifier("public", "item")))
        equal(cursor.fetchone()["name"], "n1")
    with step("named cursors"):
        named(connection)
    with step("copy in and out"):
        copies(connection)
    with step("transaction"):
        transactions(connection)
    with step("notifications and notices"):
        notifications(connection)
    with step("two-phase commit is refused"):
        two_phase(connection)
    connection.close()
    with step("asynchronous"):
        asynchronous()
    with step("pool"):
        pool = psycopg2.pool.ThreadedConnectionPool(1, 4, URL)
        for number in range(20):
            pooled = pool.getconn()
            with pooled, pooled.cursor() as cursor:
                cursor.execute("SELECT %s + 1", [number])
                equal(cursor.fetchone(), (number + 1,))
            pool.putconn(pooled)
        pool.closeall()


main()
