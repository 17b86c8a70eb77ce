//! The limit on ages, on a clock of the tests; and sleepers that notice it on the machine's.

mod common;

use common::ByColumn;
use conformance::ages::{self, Ages};
use conformance::registers::put;
use conformance::{Knobs, registers::registers};
use env::SimClock;
use model::{Begin, Interactive, Mode, Storage};
use seriatim_hyper::{Hyper, Options};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

impl Ages for ByColumn {
    fn open_aged(limit: Duration) -> (Arc<Hyper>, SimClock) {
        let clock = SimClock::new(0, 1);
        let options = Options { transaction_age: Some(limit), ..common::options_for(&Knobs::impatient()) };
        (Arc::new(Hyper::new_with(options, Arc::new(clock.clone()))), clock)
    }

    fn kept(engine: &Hyper) -> u64 {
        engine.stats().garbage
    }
}

macro_rules! parts {
    ($($part:ident)+) => {
        $(
            #[test]
            fn $part() {
                ages::$part::<ByColumn>();
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

/// Whoever sleeps behind an owner notices by himself when it becomes too old.
#[test]
fn sleepers_notice_that_an_owner_has_become_too_old() {
    let age = Some(Duration::from_millis(50));
    let engine =
        Hyper::new(Options { transaction_age: age, wait_limit: Duration::from_secs(60), ..Options::default() });
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let own = Begin { mode: Mode::OwnAtStatement, ..Begin::default() };
    let owners: Vec<_> = (0..3)
        .map(|key| {
            // Each may be too old for a second statement already, if the machine is slow: it has one.
            let mut owner = engine.begin(own).expect("room");
            put(&mut owner, table, key, 1).expect("nobody in the way");
            owner
        })
        .collect();
    thread::scope(|scope| {
        for key in 0..3 {
            let engine = &engine;
            scope.spawn(move || {
                let write = || {
                    let mut open = engine.begin(own)?;
                    put(&mut open, table, key, 2)?;
                    model::Finish::commit(open)
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
