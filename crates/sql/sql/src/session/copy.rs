//! COPY in a session: its protocol with the client. `crate::copy` reads and writes the rows.

use super::portal::{leave_if_full, read_only};
use super::{Outcome, Session, Sink};
use crate::copy::{CopyIn, CopyOut};
use crate::error::{Result, SqlError, state};
use syntax::ast::{Copy, CopySource};

/// A COPY FROM STDIN that waits for data.
pub(super) struct Running {
    copy: CopyIn,
    /// Whether it is part of a simple query, whose remaining statements are run after it.
    in_text: bool,
}

impl Session {
    /// Starts a COPY: asks the client for data, or sends all rows to the client.
    pub(super) fn start_copy(&mut self, statement: &Copy, sink: &mut dyn Sink) -> Result<Outcome> {
        // A query may be DELETE ... RETURNING.
        self.open_implicit(statement.to && matches!(statement.source, CopySource::Table { .. }));
        if statement.to {
            return self.copy_out(statement, sink);
        }
        if self.is_read_only() {
            return Err(read_only("COPY FROM"));
        }
        self.freeze_cursors()?;
        let copy = CopyIn::start(&mut self.exec(&[])?, statement)?;
        let outcome = Outcome::CopyIn { columns: copy.columns(), binary: copy.is_binary() };
        self.copy = Some(Running { copy, in_text: self.in_text });
        Ok(outcome)
    }

    fn copy_out(&mut self, statement: &Copy, sink: &mut dyn Sink) -> Result<Outcome> {
        if matches!(statement.source, CopySource::Query(_)) {
            self.freeze_cursors()?;
        }
        let before = self.awaited();
        let (mut exec, log) = self.exec_and_log(&[])?;
        let mut copy = CopyOut::start(&mut exec, statement)?;
        sink.copy_out_start(copy.columns(), copy.is_binary());
        let mut line = Vec::new();
        while copy.next(&mut exec, &mut line)? {
            sink.copy_data(&line)?;
            leave_if_full(sink, log, before.max(exec.transaction.rests_on()))?;
            line.clear();
        }
        if !line.is_empty() {
            sink.copy_data(&line)?;
        }
        sink.copy_done();
        self.complete(&format!("COPY {}", copy.rows()), sink);
        Ok(Outcome::Done)
    }

    /// COPY data, in pieces of any size.
    ///
    /// # Errors
    /// Errors of the data; the COPY is over then.
    pub fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        let mut running = self.copy.take().ok_or_else(no_copy)?;
        let taken = match self.exec(&[]) {
            Ok(mut exec) => running.copy.data(&mut exec, data),
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => {
                self.copy = Some(running);
                Ok(())
            }
            Err(error) => Err(self.end_copy(error)),
        }
    }

    /// Ends the COPY data, and continues with the remaining statements of a simple query.
    ///
    /// # Errors
    /// Errors of [`Session::simple`].
    pub fn copy_done(&mut self, sink: &mut dyn Sink) -> Result<Outcome> {
        let running = self.copy.take().ok_or_else(no_copy)?;
        let finished = match self.exec(&[]) {
            Ok(mut exec) => running.copy.finish(&mut exec),
            Err(error) => Err(error),
        };
        match finished {
            Ok(rows) => {
                let tag = format!("COPY {rows}");
                if running.in_text {
                    return self.resume_text(&tag, sink);
                }
                self.complete(&tag, sink);
                self.end_statement(sink);
                Ok(Outcome::Done)
            }
            Err(error) => Err(self.end_copy(error)),
        }
    }

    /// The client cancelled the COPY.
    pub fn copy_fail(&mut self, why: &str) -> SqlError {
        self.copy = None;
        self.end_copy(SqlError::new(state::QUERY_CANCELED, format!("COPY from stdin failed: {why}")))
    }

    fn end_copy(&mut self, error: SqlError) -> SqlError {
        let error = self.explain(error);
        self.forget_rest();
        self.fail_open();
        error
    }
}

fn no_copy() -> SqlError {
    SqlError::new(state::PROTOCOL_VIOLATION, "no COPY is in progress")
}
