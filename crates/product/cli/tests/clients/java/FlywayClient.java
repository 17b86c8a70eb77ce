import java.nio.file.Files;
import java.nio.file.Path;

import org.flywaydb.core.Flyway;

/** Flyway: baseline, migrate, repeatable migrations, validate, info, repair, clean. */
public final class FlywayClient {
    public static void main(String[] arguments) throws Exception {
        Steps.version("Flyway " + Steps.of("flyway-core"));
        Path place = Files.createDirectories(Path.of("sql"));
        Files.writeString(place.resolve("V1__first.sql"), """
            CREATE TABLE author (id bigserial PRIMARY KEY, name varchar(80) NOT NULL UNIQUE);
            CREATE TABLE book (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, author_id bigint NOT NULL REFERENCES author (id), title text NOT NULL);
            CREATE INDEX book_author ON book (author_id);
            INSERT INTO author (name) VALUES ('Ada');
            """);
        Files.writeString(place.resolve("V2__second.sql"), "ALTER TABLE book ADD COLUMN price numeric(10,2) NOT NULL DEFAULT 0; COMMENT ON TABLE book IS 'printed';");
        Files.writeString(place.resolve("R__titles.sql"), "CREATE OR REPLACE VIEW titles AS SELECT b.title, a.name FROM book b JOIN author a ON a.id = b.author_id;");
        Flyway flyway = Flyway.configure().dataSource(Steps.URL, Steps.USER, "").locations("filesystem:sql").cleanDisabled(false).load();
        Steps.step("migrate", () -> Steps.equal(flyway.migrate().migrationsExecuted, 3));
        Steps.step("reflect", () -> {
            flyway.validate();
            Steps.equal(flyway.info().applied().length, 3);
        });
        Steps.step("migrate again", () -> {
            Files.writeString(place.resolve("V3__third.sql"), "ALTER TABLE book ALTER COLUMN price TYPE numeric(12,3); DROP INDEX book_author;");
            Steps.equal(flyway.migrate().migrationsExecuted, 1);
        });
        Steps.step("a failed migration rolls back", () -> {
            Files.writeString(place.resolve("V4__fails.sql"), "CREATE TABLE half (a int); SELECT 1/0;");
            Steps.refused("22012", flyway::migrate);
            Files.delete(place.resolve("V4__fails.sql"));
            flyway.repair();
            Steps.equal(flyway.migrate().migrationsExecuted, 0);
        });
        Steps.step("with a lock of the session", () -> {
            Files.writeString(place.resolve("V5__fifth.sql"), "CREATE TABLE fifth (a int);");
            var configuration = Flyway.configure().dataSource(Steps.URL, Steps.USER, "").locations("filesystem:sql");
            configuration.getPluginRegister().getPlugin(org.flywaydb.database.postgresql.PostgreSQLConfigurationExtension.class).setTransactionalLock(false);
            Steps.equal(configuration.load().migrate().migrationsExecuted, 1);
        });
        Steps.step("clean", () -> Steps.equal(flyway.clean().schemasCleaned.size(), 1));
    }
}
