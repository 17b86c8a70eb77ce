//! COPY FROM STDIN.

use super::binary::{self, Places};
use super::fields::Fields;
use super::lines::{Lines, Quoting};
use super::options::{Format, Options};
use super::{bad_format, target};
use crate::bind::{self, Definition};
use crate::catalog::Table;
use crate::context::Exec;
use crate::dml::rules::{Default, Rules};
use crate::dml::{KeyChecks, rows};
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::pg_catalog;
use crate::plan::Expr;
use crate::types::{Datum, Encoding, Row, Scalar, Styles, Type, binary as wire, encoding, text};
use pgtypes::encoding::Decoder;
use std::ops::Range;
use std::sync::Arc;
use syntax::ast::{Copy, CopySource};

/// Characters of a line or a value that an error shows.
const SHOWN: usize = 100;

/// A running COPY FROM STDIN. It holds no borrow between calls; its rows are written as they come.
pub struct CopyIn {
    target: Target,
    input: Input,
    /// Reader of lines that are not in UTF-8.
    decoder: Option<Decoder>,
    key_checks: KeyChecks,
    rows: u64,
}

/// The table that receives the rows, and the values and rules that apply to them.
struct Target {
    table: Arc<Table>,
    /// The copied columns, in the data's order.
    columns: Vec<usize>,
    /// Defaults of the other columns.
    defaults: Vec<(usize, Default)>,
    /// Columns whose values are the names of the identified objects.
    named: Vec<(usize, Scalar)>,
    rules: Rules,
    /// WHERE over the table's row.
    condition: Option<Expr>,
}

/// The data.
enum Input {
    Lines {
        lines: Lines,
        fields: Fields,
        form: Form,
    },
    /// With the encoding of its texts.
    Binary(binary::Rows, Encoding),
}

/// Bytes that are converted at once: as many as lines are cut from.
const CONVERTED: usize = 64 << 10;

/// Format of lines.
struct Form {
    options: Options,
    force_not_null: Vec<bool>,
    force_null: Vec<bool>,
    /// Whether the first line is still to be skipped.
    header: bool,
}

const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<CopyIn>()
};

impl CopyIn {
    /// Starts a COPY FROM STDIN.
    ///
    /// # Errors
    /// 42P01, 42703 and the like, 42601, 22023 and 0A000 for options, 0A000 for a file or a program.
    pub fn start(exec: &mut Exec<'_>, statement: &Copy) -> Result<CopyIn> {
        let CopySource::Table { name, columns } = &statement.source else {
            return Err(SqlError::new(state::SYNTAX_ERROR, "COPY FROM needs a table"));
        };
        target::check_stream(statement.stream, false)?;
        let options = Options::read(&statement.options, true)?;
        let table = target::table(&mut exec.names(), name, false)?;
        let columns = target::columns(&table, columns)?;
        let client = exec.client_encoding();
        let encoding = options.encoding.unwrap_or(client);
        let input = Input::new(&table, &columns, options, client)?;
        let is_decoded = matches!(input, Input::Lines { .. }) && !encoding.is_utf8();
        let decoder = is_decoded.then(|| Decoder::new(encoding));
        let condition = match &statement.condition {
            None => None,
            Some(condition) => {
                let (text, columns) = (condition.to_string(), bind::row_columns(&table));
                Some(bind::condition_of(&mut exec.names(), Definition::CopyCondition, &text, &columns)?)
            }
        };
        let target = Target { condition, ..Target::new(exec, table, columns)? };
        Ok(CopyIn { target, input, decoder, key_checks: KeyChecks::default(), rows: 0 })
    }

    /// Number of columns of a line.
    pub fn columns(&self) -> usize {
        self.target.columns.len()
    }

    /// Returns whether the data is binary.
    pub fn is_binary(&self) -> bool {
        matches!(self.input, Input::Binary(..))
    }

    /// Takes a piece of the data, and writes the rows that it completes.
    ///
    /// # Errors
    /// 22P04 for malformed data; errors of values, constraints and the engine, with the line as their context.
    pub fn data(&mut self, exec: &mut Exec<'_>, piece: &[u8]) -> Result<()> {
        if self.decoder.is_some() {
            return piece.chunks(CONVERTED).try_for_each(|piece| self.converted_data(exec, piece));
        }
        match &mut self.input {
            Input::Lines { lines, .. } => lines.push(piece),
            Input::Binary(rows, _) => rows.push(piece),
        }
        self.write_rows(exec)
    }

