//! Prints rows: for people as psql does, for programs as CSV, JSON or Markdown.

use crate::failure::Outcome;
use clap::ValueEnum;
use seriatim::sql::{Column, Datum, SqlError, Type};
use sql::session::Sink;
use sql::types::{Styles, text};
use std::io::{self, Write};
use std::time::Duration;
use unicode_width::UnicodeWidthStr;

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// Aligned columns.
    Table,
    /// A line per value.
    Expanded,
    /// Values separated by `|`, without a header.
    Unaligned,
    /// CSV with a header.
    Csv,
    /// A JSON array of objects for each statement.
    Json,
    /// A Markdown table.
    Markdown,
}

/// Collects a statement's rows, which must be seen before columns can be aligned, and what is to be printed, which must
/// wait until it is durable.
pub struct Printer {
    pub layout: Layout,
    /// Whether each statement's time is shown.
    pub timing: bool,
    columns: Vec<Column>,
    styles: Styles,
    rows: Vec<Vec<Option<String>>>,
    has_rows: bool,
    /// The statement is a COPY to standard output.
    copies_out: bool,
    /// Output buffer, printed when the statements are done.
    out: Vec<u8>,
    /// Offset of the running statement's output in `out`.
    mark: usize,
}

impl Printer {
    pub fn new(layout: Layout) -> Printer {
        Printer {
            layout,
            timing: false,
            columns: Vec::new(),
            styles: Styles::default(),
            rows: Vec::new(),
            has_rows: false,
            copies_out: false,
            out: Vec::new(),
            mark: 0,
        }
    }

    /// After statements: prints what they answered. Of one that failed, what was complete before stays.
    pub fn finish(&mut self, ok: bool) -> Outcome {
        self.rows.clear();
        self.has_rows = false;
        if !ok {
            self.out.truncate(self.mark);
        }
        self.mark = 0;
        let out = std::mem::take(&mut self.out);
        let mut stdout = io::stdout().lock();
        stdout.write_all(&out)?;
        Ok(stdout.flush()?)
    }

    /// Shows how long a statement took, if that is wanted.
    pub fn time(&self, elapsed: Duration) -> Outcome {
        if self.timing {
            writeln!(io::stdout(), "Time: {:.3} ms", elapsed.as_secs_f64() * 1000.0)?;
        }
        Ok(())
    }

    /// Says something about the output where people read it; not among the rows that a program reads.
    pub fn say(&self, what: &str) -> Outcome {
        if matches!(self.layout, Layout::Table | Layout::Expanded) {
            writeln!(io::stdout(), "{what}")?;
        }
        Ok(())
    }

