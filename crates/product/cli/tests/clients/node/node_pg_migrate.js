// node-pg-migrate: create, up, redo, down, by its command.
"use strict";
const fs = require("node:fs");
const { Client } = require("pg");
const { assert, bin, main, run, step, url, version } = require("./steps.js");

const FIRST = `
exports.up = (pgm) => {
  pgm.createTable("author", { id: "id", name: { type: "varchar(100)", notNull: true, unique: true }, made: { type: "timestamp", notNull: true, default: pgm.func("current_timestamp") } }, { comment: "who writes" });
  pgm.createTable("book", { id: { type: "bigserial", primaryKey: true }, author_id: { type: "integer", notNull: true, references: '"author"', onDelete: "cascade" }, title: { type: "text", notNull: true } });
  pgm.createIndex("book", "author_id");
  pgm.addConstraint("book", "titled", { check: "title <> ''" });
  pgm.createView("titles", {}, "SELECT title FROM book");
};
`;
const SECOND = `
exports.up = (pgm) => { pgm.addColumns("book", { price: { type: "numeric(10,2)", default: 0 } }); pgm.alterColumn("author", "name", { type: "text" }); pgm.renameColumn("book", "title", "name"); };
exports.down = (pgm) => { pgm.renameColumn("book", "name", "title"); pgm.dropColumns("book", ["price"]); };
`;

main(async () => {
  version("node-pg-migrate", "pg");
  fs.mkdirSync("migrations");
  fs.writeFileSync("migrations/1700000000001_first.js", FIRST);
  fs.writeFileSync("migrations/1700000000002_second.js", SECOND);
  const migrate = (...args) => run(bin("node-pg-migrate"), args);
  const client = new Client(url);
  await client.connect();
  await step("migrate", () => migrate("up"));
  await step("use", async () => {
    await client.query("INSERT INTO author (name) VALUES ('Ada')");
    await client.query("INSERT INTO book (author_id, name) VALUES (1, 'one')");
    assert.equal((await client.query("SELECT * FROM titles")).rows[0].title, "one");
  });
  await step("redo", () => migrate("redo"));
  await step("migrate down", () => migrate("down"));
  await step("up again", () => migrate("up"));
  await client.end();
});
