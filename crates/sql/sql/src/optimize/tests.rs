//! Random plans over random tables give the same rows with and without optimization; single plans take the expected shape.

use super::{Sizes, optimize};
use crate::catalog::Table;
use crate::exec::fixture::{Fixture, by, column, compare, equal, filter, int, join, outer, scan};
use crate::explain::{Options, explain};
use crate::functions::{comparison_function, resolve_aggregate};
use crate::plan::*;
use crate::types::{Datum, Row, Type};
use proptest::prelude::*;
use std::sync::Arc;

/// Two tables of integers: `t` with a primary key and an index on (a, b), `u` with a unique index that has NULLs and one
/// that has duplicates, and no primary key.
struct Tables {
    fixture: Fixture,
    t: Arc<Table>,
    u: Arc<Table>,
}

impl Tables {
    fn new(t: &[(Option<i32>, Option<i32>)], u: &[(Option<i32>, Option<i32>)]) -> Tables {
        let mut fixture = Fixture::new();
        let integer = Type::INT4;
        let columns = [("id", integer), ("a", integer), ("b", integer)];
        let t_table = Arc::new(fixture.table("t", &columns, &[0], &[(&[1, 2], false)]));
        let columns = [("k", integer), ("x", integer), ("y", integer)];
        let u_table = Arc::new(fixture.table("u", &columns, &[], &[(&[0], true), (&[1], false)]));
        let rows = |values: &[(Option<i32>, Option<i32>)], sparse: bool| -> Vec<Row> {
            let datum = |value: Option<i32>| value.map_or(Datum::Null, Datum::Int4);
            let row = |(at, (a, b)): (usize, &(Option<i32>, Option<i32>))| {
                let key = (!sparse || at % 3 != 0).then_some(at as i32);
                vec![datum(key), datum(*a), datum(*b)]
            };
            values.iter().enumerate().map(row).collect()
        };
        fixture.fill(&t_table, rows(t, false));
        fixture.fill(&u_table, rows(u, true));
        Tables { fixture, t: t_table, u: u_table }
    }
}

/// Makes a plan of bytes.
struct Maker<'m> {
    bytes: std::slice::Iter<'m, u8>,
    tables: [Arc<Table>; 2],
    ctes: usize,
}

