//! One client's connection, from its first byte to its last.

use crate::codec::backend;
use crate::conversation::{Conversation, Next};
use crate::output::Output;
use crate::server::{Phase, Phases, Shared};
use crate::startup::{self, Start};
use bytes::BytesMut;
use sql::error::{SqlError, state};
use sql::session::Connect;
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Bytes that are read at once. A buffer that a long message has made larger is not kept.
const READ: usize = 32 << 10;

/// Serves a connection until one side ends it.
pub async fn serve(mut stream: TcpStream, client: SocketAddr, shared: Arc<Shared>) {
    let mut phases = shared.phases();
    let started = tokio::select! {
        started = startup::negotiate(&mut stream) => started,
        () = tokio::time::sleep(shared.options.startup_timeout) => return,
        _ = phases.wait_for(|phase| *phase != Phase::Serving) => Ok(Start::Refused(shutting_down())),
    };
    match started {
        Ok(Start::Session(connect)) => {
            let connect = Connect { client: Some(client), ..connect };
            converse(Arc::new(stream), connect, &shared, phases).await;
        }
        Ok(Start::Cancel { process, secret }) => {
            // Whether there was such a session is nobody's business.
            shared.database.sessions.cancel(process, secret);
        }
        Ok(Start::Refused(error)) => refuse(&stream, &error),
        Err(_) => {}
    }
}

/// Says why there will be no session.
pub fn refuse(stream: &TcpStream, error: &SqlError) {
    let mut answer = Vec::new();
    backend::error(&mut answer, "FATAL", error);
    // It fits into the empty buffer of a connection on which hardly anything was said.
    let _ = stream.try_write(&answer);
}

/// Runs what may wait or take long, on this thread, after another one has taken its place in the reactor.
fn off_reactor<T>(work: impl FnOnce() -> T) -> Result<T, SqlError> {
    tokio::task::block_in_place(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| broken(&*panic))
}

async fn converse(stream: Arc<TcpStream>, connect: Connect, shared: &Arc<Shared>, phases: Phases) {
    let opened = off_reactor(|| shared.database.connect(connect)).and_then(|opened| opened);
    let session = match opened {
        Ok(session) => session,
        Err(error) => return refuse(&stream, &error),
    };
    let output = Output::new(stream.clone(), phases.clone());
    let ended = Arc::new(Notify::new());
    session.on_end({
        let ended = ended.clone();
        move || ended.notify_one()
    });
    let running = shared.enlist(session.cancel());
    let mut conversation = Conversation::begin(session, output, shared.database.options.statement_bytes);
    let end = exchange(&stream, &mut conversation, phases, &ended).await;
    // Rolling back, and telling the client, may both wait. A panic in a rollback has been logged, and concerns nobody else.
    let _ = off_reactor(move || {
        if let Some(error) = end {
            conversation.end(&error);
        }
        drop(conversation);
    });
    drop(running);
}

/// Messages and answers until the end; with the reason, if it is the server's.
async fn exchange(
    stream: &TcpStream,
    conversation: &mut Conversation,
    mut phases: Phases,
    ended: &Notify,
) -> Option<SqlError> {
    let mut input = BytesMut::new();
    loop {
        match off_reactor(|| conversation.run(&mut input)) {
            Ok(Next::Read) => {}
            Ok(Next::Close) => return None,
            Err(panicked) => return Some(panicked),
        }
        let deadline = conversation.patience().and_then(|patience| Instant::now().checked_add(patience));
        loop {
            if input.is_empty() && input.capacity() > READ {
                input = BytesMut::new();
            }
            tokio::select! {
                biased;
                _ = phases.wait_for(|phase| *phase != Phase::Serving) => return Some(shutting_down()),
                () = ended.notified() => return Some(shutting_down()),
                read = read(stream, &mut input) => if !matches!(read, Ok(1..)) { return None },
                () = at(deadline) => return Some(idle_in_transaction()),
            }
            if conversation.has_work(&mut input) {
                break;
            }
        }
    }
}

/// Waits for bytes, and appends them.
async fn read(stream: &TcpStream, input: &mut BytesMut) -> io::Result<usize> {
    loop {
        stream.readable().await?;
        input.reserve(READ);
        match stream.try_read_buf(input) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn shutting_down() -> SqlError {
    SqlError::new(state::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
}

fn idle_in_transaction() -> SqlError {
    let message = "terminating connection due to idle-in-transaction timeout";
    SqlError::new(state::IDLE_IN_TRANSACTION_SESSION_TIMEOUT, message)
}

/// The panic itself has been logged with its place by the hook.
fn broken(panic: &(dyn Any + Send)) -> SqlError {
    let what = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("internal error: {}", what.unwrap_or("a panic"));
    SqlError::new(state::INTERNAL_ERROR, message).hint("This is a fault of the server. Its log has more of it.")
}
