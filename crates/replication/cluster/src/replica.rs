//! The replica in the local store: hidden tables beside those of users, and the names of all of them.
//!
//! ```text
//!   cluster root       the row "root": generation, position, place (root.rs)
//!   cluster G state    of generation G: what all nodes have alike beside rows
//!     t NUMBER           a table: who created it, its schema
//!     w POSITION         committed transactions of the window, up to this place: those of a batch
//!     l NODE             the last life of a node, and what was delivered of it last
//!     p NODE LIFE NR     a part of a payload whose last part has not come
//!   cluster G NUMBER   of generation G: the rows of a table
//! ```
//!
//! A generation is a state that was fetched, or the first one. The row "root" names the one that counts; tables of others are dropped
//! when they are found (C5).

use crate::codes::{origin, position, put_origin, put_position};
use crate::error::damaged;
use crate::root::Root;
use env::time::Duration;
use model::{
    Access, Begin, Columns, Decoder, Durability, Finish, Invalid, Key, Malformed, Mode, Result, RowBuf, RowRef, Schema,
    Store, TableId,
};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use total::{Origin, Position};

const ROOT: &str = "cluster root";
const ROOT_KEY: &[u8] = b"root";

/// Key prefixes of the state table.
pub(crate) const TABLES: u8 = b't';
pub(crate) const WINDOW: u8 = b'w';
pub(crate) const LIVES: u8 = b'l';
pub(crate) const PARTS: u8 = b'p';

/// A table of users.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Its number on every node.
    pub id: TableId,
    /// Its number in the local store.
    pub local: TableId,
    pub schema: Arc<Schema>,
    /// The life that created it.
    pub creator: Origin,
}

/// The tables by number. Copied when one is created or dropped: a transaction keeps those that it began with.
pub(crate) type Tables = Arc<BTreeMap<TableId, Arc<Table>>>;

/// A generation: where its tables are.
#[derive(Debug)]
pub(crate) struct Generation {
    pub number: u64,
    pub state: TableId,
    tables: RwLock<Tables>,
}

impl Generation {
    pub fn new(number: u64, state: TableId, tables: Tables) -> Generation {
        Generation { number, state, tables: RwLock::new(tables) }
    }

    pub fn tables(&self) -> Tables {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn change(&self, change: impl FnOnce(&mut BTreeMap<TableId, Arc<Table>>)) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut tables));
    }
}

/// The last life of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    pub life: u64,
    /// How many lives the node has had, as far as they were delivered.
    pub start: u64,
    /// The last submission that was delivered.
    pub submission: u64,
    /// Its place.
    pub position: Position,
}

impl Life {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        codec::put_number(&mut out, self.life);
        codec::put_number(&mut out, self.start);
        codec::put_number(&mut out, self.submission);
        put_position(&mut out, self.position);
        out
    }

    pub fn decode(row: &[u8]) -> std::result::Result<Life, Malformed> {
        let mut from = Decoder::new(row);
        let (life, start) = (from.number()?, from.number()?);
        let life = Life { life, start, submission: from.number()?, position: position(&mut from)? };
        from.end()?;
        Ok(life)
    }
}

/// Key of a row of the state table.
pub(crate) fn state_key(prefix: u8, parts: &[u64]) -> Key {
    let mut key = Key::from_bytes(&[prefix]);
    parts.iter().for_each(|part| _ = key.push_raw(&part.to_be_bytes()));
    key
}

/// The numbers in the key of a row of the state table.
pub(crate) fn numbers_of(key: &[u8]) -> Vec<u64> {
    let numbers = key.get(1..).unwrap_or_default().chunks_exact(8);
    numbers.map(|number| u64::from_be_bytes(number.try_into().expect("eight bytes"))).collect()
}

pub(crate) fn window_key(at: Position) -> Key {
    state_key(WINDOW, &[at.instance, at.index.into()])
}

pub(crate) fn position_of(key: &[u8]) -> Result<Position> {
    let numbers = numbers_of(key);
    let (Some(instance), Some(index)) = (numbers.first(), numbers.get(1).and_then(|at| u32::try_from(*at).ok())) else {
        return Err(damaged("a place of the window"));
    };
    Ok(Position { instance: *instance, index })
}

pub(crate) fn state_name(generation: u64) -> String {
    format!("cluster {generation} state")
}

pub(crate) fn table_name(generation: u64, table: TableId) -> String {
    format!("cluster {generation} {}", table.0)
}

