//! Text for people, JSON for programs.

use crate::failure::Outcome;
use clap::ValueEnum;
use serde_json::Value as Json;
use std::io::{self, Write};

/// Format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable text.
    #[default]
    Table,
    /// One JSON document.
    Json,
}

/// Writes a JSON document.
pub fn json(value: &Json) -> Outcome {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Writes one object: a line for each field, or JSON.
pub fn record(format: Format, fields: Vec<(&str, Json)>) -> Outcome {
    if format == Format::Json {
        return json(&fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    }
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for (name, value) in &fields {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        writeln!(out, "{name:width$}  {shown}")?;
    }
    Ok(out.flush()?)
}

/// A count with its thousands apart: `1,234,567`.
pub fn grouped(count: impl Into<i128>) -> String {
    let count = count.into();
    let digits = count.unsigned_abs().to_string();
    let mut text = String::from(if count < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `1,234 rows`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(-1234567), "-1,234,567");
        assert_eq!((counted(1, "row"), counted(0, "row")), ("1 row".into(), "0 rows".into()));
    }
}
