//! Histories against snapshots that are rebuilt from the log: what a committed transaction has read, by key, by range or by column, is what
//! the records before its serial point have left; and its own record holds what it did there.

use conformance::seeds;
use env::{Randomness, SimDisk, SimDiskOptions, thread};
use model::columns::{Batch, batches};
use model::decimal::Decimal;
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Delta, Durability, Finish, Interactive, Key, Mode, Predicate,
    Result, RowBuf, RowRef, Savepoints, Scan, Schema, SharedReads, TableId, Value, ValueRef,
};
use seriatim_hyper::{Hyper, LogOptions, Options, Transaction, Validation};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;
use wal::Log;
use wal::redo::Record;

/// Keys lie below: some blocks of four rows, few enough to be met.
const KEYS: i64 = 24;
const CLIENTS: u64 = 4;
const TRANSACTIONS: usize = 150;
/// Runs, each with clients of its own.
const RUNS: u64 = 4;

/// The columns of a row, its key first.
type Row = [i64; 6];
type State = BTreeMap<i64, Row>;

/// A step of a transaction, with what it returned.
#[derive(Debug)]
enum Step {
    Read {
        id: i64,
        columns: Vec<u16>,
        seen: Option<Vec<i64>>,
    },
    /// Rows of a range of keys, in its order, that pass: up to the last one that was looked at.
    Range {
        ids: std::ops::Range<i64>,
        filter: Predicate,
        seen: Vec<Row>,
    },
    /// Values of some columns of all rows that pass, in ascending order.
    Columns {
        filter: Predicate,
        columns: Vec<u16>,
        seen: Vec<Vec<i64>>,
    },
    Put(Row),
    Add {
        id: i64,
        column: u16,
        amount: i64,
        found: bool,
    },
    Set {
        id: i64,
        column: u16,
        value: i64,
        found: bool,
    },
    Delete {
        id: i64,
        found: bool,
    },
    /// Undoes the writes of the steps from this one on.
    Back(usize),
}

/// A committed transaction.
#[derive(Debug)]
struct Committed {
    at: u64,
    client: u64,
    steps: Vec<Step>,
}

fn schema() -> Schema {
    let columns = ["a", "b", "c"].into_iter();
    let schema = Schema::table("t").column("id", ColumnType::Int);
    columns
        .fold(schema, |schema, name| schema.column(name, ColumnType::Int))
        .column("decimal", ColumnType::Bytes)
        .column("text", ColumnType::Text)
        .key(["id"])
        .build()
        .expect("a good schema")
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

/// A column of decimals, now and then of another scale than most.
const DECIMALS: u16 = 4;
/// A column of texts, few of which are different.
const TEXTS: u16 = 5;

fn decimal(value: i64) -> Decimal {
    Decimal::new(value, if value == 7 { 3 } else { 2 })
}

/// An integer as a column has it.
fn value_of(column: u16, value: i64) -> Value {
    match column {
        DECIMALS => decimal(value).stored().to_vec().into(),
        TEXTS => value.to_string().into(),
        _ => value.into(),
    }
}

fn integer(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Int(value) => value,
        ValueRef::Bytes(bytes) => Decimal::of_stored(bytes).expect("a decimal").digits,
        ValueRef::Text(text) => text.parse().expect("digits"),
        value => panic!("no column has {value:?}"),
    }
}

fn stored(row: &Row) -> RowBuf {
    let values: Vec<Value> = (0..).zip(row).map(|(column, value)| value_of(column, *value)).collect();
    RowBuf::from_values(&values.iter().map(Value::as_ref).collect::<Vec<_>>())
}

fn integers(row: RowRef<'_>) -> Vec<i64> {
    (0..row.width()).map(|at| integer(row.get(at))).collect()
}

fn row_of(row: RowRef<'_>) -> Row {
    integers(row).try_into().expect("a row has six columns")
}

fn some(row: &Row, columns: &[u16]) -> Vec<i64> {
    columns.iter().map(|&column| row[usize::from(column)]).collect()
}

fn passes(filter: &Predicate, row: &Row) -> bool {
    filter.matches(stored(row).row())
}

