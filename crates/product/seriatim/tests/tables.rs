//! Tables of structs, of bytes and of run-time shapes, against a `BTreeMap` where there is one to compare with.

use seriatim::{
    BytesTable, Change, ColumnType, Database, Date, DateTime, Engine, Error, Invalid, LimitKind, Schema, Value,
    ValueRef, record,
};
use std::collections::BTreeMap;
use std::ops::Bound;

record! {
    /// Every kind of field there is.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Everything {
        id: i64,
        flag: bool,
        small: i32,
        unsigned: u32,
        float: f64,
        text: String,
        bytes: Vec<u8>,
        date: Date,
        moment: DateTime,
        maybe: Option<String>,
        maybe_date: Option<Date>,
    }
    table "everything";
    key (id);
    index by_maybe (maybe);
    index by_flag_and_small (flag, small);
    unique by_text (text);
}

fn everything(id: i64) -> Everything {
    Everything {
        id,
        flag: id % 2 == 0,
        small: -(id as i32),
        unsigned: u32::MAX - id as u32,
        float: id as f64 / 3.0,
        text: format!("text {id}"),
        bytes: vec![0, 255, id as u8],
        date: Date { days: id as i32 * 1000 },
        moment: DateTime { micros: -id },
        maybe: (id % 3 == 0).then(|| "third".to_owned()),
        maybe_date: (id % 3 == 1).then_some(Date { days: 1 }),
    }
}

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Detail {
        order: i64,
        product: String,
        quantity: i64,
    }
    table "details";
    key (order, product);
    index by_product (product);
}

fn detail(order: i64, product: &str, quantity: i64) -> Detail {
    Detail { order, product: product.into(), quantity }
}

#[test]
fn a_struct_comes_back_as_it_went_in() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let table = db.table::<Everything>()?;
    db.run(|txn| (1..=9).try_for_each(|id| table.insert(txn, &everything(id))))?;
    db.read(|at| {
        for id in 1..=9 {
            assert_eq!(table.get(at, id)?, Some(everything(id)));
        }
        assert_eq!(table.get(at, 10)?, None);
        assert_eq!(table.len(at)?, 9);
        assert!(table.contains(at, 9)? && !table.contains(at, 0)? && !table.is_empty(at)?);
        assert_eq!(table.first(at)?, Some(everything(1)));
        assert_eq!(table.last(at)?, Some(everything(9)));
        Ok(())
    })
}

#[test]
fn the_stored_schema_is_what_the_struct_says() -> Result<(), Error> {
    let db = Database::in_memory()?;
    db.table::<Everything>()?;
    let schema = &db.tables()[0];
    let columns: Vec<_> = schema.columns().iter().map(|c| (c.name.as_str(), c.kind, c.nullable)).collect();
    assert_eq!(columns[0], ("id", ColumnType::Int, false));
    assert_eq!(columns[3], ("unsigned", ColumnType::Int, false));
    assert_eq!(columns[8], ("moment", ColumnType::Timestamp, false));
    assert_eq!(columns[10], ("maybe_date", ColumnType::Date, true));
    let indexes: Vec<_> = schema.indexes().iter().map(|i| (i.name.as_str(), i.unique, i.columns.clone())).collect();
    assert_eq!(
        indexes,
        [("by_maybe", false, vec![9]), ("by_flag_and_small", false, vec![1, 2]), ("by_text", true, vec![5])]
    );
    Ok(())
}

