//! A random schema with its rows, as SQL that PostgreSQL and this server take alike.

use check::generate::Random;

/// A type of columns: its values, defaults, and conditions that all its values meet (`{c}` is the column).
struct Kind {
    name: &'static str,
    values: &'static [&'static str],
    defaults: &'static [&'static str],
    conditions: &'static [&'static str],
}

/// What begins a default that differs between two servers: a moment, a random number.
const MOVING: &[&str] = &["CURRENT_", "LOCALTIMESTAMP", "now()", "gen_random_uuid()"];

/// The kind of keys and references.
const INTEGER: usize = 0;
/// When a key is checked.
const TIMINGS: &[&str] = &["", " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED"];
/// The kind of what is cast to text.
const TEXT: usize = 1;

const KINDS: &[Kind] = &[
    Kind {
        name: "integer",
        values: &["0", "-7", "2147483647", "NULL"],
        defaults: &["42", "1 + 2", "-1", "length('four')"],
        conditions: &[
            "{c} > -100",
            "{c} <> 13",
            "{c} BETWEEN -9 AND 2147483647",
            "{c} IN (0, -7, 2147483647) OR {c} > -8",
        ],
    },
    Kind {
        name: "text",
        values: &["''", "'it''s'", "E'tab\\tline\\nback\\\\slash'", "'ünïcödé ☃'", "'\\N'", "NULL"],
        defaults: &["'plain'", "'it''s'", "'a' || 'b'", "upper('x')", "NULL"],
        conditions: &["length({c}) < 100", "{c} <> 'never'", "{c} !~ '^never$'", "{c} NOT LIKE 'nev%'"],
    },
    Kind {
        name: "bigint",
        values: &["9223372036854775807", "-1", "NULL"],
        defaults: &["9223372036854775807", "10 * 3"],
        conditions: &["{c} > -2", "{c} IS NULL OR {c} <> 5"],
    },
    Kind { name: "smallint", values: &["1", "-32768", "NULL"], defaults: &["3"], conditions: &["{c} < 5"] },
    Kind {
        name: "numeric(12,3)",
        values: &["0.125", "-3", "NULL"],
        defaults: &["0.5", "1.0 / 4"],
        conditions: &["{c} < 1000", "{c} >= -3.5"],
    },
    Kind { name: "numeric", values: &["1e30", "'NaN'", "0.10", "NULL"], defaults: &["1"], conditions: &["{c} > 0"] },
    Kind {
        name: "character varying(20)",
        values: &["'short'", "' padded '", "NULL"],
        defaults: &["'v'"],
        // Not IN: what PostgreSQL prints for it, it prints otherwise when it has read it.
        conditions: &["{c} <> 'never'", "length({c}) < 20"],
    },
    Kind {
        name: "character(5)",
        values: &["'ab'", "'abcde'", "NULL"],
        defaults: &["'c'"],
        conditions: &["{c} <> 'never'"],
    },
    Kind {
        name: "boolean",
        values: &["true", "false", "NULL"],
        defaults: &["true", "(NOT true)", "1 > 2"],
        conditions: &["{c} OR NOT {c}", "{c} IS NOT NULL OR {c} IS NULL"],
    },
    Kind {
        name: "date",
        values: &["'2024-02-29'", "'infinity'", "'0044-03-15 BC'", "NULL"],
        defaults: &["'2000-01-01'", "CURRENT_DATE"],
        conditions: &["{c} <> '1999-12-31'"],
    },
    Kind {
        name: "timestamp without time zone",
        values: &["'2024-02-29 12:34:56.789'", "'-infinity'", "NULL"],
        defaults: &["'2000-01-01 00:00:00'", "LOCALTIMESTAMP"],
        conditions: &["{c} < '3000-01-01'"],
    },
    Kind {
        name: "timestamp with time zone",
        values: &["'2024-02-29 12:34:56+02'", "NULL"],
        defaults: &["now()", "CURRENT_TIMESTAMP"],
        conditions: &["{c} > '1900-01-01 00:00:00+00'"],
    },
    Kind { name: "time without time zone", values: &["'23:59:59.5'", "NULL"], defaults: &["'12:00'"], conditions: &[] },
    Kind { name: "interval", values: &["'1 mon -2 days 03:04:05'", "NULL"], defaults: &["'1 day'"], conditions: &[] },
    Kind {
        name: "uuid",
        values: &["'00000000-0000-0000-0000-0000000000ff'", "NULL"],
        defaults: &["gen_random_uuid()"],
        conditions: &["{c} IS NOT NULL OR {c} IS NULL"],
    },
    Kind {
        name: "public.mood",
        values: &["'sad'", "'so so'", "'it''s \"fine\"'", "NULL"],
        defaults: &["'sad'", "enum_last(NULL::public.mood)"],
        conditions: &["{c} >= 'sad'", "{c} <= 'never' OR {c} IS NULL"],
    },
    Kind {
        name: "jsonb",
        values: &["'{\"b\": [1, null], \"a\": \"ü\"}'", "'[]'", "NULL"],
        defaults: &["'{}'"],
        conditions: &[],
    },
    Kind { name: "json", values: &["'{\"b\" :1,  \"b\": 2}'", "NULL"], defaults: &["'[]'"], conditions: &[] },
    Kind {
        name: "bytea",
        values: &["'\\x00ff5c'", "''", "NULL"],
        defaults: &["'\\x01'"],
        conditions: &["length({c}) < 9"],
    },
    Kind {
        name: "real",
        values: &["0.1", "'Infinity'", "-0.0", "NULL"],
        defaults: &["0.5"],
        conditions: &["{c} > -1", "{c} <> 3"],
    },
    Kind {
        name: "double precision",
        values: &["0.1", "'NaN'", "1e-300", "NULL"],
        defaults: &["0.5", "2.5 * 2"],
        conditions: &["{c} >= 0"],
    },
    Kind {
        name: "integer[]",
        values: &["'{1,NULL,3}'", "'{}'", "NULL"],
        defaults: &["'{}'", "ARRAY[1, 2]"],
        conditions: &[],
    },
    Kind { name: "public.grade", values: &["1", "99", "NULL"], defaults: &["7"], conditions: &[] },
    Kind {
        name: "public.mood[]",
        values: &["'{sad,NULL,\"so so\"}'", "NULL"],
        defaults: &["'{sad}'", "enum_range(NULL::public.mood)"],
        conditions: &[],
    },
    Kind {
        name: "public.place",
        values: &["'(1,\"a \\\"b\\\" (c)\",sad)'", "'(,,)'", "ROW(3, '', 'never')", "NULL"],
        defaults: &["'(7,x,sad)'"],
        conditions: &[],
    },
    Kind { name: "public.place[]", values: &["'{\"(1,x,)\",NULL}'", "NULL"], defaults: &["'{}'"], conditions: &[] },
    Kind { name: "text[]", values: &["'{\"a b\",NULL,\"c,d\",\"\"}'", "NULL"], defaults: &["'{x}'"], conditions: &[] },
];