/// A client of random transactions.
struct Client<'e> {
    engine: &'e Hyper,
    table: TableId,
    schema: &'e Schema,
    number: u64,
    random: Randomness,
}

impl Client<'_> {
    fn below(&mut self, end: i64) -> i64 {
        self.random.in_range(0..end as u64) as i64
    }

    fn run(mut self) -> Vec<Committed> {
        (0..TRANSACTIONS).filter_map(|_| self.transaction()).collect()
    }

    /// A transaction, if it commits.
    fn transaction(&mut self) -> Option<Committed> {
        let mode = [Mode::ReadWrite, Mode::ReadWrite, Mode::OwnAtStatement, Mode::ReadOnly][self.below(4) as usize];
        let begin = Begin { mode, durability: Some(Durability::Async), ..Begin::default() };
        let mut open = self.engine.begin(begin).expect("room for one per client");
        let (mut steps, mut back) = (Vec::new(), None);
        for _ in 0..1 + self.below(6) {
            if self.random.chance(1, 3) {
                thread::yield_now();
            }
            let is_reader = mode == Mode::ReadOnly;
            // An abort: nobody has promised anything.
            steps.push(if is_reader { self.read(&mut open) } else { self.step(&mut open) }.ok()?);
            if !is_reader && self.random.chance(1, 6) {
                back = Some((open.savepoint().ok()?, steps.len()));
            }
            if let Some((savepoint, at)) = &back
                && self.random.chance(1, 4)
            {
                open.rollback_to(savepoint).ok()?;
                steps.push(Step::Back(*at));
            }
        }
        let committed = open.commit().ok()?;
        if self.random.chance(1, 32) {
            self.engine.collect();
        }
        let at = committed.serial_point.expect("each transaction claims a point").0;
        Some(Committed { at, client: self.number, steps })
    }

    fn step(&mut self, open: &mut Transaction<&Hyper>) -> Result<Step> {
        let id = self.below(KEYS);
        Ok(match self.below(8) {
            0..4 => self.read(open)?,
            4 => {
                let row = [id, self.below(8), self.below(8), self.below(300), self.below(8), self.below(4)];
                open.put(self.table, &key(id), stored(&row).row())?;
                Step::Put(row)
            }
            5 => {
                let (column, value) = (DECIMALS + self.below(2) as u16, self.below(8));
                let delta = Delta::new().set(column, value_of(column, value));
                let found = open.update(self.table, &key(id), &delta)?;
                Step::Set { id, column, value, found }
            }
            6 => {
                let (column, amount) = (1 + self.below(3) as u16, 1 + self.below(200));
                let found = open.update(self.table, &key(id), &Delta::new().add(column, amount))?;
                Step::Add { id, column, amount, found }
            }
            _ => Step::Delete { id, found: open.delete(self.table, &key(id))? },
        })
    }

    fn read(&mut self, open: &mut Transaction<&Hyper>) -> Result<Step> {
        match self.below(3) {
            0 => {
                let (id, columns, mut row) = (self.below(KEYS), self.columns(), RowBuf::new());
                let found = open.read(self.table, &key(id), Columns::Some(&columns), &mut row)?;
                let seen = found.then(|| integers(row.row()));
                Ok(Step::Read { id, columns, seen })
            }
            1 => self.scan(open),
            _ => self.scan_columns(open),
        }
    }

    fn scan(&mut self, open: &mut Transaction<&Hyper>) -> Result<Step> {
        let (low, filter, most) = (self.below(KEYS), self.filter(), 1 + self.below(6) as usize);
        let high = low + 1 + self.below(KEYS - low);
        let (mut seen, mut end) = (Vec::new(), high);
        let scan =
            Scan::table(self.table).between(Bound::Included(key(low)), Bound::Excluded(key(high))).filter(&filter);
        open.scan(&scan, &mut |item| {
            let row = row_of(item.row);
            seen.push(row);
            if seen.len() < most {
                return ControlFlow::Continue(());
            }
            end = row[0] + 1;
            ControlFlow::Break(())
        })?;
        Ok(Step::Range { ids: low..end, filter, seen })
    }

    fn scan_columns(&mut self, open: &mut Transaction<&Hyper>) -> Result<Step> {
        let (filter, columns) = (self.filter(), self.columns());
        let (view, mut batch, mut seen) = (open.read_view()?, Batch::default(), Vec::new());
        let scan = Scan::table(self.table).filter(&filter).columns(Columns::Some(&columns));
        let rest = batches(&*view, self.schema, scan)?;
        while rest.next(&mut batch)? {
            let row = |at| -> Vec<i64> {
                (0..columns.len()).map(|column| integer(batch.column(column).get(at).as_ref())).collect()
            };
            seen.extend((0..batch.len()).map(row));
        }
        drop(rest);
        drop(view);
        seen.sort();
        Ok(Step::Columns { filter, columns, seen })
    }

    fn columns(&mut self) -> Vec<u16> {
        (0..1 + self.below(2)).map(|_| self.below(6) as u16).collect()
    }

    fn filter(&mut self) -> Predicate {
        let comparison = [Comparison::Equal, Comparison::Less, Comparison::GreaterOrEqual][self.below(3) as usize];
        match self.below(6) {
            0 | 1 => Predicate::True,
            2 => Predicate::CompareDecimal(DECIMALS, comparison, decimal(self.below(8))),
            3 => Predicate::Compare(TEXTS, comparison, value_of(TEXTS, self.below(4))),
            _ => Predicate::Compare(1 + self.below(3) as u16, comparison, Value::Int(self.below(8))),
        }
    }
}