#[test]
fn indexes_find_what_their_columns_say() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let table = db.table::<Everything>()?;
    db.run(|txn| (1..=9).try_for_each(|id| table.insert(txn, &everything(id))))?;
    let ids = |records: seriatim::Records<'_, Everything>| {
        records.map(|record| Ok(record?.id)).collect::<Result<Vec<i64>, Error>>()
    };
    db.read(|at| {
        let by_maybe = table.by(Everything::by_maybe());
        assert_eq!(ids(by_maybe.equal(at, Some("third")))?, [3, 6, 9]);
        assert_eq!(ids(by_maybe.equal(at, None::<&str>))?, [1, 2, 4, 5, 7, 8], "NULL can be looked for");
        assert_eq!(ids(by_maybe.iter(at))?, [3, 6, 9, 1, 2, 4, 5, 7, 8], "NULL comes last");

        let by_pair = table.by(Everything::by_flag_and_small());
        assert_eq!(ids(by_pair.prefix(at, (true,)))?, [8, 6, 4, 2], "in the order of the second column");
        assert_eq!(ids(by_pair.range(at, (true, -6)..=(true, -4)))?, [6, 4]);
        assert_eq!(ids(by_pair.range(at, (true, -6)..(true, -4)))?, [6]);
        let behind = (Bound::Excluded((true, -6)), Bound::Unbounded);
        assert_eq!(ids(by_pair.range(at, behind))?, [4, 2], "a bound left out leaves out all its entries");
        assert_eq!(by_pair.range(at, ..(true, -6)).next_back().unwrap()?.id, 8);

        let by_text = table.by(Everything::by_text());
        assert_eq!(by_text.get(at, "text 7")?, Some(everything(7)));
        assert_eq!(by_text.get(at, "text")?, None, "a prefix of a text is another text");
        Ok(())
    })?;
    db.run(|txn| {
        table.update(txn, 3, |record| record.maybe = None)?;
        table.delete(txn, 6)?;
        assert_eq!(ids(table.by(Everything::by_maybe()).equal(txn, Some("third")))?, [9], "own writes are seen");
        Ok(())
    })
}

#[test]
fn composite_keys_order_by_their_parts() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let details = db.table::<Detail>()?;
    db.run(|txn| {
        for (order, product) in [(2, "a"), (1, "b"), (1, ""), (-5, "z"), (1, "a\0b"), (1, "a")] {
            details.insert(txn, &detail(order, product, 1))?;
        }
        Ok(())
    })?;
    let keys = |records: &mut dyn Iterator<Item = Result<Detail, Error>>| {
        records.map(|record| record.map(|r| (r.order, r.product))).collect::<Result<Vec<_>, Error>>()
    };
    db.read(|at| {
        let all = [(-5, "z"), (1, ""), (1, "a"), (1, "a\0b"), (1, "b"), (2, "a")].map(|(o, p)| (o, p.to_owned()));
        assert_eq!(keys(&mut details.iter(at))?, all);
        assert_eq!(keys(&mut details.prefix(at, (1,)))?, all[1..5]);
        assert_eq!(keys(&mut details.range(at, (1, "a")..(1, "b")))?, all[2..4]);
        assert_eq!(
            keys(&mut details.range(at, (1, "a")..=(1, "b")).rev())?,
            all[2..5].iter().rev().cloned().collect::<Vec<_>>()
        );
        assert_eq!(details.by(Detail::by_product()).equal(at, "a").count(), 2);
        assert_eq!(details.get(at, &(1, "b"))?.unwrap().quantity, 1);
        Ok(())
    })
}

#[test]
fn updates_return_what_the_record_became_and_keep_its_key() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let details = db.table::<Detail>()?;
    db.run(|txn| details.put(txn, &detail(1, "a", 5)))?;
    let became = db.run(|txn| details.update(txn, (1, "a"), |d| d.quantity += 2))?;
    assert_eq!(became, Some(detail(1, "a", 7)));
    assert_eq!(db.run(|txn| details.update(txn, (1, "b"), |d| d.quantity += 2))?, None);
    let error = db.run(|txn| details.update(txn, (1, "a"), |d| d.order = 2)).unwrap_err();
    assert!(matches!(error, Error::Invalid(Invalid::Key { ref table }) if table == "details"), "{error}");
    assert!(db.run(|txn| details.delete(txn, (1, "a")))?);
    assert!(!db.run(|txn| details.delete(txn, (1, "a")))?);
    Ok(())
}

