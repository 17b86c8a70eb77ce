//! Operators that may hold little give the answers of those that may hold all.

mod common;

use common::Boundless;
use pgtypes::functions::resolve_aggregate;
use pgtypes::{Datum, Error, Numeric, Result, Row, Type, state};
use seriatim_vectors::aggregate::{Call, Grouping};
use seriatim_vectors::expression::Comparison;
use seriatim_vectors::flow::{Flow, Host, Kind, Ledger, Operator, Piece, Stop};
use seriatim_vectors::join::{JoinKind, JoinRule};
use seriatim_vectors::sort::SortKey;
use seriatim_vectors::spill::{Spilling, TemporaryFile, TemporaryFiles};
use seriatim_vectors::{Batch, Columns, Expression};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: usize = 8_000;
const TYPES: [Type; 4] = [Type::INT8, Type::TEXT, Type::NUMERIC, Type::FLOAT8];

/// Files in memory.
#[derive(Default)]
struct Files {
    made: AtomicUsize,
    open: Arc<AtomicUsize>,
    /// Bytes after which the disk is full.
    room: Option<usize>,
}

struct File {
    bytes: Vec<u8>,
    open: Arc<AtomicUsize>,
    room: Option<usize>,
}

impl TemporaryFiles for Files {
    fn create(&self) -> Result<Box<dyn TemporaryFile>> {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(File { bytes: Vec::new(), open: self.open.clone(), room: self.room }))
    }
}

impl TemporaryFile for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        assert_eq!(offset as usize, self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        match self.room {
            Some(room) if self.bytes.len() > room => Err(Error::new(state::DISK_FULL, "no space")),
            _ => Ok(()),
        }
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&self.bytes[offset as usize..offset as usize + bytes.len()]);
        Ok(())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Numbered rows, from each source the same.
struct Numbers {
    next: [usize; 2],
    files: Option<(Arc<Files>, usize)>,
    workers: usize,
}

fn row(number: usize) -> Row {
    let mixed = number * 7919 % 10_007;
    let numeric = Numeric::parse(&format!("{}.{}", mixed % 300, ["5", "50", "25"][number % 3])).expect("a number");
    let float = [mixed as f64, f64::NAN, -0.0, 0.0][number % 4];
    let text = if mixed % 50 == 7 { Datum::Null } else { Datum::from(format!("text {}", mixed % 5000).as_str()) };
    vec![Datum::Int8(number as i64), text, Datum::Numeric(numeric), Datum::Float8(float)]
}

impl Host for Numbers {
    type Error = String;

    fn next(&mut self, source: usize) -> Result<Option<Box<dyn Piece>>, String> {
        let from = self.next[source];
        if from >= ROWS {
            return Ok(None);
        }
        self.next[source] = from + 500;
        let rows: Vec<Row> = (from..from + 500).map(row).collect();
        Ok(Some(Box::new(Batch::from_rows(&rows, &TYPES))))
    }

