//! Calls in a query's expressions that need an operator of their own: aggregates, windows, sets.
//!
//! Expressions are bound over the rows of FROM. A call of an aggregate, a window function or a set-returning function is
//! collected here and replaced by a column whose number is far above every real column. After everything is bound,
//! [`super::grouping`] and [`super::windows_and_sets`] assign the real numbers.

use super::Binder;
use crate::error::Result;
use crate::functions::{Resolved, ResolvedAggregate};
use crate::plan::{AggregateCall, Expr, SortKey, WindowCall, equal, equal_lists};
use syntax::ast::{Location, NamedWindow};

/// Columns from here are keys of GROUP BY, until [`super::windows_and_sets`] places them.
pub(super) const KEYS: usize = 1 << 40;
/// Columns from here are aggregates.
pub(super) const AGGREGATES: usize = 2 << 40;
/// Columns from here are window calls.
pub(super) const WINDOWS: usize = 3 << 40;
/// Columns from here are sets.
pub(super) const SETS: usize = 4 << 40;

/// The calls that a query's expressions contain.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Aggregates over the rows of FROM.
    pub aggregates: Vec<AggregateCall>,
    /// Window calls over the rows of FROM, or of GROUP BY.
    pub windows: Vec<WindowSlot>,
    /// Sets over the rows after all windows, each with its stage of expansion.
    pub sets: Vec<SetSlot>,
    /// The WINDOW clause.
    pub named_windows: Vec<NamedWindow>,
    /// Number of grouping keys.
    pub keys: usize,
    /// Locations of columns of FROM mentioned outside aggregates, for the errors of GROUP BY.
    pub mentions: Vec<(usize, Location)>,
}

/// A window call with its window.
#[derive(Clone, Debug)]
pub(super) struct WindowSlot {
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub call: WindowCall,
    /// The type of its result.
    pub result: crate::types::Type,
}

/// A set-returning call.
#[derive(Clone, Debug)]
pub(super) struct SetSlot {
    pub function: Resolved,
    pub arguments: Vec<Expr>,
    /// The sets in its arguments come in earlier stages.
    pub stage: usize,
}

impl Calls {
    /// Returns the column of an aggregate. Equal calls share one column.
    pub(super) fn aggregate(&mut self, call: AggregateCall) -> usize {
        let is_it = |made: &AggregateCall| equal_aggregates(made, &call);
        let at = self.aggregates.iter().position(is_it).unwrap_or_else(|| {
            self.aggregates.push(call);
            self.aggregates.len() - 1
        });
        AGGREGATES + at
    }

    /// The column of a window call.
    pub(super) fn window(&mut self, slot: WindowSlot) -> usize {
        self.windows.push(slot);
        WINDOWS + self.windows.len() - 1
    }

    /// The column of a set.
    pub(super) fn set(&mut self, function: Resolved, arguments: Vec<Expr>) -> usize {
        let mut stage = 0;
        for argument in &arguments {
            argument.walk(&mut |part| {
                if let crate::plan::ExprKind::Column(at) = part.kind
                    && at >= SETS
                {
                    stage = stage.max(self.sets[at - SETS].stage + 1);
                }
            });
        }
        self.sets.push(SetSlot { function, arguments, stage });
        SETS + self.sets.len() - 1
    }
}

fn equal_aggregates(left: &AggregateCall, right: &AggregateCall) -> bool {
    let equal_functions = |left: &ResolvedAggregate, right: &ResolvedAggregate| {
        std::ptr::eq(left.aggregate, right.aggregate)
            && left.arguments == right.arguments
            && left.result == right.result
    };
    let same_filter = match (&left.filter, &right.filter) {
        (None, None) => true,
        (Some(left), Some(right)) => equal(left, right),
        _ => false,
    };
    equal_functions(&left.aggregate, &right.aggregate)
        && equal_lists(&left.arguments, &right.arguments)
        && left.distinct == right.distinct
        && same_filter
        && left.order.is_empty()
        && right.order.is_empty()
        && left.grouping.is_some() == right.grouping.is_some()
}

impl Binder<'_, '_> {
    /// Refuses what a definition (DEFAULT, CHECK) may not contain.
    pub(super) fn refuse_in_definition(&mut self, what: &str) -> Result<()> {
        use crate::error::{SqlError, state};
        if let Some(definition) = self.scope.definition() {
            let message = format!("cannot use {what} in {}", definition.singular());
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(())
    }
}
