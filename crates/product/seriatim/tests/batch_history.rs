//! Histories of `seriatim::batch`: both judges find them strictly serializable in the order of the positions, and calls that are repeated
//! one after the other in that order do exactly the same, in another database and at recovery.

use check::{History, Model, Operation, Record, Scalar, Status};
use seriatim::{Database, Durability, Error, SerialPoint, Storage, batch, record};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use testing::Directory;

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Cell { id: i64, value: i64, }
    table "cells";
    key (id);
    index by_value (value);
}

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Slot { id: i64, value: i64, }
    table "slots";
    key (id);
}

const KEYS: i64 = 12;
/// Keys of a range that a step reads.
const SPAN: i64 = 4;

/// A call: its number, which makes its values unique, and its steps, each a kind and a key.
type Steps = (i64, Vec<(i64, i64)>);

const KINDS: i64 = 8;
/// Kinds below this only read.
const READS: i64 = 4;

/// What a call has read and written, as its body returns it: kind, key, value, and the entries of a range.
type Done = Vec<(i64, i64, Option<i64>, Vec<(i64, i64)>)>;

struct Cells {
    db: batch::Database,
    cells: batch::Table<Cell>,
    slots: batch::Table<Slot>,
    bytes: batch::BytesTable<u64>,
    declared: batch::Procedure<Steps, Done>,
    found: batch::Procedure<Steps, Done>,
    reads: batch::Procedure<Steps, Done>,
}

/// The tables' handles.
#[derive(Clone, Copy)]
struct Handles(batch::Table<Cell>, batch::Table<Slot>, batch::BytesTable<u64>);

fn value_of(bytes: Option<Vec<u8>>) -> Option<i64> {
    bytes.map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

fn step(
    Handles(cells, slots, bytes): Handles,
    txn: &mut batch::Transaction<'_>,
    kind: i64,
    key: i64,
    new: i64,
) -> Result<Done, Error> {
    let one = |value| vec![(kind, key, value, Vec::new())];
    Ok(match kind {
        0 => one(cells.get(txn, key)?.map(|cell| cell.value)),
        1 => one(slots.get(txn, key)?.map(|slot| slot.value)),
        2 => one(value_of(bytes.get(txn, key as u64)?)),
        3 => {
            let range = cells.range(txn, key..key + SPAN);
            let entries = range.map(|cell| cell.map(|cell| (cell.id, cell.value))).collect::<Result<_, _>>()?;
            vec![(kind, key, None, entries)]
        }
        4 => {
            cells.put(txn, &Cell { id: key, value: new })?;
            one(Some(new))
        }
        5 => {
            slots.put(txn, &Slot { id: key, value: new })?;
            one(Some(new))
        }
        6 => {
            bytes.put(txn, key as u64, new.to_le_bytes())?;
            one(Some(new))
        }
        _ => one(cells.delete(txn, key)?.then_some(0)),
    })
}

fn run(handles: Handles, txn: &mut batch::Transaction<'_>, (number, steps): &Steps) -> Result<Done, Error> {
    let mut done = Done::new();
    for (at, (kind, key)) in (0..).zip(steps) {
        done.extend(step(handles, txn, *kind, *key, number * 100 + at)?);
    }
    Ok(done)
}

impl Cells {
    fn open(engine: batch::Bohm, directory: Option<&Directory>) -> Cells {
        let mut builder = Database::builder().durability(Durability::Async).engine(engine);
        let cells = builder.table::<Cell>().unwrap();
        let slots = builder.table_in::<Slot>(Storage::Hash).unwrap();
        let bytes = builder.bytes_table_in("bytes", Storage::Hash).unwrap();
        let handles = Handles(cells, slots, bytes);
        let declared = builder
            .procedure("declared", 1)
            .footprint(move |footprint, (number, steps): &Steps| {
                // Entries of the index by value are those of the rows there and of the new ones.
                for (at, (kind, key)) in (0..).zip(steps) {
                    match kind {
                        0 => footprint.reads(cells, *key),
                        1 => footprint.reads(slots, *key),
                        2 => footprint.reads(bytes, *key as u64),
                        3 => footprint.reads_range(cells, *key..*key + SPAN),
                        5 => footprint.updates(slots, *key),
                        6 => footprint.updates(bytes, *key as u64),
                        _ => {
                            let new = Cell { id: *key, value: number * 100 + at };
                            let old = cells.get(footprint.look(), *key).ok().flatten();
                            footprint.replaces(cells, &old.unwrap_or_else(|| new.clone()), &new);
                        }
                    }
                }
            })
            .body(move |txn, steps: &Steps| run(handles, txn, steps))
            .unwrap();
        let found = builder.procedure("found", 1).body(move |txn, steps: &Steps| run(handles, txn, steps)).unwrap();
        let reads =
            builder.procedure("reads", 1).read_only().body(move |txn, steps: &Steps| run(handles, txn, steps)).unwrap();
        let db = match directory {
            Some(directory) => builder.open(directory.path()),
            None => builder.in_memory(),
        };
        Cells { db: db.unwrap(), cells, slots, bytes, declared, found, reads }
    }

    fn procedure(&self, (number, steps): &Steps) -> &batch::Procedure<Steps, Done> {
        match number % 3 {
            _ if steps.iter().all(|(kind, _)| *kind < READS) => &self.reads,
            0 => &self.found,
            _ => &self.declared,
        }
    }

    /// All rows, table by table.
    fn contents(&self) -> Vec<(i64, i64, i64)> {
        let read = |at: &batch::Snapshot<'_>| -> Result<Vec<_>, Error> {
            let mut all = Vec::new();
            for cell in self.cells.by(Cell::by_value()).iter(at) {
                all.push((0, cell.as_ref().map_err(Clone::clone)?.id, cell?.value));
            }
            for id in 0..KEYS {
                all.extend(self.slots.get(at, id)?.map(|slot| (1, id, slot.value)));
                all.extend(value_of(self.bytes.get(at, id as u64)?).map(|value| (2, id, value)));
            }
            Ok(all)
        };
        self.db.read_strict(read).unwrap()
    }
}

