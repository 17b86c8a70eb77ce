//! Schemas: mistakes are named, valid ones survive encoding, keys and rows are checked against them.

use proptest::prelude::*;
use seriatim_model::{
    ColumnType, Columns, Comparison, Decoder, Delta, Invalid, Key, KeyKind, KeyReader, Malformed, Predicate, RowBuf,
    RowKind, RowRef, Schema, SchemaBuilder, Storage, Value, ValueRef,
};

fn orders() -> SchemaBuilder {
    Schema::table("orders")
        .column("order_id", ColumnType::Int)
        .column("product", ColumnType::Text)
        .nullable("shipped", ColumnType::Date)
        .column("price", ColumnType::Float)
        .key(["order_id", "product"])
}

fn mistake(builder: SchemaBuilder) -> String {
    builder.build().expect_err("a mistake").to_string()
}

#[test]
fn mistakes_are_named() {
    let one = || Schema::table("t").column("a", ColumnType::Int);
    let invalid = "the schema of table t is invalid: ";
    for (builder, what) in [
        (one().key(["b"]), "no column is called b"),
        (one().column("a", ColumnType::Text), "column a is defined twice"),
        (one().key(["a", "a"]), "a column is listed twice in the key"),
        (one().key([]), "a key needs at least one column"),
        (Schema::table("t"), "a table of typed rows needs at least one column"),
        (Schema::table("t").u64_key(), "a table of typed rows needs at least one column"),
        (Schema::bytes("t").column("a", ColumnType::Int), "a table of bytes has no columns"),
        (one().nullable("n", ColumnType::Int).key(["a", "n"]), "key column 1 must not be nullable"),
        (Schema::bytes("t").key(["a"]), "no column is called a"),
        (one().for_index(), "an index needs rows of bytes and ordered storage"),
        (Schema::bytes("t").for_index().storage(Storage::Hash), "an index needs rows of bytes and ordered storage"),
    ] {
        assert_eq!(mistake(builder), format!("{invalid}{what}"));
    }
}

#[test]
fn sizes_are_limited() {
    assert!(mistake(Schema::bytes("")).ends_with("a table's name has 1 to 63 bytes"));
    assert!(mistake(Schema::bytes("x".repeat(64))).ends_with("a table's name has 1 to 63 bytes"));
    assert!(Schema::bytes("x".repeat(63)).build().is_ok());
    let wide = |columns: usize| {
        (0..columns).fold(Schema::table("t"), |table, at| table.column(format!("c{at}"), ColumnType::Int))
    };
    assert!(wide(1600).build().is_ok());
    assert!(mistake(wide(1601)).ends_with("at most 1,600 columns"));
}

#[test]
fn names_lead_to_numbers() {
    let schema = orders().build().unwrap();
    assert_eq!((schema.column("shipped"), schema.column("nothing")), (Some(2), None));
    assert_eq!(schema.key(), &KeyKind::Columns(vec![0, 1]));
    assert_eq!((schema.rows(), schema.storage(), schema.name()), (RowKind::Typed, Storage::Ordered, "orders"));
}

fn order(id: i64, product: &str, shipped: Option<i32>) -> RowBuf {
    let shipped = shipped.map_or(ValueRef::Null, ValueRef::Date);
    RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Text(product), shipped, ValueRef::Float(1.5)])
}

#[test]
fn rows_are_held_against_their_schema() {
    let schema = orders().build().unwrap();
    let row = order(7, "tofu", None);
    let key = schema.key_of(row.row());
    assert_eq!(schema.check_row(&key, row.row()), Ok(()));
    let wrong = |values: &[ValueRef<'_>]| {
        schema.check_row(&key, RowBuf::from_values(values).row()).expect_err("a wrong row").to_string()
    };
    let (id, product, price) = (ValueRef::Int(7), ValueRef::Text("tofu"), ValueRef::Float(1.5));
    let unfit = "the row does not fit table orders: ";
    assert_eq!(wrong(&[id, product]), format!("{unfit}2 columns instead of 4"));
    assert_eq!(
        wrong(&[id, product, ValueRef::Null, ValueRef::Null]),
        format!("{unfit}NULL in column price, which is not nullable")
    );
    assert_eq!(
        wrong(&[id, product, ValueRef::Int(3), price]),
        format!("{unfit}bigint in column shipped, which is date")
    );
    assert_eq!(
        wrong(&[ValueRef::Int(8), product, ValueRef::Null, price]),
        format!("{unfit}its key columns differ from the key under which it is stored")
    );
    let junk = schema.check_row(&key, RowBuf::from_bytes(b"junk").row()).unwrap_err();
    assert_eq!(junk.to_string(), format!("{unfit}not a typed row"));
    let bytes = Schema::bytes("b").build().unwrap();
    assert_eq!(bytes.check_row(b"any", RowBuf::from_bytes(b"junk").row()), Ok(()));
}

