import java.sql.SQLException;
import java.util.Objects;

/** Steps of a client: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way. */
final class Steps {
    static final String URL = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
    static final String USER = System.getenv("PGUSER");

    interface Body {
        void run() throws Throwable;
    }

    static void version(String text) {
        System.out.println("version " + text);
    }

    /** Version of a library, from the name of its file. */
    static String of(String library) {
        for (String path : System.getProperty("java.class.path").split(":")) {
            java.io.File[] files = new java.io.File(path.replaceAll("\\*$", "")).listFiles();
            for (java.io.File file : files == null ? new java.io.File[] {new java.io.File(path)} : files) {
                String name = file.getName();
                if (name.matches(library + "-[0-9].*\\.jar")) {
                    return name.substring(library.length() + 1, name.length() - ".jar".length());
                }
            }
        }
        throw new IllegalStateException(library);
    }

    static void step(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null && !(cause instanceof SQLException)) {
                cause = cause.getCause();
            }
            String message = (error + " " + (cause == error ? "" : cause)).replaceAll("\\s+", " ");
            System.out.println("failed " + name + ": " + sqlState(error) + " " + message.substring(0, Math.min(300, message.length())));
            error.printStackTrace();
        }
        System.out.flush();
    }

    static String sqlState(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException sql && sql.getSQLState() != null) {
                return sql.getSQLState();
            }
        }
        return "-----";
    }

    static void equal(Object found, Object wanted) {
        if (!Objects.equals(found, wanted)) {
            throw new AssertionError("found " + found + ", wanted " + wanted);
        }
    }

    /** Runs a body that must fail with this SQLSTATE. */
    static void refused(String state, Body body) throws Throwable {
        try {
            body.run();
        } catch (Throwable error) {
            if (sqlState(error).equals(state)) {
                return;
            }
            throw error;
        }
        throw new AssertionError("not refused with " + state);
    }
}