/// The generation that a table of the local store belongs to.
fn generation_of(name: &str) -> Option<u64> {
    name.strip_prefix("cluster ")?.split_once(' ')?.0.parse().ok()
}

pub(crate) fn encode_table(creator: Origin, schema: &Schema) -> Vec<u8> {
    let mut out = Vec::new();
    put_origin(&mut out, creator);
    schema.encode(&mut out);
    out
}

pub(crate) fn decode_table(row: &[u8]) -> std::result::Result<(Origin, Schema), Malformed> {
    let mut from = Decoder::new(row);
    let creator = origin(&mut from)?;
    let schema = Schema::decode(&mut from)?;
    from.end()?;
    Ok((creator, schema))
}

pub(crate) fn named(store: &dyn Store, name: &str) -> Option<TableId> {
    store.tables().into_iter().find(|(_, schema)| schema.name() == name).map(|(id, _)| id)
}

/// The table of a name, made where it is missing. What an interrupted attempt has made is empty, and is taken.
pub(crate) fn find_or_create(store: &dyn Store, schema: Schema) -> Result<TableId> {
    match named(store, schema.name()) {
        Some(table) => Ok(table),
        None => store.create_table(schema),
    }
}

/// Begins a transaction of the replica's own thread, which nothing in the local store can meet. Its commit says which position of the local
/// log is awaited before the order may forget; nobody waits for it before.
pub(crate) fn begin_own(store: &dyn Store) -> Result<Box<dyn model::Transaction>> {
    store.begin(Begin { mode: Mode::ReadWrite, durability: Some(Durability::Fsync), ..Begin::default() })
}

/// A snapshot of what is applied. `wait_limit`: other than the store's.
pub(crate) fn begin_snapshot(store: &dyn Store, wait_limit: Option<Duration>) -> Result<Box<dyn model::Transaction>> {
    store.begin(Begin { mode: Mode::Snapshot, wait_limit, ..Begin::default() })
}

pub(crate) fn put_root(access: &mut dyn Access, table: TableId, root: &Root) -> Result<()> {
    access.put(table, ROOT_KEY, RowRef::new(&root.encode()))
}

pub(crate) fn read_root(access: &mut dyn Access, table: TableId) -> Result<Option<Root>> {
    let mut row = RowBuf::new();
    if !access.read(table, ROOT_KEY, Columns::All, &mut row)? {
        return Ok(None);
    }
    Root::decode(row.bytes()).map(Some).map_err(|_| damaged("the row of its position"))
}

/// Reads the root from a local store of which nobody else writes; `None` if it has none.
pub(crate) fn stored_root(store: &dyn Store) -> Result<Option<Root>> {
    let Some(table) = named(store, ROOT) else { return Ok(None) };
    let mut transaction = begin_own(store)?;
    let root = read_root(&mut transaction, table);
    transaction.abort();
    root
}

/// Finds the replica of a local store, or begins an empty one. Drops tables that belong to no state that counts (C5).
///
/// # Errors
/// Errors of the store; it is another program's.
pub(crate) fn open(store: &dyn Store) -> Result<(TableId, Root)> {
    let foreign =
        store.tables().into_iter().find(|(_, schema)| schema.name() != ROOT && generation_of(schema.name()).is_none());
    if let Some((_, schema)) = foreign {
        let what = "it was not replicated before: begin with an empty one, and bring its contents in by a dump";
        return Err(Invalid::Shape { table: schema.name().to_owned(), what: what.to_owned() }.into());
    }
    let table = find_or_create(store, Schema::bytes(ROOT).build()?)?;
    let root = match stored_root(store)? {
        Some(root) => root,
        None => {
            let root = Root::default();
            find_or_create(store, Schema::bytes(state_name(root.generation)).build()?)?;
            let mut transaction = begin_own(store)?;
            put_root(&mut transaction, table, &root)?;
            let committed = transaction.commit()?;
            store.wait_durable(committed.log_position)?;
            root
        }
    };
    drop_others(store, root.generation, |_| true)?;
    Ok((table, root))
}

/// Drops the tables of all generations but one, and those of it that are not wanted.
pub(crate) fn drop_others(store: &dyn Store, generation: u64, is_wanted: impl Fn(TableId) -> bool) -> Result<()> {
    for (id, schema) in store.tables() {
        let of = generation_of(schema.name());
        if of.is_some_and(|of| of != generation || !is_wanted(id)) {
            store.drop_table(schema.name())?;
        }
    }
    Ok(())
}
