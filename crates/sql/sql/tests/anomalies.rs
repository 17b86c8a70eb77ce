//! Every classical anomaly, tried by two and three sessions on every engine: none occurs, and each session is told what
//! happened instead.
//!
//! `anomalies/NAME.txt` is the script, in the language of `anomalies/stage.rs`; `anomalies/NAME.ENGINE.out` is what comes out
//! on each engine: `mvto`, `twopl` and `hyper`. `UPDATE_SCRIPTS=1 cargo test -p seriatim-sql --test anomalies` writes down
//! what comes out now, to be reviewed like any other change.

mod common;
#[path = "anomalies/stage.rs"]
mod stage;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/anomalies")
}

/// Plays a script on every engine and compares what comes out with what is recorded beside it.
fn play(name: &str) {
    let script = fs::read_to_string(folder().join(format!("{name}.txt"))).expect("a script");
    for engine in common::engines().into_iter().map(stage::Stage::from) {
        let recorded = folder().join(format!("{name}.{}.out", engine.name));
        let transcript = stage::play(&script, &engine);
        if std::env::var_os("UPDATE_SCRIPTS").is_some() {
            fs::write(&recorded, &transcript).expect("a transcript");
            continue;
        }
        let expected = fs::read_to_string(&recorded).unwrap_or_default();
        assert!(
            transcript == expected,
            "{name} on {}: what came out\n\n{transcript}\nwas not\n\n{expected}",
            engine.name
        );
    }
}

/// A test for each script, and one that no script is left out.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*

        #[test]
        fn every_script_is_played() {
            let played = BTreeSet::from([$(stringify!($name).to_owned()),*]);
            let files = fs::read_dir(folder()).expect("the folder of scripts");
            let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a plain name"));
            let found: BTreeSet<String> = names.filter_map(|name| name.strip_suffix(".txt").map(str::to_owned)).collect();
            assert_eq!(found, played);
        }
    };
}

scripts! {
    ddl_add_column_while_writing
    ddl_add_constraint_while_writing
    ddl_create_index_while_writing
    ddl_create_unique_index_while_writing
    ddl_drop_column_while_writing
    ddl_drop_table_while_reading
    ddl_truncate_while_writing
    ddl_two_creators
    deadlock
    delete_then_update
    for_update_against_write_skew
    for_update_queue
    foreign_key_cascade
    foreign_key_child_then_parent
    foreign_key_parent_returns
    foreign_key_parent_then_child
    g0_dirty_write
    g0_dirty_write_by_the_older
    g1a_aborted_read
    g1a_read_of_a_savepoint
    g1b_intermediate_read
    g1c_circular_information_flow
    g2_item_write_skew
    g2_item_write_skew_in_repeatable_read
    g2_two_edges
    g_single_read_skew
    g_single_write_after_read_skew
    key_moves
    long_fork
    on_conflict_after_rollback
    on_conflict_do_nothing_race
    on_conflict_do_update_race
    otv_observed_transaction_vanishes
    p4_cursor_lost_update
    p4_lost_update
    p4_lost_update_in_one_statement
    phantom
    phantom_in_an_index
    pmp_predicate_many_preceders
    pmp_write_predicate
    predicate_skew_count
    predicate_skew_sum
    read_committed_runs_serializable
    read_only_anomaly
    read_only_anomaly_receipts
    unique_look_then_insert
    unique_race
    unique_race_after_rollback
    unique_race_deferred
}
