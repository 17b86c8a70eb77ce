//! Initial rows of TPC-C: clause 4.3.3.

use super::Parameters;
use super::draw::{data, digits, letters, loaded_last_name, name};
use super::schema::{
    BY_CUSTOMER, BY_NAME, CUSTOMER, DISTRICT, DISTRICTS, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK,
    WAREHOUSE, district_key, in_district, line_key, name_key, order_entry, stock_key,
};
use crate::draw::Zipf;
use crate::workloads::bank::account;
use crate::workloads::{Record, Stamps};
use env::Randomness;
use model::{Key, RowBuf, ValueRef};

/// What every customer has paid before, in cents.
const PAID: i64 = 1_000;

/// One step of the load. The rows of each follow from its own numbers, so that steps can be made in any order.
#[derive(Clone, Copy, Debug)]
enum Part {
    Item(u64),
    Warehouse(u64),
    Stock(u64, u64),
    District(u64, u64),
    Customer(u64, u64, u64),
    Order(u64, u64, u64),
}

fn parts(parameters: &Parameters) -> impl Iterator<Item = Part> + use<> {
    let Parameters { warehouses, items, customers, .. } = *parameters;
    let in_warehouse = move |w: u64| {
        let districts = (1..=DISTRICTS).flat_map(move |d| {
            let people = (1..=customers).map(move |c| Part::Customer(w, d, c));
            let orders = (1..=customers).map(move |o| Part::Order(w, d, o));
            std::iter::once(Part::District(w, d)).chain(people).chain(orders)
        });
        std::iter::once(Part::Warehouse(w)).chain((1..=items).map(move |i| Part::Stock(w, i))).chain(districts)
    };
    (1..=items).map(Part::Item).chain((1..=warehouses).flat_map(in_warehouse))
}

/// Number of the initial records.
pub(super) fn records(parameters: &Parameters) -> u64 {
    let count = |part| match part {
        Part::Item(_) | Part::Warehouse(_) | Part::Stock(..) | Part::District(..) => 1,
        Part::Customer(..) => 3,
        Part::Order(w, d, o) => 2 + lines(w, d, o) + u64::from(is_new(parameters.customers, o)),
    };
    parts(parameters).map(count).sum()
}

/// Loaded orders that are not delivered yet: the last three tenths.
pub(super) fn is_new(orders: u64, order: u64) -> bool {
    order > orders * 7 / 10
}

/// Lines of an order: 5 to 15, the same each time.
fn lines(w: u64, d: u64, o: u64) -> u64 {
    5 + seeded(&[5, w, d, o]).in_range(0..11)
}

fn seeded(numbers: &[u64]) -> Randomness {
    let mix = |seed: u64, number: &u64| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ number;
    Randomness::from_seed(numbers.iter().fold(1, mix))
}

/// The initial records.
pub(super) fn load(parameters: &Parameters, stamps: Stamps) -> impl Iterator<Item = Record> + use<> {
    let Parameters { items, customers, .. } = *parameters;
    let mut loader = Loader { items, customers, by_order: Zipf::new(customers, 0.0), stamps };
    parts(parameters).flat_map(move |part| loader.records(part))
}

struct Loader {
    items: u64,
    customers: u64,
    /// Which customer has which loaded order: each has one.
    by_order: Zipf,
    stamps: Stamps,
}

