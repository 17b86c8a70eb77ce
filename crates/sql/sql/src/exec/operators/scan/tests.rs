//! The engine's part of a filter selects exactly the rows for which SQL finds it true.

use super::super::super::Cursor;
use super::super::super::fixture::{self, Fixture};
use super::super::super::scope::Run;
use super::pushed::{as_columns, asked};
use crate::definition::Table;
use crate::plan::{Comparison, Expr, ExprKind, IndexRules, Path, Plan, Scan};
use crate::types::{Datum, Modifier, Numeric, Row, Scalar, Type};
use model::Columns;
use std::ops::Bound;
use std::sync::Arc;

const TYPES: [(&str, Scalar); 12] = [
    ("id", Scalar::Int4),
    ("small", Scalar::Int2),
    ("large", Scalar::Int8),
    ("real", Scalar::Float4),
    ("double", Scalar::Float8),
    ("flag", Scalar::Bool),
    ("words", Scalar::Text),
    ("short", Scalar::Varchar),
    ("blank", Scalar::Bpchar),
    ("day", Scalar::Date),
    ("amount", Scalar::Numeric),
    ("raw", Scalar::Bytea),
];

fn table(fixture: &mut Fixture) -> Arc<Table> {
    let columns = TYPES.map(|(name, scalar)| (name, Type::of(scalar)));
    let table = Arc::new(fixture.table("t", &columns, &[0], &[(&[1, 0], false)]));
    fixture.fill(&table, (0..60).map(row).collect());
    table
}

/// Every column is NULL in some rows, and all pairs of values occur.
fn row(id: i32) -> Row {
    let pick = |step: i32, of: &[Datum]| match (id / step) as usize % (of.len() + 1) {
        0 => Datum::Null,
        at => of[at - 1].clone(),
    };
    let text = |text: &str| Datum::Text(text.into());
    vec![
        Datum::Int4(id),
        pick(1, &[Datum::Int2(-1), Datum::Int2(3)]),
        pick(2, &[Datum::Int8(i64::MIN), Datum::Int8(3)]),
        pick(3, &[Datum::Float4(f32::NAN), Datum::Float4(-0.0), Datum::Float4(0.1)]),
        pick(1, &[Datum::Float8(f64::NAN), Datum::Float8(0.0), Datum::Float8(f64::NEG_INFINITY)]),
        pick(2, &[Datum::Bool(true), Datum::Bool(false)]),
        pick(1, &[text(""), text("ab"), text("ab "), text("über")]),
        pick(3, &[text("ab"), text("b")]),
        pick(2, &[text("ab"), text("ab   ")]),
        pick(1, &[Datum::Date(i32::MIN), Datum::Date(0)]),
        pick(1, &[Datum::Numeric(Numeric::NaN), Datum::Numeric(Numeric::Infinity)]),
        pick(4, &[Datum::Bytea([0u8, 255].as_slice().into()), Datum::Bytea([].as_slice().into())]),
    ]
}

fn column(at: usize) -> Expr {
    Expr::column(at, Type::of(TYPES[at].1), Modifier::NONE)
}

fn value(at: usize, value: Datum) -> Expr {
    Expr::constant(value, Type::of(TYPES[at].1))
}

fn cast(at: usize, to: Type) -> Expr {
    Expr::new(ExprKind::Cast { input: Box::new(column(at)), explicit: false }, to)
}

fn boolean(kind: ExprKind) -> Expr {
    Expr::new(kind, Type::BOOL)
}

fn is_null(of: Expr) -> Expr {
    boolean(ExprKind::IsNull(Box::new(of)))
}

fn is_same(left: Expr, right: Expr) -> Expr {
    boolean(ExprKind::IsSame(Box::new(left), Box::new(right)))
}

