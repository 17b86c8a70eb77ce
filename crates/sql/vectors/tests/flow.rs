//! Flows on their own: threads, failures, memory.

use pgtypes::functions::resolve_aggregate;
use pgtypes::{Datum, Error, Row, Type};
use seriatim_vectors::aggregate::{Call, Grouping, Sum, Sums};
use seriatim_vectors::column::Column;
use seriatim_vectors::expression::{Arithmetic, Comparison};
use seriatim_vectors::flow::{Added, Flow, Host, Kind, Ledger, Operator, Piece, Stop, WorkOnSums};
use seriatim_vectors::join::{JoinKind, JoinRule};
use seriatim_vectors::sort::SortKey;
use seriatim_vectors::{Batch, Columns, Expression};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROWS: i64 = 40_000;

/// A source of two columns: numbers from 0, and the same modulo 100 with NULL for 7.
struct Numbers {
    next: i64,
    rows: i64,
    ledger: Arc<Account>,
}

#[derive(Default)]
struct Account {
    most: AtomicUsize,
    limit: Option<usize>,
}

impl Ledger<String> for Account {
    fn hold(&self, bytes: usize) -> Result<(), String> {
        self.most.fetch_max(bytes, Ordering::Relaxed);
        if self.limit.is_some_and(|limit| bytes > limit) { Err("memory".into()) } else { Ok(()) }
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl Host for Numbers {
    type Error = String;

    fn next(&mut self, _: usize) -> Result<Option<Box<dyn Piece>>, String> {
        if self.next >= self.rows {
            return Ok(None);
        }
        let numbers = self.next..(self.next + 1000).min(self.rows);
        self.next = numbers.end;
        let row = |number: i64| -> Row {
            vec![Datum::Int8(number), if number % 100 == 7 { Datum::Null } else { Datum::Int8(number % 100) }]
        };
        let rows: Vec<Row> = numbers.map(row).collect();
        Ok(Some(Box::new(Batch::from_rows(&rows, &[Type::INT8, Type::INT8]))))
    }

    fn ledger(&self) -> Arc<dyn Ledger<String>> {
        self.ledger.clone()
    }

    fn workers(&self) -> usize {
        3
    }

    fn enter(&self) -> Arc<dyn Fn() + Send + Sync> {
        Arc::new(|| {})
    }
}

fn numbers(limit: Option<usize>) -> Numbers {
    Numbers { next: 0, rows: ROWS, ledger: Arc::new(Account { limit, ..Account::default() }) }
}

fn source() -> Operator {
    Operator::new(Kind::Source(0), vec![Type::INT8, Type::INT8])
}

fn column(at: usize) -> Expression {
    Expression::column(at, Type::INT8)
}

fn int(value: i64) -> Expression {
    Expression::constant(&Datum::Int8(value), Type::INT8)
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

fn rows<H: Host<Error = String>>(operator: Operator, host: &mut H) -> Result<Vec<Vec<String>>, Stop<String>> {
    let types = operator.types.clone();
    let mut flow = Flow::start(operator, &Columns::first(types.len()), host)?;
    let mut rows = Vec::new();
    while let Some(batch) = flow.next(host)? {
        for row in 0..batch.rows {
            let show = |value: &Datum| match value {
                Datum::Int8(value) => value.to_string(),
                Datum::Numeric(value) => value.to_i64().expect("whole").to_string(),
                _ => "null".to_owned(),
            };
            rows.push(batch.row(row, &types).iter().map(show).collect());
        }
    }
    Ok(rows)
}

fn grouped(input: Operator, keys: Vec<Expression>, calls: Vec<Call>, types: &[Type]) -> Operator {
    Operator::new(
        Kind::Aggregate(Box::new(input), Arc::new(Grouping { keys, calls, is_padded: false })),
        types.to_vec(),
    )
}

#[test]
fn threads_group_as_one_would() {
    let calls =
        vec![call("count", &[]), call("count", &[column(1)]), call("sum", &[column(0)]), call("max", &[column(0)])];
    let types = [Type::INT8, Type::INT8, Type::INT8, Type::NUMERIC, Type::INT8];
    let found = rows(grouped(source(), vec![column(1)], calls, &types), &mut numbers(None)).expect("no error");
    let found: BTreeSet<Vec<String>> = found.into_iter().collect();
    let expected = (0..100).map(|key| {
        let of_key: Vec<i64> = (0..ROWS).filter(|number| number % 100 == key).collect();
        let (sum, most) = (of_key.iter().sum::<i64>(), of_key.iter().max().expect("some"));
        let (key, known) = if key == 7 { ("null".to_owned(), 0) } else { (key.to_string(), of_key.len()) };
        vec![key, of_key.len().to_string(), known.to_string(), sum.to_string(), most.to_string()]
    });
    assert_eq!(found, expected.collect());
}

/// A failing row on another thread ends the flow, however many pieces are still to come, and is no error of the statement yet.
#[test]
fn a_worker_that_fails_ends_the_flow() {
    let lane = Arc::new(|a: &[Datum]| match (a[0].as_i64(), a[1].as_i64()) {
        (Some(left), Some(right)) => {
            left.checked_mul(right).map(Datum::Int8).ok_or_else(|| Error::new("22003", "too large"))
        }
        _ => Ok(Datum::Null),
    });
    let large = Expression::arithmetic(Arithmetic::Multiply, column(0), int(i64::MAX / 30_000), Type::INT8, lane);
    let sum = grouped(source(), vec![], vec![call("sum", &[large])], &[Type::NUMERIC]);
    let mut host = numbers(None);
    assert!(matches!(rows(sum, &mut host), Err(Stop::Row(_))));
}

#[test]
fn a_panic_of_a_worker_reaches_the_statement() {
    let lane = Arc::new(|a: &[Datum]| match a[0].as_i64() {
        Some(25_000) => panic!("for the test"),
        _ => Ok(Datum::Int8(1)),
    });
    let sum = grouped(
        source(),
        vec![],
        vec![call("sum", &[Expression::call(lane, true, vec![column(0)], Type::INT8)])],
        &[Type::NUMERIC],
    );
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rows(sum, &mut numbers(None)).map(drop)));
    assert!(result.is_err());
}

#[test]
fn memory_is_accounted_for_while_threads_work() {
    let distinct = || grouped(source(), vec![column(0)], vec![], &[Type::INT8]);
    let mut host = numbers(None);
    assert_eq!(rows(distinct(), &mut host).expect("no limit").len(), ROWS as usize);
    let most = host.ledger.most.load(Ordering::Relaxed);
    assert!(most > ROWS as usize * 12, "{most} bytes for {ROWS} keys");
    assert!(matches!(rows(distinct(), &mut numbers(Some(most / 4))), Err(Stop::Memory(_))));
}

#[test]
fn operands_of_and_are_evaluated_where_those_before_have_not_decided() {
    let lane = Arc::new(|a: &[Datum]| match a[0].as_i64() {
        Some(0) => Err(Error::new("22012", "division by zero")),
        Some(value) => Ok(Datum::Int8(100 / value)),
        None => Ok(Datum::Null),
    });
    let quotient = Expression::call(lane, true, vec![column(1)], Type::INT8);
    let is_large = Expression::compare(Comparison::Greater, quotient, int(10));
    let guarded = Expression::and(vec![Expression::compare(Comparison::NotEqual, column(1), int(0)), is_large.clone()]);
    let filtered = |condition| Operator::new(Kind::Filter(Box::new(source()), condition), vec![Type::INT8, Type::INT8]);
    let count = |condition| grouped(filtered(condition), vec![], vec![call("count", &[])], &[Type::INT8]);
    let found = rows(count(guarded), &mut numbers(None)).expect("nothing is divided by zero");
    // 1 to 9 without 7, four hundred times.
    assert_eq!(found, [["3200"]]);
    assert!(matches!(rows(count(is_large), &mut numbers(None)), Err(Stop::Row(_))));
}

#[test]
fn sorts_are_stable_and_know_their_bound() {
    let keys = Arc::new(vec![SortKey { expression: column(1), descending: true, nulls_first: true }]);
    let sorted =
        |bound| Operator::new(Kind::Sort(Box::new(source()), keys.clone(), bound), vec![Type::INT8, Type::INT8]);
    let all = rows(sorted(None), &mut numbers(None)).expect("no error");
    assert_eq!(all.len(), ROWS as usize);
    assert_eq!(
        (&all[0], &all[1], &all[400][..]),
        (&vec!["7".to_owned(), "null".into()], &vec!["107".into(), "null".into()], &["99".to_owned(), "99".into()][..])
    );
    let first = rows(sorted(Some(405)), &mut numbers(None)).expect("no error");
    assert_eq!(first, all[..405]);
}

/// Numerics of different scales are one key, and texts of blanks too where the type says so.
#[test]
fn keys_are_equal_where_values_are() {
    use seriatim_vectors::keys::Keys;
    let keys = |values: &[&str], data_type: Type| {
        let mut column = Column::new(data_type);
        for value in values {
            column.push(&match data_type {
                Type::NUMERIC => Datum::Numeric(pgtypes::Numeric::parse(value).expect("a number")),
                Type::FLOAT8 => Datum::Float8(value.parse().expect("a float")),
                _ => Datum::from(*value),
            });
        }
        let count = column.len();
        let keys = Keys::of_columns(&[(Arc::new(column), data_type)], count);
        (1..count).all(|row| keys.get(row) == keys.get(0) && keys.hash(row) == keys.hash(0))
    };
    assert!(keys(&["100", "100.0", "100.000"], Type::NUMERIC));
    assert!(keys(&["1e40", "1e40"], Type::NUMERIC) && !keys(&["1e40", "1e41"], Type::NUMERIC));
    assert!(keys(&["0", "-0"], Type::FLOAT8) && keys(&["NaN", "-NaN"], Type::FLOAT8));
    assert!(keys(&["a", "a  "], Type::BPCHAR) && !keys(&["a", "a "], Type::TEXT));
}

#[test]
fn joins_keep_what_their_kind_says() {
    let joined = |kind| {
        let few = Expression::compare(Comparison::Less, column(0), int(10));
        let few = Operator::new(Kind::Filter(Box::new(source()), few), vec![Type::INT8, Type::INT8]);
        let rule = JoinRule {
            kind,
            probe: vec![column(1)],
            build: vec![column(1)],
            condition: None,
            is_swapped: false,
            built: vec![Type::INT8, Type::INT8],
            keeps_order: false,
        };
        let join = Kind::Join(
            Box::new(few),
            Box::new(grouped(source(), vec![column(1)], vec![call("count", &[])], &[Type::INT8, Type::INT8])),
            Arc::new(JoinRule { build: vec![column(0)], ..rule }),
        );
        let types = match kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn => vec![Type::INT8; 2],
            JoinKind::Inner | JoinKind::Outer => vec![Type::INT8; 4],
            JoinKind::Mark | JoinKind::MarkIn => vec![Type::INT8, Type::INT8, Type::BOOL],
        };
        // Both sides read the one source: the built one first, to its end.
        let mut host = Twice(numbers(None));
        let columns = Columns::first(types.len());
        let mut flow = Flow::start(Operator::new(join, types), &columns, &mut host).expect("no error");
        let mut rows = 0;
        while let Some(batch) = flow.next(&mut host).expect("no error") {
            rows += batch.rows;
        }
        rows
    };
    let found =
        [JoinKind::Inner, JoinKind::Outer, JoinKind::Semi, JoinKind::Anti, JoinKind::NotIn, JoinKind::Mark].map(joined);
    // One of the groups is that of NULL.
    assert_eq!(found, [9, 10, 9, 1, 0, 10]);
}

