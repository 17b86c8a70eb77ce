//! The engine tables that hold the rows and index entries of relations.
//!
//! An engine table is created at once, outside the transaction that defines the relation, under a name that was never used
//! before. No other transaction sees it until the definition that names it is committed. If that transaction rolls back, or a later
//! definition no longer names the table, it is dropped, at once or when the database is opened next (T3).

use crate::catalog::Catalog;
use crate::definition::{KeyForm, Oid, Relation, Storage};
use crate::sequences::{Exhausted, Sequences, forget_all_but};
use crate::shared::{POSTGRES, SharedCatalog, catalog_of};
use crate::transact::{is_left_over, is_shared, transact, transact_unawaited};
use model::{Access, ColumnType, Mode, Result, Schema, SchemaBuilder, Store, Supervisor, TableId};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Prefix of the names of these engine tables. The relation's object identifier and a fresh number follow: `sql 16384.3`.
const PREFIX: &str = "sql ";
/// Prefix of the schemas of temporary relations.
pub const TEMPORARY: &str = "pg_temp_";

/// What a transaction has done to a relation: it made, changed or removed its definition, or an engine table of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The relation.
    pub relation: Oid,
    /// The engine table that it made, or took away.
    pub table: Option<u32>,
    /// Who can have drawn its numbers.
    pub users: Users,
}

/// Who can have drawn numbers of a relation that a transaction touches: the latter are fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Users {
    /// Everybody.
    All,
    /// The transaction, which has made it; everybody once that has committed.
    Maker,
    /// The session: it is temporary.
    Session,
}

impl Users {
    /// Whether nobody draws any more, once the transaction has ended and taken the relation away.
    fn are_gone(self, has_committed: bool) -> bool {
        match self {
            Users::All => false,
            Users::Maker => !has_committed,
            Users::Session => true,
        }
    }
}

/// What definitions have left: they name it no longer, or never did.
#[derive(Default)]
struct Left {
    /// Engine tables.
    tables: HashSet<u32>,
    /// Relations, each with the state that is still named, where it is a sequence, and its users.
    states: Vec<(Oid, Option<u64>, Users)>,
}

/// Makes an engine table for the rows of a table: one column for each of `columns`, all nullable. The supervisor may end its
/// waits for a disk.
///
/// # Errors
/// Errors of the engine.
pub fn create_row_storage(
    engine: &dyn Store,
    sequences: &Sequences,
    relation: Oid,
    columns: impl ExactSizeIterator<Item = ColumnType>,
    key: KeyForm,
    by: model::Storage,
    supervisor: Option<Arc<dyn Supervisor>>,
) -> std::result::Result<Storage, Exhausted> {
    let name = fresh_name(sequences, relation)?;
    // The engine has no typed rows without columns.
    let start = if columns.len() == 0 { Schema::bytes(name) } else { Schema::table(name) };
    let schema = columns.enumerate().fold(start, |schema, (at, kind)| schema.nullable(at.to_string(), kind));
    create(engine, schema.storage(by), key, supervisor)
}

/// Makes an engine table for the entries of an index.
///
/// # Errors
/// Errors of the engine.
pub fn create_index_storage(
    engine: &dyn Store,
    sequences: &Sequences,
    relation: Oid,
    supervisor: Option<Arc<dyn Supervisor>>,
) -> std::result::Result<Storage, Exhausted> {
    let name = fresh_name(sequences, relation)?;
    create(engine, Schema::bytes(name).for_index(), KeyForm::Columns, supervisor)
}

fn fresh_name(sequences: &Sequences, relation: Oid) -> std::result::Result<String, Exhausted> {
    Ok(format!("{PREFIX}{relation}.{}", sequences.fresh_version()?))
}

fn create(
    engine: &dyn Store,
    schema: SchemaBuilder,
    key: KeyForm,
    supervisor: Option<Arc<dyn Supervisor>>,
) -> std::result::Result<Storage, Exhausted> {
    let schema = match key {
        KeyForm::RowNumber | KeyForm::Eight => schema.u64_key(),
        KeyForm::Columns => schema,
    };
    let schema = schema.build().map_err(model::Error::from)?;
    let table = match supervisor {
        Some(supervisor) => engine.create_table_supervised(schema, supervisor)?.0,
        None => engine.create_table(schema)?.0,
    };
    Ok(Storage { table, key })
}

/// The relation that an engine table was made for, by the engine table's name.
pub fn relation_of(engine_table: &str) -> Option<Oid> {
    let (relation, number) = engine_table.strip_prefix(PREFIX)?.split_once('.')?;
    number.parse::<u64>().ok()?;
    relation.parse().ok()
}

/// Returns whether an engine table of this name belongs to this layer: to a definition, or to the catalog.
pub fn is_own(engine_table: &str) -> bool {
    engine_table.starts_with(PREFIX)
}

/// The engine tables that a definition names.
pub fn storages<T, M>(relation: &Relation<T, M>) -> impl Iterator<Item = Storage> {
    let table = if let Relation::Table(table) = relation { Some(table) } else { None };
    table
        .into_iter()
        .flat_map(|table| std::iter::once(table.storage).chain(table.indexes.iter().filter_map(|index| index.storage)))
}

