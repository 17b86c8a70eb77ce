//! Portals: statements in execution, with their progress.

use super::cursor::Place;
use super::prepared::Prepared;
use super::{Outcome, Session, Sink};
use crate::cancel::Cancel;
use crate::context::{Exec, Memory, row_bytes};
use crate::database::Database;
use crate::dml::{self, Changed};
use crate::env::CursorInfo;
use crate::error::{Result, SqlError, state};
use crate::exec::Cursor;
use crate::pg_catalog;
use crate::plan::{Field, Statement};
use crate::store::Store;
use crate::types::{Datum, Row, Scalar};
use model::LogPosition;
use std::collections::VecDeque;
use std::sync::Arc;
use syntax::{Command, Rows};

/// A statement with its parameters, being executed.
pub(super) struct Portal {
    pub prepared: Arc<Prepared>,
    pub parameters: Vec<Datum>,
    progress: Progress,
    /// The plan, if it has just been found.
    plan: Option<Arc<Statement>>,
    /// WITH HOLD: its rows outlive the transaction.
    pub hold: bool,
    held: bool,
    /// Whether it has run a statement without rows to its end.
    pub spent: bool,
    /// What its cursor and its rows hold between calls.
    pub memory: Option<Memory>,
    /// Where it stands.
    pub place: Place,
    /// Portals are numbered in the order in which they were entered.
    pub number: u64,
    /// What `pg_cursors` shows of it, if it has a name.
    shown: Option<Arc<CursorInfo>>,
}

/// Progress of a portal.
enum Progress {
    /// Not started.
    Ready,
    /// Running a query.
    Running(Box<Cursor>),
    /// Computed rows, the word of the tag, and the number of changed rows.
    Rows(VecDeque<Row>, &'static str, Option<u64>),
    /// Complete.
    Done,
}

impl Portal {
    pub fn new(prepared: Arc<Prepared>, parameters: Vec<Datum>, hold: bool) -> Portal {
        let progress = Progress::Ready;
        Portal {
            prepared,
            parameters,
            progress,
            plan: None,
            hold,
            held: false,
            spent: false,
            memory: None,
            place: Place::default(),
            number: 0,
            shown: None,
        }
    }

    /// Of a statement without parameters whose plan has just been found.
    pub fn planned(prepared: Arc<Prepared>, plan: Arc<Statement>) -> Portal {
        Portal { plan: Some(plan), ..Portal::new(prepared, Vec::new(), false) }
    }

    /// Returns whether it stays at the end of the transaction.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Counts the values of its parameters.
    pub fn count_parameters(&mut self, database: &Database) -> Result<()> {
        let mut memory = database.memory(usize::MAX);
        memory.take(row_bytes(&self.parameters))?;
        self.memory = Some(memory);
        Ok(())
    }

    /// Moves the memory that the portal holds to the statement's account for a call.
    fn lend(memory: &mut Option<Memory>, exec: &mut Exec<'_>) {
        if let Some(left) = memory {
            exec.memory.resume(left);
        }
    }

    /// Returns whether it may move backward.
    pub fn scrolls(&self) -> bool {
        self.place.scrolls()
    }

    pub fn fields(&self) -> Option<Vec<Field>> {
        self.prepared.fields.clone()
    }
}

impl Session {
    /// Runs a portal over rows for at most `max_rows` rows (0: all) in the open transaction.
    pub(super) fn run_rows(&mut self, portal: &mut Portal, max_rows: usize, sink: &mut dyn Sink) -> Result<Outcome> {
        let wanted = if max_rows == 0 { None } else { Some(max_rows as u64) };
        let (sent, is_finished) = self.send_rows(portal, wanted, sink)?;
        if !is_finished {
            return Ok(Outcome::Suspended);
        }
        portal.memory = None;
        match std::mem::replace(&mut portal.progress, Progress::Done) {
            Progress::Rows(_, word, Some(changed)) => {
                let zero = if word == "INSERT" { " 0" } else { "" };
                self.complete(&format!("{word}{zero} {changed}"), sink);
            }
            _ => self.complete(&format!("SELECT {sent}"), sink),
        }
        Ok(Outcome::Done)
    }

