//! The text form, written.

use super::{Operation, Record, Scalar};
use std::io::{self, Write};

/// Writes records as lines of the text form; each line goes to the output in one call.
///
/// Give it a buffered output when records are many.
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: W,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A writer of lines to `output`.
    pub fn new(output: W) -> Self {
        Writer { output, line: Vec::with_capacity(512) }
    }

    /// Writes one line.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.line.clear();
        write_record(&mut self.line, record)?;
        self.line.push(b'\n');
        self.output.write_all(&self.line)
    }

    /// Passes on what the output has buffered.
    ///
    /// # Errors
    /// Errors of the output's flush.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Flushes, and hands the output back.
    ///
    /// # Errors
    /// Errors of the output's flush.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}

fn write_record(line: &mut Vec<u8>, record: &Record) -> io::Result<()> {
    write!(line, "{{\"id\":{},\"p\":{},\"s\":", record.id, record.process)?;
    write_seconds(line, record.start_ns)?;
    line.extend_from_slice(b",\"e\":");
    write_seconds(line, record.end_ns)?;
    write!(line, ",\"st\":\"{}\"", record.status.word())?;
    if let Some(point) = record.serial_point {
        write!(line, ",\"at\":{point}")?;
    }
    line.extend_from_slice(b",\"ops\":[");
    for (position, operation) in record.operations.iter().enumerate() {
        if position > 0 {
            line.push(b',');
        }
        write_operation(line, operation)?;
    }
    line.extend_from_slice(b"]}");
    Ok(())
}

fn write_seconds(line: &mut Vec<u8>, nanoseconds: u64) -> io::Result<()> {
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    write!(line, "{seconds}.{rest:09}")
}

fn write_operation(line: &mut Vec<u8>, operation: &Operation) -> io::Result<()> {
    match operation {
        Operation::Append { key, value } => {
            open(line, b'a', key)?;
            write_value(line, Some(value))?;
        }
        Operation::ReadList { key, values } => {
            open(line, b'r', key)?;
            line.extend_from_slice(b",[");
            for (position, value) in values.iter().enumerate() {
                if position > 0 {
                    line.push(b',');
                }
                write_scalar(line, value)?;
            }
            line.push(b']');
        }
        Operation::Write { key, value, version } => {
            open(line, b'w', key)?;
            write_value(line, Some(value))?;
            write_version(line, *version)?;
        }
        Operation::Read { key, value, version } => {
            open(line, b'r', key)?;
            write_value(line, value.as_ref())?;
            write_version(line, *version)?;
        }
        Operation::Delete { key, version } => {
            open(line, b'd', key)?;
            write_version(line, *version)?;
        }
        Operation::Scan { low, high, entries } => {
            line.extend_from_slice(b"[\"s\"");
            write_value(line, low.as_ref())?;
            write_value(line, high.as_ref())?;
            line.extend_from_slice(b",[");
            for (position, (key, value)) in entries.iter().enumerate() {
                line.extend_from_slice(if position > 0 { b",[" } else { b"[" });
                write_scalar(line, key)?;
                write_value(line, Some(value))?;
                line.push(b']');
            }
            line.push(b']');
        }
    }
    line.push(b']');
    Ok(())
}

fn open(line: &mut Vec<u8>, letter: u8, key: &Scalar) -> io::Result<()> {
    line.extend_from_slice(&[b'[', b'"', letter, b'"', b',']);
    write_scalar(line, key)
}

fn write_value(line: &mut Vec<u8>, value: Option<&Scalar>) -> io::Result<()> {
    line.push(b',');
    match value {
        Some(value) => write_scalar(line, value),
        None => {
            line.extend_from_slice(b"null");
            Ok(())
        }
    }
}

fn write_version(line: &mut Vec<u8>, version: Option<u64>) -> io::Result<()> {
    match version {
        Some(version) => write!(line, ",{version}"),
        None => Ok(()),
    }
}

fn write_scalar(line: &mut Vec<u8>, scalar: &Scalar) -> io::Result<()> {
    match scalar {
        Scalar::Integer(value) => write!(line, "{value}"),
        Scalar::Text(text) => Ok(serde_json::to_writer(line, text)?),
    }
}
