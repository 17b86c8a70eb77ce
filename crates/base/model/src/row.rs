//! Rows: self-describing, so that a row from any source can be read without its schema.
//!
//! A typed row is `columns: u16`, one tag byte per column (0 for NULL, else its [`ColumnType`]), one eight-byte slot per
//! column, then the bytes of texts and byte strings; their slot holds offset and length (`u32` each), the offset counted
//! from the row's start. Little-endian. Column *i* is thus found without looking at the columns before it.
//! A row of a bytes table is the bytes themselves.

use crate::decimal::Decimal;
use crate::key::Component;
use crate::{Column, ColumnType, Malformed, Value, ValueRef};
use std::ops::Range;

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

/// What the columns of a table say about the bytes of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The tag of each column, where it is not NULL.
    tags: Vec<u8>,
    /// Whether it may be NULL.
    nullable: Vec<bool>,
    /// The columns whose bytes stand behind the slots.
    variable: Vec<u16>,
}

impl Shape {
    /// The shape of rows of these columns.
    pub fn of(columns: &[Column]) -> Shape {
        let variable = (0..).zip(columns).filter(|(_, column)| is_variable(Some(column.kind)));
        Shape {
            tags: columns.iter().map(|column| column.kind as u8).collect(),
            nullable: columns.iter().map(|column| column.nullable).collect(),
            variable: variable.map(|(at, _)| at).collect(),
        }
    }
}

/// A value of a known type as rows store it, for engines that store columns.
#[derive(Clone, Copy, Debug)]
pub enum RawValue<'a> {
    /// NULL.
    Null,
    /// Of a type of fixed width: an integer, date or timestamp as 64 bits with its sign, 0 or 1, the bits of a float.
    Word(u64),
    /// Of a text, as UTF-8, or of a byte string.
    Bytes(&'a [u8]),
    /// Of a byte string that is a decimal's: equal to its bytes.
    Decimal(Decimal),
}

impl PartialEq for RawValue<'_> {
    fn eq(&self, other: &RawValue<'_>) -> bool {
        match (*self, *other) {
            (RawValue::Null, RawValue::Null) => true,
            (RawValue::Word(left), RawValue::Word(right)) => left == right,
            (RawValue::Bytes(left), RawValue::Bytes(right)) => left == right,
            (RawValue::Decimal(left), RawValue::Decimal(right)) => left == right,
            (RawValue::Decimal(decimal), RawValue::Bytes(bytes))
            | (RawValue::Bytes(bytes), RawValue::Decimal(decimal)) => *decimal.stored() == *bytes,
            _ => false,
        }
    }
}

impl Eq for RawValue<'_> {}

