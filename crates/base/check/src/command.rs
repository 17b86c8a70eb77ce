//! The body of `seriatim check`.

use crate::{History, HistoryError, Model, judge};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object, for programs.
    Json,
}

/// Judges the history in the file at `path` (`-` reads standard input) and writes the report to `out`, errors to `err`.
///
/// Returns the process's exit code: 0 when the history is fine, 1 when it is not, 2 when it cannot be read or the report cannot be
/// written.
pub fn command(path: &Path, model: Model, format: Format, out: &mut dyn Write, err: &mut dyn Write) -> i32 {
    let complain = |err: &mut dyn Write, problem: &dyn std::fmt::Display| {
        // When even the complaint cannot be written, the exit code still tells.
        let _ = writeln!(err, "{}: {problem}", path.display());
        2
    };
    let history = match open(path) {
        Ok(Ok(history)) => history,
        Ok(Err(error)) => return complain(err, &error),
        Err(error) => return complain(err, &error),
    };
    let report = judge(&history, model);
    let written = match format {
        Format::Text => write!(out, "{report}"),
        Format::Json => serde_json::to_writer(&mut *out, &report).map_err(io::Error::from).and_then(|()| writeln!(out)),
    };
    match written.and_then(|()| out.flush()) {
        Ok(()) if report.valid => 0,
        Ok(()) => 1,
        Err(error) => complain(err, &format_args!("cannot write the report: {error}")),
    }
}

fn open(path: &Path) -> io::Result<Result<History, HistoryError>> {
    if path == Path::new("-") {
        return Ok(History::read(io::stdin().lock()));
    }
    Ok(History::read(BufReader::with_capacity(1 << 20, File::open(path)?)))
}