    fn ledger(&self) -> Arc<dyn Ledger<String>> {
        Arc::new(Boundless)
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn spilling(&self) -> Option<Spilling> {
        self.files.as_ref().map(|(files, bytes)| Spilling { files: files.clone(), bytes: *bytes })
    }

    fn enter(&self) -> Arc<dyn Fn() + Send + Sync> {
        Arc::new(|| {})
    }
}

fn column(at: usize) -> Expression {
    Expression::column(at, TYPES[at % 4])
}

fn source(number: usize) -> Operator {
    Operator::new(Kind::Source(number), TYPES.to_vec())
}

fn rows(operator: Operator, host: Numbers) -> Result<Vec<String>, Stop<String>> {
    let columns = Columns::first(operator.types.len());
    Ok(rows_of(operator, &columns, host)?.iter().map(|row| format!("{row:?}")).collect())
}

/// These columns of an operator's rows.
fn rows_of(operator: Operator, columns: &Columns, mut host: Numbers) -> Result<Vec<Row>, Stop<String>> {
    let types: Vec<Type> = columns.iter().map(|at| operator.types[at]).collect();
    let mut flow = Flow::start(operator, columns, &mut host)?;
    let mut rows = Vec::new();
    while let Some(batch) = flow.next(&mut host)? {
        assert_eq!(batch.columns.len(), types.len());
        rows.extend((0..batch.rows).map(|row| batch.row(row, &types)));
    }
    Ok(rows)
}

/// Runs an operator with all memory and with little.
#[track_caller]
fn both(operator: impl Fn() -> Operator, workers: usize, bytes: usize) -> (Vec<String>, Vec<String>) {
    let host = |files| Numbers { next: [0, 0], files, workers };
    let expected = rows(operator(), host(None)).expect("no error");
    let files = Arc::new(Files::default());
    let found = rows(operator(), host(Some((files.clone(), bytes)))).expect("no error");
    assert!(files.made.load(Ordering::Relaxed) > 0, "nothing was written");
    assert_eq!(files.open.load(Ordering::Relaxed), 0, "files are left");
    (found, expected)
}

#[track_caller]
fn same_rows((mut found, mut expected): (Vec<String>, Vec<String>)) {
    found.sort();
    expected.sort();
    assert_eq!(found.len(), expected.len());
    assert!(found == expected);
}

fn sorted(bound: Option<usize>) -> Operator {
    let key = |at, descending, nulls_first| SortKey { expression: column(at), descending, nulls_first };
    let keys = Arc::new(vec![key(1, false, true), key(3, true, false)]);
    Operator::new(Kind::Sort(Box::new(source(0)), keys, bound), TYPES.to_vec())
}

#[test]
fn sorts_merge_runs_in_one_pass_and_in_several() {
    for bytes in [1 << 20, 64 << 10] {
        let (found, expected) = both(|| sorted(None), 2, bytes);
        assert_eq!(expected.len(), ROWS);
        assert!(found == expected, "{bytes} bytes");
    }
    let (found, expected) = both(|| sorted(Some(4000)), 0, 64 << 10);
    assert!(expected.len() == 4000 && found == expected);
}

fn call(name: &str, arguments: &[Expression]) -> Call {
    let types: Vec<Type> = arguments.iter().map(Expression::data_type).collect();
    let resolved = resolve_aggregate(name, &types).expect("fits").expect("an aggregate");
    Call {
        aggregate: resolved.aggregate,
        arguments: arguments.to_vec(),
        filter: None,
        distinct: false,
        result: resolved.result,
    }
}

fn grouped(keys: Vec<Expression>, calls: Vec<Call>) -> Operator {
    let types = keys.iter().map(Expression::data_type).chain(calls.iter().map(|call| call.result)).collect();
    Operator::new(Kind::Aggregate(Box::new(source(0)), Arc::new(Grouping { keys, calls, is_padded: false })), types)
}

#[test]
fn groups_of_threads_and_of_one_have_all_their_rows() {
    let mergeable = || {
        let calls = vec![call("count", &[]), call("sum", &[column(0)]), call("max", &[column(0)])];
        grouped(vec![column(1)], calls)
    };
    let in_order = || {
        grouped(
            vec![column(1), column(2)],
            vec![call("string_agg", &[column(1), column(1)]), call("sum", &[column(3)])],
        )
    };
    for workers in [0, 1, 3] {
        same_rows(both(mergeable, workers, 256 << 10));
        same_rows(both(mergeable, workers, 32 << 10));
        same_rows(both(in_order, workers, 256 << 10));
    }
    same_rows(both(|| grouped(vec![column(0), column(3)], vec![]), 2, 64 << 10));
}

/// A join of the two sources: by equal texts, or by equal texts and a lesser number on the left.
fn joined(kind: JoinKind, has_condition: bool, is_swapped: bool) -> Operator {
    let (low, high) = if is_swapped { (4, 0) } else { (0, 4) };
    let condition = Expression::compare(Comparison::Less, column(low), column(high));
    let rule = JoinRule {
        kind,
        probe: vec![column(1)],
        build: vec![column(1)],
        condition: has_condition.then_some(condition),
        is_swapped,
        built: TYPES.to_vec(),
        keeps_order: false,
    };
    let width = if matches!(kind, JoinKind::Inner | JoinKind::Outer) { 2 } else { 1 };
    let mut types = TYPES.repeat(width);
    types.extend(kind.is_mark().then_some(Type::BOOL));
    Operator::new(Kind::Join(Box::new(source(0)), Box::new(source(1)), Arc::new(rule)), types)
}

#[test]
fn joins_of_all_kinds_find_the_same_partners() {
    for kind in [JoinKind::Inner, JoinKind::Outer, JoinKind::Semi, JoinKind::Anti, JoinKind::Mark] {
        for (has_condition, is_swapped) in [(false, false), (true, false), (true, true)] {
            if kind.is_mark() && is_swapped {
                continue;
            }
            let joined = || joined(kind, has_condition, is_swapped);
            same_rows(both(joined, 1, 512 << 10));
            if !has_condition {
                same_rows(both(joined, 1, 64 << 10));
            }
        }
    }
}

/// IN or NOT IN over texts of the second source. `is_known`: those that are no NULL; `most`: of the rows with lesser numbers.
fn listed(kind: JoinKind, is_known: bool, most: i64) -> Operator {
    let few = Expression::compare(Comparison::Less, column(0), Expression::constant(&Datum::Int8(most), Type::INT8));
    let condition = match is_known {
        true => Expression::and(vec![few, Expression::negated(Expression::is_null(column(1)))]),
        false => few,
    };
    let rule = JoinRule {
        kind,
        probe: vec![column(1)],
        build: vec![column(1)],
        condition: None,
        is_swapped: false,
        built: TYPES.to_vec(),
        keeps_order: false,
    };
    let built = Operator::new(Kind::Filter(Box::new(source(1)), condition), TYPES.to_vec());
    let types = TYPES.into_iter().chain(kind.is_mark().then_some(Type::BOOL)).collect();
    Operator::new(Kind::Join(Box::new(source(0)), Box::new(built), Arc::new(rule)), types)
}

/// Each part of the keys knows whether NULL is in another, and whether another has rows.
#[test]
fn lists_know_all_parts() {
    let is_null = |number: &usize| number * 7919 % 10_007 % 50 == 7;
    let text = |number: usize| number * 7919 % 10_007 % 5000;
    let of_list: BTreeSet<usize> = (0..4000).filter(|number| !is_null(number)).map(text).collect();
    let others = (0..ROWS).filter(|number| !is_null(number) && !of_list.contains(&text(*number))).count();
    let nulls = (0..ROWS).filter(is_null).count();
    assert!(others > 1000 && nulls > 100);
    for workers in [0, 2] {
        for (is_known, most, expected) in [(true, 4000, others), (false, 4000, 0)] {
            let (found, held) = both(|| listed(JoinKind::NotIn, is_known, most), workers, 64 << 10);
            assert_eq!((found.len(), held.len()), (expected, expected));
            same_rows((found, held));
        }
        let host = || Numbers { next: [0, 0], files: None, workers };
        assert_eq!(rows(listed(JoinKind::NotIn, false, -1), host()).expect("no error").len(), ROWS);
        // The marks: in the list, not in it, unknown.
        let equal = ROWS - others - nulls;
        for (is_known, most, expected) in
            [(true, 4000, [equal, others, nulls]), (false, 4000, [equal, 0, others + nulls]), (false, -1, [0, ROWS, 0])]
        {
            let count = |rows: &[String]| {
                ["Bool(true)]", "Bool(false)]", "Null]"].map(|end| rows.iter().filter(|row| row.ends_with(end)).count())
            };
            let marked = || listed(JoinKind::MarkIn, is_known, most);
            assert_eq!(count(&rows(marked(), host()).expect("no error")), expected);
            if most > 0 {
                let (found, held) = both(marked, workers, 64 << 10);
                assert_eq!(count(&found), expected);
                same_rows((found, held));
            }
        }
    }
}

/// An operator makes the columns that are read above it, held or written away, as it would make them among all.
#[test]
fn columns_that_nobody_reads_change_no_others() {
    let few =
        || Expression::compare(Comparison::Less, column(3), Expression::constant(&Datum::Float8(50.0), Type::FLOAT8));
    let filtered = || Operator::new(Kind::Filter(Box::new(sorted(None)), few()), TYPES.to_vec());
    let made = || vec![column(3), Expression::is_null(column(1)), column(0), column(2)];
    let types = || made().iter().map(Expression::data_type).collect();
    let projected = || Operator::new(Kind::Project(Box::new(filtered()), made()), types());
    let numbers = || grouped(vec![column(1), column(0)], vec![call("max", &[column(3)]), call("count", &[])]);
    let operators: [&dyn Fn() -> Operator; 11] = [
        &|| joined(JoinKind::Inner, false, false),
        &|| joined(JoinKind::Inner, true, true),
        &|| joined(JoinKind::Outer, true, false),
        &|| joined(JoinKind::Outer, false, true),
        &|| joined(JoinKind::Semi, true, false),
        &|| joined(JoinKind::Anti, false, false),
        &|| joined(JoinKind::Mark, true, false),
        &|| listed(JoinKind::MarkIn, false, 4000),
        &filtered,
        &projected,
        &numbers,
    ];
    for (number, operator) in operators.into_iter().enumerate() {
        let width = operator().types.len();
        let answer = |columns: &Columns, is_written: bool| {
            let files = is_written.then(|| (Arc::new(Files::default()), 64 << 10));
            rows_of(operator(), columns, Numbers { next: [0, 0], files, workers: 0 }).expect("no error")
        };
        let listed = |rows: Vec<Row>| {
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            rows
        };
        let whole = answer(&Columns::first(width), false);
        for columns in [&[][..], &[0], &[width - 1], &[1, width - 2]].map(|of| Columns::of(of.iter().copied())) {
            let picked = |row: &Row| columns.iter().map(|at| row[at].clone()).collect::<Row>();
            let expected = listed(whole.iter().map(picked).collect());
            for is_written in [false, true] {
                let found = listed(answer(&columns, is_written));
                assert!(found == expected, "operator {number}, {columns:?}, written away: {is_written}");
            }
        }
    }
}

/// An expression that nobody reads fails where it would.
#[test]
fn what_fails_is_evaluated_although_nobody_reads_it() {
    let lane = Arc::new(|_: &[Datum]| Err(Error::new("22012", "division by zero")));
    let failing = Expression::call(lane, true, vec![column(1)], Type::INT8);
    let project = Kind::Project(Box::new(source(0)), vec![column(0), failing]);
    let project = Operator::new(project, vec![Type::INT8; 2]);
    let host = Numbers { next: [0, 0], files: None, workers: 0 };
    match rows_of(project, &Columns::first(1), host) {
        Err(Stop::Row(error)) => assert_eq!(error.code(), "22012"),
        other => panic!("{:?}", other.map(|rows| rows.len())),
    }
}

#[test]
fn a_full_disk_is_the_error_of_the_file() {
    let files = Arc::new(Files { room: Some(100_000), ..Files::default() });
    let host = Numbers { next: [0, 0], files: Some((files, 64 << 10)), workers: 2 };
    match rows(sorted(None), host) {
        Err(Stop::Row(error)) => assert_eq!(error.code(), state::DISK_FULL),
        other => panic!("{:?}", other.map(|rows| rows.len())),
    }
}
