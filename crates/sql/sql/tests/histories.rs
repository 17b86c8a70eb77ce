//! Random transactions of several sessions over a few rows: what the engine was asked and answered is written down, and two
//! judges must find it strictly serializable.
//!
//! The judges want every value that is written to a key to be another one, so each row carries a stamp that no other write
//! has, and so does each entry of the secondary index.

mod common;

use check::{History, KeyForm, Model, Operation, Record, Scalar, Status};
use common::{Client, open};
use env::Randomness;
use model::history::{Outcome, Transaction};
use seriatim_sql::session::Status as Block;
use seriatim_sql::store::{Recorded, Store};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const THREADS: u64 = 4;
/// Transactions of each thread.
const TRANSACTIONS: u64 = 600;
/// Where a judge is to find what was forged.
const FEW_TRANSACTIONS: u64 = 60;
const IDS: u64 = 12;
const GROUPS: u64 = 3;

const TABLES: &str = "
    CREATE TABLE items (id int PRIMARY KEY, grp int NOT NULL, amount int NOT NULL, stamp bigint NOT NULL);
    CREATE INDEX items_grp ON items (grp, stamp);
    CREATE INDEX items_large ON items (stamp) WHERE amount > 12;
    CREATE UNIQUE INDEX items_place ON items ((id % 3 + grp), stamp) WHERE grp > 0;
    CREATE TABLE totals (grp int PRIMARY KEY, n bigint, stamp bigint NOT NULL);
    CREATE TABLE notes (note text, stamp bigint);
    INSERT INTO items SELECT n, n % 3, 10, -n FROM generate_series(0, 7) AS n;
    INSERT INTO totals SELECT n, 0, -100 - n FROM generate_series(0, 2) AS n";

/// How often each kind of thing happened.
type Tally = BTreeMap<String, u64>;

/// A session that runs random transactions.
struct Writer<'s> {
    client: Client,
    random: Randomness,
    stamps: &'s AtomicU64,
    tally: Tally,
}

