//! The simple protocol: a text of statements, run one after another.

use super::portal::{Portal, changed};
use super::prepared::{NO_PARAMETERS, Prepared};
use super::{Outcome, Session, Sink};
use crate::error::{Result, SqlError, state};
use crate::memory::Memory;
use env::Retries;
use model::retry::{self, Failure};
use std::sync::Arc;
use syntax::{Command, Parsed};

/// Bytes of a text whose parsing is not counted.
const UNCOUNTED_TEXT: usize = 1024;

/// Relation of a statement to its transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A transaction of its own, repeated after conflicts.
    Alone,
    /// Part of a transaction with other statements of the text, or of a block.
    Among,
}

impl Session {
    /// Runs the statements of a simple query as one transaction, unless they contain transaction commands. After an error the rest is
    /// not run.
    ///
    /// # Errors
    /// The error of the first statement that failed. The session can continue.
    pub fn simple(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<Outcome> {
        self.begin_statement(sql);
        self.portals.remove("");
        self.in_text = true;
        let outcome = crate::stack::ensure_statement_stack(sql.len(), || self.run_text(sql, sink));
        self.finish_text(outcome, sink)
    }

    fn run_text(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<Outcome> {
        self.check_statement_bytes(sql)?;
        if let Some(prepared) = self.recent.get(sql) {
            if let Some(parsed) = &prepared.parsed {
                self.check_failed(&parsed.command)?;
            }
            return self.run_alone_or_in_block(sink, &mut |session, sink| session.run_recent(&prepared, sink));
        }
        self.parsing = self.reserve_parsing(sql)?;
        let statements = syntax::statements(sql).inspect_err(|_| self.fail_open())?;
        if statements.is_empty() {
            sink.empty();
            return Ok(Outcome::Done);
        }
        let place = if statements.len() == 1 { Place::Alone } else { Place::Among };
        self.rest = statements.into();
        self.run_rest(place, sink)
    }

    /// Runs the remaining statements of a text.
    fn run_rest(&mut self, place: Place, sink: &mut dyn Sink) -> Result<Outcome> {
        while let Some(parsed) = self.rest.pop_front() {
            self.state.statement_time = crate::clock::now();
            self.list_cursors();
            self.check_failed(&parsed.command)?;
            let outcome = match place {
                Place::Alone => self.run_alone_or_in_block(sink, &mut |session, sink| session.run(&parsed, sink))?,
                Place::Among if self.rest.is_empty() => {
                    sink.begin_statement();
                    self.complete_at_commit(sink, |session, sink| {
                        let outcome = session.run_among(&parsed, sink)?;
                        if outcome == Outcome::Done {
                            session.commit_implicit()?;
                        }
                        Ok(outcome)
                    })?
                }
                Place::Among => {
                    sink.begin_statement();
                    self.run_among(&parsed, sink)?
                }
            };
            if outcome != Outcome::Done {
                return Ok(outcome);
            }
            if !self.rest.is_empty() {
                // The next statement's rows are in the encoding that this one has set.
                self.report_settings(sink);
                // A text may have a million statements, each with a notice.
                self.leave_if_full(sink)?;
                // Each statement of a text has its own time.
                self.entry.cancel.set_timeout(self.state.derived.statement_timeout);
            }
        }
        Ok(Outcome::Done)
    }

    fn run_among(&mut self, parsed: &Parsed, sink: &mut dyn Sink) -> Result<Outcome> {
        if !controls_transactions(&parsed.command) {
            self.open_implicit(false);
            if let Some(open) = &mut self.open {
                open.of_text = true;
            }
        }
        self.run(parsed, sink)
    }

    /// Completes a COPY, and continues with the statements after it.
    pub(super) fn resume_text(&mut self, tag: &str, sink: &mut dyn Sink) -> Result<Outcome> {
        self.in_text = true;
        let outcome = if self.rest.is_empty() {
            self.complete_at_commit(sink, |session, sink| {
                session.complete(tag, sink);
                session.commit_implicit()?;
                Ok(Outcome::Done)
            })
        } else {
            self.complete(tag, sink);
            self.entry.cancel.set_timeout(self.state.derived.statement_timeout);
            self.run_rest(Place::Among, sink)
        };
        self.finish_text(outcome, sink)
    }

    pub(super) fn finish_text(&mut self, outcome: Result<Outcome>, sink: &mut dyn Sink) -> Result<Outcome> {
        self.in_text = false;
        let committed = outcome.and_then(|outcome| {
            if outcome == Outcome::Done {
                // The transaction that earlier messages of the extended protocol have left open.
                self.commit_implicit()?;
            }
            Ok(outcome)
        });
        let outcome = committed.map_err(|error| {
            let error = self.explain(error);
            self.count_error(&error);
            self.fail_open();
            error
        });
        if !matches!(outcome, Ok(Outcome::CopyIn { .. })) {
            self.forget_rest();
        }
        self.end_statement(sink);
        self.show_idle();
        outcome
    }

    /// Drops what is left of a simple query.
    pub(super) fn forget_rest(&mut self) {
        self.rest.clear();
        self.parsing = None;
    }

    /// Handles an error: a block becomes a failed block, an implicit transaction is rolled back.
    pub(super) fn fail_open(&mut self) {
        if self.open.is_some() {
            self.fail();
        }
    }

    /// Ends an implicit transaction.
    pub(super) fn commit_implicit(&mut self) -> Result<()> {
        match &self.open {
            Some(open) if !open.explicit => self.commit(),
            _ => Ok(()),
        }
    }

    /// Runs a statement in the open block, or in a transaction of its own that is repeated after conflicts.
    pub(super) fn run_alone_or_in_block(
        &mut self,
        sink: &mut dyn Sink,
        run: &mut dyn FnMut(&mut Session, &mut dyn Sink) -> Result<Outcome>,
    ) -> Result<Outcome> {
        if self.open.is_some() {
            sink.begin_statement();
            return run(self, sink);
        }
        let mut retries = Retries::new(self.database.options.retry);
        let mut attempts = 0;
        let done = retry::run(&mut retries, |failed| {
            attempts = failed + 1;
            self.attempt_alone(failed, sink, run)
        });
        match done {
            Ok(outcome) => Ok(outcome),
            Err(Failure::Final(error)) => Err(error),
            Err(Failure::Conflict(error)) => Err(tried(self.explain_noted(error), attempts)),
        }
    }

    /// Runs a statement once, in a transaction of its own.
    fn attempt_alone(
        &mut self,
        failed: u32,
        sink: &mut dyn Sink,
        run: &mut dyn FnMut(&mut Session, &mut dyn Sink) -> Result<Outcome>,
    ) -> std::result::Result<Outcome, Failure<SqlError, SqlError>> {
        if failed > 0 {
            self.entry.cancel.check().map_err(Failure::Final)?;
            self.state.notices.clear();
        }
        sink.begin_statement();
        self.state.advisory.begin_attempt();
        let outcome = self.complete_at_commit(sink, |session, sink| {
            let outcome = run(session, sink)?;
            if outcome == Outcome::Done {
                session.commit_implicit()?;
            }
            Ok(outcome)
        });
        outcome.map_err(|error| {
            let failure = self.explain_unless_repeated(error).into_failure();
            let failure = match failure {
                Failure::Conflict(error) if !self.has_block() && self.may_repeat() && sink.restart() => {
                    Failure::Conflict(error)
                }
                failure => Failure::Final(self.explain(failure.into_error())),
            };
            self.fail_open();
            if let Failure::Conflict(error) = &failure {
                self.note_conflict(error, true);
                self.state.counts.clear();
            }
            failure
        })
    }

    /// Takes back what a failed attempt has done outside of its transaction; `false` if that cannot be done.
    fn may_repeat(&mut self) -> bool {
        let Session { state, database, entry, .. } = self;
        state.advisory.undo_attempt(&database.advisory, entry.process)
    }

    pub(super) fn has_block(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.explicit)
    }

    /// Runs one statement. The caller manages the transaction.
    fn run(&mut self, parsed: &Parsed, sink: &mut dyn Sink) -> Result<Outcome> {
        match &parsed.command {
            Command::Rows(_) => {
                let prepared = self.prepare(Some(parsed.clone()), Vec::new())?;
                prepared.check_values(&[])?;
                if parsed.place.len() == parsed.text.len() {
                    self.recent.put(&parsed.text, &prepared);
                }
                self.run_prepared(&prepared, sink)
            }
            _ => self.run_utility(parsed, NO_PARAMETERS, sink),
        }
    }

    /// Runs a statement that was prepared just now.
    fn run_prepared(&mut self, prepared: &Arc<Prepared>, sink: &mut dyn Sink) -> Result<Outcome> {
        self.open_implicit(prepared.only_reads());
        let plan = self.plan_if_same_shape(prepared)?.ok_or_else(changed)?;
        self.run_planned(Portal::planned(prepared.clone(), plan), sink)
    }

    /// Runs a text that was run before: by its plan if that is still valid, otherwise like a new one.
    fn run_recent(&mut self, prepared: &Arc<Prepared>, sink: &mut dyn Sink) -> Result<Outcome> {
        let was_open = self.open.is_some();
        self.open_implicit(prepared.only_reads());
        if let Some(plan) = self.kept_plan(prepared)? {
            return self.run_planned(Portal::planned(prepared.clone(), plan), sink);
        }
        if !was_open {
            self.end_lookup_transaction();
        }
        match &prepared.parsed {
            Some(parsed) => self.run(parsed, sink),
            None => Err(SqlError::new(state::INTERNAL_ERROR, "only statements over rows are kept")),
        }
    }

    fn run_planned(&mut self, mut portal: Portal, sink: &mut dyn Sink) -> Result<Outcome> {
        if let Some(fields) = &portal.prepared.fields {
            sink.fields(fields)?;
        }
        self.run_rows(&mut portal, 0, sink)
    }

    /// # Errors
    /// 54000 for a statement that is too long.
    pub(super) fn check_statement_bytes(&mut self, sql: &str) -> Result<()> {
        let limit = self.database.options.statement_bytes;
        if sql.len() <= limit {
            return Ok(());
        }
        self.fail_open();
        let message = format!("statement too long: {} bytes of {limit} allowed", sql.len());
        Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
            .hint("Split it, load rows with COPY, or raise --statement-size."))
    }

