//! Sorts and joins over a source that threads share give what one thread gives.

mod common;

use common::Boundless;
use pgtypes::{Datum, Error, Numeric, Result, Row, Type, compare_typed};
use seriatim_vectors::aggregate::Grouping;
use seriatim_vectors::expression::Comparison;
use seriatim_vectors::flow::{Flow, Host, Kind, Ledger, Next, Operator, Piece, Stop, Work};
use seriatim_vectors::join::{JoinKind, JoinRule};
use seriatim_vectors::sort::SortKey;
use seriatim_vectors::spill::{Spilling, TemporaryFile, TemporaryFiles};
use seriatim_vectors::{Batch, Columns, Expression};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// Enough for a part of each thread in a sort.
const ROWS: usize = 40_000;
/// Enough for a part of each thread in a join.
const MOST: usize = 132_000;
/// Rows of a batch.
const PIECE: usize = 1_000;
const TYPES: [Type; 6] = [Type::INT8, Type::INT8, Type::FLOAT8, Type::NUMERIC, Type::TEXT, Type::BPCHAR];

/// A number, then values of it that repeat, NULL among them.
fn row(number: usize) -> Row {
    let spread = number.wrapping_mul(7_919) % 10_007;
    let float = match spread % 50 {
        0 => f64::NAN,
        1 => f64::NEG_INFINITY,
        2 => -0.0,
        3 => 0.0,
        other => other as f64 * if spread.is_multiple_of(2) { -1.5 } else { 1.5 },
    };
    let null = |every: usize, value: Datum| if spread.is_multiple_of(every) { Datum::Null } else { value };
    vec![
        Datum::Int8(number as i64),
        null(11, Datum::Int8(spread as i64 % 300 - 150)),
        null(13, Datum::Float8(float)),
        null(17, Datum::Numeric(Numeric::parse(&format!("{}.25", spread as i64 % 90 - 45)).expect("one"))),
        null(19, Datum::from(["", "a", "abcdefgh", "abcdefghi", "abcdefgh\u{1}", "ünï"][spread % 6])),
        null(23, Datum::from(["a", "a ", "b", "abcdefgh ", "abcdefgh"][spread % 5])),
    ]
}

/// Batches of the first rows.
fn made() -> &'static [Batch] {
    static MADE: OnceLock<Vec<Batch>> = OnceLock::new();
    MADE.get_or_init(|| {
        let rows: Vec<Row> = (0..MOST).map(row).collect();
        rows.chunks(PIECE).map(|rows| Batch::from_rows(rows, &TYPES)).collect()
    })
}

/// Rows of three sources, the last two alike, which several threads may take.
struct Rows {
    batches: [Arc<Vec<Batch>>; 3],
    is_shared: bool,
    /// What an operator may hold.
    bytes: Option<usize>,
    made: Arc<AtomicUsize>,
    next: [usize; 3],
    /// Whether rows are left out that are not sought, and how many were.
    sifts: bool,
    sifted: usize,
}

impl Rows {
    fn new(counts: [usize; 2], is_shared: bool) -> Rows {
        let [first, second] = counts;
        let batches = [first, second, second].map(|count| Arc::new(made()[..count / PIECE].to_vec()));
        Rows { batches, is_shared, bytes: None, made: Arc::default(), next: [0; 3], sifts: true, sifted: 0 }
    }
}

/// Files in memory.
struct Files(Arc<AtomicUsize>);

struct File(Vec<u8>);

impl TemporaryFiles for Files {
    fn create(&self) -> Result<Box<dyn TemporaryFile>> {
        self.0.fetch_add(1, Relaxed);
        Ok(Box::new(File(Vec::new())))
    }
}

impl TemporaryFile for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        assert_eq!(offset as usize, self.0.len());
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.copy_from_slice(&self.0[offset as usize..offset as usize + bytes.len()]);
        Ok(())
    }
}

impl Host for Rows {
    type Error = String;

    fn next(&mut self, source: usize) -> Result<Option<Box<dyn Piece>>, String> {
        let batch = self.batches[source].get(self.next[source]).cloned();
        self.next[source] += 1;
        Ok(batch.map(|batch| Box::new(batch) as Box<dyn Piece>))
    }

