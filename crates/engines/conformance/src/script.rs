//! A small language for interleavings. A script is a text of commands, each followed by its recorded output, indented:
//!
//! ```text
//! setup x=1
//! t1 begin own
//!     ok
//! t1 read x
//!     x = 1
//! ```
//!
//! One thread runs all transactions, and none ever waits: instead of a wait comes the abort `wait-limit`.
//!
//! | command | meaning |
//! | --- | --- |
//! | `setup x=1 people/1=ann,30` | puts rows in a transaction of its own |
//! | `t1 begin [own, read-only, snapshot]` | begins, and draws the timestamp; `begin lazily` does not draw, and with `own beside` reads do not wait |
//! | `t1 read x`, `read-for-update x` | a row of `rows` (byte strings), `hashed` (`hashed/x`) or `people` (`people/1`) |
//! | `t1 put x 5`, `insert x 5`, `delete x` | writes one |
//! | `t1 add people/1 5` | adds to the age |
//! | `t1 scan a..c [backward] [first N]` | rows from `a` to before `c`; `a..=c` includes it |
//! | `t1 scan people [where age >= 18]` | people in the order of their number |
//! | `t1 scan people by name` (or `age`) | people in the order of an index |
//! | `t1 savepoint s`, `rollback s` | savepoints by name |
//! | `t1 commit`, `abort`, `drop` | the end |
//! | `get x` | reads a row without a transaction ([`Interactive::get`]) |
//! | `collect` | collects what can be collected |
//! | `state` | the rows of all ordered tables, in a new read-only transaction |

use crate::fixture::{Knobs, Open, Sessions, begin, claim};
use crate::indexed::{Index, Indexed};
use crate::observe::{Log, Observed};
use crate::twin::{rollback_to, savepoint};
use model::history::Outcome;
use model::{
    Abort, Access, Begin, ColumnType, Columns, Comparison, Delta, Direction, Duplicate, Error, Finish, Interactive,
    Item, Key, KeyReader, Mode, Predicate, RowBuf, RowRef, Savepoint, Scan, Schema, Storage, TableId, Target,
    Timestamp, Value, ValueRef,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// A script with the output that it has now, and the history of its transactions.
pub struct Played {
    /// Each command, with its output below it.
    pub text: String,
    /// History of each transaction.
    pub history: Vec<model::history::Transaction>,
}

/// Runs a script on an empty engine.
pub fn run<F: Sessions>(script: &str) -> Played {
    let mut stage = Stage::<F>::new();
    let mut text = String::new();
    for line in script.lines().filter(|line| !line.starts_with(OUTPUT)) {
        writeln!(text, "{line}").expect("a string takes all");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = stage.command(&words).unwrap_or_else(|error| stage.describe_error(&error));
        for line in output.lines() {
            writeln!(text, "{OUTPUT}{line}").expect("a string takes all");
        }
    }
    stage.open.clear();
    Played { text, history: stage.log.into_history() }
}

/// The commands of a script, without output and comments.
pub fn commands(script: &str) -> Vec<&str> {
    let is_command = |line: &&str| !(line.is_empty() || line.starts_with('#') || line.starts_with(OUTPUT));
    script.lines().filter(is_command).collect()
}

/// Prefix of output lines.
const OUTPUT: &str = "    ";

/// An engine with three tables, and the transactions open on it.
struct Stage<F: Sessions> {
    engine: Arc<F::Engine>,
    rows: Indexed,
    hashed: Indexed,
    people: Indexed,
    open: BTreeMap<String, Observed<Open<F>>>,
    savepoints: BTreeMap<(String, String), (Savepoint, usize)>,
    names: BTreeMap<Timestamp, String>,
    log: Log,
}

/// The indexes of `people`: by name, of which there is one, and by age.
const PEOPLE_INDEXES: [Index; 2] =
    [Index { name: "by_name", columns: &[1], unique: true }, Index { name: "by_age", columns: &[2], unique: false }];

/// A row that a script names.
struct Named<'a> {
    table: &'a Indexed,
    key: Key,
}

type Shown = Result<String, Error>;

impl<F: Sessions> Stage<F> {
    fn new() -> Self {
        let engine = F::open(&Knobs::impatient());
        let create = |schema: Schema| F::create_table(&engine, schema).expect("a new table");
        let bytes = |name, storage| Schema::bytes(name).storage(storage).build().expect("a good schema");
        let rows = Indexed::create(bytes("rows", Storage::Ordered), &[], create);
        let hashed = Indexed::create(bytes("hashed", Storage::Hash), &[], create);
        let people = Schema::table("people")
            .column("id", ColumnType::Int)
            .nullable("name", ColumnType::Text)
            .column("age", ColumnType::Int)
            .key(["id"]);
        let people = Indexed::create(people.build().expect("a good schema"), &PEOPLE_INDEXES, create);
        let (open, savepoints, names, log) = Default::default();
        Stage { engine, rows, hashed, people, open, savepoints, names, log }
    }