/// Conditions with the predicate that the engine receives.
fn conditions() -> Vec<(Expr, Option<&'static str>)> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let compare = fixture::compare;
    let text = |at: usize, text: &str| value(at, Datum::Text(text.into()));
    let in_list = |at, list| boolean(ExprKind::InList(Box::new(column(at)), list));
    vec![
        (compare(GreaterOrEqual, column(0), value(0, Datum::Int4(30))), Some("#0 >= 30")),
        (compare(Less, value(0, Datum::Int4(30)), column(0)), Some("#0 > 30")),
        (compare(Equal, column(1), value(1, Datum::Int2(3))), Some("#1 = 3")),
        (compare(NotEqual, cast(1, Type::INT8), Expr::constant(Datum::Int8(3), Type::INT8)), Some("#1 <> 3")),
        (compare(Less, column(2), value(2, Datum::Int8(0))), Some("#2 < 0")),
        (compare(Equal, column(2), value(2, Datum::Null)), Some("#2 = NULL")),
        (compare(LessOrEqual, column(3), value(3, Datum::Float4(0.0))), Some("#3 <= 0")),
        (compare(Greater, column(4), value(4, Datum::Float8(0.0))), Some("#4 > 0")),
        (compare(Equal, column(4), value(4, Datum::Float8(f64::NAN))), Some("#4 = NaN")),
        (compare(Greater, cast(3, Type::FLOAT8), Expr::constant(Datum::Float8(0.1), Type::FLOAT8)), Some("#3 > 0.1")),
        (column(5), Some("#5 = true")),
        (boolean(ExprKind::Not(Box::new(column(5)))), Some("NOT #5 = true")),
        (compare(Greater, column(6), text(6, "ab")), Some("#6 > 'ab'")),
        (compare(Equal, cast(7, Type::TEXT), text(6, "ab")), Some("#7 = 'ab'")),
        (compare(Equal, column(8), text(8, "ab")), None),
        (is_null(column(8)), Some("#8 IS NULL")),
        (compare(Less, column(9), value(9, Datum::Date(0))), Some("#9 < 1970-01-01")),
        (compare(Greater, column(10), value(10, Datum::Numeric(Numeric::Infinity))), None),
        (is_null(column(10)), Some("#10 IS NULL")),
        (compare(Greater, column(11), value(11, Datum::Bytea([].as_slice().into()))), Some("#11 > \\x")),
        (in_list(1, vec![value(1, Datum::Int2(3)), value(1, Datum::Int2(-1))]), Some("#1 IN (-1, 3)")),
        (in_list(1, vec![value(1, Datum::Int2(3)), value(1, Datum::Null)]), Some("#1 IN (3, NULL)")),
        (in_list(8, vec![text(8, "ab")]), None),
        (is_same(column(1), value(1, Datum::Null)), Some("#1 IS NULL")),
        (is_same(column(1), value(1, Datum::Int2(3))), Some("(NOT #1 IS NULL AND #1 = 3)")),
        (compare(Less, column(0), Expr::new(ExprKind::Parameter(0), Type::INT4)), Some("#0 < 40")),
        (compare(Less, column(0), cast(1, Type::INT4)), None),
        (boolean(ExprKind::IsTruth(Box::new(column(5)), None)), None),
    ]
}

fn scan(table: &Arc<Table>, path: Path, filter: Option<Expr>, wanted: Option<Vec<usize>>) -> Scan {
    Scan {
        table: table.clone(),
        path,
        filter,
        wanted,
        extremes: Vec::new(),
        with_key: false,
        for_update: false,
        rules: IndexRules::default(),
    }
}

fn pushed(fixture: &mut Fixture, scan: &Scan) -> (Option<String>, usize) {
    let mut cursor = Cursor::new(Arc::new(Plan::Scan(scan.clone())));
    let pushed = fixture.with(|exec| Run { exec, scope: &mut cursor.scope }.push_down(scan)).expect("no error");
    (pushed.filter.map(|filter| filter.to_string()), pushed.rest.len())
}