/// Ranges of every kind, walked from both ends in a fixed mixture, over more rows than one fetch takes.
#[test]
fn byte_tables_are_ordered_maps() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let table: BytesTable<u64> = db.bytes_table("numbers")?;
    let mut twin = BTreeMap::new();
    db.run(|txn| {
        for number in 0..3_000u64 {
            let key = number * 7 % 3_001;
            let value = vec![number as u8; (number % 50) as usize];
            table.put(txn, key, &value)?;
            twin.insert(key, value);
        }
        Ok(())
    })?;
    let entries = |entries: &mut dyn Iterator<Item = Result<(u64, Vec<u8>), Error>>| {
        entries.collect::<Result<Vec<_>, Error>>().unwrap()
    };
    let expected =
        |range: (Bound<u64>, Bound<u64>)| twin.range(range).map(|(k, v)| (*k, v.clone())).collect::<Vec<_>>();
    let at = db.snapshot()?;
    use Bound::{Excluded, Included, Unbounded};
    for range in [
        (Unbounded, Unbounded),
        (Included(17), Excluded(1_234)),
        (Excluded(17), Included(1_234)),
        (Included(2_990), Unbounded),
        (Unbounded, Included(0)),
        (Excluded(5), Excluded(6)),
    ] {
        let forward = expected(range);
        assert_eq!(entries(&mut table.range(&at, range)), forward, "{range:?}");
        let backward: Vec<_> = forward.iter().rev().cloned().collect();
        assert_eq!(entries(&mut table.range(&at, range).rev()), backward, "{range:?}");
        let (mut both, mut expected) = (table.range(&at, range), forward.into_iter());
        for step in 0.. {
            // Two from the front for each one from the back, so that both ends fetch and the middle is met.
            let (seen, wanted) = match step % 3 {
                2 => (both.next_back(), expected.next_back()),
                _ => (both.next(), expected.next()),
            };
            assert_eq!(seen.transpose()?, wanted, "step {step} of {range:?}");
            if wanted.is_none() {
                break;
            }
        }
        assert!(both.next().is_none() && both.next_back().is_none(), "it stays at its end");
    }
    let (low, high) = (3, 9);
    assert_eq!(table.range(&at, high..low).count(), 0, "a range that ends before it starts is empty");
    assert_eq!(table.range(&at, ..).count(), 3_000);
    assert_eq!(table.first(&at)?.unwrap().0, 0);
    assert_eq!(table.last(&at)?.unwrap().0, 3_000);
    Ok(())
}

#[test]
fn byte_keys_are_compared_as_bytes() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let table: BytesTable = db.bytes_table("bytes")?;
    db.run(|txn| {
        table.put(txn, "", "the empty key")?;
        table.put(txn, b"a", "1")?;
        table.put(txn, [b'a', 0], "2")?;
        table.put(txn, "ab".to_owned(), "3")?;
        table.put(txn, vec![0xff, 0xff], "4")?;
        table.insert(txn, "b", "")
    })?;
    db.read(|at| {
        let keys = |entries: seriatim::Entries<'_, [u8]>| entries.map(|e| Ok(e?.0)).collect::<Result<Vec<_>, Error>>();
        assert_eq!(keys(table.iter(at))?, [&b""[..], b"a", b"a\0", b"ab", b"b", &[0xff, 0xff]]);
        assert_eq!(keys(table.prefix(at, "a"))?, [&b"a"[..], b"a\0", b"ab"]);
        assert_eq!(keys(table.prefix(at, [0xff]))?, [[0xff, 0xff]]);
        assert_eq!(keys(table.range(at, "a".."b"))?.len(), 3);
        assert_eq!(table.get(at, "b")?.unwrap(), b"", "an empty value is a value");
        let mut value = b"old".to_vec();
        assert!(table.get_into(at, "ab", &mut value)?);
        assert_eq!(value, b"3");
        assert!(!table.get_into(at, "abc", &mut value)?);
        assert!(value.is_empty());
        Ok(())
    })
}

