//! Resolves a table's handle in one transaction.

use crate::database::Shared;
use crate::error::{At, Place as ConflictPlace};
use crate::handles::{Handle, Used};
use crate::range::{Cursor, Reads, Span};
use crate::shape::difference;
use crate::snapshot::Snapshot;
use crate::{Conflict, Error, Invalid, Result, Schema};
use model::{Abort, Access, RowBuf, RowRef, TableId, Target};
use std::ops::Bound;
use std::sync::Arc;
use tables::storage::relation_of;
use tables::{Layout, Relation, Table, schema_of};

/// Names a table of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableRef {
    pub database: u64,
    pub place: Place,
}

/// The kind of a table, and its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// An engine table without a definition: its keys are not part of its rows, and its rows have no columns.
    Plain(TableId),
    /// A table of the catalog, by the number of its handle.
    Defined(u32),
}

/// A handle as resolved in one transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResolvedTable<'s> {
    Plain(TableId),
    Defined(&'s Layout),
}

impl TableRef {
    /// Resolves the handle in `snapshot`'s transaction, which must be of its database.
    pub fn resolve(self, snapshot: &Snapshot) -> Result<ResolvedTable<'_>> {
        snapshot.check_database(self.database)?;
        match self.place {
            Place::Plain(table) => Ok(ResolvedTable::Plain(table)),
            Place::Defined(handle) => Ok(ResolvedTable::Defined(snapshot.layout(handle)?)),
        }
    }

    /// The table's layout.
    pub fn layout(self, snapshot: &Snapshot) -> Result<&Layout> {
        match self.resolve(snapshot)? {
            ResolvedTable::Defined(layout) => Ok(layout),
            ResolvedTable::Plain(table) => Err(Invalid::UnknownTable { table: format!("number {}", table.0) }.into()),
        }
    }

    /// The engine table of the rows.
    pub fn plain(self, snapshot: &Snapshot) -> Result<TableId> {
        match self.resolve(snapshot)? {
            ResolvedTable::Plain(table) => Ok(table),
            ResolvedTable::Defined(layout) => Ok(layout.rows()),
        }
    }

    /// Iterates over the span of the table that `span` computes.
    pub fn walk<'s>(self, snapshot: &'s Snapshot, span: impl FnOnce(ResolvedTable<'s>) -> Result<Span>) -> Walk<'s> {
        let begun = self.resolve(snapshot).and_then(|resolved| Ok((span(resolved)?, resolved)));
        Walk::over(snapshot, begun)
    }

    /// Same as [`TableRef::walk`], for callers that need one row.
    pub fn walk_one<'s>(
        self,
        snapshot: &'s Snapshot,
        span: impl FnOnce(ResolvedTable<'s>) -> Result<Span>,
    ) -> Result<Walk<'s>> {
        let resolved = self.resolve(snapshot)?;
        Ok(Walk::Rows(Cursor::one(snapshot, span(resolved)?), resolved))
    }
}

impl ResolvedTable<'_> {
    /// The engine table of the rows.
    pub fn rows(self) -> TableId {
        match self {
            ResolvedTable::Plain(table) => table,
            ResolvedTable::Defined(layout) => layout.rows(),
        }
    }

    /// Returns whether a write to the table writes entries of indexes too.
    pub fn has_entries(&self) -> bool {
        matches!(self, ResolvedTable::Defined(layout) if layout.has_entries())
    }

    /// The stored form of a key, or of its first components.
    pub fn stored_key(self, key: model::Key) -> Result<model::Key> {
        match self {
            ResolvedTable::Plain(_) => Ok(key),
            ResolvedTable::Defined(layout) => Ok(layout.stored_key(&key)?),
        }
    }

    /// The program's form of a stored key.
    pub fn program_key(self, key: &[u8]) -> model::Key {
        match self {
            ResolvedTable::Defined(layout) => layout.program_key(key).unwrap_or_else(|| model::Key::from_bytes(key)),
            ResolvedTable::Plain(_) => model::Key::from_bytes(key),
        }
    }

    fn show<T>(self, row: RowRef<'_>, show: impl FnOnce(RowRef<'_>) -> T) -> T {
        match self {
            ResolvedTable::Plain(_) => show(row),
            ResolvedTable::Defined(layout) => show(layout.program_row(row, &mut RowBuf::new())),
        }
    }
}

/// An iteration, or the error that prevented it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a walk lives on the stack; a box would be an allocation for each")]
pub(crate) enum Walk<'s> {
    Rows(Cursor<'s>, ResolvedTable<'s>),
    Wrong(Option<Error>),
}

