//! The I/O thread: the connections to peers, with one or two tasks each, and the server of clients, on one current-thread runtime.
//!
//! Messages from peers are decoded here and passed to the core; messages from the core are sent over the connections. Nothing waits
//! for a slow peer: what a peer does not take in time is dropped, and the protocol retransmits it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use net::auth::SharedKey;
use net::connection::SharedFrame;
use net::mailbox::{Closed, Mailbox};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use crate::application::{ClientSide, MakeClientSide};
use crate::board::Board;
use crate::core::{Image, Instance, ReplicaId};
use crate::error::NodeError;
use crate::image::ImageStore;
use crate::inbox::CoreInput;
use crate::known_voters::{KnownVoters, Rejection};
use crate::membership::{Identity, Membership, Refusal};
use crate::message::PeerMessage;
use crate::replica::Input;

mod acceptor;
mod link;
pub(crate) mod pieces;

use link::Link;

pub use acceptor::MAX_PENDING_HANDSHAKES;
pub use pieces::{AskedPeers, Cutter, PieceAssembly};

/// Maximum time that a stopping node waits for the last replies to clients.
const FAREWELL: Duration = Duration::from_millis(500);

/// Interval at which the length of this replica's journal is sent to every peer.
const BETWEEN_RECORDS: Duration = Duration::from_secs(1);

/// Writes the journal lengths that peers report to disk once in so many intervals, and when a connection begins or ends. The
/// I/O thread blocks during the write.
const NOTED_EVERY: u64 = 10;

/// Messages that other threads have for the I/O thread to send.
#[derive(Debug)]
pub(crate) enum Post {
    /// To a peer.
    Frame(ReplicaId, Arc<SharedFrame>),
    /// To a peer: the question for the instances from this one on.
    Query(ReplicaId, Instance, Arc<SharedFrame>),
    /// To a peer, in pieces.
    Snapshot(ReplicaId, Instance, Image),
}

/// Setup of the I/O thread.
pub(crate) struct Setup {
    /// Membership at the start.
    pub(crate) membership: Membership,
    pub(crate) addresses: Vec<String>,
    pub(crate) key: Option<SharedKey>,
    /// Bytes that wait to be sent to one peer, at most.
    pub(crate) peer_bytes: usize,
    pub(crate) core: Arc<Mailbox<CoreInput>>,
    pub(crate) post: Arc<Mailbox<Post>>,
    pub(crate) board: Arc<Board>,
    /// Where snapshots of peers are written.
    pub(crate) images: ImageStore,
    /// Makes the server of clients.
    pub(crate) client_side: Option<MakeClientSide>,
    /// Stops the node.
    pub(crate) fail: Box<dyn Fn(NodeError) + Send>,
}

/// State shared by the tasks of the I/O thread.
struct Net {
    setup: Setup,
    client_side: Option<Rc<dyn ClientSide>>,
    known_voters: RefCell<KnownVoters>,
    asked: RefCell<AskedPeers>,
    links: RefCell<BTreeMap<ReplicaId, Rc<Link>>>,
}

/// Runs until the post is closed.
pub(crate) fn run(setup: Setup, known_voters: KnownVoters, listener: TcpListener) -> Result<(), NodeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, serve(setup, known_voters, listener))
}

async fn serve(mut setup: Setup, known_voters: KnownVoters, listener: TcpListener) -> Result<(), NodeError> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let post = Arc::clone(&setup.post);
    let client_side = setup.client_side.take().map(|make| make());
    let hosting = client_side.clone().map(|client_side| spawn_local(client_side.run()));
    let (asked, links) = (RefCell::default(), RefCell::default());
    let net = Rc::new(Net { client_side, known_voters: RefCell::new(known_voters), asked, links, setup });
    spawn_local(acceptor::accept(Rc::clone(&net), listener));
    for id in net.connects_to() {
        spawn_local(link::keep(Rc::clone(&net), id));
    }
    spawn_local(Rc::clone(&net).tell_records());
    let mut posts = Vec::new();
    while post.taken(&mut posts).await.is_ok() {
        posts.drain(..).for_each(|post| net.deliver(post));
        // Other tasks get their turn however much is posted.
        tokio::task::coop::consume_budget().await;
    }
    if let Some(hosting) = hosting {
        // The result does not matter: the node stops with or without the last replies.
        let _ = tokio::time::timeout(FAREWELL, hosting).await;
    }
    Ok(())
}

