//! Keys: the order of the bytes is the order of the values, and decoding returns the encoded values.

use proptest::prelude::*;
use seriatim_model::{ColumnType, Decoder, Key, KeyReader, Malformed, Value, ValueRef};
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

const TYPES: [ColumnType; 7] = [
    ColumnType::Bool,
    ColumnType::Int,
    ColumnType::Float,
    ColumnType::Text,
    ColumnType::Bytes,
    ColumnType::Date,
    ColumnType::Timestamp,
];

/// Values of one type, the awkward ones often.
fn value_of(kind: ColumnType) -> BoxedStrategy<Value> {
    let integers = || prop_oneof![any::<i64>(), -3i64..4, Just(i64::MIN), Just(i64::MAX)];
    match kind {
        ColumnType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        ColumnType::Int => integers().prop_map(Value::Int).boxed(),
        ColumnType::Timestamp => integers().prop_map(Value::Timestamp).boxed(),
        ColumnType::Date => prop_oneof![any::<i32>(), -3i32..4].prop_map(Value::Date).boxed(),
        ColumnType::Float => prop_oneof![
            any::<f64>(),
            any::<u64>().prop_map(f64::from_bits),
            prop::sample::select(vec![
                0.0,
                -0.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                -f64::NAN,
                f64::MIN_POSITIVE
            ]),
        ]
        .prop_map(Value::Float)
        .boxed(),
        ColumnType::Text => prop_oneof![any::<String>(), "[\\x00\\x01a]{0,4}"].prop_map(Value::Text).boxed(),
        ColumnType::Bytes => {
            let awkward = prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 0xfe, 0xff]), 0..5);
            prop_oneof![prop::collection::vec(any::<u8>(), 0..40), awkward].prop_map(Value::Bytes).boxed()
        }
    }
}

/// A column: its type, and whether it is nullable.
fn column() -> impl Strategy<Value = (ColumnType, bool)> {
    (prop::sample::select(&TYPES[..]), any::<bool>())
}

/// A value for the column, sometimes NULL where it may be.
fn value_in((kind, nullable): (ColumnType, bool)) -> BoxedStrategy<Value> {
    if nullable { prop_oneof![4 => value_of(kind), 1 => Just(Value::Null)].boxed() } else { value_of(kind) }
}

/// Columns of a composite key, and two rows for them, which agree in a prefix more often than chance would have it.
fn two_rows() -> impl Strategy<Value = (Vec<(ColumnType, bool)>, Vec<Value>, Vec<Value>)> {
    prop::collection::vec(column(), 1..5).prop_flat_map(|columns| {
        let row = || columns.iter().copied().map(value_in).collect::<Vec<_>>();
        let shared = 0..=columns.len();
        (Just(columns.clone()), row(), row(), shared).prop_map(|(columns, left, mut right, shared)| {
            right[..shared].clone_from_slice(&left[..shared]);
            (columns, left, right)
        })
    })
}

fn key(columns: &[(ColumnType, bool)], values: &[Value]) -> Key {
    let mut key = Key::new();
    for (&(_, nullable), value) in columns.iter().zip(values) {
        key.push_value(value.as_ref(), nullable);
    }
    key
}

/// The order that keys promise: NULL last, else as values compare.
fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        _ => left.as_ref().compare(right.as_ref()).expect("values of one type"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn keys_order_as_their_values((columns, left, right) in two_rows()) {
        let by_value = left.iter().zip(&right).map(|(left, right)| order(left, right)).find(|order| order.is_ne());
        prop_assert_eq!(key(&columns, &left).cmp(&key(&columns, &right)), by_value.unwrap_or(Ordering::Equal));
    }

    #[test]
    fn no_key_is_a_prefix_of_another((columns, left, right) in two_rows()) {
        let (left, right) = (key(&columns, &left), key(&columns, &right));
        prop_assert!(left == right || !left.starts_with(&right));
    }

    #[test]
    fn values_come_back((columns, values, _) in two_rows()) {
        let key = key(&columns, &values);
        let mut reader = KeyReader::new(&key);
        for (&(kind, nullable), value) in columns.iter().zip(&values) {
            let read = reader.value(kind, nullable).expect("a component that was written");
            prop_assert_eq!(order(&read, value), Ordering::Equal, "{:?} came back as {:?}", value, read);
        }
        prop_assert!(reader.rest().is_empty());
    }

    /// The keys that start with a prefix are those from the prefix to its successor.
    #[test]
    fn a_prefix_ends_at_its_successor(
        prefix in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0xfe, 0xff]), 0..4),
        other in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0xfe, 0xff]), 0..6),
    ) {
        let (prefix, other) = (Key::from_bytes(&prefix), Key::from_bytes(&other));
        let is_below = prefix.successor_of_prefix().is_none_or(|successor| other < successor);
        prop_assert_eq!(other.starts_with(&prefix), other >= prefix && is_below);
    }

    #[test]
    fn reading_random_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..40), columns in prop::collection::vec(column(), 0..5)) {
        let mut reader = KeyReader::new(&bytes);
        for (kind, nullable) in columns {
            if reader.value(kind, nullable).is_err() {
                break;
            }
        }
        let mut decoder = Decoder::new(&bytes);
        while decoder.text32().is_ok() {}
    }

    #[test]
    fn who_passes_over_a_component_checks_it_as_who_reads_it(
        bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(2), Just(0xff), Just(0xc3), Just(0xa9), any::<u8>()], 0..12),
        (kind, nullable) in column(),
    ) {
        let (mut reads, mut skips) = (KeyReader::new(&bytes), KeyReader::new(&bytes));
        let read = reads.value(kind, nullable);
        prop_assert_eq!(skips.skip(kind, nullable), read.as_ref().map(drop).map_err(|malformed| *malformed));
        prop_assert!(read.is_err() || skips.rest() == reads.rest());
    }

    #[test]
    fn integers_come_back(value: u64) {
        prop_assert_eq!(Key::to_u64(&Key::from_u64(value)), Some(value));
        prop_assert_eq!(Key::from(value), Key::from_u64(value));
        prop_assert_eq!(KeyReader::new(Key::new().push_u64(value)).u64(), Ok(value));
    }
}