#[test]
fn half_a_character_is_no_text_of_a_key() {
    let schema = orders().build().unwrap();
    let mut bytes = order(7, "tofu", None).bytes().to_vec();
    bytes.pop();
    bytes.push(0xc3);
    let key = Key::new().push_i64(7).push_bytes(&[b't', b'o', b'f', 0xc3]).clone();
    assert_eq!(schema.check_key(&key), Err(Invalid::Key { table: "orders".into() }));
    let unfit = "the row does not fit table orders: ";
    let row = RowRef::new(&bytes);
    assert_eq!(schema.check_row(&key, row).unwrap_err().to_string(), format!("{unfit}not a typed row"));
    assert_eq!(
        schema.check_row_to_store(&key, row).unwrap_err().to_string(),
        format!("{unfit}its key columns differ from the key under which it is stored")
    );
}

#[test]
fn keys_are_held_against_their_schema() {
    let schema = orders().build().unwrap();
    let key = schema.key_of(order(7, "tofu", None).row());
    assert_eq!(schema.check_key(&key), Ok(()));
    let refused = Err(Invalid::Key { table: "orders".into() });
    assert_eq!(schema.check_key(&key[..key.len() - 1]), refused);
    assert_eq!(schema.check_key(key.clone().push_raw(b"x")), refused);
    assert_eq!(schema.check_key(b""), refused);
    let integers = Schema::bytes("i").u64_key().build().unwrap();
    assert_eq!((integers.check_key(&[0; 8]).is_ok(), integers.check_key(&[0; 7]).is_ok()), (true, false));
    assert_eq!(Schema::bytes("b").build().unwrap().check_key(b""), Ok(()));
}

#[test]
fn columns_and_predicates_are_held_against_their_schema() {
    let schema = orders().build().unwrap();
    let none = Err(Invalid::Row { table: "orders".into(), what: "there is no column 4".into() });
    assert_eq!(schema.check_columns(Columns::Some(&[3, 0, 0])), Ok(()));
    assert_eq!(schema.check_columns(Columns::Some(&[0, 4])), none);
    assert_eq!(Schema::bytes("b").build().unwrap().check_columns(Columns::All), Ok(()));
    assert!(Schema::bytes("b").build().unwrap().check_columns(Columns::Some(&[0])).is_err());
    let bad = Predicate::IsNull(4);
    let compare = |column| Predicate::Compare(column, Comparison::Equal, Value::Null);
    for nested in [
        bad.clone(),
        compare(4),
        Predicate::StartsWith(4, String::new()),
        Predicate::Not(Box::new(bad.clone())),
        Predicate::And(vec![Predicate::True, bad.clone()]),
        Predicate::Or(vec![compare(3), bad]),
    ] {
        assert_eq!(schema.check_predicate(&nested), none, "{nested}");
    }
    assert_eq!(schema.check_predicate(&Predicate::Or(vec![compare(3), Predicate::IsNull(0)])), Ok(()));
}

#[test]
fn eight_byte_keys_are_known() {
    let keyed = |kind| Schema::table("t").column("a", kind).key(["a"]).build().unwrap().has_eight_byte_keys();
    use ColumnType::*;
    assert_eq!(
        [Int, Float, Timestamp, Date, Bool, Text, Bytes].map(keyed),
        [true, true, true, true, false, false, false]
    );
    assert!(!orders().build().unwrap().has_eight_byte_keys());
    assert!(Schema::bytes("t").u64_key().build().unwrap().has_eight_byte_keys());
    assert!(!Schema::bytes("t").build().unwrap().has_eight_byte_keys());
}

