//! Translates errors of engines, which name engine tables and encoded keys, into names, columns and values.

use super::Database;
use crate::definition::{Cache, Index, KeyForm, Relation, Table};
use crate::error::{SqlError, state};
use crate::storage::{decode_stored, read_eight_byte_key, read_key};
use crate::types::{Datum, Styles, Type, text};
use model::{Abort, AbortClass, Duplicate, Error, Invalid, Met, Target, Value, Words};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use tables::storage::relation_of;

impl Database {
    /// Both sides of a conflict in the user's words.
    pub(crate) fn sides_of(&self, abort: &Abort) -> Sides {
        let tables = || self.store.tables().into_iter();
        let id_of = |name: &str| tables().find(|(_, schema)| schema.name() == name).map(|(id, _)| id.0);
        let place = abort.table.as_ref().and_then(|schema| place(&self.cache, schema.name(), id_of));
        Sides::of(abort, place.as_ref())
    }

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

/// Both sides of a conflict in the user's words, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Sides {
    /// The table's schema.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The index, if the conflict was about one.
    pub index: Option<String>,
    /// The key, gap or range: of the other transaction's write, if that was the reason.
    pub target: Option<String>,
    /// What the other transaction has done to the row.
    pub change: Option<String>,
    /// What this transaction had read.
    pub read: Option<String>,
}

impl Sides {
    fn of(abort: &Abort, place: Option<&Place>) -> Sides {
        match (place, &abort.table) {
            (Some(place), _) => Sides {
                schema: Some(place.table.schema.clone()),
                table: Some(place.table.name.clone()),
                index: place.index.and_then(|index| place.table.indexes.get(index)).map(|index| index.name.clone()),
                target: describe_target(place, &abort.target),
                change: abort.met.as_deref().map(|met| met.change(place).to_string()),
                read: abort.met.as_deref().and_then(|met| describe_read(place, met)),
            },
            (None, Some(schema)) if schema.name() == tables::CATALOG => {
                let definition = format!("the definition of {}", describe_definition(&abort.target));
                Sides { target: Some(definition), ..Sides::default() }
            }
            (None, _) => Sides::default(),
        }
    }

    /// `; table "t", index "i", key (id)=(8): updated, x from 1 to 4; read as all rows where x > 3`
    fn push_to(&self, detail: &mut String) {
        let mut push = |before: &str, what: &Option<String>, after: &str| {
            if let Some(what) = what {
                detail.push_str(&format!("{before}{what}{after}"));
            }
        };
        push("; table \"", &self.table, "\"");
        push(", index \"", &self.index, "\"");
        push(if self.table.is_some() { ", " } else { "; " }, &self.target, "");
        push(": ", &self.change, "");
        push("; read as ", &self.read, "");
    }
}

/// Names and values of columns, as SQL has them.
impl Words for Place {
    fn column(&self, f: &mut fmt::Formatter<'_>, column: u16) -> fmt::Result {
        match self.table.columns.get(usize::from(column)) {
            Some(column) => f.write_str(&column.name),
            None => write!(f, "column {column}"),
        }
    }

    fn value(&self, f: &mut fmt::Formatter<'_>, column: u16, value: &Value) -> fmt::Result {
        let column = self.table.columns.get(usize::from(column));
        let datum =
            column.and_then(|column| Some((decode_stored(value.as_ref(), column.data_type).ok()?, column.data_type)));
        match datum {
            Some((Datum::Null, _)) => f.write_str("NULL"),
            Some((Datum::Text(text), _)) => write!(f, "'{text}'"),
            Some((datum, data_type)) => f.write_str(&text::to_string(&datum, data_type, &Styles::default())),
            None => f.write_str("..."), // Of a long one, the beginning is no value.
        }
    }
}

fn describe_read(place: &Place, met: &Met) -> Option<String> {
    let keys = match &met.keys {
        Target::Range(Bound::Unbounded, Bound::Unbounded) if place.index.is_some() => "all entries".to_owned(),
        Target::Range(Bound::Unbounded, Bound::Unbounded) => "all rows".to_owned(),
        // All keys that begin alike: the end of that range has no values.
        Target::Range(Bound::Included(first), Bound::Excluded(end))
            if first.successor_of_prefix().as_ref() == Some(end) =>
        {
            describe_target(place, &Target::Key(first.clone()))?
        }
        keys => describe_target(place, keys)?,
    };
    let restriction = met.restriction(place).to_string();
    Some(if restriction.is_empty() { keys } else { format!("{keys} where {restriction}") })
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
    let sides = Sides::of(abort, place);
    sides.push_to(&mut detail);
    (fields.schema, fields.table) = (sides.schema, sides.table);
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
    let bound = |bound: &Bound<model::Key>, open: &str| match bound {
        Bound::Unbounded => open.to_owned(),
        Bound::Included(key) => describe(key),
        Bound::Excluded(key) => format!("{} (excluded)", describe(key)),
    };
    match target {
        Target::None => None,
        Target::Key(key) => Some(describe(key)),
        Target::Gap(key) => Some(format!("the gap at {}", describe(key))),
        Target::Range(lower, upper) => {
            Some(format!("the range from {} to {}", bound(lower, "the beginning"), bound(upper, "the end")))
        }
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
