import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;

import org.jooq.SQLDialect;
import org.jooq.codegen.GenerationTool;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;
import org.jooq.meta.jaxb.Configuration;
import org.jooq.meta.jaxb.Database;
import org.jooq.meta.jaxb.Generator;
import org.jooq.meta.jaxb.Jdbc;
import org.jooq.meta.jaxb.Target;

/** jOOQ: DDL and queries by its DSL, and the generator that reads the catalog. */
public final class JooqClient {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("org.jooq.no-logo", "true");
        System.setProperty("org.jooq.no-tips", "true");
        Steps.version("jOOQ " + Steps.of("jooq"));
        Connection connection = DriverManager.getConnection(Steps.URL, Steps.USER, "");
        var jooq = DSL.using(connection, SQLDialect.POSTGRES);
        var author = DSL.table("author");
        var book = DSL.table("book");
        Steps.step("migrate", () -> {
            jooq.createTable("author").column("id", SQLDataType.BIGINT.identity(true)).column("name", SQLDataType.VARCHAR(80).notNull())
                .constraints(DSL.primaryKey("id"), DSL.unique("name")).execute();
            jooq.createTable("book").column("id", SQLDataType.INTEGER.identity(true)).column("author_id", SQLDataType.BIGINT).column("title", SQLDataType.CLOB)
                .column("price", SQLDataType.DECIMAL(10, 2).defaultValue(BigDecimal.ZERO)).column("tags", SQLDataType.CLOB.array())
                .constraints(DSL.primaryKey("id"), DSL.foreignKey("author_id").references("author", "id").onDeleteCascade(), DSL.check(DSL.condition("price >= 0"))).execute();
            jooq.createIndex("book_title").on("book", "title").execute();
            jooq.createView("titles", "title").as(DSL.select(DSL.field("title")).from(book)).execute();
        });
        Steps.step("insert", () -> {
            var id = jooq.insertInto(author, DSL.field("name")).values("Ada").returningResult(DSL.field("id", Long.class)).fetchOne().value1();
            jooq.insertInto(book, DSL.field("author_id"), DSL.field("title"), DSL.field("price")).values(id, "one", 1).values(id, "two", 2).execute();
            jooq.insertInto(author, DSL.field("name")).values("Ada").onConflict(DSL.field("name")).doNothing().execute();
        });
        Steps.step("select", () -> {
            var prices = DSL.sum(DSL.field("price", BigDecimal.class));
            var found = jooq.select(DSL.field("author.name"), prices).from(author).join(book).on("author.id = author_id").groupBy(DSL.field("author.name")).fetchOne();
            Steps.equal(found.value2(), new BigDecimal("3.00"));
            var nested = jooq.select(DSL.field("name"), DSL.multiset(DSL.select(DSL.field("title")).from(book).where("author_id = author.id"))).from(author).fetchOne();
            Steps.equal(((org.jooq.Result<?>) nested.get(1)).size(), 2);
        });
        Steps.step("transaction", () -> {
            Steps.refused("23505", () -> jooq.transaction(inner -> {
                inner.dsl().select().from(book).forUpdate().skipLocked().fetch();
                inner.dsl().deleteFrom(book).execute();
                inner.dsl().insertInto(author, DSL.field("name")).values("Ada").execute();
            }));
            Steps.equal(jooq.fetchCount(book), 2);
        });
        Steps.step("reflect", () -> {
            Jdbc jdbc = new Jdbc().withUrl(Steps.URL).withUser(Steps.USER).withPassword("");
            Database database = new Database().withName("org.jooq.meta.postgres.PostgresDatabase").withInputSchema("public").withIncludes(".*");
            Target target = new Target().withPackageName("made").withDirectory("made");
            new GenerationTool().run(new Configuration().withJdbc(jdbc).withGenerator(new Generator().withDatabase(database).withTarget(target)));
            String made = Files.readString(Path.of("made/made/tables/Book.java"));
            Steps.equal(made.contains("SQLDataType.NUMERIC(10, 2)") && made.contains("getReferences"), true);
            Steps.equal(Files.exists(Path.of("made/made/tables/Titles.java")), true);
        });
        Steps.step("reflect by JDBC", () -> Steps.equal(jooq.meta().getTables("book").get(0).getReferences().size(), 1));
    }
}
