//! What the names of a query mean, by their places in its text, so that the text can say it: a view keeps the meaning that its
//! names had when it was made, whatever columns its tables get later.

use super::Binder;
use super::scope::ScopeColumn;
use super::target::UnknownLiterals;
use crate::catalog::{NameLookup, Oid};
use crate::error::Result;
use crate::plan;
use crate::types::{Datum, Modifier, Styles, Type, text};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use syntax::ast::{self, Location, Query, Span, TableFactor};

/// A column with the table that it belongs to; `None` for one that USING merged.
pub(crate) type Named = (Option<String>, String);

/// What the names of a query mean.
#[derive(Debug, Default)]
pub(crate) struct Meanings {
    /// The tables of columns that are named without one.
    pub tables: Uses<String>,
    /// Tables' columns that are named, with their numbers from 1.
    pub columns: Uses<(Oid, u16)>,
    /// The columns that `*` stands for.
    pub wildcards: Uses<Vec<Named>>,
    /// The columns that a NATURAL join merges, by the place of its right side.
    pub natural: Uses<Vec<String>>,
    /// The types of literals, of those that statements have defined.
    pub literals: Uses<Type>,
    /// Literals that are dates or timestamps, in the form that means the same under every setting.
    pub moments: Uses<String>,
}

/// Meanings by place. What is bound twice with different meanings has none.
#[derive(Debug)]
pub(crate) struct Uses<T>(BTreeMap<Location, Option<T>>);

impl<T> Default for Uses<T> {
    fn default() -> Uses<T> {
        Uses(BTreeMap::new())
    }
}

impl<T: PartialEq> Uses<T> {
    fn note(&mut self, at: Location, meaning: Option<T>) {
        if at == Span::NOWHERE.start {
            return;
        }
        match self.0.entry(at) {
            Entry::Vacant(vacant) => {
                vacant.insert(meaning);
            }
            Entry::Occupied(mut known) if *known.get() != meaning => {
                known.insert(None);
            }
            Entry::Occupied(_) => {}
        }
    }

    pub(crate) fn at(&self, at: Location) -> Option<&T> {
        self.0.get(&at)?.as_ref()
    }
}

/// Binds a query, and returns what its names mean.
///
/// # Errors
/// Errors of [`super::statement`].
pub(crate) fn meanings(names: &mut dyn NameLookup, query: &Query) -> Result<(plan::Query, Meanings)> {
    let mut parameters = vec![];
    let mut binder = Binder::new(names, &mut parameters, None);
    binder.meanings = Some(Meanings::default());
    let bound = binder.query(query, UnknownLiterals::Text)?;
    let meanings = binder.meanings.take().unwrap_or_default();
    Ok((plan::Query { plan: Arc::new(bound.plan), fields: bound.fields, locks: binder.locks }, meanings))
}

/// Binds an expression over the columns of a table, and returns the types of its literals, of those that statements have defined.
///
/// # Errors
/// Errors of [`super::expression`].
pub(crate) fn literal_types(
    names: &mut dyn NameLookup,
    expression: &ast::Expr,
    columns: &[(String, Type, Modifier)],
) -> Result<Uses<Type>> {
    let mut parameters = vec![];
    let mut binder = Binder::new(names, &mut parameters, None);
    binder.meanings = Some(Meanings::default());
    binder.over_columns(expression, columns, None, super::Definition::Any)?;
    Ok(binder.meanings.take().unwrap_or_default().literals)
}

/// Writes the dates and timestamps of an expression in the form that means the same under every setting.
pub(crate) fn write_moment(expression: &mut ast::Expr, meanings: &Meanings) {
    let literal = match expression {
        ast::Expr::Literal(literal) => literal,
        ast::Expr::TypedLiteral { text, .. } => &mut **text,
        _ => return,
    };
    if let (ast::Value::String(text), Some(moment)) = (&mut literal.value, meanings.moments.at(literal.span.start)) {
        moment.as_str().clone_into(text);
    }
}

