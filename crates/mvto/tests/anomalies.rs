//! One script for each classical anomaly, and one for each move of the protocol: `tests/scripts/*.txt`, in the language of
//! `support/script.rs`.
//!
//! A script holds its expected output. `UPDATE_SCRIPTS=1 cargo test --test anomalies` writes down what comes out now, to be
//! reviewed like any other change.

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;

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
    reader_waits_for_older_owner
    writer_meets_younger_owner
    own_at_statement
    savepoint_rollback
    dropped_transaction
    duplicates
    unique_entries
    snapshot
    timestamp_at_first_statement
    read_only_transactions
}

#[test]
fn every_script_is_played() {
    let files = std::fs::read_dir(scripts()).expect("the scripts' directory");
    let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let written: BTreeSet<String> = files.map(|file| stem(file.expect("an entry").path())).collect();
    assert_eq!(written, PLAYED.iter().map(|name| (*name).to_owned()).collect());
}
