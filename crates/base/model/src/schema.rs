//! Schemas: the shape of a table's keys and rows.

use crate::row::Shape;
use crate::{ColumnType, Columns, Delta, Invalid, Key, KeyReader, Malformed, Predicate, RowRef, Scan};
use codec::{Reader, put_bytes32, put_u16};
use std::fmt;

/// Names a table inside one database, for ever: a dropped table's number is not given again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

/// A column of a typed table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Unique in its table.
    pub name: String,
    /// The type of its values.
    pub kind: ColumnType,
    /// Whether NULL is allowed.
    pub nullable: bool,
}

/// Kind of a table's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// Eight bytes, big-endian: [`Key::from_u64`].
    U64,
    /// Any byte string up to the engine's limit.
    Bytes,
    /// These columns of the typed row, encoded in order by [`Key::push_value`].
    Columns(Vec<u16>),
}

/// Kind of a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Uninterpreted bytes.
    Bytes,
    /// Columns.
    Typed,
}

/// Access method of a table's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// In order: points and ranges.
    #[default]
    Ordered,
    /// By hash: points only, one cache line per lookup.
    Hash,
}

/// The shape of a table. Built by [`Schema::bytes`] or [`Schema::table`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    name: String,
    columns: Vec<Column>,
    key: KeyKind,
    rows: RowKind,
    storage: Storage,
    is_index: bool,
    former_indexes: FormerIndexes,
    /// Bytes of every key, where its length is all that can be wrong with it.
    key_width: Option<usize>,
    /// What a row is held against.
    shape: Shape,
}

/// Number of index definitions, and the definitions, encoded: see [`Schema::former_indexes`].
type FormerIndexes = (u16, Vec<u8>);

impl Schema {
    /// The same rows under another name, stored in the order of their keys.
    #[must_use]
    pub fn ordered_as(&self, name: impl Into<String>) -> Schema {
        Schema { name: name.into(), storage: Storage::Ordered, ..self.clone() }
    }

    /// A table of byte-string keys and byte-string rows.
    pub fn bytes(name: impl Into<String>) -> SchemaBuilder {
        SchemaBuilder::new(name.into(), RowKind::Bytes)
    }

