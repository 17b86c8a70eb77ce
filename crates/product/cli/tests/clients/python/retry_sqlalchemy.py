"""A transaction that is run again after a conflict, with SQLAlchemy. docs/retries.md shows the function."""

import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker
from steps import URL, equal, step, version

# shown: begin
import random
import time


def run(sessions, body, attempts=10):
    """Runs body with a new session in a transaction, again after a conflict."""
    for attempt in range(1, attempts + 1):
        try:
            with sessions.begin() as session:
                return body(session)
        except sa.exc.DBAPIError as error:
            # psycopg and asyncpg say sqlstate, psycopg2 says pgcode.
            state = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
            if state not in ("40001", "40P01") or attempt == attempts:
                raise
            time.sleep(random.uniform(0, 0.01 * 2**attempt))
# shown: end


version("SQLAlchemy", "psycopg")
url = sa.make_url(URL).set(drivername="postgresql+psycopg")
engine = sa.create_engine(url, isolation_level="SERIALIZABLE")
stock = sa.Table("stock", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("n", sa.Integer))
stock.metadata.create_all(engine)
with engine.begin() as connection:
    connection.execute(sa.insert(stock).values(id=1, n=10))
with step("runs again after a conflict"):
    seen = []

    def sell(session: Session):
        left = session.scalar(sa.select(stock.c.n))
        seen.append(left)
        if len(seen) == 1:
            with engine.begin() as other:
                other.execute(sa.update(stock).values(n=stock.c.n - 1))
        session.execute(sa.update(stock).values(n=left - 1))
        return left - 1

    equal(run(sessionmaker(engine), sell), 8)
    equal(seen, [10, 9])