impl<'a> RawValue<'a> {
    /// A value, without its type.
    #[inline]
    pub fn of(value: ValueRef<'a>) -> RawValue<'a> {
        match value {
            ValueRef::Null => RawValue::Null,
            ValueRef::Text(v) => RawValue::Bytes(v.as_bytes()),
            ValueRef::Bytes(v) => RawValue::Bytes(v),
            value => RawValue::Word(fixed_slot(value).unwrap_or_default()),
        }
    }

    /// Shows the value with its type.
    ///
    /// # Panics
    /// If it is none of that type: bytes where the type has words, or the other way round; a text that is not UTF-8.
    pub fn with_type<R>(self, kind: ColumnType, see: impl FnOnce(ValueRef<'_>) -> R) -> R {
        match self {
            RawValue::Decimal(decimal) => see(RawValue::Bytes(&decimal.stored()).typed(kind)),
            value => see(value.typed(kind)),
        }
    }

    /// Shows the bytes of a text or a byte string; `None` for another value.
    #[inline]
    pub fn with_bytes<R>(self, see: impl FnOnce(&[u8]) -> R) -> Option<R> {
        match self {
            RawValue::Null | RawValue::Word(_) => None,
            RawValue::Bytes(bytes) => Some(see(bytes)),
            RawValue::Decimal(decimal) => Some(see(&decimal.stored())),
        }
    }

    /// Number of bytes of a text or a byte string; none of another value.
    #[inline]
    pub fn bytes_len(self) -> usize {
        match self {
            RawValue::Null | RawValue::Word(_) => 0,
            RawValue::Bytes(bytes) => bytes.len(),
            RawValue::Decimal(decimal) => decimal.stored_length(),
        }
    }

    /// The value of a row, which has no decimal taken apart, with its type.
    fn typed(self, kind: ColumnType) -> ValueRef<'a> {
        match (self, kind) {
            (RawValue::Null, _) => ValueRef::Null,
            (RawValue::Word(word), ColumnType::Bool) => ValueRef::Bool(word != 0),
            (RawValue::Word(word), ColumnType::Int) => ValueRef::Int(word as i64),
            (RawValue::Word(word), ColumnType::Float) => ValueRef::Float(f64::from_bits(word)),
            (RawValue::Word(word), ColumnType::Date) => ValueRef::Date(word as i32),
            (RawValue::Word(word), ColumnType::Timestamp) => ValueRef::Timestamp(word as i64),
            (RawValue::Bytes(bytes), ColumnType::Bytes) => ValueRef::Bytes(bytes),
            (RawValue::Bytes(bytes), ColumnType::Text) => {
                ValueRef::Text(std::str::from_utf8(bytes).expect("texts were checked when they came in"))
            }
            (value, kind) => panic!("{value:?} is no {kind}"),
        }
    }
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
    #[inline]
    pub fn width(self) -> usize {
        usize::from(u16::from_le_bytes([self.0[0], self.0[1]]))
    }

    #[inline]
    fn slot(self, column: usize) -> u64 {
        let at = 2 + self.width() + column * SLOT;
        u64::from_le_bytes(self.0[at..at + SLOT].try_into().expect("a slot has eight bytes"))
    }

    /// The bytes that a slot of a text or a byte string stands for.
    fn behind(self, slot: u64) -> Option<&'a [u8]> {
        let (offset, length) = parts_of(slot);
        self.0.get(offset..offset + length)
    }