    /// A table of typed rows; name its columns, then its key.
    pub fn table(name: impl Into<String>) -> SchemaBuilder {
        SchemaBuilder::new(name.into(), RowKind::Typed)
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns, empty for a bytes table.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the kind of the keys.
    pub fn key(&self) -> &KeyKind {
        &self.key
    }

    /// Returns the kind of the rows.
    pub fn rows(&self) -> RowKind {
        self.rows
    }

    /// Returns the access method of the keys.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// Returns whether the rows are entries of an index over another table: each is inserted and deleted as a whole, and its few
    /// bytes are a key of the other table. A hint that changes no answer. An engine may store such a table leaner; those that
    /// there are do not, and report its rows apart from others.
    pub fn is_index(&self) -> bool {
        self.is_index
    }

    /// Definitions of secondary indexes that a directory of format 2 or 1 has behind a table's definition: how many, and their
    /// bytes. Engines kept those indexes then. Now they carry the definitions, for the layer above to make tables of them.
    pub fn former_indexes(&self) -> (u16, &[u8]) {
        (self.former_indexes.0, &self.former_indexes.1)
    }

    /// The position of a column.
    pub fn column(&self, name: &str) -> Option<u16> {
        self.columns.iter().position(|c| c.name == name).map(|at| at as u16)
    }

    /// Returns whether every key has exactly eight bytes.
    pub fn has_eight_byte_keys(&self) -> bool {
        match &self.key {
            KeyKind::U64 => true,
            KeyKind::Bytes => false,
            KeyKind::Columns(columns) => matches!(columns[..], [only] if matches!(
                self.columns[usize::from(only)].kind,
                ColumnType::Int | ColumnType::Float | ColumnType::Timestamp | ColumnType::Date
            )),
        }
    }

    /// The primary key of a typed row.
    ///
    /// # Panics
    /// If the keys are not columns of the row; [`Schema::check_row`] has passed the row.
    pub fn key_of(&self, row: RowRef<'_>) -> Key {
        let KeyKind::Columns(columns) = &self.key else { panic!("the keys of {} are not columns", self.name) };
        let mut key = Key::new();
        for &column in columns {
            key.push_component(row.component(usize::from(column)).expect("checked when it came in"));
        }
        key
    }

    /// Checks that `key` is a valid key of this table.
    ///
    /// # Errors
    /// [`Invalid::Key`].
    #[inline]
    pub fn check_key(&self, key: &[u8]) -> Result<(), Invalid> {
        let fits = match (self.key_width, &self.key) {
            (Some(width), _) => key.len() == width,
            (None, KeyKind::Columns(columns)) => self.is_key_of(columns, key),
            (None, KeyKind::Bytes | KeyKind::U64) => true,
        };
        if fits { Ok(()) } else { Err(self.wrong_key()) }
    }

    fn is_key_of(&self, columns: &[u16], key: &[u8]) -> bool {
        let mut reader = KeyReader::new(key);
        columns.iter().all(|&c| reader.skip(self.columns[usize::from(c)].kind, false).is_ok())
            && reader.rest().is_empty()
    }

    #[cold]
    fn wrong_key(&self) -> Invalid {
        Invalid::Key { table: self.name.clone() }
    }

    /// Checks that `row` can be stored under `key`: its columns, their types, NULLs, and the key in it.
    ///
    /// # Errors
    /// [`Invalid::Row`] names the first thing that is wrong.
    #[inline]
    pub fn check_row(&self, key: &[u8], row: RowRef<'_>) -> Result<(), Invalid> {
        if self.rows == RowKind::Bytes { Ok(()) } else { self.check_typed_row(key, row) }
    }

    fn check_typed_row(&self, key: &[u8], row: RowRef<'_>) -> Result<(), Invalid> {
        if !row.fits(&self.shape) {
            return Err(self.mismatch(row));
        }
        self.check_key_in(key, row)
    }

    /// Same as [`Schema::check_row`], for what [`Schema::change`] has made of a row that was checked: nothing can be wrong with it but
    /// the types and NULLs of the columns that were changed, and the key if they are part of that.
    ///
    /// # Errors
    /// Same as [`Schema::check_row`].
    pub fn check_changed(&self, key: &[u8], delta: &Delta, row: RowRef<'_>) -> Result<(), Invalid> {
        let mut changed = delta.changes().iter().map(|(column, _)| *column);
        if !changed.clone().all(|column| row.has_tag_of(usize::from(column), &self.columns)) {
            return Err(self.mismatch(row));
        }
        match &self.key {
            KeyKind::Columns(columns) if changed.any(|column| columns.contains(&column)) => self.check_key_in(key, row),
            _ => Ok(()),
        }
    }

    /// Same as [`Schema::check_row`], for a row that is going to be stored under another schema with the same types: whether texts are
    /// texts is checked by whoever stores it, except in the key.
    ///
    /// # Errors
    /// Same as [`Schema::check_row`].
    pub fn check_row_to_store(&self, key: &[u8], row: RowRef<'_>) -> Result<(), Invalid> {
        if self.rows == RowKind::Bytes {
            return Ok(());
        }
        if !row.has_tags_of(&self.columns) {
            return Err(self.mismatch(row));
        }
        if let KeyKind::Columns(columns) = &self.key
            && !columns.iter().all(|&column| row.is_sound_at(usize::from(column)))
        {
            return Err(self.wrong_key_columns());
        }
        self.check_key_in(key, row)
    }

    fn check_key_in(&self, key: &[u8], row: RowRef<'_>) -> Result<(), Invalid> {
        match &self.key {
            KeyKind::Columns(columns) if !is_key_of(columns, key, row) => Err(self.wrong_key_columns()),
            _ => Ok(()),
        }
    }

    #[cold]
    fn wrong_key_columns(&self) -> Invalid {
        self.wrong_row("its key columns differ from the key under which it is stored".into())
    }

    fn key_width(&self) -> Option<usize> {
        match &self.key {
            KeyKind::U64 => Some(8),
            KeyKind::Bytes => None,
            KeyKind::Columns(columns) => {
                columns.iter().map(|&column| width_of(self.columns[usize::from(column)].kind)).sum()
            }
        }
    }

    fn wrong_row(&self, what: String) -> Invalid {
        Invalid::Row { table: self.name.clone(), what }
    }

    /// Reason why a row does not fit.
    #[cold]
    fn mismatch(&self, row: RowRef<'_>) -> Invalid {
        if row.check().is_err() {
            return self.wrong_row("not a typed row".into());
        }
        if row.width() != self.columns.len() {
            return self.wrong_row(format!("{} columns instead of {}", row.width(), self.columns.len()));
        }
        let misfits = |(at, column): &(usize, &Column)| match row.kind(*at) {
            None => !column.nullable,
            Some(kind) => kind != column.kind,
        };
        let (at, column) = self.columns.iter().enumerate().find(misfits).expect("some column does not fit");
        self.wrong_row(match row.kind(at) {
            None => format!("NULL in column {}, which is not nullable", column.name),
            Some(kind) => format!("{kind} in column {}, which is {}", column.name, column.kind),
        })
    }

    /// Checks that a read may request these columns: any of a typed table, none by name of a bytes table.
    ///
    /// # Errors
    /// [`Invalid::Row`] names the first column that is not there.
    #[inline]
    pub fn check_columns(&self, columns: Columns<'_>) -> Result<(), Invalid> {
        let Columns::Some(columns) = columns else { return Ok(()) };
        columns.iter().try_for_each(|&column| self.check_column(column))
    }

    /// Checks that rows of this table can be scanned so: its keys have an order, and there are all columns that are asked for.
    ///
    /// # Errors
    /// [`Invalid::NotOrdered`]; same as [`Schema::check_columns`].
    #[inline]
    pub fn check_scan(&self, scan: &Scan<'_>) -> Result<(), Invalid> {
        if self.storage == Storage::Hash {
            return Err(Invalid::NotOrdered { table: self.name.clone() });
        }
        self.check_columns(scan.columns)?;
        scan.filter.map_or(Ok(()), |filter| self.check_predicate(filter))
    }

    /// Checks that all columns of a predicate exist.
    ///
    /// # Errors
    /// Same as [`Schema::check_columns`].
    pub fn check_predicate(&self, predicate: &Predicate) -> Result<(), Invalid> {
        match predicate {
            Predicate::True => Ok(()),
            Predicate::Compare(column, ..)
            | Predicate::CompareDecimal(column, ..)
            | Predicate::In(column, _)
            | Predicate::IsNull(column)
            | Predicate::StartsWith(column, _) => self.check_column(*column),
            Predicate::And(operands) | Predicate::Or(operands) => {
                operands.iter().try_for_each(|operand| self.check_predicate(operand))
            }
            Predicate::Not(inner) => self.check_predicate(inner),
        }
    }

    fn check_column(&self, column: u16) -> Result<(), Invalid> {
        if usize::from(column) < self.columns.len() {
            return Ok(());
        }
        Err(Invalid::Row { table: self.name.clone(), what: format!("there is no column {column}") })
    }

    /// Prints a key as this table's users know it: `(order_id=10248, product_id=11)`.
    pub fn write_key(&self, f: &mut fmt::Formatter<'_>, key: &[u8]) -> fmt::Result {
        if let KeyKind::Columns(columns) = &self.key {
            let mut reader = KeyReader::new(key);
            let mut separator = "(";
            for &column in columns {
                let column = &self.columns[usize::from(column)];
                let Ok(value) = reader.value(column.kind, false) else { break };
                write!(f, "{separator}{}={value}", column.name)?;
                separator = ", ";
            }
            return if separator == "(" { crate::key::write_raw_key(f, key) } else { f.write_str(")") };
        }
        match (&self.key, Key::to_u64(key)) {
            (KeyKind::U64, Some(integer)) => write!(f, "{integer}"),
            _ => crate::key::write_raw_key(f, key),
        }
    }

    /// Appends the schema to a log record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_bytes32(out, self.name.as_bytes());
        out.push(match self.rows {
            RowKind::Bytes if self.is_index => 2,
            RowKind::Bytes => 0,
            RowKind::Typed => 1,
        });
        out.push(match self.storage {
            Storage::Ordered => 0,
            Storage::Hash => 1,
        });
        put_list(out, &self.columns, |out, column| {
            put_bytes32(out, column.name.as_bytes());
            out.extend_from_slice(&[column.kind as u8, u8::from(column.nullable)]);
        });
        match &self.key {
            KeyKind::U64 => out.push(0),
            KeyKind::Bytes => out.push(1),
            KeyKind::Columns(columns) => {
                out.push(2);
                put_columns(out, columns);
            }
        }
        put_u16(out, self.former_indexes.0);
        out.extend_from_slice(&self.former_indexes.1);
    }

