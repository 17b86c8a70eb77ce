//! `seriatim check`.

use crate::failure::{Failure, Outcome};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;

/// Check a recorded history for serializability.
///
/// The file has one JSON object per line; docs/history-format.md in the repository describes the format.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim check history.jsonl\n  \
    seriatim check history.jsonl --model serializable --format json\n\n\
    Exit codes: 0 the history satisfies the model; 1 it does not, and the report shows a minimal cycle; 2 it cannot be read.")]
pub struct Check {
    /// History file; `-` reads standard input.
    file: PathBuf,
    /// Consistency model: serializable, or strictly serializable (the serial order agrees with real time).
    #[arg(long, value_enum, default_value_t = Model::Strict)]
    model: Model,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Model {
    Serializable,
    Strict,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Check {
    pub fn run(&self) -> Outcome {
        let model = match self.model {
            Model::Serializable => check::Model::Serializable,
            Model::Strict => check::Model::Strict,
        };
        let format = match self.format {
            Format::Text => check::Format::Text,
            Format::Json => check::Format::Json,
        };
        let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
        let mut out = UntilBrokenPipe(&mut out);
        match check::command(&self.file, model, format, &mut out, &mut err) {
            0 => Ok(()),
            code => Err(Failure::Code(u8::try_from(code).unwrap_or(2))),
        }
    }
}

/// Standard output until its reader closes it (`| head`). Later output is discarded, so that the exit code is still the verdict.
struct UntilBrokenPipe<W>(W);

impl<W: Write> Write for UntilBrokenPipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            result => result,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink that fails as it is told.
    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error_and_a_full_disk_is() {
        let mut gone = UntilBrokenPipe(Failing(io::ErrorKind::BrokenPipe));
        assert_eq!(gone.write(b"abc").unwrap(), 3);
        gone.flush().unwrap();
        let mut full = UntilBrokenPipe(Failing(io::ErrorKind::StorageFull));
        assert_eq!(full.write(b"abc").unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(full.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