#[test]
fn walks_nest_and_see_own_writes() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let (details, totals) = (db.table::<Detail>()?, db.bytes_table::<u64>("totals")?);
    db.run(|txn| {
        for order in 0..40 {
            details.insert(txn, &detail(order, "a", order))?;
            details.insert(txn, &detail(order, "b", 1))?;
            totals.put(txn, order as u64, (order + 1).to_le_bytes())?;
        }
        for entry in totals.iter(txn) {
            let (order, total) = entry?;
            let sum: i64 =
                details.prefix(txn, (order as i64,)).map(|d| Ok::<_, Error>(d?.quantity)).sum::<Result<_, _>>()?;
            assert_eq!(sum.to_le_bytes()[..], total);
        }
        Ok(())
    })
}

#[test]
fn run_time_shapes_are_checked_when_they_are_used() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let schema = Schema::table("people")
        .column("id", ColumnType::Int)
        .column("name", ColumnType::Text)
        .nullable("born", ColumnType::Date)
        .key(["id"])
        .unique("by_name", ["name"])
        .build()?;
    let people = db.create_table(&schema)?;
    assert!(matches!(db.create_table(&schema), Err(Error::Invalid(Invalid::TableExists { .. }))));
    assert_eq!(db.create_table_if_missing(&schema)?.schema(), &schema);

    db.run(|txn| {
        people.insert(txn, (1, "Ada", Value::Date(-56_270)))?;
        people.insert(txn, (2, "Grace", Value::Null))?;
        people.put(txn, vec![Value::Int(3), "Barbara".into(), Value::Null])?;
        assert!(people.update(txn, 2, [("born", Change::Set(Value::Date(-23_035)))])?);
        assert!(!people.update(txn, 9, [("name", Change::Set("nobody".into()))])?);
        Ok(())
    })?;
    db.read(|at| {
        let row = people.get(at, 1)?.unwrap();
        assert_eq!(row.get("name"), Some(ValueRef::Text("Ada")));
        assert_eq!(row.get("nothing"), None);
        assert_eq!(format!("{row:?}"), "{\"id\": 1, \"name\": 'Ada', \"born\": 1815-12-10}");
        assert_eq!(people.get(at, 2)?.unwrap().values()[2], ValueRef::Date(-23_035));
        assert_eq!(people.range(at, 2..).count(), 2);
        assert_eq!(people.range(at, (Bound::Excluded(1), Bound::Excluded(3))).count(), 1);
        let names = people.range_by(at, "by_name", "A".."C")?.map(|row| Ok(row?.get("id").unwrap().as_int().unwrap()));
        assert_eq!(names.collect::<Result<Vec<_>, Error>>()?, [1, 3]);
        Ok(())
    })?;

    let mut txn = db.begin()?;
    let invalid = |outcome: Result<(), Error>, what: &str| match outcome {
        Err(Error::Invalid(invalid)) => assert!(invalid.to_string().contains(what), "{invalid} without {what}"),
        other => panic!("{other:?} instead of {what}"),
    };
    invalid(people.insert(&mut txn, (4, "Edsger")), "2 columns instead of 3");
    invalid(people.insert(&mut txn, (4, 4, Value::Null)), "bigint in column name, which is text");
    invalid(people.insert(&mut txn, (4, Value::Null, Value::Null)), "NULL in column name");
    invalid(people.insert(&mut txn, ("four", "Edsger", Value::Null)), "text in column id");
    invalid(people.get(&txn, "four").map(|_| ()), "the key does not fit table people");
    invalid(people.get(&txn, (1, 2)).map(|_| ()), "the key does not fit table people");
    invalid(people.update(&mut txn, 1, [("age", Change::Add(1))]).map(|_| ()), "no column age");
    invalid(people.update(&mut txn, 1, [("name", Change::Add(1))]).map(|_| ()), "column name");
    invalid(people.range_by(&txn, "by_age", 1..2).map(|_| ()), "no index by_age");
    // None of them harmed the transaction.
    people.insert(&mut txn, (4, "Edsger", Value::Null))?;
    txn.commit()?;
    assert_eq!(db.read(|at| people.len(at))?, 4);
    Ok(())
}

