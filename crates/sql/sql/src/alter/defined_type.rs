//! Types that statements have defined, in what depends on them. Texts that are kept name such a type by its identifier, and cast
//! to it the literals that have it: they mean the same whatever the type is called, and it is seen what depends on a type.

use super::composite::relation_of_rows;
use super::dependents::{DropSet, Object, describe};
use super::expression;
use super::rows::each_row;
use crate::bind;
use crate::catalog::{Column, DefinedType, Domain, Oid, Relation, Table, TypeKind, View, attributes, type_of};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError};
use crate::types::{Datum, Modifier, Scalar, Styles, Type, defined, text};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::Command;
use syntax::ast::{self, DataType, Expr, TableFactor, Value, Visit, VisitMut, Visitor, VisitorMut};

/// A type as SQL names it in the statement that runs.
pub(crate) fn shown(found: &DefinedType) -> String {
    Type::of(Scalar::Enum(found.oid)).name()
}

/// Changes the types that a piece of syntax names.
struct TypeNames<F>(F);

impl<F: FnMut(&mut DataType) -> Result<()>> VisitorMut for TypeNames<F> {
    type Break = SqlError;

    fn expression(&mut self, expression: &mut Expr) -> ControlFlow<SqlError> {
        match expression {
            Expr::Cast { data_type, .. } | Expr::TypedLiteral { data_type, .. } => broken((self.0)(data_type)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn table(&mut self, table: &mut TableFactor) -> ControlFlow<SqlError> {
        if let TableFactor::Functions { alias: Some(alias), .. } = table {
            for data_type in alias.columns.iter_mut().filter_map(|column| column.data_type.as_mut()) {
                broken((self.0)(data_type))?;
            }
        }
        ControlFlow::Continue(())
    }
}

fn broken(done: Result<()>) -> ControlFlow<SqlError> {
    match done {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

fn finished(walked: ControlFlow<SqlError>) -> Result<()> {
    match walked {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Names types by their identifiers.
///
/// # Errors
/// 42704, errors of the engine.
pub(crate) fn by_identifier(names: &mut Names<'_>, syntax: &mut impl VisitMut) -> Result<()> {
    finished(syntax.visit_mut(&mut TypeNames(|written: &mut DataType| {
        if written.meaning.is_err() {
            let named = bind::named_type(names, written)?;
            let domain = named.domain.map(|oid| Type::of(Scalar::Enum(oid)));
            *written = DataType::defined(domain.unwrap_or(named.data_type));
        }
        Ok(())
    })))
}

/// Names types by their names again, for display.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn by_name(names: &mut Names<'_>, syntax: &mut impl VisitMut) -> Result<()> {
    finished(syntax.visit_mut(&mut TypeNames(|written: &mut DataType| {
        if let Ok((data_type, _)) = written.meaning
            && let Some(oid) = data_type.scalar.defined()
        {
            names.defined_type(oid)?;
            written.text = data_type.name();
        }
        Ok(())
    })))
}

/// Writes an expression over a table's columns for the catalog.
///
/// # Errors
/// Errors of binding.
pub(crate) fn kept(names: &mut Names<'_>, expression: &Expr, columns: &[(String, Type, Modifier)]) -> Result<String> {
    let mut expression = expression.clone();
    by_identifier(names, &mut expression)?;
    let text = expression.to_string();
    // The places of literals are those in this text.
    let mut written = syntax::expression(&text)?;
    let literals = bind::literal_types(names, &written, columns)?;
    cast_literals(&mut written, |at| literals.at(at).copied());
    Ok(written.to_string())
}

/// Casts the literals at places to the types that they have there.
pub(crate) fn cast_literals(syntax: &mut impl VisitMut, types: impl Fn(ast::Location) -> Option<Type>) {
    struct Caster<F>(F);

    impl<F: Fn(ast::Location) -> Option<Type>> VisitorMut for Caster<F> {
        type Break = ();

        fn after_expression(&mut self, expression: &mut Expr) -> ControlFlow<()> {
            match expression {
                Expr::Literal(literal) if matches!(literal.value, Value::String(_)) => {
                    if let Some(data_type) = (self.0)(literal.span.start) {
                        let data_type = Box::new(DataType::defined(data_type));
                        *expression = Expr::Cast { expr: Box::new(expression.clone()), data_type, short: true };
                    }
                }
                // It has been cast before.
                Expr::Cast { expr, data_type, .. } => {
                    if let Expr::Cast { expr: inner, data_type: other, .. } = &mut **expr
                        && other.text == data_type.text
                    {
                        *expr = inner.clone();
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }

    let _ = syntax.visit_mut(&mut Caster(types));
}

/// Returns whether a piece of syntax names a type.
fn names_type(syntax: &impl Visit, oid: Oid) -> bool {
    struct Finder(Oid);

    impl Finder {
        fn look(&self, data_type: &DataType) -> ControlFlow<()> {
            match &data_type.meaning {
                Ok((data_type, _)) if data_type.scalar.defined() == Some(self.0) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    impl Visitor for Finder {
        type Break = ();

        fn expression(&mut self, expression: &Expr) -> ControlFlow<()> {
            match expression {
                Expr::Cast { data_type, .. } | Expr::TypedLiteral { data_type, .. } => self.look(data_type),
                _ => ControlFlow::Continue(()),
            }
        }

        fn table(&mut self, table: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Functions { alias: Some(alias), .. } = table {
                for data_type in alias.columns.iter().filter_map(|column| column.data_type.as_ref()) {
                    self.look(data_type)?;
                }
            }
            ControlFlow::Continue(())
        }
    }

    syntax.visit(&mut Finder(oid)).is_break()
}

fn expression_names(text: &str, oid: Oid) -> Result<bool> {
    Ok(mentions(text, oid) && names_type(&syntax::expression(text)?, oid))
}

/// Returns whether a view depends on a type, by its columns or its query.
///
/// # Errors
/// The parser's.
pub(crate) fn view_uses(view: &View, oid: Oid) -> Result<bool> {
    if view.columns.iter().any(|column| column.data_type.scalar.defined() == Some(oid)) {
        return Ok(true);
    }
    match syntax::statement(&view.query)?.map(|parsed| parsed.command) {
        Some(Command::Rows(statement)) if mentions(&view.query, oid) => Ok(names_type(&*statement, oid)),
        _ => Ok(false),
    }
}

/// Returns whether a text may name a type: cheaper than to read it.
pub(super) fn mentions(text: &str, oid: Oid) -> bool {
    text.contains(&*DataType::defined(Type::of(Scalar::Enum(oid))).text)
}

/// A type's name in messages: `type mood`.
pub(super) fn described(found: &DefinedType) -> String {
    format!("type {}", shown(found))
}

/// Drops types and what depends on them.
///
/// # Errors
/// 2BP01 if there are dependents, without CASCADE.
pub(crate) fn drop(
    change: &mut Change<'_>,
    named: &[Arc<DefinedType>],
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut going = DropSet::default();
    for found in named {
        going.add(Object::Type(found.oid), None);
    }
    for found in named {
        change.names().defined_type(found.oid)?;
        follow(&mut going, &mut change.names(), found)?;
    }
    let only = match named {
        [only] => Some(described(only)),
        _ => None,
    };
    going.settle(cascade, only.as_deref(), notices)?;
    super::drop::remove(change, &going)
}

/// Adds a type of a schema that goes, with its dependents.
pub(super) fn add_of_schema(
    going: &mut DropSet,
    names: &mut Names<'_>,
    found: &DefinedType,
    schema: &str,
) -> Result<()> {
    names.defined_type(found.oid)?;
    going.add(Object::Type(found.oid), Some((described(found), schema.to_owned())));
    follow(going, names, found)
}

/// Adds what depends on a type: columns, views, constraints, defaults. The definitions say so themselves; the few statements that
/// drop a type read them all.
fn follow(going: &mut DropSet, names: &mut Names<'_>, found: &DefinedType) -> Result<()> {
    let mut relations = names.relations()?;
    relations.sort_by_key(Relation::oid);
    relations.retain(|relation| !going.contains(&Object::Relation(relation.oid())));
    for dependent in names.defined_types()? {
        if let TypeKind::Domain(domain) = &dependent.kind {
            names.defined_type(dependent.oid)?;
            follow_domain(going, names, &dependent, domain, found)?;
        }
    }
    // The arrays of the type go first, with what depends on them.
    for relation in &relations {
        if let Relation::Table(table) = relation {
            follow_columns(going, names, table, Type { is_array: true, ..type_of(found) })?;
        }
    }
    follow_attributes(going, names, found, true)?;
    let on = described(found);
    for relation in &relations {
        match relation {
            Relation::Table(table) => {
                follow_columns(going, names, table, type_of(found))?;
                follow_expressions(going, names, table, found.oid, &on)?;
            }
            Relation::View(view) if view_uses(view, found.oid)? => {
                let what = describe(names, relation)?;
                if going.add(Object::Relation(view.oid), Some((what, on.clone()))) {
                    going.follow(names, relation)?;
                }
            }
            _ => {}
        }
    }
    follow_attributes(going, names, found, false)
}

/// Adds a domain that is over a type.
fn follow_domain(
    going: &mut DropSet,
    names: &mut Names<'_>,
    dependent: &DefinedType,
    domain: &Domain,
    found: &DefinedType,
) -> Result<()> {
    let of_type = |is_array| Type { is_array, ..type_of(found) };
    let on = match domain.over {
        Some(over) if over == found.oid => described(found),
        None if domain.data_type == of_type(false) => described(found),
        None if domain.data_type == of_type(true) => format!("type {}", of_type(true).name()),
        _ => return Ok(()),
    };
    if going.add(Object::Type(dependent.oid), Some((described(dependent), on))) {
        follow(going, names, dependent)?;
    }
    Ok(())
}

/// Adds the attributes of composite types that are of a type, or of its arrays.
fn follow_attributes(going: &mut DropSet, names: &mut Names<'_>, found: &DefinedType, is_array: bool) -> Result<()> {
    for dependent in names.defined_types()? {
        if going.contains(&Object::Type(dependent.oid)) {
            continue;
        }
        for (at, column) in attributes(&dependent) {
            let on = match column.domain {
                Some(domain) if domain == found.oid && !is_array => described(found),
                None if column.data_type == (Type { is_array, ..type_of(found) }) => {
                    format!("type {}", column.data_type.name())
                }
                _ => continue,
            };
            names.defined_type(dependent.oid)?;
            let what = format!("column {} of composite type {}", column.name, shown(&dependent));
            going.add(Object::Attribute(dependent.oid, at), Some((what, on)));
        }
    }
    Ok(())
}

/// Adds what depends on the type of a relation's rows.
pub(super) fn follow_rows(going: &mut DropSet, names: &mut Names<'_>, relation: Oid) -> Result<()> {
    match names.defined_type(defined::row_of(relation))? {
        // Where nothing depends on the relation, nothing does on its rows.
        Some(found) if !names.dependents(relation)?.is_empty() => follow(going, names, &found),
        _ => Ok(()),
    }
}

/// The relations on whose rows a view's casts and columns depend.
///
/// # Errors
/// The parser's.
pub(super) fn rows_in_view(view: &View) -> Result<BTreeSet<Oid>> {
    struct Collector(BTreeSet<Oid>);

    impl Visitor for Collector {
        type Break = ();

        fn expression(&mut self, expression: &Expr) -> ControlFlow<()> {
            if let Expr::Cast { data_type, .. } | Expr::TypedLiteral { data_type, .. } = expression
                && let Ok((data_type, _)) = data_type.meaning
            {
                self.0.extend(relation_of_rows(data_type));
            }
            ControlFlow::Continue(())
        }
    }

    let of_columns = view.columns.iter().filter_map(|column| relation_of_rows(column.data_type));
    let mut found = Collector(of_columns.filter(|relation| *relation != view.oid).collect());
    if let Some(Command::Rows(statement)) = syntax::statement(&view.query)?.map(|parsed| parsed.command) {
        let _ = statement.visit(&mut found);
    }
    Ok(found.0)
}

/// Drops a set of objects that is complete.
///
/// # Errors
/// 2BP01 if there are some, without CASCADE.
pub(super) fn drop_with(
    change: &mut Change<'_>,
    going: &DropSet,
    cascade: bool,
    what: &str,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    going.settle(cascade, Some(what), notices)?;
    super::drop::remove(change, going)
}

fn follow_columns(going: &mut DropSet, names: &mut Names<'_>, table: &Arc<Table>, data_type: Type) -> Result<()> {
    let is_of = |column: &Column| match data_type.scalar {
        Scalar::Enum(oid) if column.domain == Some(oid) => !data_type.is_array,
        _ => column.domain.is_none() && column.data_type == data_type,
    };
    // In PostgreSQL's order.
    let found: Vec<(usize, &Column)> = table.live_columns().filter(|(_, column)| is_of(column)).collect();
    for (at, column) in found.into_iter().rev() {
        let whole = describe(names, &Relation::Table(table.clone()))?;
        let what = format!("column {} of {whole}", column.name);
        going.add(Object::Column(table.oid, at), Some((what, format!("type {}", data_type.name()))));
    }
    Ok(())
}

/// Adds the expressions of a table that name a type, unless they go with a column.
fn follow_expressions(
    going: &mut DropSet,
    names: &mut Names<'_>,
    table: &Arc<Table>,
    oid: Oid,
    on: &str,
) -> Result<()> {
    let whole = describe(names, &Relation::Table(table.clone()))?;
    let because = |what: String| Some((what, on.to_owned()));
    let is_of = |column: &Column| column.domain == Some(oid) || column.data_type.scalar.defined() == Some(oid);
    let of_type = table.live_columns().filter(|(_, column)| is_of(column));
    let going_columns: Vec<&String> = of_type.map(|(_, column)| &column.name).collect();
    for (at, column) in table.live_columns().filter(|(_, column)| !is_of(column)) {
        let what = format!("column {} of {whole}", column.name);
        if let Some(default) = &column.default
            && expression_names(default, oid)?
        {
            let what = format!("default value for column {} of {whole}", column.name);
            going.add(Object::Default(table.oid, at), because(what));
        }
        if let Some(generated) = &column.generated
            && expression_names(generated, oid)?
        {
            going.add(Object::Generated(table.oid, at), because(what));
        }
    }
    for index in table.indexes.iter().filter(|index| !index.constraint) {
        let mut texts = index.expressions.iter().chain(&index.predicate);
        let names_it = texts.try_fold(false, |found, text| Ok::<_, SqlError>(found || expression_names(text, oid)?))?;
        let goes = table.live_columns().filter(|(_, column)| going_columns.contains(&&column.name));
        let mut goes = goes.map(|(at, _)| super::index::reads_column(table, index, at));
        if names_it && !goes.try_fold(false, |found, reads| reads.map(|reads| found || reads))? {
            let what = format!("index {}", index.name);
            going.add(Object::Relation(index.oid), because(what));
        }
    }
    for check in &table.checks {
        let columns = expression::columns(&check.expression)?;
        if expression_names(&check.expression, oid)? && !going_columns.iter().any(|column| columns.contains(*column)) {
            let what = format!("constraint {} on {whole}", check.name);
            going.add(Object::Check(table.oid, check.oid), because(what));
        }
    }
    Ok(())
}

/// Renames a label of an enum in the texts that are kept.
pub(crate) fn rename_label(change: &mut Change<'_>, oid: Oid, from: &str, to: &str) -> Result<()> {
    for old in change.names().defined_types()? {
        let mut new = DefinedType::clone(&old);
        let TypeKind::Domain(domain) = &mut new.kind else { continue };
        for text in domain.default.iter_mut().chain(domain.checks.iter_mut().map(|check| &mut check.expression)) {
            if mentions(text, oid) {
                let mut expression = syntax::expression(text)?;
                rename_in(&mut expression, oid, from, to)?;
                *text = expression.to_string();
            }
        }
        if new != *old {
            change.replace_type(&old, new)?;
        }
    }
    for relation in change.names().relations()? {
        match &relation {
            Relation::Table(old) => {
                let mut table = Table::clone(old);
                let columns = table.columns.iter_mut();
                let texts = columns.flat_map(|column| column.default.iter_mut().chain(&mut column.generated));
                let indexes = table.indexes.iter_mut();
                let of_indexes = indexes.flat_map(|index| index.expressions.iter_mut().chain(&mut index.predicate));
                let checks = table.checks.iter_mut().map(|check| &mut check.expression);
                for text in texts.chain(checks).chain(of_indexes) {
                    if mentions(text, oid) {
                        let mut expression = syntax::expression(text)?;
                        rename_in(&mut expression, oid, from, to)?;
                        *text = expression.to_string();
                    }
                }
                if table != **old {
                    change.replace(Relation::Table(Arc::new(table)))?;
                }
            }
            Relation::View(old) if mentions(&old.query, oid) => {
                let Some(Command::Rows(statement)) = syntax::statement(&old.query)?.map(|parsed| parsed.command) else {
                    continue;
                };
                let mut statement = (*statement).clone();
                rename_in(&mut statement, oid, from, to)?;
                let view = View { query: statement.to_string(), ..View::clone(old) };
                change.replace(Relation::View(Arc::new(view)))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn rename_in(syntax: &mut impl VisitMut, oid: Oid, from: &str, to: &str) -> Result<()> {
    struct Renamer<F>(F);

    impl<F: Fn(&mut String, bool) -> Result<()>> VisitorMut for Renamer<(Oid, F)> {
        type Break = SqlError;

        fn expression(&mut self, expression: &mut Expr) -> ControlFlow<SqlError> {
            let (data_type, literal) = match expression {
                Expr::Cast { expr, data_type, .. } => match &mut **expr {
                    Expr::Literal(literal) => (data_type, literal),
                    _ => return ControlFlow::Continue(()),
                },
                Expr::TypedLiteral { data_type, text } => (data_type, &mut **text),
                _ => return ControlFlow::Continue(()),
            };
            match (&mut literal.value, &data_type.meaning) {
                (Value::String(text), Ok((data_type, _))) if data_type.scalar == Scalar::Enum(self.0.0) => {
                    broken((self.0.1)(text, data_type.is_array))
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    let rename = |written: &mut String, is_array: bool| {
        if !is_array {
            if written == from {
                to.clone_into(written);
            }
            return Ok(());
        }
        let (texts, styles) = (Type::array_of(Scalar::Text), Styles::default());
        let mut value = text::parse(written, texts, Modifier::NONE, &styles)?;
        rename_elements(&mut value, from, to);
        *written = text::to_string(&value, texts, &styles);
        Ok(())
    };
    finished(syntax.visit_mut(&mut Renamer((oid, rename))))
}

fn rename_elements(value: &mut Datum, from: &str, to: &str) {
    match value {
        Datum::Array(array) => {
            Arc::make_mut(array).elements.iter_mut().for_each(|element| rename_elements(element, from, to));
        }
        Datum::Text(text) if text == from => *text = to.into(),
        _ => {}
    }
}

/// A type for a text that is kept: a built-in one by its name, another by its identifier.
pub(crate) fn kept_name(data_type: Type) -> String {
    match data_type.scalar {
        Scalar::Enum(_) | Scalar::Composite(_) => DataType::defined(data_type).text,
        _ => data_type.name(),
    }
}

/// Calls `body` with each stored value of a domain, and of the domains over it, and with its table and column.
///
/// # Errors
/// Errors of the engine and of `body`.
pub(crate) fn values_of(
    change: &mut Change<'_>,
    oid: Oid,
    body: &mut dyn FnMut(&mut Change<'_>, &Table, usize, &Datum) -> Result<()>,
) -> Result<()> {
    for relation in change.names().relations()? {
        let Relation::Table(table) = relation else { continue };
        let columns = table.live_columns().filter(|(_, column)| column.domain == Some(oid));
        let columns: Vec<usize> = columns.map(|(at, _)| at).collect();
        if columns.is_empty() {
            continue;
        }
        // Read again by its identifier, with the types of its columns.
        let table = super::table::load(&mut change.names(), table.oid)?;
        let mut values = Vec::new();
        each_row(&mut change.exec, &table, |_, _, row| {
            values.extend(columns.iter().map(|at| (*at, row[*at].clone())));
            Ok(())
        })?;
        values.iter().try_for_each(|(at, value)| body(change, &table, *at, value))?;
    }
    for dependent in change.names().defined_types()? {
        if let TypeKind::Domain(domain) = &dependent.kind
            && domain.over == Some(oid)
        {
            values_of(change, dependent.oid, body)?;
        }
    }
    Ok(())
}
