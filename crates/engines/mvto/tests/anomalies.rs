//! One script for each move of the protocol: `tests/scripts/*.txt`, in the language of `conformance::script`. Those of the
//! classical anomalies are the battery's (`tests/conformance.rs`); what they come to here is recorded in the same folder.
//!
//! A script holds its expected output. `UPDATE_SCRIPTS=1 cargo test --test anomalies` writes down what comes out now, to be
//! reviewed like any other change.

mod support;

use conformance::anomalies::play_file;
use model::Finish;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::PathBuf;
use support::subject::Subject;
use support::{Open, all, begin, delete, impatient, put, range, rule, with_registers};

fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

macro_rules! scripts {
    ($($name:ident)*) => {
        const PLAYED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                play_file::<Subject>(&scripts().join(stringify!($name)).with_extension("txt"));
            }
        )*
    };
}

scripts! {
    fig_2a
    fig_2b
    push_insert
    push_lost_update
    push_moves_in_mid_transaction
    push_phantom
    push_write_skew
    reader_pushes_older_owner
    single_read
    writer_meets_younger_owner
    own_at_statement
    timestamp_at_first_statement
}

/// Leaves split under younger writers after a scan: an older write into any gap that was scanned comes too late still.
#[test]
fn no_phantom_appears_in_a_leaf_that_was_split() {
    let (engine, _, table) = with_registers(impatient(), &[(0, 0), (1_000, 0)]);
    let mut older: Vec<Open> = (0..100).map(|_| begin(&engine)).collect();
    let mut reader = begin(&engine);
    let seen = all(&mut reader, table).expect("nobody in the way");
    let mut writer = begin(&engine);
    for key in 1..500 {
        put(&mut writer, table, 2 * key, 0).expect("nobody in the way");
    }
    writer.commit().expect("it is younger than the reader");
    for (number, mut older) in older.drain(..).enumerate() {
        put(&mut older, table, 10 * number as u64 + 1, 0).expect("the commit will tell");
        assert_eq!(rule(older.commit()), "later-gap-reader");
    }
    assert_eq!(all(&mut reader, table).expect("nobody in the way"), seen);
}

/// Leaves merge as their keys are deleted and collected: an older write into any gap that was scanned comes too late still.
#[test]
fn no_phantom_appears_in_a_leaf_that_was_merged() {
    for scanned in [(0, 300), (300, 700), (700, 1_000)] {
        let rows: Vec<(u64, u64)> = (0..500).map(|key| (2 * key, 0)).collect();
        let (engine, _, table) = with_registers(impatient(), &rows);
        let mut writer = begin(&engine);
        for (key, _) in rows {
            assert!(delete(&mut writer, table, key).expect("nobody in the way"));
        }
        writer.commit().expect("nobody in the way");
        let older: Vec<Open> = (0..10).map(|_| begin(&engine)).collect();
        let bounds = (Bound::Included(scanned.0), Bound::Excluded(scanned.1));
        range(&mut begin(&engine), table, bounds.0, bounds.1).expect("nobody in the way");
        engine.collect(); // The delete lies below the bound: the keys leave their leaves, and those merge.
        for (number, mut older) in older.into_iter().enumerate() {
            let key = scanned.0 + 1 + (scanned.1 - scanned.0) / 10 * number as u64;
            put(&mut older, table, key | 1, 0).expect("the commit will tell");
            assert_eq!(rule(older.commit()), "later-gap-reader", "key {key} of {scanned:?}");
        }
    }
}

/// Each file is a script of this test or the record of one of the battery.
#[test]
fn every_script_is_played() {
    let files = std::fs::read_dir(scripts()).expect("the scripts' directory");
    let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let written: BTreeSet<String> = files.map(|file| stem(file.expect("an entry").path())).collect();
    let played = PLAYED.iter().copied().chain(conformance::battery::SCRIPTS).map(str::to_owned);
    assert_eq!(written, played.collect());
}
