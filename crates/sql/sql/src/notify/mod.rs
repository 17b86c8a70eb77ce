//! LISTEN and NOTIFY: channels, the sessions that listen to them, and the notifications that wait for these sessions.
//!
//! A transaction keeps its notifications to itself ([`Pending`]). Before it commits it reserves room for them
//! ([`Channels::reserve`]), so that a full queue fails the transaction and not what comes after it; once its commit is visible they are
//! published, each into the queue of every listener. A session takes its own ([`Channels::take`]) when it has no transaction
//! open, and waits for the log up to the commit of which they tell.
//!
//! Notifications arrive in the order in which their commits began: whoever has seen a commit began its own later. Those that are
//! published first wait for commits that began before and have not ended, while nobody else does. PostgreSQL holds a lock
//! during such a commit instead, which gives the same order. Here a commit may wait for another transaction's row, whose commit
//! would wait for the lock.

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

/// Room in the queues, for notifications that will be published, and their place among others: the number of their commit, if
/// there are any.
#[derive(Debug, Default)]
pub struct Reserved(Option<u64>);

/// A commit with notifications that has begun.
#[derive(Debug)]
struct Commit {
    number: u64,
    process: i32,
    /// Bytes that are reserved for it.
    reserved: usize,
    /// What its listeners get once it is its turn; `None` until it has ended.
    deliveries: Option<Vec<Delivery>>,
}