    fn share(&mut self, source: usize, work: &mut Work<'_, String>) -> Option<Result<(), Stop<String>>> {
        if !self.is_shared {
            return None;
        }
        let (batches, next) = (self.batches[source].clone(), Mutex::new(0));
        let take: &Next<'_, String> = &|| {
            let mut next = next.lock().expect("no panic");
            *next += 1;
            Ok(batches.get(*next - 1).cloned().map(|batch| Box::new(batch) as Box<dyn Piece>))
        };
        Some(work(take))
    }

    fn sift(&mut self, source: usize, column: usize, keys: &mut dyn Iterator<Item = i64>) {
        let keys: HashSet<i64> = keys.collect();
        let sought = |batch: &Batch| {
            let is = |row: &u32| batch.columns[column].get(*row as usize, TYPES[column]).as_i64();
            let rows: Vec<u32> =
                (0..batch.rows as u32).filter(|row| is(row).is_some_and(|value| keys.contains(&value))).collect();
            batch.gather(&rows)
        };
        let count = |batches: &[Batch]| batches.iter().map(|batch| batch.rows).sum::<usize>();
        if self.sifts {
            let left: Vec<Batch> = self.batches[source].iter().map(sought).collect();
            self.sifted += count(&self.batches[source]) - count(&left);
            self.batches[source] = Arc::new(left);
        }
    }

    fn ledger(&self) -> Arc<dyn Ledger<String>> {
        Arc::new(Boundless)
    }

    fn workers(&self) -> usize {
        3
    }

    fn spilling(&self) -> Option<Spilling> {
        Some(Spilling { files: Arc::new(Files(self.made.clone())), bytes: self.bytes? })
    }

    fn enter(&self) -> Arc<dyn Fn() + Send + Sync> {
        Arc::new(|| {})
    }
}

fn source(number: usize) -> Operator {
    Operator::new(Kind::Source(number), TYPES.to_vec())
}

fn rows(operator: Operator, host: &mut Rows) -> Vec<Row> {
    let types = operator.types.clone();
    let mut flow = Flow::start(operator, &Columns::first(types.len()), host).expect("a flow");
    let mut rows = Vec::new();
    while let Some(batch) = flow.next(host).expect("a batch") {
        rows.extend((0..batch.rows).map(|row| batch.row(row, &types)));
    }
    rows
}

fn number(row: &Row) -> i64 {
    row[0].as_i64().expect("each row has one")
}

#[test]
fn threads_sort_as_the_order_says() {
    let all: Vec<Row> = (0..ROWS).map(row).collect();
    for (at, descending, nulls_first) in (0..TYPES.len()).flat_map(|at| [(at, false, at == 1), (at, true, at != 2)]) {
        let compare = |left: &Row, right: &Row| {
            let order = match (left[at].is_null(), right[at].is_null()) {
                (false, false) => {
                    let order = compare_typed(TYPES[at], &left[at], &right[at]);
                    if descending { order.reverse() } else { order }
                }
                (left, right) if left == right => Ordering::Equal,
                (true, _) => {
                    if nulls_first {
                        Ordering::Less
                    } else {
                        Ordering::Greater
                    }
                }
                _ => {
                    if nulls_first {
                        Ordering::Greater
                    } else {
                        Ordering::Less
                    }
                }
            };
            order.then(number(left).cmp(&number(right)))
        };
        let mut expected = all.clone();
        expected.sort_by(compare);
        let expected: Vec<i64> = expected.iter().map(number).collect();
        let key = |at, descending, nulls_first| SortKey {
            expression: Expression::column(at, TYPES[at]),
            descending,
            nulls_first,
        };
        let keys = Arc::new(vec![key(at, descending, nulls_first), key(0, false, false)]);
        for (bound, is_shared, bytes) in [
            (None, true, None),
            (None, true, Some(1 << 20)),
            (Some(1), true, None),
            (Some(10), false, None),
            (Some(3_000), true, None),
            (Some(3_000), true, Some(1 << 18)),
            (Some(ROWS + 1), true, None),
        ] {
            // A whole sort takes long: of each type one.
            if bound.is_none_or(|bound| bound > ROWS) && descending != (at % 2 == 0) {
                continue;
            }
            let mut host = Rows { bytes, ..Rows::new([ROWS, 0], is_shared) };
            let sort = Kind::Sort(Box::new(source(0)), keys.clone(), bound);
            let found: Vec<i64> = rows(Operator::new(sort, TYPES.to_vec()), &mut host).iter().map(number).collect();
            let wanted = &expected[..bound.unwrap_or(ROWS).min(ROWS)];
            assert!(found == wanted, "column {at}, {descending}, {nulls_first}: {bound:?}, {is_shared}, {bytes:?}");
            assert_eq!(host.made.load(Relaxed) > 0, bytes.is_some(), "files with {bytes:?}");
        }
    }
}

