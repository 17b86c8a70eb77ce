//! Statements that nobody would write, thousands of them: each is answered, and none is a fault of the server.
//!
//! They are made from a grammar, from the functions and operators that the catalog lists, and from values at the edges of
//! their types; some are harmed afterwards. Most are wrong in one way or another: which error they get is the business of
//! other tests. `GENERATED_STATEMENTS` and `GENERATED_SEED` make more or other ones, and name each before it runs.

mod common;

use common::{Client, Random};
use seriatim_sql::database::Database;
use seriatim_sql::session::Status;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// Types, and values of them that have caused trouble somewhere.
const TYPES: &[(&str, &[&str])] = &[
    ("smallint", &["0", "1", "-1", "32767", "-32768", "7"]),
    ("integer", &["0", "1", "-1", "2", "100", "2147483647", "-2147483648", "65536"]),
    ("bigint", &["0", "1", "-1", "3", "9223372036854775807", "-9223372036854775808", "4294967296"]),
    ("real", &["0", "-0", "1.5", "NaN", "Infinity", "-Infinity", "3.4e38", "1e-45"]),
    ("double precision", &["0", "-0", "0.5", "-2.5", "NaN", "Infinity", "-Infinity", "1.7e308", "5e-324", "1e15"]),
    (
        "numeric",
        &[
            "0",
            "1",
            "-1.5",
            "0.000000000000000001",
            "NaN",
            "Infinity",
            "-Infinity",
            "1e1000",
            "1e-1000",
            "99999999999999999999",
            "2.5",
        ],
    ),
    ("boolean", &["t", "f"]),
    (
        "text",
        &[
            "",
            " ",
            "abc",
            "a%_\\b",
            "ünïcødé 😀",
            "123",
            "-1.5e3",
            "2024-02-29",
            "{1,NULL,2}",
            "{\"a\": [1, null]}",
            "$.a[*]",
            "(a|b)*c",
            "[",
            "\\1",
            "YYYY-MM-DD HH24:MI:SS.US TZ",
            "FM999,990.00EEEE",
            "RN S9 PR V9",
            "day",
            "epoch",
            "g",
            "UTC",
            "Europe/Berlin",
            "hex",
            "postgres",
            "plain_table",
            "NFC",
            "%s %I %L %1$s %%",
            "\u{301}",
            "~",
        ],
    ),
    ("varchar(5)", &["", "abc", "äöüß€", "     "]),
    ("char(5)", &["", "a", "äb   "]),
    ("name", &["", "plain_table", "x"]),
    ("\"char\"", &["", "a", "ä"]),
    ("bytea", &["", "\\x", "\\x00ff", "abc", "\\x0123456789abcdef"]),
    ("date", &["2024-02-29", "infinity", "-infinity", "4713-01-01 BC", "5874897-12-31", "1970-01-01", "epoch"]),
    ("time", &["00:00:00", "24:00:00", "23:59:59.999999", "12:34:56.789"]),
    (
        "timestamp",
        &[
            "2024-02-29 23:59:59.999999",
            "infinity",
            "-infinity",
            "4713-01-01 00:00:00 BC",
            "294276-12-31 23:59:59.999999",
            "epoch",
        ],
    ),
    (
        "timestamptz",
        &[
            "2024-03-31 02:30:00 Europe/Berlin",
            "infinity",
            "-infinity",
            "4713-01-02 00:00:00+00 BC",
            "294276-12-31 23:59:59+00",
        ],
    ),
    (
        "interval",
        &[
            "0",
            "1 mon -1 day 00:00:01",
            "178000000 years",
            "-178000000 years",
            "2147483647 days",
            "-2147483648 mons",
            "2562047788 hours",
            "-1 microsecond",
            "P1Y2M3DT4H5M6.789S",
        ],
    ),
    ("uuid", &["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"]),
    ("json", &["null", "[]", "{\"a\": {\"b\": [1, 2, {\"c\": null}]}}", "\"x\"", "1e400", "[1, \"2\", true]"]),
    ("jsonb", &["null", "[]", "{\"a\": {\"b\": [1, 2, {\"c\": null}]}}", "\"x\"", "1e400", "{\"a\": 1, \"b\": 2}"]),
    ("oid", &["0", "23", "4294967295", "1259"]),
    ("regclass", &["plain_table", "pg_class"]),
    ("regtype", &["integer", "text[]"]),
    ("integer[]", &["{}", "{1,2,3}", "{NULL}", "{{1,2},{3,4}}", "[-5:-4]={7,8}", "{2147483647}"]),
    ("text[]", &["{}", "{a,NULL,\"b c\"}", "{{a},{b}}"]),
    ("numeric[]", &["{}", "{1.5,NaN,NULL}"]),
    ("double precision[]", &["{0,0.5,1}", "{}", "{NULL,2}"]),
    ("date[]", &["{2024-02-29,infinity}"]),
    ("bytea[]", &["{}", "{NULL}"]),
];

