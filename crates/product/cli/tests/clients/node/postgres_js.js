// postgres.js: tagged queries, helpers, transactions, cursors, LISTEN.
"use strict";
const postgres = require("postgres");
const { assert, main, refused, step, url, version } = require("./steps.js");

main(async () => {
  version("postgres");
  const sql = postgres(url, { max: 4, onnotice: () => {} });
  await step("connect", async () => assert.deepEqual([...(await sql`SELECT ${1}::int AS n`)], [{ n: 1 }]));
  await step("migrate", () => sql`CREATE TABLE item (id serial PRIMARY KEY, name text UNIQUE, tags text[], extra jsonb, at timestamptz)`);
  await step("insert", async () => {
    const rows = [{ name: "a", tags: ["x"], extra: { k: 1 }, at: new Date(0) }, { name: "b", tags: [], extra: null, at: null }];
    assert.equal((await sql`INSERT INTO item ${sql([rows[0]])} RETURNING id`)[0].id, 1);
    await sql`INSERT INTO item ${sql(rows[1], "name", "tags")}`;
  });
  await step("select", async () => {
    const [row] = await sql`SELECT * FROM item WHERE name IN ${sql(["a", "z"])}`;
    assert.deepEqual([row.tags, row.extra, row.at], [["x"], { k: 1 }, new Date(0)]);
    assert.equal((await sql`SELECT * FROM item WHERE id = ANY(${[1, 2]})`).length, 2);
  });
  await step("transaction", async () => {
    await refused(sql.begin(async (sql) => {
      await sql`DELETE FROM item`;
      await sql.savepoint((sql) => sql`SELECT 1/0`).catch(() => {});
      await sql`INSERT INTO item (id) VALUES (1), (1)`;
    }), "23505");
    assert.equal((await sql`SELECT count(*)::int AS n FROM item`)[0].n, 2);
  });
  await step("cursor", async () => {
    let seen = 0;
    for await (const rows of sql`SELECT * FROM generate_series(1, 100)`.cursor(30)) seen += rows.length;
    assert.equal(seen, 100);
  });
  await step("listen", async () => {
    const heard = new Promise((resolve) => sql.listen("news", resolve, () => sql.notify("news", "hello")));
    assert.equal(await heard, "hello");
  });
  await step("pool", async () => {
    const found = await Promise.all([...Array(20).keys()].map((n) => sql`SELECT ${n}::int + 1 AS n`));
    assert.equal(found.reduce((sum, [{ n }]) => sum + n, 0), 210);
  });
  await sql.end();
});
