//! A CSV file as rows of a table.

use crate::failure::{Failure, Outcome};
use crate::output::counted;
use crate::values;
use csv::StringRecord;
use seriatim::{Schema, Value};
use std::io::{self, Read};

/// Format of a CSV file.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// Between fields.
    pub delimiter: u8,
    /// The field that means NULL.
    pub null: String,
}

impl Default for Dialect {
    fn default() -> Dialect {
        Dialect { delimiter: b',', null: String::new() }
    }
}

/// The records of a CSV file, with positions for errors.
pub struct Records<R> {
    reader: csv::Reader<Quotes<R>>,
    /// Name of the file in error messages.
    name: String,
    header: StringRecord,
    record: StringRecord,
}

impl<R: Read> Records<R> {
    /// Reads the header.
    pub fn open(name: &str, file: R, dialect: &Dialect) -> Outcome<Records<R>> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(dialect.delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(Quotes::new(file, dialect.delimiter));
        let header = reader.headers().map_err(|error| complaint(name, &error))?.clone();
        let name = name.to_owned();
        if header.is_empty() || header.iter().all(str::is_empty) {
            return Err(Failure::Trouble(format!("{name}: the first line must name the columns")));
        }
        for (at, column) in header.iter().enumerate() {
            if column.is_empty() {
                return Err(Failure::Trouble(format!("{name}:1: column {} has no name", at + 1)));
            }
            if header.iter().take(at).any(|other| other == column) {
                return Err(Failure::Trouble(format!("{name}:1: two columns are called {column}")));
            }
        }
        Ok(Records { reader, name, header, record: StringRecord::new() })
    }

    /// The names of the columns.
    pub fn header(&self) -> &StringRecord {
        &self.header
    }

    /// The next record and its line (from 1); `None` at the end. Its memory is used again.
    pub fn next(&mut self) -> Outcome<Option<(u64, &StringRecord)>> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => Ok(Some((self.record.position().map_or(0, csv::Position::line), &self.record))),
            Ok(false) => Ok(None),
            Err(error) => Err(complaint(&self.name, &error)),
        }
    }

    /// Bytes of the file read so far.
    pub fn bytes_read(&self) -> u64 {
        self.reader.position().byte()
    }
}

/// Passes bytes on and follows the quotes in them: a field whose quote is never closed would swallow the rest of the file, and
/// the CSV reader would take that for one long text.
struct Quotes<R> {
    file: R,
    delimiter: u8,
    place: Place,
    line: u64,
    /// Byte offset of the start of the last quoted field.
    opened: u64,
}

/// Position of a byte within a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Inside,
    Quoted,
    /// Behind a quote in a quoted field: the end of it, or the first half of a doubled quote.
    AfterQuote,
}

impl<R> Quotes<R> {
    fn new(file: R, delimiter: u8) -> Quotes<R> {
        Quotes { file, delimiter, place: Place::Start, line: 1, opened: 0 }
    }

    fn follow(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Start, b'"') => {
                self.opened = self.line;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::AfterQuote,
            (Place::Quoted, _) | (Place::AfterQuote, b'"') => Place::Quoted,
            (_, b'\n' | b'\r') => Place::Start,
            (_, byte) if byte == self.delimiter => Place::Start,
            _ => Place::Inside,
        };
        self.line += u64::from(byte == b'\n');
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(bytes)?;
        bytes[..count].iter().for_each(|&byte| self.follow(byte));
        if count == 0 && !bytes.is_empty() && self.place == Place::Quoted {
            return Err(io::Error::other(format!(
                "the quote that opens a field on line {} is never closed",
                self.opened
            )));
        }
        Ok(count)
    }
}

fn complaint(name: &str, error: &csv::Error) -> Failure {
    let line = error.position().map_or(String::new(), |position| format!(":{}", position.line()));
    let what = match error.kind() {
        csv::ErrorKind::Io(error) => error.to_string(),
        csv::ErrorKind::Utf8 { err, .. } => format!("field {} is not UTF-8", err.field() + 1),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{} where the header names {expected_len}", counted(*len, "field"))
        }
        _ => error.to_string(),
    };
    Failure::Trouble(format!("{name}{line}: {what}"))
}

/// The rows of a CSV file whose header names exactly the columns of a schema, in any order.
pub struct CsvTable<R> {
    records: Records<R>,
    schema: Schema,
    null: String,
    /// For each column of the schema, the field.
    fields: Vec<usize>,
}

impl<R: Read> CsvTable<R> {
    /// Reads the header and compares it with the schema.
    pub fn open(name: &str, file: R, schema: &Schema, dialect: &Dialect) -> Outcome<CsvTable<R>> {
        let records = Records::open(name, file, dialect)?;
        let mut fields = Vec::new();
        for column in schema.columns() {
            match records.header.iter().position(|field| field == column.name) {
                Some(field) => fields.push(field),
                None => return Err(Failure::Trouble(format!("{name}:1: column {} is missing", column.name))),
            }
        }
        if let Some(extra) = records.header.iter().find(|field| schema.column(field).is_none()) {
            return Err(Failure::Trouble(format!("{name}:1: table {} has no column {extra}", schema.name())));
        }
        Ok(CsvTable { records, schema: schema.clone(), null: dialect.null.clone(), fields })
    }

    /// The next row and its line; `None` at the end.
    pub fn next(&mut self) -> Outcome<Option<(u64, Vec<Value>)>> {
        let Some((line, record)) = self.records.next()? else { return Ok(None) };
        let mut row = Vec::with_capacity(self.fields.len());
        for (column, &field) in self.schema.columns().iter().zip(&self.fields) {
            let text = &record[field];
            let value = if text != self.null {
                values::parse(text, column.kind)
            } else {
                column.nullable.then_some(Value::Null)
            };
            match value {
                Some(value) => row.push(value),
                None => {
                    let what = if text == self.null {
                        "is NULL, and the column does not allow it".to_owned()
                    } else {
                        format!("has {text:?}, which is not of type {}", column.kind)
                    };
                    let name = &self.records.name;
                    return Err(Failure::Trouble(format!("{name}:{line}: column {} {what}", column.name)));
                }
            }
        }
        Ok(Some((line, row)))
    }

    /// Bytes of the file read so far.
    pub fn bytes_read(&self) -> u64 {
        self.records.bytes_read()
    }
}
