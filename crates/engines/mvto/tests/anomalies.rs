//! One script for each classical anomaly, and one for each move of the protocol: `tests/scripts/*.txt`, in the language of
//! `support/script.rs`.
//!
//! A script holds its expected output. `UPDATE_SCRIPTS=1 cargo test --test anomalies` writes down what comes out now, to be
//! reviewed like any other change.

mod support;

use model::Finish;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::PathBuf;
use support::{Open, all, begin, delete, impatient, put, range, rule, with_registers};

fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// Runs a script and compares what comes out with what is recorded in it.
#[track_caller]
fn play(name: &str) {
    let path = scripts().join(name).with_extension("txt");
    let recorded = std::fs::read_to_string(&path).expect("a script that can be read");
    let now = support::script::run(&recorded);
    if std::env::var_os("UPDATE_SCRIPTS").is_some() {
        std::fs::write(&path, now).expect("a script that can be written");
        return;
    }
    assert!(now == recorded, "{name}.txt:\n{}", difference(&recorded, &now));
}

/// The script as it runs now; where a line differs, the recorded one stands before it.
fn difference(recorded: &str, now: &str) -> String {
    let (recorded, now): (Vec<&str>, Vec<&str>) = (recorded.lines().collect(), now.lines().collect());
    let mut told = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < recorded.len() || new < now.len() {
        let is_output = |lines: &[&str], at: usize| lines.get(at).is_some_and(|line| line.starts_with("    "));
        match (recorded.get(old), now.get(new)) {
            (Some(a), Some(b)) if a == b => {
                told.push(format!("  {a}"));
                (old, new) = (old + 1, new + 1);
            }
            (Some(a), _) if is_output(&recorded, old) => {
                told.push(format!("- {a}"));
                old += 1;
            }
            (_, Some(b)) => {
                told.push(format!("+ {b}"));
                new += 1;
            }
            (Some(a), None) => {
                told.push(format!("- {a}"));
                old += 1;
            }
            (None, None) => unreachable!("the loop's condition"),
        }
    }
    told.join("\n")
}

macro_rules! scripts {
    ($($name:ident)*) => {
        const PLAYED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*
    };
}

scripts! {
    g0_dirty_write
    g1a_aborted_read
    g1b_intermediate_read
    g1c_circular_information_flow
    lost_update
    read_skew
    write_skew
    phantom
    predicate_skew
    read_only_anomaly
    long_fork
    delete_and_insert_again
    fig_2a
    fig_2b
    insert_below_a_scanned_gap
    insert_of_a_key_found_absent
    push_insert
    push_lost_update
    push_moves_in_mid_transaction
    push_phantom
    push_write_skew
    reader_pushes_older_owner
    writer_meets_younger_owner
    own_at_statement
    savepoint_rollback
    savepoint_rolled_back_past
    dropped_transaction
    duplicates
    unique_entries
    snapshot
    timestamp_at_first_statement
    read_only_transactions
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

#[test]
fn every_script_is_played() {
    let files = std::fs::read_dir(scripts()).expect("the scripts' directory");
    let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let written: BTreeSet<String> = files.map(|file| stem(file.expect("an entry").path())).collect();
    assert_eq!(written, PLAYED.iter().map(|name| (*name).to_owned()).collect());
}
