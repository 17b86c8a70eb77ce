//! Rows: self-describing, so that a row from any source can be read without its schema.
//!
//! A typed row is `columns: u16`, one tag byte per column (0 for NULL, else its [`ColumnType`]), one eight-byte slot per
//! column, then the bytes of texts and byte strings; their slot holds offset and length (`u32` each), the offset counted
//! from the row's start. Little-endian. Column *i* is thus found without looking at the columns before it.
//! A row of a bytes table is the bytes themselves.

use crate::{ColumnType, Malformed, Value, ValueRef};

const NULL_TAG: u8 = 0;
const SLOT: usize = 8;

/// A borrowed row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRef<'a>(&'a [u8]);

/// A caller-owned row, refilled by each read without allocating again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBuf(Vec<u8>);

/// Columns that a read returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns<'a> {
    /// The whole row, as stored.
    #[default]
    All,
    /// These columns, in this order.
    Some(&'a [u16]),
    /// None: only whether the row is there.
    None,
}

impl<'a> RowRef<'a> {
    /// A row over stored bytes.
    pub fn new(bytes: &'a [u8]) -> RowRef<'a> {
        RowRef(bytes)
    }

    /// The row's bytes: the value itself in a bytes table.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Number of columns of a typed row.
    pub fn width(self) -> usize {
        usize::from(u16::from_le_bytes([self.0[0], self.0[1]]))
    }

    fn slot(self, column: usize) -> u64 {
        let at = 2 + self.width() + column * SLOT;
        u64::from_le_bytes(self.0[at..at + SLOT].try_into().expect("a slot has eight bytes"))
    }

    fn variable(self, column: usize) -> &'a [u8] {
        let slot = self.slot(column);
        let (offset, length) = (slot as u32 as usize, (slot >> 32) as usize);
        &self.0[offset..offset + length]
    }

    /// The value of a column of a typed row.
    ///
    /// # Panics
    /// If there is no such column, or the bytes are no typed row: stored rows were checked when they came in
    /// ([`RowRef::check`]).
    pub fn get(self, column: usize) -> ValueRef<'a> {
        assert!(column < self.width(), "column {column} of a row of {}", self.width());
        match ColumnType::from_tag(self.0[2 + column]) {
            None => ValueRef::Null,
            Some(ColumnType::Bool) => ValueRef::Bool(self.slot(column) != 0),
            Some(ColumnType::Int) => ValueRef::Int(self.slot(column) as i64),
            Some(ColumnType::Float) => ValueRef::Float(f64::from_bits(self.slot(column))),
            Some(ColumnType::Date) => ValueRef::Date(self.slot(column) as i32),
            Some(ColumnType::Timestamp) => ValueRef::Timestamp(self.slot(column) as i64),
            Some(ColumnType::Bytes) => ValueRef::Bytes(self.variable(column)),
            Some(ColumnType::Text) => ValueRef::Text(
                std::str::from_utf8(self.variable(column)).expect("texts were checked when they came in"),
            ),
        }
    }

    /// The values of a typed row, in order.
    pub fn values(self) -> impl Iterator<Item = ValueRef<'a>> {
        (0..self.width()).map(move |column| self.get(column))
    }

    /// Checks that the bytes are a typed row that [`RowRef::get`] can read.
    ///
    /// # Errors
    /// [`Malformed`] if a tag, an offset or a text is not what it should be.
    pub fn check(self) -> Result<(), Malformed> {
        if self.0.len() < 2 || self.0.len() < 2 + self.width() * (1 + SLOT) {
            return Err(Malformed);
        }
        for column in 0..self.width() {
            let tag = self.0[2 + column];
            if tag == NULL_TAG {
                continue;
            }
            let kind = ColumnType::from_tag(tag).ok_or(Malformed)?;
            if let ColumnType::Text | ColumnType::Bytes = kind {
                let slot = self.slot(column);
                let (offset, length) = (slot as u32 as usize, (slot >> 32) as usize);
                let bytes = self.0.get(offset..offset + length).ok_or(Malformed)?;
                if kind == ColumnType::Text {
                    std::str::from_utf8(bytes).map_err(|_| Malformed)?;
                }
            }
        }
        Ok(())
    }
}

impl RowBuf {
    /// An empty buffer.
    pub fn new() -> RowBuf {
        RowBuf::default()
    }

    /// A typed row of these values.
    pub fn from_values(values: &[ValueRef<'_>]) -> RowBuf {
        let mut row = RowBuf::new();
        row.set_values(values.iter().copied());
        row
    }

    /// A row of a bytes table.
    pub fn from_bytes(bytes: &[u8]) -> RowBuf {
        RowBuf(bytes.to_vec())
    }

    /// The row inside.
    pub fn row(&self) -> RowRef<'_> {
        RowRef(&self.0)
    }

