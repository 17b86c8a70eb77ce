//! A running replica: its threads, and the queues between them. Every node delivers the same payloads in the same order.
//!
//! ```text
//!   sockets ──► I/O thread ──── CoreInput ───► core thread ──── Job ───► application's thread
//!                   ▲                           │   ▲  ▲  ▲                   │
//!                   └──────────── Post ─────────┘   │  │  └─ Executed, Taken ─┘
//!   own process ─── Submitter ──────────────────────┼──┘
//!                                                Durable
//!                                                   └── the journal's threads
//! ```
//!
//! Invariants:
//! 1. Every queue has a limit. At the limit the sender waits (the application for the consumer of its output, readers of
//!    sockets for the core), or the item is dropped and the protocol repairs it (frames for peers).
//! 2. The core waits only for a full buffer of the journal.
//! 3. A thread that fails or panics stops the whole node with a named error.

use std::any::Any;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use env::thread::{JoinHandle, spawn_named};
use net::auth::{is_loopback, nonce, require_key};
use net::credit::Credit;
use net::mailbox::Mailbox;

use crate::application::{Application, MakeClientSide, NodeHandle, NodeParts, Submitter};
use crate::board::Board;
use crate::config::{Durability, Options};
use crate::core::{Core, Proved, ReplicaId};
use crate::image::ImageStore;
use crate::inbox::CoreInput;
use crate::journal::{Journal, OwnedDirectory, enter_without_journal};
use crate::known_voters::KnownVoters;
use crate::membership::Membership;
use crate::replica::Replica;
use crate::status::{Status, Waiting};
use crate::transport::{self, Post, Setup};

mod core_loop;
mod options;
mod service_loop;

use core_loop::{CoreLoop, NodeClock};
use service_loop::{Job, ServiceLoop};

pub use crate::error::{IoError, NodeError};
pub use options::{Limits, Listen, NodeOptions};

/// The weight of jobs is bounded by the replica's own limit.
const UNLIMITED: usize = usize::MAX;

/// A running replica.
#[derive(Debug)]
pub struct Node {
    shared: Arc<Shared>,
    options: Options,
    address: SocketAddr,
    threads: Mutex<Threads>,
}

/// In the order in which they end.
#[derive(Debug, Default)]
struct Threads {
    core: Option<JoinHandle<()>>,
    service: Option<JoinHandle<()>>,
    io: Option<JoinHandle<()>>,
}

/// State shared by the threads.
struct Shared {
    inbox: Arc<Mailbox<CoreInput>>,
    jobs: Arc<Mailbox<Job>>,
    post: Arc<Mailbox<Post>>,
    credit: Arc<Credit>,
    board: Arc<Board>,
    failure: Mutex<Option<NodeError>>,
    /// [`NodeParts::close`].
    close: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({:?}, {:?})", self.waiting(), self.failure())
    }
}

impl Shared {
    fn new(options: &Options, limits: &Limits) -> Self {
        Self {
            inbox: Arc::new(Mailbox::new(limits.core_bytes)),
            jobs: Arc::new(Mailbox::new(UNLIMITED)),
            post: Arc::new(Mailbox::new(limits.io_bytes)),
            credit: Arc::new(Credit::new(options.pending_bytes as u64)),
            board: Arc::default(),
            failure: Mutex::new(None),
            close: OnceLock::new(),
        }
    }

    fn failure(&self) -> MutexGuard<'_, Option<NodeError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops everything. The first reason is the one reported.
    fn fail(&self, error: NodeError) {
        self.failure().get_or_insert(error);
        self.close();
    }

    fn close(&self) {
        self.inbox.close();
        self.jobs.close();
        self.credit.close();
        self.close_output();
    }

    /// Nothing more is sent, by the node or by layers above it.
    fn close_output(&self) {
        self.post.close();
        if let Some(close) = self.close.get() {
            close();
        }
    }

    fn waiting(&self) -> Waiting {
        Waiting { core: self.inbox.weight(), service: self.jobs.weight(), io: self.post.weight() }
    }

    fn status(&self, options: &Options) -> Option<Status> {
        Status::new(options, &self.board, self.waiting())
    }
}