/// Of equal rows, those that come first are the first.
#[test]
fn one_thread_sorts_stably() {
    let key =
        |at: usize| SortKey { expression: Expression::column(at, TYPES[at]), descending: true, nulls_first: false };
    let sort = |bound| Kind::Sort(Box::new(source(0)), Arc::new(vec![key(1)]), bound);
    let sorted = |bound| {
        let operator = Operator::new(sort(bound), TYPES.to_vec());
        rows(operator, &mut Rows::new([ROWS, 0], false)).iter().map(number).collect::<Vec<i64>>()
    };
    let mut expected: Vec<Row> = (0..ROWS).map(row).collect();
    expected.sort_by_key(|row| row[1].as_i64().map_or(i64::MAX, |value| -value));
    let expected: Vec<i64> = expected.iter().map(number).collect();
    assert!(sorted(None) == expected);
    assert!(sorted(Some(500)) == expected[..500]);
}

#[test]
fn threads_build_one_table() {
    let column = |at: usize| Expression::column(at, TYPES[at]);
    // Keys that each row has alone, that some share, and of several columns.
    let keys: [&[usize]; 3] = [&[0], &[1], &[0, 4]];
    for (keys, kind) in keys
        .iter()
        .flat_map(|keys| [JoinKind::Inner, JoinKind::Outer, JoinKind::Semi, JoinKind::Anti].map(|kind| (*keys, kind)))
    {
        let of_keys: Vec<Expression> = keys.iter().map(|at| column(*at)).collect();
        // The built side has enough rows for several threads; the other side as few as make the answer readable.
        let few = if keys == [1] { 60 } else { 3_000 };
        let is_few =
            Expression::compare(Comparison::Less, column(0), Expression::constant(&Datum::Int8(few), Type::INT8));
        let even = Expression::compare(Comparison::LessOrEqual, column(0), Expression::column(TYPES.len(), Type::INT8));
        for condition in [None, Some(even)] {
            let answer = |is_shared, bytes| {
                let built = if keys == [1] { 20_000 } else { MOST };
                let mut host = Rows { bytes, ..Rows::new([ROWS, built], is_shared) };
                let probing = Kind::Filter(Box::new(source(0)), is_few.clone());
                let probing = Box::new(Operator::new(probing, TYPES.to_vec()));
                let rule = JoinRule {
                    kind,
                    probe: of_keys.clone(),
                    build: of_keys.clone(),
                    condition: condition.clone(),
                    is_swapped: false,
                    built: TYPES.to_vec(),
                    keeps_order: false,
                };
                let types = match kind {
                    JoinKind::Inner | JoinKind::Outer => [TYPES, TYPES].concat(),
                    _ => TYPES.to_vec(),
                };
                let join = Operator::new(Kind::Join(probing, Box::new(source(1)), Arc::new(rule)), types.clone());
                // A sort on top leaves the order free.
                let by = |at: usize| SortKey {
                    expression: Expression::column(at, types[at]),
                    descending: false,
                    nulls_first: false,
                };
                let keys = if types.len() > TYPES.len() { vec![by(0), by(TYPES.len())] } else { vec![by(0)] };
                let sort = Kind::Sort(Box::new(join), Arc::new(keys), None);
                let found = rows(Operator::new(sort, types.clone()), &mut host);
                assert_eq!(host.made.load(Relaxed) > 0, bytes.is_some(), "files with {bytes:?}");
                found.iter().map(|row| format!("{row:?}")).collect::<Vec<String>>()
            };
            let expected = answer(false, None);
            assert!(kind != JoinKind::Inner || !expected.is_empty());
            assert!(answer(true, None) == expected, "{keys:?} {kind:?}");
            // Who asks only holds the keys alone.
            let bytes = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { 1 << 18 } else { 1 << 21 };
            assert!(answer(true, Some(bytes)) == expected, "{keys:?} {kind:?} with files");
        }
    }
}

