//! A column as CREATE TABLE and ADD COLUMN write it.

use super::sequence;
use crate::alter::column::check_type;
use crate::alter::composite::check_member;
use crate::alter::defined_type::{by_identifier, kept_name};
use crate::alter::expression::{self, next_value_of};
use crate::alter::name::fold;
use crate::bind;
use crate::bind::system_column::SYSTEM_COLUMNS;
use crate::catalog::{Column, Identity, Sequence, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::types::{Modifier, Type, defined};
use syntax::ast::{self, ColumnDefinition, ColumnOption, ConstraintKind, DataType, Expr, SequenceOptions, Value};

/// The most columns that a table can have.
pub(super) const MOST_COLUMNS: usize = 1600;

/// A column with its constraints and its sequence.
pub(super) struct NewColumn {
    pub(super) column: Column,
    /// The sequence that it owns.
    pub(super) sequence: Option<Sequence>,
}

/// The options of a column, before they are checked against each other.
#[derive(Default)]
struct Options<'s> {
    nullable: Option<bool>,
    default: Option<&'s Expr>,
    generated: Option<&'s Expr>,
    identity: Option<(Identity, &'s SequenceOptions)>,
}

/// Understands a column. `table` is what it goes into, so far. Defaults and generated columns are bound when the whole
/// table is known ([`check_expressions`]).
///
/// # Errors
/// 42701, 42704, 42601 and the like.
pub(super) fn define(change: &mut Change<'_>, table: &Table, written: &ColumnDefinition) -> Result<NewColumn> {
    let name = fold(&written.name);
    check_name(table, &name)?;
    let serial = serial_type(&written.data_type);
    let bind::Named { data_type, modifier, domain } = match serial {
        Some(data_type) => bind::Named { data_type, modifier: Modifier::NONE, domain: None },
        None => bind::named_type(&mut change.names(), &written.data_type)?,
    };
    check_type(&name, data_type)?;
    check_member(&mut change.names(), data_type, defined::row_of(table.oid))?;
    let mut options = Options::default();
    for option in &written.options {
        read_option(&mut options, table, &name, option)?;
    }
    let is_key = |kind: &ConstraintKind| matches!(kind, ConstraintKind::Key(key) if key.primary);
    if options.nullable == Some(true) && written.constraints.iter().any(|constraint| is_key(&constraint.kind)) {
        return Err(twice("conflicting NULL/NOT NULL declarations", &name, table));
    }
    if serial.is_some() && options.default.is_some() {
        return Err(twice("multiple default values specified", &name, table));
    }
    let identity = options.identity.map(|(identity, _)| identity);
    if (serial.is_some() || identity.is_some()) && options.nullable == Some(true) {
        return Err(twice("conflicting NULL/NOT NULL declarations", &name, table));
    }
    check_combination(&options, &name, table)?;
    let mut column = Column {
        not_null: options.nullable == Some(false) || serial.is_some() || identity.is_some(),
        identity,
        domain,
        generated: options.generated.map(|value| expression::of_table(table, &value.to_string())).transpose()?,
        ..Column::plain(name, data_type, modifier)
    };
    if let Some(default) = options.default {
        column.default = print_default(&mut change.names(), default, &column)?;
    }
    let sequence = match (serial, options.identity) {
        (None, None) => None,
        (_, identity) => {
            let none = SequenceOptions::default();
            let options = identity.map_or(&none, |(_, options)| options);
            Some(owned_sequence(change, table, &column, options)?)
        }
    };
    if let Some(sequence) = &sequence {
        column.sequence = Some(sequence.oid);
        if serial.is_some() {
            column.default = Some(next_value_of(sequence));
        }
    }
    Ok(NewColumn { column, sequence })
}

/// The sequence of a serial or identity column. Its table and name are known when the column is placed.
fn owned_sequence(
    change: &mut Change<'_>,
    table: &Table,
    column: &Column,
    options: &SequenceOptions,
) -> Result<Sequence> {
    if !matches!(column.data_type, Type::INT2 | Type::INT4 | Type::INT8) {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    let (schema, name) = sequence::name_for(change, table, &column.name, options)?;
    sequence::define(change, schema, name, column.data_type, options)
}

/// The kind of an identity column.
pub(super) fn identity(always: bool) -> Identity {
    if always { Identity::Always } else { Identity::ByDefault }
}

/// Checks that a table can have another column, and one of this name.
///
/// # Errors
/// 54011, 42701.
pub(super) fn check_name(table: &Table, name: &str) -> Result<()> {
    if table.columns.len() >= MOST_COLUMNS {
        let message = format!("tables can have at most {MOST_COLUMNS} columns");
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
    }
    if SYSTEM_COLUMNS.contains(&name) {
        let message = format!("column name \"{name}\" conflicts with a system column name");
        return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
    }
    Ok(())
}

fn twice(what: &str, column: &str, table: &Table) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, format!("{what} for column \"{column}\" of table \"{}\"", table.name))
}