    /// Reads what [`Schema::encode`] wrote.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not a schema, or if the decoded schema is invalid.
    pub fn decode(from: &mut Reader<'_>) -> Result<Schema, Malformed> {
        let name = from.text32()?.to_owned();
        let rows = [(RowKind::Bytes, false), (RowKind::Typed, false), (RowKind::Bytes, true)];
        let (rows, is_index) = rows.get(usize::from(from.u8()?)).copied().ok_or(Malformed)?;
        let storage = [Storage::Ordered, Storage::Hash].get(usize::from(from.u8()?)).copied().ok_or(Malformed)?;
        let mut builder = SchemaBuilder::new(name, rows).storage(storage);
        for _ in 0..from.u16()? {
            builder.schema.columns.push(Column {
                name: from.text32()?.to_owned(),
                kind: ColumnType::from_tag(from.u8()?).ok_or(Malformed)?,
                nullable: from.u8()? != 0,
            });
        }
        builder.schema.key = match from.u8()? {
            0 => KeyKind::U64,
            1 => KeyKind::Bytes,
            2 => KeyKind::Columns(get_columns(from)?),
            _ => return Err(Malformed),
        };
        builder.schema.is_index = is_index;
        builder.schema.former_indexes = get_former_indexes(from)?;
        builder.build().map_err(|_| Malformed)
    }
}

