//! From syntax to meaning: names are looked up, types decided, conversions made explicit. PostgreSQL calls it parse analysis.
//!
//! `scope.rs` says what names mean; `expression` binds expressions, `coerce.rs` and `parameter.rs` their types; `from.rs`
//! binds what rows there are, `select.rs` what a query makes of them, with `grouping.rs` and `stages.rs` for aggregates,
//! windows and sets; `query.rs`, `set_operation.rs` and `with.rs` put queries together; `insert.rs`, `update.rs` and
//! `delete.rs` bind what writes.

mod aggregate;
mod calls;
mod coerce;
mod expression;
mod from;
mod function;
mod grouping;
mod json;
pub(crate) mod name;
mod parameter;
mod position;
mod query;
mod record;
mod same;
mod scope;
mod select;
mod set_operation;
mod similar;
mod stages;
mod table;
mod target;
mod walk;
mod window;
mod with;
mod write;

use crate::catalog::NameLookup;
use crate::error::{Result, SqlError};
use crate::plan::{self, Expr, Statement};
use crate::types::{CastContext, Modifier, Type};
use scope::{Clause, Frame, Names, ScopeColumn, TableNames};
use std::sync::Arc;
use syntax::ast;

/// The types of a statement's parameters: given by the client, or found while binding.
pub type Parameters = Vec<Option<Type>>;

/// Binds SELECT, INSERT, UPDATE or DELETE. Types of parameters that are `None` (and further ones) are filled in.
///
/// # Errors
/// 42P01, 42703, 42883 and the like.
pub fn statement(
    names: &mut dyn NameLookup,
    statement: &ast::Statement,
    parameters: &mut Parameters,
) -> Result<Statement> {
    Binder::new(names, parameters, None).statement(statement)
}

/// As [`statement`], with the text in which the syntax tree's places count, so that errors carry positions.
///
/// # Errors
/// As [`statement`].
pub fn statement_with_text(
    names: &mut dyn NameLookup,
    text: &str,
    statement: &ast::Statement,
    parameters: &mut Parameters,
) -> Result<Statement> {
    Binder::new(names, parameters, Some(text)).statement(statement)
}

/// Binds an expression over the columns of one table (DEFAULT: no columns; CHECK; generated columns), cast to `wanted` by
/// assignment if given.
///
/// # Errors
/// As [`statement`].
pub fn expression(
    names: &mut dyn NameLookup,
    expression: &str,
    columns: &[(String, Type, Modifier)],
    wanted: Option<(Type, Modifier)>,
) -> Result<Expr> {
    definition(names, expression, columns, wanted, true)
}

/// As [`expression`], to be printed: calls of functions with constants stay calls.
///
/// # Errors
/// As [`statement`].
pub fn expression_as_written(
    names: &mut dyn NameLookup,
    expression: &str,
    columns: &[(String, Type, Modifier)],
) -> Result<Expr> {
    definition(names, expression, columns, None, false)
}

fn definition(
    names: &mut dyn NameLookup,
    expression: &str,
    columns: &[(String, Type, Modifier)],
    wanted: Option<(Type, Modifier)>,
    folds: bool,
) -> Result<Expr> {
    let syntax = crate::parse::expression(expression)?;
    let mut parameters = vec![];
    let mut binder = Binder::new(names, &mut parameters, None);
    binder.folds = folds;
    let column = |(at, (name, data_type, modifier)): (usize, &(String, Type, Modifier))| ScopeColumn {
        name: name.clone(),
        table: String::new(),
        value: Expr::column(at, *data_type, *modifier),
        origin: None,
    };
    let visible = Names::of_columns(columns.iter().enumerate().map(column).collect());
    let (bound, _) = binder.within(visible, Clause::Definition, |binder| {
        let bound = binder.expression(&syntax)?;
        match wanted {
            None => binder.known(bound),
            Some((data_type, modifier)) => {
                binder.coerce(bound, data_type, modifier, CastContext::Assignment, position::NOWHERE)
            }
        }
    })?;
    Ok(bound)
}

/// The state of binding one statement.
struct Binder<'b, 's> {
    /// What names mean.
    names: &'b mut (dyn NameLookup + 's),
    /// The types of the parameters so far.
    parameters: &'b mut Parameters,
    /// The text in which places count; `None` inside a view.
    text: Option<&'b str>,
    /// The rows that expressions may speak of, the row at hand last.
    frames: Vec<Frame>,
    /// The first frame that a LATERAL item of the FROM clause at hand may reach.
    lateral_base: usize,
    /// The queries of WITH that may be named, the innermost last.
    with: Vec<with::Named>,
    /// The number of the next query of WITH.
    next_number: usize,
    /// Tables of the FROM clauses that are being bound: seen by messages only.
    siblings: Vec<TableNames>,
    /// What lies between here and the recursive queries around, in which they may not be named.
    barriers: Vec<&'static str>,
    /// Whether tables of FROM are to give their keys, for FOR UPDATE.
    keys_wanted: bool,
    /// Whether the statement locks or writes.
    locks: bool,
    /// Views that are being bound, against endless ones.
    views: usize,
    /// The fields of the records so far, by the modifiers of their types.
    shapes: Vec<record::Shape>,
    /// Whether calls of immutable functions with constants become their values.
    folds: bool,
    /// What kind of definition is bound, in messages.
    definition: &'static str,
}

impl<'b, 's> Binder<'b, 's> {
    fn new(
        names: &'b mut (dyn NameLookup + 's),
        parameters: &'b mut Parameters,
        text: Option<&'b str>,
    ) -> Binder<'b, 's> {
        Binder {
            names,
            parameters,
            text,
            frames: vec![],
            lateral_base: 0,
            with: vec![],
            next_number: 0,
            siblings: vec![],
            barriers: vec![],
            keys_wanted: false,
            locks: false,
            views: 0,
            shapes: vec![],
            folds: true,
            definition: "DEFAULT expression",
        }
    }

    fn statement(mut self, statement: &ast::Statement) -> Result<Statement> {
        let mut bound = self.rows(statement)?;
        self.check_parameters()?;
        record::forget_shapes(&mut bound);
        Ok(bound)
    }

    fn rows(&mut self, statement: &ast::Statement) -> Result<Statement> {
        match statement {
            ast::Statement::Query(query) if with::writes(query) => self.modifying(query),
            ast::Statement::Query(query) => match &*query.body {
                ast::SetExpr::Insert(inner) | ast::SetExpr::Update(inner) | ast::SetExpr::Delete(inner) => {
                    self.writing_with(query.with.as_ref(), inner)
                }
                _ => {
                    let bound = self.query(query, target::Unknowns::Text)?;
                    let plan = Arc::new(bound.plan);
                    Ok(Statement::Query(plan::Query { plan, fields: bound.fields, locks: self.locks }))
                }
            },
            ast::Statement::Insert(insert) => self.insert(insert).map(Statement::Insert),
            ast::Statement::Update(update) => self.update(update).map(Statement::Update),
            ast::Statement::Delete(delete) => self.delete(delete).map(Statement::Delete),
            other => Err(SqlError::unsupported(other)),
        }
    }
}
