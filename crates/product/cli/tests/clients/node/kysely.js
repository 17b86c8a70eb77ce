// Kysely: its migrator (which takes an advisory lock), introspection, queries, transactions.
"use strict";
const { Kysely, Migrator, PostgresDialect, sql } = require("kysely");
const { Pool } = require("pg");
const { assert, main, refused, step, url, version } = require("./steps.js");

const migrations = {
  first: {
    up: async (db) => {
      await db.schema.createTable("author").addColumn("id", "serial", (c) => c.primaryKey()).addColumn("name", "text", (c) => c.notNull().unique()).execute();
      await db.schema.createTable("book").addColumn("id", "bigint", (c) => c.primaryKey().generatedByDefaultAsIdentity())
        .addColumn("author_id", "integer", (c) => c.references("author.id").onDelete("cascade"))
        .addColumn("title", "varchar(100)", (c) => c.notNull()).addColumn("tags", sql`text[]`).addColumn("price", "numeric(10, 2)", (c) => c.defaultTo(0)).execute();
      await db.schema.createIndex("by_title").on("book").columns(["title", "price"]).execute();
      await db.schema.createView("titles").as(db.selectFrom("book").select(["id", "title"])).execute();
    },
    down: async (db) => {
      await db.schema.dropView("titles").execute();
      await db.schema.dropTable("book").execute();
      await db.schema.dropTable("author").execute();
    },
  },
};

main(async () => {
  version("kysely", "pg");
  const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString: url, max: 4 }) }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  await step("migrate", async () => {
    const { error, results } = await migrator.migrateToLatest();
    if (error) throw error;
    assert.equal(results[0].status, "Success");
  });
  await step("reflect", async () => {
    const tables = await db.introspection.getTables();
    assert.deepEqual(tables.map((table) => table.name).sort(), ["author", "book", "titles"]);
    const id = tables.find((table) => table.name === "book").columns.find((column) => column.name === "id");
    assert(id.isAutoIncrementing);
  });
  await step("insert", async () => {
    const { id } = await db.insertInto("author").values({ name: "Ada" }).returning("id").executeTakeFirstOrThrow();
    await db.insertInto("book").values([{ author_id: id, title: "one", tags: ["x"] }, { author_id: id, title: "two", price: 2 }]).execute();
    await db.insertInto("author").values({ name: "Ada" }).onConflict((c) => c.column("name").doNothing()).execute();
  });
  await step("select", async () => {
    const rows = await db.selectFrom("author").innerJoin("book", "book.author_id", "author.id").select(["name", "title", "price"]).orderBy("title").execute();
    assert.deepEqual(rows[1], { name: "Ada", title: "two", price: "2.00" });
    assert.equal((await db.selectFrom("titles").selectAll().execute()).length, 2);
  });
  await step("transaction", async () => {
    await refused(db.transaction().setIsolationLevel("serializable").execute(async (trx) => {
      await trx.selectFrom("book").selectAll().forUpdate().skipLocked().execute();
      await trx.deleteFrom("book").execute();
      await trx.insertInto("author").values({ name: "Ada" }).execute();
    }), "23505");
    assert.equal((await db.selectFrom("book").selectAll().execute()).length, 2);
  });
  await step("merge", async () => {
    const merged = await db.mergeInto("author").using("book", "book.author_id", "author.id").whenMatched().thenUpdateSet({ name: "Ada L." }).executeTakeFirst().catch((error) => {
      // The second book meets a row that the first has changed.
      assert.equal(error.code, "21000", error.message);
    });
    assert.equal(merged, undefined);
  });
  await step("migrate down", async () => {
    const { error } = await migrator.migrateDown();
    if (error) throw error;
  });
  await db.destroy();
});