    fn command(&mut self, words: &[&str]) -> Shown {
        match words {
            ["setup", rows @ ..] => self.setup(rows),
            ["collect"] => Ok(format!("collected {}", F::collect(&self.engine))),
            ["state"] => self.state(),
            ["get", name] => self.get(name),
            [who, "begin", how @ ..] => self.begin(who, how),
            [who, "commit"] => self.commit(who),
            [who, "abort"] => {
                let open = self.take(who);
                self.log.end(open, |open| open.abort(), |()| Outcome::Aborted);
                Ok("aborted".into())
            }
            [who, "drop"] => {
                let open = self.take(who);
                self.log.end(open, drop, |()| Outcome::Aborted);
                Ok("dropped".into())
            }
            [who, statement @ ..] => self.statement(who, statement),
            [] => panic!("an empty command"),
        }
    }

    fn setup(&mut self, rows: &[&str]) -> Shown {
        let open = self.engine.begin_owned(Begin::default())?;
        let mut open = self.log.begin(open);
        for row in rows {
            let (key, value) = row.split_once('=').expect("KEY=VALUE");
            let Named { table, key } = self.named(key);
            table.put(&mut open, &key, self.row(table, &key, value).row())?;
        }
        self.end(open, "setup").map(|_| String::new())
    }

    fn begin(&mut self, who: &str, how: &[&str]) -> Shown {
        let mode = match how {
            [] | ["lazily"] => Mode::ReadWrite,
            ["own"] | ["own", "beside"] => Mode::OwnAtStatement,
            ["read-only"] => Mode::ReadOnly,
            ["snapshot"] => Mode::Snapshot,
            other => panic!("no mode is called {other:?}"),
        };
        let mut open = self.engine.begin_owned(Begin { mode, ..Begin::default() })?;
        open.set_reads_wait(how == ["own"]);
        if how != ["lazily"] {
            open.start()?;
        }
        let open = self.log.begin(open);
        self.keep(who, open);
        Ok("ok".into())
    }

    fn commit(&mut self, who: &str) -> Shown {
        let open = self.take(who);
        self.end(open, who)
    }

    /// Commits. Says so where an engine names transactions by their serial point, and this one was named by another.
    fn end(&mut self, open: Observed<Open<F>>, who: &str) -> Shown {
        let name = open.inner().timestamp();
        let ended = self.log.end(open, Finish::commit, |ended| match ended {
            Ok(committed) => Outcome::Committed(claim::<F>(committed)),
            Err(_) => Outcome::Aborted,
        });
        let committed = ended?;
        if !F::NAMED_BY_SERIAL_POINT {
            return Ok("committed".into());
        }
        let point = Timestamp(committed.claimed().0);
        self.names.insert(point, who.to_owned());
        Ok(if name.is_none_or(|name| name == point) { "committed" } else { "committed later" }.into())
    }

    fn keep(&mut self, who: &str, open: Observed<Open<F>>) {
        if let Some(at) = open.inner().timestamp() {
            self.names.insert(at, who.to_owned());
        }
        self.open.insert(who.to_owned(), open);
    }

    fn take(&mut self, who: &str) -> Observed<Open<F>> {
        self.open.remove(who).unwrap_or_else(|| panic!("{who} is not open"))
    }

    fn statement(&mut self, who: &str, words: &[&str]) -> Shown {
        let mut open = self.take(who);
        let shown = self.run_statement(who, &mut open, words);
        self.keep(who, open);
        shown
    }

    fn run_statement(&mut self, who: &str, open: &mut Observed<Open<F>>, words: &[&str]) -> Shown {
        match words {
            ["savepoint", name] => {
                let done = open.recorded();
                let point = savepoint(open.inner_mut())?;
                self.savepoints.insert((who.to_owned(), (*name).to_owned()), (point, done));
                Ok("ok".into())
            }
            ["rollback", name] => {
                let (point, done) = &self.savepoints[&(who.to_owned(), (*name).to_owned())];
                rollback_to(open.inner_mut(), point)?;
                open.forget_writes_after(*done);
                Ok("ok".into())
            }
            ["scan", range @ ..] => self.scan(open, range),
            [verb, key, rest @ ..] => self.access(open, verb, key, rest),
            other => panic!("no statement: {other:?}"),
        }
    }

