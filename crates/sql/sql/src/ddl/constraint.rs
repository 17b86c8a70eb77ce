//! Constraints as CREATE TABLE and ALTER TABLE write them.

use super::foreign_key;
use crate::alter::constraint::constraint_taken;
use crate::alter::name::{self, fold};
use crate::catalog::Table;
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::{self, Expr, TableConstraint};

/// A constraint that a statement wants, wherever it was written.
pub(super) enum Wish<'s> {
    /// PRIMARY KEY, UNIQUE
    Key { name: Option<String>, columns: Vec<String>, primary: bool },
    /// CHECK
    Check { name: Option<String>, condition: &'s Expr },
    /// FOREIGN KEY, REFERENCES
    Foreign { name: Option<String>, columns: Vec<String>, key: &'s ast::ForeignKeyConstraint },
}

impl<'s> Wish<'s> {
    /// PRIMARY KEY or UNIQUE.
    ///
    /// # Errors
    /// 0A000 for a deferrable one.
    pub(super) fn key(
        name: Option<String>,
        columns: Vec<String>,
        primary: bool,
        characteristics: Option<&ast::ConstraintCharacteristics>,
    ) -> Result<Wish<'s>> {
        if characteristics.is_some_and(|said| said.deferrable == Some(true)) {
            return Err(SqlError::unsupported("a deferrable unique constraint"));
        }
        Ok(Wish::Key { name, columns, primary })
    }

    /// A constraint that stands by itself.
    ///
    /// # Errors
    /// 0A000 for what is not supported.
    pub(super) fn of(constraint: &'s TableConstraint) -> Result<Wish<'s>> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let columns = plain_columns(&key.columns)?;
                Wish::key(key.name.as_ref().map(fold), columns, true, key.characteristics.as_ref())
            }
            TableConstraint::Unique(key) => {
                if key.nulls_distinct == ast::NullsDistinctOption::NotDistinct {
                    return Err(SqlError::unsupported("NULLS NOT DISTINCT"));
                }
                let columns = plain_columns(&key.columns)?;
                Wish::key(key.name.as_ref().map(fold), columns, false, key.characteristics.as_ref())
            }
            TableConstraint::Check(check) => {
                Ok(Wish::Check { name: check.name.as_ref().map(fold), condition: &check.expr })
            }
            TableConstraint::ForeignKey(key) => {
                let columns = key.columns.iter().map(fold).collect();
                Ok(Wish::Foreign { name: key.name.as_ref().map(fold), columns, key })
            }
            TableConstraint::PrimaryKeyUsingIndex(_) | TableConstraint::UniqueUsingIndex(_) => {
                Err(SqlError::unsupported("a constraint USING INDEX"))
            }
            other => Err(SqlError::unsupported(format_args!("the constraint {other}"))),
        }
    }
}

fn plain_columns(columns: &[ast::IndexColumn]) -> Result<Vec<String>> {
    let plain = |column: &ast::IndexColumn| match &column.column.expr {
        Expr::Identifier(ident) => Ok(fold(ident)),
        other => Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{other}\""))),
    };
    columns.iter().map(plain).collect()
}

/// Adds a FOREIGN KEY to the definition, and makes the referenced table know it.
///
/// # Errors
/// 42710, and as [`foreign_key::resolve`].
pub(super) fn add_foreign_key(
    change: &mut Change<'_>,
    table: &mut Table,
    name: Option<String>,
    columns: &[String],
    key: &ast::ForeignKeyConstraint,
) -> Result<()> {
    let name = match name {
        Some(name) if name::has_constraint(table, &name) => return Err(constraint_taken(table, &name)),
        Some(name) => name,
        None => name::constraint(table, &name::joined(columns.iter().map(String::as_str)), "fkey"),
    };
    let resolved = foreign_key::resolve(change, table, name, columns, key)?;
    crate::alter::foreign_key::add(change, table, resolved)
}
