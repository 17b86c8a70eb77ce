//! Binding: resolves names, decides types, makes conversions explicit. PostgreSQL calls it parse analysis.
//!
//! `scope.rs` resolves names, with `clause.rs` for what each clause may contain and `ctes.rs` for the queries of WITH;
//! `expression` binds expressions, `coerce.rs`, `record.rs` and `parameter.rs` their types; `from.rs` binds FROM, `select.rs` the
//! rest of a SELECT, with `calls.rs`, `grouping.rs` and `windows_and_sets.rs` for aggregates, windows and sets, and `postponed.rs`
//! for what is computed after the sort; `query.rs`, `set_operation.rs` and `with.rs` compose queries; `write` binds INSERT, UPDATE
//! and DELETE.

mod aggregate;
mod calls;
mod clause;
mod coerce;
mod ctes;
mod data_type;
mod expression;
mod found;
mod from;
mod function;
mod grouping;
mod index;
mod json;
mod meanings;
pub(crate) mod name;
mod parameter;
mod position;
mod postponed;
mod printed;
mod query;
mod record;
mod scope;
mod select;
mod set_operation;
mod similar;
pub(crate) mod system_column;
mod table;
mod target;
mod walk;
mod window;
mod windows_and_sets;
mod with;
mod write;

use crate::catalog::NameLookup;
use crate::error::{Result, SqlError, state};
use crate::plan::{self, Expr, Statement};
use crate::types::{CastContext, Modifier, Type};
use clause::Clause;
pub(crate) use clause::Definition;
use ctes::Ctes;
use found::{Wanted, nested_join, rows_named};
use parameter::ParameterTypes;
use position::SourceText;
use record::RecordShapes;
use scope::{Names, Scope, ScopeColumn};
use std::sync::Arc;
use syntax::ast;

pub(crate) use data_type::{
    Named, VALUE, data_type, domain_default, domain_rules, in_domain, named_type, rules_of_columns,
};
pub(crate) use index::{index_rules, is_immutable, row_columns};
pub(crate) use meanings::{Meanings, literal_types, meanings, place_of, write_moment};
pub(crate) use position::start;
pub(crate) use target::column_name;

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
    definition(names, expression, columns, wanted, (Definition::Any, true))
}

/// Binds an expression or the predicate of an index, as the definition that it is.
///
/// # Errors
/// Errors of [`statement`], in the words for this definition.
pub(crate) fn expression_of(
    names: &mut dyn NameLookup,
    of: Definition,
    expression: &str,
    columns: &[(String, Type, Modifier)],
    wanted: Option<(Type, Modifier)>,
) -> Result<Expr> {
    definition(names, expression, columns, wanted, (of, true))
}

/// Binds a WHERE over a table's row, as the definition that it is.
///
/// # Errors
/// Errors of [`expression_of`], 42804.
pub(crate) fn condition_of(
    names: &mut dyn NameLookup,
    of: Definition,
    condition: &str,
    columns: &[(String, Type, Modifier)],
) -> Result<Expr> {
    let written = expression_of(names, of, condition, columns, None)?;
    // A literal becomes a boolean, another type does not.
    let bound = expression_of(names, of, condition, columns, Some((Type::BOOL, Modifier::NONE)));
    bound.map_err(|_| {
        let message = format!("argument of WHERE must be type boolean, not type {}", written.data_type.name());
        SqlError::new(state::DATATYPE_MISMATCH, message)
    })
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
    definition(names, expression, columns, None, (Definition::Any, false))
}

/// Binds like [`expression`], and returns the text with its dates and timestamps in the form that means the same under every
/// setting.
///
/// # Errors
/// Errors of [`statement`].
pub fn settled(
    names: &mut dyn NameLookup,
    expression: &str,
    columns: &[(String, Type, Modifier)],
    wanted: Option<(Type, Modifier)>,
) -> Result<String> {
    let mut syntax = syntax::expression(expression)?;
    let mut parameters = vec![];
    let mut binder = Binder::new(names, &mut parameters, None);
    binder.meanings = Some(Meanings::default());
    binder.over_columns(&syntax, columns, wanted, Definition::Any)?;
    let meanings = binder.meanings.take().unwrap_or_default();
    let _: std::ops::ControlFlow<()> = ast::visit_expressions_mut(&mut syntax, |part| {
        write_moment(part, &meanings);
        std::ops::ControlFlow::Continue(())
    });
    Ok(syntax.to_string())
}