impl Writer<'_> {
    fn below(&mut self, end: u64) -> u64 {
        self.random.in_range(0..end)
    }

    fn run_all(mut self, transactions: u64) -> Tally {
        for _ in 0..transactions {
            match self.below(10) {
                0..3 => {
                    let statement = self.statement();
                    self.run(&statement);
                }
                3 => self.reader("BEGIN READ ONLY"),
                4 => self.reader("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE"),
                _ => self.block(),
            }
        }
        self.tally
    }

    /// Runs a statement; whether it succeeded. It may fail by what other sessions do, and by nothing else.
    fn run(&mut self, sql: &str) -> bool {
        let word = sql.split(' ').next().unwrap_or_default();
        let (succeeded, what) = match self.client.try_run(sql) {
            Ok(_) => (true, word.to_owned()),
            Err(error) => {
                let unskipping = error.message() == "SKIP LOCKED by this engine is not supported";
                let foreseen = unskipping || matches!(error.code(), "40001" | "23505" | "25P02");
                assert!(foreseen, "{sql}\n{error}");
                (false, error.code().to_owned())
            }
        };
        *self.tally.entry(what).or_default() += 1;
        succeeded
    }

    /// A few statements, some of them taken back.
    fn block(&mut self) {
        self.run("BEGIN");
        for _ in 0..1 + self.below(4) {
            let statement = self.statement();
            if self.below(4) == 0 {
                self.in_savepoint(&statement);
            } else {
                self.run(&statement);
            }
            if self.client.session.status() == Block::Failed {
                break;
            }
        }
        let end = if self.below(12) == 0 { "ROLLBACK" } else { "COMMIT" };
        if !self.run(end) {
            assert_eq!(self.client.session.status(), Block::Idle, "{end} ends the block");
        }
    }

    fn in_savepoint(&mut self, statement: &str) {
        if !self.run("SAVEPOINT s") {
            return;
        }
        let succeeded = self.run(statement);
        if !succeeded || self.below(2) == 0 {
            // Refused if the engine has aborted the whole transaction.
            self.run("ROLLBACK TO s");
        } else {
            self.run("RELEASE s");
        }
    }

    fn reader(&mut self, begin: &str) {
        self.run(begin);
        for _ in 0..1 + self.below(3) {
            let query = self.query();
            if !self.run(&query) {
                break;
            }
        }
        self.run("COMMIT");
    }

    fn query(&mut self) -> String {
        let (id, grp) = (self.below(IDS), self.below(GROUPS));
        let to = id + self.below(5);
        match self.below(8) {
            0 => format!("SELECT * FROM items WHERE id = {id}"),
            6 => "SELECT id, stamp FROM items WHERE amount > 12 ORDER BY stamp DESC LIMIT 2".into(),
            7 => format!("SELECT * FROM items WHERE id % 3 + grp = {grp} AND grp > 0"),
            1 => format!("SELECT count(*), sum(amount) FROM items WHERE id BETWEEN {id} AND {to}"),
            2 => format!("SELECT * FROM items WHERE grp = {grp} ORDER BY stamp"),
            3 => format!("SELECT id FROM items WHERE id < {id} ORDER BY id DESC LIMIT 2"),
            4 => format!("SELECT id, n FROM items JOIN totals USING (grp) WHERE id < {id}"),
            _ => "SELECT grp, sum(amount) FROM items GROUP BY grp".into(),
        }
    }

    fn statement(&mut self) -> String {
        let (id, grp, amount) = (self.below(IDS), self.below(GROUPS), self.below(9));
        // Relaxed: only uniqueness matters.
        let stamp = self.stamps.fetch_add(1, Ordering::Relaxed);
        match self.below(18) {
            0..4 => self.query(),
            4 | 5 => format!("UPDATE items SET amount = amount + {amount}, stamp = {stamp} WHERE id = {id}"),
            6 => format!("UPDATE items SET grp = {grp}, stamp = {stamp} WHERE id = {id}"),
            7 if amount > 5 => {
                format!("UPDATE items SET amount = 0, stamp = {stamp} WHERE id % 3 + grp = {grp} AND grp > 0")
            }
            7 => format!("UPDATE items SET amount = amount + 1, stamp = {stamp} WHERE grp = {grp}"),
            8 => format!(
                "INSERT INTO items VALUES ({id}, {grp}, {amount}, {stamp}) ON CONFLICT (id) DO UPDATE \
                 SET amount = items.amount + excluded.amount, stamp = excluded.stamp"
            ),
            9 => format!("INSERT INTO items VALUES ({id}, {grp}, {amount}, {stamp}) ON CONFLICT DO NOTHING"),
            10 => format!("INSERT INTO items VALUES ({id}, {grp}, {amount}, {stamp})"),
            11 => format!("DELETE FROM items WHERE id = {id}"),
            12 => format!("DELETE FROM items WHERE grp = {grp} AND amount > 30"),
            13 => format!("SELECT * FROM items WHERE id = {id} FOR UPDATE"),
            14 => format!(
                "UPDATE totals SET n = (SELECT sum(amount) FROM items WHERE grp = {grp}), stamp = {stamp} \
                 WHERE grp = {grp}"
            ),
            15 => format!("SELECT * FROM items WHERE grp = {grp} ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"),
            16 => format!(
                "UPDATE items SET amount = amount + 1, stamp = {stamp} WHERE id = \
                 (SELECT id FROM items WHERE amount < 30 ORDER BY stamp LIMIT 1 FOR UPDATE SKIP LOCKED)"
            ),
            _ => format!("INSERT INTO notes SELECT 'largest ' || max(id), {stamp} FROM items"),
        }
    }
}

