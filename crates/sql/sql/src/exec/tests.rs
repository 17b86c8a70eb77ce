//! Operators over hand-made plans. Expected rows match PostgreSQL.

use super::fixture::{Fixture, by, column, compare, equal, filter, int, join, outer, scan, values};
use crate::catalog::Table;
use crate::error::state;
use crate::functions::{WindowFunction, comparison_function, resolve_aggregate, resolve_function, resolve_operator};
use crate::plan::*;
use crate::types::{Datum, Row, Type};
use std::ops::Bound;
use std::sync::Arc;

fn call(name: &str, argument: Option<usize>) -> AggregateCall {
    let types = [Type::INT4];
    let types = if argument.is_some() { &types[..] } else { &[] };
    AggregateCall {
        aggregate: resolve_aggregate(name, types).expect(name).expect(name),
        arguments: argument.map(column).into_iter().collect(),
        distinct: false,
        filter: None,
        order: Vec::new(),
        grouping: None,
    }
}

fn sample() -> Plan {
    values(&[&[Some(1), Some(10)], &[Some(2), Some(20)], &[Some(2), None], &[None, Some(40)], &[None, Some(40)]])
}

fn limit(input: Plan, limit: Option<i64>, offset: Option<i64>, ties: Option<Vec<SortKey>>) -> Plan {
    let rows = |rows| Expr::constant(Datum::Int8(rows), Type::INT8);
    Plan::Limit { input: Box::new(input), limit: limit.map(rows), ties, offset: offset.map(rows) }
}

fn sort(input: Plan, keys: Vec<SortKey>) -> Plan {
    Plan::Sort { input: Box::new(input), keys }
}

#[test]
fn joins_of_every_kind() {
    let left = || values(&[&[Some(1)], &[Some(2)], &[Some(2)], &[None]]);
    let right = || values(&[&[Some(2), Some(7)], &[Some(3), Some(8)], &[None, Some(9)]]);
    let on = || Some(equal(column(0), column(1)));
    let cases = [
        (JoinKind::Inner, "2|2|7 2|2|7"),
        (JoinKind::Left, "1|| 2|2|7 2|2|7 ||"),
        (JoinKind::Right, "2|2|7 2|2|7 |3|8 ||9"),
        (JoinKind::Full, "1|| 2|2|7 2|2|7 || |3|8 ||9"),
        (JoinKind::Semi, "2 2"),
        (JoinKind::Anti, "1 "),
        (JoinKind::NotIn, ""),
        (JoinKind::MarkIn, "1| 2|t 2|t |"),
    ];
    let mut fixture = Fixture::new();
    for (kind, expected) in cases {
        let nested = join(kind, left(), right(), on());
        assert_eq!(fixture.show(&nested), expected, "{kind:?} as a nested loop");
        let hashed = match nested {
            Plan::Join(mut join) => {
                join.condition = None;
                join.equalities = vec![(column(0), column(0))];
                Plan::Join(join)
            }
            other => other,
        };
        assert_eq!(fixture.show(&hashed), expected, "{kind:?} by hash");
    }
}

/// The condition of a mark join decides among the rows of equal keys; the keys themselves are equal or not.
#[test]
fn marks_are_true_false_or_unknown() {
    let left =
        values(&[&[Some(1), Some(5)], &[Some(1), None], &[Some(2), Some(5)], &[Some(3), None], &[None, Some(5)]]);
    let right = values(&[&[Some(1), Some(5)], &[Some(2), Some(6)], &[Some(2), None], &[None, Some(5)]]);
    let mut plan = join(JoinKind::Mark, left, right, Some(equal(column(1), column(3))));
    let Plan::Join(operator) = &mut plan else { panic!("a join") };
    operator.equalities = vec![(column(0), column(0))];
    assert_eq!(Fixture::new().show(&plan), "1|5|t 1|| 2|5| 3||f |5|f");
    let Plan::Join(operator) = &mut plan else { panic!("a join") };
    operator.condition = None;
    assert_eq!(Fixture::new().show(&plan), "1|5|t 1||t 2|5|t 3||f |5|f");
}

