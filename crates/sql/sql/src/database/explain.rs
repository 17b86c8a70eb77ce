//! Translates errors of engines, which name engine tables and encoded keys, into names, columns and values.

use super::Database;
use crate::definition::{Cache, Index, KeyForm, Relation, Table};
use crate::error::{SqlError, state};
use crate::storage::{read_eight_byte_key, read_key};
use crate::types::{Datum, Styles, Type, text};
use model::{Abort, AbortClass, Duplicate, Error, Invalid, Target};
use std::ops::Bound;
use std::sync::Arc;
use tables::storage::relation_of;

impl Database {
    /// Translates an engine's error, inside a statement, into the user's words: the table's and the constraint's names, the
    /// key's columns and values. A conflict stays as it is until it leaves the session: mostly the statement is repeated, and
    /// the client never receives it.
    pub(crate) fn explain(&self, error: SqlError) -> SqlError {
        if error.is_retryable() { error } else { self.explain_to_leave(error) }
    }

    /// Same as [`Database::explain`], for an error that leaves the session: conflicts too, with the other transaction.
    pub(crate) fn explain_to_leave(&self, mut error: SqlError) -> SqlError {
        let (cache, tables) = (&self.cache, || self.store.tables().into_iter());
        let id_of = |name: &str| tables().find(|(_, schema)| schema.name() == name).map(|(id, _)| id.0);
        let Some(engine) = error.fields().engine.clone() else { return error };
        match &engine {
            Error::Aborted(abort) | Error::Unavailable(abort) => {
                let place = abort.table.as_ref().and_then(|schema| place(cache, schema.name(), id_of));
                explain_abort(&mut error, abort, place.as_ref());
            }
            Error::Duplicate(duplicate) => {
                if let Some(place) = place(cache, duplicate.table.name(), id_of) {
                    explain_duplicate(&mut error, duplicate, &place);
                }
            }
            // The catalog named it, so another transaction has dropped, truncated or rewritten it since.
            Error::Invalid(Invalid::UnknownTable { .. }) => {
                let fields = error.fields_mut();
                fields.code = state::SERIALIZATION_FAILURE;
                fields.message = "could not serialize access due to concurrent update".to_owned();
                fields.detail = Some("Another transaction has dropped, truncated or rewritten the table.".to_owned());
                fields.hint = Some(RETRY.to_owned());
                fields.retryable = true;
            }
            _ => {}
        }
        error
    }
}

const RETRY: &str = "The transaction might succeed if retried.";

/// The relation and the index that an engine table belongs to.
struct Place {
    table: Arc<Table>,
    /// The index, by its position, unless it is the table's rows.
    index: Option<usize>,
}

fn place(cache: &Cache, engine_table: &str, id_of: impl Fn(&str) -> Option<u32>) -> Option<Place> {
    let Some(Relation::Table(table)) = cache.last_known(relation_of(engine_table)?) else { return None };
    let id = id_of(engine_table)?;
    let index = table.indexes.iter().position(|index| index.storage.is_some_and(|storage| storage.table == id));
    (index.is_some() || table.storage.table == id).then_some(Place { table, index })
}

impl Place {
    /// The index whose entry, or the primary key whose value, a key is; `None` for a row number.
    fn key_index(&self) -> Option<&Index> {
        match self.index {
            Some(index) => self.table.indexes.get(index),
            None if self.table.storage.key == KeyForm::RowNumber => None,
            None => self.table.row_key(),
        }
    }

    /// `(a, b)=(1, 2)`, or `row 17`.
    fn describe(&self, mut key: &[u8]) -> String {
        let Some(index) = self.key_index() else {
            return match model::Key::to_u64(key) {
                Some(number) => format!("row {number}"),
                None => "a row".to_owned(),
            };
        };
        // The type of an expression, and so the form of its value in the key, is known to who binds it.
        let columns = || index.columns.iter().map_while(|at| self.table.columns.get(*at));
        let mut expressions = 0..;
        let name = |at: &usize| match self.table.columns.get(*at) {
            Some(column) => column.name.clone(),
            None => expressions.next().map_or_else(String::new, |number| index.expression_as_key(number)),
        };
        let names: Vec<String> = index.columns.iter().map(name).collect();
        let is_rows = self.index.is_none();
        let mut values = Vec::new();
        for column in columns() {
            match component(&mut key, column.data_type, is_rows && self.table.storage.key == KeyForm::Eight) {
                Some(value) => values.push(value),
                None => break,
            }
        }
        if values.len() < names.len() && index.is_computed() {
            values.push("...".to_owned());
        }
        format!("({})=({})", names.join(", "), values.join(", "))
    }
}

