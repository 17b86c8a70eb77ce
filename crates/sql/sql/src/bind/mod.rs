//! Binding: resolves names, decides types, makes conversions explicit. PostgreSQL calls it parse analysis.
//!
//! `scope.rs` resolves names; `expression` binds expressions, `coerce.rs` and `parameter.rs` their types; `from.rs` binds FROM,
//! `select.rs` the rest of a SELECT, with `grouping.rs` and `windows_and_sets.rs` for aggregates, windows and sets; `query.rs`,
//! `set_operation.rs` and `with.rs` compose queries; `write` binds INSERT, UPDATE and DELETE.

mod aggregate;
mod calls;
mod coerce;
mod equality;
mod expression;
mod from;
mod function;
mod grouping;
mod json;
mod meanings;
pub(crate) mod name;
mod parameter;
mod position;
mod printed;
mod query;
mod record;
mod scope;
mod select;
mod set_operation;
mod similar;
mod table;
mod target;
mod walk;
mod window;
mod windows_and_sets;
mod with;
mod write;

use crate::catalog::NameLookup;
use crate::error::Result;
use crate::plan::{self, Expr, Statement};
use crate::types::{CastContext, Modifier, Type};
use scope::{Clause, Frame, Names, ScopeColumn, TableNames};
use std::sync::Arc;
use syntax::ast;

pub(crate) use meanings::{Meanings, meanings, place_of};

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

/// Binds like [`statement`], with the source text of the syntax tree's locations, so that errors carry positions.
///
/// # Errors
/// Errors of [`statement`].
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
/// Errors of [`statement`].
pub fn expression(
    names: &mut dyn NameLookup,
    expression: &str,
    columns: &[(String, Type, Modifier)],
    wanted: Option<(Type, Modifier)>,
) -> Result<Expr> {
    definition(names, expression, columns, wanted, true)
}

/// Binds like [`expression`], for printing: calls of functions with constants are not folded.
///
/// # Errors
/// Errors of [`statement`].
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
    let syntax = syntax::expression(expression)?;
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
    /// Lookup of names in the catalog.
    names: &'b mut (dyn NameLookup + 's),
    /// The types of the parameters so far.
    parameters: &'b mut Parameters,
    /// Source text of the locations; `None` inside a view.
    text: Option<&'b str>,
    /// Rows that expressions may refer to; the current row is last.
    frames: Vec<Frame>,
    /// First frame that a LATERAL item of the current FROM clause may refer to.
    lateral_base: usize,
    /// Queries of WITH in scope, the innermost last.
    with: Vec<with::Named>,
    /// The number of the next query of WITH.
    next_number: usize,
    /// Tables of the FROM clauses that are being bound, for messages only.
    siblings: Vec<TableNames>,
    /// Constructs between here and the enclosing recursive queries in which these may not be named.
    barriers: Vec<&'static str>,
    /// Whether tables of FROM return their keys, for FOR UPDATE.
    keys_wanted: bool,
    /// Whether the statement locks or writes.
    locks: bool,
    /// Number of views that are being bound; limits their nesting.
    views: usize,
    /// Fields of the records so far, indexed by the modifiers of their types.
    shapes: Vec<record::Shape>,
    /// Whether calls of immutable functions with constants are folded.
    folds: bool,
    /// Kind of the definition being bound, for messages.
    definition: &'static str,
    /// What the statement's names mean, if somebody wants to know.
    meanings: Option<meanings::Meanings>,
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
            meanings: None,
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
                ast::SetExpr::Write(inner) => self.writing_with(query.with.as_ref(), inner),
                _ => {
                    let bound = self.query(query, target::UnknownLiterals::Text)?;
                    let plan = Arc::new(bound.plan);
                    Ok(Statement::Query(plan::Query { plan, fields: bound.fields, locks: self.locks }))
                }
            },
            ast::Statement::Insert(insert) => self.insert(insert).map(Statement::Insert),
            ast::Statement::Update(update) => self.update(update).map(Statement::Update),
            ast::Statement::Delete(delete) => self.delete(delete).map(Statement::Delete),
        }
    }
}