/// The right side does not fit into the statement's memory, the left side does: it becomes the build side.
#[test]
fn a_large_right_side_is_compared_with_what_is_held_of_the_left() {
    let lefts: Vec<Vec<Option<i32>>> = vec![vec![Some(1)], vec![Some(2)], vec![Some(2)], vec![None], vec![Some(77)]];
    let rights: Vec<Vec<Option<i32>>> = (0..200).map(|at| vec![(at % 50 != 7).then_some(at % 50), Some(at)]).collect();
    let borrowed = |rows: &[Vec<Option<i32>>]| values(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let further = compare(Comparison::Less, column(2), int(150));
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti] {
        for condition in [None, Some(further.clone())] {
            let mut plan = join(kind, borrowed(&lefts), borrowed(&rights), condition);
            let Plan::Join(operator) = &mut plan else { panic!("a join") };
            operator.equalities = vec![(column(0), column(0))];
            let sorted = |rows: Vec<Row>| {
                let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
                rows.sort();
                rows
            };
            let expected = sorted(Fixture::new().try_rows(&plan).expect("there is memory for all"));
            let mut fixture = Fixture::new();
            fixture.memory = Fixture::memory(8_000);
            assert_eq!(sorted(fixture.try_rows(&plan).expect("the left side is small")), expected, "{kind:?}");
            let Plan::Join(operator) = &mut plan else { panic!("a join") };
            operator.keeps_order = true;
            if kind.asks_only() && operator.condition.is_none() {
                // One row of each key is held.
                assert_eq!(sorted(fixture.try_rows(&plan).expect("few keys")), expected, "{kind:?}");
                continue;
            }
            let error = fixture.try_rows(&plan).expect_err("the right side is large");
            assert_eq!(error.code(), state::OUT_OF_MEMORY, "{kind:?}");
        }
    }
}

#[test]
fn lateral_joins_see_the_left_row() {
    let mut fixture = Fixture::new();
    let right =
        filter(values(&[&[Some(1)], &[Some(2)], &[Some(3)]]), compare(Comparison::Less, column(0), outer(1, 0)));
    let left = values(&[&[Some(1)], &[Some(3)]]);
    for (kind, expected) in [
        (JoinKind::Inner, "3|1 3|2"),
        (JoinKind::Left, "1| 3|1 3|2"),
        (JoinKind::Anti, "1"),
        (JoinKind::Mark, "1|f 3|t"),
    ] {
        let mut plan = join(kind, left.clone(), right.clone(), None);
        if let Plan::Join(join) = &mut plan {
            join.lateral = true;
        }
        assert_eq!(fixture.show(&plan), expected, "{kind:?}");
    }
}

#[test]
fn groups_sets_and_calls() {
    let mut fixture = Fixture::new();
    let aggregate = |keys: Vec<Expr>, sets: Vec<Vec<usize>>, calls: Vec<AggregateCall>, input: Plan| {
        Plan::Aggregate(Box::new(Aggregation { input, keys, sets, calls }))
    };
    let plain = aggregate(vec![column(0)], vec![vec![0]], vec![call("count", None), call("sum", Some(1))], sample());
    assert_eq!(fixture.show(&plain), "1|1|10 2|2|20 |2|80");
    let nothing = filter(sample(), Expr::constant(Datum::Bool(false), Type::BOOL));
    let one = aggregate(vec![], vec![vec![]], vec![call("count", None), call("max", Some(1))], nothing.clone());
    assert_eq!(fixture.show(&one), "0|");
    let mut grouping = call("count", None);
    grouping.grouping = Some(vec![0, 1]);
    let keys = vec![column(0), column(1)];
    let sets = aggregate(keys, vec![vec![0], vec![]], vec![call("count", Some(1)), grouping], sample());
    assert_eq!(fixture.show(&sets), "1||1|1 2||1|1 ||2|1 ||4|3");
    let empty = aggregate(vec![column(0)], vec![vec![0], vec![]], vec![call("count", None)], nothing);
    assert_eq!(fixture.show(&empty), "|0");
    let mut distinct = call("count", Some(1));
    distinct.distinct = true;
    let mut filtered = call("count", None);
    filtered.filter = Some(compare(Comparison::Greater, column(1), int(15)));
    let mut ordered = call("array_agg", Some(1));
    ordered.order = vec![SortKey { expression: column(1), descending: true, nulls_first: true }];
    let calls = aggregate(vec![], vec![vec![]], vec![distinct, filtered, ordered], sample());
    assert_eq!(fixture.show(&calls), "3|3|{NULL,40,40,20,10}");
}

