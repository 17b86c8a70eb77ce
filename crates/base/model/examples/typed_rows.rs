//! Instructions that typed keys and rows take, to be counted by a profiler: runs one operation so many times.
//!
//! ```sh
//! cargo build --release -p seriatim-model --example typed_rows
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/typed_rows check-row-texts 100000
//! ```
//!
//! The figure of one operation is the difference of two counts, divided by the difference of their numbers.

use seriatim_model::{ColumnType, Delta, Key, RowBuf, Schema, ValueRef};
use std::hint::black_box;
use std::process::ExitCode;

/// A customer of TPC-C: three integers are the key, texts stand in the middle.
fn customers() -> Schema {
    let mut table = Schema::table("customer");
    for name in ["warehouse", "district", "number"] {
        table = table.column(name, ColumnType::Int);
    }
    for name in ["first", "middle", "last", "street", "city", "state", "zip", "phone"] {
        table = table.column(name, ColumnType::Text);
    }
    table = table.column("since", ColumnType::Timestamp).column("discount", ColumnType::Float);
    for name in ["balance", "paid", "payments", "deliveries"] {
        table = table.column(name, ColumnType::Int);
    }
    table.nullable("data", ColumnType::Text).key(["warehouse", "district", "number"]).build().expect("a good schema")
}

fn customer() -> RowBuf {
    let text = ValueRef::Text;
    RowBuf::from_values(&[
        ValueRef::Int(7),
        ValueRef::Int(3),
        ValueRef::Int(2_999),
        text("Aristophanes"),
        text("OE"),
        text("BARBARPRI"),
        text("12 Long Street Name"),
        text("Some City Name"),
        text("NY"),
        text("123411111"),
        text("0123456789012345"),
        ValueRef::Timestamp(1_700_000_000_000_000),
        ValueRef::Float(0.25),
        ValueRef::Int(-1_000),
        ValueRef::Int(1_000),
        ValueRef::Int(1),
        ValueRef::Int(0),
        text(
            "three hundred bytes, more or less, of remarks about a customer, of which most are never read by anybody: \
              they only have to be carried from the old row to the new one at each payment, which changes three integers \
              beside them, and, where the credit is bad, the beginning of the remarks, from which the end falls off",
        ),
    ])
}

/// A table keyed by a text and an integer.
fn names() -> Schema {
    let table = Schema::table("names").column("last", ColumnType::Text).column("number", ColumnType::Int);
    table.key(["last", "number"]).build().expect("a good schema")
}

fn repeat(count: u64, mut operation: impl FnMut()) {
    (0..count).for_each(|_| operation());
}

fn apply(count: u64, delta: &Delta) {
    let (row, mut new) = (customer(), RowBuf::new());
    repeat(count, || {
        new.apply(black_box(row.row()), black_box(delta)).expect("columns of the row");
        black_box(&new);
    });
}

/// What SQL does with the row of an INSERT or UPDATE.
fn encode(count: u64) {
    let (row, mut new) = (customer(), RowBuf::new());
    let values: Vec<ValueRef<'_>> = row.row().values().collect();
    repeat(count, || {
        new.set_values(black_box(&values).iter().copied());
        black_box(&new);
    });
}

fn check_key(count: u64, schema: &Schema, key: &Key) {
    repeat(count, || schema.check_key(black_box(key)).expect("a key of the table"));
}

fn check_row(count: u64, schema: &Schema, row: &RowBuf) {
    let key = schema.key_of(row.row());
    repeat(count, || schema.check_row(black_box(&key), black_box(row.row())).expect("a row of the table"));
}

fn push_integers(count: u64, components: i64) {
    repeat(count, || {
        let mut key = Key::new();
        (0..black_box(components)).for_each(|component| {
            key.push_i64(component);
        });
        black_box(&key);
    });
}

fn run(operation: &str, count: u64) -> bool {
    let name = RowBuf::from_values(&[ValueRef::Text("BARBARPRI"), ValueRef::Int(2_999)]);
    let payment = || Delta::new().add(13, -500).add(14, 500).add(15, 1);
    match operation {
        "check-key-integers" => check_key(count, &customers(), &customers().key_of(customer().row())),
        "check-key-text" => check_key(count, &names(), &names().key_of(name.row())),
        "check-row" => check_row(count, &customers(), &customer()),
        "check-row-text-key" => check_row(count, &names(), &name),
        "apply-integers" => apply(count, &payment()),
        "apply-text" => apply(count, &payment().set(17, "remarks of another length")),
        "apply-texts" => apply(count, &Delta::new().set(6, "3 Short Street").set(7, "City").set(17, "remarks")),
        "encode" => encode(count),
        "change" => change(count, &payment()),
        "key-of-3" => push_integers(count, 3),
        "key-of-4" => push_integers(count, 4),
        "key-of-5" => push_integers(count, 5),
        _ => return false,
    }
    true
}

/// What an engine does with a delta.
fn change(count: u64, delta: &Delta) {
    let (schema, row, mut new) = (customers(), customer(), RowBuf::new());
    repeat(count, || {
        schema.change(black_box(row.row()), black_box(delta), &mut new).expect("columns of the row");
        black_box(&new);
    });
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (operation, count) = (arguments.next(), arguments.next().and_then(|count| count.parse().ok()));
    match (operation, count) {
        (Some(operation), Some(count)) if run(&operation, count) => ExitCode::SUCCESS,
        _ => {
            eprintln!("typed_rows OPERATION COUNT");
            ExitCode::FAILURE
        }
    }
}