/// Functions that wait, or concern other sessions.
const EXCLUDED: &[&str] = &["pg_sleep", "pg_sleep_for", "pg_sleep_until", "pg_terminate_backend", "pg_cancel_backend"];

/// Statements of one run in the test; it takes some seconds.
const STATEMENTS: usize = 3_000;

/// What a generated statement is harmed with.
const WORDS: &[&str] = &[
    "select", "from", "where", "(", ")", ",", "*", "null", "group by", "order by", "1", "::", "as", "with", "in",
    "not", "and", "'", "\"", "$1", ".", "[", "]", "values", "having", "over", "row", "array", "distinct", "lateral",
    "union", ";", "--", "/*",
];

/// A function, an operator or an aggregate of the catalog.
struct Routine {
    name: String,
    arguments: Vec<String>,
}

/// By the type of their results.
type Routines = BTreeMap<String, Vec<Routine>>;

struct Generator {
    random: Random,
    functions: Routines,
    operators: Routines,
    aggregates: Routines,
    windows: Routines,
    sets: Vec<Routine>,
    /// Aliases of tables that expressions may refer to.
    scope: Vec<String>,
}

/// The columns of every generated table: one of each type.
fn column(at: usize) -> String {
    format!("c{at}")
}

fn routines(client: &mut Client, sql: &str) -> Routines {
    let mut routines = Routines::new();
    for row in client.run(sql).rows {
        let [name, arguments, result] = <[String; 3]>::try_from(row).expect("three columns");
        let arguments = arguments.split('|').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if !EXCLUDED.contains(&name.as_str()) {
            routines.entry(result).or_default().push(Routine { name, arguments });
        }
    }
    routines
}

fn procedures(client: &mut Client, kind: &str, sets: bool) -> Routines {
    let sql = format!(
        "select proname, coalesce((select string_agg(format_type(t, null), '|' order by n) \
             from unnest(string_to_array(proargtypes::text, ' ')::oid[]) with ordinality a (t, n)), ''), format_type(prorettype, null) \
         from pg_proc where prokind = '{kind}' and proretset = {sets} order by oid"
    );
    routines(client, &sql)
}

impl Generator {
    /// Functions that the catalog lists for operators only cannot be called.
    fn keep_callable(client: &mut Client, routines: &mut Routines) {
        for known in routines.values_mut() {
            known.retain(|routine| {
                let arguments: Vec<String> = routine.arguments.iter().map(|name| format!("null::{name}")).collect();
                let call = format!("explain select {}({})", routine.name, arguments.join(", "));
                !client.try_run(&call).is_err_and(|error| error.code() == "42883")
            });
        }
        routines.retain(|_, known| !known.is_empty());
    }

    fn new(client: &mut Client, seed: u64) -> Generator {
        let operators = "select oprname, case oprleft when 0 then '' else format_type(oprleft, null) || '|' end || \
             format_type(oprright, null), format_type(oprresult, null) from pg_operator order by oid";
        let mut functions = procedures(client, "f", false);
        Generator::keep_callable(client, &mut functions);
        Generator {
            random: Random(seed),
            functions,
            operators: routines(client, operators),
            aggregates: procedures(client, "a", false),
            windows: procedures(client, "w", false),
            sets: procedures(client, "f", true).into_values().flatten().collect(),
            scope: Vec::new(),
        }
    }