type Check = fn(&Schema, &[u8], RowRef<'_>) -> Result<(), Invalid>;

/// A table whose every column is one of the key.
fn all_key(kinds: &[ColumnType]) -> Schema {
    let names: Vec<String> = (0..kinds.len()).map(|at| format!("column{at}")).collect();
    let columns = names.iter().zip(kinds).fold(Schema::table("t"), |table, (name, &kind)| table.column(name, kind));
    columns.key(names.iter().map(String::as_str)).build().expect("a good schema")
}

/// A value of a type, zeros often among its bytes.
fn value_of(kind: ColumnType) -> BoxedStrategy<Value> {
    match kind {
        ColumnType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        ColumnType::Int => any::<i64>().prop_map(Value::Int).boxed(),
        ColumnType::Float => any::<f64>().prop_map(Value::Float).boxed(),
        ColumnType::Text => prop_oneof![any::<String>(), "[\\x00\\x01a]{0,4}"].prop_map(Value::Text).boxed(),
        ColumnType::Bytes => prop::collection::vec(0u8..3, 0..5).prop_map(Value::Bytes).boxed(),
        ColumnType::Date => any::<i32>().prop_map(Value::Date).boxed(),
        ColumnType::Timestamp => any::<i64>().prop_map(Value::Timestamp).boxed(),
    }
}

/// Values of two rows, which differ in at most one column.
fn two_rows_of_one_shape() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    prop::collection::vec(kind(), 1..4).prop_flat_map(|kinds| {
        let values: Vec<_> = kinds.iter().map(|&kind| value_of(kind)).collect();
        let other = (0..kinds.len()).prop_flat_map(move |at| (Just(at), value_of(kinds[at])));
        (values, other).prop_map(|(values, (at, other))| {
            let mut changed = values.clone();
            changed[at] = other;
            (values, changed)
        })
    })
}

fn kind() -> impl Strategy<Value = ColumnType> {
    (1u8..8).prop_map(|tag| ColumnType::from_tag(tag).expect("seven types"))
}

