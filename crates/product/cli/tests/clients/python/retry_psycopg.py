"""A transaction that is run again after a conflict, with psycopg. docs/retries.md shows the function."""

import psycopg
from steps import URL, equal, step, version

# shown: begin
import random
import time


def run(connection, body, attempts=10):
    """Runs body in a transaction, again after a conflict. It must have no effect but through the connection."""
    for attempt in range(1, attempts + 1):
        try:
            with connection.transaction():
                return body(connection)
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            if attempt == attempts:
                raise
            time.sleep(random.uniform(0, 0.01 * 2**attempt))
# shown: end


version("psycopg")
connection = psycopg.connect(URL, autocommit=True)
connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
connection.execute("CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL)")
connection.execute("INSERT INTO stock VALUES (1, 10)")
with step("runs again after a conflict"):
    seen = []

    def sell(connection):
        (left,) = connection.execute("SELECT n FROM stock WHERE id = 1").fetchone()
        seen.append(left)
        if len(seen) == 1:
            with psycopg.connect(URL) as other:
                other.execute("UPDATE stock SET n = n - 1")
        connection.execute("UPDATE stock SET n = %s WHERE id = 1", [left - 1])
        return left - 1

    equal(run(connection, sell), 8)
    equal(seen, [10, 9])
with step("other errors are not retried"):
    calls = []
    try:
        run(connection, lambda connection: calls.append(1) or connection.execute("SELECT 1/0"))
        raise AssertionError("no error")
    except psycopg.errors.DivisionByZero:
        equal(calls, [1])