impl Maker<'_> {
    fn pick(&mut self, below: u8) -> u8 {
        self.bytes.next().copied().unwrap_or(0) % below
    }

    fn column(&mut self, width: usize) -> Expr {
        column(usize::from(self.pick(width as u8)))
    }

    fn comparison(&mut self) -> Comparison {
        use Comparison::*;
        [Equal, Equal, Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual][usize::from(self.pick(8))]
    }

    fn constant(&mut self) -> Expr {
        int(i32::from(self.pick(6)))
    }

    /// A condition over `width` columns, within a row of `around` columns if that is not 0.
    fn condition(&mut self, width: usize, around: usize, depth: u8) -> Expr {
        let of = |kind| Expr::new(kind, Type::BOOL);
        match self.pick(if depth == 0 { 6 } else { 14 }) {
            0 | 1 => compare(self.comparison(), self.column(width), self.constant()),
            2 | 3 => {
                let (left, right) = (self.column(width), self.column(width));
                compare(self.comparison(), left, right)
            }
            4 => of(ExprKind::IsNull(Box::new(self.column(width)))),
            5 if around > 0 => {
                let at = usize::from(self.pick(around as u8));
                equal(self.column(width), outer(1, at))
            }
            5 => of(ExprKind::InList(Box::new(self.column(width)), vec![self.constant(), self.constant()])),
            6 | 7 => {
                let parts = vec![self.condition(width, around, depth - 1), self.condition(width, around, depth - 1)];
                of(if self.pick(3) == 0 { ExprKind::Or(parts) } else { ExprKind::And(parts) })
            }
            8 => of(ExprKind::Not(Box::new(self.condition(width, around, depth - 1)))),
            9 => self.exists(width, depth - 1),
            10 => self.scalar(width, depth - 1),
            11 => self.list(width, depth - 1),
            12 => of(ExprKind::Not(Box::new(self.list(width, depth - 1)))),
            _ => of(ExprKind::Not(Box::new(self.exists(width, depth - 1)))),
        }
    }

    fn exists(&mut self, width: usize, depth: u8) -> Expr {
        let (plan, inner) = self.relation(depth.min(1));
        let condition = self.condition(inner, width, depth);
        let plan = Arc::new(filter(plan, condition));
        Subquery { kind: SubqueryKind::Exists, plan, correlated: true }.into()
    }

    /// The condition of a subquery over a relation of `inner` columns: an equality with the row around it, and perhaps more.
    fn correlation(&mut self, inner: usize, width: usize) -> Expr {
        let at = usize::from(self.pick(width as u8));
        let key = equal(self.column(inner), outer(1, at));
        match self.pick(3) {
            0 => Expr::new(ExprKind::And(vec![key, self.condition(inner, 0, 0)]), Type::BOOL),
            1 => Expr::new(ExprKind::And(vec![self.condition(inner, width, 0), key]), Type::BOOL),
            _ => key,
        }
    }

    /// A comparison with an aggregate of the rows that equal the row at hand.
    fn scalar(&mut self, width: usize, depth: u8) -> Expr {
        let (input, inner) = self.relation(depth.min(1));
        let condition = self.correlation(inner, width);
        let is_count = self.pick(2) == 0;
        let (name, arguments) = if is_count { ("count", vec![]) } else { ("max", vec![self.column(inner)]) };
        let types: Vec<Type> = arguments.iter().map(|argument| argument.data_type).collect();
        let aggregate = resolve_aggregate(name, &types).expect(name).expect(name);
        let data_type = aggregate.result;
        let (none, order, grouping) = (None, Vec::new(), None);
        let call = AggregateCall { aggregate, arguments, distinct: false, filter: none, order, grouping };
        let input = filter(input, condition);
        let groups = Aggregation { input, keys: Vec::new(), sets: vec![Vec::new()], calls: vec![call] };
        let columns = vec![Expr::column(0, data_type, Default::default())];
        let plan = Plan::Project { input: Box::new(Plan::Aggregate(Box::new(groups))), columns };
        let subquery = Subquery { kind: SubqueryKind::Scalar, plan: Arc::new(plan), correlated: true };
        let subquery = Expr { data_type, ..subquery.into() };
        let other = if is_count { Expr::constant(Datum::Int8(1), data_type) } else { self.column(width) };
        compare(self.comparison(), subquery, other)
    }

    /// IN, correlated or not.
    fn list(&mut self, width: usize, depth: u8) -> Expr {
        let (mut plan, inner) = self.relation(depth.min(1));
        let correlated = self.pick(2) == 0;
        if correlated {
            let condition = self.correlation(inner, width);
            plan = filter(plan, condition);
        }
        let plan = Plan::Project { input: Box::new(plan), columns: vec![self.column(inner)] };
        let operators = vec![comparison_function(Comparison::Equal, Type::INT4)];
        let kind = SubqueryKind::Quantified { left: vec![self.column(width)], operators, equality: true, all: false };
        Subquery { kind, plan: Arc::new(plan), correlated }.into()
    }

    /// A plan and how many columns it has.
    fn relation(&mut self, depth: u8) -> (Plan, usize) {
        if depth == 0 {
            return (scan(&self.tables[usize::from(self.pick(2))].clone()), 3);
        }
        match self.pick(10) {
            0 => (scan(&self.tables[usize::from(self.pick(2))].clone()), 3),
            1 | 2 => {
                let (input, width) = self.relation(depth - 1);
                let condition = self.condition(width, 0, 2);
                (filter(input, condition), width)
            }
            3..=6 => self.join(depth),
            7 => {
                let (input, width) = self.relation(depth - 1);
                let columns = vec![self.column(width), self.column(width), self.column(width)];
                (Plan::Project { input: Box::new(input), columns }, 3)
            }
            8 => self.groups(depth),
            _ => self.shared(depth),
        }
    }

    fn join(&mut self, depth: u8) -> (Plan, usize) {
        use JoinKind::*;
        let ((left, left_width), (right, right_width)) = (self.relation(depth - 1), self.relation(depth - 1));
        let kind = [Inner, Inner, Inner, Left, Left, Right, Full, Semi, Anti][usize::from(self.pick(9))];
        let width = left_width + right_width;
        if width > 24 {
            return (left, left_width);
        }
        let comma = kind == Inner && self.pick(2) == 0;
        let condition = (!comma).then(|| {
            let on = equal(self.column(left_width), column(left_width + usize::from(self.pick(right_width as u8))));
            if self.pick(2) == 0 {
                return on;
            }
            Expr::new(ExprKind::And(vec![on, self.condition(width, 0, 1)]), Type::BOOL)
        });
        let plan = join(kind, left, right, condition);
        (plan, if matches!(kind, Semi | Anti) { left_width } else { width })
    }

    fn groups(&mut self, depth: u8) -> (Plan, usize) {
        let (input, width) = self.relation(depth - 1);
        let keys = vec![self.column(width), self.column(width)];
        let sets = if self.pick(3) == 0 { vec![vec![0, 1], vec![0]] } else { vec![vec![0, 1]] };
        let largest = resolve_aggregate("max", &[Type::INT4]).expect("max").expect("max");
        let call = AggregateCall {
            aggregate: largest,
            arguments: vec![self.column(width)],
            distinct: false,
            filter: None,
            order: Vec::new(),
            grouping: None,
        };
        (Plan::Aggregate(Box::new(Aggregation { input, keys, sets, calls: vec![call] })), 3)
    }

    fn shared(&mut self, depth: u8) -> (Plan, usize) {
        let (query, width) = self.relation(depth - 1);
        self.ctes += 1;
        let number = self.ctes;
        let read = || Plan::CteScan { number };
        let (body, body_width) = if self.pick(2) == 0 || width > 8 {
            (read(), width)
        } else {
            let on = equal(self.column(width), column(width + usize::from(self.pick(width as u8))));
            let (lateral, equalities) = (false, Vec::new());
            let (kind, condition) = (JoinKind::Left, Some(on));
            let (left, right, left_width, right_width) = (read(), read(), width, width);
            let join = Join {
                kind,
                left,
                right,
                condition,
                lateral,
                left_width,
                right_width,
                equalities,
                keeps_order: false,
                builds_left: false,
            };
            (Plan::Join(Box::new(join)), 2 * width)
        };
        let condition = self.condition(body_width, 0, 1);
        let body = Box::new(filter(body, condition));
        (Plan::With { queries: vec![(number, Arc::new(query))], body }, body_width)
    }
}

