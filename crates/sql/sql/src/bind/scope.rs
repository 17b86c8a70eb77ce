//! Name resolution: the rows that an expression may refer to, from the current row outwards.

use super::Binder;
use super::calls::Calls;
use super::name::fold;
use super::similar::Suggestions;
use super::walk::{self, outwards};
use crate::catalog::{Oid, Table};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, ExprKind};
use crate::types::Type;
use std::sync::Arc;
use syntax::ast::{Ident, Location, ObjectName, Span};

/// A name in a row and its value over that row. Columns merged by USING are not plain columns.
#[derive(Clone, Debug)]
pub(super) struct ScopeColumn {
    /// Its name.
    pub name: String,
    /// Table shown with it in messages; empty for merged columns.
    pub table: String,
    /// Its value.
    pub value: Expr,
    /// Table and column number of its origin.
    pub origin: Option<(Oid, u16)>,
}

/// A table of FROM, as qualified names refer to it.
#[derive(Clone, Debug)]
pub(super) struct TableNames {
    /// The schema, unless an alias hides it.
    pub schema: Option<String>,
    /// The alias, or the table's name.
    pub name: String,
    /// Name of the table that an alias hides.
    pub behind: Option<String>,
    /// Its columns.
    pub columns: Vec<ScopeColumn>,
    /// Definition of a table, and the position of its first column in the row.
    pub table: Option<(Arc<Table>, usize)>,
    /// Object identifier of a table or a catalog.
    pub oid: Option<Oid>,
    /// Position of the row's key, if requested.
    pub key: Option<usize>,
    /// Whether an outer join may replace all its columns by NULL.
    pub nullable: bool,
    /// Whether it is the value of a function: its name then denotes the value, not a row.
    pub is_value: bool,
}

/// The names of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// The tables, for `table.column` and `table.*`.
    pub tables: Vec<TableNames>,
    /// The columns, for `column` and `*`.
    pub columns: Vec<ScopeColumn>,
    /// Number of columns of the row, unnamed ones included.
    pub width: usize,
    /// Whether it contains the rows of a recursive query's last step.
    pub recursive: bool,
}

