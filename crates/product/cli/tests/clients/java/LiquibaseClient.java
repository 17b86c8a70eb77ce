import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;

import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.Table;

/** Liquibase: update, status, snapshot, rollback, dropAll. */
public final class LiquibaseClient {
    private static final String CHANGES = """
        <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"
            xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
            xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
          <changeSet id="1" author="a">
            <createTable tableName="author" remarks="who writes">
              <column name="id" type="bigint" autoIncrement="true"><constraints primaryKey="true"/></column>
              <column name="name" type="varchar(80)"><constraints nullable="false" unique="true"/></column>
            </createTable>
            <createTable tableName="book">
              <column name="id" type="uuid" defaultValueComputed="gen_random_uuid()"><constraints primaryKey="true"/></column>
              <column name="author_id" type="bigint"><constraints foreignKeyName="book_author" references="author(id)" deleteCascade="true"/></column>
              <column name="price" type="decimal(10,2)" defaultValueNumeric="0"/>
            </createTable>
            <createIndex tableName="book" indexName="book_price"><column name="price" descending="true"/></createIndex>
            <createView viewName="prices">SELECT price FROM book</createView>
          </changeSet>
          <changeSet id="2" author="a">
            <addColumn tableName="book"><column name="title" type="text" defaultValue="untitled"/></addColumn>
            <createSequence sequenceName="numbers" startValue="10"/>
            <modifyDataType tableName="author" columnName="name" newDataType="text"/>
            <insert tableName="author"><column name="name" value="Ada"/></insert>
            <rollback><dropSequence sequenceName="numbers"/><dropColumn tableName="book" columnName="title"/></rollback>
          </changeSet>
        </databaseChangeLog>
        """;

    public static void main(String[] arguments) throws Exception {
        Steps.version("Liquibase " + Steps.of("liquibase-core"));
        java.util.logging.LogManager.getLogManager().reset();
        Files.writeString(Path.of("changes.xml"), CHANGES);
        Connection connection = DriverManager.getConnection(Steps.URL, Steps.USER, "");
        var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
        Liquibase liquibase = new Liquibase("changes.xml", new DirectoryResourceAccessor(Path.of(".")), database);
        Steps.step("migrate", () -> liquibase.update(new Contexts()));
        Steps.step("migrate again", () -> {
            liquibase.update(new Contexts());
            Steps.equal(liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size(), 0);
        });
        Steps.step("reflect", () -> {
            DatabaseSnapshot snapshot = SnapshotGeneratorFactory.getInstance().createSnapshot(database.getDefaultSchema(), database, new SnapshotControl(database));
            var book = snapshot.get(Table.class).stream().filter(table -> table.getName().equals("book")).findFirst().get();
            Steps.equal(book.getOutgoingForeignKeys().size(), 1);
            Steps.equal(book.getColumns().size(), 4);
        });
        Steps.step("roll back", () -> liquibase.rollback(1, ""));
        Steps.step("drop", () -> liquibase.dropAll());
    }
}
