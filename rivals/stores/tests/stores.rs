//! Each store answers as the naive twin does, and its concurrent transactions pass the audits of the lab's workloads.

use lab::driver::Extent;
use lab::engines::{DoorName, Engine, OnEngine, Settings};
use lab::trial::{DurabilityName, Plan, Subject, WorkloadPlan, perform};
use lab::workloads::parameters::Presets;
use lab::workloads::{bank, ycsb};
use model::twin::Twin;
use model::{
    Access, Begin, Columns, Delta, Error, Key, Program, Reexecutable, Result, RowBuf, RowRef, Scan, ScanEnd, Schema,
    TableId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use stores::access::Rival;
use stores::store::{Body, Intent, Range, Store, Transaction, Visit};
use stores::subject::Name;
use testing::Directory;

const RIVALS: [Name; 6] = [Name::Rocksdb, Name::RocksdbOptimistic, Name::Lmdb, Name::Redb, Name::Fjall, Name::Sqlite];

fn plan(name: Name, workload: WorkloadPlan, durability: DurabilityName, directory: &Directory) -> Plan<Name> {
    Plan {
        engine: name,
        settings: Settings { data: Some(directory.path().to_owned()), ..Settings::default() },
        workload,
        threads: 4,
        streams: 1,
        long_readers: 0,
        long_reader_interval: Duration::ZERO,
        extent: Extent::Transactions(2_000),
        door: DoorName::Program,
        batch: 1,
        durability,
        history: None,
        seed: 7,
    }
}

fn bank_of(changes: Value) -> WorkloadPlan {
    WorkloadPlan::Bank(Presets::read(bank::NAME, bank::PRESETS).unwrap().parameters("default", &changes).unwrap())
}

fn ycsb_of(changes: Value) -> WorkloadPlan {
    WorkloadPlan::Ycsb(Presets::read(ycsb::NAME, ycsb::PRESETS).unwrap().parameters("default", &changes).unwrap())
}

#[test]
fn no_money_is_lost_between_few_accounts() {
    for name in RIVALS {
        for durability in [DurabilityName::None, DurabilityName::Fsync] {
            let directory = Directory::new("bank");
            let workload = bank_of(json!({ "accounts": 10, "audits": 10.0 }));
            let measured = perform(&plan(name, workload, durability, &directory));
            assert_eq!(measured.unwrap_or_else(|error| panic!("{name}: {error}")).clients.commits, 2_000, "{name}");
        }
    }
}

#[test]
fn no_read_modify_write_is_lost() {
    for name in RIVALS {
        let directory = Directory::new("ycsb");
        let changes =
            json!({ "records": 50, "keys_per_txn": 4, "rmws": 4, "reads": 100.0, "scans": 10.0, "theta": 0.8 });
        let measured = perform(&plan(name, ycsb_of(changes), DurabilityName::None, &directory));
        assert_eq!(measured.unwrap_or_else(|error| panic!("{name}: {error}")).clients.commits, 2_000, "{name}");
    }
}

/// A store that forgets a write in a hundred.
struct Forgetful {
    rows: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    writes: AtomicU64,
}

impl Store for Forgetful {
    fn open(_: &Path, _: usize, _: bool) -> Result<Self> {
        Ok(Forgetful { rows: Mutex::default(), writes: AtomicU64::new(0) })
    }

    fn transact(&self, _: bool, body: &mut impl Body) -> Result<()> {
        body.run(&mut Open(self, self.rows.lock().expect("nobody panics")));
        Ok(())
    }
}

struct Open<'a>(&'a Forgetful, MutexGuard<'a, BTreeMap<Vec<u8>, Vec<u8>>>);

impl Transaction for Open<'_> {
    fn get(&mut self, _: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        row.extend_from_slice(self.1.get(key).map_or(&[], Vec::as_slice));
        Ok(self.1.contains_key(key))
    }

    fn put(&mut self, _: usize, key: &[u8], row: &[u8]) -> Result<()> {
        if self.0.writes.fetch_add(1, Ordering::Relaxed) % 100 != 99 {
            self.1.insert(key.to_vec(), row.to_vec());
        }
        Ok(())
    }

    fn delete(&mut self, _: usize, key: &[u8]) -> Result<()> {
        self.1.remove(key);
        Ok(())
    }

    fn scan(&mut self, _: usize, _: Range<'_>, visit: Visit<'_>) -> Result<()> {
        let _ = self.1.iter().try_for_each(|(key, row)| visit(key, row));
        Ok(())
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Forgets;

impl fmt::Display for Forgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("forgetful")
    }
}

impl Subject for Forgets {
    fn isolation(self) -> &'static str {
        "serializable"
    }

    fn open<T: OnEngine>(
        plan: &Plan<Forgets>,
        schemas: Vec<Schema>,
        task: T,
    ) -> std::result::Result<T::Output, String> {
        let store = Forgetful::open(Path::new(""), schemas.len(), false).expect("it is in memory");
        assert!(plan.settings.data.is_none());
        let (engine, tables) = Rival::new(store, schemas);
        Ok(task.run(engine, tables))
    }
}

#[test]
fn a_wrong_answer_has_no_figures() {
    let directory = Directory::new("forgetful");
    let right = plan(Name::Lmdb, bank_of(json!({ "accounts": 50, "audits": 0.0 })), DurabilityName::None, &directory);
    let Plan { workload, extent, durability, .. } = right;
    let plan = Plan {
        engine: Forgets,
        settings: Settings::default(),
        workload,
        threads: 1,
        streams: 1,
        long_readers: 0,
        long_reader_interval: Duration::ZERO,
        extent,
        door: DoorName::Program,
        batch: 1,
        durability,
        history: None,
        seed: 7,
    };
    let refused = perform(&plan).expect_err("money is lost");
    assert!(refused.starts_with("bank on forgetful: wrong result"), "{refused}");
}