fn record(table: usize, key: u64, values: &[ValueRef<'_>]) -> Record {
    Record { table, key: Key::from_u64(key), row: RowBuf::from_values(values) }
}

impl Loader {
    fn records(&mut self, part: Part) -> Vec<Record> {
        match part {
            Part::Item(i) => vec![item(i)],
            Part::Warehouse(w) => {
                let ytd = PAID * (self.customers * DISTRICTS) as i64;
                vec![self.place(WAREHOUSE, w, ytd, None)]
            }
            Part::Stock(w, i) => vec![self.stock(w, i)],
            Part::District(w, d) => {
                let ytd = PAID * self.customers as i64;
                vec![self.place(DISTRICT, district_key(w, d), ytd, Some(self.customers + 1))]
            }
            Part::Customer(w, d, c) => self.customer(w, d, c),
            Part::Order(w, d, o) => self.order(w, d, o),
        }
    }

    fn stamp(&mut self) -> ValueRef<'static> {
        ValueRef::Int(self.stamps.draw().to_int())
    }

    /// The row of a warehouse or a district.
    fn place(&mut self, table: usize, key: u64, ytd: i64, next_order: Option<u64>) -> Record {
        let mut random = seeded(&[1, key]);
        let (name, address) = (letters(&mut random, 6, 10), address(&mut random));
        let mut values = vec![self.stamp(), name.as_str().into()];
        values.extend(address.iter().map(|text| ValueRef::from(text.as_str())));
        values.extend([ValueRef::Int(random.in_range(0..2_001) as i64), ValueRef::Int(ytd)]);
        values.extend(next_order.map(|order| ValueRef::Int(order as i64)));
        record(table, key, &values)
    }

    fn stock(&mut self, w: u64, i: u64) -> Record {
        let mut random = seeded(&[2, w, i]);
        let quantity = ValueRef::Int(random.in_range(10..101) as i64);
        let districts: Vec<String> = (0..DISTRICTS).map(|_| letters(&mut random, 24, 24)).collect();
        let data = data(&mut random);
        let mut values = vec![self.stamp(), quantity];
        values.extend(districts.iter().map(|text| ValueRef::from(text.as_str())));
        values.extend([ValueRef::Int(0), ValueRef::Int(0), ValueRef::Int(0), data.as_str().into()]);
        record(STOCK, stock_key(w, i), &values)
    }

    /// A customer, its entry by name, and its payment.
    fn customer(&mut self, w: u64, d: u64, c: u64) -> Vec<Record> {
        let mut random = seeded(&[3, w, d, c]);
        let (district, key) = (district_key(w, d), in_district(district_key(w, d), c));
        let (first, last) = (letters(&mut random, 8, 16), name(loaded_last_name(&mut random, c)));
        let (address, phone) = (address(&mut random), digits(&mut random, 16));
        let credit = if random.chance(1, 10) { "BC" } else { "GC" };
        let discount = random.in_range(0..5_001) as i64;
        let data = letters(&mut random, 300, 500);
        let mut values = vec![self.stamp(), first.as_str().into(), "OE".into(), last.as_str().into()];
        values.extend(address.iter().map(|text| ValueRef::from(text.as_str())));
        values.extend([phone.as_str().into(), ValueRef::Timestamp(0), credit.into()]);
        values.extend([5_000_000, discount, -PAID, PAID, 1, 0].map(ValueRef::Int));
        values.push(data.as_str().into());
        let customer = record(CUSTOMER, key, &values);
        let entry = Record {
            table: BY_NAME,
            key: name_key(district, &last, &first, c),
            row: RowBuf::from_bytes(&account(self.stamps.draw(), c as i64)),
        };
        let number = self.stamps.draw();
        let about = letters(&mut random, 12, 24);
        let payment = history_row(number.to_int(), key, district, 0, PAID, &about);
        vec![customer, entry, Record { table: HISTORY, key: Key::from_u64(number.0), row: payment }]
    }

    /// An order, its entry by customer, its lines and, if it is not delivered, its new order.
    fn order(&mut self, w: u64, d: u64, o: u64) -> Vec<Record> {
        let mut random = seeded(&[4, w, d, o]);
        let district = district_key(w, d);
        let (key, customer, count) = (in_district(district, o), self.by_order.number(o - 1) + 1, lines(w, d, o));
        let is_new = is_new(self.customers, o);
        let carrier = if is_new { ValueRef::Null } else { ValueRef::Int(random.in_range(1..11) as i64) };
        let mut records = Vec::with_capacity(count as usize + 3);
        records.push(record(
            ORDERS,
            key,
            &[
                self.stamp(),
                ValueRef::Int(customer as i64),
                ValueRef::Timestamp(0),
                carrier,
                ValueRef::Int(count as i64),
                ValueRef::Int(1),
            ],
        ));
        let row = RowBuf::from_bytes(&account(self.stamps.draw(), o as i64));
        records.push(Record { table: BY_CUSTOMER, key: order_entry(in_district(district, customer), o), row });
        for line in 1..=count {
            let item = ValueRef::Int(random.in_range(1..self.items + 1) as i64);
            let amount = if is_new { random.in_range(1..1_000_000) as i64 } else { 0 };
            let delivered = if is_new { ValueRef::Null } else { ValueRef::Timestamp(0) };
            let about = letters(&mut random, 24, 24);
            let values = [
                self.stamp(),
                item,
                ValueRef::Int(w as i64),
                delivered,
                ValueRef::Int(5),
                ValueRef::Int(amount),
                about.as_str().into(),
            ];
            records.push(record(ORDER_LINE, line_key(district, o, line), &values));
        }
        if is_new {
            records.push(record(NEW_ORDER, key, &[self.stamp()]));
        }
        records
    }
}

/// The row of a payment.
pub(super) fn history_row(stamp: i64, customer: u64, district: u64, date: i64, amount: i64, about: &str) -> RowBuf {
    RowBuf::from_values(&[
        ValueRef::Int(stamp),
        ValueRef::Int(customer as i64),
        ValueRef::Int(district as i64),
        ValueRef::Timestamp(date),
        ValueRef::Int(amount),
        about.into(),
    ])
}

fn item(i: u64) -> Record {
    let mut random = seeded(&[6, i]);
    let image = ValueRef::Int(random.in_range(1..10_001) as i64);
    let name = letters(&mut random, 14, 24);
    let price = ValueRef::Int(random.in_range(100..10_001) as i64);
    let data = data(&mut random);
    record(ITEM, i, &[image, name.as_str().into(), price, data.as_str().into()])
}

/// Two streets, city, state, zip.
fn address(random: &mut Randomness) -> [String; 5] {
    [
        letters(random, 10, 20),
        letters(random, 10, 20),
        letters(random, 10, 20),
        letters(random, 2, 2),
        digits(random, 4) + "11111",
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tpcc::schema::schemas;

    #[test]
    fn the_loaded_rows_fit_their_tables_and_are_as_many_as_announced() {
        let parameters = Parameters { warehouses: 2, items: 20, customers: 30, ..Parameters::for_tests() };
        let (schemas, mut count) = (schemas(), 0);
        let mut keys = std::collections::BTreeSet::new();
        for Record { table, key, row } in load(&parameters, Stamps::of_client(0)) {
            schemas[table].check_key(&key).expect("a key of its table");
            schemas[table].check_row(&key, row.row()).expect("a row of its table");
            assert!(keys.insert((table, key)), "no key twice");
            count += 1;
        }
        assert_eq!(count, records(&parameters));
    }
}