fn schema() -> impl Strategy<Value = Schema> {
    let columns = prop::collection::vec((kind(), any::<bool>()), 0..6);
    let shape = ("[a-zé]{1,20}", 0u8..3, 0u8..3);
    (shape, columns).prop_map(|((name, storage, key), columns)| {
        let mut builder = if columns.is_empty() { Schema::bytes(name) } else { Schema::table(name) };
        let named = |at: usize| format!("column{at}");
        for (at, &(kind, nullable)) in columns.iter().enumerate() {
            builder = if nullable { builder.nullable(named(at), kind) } else { builder.column(named(at), kind) };
        }
        let not_null: Vec<String> = (0..columns.len()).filter(|&at| !columns[at].1).map(named).collect();
        match key {
            0 => builder = builder.u64_key(),
            1 if !not_null.is_empty() => builder = builder.key(not_null.iter().map(String::as_str)),
            _ => {}
        }
        match storage {
            0 => builder = builder.storage(Storage::Hash),
            1 if columns.is_empty() => builder = builder.for_index(),
            _ => {}
        }
        builder.build().expect("a good schema")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn schemas_come_back(schema in schema(), behind in prop::collection::vec(any::<u8>(), 0..9)) {
        let mut bytes = Vec::new();
        schema.encode(&mut bytes);
        let length = bytes.len();
        bytes.extend_from_slice(&behind);
        let mut decoder = Decoder::new(&bytes);
        prop_assert_eq!(Schema::decode(&mut decoder), Ok(schema));
        prop_assert_eq!(decoder.take(behind.len()), Ok(&behind[..]), "it reads no further");
        for cut in 0..length {
            prop_assert_eq!(Schema::decode(&mut Decoder::new(&bytes[..cut])), Err(Malformed), "cut at {}", cut);
        }
    }

    /// Engines kept indexes in format 2. Their definitions behind a schema are passed on as they are.
    #[test]
    fn former_indexes_are_passed_on(
        schema in schema(),
        indexes in prop::collection::vec(("[a-z]{1,9}", any::<bool>(), prop::collection::vec(any::<u16>(), 0..3)), 1..4),
    ) {
        let mut definitions = Vec::new();
        for (name, unique, columns) in &indexes {
            definitions.extend_from_slice(&(name.len() as u32).to_le_bytes());
            definitions.extend_from_slice(name.as_bytes());
            definitions.push(u8::from(*unique));
            definitions.extend_from_slice(&(columns.len() as u16).to_le_bytes());
            columns.iter().for_each(|column| definitions.extend_from_slice(&column.to_le_bytes()));
        }
        let mut bytes = Vec::new();
        schema.encode(&mut bytes);
        prop_assert_eq!(bytes.split_off(bytes.len() - 2), [0, 0], "a schema of this version has none");
        bytes.extend_from_slice(&(indexes.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&definitions);
        let decoded = Schema::decode(&mut Decoder::new(&bytes)).expect("a schema");
        prop_assert_eq!(decoded.former_indexes(), (indexes.len() as u16, &definitions[..]));
        let mut again = Vec::new();
        decoded.encode(&mut again);
        prop_assert_eq!(again, bytes);
        prop_assert_eq!((decoded.name(), decoded.columns()), (schema.name(), schema.columns()));
    }

    /// Damaged bytes make no schema, or one that makes sense: it encodes and decodes, and its checks work.
    #[test]
    fn decoding_random_bytes_never_panics(
        schema in schema(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        random in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let _ = Schema::decode(&mut Decoder::new(&random));
        let mut bytes = Vec::new();
        schema.encode(&mut bytes);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(schema) = Schema::decode(&mut Decoder::new(&bytes)) {
            let _ = schema.check_key(&random);
            let _ = schema.check_row(&random, RowBuf::from_bytes(&random).row());
            let mut again = Vec::new();
            schema.encode(&mut again);
            prop_assert_eq!(Schema::decode(&mut Decoder::new(&again)), Ok(schema));
        }
    }

    /// What is compared in place is what encoding would have said.
    #[test]
    fn a_key_fits_exactly_if_its_components_can_be_read(
        kinds in prop::collection::vec(kind(), 1..4),
        bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff), Just(0xc3), Just(0xa9), any::<u8>()], 0..28),
    ) {
        let schema = all_key(&kinds);
        let mut reader = KeyReader::new(&bytes);
        let reads = kinds.iter().all(|&kind| reader.value(kind, false).is_ok()) && reader.rest().is_empty();
        prop_assert_eq!(schema.check_key(&bytes).is_ok(), reads);
    }

    #[test]
    fn a_row_fits_under_its_own_key_only((values, other) in two_rows_of_one_shape()) {
        let kinds: Vec<ColumnType> = values.iter().map(|value| value.as_ref().column_type().expect("not NULL")).collect();
        let schema = all_key(&kinds);
        let encoded = |values: &[Value]| {
            let mut key = Key::new();
            values.iter().for_each(|value| {
                key.push_value(value.as_ref(), false);
            });
            key
        };
        let row = RowBuf::from_values(&values.iter().map(Value::as_ref).collect::<Vec<_>>());
        let (key, other_key) = (encoded(&values), encoded(&other));
        prop_assert_eq!(&schema.key_of(row.row()), &key);
        for (check, name) in [(Schema::check_row as Check, "row"), (Schema::check_row_to_store, "row to store")] {
            prop_assert_eq!(check(&schema, &key, row.row()), Ok(()), "{}", name);
            prop_assert_eq!(check(&schema, &other_key, row.row()).is_ok(), key == other_key, "{}", name);
            prop_assert!(check(&schema, &key[..key.len() - 1], row.row()).is_err(), "{}", name);
            prop_assert!(check(&schema, key.clone().push_raw(b"x"), row.row()).is_err(), "{}", name);
        }
    }

    /// A row that fitted is checked after a change as any row is.
    #[test]
    fn a_changed_row_fits_exactly_if_it_would_from_outside(
        (id, product, shipped) in any::<(i64, String, Option<i32>)>(),
        changes in prop::collection::vec((0..4u16, prop_oneof![
            Just(Value::Null), any::<i64>().prop_map(Value::Int), any::<String>().prop_map(Value::Text),
            any::<i32>().prop_map(Value::Date), any::<f64>().prop_map(Value::Float),
        ]), 0..4),
    ) {
        let schema = orders().build().unwrap();
        let before = order(id, &product, shipped);
        let key = schema.key_of(before.row());
        let delta = changes.into_iter().fold(Delta::new(), |delta, (column, value)| delta.set(column, value));
        let mut after = RowBuf::new();
        schema.change(before.row(), &delta, &mut after).expect("these columns are there");
        prop_assert_eq!(schema.check_changed(&key, &delta, after.row()), schema.check_row(&key, after.row()));
    }

    /// What is held against a schema fits exactly if it can be read, and has the types of the schema.
    #[test]
    fn a_damaged_row_fits_exactly_if_it_can_be_read(
        (id, product, shipped) in any::<(i64, String, Option<i32>)>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 0..4),
    ) {
        let schema = orders().build().unwrap();
        let mut row = order(id, &product, shipped);
        for (at, bit) in flips {
            let at = at.index(row.bytes().len());
            row.bytes_mut()[at] ^= 1 << bit;
        }
        let (row, columns) = (row.row(), schema.columns());
        let is_typed = row.check().is_ok()
            && row.width() == columns.len()
            && columns.iter().enumerate().all(|(at, column)| row.kind(at).map_or(column.nullable, |kind| kind == column.kind));
        let key = if is_typed { schema.key_of(row) } else { Key::new() };
        prop_assert_eq!(schema.check_row(&key, row).is_ok(), is_typed);
    }

    #[test]
    fn the_key_of_a_row_fits(id: i64, product: String, shipped: Option<i32>) {
        let schema = orders().build().unwrap();
        let row = order(id, &product, shipped);
        let key = schema.key_of(row.row());
        prop_assert_eq!(schema.check_key(&key), Ok(()));
        prop_assert_eq!(schema.check_row(&key, row.row()), Ok(()));
        prop_assert!(schema.check_row(&Key::from_u64(0), row.row()).is_err());
    }
}
