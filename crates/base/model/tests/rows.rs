//! Rows: decoding returns the encoded values, projections and deltas are exact, and damaged bytes are detected.

use proptest::prelude::*;
use seriatim_model::{Change, ColumnType, Columns, Delta, RawValue, RowBuf, RowRef, Value, ValueRef};

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("equal to itself", |it| !it.is_nan()).prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
        any::<i32>().prop_map(Value::Date),
        any::<i64>().prop_map(Value::Timestamp),
    ]
}

fn row_of(values: &[Value]) -> RowBuf {
    let mut row = RowBuf::new();
    row.set_values(values.iter().map(Value::as_ref));
    row
}

fn raw(value: &Value) -> RawValue<'_> {
    RawValue::of(value.as_ref())
}

fn values_of(row: RowRef<'_>) -> Vec<Value> {
    row.values().map(ValueRef::to_owned).collect()
}

/// Bytes that begin like a row of a few columns: random ones are mostly too short to get anywhere.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let flips = prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..4);
    let rows = (prop::collection::vec(value(), 0..5), flips, any::<prop::sample::Index>(), any::<bool>());
    let near = rows.prop_map(|(values, flips, cut, cuts)| {
        let mut bytes = row_of(&values).bytes().to_vec();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes
    });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..60), near]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn values_come_back(values in prop::collection::vec(value(), 0..8)) {
        let row = row_of(&values);
        prop_assert_eq!(row.row().check(), Ok(()));
        prop_assert_eq!(row.row().width(), values.len());
        prop_assert_eq!(values_of(row.row()), values);
    }

    #[test]
    fn a_row_that_is_filled_is_that_of_its_values(values in prop::collection::vec(value(), 0..8)) {
        let length = |value: &Value| if let RawValue::Bytes(bytes) = raw(value) { bytes.len() } else { 0 };
        let kind = |value: &Value| value.as_ref().column_type().unwrap_or(ColumnType::Int);
        let mut row = RowBuf::from_bytes(b"of before");
        let bytes = values.iter().map(length).sum();
        row.fill(values.len(), bytes, values.iter().map(|value| (kind(value), raw(value))));
        prop_assert_eq!(row.bytes().len(), RowBuf::typed_bytes(values.len(), bytes));
        prop_assert_eq!(row, row_of(&values));
    }

    #[test]
    fn a_checked_row_can_be_looked_into(bytes in damaged()) {
        let row = RowRef::new(&bytes);
        if row.check().is_ok() {
            let values = values_of(row);
            prop_assert_eq!(values.len(), row.width());
            let mut copy = RowBuf::new();
            copy.project(row, Columns::Some(&(0..row.width() as u16).collect::<Vec<_>>()));
            prop_assert_eq!(copy.row().check(), Ok(()));
            prop_assert!(copy.apply(row, &Delta::new()).is_ok());
        }
    }

    #[test]
    fn a_row_that_is_cut_is_noticed(values in prop::collection::vec(value(), 1..6), cut: prop::sample::Index) {
        let row = row_of(&values);
        let has_bytes = values.iter().any(|value| matches!(value, Value::Text(_) | Value::Bytes(_)));
        let needed = 2 + 9 * values.len();
        let cut = cut.index(if has_bytes { row.bytes().len() } else { needed });
        let all_there = values.iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.len()),
            Value::Bytes(bytes) => Some(bytes.len()),
            _ => None,
        });
        let all_there = needed + all_there.sum::<usize>();
        prop_assert_eq!(row.bytes().len(), all_there);
        let result = RowRef::new(&row.bytes()[..cut]).check();
        prop_assert!(cut == all_there || result.is_err());
    }

    #[test]
    fn projections_pick_columns(values in prop::collection::vec(value(), 1..8), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let row = row_of(&values);
        let picks: Vec<u16> = picks.iter().map(|pick| pick.index(values.len()) as u16).collect();
        let mut shown = RowBuf::from_bytes(b"what was there before");
        shown.project(row.row(), Columns::Some(&picks));
        let expected: Vec<Value> = picks.iter().map(|&column| values[usize::from(column)].clone()).collect();
        prop_assert_eq!(values_of(shown.row()), expected);
        shown.project(row.row(), Columns::All);
        prop_assert_eq!(&shown, &row);
        shown.project(row.row(), Columns::None);
        prop_assert!(shown.bytes().is_empty());
    }

    #[test]
    fn deltas_change_their_columns_and_no_other(values in prop::collection::vec(value(), 1..6), column: prop::sample::Index, new in value()) {
        let column = column.index(values.len());
        let mut row = RowBuf::new();
        row.apply(row_of(&values).row(), &Delta::new().set(column as u16, new.clone())).expect("the column is there");
        let mut expected = values;
        expected[column] = new;
        prop_assert_eq!(values_of(row.row()), expected.clone());
        prop_assert_eq!(row, row_of(&expected), "the bytes are those of a new row");
    }
}

