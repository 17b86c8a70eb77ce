//! Interfaces for what runs on a node: the application that executes the batches, and the server of clients at the same
//! address.
//!
//! A node orders bytes. Their meaning, the right to submit them and the answers are up to the application: replicated services
//! with sessions and clients (`seriatim-rsm`), or a total order of a process's own payloads ([`order`](crate::order)).

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use codec::StreamError;
use net::auth::SharedKey;
use net::credit::Credit;
use net::mailbox::{Closed, Mailbox};
use tokio::net::TcpStream;

use crate::config::Options;
use crate::core::{Image, Instance, ReplicaId, Value};
use crate::image::ImageWriter;
use crate::inbox::CoreInput;
use crate::membership::{Greeted, Refusal};
use crate::replica::Input;
use crate::request::Chunk;
use crate::status::Status;

/// Executes the ordered batches, on a thread of its own. All replicas feed theirs the same batches in the same order; equal
/// states must have equal
/// snapshots.
pub trait Application: Send + 'static {
    /// Takes the batch of an instance: the next one, without holes. It was ordered, and so cannot be refused any more.
    fn deliver(&mut self, at: Instance, batch: &Value);

    /// Replaces the state by that before instance `at`, which [`snapshot`](Self::snapshot) gave, perhaps on another replica. A long image
    /// should be read piece by piece ([`Image::reader`]).
    ///
    /// # Errors
    /// The bytes are not a snapshot, or cannot be read: the node stops.
    fn install(&mut self, at: Instance, image: &Image) -> Result<(), BadSnapshot>;

    /// Takes the state that this replica's own journal has, before the first batch of its life. As [`install`](Self::install), unless it
    /// matters whose state it is.
    ///
    /// # Errors
    /// As [`install`](Self::install).
    fn recover(&mut self, at: Instance, image: &Image) -> Result<(), BadSnapshot> {
        self.install(at, image)
    }

    /// Writes the state to `out`; returns its image, and the first instance that it does not include. Called between two batches.
    ///
    /// # Errors
    /// It cannot be written: the node stops.
    fn snapshot(&mut self, out: ImageWriter) -> io::Result<(Instance, Image)>;

    /// The next instance: those below were taken.
    fn next(&self) -> Instance;

    /// Returns whether enough has gathered that [`flush`](Self::flush) should be called before the next batch.
    fn is_full(&self) -> bool {
        false
    }

    /// Sends the gathered replies. May wait for the consumer, and so slow down the order.
    ///
    /// # Errors
    /// The consumer has gone: the node stops.
    fn flush(&mut self) -> Result<(), Closed> {
        Ok(())
    }
}

/// A snapshot that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSnapshot(pub String);

impl fmt::Display for BadSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this snapshot cannot be read: {}", self.0)
    }
}

impl std::error::Error for BadSnapshot {}

impl From<io::Error> for BadSnapshot {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<StreamError> for BadSnapshot {
    fn from(error: StreamError) -> Self {
        Self(error.to_string())
    }
}

/// A task on the I/O thread of a node.
pub type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Serves the clients of a node, on the node's I/O thread.
pub trait ClientSide {
    /// Key of clients, if it is not the replicas'.
    fn key(&self) -> Option<&SharedKey>;

    /// Returns an error unless one more client is accepted.
    ///
    /// # Errors
    /// Reason of the refusal.
    fn admit(&self) -> Result<(), Refusal>;

    /// Serves a client that has greeted, until it leaves.
    fn serve(self: Rc<Self>, stream: TcpStream, greeted: Greeted) -> Task;

    /// Runs beside all connections. It should end soon after [`NodeParts::close`] was called: what is to be sent still is sent until then.
    fn run(self: Rc<Self>) -> Task;
}

/// Makes a [`ClientSide`], on the I/O thread.
pub type MakeClientSide = Box<dyn FnOnce() -> Rc<dyn ClientSide> + Send>;

/// Access to a node, for the application and the server on it.
#[derive(Clone)]
pub struct NodeHandle {
    /// The node's options. The replica's number is the one that it has now: see [`Node::id`](crate::node::Node::id).
    pub options: Options,
    /// The way into the order.
    pub submitter: Submitter,
    /// Returns the status of the node; `None` shortly after the start.
    pub status: Arc<dyn Fn() -> Option<Status> + Send + Sync>,
}

impl fmt::Debug for NodeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeHandle({})", self.options.id)
    }
}

/// Application and server that run on a node.
pub struct NodeParts<A> {
    /// Takes the batches.
    pub application: A,
    /// Called on the core's thread whenever who leads has changed, and so whatever was submitted and not delivered may be lost. It must
    /// not wait.
    pub on_leader: Box<dyn FnMut(Option<ReplicaId>) + Send>,
    /// Called on the core's thread when more may be forgotten, since a majority of the voters' consumers has everything below this instance
    /// ([`Submitter::consumer_has`]). It must not wait.
    pub on_may_forget: Box<dyn FnMut(Instance) + Send>,
    /// Makes the server of clients, on the I/O thread. `None`: clients are refused.
    pub client_side: Option<MakeClientSide>,
    /// Called when nothing more will come of the node, perhaps more than once. Waiting callers must be woken.
    pub close: Box<dyn Fn() + Send + Sync>,
}

impl<A> fmt::Debug for NodeParts<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeParts(..)")
    }
}

/// The way into the order, for requests of this node's own origin. Requests that are handed in may be lost: whenever who leads changes,
/// and when a peer's connection breaks.
#[derive(Clone, Debug)]
pub struct Submitter {
    id: ReplicaId,
    core: Arc<Mailbox<CoreInput>>,
    credit: Arc<Credit>,
}

impl Submitter {
    pub(crate) fn new(id: ReplicaId, core: Arc<Mailbox<CoreInput>>, credit: Arc<Credit>) -> Self {
        Self { id, core, credit }
    }

    /// The origin that requests must have: the node's number.
    #[must_use]
    pub fn id(&self) -> ReplicaId {
        self.id
    }

    /// Returns whether there is room for requests: fewer than [`Options::pending_bytes`] wait to be ordered.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.credit.is_available()
    }

    /// Says that what stands on the application has everything below this instance on its disk. Where one voter says so, all must.
    pub fn consumer_has(&self, below: Instance) {
        // Closed: the node stops, and forgets nothing more.
        let _ = self.core.force(CoreInput::Replica(Input::ConsumerHas(below)), 1);
    }

    /// Waits, as a task, until there is room.
    ///
    /// # Errors
    /// The node stops.
    pub async fn room(&self) -> Result<(), Closed> {
        self.credit.available().await
    }

    /// Hands requests in, behind all that were handed in before. It does not wait, and takes more than there is room for: by what was
    /// gathered while there was some.
    ///
    /// # Errors
    /// The node stops.
    pub fn submit(&self, chunk: Chunk) -> Result<(), Closed> {
        if chunk.is_empty() {
            return Ok(());
        }
        let bytes = chunk.bytes().len();
        self.credit.spend(bytes);
        // Bounded by the credit.
        self.core.force(CoreInput::Replica(Input::Submit(chunk)), 0)
    }
}
