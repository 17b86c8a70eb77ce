//! The connection of one client.

use crate::codec::backend;
use crate::conversation::{Conversation, Next};
use crate::log;
use crate::output::Output;
use crate::server::{Phase, Phases, Shared};
use crate::startup::{self, Start};
use bytes::BytesMut;
use model::Supervisor;
use sql::cancel::{Cancel, Wait, terminated};
use sql::error::{SqlError, state};
use sql::session::Connect;
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Bytes read at once. A buffer enlarged by a long message is not kept.
const READ: usize = 32 << 10;

/// Serves a connection until one side ends it.
pub async fn serve(mut stream: TcpStream, client: SocketAddr, shared: Arc<Shared>) {
    let mut phases = shared.phases();
    let started = tokio::select! {
        started = startup::negotiate(&mut stream) => started,
        () = tokio::time::sleep(shared.options.startup_timeout) => return,
        _ = phases.wait_for(|phase| *phase != Phase::Serving) => Ok(Start::Refused(terminated())),
    };
    match started {
        Ok(Start::Session(connect)) => {
            let connect = Connect { client: Some(client), ..connect };
            converse(Arc::new(stream), connect, &shared, phases).await;
        }
        Ok(Start::Cancel { process, secret }) => {
            // The protocol does not report whether the session existed.
            shared.database.sessions.cancel(process, secret);
        }
        Ok(Start::Refused(error)) => {
            log::refused(Some(client), &error);
            refuse(&stream, &error);
        }
        Err(_) => {}
    }
}

/// Waits for a client to say who it is, and refuses it. Requests to cancel end without an answer, as ever.
pub async fn refuse_start(
    mut stream: TcpStream,
    client: SocketAddr,
    patience: Duration,
    reason: &(dyn Fn() -> SqlError + Send + Sync),
) {
    let error = match tokio::time::timeout(patience, startup::negotiate(&mut stream)).await {
        Ok(Ok(Start::Session(_))) => reason(),
        Ok(Ok(Start::Refused(error))) => error,
        Ok(Ok(Start::Cancel { .. }) | Err(_)) | Err(_) => return,
    };
    log::refused(Some(client), &error);
    refuse(&stream, &error);
}

/// Sends the reason why the connection is refused.
pub fn refuse(stream: &TcpStream, error: &SqlError) {
    let mut answer = Vec::new();
    backend::error(&mut answer, "FATAL", error);
    // It fits into the empty send buffer of a new connection.
    let _ = stream.try_write(&answer);
}

/// Runs blocking or long work on this thread, after another thread has taken its place in the reactor.
fn off_reactor<T>(work: impl FnOnce() -> T) -> Result<T, SqlError> {
    tokio::task::block_in_place(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| broken(&*panic))
}

async fn converse(stream: Arc<TcpStream>, connect: Connect, shared: &Arc<Shared>, phases: Phases) {
    let (client, begun) = (connect.client, std::time::Instant::now());
    let opened = off_reactor(|| shared.database.connect(connect)).and_then(|opened| opened);
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => {
            log::refused(client, &error);
            return refuse(&stream, &error);
        }
    };
    client.iter().for_each(|client| log::connected(&session, *client));
    let cancel = session.cancel();
    let output = Output::new(stream.clone(), phases.clone(), cancel.clone(), shared.options.send_timeout);
    let ended = Arc::new(Notify::new());
    session.on_end({
        let ended = ended.clone();
        move || ended.notify_one()
    });
    let running = shared.enlist(cancel.clone());
    let connected = watch_while_waiting(&stream, &cancel);
    let notified = Arc::new(Notify::new());
    session.on_notify({
        let notified = notified.clone();
        move || notified.notify_one()
    });
    let mut conversation = Conversation::begin(session, output, shared.database.options.statement_bytes);
    let end = exchange(&stream, &mut conversation, phases, (&ended, &notified, &cancel)).await;
    // Rolling back and notifying the client may both wait. A panic in a rollback has been logged, and affects nothing else.
    let _ = off_reactor(move || {
        if let Some(error) = end {
            conversation.end(&error);
        }
        log::disconnected(conversation.session(), begun.elapsed());
        drop(conversation);
    });
    drop((running, connected));
}

/// Interval of checking the connection of a client that has sent more messages while its statement waits.
pub const LOOK: Duration = Duration::from_secs(1);