#[test]
fn duplicates_name_table_index_and_key() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let table = db.table::<Everything>()?;
    db.run(|txn| table.insert(txn, &everything(1)))?;
    let mut txn = db.begin()?;
    let Err(Error::Duplicate(duplicate)) = table.insert(&mut txn, &everything(1)) else { panic!("the key is taken") };
    assert_eq!((duplicate.table(), duplicate.index(), duplicate.key().as_str()), ("everything", None, "(id=1)"));
    let mut same_text = everything(2);
    same_text.text = "text 1".into();
    let Err(Error::Duplicate(duplicate)) = table.insert(&mut txn, &same_text) else { panic!("the text is taken") };
    assert_eq!((duplicate.table(), duplicate.index()), ("everything", Some("by_text")));
    assert_eq!(duplicate.key(), "(text='text 1')");
    assert!(!duplicate.key_bytes().is_empty());
    // The statements did not happen, and the transaction lives on.
    table.insert(&mut txn, &everything(2))?;
    txn.commit()?;
    assert_eq!(db.read(|at| table.len(at))?, 2);
    Ok(())
}

#[test]
fn tables_are_opened_only_as_what_they_are() -> Result<(), Error> {
    let db = Database::in_memory()?;
    db.bytes_table::<u64>("details")?;
    let wrong = |outcome: Result<(), Error>| match outcome {
        Err(Error::Invalid(Invalid::Shape { table, what })) => {
            assert_eq!(table, "details");
            what
        }
        other => panic!("{other:?}"),
    };
    assert!(wrong(db.table::<Detail>().map(|_| ())).contains("it has no column order (bigint)"));
    assert!(
        wrong(db.bytes_table::<[u8]>("details").map(|_| ()))
            .contains("its key is an unsigned integer, not a string of bytes")
    );
    let other = Schema::bytes("details").u64_key().storage(seriatim::Storage::Hash);
    assert!(wrong(db.create_table_if_missing(other).map(|_| ())).contains("storage"));
    assert!(matches!(db.open_table("nothing"), Err(Error::Invalid(Invalid::UnknownTable { .. }))));
    assert!(matches!(db.create_table(Schema::table("t").key(["x"])), Err(Error::Invalid(Invalid::Schema { .. }))));
    db.drop_table("details")?;
    assert!(matches!(db.drop_table("details"), Err(Error::Invalid(Invalid::UnknownTable { .. }))));
    db.table::<Detail>()?;
    Ok(())
}

#[test]
fn days_and_moments_are_made_of_their_parts() {
    use seriatim::{Date, DateTime};
    assert_eq!(Date::from_ymd(1970, 1, 1), Some(Date { days: 0 }));
    assert_eq!(Date::from_ymd(2000, 2, 29).unwrap().to_string(), "2000-02-29");
    assert!(Date::from_ymd(1999, 2, 29).is_none() && Date::from_ymd(1999, 13, 1).is_none());
    assert_eq!(DateTime { micros: -1 }.date(), Date { days: -1 });
    assert_eq!(DateTime { micros: 86_400_000_000 }.date(), Date { days: 1 });
    let today = Date::today();
    assert!(DateTime::now().date() >= today && today > Date::from_ymd(2020, 1, 1).unwrap());
}

/// A table of columns a, b and c, and what is said when it is opened by another schema.
#[track_caller]
fn is_told(ask: impl FnOnce(seriatim::SchemaBuilder) -> seriatim::SchemaBuilder, difference: &str) {
    use seriatim::ColumnType::{Int, Text};
    let db = Database::in_memory().unwrap();
    let stored = Schema::table("t").column("a", Int).column("b", Text).nullable("c", Int).key(["a"]);
    db.create_table(stored.index("by_b", ["b"]).unique("by_c", ["c"])).unwrap();
    let error = db.create_table_if_missing(ask(Schema::table("t"))).unwrap_err();
    assert!(matches!(error, Error::Invalid(Invalid::Shape { .. })), "{error}");
    assert_eq!(error.sqlstate(), "42P16");
    let said = error.to_string();
    assert!(said.starts_with(&format!("table t exists with another definition: {difference}; ")), "{said}");
    assert!(said.contains("copy the rows into a table of another name"), "{said}");
}

