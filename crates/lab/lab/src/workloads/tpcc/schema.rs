//! Tables, columns and keys of TPC-C.
//!
//! Source: TPC-C, revision 5.11, clause 1.3. Money is in cents, tax and discount in ten-thousandths. Columns of the key stand in the
//! key alone, packed into 64 bits where they fit. The first column of each table that transactions write is a stamp.

use model::{ColumnType, Key, Schema, SchemaBuilder};

pub(super) const WAREHOUSE: usize = 0;
pub(super) const DISTRICT: usize = 1;
pub(super) const CUSTOMER: usize = 2;
pub(super) const HISTORY: usize = 3;
pub(super) const NEW_ORDER: usize = 4;
pub(super) const ORDERS: usize = 5;
pub(super) const ORDER_LINE: usize = 6;
pub(super) const ITEM: usize = 7;
pub(super) const STOCK: usize = 8;
/// Entries of customers by last and first name.
pub(super) const BY_NAME: usize = 9;
/// Entries of orders by customer.
pub(super) const BY_CUSTOMER: usize = 10;
pub(super) const TABLES: usize = 11;

pub(super) const NAMES: [&str; TABLES] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
    "customer_by_name",
    "orders_by_customer",
];

/// Of every table with typed rows but `item`.
pub(super) const STAMP: u16 = 0;
pub(super) const W_TAX: u16 = 7;
pub(super) const W_YTD: u16 = 8;
pub(super) const D_TAX: u16 = 7;
pub(super) const D_YTD: u16 = 8;
pub(super) const D_NEXT_O_ID: u16 = 9;
pub(super) const C_CREDIT: u16 = 11;
pub(super) const C_CREDIT_LIM: u16 = 12;
pub(super) const C_DISCOUNT: u16 = 13;
pub(super) const C_BALANCE: u16 = 14;
pub(super) const C_YTD_PAYMENT: u16 = 15;
pub(super) const C_PAYMENT_CNT: u16 = 16;
pub(super) const C_DELIVERY_CNT: u16 = 17;
pub(super) const C_DATA: u16 = 18;
pub(super) const H_CUSTOMER: u16 = 1;
pub(super) const H_DISTRICT: u16 = 2;
pub(super) const H_AMOUNT: u16 = 4;
pub(super) const O_C_ID: u16 = 1;
pub(super) const O_CARRIER: u16 = 3;
pub(super) const O_OL_CNT: u16 = 4;
pub(super) const OL_I_ID: u16 = 1;
pub(super) const OL_DELIVERY: u16 = 3;
pub(super) const OL_QUANTITY: u16 = 4;
pub(super) const OL_AMOUNT: u16 = 5;
pub(super) const I_PRICE: u16 = 2;
pub(super) const I_DATA: u16 = 3;
pub(super) const S_QUANTITY: u16 = 1;
/// Column of district 1; the others follow.
pub(super) const S_DIST_01: u16 = 2;
pub(super) const S_YTD: u16 = 12;
pub(super) const S_ORDER_CNT: u16 = 13;
pub(super) const S_REMOTE_CNT: u16 = 14;
pub(super) const S_DATA: u16 = 15;

/// Districts of a warehouse.
pub(super) const DISTRICTS: u64 = 10;

