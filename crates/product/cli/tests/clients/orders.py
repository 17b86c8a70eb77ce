"""Clients that place orders over the PostgreSQL protocol, and an auditor who looks on.

Usage: orders.py PORT setup | run CLIENTS ORDERS ACKNOWLEDGED | audit ACKNOWLEDGED

An order checks the stock of its products, inserts itself with its details and decreases the stock, in one serializable
transaction that is tried again after SQLSTATE 40001. `run` appends the number of each acknowledged order to the file
ACKNOWLEDGED, after the acknowledgement, and ends quietly when the server goes away. `audit` demands that every acknowledged
order is there, none by half, and that the sums are exact.
"""

import os
import random
import sys
import threading

import psycopg

PRODUCTS = 20
STOCK = 100_000

SCHEMA = """
CREATE TABLE products (
    id integer PRIMARY KEY,
    stock integer NOT NULL CHECK (stock >= 0),
    last_order bigint NOT NULL
);
CREATE TABLE orders (id bigint PRIMARY KEY, client integer NOT NULL, lines integer NOT NULL);
CREATE TABLE details (
    order_id bigint NOT NULL REFERENCES orders,
    product_id integer NOT NULL REFERENCES products,
    quantity integer NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (order_id, product_id)
);
"""


def connect(port):
    return psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname="postgres", autocommit=True)


def setup(port):
    with connect(port) as connection:
        connection.execute(SCHEMA)
        rows = [(product, STOCK, -product) for product in range(1, PRODUCTS + 1)]
        connection.cursor().executemany("INSERT INTO products VALUES (%s, %s, %s)", rows)


def place(connection, order, client, chosen):
    """One attempt at one order."""
    with connection.transaction():
        for product, quantity in chosen:
            stock = connection.execute("SELECT stock FROM products WHERE id = %s FOR UPDATE", (product,)).fetchone()[0]
            if stock < quantity:
                raise ValueError(f"product {product} is sold out")
        connection.execute("INSERT INTO orders VALUES (%s, %s, %s)", (order, client, len(chosen)))
        for product, quantity in chosen:
            connection.execute("INSERT INTO details VALUES (%s, %s, %s)", (order, product, quantity))
            connection.execute(
                "UPDATE products SET stock = stock - %s, last_order = %s WHERE id = %s", (quantity, order, product)
            )


class Tally:
    """What the clients have done, together."""

    def __init__(self, file):
        self.latch = threading.Lock()
        self.file = open(file, "a", encoding="ascii")
        self.orders = self.attempts = self.audits = 0
        self.failures = []

    def acknowledge(self, order, attempts):
        with self.latch:
            self.orders += 1
            self.attempts += attempts
            self.file.write(f"{order}\n")
            self.file.flush()
            os.fsync(self.file.fileno())

    def fail(self, failure):
        with self.latch:
            self.failures.append(failure)


def client(port, number, orders, first, tally):
    choice = random.Random(number * 1_000_003 + first)
    try:
        with connect(port) as connection:
            for at in range(orders):
                order = first + at
                # In the order of their numbers, so that two orders never wait for each other in a circle.
                products = sorted(choice.sample(range(1, PRODUCTS + 1), choice.randint(1, 3)))
                chosen = [(product, choice.randint(1, 3)) for product in products]
                attempts = 1
                while True:
                    try:
                        place(connection, order, number, chosen)
                        break
                    except psycopg.errors.SerializationFailure as failure:
                        if failure.diag.message_detail is None or failure.diag.message_hint is None:
                            tally.fail(f"an abort that does not explain itself: {failure}")
                        attempts += 1
                tally.acknowledge(order, attempts)
    except psycopg.OperationalError:
        pass  # The server is gone: what it acknowledged is written down.
    except Exception as failure:  # noqa: BLE001: the main thread reports it.
        tally.fail(f"client {number}: {failure!r}")


def auditor(port, stop, tally):
    try:
        with connect(port) as connection:
            # At least once, however late it begins.
            while True:
                with connection.transaction():
                    # An audit reads everything: deferrable, it waits a moment and then makes no order try again.
                    connection.execute("SET TRANSACTION READ ONLY, DEFERRABLE")
                    check(connection)
                tally.audits += 1
                if stop.is_set():
                    break
    except psycopg.OperationalError:
        pass
    except Exception as failure:  # noqa: BLE001
        tally.fail(f"auditor: {failure!r}")


def check(connection):
    """The sums, in one transaction."""
    sold = connection.execute("SELECT coalesce(sum(quantity), 0) FROM details").fetchone()[0]
    left, least = connection.execute("SELECT sum(stock), min(stock) FROM products").fetchone()
    if sold + left != PRODUCTS * STOCK or least < 0:
        raise AssertionError(f"{sold} sold and {left} left of {PRODUCTS * STOCK}, least stock {least}")
    halves = connection.execute(
        "SELECT o.id FROM orders o LEFT JOIN details d ON d.order_id = o.id GROUP BY o.id, o.lines HAVING count(d.order_id) <> o.lines"
    ).fetchall()
    if halves:
        raise AssertionError(f"orders by half: {halves}")


def run(port, clients, orders, file):
    tally = Tally(file)
    with connect(port) as connection:
        base = connection.execute("SELECT coalesce(max(id), 0) FROM orders").fetchone()[0] + 1
    threads = [
        threading.Thread(target=client, args=(port, number, orders, base + number * orders, tally))
        for number in range(clients)
    ]
    stop = threading.Event()
    looking = threading.Thread(target=auditor, args=(port, stop, tally))
    looking.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    looking.join()
    for failure in tally.failures:
        print(failure, file=sys.stderr)
    print(f"orders {tally.orders} attempts {tally.attempts} audits {tally.audits}")
    return 1 if tally.failures else 0


def audit(port, file):
    with open(file, encoding="ascii") as lines:
        # The last line may be torn: the client was killed, too.
        acknowledged = {int(line) for line in lines if line.endswith("\n")}
    with connect(port) as connection, connection.transaction():
        check(connection)
        found = {row[0] for row in connection.execute("SELECT id FROM orders")}
    lost = acknowledged - found
    if lost:
        print(f"lost: {sorted(lost)[:10]} of {len(acknowledged)}", file=sys.stderr)
        return 1
    print(f"acknowledged {len(acknowledged)} found {len(found)}")
    return 0


def main():
    port, what = int(sys.argv[1]), sys.argv[2]
    if what == "setup":
        setup(port)
        return 0
    if what == "run":
        return run(port, int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    return audit(port, sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
