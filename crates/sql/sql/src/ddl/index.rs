//! CREATE INDEX.

use crate::alter::constraint::{check_ordered, included_columns};
use crate::alter::index::{self, column_names};
use crate::alter::name::{NewNames, fold, joined, no_relation, parts, split};
use crate::bind::{self, Definition, row_columns};
use crate::catalog::{self, EXPRESSION, Index, Relation, Rows, Table, name_taken};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::plan::ExprKind;
use crate::types::{Datum, Scalar, Type};
use std::sync::Arc;
use syntax::ast::{self, CreateIndex, IndexColumn};

/// The most columns that an index can have.
const MOST_COLUMNS: usize = 32;

/// Runs CREATE INDEX.
pub(super) fn create(change: &mut Change<'_>, create: &CreateIndex, notices: &mut Vec<SqlError>) -> Result<()> {
    check_method(create)?;
    let (schema, name) = split(&create.table)?;
    let table = match change.names().relation(schema.as_deref(), &name)? {
        Some(Relation::Table(table)) => Arc::unwrap_or_clone(table),
        Some(_) => {
            let message = format!("cannot create index on relation \"{name}\"");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        None => return Err(no_relation(schema.as_deref(), &name)),
    };
    let named = create.name.as_ref().map(fold);
    if let Some(name) = &named
        && change.names().relation_in(&table.schema, name)?.is_some()
    {
        if !create.if_not_exists {
            return Err(name_taken(name));
        }
        let message = format!("relation \"{name}\" already exists, skipping");
        notices.push(SqlError::new(state::DUPLICATE_TABLE, message));
        return Ok(());
    }
    let mut index = define(change, &table, create)?;
    index.name = match named {
        Some(name) => name,
        None => {
            let names = joined(column_names(&table, &index).iter().map(String::as_str));
            NewNames::default().relation(&mut change.names(), &table.schema, &table.name, &names, "idx")?
        }
    };
    index::add(change, table, index)
}

/// The definition without a name, and without storage.
fn define(change: &mut Change<'_>, table: &Table, create: &CreateIndex) -> Result<Index> {
    if create.columns.len() + create.included.len() > MOST_COLUMNS {
        let message = format!("cannot use more than {MOST_COLUMNS} columns in an index");
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, message));
    }
    let mut index = Index::plain(change.fresh_oid()?, "", vec![]);
    index.unique = create.unique;
    index.nulls_not_distinct = create.nulls_not_distinct;
    index.descending = create.columns.iter().map(|column| column.descending).collect();
    index.nulls_reversed = nulls_reversed(&create.columns);
    if let Some(predicate) = &create.predicate {
        index.predicate = Some(self::predicate(&mut change.names(), table, predicate)?);
    }
    for column in &create.columns {
        add_column(&mut change.names(), table, column, &mut index)?;
    }
    let included: Vec<String> = create.included.iter().map(fold).collect();
    index.included = included_columns(table, &included)?;
    Ok(index)
}

/// Adds a column, or an expression, to the definition.
fn add_column(names: &mut Names<'_>, table: &Table, written: &IndexColumn, new: &mut Index) -> Result<()> {
    let (column, data_type) = match &written.key {
        ast::Expr::Identifier(name) => {
            let name = fold(name);
            let at = table
                .column(&name)
                .ok_or_else(|| SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist")))?;
            (at, table.columns[at].data_type)
        }
        computed => {
            let text = computed.to_string();
            let columns = row_columns(table);
            let bound = bind::expression_of(names, Definition::IndexExpression, &text, &columns, None)?;
            match bound.kind {
                ExprKind::Column(at) => (at, bound.data_type),
                _ => {
                    let data_type = bound.data_type;
                    new.expressions.push(index::stored(names, Definition::IndexExpression, table, text, &bound)?);
                    (EXPRESSION, data_type)
                }
            }
        }
    };
    match &written.class {
        None => check_ordered(data_type)?,
        Some(class) => {
            let class = parts(class).pop().unwrap_or_default();
            if !check_class(&class, data_type)? {
                new.classes.push((new.columns.len(), class));
            }
        }
    }
    new.columns.push(column);
    Ok(())
}

/// WHERE of a partial index.
fn predicate(names: &mut Names<'_>, table: &Table, written: &ast::Expr) -> Result<String> {
    let text = written.to_string();
    let of = Definition::IndexPredicate;
    let bound = bind::condition_of(names, of, &text, &row_columns(table))?;
    index::stored(names, of, table, text, &bound)
}

/// What is asked of an access method that this server has under its name, or for which a B-tree stands in.
fn check_method(create: &CreateIndex) -> Result<()> {
    match create.method.as_ref().map(fold).as_deref() {
        None | Some("btree") => Ok(()),
        Some("hash") => check_hash(create),
        Some(known @ ("gin" | "gist" | "spgist" | "brin" | "bloom")) => {
            Err(SqlError::unsupported(format_args!("the access method {}", known.to_uppercase()))
                .hint("Leave USING out: B-trees serve comparisons, equality and prefixes of texts."))
        }
        Some(name) => {
            let message = format!("access method \"{name}\" does not exist");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
    }
}

/// A hash index is kept as a B-tree, which answers what it would. What PostgreSQL's cannot do is refused as there.
fn check_hash(create: &CreateIndex) -> Result<()> {
    let refused = match () {
        () if create.unique => "unique indexes",
        () if !create.included.is_empty() => "included columns",
        () if create.columns.len() > 1 => "multicolumn indexes",
        () if create.columns.iter().any(|column| column.descending) => "ASC/DESC options",
        () if create.columns.iter().any(|column| column.nulls_first.is_some()) => "NULLS FIRST/LAST options",
        () => return Ok(()),
    };
    let message = format!("access method \"hash\" does not support {refused}");
    Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
}

/// Checks an operator class. Returns whether it is the type's own. Its order is the type's: texts are ordered by their bytes.
///
/// # Errors
/// 42704, 42804
fn check_class(name: &str, data_type: Type) -> Result<bool> {
    let classes = match (catalog::built_in().table)(None, "pg_opclass").map(|table| table.rows) {
        Some(Rows::Fixed(rows)) => rows(),
        _ => vec![],
    };
    // opcname, opcintype, opcdefault
    let named = |row: &&Vec<Datum>| matches!(&row[2], Datum::Text(found) if found == name);
    let Some(row) = classes.iter().find(named) else {
        let message = format!("operator class \"{name}\" does not exist for access method \"btree\"");
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    let of = row[6].as_oid();
    let taken = match data_type.scalar {
        _ if data_type.is_array => 2277,
        Scalar::Varchar => Type::TEXT.oid(),
        scalar if scalar.is_reg() => Type::OID.oid(),
        _ => data_type.oid(),
    };
    if of != Some(taken) {
        let message = format!("operator class \"{name}\" does not accept data type {}", data_type.name());
        return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
    }
    Ok(matches!(row[7], Datum::Bool(true)))
}

/// The places of the columns whose NULLs are asked for on the other side than their direction puts them.
fn nulls_reversed(written: &[IndexColumn]) -> Vec<usize> {
    let is_reversed = |column: &IndexColumn| column.nulls_first.is_some_and(|first| first != column.descending);
    (0..).zip(written).filter(|(_, column)| is_reversed(column)).map(|(place, _)| place).collect()
}
