//! LISTEN and NOTIFY: channels, the sessions that listen to them, and the notifications that wait for these sessions.
//!
//! A transaction keeps its notifications to itself ([`Pending`]). Before it commits it reserves room for them
//! ([`Channels::reserve`]), so that a full queue fails the transaction and not what comes after it; once its commit is visible they are
//! published, each into the queue of every listener. A session takes its own ([`Channels::take`]) when it has no transaction
//! open, and waits for the log up to the commit of which they tell.

mod pending;

pub use pending::{Mark, Pending};

use crate::error::{Result, SqlError, state};
use model::LogPosition;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a client is warned of where the server is a node of a cluster.
pub(crate) const NOTIFY_OF_NODE: &str = "NOTIFY reaches sessions";

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notification {
    /// The channel.
    pub channel: String,
    /// The text that comes with it.
    pub payload: String,
}

/// A notification that a listener receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The session that sent it.
    pub process: i32,
    /// The notification.
    pub notification: Arc<Notification>,
    /// Log position of the commit that sent it.
    pub position: LogPosition,
}

/// A change of the channels that a session listens to. It takes effect at COMMIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelChange {
    /// LISTEN
    Listen(String),
    /// UNLISTEN; `None`: all.
    Unlisten(Option<String>),
}

/// Called when a session has notifications. It must not wait.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Room in the queues, for notifications that will be published.
#[derive(Debug, Default)]
pub struct Reserved(usize);

/// Bytes of an entry of a queue beside its texts.
const ENTRY: usize = 64;

/// PostgreSQL's limits: a channel is a name, and a payload fits into a page of its queue.
const CHANNEL_BYTES: usize = 63;
const PAYLOAD_BYTES: usize = 7999;

/// The channels of all databases: a notification reaches the listeners of its own database.
#[derive(Debug)]
pub struct Channels {
    state: Mutex<State>,
    /// Bytes of all queues.
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    listeners: BTreeMap<i32, Listener>,
    /// Bytes in queues, and reserved.
    used: usize,
}

struct Listener {
    database: u32,
    channels: BTreeSet<String>,
    queue: VecDeque<Received>,
    wake: Wake,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("channels", &self.channels).field("queue", &self.queue).finish()
    }
}

impl Notification {
    /// # Errors
    /// 22023 for a channel or a payload that PostgreSQL refuses.
    pub fn new(channel: &str, payload: &str) -> Result<Notification> {
        let refused = |message| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        match () {
            () if channel.is_empty() => refused("channel name cannot be empty"),
            () if channel.len() > CHANNEL_BYTES => refused("channel name too long"),
            () if payload.len() > PAYLOAD_BYTES => refused("payload string too long"),
            () => Ok(Notification { channel: channel.to_owned(), payload: payload.to_owned() }),
        }
    }

    fn bytes(&self) -> usize {
        ENTRY + self.channel.len() + self.payload.len()
    }
}

impl Channels {
    /// No listeners yet, and at most so many bytes in their queues.
    pub fn new(limit: usize) -> Channels {
        Channels { state: Mutex::default(), limit }
    }

    /// Reserves room in the queues of all who listen now.
    ///
    /// # Errors
    /// 54000 if some listener has left too much in its queue.
    pub fn reserve(&self, database: u32, notifications: &[Arc<Notification>]) -> Result<Reserved> {
        if notifications.is_empty() {
            return Ok(Reserved::default());
        }
        let mut state = self.latch();
        let receivers = |one: &Notification| {
            let hears =
                |listener: &&Listener| listener.database == database && listener.channels.contains(&one.channel);
            state.listeners.values().filter(hears).count()
        };
        let bytes = notifications.iter().map(|one| one.bytes() * receivers(one)).sum::<usize>();
        if state.used.saturating_add(bytes) > self.limit {
            return Err(self.full());
        }
        state.used += bytes;
        Ok(Reserved(bytes))
    }

    fn full(&self) -> SqlError {
        SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue")
            .detail(format!("Notifications of {} bytes are kept for sessions that have not received them.", self.limit))
            .hint("A session that listens receives its notifications when it has no transaction open: let it end its own.")
    }

    /// Checks what one transaction has gathered so far.
    ///
    /// # Errors
    /// 54000
    pub fn check_room(&self, gathered: usize) -> Result<()> {
        if gathered <= self.limit { Ok(()) } else { Err(self.full()) }
    }

    /// Takes back what was reserved for a transaction that has not committed.
    pub fn release(&self, reserved: Reserved) {
        self.latch().used -= reserved.0;
    }

    /// After the commit of a session's transaction: changes the channels that it listens to, and puts its notifications into the
    /// queues of all listeners, in order.
    pub fn publish(
        &self,
        sender: (u32, i32, &Wake),
        changes: Vec<ChannelChange>,
        notifications: &[Arc<Notification>],
        reserved: Reserved,
        position: LogPosition,
    ) {
        let mut state = self.latch();
        state.used -= reserved.0;
        changes.into_iter().for_each(|change| state.change(sender, change));
        let (database, process, _) = sender;
        let State { listeners, used } = &mut *state;
        let mut woken = Vec::new();
        for listener in listeners.values_mut() {
            if listener.database != database {
                continue;
            }
            let wanted = notifications.iter().filter(|one| listener.channels.contains(&one.channel));
            let before = listener.queue.len();
            listener.queue.extend(wanted.map(|one| {
                *used += one.bytes();
                Received { process, notification: one.clone(), position }
            }));
            if listener.queue.len() > before {
                woken.push(listener.wake.clone());
            }
        }
        drop(state);
        woken.iter().for_each(|wake| wake());
    }

    /// Takes a session's notifications out of its queue.
    pub fn take(&self, process: i32) -> Vec<Received> {
        let mut state = self.latch();
        let queue = state.listeners.get_mut(&process).map(|listener| std::mem::take(&mut listener.queue));
        let taken = Vec::from(queue.unwrap_or_default());
        state.used -= bytes_of(&taken);
        taken
    }

    /// The channels that a session listens to, by name.
    pub fn listening(&self, process: i32) -> Vec<String> {
        let state = self.latch();
        state.listeners.get(&process).into_iter().flat_map(|listener| listener.channels.iter().cloned()).collect()
    }

    /// Forgets a session.
    pub fn leave(&self, process: i32) {
        self.latch().leave(process);
    }

    /// Part of the queues' room that is used, from 0 to 1.
    pub fn usage(&self) -> f64 {
        self.latch().used as f64 / self.limit.max(1) as f64
    }

    fn latch(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn change(&mut self, (database, process, wake): (u32, i32, &Wake), change: ChannelChange) {
        match change {
            ChannelChange::Listen(channel) => {
                let listener = self.listeners.entry(process).or_insert_with(|| Listener {
                    database,
                    channels: BTreeSet::new(),
                    queue: VecDeque::new(),
                    wake: wake.clone(),
                });
                listener.channels.insert(channel);
            }
            ChannelChange::Unlisten(Some(channel)) => {
                let listener = self.listeners.get_mut(&process);
                if listener.is_some_and(|listener| {
                    listener.channels.remove(&channel);
                    listener.channels.is_empty()
                }) {
                    self.leave(process);
                }
            }
            ChannelChange::Unlisten(None) => self.leave(process),
        }
    }

    fn leave(&mut self, process: i32) {
        let left = self.listeners.remove(&process);
        self.used -= left.map_or(0, |listener| bytes_of(&listener.queue));
    }
}

fn bytes_of<'a>(queue: impl IntoIterator<Item = &'a Received>) -> usize {
    queue.into_iter().map(|received| received.notification.bytes()).sum()
}
