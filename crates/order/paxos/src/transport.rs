//! The I/O thread: connections of peers and of clients, one task or two each, on one current-thread runtime.
//!
//! What comes from outside is decoded here and handed to the core, what the core and the service say is routed to its connections.
//! Nothing waits for a slow end: what a peer does not take in time is dropped (the protocol sends it again), a client that does not
//! take its replies is disconnected, and clients are not read from while too many requests wait to be ordered.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use crate::auth::acquaintances::{Acquaintances, Rejection};
use crate::auth::greeting::{Identity, Membership, Refusal};
use crate::auth::{FrameDigest, SharedKey, digest};
use crate::core::{Image, Instance, ReplicaId};
use crate::executor::Reply;
use crate::frame::{TooLong, encode};
use crate::message::{ClientMessage, PeerMessage, ReplicaMessage};
use crate::replica::Input;
use crate::request::Chunk;
use crate::runtime::NodeError;
use crate::runtime::board::Board;
use crate::runtime::core_loop::CoreInput;
use crate::runtime::credit::Credit;
use crate::runtime::mailbox::{Closed, Mailbox};
use crate::runtime::options::Limits;

mod acceptor;
mod clients;
pub mod greet;
mod link;
pub(crate) mod pieces;
#[cfg(test)]
mod tests;

use clients::{Client, Clients};
use link::Link;

pub use pieces::MAX_SNAPSHOT_BYTES;

/// A silent connection is probed after this, and given up if the probes are not answered.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// When the node stops, clients get their last replies within this.
const FAREWELL: Duration = Duration::from_millis(500);

/// Peers are told so often how long this replica's journal is.
const BETWEEN_RECORDS: Duration = Duration::from_secs(1);

/// What they tell is noted on the disk at every so many beats, and when a connection begins or ends. The thread waits for the disk
/// meanwhile.
const NOTED_EVERY: u64 = 10;

/// A message for peers, encoded once however many get it.
#[derive(Debug)]
pub(crate) struct PeerFrame {
    bytes: Vec<u8>,
    digest: OnceLock<FrameDigest>,
}

impl PeerFrame {
    pub(crate) fn new(message: &PeerMessage) -> Result<Self, TooLong> {
        let mut bytes = Vec::new();
        encode(message, &mut bytes)?;
        Ok(Self { bytes, digest: OnceLock::new() })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What its tags are made of.
    fn digest(&self) -> &FrameDigest {
        self.digest.get_or_init(|| digest(&self.bytes))
    }
}

/// The number of a client in this process.
pub(crate) type LocalId = u64;

/// What other threads want sent.
#[derive(Debug)]
pub(crate) enum Post {
    /// To a peer.
    Frame(ReplicaId, Arc<PeerFrame>),
    /// To a peer, in pieces.
    Snapshot(ReplicaId, Instance, Image),
    /// To all clients: who leads.
    Leader(Option<ReplicaId>),
    /// To the clients whose they are.
    Replies(Vec<Reply>),
    /// A client in this process, and where it takes its replies.
    Join(LocalId, Arc<Mailbox<ReplicaMessage>>),
    /// What it says.
    Say(LocalId, Vec<ClientMessage>),
    /// It is gone.
    Leave(LocalId),
}

/// What the I/O thread is started with.
pub(crate) struct Setup {
    /// As it was when it started.
    pub(crate) membership: Membership,
    pub(crate) addresses: Vec<String>,
    pub(crate) key: Option<SharedKey>,
    pub(crate) client_key: Option<SharedKey>,
    pub(crate) limits: Limits,
    pub(crate) core: Arc<Mailbox<CoreInput>>,
    pub(crate) post: Arc<Mailbox<Post>>,
    pub(crate) credit: Arc<Credit>,
    pub(crate) board: Arc<Board>,
    /// Makes the answer to [`ClientMessage::Status`].
    pub(crate) status: Box<dyn Fn() -> String + Send>,
    /// Stops the node.
    pub(crate) fail: Box<dyn Fn(NodeError) + Send>,
}

/// What the tasks of the I/O thread share.
struct Net {
    setup: Setup,
    acquaintances: RefCell<Acquaintances>,
    links: RefCell<BTreeMap<ReplicaId, Rc<Link>>>,
    clients: Clients,
    leader: Cell<Option<ReplicaId>>,
}

/// Runs until the post is closed.
pub(crate) fn run(setup: Setup, acquaintances: Acquaintances, listener: TcpListener) -> Result<(), NodeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    LocalSet::new().block_on(&runtime, serve(setup, acquaintances, listener))
}

async fn serve(setup: Setup, acquaintances: Acquaintances, listener: TcpListener) -> Result<(), NodeError> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let post = Arc::clone(&setup.post);
    let net = Rc::new(Net {
        acquaintances: RefCell::new(acquaintances),
        links: RefCell::default(),
        clients: Clients::new(setup.limits, setup.membership.agreement.sessions, Arc::clone(&setup.board)),
        leader: Cell::new(None),
        setup,
    });
    spawn_local(acceptor::accept(Rc::clone(&net), listener));
    for id in net.connects_to() {
        spawn_local(link::keep(Rc::clone(&net), id));
    }
    spawn_local(Rc::clone(&net).tell_records());
    let quotas = Rc::clone(&net);
    spawn_local(async move { quotas.clients.renew_quotas().await });
    let mut posts = Vec::new();
    while post.taken(&mut posts).await.is_ok() {
        posts.drain(..).for_each(|post| net.deliver(post));
        // Other tasks get their turn however much is posted.
        tokio::task::coop::consume_budget().await;
    }
    let _ = tokio::time::timeout(FAREWELL, net.clients.flushed()).await;
    Ok(())
}