    fn print(&mut self, tag: &str) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.out);
        if self.has_rows {
            match self.layout {
                Layout::Table => self.table(&mut out)?,
                Layout::Expanded => self.expanded(&mut out)?,
                Layout::Unaligned => self.unaligned(&mut out)?,
                Layout::Csv => self.csv(&mut out)?,
                Layout::Json => self.json(&mut out)?,
                Layout::Markdown => self.markdown(&mut out)?,
            }
        } else if matches!(self.layout, Layout::Table | Layout::Expanded) {
            writeln!(out, "{tag}")?;
        }
        self.out = out;
        Ok(())
    }

    fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        let shown = |value: &Option<String>| value.as_deref().unwrap_or("").replace('\n', "\\n");
        let widest = |at: usize| self.rows.iter().map(|row| shown(&row[at]).width()).max().unwrap_or(0);
        let widths: Vec<usize> =
            self.columns.iter().enumerate().map(|(at, column)| column.name.width().max(widest(at))).collect();
        let center = |name: &str, width: usize| {
            let left = (width - name.width()) / 2;
            format!("{}{name}{}", " ".repeat(left), " ".repeat(width - name.width() - left))
        };
        let names: Vec<String> =
            self.columns.iter().zip(&widths).map(|(column, &width)| center(&column.name, width)).collect();
        writeln!(out, " {} ", names.join(" | "))?;
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width + 2)).collect();
        writeln!(out, "{}", rule.join("+"))?;
        for row in &self.rows {
            let cells = row.iter().zip(&widths).zip(&self.columns).map(|((value, &width), column)| {
                let (text, space) = (shown(value), " ".repeat(width - shown(value).width()));
                if is_number(column.data_type) { format!("{space}{text}") } else { format!("{text}{space}") }
            });
            writeln!(out, " {} ", cells.collect::<Vec<_>>().join(" | "))?;
        }
        self.count(out)
    }

    /// The last line, below the rows.
    fn count(&self, out: &mut dyn Write) -> io::Result<()> {
        let count = self.rows.len();
        writeln!(out, "({count} row{})\n", if count == 1 { "" } else { "s" })
    }

    fn expanded(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = self.columns.iter().map(|column| column.name.width()).max().unwrap_or(0);
        for (number, row) in self.rows.iter().enumerate() {
            writeln!(out, "-[ RECORD {} ]{}", number + 1, "-".repeat(width))?;
            for (column, value) in self.columns.iter().zip(row) {
                let space = " ".repeat(width - column.name.width());
                writeln!(out, "{}{space} | {}", column.name, value.as_deref().unwrap_or(""))?;
            }
        }
        self.count(out)
    }

    fn unaligned(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in &self.rows {
            let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("")).collect();
            writeln!(out, "{}", values.join("|"))?;
        }
        Ok(())
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.columns.iter().map(|column| column.name.as_str()))?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|value| value.as_deref().unwrap_or("")))?;
        }
        writer.flush()
    }

    /// Numbers and booleans are JSON's own; everything else is a string.
    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let value = |(text, column): (&Option<String>, &Column)| {
            let json = match text {
                None => serde_json::Value::Null,
                Some(text) if column.data_type == Type::BOOL => (text == "t").into(),
                Some(text) if is_number(column.data_type) => {
                    serde_json::from_str(text).unwrap_or_else(|_| text.clone().into())
                }
                Some(text) => text.clone().into(),
            };
            (column.name.clone(), json)
        };
        let object =
            |row: &Vec<Option<String>>| row.iter().zip(&self.columns).map(value).collect::<serde_json::Map<_, _>>();
        let all: Vec<_> = self.rows.iter().map(object).collect();
        serde_json::to_writer(&mut *out, &all)?;
        writeln!(out)
    }

    fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        writeln!(out, "{}", line(self.columns.iter().map(|column| column.name.clone()).collect()))?;
        let rule = |column: &Column| if is_number(column.data_type) { "---:" } else { "---" };
        writeln!(out, "{}", line(self.columns.iter().map(|column| rule(column).to_owned()).collect()))?;
        for row in &self.rows {
            let cell = |value: &Option<String>| value.as_deref().unwrap_or("").replace('|', "\\|").replace('\n', " ");
            writeln!(out, "{}", line(row.iter().map(cell).collect()))?;
        }
        Ok(())
    }
}

fn is_number(data_type: Type) -> bool {
    [Type::INT2, Type::INT4, Type::INT8, Type::FLOAT4, Type::FLOAT8, Type::NUMERIC, Type::OID].contains(&data_type)
}

impl Sink for Printer {
    fn rows(&mut self, fields: &[Column], styles: &Styles) {
        self.columns = fields.to_vec();
        self.styles = styles.clone();
        self.has_rows = true;
        self.rows.clear();
    }

    fn row(&mut self, row: &[Datum]) -> sql::Result<()> {
        let show = |(value, column): (&Datum, &Column)| {
            if value.is_null() {
                return None;
            }
            let mut shown = String::new();
            text::format(value, column.data_type, &self.styles, &mut shown);
            Some(shown)
        };
        self.rows.push(row.iter().zip(&self.columns).map(show).collect());
        Ok(())
    }

    fn complete(&mut self, tag: &str) {
        // The rows of a COPY to standard output are meant for a file, which a tag would spoil.
        if !std::mem::take(&mut self.copies_out) {
            // Writing to memory does not fail.
            let _ = self.print(tag);
        }
        self.has_rows = false;
        self.rows.clear();
    }

    fn empty(&mut self) {}

    fn notice(&mut self, severity: &'static str, notice: &SqlError) {
        eprintln!("{severity}:  {}", notice.message());
    }

    fn parameter(&mut self, _: &str, _: &str) {}

    fn restart(&mut self) -> bool {
        self.rows.clear();
        self.out.truncate(self.mark);
        true
    }

    fn begin_statement(&mut self) {
        self.mark = self.out.len();
    }

    fn copy_out_start(&mut self, _: usize, _: bool) {
        self.copies_out = true;
    }

    fn copy_data(&mut self, data: &[u8]) -> sql::Result<()> {
        self.out.extend_from_slice(data);
        Ok(())
    }

    fn copy_done(&mut self) {}
}