    /// The bytes inside.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value of a column of a typed row. See [`RowRef::get`] for its panics.
    pub fn get(&self, column: usize) -> ValueRef<'_> {
        self.row().get(column)
    }

    /// Refills the buffer with bytes.
    pub fn set_bytes(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend_from_slice(bytes);
    }

    /// Empties the buffer, keeping its memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Refills the buffer with a typed row of these values.
    pub fn set_values<'v>(&mut self, values: impl Iterator<Item = ValueRef<'v>> + Clone) {
        let width = values.clone().count();
        self.0.clear();
        self.0.extend_from_slice(&u16::try_from(width).expect("schemas have at most 65,535 columns").to_le_bytes());
        self.0.extend(values.clone().map(|value| value.column_type().map_or(NULL_TAG, |t| t as u8)));
        let slots = self.0.len();
        self.0.resize(slots + width * SLOT, 0);
        for (column, value) in values.enumerate() {
            let slot = match value {
                ValueRef::Null => 0,
                ValueRef::Bool(v) => u64::from(v),
                ValueRef::Int(v) | ValueRef::Timestamp(v) => v as u64,
                ValueRef::Date(v) => i64::from(v) as u64,
                ValueRef::Float(v) => v.to_bits(),
                ValueRef::Text(v) => self.append(v.as_bytes()),
                ValueRef::Bytes(v) => self.append(v),
            };
            let at = slots + column * SLOT;
            self.0[at..at + SLOT].copy_from_slice(&slot.to_le_bytes());
        }
    }

    fn append(&mut self, bytes: &[u8]) -> u64 {
        let offset = self.0.len() as u64;
        self.0.extend_from_slice(bytes);
        offset | (bytes.len() as u64) << 32
    }

    /// Refills the buffer with the wanted columns of `row`. Whole rows are copied as they are.
    pub fn project(&mut self, row: RowRef<'_>, columns: Columns<'_>) {
        match columns {
            Columns::All => self.set_bytes(row.bytes()),
            Columns::None => self.0.clear(),
            Columns::Some(columns) => self.pick(row, columns),
        }
    }

    /// Copies tags and slots; texts and byte strings move, so their slots get new offsets.
    fn pick(&mut self, row: RowRef<'_>, columns: &[u16]) {
        self.0.clear();
        self.0.extend_from_slice(
            &u16::try_from(columns.len()).expect("schemas have at most 65,535 columns").to_le_bytes(),
        );
        let tag = |column: u16| {
            assert!(usize::from(column) < row.width(), "column {column} of a row of {}", row.width());
            row.0[2 + usize::from(column)]
        };
        self.0.extend(columns.iter().map(|&column| tag(column)));
        let slots = self.0.len();
        self.0.resize(slots + columns.len() * SLOT, 0);
        for (place, &column) in columns.iter().enumerate() {
            let column = usize::from(column);
            let is_variable =
                matches!(ColumnType::from_tag(row.0[2 + column]), Some(ColumnType::Text | ColumnType::Bytes));
            let slot = if is_variable { self.append(row.variable(column)) } else { row.slot(column) };
            let at = slots + place * SLOT;
            self.0[at..at + SLOT].copy_from_slice(&slot.to_le_bytes());
        }
    }

    /// Refills the buffer with `row` changed by `delta`.
    ///
    /// # Errors
    /// The column whose integer would overflow, or that is no integer.
    pub fn apply(&mut self, row: RowRef<'_>, delta: &Delta) -> Result<(), u16> {
        let mut values: Vec<Value> = row.values().map(ValueRef::to_owned).collect();
        for (column, change) in &delta.0 {
            let value = values.get_mut(usize::from(*column)).ok_or(*column)?;
            *value = match (change, &*value) {
                (Change::Set(new), _) => new.clone(),
                (Change::Add(amount), Value::Int(old)) => Value::Int(old.checked_add(*amount).ok_or(*column)?),
                (Change::Add(_), Value::Null) => Value::Null,
                (Change::Add(_), _) => return Err(*column),
            };
        }
        self.set_values(values.iter().map(Value::as_ref));
        Ok(())
    }
}

/// Changes of a row, column by column. The other columns stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta(Vec<(u16, Change)>);

/// Change of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The column becomes this value.
    Set(Value),
    /// This is added to an integer column; NULL stays NULL.
    Add(i64),
}

impl Delta {
    /// Changes nothing.
    pub fn new() -> Delta {
        Delta::default()
    }

    /// Sets a column.
    pub fn set(mut self, column: u16, value: impl Into<Value>) -> Delta {
        self.0.push((column, Change::Set(value.into())));
        self
    }

    /// Adds to an integer column.
    pub fn add(mut self, column: u16, amount: i64) -> Delta {
        self.0.push((column, Change::Add(amount)));
        self
    }

    /// The changes, in the order in which they apply.
    pub fn changes(&self) -> &[(u16, Change)] {
        &self.0
    }
}