/// Types whose values an index or a group can hold.
const ORDERED: std::ops::Range<usize> = 0..16;

struct Column {
    name: String,
    kind: usize,
    /// Written by INSERT; the others are generated.
    given: bool,
    /// The rows that a reference may name; none for other columns.
    refers: Option<u64>,
}

struct Relation {
    /// As SQL writes it, with its schema.
    name: String,
    columns: Vec<Column>,
    /// Rows of a table, with the keys 1, 2 and on.
    rows: u64,
    /// Whether `(id, code)` is a unique constraint.
    has_pair: bool,
}

impl Relation {
    fn ordered(&self) -> Vec<&Column> {
        self.columns.iter().filter(|column| ORDERED.contains(&column.kind)).collect()
    }
}

/// Writes the script.
pub struct Maker {
    random: Random,
    out: String,
    schemas: Vec<String>,
    sequences: Vec<String>,
    tables: Vec<Relation>,
    views: Vec<Relation>,
    numbered: u32,
}

/// The script of a seed.
pub fn script(seed: u64) -> String {
    let mut maker = Maker {
        random: Random::new(seed.wrapping_mul(0x9e37_79b9)),
        out: String::from("SET client_min_messages = warning;\n"),
        schemas: vec!["public".to_owned()],
        sequences: vec![],
        tables: vec![],
        views: vec![],
        numbered: 0,
    };
    maker.make();
    maker.out
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Maker {
    fn make(&mut self) {
        self.types();
        for _ in 0..self.random.below(3) {
            let name = self.name();
            self.say(&format!("CREATE SCHEMA {name}"));
            self.comment("SCHEMA", &name);
            self.schemas.push(name);
        }
        for _ in 0..self.random.below(3) {
            self.sequence();
        }
        for _ in 0..2 + self.random.below(4) {
            self.table();
        }
        for _ in 0..2 + self.random.below(6) {
            self.view();
        }
    }

    /// The types of columns' kinds. The enum's labels are not made in their order.
    fn types(&mut self) {
        self.say("CREATE TYPE public.mood AS ENUM ('sad', 'never')");
        self.say("ALTER TYPE public.mood ADD VALUE 'it''s \"fine\"' BEFORE 'never'");
        self.say("ALTER TYPE public.mood ADD VALUE 'so so' AFTER 'sad'");
        self.comment("TYPE", "public.mood");
        self.say("CREATE DOMAIN public.positive AS integer CHECK (VALUE > 0)");
        self.say("CREATE DOMAIN public.grade AS public.positive DEFAULT 5 CONSTRAINT below CHECK (VALUE < 100 AND VALUE <> 13)");
        self.say(
            "CREATE DOMAIN public.code AS character varying(5) DEFAULT 'none' NOT NULL CHECK (VALUE ~ '^[a-z]*$')",
        );
        self.comment("DOMAIN", "public.grade");
        self.comment("CONSTRAINT", "below ON DOMAIN public.grade");
        self.say("CREATE TYPE public.place AS (number integer, gone date, name text)");
        self.say("ALTER TYPE public.place DROP ATTRIBUTE gone, ADD ATTRIBUTE feeling public.mood");
        self.comment("TYPE", "public.place");
    }

    fn say(&mut self, statement: &str) {
        self.out += statement;
        self.out += ";\n";
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.random.below(from.len() as u64)).unwrap()]
    }

    fn place(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap()
    }

    /// A new name; names sort otherwise than they are made.
    fn name(&mut self) -> String {
        self.numbered += 1;
        let stem = self.pick(&["zeta", "alpha", "Mixed Case", "select", "ünï", "with\"quote", "m_", "x", "it's"]);
        quote(&format!("{stem}{}", self.numbered))
    }

    fn qualified(&mut self) -> String {
        let at = self.place(self.schemas.len());
        let schema = self.schemas[at].clone();
        format!("{schema}.{}", self.name())
    }

    fn comment(&mut self, kind: &str, name: &str) {
        if self.random.percent(25) {
            let text = self.pick(&["'plain'", "'it''s a \"comment\"'", "E'two\\nlines; -- and \\\\ more'", "'☃'"]);
            self.say(&format!("COMMENT ON {kind} {name} IS {text}"));
        }
    }

    fn sequence_options(&mut self) -> String {
        let options = [
            "",
            "INCREMENT BY 5",
            "INCREMENT BY -2 MAXVALUE 100 START WITH 50",
            "MINVALUE 10 MAXVALUE 30000 CYCLE",
            "START WITH 7 CACHE 20",
        ];
        self.pick(&options).to_owned()
    }

    fn sequence(&mut self) {
        let (name, options) = (self.qualified(), self.sequence_options());
        let data_type = self.pick(&["", "AS smallint ", "AS bigint "]);
        self.say(&format!("CREATE SEQUENCE {name} {data_type}{options}"));
        // Where numbers are drawn in advance, how many differs.
        if self.random.percent(50) && !options.contains("CACHE") {
            self.say(&format!("SELECT nextval('{}')", name.replace('\'', "''")));
        }
        self.comment("SEQUENCE", &name);
        self.sequences.push(name);
    }

    fn table(&mut self) {
        let name = self.qualified();
        let mut table = Relation { name: name.clone(), columns: vec![], rows: self.random.below(6), has_pair: false };
        let mut items = vec![];
        let (id, key) = self.key(&mut table);
        items.push(id);
        items.push("code integer NOT NULL".to_owned());
        for kind in [INTEGER, INTEGER] {
            let name = if table.columns.is_empty() { "id" } else { "code" };
            table.columns.push(Column { name: name.to_owned(), kind, given: true, refers: None });
        }
        for _ in 0..1 + self.random.below(6) {
            items.push(self.column(&mut table));
        }
        if self.random.percent(40) {
            items.push(self.generated(&mut table));
        }
        items.extend(self.references(&mut table));
        items.extend(key);
        if table.has_pair {
            items.push("UNIQUE (id, code)".to_owned());
        }
        if self.random.percent(25) {
            let name = self.name();
            items.push(format!("CONSTRAINT {name} UNIQUE (code) INCLUDE (id){}", self.pick(TIMINGS)));
        }
        self.say(&format!("CREATE TABLE {name} (\n    {}\n)", items.join(",\n    ")));
        self.comment("TABLE", &name);
        self.rows(&table);
        self.later(&mut table);
        self.indexes(&table);
        let columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        for column in columns {
            self.comment("COLUMN", &format!("{}.{column}", table.name));
        }
        self.tables.push(table);
    }

    /// The column `id`, and the constraint over it if it stands apart.
    fn key(&mut self, table: &mut Relation) -> (String, Option<String>) {
        table.has_pair = self.random.percent(40);
        let (kind, options) = (self.pick(&["integer", "bigint"]), self.sequence_options());
        let options = if options.is_empty() { options } else { format!(" ({options})") };
        let column = match self.random.below(5) {
            0 => "id serial".to_owned(),
            1 => "id bigserial".to_owned(),
            2 => format!("id {kind} GENERATED ALWAYS AS IDENTITY{options}"),
            3 => format!("id {kind} GENERATED BY DEFAULT AS IDENTITY{options}"),
            _ => "id integer NOT NULL".to_owned(),
        };
        match self.random.below(4) {
            0 => (format!("{column} PRIMARY KEY"), None),
            1 => (column, Some(format!("CONSTRAINT {} PRIMARY KEY (id)", self.name()))),
            2 => (format!("{column} UNIQUE"), None),
            _ => (column, Some(format!("UNIQUE (id), PRIMARY KEY (code, id){}", self.pick(TIMINGS)))),
        }
    }

    fn column(&mut self, table: &mut Relation) -> String {
        let (name, kind) = (self.name(), self.place(KINDS.len()));
        let Kind { name: data_type, defaults, conditions, .. } = KINDS[kind];
        let mut written = format!("{name} {data_type}");
        if self.random.percent(30) {
            written += &format!(" DEFAULT {}", self.pick(defaults));
        } else if kind == INTEGER && !self.sequences.is_empty() && self.random.percent(40) {
            let at = self.place(self.sequences.len());
            written += &format!(" DEFAULT nextval('{}')", self.sequences[at].replace('\'', "''"));
        }
        if !conditions.is_empty() && self.random.percent(30) {
            let condition = self.pick(conditions).replace("{c}", &name);
            let named = if self.random.percent(40) { format!("CONSTRAINT {} ", self.name()) } else { String::new() };
            written += &format!(" {named}CHECK ({condition})");
        }
        table.columns.push(Column { name, kind, given: true, refers: None });
        written
    }

    fn generated(&mut self, table: &mut Relation) -> String {
        let name = self.name();
        let (kind, expression) = self.pick(&[
            (INTEGER, "code + 1"),
            (INTEGER, "code * 2 - length('x')"),
            (TEXT, "'<' || code::text || '>'"),
            (8, "code > 3 AND id IS NOT NULL"),
        ]);
        table.columns.push(Column { name: name.clone(), kind, given: false, refers: None });
        format!("{name} {} GENERATED ALWAYS AS ({expression}) STORED", KINDS[kind].name)
    }

    /// Foreign keys to tables that are there, and to the table itself.
    fn references(&mut self, table: &mut Relation) -> Vec<String> {
        let mut items = vec![];
        for _ in 0..self.random.below(3) {
            let name = self.name();
            let at = self.place(self.tables.len() + 1);
            let (parent, rows, has_pair) = match self.tables.get(at) {
                Some(parent) => (parent.name.clone(), parent.rows, parent.has_pair),
                None => (table.name.clone(), table.rows, false),
            };
            let rules = self.pick(&[
                "",
                " ON DELETE CASCADE",
                " ON UPDATE CASCADE ON DELETE SET NULL",
                " ON DELETE RESTRICT DEFERRABLE",
                " MATCH FULL",
                " ON UPDATE SET DEFAULT DEFERRABLE INITIALLY DEFERRED",
            ]);
            table.columns.push(Column { name: name.clone(), kind: INTEGER, given: true, refers: Some(rows) });
            if has_pair && self.random.percent(50) {
                let second = self.name();
                table.columns.push(Column { name: second.clone(), kind: INTEGER, given: true, refers: None });
                items.push(format!("{name} integer, {second} integer"));
                // The second is NULL or the first's code; simple matching passes over a NULL.
                let rules = rules.replace(" MATCH FULL", "");
                items.push(format!("FOREIGN KEY ({name}, {second}) REFERENCES {parent} (id, code){rules}"));
                table.columns.last_mut().unwrap().refers = Some(0);
            } else {
                items.push(format!("{name} integer REFERENCES {parent} (id){rules}"));
            }
        }
        items
    }

    fn rows(&mut self, table: &Relation) {
        let given: Vec<&Column> = table.columns.iter().filter(|column| column.given).collect();
        let names: Vec<&str> = given.iter().map(|column| column.name.as_str()).collect();
        for id in 1..=table.rows {
            let values: Vec<String> = given
                .iter()
                .map(|column| match (column.name.as_str(), column.refers) {
                    ("id", _) => id.to_string(),
                    ("code", _) => (id + 100).to_string(),
                    (_, Some(0)) => "NULL".to_owned(),
                    (_, Some(rows)) if self.random.percent(70) => (1 + self.random.below(rows.min(id))).to_string(),
                    (_, Some(_)) => "NULL".to_owned(),
                    (_, None) => self.pick(KINDS[column.kind].values).to_owned(),
                })
                .collect();
            let (name, names) = (&table.name, names.join(", "));
            let statement =
                format!("INSERT INTO {name} ({names}) OVERRIDING SYSTEM VALUE VALUES ({})", values.join(", "));
            self.say(&statement);
        }
    }

    /// Changes after the rows are there: columns that come and go, defaults, sequences, comments on constraints.
    fn later(&mut self, table: &mut Relation) {
        let name = table.name.clone();
        if self.random.percent(30) {
            let gone = self.name();
            self.say(&format!("ALTER TABLE {name} ADD COLUMN {gone} integer DEFAULT 5"));
            let column = self.column(table);
            if !column.contains("nextval") {
                self.say(&format!("ALTER TABLE {name} ADD COLUMN {column}"));
                self.fix(table, &column);
            } else {
                table.columns.pop();
            }
            self.say(&format!("ALTER TABLE {name} DROP COLUMN {gone}"));
        }
        if self.random.percent(30) {
            let check = self.name();
            self.say(&format!("ALTER TABLE {name} ADD CONSTRAINT {check} CHECK (code > 0 AND id < 1000)"));
            self.say(&format!("COMMENT ON CONSTRAINT {check} ON {name} IS 'added later'"));
        }
        if self.random.percent(20) {
            self.say(&format!("ALTER TABLE {name} ALTER COLUMN code SET DEFAULT 100 + 1"));
        }
        if self.random.percent(20) {
            // A sequence that the column owns, and no default that calls it.
            let (schema, sequence) = (name.split_once('.').unwrap().0.to_owned(), self.name());
            self.say(&format!("CREATE SEQUENCE {schema}.{sequence} OWNED BY {name}.code"));
        }
        if self.random.percent(20) {
            let renamed = self.name();
            self.say(&format!("ALTER TABLE {name} RENAME COLUMN code TO {renamed}"));
            table.columns[1].name = renamed;
            table.has_pair = false;
        }
        if self.random.percent(20) {
            let renamed = self.name();
            self.say(&format!("ALTER TABLE {name} RENAME TO {renamed}"));
            table.name = format!("{}.{renamed}", name.split_once('.').unwrap().0);
        }
    }

    /// Gives the rows a value in the table's last column, if they have got a default that differs between servers.
    fn fix(&mut self, table: &Relation, written: &str) {
        let Some(Column { name: column, kind, .. }) = table.columns.last() else { return };
        if MOVING.iter().any(|moving| written.contains(&format!(" DEFAULT {moving}"))) {
            let value = self.pick(KINDS[*kind].values);
            self.say(&format!("UPDATE {} SET {column} = {value}", table.name));
        }
    }

    fn indexes(&mut self, table: &Relation) {
        for _ in 0..self.random.below(3) {
            let ordered = table.ordered();
            let columns: Vec<String> = (0..1 + self.random.below(3))
                .map(|_| {
                    let at = self.place(ordered.len());
                    let order = self.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST", " ASC NULLS LAST"]);
                    let (name, kind) = (&ordered[at].name, ordered[at].kind);
                    match kind {
                        TEXT if self.random.percent(40) => {
                            format!("{}({name}){order}", self.pick(&["lower", "length"]))
                        }
                        INTEGER if self.random.percent(40) => format!("({name} / 2 - id){order}"),
                        TEXT if self.random.percent(20) => format!("{name} text_pattern_ops{order}"),
                        _ => format!("{name}{order}"),
                    }
                })
                .collect();
            let index = self.name();
            let (unique, last) = if self.random.percent(25) { ("UNIQUE ", ", id") } else { ("", "") };
            let columns = columns.join(", ");
            let more = self.index_options(&ordered);
            self.say(&format!("CREATE {unique}INDEX {index} ON {} ({columns}{last}){more}", table.name));
            let schema = table.name.split_once('.').unwrap().0;
            self.comment("INDEX", &format!("{schema}.{index}"));
        }
    }

    /// INCLUDE, NULLS NOT DISTINCT, WHERE.
    fn index_options(&mut self, ordered: &[&Column]) -> String {
        let at = self.place(ordered.len());
        let name = &ordered[at].name;
        let mut options = String::new();
        if self.random.percent(20) {
            options += &format!(" INCLUDE ({name})");
        }
        if self.random.percent(15) {
            options += " NULLS NOT DISTINCT";
        }
        if self.random.percent(30) {
            let predicates =
                ["{c} IS NOT NULL", "id > 2 AND {c} IS NOT NULL", "id IN (1, 3, 5)", "NOT (id = 3) OR {c} IS NULL"];
            options += &format!(" WHERE {}", self.pick(&predicates).replace("{c}", name));
        }
        options
    }

    /// A table or a view to read from, and its columns that can be ordered.
    fn source(&mut self) -> (String, Vec<(String, usize)>) {
        let at = self.place(self.tables.len() + self.views.len());
        let relation = self.tables.get(at).unwrap_or_else(|| &self.views[at - self.tables.len()]);
        (relation.name.clone(), relation.ordered().iter().map(|column| (column.name.clone(), column.kind)).collect())
    }

    fn view(&mut self) {
        let name = self.qualified();
        let (query, columns) = self.query();
        let mut columns: Vec<(String, usize)> = columns;
        let mut list = String::new();
        if self.random.percent(20) {
            columns.iter_mut().for_each(|(name, _)| *name = self.name());
            list = format!(" ({})", columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "));
        }
        self.say(&format!("CREATE VIEW {name}{list} AS {query}"));
        self.comment("VIEW", &name);
        for (column, _) in &columns {
            self.comment("COLUMN", &format!("{name}.{column}"));
        }
        let columns = columns.into_iter().map(|(name, kind)| Column { name, kind, given: false, refers: None });
        self.views.push(Relation { name, columns: columns.collect(), rows: 0, has_pair: false });
    }

    fn query(&mut self) -> (String, Vec<(String, usize)>) {
        let (from, columns) = self.source();
        let at = self.place(columns.len());
        let (first, kind) = columns[at].clone();
        let (made, other) = (self.name(), self.name());
        let integer = |columns: &[(String, usize)]| {
            columns.iter().find(|(_, kind)| *kind == INTEGER).map(|(name, _)| name.clone())
        };
        match self.random.below(12) {
            0 => (format!("SELECT {first}, {first} IS NULL AS {made} FROM {from}"), vec![(first, kind), (made, 8)]),
            1 => {
                let query = format!("SELECT t.{first} AS {made} FROM {from} t WHERE t.{first} IS NOT NULL");
                (query, vec![(made, kind)])
            }
            2 => {
                let (beside, columns_beside) = self.source();
                let join = self.pick(&["JOIN", "LEFT JOIN", "FULL JOIN"]);
                let (Some(left), Some(right)) = (integer(&columns), integer(&columns_beside)) else {
                    return (format!("SELECT {first} AS {made} FROM {from}"), vec![(made, kind)]);
                };
                let query = format!(
                    "SELECT a.{first} AS {made}, b.{right} AS {other} FROM {from} a {join} {beside} b ON a.{left} = b.{right}"
                );
                (query, vec![(made, kind), (other, INTEGER)])
            }
            3 => {
                let query = format!(
                    "SELECT {first}, count(*) AS {made}, max({first}::text) AS {other} FROM {from} GROUP BY {first} HAVING count(*) > 0"
                );
                (query, vec![(first, kind), (made, 2), (other, TEXT)])
            }
            4 => {
                let (beside, columns_beside) = self.source();
                let at = self.place(columns_beside.len());
                let word = self.pick(&["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]);
                let second = &columns_beside[at].0;
                let query =
                    format!("SELECT {first}::text AS {made} FROM {from} {word} SELECT {second}::text FROM {beside}");
                (query, vec![(made, TEXT)])
            }
            5 => {
                let query = format!("WITH w AS (SELECT {first} AS {made} FROM {from}) SELECT w.{made} FROM w");
                (query, vec![(made, kind)])
            }
            6 => {
                let query = format!("SELECT s.{made} FROM (SELECT {first} AS {made} FROM {from}) s");
                (query, vec![(made, kind)])
            }
            7 => {
                let (beside, columns_beside) = self.source();
                let at = self.place(columns_beside.len());
                let second = &columns_beside[at].0;
                let query = format!(
                    "SELECT a.{first} AS {made}, (SELECT count(*) FROM {beside}) AS {other} FROM {from} a WHERE EXISTS (SELECT 1 FROM {beside} b WHERE b.{second} IS NOT NULL)"
                );
                (query, vec![(made, kind), (other, 2)])
            }
            8 => {
                let query = format!(
                    "SELECT CASE WHEN t.{first} IS NULL THEN 'none' ELSE t.{first}::text END AS {made}, coalesce(t.{first}::text, 'x') || '!' AS {other} FROM {from} t"
                );
                (query, vec![(made, TEXT), (other, TEXT)])
            }
            9 => {
                let query = format!(
                    "SELECT t.{first} AS {made}, row_number() OVER (PARTITION BY t.{first} IS NULL ORDER BY t.{first}::text DESC) AS {other} FROM {from} t"
                );
                (query, vec![(made, kind), (other, 2)])
            }
            10 => {
                let query =
                    format!("SELECT DISTINCT t.{first} AS {made} FROM {from} t ORDER BY t.{first} DESC LIMIT 3");
                (query, vec![(made, kind)])
            }
            _ => {
                let at = self.place(self.tables.len());
                let table = &self.tables[at];
                let columns = table.columns.iter().map(|column| (column.name.clone(), column.kind)).collect();
                (format!("SELECT * FROM {}", table.name), columns)
            }
        }
    }
}
