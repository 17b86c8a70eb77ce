//! Tables as programs declare them: the shape of the rows, and the indexes over them.

use model::{ColumnType, Decoder, Invalid, Key, KeyReader, Malformed, RowRef, ValueRef};
use std::fmt;
use std::ops::Deref;

/// Names a secondary index of a table: its position in [`Schema::indexes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub u16);

/// A secondary index over columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// Unique in its table.
    pub name: String,
    /// The indexed columns, most significant first.
    pub columns: Vec<u16>,
    /// Whether no two rows may agree in all columns (rows with a NULL among them never agree).
    pub unique: bool,
}

/// Most indexes of a table.
const MOST_INDEXES: usize = 64;

/// The shape of a table: its columns, its key ([`model::Schema`]) and its indexes. Built by [`Schema::bytes`] or
/// [`Schema::table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    rows: model::Schema,
    indexes: Vec<IndexSchema>,
}

impl Deref for Schema {
    type Target = model::Schema;

    fn deref(&self) -> &model::Schema {
        &self.rows
    }
}

/// A table without indexes.
impl From<model::Schema> for Schema {
    fn from(rows: model::Schema) -> Schema {
        Schema { rows, indexes: Vec::new() }
    }
}

impl Schema {
    /// A table of byte-string keys and byte-string rows.
    pub fn bytes(name: impl Into<String>) -> SchemaBuilder {
        SchemaBuilder { rows: model::Schema::bytes(name), indexes: Vec::new() }
    }

    /// A table of typed rows; name its columns, then its key.
    pub fn table(name: impl Into<String>) -> SchemaBuilder {
        SchemaBuilder { rows: model::Schema::table(name), indexes: Vec::new() }
    }

    /// The secondary indexes; [`IndexId`] is the position here.
    pub fn indexes(&self) -> &[IndexSchema] {
        &self.indexes
    }

    /// The number of an index.
    pub fn index(&self, name: &str) -> Option<IndexId> {
        self.indexes.iter().position(|index| index.name == name).map(|at| IndexId(at as u16))
    }

    /// The program's form of the entry of `row`, stored under `key`, in an index: the encoded columns, followed by the key unless
    /// the index is unique and no column is NULL.
    pub fn index_entry(&self, index: IndexId, key: &[u8], row: RowRef<'_>) -> Key {
        let index = &self.indexes[usize::from(index.0)];
        let mut entry = Key::new();
        let mut has_null = false;
        for &column in &index.columns {
            let value = row.get(usize::from(column));
            has_null |= value == ValueRef::Null;
            entry.push_value(value, self.columns()[usize::from(column)].nullable);
        }
        if !index.unique || has_null {
            entry.push_raw(key);
        }
        entry
    }

    /// Prints an entry of an index as this table's users know it: `(city='Graz', order_id=10258)`.
    pub fn write_entry(&self, f: &mut fmt::Formatter<'_>, index: u16, entry: &[u8]) -> fmt::Result {
        let mut reader = KeyReader::new(entry);
        let mut separator = "(";
        for &column in self.indexes.get(usize::from(index)).map_or(&[][..], |index| &index.columns) {
            let column = &self.columns()[usize::from(column)];
            let Ok(value) = reader.value(column.kind, column.nullable) else { break };
            write!(f, "{separator}{}={value}", column.name)?;
            separator = ", ";
        }
        match (separator, reader.rest()) {
            ("(", _) => model::write_raw_key(f, entry),
            (_, []) => f.write_str(")"),
            (_, key) => {
                f.write_str(") of key ")?;
                self.write_key(f, key)
            }
        }
    }

    /// The table of a directory in which engines kept indexes ([`model::Schema::former_indexes`]).
    ///
    /// # Errors
    /// [`Invalid::Schema`] if its indexes make no sense.
    pub(crate) fn former(rows: model::Schema) -> Result<Schema, Invalid> {
        let (count, definitions) = rows.former_indexes();
        let indexes = read_indexes(count, &mut Decoder::new(definitions));
        let wrong = || Invalid::Schema { table: rows.name().into(), what: "its indexes cannot be read".into() };
        check_indexes(&rows, indexes.map_err(|_| wrong())?).map(|indexes| Schema { rows: rows.clone(), indexes })
    }
}