fn check_combination(options: &Options<'_>, name: &str, table: &Table) -> Result<()> {
    let both = |what: &str| Err(twice(&format!("both {what} specified"), name, table));
    match (options.default, options.generated, options.identity) {
        (Some(_), Some(_), _) => both("default and generation expression"),
        (Some(_), _, Some(_)) => both("default and identity"),
        (_, Some(_), Some(_)) => both("identity and generation expression"),
        _ => Ok(()),
    }
}

fn read_option<'s>(options: &mut Options<'s>, table: &Table, name: &str, written: &'s ColumnOption) -> Result<()> {
    match written {
        ColumnOption::Null | ColumnOption::NotNull => {
            let nullable = matches!(written, ColumnOption::Null);
            if options.nullable.is_some_and(|said| said != nullable) {
                return Err(twice("conflicting NULL/NOT NULL declarations", name, table));
            }
            options.nullable = Some(nullable);
        }
        ColumnOption::Default(_) if options.default.is_some() => {
            return Err(twice("multiple default values specified", name, table));
        }
        ColumnOption::Default(value) => options.default = Some(value),
        ColumnOption::Generated(value) => options.generated = Some(value),
        ColumnOption::Identity { .. } if options.identity.is_some() => {
            return Err(twice("multiple identity specifications", name, table));
        }
        ColumnOption::Identity { always, sequence } => options.identity = Some((identity(*always), sequence)),
        ColumnOption::Collate(collation) => check_collation(collation)?,
    }
    Ok(())
}

/// Texts are ordered by their bytes.
pub(super) fn check_collation(collation: &ast::ObjectName) -> Result<()> {
    let (_, name) = crate::alter::name::split(collation)?;
    match name.as_str() {
        "default" | "C" | "POSIX" | "ucs_basic" | "C.UTF-8" | "C.utf8" => Ok(()),
        other => {
            let message = format!("collation \"{other}\" for encoding \"UTF8\" does not exist");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
    }
}

/// The integer type of `serial`, `bigserial` and `smallserial`.
pub(super) fn serial_type(data_type: &DataType) -> Option<Type> {
    Some(match fold(data_type.plain_name()?).as_str() {
        "smallserial" | "serial2" => Type::INT2,
        "serial" | "serial4" => Type::INT4,
        "bigserial" | "serial8" => Type::INT8,
        _ => return None,
    })
}

/// A default as SQL; `None` for NULL, which is no default. A literal string is shown with the column's type, and gets the type's
/// modifier where it is stored, since a cast would cut what is too long; sequences are named with their schemas.
///
/// # Errors
/// Errors of the engine.
pub(super) fn print_default(names: &mut Names<'_>, default: &Expr, column: &Column) -> Result<Option<String>> {
    if let Expr::Literal(literal) = default {
        match literal.value {
            Value::Null => return Ok(None),
            Value::String(_) => {
                return Ok(Some(format!("{default}::{}", kept_name(column.data_type))));
            }
            _ => {}
        }
    }
    let mut default = expression::with_sequences(names, default)?;
    by_identifier(names, &mut default)?;
    if let (Expr::Row { .. }, Some(_)) = (&default, column.data_type.composite()) {
        return Ok(Some(format!("{default}::{}", kept_name(column.data_type))));
    }
    Ok(Some(default.to_string()))
}