    /// Sends at most `wanted` rows of a portal (`None`: all). Returns how many it sent, and whether there are no more.
    pub(super) fn send_rows(
        &mut self,
        portal: &mut Portal,
        wanted: Option<u64>,
        sink: &mut dyn Sink,
    ) -> Result<(u64, bool)> {
        if matches!(portal.progress, Progress::Ready) {
            self.start(portal)?;
        }
        if portal.scrolls() {
            let sent = self.scroll(portal, Rows::Forward(wanted), Some(sink))?;
            return Ok((sent, wanted.is_none_or(|wanted| sent < wanted)));
        }
        let named = self.announce(portal, sink);
        let before = self.awaited();
        let (sent, has_ended) = match &mut portal.progress {
            Progress::Running(cursor) => {
                let (mut exec, log) = self.exec_and_log(&portal.parameters)?;
                Portal::lend(&mut portal.memory, &mut exec);
                let mut next = || {
                    let mut row = cursor.next(&mut exec)?;
                    pg_catalog::print_names(&mut exec.names(), &named, row.as_deref_mut())?;
                    Ok(row.map(|row| (row, before.max(exec.transaction.rests_on()))))
                };
                let sent = send(&mut next, wanted, log, sink);
                portal.memory = Some(exec.memory);
                sent
            }
            Progress::Rows(rows, ..) if named.is_empty() => {
                let mut next = || Ok(rows.pop_front().map(|row| (row, before)));
                send(&mut next, wanted, (&*self.database.store, &*self.entry.cancel), sink)
            }
            Progress::Rows(rows, ..) => {
                let (mut exec, log) = self.exec_and_log(&portal.parameters)?;
                let mut next = || {
                    let mut row = rows.pop_front();
                    pg_catalog::print_names(&mut exec.names(), &named, row.as_deref_mut())?;
                    Ok(row.map(|row| (row, before.max(exec.transaction.rests_on()))))
                };
                send(&mut next, wanted, log, sink)
            }
            Progress::Ready | Progress::Done => Ok((0, true)),
        }?;
        portal.place.advance(sent, has_ended);
        Ok((sent, has_ended))
    }

    /// Tells a sink the columns of the rows that follow. Returns the columns whose values are sent as names.
    pub(super) fn announce(&self, portal: &Portal, sink: &mut dyn Sink) -> Vec<(usize, Scalar)> {
        let Some(fields) = &portal.prepared.fields else { return Vec::new() };
        sink.rows(fields, &self.state.styles());
        pg_catalog::names_in(fields, |column| sink.resolves_names(column))
    }

    /// Starts a portal: opens a cursor for a query; runs any other statement at once.
    pub(super) fn start(&mut self, portal: &mut Portal) -> Result<()> {
        let statement = match portal.plan.take() {
            Some(plan) => plan,
            None => self.plan_of(&portal.prepared)?,
        };
        self.check_writable(&statement)?;
        if !matches!(&*statement, Statement::Query(query) if !query.locks) {
            self.freeze_cursors()?;
        }
        let mut exec = self.exec(&portal.parameters)?;
        Portal::lend(&mut portal.memory, &mut exec);
        let (word, changed) = match &*statement {
            Statement::Query(query) => {
                portal.progress = Progress::Running(Box::new(Cursor::new(query.plan.clone())));
                return Ok(());
            }
            Statement::Insert(insert) => ("INSERT", dml::insert(&mut exec, insert)?),
            Statement::Update(update) => ("UPDATE", dml::update(&mut exec, update)?),
            Statement::Modifying(modifying) => (word_of(&modifying.body), dml::modifying(&mut exec, modifying)?),
            Statement::Delete(delete) => ("DELETE", dml::delete(&mut exec, delete)?),
            Statement::Merge(merge) => ("MERGE", dml::merge(&mut exec, merge)?),
        };
        let Changed { rows, returned } = changed;
        debug_assert!(statement.columns().is_some() || returned.is_empty());
        // What it read is gone, what it returns stays.
        exec.memory.back_to(returned.iter().map(|row| row_bytes(row)).sum());
        portal.memory = Some(exec.memory);
        portal.progress = Progress::Rows(returned.into(), word, (word != "SELECT").then_some(rows));
        Ok(())
    }

