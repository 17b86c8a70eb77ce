// TypeORM: synchronize (twice: the second one reflects), migrations, relations, transactions, locks.
"use strict";
require("reflect-metadata");
const { DataSource, EntitySchema, MigrationInterface } = require("typeorm");
const { assert, connection, main, refused, step, version } = require("./steps.js");

const Author = new EntitySchema({
  name: "Author",
  columns: { id: { type: Number, primary: true, generated: true }, name: { type: String, unique: true }, made: { type: "timestamptz", createDate: true } },
  relations: { books: { type: "one-to-many", target: "Book", inverseSide: "author", cascade: true } },
});
const columns = {
  id: { type: "int", primary: true, generated: "identity", generatedIdentity: "ALWAYS" },
  title: { type: "varchar", length: 100, comment: "as printed" },
  price: { type: "numeric", precision: 10, scale: 2, default: 0 },
  tags: { type: "text", array: true, nullable: true },
  extra: { type: "jsonb", nullable: true },
  big: { type: "bigint", nullable: true },
};
const book = (more) => new EntitySchema({
  name: "Book", columns: { ...columns, ...more }, indices: [{ columns: ["title", "price"] }], checks: [{ expression: `"price" >= 0` }],
  relations: { author: { type: "many-to-one", target: "Author", inverseSide: "books", onDelete: "CASCADE", joinColumn: true } },
});

class First1700000000000 {
  async up(runner) {
    await runner.query(`CREATE TABLE "extra" ("id" SERIAL PRIMARY KEY, "n" integer)`);
    await runner.query(`ALTER TABLE "extra" ADD CONSTRAINT "n_once" UNIQUE ("n")`);
  }
  async down(runner) {
    await runner.query(`DROP TABLE "extra"`);
  }
}

const source = (entities, more = {}) => new DataSource({
  type: "postgres", host: connection.host, port: connection.port, username: connection.user, database: connection.database,
  entities, migrations: [First1700000000000], installExtensions: true, ...more,
});

main(async () => {
  version("typeorm", "pg");
  let db = source([Author, book()]);
  await step("connect", () => db.initialize());
  await step("migrate", async () => {
    await db.synchronize();
    assert.equal((await db.runMigrations()).length, 1);
  });
  await step("insert", async () => {
    await db.getRepository("Author").save({ name: "Ada", books: [{ title: "one", price: 1, tags: ["x"] }, { title: "two", price: 2, extra: { a: 1 } }] });
    await db.getRepository("Author").upsert([{ name: "Ada" }, { name: "Bob" }], ["name"]);
  });
  await step("select", async () => {
    const [author] = await db.getRepository("Author").find({ where: { name: "Ada" }, relations: { books: true }, order: { books: { title: "ASC" } } });
    assert.deepEqual(author.books.map((book) => [book.title, book.price]), [["one", "1.00"], ["two", "2.00"]]);
    const found = await db.getRepository("Book").createQueryBuilder("b").leftJoinAndSelect("b.author", "a").where(":tag = ANY(b.tags)", { tag: "x" }).take(5).getManyAndCount();
    assert.equal(found[1], 1);
  });
  await step("reflect", async () => {
    const runner = db.createQueryRunner();
    const table = await runner.getTable("book");
    assert.equal(table.columns.find((column) => column.name === "tags").isArray, true);
    assert.equal(table.foreignKeys.length, 1);
    assert.deepEqual((await db.driver.createSchemaBuilder().log()).upQueries.map((query) => query.query), []);
    await runner.release();
  });
  await step("alter", async () => {
    const changed = source([Author, book({ pages: { type: "int", default: 0 }, price: { ...columns.price, default: 1 } })]);
    await changed.initialize();
    await changed.synchronize();
    assert.equal((await changed.driver.createSchemaBuilder().log()).upQueries.length, 0);
    await changed.destroy();
  });
  await step("transaction", async () => {
    await refused(db.transaction("SERIALIZABLE", async (manager) => {
      await manager.find("Book", { lock: { mode: "pessimistic_write" } });
      await manager.createQueryBuilder().delete().from("Book").execute();
      await manager.insert("Author", { name: "Ada" });
    }), "23505");
    assert.equal(await db.getRepository("Book").count(), 2);
  });
  await step("skip locked", () => db.transaction(async (manager) => {
    const lock = { mode: "pessimistic_write", onLocked: "skip_locked" };
    const [first] = await manager.find("Book", { lock, take: 1, order: { id: "ASC" } });
    await db.transaction(async (other) => {
      const [second] = await other.find("Book", { lock, take: 1, order: { id: "ASC" } });
      assert.notEqual(first.id, second.id);
    });
  }));
  await step("uuid keys", async () => {
    const Key = new EntitySchema({ name: "Key", columns: { id: { type: "uuid", primary: true, generated: "uuid" } } });
    const other = source([Key]);
    await other.initialize();
    await other.synchronize();
    assert.match((await other.getRepository("Key").save({})).id, /^[0-9a-f-]{36}$/);
    await other.destroy();
  });
  await step("enum", async () => {
    const Mood = new EntitySchema({ name: "Mood", columns: { id: { type: Number, primary: true, generated: true }, mood: { type: "enum", enum: ["sad", "happy"], default: "sad" } } });
    const other = source([Mood]);
    await other.initialize();
    await other.synchronize();
    assert.equal((await other.getRepository("Mood").save({})).mood, "sad");
    await other.destroy();
  });
  await step("revert and drop", async () => {
    await db.undoLastMigration();
    await db.dropDatabase();
  });
  await db.destroy();
});