/// A listener, and what it gets.
type Delivery = (i32, Vec<Received>);

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
    /// In the order in which they began.
    commits: VecDeque<Commit>,
    /// Number of commits so far.
    begun: u64,
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

    /// Before a session's transaction commits: reserves room in the queues of all who listen now, and the place among other
    /// commits. [`Channels::publish`] or [`Channels::release`] ends it; later notifications wait for that.
    ///
    /// # Errors
    /// 54000 if some listener has left too much in its queue.
    pub fn reserve(&self, (database, process): (u32, i32), notifications: &[Arc<Notification>]) -> Result<Reserved> {
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
        Ok(Reserved(Some(state.begin_commit(process, bytes))))
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
        let mut state = self.latch();
        let woken = state.end_commit(reserved.0, Vec::new());
        drop(state);
        woken.iter().for_each(|wake| wake());
    }

    /// After the commit of a session's transaction: changes the channels that it listens to, and puts its notifications into the
    /// queues of all listeners, in order, once it is their turn.
    pub fn publish(
        &self,
        sender: (u32, i32, &Wake),
        changes: Vec<ChannelChange>,
        notifications: &[Arc<Notification>],
        reserved: Reserved,
        position: LogPosition,
    ) {
        let mut state = self.latch();
        changes.into_iter().for_each(|change| state.change(sender, change));
        let (database, process, _) = sender;
        let deliveries = state.deliveries(database, notifications, |notification| Received {
            process,
            notification: notification.clone(),
            position,
        });
        let woken = state.end_commit(reserved.0, deliveries);
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

    /// Forgets a session, with a commit that a panic has left.
    pub fn leave(&self, process: i32) {
        let mut state = self.latch();
        state.leave(process);
        let mut open = state.commits.iter().filter(|commit| commit.deliveries.is_none());
        let own = open.find(|commit| commit.process == process).map(|commit| commit.number);
        let woken = state.end_commit(own, Vec::new());
        drop(state);
        woken.iter().for_each(|wake| wake());
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

    fn begin_commit(&mut self, process: i32, reserved: usize) -> u64 {
        self.used += reserved;
        self.begun += 1;
        self.commits.push_back(Commit { number: self.begun, process, reserved, deliveries: None });
        self.begun
    }

    /// What the listeners of a database get, counted as used.
    fn deliveries(
        &mut self,
        database: u32,
        notifications: &[Arc<Notification>],
        received: impl Fn(&Arc<Notification>) -> Received,
    ) -> Vec<Delivery> {
        let State { listeners, used, .. } = self;
        let of_database = listeners.iter().filter(|(_, listener)| listener.database == database);
        let delivery = |(process, listener): (&i32, &Listener)| {
            let wanted = notifications.iter().filter(|one| listener.channels.contains(&one.channel));
            (*process, wanted.map(&received).collect::<Vec<_>>())
        };
        let deliveries: Vec<_> = of_database.map(delivery).filter(|(_, all)| !all.is_empty()).collect();
        *used += deliveries.iter().map(|(_, all)| bytes_of(all)).sum::<usize>();
        deliveries
    }

    /// Ends a commit, and returns whom to wake.
    fn end_commit(&mut self, number: Option<u64>, deliveries: Vec<Delivery>) -> Vec<Wake> {
        if let Some(commit) = self.commits.iter_mut().find(|commit| Some(commit.number) == number) {
            self.used -= std::mem::take(&mut commit.reserved);
            commit.deliveries = Some(deliveries);
        }
        self.deliver()
    }

    /// Delivers what no commit before it may still precede, and returns whom to wake.
    fn deliver(&mut self) -> Vec<Wake> {
        let mut woken = BTreeMap::new();
        while let Some(commit) = self.commits.pop_front_if(|commit| commit.deliveries.is_some()) {
            for (process, all) in commit.deliveries.into_iter().flatten() {
                // A session may have left meanwhile.
                match self.listeners.get_mut(&process) {
                    Some(listener) => {
                        listener.queue.extend(all);
                        woken.insert(process, listener.wake.clone());
                    }
                    None => self.used -= bytes_of(&all),
                }
            }
        }
        woken.into_values().collect()
    }

    fn leave(&mut self, process: i32) {
        let left = self.listeners.remove(&process);
        self.used -= left.map_or(0, |listener| bytes_of(&listener.queue));
    }
}

fn bytes_of<'a>(queue: impl IntoIterator<Item = &'a Received>) -> usize {
    queue.into_iter().map(|received| received.notification.bytes()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATABASE: u32 = 1;
    const LISTENER: i32 = 9;
    const ROOM: usize = 4096;

    fn silent() -> Wake {
        Arc::new(|| ())
    }

    fn heard() -> Channels {
        let channels = Channels::new(ROOM);
        let changes = vec![ChannelChange::Listen("c".to_owned())];
        channels.publish((DATABASE, LISTENER, &silent()), changes, &[], Reserved::default(), LogPosition::ZERO);
        channels
    }

    fn begin(channels: &Channels, process: i32) -> Reserved {
        channels.reserve((DATABASE, process), &note(process)).expect("there is room")
    }

    fn note(process: i32) -> [Arc<Notification>; 1] {
        [Arc::new(Notification::new("c", &process.to_string()).expect("a short one"))]
    }

    fn publish(channels: &Channels, process: i32, reserved: Reserved) {
        channels.publish((DATABASE, process, &silent()), vec![], &note(process), reserved, LogPosition::ZERO);
    }

    fn taken(channels: &Channels) -> Vec<i32> {
        channels.take(LISTENER).iter().map(|received| received.process).collect()
    }

    /// Its commit is visible, and lets others commit, before its notifications are published.
    #[test]
    fn notifications_arrive_in_the_order_in_which_commits_began() {
        let channels = heard();
        let (first, second, third) = (begin(&channels, 1), begin(&channels, 2), begin(&channels, 3));
        publish(&channels, 2, second);
        assert_eq!(taken(&channels), [0; 0], "the first commit has not ended");
        publish(&channels, 1, first);
        assert_eq!(taken(&channels), [1, 2]);
        publish(&channels, 3, third);
        assert_eq!(taken(&channels), [3]);
        assert_eq!(channels.usage(), 0.0);
    }

    #[test]
    fn nobody_waits_for_a_commit_that_has_failed() {
        let channels = heard();
        let (failed, _left, last) = (begin(&channels, 1), begin(&channels, 2), begin(&channels, 3));
        publish(&channels, 3, last);
        channels.release(failed);
        assert_eq!(taken(&channels), [0; 0]);
        channels.leave(2);
        assert_eq!(taken(&channels), [3], "a session that is gone commits no more");
        assert_eq!(channels.usage(), 0.0);
    }

    #[test]
    fn what_waits_for_a_listener_that_is_gone_is_forgotten() {
        let channels = heard();
        let (first, second) = (begin(&channels, 1), begin(&channels, 2));
        publish(&channels, 2, second);
        channels.leave(LISTENER);
        publish(&channels, 1, first);
        assert_eq!((taken(&channels), channels.usage()), (vec![], 0.0));
    }
}