/// Rows in an order of their own, for comparison.
fn sorted(rows: &[Row]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    texts.sort();
    texts
}

fn pairs() -> impl Strategy<Value = Vec<(Option<i32>, Option<i32>)>> {
    let value = || proptest::option::weighted(0.8, 0..6_i32);
    proptest::collection::vec((value(), value()), 0..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn improved_plans_give_the_same_rows(
        t in pairs(),
        u in pairs(),
        bytes in proptest::collection::vec(any::<u8>(), 8..160),
        sort in any::<bool>(),
    ) {
        let mut tables = Tables::new(&t, &u);
        let mut maker = Maker { bytes: bytes.iter(), tables: [tables.t.clone(), tables.u.clone()], ctes: 0 };
        let (input, width) = maker.relation(3);
        let condition = maker.condition(width, 0, 2);
        let mut plan = filter(input, condition);
        if sort {
            let mut key = by(usize::from(maker.pick(width as u8)));
            key.descending = maker.pick(2) == 0;
            key.nulls_first = maker.pick(2) == 0;
            plan = Plan::Sort { input: Box::new(plan), keys: vec![key] };
        }
        let better = optimize(plan.clone(), &Sizes::default());
        let expected = tables.fixture.try_rows(&plan).expect("rows");
        let found = tables.fixture.try_rows(&better).expect("rows");
        prop_assert_eq!(sorted(&found), sorted(&expected), "{:#?}", shape(&better));
        if let Plan::Sort { keys, .. } = &plan {
            let at = |rows: &[Row]| -> Vec<String> {
                let ExprKind::Column(column) = keys[0].expression.kind else { return Vec::new() };
                rows.iter().map(|row| format!("{:?}", row[column])).collect()
            };
            prop_assert_eq!(at(&found), at(&expected), "{:#?}", shape(&better));
        }
        // It can always be shown.
        prop_assert!(!shape(&better).is_empty());
    }
}

/// The lines of EXPLAIN.
fn shape(plan: &Plan) -> Vec<String> {
    let query = Query { plan: Arc::new(plan.clone()), fields: Vec::new(), locks: false };
    explain(&Statement::Query(query), Options::default())
}
