//! A client for programs: sends requests and returns answers, also when replicas or connections fail in between.
//!
//! A task keeps a connection, to the leader if it can be found, and a session. Handles are cheap to clone and share both. Requests are
//! sent in the order in which they are handed in; up to [`SESSION_WINDOW`](crate::message::SESSION_WINDOW) are open at
//! a time, more wait their turn.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use env::Randomness;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::connection::{ConnectError, Connection};
use super::{ClientSession, Completed, Completion, Route};
use crate::message::{ClientMessage, ReplicaMessage};
use env::Moment;
use net::auth::SharedKey;
use paxos::core::Instance;
use paxos::request::MAX_BODY_BYTES;

#[cfg(test)]
mod tests;

/// Requests that wait for their turn; beyond that, callers wait.
const WAITING_CALLS: usize = 1_024;

/// Options of a client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Addresses of replicas, in any order; one that answers is enough.
    pub addresses: Vec<String>,
    /// The key of clients, if the replicas have one.
    pub key: Option<SharedKey>,
    /// Time after which a request without an answer is sent again, to another replica if this one is silent. Default 1 s.
    pub retry: Duration,
    /// Maximum time that a caller waits for an answer. Default 10 s.
    pub time_limit: Duration,
}

impl ClientOptions {
    /// Defaults for these replicas.
    #[must_use]
    pub fn new(addresses: Vec<String>) -> Self {
        Self { addresses, key: None, retry: Duration::from_secs(1), time_limit: Duration::from_secs(10) }
    }
}

/// Result of an executed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Instance at which it was executed.
    pub at: Instance,
    /// The service's answer.
    pub bytes: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no address.
    NoAddress,
    /// Not executed: a request has at most this many bytes.
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It was not executed: the limit of sessions on a connection, or in a minute from an address, is reached.
    TooManySessions {
        /// The limit.
        limit: u64,
    },
    /// Not executed: it could not be sent in time.
    NotSent {
        /// Reason that there is no connection, if so.
        connection: Option<String>,
    },
    /// It was sent, and no answer came in time: it was executed once, or will be, or not at all.
    TimedOut {
        /// Reason that there is no connection, if so.
        connection: Option<String>,
    },
    /// It was executed once or not at all: its session was forgotten while its answer was on its way.
    Unknown,
    /// It was executed, but the answer is not to be had any more.
    AnswerForgotten,
    /// It was executed, but the answer of this number of bytes is too long to send.
    AnswerTooLarge {
        /// Its length.
        bytes: u64,
    },
    /// The client has stopped: its runtime was shut down. If the request was sent, its outcome is unknown.
    Stopped,
}

impl ClientError {
    /// Is it certain that the request was not and will not be executed?
    #[must_use]
    pub fn is_not_executed(&self) -> bool {
        matches!(self, Self::NoAddress | Self::TooLarge { .. } | Self::TooManySessions { .. } | Self::NotSent { .. })
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |f: &mut fmt::Formatter<'_>, connection: &Option<String>| match connection {
            Some(error) => write!(f, " (no connection: {error})"),
            None => Ok(()),
        };
        match self {
            Self::NoAddress => write!(f, "{}", super::route::NoAddress),
            Self::TooLarge { limit } => {
                write!(f, "the request was not executed: it exceeds the limit of {limit} bytes")
            }
            Self::TooManySessions { limit } => write!(
                f,
                "the request was not executed: {limit} sessions may be opened on a connection, or in a minute from an address; \
                 share a client, or try again later"
            ),
            Self::NotSent { connection } => {
                write!(f, "the request could not be sent in time, and was not executed")?;
                because(f, connection)
            }
            Self::TimedOut { connection } => {
                write!(f, "no answer came in time; whether the request was or will be executed is unknown")?;
                because(f, connection)
            }
            Self::Unknown => write!(f, "the session was forgotten; whether the request was executed is unknown"),
            Self::AnswerForgotten => write!(f, "the request was executed, but its answer is lost"),
            Self::AnswerTooLarge { bytes } => {
                write!(f, "the request was executed, but its answer of {bytes} bytes is too long to send")
            }
            Self::Stopped => write!(f, "the client has stopped; whether the request was executed is unknown"),
        }
    }
}

