//! A running replica of a service: an executor on a node of the order, and clients at the same address.
//!
//! ```text
//!   clients ──► I/O thread ──── Submitter ────► core ──► application's thread: executor
//!                   ▲                                          │
//!                   └──────────── Post: replies ───────────────┘
//! ```

use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use net::mailbox::Mailbox;
use paxos::application::{ClientSide, MakeClientSide, NodeHandle, NodeParts, Submitter};
use paxos::config::BadOption;
use paxos::core::{Core, Proved, ReplicaId};
use paxos::node;

use crate::executor::Executor;
use crate::service::Service;
use crate::status::{ClientStatus, Status};

mod application;
mod clients;
mod figures;
mod local;
#[cfg(test)]
mod misbehaviour;
mod options;
#[cfg(test)]
mod tests;

use application::ServiceApplication;
use clients::{ClientServer, Post, Setup};
use figures::Figures;

pub use local::{LocalClient, LocalError};
pub use options::{Limits, NodeOptions};
pub use paxos::node::{IoError, Listen, NodeError};

/// A running replica of a service.
pub struct Node {
    node: node::Node,
    post: Arc<Mailbox<Post>>,
    figures: Arc<Figures>,
    submitter: Submitter,
    locals: AtomicU64,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

impl Node {
    /// Starts a replica of this service, with the proved core.
    ///
    /// # Errors
    /// See [`NodeError`]: options, key, address, journal, threads.
    pub fn start<S: Service>(options: NodeOptions, service: S) -> Result<Self, NodeError> {
        Self::start_with::<S, Proved>(options, service)
    }

    /// Like [`start`](Self::start), with another core: the laboratory compares the proved one with a plain one.
    ///
    /// # Errors
    /// See [`start`](Self::start).
    pub fn start_with<S: Service, C: Core>(options: NodeOptions, service: S) -> Result<Self, NodeError> {
        if options.order.replica.sessions == 0 {
            return Err(NodeError::Option(BadOption { option: "sessions", limit: "1 to 1,048,576" }));
        }
        let post = Arc::new(Mailbox::new(options.order.limits.io_bytes));
        let figures = Arc::<Figures>::default();
        let mut submitter = None;
        let clients = ClientSetup {
            addresses: options.order.addresses.clone(),
            key: options.client_key,
            limits: options.limits,
            post: Arc::clone(&post),
            figures: Arc::clone(&figures),
        };
        let node = node::Node::start_with::<C, _>(options.order, |handle| {
            submitter = Some(handle.submitter.clone());
            clients.parts(handle, service)
        })?;
        let submitter = submitter.expect("a node that has started was built");
        Ok(Self { node, post, figures, submitter, locals: AtomicU64::new(0) })
    }

    /// The replica's number. A replica that comes back without its memory has another one than it was started with.
    #[must_use]
    pub fn id(&self) -> ReplicaId {
        self.node.id()
    }

    /// Returns the address on which it accepts connections.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.node.address()
    }

    /// Returns its status; `None` shortly after the start.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        Some(status(self.node.status()?, &self.post, &self.figures))
    }

    /// Why it has stopped by itself, if it has.
    #[must_use]
    pub fn failure(&self) -> Option<NodeError> {
        self.node.failure()
    }

    /// A client in this process, without a socket.
    #[must_use]
    pub fn client(&self) -> LocalClient {
        // Numbers need only differ.
        let id = self.locals.fetch_add(1, Ordering::Relaxed);
        LocalClient::new(id, Arc::clone(&self.post), self.submitter.clone())
    }

    /// Waits until the node has stopped.
    ///
    /// # Errors
    /// Why, if it stopped by itself.
    pub fn wait(&self) -> Result<(), NodeError> {
        self.node.wait()
    }

    /// Stops: requests that are ordered are executed and answered, the journal is durable.
    ///
    /// # Errors
    /// Why it had stopped by itself before.
    pub fn stop(&self) -> Result<(), NodeError> {
        self.node.stop()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Whoever wants to know asks before.
        let _ = self.stop();
    }
}

/// Setup of the clients' side of a node, before its address is known.
struct ClientSetup {
    addresses: Vec<String>,
    key: Option<net::auth::SharedKey>,
    limits: Limits,
    post: Arc<Mailbox<Post>>,
    figures: Arc<Figures>,
}

impl ClientSetup {
    fn parts<S: Service>(self, handle: NodeHandle, service: S) -> NodeParts<ServiceApplication<S>> {
        let (leads, closes) = (Arc::clone(&self.post), Arc::clone(&self.post));
        let executor = Executor::new(&handle.options, service);
        let application = ServiceApplication::new(executor, Arc::clone(&self.post), Arc::clone(&self.figures));
        NodeParts {
            application,
            on_leader: Box::new(move |leader| {
                // If the box is closed, so is everything.
                let _ = leads.force(Post::Leader(leader), 1);
            }),
            // Its service has no disk of its own.
            on_may_forget: Box::new(|_| ()),
            client_side: Some(self.client_side(handle)),
            close: Box::new(move || closes.close()),
        }
    }

    fn client_side(self, handle: NodeHandle) -> MakeClientSide {
        let Self { addresses, key, limits, post, figures } = self;
        let NodeHandle { options, submitter, status: below } = handle;
        let (its_post, its_figures) = (Arc::clone(&post), Arc::clone(&figures));
        let tell = move || match below() {
            Some(below) => status(below, &its_post, &its_figures).to_json(),
            None => "{}".into(),
        };
        let sessions = options.sessions;
        let setup = Setup { addresses, key, limits, sessions, submitter, post, figures, status: Box::new(tell) };
        Box::new(move || Rc::new(ClientServer::new(setup)) as Rc<dyn ClientSide>)
    }
}

/// Returns the status of the node of the order and of the service on it.
fn status(mut node: paxos::status::Status, post: &Mailbox<Post>, figures: &Figures) -> Status {
    node.queues.io_bytes += post.weight();
    let service = figures.service();
    Status {
        node,
        executor: service.executed,
        bad_batches: service.bad_batches,
        clients: ClientStatus {
            connected: figures.connected.load(Ordering::Relaxed),
            dismissed: figures.dismissed.load(Ordering::Relaxed),
        },
    }
}
