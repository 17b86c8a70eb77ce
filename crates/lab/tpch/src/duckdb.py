"""Times the queries of a directory on DuckDB in memory: a line for each of them, the least of some runs in milliseconds."""

import pathlib
import sys
import time

import duckdb

directory, repeat, threads = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
database = duckdb.connect()
database.execute(f"SET threads = {threads}")
database.execute((directory / "schema.sql").read_text())
for table in (directory / "tables").read_text().split():
    database.execute(f"COPY {table} FROM '{directory / table}' (DELIMITER '|', HEADER false, QUOTE '', ESCAPE '')")
for query in sorted(directory.glob("query-*.sql")):
    text, best = query.read_text(), float("inf")
    for _ in range(repeat):
        begun = time.perf_counter()
        database.execute(text).fetchall()
        best = min(best, time.perf_counter() - begun)
    print(best * 1000, flush=True)