/// Ends the session if its client disconnects while its statement waits for another session, or long for the log: the answer
/// would have no receiver, and others may wait for its rows. Watches as long as the returned sender lives.
fn watch_while_waiting(stream: &Arc<TcpStream>, cancel: &Arc<Cancel>) -> watch::Sender<()> {
    let (connected, over) = watch::channel(());
    let (stream, runtime) = (Arc::downgrade(stream), Handle::current());
    let is_watched = Arc::new(AtomicBool::new(false));
    let watched = Arc::downgrade(cancel);
    cancel.on_wait(move || {
        let (Some(stream), Some(cancel)) = (stream.upgrade(), watched.upgrade()) else { return };
        if is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (is_watched, mut over) = (is_watched.clone(), over.clone());
        runtime.spawn(async move {
            tokio::select! {
                () = end_when_gone(&stream, &cancel) => {}
                _ = over.changed() => {}
            }
            is_watched.store(false, Ordering::Relaxed);
        });
    });
    connected
}

/// Ends the session once its client has disconnected; returns when the session does not wait any more.
async fn end_when_gone(stream: &TcpStream, cancel: &Cancel) {
    while cancel.is_waiting() {
        match stream.ready(Interest::READABLE).await {
            Ok(ready) if !ready.is_read_closed() => tokio::time::sleep(LOOK).await,
            _ => {
                return if cancel.is_waiting() {
                    cancel.end()
                };
            }
        }
    }
}

/// What a connection that waits for its client meets.
enum Event {
    /// Bytes of the client.
    Input,
    /// The COPY whose data the client owes is to stop.
    Stopped,
    /// The session has notifications.
    Notified,
}

/// Messages and answers until the end; with the reason, if it is the server's.
async fn exchange(
    stream: &TcpStream,
    conversation: &mut Conversation,
    mut phases: Phases,
    (ended, notified, cancel): (&Notify, &Notify, &Cancel),
) -> Option<SqlError> {
    let mut input = BytesMut::new();
    loop {
        let run = off_reactor(|| conversation.run(&mut input));
        match settle(run, conversation, &mut input).await {
            Ok(true) => {}
            Ok(false) => return None,
            Err(panicked) => return Some(panicked),
        }
        let deadline = conversation.idle_limit().and_then(|limit| Instant::now().checked_add(limit));
        loop {
            if input.is_empty() && input.capacity() > READ {
                input = BytesMut::new();
            }
            let event = tokio::select! {
                biased;
                _ = phases.wait_for(|phase| *phase != Phase::Serving) => return Some(terminated()),
                () = ended.notified() => return Some(terminated()),
                () = stopped(cancel), if conversation.is_copying() => Event::Stopped,
                read = read(stream, &mut input) => if matches!(read, Ok(1..)) { Event::Input } else { return None },
                () = notified.notified() => Event::Notified,
                () = at(deadline) => return Some(idle_in_transaction()),
            };
            let next = match event {
                Event::Input => Ok(Next::Read),
                Event::Stopped if cancel.is_ended() => return Some(terminated()),
                Event::Stopped => off_reactor(|| conversation.stop_copy(&cancel.reason())),
                Event::Notified => off_reactor(|| conversation.notify()),
            };
            match settle(next, conversation, &mut input).await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(panicked) => return Some(panicked),
            }
            if conversation.has_work(&mut input) {
                break;
            }
        }
    }
}

/// Continues until the connection waits for more messages (true) or ends (false). While the answers wait long for the log the session
/// is parked: it holds no thread, and only the end of the session ends the wait.
async fn settle(
    mut next: Result<Next, SqlError>,
    conversation: &mut Conversation,
    input: &mut BytesMut,
) -> Result<bool, SqlError> {
    loop {
        match next? {
            Next::Read => return Ok(true),
            Next::Close => return Ok(false),
            Next::Park => {}
        }
        let (after, is_sent) = conversation.answer().await;
        let is_sent = is_sent || off_reactor(|| conversation.send())?;
        next = match after {
            Next::Read if is_sent && conversation.has_work(input) => off_reactor(|| conversation.run(input)),
            Next::Read if is_sent => Ok(Next::Read),
            _ => Ok(Next::Close),
        };
    }
}

/// Waits for a reason to stop the statement that waits for the client's data.
async fn stopped(cancel: &Cancel) {
    let deadline = cancel.wait_limit().and_then(|left| Instant::now().checked_add(left));
    let raised = cancel.unless(Wait::ClientRead, |cancel| cancel.check().is_err(), std::future::pending::<()>());
    tokio::select! {
        _ = raised => {}
        () = at(deadline) => {}
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

/// Waits until a time, if there is one.
pub async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
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
