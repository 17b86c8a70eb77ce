import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;

import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/** A transaction that is run again after a conflict, with Spring. docs/retries.md shows the class. */
public final class RetrySpring {
    // shown: begin
    /** Runs bodies in transactions, again after a conflict. Spring makes a ConcurrencyFailureException of 40001 and 40P01. */
    static final class Transactions {
        private static final int ATTEMPTS = 10;
        private final TransactionTemplate template;

        /** The manager is a JdbcTransactionManager: it translates what COMMIT throws, too. */
        Transactions(PlatformTransactionManager manager) {
            template = new TransactionTemplate(manager);
            template.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE);
        }

        <T> T run(Supplier<T> body) throws InterruptedException {
            for (int attempt = 1;; attempt++) {
                try {
                    return template.execute(status -> body.get());
                } catch (ConcurrencyFailureException conflict) {
                    if (attempt == ATTEMPTS) {
                        throw conflict;
                    }
                    Thread.sleep(ThreadLocalRandom.current().nextLong(10L << attempt));
                }
            }
        }
    }
    // shown: end

    public static void main(String[] arguments) throws Exception {
        Steps.version("Spring " + Steps.of("spring-jdbc"));
        var source = new DriverManagerDataSource(Steps.URL, Steps.USER, "");
        var jdbc = new JdbcTemplate(source);
        var other = new JdbcTemplate(new DriverManagerDataSource(Steps.URL, Steps.USER, ""));
        var transactions = new Transactions(new JdbcTransactionManager(source));
        jdbc.execute("CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL)");
        jdbc.update("INSERT INTO stock VALUES (1, 10)");
        Steps.step("runs again after a conflict", () -> {
            List<Integer> seen = new ArrayList<>();
            int left = transactions.run(() -> {
                int n = jdbc.queryForObject("SELECT n FROM stock WHERE id = 1", Integer.class);
                seen.add(n);
                if (seen.size() == 1) {
                    other.update("UPDATE stock SET n = n - 1");
                }
                jdbc.update("UPDATE stock SET n = ? WHERE id = 1", n - 1);
                return n - 1;
            });
            Steps.equal(left, 8);
            Steps.equal(seen, List.of(10, 9));
        });
        Steps.step("other errors are not retried", () -> {
            int[] calls = new int[1];
            Steps.refused("22012", () -> transactions.run(() -> {
                calls[0]++;
                return jdbc.queryForObject("SELECT 1/0", Integer.class);
            }));
            Steps.equal(calls[0], 1);
        });
    }
}