    /// Takes a piece in another encoding than UTF-8. Rows in front of what cannot be read are written before the error.
    fn converted_data(&mut self, exec: &mut Exec<'_>, piece: &[u8]) -> Result<()> {
        let (Input::Lines { lines, .. }, Some(decoder)) = (&mut self.input, &mut self.decoder) else { return Ok(()) };
        let (text, fault) = decoder.read(piece);
        lines.push(text.as_bytes());
        self.write_rows(exec)?;
        fault.map_or(Ok(()), |fault| self.unreadable(fault.into()))
    }

    /// The error of the line that is not complete, unless the data has ended before it.
    fn unreadable(&self, fault: SqlError) -> Result<()> {
        match &self.input {
            Input::Lines { lines, .. } => lines.unfinished().map_or(Ok(()), |line| Err(self.target.at(fault, line))),
            Input::Binary(..) => Err(fault),
        }
    }

    /// Ends the data. Returns the number of rows.
    ///
    /// # Errors
    /// Errors of [`CopyIn::data`], and 23503.
    pub fn finish(mut self, exec: &mut Exec<'_>) -> Result<u64> {
        if let Some(decoder) = &self.decoder {
            decoder.finish().or_else(|fault| self.unreadable(fault.into()))?;
        }
        match &mut self.input {
            Input::Lines { lines, .. } => lines.close(),
            Input::Binary(rows, _) => rows.close(),
        }
        self.write_rows(exec)?;
        self.key_checks.finish(exec)?;
        Ok(self.rows)
    }

    /// Writes the rows that are complete.
    fn write_rows(&mut self, exec: &mut Exec<'_>) -> Result<()> {
        let styles = exec.env().styles();
        let CopyIn { target, input, key_checks, rows, .. } = self;
        loop {
            let (row, shown) = match input {
                Input::Lines { lines, fields, form } => {
                    let Some(line) = lines.next().map_err(|error| target.at(error, lines.number()))? else { break };
                    if std::mem::take(&mut form.header) {
                        continue;
                    }
                    let mut row = target.read_line(lines, line.clone(), fields, form, &styles)?;
                    pg_catalog::read_names(&mut exec.names(), &target.named, &mut row)
                        .map_err(|error| target.at(error, lines.number()))?;
                    (row, format!(": \"{}\"", shorten(&String::from_utf8_lossy(lines.bytes(line)))))
                }
                Input::Binary(binary, encoding) => {
                    let Some(places) = binary.next().map_err(|error| target.in_binary(error, binary))? else { break };
                    (target.read_binary(binary, places, *encoding)?, String::new())
                }
            };
            *rows += u64::from(target.write(exec, row, key_checks, input.number(), &shown)?);
            exec.check_at_row(input.number())?;
        }
        Ok(())
    }
}

impl Input {
    fn new(table: &Table, columns: &[usize], options: Options, client: Encoding) -> Result<Input> {
        let quoting = match options.format {
            // ENCODING is of text and CSV; PostgreSQL accepts it here and reads the texts as the client's.
            Format::Binary => return Ok(Input::Binary(binary::Rows::new(columns.len()), client)),
            Format::Csv => Some(Quoting { quote: options.quote, escape: options.escape }),
            Format::Text => None,
        };
        let form = Form {
            force_not_null: target::forced(table, columns, &options.force_not_null, "FORCE_NOT_NULL")?,
            force_null: target::forced(table, columns, &options.force_null, "FORCE_NULL")?,
            header: options.header,
            options,
        };
        Ok(Input::Lines { lines: Lines::new(quoting), fields: Fields::default(), form })
    }

    fn number(&self) -> u64 {
        match self {
            Input::Lines { lines, .. } => lines.number(),
            Input::Binary(rows, _) => rows.number(),
        }
    }
}

impl Target {
    fn new(exec: &mut Exec<'_>, table: Arc<Table>, columns: Vec<usize>) -> Result<Target> {
        let mut defaults = vec![];
        for (at, column) in table.live_columns() {
            if !columns.contains(&at) && column.generated.is_none() {
                defaults.push((at, Default::bind(&mut exec.names(), &table, at)?));
            }
        }
        let rules = Rules::bind(&mut exec.names(), &table)?;
        let scalar = |at: usize| table.columns[at].data_type.scalar;
        let named = columns.iter().map(|&at| (at, scalar(at))).filter(|(_, scalar)| scalar.is_reg()).collect();
        Ok(Target { table, columns, defaults, named, rules, condition: None })
    }

