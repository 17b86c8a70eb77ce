//! WITH.
//!
//! Each query of WITH is bound where it is defined. A reference becomes a scan of its number. When the enclosing query is
//! complete, queries that are referenced once are inlined at the reference (as in PostgreSQL, unless they are MATERIALIZED,
//! recursive or volatile); the others become [`Plan::With`]. A writing statement has expressions outside of its plan: a query that
//! they read and that is not inlined becomes a part of a [`Modifying`] statement.

use super::Binder;
use super::ctes::{Body, Named, WithScope};
use super::name::fold;
use super::query::Bound;
use super::target::UnknownLiterals;
use super::walk::{self, Visitor, move_in};
use crate::error::{Result, SqlError, state};
use crate::functions::common_type;
use crate::plan::{self, Field, Modifying, Plan, Statement};
use crate::types::{Modifier, Type};
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::ast::{Cte, Location, Query, SetExpr, SetOperator, Visit, With, visit_relations};

impl Binder<'_, '_> {
    /// Binds what stands behind a barrier, if there is one: a construct in which an enclosing recursive query may not be named.
    pub(super) fn behind<T>(
        &mut self,
        barrier: Option<&'static str>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.ctes.barriers.extend(barrier);
        let bound = bind(self);
        if barrier.is_some() {
            self.ctes.barriers.pop();
        }
        bound
    }

    /// Binds the queries of a WITH clause; they can be referenced until the scope is closed.
    pub(super) fn open_with(&mut self, with: Option<&With>) -> Result<WithScope> {
        let scope = self.ctes.open();
        let Some(with) = with else { return Ok(scope) };
        for cte in &with.queries {
            if let Err(error) = self.open_query(&scope, with, cte) {
                self.ctes.close(&scope);
                return Err(error);
            }
        }
        Ok(scope)
    }

    fn open_query(&mut self, scope: &WithScope, with: &With, cte: &Cte) -> Result<()> {
        let name = self.fresh_name(scope, cte)?;
        let (plan, fields, materialized) = match with.recursive && names(&*cte.query, &name) {
            true => self.recursive_query(cte, &name)?,
            false => self.plain_query(cte)?,
        };
        let number = self.ctes.fresh_number();
        let body = Body::Query { plan: Box::new(plan), materialized };
        self.ctes.add(name, fields, number, body);
        Ok(())
    }

    /// Returns the name of a query, which must be unique in its WITH.
    fn fresh_name(&self, scope: &WithScope, cte: &Cte) -> Result<String> {
        let name = fold(&cte.alias.name);
        if !self.ctes.is_taken(scope, &name) {
            return Ok(name);
        }
        let message = format!("WITH query name \"{name}\" specified more than once");
        let error = SqlError::new(state::DUPLICATE_ALIAS, message);
        Err(self.text.error_at(error, cte.alias.name.span.start))
    }

    /// A statement whose WITH clause writes.
    pub(super) fn modifying(&mut self, query: &Query) -> Result<Statement> {
        let scope = self.ctes.open();
        let bound = self.modifying_parts(&scope, query);
        let named = self.ctes.close(&scope);
        let (mut writing, body) = bound?;
        let mut parts = vec![];
        for query in named {
            let part = match (query.body, writing.iter().position(|(number, _)| *number == query.number)) {
                (_, Some(at)) => {
                    Part { number: query.number, fields: query.fields, statement: writing.swap_remove(at).1 }
                }
                (Body::Query { plan, .. }, None) if query.uses > 0 => {
                    Part::of(RunsOnce { number: query.number, plan: Arc::from(plan), fields: query.fields })
                }
                _ => continue,
            };
            parts.push(part);
        }
        Ok(Statement::Modifying(in_parts(parts, body)))
    }

    /// The writing queries of WITH by their numbers, and the body.
    fn modifying_parts(&mut self, scope: &WithScope, query: &Query) -> Result<(Vec<(usize, Statement)>, Statement)> {
        let mut writing = vec![];
        if let Some(with) = &query.with {
            for cte in &with.queries {
                match &*cte.query.body {
                    SetExpr::Write(inner) => {
                        let name = self.fresh_name(scope, cte)?;
                        if cte.query.with.as_ref().is_some_and(|with| with.queries.iter().any(is_writing)) {
                            return Err(self.not_at_top(cte));
                        }
                        let part = self.writing_with(cte.query.with.as_ref(), inner)?;
                        let mut fields = part.columns().unwrap_or_default().to_vec();
                        self.rename_fields(&mut fields, cte)?;
                        let number = self.ctes.fresh_number();
                        let body = Body::Writes { returns: !fields.is_empty() };
                        self.ctes.add(name, fields, number, body);
                        writing.push((number, part));
                    }
                    _ => self.open_query(scope, with, cte)?,
                }
            }
        }
        let body = match &*query.body {
            SetExpr::Write(inner) => self.rows(inner)?,
            _ => {
                let bound = self.query(&Query { with: None, ..query.clone() }, UnknownLiterals::Text)?;
                let plan = Arc::new(bound.plan);
                Statement::Query(plan::Query { plan, fields: bound.fields, locks: self.locks })
            }
        };
        Ok((writing, body))
    }