#[test]
fn a_table_of_another_shape_is_told_by_its_column_and_the_way_out() {
    use seriatim::ColumnType::{Float, Int, Text};
    let ab = |t: seriatim::SchemaBuilder| t.column("a", Int).column("b", Text);
    is_told(|t| ab(t).nullable("c", Int).nullable("email", Text).key(["a"]), "it has no column email (text or NULL)");
    is_told(|t| ab(t).key(["a"]), "it has a column c (bigint or NULL) that the program does not declare");
    is_told(|t| ab(t).nullable("d", Int).key(["a"]), "it has column c where column d is declared");
    is_told(
        |t| ab(t).nullable("c", Float).key(["a"]),
        "column c is bigint or NULL there, not double precision or NULL",
    );
    is_told(|t| ab(t).column("c", Int).key(["a"]), "column c is bigint or NULL there, not bigint");
    let swapped = |t: seriatim::SchemaBuilder| t.column("b", Text).column("a", Int).nullable("c", Int);
    is_told(|t| swapped(t).key(["a"]), "its columns are in another order: a, b, c");
    let abc = |t: seriatim::SchemaBuilder| ab(t).nullable("c", Int);
    is_told(|t| abc(t).key(["a", "b"]), "its key is (a), not (a, b)");
    is_told(
        |t| abc(t).key(["a"]).index("by_b", ["b"]),
        "it has a unique index by_c (c) that the program does not declare",
    );
    is_told(|t| abc(t).key(["a"]).unique("by_b", ["b"]).unique("by_c", ["c"]), "it has no unique index by_b (b)");
    is_told(
        |t| abc(t).key(["a"]).unique("by_c", ["c"]).index("by_b", ["b"]),
        "its indexes are in another order: index by_b (b), unique index by_c (c)",
    );
}

#[test]
fn a_field_that_is_too_narrow_for_a_row_is_told_when_the_table_is_opened() -> Result<(), Error> {
    mod wide {
        seriatim::record! {
            #[derive(Debug)]
            pub struct Counter { pub id: i64, pub hits: Option<i64> }
            table "counters";
            key (id);
        }
    }
    mod narrow {
        seriatim::record! {
            #[derive(Debug)]
            pub struct Counter { pub id: i64, pub hits: Option<i32> }
            table "counters";
            key (id);
        }
    }
    let db = Database::in_memory()?;
    let wide = db.table::<wide::Counter>()?;
    db.run(|txn| wide.insert(txn, &wide::Counter { id: 1, hits: Some(3_000_000_000) }))?;
    let error = db.table::<narrow::Counter>().unwrap_err();
    assert!(matches!(error, Error::Invalid(Invalid::Shape { .. })), "{error}");
    let said = error.to_string();
    assert!(said.contains("its row (id=1) has 3000000000 in column hits, which Option<i32> cannot hold; "), "{said}");
    db.run(|txn| wide.put(txn, &wide::Counter { id: 1, hits: None }).map(drop))?;
    let narrow = db.table::<narrow::Counter>()?;
    // Whoever writes by the wide record later is found at the row, by its column.
    db.run(|txn| wide.put(txn, &wide::Counter { id: 1, hits: Some(-3_000_000_000) }).map(drop))?;
    let error = db.read(|at| narrow.get(at, 1)).unwrap_err();
    assert!(error.to_string().contains("column hits has a value that Option<i32> cannot hold"), "{error}");
    Ok(())
}

#[test]
fn a_dropped_table_answers_that_it_is_gone() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let table: BytesTable = db.bytes_table("short lived")?;
    db.run(|txn| table.put(txn, "a", "1"))?;
    db.drop_table("short lived")?;
    let error = db.read(|at| table.get(at, "a")).unwrap_err();
    assert!(matches!(error, Error::Invalid(Invalid::UnknownTable { .. })), "{error}");
    let again: BytesTable = db.bytes_table("short lived")?;
    assert_eq!(db.read(|at| again.len(at))?, 0);
    assert!(db.read(|at| table.get(at, "a")).is_err(), "an old handle is not the new table's");
    Ok(())
}

