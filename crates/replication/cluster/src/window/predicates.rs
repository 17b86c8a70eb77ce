//! Predicates against the window: whatever transactions have written, a scan is refused exactly if one of them has changed its answer.

use super::*;
use env::Randomness;
use model::{ColumnType, Columns, Comparison, RowRef, Schema, Value, ValueRef};

const TABLE: TableId = TableId(3);
const IDS: u64 = 8;
const CLASS: u16 = 1;
const SIZE: u16 = 2;
const NAME: u16 = 3;

type State = BTreeMap<Key, RowBuf>;

fn schema() -> Schema {
    let table = Schema::table("t").column("id", ColumnType::Int).nullable("class", ColumnType::Int);
    let table = table.column("size", ColumnType::Int).nullable("name", ColumnType::Text);
    table.key(["id"]).build().expect("a good schema")
}

fn row(id: u64, class: Option<i64>, size: i64, name: Option<&str>) -> RowBuf {
    let class = class.map_or(ValueRef::Null, ValueRef::Int);
    let name = name.map_or(ValueRef::Null, ValueRef::Text);
    RowBuf::from_values(&[ValueRef::Int(id as i64), class, ValueRef::Int(size), name])
}

fn key(id: u64) -> Key {
    schema().key_of(row(id, None, 0, None).row())
}

fn at(instance: u64) -> Position {
    Position { instance, index: 0 }
}

/// A window, all states that its transactions have led to, and the rows of the state table for it.
struct Place {
    schema: Schema,
    window: Window,
    states: Vec<State>,
    stored: BTreeMap<Position, Vec<u8>>,
    /// Places whose rows are not kept.
    shortened: Vec<u64>,
}

impl Place {
    fn new(window_transactions: u64) -> Place {
        let limits = Limits { window_transactions, ..Limits::default() };
        Place {
            schema: schema(),
            window: Window::new(limits, Position::default()),
            states: vec![State::new()],
            stored: BTreeMap::new(),
            shortened: Vec::new(),
        }
    }

