//! Name resolution: the rows that an expression may refer to, from the current row outwards.

use super::Binder;
use super::calls::Calls;
use super::clause::{Clause, Definition};
use super::found::{Presence, Wanted};
use super::name::fold;
use super::similar::Suggestions;
use super::system_column::SYSTEM_COLUMNS;
use super::walk::{self, outwards};
use crate::catalog::{Oid, Table};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, ExprKind};
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
    /// What says whether an outer join found the row.
    pub found: Presence,
    /// Whether it is the value of a function: its name then denotes the value, not a row.
    pub is_value: bool,
    /// The view that it is, if it is one.
    pub view: Option<Oid>,
}

impl TableNames {
    /// The number of a relation's own column; `None` for a column of a subquery, whose origin is another's.
    pub fn own(&self, column: &ScopeColumn) -> Option<(Oid, u16)> {
        column.origin.filter(|(oid, _)| [self.oid, self.view].contains(&Some(*oid)))
    }
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
            table.found.shift(by);
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

/// The rows in scope: what a column name may refer to at the place that is being bound.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Rows that expressions may refer to; the current row is last.
    frames: Vec<Frame>,
    /// First frame that a LATERAL item of the current FROM clause may refer to.
    lateral_base: usize,
    /// Tables of the FROM clauses that are being bound, for messages only.
    siblings: Vec<TableNames>,
    /// What tables of FROM return beside their columns.
    pub wanted: Wanted,
}

impl Scope {
    /// Returns the frame of the current row.
    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("expressions are bound within a frame")
    }

    /// The definition to which the current clause belongs.
    pub(super) fn definition(&self) -> Option<Definition> {
        match self.frames.last()?.clause {
            Clause::Definition(definition) => Some(definition),
            _ => None,
        }
    }

    /// The frames whose names can be referred to, the nearest first, each with its distance from the current row.
    fn visible(&self) -> impl Iterator<Item = (usize, &Frame)> {
        self.frames.iter().rev().enumerate().filter(|(_, frame)| !frame.hidden)
    }

    /// The clause that is bound over the row at this distance.
    fn clause_at(&self, distance: usize) -> Clause {
        self.frames.iter().rev().nth(distance).map_or(Clause::Select, |frame| frame.clause)
    }

    /// The nearest column of this name, and the distance of its row from the current one.
    ///
    /// # Errors
    /// 42702 if a row has two columns of this name.
    fn column(&self, name: &str) -> Result<Option<(usize, &ScopeColumn)>> {
        for (distance, frame) in self.visible() {
            let mut matches = frame.names.columns.iter().filter(|column| column.name == name);
            if let Some(column) = matches.next() {
                if matches.next().is_some() {
                    let message = format!("column reference \"{name}\" is ambiguous");
                    return Err(SqlError::new(state::AMBIGUOUS_COLUMN, message));
                }
                return Ok(Some((distance, column)));
            }
        }
        Ok(None)
    }

    /// The nearest table of FROM with this name or alias, and its distance from the current row.
    ///
    /// # Errors
    /// 42P09 if a row has two such tables.
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<(usize, &TableNames)>> {
        for (distance, frame) in self.visible() {
            let is_it = |table: &&TableNames| {
                table.name == name && schema.is_none_or(|schema| table.schema.as_deref() == Some(schema))
            };
            let mut matches = frame.names.tables.iter().filter(is_it);
            if let Some(table) = matches.next() {
                if matches.next().is_some() {
                    return Err(SqlError::new("42P09", format!("table reference \"{name}\" is ambiguous")));
                }
                return Ok(Some((distance, table)));
            }
        }
        Ok(None)
    }

    /// The table of FROM whose name and column name mean a column; `None` for a merged column that is no table's, and where
    /// another table hides the name.
    pub(super) fn table_of(&self, distance: usize, column: &ScopeColumn) -> Option<&TableNames> {
        let frame = self.frames.iter().rev().nth(distance)?;
        let ExprKind::Column(at) = column.value.kind else { return None };
        let is_it = |other: &&ScopeColumn| matches!(other.value.kind, ExprKind::Column(place) if place == at);
        let holds = |table: &&TableNames| {
            let mut same = table.columns.iter().filter(|other| other.name == column.name);
            same.next().is_some_and(|found| is_it(&found)) && same.next().is_none()
        };
        let table = frame.names.tables.iter().find(holds)?;
        let found = self.table(None, &table.name).ok()??;
        (found.0 == distance && std::ptr::eq(found.1, table)).then_some(table)
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

    /// Returns whether the current row has a column of this name.
    pub(super) fn is_column(&self, name: &str) -> bool {
        let frame = self.frames.last();
        frame.is_some_and(|frame| frame.names.columns.iter().any(|column| column.name == name))
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

    /// The number of tables noted for messages so far, for [`Scope::forget_siblings`].
    pub(super) fn siblings(&self) -> usize {
        self.siblings.len()
    }

    /// Notes tables that cannot be referred to, for messages.
    pub(super) fn note_siblings(&mut self, names: &Names) {
        self.siblings.extend(names.tables.iter().cloned());
    }

    /// Forgets the tables noted since: their FROM clause is complete.
    pub(super) fn forget_siblings(&mut self, count: usize) {
        self.siblings.truncate(count);
    }

    /// The error of a table that is not in scope.
    fn missing_table(&self, schema: Option<&str>, name: &str) -> SqlError {
        let hidden = self.frames.iter().filter(|frame| frame.hidden).flat_map(|frame| &frame.names.tables);
        let unreachable = hidden.chain(&self.siblings).any(|table| table.name == name);
        let all = self.frames.iter().rev().flat_map(|frame| &frame.names.tables);
        let alias = all.filter(|table| table.behind.as_deref() == Some(name)).map(|table| &table.name).next();
        let invalid = || {
            SqlError::new(
                state::UNDEFINED_TABLE,
                format!("invalid reference to FROM-clause entry for table \"{name}\""),
            )
        };
        match alias {
            Some(alias) => invalid().hint(format!("Perhaps you meant to reference the table alias \"{alias}\".")),
            None if unreachable => invalid().hint(format!(
                "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
            )),
            None => {
                let full = schema.map_or(name.to_owned(), |schema| format!("{schema}.{name}"));
                SqlError::new(state::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{full}\""))
            }
        }
    }

    /// The error of a column that is not in scope, with the columns of similar names.
    fn missing_column(&self, table: Option<&str>, column: &str) -> SqlError {
        let message = match table {
            Some(table) => format!("column {table}.{column} does not exist"),
            None => format!("column \"{column}\" does not exist"),
        };
        let mut suggestions = Suggestions::new(table, column);
        for names in self.frames.iter().rev().flat_map(|frame| &frame.names.tables) {
            names.columns.iter().for_each(|candidate| suggestions.consider(&names.name, &candidate.name));
        }
        suggestions.explain(SqlError::new(state::UNDEFINED_COLUMN, message))
    }
}