/// The rows that each record of the log has left or deleted, by timestamp.
fn logged(disk: &SimDisk) -> BTreeMap<u64, BTreeMap<i64, Option<Row>>> {
    let (_log, mut recovered) =
        Log::open(Arc::new(disk.clone()), LogOptions { read_only: true, ..LogOptions::default() })
            .expect("a healthy disk");
    assert!(recovered.checkpoint.is_none(), "the log goes back to the beginning");
    let mut logged: BTreeMap<u64, BTreeMap<i64, Option<Row>>> = BTreeMap::new();
    while let Some(record) = recovered.records.next_record().expect("a healthy disk") {
        let Record::Writes(writes) = Record::decode(record.payload).expect("an engine's record") else { continue };
        for write in writes {
            let write = write.expect("an engine's record");
            let id = (0..KEYS).find(|id| *key(*id) == *write.key).expect("one of the keys");
            let row = write.row.map(|row| row_of(RowRef::new(row)));
            // Twice, if it was written on both sides of a savepoint; but as it is at the commit, each time.
            let before = logged.entry(record.stamp).or_default().insert(id, row);
            assert!(before.is_none_or(|before| before == row), "{before:?} and {row:?} of one transaction");
        }
    }
    logged
}

fn apply(state: &mut State, id: i64, row: Option<Row>) {
    match row {
        Some(row) => state.insert(id, row),
        None => state.remove(&id),
    };
}

/// Repeats a transaction on a snapshot, and compares what each step returned. Returns what it leaves.
fn repeat(snapshot: &State, steps: &[Step]) -> std::result::Result<State, String> {
    let mut states = vec![snapshot.clone()];
    for (number, step) in steps.iter().enumerate() {
        let mut state = states[number].clone();
        let is_right = match step {
            Step::Read { id, columns, seen } => state.get(id).map(|row| some(row, columns)) == *seen,
            Step::Range { ids, filter, seen } => {
                let rows = state.range(ids.clone()).map(|(_, row)| *row);
                rows.filter(|row| passes(filter, row)).collect::<Vec<_>>() == *seen
            }
            Step::Columns { filter, columns, seen } => {
                let rows = state.values().filter(|row| passes(filter, row));
                let mut expected: Vec<_> = rows.map(|row| some(row, columns)).collect();
                expected.sort();
                expected == *seen
            }
            Step::Put(row) => {
                state.insert(row[0], *row);
                true
            }
            Step::Add { id, column, amount, found } => {
                let row = state.get_mut(id);
                let is_right = row.is_some() == *found;
                row.into_iter().for_each(|row| row[usize::from(*column)] += amount);
                is_right
            }
            Step::Set { id, column, value, found } => {
                let row = state.get_mut(id);
                let is_right = row.is_some() == *found;
                row.into_iter().for_each(|row| row[usize::from(*column)] = *value);
                is_right
            }
            Step::Delete { id, found } => state.remove(id).is_some() == *found,
            Step::Back(at) => {
                state = states[*at].clone();
                true
            }
        };
        if !is_right {
            return Err(format!("step {number}, {step:?}, on {:?}", states[number]));
        }
        states.push(state);
    }
    Ok(states.pop().expect("the snapshot at least"))
}

