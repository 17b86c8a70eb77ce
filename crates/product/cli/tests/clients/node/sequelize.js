// Sequelize 6: sync, alter, associations, transactions, enums.
"use strict";
const { Sequelize, DataTypes, Op, Transaction } = require("sequelize");
const { assert, main, refused, step, url, version } = require("./steps.js");

main(async () => {
  version("sequelize", "pg");
  const db = new Sequelize(url, { logging: (sql) => console.error(sql), pool: { max: 4 } });
  const Author = db.define("author", { name: { type: DataTypes.STRING, unique: true, allowNull: false }, born: DataTypes.DATEONLY });
  const Book = db.define("book", {
    id: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, primaryKey: true },
    title: { type: DataTypes.TEXT, allowNull: false, comment: "as printed" },
    price: DataTypes.DECIMAL(10, 2), extra: DataTypes.JSONB, tags: DataTypes.ARRAY(DataTypes.TEXT),
  }, { indexes: [{ fields: ["title", "price"] }], paranoid: true });
  Author.hasMany(Book);
  Book.belongsTo(Author);
  await step("connect", () => db.authenticate());
  await step("migrate", () => db.sync());
  await step("insert", async () => {
    const author = await Author.create({ name: "Ada", books: [{ title: "one", price: 1.5, tags: ["x"] }, { title: "two", price: 2, extra: { a: { b: 1 } } }] }, { include: Book });
    assert.equal(author.books.length, 2);
    await Author.bulkCreate([{ name: "Ada" }, { name: "Bob" }], { updateOnDuplicate: ["name"], conflictAttributes: ["name"] });
    assert.equal((await Author.upsert({ id: 1, name: "Ada" }))[0].name, "Ada");
  });
  await step("select", async () => {
    const [author] = await Author.findAll({ include: Book, where: { name: { [Op.iLike]: "a%" } }, order: [[Book, "title", "ASC"]] });
    assert.deepEqual(author.books.map((book) => book.price), ["1.50", "2.00"]);
    assert.equal(await Book.count({ where: { "extra.a.b": 1 } }), 1);
    assert.equal(await Book.count({ where: { tags: { [Op.contains]: ["x"] } } }), 1);
  });
  await step("reflect", async () => {
    const queries = db.getQueryInterface();
    const columns = await queries.describeTable("books");
    assert.deepEqual([columns.title.comment, columns.id.primaryKey, columns.price.type], ["as printed", true, "NUMERIC"]);
    assert((await queries.showAllTables()).includes("books"));
    assert((await queries.showIndex("books")).some((index) => index.name === "books_title_price"));
    assert.equal((await queries.getForeignKeyReferencesForTable("books")).length, 1);
  });
  await step("alter", async () => {
    Author.rawAttributes.email = { type: DataTypes.STRING(100) };
    Author.refreshAttributes();
    await db.sync({ alter: true });
    assert("email" in await db.getQueryInterface().describeTable("authors"));
  });
  await step("transaction", async () => {
    await refused(db.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.SERIALIZABLE }, async (transaction) => {
      await Book.findOne({ transaction, lock: transaction.LOCK.UPDATE });
      await Book.destroy({ where: {}, force: true, transaction });
      await Author.create({ name: "Ada" }, { transaction });
    }), "23505");
    assert.equal(await Book.count(), 2);
  });
  await step("skip locked", () => db.transaction(async (transaction) => {
    const first = await Book.findOne({ transaction, lock: true, skipLocked: true, order: ["id"] });
    await db.transaction(async (other) => {
      const second = await Book.findOne({ transaction: other, lock: true, skipLocked: true, order: ["id"] });
      assert.notEqual(first.id, second.id);
    });
  }));
  await step("findOrCreate", async () => {
    const [author, created] = await Author.findOrCreate({ where: { name: "Cleo" } });
    assert(created && author.name === "Cleo");
  });
  await step("enum", async () => {
    const Mood = db.define("mood", { mood: DataTypes.ENUM("sad", "happy") });
    await Mood.sync();
    await Mood.create({ mood: "happy" });
  });
  await step("drop", () => db.drop({}));
  await db.close();
});