#[test]
fn sorts_limits_and_distinct() {
    let mut fixture = Fixture::new();
    let descending = SortKey { expression: column(0), descending: true, nulls_first: true };
    let cases = [
        (sort(sample(), vec![by(0), by(1)]), "1|10 2|20 2| |40 |40"),
        (sort(sample(), vec![descending.clone()]), "|40 |40 2|20 2| 1|10"),
        (limit(sort(sample(), vec![by(0)]), Some(2), Some(1), None), "2|20 2|"),
        (limit(sort(sample(), vec![by(0)]), Some(2), None, Some(vec![by(0)])), "1|10 2|20 2|"),
        (limit(sample(), None, Some(3), None), "|40 |40"),
        (limit(sample(), Some(0), None, None), ""),
        (Plan::Distinct { input: Box::new(sample()), on: None }, "1|10 2|20 2| |40"),
        (Plan::Distinct { input: Box::new(sample()), on: Some(vec![column(0)]) }, "1|10 2|20 |40"),
    ];
    for (plan, expected) in cases {
        assert_eq!(fixture.show(&plan), expected);
    }
    let many: Vec<Vec<Option<i32>>> = (0..1000).map(|at| vec![Some(at * 7919 % 1000)]).collect();
    let many: Vec<&[Option<i32>]> = many.iter().map(Vec::as_slice).collect();
    assert_eq!(fixture.show(&limit(sort(values(&many), vec![by(0)]), Some(3), Some(2), None)), "2 3 4");
    let error = fixture.try_rows(&limit(sample(), Some(-1), None, None)).expect_err("negative");
    assert_eq!((error.code(), error.message()), (state::INVALID_ROW_COUNT_IN_LIMIT, "LIMIT must not be negative"));
}

#[test]
fn set_operations() {
    let mut fixture = Fixture::new();
    let left = || values(&[&[Some(1)], &[Some(1)], &[Some(1)], &[Some(2)], &[None]]);
    let right = || values(&[&[Some(1)], &[Some(1)], &[None], &[Some(3)]]);
    let cases = [
        (SetOperation::Union, true, "1 1 1 2  1 1  3"),
        (SetOperation::Union, false, "1 2  3"),
        (SetOperation::Intersect, true, "1 1 "),
        (SetOperation::Intersect, false, "1 "),
        (SetOperation::Except, true, "1 2"),
        (SetOperation::Except, false, "2"),
    ];
    for (operation, all, expected) in cases {
        let plan = Plan::Set { operation, all, left: Box::new(left()), right: Box::new(right()) };
        assert_eq!(fixture.show(&plan), expected, "{operation:?} {all}");
    }
}

/// `WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < most)`, read by `body`.
fn counting(most: i32, distinct: bool, body: Plan) -> Plan {
    let plus = resolve_operator("+", Some(Type::INT4), Type::INT4).expect("+");
    let next = Expr::new(ExprKind::Call(plus, vec![column(0), int(1)]), Type::INT4);
    let last = filter(Plan::CteScan { number: 1 }, compare(Comparison::Less, column(0), int(most)));
    let step = Plan::Project { input: Box::new(last), columns: vec![next] };
    let start = Arc::new(values(&[&[Some(1)]]));
    let query = Plan::Recursive { number: 1, start, step: Arc::new(step), distinct };
    Plan::With { queries: vec![(1, Arc::new(query))], body: Box::new(body) }
}

