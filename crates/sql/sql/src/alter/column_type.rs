//! ALTER COLUMN TYPE.

use super::column::{check_expressions, check_rows_not_stored, check_type};
use super::composite::check_member;
use super::constraint::{check_new_row, verify_check};
use super::rows::rewrite;
use super::table::{note_dependencies, store};
use super::view::views_over;
use super::{expression, foreign_key, index, name, view};
use crate::bind;
use crate::catalog::{Column, Table};
use crate::context::{Change, Names};
use crate::dml::rules::{Rules, row_columns};
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::types::{CastContext, Type, cast, defined};

/// Changes a column's type, and rewrites the rows. `using` computes the new values; without it they are cast.
///
/// # Errors
/// 42804; 0A000 if a view or a generated column uses it; errors of the expressions and of constraints.
pub(crate) fn set(
    change: &mut Change<'_>,
    old: Table,
    at: usize,
    bind::Named { data_type: to, modifier, domain }: bind::Named,
    using: Option<String>,
) -> Result<()> {
    let column = &old.columns[at];
    check_type(&column.name, to)?;
    check_users_of_type(&mut change.names(), &old, at)?;
    check_rows_not_stored(change, old.oid)?;
    check_member(&mut change.names(), to, defined::row_of(old.oid))?;
    let text = match using {
        Some(using) => using,
        None => {
            check_casts(column, to)?;
            name::quote(&column.name)
        }
    };
    let rules = domain.map(|domain| bind::domain_rules(&mut change.names(), domain)).transpose()?;
    let value = bind::expression(&mut change.names(), &text, &row_columns(&old), Some((to, modifier)))?;
    let value = match rules {
        Some(rules) => bind::in_domain(value, rules),
        None => value,
    };
    let mut table = old.clone();
    table.columns[at].data_type = to;
    table.columns[at].modifier = modifier;
    table.columns[at].domain = domain;
    check_expressions(&mut change.exec, &table, 0)?;
    index::print_again(&mut change.names(), &mut table)?;
    Rules::bind(&mut change.names(), &table)?;
    for key in &table.foreign_keys {
        foreign_key::check_still_fits(&mut change.names(), &table, key)?;
    }
    let shape = table.clone();
    rewrite(change, &old, &mut table, |exec, mut row| {
        row[at] = evaluate(exec, &value, &row)?;
        check_new_row(&shape, at, &row)?;
        Ok(row)
    })?;
    note_dependencies(change, &table)?;
    store(change, &table)?;
    for check in table.checks.iter().filter(|check| !check.not_valid) {
        verify_check(&mut change.exec, &table, check)?;
    }
    foreign_key::verify_all_with(&mut change.exec, &table, at)
}

fn check_casts(column: &Column, to: Type) -> Result<()> {
    match cast::context(column.data_type, to) {
        Some(CastContext::Implicit | CastContext::Assignment) => Ok(()),
        _ => {
            let message = format!("column \"{}\" cannot be cast automatically to type {}", column.name, to.name());
            let hint = format!("You might need to specify \"USING {}::{}\".", name::quote(&column.name), to.name());
            Err(SqlError::new(state::DATATYPE_MISMATCH, message).hint(hint))
        }
    }
}

/// Refuses to change the type of a column that a view or a generated column uses.
fn check_users_of_type(names: &mut Names<'_>, table: &Table, at: usize) -> Result<()> {
    let name = &table.columns[at].name;
    for found in views_over(names, table.oid)? {
        if view::uses(names, &found, table.oid, at)? {
            return Err(view::view_blocks_change(
                names,
                "cannot alter type of a column used by a view or rule",
                &found,
                name,
            )?);
        }
    }
    for (_, column) in table.live_columns() {
        if let Some(generated) = &column.generated
            && expression::columns(generated)?.contains(name)
        {
            let message = "cannot alter type of a column used by a generated column";
            let detail = format!("Column \"{name}\" is used by generated column \"{}\".", column.name);
            return Err(SqlError::new(state::SYNTAX_ERROR, message).detail(detail));
        }
    }
    Ok(())
}
