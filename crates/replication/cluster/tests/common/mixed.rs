//! Statements on registers, what their clients saw, and where it stands in the order.

use env::Randomness;
use env::time::Duration;
use model::history::{Outcome, Transaction};
use model::{Access, Columns, Committed, Error, Fault, Item, Key, Result, RowBuf, Scan, SerialPoint, TableId};
use seriatim_cluster::Cluster;
use std::ops::ControlFlow;
use std::sync::Arc;
use total::Position;

/// A committed transaction's place, and whether it wrote.
pub type Place = Option<(u64, bool)>;

/// One statement on the registers; each write has a value of its own.
pub fn statement(
    access: &mut impl Access,
    (table, keys): (TableId, u64),
    random: &mut Randomness,
    value: u64,
    reads_only: bool,
) -> Result<()> {
    let key = Key::from_u64(random.in_range(0..keys));
    let mut row = RowBuf::new();
    let new = RowBuf::from_bytes(&value.to_be_bytes());
    match random.in_range(0..if reads_only { 4 } else { 10 }) {
        0..=2 => access.read(table, &key, Columns::All, &mut row).map(drop),
        3 => {
            let scan = Scan::table(table).between(std::ops::Bound::Included(key), std::ops::Bound::Unbounded);
            let mut left = 1 + random.in_range(0..6);
            let end = access.scan(&scan, &mut |_: Item<'_>| {
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            end.map(drop)
        }
        4 | 5 => access.put(table, &key, new.row()),
        6 | 7 => match access.insert(table, &key, new.row()) {
            Err(Error::Duplicate(_)) => Ok(()),
            inserted => inserted,
        },
        8 => access.delete(table, &key).map(drop),
        _ => {
            access.read_for_update(table, &key, Columns::All, &mut row)?;
            access.put(table, &key, new.row())
        }
    }
}

pub fn outcome_of(ended: &Result<Committed>, wrote: bool) -> (Outcome, Place) {
    match ended {
        Ok(committed) => (Outcome::Committed(None), Some((committed.log_position.to_raw(), wrote))),
        Err(Error::Fault(Fault::OutcomeUnknown { .. })) => (Outcome::Unknown, None),
        Err(_) => (Outcome::Aborted, None),
    }
}

/// Claims a serial point for each transaction that committed: writers by their places, and behind each its readers as they began.
pub fn with_points(mut seen: Vec<(Transaction, Place)>) -> Vec<Transaction> {
    seen.sort_by_key(|(transaction, place)| place.map(|(place, wrote)| (place, !wrote, transaction.start_ns)));
    let numbered = (1..).zip(seen);
    numbered
        .map(|(point, (mut transaction, place))| {
            if place.is_some() {
                transaction.outcome = Outcome::Committed(Some(SerialPoint(point)));
            }
            transaction
        })
        .collect()
}

/// Everything that a node would hand over to another one, apart from how far it has come: rows, tables, the window, lives. Nodes
/// that decide alike have the same bytes.
pub fn state(node: &Arc<Cluster>) -> Vec<u8> {
    let mut bytes = Vec::new();
    node.write_state(Position::default(), Duration::from_secs(60), &mut bytes).expect("it has one");
    let line = bytes.iter().position(|byte| *byte == b'\n').expect("it begins with a line") + 1;
    let head = u32::from_le_bytes(bytes[line..line + 4].try_into().expect("four bytes")) as usize;
    bytes.split_off(line + 8 + head)
}