impl Net {
    fn own_id(&self) -> ReplicaId {
        self.setup.membership.id
    }

    /// Of two replicas the one with the greater number makes the connection; learners have greater numbers than voters, and none
    /// with each other.
    fn connects_to(&self) -> impl Iterator<Item = ReplicaId> + use<> {
        0..self.own_id().min(self.setup.membership.agreement.replicas)
    }

    fn identity(&self) -> Identity {
        Identity::Replica(Membership { records: self.setup.board.records(), ..self.setup.membership })
    }

    fn key_for(&self, identity: &Identity) -> Option<&SharedKey> {
        let own = match identity {
            Identity::Client => self.setup.client_key.as_ref(),
            Identity::Replica(_) => None,
        };
        own.or(self.setup.key.as_ref())
    }

    /// Does this replica want the other end? If it is a replica that it must be, it is this one.
    fn judge(&self, identity: &Identity, expected: Option<ReplicaId>) -> Result<(), Refusal> {
        let Identity::Replica(other) = identity else { return self.clients.admit() };
        let mut acquaintances = self.acquaintances.borrow_mut();
        if expected.is_some_and(|id| id != other.id) && !acquaintances.is_oneself(other) {
            return Err(Refusal::OtherReplica);
        }
        acquaintances.meet(other).map_err(|rejection| match rejection {
            Rejection::Refused(refusal) => refusal,
            Rejection::NotNoted(error) => {
                (self.setup.fail)(error.into());
                Refusal::Stopping
            }
        })
    }

    /// Notes what was heard of peers. One that cannot be noted may come back as an old copy: this replica stops.
    fn note_peers(&self) {
        if let Err(error) = self.acquaintances.borrow_mut().note() {
            (self.setup.fail)(error.into());
        }
    }

    /// Tells every peer how long this replica's journal is, and notes what they have told, as long as the node runs.
    async fn tell_records(self: Rc<Self>) {
        for beat in 1_u64.. {
            sleep(BETWEEN_RECORDS).await;
            let records = PeerMessage::Records(self.setup.board.records());
            // It is a few bytes long.
            if let Ok(frame) = PeerFrame::new(&records).map(Arc::new) {
                self.links.borrow().values().for_each(|link| link.send(Arc::clone(&frame)));
            }
            if beat % NOTED_EVERY == 0 {
                self.note_peers();
            }
        }
    }

    fn link(&self, id: ReplicaId) -> Rc<Link> {
        let new = || Rc::new(Link::new(id, self.setup.limits.peer_bytes, self.setup.board.network.peer(id)));
        Rc::clone(self.links.borrow_mut().entry(id).or_insert_with(new))
    }

    fn deliver(&self, post: Post) {
        match post {
            Post::Frame(to, frame) => self.link(to).send(frame),
            Post::Snapshot(to, at, image) => self.link(to).send_snapshot(at, image),
            Post::Leader(leader) => {
                self.leader.set(leader);
                self.clients.tell_all(&self.leader_message());
            }
            Post::Replies(replies) => replies.into_iter().for_each(|reply| self.clients.reply(reply)),
            Post::Join(id, inbox) => self.clients.join(id, inbox).push(&self.leader_message()),
            Post::Say(id, messages) => self.hear_local(id, messages),
            Post::Leave(id) => self.clients.leave_local(id),
        }
    }

    fn leader_message(&self) -> ReplicaMessage {
        let leader = self.leader.get();
        let address = leader.and_then(|id| self.setup.addresses.get(usize::try_from(id).ok()?)).cloned();
        ReplicaMessage::Leader { leader, address }
    }

    fn hear_local(&self, id: LocalId, messages: Vec<ClientMessage>) {
        let Some(client) = self.clients.local(id) else { return };
        let mut chunk = Chunk::new();
        for message in messages {
            self.hear(&client, message, &mut chunk);
        }
        // Closed: the client is told by its mailbox.
        let _ = self.submit(chunk);
    }

    /// Takes a client's message: requests go to the chunk.
    fn hear(&self, client: &Rc<Client>, message: ClientMessage, chunk: &mut Chunk) {
        match message {
            ClientMessage::Status => client.push(&ReplicaMessage::Status((self.setup.status)())),
            request => self.clients.request(client, &request, self.own_id(), chunk),
        }
    }

    fn submit(&self, chunk: Chunk) -> Result<(), Closed> {
        if chunk.is_empty() {
            return Ok(());
        }
        let bytes = chunk.bytes().len();
        self.setup.credit.spend(bytes);
        // Bounded by the credit.
        self.setup.core.force(CoreInput::Replica(Input::Submit(chunk)), 0)
    }

    fn tell_core(&self, input: Input) -> Result<(), Closed> {
        self.setup.core.force(CoreInput::Replica(input), 1)
    }
}

/// What every connection has.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 5);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}
