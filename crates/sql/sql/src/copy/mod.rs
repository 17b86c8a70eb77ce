//! COPY: rows from and to text, CSV and binary.
//!
//! `options.rs` reads the statement's options, `target.rs` the table and columns that it names; `input.rs` is COPY FROM STDIN
//! over `lines.rs` (bytes to lines), `fields.rs` (lines to fields) and `binary.rs`; `output.rs` is COPY TO STDOUT.
//!
//! CSV follows PostgreSQL's own dialect: whether a field was quoted decides whether it can be NULL, and `\.` ends the data.
//! Readers of general CSV do not report the former and do not support the latter.

mod binary;
mod fields;
mod input;
mod lines;
mod options;
mod output;
mod target;
#[cfg(test)]
mod tests;

pub use input::CopyIn;
pub use output::CopyOut;

use crate::error::{SqlError, state};

/// Bytes of one line, or of one binary row.
const LINE_LIMIT: usize = 64 << 20;

fn line_too_long() -> SqlError {
    let message = format!("a line of COPY data is longer than {LINE_LIMIT} bytes");
    SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
}

fn bad_format(message: impl Into<String>) -> SqlError {
    SqlError::new(state::BAD_COPY_FILE_FORMAT, message)
}