impl Net {
    fn own_id(&self) -> ReplicaId {
        self.setup.membership.id
    }

    /// Returns the replicas to which this one connects. Of two replicas the one with the greater number makes the connection;
    /// learners have greater numbers than voters, and do not connect to each other.
    fn connects_to(&self) -> impl Iterator<Item = ReplicaId> + use<> {
        0..self.own_id().min(self.setup.membership.agreement.replicas)
    }

    fn identity(&self) -> Identity {
        Identity::Replica(Membership { records: self.setup.board.records(), ..self.setup.membership })
    }

    fn key_for(&self, identity: &Identity) -> Option<&SharedKey> {
        let own = match identity {
            Identity::Client => self.client_side.as_ref().and_then(|client_side| client_side.key()),
            Identity::Replica(_) => None,
        };
        own.or(self.setup.key.as_ref())
    }

    /// Decides whether to keep a connection. `expected`: the replica that this end has dialled, if it has; it must be that one.
    ///
    /// # Errors
    /// The refusal to send to the other end.
    fn judge(&self, identity: &Identity, expected: Option<ReplicaId>) -> Result<(), Refusal> {
        let Identity::Replica(other) = identity else {
            return self.client_side.as_ref().map_or(Err(Refusal::NoClients), |client_side| client_side.admit());
        };
        let mut known_voters = self.known_voters.borrow_mut();
        if expected.is_some_and(|id| id != other.id) && !known_voters.is_self(other) {
            return Err(Refusal::OtherReplica);
        }
        known_voters.meet(other).map_err(|rejection| match rejection {
            Rejection::Refused(refusal) => refusal,
            Rejection::NotNoted(error) => {
                (self.setup.fail)(error.into());
                Refusal::Stopping
            }
        })
    }

    /// Writes the peers' reports to disk. If that fails, the replica stops: without the report it could accept an old copy of the
    /// peer's directory.
    fn note_peers(&self) {
        if let Err(error) = self.known_voters.borrow_mut().note() {
            (self.setup.fail)(error.into());
        }
    }

    /// Stops the node: a snapshot cannot be written, or read.
    fn stop_for_snapshot(&self, error: std::io::Error) -> link::Ended {
        (self.setup.fail)(NodeError::SnapshotFile(error.into()));
        link::Ended::Stopped
    }

    /// Sends the length of this replica's journal to every peer, and writes theirs to disk, as long as the node runs.
    async fn tell_records(self: Rc<Self>) {
        for beat in 1_u64.. {
            sleep(BETWEEN_RECORDS).await;
            let records = PeerMessage::Records(self.setup.board.records());
            // It is a few bytes long.
            if let Ok(frame) = SharedFrame::new(&records).map(Arc::new) {
                self.links.borrow().values().for_each(|link| link.send(Arc::clone(&frame)));
            }
            if beat % NOTED_EVERY == 0 {
                self.note_peers();
            }
        }
    }

    fn link(&self, id: ReplicaId) -> Rc<Link> {
        let new = || Rc::new(Link::new(id, self.setup.peer_bytes, self.setup.board.network.peer(id)));
        Rc::clone(self.links.borrow_mut().entry(id).or_insert_with(new))
    }

    fn deliver(&self, post: Post) {
        match post {
            Post::Frame(to, frame) => self.link(to).send(frame),
            Post::Query(to, from, frame) => {
                self.asked.borrow_mut().ask(to, from);
                self.link(to).send(frame);
            }
            Post::Snapshot(to, at, image) => self.link(to).send_snapshot(at, &image),
        }
    }

    fn tell_core(&self, input: Input) -> Result<(), Closed> {
        self.setup.core.force(CoreInput::Replica(input), 1)
    }
}