    fn variable(self, column: usize) -> &'a [u8] {
        self.behind(self.slot(column)).expect("offsets were checked when they came in")
    }

    /// Where the bytes of a column stand, or would stand, behind the slots; `None` unless all columns' stand there in their
    /// order, with nothing between or behind them, as in a row made of its values.
    fn place_of(self, column: usize) -> Option<Range<usize>> {
        let (mut end, mut place) = (2 + self.width() * (1 + SLOT), 0..0);
        for at in 0..self.width() {
            let start = end;
            if is_variable(self.kind(at)) {
                let (offset, length) = parts_of(self.slot(at));
                if offset != start {
                    return None;
                }
                end += length;
            }
            if at == column {
                place = start..end;
            }
        }
        (end == self.0.len()).then_some(place)
    }

    /// The value of a column of a typed row.
    ///
    /// # Panics
    /// If there is no such column, or the bytes are no typed row: stored rows were checked when they came in
    /// ([`RowRef::check`]).
    pub fn get(self, column: usize) -> ValueRef<'a> {
        self.kind(column).map_or(ValueRef::Null, |kind| self.raw(column).typed(kind))
    }

    /// The value of a column of a typed row, without its type.
    ///
    /// # Panics
    /// Same as [`RowRef::get`], but a text is not looked at.
    #[inline]
    pub fn raw(self, column: usize) -> RawValue<'a> {
        match self.kind(column) {
            None => RawValue::Null,
            Some(ColumnType::Text | ColumnType::Bytes) => RawValue::Bytes(self.variable(column)),
            Some(_) => RawValue::Word(self.slot(column)),
        }
    }

    /// A column's value as a component of a key; `None` for NULL, and for a text or byte string that is not there. Whether a
    /// text is one is not looked at.
    #[inline]
    pub(crate) fn component(self, column: usize) -> Option<Component<'a>> {
        let (kind, slot) = (self.kind(column)?, self.slot(column));
        Some(match kind {
            ColumnType::Bool => Component::bool(slot != 0),
            ColumnType::Int | ColumnType::Timestamp => Component::int(slot as i64),
            ColumnType::Date => Component::int(i64::from(slot as i32)),
            ColumnType::Float => Component::float(f64::from_bits(slot)),
            ColumnType::Text | ColumnType::Bytes => Component::Bytes(self.behind(slot)?),
        })
    }

    /// The values of a typed row without their types, in order.
    #[inline]
    pub fn raws(self) -> impl Iterator<Item = RawValue<'a>> {
        let width = self.width();
        let (tags, rest) = self.0[2..].split_at(width);
        let (slots, _) = rest.as_chunks::<SLOT>();
        tags.iter().zip(slots).map(move |(&tag, slot)| {
            let slot = u64::from_le_bytes(*slot);
            match tag {
                NULL_TAG => RawValue::Null,
                tag if tag == ColumnType::Text as u8 || tag == ColumnType::Bytes as u8 => {
                    RawValue::Bytes(self.behind(slot).expect("offsets were checked when they came in"))
                }
                _ => RawValue::Word(slot),
            }
        })
    }

    /// The type of a column's value; `None` for NULL.
    ///
    /// # Panics
    /// Same as [`RowRef::get`].
    #[inline]
    pub fn kind(self, column: usize) -> Option<ColumnType> {
        assert!(column < self.width(), "column {column} of a row of {}", self.width());
        ColumnType::from_tag(self.0[2 + column])
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
        let width = if self.0.len() < 2 { 0 } else { self.width() };
        let is_sound = self.all_columns(width, |_, tag, slot| {
            tag == NULL_TAG || ColumnType::from_tag(tag).is_some_and(|kind| self.is_sound(kind, slot))
        });
        if is_sound { Ok(()) } else { Err(Malformed) }
    }

    /// Returns whether this is a typed row of this shape that [`RowRef::get`] can read, with NULL where it may be.
    pub(crate) fn fits(self, shape: &Shape) -> bool {
        let width = shape.tags.len();
        let Some((head, rest)) = self.0.split_first_chunk() else { return false };
        if usize::from(u16::from_le_bytes(*head)) != width || rest.len() < width * (1 + SLOT) {
            return false;
        }
        let (tags, rest) = rest.split_at(width);
        // Without an early exit, a column is a few instructions.
        let may_be = tags.iter().zip(&shape.tags).zip(&shape.nullable);
        if !may_be.fold(true, |fit, ((tag, kind), nullable)| fit & ((tag == kind) | ((*tag == NULL_TAG) & nullable))) {
            return false;
        }
        let (slots, texts) = rest.split_at(width * SLOT);
        let (slots, _) = slots.as_chunks::<SLOT>();
        // If all that stands behind the slots is ASCII, so is each text in it: one look instead of one for each.
        let (start, is_ascii) = (self.0.len() - texts.len(), texts.is_ascii());
        shape.variable.iter().all(|&column| {
            let (tag, slot) = (tags[usize::from(column)], u64::from_le_bytes(slots[usize::from(column)]));
            let is_read =
                |bytes| tag != ColumnType::Text as u8 || is_ascii && parts_of(slot).0 >= start || is_text(bytes);
            tag == NULL_TAG || self.behind(slot).is_some_and(is_read)
        })
    }

    /// Returns whether this has the tags of a row of these columns, with NULL where it may be. What texts and byte strings
    /// stand for is not looked at ([`RowRef::is_sound_at`]).
    pub(crate) fn has_tags_of(self, columns: &[Column]) -> bool {
        self.all_columns(columns.len(), |at, tag, _| {
            let Column { kind, nullable, .. } = columns[at];
            if tag == NULL_TAG { nullable } else { tag == kind as u8 }
        })
    }

    /// Returns whether a column, which is there, has the type that it has in a row of these columns, or NULL where it may.
    #[inline]
    pub(crate) fn has_tag_of(self, column: usize, columns: &[Column]) -> bool {
        let Column { kind, nullable, .. } = columns[column];
        self.kind(column).map_or(nullable, |found| found == kind)
    }

    /// Returns whether [`RowRef::get`] can read this column, which is there.
    pub(crate) fn is_sound_at(self, column: usize) -> bool {
        self.kind(column).is_none_or(|kind| self.is_sound(kind, self.slot(column)))
    }

    /// Returns whether it has so many columns, and `holds` of the tag and the slot of each.
    fn all_columns(self, width: usize, holds: impl Fn(usize, u8, u64) -> bool) -> bool {
        let Some((head, rest)) = self.0.split_first_chunk() else { return false };
        if usize::from(u16::from_le_bytes(*head)) != width || rest.len() < width * (1 + SLOT) {
            return false;
        }
        let (tags, slots) = rest.split_at(width);
        let (slots, _) = slots.as_chunks::<SLOT>();
        tags.iter().zip(slots).enumerate().all(|(at, (&tag, slot))| holds(at, tag, u64::from_le_bytes(*slot)))
    }

    /// Returns whether a slot can stand for a value of this type.
    fn is_sound(self, kind: ColumnType, slot: u64) -> bool {
        match kind {
            ColumnType::Text => self.behind(slot).is_some_and(is_text),
            ColumnType::Bytes => self.behind(slot).is_some(),
            _ => true,
        }
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

    /// The buffer itself, for an engine that copies a row in pieces.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
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

    /// Refills the buffer with a typed row of these values, which are counted first.
    #[inline]
    pub fn set_values<'v>(&mut self, values: impl Iterator<Item = ValueRef<'v>> + Clone) {
        let width = match values.size_hint() {
            (least, Some(most)) if least == most => least,
            _ => values.clone().count(),
        };
        let mut row = self.rebuild_row(width);
        // The type of NULL is not stored.
        values.for_each(|value| row.push(value.column_type().unwrap_or(ColumnType::Bool), RawValue::of(value)));
    }

    /// Refills the buffer with a typed row of so many columns, whose values are pushed one by one.
    ///
    /// # Panics
    /// With more than 65,535 columns.
    #[inline]
    pub fn rebuild_row(&mut self, width: usize) -> RowBuilder<'_> {
        let count = u16::try_from(width).expect("schemas have at most 65,535 columns");
        self.0.clear();
        self.0.resize(2 + width * (1 + SLOT), 0);
        self.0[..2].copy_from_slice(&count.to_le_bytes());
        RowBuilder { row: &mut self.0, width, next: 0 }
    }

    /// Bytes of a typed row of so many columns whose texts and byte strings have so many bytes together.
    #[inline]
    pub fn typed_bytes(width: usize, bytes: usize) -> usize {
        2 + width * (1 + SLOT) + bytes
    }

    /// Refills the buffer with a typed row of so many columns, whose texts and byte strings have so many bytes together. Each value
    /// comes with its type, which it fits: a word of a type that has words, UTF-8 of a text.
    ///
    /// # Panics
    /// With more than 65,535 columns, or if there are fewer values or not so many bytes.
    #[inline]
    pub fn fill<'v>(&mut self, width: usize, bytes: usize, values: impl Iterator<Item = (ColumnType, RawValue<'v>)>) {
        let count = u16::try_from(width).expect("schemas have at most 65,535 columns");
        let mut offset = Self::typed_bytes(width, 0);
        self.0.clear();
        self.0.resize(offset + bytes, 0);
        let (head, mut rest) = self.0.split_at_mut(offset);
        head[..2].copy_from_slice(&count.to_le_bytes());
        let (tags, slots) = head[2..].split_at_mut(width);
        let mut left = width;
        for ((tag, slot), (kind, value)) in tags.iter_mut().zip(slots.as_chunks_mut::<SLOT>().0).zip(values) {
            left -= 1;
            let word = match value {
                RawValue::Null => continue,
                RawValue::Word(word) => word,
                RawValue::Bytes(bytes) => put_behind(&mut rest, &mut offset, bytes),
                RawValue::Decimal(decimal) => put_behind(&mut rest, &mut offset, &decimal.stored()),
            };
            (*tag, *slot) = (kind as u8, word.to_le_bytes());
        }
        assert!(left == 0 && rest.is_empty(), "so many values and bytes as were said");
    }

    fn set_slot(&mut self, at: usize, slot: u64) {
        self.0[at..at + SLOT].copy_from_slice(&slot.to_le_bytes());
    }

    fn append(&mut self, bytes: &[u8]) -> u64 {
        let offset = self.0.len();
        self.0.extend_from_slice(bytes);
        slot_of(offset, bytes.len())
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
        self.0.extend(columns.iter().map(|&column| row.kind(usize::from(column)).map_or(NULL_TAG, |kind| kind as u8)));
        let slots = self.0.len();
        self.0.resize(slots + columns.len() * SLOT, 0);
        for (place, &column) in columns.iter().enumerate() {
            let column = usize::from(column);
            let slot = if is_variable(row.kind(column)) { self.append(row.variable(column)) } else { row.slot(column) };
            self.set_slot(slots + place * SLOT, slot);
        }
    }

    /// Refills the buffer with `row` changed by `delta`. Values of fixed width are changed in place.
    ///
    /// # Errors
    /// The column whose integer would overflow, or that is no integer.
    pub fn apply(&mut self, row: RowRef<'_>, delta: &Delta) -> Result<(), u16> {
        self.set_bytes(row.bytes());
        for (column, change) in &delta.0 {
            let at = usize::from(*column);
            if at >= row.width() {
                return Err(*column);
            }
            match (change, self.row().kind(at)) {
                (Change::Set(new), _) => self.set(at, new.as_ref()),
                (Change::Add(amount), Some(ColumnType::Int)) => {
                    let sum = (self.row().slot(at) as i64).checked_add(*amount).ok_or(*column)?;
                    self.set_column(at, ColumnType::Int as u8, sum as u64);
                }
                (Change::Add(_), None) => {}
                (Change::Add(_), Some(_)) => return Err(*column),
            }
        }
        Ok(())
    }

    /// Replaces a column's value. If the row's bytes were those of a row made of its values, they still are.
    fn set(&mut self, column: usize, value: ValueRef<'_>) {
        match (fixed_slot(value), is_variable(self.row().kind(column))) {
            (Some(slot), false) => self.set_column(column, tag_of(value), slot),
            _ => self.replace(column, value),
        }
    }

    fn set_column(&mut self, column: usize, tag: u8, slot: u64) {
        let width = self.row().width();
        self.0[2 + column] = tag;
        self.set_slot(2 + width + column * SLOT, slot);
    }

    /// Same as [`RowBuf::set`], where bytes behind the slots come or go: what stands behind them moves.
    fn replace(&mut self, column: usize, value: ValueRef<'_>) {
        let Some(Range { start, end }) = self.row().place_of(column) else { return self.rebuild(column, value) };
        let new = variable_bytes(value);
        let (length, new_end) = (self.0.len(), start + new.len());
        let new_length = length - end + new_end;
        self.0.resize(length.max(new_length), 0);
        self.0.copy_within(end..length, new_end);
        self.0.truncate(new_length);
        self.0[start..new_end].copy_from_slice(new);
        self.set_column(column, tag_of(value), fixed_slot(value).unwrap_or(slot_of(start, new.len())));
        if new_end != end {
            self.move_behind(column, new_end.wrapping_sub(end));
        }
    }

    /// Adds to the offsets of the columns behind one.
    fn move_behind(&mut self, column: usize, distance: usize) {
        let width = self.row().width();
        for later in column + 1..width {
            if is_variable(self.row().kind(later)) {
                let slot = self.row().slot(later);
                let (offset, length) = parts_of(slot);
                self.set_slot(2 + width + later * SLOT, slot_of(offset.wrapping_add(distance), length));
            }
        }
    }

    /// Same as [`RowBuf::replace`], for a row that somebody has put together in another order.
    #[cold]
    fn rebuild(&mut self, column: usize, value: ValueRef<'_>) {
        let before = std::mem::take(self);
        let new = |at| if at == column { value } else { before.get(at) };
        self.set_values((0..before.row().width()).map(new));
    }
}