/// Everything that `Access` has, in one transaction; the answers in words.
struct Everything(Vec<String>);

const TABLE: TableId = TableId(0);

fn row(number: i64, text: &str) -> RowBuf {
    RowBuf::from_values(&[number.into(), text.into()])
}

fn key(number: i64) -> Key {
    Key::new().push_i64(number).clone()
}

impl Everything {
    fn show<A: Access + ?Sized>(&mut self, access: &mut A, scan: &Scan<'_>, most: usize) -> Result<()> {
        let mut seen = Vec::new();
        let end = access.scan(scan, &mut |item| {
            seen.push(format!("{:?}", item.row.values().collect::<Vec<_>>()));
            if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        self.0.push(format!("{seen:?} {}", end == ScanEnd::Finished));
        Ok(())
    }
}

impl Program for Everything {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        for number in [5, -1, 3, 9, 7] {
            access.put(TABLE, &key(number), row(number, "put").row())?;
        }
        access.insert(TABLE, &key(4), row(4, "inserted").row())?;
        self.0.push(access.insert(TABLE, &key(5), row(5, "again").row()).unwrap_err().to_string());
        self.0.push(access.put(TABLE, &key(6), row(5, "another's").row()).unwrap_err().to_string());
        self.0.push(format!("{}", access.update(TABLE, &key(3), &Delta::new().set(1, "updated"))?));
        self.0.push(format!("{}", access.update(TABLE, &key(30), &Delta::new().set(1, "updated"))?));
        self.0.push(format!("{} {}", access.delete(TABLE, &key(9))?, access.delete(TABLE, &key(9))?));
        let mut found = RowBuf::new();
        for number in [3, 9, 5] {
            let is_there = access.read(TABLE, &key(number), Columns::Some(&[1]), &mut found)?;
            self.0.push(format!("{is_there} {:?}", is_there.then(|| found.get(0).to_owned())));
        }
        self.0.push(format!("{}", access.read_for_update(TABLE, &key(4), Columns::All, &mut found)?));
        let between = |lower, upper| Scan::table(TABLE).between(lower, upper);
        for (lower, upper) in [
            (Bound::Unbounded, Bound::Unbounded),
            (Bound::Included(key(3)), Bound::Included(key(5))),
            (Bound::Excluded(key(3)), Bound::Excluded(key(5))),
            (Bound::Excluded(key(-5)), Bound::Unbounded),
            (Bound::Unbounded, Bound::Excluded(key(6))),
            (Bound::Included(key(6)), Bound::Included(key(2))),
        ] {
            self.show(access, &between(lower.clone(), upper.clone()), 10)?;
            self.show(access, &between(lower.clone(), upper.clone()).backward(), 2)?;
            self.show(access, &between(lower, upper).examine(1), 10)?;
        }
        Ok(())
    }
}

fn schema() -> Schema {
    let table = Schema::table("t").column("number", model::ColumnType::Int).column("text", model::ColumnType::Text);
    table.key(["number"]).build().expect("a good schema")
}

struct Answers;

impl OnEngine for Answers {
    type Output = Vec<String>;

    fn run<E: Engine>(self, engine: E, tables: Vec<TableId>) -> Vec<String> {
        assert_eq!(tables, [TABLE]);
        let mut everything = Everything(Vec::new());
        engine.programs().execute(&mut everything, Begin::default(), &mut |_, _: &Error| false).expect("it commits");
        // What was committed, in a transaction that only reads, and then nothing of one that gives up.
        let mut again = Looks(Vec::new());
        let how = Begin { mode: model::Mode::ReadOnly, ..Begin::default() };
        engine.programs().execute(&mut again, how, &mut |_, _: &Error| false).expect("it reads");
        engine.programs().execute(&mut GivesUp, Begin::default(), &mut |_, _: &Error| false).expect_err("it gives up");
        engine.programs().execute(&mut again, how, &mut |_, _: &Error| false).expect("it reads");
        everything.0.extend(again.0);
        everything.0
    }
}

/// Looks at all rows.
struct Looks(Vec<String>);

impl Program for Looks {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        let mut shown = Everything(Vec::new());
        shown.show(access, &Scan::table(TABLE), 100)?;
        shown.0.push(
            access
                .put(TABLE, &key(1), row(1, "not now").row())
                .map_or_else(|error| error.to_string(), |()| String::new()),
        );
        self.0.append(&mut shown.0);
        Ok(())
    }
}

/// Writes, and then does not want to have.
struct GivesUp;

impl Program for GivesUp {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        access.put(TABLE, &key(100), row(100, "never").row())?;
        access.put(TABLE, b"not a key", RowRef::new(&[]))
    }
}

#[test]
fn stores_answer_as_the_twin_does() {
    let mut twin = Twin::new();
    twin.create_table(schema());
    let mut expected = Everything(Vec::new());
    expected.run(&mut twin).expect("the twin does it");
    let rows = |twin: &mut Twin| {
        let mut shown = Everything(Vec::new());
        shown.show(twin, &Scan::table(TABLE), 100).expect("the twin scans");
        shown.0.remove(0)
    };
    let read_only = Error::from(model::Invalid::ReadOnly).to_string();
    for _ in 0..2 {
        let rows = rows(&mut twin);
        expected.0.extend([rows, read_only.clone()]);
    }
    for name in RIVALS {
        let directory = Directory::new("twin");
        let plan = plan(name, bank_of(json!({})), DurabilityName::None, &directory);
        let answers = Name::open(&plan, vec![schema()], Answers).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(answers, expected.0, "{name}");
    }
}