fn definition(
    names: &mut dyn NameLookup,
    expression: &str,
    columns: &[(String, Type, Modifier)],
    wanted: Option<(Type, Modifier)>,
    (of, folds): (Definition, bool),
) -> Result<Expr> {
    let syntax = syntax::expression(expression)?;
    let mut parameters = vec![];
    let mut binder = Binder::new(names, &mut parameters, None);
    binder.folds = folds;
    binder.over_columns(&syntax, columns, wanted, of)
}

/// The state of binding one statement: the parts below, each with rules of its own, and what ties them together. Queries and
/// expressions contain each other, so the methods that bind them are the binder's, in the files named above; a method that needs
/// one part belongs to that part (decision 0066).
struct Binder<'b, 's> {
    /// Lookup of names in the catalog.
    names: &'b mut (dyn NameLookup + 's),
    /// Source of locations, for the positions of errors.
    text: SourceText<'b>,
    /// The rows that expressions may refer to.
    scope: Scope,
    /// The queries of WITH that FROM may refer to.
    ctes: Ctes,
    /// The types of `$1`, `$2`, ...
    parameters: ParameterTypes<'b>,
    /// The fields of records.
    records: RecordShapes,
    /// Whether the statement locks or writes.
    locks: bool,
    /// Whether the RETURNING that is being bound refers to `xmax` of a new row.
    returns_xmax: bool,
    /// Number of views that are being bound; limits their nesting.
    views: usize,
    /// Whether calls of immutable functions with constants are folded.
    folds: bool,
    /// What the statement's names mean, if it is to be reported.
    meanings: Option<Meanings>,
}

impl<'b, 's> Binder<'b, 's> {
    fn new(
        names: &'b mut (dyn NameLookup + 's),
        parameters: &'b mut Parameters,
        text: Option<&'b str>,
    ) -> Binder<'b, 's> {
        let text = SourceText(text);
        Binder {
            names,
            text,
            scope: Scope::default(),
            ctes: Ctes::default(),
            parameters: ParameterTypes { types: parameters, text },
            records: RecordShapes::default(),
            locks: false,
            returns_xmax: false,
            views: 0,
            folds: true,
            meanings: None,
        }
    }

    /// Binds an expression over these columns alone.
    fn over_columns(
        &mut self,
        syntax: &ast::Expr,
        columns: &[(String, Type, Modifier)],
        wanted: Option<(Type, Modifier)>,
        of: Definition,
    ) -> Result<Expr> {
        let column = |(at, (name, data_type, modifier)): (usize, &(String, Type, Modifier))| ScopeColumn {
            name: name.clone(),
            table: String::new(),
            value: Expr::column(at, *data_type, *modifier),
            origin: None,
        };
        let visible = Names::of_columns(columns.iter().enumerate().map(column).collect());
        let (bound, _) = self.within(visible, Clause::Definition(of), |binder| {
            let bound = binder.expression(syntax)?;
            match wanted {
                None => binder.known(bound),
                Some((data_type, modifier)) => {
                    binder.coerce(bound, data_type, modifier, CastContext::Assignment, position::start(syntax))
                }
            }
        })?;
        Ok(bound)
    }

    fn statement(mut self, statement: &ast::Statement) -> Result<Statement> {
        let mut bound = self.rows(statement)?;
        self.parameters.check()?;
        // Of RETURNING and VALUES, too.
        select::check_width(bound.columns().map_or(0, <[plan::Field]>::len))?;
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
            ast::Statement::Update(update) => {
                let rows = rows_named(&update.from, statement, []);
                self.with_wanted(Wanted { keys: false, rows }, |binder| binder.update(update)).map(Statement::Update)
            }
            ast::Statement::Delete(delete) => {
                let rows = rows_named(&delete.using, statement, []);
                self.with_wanted(Wanted { keys: false, rows }, |binder| binder.delete(delete)).map(Statement::Delete)
            }
            ast::Statement::Merge(merge) => {
                let rows = rows_named(nested_join(&merge.source), statement, []);
                self.with_wanted(Wanted { keys: false, rows }, |binder| binder.merge(merge)).map(Statement::Merge)
            }
        }
    }
}
