//! `seriatim check`.

use crate::failure::{Failure, Outcome};
use clap::{Args, ValueEnum};
use std::io;
use std::path::PathBuf;

/// Judge a history of transactions: is there a serial order that explains it?
///
/// The file has one JSON object a line; the format is documented in the crate `seriatim-check`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim check history.jsonl\n  \
    seriatim check history.jsonl --model serializable --format json\n\n\
    Exit codes: 0 the history is fine; 1 it is not, and the report explains a smallest part that cannot be; 2 it cannot be\n\
    read.")]
pub struct Check {
    /// The history; `-` reads standard input.
    file: PathBuf,
    /// What it must be: serializable, or strictly so (the order must agree with real time).
    #[arg(long, value_enum, default_value_t = Model::Strict)]
    model: Model,
    /// How the report is written.
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
        match check::command(&self.file, model, format, &mut out, &mut err) {
            0 => Ok(()),
            code => Err(Failure::Code(u8::try_from(code).unwrap_or(2))),
        }
    }
}
