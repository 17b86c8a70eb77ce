use super::*;
use crate::text::to_string;
use proptest::prelude::*;

/// `type|text|hex`, as PostgreSQL 15's send functions answer.
const CASES: &str = r"boolean|t|01
smallint|-2|fffe
integer|1|00000001
bigint|1|0000000000000001
real|1.5|3fc00000
double precision|1.5|3ff8000000000000
numeric|0|0000000000000000
numeric|1.50|0002000000000002000113 88
numeric|-12345.678|00030001400000030001 0929 1a7c
numeric|10000|0001000100000000 0001
numeric|0.0001|0001ffff00000004 0001
numeric|NaN|00000000c0000000
text|abc|616263
bytea|\x00ff|00ff
date|2000-01-02|00000001
date|infinity|7fffffff
time|00:00:01|00000000000f4240
timestamp|2000-01-01 00:00:01|00000000000f4240
timestamptz|1999-12-31 23:59:59+00|fffffffffff0bdc0
interval|1 mon 2 days 00:00:01|00000000000f42400000000200000001
uuid|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|a0eebc999c0b4ef8bb6d6bb9bd380a11
jsonb|[1]|015b315d
oid|4294967295|ffffffff
integer[]|{1,NULL}|0000000100000001000000170000000200000001 0000000400000001 ffffffff
integer[]|{}|000000000000000000000017";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn binary_forms_are_those_of_postgresql() {
    for case in CASES.lines() {
        let [name, text, bytes] = case.split('|').collect::<Vec<_>>()[..] else { panic!("{case}") };
        let data_type = Type::parse_name(name).unwrap();
        let value = parse(text, data_type, Modifier::NONE, &Styles::default()).unwrap();
        let mut sent = Vec::new();
        send(&value, data_type, Encoding::Utf8, &mut sent).unwrap();
        assert_eq!(sent, hex(bytes), "{case}");
        let back = receive(&sent, data_type, Encoding::Utf8).unwrap();
        let shown = |value: &Datum| to_string(value, data_type, &Styles::default());
        assert_eq!(shown(&back), shown(&value), "{case}");
    }
}

#[test]
fn malformed_bytes_are_refused() {
    let cases = [
        (Type::INT4, "0000", "08P01"),
        (Type::INT4, "0000000000", "22P03"),
        (Type::TEXT, "ff", "22021"),
        (Type::TEXT, "6100", "22021"),
        (Type::NUMERIC, "0001000000000000 2710", "22P03"),
        (Type::NUMERIC, "0000000012340000", "22P03"),
        (Type::array_of(Scalar::Int4), "0000000100000000000000177fffffff00000001", "08P01"),
        (Type::array_of(Scalar::Int4), "000000070000000000000017", "54000"),
        (Type::array_of(Scalar::Int4), "000000000000000000000019", "42804"),
    ];
    for (data_type, bytes, code) in cases {
        assert_eq!(receive(&hex(bytes), data_type, Encoding::Utf8).unwrap_err().code(), code, "{data_type} {bytes}");
    }
}

#[test]
fn records_carry_the_types_of_their_fields() {
    let mut sent = Vec::new();
    send(&Datum::from(vec![Datum::Int4(1), Datum::Null]), Type::RECORD, Encoding::Utf8, &mut sent).unwrap();
    assert_eq!(sent, hex("00000002 00000017 00000004 00000001 00000019 ffffffff"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..48)) {
        for data_type in Type::all() {
            if let Ok(value) = receive(&bytes, data_type, Encoding::Utf8) {
                let mut sent = Vec::new();
                send(&value, data_type, Encoding::Utf8, &mut sent).unwrap();
            }
        }
    }

    #[test]
    fn numbers_come_back(digits: i128, scale in 0u32..60) {
        let number = Numeric::new(digits.into(), scale);
        let mut sent = Vec::new();
        send(&number.clone().into(), Type::NUMERIC, Encoding::Utf8, &mut sent).unwrap();
        let back = receive(&sent, Type::NUMERIC, Encoding::Utf8).unwrap();
        prop_assert_eq!(to_string(&back, Type::NUMERIC, &Styles::default()), number.to_string());
    }
}

const TEXTS: Type = Type::array_of(Scalar::Text);

#[test]
fn texts_are_sent_and_received_in_the_encoding() {
    let value = parse("{é,NULL}", TEXTS, Modifier::NONE, &Styles::default()).unwrap();
    let mut sent = Vec::new();
    send(&value, TEXTS, Encoding::Latin1, &mut sent).unwrap();
    assert_eq!(sent, hex("000000010000000100000019 0000000200000001 00000001 e9 ffffffff"));
    let back = receive(&sent, TEXTS, Encoding::Latin1).unwrap();
    assert_eq!(to_string(&back, TEXTS, &Styles::default()), "{é,NULL}");
    assert_eq!(receive(&sent, TEXTS, Encoding::Utf8).unwrap_err().code(), "22021");
    let euro = Datum::from("€");
    assert_eq!(send(&euro, Type::TEXT, Encoding::Latin1, &mut Vec::new()).unwrap_err().code(), "22P05");
}
