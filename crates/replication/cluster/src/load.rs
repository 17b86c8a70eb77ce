//! What a node keeps in memory of its replica, read from the local store.

use crate::codes::position;
use crate::error::damaged;
use crate::options::Limits;
use crate::payload::VERSION;
use crate::replica::{
    self, Generation, LIVES, Life, PARTS, TABLES, Table, WINDOW, decode_table, named, numbers_of, position_of,
    state_name, table_name,
};
use crate::root::Root;
use crate::window::{self, Window};
use model::{Access, Columns, Fault, Finish, Key, Malformed, Result, RowBuf, Scan, Store, TableId};
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use total::Position;

/// What a node keeps in memory of its replica.
pub(crate) struct Loaded {
    pub root: Root,
    pub generation: Arc<Generation>,
    pub window: Window,
    pub lives: BTreeMap<u64, Life>,
    pub parts: BTreeMap<u64, Vec<(u64, u64)>>,
    /// The rows that have the window, by their last entries, the oldest first.
    pub window_rows: VecDeque<Position>,
}

/// Reads a replica.
///
/// # Errors
/// Errors of the store; it is damaged, or of another version.
pub(crate) fn load(store: &dyn Store, root: Root, own: Limits) -> Result<Loaded> {
    let limits = match root.agreed {
        Some((VERSION, limits)) => limits,
        None => own,
        Some((version, _)) => {
            let detail = format!("the replicated state is of version {version}, and this program's is {VERSION}");
            return Err(Fault::NewerFormat { detail }.into());
        }
    };
    let state = named(store, &state_name(root.generation)).ok_or_else(|| damaged("it has no table of its state"))?;
    let mut tables = BTreeMap::new();
    let mut window = Window::new(limits, root.floor);
    window.set_place(root.place);
    let (mut lives, mut parts) = (BTreeMap::new(), BTreeMap::<u64, Vec<(u64, u64)>>::new());
    let mut window_rows = VecDeque::new();
    let locals: BTreeMap<String, TableId> =
        store.tables().into_iter().map(|(id, schema)| (schema.name().to_owned(), id)).collect();
    for_each_row(store, state, |key, row| {
        let numbers = numbers_of(key);
        let number = |at: usize| numbers.get(at).copied().ok_or_else(|| damaged("a key of its state"));
        match key.first() {
            Some(&TABLES) => {
                let id = TableId(u32::try_from(number(0)?).map_err(|_| damaged("the number of a table"))?);
                let local =
                    locals.get(&table_name(root.generation, id)).ok_or_else(|| damaged("a table is missing"))?;
                let (creator, schema) = decode_table(row).map_err(|_| damaged("a table"))?;
                tables.insert(id, Arc::new(Table { id, local: *local, schema: Arc::new(schema), creator }));
            }
            Some(&WINDOW) => {
                window_rows.push_back(position_of(key)?);
                let entries = window::entries(row).map_err(|_| damaged("entries of the window"))?;
                // Of the first row some may be forgotten.
                entries.into_iter().filter(|entry| entry.position > root.floor).for_each(|entry| window.restore(entry));
            }
            Some(&LIVES) => {
                lives.insert(number(0)?, Life::decode(row).map_err(|_| damaged("the life of a node"))?);
            }
            Some(&PARTS) => parts.entry(number(0)?).or_default().push((number(1)?, number(2)?)),
            _ => return Err(damaged("a row of its state")),
        }
        Ok(())
    })?;
    restore_rows(store, &tables, &mut window)?;
    let generation = Arc::new(Generation::new(root.generation, state, Arc::new(tables)));
    Ok(Loaded { root, generation, window, lives, parts, window_rows })
}

/// Reads the rows that the window's writes have led to.
fn restore_rows(store: &dyn Store, tables: &BTreeMap<TableId, Arc<Table>>, window: &mut Window) -> Result<()> {
    let mut snapshot = replica::begin_snapshot(store, None)?;
    window.restore_rows(|(table, key)| {
        // Nobody who has read a table that was dropped is certified.
        let Some(table) = tables.get(table) else { return Ok(None) };
        let mut row = RowBuf::new();
        let found = snapshot.read(table.local, key, Columns::All, &mut row)?;
        Ok(found.then_some(row))
    })?;
    snapshot.abort();
    Ok(())
}

/// Visits all rows of a table of a store that nobody else writes.
pub(crate) fn for_each_row(
    store: &dyn Store,
    table: TableId,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut transaction = replica::begin_own(store)?;
    let mut outcome = Ok(());
    transaction.scan(&Scan::table(table), &mut |item| {
        outcome = each(item.key, item.row.bytes());
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    transaction.abort();
    outcome
}

/// The rows under a prefix, in order.
pub(crate) fn rows_under(store: &dyn Store, table: TableId, prefix: Key) -> Result<Vec<Vec<u8>>> {
    let mut transaction = replica::begin_own(store)?;
    let mut rows = Vec::new();
    transaction.scan(&Scan::table(table).prefix(prefix), &mut |item| {
        rows.push(item.row.bytes().to_vec());
        ControlFlow::Continue(())
    })?;
    transaction.abort();
    Ok(rows)
}

/// Where the order is to be resumed.
pub(crate) fn start_of(root: Option<Root>) -> Option<Position> {
    root.and_then(|root| root.position)
}

/// The first fields of a state: where it ends, and what all nodes have alike of the root.
pub(crate) fn decode_head(bytes: &[u8]) -> std::result::Result<(Position, Root), Malformed> {
    let mut from = model::Decoder::new(bytes);
    let complete_to = position(&mut from)?;
    let root = Root::decode_shared(0, &mut from)?;
    from.end()?;
    Ok((complete_to, root))
}