/// The place by which a NATURAL join is known.
pub(crate) fn place_of(factor: &TableFactor) -> Location {
    match factor {
        TableFactor::Table { name, .. } => super::name::location(name),
        TableFactor::Derived { subquery, .. } => subquery.start(),
        TableFactor::Functions { .. } | TableFactor::NestedJoin { .. } => Span::NOWHERE.start,
    }
}

impl Binder<'_, '_> {
    /// Notes a column that is named without its table.
    pub(super) fn note_column(&mut self, name: &ast::Ident, distance: usize, column: &ScopeColumn) {
        if self.meanings.is_none() {
            return;
        }
        let table = self.scope.table_of(distance, column);
        let title = table.map(|table| table.name.clone());
        let origin = table.and_then(|table| table.own(column));
        if let Some(meanings) = &mut self.meanings {
            meanings.tables.note(name.span.start, title);
            meanings.columns.note(name.span.start, origin);
        }
    }

    /// Notes a literal that is a date or a timestamp.
    pub(super) fn note_moment(&mut self, at: Location, value: &Datum, data_type: Type) {
        let is_moment = matches!(data_type, Type::DATE | Type::TIMESTAMP | Type::TIMESTAMPTZ);
        if let Some(meanings) = self.meanings.as_mut().filter(|_| is_moment) {
            let styles = Styles { zone: self.names.styles().zone, ..Styles::default() };
            meanings.moments.note(at, Some(text::to_string(value, data_type, &styles)));
        }
    }

    /// Notes a column that is named with its table.
    pub(super) fn note_qualified(&mut self, at: Location, origin: Option<(Oid, u16)>) {
        if let Some(meanings) = &mut self.meanings {
            meanings.columns.note(at, origin);
        }
    }

    /// Notes the columns of `*`.
    pub(super) fn note_wildcard(&mut self, at: Location, columns: &[ScopeColumn]) {
        if self.meanings.is_none() {
            return;
        }
        let mut named: Option<Vec<Named>> = Some(Vec::new());
        for column in columns {
            let title = self.scope.table_of(0, column).map(|table| table.name.clone());
            let is_unique = columns.iter().filter(|other| other.name == column.name).count() == 1;
            match &mut named {
                Some(named) if title.is_some() || is_unique => named.push((title, column.name.clone())),
                _ => named = None,
            }
        }
        if let Some(meanings) = &mut self.meanings {
            meanings.wildcards.note(at, named);
        }
    }

    /// Notes the columns of `table.*`.
    pub(super) fn note_table_wildcard(&mut self, at: Location, table: &str, columns: &[ScopeColumn]) {
        if let Some(meanings) = &mut self.meanings {
            let is_unique =
                |column: &&ScopeColumn| columns.iter().filter(|other| other.name == column.name).count() == 1;
            let named = columns.iter().all(|column| is_unique(&column)).then(|| {
                columns.iter().map(|column| (Some(table.to_owned()), column.name.clone())).collect::<Vec<_>>()
            });
            meanings.wildcards.note(at, named);
        }
    }

    /// Notes the fields of `(row).*`.
    pub(super) fn note_record_wildcard(&mut self, at: Location, fields: &[(String, Type, Modifier)]) {
        if let Some(meanings) = &mut self.meanings {
            meanings.wildcards.note(at, Some(fields.iter().map(|(name, ..)| (None, name.clone())).collect()));
        }
    }

    /// Notes the type of a literal.
    pub(super) fn note_literal(&mut self, at: Location, data_type: Type) {
        if let (Some(meanings), Some(_)) = (&mut self.meanings, data_type.scalar.defined()) {
            meanings.literals.note(at, Some(data_type));
        }
    }

    /// Notes the columns that a NATURAL join merges.
    pub(super) fn note_natural(&mut self, right: &TableFactor, columns: Vec<String>) {
        if let Some(meanings) = &mut self.meanings {
            meanings.natural.note(place_of(right), Some(columns));
        }
    }
}
