//! CREATE TABLE, and columns.

use super::{constraint, sequence, storage};
use crate::ast::{
    ColumnDefinition, ColumnOption, ColumnSource, Constraint, CreateTable, CreateTableAs, Definition, Ident, Includes,
    Like, OnCommit,
};
use crate::reader::{Reader, Token};
use pgtypes::Result;

/// CREATE TABLE, from its name on.
pub(super) fn create(reader: &mut Reader<'_>, temporary: bool) -> Result<Definition> {
    let if_not_exists = reader.take("IF NOT EXISTS");
    let name = reader.object_name()?;
    if reader.says("PARTITION OF") {
        return Err(reader.unsupported("partitioning"));
    }
    if reader.says("OF") {
        return Err(reader.unsupported("a table of a type"));
    }
    let names = if *reader.peek() == Token::LParen { names_only(reader) } else { Some(vec![]) };
    if let Some(columns) = names {
        let on_commit = stored(reader)?;
        reader.expect("AS")?;
        let query = reader.query()?;
        let with_data = reader.take_any(&["WITH NO DATA", "WITH DATA"]) != Some("WITH NO DATA");
        let is_select_into = false;
        let create =
            CreateTableAs { name, temporary, if_not_exists, on_commit, columns, query, with_data, is_select_into };
        return Ok(Definition::CreateTableAs(create));
    }
    let (columns, constraints) = elements(reader)?;
    if reader.says("INHERITS") {
        return Err(reader.unsupported("INHERITS"));
    }
    if reader.says("PARTITION BY") {
        return Err(reader.unsupported("partitioning"));
    }
    let on_commit = stored(reader)?;
    Ok(Definition::CreateTable(CreateTable { name, temporary, if_not_exists, columns, on_commit, constraints }))
}

/// Names in parentheses and something after them, without types: the columns of CREATE TABLE AS. Reads nothing else.
fn names_only(reader: &mut Reader<'_>) -> Option<Vec<Ident>> {
    let start = reader.place();
    match reader.names_in_parentheses() {
        Ok(names) if matches!(reader.peek(), Token::Word(_)) => Some(names),
        _ => {
            reader.back_to(start);
            None
        }
    }
}

/// Where and how the table is stored, and when it or its rows go.
fn stored(reader: &mut Reader<'_>) -> Result<Option<OnCommit>> {
    if reader.take("USING") {
        storage::access_method(reader)?;
    }
    storage::with_parameters(reader)?;
    reader.take("WITHOUT OIDS");
    let on_commit = if reader.take("ON COMMIT") { Some(on_commit(reader)?) } else { None };
    if reader.take("TABLESPACE") {
        storage::tablespace(reader, "TABLESPACE")?;
    }
    Ok(on_commit)
}

fn on_commit(reader: &mut Reader<'_>) -> Result<OnCommit> {
    match reader.take_any(&["PRESERVE ROWS", "DELETE ROWS", "DROP"]) {
        Some("PRESERVE ROWS") => Ok(OnCommit::PreserveRows),
        Some("DELETE ROWS") => Ok(OnCommit::DeleteRows),
        Some(_) => Ok(OnCommit::Drop),
        None => Err(reader.unexpected()),
    }
}

fn elements(reader: &mut Reader<'_>) -> Result<(Vec<ColumnSource>, Vec<Constraint>)> {
    let (mut columns, mut constraints) = (vec![], vec![]);
    reader.expect_token(&Token::LParen)?;
    if reader.take_token(&Token::RParen) {
        return Ok((columns, constraints));
    }
    reader.list(|reader| {
        if reader.take("LIKE") {
            columns.push(ColumnSource::Like(like(reader)?));
            return Ok(());
        }
        match constraint::begins(reader) {
            true => constraints.push(constraint::table(reader)?),
            false => columns.push(ColumnSource::Column(column(reader)?)),
        }
        Ok(())
    })?;
    reader.expect_token(&Token::RParen)?;
    Ok((columns, constraints))
}

/// LIKE, from its table on. A later INCLUDING or EXCLUDING overrides an earlier one.
fn like(reader: &mut Reader<'_>) -> Result<Like> {
    let position = reader.position();
    let source = reader.object_name()?;
    let mut includes = Includes::default();
    while let Some(verb) = reader.take_any(&["INCLUDING", "EXCLUDING"]) {
        let on = verb == "INCLUDING";
        match reader.take_any(&LIKE_OPTIONS) {
            Some("ALL") => {
                includes =
                    Includes { comments: on, constraints: on, defaults: on, generated: on, identity: on, indexes: on }
            }
            Some("COMMENTS") => includes.comments = on,
            Some("CONSTRAINTS") => includes.constraints = on,
            Some("DEFAULTS") => includes.defaults = on,
            Some("GENERATED") => includes.generated = on,
            Some("IDENTITY") => includes.identity = on,
            Some("INDEXES") => includes.indexes = on,
            // Of what tables do not have.
            Some(_) => {}
            None => return Err(reader.unexpected()),
        }
    }
    Ok(Like { source, position, includes })
}

/// What INCLUDING and EXCLUDING name.
const LIKE_OPTIONS: [&str; 10] = [
    "ALL",
    "COMMENTS",
    "COMPRESSION",
    "CONSTRAINTS",
    "DEFAULTS",
    "GENERATED",
    "IDENTITY",
    "INDEXES",
    "STATISTICS",
    "STORAGE",
];

/// A column with all that is beside it.
pub(super) fn column(reader: &mut Reader<'_>) -> Result<ColumnDefinition> {
    reader.refuse_reserved()?;
    let name = reader.name()?;
    let data_type = reader.data_type()?;
    let (mut options, mut constraints) = (vec![], vec![]);
    loop {
        let constraint_name = if reader.take("CONSTRAINT") { Some(reader.name()?) } else { None };
        if let Some(option) = option(reader)? {
            options.push(option);
        } else if let Some(kind) = constraint::column(reader, &name)? {
            constraints.push(Constraint { name: constraint_name, kind, not_valid: false });
        } else if constraint_name.is_some() {
            return Err(reader.unexpected());
        } else {
            return Ok(ColumnDefinition { name, data_type, options, constraints });
        }
    }
}

fn option(reader: &mut Reader<'_>) -> Result<Option<ColumnOption>> {
    if reader.says("DEFAULT") {
        return reader.column_default().map(|value| Some(ColumnOption::Default(value)));
    }
    match reader.take_any(&["NULL", "NOT NULL", "GENERATED", "COLLATE"]) {
        Some("NULL") => Ok(Some(ColumnOption::Null)),
        Some("NOT NULL") => Ok(Some(ColumnOption::NotNull)),
        Some("GENERATED") => generated(reader).map(Some),
        Some(_) => reader.object_name().map(|collation| Some(ColumnOption::Collate(collation))),
        None => Ok(None),
    }
}

fn generated(reader: &mut Reader<'_>) -> Result<ColumnOption> {
    if !reader.says("ALWAYS AS") || reader.says("ALWAYS AS IDENTITY") {
        let (always, sequence) = sequence::identity(reader)?;
        return Ok(ColumnOption::Identity { always, sequence });
    }
    reader.take("ALWAYS AS");
    let value = reader.expression_in_parentheses()?;
    reader.expect("STORED")?;
    Ok(ColumnOption::Generated(value))
}