    fn now(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    /// Commits a transaction; `is_long`: as if it were too long for its rows to be kept.
    fn commit(&mut self, writes: &[(Key, Option<RowBuf>)], is_long: bool) {
        let mut state = self.states.last().expect("there is one").clone();
        let changes = writes.iter().map(|(key, after)| {
            let before = state.get(key).map(RowBuf::row);
            ((TABLE, key.clone()), Change::of(&self.schema, before, after.as_ref().map(RowBuf::row)))
        });
        let place = self.now() + 1;
        let origin = Origin { node: 0, life: 1 };
        let mut entry = Entry { position: at(place), place, origin, submission: place, writes: changes.collect() };
        if is_long {
            entry.writes.iter_mut().for_each(|(_, change)| change.strip());
            self.shortened.push(place);
        }
        self.stored.insert(entry.position, entry.encode());
        let keys: Vec<TableKey> = writes.iter().map(|(key, _)| (TABLE, key.clone())).collect();
        let rows = keys.iter().zip(writes.iter().map(|(_, row)| row));
        for forgotten in self.window.push(entry, rows) {
            self.stored.remove(&forgotten).expect("it was stored");
        }
        for (key, row) in writes {
            match row {
                Some(row) => _ = state.insert(key.clone(), row.clone()),
                None => _ = state.remove(key),
            }
        }
        self.states.push(state);
    }

    /// The window as another life reads it from the state.
    fn restarted(&self) -> Window {
        let mut window = Window::new(self.window.limits, self.window.floor());
        for (position, row) in &self.stored {
            window.restore(Entry::decode(*position, row).expect("it was written"));
        }
        let state = self.states.last().expect("there is one");
        window.restore_rows(|(_, key)| Ok(state.get(key).cloned())).expect("memory");
        window
    }

    /// Whether one of the transactions since a place has changed an answer.
    fn has_changed<T: PartialEq>(&self, base: u64, answer: impl Fn(&State) -> T) -> bool {
        let answers: Vec<T> = self.states[base as usize..].iter().map(answer).collect();
        answers.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// A scan, with columns that it reads of each row.
struct Asked {
    ids: (u64, u64),
    filter: Option<Predicate>,
    columns: Vec<u16>,
}

impl Asked {
    fn answer(&self, state: &State) -> Vec<(Key, RowBuf)> {
        let within = state.range(key(self.ids.0)..=key(self.ids.1));
        let passes = |row: RowRef<'_>| self.filter.as_ref().is_none_or(|filter| filter.matches(row));
        let shown = |(key, row): (&Key, &RowBuf)| (key.clone(), self.shown(row.row()));
        within.filter(|(_, row)| passes(row.row())).map(shown).collect()
    }

    fn shown(&self, row: RowRef<'_>) -> RowBuf {
        let mut shown = RowBuf::new();
        shown.project(row, Columns::Some(&self.columns));
        shown
    }

    fn read_set(&self) -> ReadSet {
        let bounds = (Bound::Included(key(self.ids.0)), Bound::Included(key(self.ids.1)));
        let mut read_set = ReadSet::default();
        let columns = ColumnSet::wanted(Columns::Some(&self.columns));
        read_set.add_range(Range::of(TABLE, bounds, self.filter.as_ref(), columns), 9).expect("one");
        read_set
    }
}

fn any_filter(random: &mut Randomness, depth: u64) -> Predicate {
    let size = Value::Int(random.in_range(0..4) as i64);
    match random.in_range(0..if depth == 0 { 5 } else { 8 }) {
        0 => Predicate::Compare(CLASS, Comparison::Equal, Value::Int(random.in_range(0..3) as i64)),
        1 => Predicate::Compare(SIZE, Comparison::GreaterOrEqual, size),
        2 => Predicate::IsNull(NAME),
        3 => Predicate::StartsWith(NAME, "a".into()),
        4 => Predicate::any_of(CLASS, vec![Value::Int(1), Value::Null]),
        5 => Predicate::And(vec![any_filter(random, depth - 1), any_filter(random, depth - 1)]),
        6 => Predicate::Or(vec![any_filter(random, depth - 1), any_filter(random, depth - 1)]),
        _ => Predicate::Not(Box::new(any_filter(random, depth - 1))),
    }
}

fn any_row(random: &mut Randomness, id: u64) -> RowBuf {
    let class = [None, Some(0), Some(1), Some(2)][random.in_range(0..4) as usize];
    let name = [None, Some("a"), Some("ab"), Some("b")][random.in_range(0..4) as usize];
    row(id, class, random.in_range(0..4) as i64, name)
}

/// A row with one column other than in another one, or none.
fn changed_row(random: &mut Randomness, id: u64, before: &RowBuf) -> RowBuf {
    let (column, other) = (random.in_range(1..5) as usize, any_row(random, id));
    let values: Vec<_> = (0..4).map(|at| if at == column { other.get(at) } else { before.get(at) }).collect();
    RowBuf::from_values(&values)
}

fn any_writes(random: &mut Randomness, state: &State) -> Vec<(Key, Option<RowBuf>)> {
    let count = 1 + random.in_range(0..2);
    let writes: BTreeMap<Key, Option<RowBuf>> = (0..count)
        .map(|_| {
            let id = random.in_range(0..IDS);
            let row = match (random.in_range(0..4), state.get(&key(id))) {
                (0, _) => None,
                (1 | 2, Some(before)) => Some(changed_row(random, id, before)),
                _ => Some(any_row(random, id)),
            };
            (key(id), row)
        })
        .collect();
    writes.into_iter().collect()
}

fn any_scan(random: &mut Randomness) -> Asked {
    let lower = random.in_range(0..IDS);
    Asked {
        ids: (lower, random.in_range(lower..IDS)),
        filter: random.chance(4, 5).then(|| any_filter(random, 2)),
        columns: (0..4).filter(|_| random.chance(1, 3)).collect(),
    }
}

/// The oracle knows every state: a read is refused exactly if one of the transactions since its base has changed its answer.
#[test]
fn a_read_is_refused_exactly_if_a_transaction_has_changed_its_answer() {
    let (mut refused, mut passed) = (0, 0);
    for seed in 0..10 {
        let mut random = Randomness::from_seed(seed);
        let mut place = Place::new(1 + random.in_range(0..FEW as u64 * 2));
        for _ in 0..150 {
            let writes = any_writes(&mut random, place.states.last().expect("there is one"));
            place.commit(&writes, false);
            let (restarted, floor) = (place.restarted(), place.window.floor().instance);
            assert_eq!(restarted, place.window, "seed {seed}: a later life has the same window");
            for _ in 0..4 {
                let base = random.in_range(floor..place.now() + 1);
                let scan = any_scan(&mut random);
                let expected = place.has_changed(base, |state| scan.answer(state));
                let checked = place.window.check(&scan.read_set(), at(base));
                let what =
                    || format!("seed {seed}, base {base}, now {}, {:?} of {:?}", place.now(), scan.filter, scan.ids);
                assert_eq!(checked.is_err(), expected, "{}", what());
                assert_eq!(restarted.check(&scan.read_set(), at(base)).is_err(), expected, "{}", what());
                *(if expected { &mut refused } else { &mut passed }) += 1;
                let id = scan.ids.0;
                let mut point = ReadSet::default();
                let columns = ColumnSet::wanted(Columns::Some(&scan.columns));
                point.add_point(TABLE, &key(id), None, columns, 9).expect("one");
                let expected = place.has_changed(base, |state| state.get(&key(id)).map(|row| scan.shown(row.row())));
                assert_eq!(place.window.check(&point, at(base)).is_err(), expected, "point, {}", what());
            }
        }
    }
    assert!(refused > 500 && passed > 500, "{refused} refused, {passed} passed");
}

/// Where rows are not kept, too many are refused and none too few; a later life decides alike.
#[test]
fn what_is_not_kept_refuses_more_and_never_less() {
    let mut coarser = 0;
    for seed in 0..8 {
        let mut random = Randomness::from_seed(seed);
        let mut place = Place::new(40);
        for _ in 0..100 {
            let writes = any_writes(&mut random, place.states.last().expect("there is one"));
            place.commit(&writes, random.chance(1, 4));
            let (restarted, floor) = (place.restarted(), place.window.floor().instance);
            assert_eq!(restarted, place.window, "seed {seed}: a later life has the same window");
            for _ in 0..4 {
                let base = random.in_range(floor..place.now() + 1);
                let scan = any_scan(&mut random);
                let is_refused = place.window.check(&scan.read_set(), at(base)).is_err();
                let has_changed = place.has_changed(base, |state| scan.answer(state));
                assert!(is_refused || !has_changed, "seed {seed}, base {base}: {:?} of {:?}", scan.filter, scan.ids);
                let is_known = place.shortened.last().is_none_or(|last| *last <= base);
                assert!(is_refused == has_changed || !is_known, "seed {seed}, base {base}: all rows are kept");
                coarser += usize::from(is_refused && !has_changed);
            }
        }
    }
    assert!(coarser > 100, "{coarser}");
}

fn sized(least: i64) -> Predicate {
    Predicate::Compare(SIZE, Comparison::GreaterOrEqual, Value::Int(least))
}

fn scan_of(filter: Predicate, columns: &[u16]) -> ReadSet {
    Asked { ids: (0, IDS), filter: Some(filter), columns: columns.to_vec() }.read_set()
}

#[test]
fn a_conflict_names_the_write_and_the_predicate() {
    let mut place = Place::new(9);
    place.commit(&[(key(1), Some(row(1, Some(1), 5, None)))], false);
    place.commit(&[(key(1), Some(row(1, Some(1), 2, None)))], false);
    place.commit(&[(key(1), Some(row(1, Some(7), 2, None)))], false);
    let conflict = *place.window.check(&scan_of(sized(5), &[CLASS]), at(1)).expect_err("it went");
    assert_eq!((conflict.rule, conflict.other), ("predicate-met", Some(2)));
    let abort = conflict.abort(model::Timestamp(9), |_| Some(std::sync::Arc::new(schema())));
    let told = abort.to_string();
    assert!(told.contains("key (id=1): updated, size from 5 to 2; read as range"), "{told}");
    assert!(told.contains("where size >= 5; other transaction T2"), "{told}");
}

/// A transaction that is too long for its rows to be remembered is remembered by its keys; one whose keys are too long ends the window.
#[test]
fn a_long_transaction_is_remembered_without_its_rows() {
    let mut place = Place::new(9);
    let name = "x".repeat(LONGEST_ENTRY as usize);
    place.commit(&[(key(1), Some(row(1, None, 1, None)))], false);
    let schema = schema();
    let after = row(2, None, 1, Some(&name));
    let change = Change::of(&schema, None, Some(after.row()));
    let writes = vec![((TABLE, key(2)), change)];
    let mut entry = Entry { position: at(2), place: 2, origin: Origin { node: 0, life: 1 }, submission: 2, writes };
    assert!(!entry.is_remembered());
    entry.shorten();
    assert!(entry.is_remembered() && entry.encode().len() < 100);
    place.window.push(entry, [(&(TABLE, key(2)), &Some(after))].into_iter());
    assert_eq!(place.window.entries().len(), 2);
    assert!(place.window.bytes() < 1000, "the row is not kept");
    assert!(place.window.check(&scan_of(sized(9), &[]), at(1)).is_err(), "the row may be any");
    assert!(place.window.check(&scan_of(sized(9), &[]), at(2)).is_ok());
}

/// Rows count towards the bytes of the window.
#[test]
fn rows_that_are_kept_make_the_window_shorter() {
    let limits = Limits { window_bytes: 1 << 14, ..Limits::default() };
    let mut place = Place { window: Window::new(limits, Position::default()), ..Place::new(1) };
    let name = "x".repeat(1000);
    (0..100).for_each(|at| place.commit(&[(key(at % 3), Some(row(at % 3, None, at as i64, Some(&name))))], false));
    assert!(place.window.bytes() <= 1 << 14 && place.window.entries().len() < 16);
    let kept: u64 = place
        .window
        .rows
        .values()
        .map(|it| it.now.iter().flatten().map(|row| row.bytes().len() as u64).sum::<u64>())
        .sum();
    assert!(kept <= place.window.bytes());
}

/// After so many comparisons the ranges count: too many are refused, and a certification ends.
#[test]
fn a_certification_compares_a_limited_number_of_writes() {
    let mut place = Place::new(9);
    place.commit(&[(key(1), Some(row(1, None, 1, None)))], false);
    let scan = Asked { ids: (0, IDS), filter: Some(sized(9)), columns: vec![] };
    let range = &scan.read_set().ranges[0];
    let (mut enough, mut few) = (MOST_COMPARED, 1);
    assert!(place.window.changed(range, at(0), &mut enough).is_none());
    assert_eq!(enough, MOST_COMPARED - 1);
    assert!(place.window.changed(range, at(0), &mut few).is_some());
}