/// Bytes of a component of which every byte string of that length is one.
fn width_of(kind: ColumnType) -> Option<usize> {
    match kind {
        ColumnType::Bool => Some(1),
        ColumnType::Int | ColumnType::Float | ColumnType::Timestamp => Some(8),
        ColumnType::Text | ColumnType::Bytes | ColumnType::Date => None,
    }
}

/// Returns whether `key` is made of these columns of a row, none of which is NULL. Compares in place.
fn is_key_of(columns: &[u16], key: &[u8], row: RowRef<'_>) -> bool {
    let mut reader = KeyReader::new(key);
    columns.iter().all(|&column| row.component(usize::from(column)).is_some_and(|it| reader.skip_if(it)))
        && reader.rest().is_empty()
}

fn put_list<T>(out: &mut Vec<u8>, items: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
    put_u16(out, items.len() as u16);
    items.iter().for_each(|item| put(out, item));
}

fn put_columns(out: &mut Vec<u8>, columns: &[u16]) {
    put_list(out, columns, |out, column| put_u16(out, *column));
}

fn get_columns(from: &mut Reader<'_>) -> Result<Vec<u16>, Malformed> {
    (0..from.u16()?).map(|_| Ok(from.u16()?)).collect()
}

/// Each: a name, a byte that says whether it is unique, its columns.
fn get_former_indexes(from: &mut Reader<'_>) -> Result<FormerIndexes, Malformed> {
    let count = from.u16()?;
    let (mut definitions, begin) = (*from, from.offset());
    for _ in 0..count {
        from.text32()?;
        from.u8()?;
        get_columns(from)?;
    }
    let bytes = definitions.take(from.offset() - begin)?;
    Ok((count, bytes.to_vec()))
}

/// Builds a [`Schema`]. Mistakes are reported by [`SchemaBuilder::build`].
#[derive(Clone, Debug)]
pub struct SchemaBuilder {
    schema: Schema,
    unknown: Option<String>,
}