impl std::error::Error for ClientError {}

/// A request on its way through the client.
#[derive(Debug)]
struct Call {
    body: Bytes,
    fate: Arc<Fate>,
    answer: oneshot::Sender<Result<Answer, ClientError>>,
}

/// Decides a race: between the caller that gives up and the task that sends.
#[derive(Debug, Default)]
struct Fate(AtomicU8);

const OPEN: u8 = 0;
const SENT: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Fate {
    /// Returns whether this call was first. The value itself is all that is published.
    fn settle(&self, fate: u8) -> bool {
        self.0.compare_exchange(OPEN, fate, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// A client of a cluster. Clones share its connection and session.
#[derive(Clone, Debug)]
pub struct Client {
    calls: mpsc::Sender<Call>,
    time_limit: Duration,
    trouble: Arc<std::sync::Mutex<Option<String>>>,
}

/// A nonce that cannot be guessed: it is all that is needed to use the session.
fn session_nonce() -> u64 {
    let random = net::auth::nonce().expect("the operating system gives random numbers");
    u64::from_le_bytes(*random.first_chunk().expect("a nonce has 32 bytes"))
}

impl Client {
    /// A client, whose task runs on the runtime of the caller until all handles are dropped.
    ///
    /// # Errors
    /// [`ClientError::NoAddress`]. Replicas that cannot be reached are no error here: they may come.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(options: ClientOptions) -> Result<Self, ClientError> {
        let mut randomness = Randomness::from_entropy();
        let route = Route::new(options.addresses, randomness.next_u64()).map_err(|_| ClientError::NoAddress)?;
        let (calls, receiver) = mpsc::channel(WAITING_CALLS);
        let trouble = Arc::default();
        let session = ClientSession::new(session_nonce(), options.retry);
        let task = Task {
            key: options.key,
            session,
            calls: receiver,
            waiting: HashMap::new(),
            start: Instant::now(),
            trouble: Arc::clone(&trouble),
        };
        tokio::spawn(task.run(route));
        Ok(Self { calls, time_limit: options.time_limit, trouble })
    }

    /// Executes this request once, in the order of all requests of this client, and returns the service's answer.
    ///
    /// # Errors
    /// See [`ClientError`]; it says whether the request may have been executed.
    pub async fn execute(&self, body: Bytes) -> Result<Answer, ClientError> {
        if body.len() > MAX_BODY_BYTES {
            return Err(ClientError::TooLarge { limit: MAX_BODY_BYTES as u64 });
        }
        let fate = Arc::<Fate>::default();
        let (answer, answered) = oneshot::channel();
        let call = Call { body, fate: Arc::clone(&fate), answer };
        let exchange = async {
            self.calls.send(call).await.map_err(|_| ClientError::Stopped)?;
            answered.await.unwrap_or(Err(ClientError::Stopped))
        };
        timeout(self.time_limit, exchange).await.unwrap_or_else(|_| {
            let connection = lock(&self.trouble).clone();
            Err(match fate.settle(GIVEN_UP) {
                true => ClientError::NotSent { connection },
                false => ClientError::TimedOut { connection },
            })
        })
    }
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Why a connection is left.
enum Leave {
    Redirected,
    Silent,
    Broken(ConnectError),
    /// There are no handles any more.
    Over,
}

/// Task that keeps the connection and the session.
struct Task {
    key: Option<SharedKey>,
    session: ClientSession,
    calls: mpsc::Receiver<Call>,
    /// Callers that wait for answers, by ticket.
    waiting: HashMap<u64, oneshot::Sender<Result<Answer, ClientError>>>,
    start: Instant,
    /// Why there is no connection.
    trouble: Arc<std::sync::Mutex<Option<String>>>,
}

impl Task {
    fn now(&self) -> Moment {
        Moment(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    async fn run(mut self, mut route: Route) {
        while !self.calls.is_closed() || !self.calls.is_empty() {
            let leave = match Connection::open(route.address(), self.key.as_ref()).await {
                Ok(connection) => self.serve(connection, &mut route).await,
                Err(error) => Leave::Broken(error),
            };
            self.session.disconnected();
            let trouble = match leave {
                Leave::Over => return,
                Leave::Redirected => continue,
                Leave::Silent => format!("{} does not answer", route.address()),
                Leave::Broken(error) => format!("{}: {error}", route.address()),
            };
            *lock(&self.trouble) = Some(trouble);
            tokio::time::sleep(route.failed()).await;
        }
    }

    async fn serve(&mut self, mut connection: Connection, route: &mut Route) -> Leave {
        *lock(&self.trouble) = None;
        let mut messages = Vec::new();
        loop {
            let silent = self.session.poll(self.now(), |message| connection.push(&message));
            if silent {
                return Leave::Silent;
            }
            if let Err(error) = connection.flush().await {
                return Leave::Broken(error);
            }
            let deadline = self.session.deadline();
            let wake = self.start + Duration::from_nanos(deadline.0.min(u64::MAX / 2));
            tokio::select! {
                received = connection.receive(&mut messages) => if let Err(error) = received { return Leave::Broken(error) },
                call = self.calls.recv(), if self.session.room() > 0 => match call {
                    Some(call) => self.take(call),
                    None => return Leave::Over,
                },
                () = sleep_until(wake), if deadline != Moment::NEVER => {}
            }
            for message in messages.drain(..) {
                if let ReplicaMessage::Leader { leader, address } = &message
                    && route.on_leader(connection.replica(), *leader, address.as_deref())
                {
                    return Leave::Redirected;
                }
                if self.hear(&message) {
                    route.succeeded();
                }
            }
            self.take_waiting();
        }
    }

    /// More calls, as long as they are there: they travel together.
    fn take_waiting(&mut self) {
        while self.session.room() > 0
            && let Ok(call) = self.calls.try_recv()
        {
            self.take(call);
        }
    }

    fn take(&mut self, call: Call) {
        if !call.fate.settle(SENT) {
            return;
        }
        match self.session.submit(call.body) {
            Ok(ticket) => {
                self.waiting.insert(ticket, call.answer);
            }
            // There was room, so it is the length. Whoever does not wait any more does not hear it.
            Err(_) => drop(call.answer.send(Err(ClientError::TooLarge { limit: MAX_BODY_BYTES as u64 }))),
        }
    }

    /// True if a request is done.
    fn hear(&mut self, message: &ReplicaMessage) -> bool {
        let mut completed = Vec::new();
        self.session.handle(self.now(), message, &mut completed);
        for Completed { ticket, completion } in completed.drain(..) {
            if let Some(answer) = self.waiting.remove(&ticket) {
                // Whoever does not wait any more does not hear it.
                let _ = answer.send(outcome(completion));
            }
        }
        matches!(message, ReplicaMessage::Reply { .. })
    }
}

fn outcome(completion: Completion) -> Result<Answer, ClientError> {
    match completion {
        Completion::Executed(at, bytes) => Ok(Answer { at, bytes }),
        Completion::Forgotten => Err(ClientError::AnswerForgotten),
        Completion::AnswerTooLarge(bytes) => Err(ClientError::AnswerTooLarge { bytes }),
        Completion::Unknown => Err(ClientError::Unknown),
        Completion::TooLarge(limit) => Err(ClientError::TooLarge { limit }),
        Completion::TooManySessions(limit) => Err(ClientError::TooManySessions { limit }),
    }
}

/// Asks the replica at this address how it does: JSON, see [`crate::status`].
///
/// # Errors
/// [`ClientError::TimedOut`], with the reason if there is no connection.
pub async fn status(address: &str, key: Option<&SharedKey>, time_limit: Duration) -> Result<String, ClientError> {
    let exchange = async {
        let mut connection = Connection::open(address, key).await?;
        connection.push(&ClientMessage::Status);
        connection.flush().await?;
        let mut messages = Vec::new();
        loop {
            connection.receive(&mut messages).await?;
            for message in messages.drain(..) {
                if let ReplicaMessage::Status(json) = message {
                    return Ok(json);
                }
            }
        }
    };
    match timeout(time_limit, exchange).await {
        Ok(Ok(json)) => Ok(json),
        Ok(Err::<_, ConnectError>(error)) => Err(ClientError::TimedOut { connection: Some(error.to_string()) }),
        Err(_) => Err(ClientError::TimedOut { connection: None }),
    }
}
