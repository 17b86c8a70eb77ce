//! Tables and initial rows of TATP.

use crate::workloads::bank::account;
use crate::workloads::{Record, Stamps};
use env::Randomness;
use model::{ColumnType, Key, RowBuf, Schema, SchemaBuilder, ValueRef};

pub(super) const SUBSCRIBERS: usize = 0;
pub(super) const ACCESS: usize = 1;
pub(super) const FACILITIES: usize = 2;
pub(super) const FORWARDINGS: usize = 3;
/// Entries of an index over the subscribers' telephone numbers.
pub(super) const NUMBERS: usize = 4;

/// Columns of a subscriber that transactions write.
pub(super) const BIT_1: u16 = 1;
pub(super) const MSC_LOCATION: u16 = 31;
pub(super) const VLR_LOCATION: u16 = 32;
/// Columns of a facility.
pub(super) const IS_ACTIVE: usize = 0;
pub(super) const DATA_A: u16 = 2;
/// Columns of a forwarding.
pub(super) const END_TIME: usize = 0;
pub(super) const NUMBER: usize = 1;

pub(super) fn schemas() -> Vec<Schema> {
    let finish = |schema: SchemaBuilder| schema.build().expect("a sound schema");
    let many = |schema: SchemaBuilder, name: &str| {
        (1..=10).fold(schema, |schema, number| schema.column(format!("{name}_{number}"), ColumnType::Int))
    };
    let mut subscriber = Schema::table("subscriber").column("sub_nbr", ColumnType::Text);
    for name in ["bit", "hex", "byte2"] {
        subscriber = many(subscriber, name);
    }
    let subscriber = subscriber.column("msc_location", ColumnType::Int).column("vlr_location", ColumnType::Int);
    let access = Schema::table("access_info")
        .column("data1", ColumnType::Int)
        .column("data2", ColumnType::Int)
        .column("data3", ColumnType::Text)
        .column("data4", ColumnType::Text);
    let facility = Schema::table("special_facility")
        .column("is_active", ColumnType::Int)
        .column("error_cntrl", ColumnType::Int)
        .column("data_a", ColumnType::Int)
        .column("data_b", ColumnType::Text);
    let forwarding =
        Schema::table("call_forwarding").column("end_time", ColumnType::Int).column("numberx", ColumnType::Text);
    let mut schemas: Vec<Schema> =
        [subscriber, access, facility, forwarding].map(|schema| finish(schema.u64_key())).into();
    schemas.push(finish(Schema::bytes("subscriber_by_number").for_index()));
    schemas
}

/// Key of a row of access data or of a facility.
pub(super) fn of_subscriber(subscriber: u64, kind: u8) -> u64 {
    subscriber << 8 | u64::from(kind)
}

/// Key of a forwarding.
pub(super) fn of_facility(subscriber: u64, facility: u8, start: u8) -> u64 {
    of_subscriber(subscriber, facility) << 8 | u64::from(start)
}

/// A number as 15 digits or, where it has more, as all of them.
pub(super) fn digits(number: u64) -> String {
    format!("{number:015}")
}

/// The key of a telephone number.
pub(super) fn number_key(subscriber: u64) -> Key {
    Key::from(digits(subscriber).as_str())
}

/// Which rows a subscriber begins with.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    subscriber: u64,
    randomness: Randomness,
    access: Vec<u8>,
    /// Each with the times at which its forwardings start.
    facilities: Vec<(u8, Vec<u8>)>,
}

impl Shape {
    /// Follows from the subscriber's number.
    pub fn of(subscriber: u64) -> Shape {
        let mut randomness = Randomness::from_seed(subscriber);
        let access = some_of(&mut randomness, &[1, 2, 3, 4], 1);
        let facilities = some_of(&mut randomness, &[1, 2, 3, 4], 1);
        let facilities =
            facilities.into_iter().map(|facility| (facility, some_of(&mut randomness, &[0, 8, 16], 0))).collect();
        Shape { subscriber, randomness, access, facilities }
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        2 + (self.access.len() + self.facilities.len()) as u64 + self.forwardings()
    }

    /// Number of forwardings.
    pub fn forwardings(&self) -> u64 {
        self.facilities.iter().map(|(_, starts)| starts.len() as u64).sum()
    }
}