/// Each: a name, a byte that says whether it is unique, its columns.
fn read_indexes(count: u16, from: &mut Decoder<'_>) -> Result<Vec<IndexSchema>, Malformed> {
    let mut indexes = Vec::new();
    for _ in 0..count {
        let (name, unique) = (from.text32()?.to_owned(), from.u8()? != 0);
        let columns = (0..from.u16()?).map(|_| Ok(from.u16()?)).collect::<Result<_, Malformed>>()?;
        indexes.push(IndexSchema { name, columns, unique });
    }
    Ok(indexes)
}

fn check_indexes(rows: &model::Schema, indexes: Vec<IndexSchema>) -> Result<Vec<IndexSchema>, Invalid> {
    let wrong = |what: String| Err(Invalid::Schema { table: rows.name().into(), what });
    if indexes.len() > MOST_INDEXES {
        return wrong(format!("a table has at most {MOST_INDEXES} indexes"));
    }
    for (at, IndexSchema { name, columns, .. }) in indexes.iter().enumerate() {
        if columns.is_empty() || columns.iter().any(|&column| usize::from(column) >= rows.columns().len()) {
            return wrong(format!("index {name} needs columns of the table"));
        }
        if columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column)) {
            return wrong(format!("a column is listed twice in index {name}"));
        }
        if indexes[..at].iter().any(|other| other.name == *name) {
            return wrong(format!("index {name} is defined twice"));
        }
    }
    Ok(indexes)
}

/// Builds a [`Schema`]. Mistakes are reported by [`SchemaBuilder::build`].
#[derive(Clone, Debug)]
pub struct SchemaBuilder {
    rows: model::SchemaBuilder,
    /// Name, columns by name, unique or not.
    indexes: Vec<(String, Vec<String>, bool)>,
}

impl SchemaBuilder {
    fn of_rows(self, change: impl FnOnce(model::SchemaBuilder) -> model::SchemaBuilder) -> SchemaBuilder {
        SchemaBuilder { rows: change(self.rows), ..self }
    }

    /// Adds a column that is never NULL.
    pub fn column(self, name: impl Into<String>, kind: ColumnType) -> SchemaBuilder {
        self.of_rows(|rows| rows.column(name, kind))
    }

    /// Adds a column that may be NULL.
    pub fn nullable(self, name: impl Into<String>, kind: ColumnType) -> SchemaBuilder {
        self.of_rows(|rows| rows.nullable(name, kind))
    }

    /// Keys are 64-bit unsigned integers beside the row.
    pub fn u64_key(self) -> SchemaBuilder {
        self.of_rows(model::SchemaBuilder::u64_key)
    }

    /// Keys are these columns.
    pub fn key<'n>(self, columns: impl IntoIterator<Item = &'n str>) -> SchemaBuilder {
        self.of_rows(|rows| rows.key(columns))
    }

    /// Sets the access method of the keys. Default: ordered.
    pub fn storage(self, storage: model::Storage) -> SchemaBuilder {
        self.of_rows(|rows| rows.storage(storage))
    }

    /// Adds a secondary index over these columns.
    pub fn index<'n>(self, name: impl Into<String>, columns: impl IntoIterator<Item = &'n str>) -> SchemaBuilder {
        self.add(name.into(), columns, false)
    }

    /// Adds a secondary index in which no two rows agree.
    pub fn unique<'n>(self, name: impl Into<String>, columns: impl IntoIterator<Item = &'n str>) -> SchemaBuilder {
        self.add(name.into(), columns, true)
    }

    fn add<'n>(mut self, name: String, columns: impl IntoIterator<Item = &'n str>, unique: bool) -> SchemaBuilder {
        self.indexes.push((name, columns.into_iter().map(str::to_owned).collect(), unique));
        self
    }

    /// The schema.
    ///
    /// # Errors
    /// [`Invalid::Schema`] describes the mistake.
    pub fn build(self) -> Result<Schema, Invalid> {
        let rows = self.rows.build()?;
        let column = |name: &String| {
            let unknown = || Invalid::Schema { table: rows.name().into(), what: format!("no column is called {name}") };
            rows.column(name).ok_or_else(unknown)
        };
        let index = |(name, columns, unique): (String, Vec<String>, bool)| {
            let columns = columns.iter().map(column).collect::<Result<_, _>>()?;
            Ok(IndexSchema { name, columns, unique })
        };
        let indexes = self.indexes.into_iter().map(index).collect::<Result<_, Invalid>>()?;
        let indexes = check_indexes(&rows, indexes)?;
        Ok(Schema { rows, indexes })
    }
}
