// Knex with its migrations, and Objection over it.
"use strict";
const fs = require("node:fs");
const { assert, main, refused, step, url, version } = require("./steps.js");
const { Model } = require("objection");

const MIGRATION = `
exports.up = async (knex) => {
  await knex.schema.createTable("author", (t) => { t.increments("id"); t.string("name").notNullable().unique(); t.timestamps(true, true); });
  await knex.schema.createTable("book", (t) => {
    t.bigIncrements("id");
    t.integer("author_id").references("author.id").onDelete("CASCADE").index();
    t.text("title").notNullable(); t.decimal("price", 10, 2); t.jsonb("extra"); t.uuid("key").defaultTo(knex.fn.uuid());
    t.comment("books"); t.check("?? > 0", ["price"]);
  });
};
exports.down = async (knex) => { await knex.schema.dropTable("book"); await knex.schema.dropTable("author"); };
`;
const SECOND = `
exports.up = (knex) => knex.schema.alterTable("book", (t) => { t.integer("pages").defaultTo(0); t.string("title", 200).alter(); t.index(["title", "price"]); });
exports.down = (knex) => knex.schema.alterTable("book", (t) => { t.dropColumn("pages"); });
`;

main(async () => {
  version("knex", "objection");
  fs.mkdirSync("migrations");
  fs.writeFileSync("migrations/1_first.js", MIGRATION);
  fs.writeFileSync("migrations/2_second.js", SECOND);
  const knex = require("knex")({ client: "pg", connection: url, pool: { min: 1, max: 4 }, migrations: { directory: "./migrations" } });
  class Book extends Model {
    static tableName = "book";
  }
  class Author extends Model {
    static tableName = "author";
    static relationMappings = { books: { relation: Model.HasManyRelation, modelClass: Book, join: { from: "author.id", to: "book.author_id" } } };
  }
  Model.knex(knex);
  await step("migrate", async () => assert.equal((await knex.migrate.latest())[1].length, 2));
  await step("reflect", async () => {
    assert(await knex.schema.hasTable("book"));
    const columns = await knex("book").columnInfo();
    assert.deepEqual([columns.title.maxLength, columns.pages.type], [200, "integer"]);
  });
  await step("insert", async () => {
    const author = await Author.query().insertGraph({ name: "Ada", books: [{ title: "one", price: 1, extra: { a: 1 } }, { title: "two", price: 2 }] });
    assert.equal(author.books.length, 2);
    const merged = await knex("author").insert({ name: "Ada" }).onConflict("name").merge().returning("id");
    assert.equal(merged[0].id, author.id);
  });
  await step("select", async () => {
    const [author] = await Author.query().withGraphFetched("books").modifyGraph("books", (q) => q.orderBy("title"));
    assert.deepEqual(author.books.map((book) => book.title), ["one", "two"]);
    const joined = await Author.query().withGraphJoined("books").where("books.price", ">", 1);
    assert.equal(joined[0].books[0].title, "two");
    assert.equal((await knex("book").whereJsonPath("extra", "$.a", "=", 1)).length, 1);
  });
  await step("transaction", async () => {
    await refused(knex.transaction(async (trx) => {
      await trx("book").forUpdate().select();
      await trx("book").del();
      await trx.transaction(async (nested) => { await nested.raw("SELECT 1/0"); }).catch(() => {});
      await trx("author").insert({ name: "Ada" });
    }), "23505");
    assert.equal((await knex("book").count())[0].count, "2");
  });
  await step("skip locked", () => knex.transaction(async (trx) => {
    const [first] = await trx("book").orderBy("id").limit(1).forUpdate().skipLocked();
    await knex.transaction(async (other) => {
      const [second] = await other("book").orderBy("id").limit(1).forUpdate().skipLocked();
      assert.notEqual(first.id, second.id);
    });
  }));
  await step("deferrable constraint", () => knex.schema.alterTable("book", (t) => {
    t.unique(["title"], { indexName: "one_title", deferrable: "deferred" });
  }));
  await step("rollback", async () => {
    await knex.migrate.rollback(undefined, true);
    assert(!(await knex.schema.hasTable("book")));
  });
  await knex.destroy();
});
