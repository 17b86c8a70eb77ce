//! CREATE DOMAIN, ALTER DOMAIN.

use super::column::{check_collation, print_default, serial_type};
use super::defined_type::{self, check_free};
use crate::alter::composite::note;
use crate::alter::defined_type::{kept, shown, values_of};
use crate::alter::name::{self, creation_schema, fold, parts, split};
use crate::bind;
use crate::catalog::{Check, Column, DefinedType, Domain, TypeKind};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use crate::exec::evaluate;
use crate::plan::Expr;
use crate::types::{Datum, Modifier, Type};
use syntax::ast::{self, AlterAction, Constraint, ConstraintKind, CreateDomain, DomainOption, ObjectName};

/// Runs CREATE DOMAIN.
pub(super) fn create(change: &mut Change<'_>, create: &CreateDomain) -> Result<()> {
    let (schema, name) = split(&create.name)?;
    let schema = creation_schema(change, schema.as_deref(), &name, false)?;
    check_free(&mut change.names(), &schema, &name)?;
    if serial_type(&create.data_type).is_some() {
        let message = format!("type \"{}\" does not exist", create.data_type.to_string().to_lowercase());
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    }
    create.collation.iter().try_for_each(check_collation)?;
    let named = bind::named_type(&mut change.names(), &create.data_type)?;
    if named.data_type.kind() == 'p' {
        let message = format!("\"{}\" is not a valid base type for a domain", named.data_type.name());
        return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
    }
    let bind::Named { data_type, modifier, domain: over } = named;
    let mut domain = Domain { data_type, modifier, over, not_null: false, default: None, checks: Vec::new() };
    let mut nullable = None;
    for option in &create.options {
        match option {
            DomainOption::Null | DomainOption::NotNull => {
                let wanted = matches!(option, DomainOption::Null);
                if nullable.is_some_and(|said| said != wanted) {
                    return Err(SqlError::new(state::SYNTAX_ERROR, "conflicting NULL/NOT NULL constraints"));
                }
                nullable = Some(wanted);
                domain.not_null = !wanted;
            }
            DomainOption::Default(_) if domain.default.is_some() => {
                return Err(SqlError::new(state::SYNTAX_ERROR, "multiple default expressions"));
            }
            DomainOption::Default(default) => domain.default = default_of(change, &domain, default)?,
            DomainOption::Check(given, condition) => {
                let check = check_of(change, &name, &domain, given.as_ref().map(fold), condition)?;
                domain.checks.push(check);
            }
        }
    }
    let oid = change.fresh_oid()?;
    let new = DefinedType { oid, schema, name, version: 0, kind: TypeKind::Domain(domain), comment: None };
    note(change, &new)?;
    change.insert_type(new)
}

/// A default for the catalog, once it has been seen to be of the domain's type.
fn default_of(change: &mut Change<'_>, domain: &Domain, default: &ast::Expr) -> Result<Option<String>> {
    let column = Column::plain("", domain.data_type, domain.modifier);
    let default = print_default(&mut change.names(), default, &column)?;
    if let Some(default) = &default {
        bind::expression(&mut change.names(), default, &[], Some((domain.data_type, domain.modifier)))?;
    }
    Ok(default)
}

fn value_of(domain: &Domain) -> [(String, Type, Modifier); 1] {
    [(bind::VALUE.to_owned(), domain.data_type, domain.modifier)]
}

fn check_of(
    change: &mut Change<'_>,
    name: &str,
    domain: &Domain,
    given: Option<String>,
    condition: &ast::Expr,
) -> Result<Check> {
    bound(change, domain, &condition.to_string())?;
    let expression = kept(&mut change.names(), condition, &value_of(domain))?;
    let is_taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
    let name = match given {
        Some(given) if is_taken(&given) => {
            let message = format!("constraint \"{given}\" for domain \"{name}\" already exists");
            return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
        }
        Some(given) => given,
        None => name::free_constraint(name, is_taken),
    };
    Ok(Check { oid: change.fresh_oid()?, name, expression, not_valid: false, comment: None })
}

fn bound(change: &mut Change<'_>, domain: &Domain, condition: &str) -> Result<Expr> {
    bind::expression(&mut change.names(), condition, &value_of(domain), Some((Type::BOOL, Modifier::NONE)))
}