    fn any_type(&mut self) -> &'static str {
        TYPES[self.random.below(TYPES.len())].0
    }

    /// A value of a type that the catalog names.
    fn literal(&mut self, data_type: &str) -> String {
        let canonical = |known: &str| match known {
            "time" => "time without time zone",
            "timestamp" => "timestamp without time zone",
            "timestamptz" => "timestamp with time zone",
            "varchar(5)" => "character varying",
            "char(5)" => "character",
            known => known,
        } == data_type;
        let known = TYPES.iter().find(|(known, _)| *known == data_type || canonical(known));
        let &(name, values) = known.unwrap_or(&TYPES[self.random.below(TYPES.len())]);
        if self.random.one_in(12) {
            return format!("null::{name}");
        }
        let value = self.random.pick(values).replace('\'', "''");
        match self.random.below(8) {
            0 => format!("'{value}'"),
            1 if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => value,
            _ => format!("'{value}'::{name}"),
        }
    }

    fn column_of(&mut self, data_type: &str) -> Option<String> {
        if self.scope.is_empty() {
            return None;
        }
        let alias = self.scope[self.random.below(self.scope.len())].clone();
        let known = TYPES.iter().position(|(known, _)| *known == data_type)?;
        Some(format!("{alias}.{}", column(known)))
    }

    /// An expression of a type, mostly.
    fn expression(&mut self, data_type: &str, depth: usize) -> String {
        if depth == 0 || self.random.one_in(6) {
            let column = if self.random.one_in(2) { self.column_of(data_type) } else { None };
            return column.unwrap_or_else(|| self.literal(data_type));
        }
        let wanted = if self.random.one_in(60) { self.any_type() } else { data_type };
        match self.random.below(16) {
            0 => {
                let from = self.any_type();
                format!("({})::{wanted}", self.expression(from, depth - 1))
            }
            1 => {
                let (condition, first, other) = (
                    self.expression("boolean", depth - 1),
                    self.expression(wanted, depth - 1),
                    self.expression(wanted, depth - 1),
                );
                format!("case when {condition} then {first} else {other} end")
            }
            2 => {
                let function = self.random.pick(&["coalesce", "greatest", "least", "nullif"]);
                format!("{function}({}, {})", self.expression(wanted, depth - 1), self.expression(wanted, depth - 1))
            }
            3 => format!("({})", self.query(Some(wanted), depth - 1)),
            4 | 5 if wanted == "boolean" => self.condition(depth),
            4 if wanted.ends_with("[]") => {
                let element = wanted.trim_end_matches("[]");
                format!("array[{}, {}]", self.expression(element, depth - 1), self.expression(element, depth - 1))
            }
            4 => {
                let (array, index) =
                    (self.expression(&format!("{wanted}[]"), depth - 1), self.expression("integer", depth - 1));
                format!("({array})[{index}]")
            }
            5..=9 => self.operation(wanted, depth).unwrap_or_else(|| self.literal(wanted)),
            _ => self.call(wanted, depth).unwrap_or_else(|| self.literal(wanted)),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let data_type = self.any_type();
        let deeper = depth.saturating_sub(1);
        let (left, right) = (self.expression(data_type, deeper), self.expression(data_type, deeper));
        match self.random.below(9) {
            0 => format!("({left}) is not distinct from ({right})"),
            1 => format!("({left}) in ({right}, {left})"),
            2 => format!("({left}) between symmetric ({right}) and ({left})"),
            3 => format!("({left}) is null"),
            4 => format!("exists ({})", self.query(None, deeper)),
            5 => format!("({left}) in ({})", self.query(Some(data_type), deeper)),
            6 => format!("({left}, {right}) <= ({right}, {left})"),
            7 => format!("({left}) <> all (array[{right}])"),
            _ => {
                let operator = self.random.pick(&["=", "<", ">", "<=", ">=", "<>"]);
                format!("({left}) {operator} ({right})")
            }
        }
    }

    fn routine<'r>(random: &mut Random, routines: &'r Routines, result: &str) -> Option<&'r Routine> {
        let of_type = routines.get(result).filter(|_| !random.one_in(60));
        let known = match of_type {
            Some(known) => known,
            None => routines.values().nth(random.below(routines.len()))?,
        };
        known.get(random.below(known.len()))
    }

    fn operation(&mut self, result: &str, depth: usize) -> Option<String> {
        let routine = Generator::routine(&mut self.random, &self.operators, result)?;
        let (name, types) = (routine.name.clone(), routine.arguments.clone());
        let operands: Vec<String> = types.iter().map(|data_type| self.expression(data_type, depth - 1)).collect();
        Some(match &operands[..] {
            [left, right] => format!("({left}) {name} ({right})"),
            operands => format!("{name} ({})", operands.join(", ")),
        })
    }

    fn arguments(&mut self, types: &[String], depth: usize) -> String {
        let mut types = types.to_vec();
        if self.random.one_in(80) {
            types.push(self.any_type().to_owned());
        }
        let arguments: Vec<String> = types.iter().map(|data_type| self.expression(data_type, depth)).collect();
        arguments.join(", ")
    }

    fn call(&mut self, result: &str, depth: usize) -> Option<String> {
        let routine = Generator::routine(&mut self.random, &self.functions, result)?;
        let (name, types) = (routine.name.clone(), routine.arguments.clone());
        Some(format!("{name}({})", self.arguments(&types, depth - 1)))
    }

    fn aggregate(&mut self, depth: usize) -> String {
        let result = self.any_type();
        let Some(routine) = Generator::routine(&mut self.random, &self.aggregates, result) else {
            return "count(*)".into();
        };
        let (name, types) = (routine.name.clone(), routine.arguments.clone());
        let arguments = self.arguments(&types, depth);
        let distinct = if self.random.one_in(5) { "distinct " } else { "" };
        let order = if self.random.one_in(5) { format!(" order by {}", self.order(depth)) } else { String::new() };
        let filter =
            if self.random.one_in(6) { format!(" filter (where {})", self.condition(depth)) } else { String::new() };
        match arguments.is_empty() {
            true => format!("{name}(*){filter}"),
            false => format!("{name}({distinct}{arguments}{order}){filter}"),
        }
    }

    fn window(&mut self, depth: usize) -> String {
        let function = if self.random.one_in(2) {
            self.aggregate(depth)
        } else {
            let result = self.any_type();
            let Some(routine) = Generator::routine(&mut self.random, &self.windows, result) else { return "1".into() };
            let (name, types) = (routine.name.clone(), routine.arguments.clone());
            format!("{name}({})", self.arguments(&types, depth))
        };
        let partition = if self.random.one_in(2) { "partition by 1 " } else { "" };
        let order = if self.random.one_in(4) { String::new() } else { format!("order by {} ", self.order(depth)) };
        let mode = self.random.pick(&["rows", "range", "groups"]);
        let offset_type = self.random.pick(&["integer", "interval", "double precision", "bigint"]);
        let (first, last) = (self.bound(offset_type), self.bound(offset_type));
        let frame = match self.random.below(3) {
            0 => String::new(),
            1 => format!("{mode} {first}"),
            _ => format!("{mode} between {first} and {last}"),
        };
        let exclusion = if frame.is_empty() || !self.random.one_in(30) { "" } else { " exclude ties" };
        format!("{function} over ({partition}{order}{frame}{exclusion})")
    }

    fn bound(&mut self, data_type: &str) -> String {
        let offset = self.literal(data_type);
        match self.random.below(5) {
            0 => "unbounded preceding".into(),
            1 => "current row".into(),
            2 => format!("{offset} preceding"),
            3 => format!("{offset} following"),
            _ => "unbounded following".into(),
        }
    }

    fn order(&mut self, depth: usize) -> String {
        let data_type = self.any_type();
        let expression = self.expression(data_type, depth.min(1));
        let direction = self.random.pick(&["", " desc", " nulls first", " desc nulls last"]);
        format!("{expression}{direction}")
    }

    fn table(&mut self, depth: usize) -> (String, String) {
        let alias = format!("r{}", self.random.below(1000));
        let text = match self.random.below(9) {
            0 if depth > 0 => format!("({}) {alias}", self.query(None, depth - 1)),
            1 if depth > 0 => {
                let at = self.random.below(self.sets.len());
                let (name, types) = (self.sets[at].name.clone(), self.sets[at].arguments.clone());
                let arguments = self.arguments(&types, 0);
                let ordinality = if self.random.one_in(3) { " with ordinality" } else { "" };
                format!("{name}({arguments}){ordinality} {alias}")
            }
            2 => format!("(values ({}), ({})) {alias} (c1)", self.literal("integer"), self.literal("integer")),
            _ => format!("{} {alias}", self.random.pick(&["plain_table", "keyed_table", "some_view"])),
        };
        (text, alias)
    }

    fn from(&mut self, depth: usize) -> String {
        let (mut text, alias) = self.table(depth);
        self.scope.push(alias);
        if self.random.one_in(3) {
            let (other, alias) = self.table(depth);
            self.scope.push(alias);
            let kind =
                self.random.pick(&["join", "left join", "right join", "full join", "cross join", "natural join"]);
            text = match kind {
                "cross join" | "natural join" => format!("{text} {kind} {other}"),
                _ => format!("{text} {kind} {other} on {}", self.condition(depth.min(1))),
            };
        }
        text
    }

    /// A query of one column of a type, or of any.
    fn query(&mut self, result: Option<&str>, depth: usize) -> String {
        let outer = self.scope.len();
        let text = match self.random.below(10) {
            0 => {
                let data_type = result.unwrap_or("integer");
                let (left, right) =
                    (self.plain_query(Some(data_type), depth), self.plain_query(Some(data_type), depth));
                let operator = self.random.pick(&["union", "union all", "intersect", "except", "except all"]);
                format!("select * from ({left}) l {operator} select * from ({right}) r")
            }
            1 => {
                let inner = self.plain_query(Some("integer"), depth);
                let materialized = self.random.pick(&["", " materialized", " not materialized"]);
                self.scope.truncate(outer);
                format!("with w (c1) as{materialized} ({inner}) {}", self.plain_query(result, depth))
            }
            2 => {
                let step = self.expression("integer", depth.min(1));
                format!(
                    "with recursive n (c1) as (select 1 union select {step} from n where c1 < 5) select c1 from n limit 20"
                )
            }
            _ => self.plain_query(result, depth),
        };
        self.scope.truncate(outer);
        text
    }

    fn plain_query(&mut self, result: Option<&str>, depth: usize) -> String {
        let outer = self.scope.len();
        let from = if self.random.one_in(8) { String::new() } else { format!(" from {}", self.from(depth)) };
        let data_type = result.unwrap_or_else(|| self.any_type());
        let first = self.expression(data_type, depth);
        let mut tail = String::new();
        if self.random.one_in(2) {
            tail.push_str(&format!(" where {}", self.expression("boolean", depth.min(2))));
        }
        let column = match self.random.below(6) {
            0 => {
                let aggregate = self.aggregate(depth.min(1));
                if self.random.one_in(2) {
                    tail.push_str(&format!(" group by {first}"));
                    if self.random.one_in(2) {
                        tail.push_str(&format!(" having {}", self.condition(0)));
                    }
                }
                aggregate
            }
            1 => self.window(depth.min(1)),
            _ => first,
        };
        let distinct = if self.random.one_in(8) { "distinct " } else { "" };
        if self.random.one_in(3) {
            tail.push_str(&format!(" order by {}", if self.random.one_in(2) { "1".into() } else { self.order(depth) }));
        }
        if result.is_some() || self.random.one_in(3) {
            let limit = if self.random.one_in(10) { self.expression("bigint", depth.min(1)) } else { "3".into() };
            tail.push_str(&format!(" limit {limit}"));
        }
        self.scope.truncate(outer);
        format!("select {distinct}{column}{from}{tail}")
    }

    fn change(&mut self) -> String {
        let table = self.random.pick(&["plain_table", "keyed_table"]);
        let (at, other) = (self.random.below(TYPES.len()), self.random.below(TYPES.len()));
        let value = self.expression(TYPES[at].0, 2);
        let returning = if self.random.one_in(2) { format!(" returning {}", column(other)) } else { String::new() };
        self.scope.push(table.into());
        let condition = self.expression("boolean", 2);
        let inside = self.expression(TYPES[at].0, 2);
        self.scope.clear();
        let column = column(at);
        match self.random.below(6) {
            0 | 1 => format!("insert into {table} ({column}) values ({value}), (default){returning}"),
            2 => {
                let action = self.random.pick(&["nothing", "update set c7 = excluded.c7"]);
                format!(
                    "insert into keyed_table (c1, {column}) values (1, {value}) on conflict (c1) do {action}{returning}"
                )
            }
            3 => format!("insert into {table} ({column}) {}{returning}", self.query(Some(TYPES[at].0), 2)),
            4 => format!("update {table} set {column} = {inside} where {condition}{returning}"),
            _ => format!("delete from {table} where {condition} and c1 > 100{returning}"),
        }
    }

    fn definition(&mut self) -> String {
        let number = self.random.below(4);
        let name = format!("made{number}");
        let data_type = self.any_type();
        let depth = self.random.below(3);
        let value = self.expression(data_type, depth);
        let check = {
            self.scope.push("keyed_table".into());
            let check = self.condition(depth.min(1)).replace("keyed_table.", "");
            self.scope.clear();
            check
        };
        match self.random.below(14) {
            0 => format!("create table {name} (c1 int primary key, x {data_type} default {value}, check ({check}))"),
            1 => format!("create table {name} as {}", self.query(None, 2)),
            2 => format!("create or replace view {name}_view as {}", self.query(None, 2)),
            3 => format!("drop table if exists {name} cascade"),
            4 => format!("drop view if exists {name}_view"),
            5 => format!("alter table {name} add column y{number} {data_type} default {value}"),
            6 => format!("alter table {name} alter column x type {data_type} using {value}"),
            7 => format!("alter table {name} drop column x"),
            8 => format!("create index on keyed_table (({value}))"),
            9 => format!("create unique index if not exists {name}_index on {name} (x, c1)"),
            10 => format!("alter table {name} add constraint {name}_check check ({check})"),
            11 => format!("create temp table {name} (x {data_type} generated always as ({value}) stored)"),
            12 => format!("create sequence if not exists {name}_sequence increment {}", self.literal("bigint")),
            _ => format!("truncate {name}"),
        }
    }

    fn session(&mut self) -> String {
        let data_type = self.any_type();
        match self.random.below(12) {
            0 => "begin".into(),
            1 => "commit".into(),
            2 => "rollback".into(),
            3 => "savepoint s".into(),
            4 => "rollback to s".into(),
            5 => format!("explain {}", self.query(None, 3)),
            6 => format!("explain (analyze, costs off, timing off) {}", self.query(None, 2)),
            7 => format!("copy ({}) to stdout", self.query(None, 3)),
            8 => format!("declare c cursor for {}", self.query(None, 2)),
            9 => format!(
                "{} c",
                self.random.pick(&["fetch 2 from", "fetch all", "fetch backward 1 from", "move 1 in", "close"])
            ),
            10 => format!(
                "deallocate all; prepare p ({data_type}) as select $1, {}; execute p({})",
                self.expression(data_type, 2),
                self.expression(data_type, 1)
            ),
            _ => format!(
                "set {} = '{}'",
                self.random.pick(&[
                    "datestyle",
                    "intervalstyle",
                    "timezone",
                    "bytea_output",
                    "extra_float_digits",
                    "search_path"
                ]),
                self.random.pick(&[
                    "iso, mdy",
                    "german",
                    "sql, dmy",
                    "iso_8601",
                    "sql_standard",
                    "Asia/Kathmandu",
                    "escape",
                    "-15",
                    "3",
                    "public"
                ])
            ),
        }
    }

    fn statement(&mut self) -> String {
        self.scope.clear();
        let statement = match self.random.below(12) {
            0 => self.definition(),
            1 | 2 => self.change(),
            3 => self.session(),
            _ => {
                let depth = self.random.below(5);
                self.query(None, depth)
            }
        };
        if self.random.one_in(12) { self.harm(&statement) } else { statement }
    }

    /// Drops, doubles or replaces some words.
    fn harm(&mut self, statement: &str) -> String {
        let mut words: Vec<&str> = statement.split_inclusive(' ').collect();
        for _ in 0..=self.random.below(3) {
            let at = self.random.below(words.len());
            match self.random.below(3) {
                0 if words.len() > 1 => drop(words.remove(at)),
                1 => words.insert(at, words[at]),
                _ => words[at] = self.random.pick(WORDS),
            }
        }
        words.concat()
    }
}