#[test]
fn special_floats_have_one_key_each() {
    let key = |value| Key::new().push_f64(value).clone();
    assert_eq!(key(0.0), key(-0.0));
    assert_eq!(key(f64::NAN), key(-f64::NAN));
    assert!(key(f64::INFINITY) < key(f64::NAN));
    assert!(key(f64::NEG_INFINITY) < key(f64::MIN));
}

#[test]
fn a_prefix_of_all_ones_has_no_successor() {
    assert_eq!(Key::new().successor_of_prefix(), None);
    assert_eq!(Key::from_bytes(&[0xff, 0xff]).successor_of_prefix(), None);
    assert_eq!(Key::from_bytes(&[1, 0xff]).successor_of_prefix(), Some(Key::from_bytes(&[2])));
}

#[test]
#[should_panic = "NULL in a key component that is not nullable"]
fn null_needs_a_nullable_column() {
    Key::new().push_value(ValueRef::Null, false);
}

#[test]
fn what_was_not_written_is_malformed() {
    let cases: [(&[u8], ColumnType, bool); 7] = [
        (b"", ColumnType::Bool, false),
        (b"1234567", ColumnType::Int, false),
        (&[3], ColumnType::Bool, true),
        (b"not terminated", ColumnType::Text, false),
        (&[b'a', 0, 7], ColumnType::Bytes, false),
        (&[0xc3, 0, 1], ColumnType::Text, false),
        (&[0xff; 8], ColumnType::Date, false),
    ];
    for (bytes, kind, nullable) in cases {
        assert_eq!(KeyReader::new(bytes).value(kind, nullable), Err(Malformed), "{bytes:?} as {kind}");
    }
}

#[test]
fn keys_print_as_what_they_look_like() {
    for (key, text) in [
        (Key::from("order 7"), "'order 7'"),
        (Key::from_u64(7), "7"),
        (Key::from(&[0u8, 255][..]), "\\x00ff"),
        (Key::new(), "\\x"),
    ] {
        assert_eq!(format!("{key:?}"), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    /// Whether a key is short or long, and however it has grown, it is its bytes.
    #[test]
    fn a_key_is_its_bytes(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..6), other in prop::collection::vec(any::<u8>(), 0..60)) {
        let bytes = pieces.concat();
        let mut grown = Key::from_bytes(&other);
        grown.clear();
        pieces.iter().for_each(|piece| {
            grown.push_raw(piece);
        });
        let (key, other) = (Key::from_bytes(&bytes), Key::from_bytes(&other));
        prop_assert_eq!(&grown[..], &bytes[..]);
        prop_assert!(grown == key && hash(&grown) == hash(&key) && hash(&key) == hash(&bytes[..]));
        prop_assert_eq!(grown.cmp(&other), bytes[..].cmp(&other[..]));
        prop_assert_eq!(&grown.clone()[..], &bytes[..]);
        let successor = bytes.iter().rposition(|&byte| byte != u8::MAX).map(|last| {
            let mut successor = bytes[..=last].to_vec();
            successor[last] += 1;
            successor
        });
        prop_assert_eq!(grown.successor_of_prefix().map(|key| key.to_vec()), successor);
    }
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_key_can_be_cleared_and_used_again() {
    let mut key = Key::from_u64(7);
    key.clear();
    key.push_text("a").push_raw(b"b");
    assert_eq!(key[..], *b"a\x00\x01b");
}