/// A row of these values as somebody else might put it together: what stands behind the slots in another order, with gaps.
fn scrambled(values: &[Value], order: &[prop::sample::Index], gap: usize) -> Vec<u8> {
    let mut bytes = row_of(values).bytes().to_vec();
    let slots = 2 + values.len();
    let mut columns: Vec<usize> = (0..values.len()).collect();
    for (at, other) in order.iter().enumerate().take(values.len()) {
        columns.swap(at, other.index(values.len()));
    }
    bytes.truncate(slots + 8 * values.len());
    for column in columns {
        let behind = match &values[column] {
            Value::Text(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            _ => continue,
        };
        bytes.extend(std::iter::repeat_n(b'-', gap));
        let slot = bytes.len() as u64 | (behind.len() as u64) << 32;
        bytes[slots + 8 * column..][..8].copy_from_slice(&slot.to_le_bytes());
        bytes.extend_from_slice(behind);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// Changes in place make what decoding, changing and encoding makes.
    #[test]
    fn a_changed_row_is_that_of_the_changed_values(
        values in prop::collection::vec(value(), 1..8),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![value().prop_map(Change::Set), any::<i64>().prop_map(Change::Add)]), 0..6),
    ) {
        let (mut delta, mut expected) = (Delta::new(), Ok(values.clone()));
        for (column, change) in &changes {
            let column = column.index(values.len());
            delta = match change {
                Change::Set(new) => delta.set(column as u16, new.clone()),
                Change::Add(amount) => delta.add(column as u16, *amount),
            };
            let Ok(changed) = &mut expected else { continue };
            let new = match (change, &changed[column]) {
                (Change::Set(new), _) => Some(new.clone()),
                (Change::Add(amount), Value::Int(old)) => old.checked_add(*amount).map(Value::Int),
                (Change::Add(_), Value::Null) => Some(Value::Null),
                (Change::Add(_), _) => None,
            };
            match new {
                Some(new) => changed[column] = new,
                None => expected = Err(column as u16),
            }
        }
        let mut row = RowBuf::from_bytes(b"what was there before");
        let applied = row.apply(row_of(&values).row(), &delta).map(|()| row.clone());
        prop_assert_eq!(applied, expected.map(|values| row_of(&values)));
    }

    #[test]
    fn a_row_in_another_order_is_changed_too(
        values in prop::collection::vec(value(), 1..6),
        order in prop::collection::vec(any::<prop::sample::Index>(), 5),
        gap in 0usize..3,
        column: prop::sample::Index,
        new in value(),
    ) {
        let bytes = scrambled(&values, &order, gap);
        prop_assert_eq!(RowRef::new(&bytes).check(), Ok(()));
        let (mut row, mut expected) = (RowBuf::new(), values);
        let column = column.index(expected.len());
        row.apply(RowRef::new(&bytes), &Delta::new().set(column as u16, new.clone())).expect("the column is there");
        expected[column] = new;
        prop_assert_eq!(row.row().check(), Ok(()));
        prop_assert_eq!(values_of(row.row()), expected);
    }
}

#[test]
fn additions_apply_in_order_and_refuse_overflow() {
    let row = row_of(&[Value::Int(i64::MAX - 1), Value::Null, Value::from("text")]);
    let apply = |delta: Delta| {
        let mut new = RowBuf::new();
        new.apply(row.row(), &delta).map(|()| values_of(new.row()))
    };
    assert_eq!(apply(Delta::new().add(0, 1)).map(|it| it[0].clone()), Ok(Value::Int(i64::MAX)));
    assert_eq!(apply(Delta::new().set(0, 1i64).add(0, 2)).map(|it| it[0].clone()), Ok(Value::Int(3)));
    assert_eq!(apply(Delta::new().add(1, 5)).map(|it| it[1].clone()), Ok(Value::Null), "NULL stays NULL");
    assert_eq!(apply(Delta::new().add(0, 2)), Err(0), "overflow");
    assert_eq!(apply(Delta::new().add(2, 1)), Err(2), "a text");
    assert_eq!(apply(Delta::new().set(3, true)), Err(3), "no such column");
    assert_eq!(Delta::new().add(2, 1).changes(), [(2, Change::Add(1))]);
}

#[test]
fn what_is_no_row_is_noticed() {
    let good = row_of(&[Value::from("é")]);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.bytes().to_vec();
        bytes[at] = byte;
        RowRef::new(&bytes).check().is_err()
    };
    assert_eq!(good.bytes().len(), 2 + 1 + 8 + 2);
    assert!(with(0, 2), "more columns than bytes");
    assert!(with(2, 8), "no such type");
    assert!(with(3, 12), "an offset that leaves less than the length");
    assert!(with(7, 3), "a length beyond the end");
    assert!(with(12, b'a'), "half a character");
    assert!(with(10, 1), "a length of more than 2^24");
    assert!(RowRef::new(&[]).check().is_err());
    assert!(RowRef::new(&[0]).check().is_err());
    assert!(RowRef::new(&[0, 0]).check().is_ok(), "a row of no columns");
}

#[test]
#[should_panic = "column 1 of a row of 1"]
fn a_column_that_is_not_there_is_a_bug() {
    RowBuf::from_values(&[ValueRef::Int(1)]).get(1);
}

#[test]
fn types_have_their_tags_and_names() {
    for tag in 0..=u8::MAX {
        assert_eq!(ColumnType::from_tag(tag).map(|kind| kind as u8), (1..=7).contains(&tag).then_some(tag));
    }
    let names = (1..=7).filter_map(ColumnType::from_tag).map(|kind| kind.to_string()).collect::<Vec<_>>();
    assert_eq!(names, ["boolean", "bigint", "double precision", "text", "bytea", "date", "timestamp"]);
}