fn set_up(database: &Arc<Database>) {
    let mut client = Client::new(database);
    let columns = |primary: &str| {
        let columns = TYPES
            .iter()
            .enumerate()
            .map(|(at, (data_type, _))| format!("{} {data_type}{}", column(at), if at == 1 { primary } else { "" }));
        columns.collect::<Vec<_>>().join(", ")
    };
    client.run(&format!("create table plain_table ({})", columns("")));
    client.run(&format!("create table keyed_table ({})", columns(" primary key")));
    client.run("create view some_view as select * from plain_table where c1 is not null");
    for row in 0..3 {
        for table in ["plain_table", "keyed_table"] {
            let values = TYPES.iter().enumerate().map(|(at, (_, values))| match at {
                1 => row.to_string(),
                _ => format!("'{}'", values[row % values.len()]),
            });
            client.run(&format!("insert into {table} values ({})", values.collect::<Vec<_>>().join(", ")));
        }
    }
}

/// The place of the last panic, as the hook saw it.
static PLACE: Mutex<String> = Mutex::new(String::new());

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A session that has all it takes to meet the limits soon.
fn client(database: &Arc<Database>) -> Client {
    let mut client = Client::new(database);
    client.run("set work_mem = '8MB'; set statement_timeout = '2s'");
    client
}