    fn not_at_top(&self, cte: &Cte) -> SqlError {
        let message = "WITH clause containing a data-modifying statement must be at the top level";
        let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, message);
        self.text.error_at(error, cte.alias.name.span.start)
    }

    fn plain_query(&mut self, cte: &Cte) -> Result<(Plan, Vec<Field>, Option<bool>)> {
        if let SetExpr::Write(_) = &*cte.query.body {
            return Err(self.not_at_top(cte));
        }
        let bound = self.query(&cte.query, UnknownLiterals::Text)?;
        let mut fields = bound.fields;
        self.rename_fields(&mut fields, cte)?;
        // What is volatile runs once even if it is written NOT MATERIALIZED.
        let materialized = if bound.plan.calls_volatile() { Some(true) } else { cte.materialized };
        Ok((bound.plan, fields, materialized))
    }

    fn rename_fields(&self, fields: &mut [Field], cte: &Cte) -> Result<()> {
        let columns = &cte.alias.columns;
        if columns.len() > fields.len() {
            let message = format!(
                "WITH query \"{}\" has {} columns available but {} columns specified",
                fold(&cte.alias.name),
                fields.len(),
                columns.len()
            );
            let error = SqlError::new(state::INVALID_COLUMN_REFERENCE, message);
            return Err(self.text.error_at(error, cte.alias.name.span.start));
        }
        for (field, column) in fields.iter_mut().zip(columns) {
            field.name = fold(&column.name);
        }
        Ok(())
    }

    /// WITH RECURSIVE: `start UNION [ALL] step`.
    fn recursive_query(&mut self, cte: &Cte, name: &str) -> Result<(Plan, Vec<Field>, Option<bool>)> {
        let at = cte.alias.name.span.start;
        let form = |binder: &Self| {
            let message = format!(
                "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
            );
            Err(binder.text.error_at(SqlError::new(state::INVALID_RECURSION, message), at))
        };
        let SetExpr::SetOperation { left, operator: SetOperator::Union, all, right } = &*cte.query.body else {
            return form(self);
        };
        let what = match &*cte.query {
            query if !query.order_by.is_empty() => "ORDER BY in a recursive query",
            query if query.limit.is_some() || query.offset.is_some() => "LIMIT in a recursive query",
            query if !query.locks.is_empty() => "FOR UPDATE/SHARE in a recursive query",
            _ => "",
        };
        if !what.is_empty() {
            let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not implemented"));
            return Err(self.text.error_at(error, at));
        }
        if names(&**left, name) {
            let message =
                format!("recursive reference to query \"{name}\" must not appear within its non-recursive term");
            return Err(self.text.error_at(SqlError::new(state::INVALID_RECURSION, message), at));
        }
        let inner = self.open_with(cte.query.with.as_ref())?;
        let bound = self.recursion(cte, name, (left, right), *all, at);
        let bound = self.close_with(inner, bound)?;
        Ok((bound.plan, bound.fields, Some(true)))
    }

    fn recursion(
        &mut self,
        cte: &Cte,
        name: &str,
        (left, right): (&SetExpr, &SetExpr),
        all: bool,
        at: Location,
    ) -> Result<Bound> {
        let start = self.side(left)?;
        let known: Vec<Type> = start
            .fields
            .iter()
            .map(|field| if field.data_type == Type::UNKNOWN { Type::TEXT } else { field.data_type })
            .collect();
        let start = self.convert_columns(start, &known)?;
        let mut fields = start.fields.clone();
        self.rename_fields(&mut fields, cte)?;
        let number = self.ctes.fresh_number();
        let scope = self.ctes.open();
        let body = Body::Recursion { barriers: self.ctes.barriers.len() };
        self.ctes.add(name.into(), fields.clone(), number, body);
        let step = self.side(right);
        self.ctes.close(&scope);
        let step = self.like_start(step?, &fields, name, at)?;
        let plan = Plan::Recursive { number, start: Arc::new(start.plan), step: Arc::new(step.plan), distinct: !all };
        fields.iter_mut().for_each(|field| field.origin = None);
        Ok(Bound { plan, fields, places: vec![], recursive: false })
    }

    /// Converts the recursive term to the columns of the start.
    fn like_start(&mut self, step: Bound, fields: &[Field], name: &str, at: Location) -> Result<Bound> {
        if step.fields.len() != fields.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(self.text.error_at(SqlError::new(state::SYNTAX_ERROR, message), at));
        }
        for (place, (field, found)) in fields.iter().zip(&step.fields).enumerate() {
            let both = [field.data_type, found.data_type];
            let Some(overall) = common_type(&both) else {
                let message = format!("UNION types {} and {} cannot be matched", both[0].name(), both[1].name());
                return Err(self.text.error_at(SqlError::new(state::DATATYPE_MISMATCH, message), at));
            };
            let modifier = if found.modifier == field.modifier { field.modifier } else { Modifier::NONE };
            if (overall, modifier) != (field.data_type, field.modifier) {
                let message = format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                    place + 1,
                    field.data_type.format(field.modifier),
                    overall.format(modifier)
                );
                let error = SqlError::new(state::DATATYPE_MISMATCH, message)
                    .hint("Cast the output of the non-recursive term to the correct type.");
                return Err(self.text.error_at(error, at));
            }
        }
        let wanted: Vec<Type> = fields.iter().map(|field| field.data_type).collect();
        self.convert_columns(step, &wanted)
    }

    /// Returns the scan of a query of WITH, if one has this name.
    pub(super) fn with_scan(&mut self, name: &str, at: Location) -> Result<Option<Bound>> {
        self.ctes.scan(name).map_err(|error| self.text.error_at(error, at))
    }

    /// Closes the scope of a WITH clause: inlines its queries, or places them around the query.
    pub(super) fn close_with(&mut self, scope: WithScope, bound: Result<Bound>) -> Result<Bound> {
        let named = self.ctes.close(&scope);
        let mut bound = bound?;
        let kept = self.inline(named, |inline| inline(&mut bound.plan, 0));
        enclose(&mut bound.plan, kept.into_iter().map(|query| (query.number, query.plan)).collect());
        Ok(bound)
    }

    /// Closes the scope of the WITH clause before a writing statement: inlines its queries, places them around the statement's
    /// source, or makes them parts of it if other expressions read them, since each of these would run its own copy.
    pub(super) fn close_with_writing(&mut self, scope: WithScope, bound: Result<Statement>) -> Result<Statement> {
        let named = self.ctes.close(&scope);
        let mut bound = bound?;
        let kept = self.inline(named, |inline| bound.each_plan_mut(inline));
        let mut shared = vec![];
        bound.each_plan_mut(&mut |plan, depth| {
            if depth > 0 {
                shared.extend(read_by(plan));
            }
        });
        for query in kept.iter().rev() {
            if shared.contains(&query.number) {
                shared.extend(read_by(&query.plan));
            }
        }
        let (parts, around): (Vec<_>, Vec<_>) = kept.into_iter().partition(|query| shared.contains(&query.number));
        let around: Vec<_> = around.into_iter().map(|query| (query.number, query.plan)).collect();
        bound.each_plan_mut(&mut |plan, depth| {
            if depth == 0 {
                enclose(plan, around.clone());
            }
        });
        match parts.is_empty() {
            true => Ok(bound),
            false => Ok(Statement::Modifying(in_parts(parts.into_iter().map(Part::of).collect(), bound))),
        }
    }

    /// Inlines the queries of WITH that may be into the plans that `each_plan` visits. Returns the others that are read, in order.
    fn inline(
        &mut self,
        named: Vec<Named>,
        mut each_plan: impl FnMut(&mut dyn FnMut(&mut Plan, usize)),
    ) -> Vec<RunsOnce> {
        let mut kept = vec![];
        let mut rest = named.into_iter();
        while let Some(query) = rest.next() {
            let Body::Query { plan, materialized } = query.body else { continue };
            if query.uses == 0 {
                continue;
            }
            if materialized.unwrap_or(query.uses > 1) {
                kept.push(RunsOnce { number: query.number, plan: Arc::from(plan), fields: query.fields });
                continue;
            }
            let mut visitor =
                Inline { number: query.number, plan: &plan, next_number: Some(&mut self.ctes.next_number) };
            for later in rest.as_mut_slice() {
                if let Body::Query { plan, .. } = &mut later.body {
                    walk::plan(&mut visitor, plan, 0);
                }
            }
            each_plan(&mut |plan, depth| walk::plan(&mut visitor, plan, depth));
        }
        kept
    }
}