/// A typed row that is being put together.
#[derive(Debug)]
pub struct RowBuilder<'b> {
    row: &'b mut Vec<u8>,
    width: usize,
    next: usize,
}

impl RowBuilder<'_> {
    /// Appends a value. The caller knows that it fits the type: a word of a type that has words, UTF-8 of a text.
    ///
    /// # Panics
    /// If the row has all its values.
    #[inline]
    pub fn push(&mut self, kind: ColumnType, value: RawValue<'_>) {
        match value {
            RawValue::Null => self.put(NULL_TAG, 0),
            RawValue::Word(word) => self.put(kind as u8, word),
            RawValue::Bytes(bytes) => self.put_bytes(kind, bytes),
            RawValue::Decimal(decimal) => self.put_bytes(kind, &decimal.stored()),
        }
    }

    #[inline]
    fn put_bytes(&mut self, kind: ColumnType, bytes: &[u8]) {
        let slot = slot_of(self.row.len(), bytes.len());
        self.row.extend_from_slice(bytes);
        self.put(kind as u8, slot);
    }

    #[inline]
    fn put(&mut self, tag: u8, slot: u64) {
        let (at, width) = (self.next, self.width);
        assert!(at < width, "a row of {width} columns has no more");
        self.row[2 + at] = tag;
        let slots = 2 + width + at * SLOT;
        self.row[slots..slots + SLOT].copy_from_slice(&slot.to_le_bytes());
        self.next += 1;
    }
}