#[test]
fn the_engine_gets_what_it_can_decide() {
    let mut fixture = Fixture::new();
    fixture.parameters = vec![Datum::Int4(40)];
    let table = table(&mut fixture);
    for (condition, expected) in conditions() {
        let (shown, rest) = pushed(&mut fixture, &scan(&table, Path::All, Some(condition.clone()), None));
        assert_eq!((shown.as_deref(), rest), (expected, usize::from(expected.is_none())), "{condition:?}");
    }
    let (first, second) = (conditions()[0].0.clone(), conditions()[14].0.clone());
    let both = boolean(ExprKind::And(vec![first.clone(), second.clone(), first.clone()]));
    let divided = pushed(&mut fixture, &scan(&table, Path::All, Some(both), None));
    assert_eq!(divided, (Some("(#0 >= 30 AND #0 >= 30)".into()), 1), "the rest is evaluated above");
    let either = boolean(ExprKind::Or(vec![first, second]));
    assert_eq!(pushed(&mut fixture, &scan(&table, Path::All, Some(either), None)), (None, 1), "half of an OR is wrong");
}

#[test]
fn the_engine_returns_what_anybody_looks_at() {
    let mut fixture = Fixture::new();
    let table = table(&mut fixture);
    let asks = |wanted: Option<Vec<usize>>, rest: Option<&[usize]>, for_update| {
        asked(&Scan { for_update, ..scan(&table, Path::All, None, wanted) }, rest)
    };
    assert_eq!(asks(Some(vec![2, 5]), Some(&[8, 5]), false), Some(vec![2, 5, 8]));
    assert_eq!(asks(Some(vec![2, 5]), Some(&[8]), true), Some(vec![8]), "the row is read again to be written");
    assert_eq!(asks(None, Some(&[]), false), None);
    assert_eq!(asks(Some(vec![2]), None, false), None, "a subquery may look at any");
    assert_eq!(asks(Some((0..TYPES.len()).collect()), Some(&[]), false), None, "whole rows need no choice");
    assert_eq!(
        (as_columns(None), as_columns(Some(&[])), as_columns(Some(&[1]))),
        (Columns::All, Columns::None, Columns::Some(&[1]))
    );
}

/// Each condition alone, negated, and with others, by rows and by index, with few columns and all.
#[test]
fn filters_select_what_an_operator_above_would() {
    let mut fixture = Fixture::new();
    fixture.parameters = vec![Datum::Int4(40)];
    let table = table(&mut fixture);
    let mut filters: Vec<Expr> = conditions().into_iter().map(|(condition, _)| condition).collect();
    let single = filters.clone();
    filters.extend(single.iter().map(|one| boolean(ExprKind::Not(Box::new(one.clone())))));
    for step in [1, 5, 11] {
        for (one, other) in single.iter().zip(single.iter().cycle().skip(step)) {
            filters.push(boolean(ExprKind::And(vec![one.clone(), other.clone()])));
            filters.push(boolean(ExprKind::Or(vec![one.clone(), other.clone()])));
        }
    }
    let by_index = || Path::Index {
        index: 1,
        equal: vec![value(1, Datum::Int2(3))],
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
        backward: true,
    };
    let mut selected = 0;
    for filter in filters {
        for path in [Path::All, by_index()] {
            let plain = Plan::Scan(scan(&table, path.clone(), None, None));
            let ids = |input| Plan::Project { input: Box::new(input), columns: vec![column(0), column(8), column(2)] };
            let expected = fixture.show(&ids(fixture::filter(plain, filter.clone())));
            for wanted in [None, Some(vec![0, 2, 8])] {
                let shown = fixture.show(&ids(Plan::Scan(scan(&table, path.clone(), Some(filter.clone()), wanted))));
                assert_eq!(shown, expected, "{filter:?}");
            }
            selected += expected.split(' ').count();
        }
    }
    assert!(selected > 3000, "the conditions select something: {selected}");
}

/// The engine examines a bounded number of rows at a time, so that a scan can be cancelled even if no row passes its filter.
#[test]
fn a_scan_that_finds_nothing_can_be_cancelled() {
    let mut fixture = Fixture::new();
    let table = table(&mut fixture);
    let none = fixture::compare(Comparison::Less, column(0), value(0, Datum::Int4(-1)));
    let plan = Plan::Scan(scan(&table, Path::All, Some(none), None));
    assert_eq!(fixture.show(&plan), "");
    fixture.cancel();
    assert_eq!(fixture.try_rows(&plan).expect_err("cancelled").code(), "57014");
}