#[test]
fn recursion_ends_when_nothing_new_comes_or_nobody_asks() {
    let mut fixture = Fixture::new();
    let read = || Plan::CteScan { number: 1 };
    assert_eq!(fixture.show(&counting(5, false, read())), "1 2 3 4 5");
    assert_eq!(fixture.show(&counting(i32::MAX, false, limit(read(), Some(3), None, None))), "1 2 3");
    let twice =
        Plan::Set { operation: SetOperation::Union, all: true, left: Box::new(read()), right: Box::new(read()) };
    assert_eq!(fixture.show(&counting(2, true, twice)), "1 2 1 2");
    fixture.cancel();
    let error = fixture.try_rows(&counting(i32::MAX, false, read())).expect_err("canceled");
    assert_eq!(error.code(), state::QUERY_CANCELED);
}

#[test]
fn a_sort_looks_whether_it_is_to_stop() {
    let mut fixture = Fixture::new();
    let many = sort(counting(20_000, false, Plan::CteScan { number: 1 }), vec![by(0)]);
    assert!(fixture.show(&many).ends_with(" 19999 20000"), "more than what is sorted at once");
    fixture.cancel();
    // So few rows are sorted without a check.
    let few = sort(values(&[&[Some(2)], &[Some(1)]]), vec![by(0)]);
    assert_eq!(fixture.try_rows(&few).expect_err("canceled").code(), state::QUERY_CANCELED);
}

#[test]
fn what_a_statement_holds_is_limited() {
    let mut fixture = Fixture::new();
    for plan in [
        sort(counting(100_000, false, Plan::CteScan { number: 1 }), vec![by(0)]),
        Plan::Distinct { input: Box::new(counting(100_000, true, Plan::CteScan { number: 1 })), on: None },
    ] {
        fixture.memory = Fixture::memory(100_000);
        assert_eq!(fixture.try_rows(&plan).expect_err("too much").code(), state::OUT_OF_MEMORY);
    }
}

fn subquery(kind: SubqueryKind, plan: Plan, correlated: bool, data_type: Type) -> Expr {
    Expr { data_type, ..Expr::from(Subquery { kind, plan: Arc::new(plan), correlated }) }
}

#[test]
fn subqueries_are_three_valued() {
    let mut fixture = Fixture::new();
    let equals = comparison_function(Comparison::Equal, Type::INT4);
    let differs = comparison_function(Comparison::NotEqual, Type::INT4);
    let asked = |left: Option<i32>, all: bool, rows: &[&[Option<i32>]]| {
        let left = vec![Expr::constant(left.map_or(Datum::Null, Datum::Int4), Type::INT4)];
        let operators = vec![if all { differs.clone() } else { equals.clone() }];
        let kind = SubqueryKind::Quantified { left, operators, equality: !all, all };
        let plan =
            if rows.is_empty() { filter(sample(), Expr::constant(Datum::Null, Type::BOOL)) } else { values(rows) };
        Plan::Values { rows: vec![vec![subquery(kind, plan, false, Type::BOOL)]] }
    };
    let cases = [
        (Some(1), false, vec![Some(1), None], "t"),
        (Some(2), false, vec![Some(1), None], ""),
        (Some(2), false, vec![Some(1)], "f"),
        (None, false, vec![Some(1)], ""),
        (None, false, vec![], "f"),
        (Some(2), true, vec![Some(1), None], ""),
        (Some(1), true, vec![Some(1), None], "f"),
        (Some(2), true, vec![Some(1)], "t"),
        (None, true, vec![], "t"),
    ];
    for (left, all, rows, expected) in cases {
        let rows: Vec<[Option<i32>; 1]> = rows.into_iter().map(|value| [value]).collect();
        let rows: Vec<&[Option<i32>]> = rows.iter().map(|row| &row[..]).collect();
        assert_eq!(fixture.show(&asked(left, all, &rows)), expected, "{left:?} {all} {rows:?}");
    }
    let two = values(&[&[Some(1)], &[Some(2)]]);
    let scalar = Plan::Values { rows: vec![vec![subquery(SubqueryKind::Scalar, two, false, Type::INT4)]] };
    let error = fixture.try_rows(&scalar).expect_err("two rows");
    assert_eq!(error.message(), "more than one row returned by a subquery used as an expression");
}