impl SchemaBuilder {
    fn new(name: String, rows: RowKind) -> SchemaBuilder {
        let schema = Schema {
            name,
            columns: vec![],
            key: KeyKind::Bytes,
            rows,
            storage: Storage::Ordered,
            is_index: false,
            former_indexes: FormerIndexes::default(),
            key_width: None,
            shape: Shape::default(),
        };
        SchemaBuilder { schema, unknown: None }
    }

    /// Adds a column that is never NULL.
    pub fn column(self, name: impl Into<String>, kind: ColumnType) -> SchemaBuilder {
        self.add(name.into(), kind, false)
    }

    /// Adds a column that may be NULL.
    pub fn nullable(self, name: impl Into<String>, kind: ColumnType) -> SchemaBuilder {
        self.add(name.into(), kind, true)
    }

    fn add(mut self, name: String, kind: ColumnType, nullable: bool) -> SchemaBuilder {
        self.schema.columns.push(Column { name, kind, nullable });
        self
    }

    /// Keys are 64-bit unsigned integers beside the row.
    pub fn u64_key(mut self) -> SchemaBuilder {
        self.schema.key = KeyKind::U64;
        self
    }

    /// Keys are these columns.
    pub fn key<'n>(mut self, columns: impl IntoIterator<Item = &'n str>) -> SchemaBuilder {
        self.schema.key = KeyKind::Columns(self.resolve(columns));
        self
    }

    /// The rows are entries of an index: [`Schema::is_index`].
    pub fn for_index(mut self) -> SchemaBuilder {
        self.schema.is_index = true;
        self
    }

    /// Sets the access method of the keys. Default: ordered.
    pub fn storage(mut self, storage: Storage) -> SchemaBuilder {
        self.schema.storage = storage;
        self
    }

    fn resolve<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) -> Vec<u16> {
        let mut columns = Vec::new();
        for name in names {
            match self.schema.column(name) {
                Some(column) => columns.push(column),
                None => self.unknown = Some(name.to_owned()),
            }
        }
        columns
    }

    /// The schema.
    ///
    /// # Errors
    /// [`Invalid::Schema`] describes the mistake.
    pub fn build(mut self) -> Result<Schema, Invalid> {
        self.check()?;
        self.schema.key_width = self.schema.key_width();
        self.schema.shape = Shape::of(&self.schema.columns);
        Ok(self.schema)
    }

    fn check(&self) -> Result<(), Invalid> {
        let SchemaBuilder { schema, unknown } = self;
        let wrong = |what: String| Err(Invalid::Schema { table: schema.name.clone(), what });
        if let Some(name) = unknown {
            return wrong(format!("no column is called {name}"));
        }
        if schema.name.is_empty() || schema.name.len() > 63 {
            return wrong("a table's name has 1 to 63 bytes".into());
        }
        if schema.columns.len() > 1600 {
            return wrong("a table has at most 1,600 columns".into());
        }
        for (at, column) in schema.columns.iter().enumerate() {
            if schema.columns[..at].iter().any(|other| other.name == column.name) {
                return wrong(format!("column {} is defined twice", column.name));
            }
        }
        if schema.is_index && (schema.rows, schema.storage) != (RowKind::Bytes, Storage::Ordered) {
            return wrong("an index needs rows of bytes and ordered storage".into());
        }
        match (&schema.key, schema.rows) {
            (_, RowKind::Bytes) if !schema.columns.is_empty() => wrong("a table of bytes has no columns".into()),
            (KeyKind::Columns(columns), _) if columns.is_empty() => wrong("a key needs at least one column".into()),
            (KeyKind::Columns(columns), _) if repeats(columns) => wrong("a column is listed twice in the key".into()),
            (KeyKind::Columns(columns), _) => {
                match columns.iter().find(|&&c| schema.columns.get(usize::from(c)).is_none_or(|column| column.nullable))
                {
                    Some(&c) => wrong(format!("key column {c} must not be nullable")),
                    None => Ok(()),
                }
            }
            (_, RowKind::Typed) if schema.columns.is_empty() => {
                wrong("a table of typed rows needs at least one column".into())
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether a column occurs twice.
fn repeats(columns: &[u16]) -> bool {
    columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column))
}