/// Drops what a transaction has touched and no definition names, now that the transaction is over. Savepoints that were rolled back need
/// no bookkeeping of their own: the catalog says what became of each.
///
/// Stored states of sequences and row numbers go here if nobody draws from them. Of others a transaction may still draw that comes before
/// the drop in the serial order, and it must not begin anew: those go when the database is opened next. So does what a failure leaves.
pub fn settle<T, M>(
    engine: &dyn Store,
    sequences: &Sequences,
    catalog: &Catalog<T, M>,
    (touched, has_committed): (&[Touched], bool),
) where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    if touched.is_empty() {
        return;
    }
    let Ok(left) = left_of(engine, catalog, touched) else { return };
    if !left.tables.is_empty() {
        for (id, schema) in engine.tables() {
            if left.tables.contains(&id.0) {
                // It may be gone already, or the log may be full; the next opening looks again.
                let _ = engine.drop_table(schema.name());
            }
        }
    }
    let mut unused = Vec::new();
    for (relation, kept, users) in left.states {
        let keys = sequences.forget(relation, kept);
        unused.extend(keys.into_iter().filter(|_| users.are_gone(has_committed)));
    }
    sequences.remove(&unused);
}

/// Without a wait for the log: what is removed is logged after the definition that named it.
fn left_of<T, M>(engine: &dyn Store, catalog: &Catalog<T, M>, touched: &[Touched]) -> Result<Left>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    let mut relations: BTreeMap<Oid, (Vec<u32>, Users)> = BTreeMap::new();
    for Touched { relation, table, users } in touched {
        let of_relation = relations.entry(*relation).or_insert((Vec::new(), Users::All));
        of_relation.0.extend(table);
        of_relation.1 = of_relation.1.max(*users);
    }
    let looked = transact_unawaited(engine, Mode::ReadOnly, |access| {
        let mut left = Left::default();
        for (relation, (tables, users)) in &relations {
            let found = catalog.relation_by_oid(access, *relation)?;
            let named: Vec<u32> = found.iter().flat_map(storages).map(|storage| storage.table).collect();
            left.tables.extend(tables.iter().filter(|table| !named.contains(table)));
            match found {
                None => {
                    catalog.forget(*relation);
                    left.states.push((*relation, None, *users));
                }
                Some(Relation::Sequence(sequence)) => left.states.push((*relation, Some(sequence.state), *users)),
                Some(_) => {}
            }
        }
        Ok(left)
    });
    Ok(looked?.0)
}

/// Removes what earlier runs left, in all databases: temporary relations, engine tables that no definition names, catalogs of
/// databases that are gone, states of sequences that are gone. Before anybody uses the engine.
pub(crate) fn clean<T, M>(engine: &dyn Store, first: &Catalog<T, M>) -> Result<()>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    let shared = SharedCatalog::open(engine)?;
    let databases: HashSet<Oid> = transact(engine, Mode::ReadOnly, |access| shared.databases(access))?
        .into_iter()
        .map(|database| database.oid)
        .collect();
    let mut relations = clean_catalog(engine, first)?;
    for oid in databases.iter().filter(|oid| **oid != POSTGRES) {
        if let Some(catalog) = Catalog::<T, M>::find_in(engine, *oid) {
            relations.extend(clean_catalog(engine, &catalog)?);
        }
    }
    let named: HashSet<u32> = relations.iter().flat_map(storages).map(|storage| storage.table).collect();
    for (id, schema) in engine.tables() {
        let is_left = match catalog_of(schema.name()) {
            Some(database) => !databases.contains(&database),
            None => relation_of(schema.name()).is_some() && !named.contains(&id.0),
        };
        if is_left && is_left_over(engine, id) {
            engine.drop_table(schema.name())?;
        }
    }
    // In a shared store a state may be of a sequence whose definition another process is about to commit.
    if is_shared(engine) { Ok(()) } else { forget_all_but(engine, &relations) }
}

/// Whether a temporary relation is of a session that has ended with its process. In a shared store its engine tables say whose it was.
fn has_ended<T, M>(engine: &dyn Store, relation: &Relation<T, M>) -> bool {
    let mut storages = storages(relation).peekable();
    if is_shared(engine) && storages.peek().is_none() {
        return false;
    }
    storages.all(|storage| is_left_over(engine, TableId(storage.table)))
}

/// Brings a catalog to its present form, without temporary relations of ended sessions. Returns the others.
fn clean_catalog<T, M>(engine: &dyn Store, catalog: &Catalog<T, M>) -> Result<Vec<Relation<T, M>>>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    transact(engine, Mode::ReadWrite, |access| {
        catalog.begin(access)?;
        let all = catalog.relations(access)?;
        let (temporary, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| it.schema().starts_with(TEMPORARY) && has_ended(engine, it));
        temporary.iter().try_for_each(|relation| remove(access, catalog, relation))?;
        Ok(kept)
    })
}

/// Removes the relations of one session's temporary schema, in a transaction of its own, and drops their storage.
///
/// # Errors
/// Errors of the engine; what remains goes when the database is opened next.
pub fn drop_temporary<T, M>(
    engine: &dyn Store,
    sequences: &Sequences,
    catalog: &Catalog<T, M>,
    schema: &str,
) -> Result<()>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    let dropped = transact(engine, Mode::ReadWrite, |access| {
        let relations = catalog.relations_in(access, schema)?;
        relations.iter().try_for_each(|relation| remove(access, catalog, relation))?;
        Ok(relations)
    })?;
    let touched: Vec<Touched> = dropped.iter().flat_map(|relation| touched_by_drop(relation, Users::Session)).collect();
    settle(engine, sequences, catalog, (&touched, true));
    Ok(())
}

/// What the drop of a relation touches.
pub fn touched_by_drop<T, M>(relation: &Relation<T, M>, users: Users) -> impl Iterator<Item = Touched> {
    let oid = relation.oid();
    let tables = storages(relation).map(|storage| Some(storage.table));
    std::iter::once(None).chain(tables).map(move |table| Touched { relation: oid, table, users })
}

/// Removes a definition with what it depends on.
fn remove<T, M>(access: &mut dyn Access, catalog: &Catalog<T, M>, relation: &Relation<T, M>) -> Result<()>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    catalog.forget_dependencies(access, relation.oid())?;
    catalog.remove(access, relation)
}