#[test]
fn queries_of_with_in_a_subquery_run_for_each_row() {
    let mut fixture = Fixture::new();
    let query = Plan::Values { rows: vec![vec![outer(1, 0)]] };
    // The inner subquery refers to no row, but its input differs from row to row.
    let inner = subquery(SubqueryKind::Scalar, Plan::CteScan { number: 9 }, false, Type::INT4);
    let body = Box::new(Plan::Values { rows: vec![vec![inner]] });
    let with = Plan::With { queries: vec![(9, Arc::new(query))], body };
    let columns = vec![subquery(SubqueryKind::Scalar, with, true, Type::INT4)];
    let plan = Plan::Project { input: Box::new(values(&[&[Some(1)], &[Some(2)]])), columns };
    assert_eq!(fixture.show(&plan), "1 2");
}

fn window(partition: Vec<Expr>, order: Vec<SortKey>, function: WindowKind, arguments: Vec<Expr>, frame: Frame) -> Plan {
    let call = WindowCall { function, arguments, filter: None, frame };
    let input = values(&[&[Some(1)], &[Some(2)], &[Some(2)], &[Some(4)], &[Some(7)], &[None]]);
    Plan::Window(Box::new(Window { input, partition, order, calls: vec![call] }))
}

fn frame(unit: FrameUnit, start: FrameBound, end: FrameBound, exclude: FrameExclude) -> Frame {
    Frame { unit, start, end, exclude }
}

#[test]
fn window_functions_over_peers() {
    let mut fixture = Fixture::new();
    let whole = || frame(FrameUnit::Range, FrameBound::Start, FrameBound::Current, FrameExclude::None);
    let cases = [
        (WindowFunction::RowNumber, vec![], "1|1 2|2 2|3 4|4 7|5 |6"),
        (WindowFunction::Rank, vec![], "1|1 2|2 2|2 4|4 7|5 |6"),
        (WindowFunction::DenseRank, vec![], "1|1 2|2 2|2 4|3 7|4 |5"),
        (WindowFunction::PercentRank, vec![], "1|0 2|0.2 2|0.2 4|0.6 7|0.8 |1"),
        (WindowFunction::Ntile, vec![int(4)], "1|1 2|1 2|2 4|2 7|3 |4"),
        (WindowFunction::Lag, vec![column(0)], "1| 2|1 2|2 4|2 7|4 |7"),
        (WindowFunction::Lead, vec![column(0), int(2), int(-1)], "1|2 2|4 2|7 4| 7|-1 |-1"),
        (WindowFunction::FirstValue, vec![column(0)], "1|1 2|1 2|1 4|1 7|1 |1"),
        (WindowFunction::LastValue, vec![column(0)], "1|1 2|2 2|2 4|4 7|7 |"),
        (WindowFunction::NthValue, vec![column(0), int(2)], "1| 2|2 2|2 4|2 7|2 |2"),
    ];
    for (function, arguments, expected) in cases {
        let plan = window(vec![], vec![by(0)], WindowKind::Window(function), arguments, whole());
        assert_eq!(fixture.show(&plan), expected, "{function:?}");
    }
}

