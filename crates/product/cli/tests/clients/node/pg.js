// node-pg with its pool, pg-cursor, pg-query-stream and pg-copy-streams.
"use strict";
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");
const QueryStream = require("pg-query-stream");
const copy = require("pg-copy-streams");
const { pipeline } = require("node:stream/promises");
const { Readable } = require("node:stream");
const { assert, connection, main, refused, step, url, version } = require("./steps.js");

main(async () => {
  version("pg", "pg-cursor", "pg-query-stream", "pg-copy-streams");
  const client = new Client({ ...connection, options: "-c search_path=public" });
  await step("connect", async () => {
    await client.connect();
    assert.deepEqual((await client.query("SELECT $1::int AS n", [1])).rows, [{ n: 1 }]);
  });
  await step("migrate", () => client.query(
    "CREATE TABLE item (id serial PRIMARY KEY, name text UNIQUE NOT NULL, price numeric(10,2), tags text[]," +
    " made timestamptz DEFAULT now(), extra jsonb); CREATE INDEX ON item (price)"));
  await step("insert", async () => {
    const sql = "INSERT INTO item (name, price, tags, extra) VALUES ($1, $2, $3, $4) RETURNING id";
    const { rows } = await client.query(sql, ["a", "1.50", ["x", "y"], { k: [1, 2] }]);
    assert.equal(rows[0].id, 1);
    for (let n = 0; n < 9; n++) await client.query({ name: "add", text: sql, values: [`n${n}`, n, [], {}] });
  });
  await step("select", async () => {
    const { rows: [row], fields } = await client.query("SELECT * FROM item WHERE id = $1", [1]);
    assert.deepEqual([row.price, row.tags, row.extra], ["1.50", ["x", "y"], { k: [1, 2] }]);
    assert(row.made instanceof Date && fields[2].dataTypeID === 1700);
  });
  await step("cursor and stream", async () => {
    const cursor = client.query(new Cursor("SELECT id FROM item ORDER BY id"));
    assert.equal((await cursor.read(4)).length, 4);
    assert.equal((await cursor.read(100)).length, 6);
    await cursor.close();
    let seen = 0;
    for await (const _ of client.query(new QueryStream("SELECT * FROM generate_series(1, 1000)", [], { batchSize: 100 }))) seen++;
    assert.equal(seen, 1000);
  });
  await step("copy in and out", async () => {
    await pipeline(Readable.from(["c1\t7\nc2\t8\n"]), client.query(copy.from("COPY item (name, price) FROM STDIN")));
    const parts = [];
    for await (const part of client.query(copy.to("COPY (SELECT name FROM item WHERE name LIKE 'c%' ORDER BY 1) TO STDOUT"))) parts.push(part);
    assert.equal(Buffer.concat(parts).toString(), "c1\nc2\n");
  });
  await step("transaction", async () => {
    await client.query("BEGIN");
    await client.query("DELETE FROM item");
    await client.query("SAVEPOINT s");
    await refused(client.query("SELECT 1/0"), "22012");
    await client.query("ROLLBACK TO s");
    await client.query("ROLLBACK");
    assert.equal((await client.query("SELECT count(*) FROM item")).rows[0].count, "12");
    assert.equal((await refused(client.query("INSERT INTO item (name) VALUES ('a')"), "23505")).constraint, "item_name_key");
  });
  await step("listen", async () => {
    const heard = new Promise((resolve) => client.on("notification", resolve));
    await client.query("LISTEN news");
    await client.query("SELECT pg_notify('news', 'hello')");
    assert.equal((await heard).payload, "hello");
  });
  await step("pool", async () => {
    const pool = new Pool({ connectionString: url, max: 4 });
    const found = await Promise.all([...Array(20).keys()].map((n) => pool.query("SELECT $1::int + 1 AS n", [n])));
    assert.deepEqual(found.map(({ rows }) => rows[0].n), [...Array(20).keys()].map((n) => n + 1));
    await pool.end();
  });
  await client.end();
});