#[test]
fn a_handle_is_not_another_databases() -> Result<(), Error> {
    let (one, two) = (Database::in_memory()?, Database::in_memory()?);
    let table: BytesTable = one.bytes_table("t")?;
    two.bytes_table::<[u8]>("t")?;
    let error = two.run(|txn| table.put(txn, "a", "1")).unwrap_err();
    assert!(matches!(error, Error::OtherDatabase), "{error}");
    assert!(matches!(two.read(|at| table.len(at)), Err(Error::OtherDatabase)));
    assert!(matches!(table.iter(&two.snapshot()?).next(), Some(Err(Error::OtherDatabase))));
    Ok(())
}

#[test]
fn limits_are_named_and_harm_nobody() -> Result<(), Error> {
    let db =
        Database::builder().max_key_bytes(10).max_row_bytes(100).max_write_rows(3).max_write_bytes(250).in_memory()?;
    let table: BytesTable = db.bytes_table("t")?;
    let mut txn = db.begin()?;
    let limit = |outcome: Result<(), Error>| outcome.unwrap_err().limit();
    assert_eq!(limit(table.put(&mut txn, [b'k'; 11], "")), Some(LimitKind::KeyBytes));
    assert_eq!(limit(table.put(&mut txn, "a", [0; 101])), Some(LimitKind::RowBytes));
    table.put(&mut txn, "a", [0; 100])?;
    table.put(&mut txn, "b", [0; 100])?;
    assert_eq!(limit(table.put(&mut txn, "c", [0; 100])), Some(LimitKind::WriteSetBytes));
    table.put(&mut txn, "c", [0; 1])?;
    assert_eq!(limit(table.put(&mut txn, "d", [0; 1])), Some(LimitKind::WriteSetRows));
    txn.commit()?;
    assert_eq!(db.read(|at| table.len(at))?, 3);
    Ok(())
}

/// A row and its entries are several writes of the engine. Where one of them meets a limit, none of them stays.
#[test]
fn a_statement_that_meets_a_limit_leaves_nothing() -> Result<(), Error> {
    for engine in [Engine::Mvto, Engine::Twopl] {
        let db = Database::builder().engine(engine).max_write_rows(7).in_memory()?;
        let details = db.table::<Detail>()?;
        db.run(|txn| {
            for order in 1..=3 {
                details.insert(txn, &detail(order, "tofu", 1))?;
            }
            // The seventh row fits, its entry does not.
            let refused = details.insert(txn, &detail(4, "tofu", 1)).unwrap_err();
            assert_eq!(refused.limit(), Some(LimitKind::WriteSetRows), "{engine:?}");
            assert_eq!(details.get(txn, (4, "tofu"))?, None, "{engine:?}");
            Ok(())
        })?;
        assert_eq!(db.verify()?.rows, 3, "{engine:?}");
    }
    Ok(())
}

/// More tables than a transaction keeps bits for; at first none of their definitions is known.
#[test]
fn a_transaction_uses_hundreds_of_tables() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let schema =
        |number| Schema::table(format!("t{number}")).column("id", ColumnType::Int).column("n", ColumnType::Int);
    let tables: Vec<_> =
        (0..300).map(|number| db.create_table(schema(number).key(["id"]))).collect::<Result<_, _>>()?;
    for round in 0..2i64 {
        db.run(|txn| {
            tables.iter().zip(0i64..).try_for_each(|(table, number)| table.put(txn, (number, round)))?;
            tables.iter().zip(0i64..).try_for_each(|(table, number)| {
                assert_eq!(table.get(txn, number)?.unwrap().get("n"), Some(round.into()));
                Ok(())
            })
        })?;
    }
    Ok(())
}