    fn get(&mut self, name: &str) -> Shown {
        let (Named { table, key }, mut row) = (self.named(name), RowBuf::new());
        let table = table.rows;
        let got = self.engine.get(table, &key, Columns::All, &mut row)?;
        let shown = self.shown(got.found, name, table, &row);
        self.log.note_single_read(table, key, got.found.then(|| row.bytes().to_vec()));
        Ok(shown)
    }

    fn access(&self, transaction: &mut Observed<Open<F>>, verb: &str, name: &str, rest: &[&str]) -> Shown {
        let Named { table, key } = self.named(name);
        let mut row = RowBuf::new();
        let new = || self.row(table, &key, rest[0]);
        let done = |found: bool| if found { "ok" } else { "not there" }.to_owned();
        match verb {
            "read" => transaction
                .read(table.rows, &key, Columns::All, &mut row)
                .map(|it| self.shown(it, name, table.rows, &row)),
            "read-for-update" => transaction
                .read_for_update(table.rows, &key, Columns::All, &mut row)
                .map(|it| self.shown(it, name, table.rows, &row)),
            "put" => table.put(transaction, &key, new().row()).map(|()| "ok".into()),
            "insert" => table.insert(transaction, &key, new().row()).map(|()| "ok".into()),
            "delete" => table.delete(transaction, &key).map(done),
            "add" => {
                let years: i64 = rest[0].parse().expect("an integer");
                table.update(transaction, &key, &Delta::new().add(2, years)).map(done)
            }
            other => panic!("no statement is called {other}"),
        }
    }

    fn shown(&self, found: bool, name: &str, table: TableId, row: &RowBuf) -> String {
        if found { format!("{name} = {}", self.value(table, row.row())) } else { format!("{name} is not there") }
    }

    fn scan(&self, transaction: &mut Observed<Open<F>>, words: &[&str]) -> Shown {
        let filter = match words {
            ["people", "where", "age", comparison, age] => {
                let comparison = match *comparison {
                    ">=" => Comparison::GreaterOrEqual,
                    "<" => Comparison::Less,
                    other => panic!("no comparison is written {other}"),
                };
                Some(Predicate::Compare(2, comparison, Value::Int(age.parse().expect("an integer"))))
            }
            _ => None,
        };
        let first = words.iter().position(|word| *word == "first");
        let limit = first.map_or(usize::MAX, |at| words[at + 1].parse().expect("a number"));
        let direction = if words.contains(&"backward") { Direction::Backward } else { Direction::Forward };
        let mut scan = match words {
            ["people", "by", "name", ..] => return self.scan_people(transaction, 0, (direction, limit)),
            ["people", "by", "age", ..] => return self.scan_people(transaction, 1, (direction, limit)),
            ["people", ..] => Scan::table(self.people.rows),
            [range, ..] => {
                let (lower, upper) = bounds(range);
                Scan::table(self.rows.rows).between(lower, upper)
            }
            [] => panic!("scan what?"),
        };
        scan.filter = filter.as_ref();
        scan.direction = direction;
        let shown = self.rows_of(transaction, &scan, limit)?;
        Ok(if shown.is_empty() { "nothing".into() } else { shown })
    }

    /// People in the order of an index. Its entries are a range like any other, and each leads to a row.
    fn scan_people(&self, transaction: &mut Observed<Open<F>>, index: usize, way: (Direction, usize)) -> Shown {
        let (found, _) = self.people.scan_index(transaction, index, (Bound::Unbounded, Bound::Unbounded), way)?;
        let person = |key: &Key, row: &RowBuf| {
            format!("{} = {}", self.name(self.people.rows, key), self.value(self.people.rows, row.row()))
        };
        let shown: Vec<String> = found.iter().map(|found| person(&found.key, &found.row)).collect();
        Ok(if shown.is_empty() { "nothing".into() } else { shown.join(", ") })
    }