    /// Refuses statements that write or lock in a read-only transaction.
    pub(super) fn check_writable(&self, statement: &Statement) -> Result<()> {
        if !self.is_read_only() || matches!(statement, Statement::Query(query) if !query.locks) {
            return Ok(());
        }
        let word = match statement {
            _ if self.only_guessed_read_only() => return Err(changed()),
            Statement::Query(_) => "SELECT FOR UPDATE",
            other => word_of(other),
        };
        Err(read_only(word))
    }

    /// Reads the remaining rows of the open cursors before a write, since a cursor sees the state at its start.
    pub(super) fn freeze_cursors(&mut self) -> Result<()> {
        let running =
            |(name, portal): (&String, &Portal)| matches!(portal.progress, Progress::Running(_)).then(|| name.clone());
        let names: Vec<String> = self.portals.iter().filter_map(running).collect();
        for name in names {
            self.freeze(&name)?;
        }
        Ok(())
    }

    fn freeze(&mut self, name: &str) -> Result<()> {
        let Some(mut portal) = self.portals.remove(name) else { return Ok(()) };
        let frozen = self.read_rest(&mut portal).map_err(|error| of_cursor(error, name));
        self.portals.insert(name.to_owned(), portal);
        frozen
    }

    fn read_rest(&mut self, portal: &mut Portal) -> Result<()> {
        if matches!(portal.progress, Progress::Ready) {
            self.start(portal)?;
        }
        let Progress::Running(cursor) = &mut portal.progress else { return Ok(()) };
        let mut rows = VecDeque::new();
        let mut exec = self.exec(&portal.parameters)?;
        Portal::lend(&mut portal.memory, &mut exec);
        while let Some(row) = cursor.next(&mut exec)? {
            exec.memory.take(row_bytes(&row))?;
            rows.push_back(row);
        }
        // The cursor is dropped, with the memory that it held.
        exec.memory.back_to(portal.place.bytes() + rows.iter().map(|row| row_bytes(row)).sum::<usize>());
        portal.memory = Some(exec.memory);
        portal.progress = Progress::Rows(rows, "SELECT", None);
        Ok(())
    }

    /// Before COMMIT: cursors WITH HOLD read the rest of their rows.
    pub(super) fn read_held_cursors(&mut self) -> Result<()> {
        let names: Vec<String> =
            self.portals.iter().filter(|(_, portal)| portal.hold).map(|(name, _)| name.clone()).collect();
        names.iter().try_for_each(|name| self.freeze(name))
    }

    /// After COMMIT: cursors WITH HOLD stay.
    pub(super) fn hold_cursors(&mut self) {
        self.portals.values_mut().for_each(|portal| portal.held = portal.hold);
    }

    /// Drops the portals that are not WITH HOLD, at the end of a transaction.
    pub(super) fn end_portals(&mut self) {
        self.portals.retain(|_, portal| portal.is_held());
    }

    /// Lists the cursors for `pg_cursors`.
    pub(super) fn list_cursors(&mut self) {
        self.state.cursors.clear();
        self.state.cursors.extend(self.portals.values().filter_map(|portal| portal.shown.clone()));
    }

    /// Stores a new portal under a name.
    pub(super) fn enter_portal(&mut self, name: &str, mut portal: Portal) {
        self.portals_entered += 1;
        portal.number = self.portals_entered;
        let shown = || CursorInfo {
            name: name.to_owned(),
            text: portal.prepared.parsed.as_ref().map(|parsed| parsed.source().to_owned()).unwrap_or_default(),
            at: self.state.statement_time,
            is_holdable: portal.hold,
            is_scrollable: portal.scrolls(),
        };
        portal.shown = (!name.is_empty()).then(|| Arc::new(shown()));
        self.portals.insert(name.to_owned(), portal);
    }

    /// Skips rows of a portal (MOVE), and returns their number.
    pub(super) fn skip_rows(&mut self, portal: &mut Portal, count: Option<u64>) -> Result<u64> {
        if matches!(portal.progress, Progress::Ready) {
            self.start(portal)?;
        }
        if portal.scrolls() {
            return self.scroll(portal, Rows::Forward(count), None);
        }
        let mut skipped = 0;
        while count.is_none_or(|count| skipped < count) {
            if self.next_row(portal)?.is_none() {
                portal.place.advance(skipped, true);
                return Ok(skipped);
            }
            skipped += 1;
        }
        portal.place.advance(skipped, false);
        Ok(skipped)
    }