#[test]
fn generated_statements_are_answered() {
    for subject in common::engines() {
        eprintln!("on {}", subject.name);
        are_answered(&common::open(subject.store));
    }
}

fn are_answered(database: &Arc<Database>) {
    set_up(database);
    let mut witness = Client::new(database);
    let mut generator = Generator::new(&mut witness, setting("GENERATED_SEED").unwrap_or(42));
    let longer = setting("GENERATED_STATEMENTS");
    std::panic::set_hook(Box::new(|panic| *PLACE.lock().unwrap() = panic.to_string()));
    let mut session = client(database);
    let (mut faults, mut succeeded) = (BTreeMap::<String, String>::new(), 0);
    for number in 0..longer.map_or(STATEMENTS, |count| count as usize) {
        let statement = generator.statement();
        if longer.is_some() {
            eprintln!("{number}: {statement}");
        }
        match catch_unwind(AssertUnwindSafe(|| session.try_run(&statement))) {
            Ok(Ok(_)) => succeeded += 1,
            Ok(Err(error)) if error.code() == "XX000" => {
                faults.entry(error.message().to_owned()).or_insert(statement);
            }
            Ok(Err(error)) => {
                if longer.is_some() {
                    eprintln!("  {} {}", error.code(), error.message());
                }
                if session.session.status() == Status::Failed && !generator.random.one_in(5) {
                    session.run("rollback");
                }
            }
            Err(_) => {
                faults.entry(PLACE.lock().unwrap().clone()).or_insert(statement);
                session = client(database);
            }
        }
        if number % 50 == 49 {
            // Whatever it was, it is over.
            session.run("rollback; reset all; set work_mem = '8MB'; set statement_timeout = '2s'");
            assert_eq!(session.show("select 1 + 1"), "2");
            assert_eq!(witness.show("select count(*) from keyed_table where c1 between 0 and 2"), "3");
        }
    }
    let _ = std::panic::take_hook();
    let shown: Vec<String> = faults.iter().map(|(fault, statement)| format!("{fault}\n  {statement}")).collect();
    assert!(shown.is_empty(), "{} faults:\n{}", shown.len(), shown.join("\n"));
    assert!(succeeded > 100, "only {succeeded} statements were right: the others show little");
    eprintln!("{succeeded} succeeded");
}
