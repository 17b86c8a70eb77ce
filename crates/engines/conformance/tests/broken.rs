//! The battery can fail: a named part catches each small engine that is broken in one way.

extern crate seriatim_conformance as conformance;

mod small;

use conformance::*;
use small::{Flaw, Subject};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How often a part is run: threads of one that needs them side by side may have met each other never, on a busy machine.
const ATTEMPTS: usize = 20;

/// Runs a part on a broken engine, and wants it to fail with these words.
#[track_caller]
fn assert_caught(part: fn(), words: &str) {
    let caught = (0..ATTEMPTS).find_map(|_| catch_unwind(AssertUnwindSafe(part)).err());
    let panic = caught.expect("the broken engine has passed");
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).expect("a panic says why");
    assert!(text.contains(words), "it failed for another reason: {text}");
}

macro_rules! caught {
    ($($name:ident: $flaw:ident by $($group:ident :: $part:ident)+, $words:literal;)+) => {
        $(
            #[test]
            fn $name() {
                $(assert_caught($group::$part::<Subject<{ Flaw::$flaw as usize }>>, $words);)+
            }
        )+
    };
}

caught! {
    lost_updates_are_caught: LosesUpdates by anomalies::lost_update anomalies::write_skew
        programs::concurrent_programs_are_serializable, "not strictly serializable";
    lost_additions_are_caught: LosesUpdates by programs::every_addition_counts_once, "400";
    phantoms_are_caught: ShowsPhantoms by anomalies::predicate_skew histories::eight_clients_with_long_scans,
        "not strictly serializable";
    uncommitted_reads_are_caught: ReadsUncommitted by anomalies::g1a_aborted_read anomalies::g1b_intermediate_read,
        "not strictly serializable";
    moving_reads_are_caught: ReadsCommitted by anomalies::read_skew anomalies::long_fork, "not strictly serializable";
    forgotten_writes_are_caught: ForgetsOwnWrites by rows::a_transaction_reads_its_own_writes, "left";
    forgotten_writes_differ_from_the_twin: ForgetsOwnWrites by twin::an_ordered_table_is_its_twin, "CONFORMANCE_SEED=";
    kept_aborts_are_caught: KeepsAborted by rows::nothing_outlives_an_abort, "left";
    kept_aborts_are_read: KeepsAborted by anomalies::g1a_aborted_read, "not strictly serializable";
    kept_rollbacks_are_caught: KeepsRolledBack by savepoints::a_rollback_restores_what_stood_at_the_savepoint, "left";
    wrong_claims_are_caught: ClaimsWrongOrder by histories::two_clients_on_eight_keys
        serial_points::serial_points_rise_with_real_time,
        "";
    old_snapshots_are_caught: ReadsThePast by anomalies::write_skew, "not strictly serializable";
    ignored_limits_are_caught: IgnoresLimits by limits::a_key_that_is_too_long_is_refused
        limits::a_row_that_is_too_long_is_refused limits::too_many_written_rows_are_refused
        limits::too_many_written_bytes_are_refused limits::too_many_open_transactions_are_refused
        limits::too_many_tables_are_refused, "a limit, not";
    overwriting_inserts_are_caught: OverwritesOnInsert by mistakes::duplicates_are_refused_and_change_nothing, "it is taken";
    skipped_rows_are_caught: SkipsTheLast by twin::an_ordered_table_is_its_twin, "the engine's answer is not the twin's";
    halved_commits_are_caught: CommitsHalf by rows::a_transaction_reads_its_own_writes, "delete(&mut open";
    halved_commits_are_not_serial: CommitsHalf by anomalies::g0_dirty_write, "not strictly serializable";
    writing_readers_are_caught: WritesAsReader by mistakes::read_only_transactions_refuse_to_write, "a mistake, not";
    repeated_programs_are_caught: RunsTwice by programs::every_addition_counts_once, "800";
    repeated_procedures_are_caught: RunsTwice by procedures::opposite_transfers_conserve_the_sum
        tickets::the_order_of_a_caller_is_kept, "left";
    new_draws_are_caught: DrawsAnew by tickets::draws_are_the_same_in_every_attempt, "thread panicked";
    unkept_claims_are_caught: ClaimsAtTimes by serial_points::serial_points_rise_with_real_time,
        "for each transaction or for none";
    early_acknowledgements_are_caught: AcknowledgesTooSoon by
        durability::every_acknowledged_transaction_survives_a_crash_at_every_change, "lost in the second crash";
    answers_that_do_not_wait_are_caught: AcknowledgesTooSoon by
        durability::a_reader_is_acknowledged_when_what_it_read_is_durable durability::a_position_is_awaited_in_three_ways
        durability::an_abort_is_answered_when_what_it_read_is_durable, "is lost";
}

/// Every group and part of the battery's table of contents is a function of the crate, and the other way round.
#[test]
fn the_table_of_contents_is_whole() {
    let source = |name: &str| {
        let path = format!("{}/src/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("a module")
    };
    let contents = source("battery");
    for group in battery::GROUPS {
        let start = contents.find(&format!("@parts {group} ")).expect("a group of the table of contents");
        let listed = contents[start..].split_once(':').expect("parts").1.split_once('}').expect("an end").0;
        let mut listed: Vec<&str> = listed.split_whitespace().collect();
        let text = source(group);
        let functions = text.lines().filter_map(|line| line.strip_prefix("pub fn "));
        let parts = functions.filter_map(|line| line.split_once("<F: ").filter(|(_, rest)| rest.contains(">() {")));
        let mut written: Vec<&str> = parts.map(|(name, _)| name).collect();
        let script = |line: &str| Some(line.trim_start()).filter(|line| line.ends_with(".\"")).map(str::to_owned);
        let scripts: Vec<String> = text.lines().filter_map(script).collect();
        written.extend(scripts.iter().filter_map(|line| line.split_once(" \"").map(|(name, _)| name)));
        listed.sort_unstable();
        written.sort_unstable();
        assert_eq!(listed, written, "{group}");
    }
}

/// Every script of the folder is a part, and named in the table of scripts.
#[test]
fn every_script_is_a_part() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let files = std::fs::read_dir(folder).expect("the folder of scripts");
    let stem = |path: std::path::PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut written: Vec<String> = files.map(|file| stem(file.expect("an entry").path())).collect();
    written.sort();
    assert_eq!(written, battery::SCRIPTS);
}
