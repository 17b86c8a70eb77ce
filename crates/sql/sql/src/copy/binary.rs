//! The binary format: a header, then rows of lengths and bytes, then -1.

use super::{LINE_LIMIT, bad_format, line_too_long};
use crate::error::Result;
use std::ops::Range;

/// Start of the stream: the signature, no flags, no extension.
pub(super) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// End of the stream.
pub(super) const TRAILER: &[u8] = b"\xff\xff";

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// Position of the reader in the stream.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Header,
    Rows,
    Ended,
}

/// Collects bytes and gives out rows.
#[derive(Debug)]
pub(super) struct Rows {
    buffer: Vec<u8>,
    at: usize,
    part: Part,
    width: usize,
    number: u64,
    /// Whether the row at `at` has been counted.
    counted: bool,
    /// The field that is being read.
    field: Option<usize>,
    closed: bool,
}

/// The places of a row's fields in the buffer; `None` for NULL.
pub(super) type Places = Vec<Option<Range<usize>>>;

impl Rows {
    /// A reader of rows of this many fields.
    pub(super) fn new(width: usize) -> Rows {
        Rows { buffer: vec![], at: 0, part: Part::Header, width, number: 0, counted: false, field: None, closed: false }
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// No more bytes will come.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The number of the row that was looked at last, from 1; 0 before the first.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The field in which [`Rows::next`] failed, if it was in one.
    pub(super) fn field(&self) -> Option<usize> {
        self.field
    }

    /// The bytes of a field.
    pub(super) fn bytes(&self, place: Range<usize>) -> &[u8] {
        &self.buffer[place]
    }

    /// Returns the next row; `None` if it is incomplete, or the stream has ended.
    ///
    /// # Errors
    /// 22P04 for anything but rows of the right width, 54000 for one that is too long.
    pub(super) fn next(&mut self) -> Result<Option<Places>> {
        if self.part == Part::Header && !self.read_header()? {
            return Ok(None);
        }
        if self.part == Part::Ended {
            return if self.at < self.buffer.len() {
                Err(bad_format("received copy data after EOF marker"))
            } else {
                Ok(None)
            };
        }
        if self.closed && self.at == self.buffer.len() {
            return Ok(None);
        }
        match self.read_row()? {
            Some(row) => Ok(Some(row)),
            None if self.part == Part::Ended => self.next(),
            None if self.closed => Err(bad_format("unexpected EOF in COPY data")),
            None if self.buffer.len() - self.at > LINE_LIMIT => Err(line_too_long()),
            None => Ok(None),
        }
    }

    /// Reads the header; `false` if it is not whole yet.
    fn read_header(&mut self) -> Result<bool> {
        let there = &self.buffer[self.at..];
        let known = there.len().min(SIGNATURE.len());
        if there[..known] != SIGNATURE[..known] || (self.closed && known < SIGNATURE.len()) {
            return Err(bad_format("COPY file signature not recognized"));
        }
        let mut at = self.at + SIGNATURE.len();
        let Some(flags) = self.int4(&mut at) else { return self.part_missing("flags") };
        if flags & (1 << 16) != 0 {
            return Err(bad_format("invalid COPY file header (WITH OIDS)"));
        }
        if flags >> 16 != 0 {
            return Err(bad_format("unrecognized critical flags in COPY file header"));
        }
        let Some(extension) = self.int4(&mut at) else { return self.part_missing("length") };
        let Ok(extension) = usize::try_from(extension) else {
            return Err(bad_format("invalid COPY file header (missing length)"));
        };
        if extension > LINE_LIMIT {
            return Err(line_too_long());
        }
        if self.buffer.len() < at + extension {
            return if self.closed { Err(bad_format("invalid COPY file header (wrong length)")) } else { Ok(false) };
        }
        self.at = at + extension;
        self.part = Part::Rows;
        Ok(true)
    }

    fn part_missing(&self, what: &str) -> Result<bool> {
        if self.closed { Err(bad_format(format!("invalid COPY file header (missing {what})"))) } else { Ok(false) }
    }

    /// Reads a row, or the trailer; `None` if neither is whole yet.
    fn read_row(&mut self) -> Result<Option<Places>> {
        let mut at = self.at;
        self.field = None;
        let Some(count) = self.int2(&mut at) else { return Ok(None) };
        if !self.counted {
            self.number += 1;
            self.counted = true;
        }
        if count == -1 {
            (self.at, self.part) = (at, Part::Ended);
            return Ok(None);
        }
        if usize::try_from(count) != Ok(self.width) {
            return Err(bad_format(format!("row field count is {count}, expected {}", self.width)));
        }
        let mut row = Places::with_capacity(self.width);
        for field in 0..self.width {
            self.field = Some(field);
            let Some(length) = self.int4(&mut at) else { return Ok(None) };
            row.push(match usize::try_from(length) {
                Ok(length) if length > LINE_LIMIT => return Err(line_too_long()),
                Ok(length) if self.buffer.len() - at < length => return Ok(None),
                Ok(length) => {
                    at += length;
                    Some(at - length..at)
                }
                Err(_) if length == -1 => None,
                Err(_) => return Err(bad_format("invalid field size")),
            });
        }
        self.at = at;
        (self.counted, self.field) = (false, None);
        Ok(Some(row))
    }

    fn int2(&self, at: &mut usize) -> Option<i16> {
        let bytes = self.buffer.get(*at..*at + 2)?;
        *at += 2;
        Some(i16::from_be_bytes(bytes.try_into().ok()?))
    }

    fn int4(&self, at: &mut usize) -> Option<i32> {
        let bytes = self.buffer.get(*at..*at + 4)?;
        *at += 4;
        Some(i32::from_be_bytes(bytes.try_into().ok()?))
    }
}