impl Node {
    /// Starts a replica with the proved core, and the application that `build` returns; `build` is called once the replica has
    /// its number.
    ///
    /// # Errors
    /// See [`NodeError`]: options, key, address, journal, threads.
    pub fn start<A: Application>(
        options: NodeOptions,
        build: impl FnOnce(NodeHandle) -> NodeParts<A>,
    ) -> Result<Self, NodeError> {
        Self::start_with::<Proved, A>(options, build)
    }

    /// Like [`start`](Self::start), with another core: the laboratory compares the proved one with a plain one.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    pub fn start_with<C: Core, A: Application>(
        mut options: NodeOptions,
        build: impl FnOnce(NodeHandle) -> NodeParts<A>,
    ) -> Result<Self, NodeError> {
        options.check()?;
        let listener = listen(&options)?;
        let clock = NodeClock::start();
        let random = nonce()?;
        let seed = u64::from_le_bytes(*random.first_chunk().expect("a nonce has 32 bytes"));
        let RestartedReplica { replica, journal, directory, images } =
            RestartedReplica::<C>::new(&mut options, clock, &random)?;
        let node = Self {
            address: listener.local_addr()?,
            threads: Mutex::default(),
            shared: Arc::new(Shared::new(&options.replica, &options.limits)),
            options: options.replica.clone(),
        };
        let membership = membership(&node.options, seed, directory.as_deref(), journal.as_ref());
        node.shared.board.write_records(membership.records);
        let NodeParts { application, on_leader, on_may_forget, client_side, close } = build(node.handle());
        // Nobody else has set it: the node is new.
        let _ = node.shared.close.set(close);
        let setup = node.setup(options, membership, images.clone(), client_side);
        let known_voters = KnownVoters::new(membership, directory.clone());
        let core = CoreLoop::new(replica, journal, directory, clock, (on_leader, on_may_forget), &node.shared);
        let service = ServiceLoop::new(application, images, &node.options, &node.shared);
        // Dropped at an error, the node stops the threads that run already.
        let mut threads = node.threads();
        threads.core = Some(node.spawn("paxos-core", move || core.run())?);
        threads.service = Some(node.spawn("paxos-service", move || service.run())?);
        threads.io = Some(node.spawn("paxos-io", move || transport::run(setup, known_voters, listener))?);
        drop(threads);
        Ok(node)
    }

    fn handle(&self) -> NodeHandle {
        let (inbox, credit) = (Arc::clone(&self.shared.inbox), Arc::clone(&self.shared.credit));
        let (shared, options) = (Arc::clone(&self.shared), self.options.clone());
        NodeHandle {
            options: self.options.clone(),
            submitter: Submitter::new(self.options.id, inbox, credit),
            status: Arc::new(move || shared.status(&options)),
        }
    }

    fn setup(
        &self,
        options: NodeOptions,
        membership: Membership,
        images: ImageStore,
        client_side: Option<MakeClientSide>,
    ) -> Setup {
        let failing = Arc::clone(&self.shared);
        Setup {
            membership,
            addresses: options.addresses,
            key: options.key,
            peer_bytes: options.limits.peer_bytes,
            core: Arc::clone(&self.shared.inbox),
            post: Arc::clone(&self.shared.post),
            board: Arc::clone(&self.shared.board),
            images,
            client_side,
            fail: Box::new(move |error| failing.fail(error)),
        }
    }

    /// Starts a thread whose failure, or panic, stops the node.
    fn spawn(
        &self,
        name: &'static str,
        body: impl FnOnce() -> Result<(), NodeError> + Send + 'static,
    ) -> Result<JoinHandle<()>, NodeError> {
        let shared = Arc::clone(&self.shared);
        let guarded = move || {
            // What the threads share is locked only by code that does not panic.
            let outcome = catch_unwind(AssertUnwindSafe(body))
                .unwrap_or_else(|panic| Err(NodeError::Panicked { thread: name, message: message_of(panic.as_ref()) }));
            if let Err(error) = outcome {
                shared.fail(error);
            }
        };
        Ok(spawn_named(name, guarded)?)
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The replica's number. A replica that comes back without its memory has another one than it was started with.
    #[must_use]
    pub fn id(&self) -> ReplicaId {
        self.options.id
    }

    /// Returns the address on which it accepts connections.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its status; `None` shortly after the start.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.shared.status(&self.options)
    }

    /// Why it has stopped by itself, if it has.
    #[must_use]
    pub fn failure(&self) -> Option<NodeError> {
        self.shared.failure().clone()
    }

    /// Waits until the node has stopped.
    ///
    /// # Errors
    /// Why, if it stopped by itself.
    pub fn wait(&self) -> Result<(), NodeError> {
        let mut threads = self.threads();
        let threads = std::mem::take(&mut *threads);
        for thread in [threads.core, threads.service, threads.io].into_iter().flatten() {
            // A panic was caught in the thread and is the node's failure.
            let _ = thread.join();
        }
        self.failure().map_or(Ok(()), Err)
    }

    /// Stops: what is ordered and delivered is taken and passed on, the journal is durable.
    ///
    /// # Errors
    /// Why it had stopped by itself before.
    pub fn stop(&self) -> Result<(), NodeError> {
        let (core, service) = {
            let mut threads = self.threads();
            (threads.core.take(), threads.service.take())
        };
        // One after another, so that what the one has done reaches the next.
        self.shared.credit.close();
        self.shared.inbox.close();
        core.map(JoinHandle::join);
        self.shared.jobs.close();
        service.map(JoinHandle::join);
        self.shared.close_output();
        self.wait()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Whoever wants to know asks before.
        let _ = self.stop();
    }
}