fn component(key: &mut &[u8], data_type: Type, eight: bool) -> Option<String> {
    let value = if eight { read_eight_byte_key(key, data_type)? } else { read_key(key, data_type).ok()? };
    Some(match value {
        Datum::Null => "null".to_owned(),
        value => text::to_string(&value, data_type, &Styles::default()),
    })
}

fn explain_duplicate(error: &mut SqlError, duplicate: &Duplicate, place: &Place) {
    let table = &place.table;
    let detail = format!("Key {} already exists.", place.describe(&duplicate.key));
    let constraint = place.key_index().map(|index| index.name.clone()).unwrap_or_default();
    let fields = error.fields_mut();
    fields.message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    fields.detail = Some(detail);
    fields.hint = None;
    fields.schema = Some(table.schema.clone());
    fields.table = Some(table.name.clone());
    fields.constraint = Some(constraint);
}

fn explain_abort(error: &mut SqlError, abort: &Abort, place: Option<&Place>) {
    let message = match abort.class {
        AbortClass::ReadWrite => "could not serialize access due to read/write dependencies among transactions",
        AbortClass::WriteWrite | AbortClass::Definition | AbortClass::Footprint | AbortClass::Priority => {
            "could not serialize access due to concurrent update"
        }
        AbortClass::WaitLimit => "canceling statement due to lock timeout",
        AbortClass::Interrupted => "canceling statement due to user request",
        AbortClass::Age => "terminating transaction due to its age",
        AbortClass::Requested => "the transaction was aborted",
    };
    let fields = error.fields_mut();
    fields.message = message.to_owned();
    let mut detail = format!("Rule {}: {}", abort.rule, abort.explanation);
    match (place, &abort.table) {
        (Some(place), _) => {
            fields.schema = Some(place.table.schema.clone());
            fields.table = Some(place.table.name.clone());
            detail.push_str(&format!("; table \"{}\"", place.table.name));
            if let Some(index) = place.index.and_then(|index| place.table.indexes.get(index)) {
                detail.push_str(&format!(", index \"{}\"", index.name));
            }
            if let Some(target) = describe_target(place, &abort.target) {
                detail.push_str(&format!(", {target}"));
            }
        }
        (None, Some(schema)) if schema.name() == tables::CATALOG => {
            detail.push_str("; the definition of ");
            detail.push_str(&describe_definition(&abort.target));
        }
        (None, _) => {}
    }
    if let Some(other) = abort.other {
        detail.push_str(&format!("; other transaction {other}"));
    }
    fields.detail = Some(detail + ".");
    fields.hint = abort.class.is_retryable().then(|| RETRY.to_owned());
}

fn describe_target(place: &Place, target: &Target) -> Option<String> {
    let describe = |key: &model::Key| match place.key_index() {
        Some(_) => format!("key {}", place.describe(key)),
        None => place.describe(key),
    };
    let bound = |bound: &Bound<model::Key>| match bound {
        Bound::Unbounded => "the end".to_owned(),
        Bound::Included(key) => describe(key),
        Bound::Excluded(key) => format!("{} (excluded)", describe(key)),
    };
    match target {
        Target::None => None,
        Target::Key(key) => Some(describe(key)),
        Target::Gap(key) => Some(format!("the gap at {}", describe(key))),
        Target::Range(lower, upper) => Some(format!("the range from {} to {}", bound(lower), bound(upper))),
    }
}

/// Which definition of the catalog a conflict was about.
fn describe_definition(target: &Target) -> String {
    let key = match target {
        Target::Key(key) | Target::Gap(key) => key,
        Target::Range(..) | Target::None => return "several relations".to_owned(),
    };
    match tables::name_of(key) {
        Some((schema, name)) => format!("relation \"{schema}.{name}\""),
        None => "a relation".to_owned(),
    }
}
