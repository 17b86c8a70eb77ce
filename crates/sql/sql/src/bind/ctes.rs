//! The queries of WITH that are in scope: the part of the binder that [`super::with`] works on.

use super::query::Bound;
use crate::error::{Result, SqlError, state};
use crate::plan::{Field, Plan};

/// A query of WITH.
pub(super) struct Named {
    pub name: String,
    pub fields: Vec<Field>,
    pub number: usize,
    /// Number of references to it.
    pub uses: usize,
    pub body: Body,
}

pub(super) enum Body {
    /// A query, and whether it may be inlined: always, never, or (`None`) if it is referenced once.
    Query { plan: Box<Plan>, materialized: Option<bool> },
    /// A writing statement, and whether it returns rows.
    Writes { returns: bool },
    /// The recursive query that is being bound: one reference to its last rows is allowed, outside of barriers.
    Recursion { barriers: usize },
}

/// The queries of one WITH: those from this position in [`Ctes`].
pub(super) struct WithScope(usize);

/// The queries of WITH that are in scope.
#[derive(Default)]
pub(super) struct Ctes {
    /// The queries, the innermost last.
    named: Vec<Named>,
    /// The number of the next query.
    pub next_number: usize,
    /// Constructs between here and the enclosing recursive queries in which these may not be named.
    pub barriers: Vec<&'static str>,
}

/// The queries that a view does not see, and the constructs around it.
pub(super) struct Hidden(Vec<Named>, Vec<&'static str>);

impl Ctes {
    /// Begins the scope of a WITH clause.
    pub(super) fn open(&self) -> WithScope {
        WithScope(self.named.len())
    }

    /// Ends the scope of a WITH clause, and returns its queries.
    pub(super) fn close(&mut self, scope: &WithScope) -> Vec<Named> {
        self.named.split_off(scope.0.min(self.named.len()))
    }

    /// Returns whether a query of this scope has the name.
    pub(super) fn is_taken(&self, scope: &WithScope, name: &str) -> bool {
        self.named[scope.0..].iter().any(|other| other.name == name)
    }

    /// Adds a query to the innermost scope.
    pub(super) fn add(&mut self, name: String, fields: Vec<Field>, number: usize, body: Body) {
        self.named.push(Named { name, fields, number, uses: 0, body });
    }

    pub(super) fn fresh_number(&mut self) -> usize {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Hides all queries from the query of a view. Numbers go on: the plans become one.
    pub(super) fn hide(&mut self) -> Hidden {
        Hidden(std::mem::take(&mut self.named), std::mem::take(&mut self.barriers))
    }

    /// Undoes [`Ctes::hide`].
    pub(super) fn show(&mut self, Hidden(named, barriers): Hidden) {
        (self.named, self.barriers) = (named, barriers);
    }

    /// Returns the scan of a query, if one has this name.
    ///
    /// # Errors
    /// 0A000 without RETURNING, 42P19 where a recursive reference may not stand.
    pub(super) fn scan(&mut self, name: &str) -> Result<Option<Bound>> {
        let Some(named) = self.named.iter_mut().rev().find(|named| named.name == name) else { return Ok(None) };
        named.uses += 1;
        if let Body::Writes { returns: false } = named.body {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        if let Body::Recursion { barriers: outside } = named.body {
            let problem = match self.barriers.get(outside) {
                Some(barrier) => Some(format!("within {barrier}")),
                None => (named.uses > 1).then(|| "more than once".to_owned()),
            };
            if let Some(problem) = problem {
                let message = format!("recursive reference to query \"{name}\" must not appear {problem}");
                return Err(SqlError::new(state::INVALID_RECURSION, message));
            }
        }
        Ok(Some(Bound {
            plan: Plan::CteScan { number: named.number },
            fields: named.fields.clone(),
            places: vec![],
            recursive: matches!(named.body, Body::Recursion { .. }),
        }))
    }
}
