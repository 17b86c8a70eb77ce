import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.postgresql.PGConnection;

/** pgjdbc: statements, metadata, batches, COPY, a cached plan that heals; HikariCP over it. */
public final class PgJdbc {
    public static void main(String[] arguments) throws Exception {
        Steps.version("pgjdbc " + Steps.of("postgresql") + ", HikariCP " + Steps.of("HikariCP"));
        Properties properties = new Properties();
        properties.put("user", Steps.USER);
        properties.put("options", "-c search_path=public");
        properties.put("reWriteBatchedInserts", "true");
        Connection connection = DriverManager.getConnection(Steps.URL, properties);
        Statement statement = connection.createStatement();
        Steps.step("connect", () -> Steps.equal(one(connection, "SELECT 1"), 1));
        Steps.step("migrate", () -> statement.execute("CREATE TABLE item (id serial PRIMARY KEY, name varchar(50) UNIQUE NOT NULL, price numeric(10,2),"
            + " tags text[], key uuid, made timestamptz DEFAULT now()); CREATE INDEX item_price ON item (price);"
            + " CREATE TABLE part (item_id int NOT NULL REFERENCES item ON DELETE CASCADE, n int, PRIMARY KEY (item_id, n))"));
        Steps.step("insert", () -> {
            String sql = "INSERT INTO item (name, price, tags, key) VALUES (?, ?, ?, ?)";
            try (PreparedStatement insert = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
                insert.setString(1, "a");
                insert.setBigDecimal(2, new BigDecimal("1.50"));
                insert.setArray(3, connection.createArrayOf("text", new String[] {"x", "y"}));
                insert.setObject(4, new UUID(1, 2));
                Steps.equal(insert.executeUpdate(), 1);
                ResultSet keys = insert.getGeneratedKeys();
                keys.next();
                Steps.equal(keys.getInt(1), 1);
            }
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO item (name, price) VALUES (?, ?)")) {
                for (int n = 0; n < 100; n++) {
                    insert.setString(1, "n" + n);
                    insert.setInt(2, n);
                    insert.addBatch();
                }
                Steps.equal(insert.executeBatch().length, 100);
            }
        });
        Steps.step("select", () -> {
            // More than the five executions after which the driver prepares on the server and reads binary.
            try (PreparedStatement select = connection.prepareStatement("SELECT * FROM item WHERE id = ?")) {
                for (int n = 0; n < 8; n++) {
                    select.setInt(1, 1);
                    ResultSet row = select.executeQuery();
                    row.next();
                    Steps.equal(row.getBigDecimal("price"), new BigDecimal("1.50"));
                    Steps.equal(((String[]) row.getArray("tags").getArray())[1], "y");
                    Steps.equal(row.getObject("key"), new UUID(1, 2));
                    row.getTimestamp("made").toInstant();
                }
            }
        });
        Steps.step("reflect", () -> {
            DatabaseMetaData data = connection.getMetaData();
            Steps.equal(column(data.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME"), List.of("item", "part"));
            Steps.equal(column(data.getColumns(null, "public", "item", "%"), "TYPE_NAME"), List.of("serial", "varchar", "numeric", "_text", "uuid", "timestamptz"));
            Steps.equal(column(data.getPrimaryKeys(null, "public", "part"), "COLUMN_NAME"), List.of("item_id", "n"));
            Steps.equal(column(data.getImportedKeys(null, "public", "part"), "PKTABLE_NAME"), List.of("item"));
            Steps.equal(column(data.getIndexInfo(null, "public", "item", true, false), "INDEX_NAME"), List.of("item_name_key", "item_pkey"));
            Steps.equal(column(data.getSchemas(), "TABLE_SCHEM").contains("public"), true);
            Steps.equal(column(data.getTypeInfo(), "TYPE_NAME").contains("jsonb"), true);
            column(data.getProcedures(null, null, "%"), "PROCEDURE_NAME");
            column(data.getFunctions(null, null, "%"), "FUNCTION_NAME");
            column(data.getTablePrivileges(null, "public", "item"), "PRIVILEGE");
        });
        Steps.step("transaction", () -> {
            connection.setAutoCommit(false);
            statement.execute("DELETE FROM item");
            Savepoint savepoint = connection.setSavepoint();
            Steps.refused("22012", () -> statement.execute("SELECT 1/0"));
            connection.rollback(savepoint);
            connection.rollback();
            connection.setAutoCommit(true);
            Steps.equal(one(connection, "SELECT count(*) FROM item"), 101L);
            Steps.refused("23505", () -> statement.execute("INSERT INTO item (name) VALUES ('a')"));
        });
        Steps.step("cursor", () -> {
            connection.setAutoCommit(false);
            try (Statement slow = connection.createStatement()) {
                slow.setFetchSize(10);
                ResultSet rows = slow.executeQuery("SELECT generate_series(1, 1000)");
                int seen = 0;
                while (rows.next()) {
                    seen++;
                }
                Steps.equal(seen, 1000);
            }
            connection.setAutoCommit(true);
        });
        Steps.step("copy in and out", () -> {
            var copy = connection.unwrap(PGConnection.class).getCopyAPI();
            Steps.equal(copy.copyIn("COPY item (name, price) FROM STDIN (FORMAT csv)", new StringReader("c1,7\nc2,8\n")), 2L);
            StringWriter out = new StringWriter();
            copy.copyOut("COPY (SELECT name FROM item WHERE name LIKE 'c%' ORDER BY 1) TO STDOUT", out);
            Steps.equal(out.toString(), "c1\nc2\n");
        });
        Steps.step("call a function", () -> {
            try (var call = connection.prepareCall("{? = call upper(?)}")) {
                call.registerOutParameter(1, Types.VARCHAR);
                call.setString(2, "abc");
                call.execute();
                Steps.equal(call.getString(1), "ABC");
            }
        });
        Steps.step("updatable rows", () -> {
            try (Statement updates = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet row = updates.executeQuery("SELECT id, name FROM item WHERE id = 1");
                row.next();
                row.updateString("name", "changed");
                row.updateRow();
            }
            Steps.equal(one(connection, "SELECT name FROM item WHERE id = 1"), "changed");
        });
        Steps.step("changed plan heals", () -> {
            statement.execute("CREATE TABLE plan (a int); INSERT INTO plan VALUES (1)");
            try (PreparedStatement select = connection.prepareStatement("SELECT * FROM plan")) {
                for (int n = 0; n < 8; n++) {
                    select.executeQuery().close();
                }
                statement.execute("ALTER TABLE plan ADD COLUMN b int DEFAULT 2");
                ResultSet row = select.executeQuery();
                row.next();
                Steps.equal(row.getMetaData().getColumnCount(), 2);
            }
        });
        Steps.step("large objects", () -> {
            connection.setAutoCommit(false);
            try {
                connection.unwrap(PGConnection.class).getLargeObjectAPI().createLO();
            } finally {
                connection.rollback();
                connection.setAutoCommit(true);
            }
        });
        connection.close();
        Steps.step("pool", PgJdbc::pool);
    }

    private static void pool() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(Steps.URL);
        config.setUsername(Steps.USER);
        config.setMaximumPoolSize(4);
        config.setTransactionIsolation("TRANSACTION_SERIALIZABLE");
        try (HikariDataSource pool = new HikariDataSource(config); var threads = new Threads()) {
            List<Callable<Object>> tasks = new ArrayList<>();
            for (int n = 0; n < 20; n++) {
                int number = n;
                tasks.add(() -> {
                    try (Connection connection = pool.getConnection()) {
                        return one(connection, "SELECT " + number + " + 1");
                    }
                });
            }
            int sum = 0;
            for (var found : threads.service.invokeAll(tasks)) {
                sum += (Integer) found.get();
            }
            Steps.equal(sum, 210);
        }
    }

    private static final class Threads implements AutoCloseable {
        final java.util.concurrent.ExecutorService service = Executors.newFixedThreadPool(8);

        @Override
        public void close() {
            service.shutdown();
        }
    }

    private static Object one(Connection connection, String sql) throws Exception {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getObject(1);
        }
    }

    private static List<String> column(ResultSet rows, String name) throws Exception {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            found.add(rows.getString(name));
        }
        return found;
    }
}
