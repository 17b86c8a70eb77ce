//! Rules of a single row: generated columns, NOT NULL, CHECK, and what indexes compute of it.

use super::violation;
use crate::bind;
pub(crate) use crate::bind::row_columns;
use crate::catalog::Table;
use crate::catalog::sequence;
use crate::context::{Exec, Names};
use crate::error::Result;
use crate::exec::evaluate;
use crate::plan::{Expr, IndexRules};
use crate::types::{Datum, Modifier, Type, cast};

/// A table's generated columns and CHECK constraints as expressions over its row, with those of its indexes.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The generated columns.
    pub(crate) generated: Vec<(usize, Expr)>,
    /// The CHECK constraints, by their place in [`Table::checks`]; then the rules of columns' domains.
    pub(crate) checks: Vec<Expr>,
    /// What the table's indexes compute.
    pub(crate) indexes: IndexRules,
}

impl Rules {
    /// Binds the table's definitions.
    ///
    /// # Errors
    /// Errors of binding.
    pub(crate) fn bind(names: &mut Names<'_>, table: &Table) -> Result<Rules> {
        let columns = row_columns(table);
        let mut rules = Rules { generated: vec![], checks: vec![], indexes: bind::index_rules(names, table)? };
        for (at, column) in table.live_columns() {
            if let Some(expression) = &column.generated {
                let wanted = Some((column.data_type, column.modifier));
                rules.generated.push((at, bind::expression(names, expression, &columns, wanted)?));
            }
        }
        for check in &table.checks {
            let wanted = Some((Type::BOOL, Modifier::NONE));
            rules.checks.push(bind::expression(names, &check.expression, &columns, wanted)?);
        }
        rules.checks.extend(bind::rules_of_columns(names, table)?);
        Ok(rules)
    }

    /// Computes the generated columns, then checks NOT NULL and CHECK.
    ///
    /// # Errors
    /// 23502, 23514, errors of expressions.
    pub(crate) fn apply(&self, exec: &mut Exec<'_>, table: &Table, row: &mut [Datum]) -> Result<()> {
        generate(exec, &self.generated, row)?;
        check(exec, table, &self.checks, row)
    }
}

/// Computes the generated columns of a new row.
///
/// # Errors
/// Errors of the expressions.
pub(crate) fn generate(exec: &mut Exec<'_>, generated: &[(usize, Expr)], row: &mut [Datum]) -> Result<()> {
    for (column, expression) in generated {
        row[*column] = evaluate(exec, expression, row)?;
    }
    Ok(())
}

/// Checks the rules of domains, NOT NULL and CHECK. Of several CHECK constraints that fail, the first by name is reported.
///
/// # Errors
/// 23502, 23514, errors of the expressions.
pub(crate) fn check(exec: &mut Exec<'_>, table: &Table, checks: &[Expr], row: &[Datum]) -> Result<()> {
    for in_domain in checks.get(table.checks.len()..).unwrap_or_default() {
        evaluate(exec, in_domain, row)?;
    }
    let empty = table.live_columns().find(|(at, column)| column.not_null && matches!(row[*at], Datum::Null));
    if let Some((at, _)) = empty {
        return Err(violation::not_null(exec.env(), table, at, row));
    }
    let mut failed: Option<&crate::catalog::Check> = None;
    for (check, expression) in table.checks.iter().zip(checks) {
        let holds = !matches!(evaluate(exec, expression, row)?, Datum::Bool(false));
        if !holds && failed.is_none_or(|earlier| check.name < earlier.name) {
            failed = Some(check);
        }
    }
    match failed {
        Some(constraint) => Err(violation::check(exec.env(), table, constraint, row)),
        None => Ok(()),
    }
}

/// Source of a column's value if a statement gives none.
#[derive(Debug)]
pub(crate) enum Default {
    /// NULL.
    Null,
    /// The next value of the identity's sequence.
    Identity(crate::catalog::Oid, Type),
    /// DEFAULT.
    Expression(Expr),
}

impl Default {
    /// The default of a column.
    ///
    /// # Errors
    /// Errors of binding.
    pub(crate) fn bind(names: &mut Names<'_>, table: &Table, column: usize) -> Result<Default> {
        let column = &table.columns[column];
        let of_domain = match (&column.default, column.domain) {
            (None, Some(domain)) if column.identity.is_none() => bind::domain_default(names, domain)?,
            _ => None,
        };
        match (column.default.as_ref().or(of_domain.as_ref()), column.identity, column.sequence) {
            (Some(expression), ..) => {
                let wanted = Some((column.data_type, column.modifier));
                Ok(Default::Expression(bind::expression(names, expression, &[], wanted)?))
            }
            (None, Some(_), Some(sequence)) => Ok(Default::Identity(sequence, column.data_type)),
            _ => Ok(Default::Null),
        }
    }

    /// Its value for one row.
    ///
    /// # Errors
    /// Errors of the expression.
    pub(crate) fn value(&self, exec: &mut Exec<'_>) -> Result<Datum> {
        match self {
            Default::Null => Ok(Datum::Null),
            Default::Expression(expression) => evaluate(exec, expression, &[]),
            Default::Identity(sequence, data_type) => {
                let next = Datum::Int8(sequence::next_value(&mut exec.system(), *sequence)?);
                Ok(cast::cast(&next, Type::INT8, *data_type, Modifier::NONE, false, &exec.env().styles())?)
            }
        }
    }
}