    /// Counts the memory that a text takes until its statements are planned, in the limit of all statements. A short one takes too
    /// little to be counted.
    ///
    /// # Errors
    /// 53200
    pub(super) fn reserve_parsing(&self, sql: &str) -> Result<Option<Memory>> {
        if sql.len() <= UNCOUNTED_TEXT {
            return Ok(None);
        }
        let refused = |mut error: SqlError| {
            error.fields_mut().hint = Some("Split the statement, load rows with COPY, or raise --memory.".to_owned());
            error
        };
        self.reserve(syntax::parsing_bytes(sql)).map(Some).map_err(refused)
    }

    /// # Errors
    /// 25P02 for everything but the end of a block that has failed.
    pub(super) fn check_failed(&self, command: &Command) -> Result<()> {
        let may_run = matches!(command, Command::Commit(_) | Command::Rollback(_) | Command::RollbackTo(_));
        if may_run || !self.open.as_ref().is_some_and(|open| open.failed) {
            return Ok(());
        }
        let message = "current transaction is aborted, commands ignored until end of transaction block";
        Err(SqlError::new(state::IN_FAILED_SQL_TRANSACTION, message))
    }
}

fn controls_transactions(command: &Command) -> bool {
    matches!(command, Command::Begin(_) | Command::Commit(_) | Command::Rollback(_))
}

/// Adds the number of failed attempts of a statement to its error.
fn tried(error: SqlError, attempts: u32) -> SqlError {
    let tried = format!("The server ran the statement {attempts} times.");
    let detail = match &error.fields().detail {
        Some(detail) => format!("{detail} {tried}"),
        None => tried,
    };
    error.detail(detail)
}
