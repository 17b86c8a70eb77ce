"""pgAdmin 4: its own templates of queries, rendered for PostgreSQL 15 as its driver renders them, over objects of every kind.

Each folder of templates, which is about one kind of objects, is a step. What is seen of a query are the names of its columns, and the
number of rows if they are about the objects made here: the same as in PostgreSQL, where PostgreSQL answers.
"""

import pathlib
import re
import sys

import jinja2
import psycopg
from psycopg import sql
from steps import URL, saw, step

TEMPLATES = pathlib.Path(sys.prefix) / "pgadmin"
VERSIONS = ["15_plus", "14_plus", "13_plus", "12_plus", "11_plus", "default"]
# Of EDB's own server and extensions, and what changes something.
LEFT_OUT = re.compile(
    r"ppas|pga_|pgd_|debugger|some_feature|replica_nodes|resource_groups|synonyms|directories|packages|sqleditor|import_export"
    r"|/(create|update|delete|grant|alter|reset_stats)\.sql"
)
# Queries that are about the objects made here.
OWN_ROWS = re.compile(
    r"(tables|columns|indexes|index_constraint|foreign_key|check_constraint|domains|domain_constraints|sequences|types|views|mviews|triggers|rules"
    r"|exclusion_constraint|partitions|row_security_policies|foreign_tables|functions|procedures|trigger_functions|aggregates|operators|publications"
    r"|subscriptions|event_triggers|databases|schemas)/.*/(nodes?|properties|count|get_oid|get_name|get_schema|get_parent|get_constraints|get_columns)\.sql"
)

OBJECTS = """
    CREATE SCHEMA shown;
    CREATE TYPE shown.mood AS ENUM ('sad', 'happy');
    CREATE DOMAIN shown.percent AS int CONSTRAINT percent_check CHECK (VALUE BETWEEN 0 AND 100);
    CREATE SEQUENCE shown.counter;
    CREATE TABLE shown.author (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, mood shown.mood, share int CHECK (share > 0));
    CREATE TABLE shown.book (id bigserial PRIMARY KEY, author_id int CONSTRAINT book_author REFERENCES shown.author, title varchar(80) DEFAULT 'x', price numeric(10,2));
    CREATE INDEX book_title ON shown.book (title, lower(title)) WHERE price > 0;
    CREATE VIEW shown.titles AS SELECT title FROM shown.book;
    COMMENT ON TABLE shown.book IS 'books';
    COMMENT ON COLUMN shown.book.title IS 'as printed';
    INSERT INTO shown.author (name) VALUES ('Ada');
    INSERT INTO shown.book (author_id) VALUES (1), (1);
"""

IDENTIFIERS = """
    SELECT (SELECT oid FROM pg_database WHERE datname = current_database()) AS did, 'shown'::regnamespace::oid AS scid, 'shown.book'::regclass::oid AS tid,
        'shown.titles'::regclass::oid AS vid, 'shown.counter'::regclass::oid AS seid, 'shown.percent'::regtype::oid AS doid, 'shown.mood'::regtype::oid AS type,
        'shown.book_title'::regclass::oid AS idx,
        (SELECT oid FROM pg_constraint WHERE conname = 'book_author') AS foreign_key, (SELECT oid FROM pg_constraint WHERE conname = 'book_pkey') AS primary_key,
        (SELECT oid FROM pg_constraint WHERE conname = 'author_share_check') AS check_constraint,
        (SELECT oid FROM pg_constraint WHERE conname = 'percent_check') AS domain_constraint,
        (SELECT oid FROM pg_roles WHERE rolname = 'postgres') AS rid, (SELECT oid FROM pg_tablespace WHERE spcname = 'pg_default') AS tsid
"""


class Templates(jinja2.BaseLoader):
    """Finds the newest version of a template that PostgreSQL 15 may have: its name has #VERSION# in the place of a folder."""

    def get_source(self, environment, name):
        before, _, after = name.partition("#")
        versions = VERSIONS if after else [""]
        for path in (TEMPLATES / before.strip("/") / version / after.rpartition("#")[2].strip("/") for version in versions):
            if path.is_file():
                return path.read_text(), str(path), lambda: True
        raise jinja2.TemplateNotFound(name)


