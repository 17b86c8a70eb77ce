"""psycopg 3: server-side cursors, COPY, pipelines, binary values, two-phase commit, notifications, its pool, asyncio."""

import asyncio
import datetime
import decimal
import enum
import uuid

import psycopg
from psycopg import sql
from psycopg.rows import dict_row, namedtuple_row
from psycopg.types.enum import EnumInfo, register_enum
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from steps import URL, equal, sqlstate, step, version

KEY = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
MADE = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
TABLE = """
    CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL UNIQUE, price numeric(10,2), tags text[], extra jsonb, key uuid, cover bytea,
        day date, made timestamptz, lasts interval, numbers int[][])"""


def values(name):
    return {
        "name": name, "price": decimal.Decimal("1.50"), "tags": ["x", None, 'a "quoted" one'], "extra": Jsonb({"k": [1, 2]}), "key": KEY,
        "cover": b"\0\xff", "day": datetime.date(2024, 2, 29), "made": MADE, "lasts": datetime.timedelta(days=1, seconds=90), "numbers": [[1, 2], [3, 4]],
    }


def refused(code, run):
    try:
        run()
    except psycopg.Error as error:
        assert sqlstate(error) in code.split("|"), error
    else:
        raise AssertionError(f"not refused with {code}")


def cursors(connection):
    with connection.transaction(), connection.cursor("forward") as cursor:
        cursor.itersize = 7
        equal([row[0] for row in cursor.execute("SELECT n FROM generate_series(1, %s) n", [30])], list(range(1, 31)))
    with connection.transaction(), connection.cursor("both", scrollable=True, binary=True) as cursor:
        cursor.execute("SELECT id FROM item ORDER BY id")
        equal([row[0] for row in cursor.fetchmany(3)], [1, 2, 3])
        cursor.scroll(-2)
        equal(cursor.fetchone()[0], 2)
        cursor.scroll(0, mode="absolute")
        equal(cursor.fetchone()[0], 1)
    with connection.cursor("held", withhold=True) as cursor:
        cursor.execute("SELECT id FROM item ORDER BY id DESC")
        connection.execute("SELECT 1")
        equal(len(cursor.fetchall()), 10)


def copies(connection):
    with connection.cursor() as cursor:
        with cursor.copy("COPY item (name, price, tags) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["text", "numeric", "text[]"])
            for number in range(100):
                copy.write_row((f"b{number}", decimal.Decimal(number), ["t", None]))
        with cursor.copy("COPY item (name, price) FROM STDIN") as copy:
            copy.write_row(("tab\t, line\n and \\", None))
        equal(cursor.rowcount, 1)
        with cursor.copy("COPY (SELECT name, price FROM item WHERE name ~ %s ORDER BY price) TO STDOUT", ["^b[0-2]$"]) as copy:
            copy.set_types(["text", "numeric"])
            equal(list(copy.rows()), [(f"b{number}", decimal.Decimal(number)) for number in range(3)])
        try:
            with cursor.copy("COPY item (name) FROM STDIN") as copy:
                copy.write_row(["gone"])
                raise KeyError("ends the copy")
        except KeyError:
            pass
        equal(cursor.execute("SELECT count(*) FROM item WHERE name = 'gone' OR name LIKE 'tab%\\\\'").fetchone(), (1,))


def pipelines(connection):
    with connection.pipeline() as pipeline, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO item (name) VALUES (%s) RETURNING id", [(f"p{n}",) for n in range(50)], returning=True)
        found = connection.execute("SELECT count(*) FROM item WHERE name LIKE 'p%'")
        pipeline.sync()
        equal(found.fetchone(), (50,))
    def fails():
        with connection.pipeline():
            connection.execute("INSERT INTO item (name) VALUES ('undone')")
            connection.execute("SELECT 1/0")
    refused("22012", fails)
    equal(connection.execute("SELECT count(*) FROM item WHERE name = 'undone'").fetchone(), (0,))


def transactions(connection):
    with connection.transaction():
        connection.execute("UPDATE item SET price = 2 WHERE id = 1")
        try:
            with connection.transaction("inner"):
                connection.execute("DELETE FROM item")
                raise KeyError("rolls back")
        except KeyError:
            pass
        with connection.transaction(force_rollback=True):
            connection.execute("DELETE FROM item")
    equal(connection.execute("SELECT price FROM item WHERE id = 1").fetchone(), (decimal.Decimal(2),))
    with psycopg.connect(URL) as other:
        other.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        other.read_only = True
        other.deferrable = True
        refused("25006", lambda: other.execute("DELETE FROM item"))
    try:
        connection.execute("INSERT INTO item (name) VALUES ('n0')")
        raise AssertionError("a duplicate was accepted")
    except psycopg.errors.UniqueViolation as error:
        equal((error.diag.constraint_name, error.diag.table_name), ("item_name_key", "item"))


def two_phase():
    """PostgreSQL has it switched off unless it is configured: its SQLSTATE is 55000."""
    connection = psycopg.connect(URL)
    connection.tpc_begin(connection.xid(1, "global", "branch"))
    connection.execute("SELECT 1")
    refused("0A000|55000", connection.tpc_prepare)
    connection.close()


def types(connection):
    connection.execute("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE person (mood mood, moods mood[])")
    mood = enum.Enum("mood", ["sad", "happy"])
    register_enum(EnumInfo.fetch(connection, "mood"), connection, mood)
    connection.execute("INSERT INTO person VALUES (%s, %s)", [mood.happy, [mood.sad, mood.happy]])
    for binary in [False, True]:
        found = connection.cursor(binary=binary).execute("SELECT * FROM person WHERE mood = %s", [mood.happy]).fetchone()
        equal(found, (mood.happy, [mood.sad, mood.happy]))
    columns = connection.execute("SELECT name, price, tags FROM item LIMIT 0").description
    equal([(column.name, column.type_code, column.precision, column.scale) for column in columns], [("name", 25, None, None), ("price", 1700, 10, 2), ("tags", 1009, None, None)])


def notifications(connection):
    connection.execute("LISTEN news")
    with psycopg.connect(URL, autocommit=True) as other:
        other.execute("SELECT pg_notify('news', %s)", ["hello"])
    told = next(connection.notifies(timeout=30, stop_after=1))
    equal((told.channel, told.payload), ("news", "hello"))


def prepared(connection):
    for number in range(10):
        equal(connection.execute("SELECT %s::int + 1", [number], prepare=number > 2).fetchone(), (number + 1,))
    assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0] > 0
    connection.execute("ALTER TABLE item ADD COLUMN later int")
    connection.execute("SELECT * FROM item LIMIT 1", prepare=True)
    connection.execute("ALTER TABLE item DROP COLUMN later")
    connection.execute("DEALLOCATE ALL")
    raw = psycopg.RawCursor(connection).execute("SELECT $1::text || $2", ["a", "b"])
    equal(raw.fetchone(), ("ab",))
    client = psycopg.ClientCursor(connection).execute("SELECT %s, %s", ["it's", ["a"]])
    equal(client.fetchone(), ("it's", "{a}"))
    query = sql.SQL("SELECT {} FROM {} WHERE {} = {}").format(sql.Identifier("name"), sql.Identifier("item"), sql.Identifier("id"), 1)
    equal(connection.execute(query).fetchone(), ("n0",))


