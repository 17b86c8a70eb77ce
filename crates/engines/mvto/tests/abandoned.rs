//! M12: a transaction that owns rows, is older than the limit on age and makes no further calls blocks no other transaction.
#![cfg(not(any(loom, feature = "shuttle")))]

mod support;

use conformance::ages::{self, Ages};
use conformance::{Fixture, Knobs, Sessions};
use env::SimClock;
use model::{Begin, Interactive, Mode, Result, Schema, TableId};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use support::{all, impatient, put, registers};

/// The engine on a clock of the tests.
struct Aged;

impl Fixture for Aged {
    type Engine = Mvto<SimClock>;

    fn open(knobs: &Knobs) -> Arc<Mvto<SimClock>> {
        support::engine_and_clock(support::options_for(knobs)).0
    }

    fn create_table(engine: &Mvto<SimClock>, schema: Schema) -> Result<TableId> {
        engine.create_table(schema)
    }

    fn collect(engine: &Mvto<SimClock>) -> u64 {
        engine.collect() as u64
    }

    fn assert_idle(engine: &Mvto<SimClock>, _: u64) {
        let stats = engine.stats();
        assert_eq!((stats.active, stats.waiting_versions), (0, 0), "open, uncollected");
    }
}

impl Sessions for Aged {
    const READERS_COMMIT: bool = true;
    const NAMED_BY_SERIAL_POINT: bool = true;
}

impl Ages for Aged {
    fn open_aged(limit: Duration) -> (Arc<Mvto<SimClock>>, SimClock) {
        support::engine_and_clock(Options { transaction_age: Some(limit), ..impatient() })
    }

    fn kept(engine: &Mvto<SimClock>) -> u64 {
        engine.stats().waiting_versions as u64
    }
}

macro_rules! parts {
    ($($part:ident)+) => {
        $(
            #[test]
            fn $part() {
                ages::$part::<Aged>();
            }
        )+
    };
}

parts! {
    writers_and_snapshots_go_on_beside_a_forgotten_owner the_end_of_a_forgotten_owner_takes_no_row_from_its_new_owner
    a_forgotten_insert_leaves_its_key_free a_request_that_never_waits_takes_an_abandoned_row
    an_owner_in_a_statement_keeps_its_rows an_owner_that_has_moved_is_found_by_its_name
    a_transaction_is_told_its_age_though_nothing_else_happens an_abandoned_transaction_keeps_no_versions_beyond_its_age
}

/// Whoever sleeps behind an owner, or before a snapshot, notices by himself when it becomes too old.
#[test]
fn sleepers_notice_that_an_owner_has_become_too_old() {
    let age = Some(Duration::from_millis(50));
    let options = Options { transaction_age: age, wait_limit: Duration::from_secs(60), ..Options::default() };
    let engine = Mvto::in_memory(options).expect("nothing can fail in memory");
    let table = engine.create_table(registers("registers", model::Storage::Ordered)).expect("a new table");
    let own = Begin { mode: Mode::OwnAtStatement, ..Begin::default() };
    let owners: Vec<_> = (0..3)
        .map(|key| {
            // Each may be too old for a second statement already, if the machine is slow: it has one.
            let mut owner = engine.begin(own).expect("begin only notes down");
            put(&mut owner, table, key, 1).expect("nobody in the way");
            owner
        })
        .collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut snapshot =
                engine.begin(Begin { mode: Mode::Snapshot, ..Begin::default() }).expect("begin only notes down");
            // It may begin after one of the writers below has committed: it sees that row, and none of the owners'.
            let seen = all(&mut snapshot, table).expect("who writes has become too old");
            assert!(seen.iter().all(|&(key, value)| key < 2 && value == 2), "{seen:?}");
        });
        for (key, mode) in [(0, Mode::OwnAtStatement), (1, Mode::ReadWrite)] {
            let engine = &engine;
            scope.spawn(move || {
                let write = || {
                    let how = Begin { mode, ..Begin::default() };
                    engine.run(how, RetryPolicy::default(), |open| put(open, table, key, 2))
                };
                // One that has waited for long may be too old itself; the next finds nobody in the way.
                while let Err(error) = write() {
                    assert_eq!(error.abort().expect("an abort").rule, "age");
                }
            });
        }
    });
    drop(owners);
}