/// The tables, in the order of their numbers.
pub(super) fn schemas() -> Vec<Schema> {
    use ColumnType::{Int, Text, Timestamp};
    let table = |number: usize| Schema::table(NAMES[number]).u64_key();
    let texts =
        |schema: SchemaBuilder, names: &[&str]| names.iter().fold(schema, |schema, name| schema.column(*name, Text));
    let ints =
        |schema: SchemaBuilder, names: &[&str]| names.iter().fold(schema, |schema, name| schema.column(*name, Int));
    let stamped = |number: usize| table(number).column("stamp", Int);
    const ADDRESS: [&str; 5] = ["street_1", "street_2", "city", "state", "zip"];
    let place = |number: usize| ints(texts(texts(stamped(number), &["name"]), &ADDRESS), &["tax", "ytd"]);
    let customer = texts(texts(stamped(CUSTOMER), &["first", "middle", "last"]), &ADDRESS);
    let customer = texts(customer, &["phone"]).column("since", Timestamp).column("credit", Text);
    let customer = ints(customer, &["credit_lim", "discount", "balance", "ytd_payment", "payment_cnt", "delivery_cnt"]);
    let history = ints(stamped(HISTORY), &["customer", "district"]).column("date", Timestamp);
    let order = ints(stamped(ORDERS), &["c_id"]).column("entry_d", Timestamp).nullable("carrier_id", Int);
    let line = ints(stamped(ORDER_LINE), &["i_id", "supply_w_id"]).nullable("delivery_d", Timestamp);
    let item = texts(ints(table(ITEM), &["im_id"]), &["name"]);
    let mut stock = ints(stamped(STOCK), &["quantity"]);
    for district in 1..=DISTRICTS {
        stock = stock.column(format!("dist_{district:02}"), Text);
    }
    let builders = [
        place(WAREHOUSE),
        ints(place(DISTRICT), &["next_o_id"]),
        texts(customer, &["data"]),
        texts(ints(history, &["amount"]), &["data"]),
        stamped(NEW_ORDER),
        ints(order, &["ol_cnt", "all_local"]),
        texts(ints(line, &["quantity", "amount"]), &["dist_info"]),
        texts(ints(item, &["price"]), &["data"]),
        texts(ints(stock, &["ytd", "order_cnt", "remote_cnt"]), &["data"]),
        Schema::bytes(NAMES[BY_NAME]).for_index(),
        Schema::bytes(NAMES[BY_CUSTOMER]).for_index(),
    ];
    builders.into_iter().map(|builder| builder.build().expect("a sound schema")).collect()
}

/// Most warehouses: order lines have 16 bits for theirs.
pub(super) const MAX_WAREHOUSES: u64 = u16::MAX as u64;

/// Key of a district: also the front of the keys of all that belongs to it.
pub(super) fn district_key(warehouse: u64, district: u64) -> u64 {
    warehouse << 8 | district
}

/// Key of a customer, an order or a new order.
pub(super) fn in_district(district_key: u64, number: u64) -> u64 {
    district_key << 32 | number
}

/// District and number of a customer or an order.
pub(super) fn split(key: u64) -> (u64, u64) {
    (key >> 32, key & u64::from(u32::MAX))
}

/// Key of a line of an order.
pub(super) fn line_key(district_key: u64, order: u64, line: u64) -> u64 {
    district_key << 40 | order << 8 | line
}

/// Key of the order of a line.
pub(super) fn order_of_line(line_key: u64) -> u64 {
    in_district(line_key >> 40, line_key >> 8 & u64::from(u32::MAX))
}

/// Key of an item in a warehouse.
pub(super) fn stock_key(warehouse: u64, item: u64) -> u64 {
    warehouse << 32 | item
}

/// The warehouse that a key belongs to, by its front; `None`: none.
pub(super) fn warehouse_of(table: usize, key: &[u8]) -> Option<u64> {
    let mut front = [0; 8];
    let length = key.len().min(8);
    front[..length].copy_from_slice(&key[..length]);
    let front = u64::from_be_bytes(front);
    match table {
        WAREHOUSE => Some(front),
        DISTRICT | BY_NAME => Some(front >> 8),
        CUSTOMER | NEW_ORDER | ORDERS | BY_CUSTOMER => Some(front >> 40),
        ORDER_LINE => Some(front >> 48),
        STOCK => Some(front >> 32),
        _ => None,
    }
}

/// Front of the entries of customers with this last name.
pub(super) fn name_prefix(district_key: u64, last: &str) -> Key {
    let mut key = Key::new();
    key.push_u64(district_key).push_text(last);
    key
}

