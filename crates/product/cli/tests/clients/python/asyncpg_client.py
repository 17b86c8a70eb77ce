"""asyncpg: its pool, prepared statements, COPY, cursors, types, and a cached plan that heals."""

import asyncio
import datetime
import decimal
import uuid

import asyncpg
from steps import DATABASE, HOST, PORT, USER, equal, step, version


async def main():
    version("asyncpg")
    with step("connect"):
        connection = await asyncpg.connect(host=HOST, port=PORT, user=USER, database=DATABASE)
        equal(await connection.fetchval("SELECT 1"), 1)
    with step("migrate"):
        await connection.execute(
            "CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL UNIQUE, price numeric(10,2), tags text[],"
            " made timestamptz DEFAULT now(), key uuid, extra jsonb);"
            "CREATE INDEX item_price ON item (price)"
        )
    with step("insert"):
        key = uuid.uuid4()
        identity = await connection.fetchval(
            "INSERT INTO item (name, price, tags, key, extra) VALUES ($1, $2, $3, $4, $5) RETURNING id",
            "a", decimal.Decimal("1.50"), ["x", "y"], key, '{"k": [1, 2]}',
        )
        equal(identity, 1)
        await connection.executemany("INSERT INTO item (name, price) VALUES ($1, $2)", [(f"n{i}", i) for i in range(9)])
    with step("select"):
        row = await connection.fetchrow("SELECT * FROM item WHERE id = $1", 1)
        equal((row["price"], row["tags"], row["key"]), (decimal.Decimal("1.50"), ["x", "y"], key))
        assert isinstance(row["made"], datetime.datetime)
    with step("cursor"):
        async with connection.transaction():
            rows = [row["id"] async for row in connection.cursor("SELECT id FROM item ORDER BY id", prefetch=3)]
        equal(rows, list(range(1, 11)))
    with step("copy in and out"):
        await connection.copy_records_to_table("item", records=[("c1", decimal.Decimal(7))], columns=["name", "price"])
        import io
        out = io.BytesIO()
        await connection.copy_from_query("SELECT name FROM item WHERE price = 7 ORDER BY name", output=out, format="csv")
        equal(out.getvalue(), b"c1\nn7\n")
    with step("transaction"):
        try:
            async with connection.transaction():
                await connection.execute("DELETE FROM item")
                async with connection.transaction():
                    await connection.execute("INSERT INTO item (name) VALUES ('s')")
                raise KeyError("rolls back")
        except KeyError:
            pass
        equal(await connection.fetchval("SELECT count(*) FROM item"), 11)
        try:
            await connection.execute("INSERT INTO item (name) VALUES ('a')")
            raise AssertionError("a duplicate was accepted")
        except asyncpg.UniqueViolationError as error:
            equal(error.constraint_name, "item_name_key")
    with step("changed plan heals"):
        await connection.execute("CREATE TABLE plan (a int)")
        await connection.fetch("SELECT * FROM plan")
        other = await asyncpg.connect(host=HOST, port=PORT, user=USER, database=DATABASE)
        await other.execute("ALTER TABLE plan ADD COLUMN b int")
        await other.close()
        equal(list((await connection.fetch("SELECT * FROM plan")) or []), [])
        await connection.execute("INSERT INTO plan VALUES (1, 2)")
        equal(tuple((await connection.fetch("SELECT * FROM plan"))[0]), (1, 2))
    with step("introspect a type"):
        await connection.set_type_codec("jsonb", encoder=str, decoder=str, schema="pg_catalog")
        await connection.reset_type_codec("jsonb", schema="pg_catalog")
    with step("enum"):
        await connection.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
        await connection.execute("CREATE TABLE person (name text, mood mood)")
        await connection.execute("INSERT INTO person VALUES ($1, $2)", "p", "happy")
        equal(await connection.fetchval("SELECT mood FROM person"), "happy")
    with step("listen"):
        heard = asyncio.get_running_loop().create_future()
        await connection.add_listener("news", lambda *told: heard.done() or heard.set_result(told[3]))
        await connection.execute("SELECT pg_notify('news', 'hello')")
        equal(await asyncio.wait_for(heard, 30), "hello")
    with step("pool"):
        async with asyncpg.create_pool(host=HOST, port=PORT, user=USER, database=DATABASE, min_size=2, max_size=4) as pool:
            async def one(number):
                async with pool.acquire() as pooled, pooled.transaction():
                    return await pooled.fetchval("SELECT $1::int + 1", number)
            equal(await asyncio.gather(*(one(number) for number in range(20))), list(range(1, 21)))
    await connection.close()


asyncio.run(main())
