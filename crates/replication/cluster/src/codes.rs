//! Bytes of what payloads, rows of the state and its transfer have in common.

use codec::{put_bytes, put_number};
use model::{Decoder, Key, Malformed, TableId};
use total::{Origin, Position};

pub(crate) fn put_position(out: &mut Vec<u8>, at: Position) {
    put_number(out, at.instance);
    put_number(out, at.index.into());
}

pub(crate) fn position(from: &mut Decoder<'_>) -> Result<Position, Malformed> {
    let instance = from.number()?;
    Ok(Position { instance, index: u32::try_from(from.number()?).map_err(|_| Malformed)? })
}

pub(crate) fn put_origin(out: &mut Vec<u8>, origin: Origin) {
    put_number(out, origin.node);
    put_number(out, origin.life);
}

pub(crate) fn origin(from: &mut Decoder<'_>) -> Result<Origin, Malformed> {
    Ok(Origin { node: from.number()?, life: from.number()? })
}

pub(crate) fn put_table(out: &mut Vec<u8>, table: TableId) {
    put_number(out, table.0.into());
}

pub(crate) fn table(from: &mut Decoder<'_>) -> Result<TableId, Malformed> {
    Ok(TableId(u32::try_from(from.number()?).map_err(|_| Malformed)?))
}

/// A key of a table.
pub(crate) type TableKey = (TableId, Key);

pub(crate) fn put_key(out: &mut Vec<u8>, (table, key): &TableKey) {
    put_table(out, *table);
    put_bytes(out, key);
}

pub(crate) fn key(from: &mut Decoder<'_>) -> Result<TableKey, Malformed> {
    Ok((table(from)?, Key::from_bytes(from.bytes()?)))
}

/// A list with its length. Nothing is reserved for an announced length.
pub(crate) fn list<'p, T>(
    from: &mut Decoder<'p>,
    mut item: impl FnMut(&mut Decoder<'p>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut items = Vec::new();
    for _ in 0..from.number()? {
        items.push(item(from)?);
    }
    Ok(items)
}