#[test]
fn window_frames() {
    let mut fixture = Fixture::new();
    let rows = |rows| Expr::constant(Datum::Int8(rows), Type::INT8);
    let sum = || WindowKind::Aggregate(call("sum", Some(0)).aggregate);
    use FrameBound::{Current, End, Following, Preceding, Start};
    use FrameExclude as Exclude;
    let cases = [
        (frame(FrameUnit::Rows, Start, Current, Exclude::None), "1|1 2|3 2|5 4|9 7|16 |16"),
        (frame(FrameUnit::Range, Start, Current, Exclude::None), "1|1 2|5 2|5 4|9 7|16 |16"),
        (frame(FrameUnit::Rows, Preceding(rows(1)), Following(rows(1)), Exclude::None), "1|3 2|5 2|8 4|13 7|11 |7"),
        (frame(FrameUnit::Rows, Current, End, Exclude::Current), "1|15 2|13 2|11 4|7 7| |"),
        (frame(FrameUnit::Groups, Preceding(rows(1)), Current, Exclude::None), "1|1 2|5 2|5 4|8 7|11 |7"),
        (frame(FrameUnit::Groups, Following(rows(1)), Following(rows(1)), Exclude::None), "1|4 2|4 2|4 4|7 7| |"),
        (frame(FrameUnit::Range, Preceding(int(2)), Following(int(1)), Exclude::None), "1|5 2|5 2|5 4|8 7|7 |"),
        (frame(FrameUnit::Range, Start, End, Exclude::Group), "1|15 2|12 2|12 4|12 7|9 |16"),
        (frame(FrameUnit::Range, Start, End, Exclude::Ties), "1|16 2|14 2|14 4|16 7|16 |16"),
    ];
    for (frame, expected) in cases {
        let name = format!("{frame:?}");
        let plan = window(vec![], vec![by(0)], sum(), vec![column(0)], frame);
        assert_eq!(fixture.show(&plan), expected, "{name}");
    }
    let negative = frame(FrameUnit::Rows, Preceding(rows(-1)), Current, Exclude::None);
    let error = fixture.try_rows(&window(vec![], vec![by(0)], sum(), vec![column(0)], negative)).expect_err("negative");
    assert_eq!(error.message(), "frame starting offset must not be negative");
}

#[test]
fn functions_in_from_stand_side_by_side() {
    let mut fixture = Fixture::new();
    let series = |to: i32| {
        let function = resolve_function("generate_series", &[Type::INT4, Type::INT4]).expect("generate_series");
        (function, vec![int(1), int(to)])
    };
    let plan = Plan::Functions { calls: vec![series(3), series(1)], ordinality: true };
    assert_eq!(fixture.show(&plan), "1|1|1 2||2 3||3");
    let (function, arguments) = series(2);
    let columns = vec![SetColumn::Value(column(0)), SetColumn::Set(function, arguments)];
    let sets = Plan::ProjectSet { input: Box::new(values(&[&[Some(7)], &[Some(8)]])), columns };
    assert_eq!(fixture.show(&sets), "7|1 7|2 8|1 8|2");
}

/// A table of 600 rows with a key, a unique index and one that is not.
fn table(fixture: &mut Fixture) -> Arc<Table> {
    let columns = [("id", Type::INT4), ("a", Type::INT4), ("b", Type::INT4)];
    let table = Arc::new(fixture.table("t", &columns, &[0], &[(&[1], true), (&[2, 0], false)]));
    let row = |id: i32| {
        let a = if id % 10 == 0 { Datum::Null } else { Datum::Int4(-id) };
        vec![Datum::Int4(id), a, Datum::Int4(id % 3)]
    };
    fixture.fill(&table, (0..600).map(row).collect());
    table
}

fn at(table: &Arc<Table>, path: Path) -> Plan {
    match scan(table) {
        Plan::Scan(scan) => Plan::Scan(Scan { path, ..scan }),
        other => other,
    }
}

fn ids(plan: Plan) -> Plan {
    Plan::Project { input: Box::new(plan), columns: vec![column(0)] }
}

