//! Constraints as CREATE TABLE and ALTER TABLE write them.

use super::name::{self, Given, fold};
use super::{column, foreign_key};
use crate::catalog::{Check, Index, KeyForm, Table};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use crate::types::{Modifier, Scalar, Type};
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

/// Adds a primary key or unique constraint to the definition; makes no storage. Says where it stands in
/// [`Table::indexes`]; `None` if there is the same already (then it has the wanted name too, if it had none).
///
/// # Errors
/// 42703, 42701, 42P16, 42P07, 42704.
pub(super) fn add_key(
    change: &mut Change<'_>,
    table: &mut Table,
    given: &mut Given,
    name: Option<&str>,
    columns: &[String],
    primary: bool,
) -> Result<usize> {
    let positions = key_columns(table, columns, primary)?;
    if primary && table.primary_key().is_some() {
        let message = format!("multiple primary keys for table \"{}\" are not allowed", table.name);
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    let name = match name {
        Some(name) if name::has_constraint(table, name) => return Err(constraint_taken(table, name)),
        Some(name) => {
            given.take(name)?;
            if change.names().relation_in(&table.schema, name)?.is_some() {
                return Err(crate::catalog::name_taken(name));
            }
            name.to_owned()
        }
        None if primary => given.relation(&mut change.names(), &table.schema, &table.name, "", "pkey")?,
        None => {
            let joined = name::joined(columns.iter().map(String::as_str));
            given.relation(&mut change.names(), &table.schema, &table.name, &joined, "key")?
        }
    };
    let index = Index {
        oid: change.fresh_oid()?,
        name,
        descending: vec![false; positions.len()],
        columns: positions,
        unique: true,
        primary,
        constraint: true,
        declared: None,
        storage: None,
        comment: None,
    };
    if primary {
        for at in &index.columns {
            if let Some(column) = table.columns.get_mut(*at) {
                column.not_null = true;
            }
        }
        table.indexes.insert(0, index);
        return Ok(0);
    }
    table.indexes.push(index);
    Ok(table.indexes.len() - 1)
}

fn key_columns(table: &Table, columns: &[String], primary: bool) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(columns.len());
    for name in columns {
        let Some(at) = table.column(name) else {
            let message = format!("column \"{name}\" named in key does not exist");
            return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
        };
        if positions.contains(&at) {
            let what = if primary { "primary key" } else { "unique" };
            let message = format!("column \"{name}\" appears twice in {what} constraint");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        check_ordered(table.columns[at].data_type)?;
        positions.push(at);
    }
    Ok(positions)
}

/// Whether values of a type can stand in an index.
///
/// # Errors
/// 42704
pub(super) fn check_ordered(data_type: Type) -> Result<()> {
    match data_type.scalar {
        Scalar::Json | Scalar::Xid | Scalar::PgNodeTree | Scalar::AclItem | Scalar::Record | Scalar::Void => {
            let message =
                format!("data type {} has no default operator class for access method \"btree\"", data_type.name());
            let hint = "You must specify an operator class for the index or define a default operator class for the data type.";
            Err(SqlError::new(state::UNDEFINED_OBJECT, message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// 42710
pub(super) fn constraint_taken(table: &Table, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
    SqlError::new(state::DUPLICATE_OBJECT, message)
}

/// Adds a CHECK to the definition.
///
/// # Errors
/// 42710, of the expression.
pub(super) fn add_check(
    change: &mut Change<'_>,
    table: &mut Table,
    name: Option<&str>,
    condition: &Expr,
) -> Result<()> {
    let expression = condition.to_string();
    crate::bind::expression(
        &mut change.names(),
        &expression,
        &column::visible(table),
        Some((Type::BOOL, Modifier::NONE)),
    )?;
    let name = match name {
        Some(name) if name::has_constraint(table, name) => return Err(constraint_taken(table, name)),
        Some(name) => name.to_owned(),
        None => {
            let columns = super::expression::columns_of(condition);
            let mut known = columns.iter().filter(|name| table.column(name).is_some());
            let only = known.next().filter(|_| known.next().is_none());
            name::constraint(table, only.map_or("", String::as_str), "check")
        }
    };
    table.checks.push(Check { oid: change.fresh_oid()?, name, expression });
    Ok(())
}

/// The form of the keys of a table's rows.
pub(super) fn key_form(table: &Table) -> KeyForm {
    let Some(primary) = table.primary_key() else { return KeyForm::RowNumber };
    let types: Vec<Type> =
        primary.columns.iter().filter_map(|at| table.columns.get(*at)).map(|column| column.data_type).collect();
    match types[..] {
        [Type { scalar: Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Date, is_array: false }] => KeyForm::Eight,
        _ => KeyForm::Columns,
    }
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
    foreign_key::attach(change, table, &resolved)?;
    table.foreign_keys.push(resolved);
    Ok(())
}
