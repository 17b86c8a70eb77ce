//! Choice of slots by a filter on values in place.

use crate::store::{Data, Store};
use model::{ColumnType, Comparison, Predicate, Value, ValueRef};

/// Keeps the slots of which the filter is true.
pub(super) fn select(filter: &Predicate, store: &Store, slots: &mut Vec<u32>) {
    match filter {
        Predicate::True => {}
        // Each conjunct looks at what the ones before it have left.
        Predicate::And(all) => all.iter().for_each(|filter| select(filter, store, slots)),
        Predicate::Compare(column, comparison, constant) => {
            if !select_integers(store, *column, *comparison, constant, slots) {
                select_rows(filter, store, slots);
            }
        }
        filter => select_rows(filter, store, slots),
    }
}

/// Keeps slots row by row.
fn select_rows(filter: &Predicate, store: &Store, slots: &mut Vec<u32>) {
    slots.retain(|&slot| {
        let value = |column: u16| -> ValueRef<'_> {
            let kind = store.column(column).expect("columns were checked when the scan began").kind();
            store.get(column, slot as usize).typed(kind)
        };
        filter.evaluate_with(&value) == Some(true)
    });
}

/// Compares a column of integers without NULL with a constant of its type, in one loop without a branch. False: it is none.
fn select_integers(store: &Store, column: u16, comparison: Comparison, constant: &Value, slots: &mut Vec<u32>) -> bool {
    let Some(column) = store.column(column).filter(|column| !column.has_nulls()) else { return false };
    // A constant of another type is neither smaller nor greater than any value.
    let constant = match constant {
        Value::Int(value) if column.kind() == ColumnType::Int => *value,
        Value::Timestamp(value) if column.kind() == ColumnType::Timestamp => *value,
        Value::Date(value) if column.kind() == ColumnType::Date => i64::from(*value),
        Value::Bool(value) if column.kind() == ColumnType::Bool => i64::from(*value),
        _ => return false,
    };
    match column.data() {
        Data::Narrow1(values) => keep(slots, comparison, constant, |slot| values[slot].into()),
        Data::Narrow2(values) => keep(slots, comparison, constant, |slot| values[slot].into()),
        Data::Narrow4(values) => keep(slots, comparison, constant, |slot| values[slot].into()),
        Data::Wide(values) => keep(slots, comparison, constant, |slot| values[slot]),
        Data::Floats(_) | Data::Heap(_) => return false,
    }
    true
}

fn keep(slots: &mut Vec<u32>, comparison: Comparison, constant: i64, value: impl Fn(usize) -> i64) {
    match comparison {
        Comparison::Equal => keep_if(slots, |slot| value(slot) == constant),
        Comparison::NotEqual => keep_if(slots, |slot| value(slot) != constant),
        Comparison::Less => keep_if(slots, |slot| value(slot) < constant),
        Comparison::LessOrEqual => keep_if(slots, |slot| value(slot) <= constant),
        Comparison::Greater => keep_if(slots, |slot| value(slot) > constant),
        Comparison::GreaterOrEqual => keep_if(slots, |slot| value(slot) >= constant),
    }
}

fn keep_if(slots: &mut Vec<u32>, holds: impl Fn(usize) -> bool) {
    let mut kept = 0;
    for at in 0..slots.len() {
        let slot = slots[at];
        slots[kept] = slot;
        kept += usize::from(holds(slot as usize));
    }
    slots.truncate(kept);
}
