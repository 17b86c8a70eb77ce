//! MERGE, by PostgreSQL 15's grammar: the parser lacks DO NOTHING, DEFAULT VALUES and OVERRIDING in it.

use crate::ast::{
    Expr, Ident, Insert, Merge, MergeAction, MergeClause, ObjectName, Overriding, Query, SetExpr, Span, Statement,
    TableAlias, WrittenTable,
};
use crate::carried::OVERRIDING;
use crate::reader::{Reader, Token};
use pgtypes::{Error, Result, state};

/// Reads the statement.
///
/// # Errors
/// 42601, 0A000
pub(crate) fn merge(reader: &mut Reader<'_>) -> Result<Statement> {
    let with = reader.with()?;
    reader.expect("MERGE INTO")?;
    if with.as_ref().is_some_and(|with| with.recursive) {
        let message = "WITH RECURSIVE is not supported for MERGE statement";
        return Err(Error::new(state::SYNTAX_ERROR, message));
    }
    let only = reader.take("ONLY");
    let name = reader.object_name()?;
    let _ = !only && reader.take_token(&Token::Mul);
    let explicit = reader.take("AS");
    let named = explicit || !reader.says("USING");
    let alias = if named { Some(TableAlias { explicit, name: reader.name()?, columns: vec![] }) } else { None };
    reader.expect("USING")?;
    let source = reader.table_factor()?;
    reader.expect("ON")?;
    let on = reader.expression()?;
    let mut clauses = vec![];
    while reader.take("WHEN") {
        clauses.push(clause(reader, &name)?);
    }
    if clauses.is_empty() {
        return Err(reader.unexpected());
    }
    let merge = Statement::Merge(Box::new(Merge { table: WrittenTable { name, alias }, source, on, clauses }));
    if with.is_none() {
        return Ok(merge);
    }
    let body = Box::new(SetExpr::Write(Box::new(merge)));
    Ok(Statement::Query(Box::new(of_body(with, body))))
}

fn of_body(with: Option<crate::ast::With>, body: Box<SetExpr>) -> Query {
    Query { with, body, order_by: vec![], limit: None, offset: None, locks: vec![] }
}

fn clause(reader: &mut Reader<'_>, table: &ObjectName) -> Result<MergeClause> {
    let matched = reader.take_any(&["NOT MATCHED", "MATCHED"]).ok_or_else(|| reader.unexpected())? == "MATCHED";
    let condition = if reader.take("AND") { Some(reader.expression()?) } else { None };
    reader.expect("THEN")?;
    let action = match reader.take_any(if matched {
        &["DO NOTHING", "DELETE", "UPDATE SET"]
    } else {
        &["DO NOTHING", "INSERT"]
    }) {
        Some("DO NOTHING") => MergeAction::Nothing,
        Some("DELETE") => MergeAction::Delete,
        Some("INSERT") => MergeAction::Insert(Box::new(insert(reader, table)?)),
        Some(_) => MergeAction::Update(reader.assignments()?),
        None => return Err(reader.unexpected()),
    };
    Ok(MergeClause { matched, condition, action })
}

/// INSERT of one row, from the columns on.
fn insert(reader: &mut Reader<'_>, table: &ObjectName) -> Result<Insert> {
    let mut columns = reader.optional_names()?;
    let overriding = overriding(&mut columns);
    let columns = columns.into_iter().map(|name| ObjectName(vec![name])).collect();
    let source = match reader.take_any(&["DEFAULT VALUES", "VALUES"]) {
        Some("VALUES") => {
            Some(Box::new(of_body(None, Box::new(SetExpr::Values { rows: vec![row(reader)?], span: Span::NOWHERE }))))
        }
        Some(_) => None,
        None => return Err(reader.unexpected()),
    };
    Ok(Insert { table: table.clone(), alias: None, columns, overriding, source, on_conflict: None, returning: None })
}

/// Takes OVERRIDING from the columns, where it is carried.
fn overriding(columns: &mut Vec<Ident>) -> Option<Overriding> {
    let last = columns.last().filter(|last| !last.quoted)?;
    let place = OVERRIDING.iter().position(|clause| last.value == *clause)?;
    columns.pop();
    Some([Overriding::System, Overriding::User][place])
}

fn row(reader: &mut Reader<'_>) -> Result<Vec<Expr>> {
    reader.expect_token(&Token::LParen)?;
    let values = reader.list(Reader::expression)?;
    reader.expect_token(&Token::RParen)?;
    Ok(values)
}