/// A query of WITH that is not inlined.
struct RunsOnce {
    number: usize,
    plan: Arc<Plan>,
    fields: Vec<Field>,
}

/// A part of a statement, and the columns that other parts read of it under its number.
struct Part {
    number: usize,
    fields: Vec<Field>,
    statement: Statement,
}

impl Part {
    fn of(RunsOnce { number, plan, fields }: RunsOnce) -> Part {
        let statement = Statement::Query(plan::Query { plan, fields: fields.clone(), locks: false });
        Part { number, fields, statement }
    }
}

/// The statement of these parts, of which each reads the earlier ones. Parts of a part go before it.
fn in_parts(all: Vec<Part>, mut body: Statement) -> Modifying {
    let mut parts: Vec<(usize, Statement)> = vec![];
    let mut rows: Vec<(usize, Plan)> = vec![];
    for Part { number, fields, mut statement } in all {
        read_rows(&mut statement, &rows);
        let types: Vec<Type> = fields.iter().map(|field| field.data_type).collect();
        rows.push((number, Plan::no_rows(&types)));
        if let Statement::Modifying(inner) = statement {
            parts.extend(inner.parts);
            statement = *inner.body;
        }
        parts.push((number, statement));
    }
    read_rows(&mut body, &rows);
    Modifying { parts, body: Box::new(body) }
}