/// A semi-join and an anti-join have one answer, whichever side is built. One of equal keys has NULL in some rows.
#[test]
fn either_side_of_a_semi_join_is_built() {
    let column = |at: usize| Expression::column(at, TYPES[at]);
    let keys: [&[usize]; 3] = [&[0], &[1], &[0, 4]];
    let kinds = [JoinKind::Semi, JoinKind::Anti];
    for (keys, kind) in keys.iter().flat_map(|keys| kinds.map(|kind| (*keys, kind))) {
        let of_keys: Vec<Expression> = keys.iter().map(|at| column(*at)).collect();
        let is_few =
            Expression::compare(Comparison::Less, column(0), Expression::constant(&Datum::Int8(3_000), Type::INT8));
        let before =
            Expression::compare(Comparison::LessOrEqual, Expression::column(TYPES.len(), Type::INT8), column(0));
        for condition in [None, Some(before)] {
            let answer = |is_swapped, is_shared| {
                // The left side ends behind the keys of the right one.
                let mut host = Rows::new([ROWS, 2_000], is_shared);
                let left = Kind::Filter(Box::new(source(0)), is_few.clone());
                let left = Box::new(Operator::new(left, TYPES.to_vec()));
                let rule = JoinRule {
                    kind,
                    probe: of_keys.clone(),
                    build: of_keys.clone(),
                    condition: condition.clone(),
                    is_swapped,
                    built: TYPES.to_vec(),
                    keeps_order: false,
                };
                let (probing, built) = match is_swapped {
                    false => (left, Box::new(source(1))),
                    true => (Box::new(source(1)), left),
                };
                let join = Operator::new(Kind::Join(probing, built, Arc::new(rule)), TYPES.to_vec());
                let mut found: Vec<String> = rows(join, &mut host).iter().map(|row| format!("{row:?}")).collect();
                found.sort();
                found
            };
            let expected = answer(false, false);
            assert!(!expected.is_empty() && expected.len() < ROWS, "{keys:?} {kind:?}");
            for is_shared in [false, true] {
                assert!(answer(true, is_shared) == expected, "{keys:?} {kind:?}, shared: {is_shared}");
            }
        }
    }
}

