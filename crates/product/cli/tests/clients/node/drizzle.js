// Drizzle ORM, and drizzle-kit: generate, migrate, push, pull.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { drizzle } = require("drizzle-orm/node-postgres");
const { migrate } = require("drizzle-orm/node-postgres/migrator");
const { arrayContains, eq, sql } = require("drizzle-orm");
const { assert, bin, main, refused, run, step, url, version } = require("./steps.js");

const schema = (more) => `
const { pgTable, integer, text, numeric, jsonb, timestamp, serial, index, uniqueIndex, uuid, check } = require("drizzle-orm/pg-core");
const { sql } = require("drizzle-orm");
const author = pgTable("author", { id: integer().primaryKey().generatedAlwaysAsIdentity(), name: text().notNull().unique(), made: timestamp({ withTimezone: true }).defaultNow() });
const book = pgTable("book", {
  id: serial().primaryKey(), key: uuid().defaultRandom(), authorId: integer("author_id").references(() => author.id, { onDelete: "cascade" }),
  title: text().notNull(), price: numeric({ precision: 10, scale: 2 }), extra: jsonb(), tags: text().array(), ${more}
}, (t) => [index("by_title").on(t.title, t.price), check("not_negative", sql\`\${t.price} >= 0\`)]);
module.exports = { author, book };
`;

main(async () => {
  version("drizzle-orm", "drizzle-kit");
  // The schema's modules are looked for beside it.
  fs.symlinkSync(path.join(__dirname, "node_modules"), "node_modules");
  const config = { dialect: "postgresql", schema: "./schema.js", out: "./drizzle", dbCredentials: { url } };
  fs.writeFileSync("drizzle.config.json", JSON.stringify(config));
  fs.writeFileSync("schema.js", schema(""));
  const { author, book } = require(path.resolve("schema.js"));
  const db = drizzle(url);
  const kit = (...args) => run(bin("drizzle-kit"), args);
  await step("migrate", async () => {
    kit("generate", "--name", "first");
    await migrate(db, { migrationsFolder: "./drizzle" });
  });
  await step("insert", async () => {
    const [{ id }] = await db.insert(author).values({ name: "Ada" }).returning();
    await db.insert(book).values([{ authorId: id, title: "one", price: "1.50", tags: ["x"] }, { authorId: id, title: "two", extra: { a: 1 } }]);
    await db.insert(author).values({ name: "Ada" }).onConflictDoUpdate({ target: author.name, set: { name: "Ada" } });
  });
  await step("select", async () => {
    const rows = await db.select().from(author).leftJoin(book, eq(book.authorId, author.id)).orderBy(book.title);
    assert.deepEqual(rows.map((row) => row.book.price), ["1.50", null]);
    assert.equal((await db.select({ n: sql`count(*)::int` }).from(book).where(arrayContains(book.tags, ["x"])))[0].n, 1);
  });
  await step("transaction", async () => {
    await refused(db.transaction(async (tx) => {
      await tx.select().from(book).for("update");
      await tx.delete(book);
      await tx.transaction(async (nested) => nested.execute(sql`SELECT 1/0`)).catch(() => {});
      await tx.insert(author).values({ name: "Ada" });
    }, { isolationLevel: "serializable" }), "23505");
    assert.equal((await db.select().from(book)).length, 2);
  });
  await step("push", async () => {
    fs.writeFileSync("schema.js", schema(`pages: integer().default(0),`));
    kit("push", "--force");
    assert.equal((await db.execute(sql`SELECT pages FROM book`)).rows[0].pages, 0);
    assert.match(kit("push", "--force"), /No changes detected/);
  });
  await step("pull", () => {
    kit("pull");
    const pulled = fs.readFileSync("drizzle/schema.ts", "utf8");
    assert.match(pulled, /generatedAlwaysAsIdentity/);
    assert.match(pulled, /by_title/);
  });
});