/// Checks each transaction at its point. Returns the last state.
fn check(mut history: Vec<Committed>, logged: BTreeMap<u64, BTreeMap<i64, Option<Row>>>, context: &str) -> State {
    history.sort_by_key(|transaction| transaction.at);
    assert!(history.is_sorted_by(|before, after| before.at < after.at), "{context}: a point is claimed twice");
    let (mut state, mut records) = (State::new(), logged.into_iter().peekable());
    for Committed { at, client, steps } in &history {
        // On a healthy disk each client learns the outcome.
        let unknown = records.next_if(|(stamp, _)| stamp < at);
        assert!(unknown.is_none(), "{context}: the log has {unknown:?} of nobody before {at}");
        let left = repeat(&state, steps).unwrap_or_else(|wrong| panic!("{context}: client {client} at {at}: {wrong}"));
        if let Some((_, rows)) = records.next_if(|(stamp, _)| stamp == at) {
            rows.into_iter().for_each(|(id, row)| apply(&mut state, id, row));
        }
        assert_eq!(state, left, "{context}: client {client} at {at}: the record is not what the steps did: {steps:?}");
    }
    assert!(records.next().is_none(), "{context}: the log has a record of nobody");
    state
}

fn state_of(engine: &Hyper, table: TableId) -> State {
    let mut open = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room for one");
    let mut state = State::new();
    let mut note = |item: model::Item<'_>| {
        let row = row_of(item.row);
        state.insert(row[0], row);
        ControlFlow::Continue(())
    };
    open.scan(&Scan::table(table), &mut note).expect("nobody in the way");
    state
}

fn run(options: &Options) {
    let schema = schema();
    for run in 0..RUNS {
        let seed = seeds::fixed().wrapping_add(run);
        let context = seeds::replay(seed);
        let disk = SimDisk::new(seed, SimDiskOptions::default());
        let open = || Hyper::open(Arc::new(disk.clone()), options.clone()).expect("a healthy disk");
        let engine = open();
        let table = engine.create_table(schema.clone()).expect("a new table");
        let history: Vec<Committed> = thread::scope(|scope| {
            let client = |number| {
                let random = Randomness::from_seed(seed ^ number << 32);
                let client = Client { engine: &engine, table, schema: &schema, number, random };
                scope.spawn(move || client.run())
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
        });
        assert!(history.len() > TRANSACTIONS, "{context}: only {} committed", history.len());
        let last = state_of(&engine, table);
        engine.close().expect("a healthy disk");
        drop(engine);
        assert_eq!(check(history, logged(&disk), &context), last, "{context}: the log is all that was committed");
        assert_eq!(state_of(&open(), table), last, "{context}: recovery rebuilds it");
    }
}

fn small() -> Options {
    let log = LogOptions { segment_bytes: 64 << 10, part_bytes: 256, recovery_threads: 3, ..LogOptions::default() };
    Options {
        block_rows: 4,
        has_small_nodes: true,
        predicates: 6,
        wait_limit: Duration::from_millis(20),
        log,
        ..Options::default()
    }
}

#[test]
fn reads_hold_at_the_points_in_the_log() {
    run(&small());
}

/// Whole rows and whole versions; any change of a row counts; starts stay.
#[test]
fn reads_by_row_hold_at_the_points_in_the_log() {
    run(&Options { by_row: true, whole_versions: true, validation: Validation::Rows, moves_starts: false, ..small() });
}
