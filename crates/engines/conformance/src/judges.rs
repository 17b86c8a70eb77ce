//! Both judges of `check`, on a history of the engine.

use check::{History, HistoryErrorKind, KeyForm, Model, Record, Report, Scalar};
use model::{RowRef, TableId, history};

/// The history as the judges read it; `form` tells how the keys of a table are shown.
pub fn records(history: Vec<history::Transaction>, form: impl Fn(TableId) -> KeyForm + Copy) -> Vec<Record> {
    let observed = |(id, transaction)| Record::observed(id as u64, transaction, form, hexadecimal);
    history.into_iter().enumerate().map(observed).collect()
}

fn hexadecimal(row: RowRef<'_>) -> Scalar {
    Scalar::from(row.bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Checks with both judges whether the history is strictly serializable.
///
/// # Panics
/// If the history is malformed.
pub fn judge(records: Vec<Record>) -> Report {
    judge_unless_repeated(records).expect("each value is written to a key once")
}

/// Same as [`judge`]; `None` if a value was written to a key twice, so that a read is ambiguous.
///
/// # Panics
/// If the history is malformed otherwise.
pub fn judge_unless_repeated(records: Vec<Record>) -> Option<Report> {
    match History::from_records(records) {
        Ok(history) => Some(check::judge(&history, Model::Strict)),
        Err(error) if matches!(error.kind, HistoryErrorKind::DuplicateWrite { .. }) => None,
        Err(error) => panic!("a malformed history: {error:?}"),
    }
}

/// Asserts that both judges pass the history. `context` names its origin and how to repeat it.
///
/// # Panics
/// If a judge finds a violation.
#[track_caller]
pub fn assert_serial(records: Vec<Record>, context: &str) -> Report {
    let report = judge(records);
    assert_valid(&report, context);
    report
}

/// Asserts that a report finds nothing.
///
/// # Panics
/// If a judge found a violation.
#[track_caller]
pub fn assert_valid(report: &Report, context: &str) {
    assert!(report.valid && !report.judges_disagree, "{context}: not strictly serializable\n{report}");
}
