"""pandas over SQLAlchemy: to_sql, read_sql, read_sql_table. The driver is the first argument."""

import sys

import pandas as pd
import sqlalchemy as sa
from steps import URL, equal, step, version

version("pandas", "SQLAlchemy")
engine = sa.create_engine(sa.make_url(URL).set(drivername=f"postgresql+{sys.argv[1]}"))
frame = pd.DataFrame(
    {"n": [1, 2, 3], "x": [0.5, None, 2.5], "s": ["a", None, "c"], "at": pd.date_range("2026-01-01", periods=3, tz="UTC")}
)
with step("to_sql"):
    frame.to_sql("frame", engine, index=False)
with step("append"):
    frame.to_sql("frame", engine, index=False, if_exists="append", method="multi")
with step("read_sql"):
    found = pd.read_sql("SELECT n, sum(x) AS x FROM frame GROUP BY n ORDER BY n", engine)
    equal(found["n"].tolist(), [1, 2, 3])
    equal(found["x"].tolist()[::2], [1.0, 5.0])
with step("read_sql_table"):
    found = pd.read_sql_table("frame", engine)
    equal(len(found), 6)
    assert str(found["at"].dtype).startswith("datetime64"), found.dtypes
with step("replace"):
    frame.to_sql("frame", engine, if_exists="replace", index_label="i")
    equal(pd.read_sql_table("frame", engine, index_col="i")["s"].tolist()[0], "a")
with step("parameters and chunks"):
    query = sa.text("SELECT * FROM frame WHERE n > :n ORDER BY n")
    equal([len(part) for part in pd.read_sql(query, engine, params={"n": 0}, chunksize=2)], [2, 1])