impl<'s> Walk<'s> {
    /// Walks over a span, unless it could not be told.
    pub fn over(snapshot: &'s dyn Reads, begun: Result<(Span, ResolvedTable<'s>)>) -> Walk<'s> {
        match begun {
            Ok((span, resolved)) => Walk::Rows(Cursor::new(snapshot, span), resolved),
            Err(error) => Walk::Wrong(Some(error)),
        }
    }

    pub fn next<T>(
        &mut self,
        make: impl FnOnce(ResolvedTable<'_>, &[u8], RowRef<'_>) -> Result<T>,
    ) -> Option<Result<T>> {
        match self {
            Walk::Rows(cursor, resolved) => cursor.next(|key, row| resolved.show(row, |row| make(*resolved, key, row))),
            Walk::Wrong(error) => error.take().map(Err),
        }
    }

    pub fn next_back<T>(
        &mut self,
        make: impl FnOnce(ResolvedTable<'_>, &[u8], RowRef<'_>) -> Result<T>,
    ) -> Option<Result<T>> {
        match self {
            Walk::Rows(cursor, resolved) => {
                cursor.next_back(|key, row| resolved.show(row, |row| make(*resolved, key, row)))
            }
            Walk::Wrong(error) => error.take().map(Err),
        }
    }
}

impl Shared {
    /// Returns the layout of a handle by reading the table's definition. The read is protected: the definition cannot change
    /// unnoticed while the transaction runs.
    pub fn layout<A: Access + ?Sized>(&self, access: &mut A, handle: u32) -> Result<Arc<Layout>> {
        let Handle { relation, schema, layout } = self.kept.handles.all()[handle as usize].clone();
        let unknown = || Invalid::UnknownTable { table: schema.name().into() };
        let tables = self.known_tables().ok_or_else(unknown)?;
        let Some(Relation::Table(table)) = tables.catalog().relation_by_oid(access, relation)? else {
            return Err(unknown().into());
        };
        if let Some(known) = layout.filter(|known| known.table().version == table.version) {
            return Ok(known);
        }
        check_shape(&table, &schema)?;
        let layout = Arc::new(Layout::new(table, schema)?);
        self.kept.handles.note(handle, &layout);
        Ok(layout)
    }

    /// Translates a conflict in a table of the catalog into the names that its users know: the table's name, their keys.
    pub fn explain(&self, used: &Used, error: tables::Error) -> Error {
        match error {
            tables::Error::Engine(model::Error::Aborted(abort)) => {
                let place = self.place_of(used, &abort);
                Error::Aborted(Conflict::at(abort, place))
            }
            error => error.into(),
        }
    }

    fn place_of(&self, used: &Used, abort: &Abort) -> Option<ConflictPlace> {
        let name = abort.table.as_ref()?.name();
        let oid = relation_of(name)?;
        let layout = used.layouts().find(|layout| layout.table().oid == oid)?;
        let (id, _) = self.engine.table(name)?;
        let target = abort.target.clone();
        let at = if id == layout.rows() { At::Rows(of_rows(layout, target)) } else { of_entries(layout, id, target) };
        Some(ConflictPlace { table: layout.schema().clone(), at })
    }
}

/// Returns whether a table has the schema that a handle requires.
pub(crate) fn check_shape(table: &Table, wanted: &Schema) -> Result<()> {
    let what = match schema_of(table, Some(wanted), wanted.storage()) {
        Ok(stored) => difference(&stored, wanted),
        Err(what) => Some(what),
    };
    // The name is the table's own affair: it may have been renamed since the handle was made.
    match what {
        None => Ok(()),
        Some(what) => Err(Invalid::Shape { table: wanted.name().into(), what }.into()),
    }
}

fn of_rows(layout: &Layout, target: Target) -> Target {
    let key = |key: model::Key| layout.program_key(&key).unwrap_or(key);
    let bound = |bound: Bound<model::Key>| bound.map(key);
    match target {
        Target::Key(it) => Target::Key(key(it)),
        Target::Gap(it) => Target::Gap(key(it)),
        Target::Range(lower, upper) => Target::Range(bound(lower), bound(upper)),
        other => other,
    }
}

fn of_entries(layout: &Layout, entries: TableId, target: Target) -> At {
    let found = match target {
        Target::Key(entry) | Target::Gap(entry) => layout.program_entry(entries, &entry),
        _ => None,
    };
    found.map_or(At::Rows(Target::None), |(number, entry)| At::Entry(number, entry))
}
