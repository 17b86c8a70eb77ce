use super::*;
use crate::catalog::Column;
use crate::types::{Array, Interval, Modifier, Numeric, Scalar, compare_typed, equal_typed, hash_typed};
use model::{Key, RowBuf};
use proptest::prelude::*;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

fn column(data_type: Type) -> Column {
    Column::plain(data_type.name(), data_type, Modifier::NONE)
}

/// Values of a type, many of them close to each other; now and then NULL.
fn values(data_type: Type) -> BoxedStrategy<Datum> {
    if data_type.is_array {
        let inner = values(Type::of(data_type.scalar));
        let scalar = data_type.scalar;
        return (prop::collection::vec(inner, 0..4), 0i32..2)
            .prop_map(move |(elements, lower_bound)| {
                let lower_bound = if elements.is_empty() { 1 } else { lower_bound };
                Datum::from(Array { element: scalar, lower_bound, elements })
            })
            .boxed();
    }
    let some = match data_type.scalar {
        Scalar::Bool => any::<bool>().prop_map(Datum::from).boxed(),
        Scalar::Int2 => any::<i16>().prop_map(Datum::from).boxed(),
        Scalar::Int4 => prop_oneof![any::<i32>(), -2..3i32].prop_map(Datum::from).boxed(),
        Scalar::Int8 => prop_oneof![any::<i64>(), -2..3i64].prop_map(Datum::from).boxed(),
        Scalar::Float4 => {
            prop_oneof![any::<f32>(), Just(-0.0), Just(0.0), Just(f32::NAN)].prop_map(Datum::from).boxed()
        }
        Scalar::Float8 => {
            prop_oneof![any::<f64>(), Just(-0.0), Just(0.0), Just(f64::NAN)].prop_map(Datum::from).boxed()
        }
        Scalar::Numeric => prop_oneof![
            8 => (-1_200i64..1_200, 0u32..6).prop_map(|(digits, scale)| Numeric::new(digits.into(), scale)),
            4 => (any::<i128>(), 0u32..60).prop_map(|(digits, scale)| Numeric::new(digits.into(), scale)),
            1 => prop_oneof![Just(Numeric::NaN), Just(Numeric::Infinity), Just(Numeric::NegativeInfinity)],
        ]
        .prop_map(Datum::from)
        .boxed(),
        Scalar::Bytea => prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..5)
            .prop_map(Datum::from)
            .boxed(),
        Scalar::Date => any::<i32>().prop_map(Datum::Date).boxed(),
        Scalar::Time => (0..86_400_000_000i64).prop_map(Datum::Time).boxed(),
        Scalar::Timestamp => any::<i64>().prop_map(Datum::Timestamp).boxed(),
        Scalar::Timestamptz => any::<i64>().prop_map(Datum::Timestamptz).boxed(),
        Scalar::Interval => prop_oneof![
            (any::<i32>(), any::<i32>(), any::<i64>()),
            (-2..3i32, -61..62i32, (-49..50i64).prop_map(|hours| hours * 3_600_000_000)),
        ]
        .prop_map(|(months, days, micros)| Datum::from(Interval { months, days, micros }))
        .boxed(),
        Scalar::Uuid => any::<[u8; 16]>().prop_map(|uuid| Datum::Uuid(Arc::new(uuid))).boxed(),
        Scalar::Oid => any::<u32>().prop_map(Datum::Oid).boxed(),
        _ => "[a b\u{0}é]{0,4}".prop_map(Datum::from).boxed(),
    };
    prop_oneof![9 => some, 1 => Just(Datum::Null)].boxed()
}

const ORDERED: [Scalar; 18] = [
    Scalar::Bool,
    Scalar::Int2,
    Scalar::Int4,
    Scalar::Int8,
    Scalar::Float4,
    Scalar::Float8,
    Scalar::Numeric,
    Scalar::Text,
    Scalar::Varchar,
    Scalar::Bpchar,
    Scalar::Bytea,
    Scalar::Date,
    Scalar::Time,
    Scalar::Timestamp,
    Scalar::Timestamptz,
    Scalar::Interval,
    Scalar::Uuid,
    Scalar::Oid,
];

