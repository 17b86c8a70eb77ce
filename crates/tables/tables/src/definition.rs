//! Definitions: what the catalog keeps about a relation.
//!
//! They are generic over how a column's type and modifier are written (`T`, `M`), since a layer above may have richer types of
//! its own. Whatever they are, they must serialize as [`Type`] and [`Modifier`] do.

use crate::types::{Modifier, Type};
use model::TableId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An object identifier, as in PostgreSQL. Those of users' objects start at 16,384 and are never given again.
pub type Oid = u32;

/// Anything that a name in FROM, or in DROP, can mean. Relations of one schema share one space of names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Relation<T = Type, M = Modifier> {
    /// A table.
    Table(Arc<Table<T, M>>),
    /// An index; its definition stands in its table.
    Index(IndexEntry),
    /// A sequence.
    Sequence(Arc<Sequence<T>>),
    /// A view.
    View(Arc<View<T, M>>),
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table<T = Type, M = Modifier> {
    /// Its identifier.
    pub oid: Oid,
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// A number that every change of the definition renews; prepared plans compare it.
    pub version: u64,
    /// Its columns by number, from 1, dropped ones among them. Rows in memory have one datum for each.
    pub columns: Vec<Column<T, M>>,
    /// Where its rows are. A row's columns are [`Table::columns`], all nullable; dropped ones are NULL.
    pub storage: Storage,
    /// Its indexes, the primary key's first.
    pub indexes: Vec<Index>,
    /// Its CHECK constraints.
    pub checks: Vec<Check>,
    /// Its FOREIGN KEY constraints.
    pub foreign_keys: Vec<ForeignKey>,
    /// The tables with foreign keys to it (itself too, if so), each once.
    pub referenced_by: Vec<Oid>,
    /// The comment on it.
    pub comment: Option<String>,
    /// Whether it belongs to one session and goes with it.
    pub temporary: bool,
    /// Whether changes of its rows ask and change no other tables: its foreign keys, and those to it, rest.
    #[serde(default, skip_serializing_if = "is_false")]
    pub triggers_disabled: bool,
    /// What COMMIT does to it. Only temporary tables have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_commit: Option<OnCommit>,
}

/// ON COMMIT of a temporary table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnCommit {
    /// Its rows go.
    DeleteRows,
    /// It goes.
    Drop,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Where a table's or an index's entries are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// The engine's table.
    pub table: u32,
    /// What its keys are.
    pub key: KeyForm,
}

impl Storage {
    /// The engine's table.
    pub fn id(&self) -> TableId {
        TableId(self.table)
    }
}

/// What the keys of an engine table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyForm {
    /// A table without a primary key: eight bytes that count its rows.
    RowNumber,
    /// A table with a primary key of one integer or date column: eight bytes, sign bit flipped.
    Eight,
    /// A table with any other primary key, or an index: the columns, encoded in order, each behind a byte that says
    /// whether it is NULL.
    Columns,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column<T = Type, M = Modifier> {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: T,
    /// The type's modifier.
    pub modifier: M,
    /// The domain that it is of: then type and modifier are those of the domain's values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Oid>,
    /// NOT NULL.
    pub not_null: bool,
    /// DEFAULT, as SQL in PostgreSQL's printed form (`nextval('orders_id_seq'::regclass)`).
    pub default: Option<String>,
    /// GENERATED AS IDENTITY.
    pub identity: Option<Identity>,
    /// GENERATED ALWAYS AS (expression) STORED.
    pub generated: Option<String>,
    /// The sequence that it owns (serial, identity): dropped with it.
    pub sequence: Option<Oid>,
    /// Dropped: its name does not count, its values are NULL.
    pub dropped: bool,
    /// The comment on it.
    pub comment: Option<String>,
}

impl<T, M> Column<T, M> {
    /// A column of a type, with nothing else said of it: nullable, without a default.
    pub fn plain(name: impl Into<String>, data_type: T, modifier: M) -> Column<T, M> {
        Column {
            name: name.into(),
            data_type,
            modifier,
            domain: None,
            not_null: false,
            default: None,
            identity: None,
            generated: None,
            sequence: None,
            dropped: false,
            comment: None,
        }
    }
}

/// GENERATED AS IDENTITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// A value given in INSERT is an error, unless OVERRIDING SYSTEM VALUE.
    Always,
    /// A value given in INSERT counts.
    ByDefault,
}