/// A row in scope, with the restrictions of the current clause and the calls that its expressions contain.
#[derive(Debug)]
pub(super) struct Frame {
    /// The names.
    pub names: Names,
    /// The clause.
    pub clause: Clause,
    /// Whether its names are currently out of scope (the left side of a join, seen from an item that is not LATERAL).
    pub hidden: bool,
    /// Aggregates, windows and sets that the expressions call.
    pub calls: Calls,
}

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
    /// DEFAULT, CHECK, generated columns: the exact clause is not known; aggregates and subqueries are not allowed.
    Definition,
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
            Clause::Returning => "RETURNING",
            Clause::FromFunction => "functions in FROM",
            Clause::Aggregate => "aggregate function calls",
            Clause::Filter => "FILTER",
            Clause::Window => "window function calls",
            Clause::WindowOrder => "window definitions",
            Clause::WindowFrame => "window frame definitions",
            Clause::Definition => "this expression",
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
    fn is_after_grouping(self) -> bool {
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

impl Names {
    /// Names of a row with these columns and without a table.
    pub(super) fn of_columns(columns: Vec<ScopeColumn>) -> Names {
        let width = columns.len();
        Names { columns, width, ..Names::default() }
    }

    /// Names of one table of FROM, whose row has `width` columns.
    pub(super) fn of_table(table: TableNames, width: usize) -> Names {
        Names { columns: table.columns.clone(), tables: vec![table], width, recursive: false }
    }

    /// Appends the names of another row.
    pub(super) fn followed_by(mut self, mut other: Names) -> Names {
        other.shift(self.width);
        self.tables.append(&mut other.tables);
        self.columns.append(&mut other.columns);
        self.width += other.width;
        self.recursive |= other.recursive;
        self
    }

    fn shift(&mut self, by: usize) {
        let tables = self.tables.iter_mut();
        let columns = tables.flat_map(|table| {
            table.table.iter_mut().for_each(|(_, first)| *first += by);
            table.key.iter_mut().for_each(|key| *key += by);
            &mut table.columns
        });
        for column in columns.chain(&mut self.columns) {
            walk::renumber(&mut column.value, &|at| at + by);
        }
    }
}

impl Frame {
    /// A frame over a row.
    pub(super) fn new(names: Names, clause: Clause) -> Frame {
        Frame { names, clause, hidden: false, calls: Calls::default() }
    }
}

impl Binder<'_, '_> {
    /// Binds in a clause over a row: pushes its frame, and pops it again.
    pub(super) fn within<T>(
        &mut self,
        names: Names,
        clause: Clause,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Frame)> {
        self.frames.push(Frame::new(names, clause));
        let result = bind(self);
        let frame = self.frames.pop().expect("the frame that was pushed");
        Ok((result?, frame))
    }

    /// Returns the frame of the current row.
    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("expressions are bound within a frame")
    }

    /// Changes the current clause while `bind` runs.
    pub(super) fn in_clause<T>(&mut self, clause: Clause, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.frame().clause, clause);
        let result = bind(self);
        self.frame().clause = before;
        result
    }

    /// `column`, or a table's name for its whole row.
    pub(super) fn unqualified(&mut self, name: &Ident) -> Result<Expr> {
        let folded = fold(name);
        for (distance, frame) in self.frames.iter().rev().enumerate().filter(|(_, frame)| !frame.hidden) {
            let mut matches = frame.names.columns.iter().filter(|column| column.name == folded);
            if let Some(column) = matches.next() {
                if matches.next().is_some() {
                    let message = format!("column reference \"{folded}\" is ambiguous");
                    return Err(self.error_at(SqlError::new(state::AMBIGUOUS_COLUMN, message), name.span.start));
                }
                let column = column.clone();
                let value = outwards(&column.value, distance);
                self.note_column(name, distance, &column);
                self.mention(&value, name.span.start);
                return Ok(value);
            }
        }
        for (distance, frame) in self.frames.iter().rev().enumerate().filter(|(_, frame)| !frame.hidden) {
            if let Some(table) = frame.names.tables.iter().find(|table| table.name == folded).cloned() {
                let row = self.whole_row(&table);
                return Ok(outwards(&row, distance));
            }
        }
        let mut tables = self.frames.iter().rev().filter(|frame| !frame.hidden).flat_map(|frame| &frame.names.tables);
        if let Some(value) = tables.find_map(|table| system_column(table, &folded)) {
            return Ok(value);
        }
        let error = SqlError::new(state::UNDEFINED_COLUMN, format!("column \"{folded}\" does not exist"));
        let error = self.suggest(None, &folded).explain(error);
        Err(self.error_at(error, name.span.start))
    }

    /// `table.column`, `schema.table.column`.
    pub(super) fn qualified(&mut self, parts: &[Ident]) -> Result<Expr> {
        let location = parts.first().map_or(Span::NOWHERE.start, |part| part.span.start);
        let names: Vec<String> = parts.iter().map(fold).collect();
        let (schema, table, column) = match names.as_slice() {
            [table, column] => (None, table, column),
            [schema, table, column] => (Some(schema.as_str()), table, column),
            [_, schema, table, column] => (Some(schema.as_str()), table, column),
            _ => {
                let message = format!("improper qualified name (too many dotted names): {}", names.join("."));
                return Err(self.error_at(SqlError::new(state::SYNTAX_ERROR, message), location));
            }
        };
        let found = self.find_table(schema, table, location)?;
        let Some((distance, names)) = found else {
            return Err(self.missing_table(schema, table, location));
        };
        if let Some(found) = names.columns.iter().find(|found| found.name == *column) {
            let value = outwards(&found.value, distance);
            let origin = found.origin.filter(|(oid, _)| names.oid == Some(*oid));
            self.note_qualified(location, origin);
            self.mention(&value, location);
            return Ok(value);
        }
        if let Some(value) = system_column(names, column) {
            return Ok(value);
        }
        let error = SqlError::new(state::UNDEFINED_COLUMN, format!("column {table}.{column} does not exist"));
        let error = self.suggest(Some(table), column).explain(error);
        Err(self.error_at(error, location))
    }

    /// The columns of `table.*`, over the row at hand.
    pub(super) fn table_columns(&mut self, name: &ObjectName) -> Result<Vec<ScopeColumn>> {
        let (schema, table) = super::name::split(name)?;
        let location = super::name::location(name);
        match self.find_table(schema.as_deref(), &table, location)? {
            Some((distance, names)) => Ok(names
                .columns
                .iter()
                .map(|column| ScopeColumn { value: outwards(&column.value, distance), ..column.clone() })
                .collect()),
            None => Err(self.missing_table(schema.as_deref(), &table, location)),
        }
    }

    /// Origin of a plain column of the current row; `None` for other expressions.
    pub(super) fn origin(&self, expression: &Expr) -> Option<(Oid, u16)> {
        let ExprKind::Column(at) = expression.kind else { return None };
        let names = &self.frames.last()?.names;
        let tables = names.tables.iter().flat_map(|table| &table.columns);
        let mut found =
            tables.chain(&names.columns).filter(|column| matches!(column.value.kind, ExprKind::Column(c) if c == at));
        found.next()?.origin
    }

    /// Records the location of a column, for the error if GROUP BY lacks it.
    pub(super) fn mention(&mut self, value: &Expr, location: Location) {
        let (distance, column) = match value.kind {
            ExprKind::Column(column) => (0, column),
            ExprKind::Outer { depth, column } => (depth, column),
            _ => return,
        };
        let frame = self.frames.iter_mut().rev().nth(distance);
        if let Some(frame) = frame.filter(|frame| frame.clause.is_after_grouping()) {
            frame.calls.mentions.push((column, location));
        }
    }

    pub(super) fn find_table(
        &self,
        schema: Option<&str>,
        name: &str,
        location: Location,
    ) -> Result<Option<(usize, &TableNames)>> {
        for (distance, frame) in self.frames.iter().rev().enumerate().filter(|(_, frame)| !frame.hidden) {
            let is_it = |table: &&TableNames| {
                table.name == name && schema.is_none_or(|schema| table.schema.as_deref() == Some(schema))
            };
            let mut matches = frame.names.tables.iter().filter(is_it);
            if let Some(table) = matches.next() {
                if matches.next().is_some() {
                    let error = SqlError::new("42P09", format!("table reference \"{name}\" is ambiguous"));
                    return Err(self.error_at(error, location));
                }
                return Ok(Some((distance, table)));
            }
        }
        Ok(None)
    }

    fn missing_table(&self, schema: Option<&str>, name: &str, location: Location) -> SqlError {
        let hidden = self.frames.iter().filter(|frame| frame.hidden).flat_map(|frame| &frame.names.tables);
        let unreachable = hidden.chain(&self.siblings).any(|table| table.name == name);
        let visible = self.frames.iter().rev().flat_map(|frame| &frame.names.tables);
        let alias = visible.filter(|table| table.behind.as_deref() == Some(name)).map(|table| &table.name).next();
        let invalid = || {
            SqlError::new(
                state::UNDEFINED_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{name}\""),
            )
        };
        let error = match alias {
            Some(alias) => invalid().hint(format!("Perhaps you meant to reference the table alias \"{alias}\".")),
            None if unreachable => invalid().hint(format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            )),
            None => {
                let full = schema.map_or(name.to_owned(), |schema| format!("{schema}.{name}"));
                SqlError::new(state::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{full}\""))
            }
        };
        self.error_at(error, location)
    }

    fn suggest(&self, table: Option<&str>, column: &str) -> Suggestions {
        let mut suggestions = Suggestions::new(table, column);
        for frame in self.frames.iter().rev() {
            for names in &frame.names.tables {
                for candidate in &names.columns {
                    suggestions.consider(&names.name, &candidate.name);
                }
            }
        }
        suggestions
    }

    /// Name of a column of the current row in messages.
    pub(super) fn column_title(names: &Names, at: usize) -> String {
        let is_it = |column: &&ScopeColumn| matches!(column.value.kind, ExprKind::Column(c) if c == at);
        let mut columns = names.tables.iter().flat_map(|table| &table.columns).chain(&names.columns);
        match columns.find(is_it) {
            Some(column) if !column.table.is_empty() => format!("{}.{}", column.table, column.name),
            Some(column) => column.name.clone(),
            None => "?column?".into(),
        }
    }

    /// Returns whether the current row has a column of this name.
    pub(super) fn is_column(&self, name: &str) -> bool {
        let frame = self.frames.last();
        frame.is_some_and(|frame| frame.names.columns.iter().any(|column| column.name == name))
    }
}

/// `tableoid`, the only system column that is supported.
fn system_column(names: &TableNames, column: &str) -> Option<Expr> {
    let oid = names.oid.filter(|_| column == "tableoid")?;
    Some(Expr::constant(crate::types::Datum::Oid(oid), Type::OID))
}