/// Replaces the scan of a number by its query. Copies of recursive queries get new numbers.
struct Inline<'p> {
    number: usize,
    plan: &'p Plan,
    next_number: Option<&'p mut usize>,
}

impl Visitor for Inline<'_> {
    fn plan(&mut self, plan: &mut Plan, depth: usize) -> bool {
        if !matches!(plan, Plan::CteScan { number } if *number == self.number) {
            return true;
        }
        let mut copy = self.plan.clone();
        move_in(&mut copy, depth);
        if let Some(next) = &mut self.next_number {
            walk::plan(&mut Renumber { next }, &mut copy, 0);
        }
        *plan = copy;
        false
    }
}

/// Gives the recursive queries of a plan new numbers.
struct Renumber<'n> {
    next: &'n mut usize,
}

impl Visitor for Renumber<'_> {
    fn plan(&mut self, plan: &mut Plan, _depth: usize) -> bool {
        if let Plan::Recursive { number, step, .. } = plan {
            let (old, new) = (*number, *self.next);
            *self.next += 1;
            *number = new;
            let scan = Plan::CteScan { number: new };
            walk::plan(&mut Inline { number: old, plan: &scan, next_number: None }, Arc::make_mut(step), 0);
        }
        true
    }
}

/// Returns whether a query's WITH clause writes.
pub(super) fn writes(query: &Query) -> bool {
    query.with.iter().flat_map(|with| &with.queries).any(is_writing)
}

fn is_writing(cte: &Cte) -> bool {
    matches!(&*cte.query.body, SetExpr::Write(_))
}

/// Wraps the plans of a part in the queries that it reads, under their numbers.
fn read_rows(part: &mut Statement, rows: &[(usize, Plan)]) {
    part.each_plan_mut(&mut |plan, _| {
        let read = read_by(plan);
        let queries = rows.iter().filter(|(number, _)| read.contains(number));
        enclose(plan, queries.map(|(number, plan)| (*number, Arc::new(plan.clone()))).collect());
    });
}

/// The queries of WITH that a plan reads.
fn read_by(plan: &Plan) -> Vec<usize> {
    let mut read = vec![];
    plan.walk(&mut |plan| {
        if let Plan::CteScan { number } = plan {
            read.push(*number);
        }
    });
    read
}

/// Places queries of WITH, if there are any, around a plan.
fn enclose(plan: &mut Plan, queries: Vec<(usize, Arc<Plan>)>) {
    if !queries.is_empty() {
        let body = Box::new(std::mem::replace(plan, Plan::Values { rows: vec![] }));
        *plan = Plan::With { queries, body };
    }
}

/// Returns whether a query names a table.
fn names(query: &impl Visit, name: &str) -> bool {
    let found = visit_relations(query, |relation| match super::name::split(relation) {
        Ok((None, named)) if named == name => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