async def asynchronous():
    async with await psycopg.AsyncConnection.connect(URL, autocommit=True) as connection:
        equal(await (await connection.execute("SELECT 1")).fetchone(), (1,))
        running = asyncio.create_task(connection.execute("SELECT pg_sleep(300)"))
        # The statement runs when others see it.
        async with await psycopg.AsyncConnection.connect(URL, autocommit=True) as other:
            active = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND state = 'active'"
            while await (await other.execute(active, [connection.info.backend_pid])).fetchone() != (1,):
                pass
        await connection.cancel_safe(timeout=30)
        try:
            await running
            raise AssertionError("not cancelled")
        except psycopg.errors.QueryCanceled:
            pass
    async with AsyncConnectionPool(URL, min_size=2, max_size=4, open=False) as pool:
        async def one(number):
            async with pool.connection() as pooled:
                return (await (await pooled.execute("SELECT %s + 1", [number])).fetchone())[0]
        equal(await asyncio.gather(*(one(number) for number in range(20))), list(range(1, 21)))


def main():
    version("psycopg", "psycopg-pool")
    connection = psycopg.connect(URL, autocommit=True, options="-c search_path=public -c statement_timeout=60s", application_name="a client")
    with step("connect"):
        equal(connection.execute("SHOW statement_timeout").fetchone(), ("1min",))
        equal(connection.execute("SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()").fetchone(), ("a client",))
    with step("migrate"):
        connection.execute(TABLE)
    with step("insert"):
        names = ", ".join(values(""))
        holders = ", ".join(f"%({name})s" for name in values(""))
        connection.cursor().executemany(f"INSERT INTO item ({names}) VALUES ({holders})", [values(f"n{n}") for n in range(10)])
    with step("select"):
        wanted = values("n0") | {"id": 1, "extra": {"k": [1, 2]}}
        for binary in [False, True]:
            equal(connection.cursor(row_factory=dict_row, binary=binary).execute("SELECT * FROM item WHERE id = %s", [1]).fetchone(), wanted)
        found = connection.execute("SELECT id FROM item WHERE id = ANY(%s) AND made < %t AND name <> %b ORDER BY id", [[1, 3], datetime.datetime.now(datetime.timezone.utc), "x"])
        equal(found.fetchall(), [(1,), (3,)])
        equal(connection.cursor(row_factory=namedtuple_row).execute("SELECT 1 AS one").fetchone().one, 1)
        several = connection.execute("SELECT 1; SELECT 2")
        equal((several.fetchone(), several.nextset(), several.fetchone()), ((1,), True, (2,)))
    with step("server-side cursors"):
        cursors(connection)
    with step("copy in and out"):
        copies(connection)
    with step("pipeline"):
        pipelines(connection)
    with step("transaction"):
        transactions(connection)
    with step("two-phase commit is refused"):
        two_phase()
    with step("types"):
        types(connection)
    with step("prepared statements"):
        prepared(connection)
    with step("notifications"):
        notifications(connection)
    with step("pool"), ConnectionPool(URL, min_size=2, max_size=4, check=ConnectionPool.check_connection) as pool:
        for number in range(20):
            with pool.connection() as pooled:
                equal(pooled.execute("SELECT %s + 1", [number]).fetchone(), (number + 1,))
    with step("asyncio and cancel"):
        asyncio.run(asynchronous())
    connection.close()


main()
