//! COPY TO STDOUT.

use super::fields::{write_csv, write_text};
use super::options::{Format, Options};
use super::{binary, target};
use crate::bind;
use crate::context::{Exec, Names};
use crate::dml;
use crate::error::{Result, SqlError, state};
use crate::exec::Cursor;
use crate::optimize::{self, Sizes};
use crate::pg_catalog;
use crate::plan::{self, Field};
use crate::types::{Datum, Encoding, Env, Row, Scalar, binary as wire, encoding, text};
use syntax::ast::{Copy, CopySource, Ident, ObjectName, Statement};

/// A running COPY TO STDOUT. It holds no borrow between calls.
pub struct CopyOut {
    source: Source,
    fields: Vec<Field>,
    options: Options,
    /// Encoding of the lines, or of binary texts.
    encoding: Encoding,
    force_quote: Vec<bool>,
    /// Columns whose values leave as names.
    named: Vec<(usize, Scalar)>,
    part: Part,
    rows: u64,
}

/// Source of the rows.
enum Source {
    Query(Box<Cursor>),
    /// RETURNING.
    Done(std::vec::IntoIter<Row>),
}

/// Next part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Header,
    Rows,
    End,
}

impl CopyOut {
    /// Starts a COPY TO STDOUT.
    ///
    /// # Errors
    /// 42P01, 42703 and the like, 42601, 22023 and 0A000 for options, 0A000 for a file or a program; errors of the query.
    pub fn start(exec: &mut Exec<'_>, statement: &Copy) -> Result<CopyOut> {
        target::check_stream(statement.stream, true)?;
        let options = Options::read(&statement.options, false)?;
        let query = match &statement.source {
            CopySource::Query(query) => Statement::Query(query.clone()),
            CopySource::Table { name, columns } => select(&mut exec.names(), name, columns)?,
        };
        let (source, fields) = Source::start(exec, &query)?;
        let force_quote = match options.force_quote_all {
            true => vec![true; fields.len()],
            false => forced(&fields, &options.force_quote)?,
        };
        let named = pg_catalog::names_in(&fields, |_| options.format != Format::Binary);
        let client = exec.client_encoding();
        let encoding = if options.format == Format::Binary { client } else { options.encoding.unwrap_or(client) };
        Ok(CopyOut { source, fields, options, encoding, force_quote, named, part: Part::Header, rows: 0 })
    }

    /// Number of columns of a line.
    pub fn columns(&self) -> usize {
        self.fields.len()
    }

    /// Returns whether the data is binary.
    pub fn is_binary(&self) -> bool {
        self.options.format == Format::Binary
    }

    /// Number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the next line, or piece of binary data. Returns `false` at the end.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn next(&mut self, exec: &mut Exec<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let start = out.len();
        if self.part == Part::Header {
            self.part = Part::Rows;
            match self.is_binary() {
                true => out.extend_from_slice(binary::HEADER),
                false if self.options.header => {
                    self.write_header(out);
                    return self.convert(out, start).map(|()| true);
                }
                false => {}
            }
        }
        if self.part == Part::End {
            return Ok(false);
        }
        match self.source.next(exec)? {
            Some(mut row) => {
                self.rows += 1;
                pg_catalog::print_names(&mut exec.names(), &self.named, Some(&mut row))?;
                self.write_row(exec.env(), &row, out)?;
                Ok(true)
            }
            None => {
                self.part = Part::End;
                if self.is_binary() {
                    out.extend_from_slice(binary::TRAILER);
                }
                Ok(self.is_binary())
            }
        }
    }

    fn write_header(&self, out: &mut Vec<u8>) {
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                out.push(self.options.delimiter);
            }
            self.write_field(&field.name, false, out);
        }
        out.push(b'\n');
    }

    fn write_row(&self, env: &dyn Env, row: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        if self.is_binary() {
            return self.write_binary(row, out);
        }
        let (styles, start) = (env.styles(), out.len());
        for (at, (value, field)) in row.iter().zip(&self.fields).enumerate() {
            if at > 0 {
                out.push(self.options.delimiter);
            }
            match value {
                Datum::Null => out.extend_from_slice(self.options.null.as_bytes()),
                value => {
                    let value = text::to_string(value, field.data_type, &styles);
                    self.write_field(&value, self.force_quote[at], out);
                }
            }
        }
        out.push(b'\n');
        self.convert(out, start)
    }

    /// Converts the line that begins at `start`.
    fn convert(&self, out: &mut Vec<u8>, start: usize) -> Result<()> {
        if !self.encoding.is_utf8() {
            let line = self.encoding.encode(encoding::utf8(&out[start..])?)?.into_owned();
            out.truncate(start);
            out.extend(line);
        }
        Ok(())
    }

    fn write_field(&self, field: &str, force_quote: bool, out: &mut Vec<u8>) {
        match self.options.format {
            Format::Csv => write_csv(field, &self.options, force_quote, self.fields.len() == 1, out),
            _ => write_text(field, self.options.delimiter, out),
        }
    }

    fn write_binary(&self, row: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        let too_big = |_| SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "a row is too large for COPY");
        out.extend(i16::try_from(row.len()).map_err(too_big)?.to_be_bytes());
        for (value, field) in row.iter().zip(&self.fields) {
            let length_at = out.len();
            out.extend((-1i32).to_be_bytes());
            if matches!(value, Datum::Null) {
                continue;
            }
            wire::send(value, field.data_type, self.encoding, out)?;
            let length = i32::try_from(out.len() - length_at - size_of::<i32>()).map_err(too_big)?;
            out[length_at..length_at + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }
}