/// What is said of sought keys, which this host takes at its word, changes no answer: through joins of every kind on either side, filters,
/// projections and groups. It is said where it may leave out rows, and not where a row that is left out might fail, or stays without a
/// partner.
#[test]
fn sought_keys_change_no_answer() {
    let column = |at: usize| Expression::column(at, TYPES[at]);
    let few = |input: Operator, most: i64| {
        let is_few =
            Expression::compare(Comparison::Less, column(0), Expression::constant(&Datum::Int8(most), Type::INT8));
        Operator::new(Kind::Filter(Box::new(input), is_few), TYPES.to_vec())
    };
    let fails = || {
        let lane = |values: &[Datum]| Ok(values[0].clone());
        Expression::call(Arc::new(lane), false, vec![column(0)], Type::INT8)
    };
    let reordered = |input: Operator, first: Expression| {
        let columns = vec![first, column(1), column(0)];
        Operator::new(Kind::Project(Box::new(input), columns), vec![Type::INT8; 3])
    };
    let grouped = |input: Operator| {
        let grouping = Grouping { keys: vec![column(1), column(0)], calls: Vec::new(), is_padded: false };
        Operator::new(Kind::Aggregate(Box::new(input), Arc::new(grouping)), vec![Type::INT8; 2])
    };
    let joined = |kind, probing: Operator, built: Operator, (probe, build): (usize, usize), is_swapped| {
        let rule = JoinRule {
            kind,
            probe: vec![Expression::column(probe, Type::INT8)],
            build: vec![Expression::column(build, Type::INT8)],
            condition: None,
            is_swapped,
            built: built.types.clone(),
            keeps_order: false,
        };
        let types = match (kind, is_swapped) {
            (JoinKind::Semi | JoinKind::Anti, false) => probing.types.clone(),
            (JoinKind::Semi | JoinKind::Anti, true) => built.types.clone(),
            (_, false) => [&probing.types[..], &built.types].concat(),
            (_, true) => [&built.types[..], &probing.types].concat(),
        };
        Operator::new(Kind::Join(Box::new(probing), Box::new(built), Arc::new(rule)), types)
    };
    let inner = |probing: Operator, at| joined(JoinKind::Inner, probing, few(source(1), 60), (at, 0), false);
    type Make<'m> = Box<dyn Fn() -> Operator + 'm>;
    let mut plans: Vec<(&str, bool, Make<'_>)> = vec![
        ("filter", true, Box::new(|| inner(few(source(0), 5_000), 0))),
        ("column of the batch", true, Box::new(|| inner(source(0), 1))),
        ("projection", true, Box::new(|| inner(reordered(source(0), column(1)), 2))),
        ("projection that may fail", false, Box::new(|| inner(reordered(source(0), fails()), 2))),
        ("groups", true, Box::new(|| inner(grouped(source(0)), 1))),
    ];
    for kind in [JoinKind::Inner, JoinKind::Outer, JoinKind::Semi, JoinKind::Anti] {
        for is_swapped in [false, true] {
            let below = move || joined(kind, source(0), few(source(2), 900), (1, 0), is_swapped);
            let drops = kind == JoinKind::Inner || kind == JoinKind::Semi || (kind == JoinKind::Anti && is_swapped);
            plans.push(("join", drops, Box::new(below)));
            // Sought above by a column of the left side, and by one of the right.
            let width = below().types.len();
            for at in [0, 1, TYPES.len(), TYPES.len() + 1].into_iter().filter(|at| *at < width) {
                let of_built = (at < TYPES.len()) == is_swapped && width > TYPES.len();
                let passes = !(kind == JoinKind::Outer && of_built);
                plans.push((
                    "join below a join",
                    drops || passes,
                    Box::new(move || joined(JoinKind::Inner, below(), few(source(1), 60), (at, 0), false)),
                ));
            }
        }
    }
    for (number, (what, drops, plan)) in plans.iter().enumerate() {
        let answer = |sifts, is_shared| {
            let mut host = Rows { sifts, ..Rows::new([20_000, 2_000], is_shared) };
            let mut found: Vec<String> = rows(plan(), &mut host).iter().map(|row| format!("{row:?}")).collect();
            found.sort();
            (found, host.sifted)
        };
        let (expected, _) = answer(false, false);
        assert!(!expected.is_empty() || *what == "join below a join", "{what} {number}");
        for is_shared in [false, true] {
            let (found, sifted) = answer(true, is_shared);
            assert!(found == expected, "{what} {number}: {} rows for {}", found.len(), expected.len());
            assert_eq!(sifted > 0, *drops, "{what} {number}: {sifted} rows are left out");
        }
    }
}

/// An error of a key on any thread ends the flow.
#[test]
fn a_key_that_fails_ends_the_flow() {
    let lane = Arc::new(|a: &[Datum]| match a[0].as_i64() {
        Some(30_000) => Err(Error::new("22012", "division by zero")),
        _ => Ok(a[0].clone()),
    });
    let key = Expression::call(lane, true, vec![Expression::column(0, Type::INT8)], Type::INT8);
    let keys = Arc::new(vec![SortKey { expression: key, descending: true, nulls_first: false }]);
    let sort = Operator::new(Kind::Sort(Box::new(source(0)), keys, Some(5)), TYPES.to_vec());
    let mut host = Rows::new([ROWS, 0], true);
    assert!(
        matches!(Flow::start(sort, &Columns::first(TYPES.len()), &mut host), Err(Stop::Row(error)) if error.code() == "22012")
    );
}