/// Copies a text or a byte string into the room behind the slots, of which the rest begins at an offset of the row. Returns its slot.
#[inline]
fn put_behind(rest: &mut &mut [u8], offset: &mut usize, bytes: &[u8]) -> u64 {
    let (place, behind) = std::mem::take(rest).split_at_mut(bytes.len());
    place.copy_from_slice(bytes);
    *rest = behind;
    let slot = slot_of(*offset, bytes.len());
    *offset += bytes.len();
    slot
}

/// Returns whether bytes are UTF-8. Most texts are ASCII, which is quicker to see.
#[inline]
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

fn is_variable(kind: Option<ColumnType>) -> bool {
    matches!(kind, Some(ColumnType::Text | ColumnType::Bytes))
}

/// The slot of bytes behind the slots.
fn slot_of(offset: usize, length: usize) -> u64 {
    offset as u64 | (length as u64) << 32
}

/// Offset and length of the bytes that a slot stands for.
fn parts_of(slot: u64) -> (usize, usize) {
    (slot as u32 as usize, (slot >> 32) as usize)
}

fn tag_of(value: ValueRef<'_>) -> u8 {
    value.column_type().map_or(NULL_TAG, |kind| kind as u8)
}

/// The bytes of a text or byte string, which stand behind the slots; none of another value.
fn variable_bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(v) => v.as_bytes(),
        ValueRef::Bytes(v) => v,
        _ => &[],
    }
}

/// The slot of a value that stands in it; `None` for texts and byte strings.
fn fixed_slot(value: ValueRef<'_>) -> Option<u64> {
    Some(match value {
        ValueRef::Null => 0,
        ValueRef::Bool(v) => u64::from(v),
        ValueRef::Int(v) | ValueRef::Timestamp(v) => v as u64,
        ValueRef::Date(v) => i64::from(v) as u64,
        ValueRef::Float(v) => v.to_bits(),
        ValueRef::Text(_) | ValueRef::Bytes(_) => return None,
    })
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