#[test]
fn scans_by_every_path() {
    let mut fixture = Fixture::new();
    let table = table(&mut fixture);
    let all = ids(at(&table, Path::All));
    let expected: Vec<String> = (0..600).map(|id| id.to_string()).collect();
    assert_eq!(fixture.show(&all), expected.join(" "), "over several batches");
    let index = |index: usize, equal: Vec<Expr>, lower: Bound<Expr>, upper: Bound<Expr>, backward: bool| {
        ids(at(&table, Path::Index { index, equal, lower, upper, backward }))
    };
    use Bound::{Excluded, Included, Unbounded};
    let large = || Expr::constant(Datum::Int8(1 << 40), Type::INT8);
    let null = || Expr::constant(Datum::Null, Type::INT4);
    let cases = [
        (index(0, vec![int(7)], Unbounded, Unbounded, false), "7"),
        (index(0, vec![int(700)], Unbounded, Unbounded, false), ""),
        (index(0, vec![null()], Unbounded, Unbounded, false), ""),
        (index(0, vec![], Included(int(597)), Unbounded, false), "597 598 599"),
        (index(0, vec![], Excluded(int(597)), Unbounded, true), "599 598"),
        (index(0, vec![], Unbounded, Excluded(int(2)), false), "0 1"),
        (index(0, vec![], Excluded(large()), Unbounded, false), ""),
        (index(1, vec![int(-5)], Unbounded, Unbounded, false), "5"),
        (index(1, vec![], Excluded(int(-3)), Unbounded, false), "2 1"),
        (index(1, vec![], Unbounded, Included(int(-597)), false), "599 598 597"),
        (index(1, vec![], Excluded(int(-4)), Excluded(large()), true), "1 2 3"),
        (index(1, vec![], Unbounded, Excluded(null()), false), ""),
        (index(2, vec![int(2)], Excluded(int(590)), Unbounded, false), "593 596 599"),
        (index(2, vec![int(2), int(5)], Unbounded, Unbounded, false), "5"),
        (index(2, vec![int(1)], Unbounded, Included(int(4)), true), "4 1"),
    ];
    for (number, (plan, expected)) in cases.into_iter().enumerate() {
        assert_eq!(fixture.show(&plan), expected, "case {number}");
    }
    let equal = vec![vec![int(5)], vec![int(3)], vec![int(5)], vec![null()], vec![large()]];
    assert_eq!(fixture.show(&ids(at(&table, Path::Alternatives { index: 0, equal }))), "3 5");
    let nulls = index(1, vec![], Unbounded, Unbounded, true);
    assert_eq!(fixture.show(&limit(nulls, Some(2), None, None)), "590 580", "NULLs stand last");
}

#[test]
fn own_writes_are_seen_and_rows_can_be_owned() {
    let mut fixture = Fixture::new();
    let table = table(&mut fixture);
    fixture.fill(&table, vec![vec![Datum::Int4(1000), Datum::Null, Datum::Null]]);
    let condition = compare(Comparison::GreaterOrEqual, column(0), int(599));
    let with_key = match scan(&table) {
        Plan::Scan(scan) => Plan::Scan(Scan { filter: Some(condition), with_key: true, for_update: true, ..scan }),
        other => other,
    };
    assert_eq!(fixture.show(&with_key), r"599|-599|2|\x8000000000000257 1000|||\x80000000000003e8");
    let locked =
        Plan::Lock { input: Box::new(with_key), tables: vec![RowLock { table, key: 3, when_held: WhenHeld::Wait }] };
    assert_eq!(fixture.show(&ids(locked)), "599 1000");
}

#[test]
fn expressions_as_deep_as_the_parser_lets_them() {
    let mut fixture = Fixture::new();
    let plus = resolve_operator("+", Some(Type::INT4), Type::INT4).expect("+");
    let add = |sum: Expr| Expr::new(ExprKind::Call(plus.clone(), vec![sum, int(1)]), Type::INT4);
    let deep = (0..2000).fold(int(0), |sum, _| add(sum));
    assert_eq!(fixture.show(&Plan::Values { rows: vec![vec![deep]] }), "2000");
    let union = |left: Plan| Plan::Set {
        operation: SetOperation::Union,
        all: true,
        left: Box::new(left),
        right: Box::new(values(&[&[Some(1)]])),
    };
    let deep = (0..500).fold(values(&[&[Some(1)]]), |plan, _| union(plan));
    assert_eq!(fixture.try_rows(&deep).expect("rows").len(), 501);
}