impl Source {
    fn start(exec: &mut Exec<'_>, query: &Statement) -> Result<(Source, Vec<Field>)> {
        let bound = bind::statement(&mut exec.names(), query, &mut vec![])?;
        let sizes = Sizes::of(exec.store(), exec.samples()).within(exec.memory.limit());
        let statement = optimize::statement(bound, exec.vectors(), &sizes);
        let fields = returned(&statement)?;
        let changed = match statement {
            plan::Statement::Query(query) => return Ok((Source::Query(Box::new(Cursor::new(query.plan))), fields)),
            plan::Statement::Insert(insert) => dml::insert(exec, &insert)?,
            plan::Statement::Update(update) => dml::update(exec, &update)?,
            plan::Statement::Modifying(modifying) => dml::modifying(exec, &modifying)?,
            plan::Statement::Delete(delete) => dml::delete(exec, &delete)?,
            plan::Statement::Merge(_) => return Err(SqlError::unsupported("MERGE in COPY")),
        };
        Ok((Source::Done(changed.returned.into_iter()), fields))
    }

    fn next(&mut self, exec: &mut Exec<'_>) -> Result<Option<Row>> {
        match self {
            Source::Query(cursor) => cursor.next(exec),
            Source::Done(rows) => Ok(rows.next()),
        }
    }
}

/// The columns that are copied.
fn returned(statement: &plan::Statement) -> Result<Vec<Field>> {
    let body = match statement {
        plan::Statement::Modifying(modifying) => &*modifying.body,
        statement => statement,
    };
    match body.columns() {
        Some(fields) => Ok(fields.to_vec()),
        None if matches!(body, plan::Statement::Merge(_)) => Ok(vec![]),
        None => Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "COPY query must have a RETURNING clause")),
    }
}

/// The query that reads a table's columns.
fn select(names: &mut Names<'_>, name: &ObjectName, columns: &[Ident]) -> Result<Statement> {
    let table = target::table(names, name, true)?;
    let names: Vec<String> = target::columns(&table, columns)?
        .into_iter()
        .map(|at| Ident::quoted(&table.columns[at].name).to_string())
        .collect();
    let (schema, table) = (Ident::quoted(&table.schema), Ident::quoted(&table.name));
    let text = format!("SELECT {} FROM {schema}.{table}", names.join(", "));
    match syntax::statement(&text)?.map(|parsed| parsed.command) {
        Some(syntax::Command::Rows(statement)) => Ok((*statement).clone()),
        _ => Err(SqlError::new(state::INTERNAL_ERROR, "a table cannot be read by a query")),
    }
}

fn forced(fields: &[Field], named: &[String]) -> Result<Vec<bool>> {
    let mut forced = vec![false; fields.len()];
    for name in named {
        match fields.iter().position(|field| field.name == *name) {
            Some(at) => forced[at] = true,
            None => return Err(target::not_copied(name, "FORCE_QUOTE")),
        }
    }
    Ok(forced)
}
