//! Options that several subcommands share.

use clap::ValueEnum;

/// Output format of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// One list of rows, for programs
    Json,
}

pub(crate) fn number(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| "not a number".to_owned())
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if number > 0.0 { Ok(number) } else { Err("not above zero".to_owned()) }
}

/// A day is enough for everyone, and no product of it overflows.
const MAX_SECONDS: f64 = 86_400.0;

pub(crate) fn seconds_or_none(text: &str) -> Result<f64, String> {
    let seconds = number(text)?;
    if (0.0..=MAX_SECONDS).contains(&seconds) { Ok(seconds) } else { Err(format!("not between 0 and {MAX_SECONDS}")) }
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = seconds_or_none(text)?;
    if seconds > 0.0 { Ok(seconds) } else { Err("not above 0".to_owned()) }
}