/// A call that has committed.
struct Committed {
    steps: Steps,
    done: Done,
    position: SerialPoint,
    client: u64,
    start: u64,
    end: u64,
}

/// Has threads submit calls, one by one and together.
fn record_history(on: &Cells, clients: u64) -> Vec<Committed> {
    // Counts events: a call that ended before another one was submitted has a smaller number at its end.
    let clock = AtomicU64::new(0);
    let history = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for client in 0..clients {
            let (clock, history) = (&clock, &history);
            scope.spawn(move || {
                let mut random = env::Randomness::from_seed(client + 1);
                let mut below = |limit: i64| random.in_range(0..limit as u64) as i64;
                for round in 0..40 {
                    let together = 1 + below(6);
                    let draw = |at: i64| (((client as i64 * 1000 + round) * 10 + at), Vec::new());
                    let mut calls: Vec<Steps> = (0..together).map(draw).collect();
                    for (_, steps) in &mut calls {
                        let kinds = if below(4) == 0 { READS } else { KINDS };
                        *steps = (0..1 + below(4)).map(|_| (below(kinds), below(KEYS))).collect();
                    }
                    let submit = |steps: Steps| {
                        let start = clock.fetch_add(1, SeqCst);
                        let ticket = on.db.submit(on.procedure(&steps), steps.clone());
                        (start, steps, ticket)
                    };
                    let tickets: Vec<_> = calls.into_iter().map(submit).collect();
                    for (start, steps, ticket) in tickets {
                        let (done, position) = ticket.with_position().wait().expect("nothing refuses it");
                        let end = clock.fetch_add(1, SeqCst);
                        history.lock().unwrap().push(Committed { steps, done, position, client, start, end });
                    }
                }
            });
        }
    });
    let mut history = history.into_inner().unwrap();
    history.sort_by_key(|call| call.position);
    history
}

fn key(table: &str, id: i64) -> Scalar {
    format!("{table}/{id:03}").into()
}

/// The operations of a call as the judges read them.
fn operations(done: &Done) -> Vec<Operation> {
    let translate = |(kind, id, value, entries): &(i64, i64, Option<i64>, Vec<(i64, i64)>)| {
        let value = *value;
        let read = |table| Operation::Read { key: key(table, *id), value: value.map(Scalar::from), version: None };
        let write =
            |table| Operation::Write { key: key(table, *id), value: value.expect("written").into(), version: None };
        match kind {
            0 => read("cells"),
            1 => read("slots"),
            2 => read("bytes"),
            3 => Operation::Scan {
                low: Some(key("cells", *id)),
                high: Some(key("cells", id + SPAN - 1)),
                entries: entries.iter().map(|(id, value)| (key("cells", *id), Scalar::from(*value))).collect(),
            },
            4 => write("cells"),
            5 => write("slots"),
            6 => write("bytes"),
            _ if value.is_some() => Operation::Delete { key: key("cells", *id), version: None },
            _ => read("cells"),
        }
    };
    done.iter().map(translate).collect()
}

fn judge(history: &[Committed]) {
    let records = history.iter().map(|call| Record {
        id: call.steps.0 as u64,
        process: call.client,
        start_ns: call.start,
        end_ns: call.end,
        status: Status::Committed,
        serial_point: Some(call.position.0),
        operations: operations(&call.done),
    });
    let report = check::judge(&History::from_records(records).expect("each value is written once"), Model::Strict);
    assert!(report.valid && !report.judges_disagree, "{report}");
}

/// Repeats the calls one after the other in the order of their positions, in another database.
fn replay(history: &[Committed], expected: &[(i64, i64, i64)]) {
    let again = Cells::open(batch::Bohm::default(), None);
    for Committed { steps, done, position, .. } in history {
        assert_eq!(again.db.call(again.procedure(steps), steps.clone()).unwrap(), *done, "{steps:?} at {position:?}");
    }
    assert_eq!(again.contents(), expected);
}

#[test]
fn both_judges_pass_and_a_replay_in_the_order_of_positions_is_the_same() {
    for engine in [
        batch::Bohm::default().planners(2).executors(2).batch(16),
        batch::Bohm::default().planners(2).executors(1).batch(4).moves_threads(true),
    ] {
        let on = Cells::open(engine, None);
        let history = record_history(&on, 4);
        assert!(history.windows(2).all(|pair| pair[0].position < pair[1].position), "a position is given once");
        judge(&history);
        replay(&history, &on.contents());
    }
}

/// What the log holds is executed again in its order, and leaves the same.
#[test]
fn recovery_in_the_order_of_the_log_is_the_same() {
    let directory = Directory::new("batch-history");
    let engine = || batch::Bohm::default().planners(2).executors(2).batch(16);
    let on = Cells::open(engine(), Some(&directory));
    let history = record_history(&on, 3);
    let contents = on.contents();
    on.db.close().unwrap();
    judge(&history);
    replay(&history, &contents);
    let again = Cells::open(engine(), Some(&directory));
    assert!(again.db.recovery().is_some_and(|found| found.calls > 0), "nothing was executed again");
    assert_eq!(again.contents(), contents);
}