/// Stands in [`Index::columns`] for an expression: the next of [`Index::expressions`]. It is no position of a column.
pub const EXPRESSION: usize = usize::MAX;

/// An index, kept as an engine table of its own: entry -> the key of the row.
///
/// An entry is the index's columns encoded in order, then the row's key unless the index is unique and no column is NULL (or NULL
/// counts as a value). Rows for which the predicate is not true have no entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// Its identifier.
    pub oid: Oid,
    /// Its name, in its table's schema.
    pub name: String,
    /// The positions of its columns in [`Table::columns`], most significant first; [`EXPRESSION`] for one that is computed.
    pub columns: Vec<usize>,
    /// The expressions among its columns, in order, as SQL over the table's columns. Only SQL can compute them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<String>,
    /// WHERE of a partial index, as SQL over the table's columns: only rows for which it is true have entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<String>,
    /// INCLUDE: the positions of columns that belong to it without being part of its entries. They are found in the row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<usize>,
    /// NULLS NOT DISTINCT: in a unique index NULL equals NULL.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nulls_not_distinct: bool,
    /// The operator classes that are not their types' own, by the place in `columns`. Their order is that of the types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<(usize, String)>,
    /// Whether each column descends (as it prints; entries ascend and are read backwards).
    pub descending: Vec<bool>,
    /// The places in `columns` whose NULLs print on the other side than where the direction puts them: FIRST for a column that
    /// ascends, LAST for one that descends. Entries do not depend on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nulls_reversed: Vec<usize>,
    /// Whether two rows may not agree (rows with a NULL never do).
    pub unique: bool,
    /// DEFERRABLE, of a key: rows may agree until it is checked, so that its entries end with the rows' keys.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deferrable: bool,
    /// INITIALLY DEFERRED: checked at COMMIT, not at the end of the statement.
    #[serde(default, skip_serializing_if = "is_false")]
    pub initially_deferred: bool,
    /// Whether it is the primary key: then the table's own keys are its entries, unless it is deferrable.
    pub primary: bool,
    /// Whether a constraint of the same name made it.
    pub constraint: bool,
    /// The name by which a program declared it; `None` for an index that was made by SQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// Where its entries are. `None`: a primary key to which no foreign key refers (the table itself answers). A primary
    /// key with foreign keys to it has entries of its own, so that a check of existence conflicts with inserts and
    /// deletes of that key only, and not with updates of the row.
    pub storage: Option<Storage>,
    /// The comment on it.
    pub comment: Option<String>,
    /// The comment on the constraint that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint_comment: Option<String>,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Its identifier.
    pub oid: Oid,
    /// Its name, unique in its table.
    pub name: String,
    /// The condition, as SQL over the table's columns.
    pub expression: String,
    /// NOT VALID: rows that were there before it may violate it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub not_valid: bool,
    /// The comment on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Its identifier.
    pub oid: Oid,
    /// Its name, unique in its table.
    pub name: String,
    /// The positions of the referencing columns.
    pub columns: Vec<usize>,
    /// The referenced table.
    pub referenced: Oid,
    /// The referenced unique index or primary key.
    pub referenced_index: Oid,
    /// The positions of the referenced columns, in the order of `columns`.
    pub referenced_columns: Vec<usize>,
    /// ON DELETE.
    pub on_delete: Action,
    /// ON UPDATE.
    pub on_update: Action,
    /// MATCH FULL: all or none of the columns are NULL.
    pub match_full: bool,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED: checked at COMMIT.
    pub initially_deferred: bool,
    /// NOT VALID: rows that were there before it may violate it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub not_valid: bool,
    /// The comment on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Action on referencing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// An error at the end of the statement (or transaction), if they are still there.
    NoAction,
    /// An error at once.
    Restrict,
    /// They go too.
    Cascade,
    /// Their columns become NULL.
    SetNull,
    /// Their columns become their defaults.
    SetDefault,
}

/// The catalog's entry under an index's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// The index.
    pub oid: Oid,
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: Oid,
}

