"""Times the queries of a directory on DuckDB in memory: a line of JSON for each, the runs' milliseconds and the rows."""

import json
import pathlib
import sys
import time

import duckdb

directory, repeat, threads = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
database = duckdb.connect()
database.execute(f"SET threads = {threads}")
# It would go to the standard output, as the times do.
database.execute("SET enable_progress_bar = false")
database.execute((directory / "schema.sql").read_text())
for table in (directory / "tables").read_text().split():
    database.execute(f"COPY {table} FROM '{directory / table}' (DELIMITER '|', HEADER false, QUOTE '', ESCAPE '')")
for query in sorted(directory.glob("query-*.sql")):
    text, times, rows = query.read_text(), [], []
    for _ in range(repeat):
        begun = time.perf_counter()
        rows = database.execute(text).fetchall()
        times.append((time.perf_counter() - begun) * 1000)
    rows = ["|".join("" if value is None else str(value) for value in row) for row in rows]
    print(json.dumps({"ms": times, "rows": rows}), flush=True)