fn any_type() -> impl Strategy<Value = Type> {
    (0..ORDERED.len(), any::<bool>()).prop_map(|(at, is_array)| Type { scalar: ORDERED[at], is_array })
}

fn two_values() -> impl Strategy<Value = (Type, Datum, Datum)> {
    any_type().prop_flat_map(|data_type| (Just(data_type), values(data_type), values(data_type)))
}

fn key(value: &Datum, data_type: Type) -> Key {
    let mut key = Key::new();
    push_key(&mut key, value, data_type).unwrap();
    key
}

fn hash(value: &Datum, data_type: Type) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_typed(data_type, value, &mut hasher);
    hasher.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn keys_order_as_values_do((data_type, a, b) in two_values()) {
        let order = compare_typed(data_type, &a, &b);
        prop_assert_eq!(key(&a, data_type).cmp(&key(&b, data_type)), order, "{} {:?} {:?}", data_type, a, b);
        if equal_typed(data_type, &a, &b) {
            prop_assert_eq!(hash(&a, data_type), hash(&b, data_type));
        }
    }

    #[test]
    fn keys_come_back_as_equal_values((data_type, a, b) in two_values()) {
        let mut both = key(&a, data_type);
        push_key(&mut both, &b, data_type).unwrap();
        let mut rest: &[u8] = &both;
        for value in [&a, &b] {
            let back = read_key(&mut rest, data_type).unwrap();
            prop_assert!(equal_typed(data_type, &back, value), "{} {:?} {:?}", data_type, value, back);
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn rows_come_back((data_type, a, b) in two_values()) {
        let columns = [column(data_type), column(Type::INT4), column(data_type), column(Type::TEXT)];
        let row = [a, Datum::Int4(7), b];
        let mut stored = RowBuf::new();
        encode_row(&row, &columns[..3], &mut stored).unwrap();
        stored.row().check().unwrap();
        let mut back = Vec::new();
        decode_row(stored.row(), &columns, None, &mut back).unwrap();
        prop_assert_eq!(format!("{:?}", &back[..3]), format!("{row:?}"));
        prop_assert!(back[3].is_null());
        decode_row(stored.row(), &columns, Some(&[1, 3]), &mut back).unwrap();
        prop_assert_eq!(format!("{back:?}"), "[Null, Int4(7), Null, Null]");
    }

    #[test]
    fn foreign_bytes_are_no_keys(data_type in any_type(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = read_key(&mut bytes.as_slice(), data_type);
    }
}

#[test]
fn integers_and_dates_have_keys_of_eight_bytes() {
    for (value, data_type) in [
        (Datum::Int2(-5), Type::INT2),
        (Datum::Int4(7), Type::INT4),
        (Datum::Int8(i64::MIN), Type::INT8),
        (Datum::Date(18_000), Type::DATE),
    ] {
        let key = eight_byte_key(&value).unwrap();
        let back = read_eight_byte_key(&key, data_type).unwrap();
        assert!(back.compare(&value).is_eq(), "{value:?}");
    }
    assert!(eight_byte_key(&Datum::Int4(-1)) < eight_byte_key(&Datum::Int4(1)));
    assert!(eight_byte_key(&Datum::Null).is_none());
}

#[test]
fn what_does_not_belong_is_refused() {
    let columns = [column(Type::INT4)];
    let error = encode_row(&[Datum::from("x")], &columns, &mut RowBuf::new()).unwrap_err();
    assert_eq!(error.code(), "XX000");
    assert_eq!(push_key(&mut Key::new(), &Datum::from("{}"), Type::JSON).unwrap_err().code(), "42883");
    let mut stored = RowBuf::new();
    encode_row(&[Datum::Int4(70_000)], &columns, &mut stored).unwrap();
    let error = decode_row(stored.row(), &[column(Type::INT2)], None, &mut Vec::new()).unwrap_err();
    assert_eq!(error.code(), "XX001");
}
