//! COPY in a session. (The rows are `crate::copy`'s business.)

use super::{Outcome, Session, Sink};
use crate::error::{Result, SqlError, state};

/// A COPY FROM STDIN that waits for data.
pub(super) struct Running {}

impl Session {
    pub(super) fn start_copy(&mut self, _: &sqlparser::ast::Statement, _: &mut dyn Sink) -> Result<Outcome> {
        Err(SqlError::unsupported("COPY"))
    }

    /// COPY data, in pieces of any size.
    ///
    /// # Errors
    /// Of the data; the COPY is over then.
    pub fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Err(no_copy())
    }

    /// The end of COPY data. Goes on with what followed in a simple query.
    ///
    /// # Errors
    /// As [`Session::simple`].
    pub fn copy_done(&mut self, sink: &mut dyn Sink) -> Result<Outcome> {
        self.resume_text(sink)
    }

    /// The client gave the COPY up.
    pub fn copy_fail(&mut self, why: &str) -> SqlError {
        self.copy = None;
        SqlError::new(state::QUERY_CANCELED, format!("COPY from stdin failed: {why}"))
    }
}

fn no_copy() -> SqlError {
    SqlError::new(state::PROTOCOL_VIOLATION, "no COPY is in progress")
}