/// A sequence. Its state is kept apart: it moves outside transactions and is never rolled back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence<T = Type> {
    /// Its identifier.
    pub oid: Oid,
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// smallint, integer or bigint.
    pub data_type: T,
    /// The first value.
    pub start: i64,
    /// The step.
    pub increment: i64,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// Whether it starts again at its end.
    pub cycle: bool,
    /// Values that a session takes at once.
    pub cache: i64,
    /// The column that owns it: (table, column number from 1).
    pub owned_by: Option<(Oid, u16)>,
    /// Where it counts: every RESTART renews the number, and with it the state, which is kept apart.
    pub state: u64,
    /// The first value in this state: `start`, or what RESTART said.
    pub restart: i64,
    /// The comment on it.
    pub comment: Option<String>,
}

/// A view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View<T = Type, M = Modifier> {
    /// Its identifier.
    pub oid: Oid,
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// A number that every change of the definition renews.
    pub version: u64,
    /// Its columns (defaults and the like unused).
    pub columns: Vec<Column<T, M>>,
    /// The query, as SQL.
    pub query: String,
    /// The comment on it.
    pub comment: Option<String>,
}

/// A type that a statement has defined. Types have names of their own: a relation and a type of one schema may share theirs, unless
/// the relation has rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefinedType<T = Type, M = Modifier> {
    /// Its identifier. Columns and texts name it by that, so that it can be renamed without them.
    pub oid: Oid,
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// A number that every change of the definition renews.
    pub version: u64,
    /// What it is.
    pub kind: TypeKind<T, M>,
    /// The comment on it.
    pub comment: Option<String>,
}

/// The kinds of types that statements define.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TypeKind<T = Type, M = Modifier> {
    /// An enum, by its labels in their order.
    Enum(Vec<EnumLabel>),
    /// A domain.
    Domain(Domain<T, M>),
    /// A composite type, by its attributes, dropped ones among them: a value is stored as one field for each. Of a column they have
    /// name, type, domain and comment.
    Composite(Vec<Column<T, M>>),
}

/// A domain: a type with rules for its values, which are stored as those of the type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Domain<T = Type, M = Modifier> {
    /// The type of its values.
    pub data_type: T,
    /// The type's modifier.
    pub modifier: M,
    /// The domain that it restricts further.
    pub over: Option<Oid>,
    /// NOT NULL.
    pub not_null: bool,
    /// DEFAULT, as SQL.
    pub default: Option<String>,
    /// The CHECK constraints, as SQL over `value`.
    pub checks: Vec<Check>,
}

/// A label of an enum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnumLabel {
    /// Its identifier.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// What is stored of it: bytes whose order is the labels'. It never changes, and between any two ranks there is another
    /// ([`crate::rank`]), so that no row changes with the enum.
    pub rank: Vec<u8>,
    /// Its place as PostgreSQL numbers it.
    pub sort_order: f32,
}

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Its identifier.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// The comment on it.
    pub comment: Option<String>,
}

impl<T, M> Table<T, M> {
    /// The columns that are there, with their positions.
    pub fn live_columns(&self) -> impl Iterator<Item = (usize, &Column<T, M>)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.dropped)
    }

    /// The position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.live_columns().find(|(_, column)| column.name == name).map(|(at, _)| at)
    }

    /// The primary key.
    pub fn primary_key(&self) -> Option<&Index> {
        self.indexes.iter().find(|index| index.primary)
    }

    /// The primary key, if the rows are stored by it. `None`: they are numbered.
    pub fn row_key(&self) -> Option<&Index> {
        self.primary_key().filter(|index| index.is_row_key())
    }
}

impl Index {
    /// An index over columns, with nothing else said of it: ascending, not unique, without storage.
    pub fn plain(oid: Oid, name: impl Into<String>, columns: Vec<usize>) -> Index {
        Index {
            oid,
            name: name.into(),
            expressions: vec![],
            predicate: None,
            included: vec![],
            nulls_not_distinct: false,
            classes: vec![],
            descending: vec![false; columns.len()],
            nulls_reversed: vec![],
            unique: false,
            deferrable: false,
            initially_deferred: false,
            primary: false,
            constraint: false,
            declared: None,
            storage: None,
            comment: None,
            constraint_comment: None,
            columns,
        }
    }

    /// Returns whether its entries are computed by SQL: it has expressions, or a predicate.
    pub fn is_computed(&self) -> bool {
        self.predicate.is_some() || !self.expressions.is_empty()
    }

    /// One of its expressions as it stands among the columns: in parentheses unless it is a plain call of a function.
    pub fn expression_as_key(&self, number: usize) -> String {
        let Some(text) = self.expressions.get(number) else { return String::new() };
        if is_call(text) { text.clone() } else { format!("({text})") }
    }

