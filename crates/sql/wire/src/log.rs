//! The server's log: events of `tracing`, which the program that serves writes where it wants. Values of parameters are not among
//! them; the text of a statement is.

use sql::error::SqlError;
use sql::session::Session;
use std::net::SocketAddr;
use std::time::Duration;

/// Target of the events.
pub const LOG: &str = "seriatim";

/// Of the server as a whole.
pub fn server(what: std::fmt::Arguments<'_>) {
    tracing::info!(target: LOG, "{what}");
}

/// Of the server as a whole, where something is wrong.
pub fn warning(what: std::fmt::Arguments<'_>) {
    tracing::warn!(target: LOG, "{what}");
}

/// An event of a session: severity, message and what else there is to say.
macro_rules! of_session {
    ($level:ident, $session:expr, $($field:ident = $value:expr,)* $message:literal $(, $argument:expr)*) => {{
        let (user, database, application) = $session.names();
        let pid = $session.key().0;
        tracing::$level!(target: LOG, pid, user, database, application, $($field = $value,)* $message $(, $argument)*);
    }};
}

fn is_on(session: &Session, name: &str) -> bool {
    session.setting(name).as_deref() == Some("on")
}

/// A session begins.
pub fn connected(session: &Session, client: SocketAddr) {
    if is_on(session, "log_connections") {
        of_session!(info, session, "connection authorized: client {}", client);
    }
}

/// A session ends.
pub fn disconnected(session: &Session, lasted: Duration) {
    if is_on(session, "log_disconnections") {
        of_session!(info, session, duration_ms = milliseconds(lasted), "disconnection");
    }
}

/// A connection is refused.
pub fn refused(client: Option<SocketAddr>, error: &SqlError) {
    let client = client.map(|client| client.to_string()).unwrap_or_default();
    tracing::error!(target: LOG, severity = "FATAL", client, sqlstate = error.code(), "{}", error.message());
}

/// A statement has failed, or a session (`FATAL`).
pub fn failed(session: &Session, severity: &'static str, error: &SqlError) {
    let least = session.setting("log_min_messages").unwrap_or_default();
    let wanted = match least.as_str() {
        "log" | "fatal" => severity == "FATAL",
        "panic" => false,
        _ => true,
    };
    if !wanted {
        return;
    }
    let fields = error.fields();
    let (detail, hint) = (fields.detail.as_deref().unwrap_or_default(), fields.hint.as_deref().unwrap_or_default());
    let statement = session.statement();
    of_session!(
        error,
        session,
        severity = severity,
        sqlstate = error.code(),
        detail = detail,
        hint = hint,
        statement = statement,
        "{}",
        error.message()
    );
}

/// A statement has ended, which took this long.
pub fn ended(session: &Session, took: Duration) {
    if session.log_min_duration().is_some_and(|least| took >= least) {
        let statement = session.statement();
        of_session!(info, session, duration_ms = milliseconds(took), statement = statement, "slow statement");
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
