"""Alembic: init, autogenerate, upgrade, check, downgrade. The driver is the first argument: psycopg or psycopg2."""

import pathlib
import sys

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from steps import URL, equal, step, version

DRIVER = sys.argv[1]
MODELS = '''
import sqlalchemy as sa

metadata = sa.MetaData()
sa.Table(
    "author", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(80), nullable=False, unique=True, comment="as printed"),
)
sa.Table(
    "book", metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("author_id", sa.ForeignKey("author.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("title", sa.Text, nullable=False, server_default="untitled"),
    sa.Column("price", sa.Numeric(10, 2)),
    sa.CheckConstraint("price > 0", name="price_positive"),
)
'''

version("alembic", "SQLAlchemy")
url = sa.make_url(URL).set(drivername=f"postgresql+{DRIVER}")
config = Config("alembic.ini")
with step("init"):
    command.init(config, "migrations")
    config = Config("alembic.ini")
    config.set_main_option("sqlalchemy.url", url.render_as_string(hide_password=False))
    pathlib.Path("models.py").write_text(MODELS)
    environment = pathlib.Path("migrations/env.py")
    text = environment.read_text()
    environment.write_text(text.replace("target_metadata = None", "from models import metadata as target_metadata"))
    sys.path.insert(0, ".")
with step("autogenerate"):
    command.revision(config, "first", autogenerate=True, rev_id="001")
    made = next(pathlib.Path("migrations/versions").glob("001*.py")).read_text()
    assert "create_table('book'" in made, made
with step("upgrade"):
    command.upgrade(config, "head")
    command.current(config)
with step("check"):
    command.check(config)
with step("alter"):
    models = pathlib.Path("models.py")
    models.write_text(models.read_text().replace("sa.String(80), nullable=False", "sa.Text, nullable=True").replace(
        'sa.Column("price", sa.Numeric(10, 2)),', 'sa.Column("price", sa.Numeric(12, 3)), sa.Column("pages", sa.Integer),'))
    del sys.modules["models"]
    command.revision(config, "second", autogenerate=True, rev_id="002")
    command.upgrade(config, "head")
    command.check(config)
with step("reflect"):
    columns = {column["name"]: str(column["type"]) for column in sa.inspect(sa.create_engine(url)).get_columns("book")}
    equal(columns["price"], "NUMERIC(12, 3)")
    equal(columns["pages"], "INTEGER")
with step("downgrade"):
    command.downgrade(config, "base")
    equal(sa.inspect(sa.create_engine(url)).get_table_names(), ["alembic_version"])