    /// Returns whether no two rows of the table agree in its columns when it has been checked, unless one has a NULL there: it is
    /// unique, and every row has an entry.
    pub fn is_key(&self) -> bool {
        self.unique && !self.is_computed()
    }

    /// Returns whether the engine refuses a second entry: at no moment do two rows agree.
    pub fn is_exclusive(&self) -> bool {
        self.unique && !self.deferrable
    }

    /// Returns whether its values are the keys of the rows.
    pub fn is_row_key(&self) -> bool {
        self.primary && !self.deferrable
    }

    /// Returns whether it is unique, and has entries beside the table's own keys.
    pub(crate) fn is_secondary_unique(&self) -> bool {
        self.is_exclusive() && !self.primary && self.storage.is_some()
    }

    /// Returns whether a column, by its place in the index, prints as descending.
    pub fn descends(&self, place: usize) -> bool {
        self.descending.get(place).copied().unwrap_or(false)
    }

    /// Returns whether a column, by its place in the index, prints with its NULLs first.
    pub fn nulls_first(&self, place: usize) -> bool {
        self.descends(place) != self.nulls_reversed.contains(&place)
    }
}

impl<T, M> Relation<T, M> {
    /// Its identifier.
    pub fn oid(&self) -> Oid {
        match self {
            Relation::Table(table) => table.oid,
            Relation::Index(index) => index.oid,
            Relation::Sequence(sequence) => sequence.oid,
            Relation::View(view) => view.oid,
        }
    }

    /// The number that every change of its definition renews; those of indexes and sequences stand in no plan.
    pub fn version(&self) -> u64 {
        match self {
            Relation::Table(table) => table.version,
            Relation::View(view) => view.version,
            Relation::Index(_) | Relation::Sequence(_) => 0,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Relation::Table(table) => &table.name,
            Relation::Index(index) => &index.name,
            Relation::Sequence(sequence) => &sequence.name,
            Relation::View(view) => &view.name,
        }
    }

    /// Its schema's name.
    pub fn schema(&self) -> &str {
        match self {
            Relation::Table(table) => &table.schema,
            Relation::Index(index) => &index.schema,
            Relation::Sequence(sequence) => &sequence.schema,
            Relation::View(view) => &view.schema,
        }
    }
}

/// Returns whether a printed expression is one call of a function, with nothing behind its parentheses.
fn is_call(text: &str) -> bool {
    let Some((name, rest)) = text.split_once('(') else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '"');
    let (mut depth, mut quote, mut ended) = (1_usize, None, false);
    for c in rest.chars() {
        match (quote, c) {
            _ if ended => return false,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                ended = depth == 0;
            }
            _ => {}
        }
    }
    ended && !name.is_empty() && name.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was written before a field came is read without it, and what does not use the field is written as it was.
    #[test]
    fn definitions_without_later_fields_read_and_write_as_before() {
        fn same<D: Serialize + serde::de::DeserializeOwned>(written: &str) -> D {
            let read: D = serde_json::from_str(written).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), written);
            read
        }
        let index: Index = same(
            r#"{"oid":16390,"name":"i","columns":[1,0],"descending":[false,true],"unique":false,"primary":false,"constraint":false,"storage":{"table":7,"key":"Columns"},"comment":null}"#,
        );
        assert_eq!([index.nulls_first(0), index.nulls_first(1)], [false, true]);
        assert!(!index.is_computed() && !index.nulls_not_distinct && index.included.is_empty() && !index.deferrable);
        let reversed = Index { nulls_reversed: vec![0, 1], ..index };
        assert_eq!([reversed.nulls_first(0), reversed.nulls_first(1)], [true, false]);
        same::<Check>(r#"{"oid":16391,"name":"c","expression":"a > 0"}"#);
        same::<ForeignKey>(
            r#"{"oid":16392,"name":"f","columns":[0],"referenced":16384,"referenced_index":16390,"referenced_columns":[0],"on_delete":"NoAction","on_update":"Cascade","match_full":false,"deferrable":false,"initially_deferred":false}"#,
        );
        let table: Table = same(
            r#"{"oid":16384,"schema":"public","name":"t","version":3,"columns":[],"storage":{"table":5,"key":"RowNumber"},"indexes":[],"checks":[],"foreign_keys":[],"referenced_by":[],"comment":null,"temporary":false}"#,
        );
        assert!(!table.triggers_disabled);
    }
}