/// Entry of a customer by name.
pub(super) fn name_key(district_key: u64, last: &str, first: &str, customer: u64) -> Key {
    let mut key = name_prefix(district_key, last);
    key.push_text(first).push_u64(customer);
    key
}

/// Entry of an order by customer: both of one district.
pub(super) fn order_entry(customer_key: u64, order: u64) -> Key {
    let mut key = Key::from_u64(customer_key);
    key.push_u64(order);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_where_their_numbers_say() {
        let schemas = schemas();
        for (table, columns) in [
            (WAREHOUSE, &[("stamp", STAMP), ("tax", W_TAX), ("ytd", W_YTD)][..]),
            (DISTRICT, &[("stamp", STAMP), ("tax", D_TAX), ("ytd", D_YTD), ("next_o_id", D_NEXT_O_ID)]),
            (CUSTOMER, &[("stamp", STAMP), ("credit", C_CREDIT)]),
            (CUSTOMER, &[("credit_lim", C_CREDIT_LIM), ("discount", C_DISCOUNT), ("balance", C_BALANCE)]),
            (CUSTOMER, &[("ytd_payment", C_YTD_PAYMENT), ("payment_cnt", C_PAYMENT_CNT), ("data", C_DATA)]),
            (CUSTOMER, &[("delivery_cnt", C_DELIVERY_CNT)]),
            (HISTORY, &[("customer", H_CUSTOMER), ("district", H_DISTRICT), ("amount", H_AMOUNT)]),
            (NEW_ORDER, &[("stamp", STAMP)]),
            (ORDERS, &[("c_id", O_C_ID), ("carrier_id", O_CARRIER), ("ol_cnt", O_OL_CNT)]),
            (ORDER_LINE, &[("i_id", OL_I_ID), ("delivery_d", OL_DELIVERY), ("quantity", OL_QUANTITY)]),
            (ORDER_LINE, &[("amount", OL_AMOUNT)]),
            (ITEM, &[("price", I_PRICE), ("data", I_DATA)]),
            (STOCK, &[("quantity", S_QUANTITY), ("dist_01", S_DIST_01), ("ytd", S_YTD), ("data", S_DATA)]),
            (STOCK, &[("order_cnt", S_ORDER_CNT), ("remote_cnt", S_REMOTE_CNT)]),
        ] {
            for (name, number) in columns {
                assert_eq!(schemas[table].column(name), Some(*number), "{name} of {}", NAMES[table]);
            }
        }
    }

    #[test]
    fn keys_come_apart_again() {
        let district = district_key(MAX_WAREHOUSES, DISTRICTS);
        assert_eq!(split(in_district(district, 7)), (district, 7));
        assert_eq!(order_of_line(line_key(district, 7, 15)), in_district(district, 7));
        let numbers = [
            (WAREHOUSE, MAX_WAREHOUSES),
            (DISTRICT, district),
            (CUSTOMER, in_district(district, 7)),
            (ORDER_LINE, line_key(district, 7, 15)),
            (STOCK, stock_key(MAX_WAREHOUSES, 7)),
        ];
        for (table, key) in numbers {
            assert_eq!(warehouse_of(table, &key.to_be_bytes()), Some(MAX_WAREHOUSES), "{}", NAMES[table]);
        }
        assert_eq!(warehouse_of(BY_NAME, &name_key(district, "BAR", "x", 5)), Some(MAX_WAREHOUSES));
        assert_eq!(warehouse_of(BY_CUSTOMER, &order_entry(in_district(district, 7), 9)), Some(MAX_WAREHOUSES));
        assert_eq!(warehouse_of(ITEM, &7u64.to_be_bytes()), None);
        assert!(name_key(1, "BAR", "x", 5) < name_key(1, "BAR", "y", 1), "by first name");
        assert!(name_key(1, "BAR", "x", 5).starts_with(&name_prefix(1, "BAR")));
    }
}