    /// Same as the function, with all that the answers so far depend on.
    pub(super) fn leave_if_full(&self, sink: &mut dyn Sink) -> Result<()> {
        leave_if_full(sink, (&*self.database.store, &*self.entry.cancel), self.awaited())
    }

    /// The next row of a portal that has started.
    pub(super) fn next_row(&mut self, portal: &mut Portal) -> Result<Option<Row>> {
        match &mut portal.progress {
            Progress::Running(cursor) => {
                let mut exec = self.exec(&portal.parameters)?;
                Portal::lend(&mut portal.memory, &mut exec);
                let row = cursor.next(&mut exec)?;
                portal.memory = Some(exec.memory);
                Ok(row)
            }
            Progress::Rows(rows, ..) => Ok(rows.pop_front()),
            Progress::Ready | Progress::Done => Ok(None),
        }
    }

    /// The protocol calls it a portal, SQL a cursor.
    pub(super) fn portal_named(&mut self, what: &str, name: &str) -> Result<Portal> {
        let unknown = || SqlError::new(state::INVALID_CURSOR_NAME, format!("{what} \"{name}\" does not exist"));
        self.portals.remove(name).ok_or_else(unknown)
    }

    /// Returns whether a portal runs a statement over rows.
    pub(super) fn is_over_rows(portal: &Portal) -> bool {
        matches!(&portal.prepared.parsed, Some(parsed) if matches!(parsed.command, Command::Rows(_)))
    }
}

/// Sends rows, each with the log position on which it and everything before it depend. Returns true if there are no more, false if
/// the wanted number was sent.
pub(super) fn send(
    next: &mut dyn FnMut() -> Result<Option<(Row, LogPosition)>>,
    wanted: Option<u64>,
    log: (&dyn Store, &Cancel),
    sink: &mut dyn Sink,
) -> Result<(u64, bool)> {
    let mut sent = 0;
    while wanted.is_none_or(|wanted| sent < wanted) {
        let Some((row, rests_on)) = next()? else { return Ok((sent, true)) };
        sink.row(&row)?;
        leave_if_full(sink, log, rests_on)?;
        sent += 1;
    }
    Ok((sent, false))
}

/// Sends the contents of a full sink before its statement is complete, once everything on which they depend is durable.
pub(super) fn leave_if_full(
    sink: &mut dyn Sink,
    (store, cancel): (&dyn Store, &Cancel),
    rests_on: LogPosition,
) -> Result<()> {
    if !sink.is_full() {
        return Ok(());
    }
    if rests_on > LogPosition::ZERO {
        cancel.wait_durable(store, rests_on)?;
    }
    sink.leave()
}

/// The error when a relation of a statement has changed since it was planned, so that the statement must be repeated.
pub(super) fn changed() -> SqlError {
    let message = "could not serialize access due to concurrent update";
    let mut error = SqlError::new(state::SERIALIZATION_FAILURE, message)
        .detail("Another transaction has changed a relation that the statement names.");
    error.fields_mut().retryable = true;
    error
}

/// First word of a statement's tag.
fn word_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) => "SELECT",
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::Merge(_) => "MERGE",
        Statement::Modifying(modifying) => word_of(&modifying.body),
    }
}

/// 25006
pub(super) fn read_only(word: &str) -> SqlError {
    let message = format!("cannot execute {word} in a read-only transaction");
    SqlError::new(state::READ_ONLY_SQL_TRANSACTION, message)
}

/// Explains that a cursor could not be read to its end: the failing statement is another one.
fn of_cursor(mut error: SqlError, name: &str) -> SqlError {
    if error.code() == state::OUT_OF_MEMORY {
        let fields = error.fields_mut();
        fields.message = format!("{}, for the rest of cursor \"{name}\"", fields.message);
        fields.detail = Some(
            "A cursor sees the state at its start: before its transaction writes, the rest of its rows is read into memory.".to_owned(),
        );
        fields.hint = Some("Close the cursor before the write, or raise \"work_mem\".".to_owned());
    }
    error
}
