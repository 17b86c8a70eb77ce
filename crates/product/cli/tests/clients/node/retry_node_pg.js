// A transaction that is run again after a conflict, with node-pg. docs/retries.md shows the function.
"use strict";
const { Pool } = require("pg");
const { assert, main, refused, step, url, version } = require("./steps.js");

// shown: begin
/** Runs body in a transaction, again after a conflict. It must have no effect but through the client. */
async function run(pool, body, attempts = 10) {
  for (let attempt = 1; ; attempt++) {
    const client = await pool.connect();
    try {
      await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
      const result = await body(client);
      await client.query("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {});
      if (!["40001", "40P01"].includes(error.code) || attempt === attempts) throw error;
    } finally {
      client.release();
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * 2 ** attempt));
  }
}
// shown: end

main(async () => {
  version("pg");
  const pool = new Pool({ connectionString: url, max: 4 });
  await pool.query("CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL); INSERT INTO stock VALUES (1, 10)");
  await step("runs again after a conflict", async () => {
    const seen = [];
    const left = await run(pool, async (client) => {
      const { rows: [{ n }] } = await client.query("SELECT n FROM stock WHERE id = 1");
      seen.push(n);
      if (seen.length === 1) await pool.query("UPDATE stock SET n = n - 1");
      await client.query("UPDATE stock SET n = $1 WHERE id = 1", [n - 1]);
      return n - 1;
    });
    assert.deepEqual([left, seen], [8, [10, 9]]);
  });
  await step("other errors are not retried", async () => {
    let calls = 0;
    await refused(run(pool, (client) => client.query(`SELECT 1/0, ${++calls}`)), "22012");
    assert.equal(calls, 1);
  });
  await pool.end();
});
