//! Types that statements name.

use super::Binder;
use super::name::{location, split};
use crate::catalog::{Check, DefinedType, Domain, NameLookup, Oid, Table, TypeKind, type_of};
use crate::error::{Result, SqlError, state};
use crate::plan::{DomainRules, Expr, ExprKind};
use crate::types::{Modifier, Scalar, Type};
use std::sync::Arc;
use syntax::ast::{DataType, Location};

impl Binder<'_, '_> {
    /// The type that the statement names, with its modifier, where a domain cannot stand.
    pub(super) fn data_type(&mut self, written: &DataType) -> Result<(Type, Modifier)> {
        data_type(self.names, written).map_err(|error| self.at_type(error, written))
    }

    /// The type or domain that the statement names.
    pub(super) fn named_type(&mut self, written: &DataType) -> Result<Named> {
        named_type(self.names, written).map_err(|error| self.at_type(error, written))
    }

    fn at_type(&self, error: SqlError, written: &DataType) -> SqlError {
        match &written.name {
            Some(name) => self.text.error_at(error, location(name)),
            None => error,
        }
    }

    /// Converts a value to the type that a cast names.
    pub(super) fn cast_to(&mut self, input: Expr, named: &Named, at: Location) -> Result<Expr> {
        let value = self.explicit_cast(input, named.data_type, named.modifier, at)?;
        match named.domain {
            Some(domain) => Ok(in_domain(value, domain_rules(self.names, domain)?)),
            None => Ok(value),
        }
    }
}

/// The type that a statement names, with its modifier, where a domain cannot stand.
///
/// # Errors
/// Errors of [`named_type`], 0A000 for a domain.
pub(crate) fn data_type(names: &mut dyn NameLookup, written: &DataType) -> Result<(Type, Modifier)> {
    match named_type(names, written)? {
        Named { data_type, modifier, domain: None } => Ok((data_type, modifier)),
        Named { .. } => Err(SqlError::unsupported(format_args!("the domain {written} in this place"))
            .hint("Use the type that the domain is over, and cast the value to the domain.")),
    }
}

/// What the name of a type means.
pub(crate) struct Named {
    pub data_type: Type,
    pub modifier: Modifier,
    /// The domain that it is, whose values are of that type.
    pub domain: Option<Oid>,
}