def identifier(_connection, *parts):
    plain = re.compile("[a-z_][a-z0-9_]*")
    quoted = [part if plain.fullmatch(part) else '"' + part.replace('"', '""') + '"' for part in map(str, parts) if part]
    return ".".join(quoted)


def environment():
    made = jinja2.Environment(loader=Templates(), extensions=["jinja2.ext.do"])
    made.filters["qtLiteral"] = lambda value, connection, *_: sql.Literal(value).as_string(connection).strip()
    made.filters["qtIdent"] = made.filters["qtTypeIdent"] = identifier
    made.filters["hasAny"] = lambda data, keys: any(key in data for key in keys)
    return made


def folders():
    """The folders of templates: #150000# stands for the version."""
    found = {}
    for path in sorted(TEMPLATES.rglob("*.sql")):
        name = re.sub(r"(^|/)(default|\d\d_plus)(/|$)", r"\1#150000#\3", str(path.relative_to(TEMPLATES)))
        if not LEFT_OUT.search(name):
            found.setdefault(name.split("/")[0], set()).add(name)
    return found


# What an identifier of the own object is called in most templates, and which it is in a folder.
OWN = {"foreign_key": "foreign_key", "index_constraint": "primary_key", "check_constraint": "check_constraint", "domain_constraints": "domain_constraint"}


def context(connection, ids, kind):
    """Variables of templates: those of the object that is selected in the tree."""
    own = ids[OWN.get(kind, "foreign_key")]
    names = {"schema": "shown", "name": "book", "table": "book", "parent": "book", "nspname": "shown", "relname": "book"}
    return {
        **ids, **names, "conn": connection, "tid": ids["type"] if kind == "types" else ids["tid"], "cid": own, "coid": own, "clid": 2, "exid": own,
        "datlastsysoid": 16383, "last_system_oid": 16383, "show_sys_objects": False, "show_system_objects": False, "data": names, "schema_name": "shown",
        "constraint_type": "p", "object_type": "table", "search_text": "book", "obj_type": "all", "show_node_prefs": {}, "oid": ids["tid"], "node_id": ids["tid"],
        "where": f"WHERE dep.objid={ids['tid']}::oid", "where_clause": f"WHERE dep.objid={ids['tid']}::oid", "table_id": ids["tid"], "obj_id": ids["tid"],
        "type": "table", "attlist": "", "activity": {}, "tlength": 6,
    }


def query(connection, name, text):
    """What is seen of a query."""
    try:
        cursor = connection.execute(text)
    except psycopg.Error as error:
        return f"failed {error.sqlstate} {str(error).splitlines()[0]}"
    columns = ", ".join(column.name for column in cursor.description or [])
    return f"{cursor.rowcount} rows of {columns}" if OWN_ROWS.match(name) else columns


def queries(connection, ids, kind, names):
    made = environment()
    for name in sorted(names):
        try:
            text = made.get_template(name).render(context(connection, ids, kind)).strip()
        except (jinja2.UndefinedError, jinja2.TemplateNotFound, psycopg.ProgrammingError, TypeError):
            # It changes an object, and needs what a form of pgAdmin has.
            continue
        if re.match(r"(/\*.*?\*/\s*|--[^\n]*\n\s*)*(SELECT|WITH)\b", text, re.IGNORECASE | re.DOTALL):
            name = name.replace("#150000#/", "")
            yield name, query(connection, name, text)


def main():
    print(f"version pgAdmin {(TEMPLATES / 'version').read_text().strip()}", flush=True)
    connection = psycopg.connect(URL, autocommit=True, cursor_factory=psycopg.ClientCursor)
    with step("connect"):
        connection.execute("SET DateStyle=ISO; SET client_min_messages=notice; SET client_encoding='utf-8'")
        connection.execute("SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output'")
        connection.execute(OBJECTS)
        cursor = connection.execute(IDENTIFIERS)
        ids = dict(zip((column.name for column in cursor.description), cursor.fetchone(), strict=True))
    for kind, names in folders().items():
        with step(kind.replace("_", " ")):
            for name, seen in queries(connection, ids, kind, names):
                saw(name, seen)


main()