/// How the binder enters and leaves rows, and resolves names in them.
impl Binder<'_, '_> {
    /// Binds in a clause over a row: pushes its frame, and pops it again.
    pub(super) fn within<T>(
        &mut self,
        names: Names,
        clause: Clause,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Frame)> {
        self.in_frame(Frame::new(names, clause), bind)
    }

    fn in_frame<T>(&mut self, frame: Frame, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Frame)> {
        self.scope.frames.push(frame);
        let result = bind(self);
        let frame = self.scope.frames.pop().expect("the frame that was pushed");
        Ok((result?, frame))
    }

    /// Binds the right side of a join. The left side's names are hidden, except from [`Binder::laterally`].
    pub(super) fn right_of<T>(&mut self, left: &Names, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.scope.siblings.extend(left.tables.iter().cloned());
        let frame = Frame { hidden: true, ..Frame::new(left.clone(), Clause::FromFunction) };
        self.in_frame(frame, bind).map(|(bound, _)| bound)
    }

    /// Binds an item that may refer to the left sides of the enclosing joins.
    pub(super) fn laterally<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let reachable = &self.scope.frames[self.scope.lateral_base..];
        let around = reachable.iter().rev().take_while(|frame| frame.hidden).count();
        let first = self.scope.frames.len() - around;
        self.scope.frames[first..].iter_mut().for_each(|frame| frame.hidden = false);
        let result = bind(self);
        self.scope.frames[first..first + around].iter_mut().for_each(|frame| frame.hidden = true);
        result
    }

    /// Binds a subquery of FROM: its own LATERAL items do not reach beyond it, and its tables need not return more than columns.
    pub(super) fn in_derived<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let wanted = std::mem::take(&mut self.scope.wanted);
        let base = std::mem::replace(&mut self.scope.lateral_base, self.scope.frames.len());
        let bound = bind(self);
        self.scope.lateral_base = base;
        self.scope.wanted = wanted;
        bound
    }

    /// Changes the current clause while `bind` runs.
    pub(super) fn in_clause<T>(&mut self, clause: Clause, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.scope.frame().clause, clause);
        let result = bind(self);
        self.scope.frame().clause = before;
        result
    }

    /// `column`, or a table's name for its whole row.
    pub(super) fn unqualified(&mut self, name: &Ident) -> Result<Expr> {
        let folded = fold(name);
        let at = name.span.start;
        let found = self.scope.column(&folded).map_err(|error| self.text.error_at(error, at))?;
        if let Some((distance, column)) = found.map(|(distance, column)| (distance, column.clone())) {
            let value = outwards(&column.value, distance);
            self.note_column(name, distance, &column);
            self.scope.mention(&value, at);
            return Ok(value);
        }
        let named = |(distance, frame): (usize, &Frame)| {
            Some((distance, frame.names.tables.iter().find(|table| table.name == folded)?.clone()))
        };
        let found = self.scope.visible().find_map(named);
        if let Some((distance, table)) = found {
            return Ok(outwards(&self.whole_row(&table)?, distance));
        }
        if let Some(value) = self.unqualified_system_column(&folded).map_err(|error| self.text.error_at(error, at))? {
            return Ok(value);
        }
        Err(self.text.error_at(self.scope.missing_column(None, &folded), at))
    }

    /// A system column of the nearest tables of FROM.
    ///
    /// # Errors
    /// 42702 if a row is of several tables.
    fn unqualified_system_column(&mut self, column: &str) -> Result<Option<Expr>> {
        let tables = |(distance, frame): (usize, &Frame)| {
            let mut tables = frame.names.tables.iter().filter(|table| table.oid.is_some());
            Some((distance, frame.clause, tables.next()?.clone(), tables.next().is_some()))
        };
        if !SYSTEM_COLUMNS.contains(&column) {
            return Ok(None);
        }
        let Some((distance, clause, table, several)) = self.scope.visible().find_map(tables) else { return Ok(None) };
        if several {
            let message = format!("column reference \"{column}\" is ambiguous");
            return Err(SqlError::new(state::AMBIGUOUS_COLUMN, message));
        }
        Ok(self.system_column(&table, clause, column)?.map(|value| outwards(&value, distance)))
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
                return Err(self.text.error_at(SqlError::new(state::SYNTAX_ERROR, message), location));
            }
        };
        let (distance, names) = self.table_in_scope(schema, table, location)?;
        let (clause, names) = (self.scope.clause_at(distance), names.clone());
        if let Some(found) = names.columns.iter().find(|found| found.name == *column) {
            let value = outwards(&found.value, distance);
            let origin = names.own(found);
            self.note_qualified(location, origin);
            self.scope.mention(&value, location);
            return Ok(value);
        }
        let value = self.system_column(&names, clause, column).map_err(|error| self.text.error_at(error, location))?;
        if let Some(value) = value {
            return Ok(outwards(&value, distance));
        }
        Err(self.text.error_at(self.scope.missing_column(Some(table), column), location))
    }

    /// The columns of `table.*`, as seen from the current row.
    pub(super) fn table_columns(&self, name: &ObjectName) -> Result<Vec<ScopeColumn>> {
        let (schema, table) = super::name::split(name)?;
        let (distance, names) = self.table_in_scope(schema.as_deref(), &table, super::name::location(name))?;
        let column = |column: &ScopeColumn| ScopeColumn { value: outwards(&column.value, distance), ..column.clone() };
        Ok(names.columns.iter().map(column).collect())
    }

    pub(super) fn table_in_scope(
        &self,
        schema: Option<&str>,
        name: &str,
        at: Location,
    ) -> Result<(usize, &TableNames)> {
        match self.scope.table(schema, name) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(self.text.error_at(self.scope.missing_table(schema, name), at)),
            Err(error) => Err(self.text.error_at(error, at)),
        }
    }
}

/// Name of a column of the current row in messages.
pub(super) fn column_title(names: &Names, at: usize) -> String {
    if let Some(table) = names.tables.iter().find(|table| table.found == Presence::Column(at)) {
        return format!("{}.*", table.name);
    }
    let is_it = |column: &&ScopeColumn| matches!(column.value.kind, ExprKind::Column(c) if c == at);
    let mut columns = names.tables.iter().flat_map(|table| &table.columns).chain(&names.columns);
    match columns.find(is_it) {
        Some(column) if !column.table.is_empty() => format!("{}.{}", column.table, column.name),
        Some(column) => column.name.clone(),
        None => "?column?".into(),
    }
}