/// The type or domain that a statement names.
///
/// # Errors
/// 42704, 3F000, 22023 for a modifier that the type does not accept, 0A000 for an array of a domain, errors of the engine.
pub(crate) fn named_type(names: &mut dyn NameLookup, written: &DataType) -> Result<Named> {
    let unknown = match &written.meaning {
        Ok((data_type @ Type { scalar: Scalar::Enum(oid) | Scalar::Composite(oid), .. }, _)) => {
            let found = names.defined_type(*oid)?;
            let found = found.ok_or_else(|| crate::types::type_not_found(&written.text))?;
            return meaning(names, &found, data_type.is_array);
        }
        Ok((data_type, modifier)) => return Ok(Named { data_type: *data_type, modifier: *modifier, domain: None }),
        Err(error) => error,
    };
    let Some(name) = written.name.as_ref().filter(|_| unknown.code() == state::UNDEFINED_OBJECT) else {
        return Err(unknown.clone().into());
    };
    let (schema, name) = split(name)?;
    let Some((found, is_array)) = find(names, schema.as_deref(), &name, written.is_array)? else {
        if let Some(schema) = &schema
            && !names.has_schema(schema)?
        {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(SqlError::new(state::INVALID_SCHEMA_NAME, message));
        }
        return Err(unknown.clone().into());
    };
    if written.text.contains('(') {
        let message = format!("type modifier is not allowed for type \"{name}\"");
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    meaning(names, &found, is_array)
}

/// The type of a name, and whether an array of it is meant: `_mood` names the arrays of `mood`, as `_int4` those of `int4`.
fn find(
    names: &mut dyn NameLookup,
    schema: Option<&str>,
    name: &str,
    is_array: bool,
) -> Result<Option<(Arc<DefinedType>, bool)>> {
    if let Some(found) = names.type_named(schema, name)? {
        return Ok(Some((found, is_array)));
    }
    let Some(element) = name.strip_prefix('_') else { return Ok(None) };
    let found = names.type_named(schema, element)?;
    Ok(found.filter(|found| !matches!(found.kind, TypeKind::Domain(_))).map(|found| (found, true)))
}

fn meaning(names: &mut dyn NameLookup, found: &DefinedType, is_array: bool) -> Result<Named> {
    match &found.kind {
        TypeKind::Enum(_) | TypeKind::Composite(_) => {
            let data_type = Type { is_array, ..type_of(found) };
            Ok(Named { data_type, modifier: Modifier::NONE, domain: None })
        }
        TypeKind::Domain(_) if is_array => {
            Err(SqlError::unsupported(format_args!("an array of domain {}", found.name))
                .hint("Use an array of the type that the domain is over, or a domain over the array."))
        }
        TypeKind::Domain(domain) => {
            if let Some(oid) = domain.data_type.scalar.defined() {
                names.defined_type(oid)?;
            }
            Ok(Named { data_type: domain.data_type, modifier: domain.modifier, domain: Some(found.oid) })
        }
    }
}

/// The rules of a domain.
///
/// # Errors
/// 42704 if it is not there, errors of the engine.
pub(crate) fn domain_rules(names: &mut dyn NameLookup, oid: Oid) -> Result<Arc<DomainRules>> {
    let mut rules: Option<DomainRules> = None;
    let mut next = Some(oid);
    while let Some(oid) = next {
        let (found, domain) = domain(names, oid)?;
        let mut checks = Vec::new();
        let mut written: Vec<&Check> = domain.checks.iter().collect();
        written.sort_by(|a, b| a.name.cmp(&b.name));
        for check in written {
            let value = [(VALUE.to_owned(), domain.data_type, domain.modifier)];
            let wanted = Some((Type::BOOL, Modifier::NONE));
            checks.push((check.name.clone(), super::expression(names, &check.expression, &value, wanted)?));
        }
        let rules = rules.get_or_insert_with(|| DomainRules {
            domain: (found.schema.clone(), found.name.clone()),
            shown: Type::of(Scalar::Enum(found.oid)).name(),
            not_null: false,
            checks: Vec::new(),
        });
        rules.not_null |= domain.not_null;
        checks.append(&mut rules.checks);
        rules.checks = checks;
        next = domain.over;
    }
    rules.map(Arc::new).ok_or_else(|| no_domain(oid))
}

/// What a domain's rules call its value.
pub(crate) const VALUE: &str = "value";

/// The default of a domain, or of the one that it restricts, as SQL.
///
/// # Errors
/// 42704 if it is not there, errors of the engine.
pub(crate) fn domain_default(names: &mut dyn NameLookup, oid: Oid) -> Result<Option<String>> {
    let mut next = Some(oid);
    while let Some(oid) = next {
        let (_, domain) = domain(names, oid)?;
        if domain.default.is_some() {
            return Ok(domain.default);
        }
        next = domain.over;
    }
    Ok(None)
}

fn domain(names: &mut dyn NameLookup, oid: Oid) -> Result<(Arc<DefinedType>, Domain)> {
    let found = names.defined_type(oid)?.ok_or_else(|| no_domain(oid))?;
    match &found.kind {
        TypeKind::Domain(domain) => Ok((found.clone(), domain.clone())),
        TypeKind::Enum(_) | TypeKind::Composite(_) => Err(no_domain(oid)),
    }
}

fn no_domain(oid: Oid) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))
}

/// The rules of a table's columns that are of domains, over its row.
///
/// # Errors
/// Errors of [`domain_rules`].
pub(crate) fn rules_of_columns(names: &mut dyn NameLookup, table: &Table) -> Result<Vec<Expr>> {
    let mut rules = Vec::new();
    for (at, column) in table.live_columns() {
        if let Some(domain) = column.domain {
            rules.push(in_domain(Expr::column(at, column.data_type, column.modifier), domain_rules(names, domain)?));
        }
    }
    Ok(rules)
}

/// A value of a domain's type, if it is one of the domain.
pub(crate) fn in_domain(value: Expr, rules: Arc<DomainRules>) -> Expr {
    let (data_type, modifier) = (value.data_type, value.modifier);
    Expr { kind: ExprKind::Domain(Box::new(value), rules), data_type, modifier }
}