/// Makes a change that only domains have.
pub(super) fn alter(
    change: &mut Change<'_>,
    old: &DefinedType,
    action: &AlterAction,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut new = old.clone();
    let TypeKind::Domain(domain) = &mut new.kind else {
        let message = format!("{} is not a domain", shown(old));
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    };
    match action {
        AlterAction::SetDefault(None) => domain.default = None,
        AlterAction::SetDefault(Some(default)) => domain.default = default_of(change, domain, default)?,
        AlterAction::SetNotNull(not_null) => {
            if *not_null && !domain.not_null {
                verify(change, old, "null values", state::NOT_NULL_VIOLATION, |_, value| Ok(!value.is_null()))?;
            }
            domain.not_null = *not_null;
        }
        AlterAction::AddConstraint(Constraint { name, kind: ConstraintKind::Check(condition), not_valid }) => {
            let check = check_of(change, &old.name, domain, name.as_ref().map(fold), condition)?;
            if !not_valid {
                verify_check(change, old, domain, &check)?;
            }
            domain.checks.push(Check { not_valid: *not_valid, ..check });
        }
        AlterAction::DropConstraint { name, if_exists, .. } => {
            let name = fold(name);
            match domain.checks.iter().position(|check| check.name == name) {
                Some(at) => drop(domain.checks.remove(at)),
                None if *if_exists => {
                    let message = format!("{}, skipping", no_constraint(old, &name).message());
                    notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
                    return Ok(());
                }
                None => return Err(no_constraint(old, &name)),
            }
        }
        AlterAction::RenameConstraint { from, to } => {
            let (from, to) = (fold(from), fold(to));
            let found = domain.checks.iter().position(|check| check.name == from);
            let found = found.ok_or_else(|| no_constraint_for(old, &from))?;
            if domain.checks.iter().any(|check| check.name == to) {
                let message = format!("constraint \"{to}\" for domain {} already exists", shown(old));
                return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
            }
            domain.checks[found].name = to;
        }
        AlterAction::ValidateConstraint(name) => {
            let name = fold(name);
            let at = domain.checks.iter().position(|check| check.name == name);
            let at = at.ok_or_else(|| no_constraint(old, &name))?;
            if !std::mem::take(&mut domain.checks[at].not_valid) {
                return Ok(());
            }
            verify_check(change, old, domain, &domain.checks[at])?;
        }
        _ => {
            let message = format!("{} is a domain, which has no such property", shown(old));
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
    }
    change.replace_type(old, new)
}

/// Runs COMMENT ON CONSTRAINT ... ON DOMAIN.
pub(super) fn comment_on_check(
    change: &mut Change<'_>,
    name: &ObjectName,
    domain: &ObjectName,
    comment: Option<String>,
) -> Result<()> {
    let name = parts(name).join(".");
    let old = defined_type::find(&mut change.names(), domain)?;
    let mut new = DefinedType::clone(&old);
    let TypeKind::Domain(domain) = &mut new.kind else {
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{}\" is not a domain", old.name)));
    };
    let check = domain.checks.iter_mut().find(|check| check.name == name);
    check.ok_or_else(|| no_constraint_for(&old, &name))?.comment = comment;
    change.replace_type(&old, new)
}

/// 42704, in the wording of COMMENT and RENAME.
fn no_constraint_for(found: &DefinedType, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" for domain {} does not exist", shown(found));
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

fn no_constraint(found: &DefinedType, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" of domain \"{}\" does not exist", found.name);
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

/// Checks that the stored values of a domain satisfy a CHECK.
///
/// # Errors
/// 23514
fn verify_check(change: &mut Change<'_>, old: &DefinedType, domain: &Domain, check: &Check) -> Result<()> {
    let condition = bound(change, domain, &check.expression)?;
    let what = "values that violate the new constraint";
    verify(change, old, what, state::CHECK_VIOLATION, |change, value| {
        let holds = evaluate(&mut change.exec, &condition, std::slice::from_ref(value))?;
        Ok(holds.as_bool() != Some(false))
    })
}

/// Checks that the stored values of a domain, and of those over it, keep a new rule.
fn verify(
    change: &mut Change<'_>,
    domain: &DefinedType,
    what: &str,
    code: &'static str,
    mut holds: impl FnMut(&mut Change<'_>, &Datum) -> Result<bool>,
) -> Result<()> {
    values_of(change, domain.oid, &mut |change, table, at, value| {
        if holds(change, value)? {
            return Ok(());
        }
        let column = &table.columns[at].name;
        let message = format!("column \"{column}\" of table \"{}\" contains {what}", table.name);
        Err(SqlError::new(code, message).table(&table.schema, &table.name).column(column))
    })
}