/// A replica, with its journal or directory from an earlier life.
struct RestartedReplica<C: Core> {
    replica: Replica<C>,
    journal: Option<Journal>,
    directory: Option<Arc<OwnedDirectory>>,
    images: ImageStore,
}

/// Returns the membership of a replica in this life.
fn membership(
    options: &Options,
    seed: u64,
    directory: Option<&OwnedDirectory>,
    journal: Option<&Journal>,
) -> Membership {
    let records = journal.map_or(0, Journal::records_before);
    match directory {
        Some(directory) => Membership::of_owner(options, seed, &directory.owner(), records),
        None => Membership::new(options, seed),
    }
}

impl<C: Core> RestartedReplica<C> {
    /// May change the replica's number: see [`enter_without_journal`].
    fn new(options: &mut NodeOptions, clock: NodeClock, random: &[u8; 32]) -> Result<Self, NodeError> {
        let [seed, birth] = [0, 8].map(|from| u64::from_le_bytes(*random[from..].first_chunk().expect("32 bytes")));
        // 0 is nobody's.
        let birth = birth.max(1);
        let (replica, journal, directory, images) = match (options.replica.durability, &options.disk) {
            (Durability::Fsync, Some(disk)) => {
                let (journal, records) = Journal::open(Arc::clone(disk), &options.replica, options.log.clone(), birth)?;
                let replica = Replica::recover(options.replica.clone(), clock.now(), seed, records)?;
                let (directory, images) = (Arc::clone(journal.directory()), journal.images().clone());
                (replica, Some(journal), Some(directory), images)
            }
            (_, disk) => {
                let (mut directory, mut images) = (None, ImageStore::in_memory());
                if let Some(disk) = disk {
                    let (own, entered) = enter_without_journal(Arc::clone(disk), &options.replica, birth)?;
                    (options.replica, images, directory) = (own, entered.images()?, Some(Arc::new(entered)));
                }
                (Replica::new(options.replica.clone(), clock.now(), seed)?, None, directory, images)
            }
        };
        let is_admitted = directory.as_ref().is_some_and(|directory| directory.owner().admitted);
        let replica = if is_admitted { replica } else { replica.unadmitted() };
        Ok(Self { replica, journal, directory, images })
    }
}

fn listen(options: &NodeOptions) -> Result<TcpListener, NodeError> {
    let address = match &options.listen {
        Listen::At(address) => *address,
        Listen::On(listener) => listener.local_addr()?,
    };
    require_key(options.key.as_ref(), address)?;
    // Of one that leaves nothing behind nobody knows that it has lived, once the others have stopped too.
    if options.replica.votes() && options.disk.is_none() && !is_loopback(address) {
        return Err(NodeError::NoDirectory { address });
    }
    match &options.listen {
        Listen::At(_) => TcpListener::bind(address).map_err(|error| NodeError::Listen { address, error: error.into() }),
        Listen::On(listener) => Ok(listener.try_clone()?),
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