/// Some of the values, as many as is drawn, at least `least`; each is as likely as the others.
fn some_of(randomness: &mut Randomness, values: &[u8], least: u64) -> Vec<u8> {
    let mut values = values.to_vec();
    let count = randomness.in_range(least..values.len() as u64 + 1) as usize;
    while values.len() > count {
        values.swap_remove(randomness.in_range(0..values.len() as u64) as usize);
    }
    values
}

/// The records of a subscriber.
pub(super) fn records(shape: &Shape, stamps: &mut Stamps) -> Vec<Record> {
    let (subscriber, mut randomness) = (shape.subscriber, shape.randomness.clone());
    let mut records = Vec::with_capacity(shape.records() as usize);
    let mut add = |table, key: Key, row: RowBuf| records.push(Record { table, key, row });
    add(SUBSCRIBERS, Key::from_u64(subscriber), subscriber_row(subscriber, stamps, &mut randomness));
    let entry = RowBuf::from_bytes(&account(stamps.draw(), subscriber as i64));
    add(NUMBERS, number_key(subscriber), entry);
    for &kind in &shape.access {
        let [one, other] = [0; 2].map(|_| ValueRef::Int(randomness.in_range(0..256) as i64));
        let row = RowBuf::from_values(&[
            one,
            other,
            letters(&mut randomness, 3).as_str().into(),
            letters(&mut randomness, 5).as_str().into(),
        ]);
        add(ACCESS, Key::from_u64(of_subscriber(subscriber, kind)), row);
    }
    for (facility, starts) in &shape.facilities {
        let row = RowBuf::from_values(&[
            ValueRef::Int(i64::from(randomness.chance(85, 100))),
            ValueRef::Int(randomness.in_range(0..256) as i64),
            ValueRef::Int(stamps.draw().to_int()),
            letters(&mut randomness, 5).as_str().into(),
        ]);
        add(FACILITIES, Key::from_u64(of_subscriber(subscriber, *facility)), row);
        for &start in starts {
            let end = start + randomness.in_range(1..9) as u8;
            let row = forwarding_row(end, &digits(stamps.draw().0));
            add(FORWARDINGS, Key::from_u64(of_facility(subscriber, *facility, start)), row);
        }
    }
    records
}

fn subscriber_row(subscriber: u64, stamps: &mut Stamps, randomness: &mut Randomness) -> RowBuf {
    let number = digits(subscriber);
    let stamp = ValueRef::Int(stamps.draw().to_int());
    let mut values = vec![ValueRef::from(number.as_str())];
    for bound in [2, 16, 256] {
        values.extend((0..10).map(|_| ValueRef::Int(randomness.in_range(0..bound) as i64)));
    }
    values.extend([stamp, stamp]);
    RowBuf::from_values(&values)
}

/// The row of a forwarding.
pub(super) fn forwarding_row(end: u8, number: &str) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(i64::from(end)), number.into()])
}

fn letters(randomness: &mut Randomness, count: usize) -> String {
    (0..count).map(|_| char::from(b'A' + randomness.in_range(0..26) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_where_their_numbers_say() {
        let schemas = schemas();
        let column = |table: usize, name: &str| schemas[table].column(name).expect("there is such a column");
        assert_eq!(column(SUBSCRIBERS, "bit_1"), BIT_1);
        assert_eq!(column(SUBSCRIBERS, "msc_location"), MSC_LOCATION);
        assert_eq!(column(SUBSCRIBERS, "vlr_location"), VLR_LOCATION);
        assert_eq!(usize::from(column(FACILITIES, "is_active")), IS_ACTIVE);
        assert_eq!(column(FACILITIES, "data_a"), DATA_A);
        assert_eq!(usize::from(column(FORWARDINGS, "end_time")), END_TIME);
    }

    #[test]
    fn the_loaded_rows_fit_their_tables_and_are_as_many_as_announced() {
        let (schemas, mut stamps) = (schemas(), Stamps::of_client(0));
        for subscriber in 1..200 {
            let shape = Shape::of(subscriber);
            let records = records(&shape, &mut stamps);
            assert_eq!(records.len() as u64, shape.records());
            let forwardings = records.iter().filter(|record| record.table == FORWARDINGS).count();
            assert_eq!(forwardings as u64, shape.forwardings());
            for Record { table, key, row } in &records {
                schemas[*table].check_key(key).expect("a key of its table");
                schemas[*table].check_row(key, row.row()).expect("a row of its table");
            }
        }
    }
}