/// The history of several sessions on one engine.
fn run(store: Arc<dyn Store>, seed: u64, transactions: u64) -> (Vec<Record>, Tally) {
    let history: Arc<Mutex<Vec<Transaction>>> = Arc::default();
    let noted = history.clone();
    let store = Recorded::new(store, move |transaction| {
        // The server repeats what was aborted, with the same stamps. What should not have been seen of it then looks
        // written by nobody.
        if transaction.outcome != Outcome::Aborted {
            noted.lock().unwrap().push(transaction);
        }
    });
    let database = open(Arc::new(store));
    Client::new(&database).run(TABLES);
    let (stamps, seeds) = (AtomicU64::new(0), Randomness::from_seed(seed));
    let mut tally = Tally::new();
    std::thread::scope(|scope| {
        let mut seeds = seeds;
        let writers: Vec<_> = (0..THREADS)
            .map(|_| {
                let (client, random, stamps) = (Client::new(&database), seeds.fork(), &stamps);
                scope.spawn(move || Writer { client, random, stamps, tally: Tally::new() }.run_all(transactions))
            })
            .collect();
        for writer in writers {
            for (what, count) in writer.join().expect("no session panics") {
                *tally.entry(what).or_default() += count;
            }
        }
    });
    let history = std::mem::take(&mut *history.lock().unwrap());
    let form = |table: model::TableId| KeyForm::Text(format!("t{}", table.0).into());
    let show =
        |row: model::RowRef<'_>| Scalar::from(row.bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    let records = history.into_iter().enumerate().map(|(id, it)| Record::observed(id as u64, it, form, show));
    (records.collect(), tally)
}

fn judge(records: Vec<Record>) -> check::Report {
    check::judge(&History::from_records(records).expect("a well-formed history"), Model::Strict)
}

#[track_caller]
fn assert_serial(store: Arc<dyn Store>, seed: u64) {
    let (records, tally) = run(store, seed, TRANSACTIONS);
    for what in ["SELECT", "INSERT", "UPDATE", "DELETE", "COMMIT", "ROLLBACK", "RELEASE", "40001", "23505"] {
        let count: u64 = tally.get(what).copied().unwrap_or_default();
        assert!(count > 10, "{what} came {count} times: {tally:?}");
    }
    let scans = records.iter().flat_map(|record| &record.operations);
    let scans = scans.filter(|operation| matches!(operation, Operation::Scan { .. })).count() as u64;
    assert!(scans > TRANSACTIONS / 2, "only {scans} scans");
    let report = judge(records);
    assert!(report.valid && !report.judges_disagree, "seed {seed}: {report}");
    assert!(report.counts.committed as u64 > THREADS * TRANSACTIONS / 2, "most aborted: {:?}", report.counts);
}

#[test]
fn sessions_on_every_engine_are_serializable() {
    for (number, subject) in common::engines().into_iter().enumerate() {
        let first = 3 * number as u64;
        assert_serial(subject.store, first + 1);
        for seed in first + 2..=first + 3 {
            let again = common::engines().swap_remove(number);
            assert_serial(again.store, seed);
        }
    }
}

/// The judges would notice: a read that saw what was never there.
#[test]
fn a_forged_read_is_refused() {
    let (mut records, _) = run(common::store(), 7, FEW_TRANSACTIONS);
    let committed = records.iter_mut().filter(|record| record.status == Status::Committed);
    let forged = committed.flat_map(|record| &mut record.operations).find_map(|operation| match operation {
        Operation::Read { value: value @ Some(_), .. } => Some(value),
        _ => None,
    });
    *forged.expect("somebody read something") = Some(Scalar::from("forged"));
    assert!(!judge(records).valid);
}

/// The judges would notice: a scan of an index that missed an entry.
#[test]
fn a_forged_scan_is_refused() {
    let (mut records, _) = run(common::store(), 8, FEW_TRANSACTIONS);
    let scans = records.iter_mut().flat_map(|record| &mut record.operations).filter_map(|operation| match operation {
        Operation::Scan { entries, .. } if entries.len() > 2 => Some(entries),
        _ => None,
    });
    scans.last().expect("somebody scanned something").pop();
    assert!(!judge(records).valid);
}