/// Starts again behind its end.
struct Twice(Numbers);

impl Host for Twice {
    type Error = String;

    fn next(&mut self, source: usize) -> Result<Option<Box<dyn Piece>>, String> {
        let next = self.0.next(source)?;
        if next.is_none() {
            self.0.next = 0;
        }
        Ok(next)
    }

    fn ledger(&self) -> Arc<dyn Ledger<String>> {
        self.0.ledger()
    }

    fn workers(&self) -> usize {
        0
    }

    fn enter(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.0.enter()
    }
}

/// The same source, which adds up its columns where its rows lie: a thousand rows at a time, of which some cannot be added up.
struct Adding {
    numbers: Numbers,
    next: AtomicUsize,
    is_asked: bool,
    fails_at: usize,
}

impl Adding {
    fn of(numbers: Numbers) -> Adding {
        Adding { numbers, next: AtomicUsize::new(0), is_asked: false, fails_at: usize::MAX }
    }
}

impl Host for Adding {
    type Error = String;

    fn next(&mut self, source: usize) -> Result<Option<Box<dyn Piece>>, String> {
        self.numbers.next(source)
    }

    fn sum(
        &mut self,
        _: usize,
        columns: &Columns,
        work: &mut WorkOnSums<'_, String>,
    ) -> Option<Result<(), Stop<String>>> {
        self.is_asked = true;
        let columns: Vec<usize> = columns.iter().collect();
        let (next, fails_at) = (&self.next, self.fails_at);
        Some(work(&|| {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            if chunk == fails_at {
                return Err(Stop::Statement("the source".into()));
            }
            let first = chunk as i64 * 1000;
            if first >= ROWS {
                return Ok(None);
            }
            let mut sums = Sums { rows: 0, columns: vec![Sum::default(); columns.len()] };
            if chunk % 7 == 3 {
                let mut copied = Numbers { next: first, ..numbers(None) };
                let others = copied.next(0).map_err(Stop::Statement)?;
                return Ok(Some(Added { sums, others }));
            }
            sums.rows += 1000;
            for number in first..first + 1000 {
                let values = [Some(number), Some(number % 100).filter(|value| *value != 7)];
                let of_columns = columns.iter().zip(&mut sums.columns);
                for (sum, value) in of_columns.filter_map(|(at, sum)| Some((sum, values[*at]?))) {
                    sum.values += 1;
                    sum.digits += i128::from(value);
                }
            }
            Ok(Some(Added { sums, others: None }))
        }))
    }

