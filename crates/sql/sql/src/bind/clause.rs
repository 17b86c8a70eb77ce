//! The clauses of a statement, and what each may contain.

use crate::error::{Result, SqlError, state};

/// Clauses of a statement, distinguished by what they may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    /// The select list.
    Select,
    /// ORDER BY
    OrderBy,
    /// DISTINCT ON
    DistinctOn,
    /// HAVING
    Having,
    /// WHERE
    Where,
    /// JOIN ... ON
    JoinOn,
    /// GROUP BY
    GroupBy,
    /// LIMIT
    Limit,
    /// OFFSET
    Offset,
    /// Rows of VALUES.
    Values,
    /// The one row of INSERT ... VALUES.
    InsertRow,
    /// SET of UPDATE.
    Update,
    /// AND of MERGE's WHEN.
    MergeWhen,
    /// RETURNING
    Returning,
    /// A function in FROM.
    FromFunction,
    /// The arguments of an aggregate.
    Aggregate,
    /// FILTER of an aggregate.
    Filter,
    /// The arguments of a window call.
    Window,
    /// PARTITION BY and ORDER BY of a window.
    WindowOrder,
    /// A frame's offset.
    WindowFrame,
    /// DEFAULT, CHECK, generated columns, expressions and predicates of indexes; aggregates and subqueries are not allowed.
    Definition(Definition),
}

/// Expressions of definitions, as far as messages tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Definition {
    /// DEFAULT, CHECK, generated columns: which is not known.
    Any,
    /// An expression of an index.
    IndexExpression,
    /// WHERE of an index.
    IndexPredicate,
    /// WHERE of COPY FROM.
    CopyCondition,
}

impl Definition {
    /// Its name for several.
    fn title(self) -> &'static str {
        match self {
            Definition::Any => "this expression",
            Definition::IndexExpression => "index expressions",
            Definition::IndexPredicate => "index predicates",
            Definition::CopyCondition => "COPY FROM WHERE conditions",
        }
    }

    /// Its name for one.
    pub(crate) fn singular(self) -> &'static str {
        match self {
            Definition::Any => "DEFAULT expression",
            Definition::IndexExpression => "index expression",
            Definition::IndexPredicate => "index predicate",
            Definition::CopyCondition => "COPY FROM WHERE condition",
        }
    }
}

impl Clause {
    /// PostgreSQL's name of the clause in `... are not allowed in ...`.
    fn title(self) -> &'static str {
        match self {
            Clause::Select => "SELECT",
            Clause::OrderBy => "ORDER BY",
            Clause::DistinctOn => "DISTINCT ON",
            Clause::Having => "HAVING",
            Clause::Where => "WHERE",
            Clause::JoinOn => "JOIN conditions",
            Clause::GroupBy => "GROUP BY",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values | Clause::InsertRow => "VALUES",
            Clause::Update => "UPDATE",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::Returning => "RETURNING",
            Clause::FromFunction => "functions in FROM",
            Clause::Aggregate => "aggregate function calls",
            Clause::Filter => "FILTER",
            Clause::Window => "window function calls",
            Clause::WindowOrder => "window definitions",
            Clause::WindowFrame => "window frame definitions",
            Clause::Definition(definition) => definition.title(),
        }
    }

    /// # Errors
    /// 42803 if an aggregate may not stand here.
    pub(super) fn allow_aggregate(self) -> Result<()> {
        match self {
            Clause::Select
            | Clause::OrderBy
            | Clause::DistinctOn
            | Clause::Having
            | Clause::Window
            | Clause::WindowOrder => Ok(()),
            Clause::Aggregate => Err(SqlError::new(state::GROUPING_ERROR, "aggregate function calls cannot be nested")),
            _ => Err(self.refuse(state::GROUPING_ERROR, "aggregate functions")),
        }
    }

    /// # Errors
    /// 42P20 if a window call may not stand here.
    pub(super) fn allow_window(self) -> Result<()> {
        match self {
            Clause::Select | Clause::OrderBy | Clause::DistinctOn => Ok(()),
            Clause::Window => Err(SqlError::new(state::WINDOWING_ERROR, "window function calls cannot be nested")),
            Clause::Aggregate => Err(SqlError::new(
                state::GROUPING_ERROR,
                "aggregate function calls cannot contain window function calls",
            )),
            _ => Err(self.refuse(state::WINDOWING_ERROR, "window functions")),
        }
    }

    /// # Errors
    /// 0A000 if a set may not stand here.
    pub(super) fn allow_set(self) -> Result<()> {
        match self {
            Clause::Select | Clause::OrderBy | Clause::DistinctOn | Clause::InsertRow => Ok(()),
            Clause::Aggregate | Clause::Window => Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                format!("{} cannot contain set-returning function calls", self.title()),
            )
            .hint("You might be able to move the set-returning function into a LATERAL FROM item.")),
            _ => Err(self.refuse(state::FEATURE_NOT_SUPPORTED, "set-returning functions")),
        }
    }

    /// Returns whether its expressions refer to groups, if the query has any.
    pub(super) fn is_after_grouping(self) -> bool {
        matches!(
            self,
            Clause::Select
                | Clause::OrderBy
                | Clause::DistinctOn
                | Clause::Having
                | Clause::Window
                | Clause::WindowOrder
                | Clause::WindowFrame
        )
    }

    fn refuse(self, code: &'static str, what: &str) -> SqlError {
        SqlError::new(code, format!("{what} are not allowed in {}", self.title()))
    }
}