    /// The values of a line's columns.
    fn read_line(
        &self,
        lines: &Lines,
        line: Range<usize>,
        fields: &mut Fields,
        form: &Form,
        styles: &Styles,
    ) -> Result<Row> {
        let number = lines.number();
        encoding::utf8(lines.bytes_and_end(line.clone())).map_err(|error| self.at(error.into(), number))?;
        let line = lines.bytes(line);
        let whole = |error: SqlError| self.in_line(error, number, line);
        match form.options.format {
            Format::Csv => fields.split_csv(line, &form.options).map_err(whole)?,
            _ => fields.split_text(line, &form.options),
        }
        if fields.len() > self.columns.len() && !(self.columns.is_empty() && line.is_empty()) {
            return Err(whole(bad_format("extra data after last expected column")));
        }
        let mut row = vec![Datum::Null; self.table.columns.len()];
        for (place, &at) in self.columns.iter().enumerate() {
            let column = &self.table.columns[at];
            if place >= fields.len() {
                return Err(whole(bad_format(format!("missing data for column \"{}\"", column.name))));
            }
            let null = form.options.null.as_str();
            let value = match fields.get(place).map_err(whole)? {
                None if form.force_not_null[place] => Some(null),
                Some(value) if form.force_null[place] && value == null => None,
                value => value,
            };
            if let Some(value) = value {
                let data_type = match column.data_type {
                    named if named.scalar.is_reg() => Type { scalar: Scalar::Text, ..named },
                    data_type => data_type,
                };
                row[at] = text::parse(value, data_type, column.modifier, styles)
                    .map_err(|error| self.in_column(error, number, at, Some(value)))?;
            }
        }
        Ok(row)
    }

    /// The values of a binary row's columns.
    fn read_binary(&self, rows: &binary::Rows, places: Places, encoding: Encoding) -> Result<Row> {
        let mut row = vec![Datum::Null; self.table.columns.len()];
        for (place, &at) in places.into_iter().zip(&self.columns) {
            let Some(place) = place else { continue };
            let column = &self.table.columns[at];
            let value = wire::receive(rows.bytes(place), column.data_type, encoding)
                .and_then(|value| text::apply_modifier(value, column.data_type, column.modifier, false));
            row[at] = value.map_err(|error| self.in_column(error, rows.number(), at, None))?;
        }
        Ok(row)
    }

    /// Completes, checks and writes a row; `false` if WHERE leaves it out.
    fn write(
        &self,
        exec: &mut Exec<'_>,
        mut row: Row,
        key_checks: &mut KeyChecks,
        number: u64,
        shown: &str,
    ) -> Result<bool> {
        let place = format!("COPY {}, line {number}", self.table.name);
        for (at, default) in &self.defaults {
            row[*at] = default.value(exec).map_err(|error| error.context(format!("{place}{shown}")))?;
        }
        if let Some(condition) = &self.condition {
            let wanted = evaluate(exec, condition, &row).map_err(|error| error.context(format!("{place}{shown}")))?;
            if wanted.as_bool() != Some(true) {
                return Ok(false);
            }
        }
        let checked = self.rules.apply(exec, &self.table, &mut row);
        checked.map_err(|error| error.context(format!("{place}{shown}")))?;
        let written = rows::write_new(exec, (&self.table, &self.rules.indexes), &row);
        written.map_err(|error| error.context(place))?;
        key_checks.inserted(exec, &self.table, &row)?;
        Ok(true)
    }

    fn at(&self, error: SqlError, number: u64) -> SqlError {
        error.context(format!("COPY {}, line {number}", self.table.name))
    }

    fn in_binary(&self, error: SqlError, rows: &binary::Rows) -> SqlError {
        match (rows.number(), rows.field()) {
            (0, _) => error,
            (number, Some(field)) => self.in_column(error, number, self.columns[field], None),
            (number, None) => self.at(error, number),
        }
    }

    fn in_line(&self, error: SqlError, number: u64, line: &[u8]) -> SqlError {
        let line = String::from_utf8_lossy(line);
        error.context(format!("COPY {}, line {number}: \"{}\"", self.table.name, shorten(&line)))
    }

    fn in_column(&self, error: impl Into<SqlError>, number: u64, column: usize, value: Option<&str>) -> SqlError {
        let name = &self.table.columns[column].name;
        let shown = value.map(|value| format!(": \"{}\"", shorten(value))).unwrap_or_default();
        let error: SqlError = error.into();
        error.context(format!("COPY {}, line {number}, column {name}{shown}", self.table.name))
    }
}

fn shorten(text: &str) -> String {
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    format!("{}...", &text[..text.floor_char_boundary(SHOWN)])
}