    fn ledger(&self) -> Arc<dyn Ledger<String>> {
        self.numbers.ledger()
    }

    fn workers(&self) -> usize {
        3
    }

    fn enter(&self) -> Arc<dyn Fn() + Send + Sync> {
        Arc::new(|| {})
    }
}

fn sums() -> Vec<Call> {
    vec![call("count", &[]), call("count", &[column(1)]), call("sum", &[column(1)]), call("sum", &[column(0)])]
}

const OF_SUMS: [Type; 4] = [Type::INT8, Type::INT8, Type::NUMERIC, Type::NUMERIC];

#[test]
fn a_source_adds_up_what_is_only_added_up() {
    let input = source();
    let returned = input.counter.clone();
    let mut host = Adding::of(numbers(None));
    let found = rows(grouped(input, vec![], sums(), &OF_SUMS), &mut host).expect("no error");
    let expected = rows(grouped(source(), vec![], sums(), &OF_SUMS), &mut numbers(None)).expect("no error");
    assert_eq!((host.is_asked, found), (true, expected));
    assert_eq!(returned.load(Ordering::Relaxed), ROWS as u64);
}

#[test]
fn a_source_is_not_asked_for_more_than_sums() {
    let is_asked = |keys: Vec<Expression>, calls: Vec<Call>| {
        let types = keys.iter().map(Expression::data_type).chain(calls.iter().map(|call| call.result)).collect();
        let grouping = Arc::new(Grouping { keys, calls, is_padded: false });
        let mut host = Adding::of(numbers(None));
        let ended = rows(Operator::new(Kind::Aggregate(Box::new(source()), grouping), types), &mut host);
        assert!(ended.is_ok(), "{ended:?}");
        host.is_asked
    };
    let sum = |argument: Expression| call("sum", &[argument]);
    let computed = Expression::coalesce(vec![column(1), int(0)], Type::INT8);
    let filter = Some(Expression::compare(Comparison::Less, column(0), int(50)));
    for other in [
        sum(computed),
        Call { filter, ..sum(column(0)) },
        Call { distinct: true, ..sum(column(1)) },
        call("max", &[column(0)]),
    ] {
        assert!(!is_asked(vec![], sums().into_iter().chain([other]).collect()));
    }
    assert!(!is_asked(vec![column(1)], sums()), "groups");
    assert!(is_asked(vec![], sums()));
}

#[test]
fn a_source_that_fails_ends_the_sum() {
    let mut host = Adding { fails_at: 30, ..Adding::of(numbers(None)) };
    let ended = rows(grouped(source(), vec![], sums(), &OF_SUMS), &mut host);
    assert!(matches!(&ended, Err(Stop::Statement(error)) if error == "the source"), "{ended:?}");
}
