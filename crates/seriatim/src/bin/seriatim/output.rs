//! Tables for people, JSON for programs.

use crate::failure::{Failure, Outcome};
use clap::ValueEnum;
use serde_json::Value as Json;
use std::io::{self, Write};

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for people.
    #[default]
    Table,
    /// One JSON document.
    Json,
}

/// Writes a list of objects that all have the same keys.
pub fn list(format: Format, headers: &[&str], rows: Vec<Vec<Json>>) -> Outcome {
    let mut out = io::stdout().lock();
    match format {
        Format::Table => table(&mut out, headers, &rows)?,
        Format::Json => {
            let objects = rows.into_iter().map(|row| object(headers, row)).collect();
            json(&mut out, &Json::Array(objects))?;
        }
    }
    Ok(out.flush()?)
}

/// Writes one object.
pub fn record(format: Format, fields: Vec<(&str, Json)>) -> Outcome {
    let mut out = io::stdout().lock();
    match format {
        Format::Table => {
            let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, value) in &fields {
                writeln!(out, "{name:width$}  {}", shown(value))?;
            }
        }
        Format::Json => {
            let (headers, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
            json(&mut out, &object(&headers, values))?;
        }
    }
    Ok(out.flush()?)
}

fn object(headers: &[&str], values: Vec<Json>) -> Json {
    Json::Object(headers.iter().map(|header| (*header).to_owned()).zip(values).collect())
}

fn json(out: &mut impl Write, value: &Json) -> Outcome {
    serde_json::to_writer_pretty(&mut *out, value).map_err(|error| Failure::from(io::Error::from(error)))?;
    Ok(writeln!(out)?)
}

fn table(out: &mut impl Write, headers: &[&str], rows: &[Vec<Json>]) -> io::Result<()> {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let width = |column: usize| {
        let widest = cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        widest.max(headers[column].chars().count())
    };
    let widths: Vec<usize> = (0..headers.len()).map(width).collect();
    let right: Vec<bool> =
        (0..headers.len()).map(|column| !rows.is_empty() && rows.iter().all(|row| row[column].is_number())).collect();
    let line = |out: &mut dyn Write, cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (column, cell) in cells.enumerate() {
            let gap = " ".repeat(widths[column] - cell.chars().count());
            let parts = if right[column] { [&gap, cell, "  "] } else { [cell, &gap, "  "] };
            text.extend(parts);
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(out, &mut headers.iter().copied())?;
    for row in &cells {
        line(out, &mut row.iter().map(String::as_str))?;
    }
    Ok(())
}

fn shown(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        Json::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name} {}", shown(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(-1234567), "-1,234,567");
    }

    #[test]
    fn numbers_stand_right_and_texts_left() {
        let mut out = Vec::new();
        let rows = vec![vec![Json::from("a"), Json::from(1)], vec![Json::from("bcd"), Json::from(234)]];
        table(&mut out, &["name", "rows"], &rows).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name  rows\na        1\nbcd    234\n");
    }
}