    fn rows_of(&self, transaction: &mut Observed<Open<F>>, scan: &Scan<'_>, limit: usize) -> Shown {
        let mut shown = Vec::new();
        transaction.scan(scan, &mut |item: Item<'_>| {
            shown.push(format!("{} = {}", self.name(scan.table, item.key), self.value(scan.table, item.row)));
            if shown.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(shown.join(", "))
    }

    fn state(&mut self) -> Shown {
        let mut reader = self.log.begin(begin::<F>(&self.engine, Mode::ReadOnly));
        let mut shown = Vec::new();
        for table in [self.rows.rows, self.people.rows] {
            shown.push(self.rows_of(&mut reader, &Scan::table(table), usize::MAX)?);
        }
        self.end(reader, "state")?;
        shown.retain(|rows| !rows.is_empty());
        Ok(if shown.is_empty() { "nothing".into() } else { shown.join(", ") })
    }

    fn named(&self, name: &str) -> Named<'_> {
        match name.split_once('/') {
            Some(("people", id)) => {
                let mut key = Key::new();
                key.push_i64(id.parse().expect("a number"));
                Named { table: &self.people, key }
            }
            Some(("hashed", key)) => Named { table: &self.hashed, key: Key::from(key) },
            _ => Named { table: &self.rows, key: Key::from(name) },
        }
    }

    fn name(&self, table: TableId, key: &[u8]) -> String {
        let text = || String::from_utf8_lossy(key).into_owned();
        match table {
            _ if table == self.people.rows => {
                let id = KeyReader::new(key).value(ColumnType::Int, false).expect("a person's key");
                format!("people/{id}")
            }
            _ if table == self.hashed.rows => format!("hashed/{}", text()),
            _ => text(),
        }
    }

    /// A key of the table with this name.
    fn name_in(&self, table: &str, key: &Key) -> String {
        match table {
            "people" => self.name(self.people.rows, key),
            "people_by_name" => component(key, ColumnType::Text, true).to_string(),
            "people_by_age" => component(key, ColumnType::Int, false).to_string(),
            _ => self.name(self.rows.rows, key),
        }
    }

    /// A row of the given text: `NAME,AGE` for a person, the bytes themselves elsewhere. A name `-` is NULL.
    fn row(&self, table: &Indexed, key: &Key, text: &str) -> RowBuf {
        if table.rows != self.people.rows {
            return RowBuf::from_bytes(text.as_bytes());
        }
        let (name, age) = text.split_once(',').unwrap_or((text, "0"));
        let id = KeyReader::new(key).value(ColumnType::Int, false).expect("a person's key");
        let name = if name == "-" { ValueRef::Null } else { ValueRef::Text(name) };
        RowBuf::from_values(&[id.as_ref(), name, ValueRef::Int(age.parse().expect("an integer"))])
    }

    fn value(&self, table: TableId, row: RowRef<'_>) -> String {
        if table != self.people.rows {
            return String::from_utf8_lossy(row.bytes()).into_owned();
        }
        format!("{},{}", row.get(1).as_text().unwrap_or("-"), row.get(2))
    }

    /// Returns the text of an error, with transactions under their names in the script.
    fn describe_error(&self, error: &Error) -> String {
        match error {
            Error::Aborted(abort) => self.describe_abort(abort),
            Error::Duplicate(duplicate) if duplicate.table.is_index() => {
                let Duplicate { table, key } = &**duplicate;
                format!("error: duplicate key {} in table {}", self.name_in(table.name(), key), table.name())
            }
            other => format!("error: {other}"),
        }
    }

    fn describe_abort(&self, abort: &Abort) -> String {
        let mut shown = format!("abort {}", abort.rule);
        if let Some(schema) = &abort.table {
            write!(shown, ", table {}", schema.name()).expect("a string takes all");
            let key = |key: &Key| self.name_in(schema.name(), key);
            let target = match &abort.target {
                Target::None => String::new(),
                Target::Key(it) => format!(", key {}", key(it)),
                Target::Gap(it) => format!(", the gap at {}", key(it)),
                Target::Range(..) => ", a range".into(),
            };
            shown += &target;
        }
        if let Some(other) = abort.other {
            // Not the number, which differs from run to run: of a single read, whose stamp is no transaction's name.
            write!(shown, ", other {}", self.names.get(&other).map_or("unknown", String::as_str))
                .expect("a string takes all");
        }
        shown
    }
}

/// The first component of an index entry.
fn component(entry: &Key, kind: ColumnType, nullable: bool) -> Value {
    KeyReader::new(entry).value(kind, nullable).expect("an entry of this index")
}

fn bounds(range: &str) -> (Bound<Key>, Bound<Key>) {
    let (lower, upper) = range.split_once("..").expect("LOW..HIGH");
    let lower = if lower.is_empty() { Bound::Unbounded } else { Bound::Included(Key::from(lower)) };
    let upper = match upper.strip_prefix('=') {
        Some(upper) => Bound::Included(Key::from(upper)),
        None if upper.is_empty() => Bound::Unbounded,
        None => Bound::Excluded(Key::from(upper)),
    };
    (lower, upper)
}
