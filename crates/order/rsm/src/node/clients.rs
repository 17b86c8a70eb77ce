//! Connections of clients: receives requests, and sends replies.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use foldhash::fast::RandomState;
use net::auth::SharedKey;
use net::frame::{Decoder, Packer};
use net::mailbox::Mailbox;
use paxos::application::{ClientSide, Submitter, Task};
use paxos::core::{ReplicaId, Session};
use paxos::membership::{Greeted, Refusal};
use paxos::request::{BadRequest, Chunk, MAX_BODY_BYTES, OPEN, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::Limits;
use super::figures::Figures;
use crate::executor::Reply;
use crate::message::{ClientMessage, Outcome, ReplicaMessage};
use crate::wire::MAX_CLIENT_FRAME_BYTES;

/// Interval between two checks for unwritten bytes when the node stops.
const FLUSH_INTERVAL: Duration = Duration::from_millis(1);

/// After it, an address may open as many sessions again.
const QUOTA_PERIOD: Duration = Duration::from_secs(60);

/// A buffer that has grown beyond this is not kept.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// The number of a client in this process.
pub(super) type LocalId = u64;

/// Messages that other threads have for clients.
#[derive(Debug)]
pub(super) enum Post {
    /// To all: the leader.
    Leader(Option<ReplicaId>),
    /// To the clients whose they are.
    Replies(Vec<Reply>),
    /// A client in this process, and where it takes its replies.
    Join(LocalId, Arc<Mailbox<ReplicaMessage>>),
    /// Messages of that client.
    Say(LocalId, Vec<ClientMessage>),
    /// It is gone.
    Leave(LocalId),
}

/// Setup of the clients' side of a node.
pub(super) struct Setup {
    /// Addresses of the voting replicas, by their numbers.
    pub(super) addresses: Vec<String>,
    /// The key of clients, if it is not the replicas'.
    pub(super) key: Option<SharedKey>,
    pub(super) limits: Limits,
    /// Sessions that the cluster keeps.
    pub(super) sessions: u64,
    pub(super) submitter: Submitter,
    pub(super) post: Arc<Mailbox<Post>>,
    pub(super) figures: Arc<Figures>,
    /// Makes the answer to [`ClientMessage::Status`].
    pub(super) status: Box<dyn Fn() -> String + Send>,
}

/// The clients' side of a node, on its I/O thread.
pub(super) struct ClientServer {
    setup: Setup,
    clients: Clients,
    leader: Cell<Option<ReplicaId>>,
}

impl ClientServer {
    pub(super) fn new(setup: Setup) -> Self {
        let clients = Clients::new(setup.limits, setup.sessions, Arc::clone(&setup.figures));
        Self { setup, clients, leader: Cell::new(None) }
    }

    fn deliver(&self, post: Post) {
        match post {
            Post::Leader(leader) => {
                self.leader.set(leader);
                self.clients.tell_all(&self.leader_message());
            }
            Post::Replies(replies) => replies.into_iter().for_each(|reply| self.clients.reply(reply)),
            Post::Join(id, inbox) => self.clients.join(id, inbox).push(&self.leader_message()),
            Post::Say(id, messages) => self.receive_local(id, messages),
            Post::Leave(id) => self.clients.leave_local(id),
        }
    }

    fn leader_message(&self) -> ReplicaMessage {
        let leader = self.leader.get();
        let address = leader.and_then(|id| self.setup.addresses.get(usize::try_from(id).ok()?)).cloned();
        ReplicaMessage::Leader { leader, address }
    }

    fn receive_local(&self, id: LocalId, messages: Vec<ClientMessage>) {
        let Some(client) = self.clients.local(id) else { return };
        let mut chunk = Chunk::new();
        for message in messages {
            self.receive(&client, message, &mut chunk);
        }
        // Closed: the client is told by its mailbox.
        let _ = self.setup.submitter.submit(chunk);
    }

    /// Takes a client's message: requests go to the chunk.
    fn receive(&self, client: &Rc<Client>, message: ClientMessage, chunk: &mut Chunk) {
        match message {
            ClientMessage::Status => client.push(&ReplicaMessage::Status((self.setup.status)())),
            request => self.clients.request(client, &request, self.setup.submitter.id(), chunk),
        }
    }

    /// Leads what is posted to its clients, until the post is closed and all is written.
    async fn lead(self: Rc<Self>) {
        let quotas = Rc::clone(&self);
        spawn_local(async move { quotas.clients.renew_quotas().await });
        let mut posts = Vec::new();
        while self.setup.post.taken(&mut posts).await.is_ok() {
            posts.drain(..).for_each(|post| self.deliver(post));
            // Other tasks get their turn however much is posted.
            tokio::task::coop::consume_budget().await;
        }
        self.clients.flushed().await;
    }

    /// Serves a client until it goes or must go.
    async fn attend(self: Rc<Self>, stream: TcpStream, greeted: Greeted) {
        let from = stream.peer_addr().ok().map(|address| address.ip().to_canonical());
        let (id, client) = self.clients.connect(Packer::new(greeted.seal), from);
        client.push(&self.leader_message());
        let (reader, writer) = stream.into_split();
        tokio::select! {
            () = read(&self, &client, reader, greeted.decoder) => {}
            () = write(&client, writer) => {}
            () = client.dismissed.notified() => {}
        }
        self.clients.disconnect(id);
    }
}

impl ClientSide for ClientServer {
    fn key(&self) -> Option<&SharedKey> {
        self.setup.key.as_ref()
    }

    fn admit(&self) -> Result<(), Refusal> {
        self.clients.admit()
    }

    fn serve(self: Rc<Self>, stream: TcpStream, greeted: Greeted) -> Task {
        Box::pin(self.attend(stream, greeted))
    }

    fn run(self: Rc<Self>) -> Task {
        Box::pin(self.lead())
    }
}

/// A connection of a client, or a client in this process.
#[derive(Debug)]
pub(super) struct Client {
    output: Output,
    limits: Limits,
    /// Address from which it connects; `None`: it is in this process.
    from: Option<IpAddr>,
    /// Sessions whose replies go to this client.
    sessions: RefCell<Vec<Owned>>,
    /// Sessions that are being opened.
    opening: Cell<usize>,
    /// Sessions that it has asked for.
    opened: Cell<usize>,
    /// The output has something.
    filled: Notify,
    /// Bytes of a frame of which a part has come.
    unfinished: Cell<usize>,
    /// Everything is written.
    is_flushed: Cell<bool>,
    /// It must go.
    dismissed: Notify,
    is_dismissed: Cell<bool>,
}

/// A session, and the nonce of its client. A client that uses it with another nonce receives only its own replies.
type Owned = (Session, u64);

#[derive(Debug)]
enum Output {
    Socket(RefCell<Packer<ReplicaMessage>>),
    Local(Arc<Mailbox<ReplicaMessage>>),
}

impl Client {
    fn new(output: Output, limits: Limits, from: Option<IpAddr>) -> Rc<Self> {
        Rc::new(Self {
            output,
            limits,
            from,
            opened: Cell::new(0),
            sessions: RefCell::default(),
            opening: Cell::new(0),
            filled: Notify::new(),
            unfinished: Cell::new(0),
            is_flushed: Cell::new(true),
            dismissed: Notify::new(),
            is_dismissed: Cell::new(false),
        })
    }

    /// Sends a message. A client that lets too much gather must go.
    pub(super) fn push(&self, message: &ReplicaMessage) {
        match &self.output {
            Output::Local(inbox) => {
                if inbox.offer(message.clone(), weight_of(message)).is_err() {
                    self.dismiss();
                }
            }
            Output::Socket(packer) => {
                let mut packer = packer.borrow_mut();
                if packer.is_empty() {
                    self.is_flushed.set(false);
                    self.filled.notify_one();
                }
                // One message more than the limit: so the longest reply can be sent, whatever the limit.
                if packer.len() >= self.limits.client_bytes || packer.push(message).is_err() {
                    self.dismiss();
                }
            }
        }
    }

    fn dismiss(&self) {
        if !self.is_dismissed.replace(true) {
            self.dismissed.notify_one();
            if let Output::Local(inbox) = &self.output {
                inbox.close();
            }
        }
    }

    fn dismiss_if_greedy(&self) {
        if self.sessions.borrow().len() > self.limits.client_sessions {
            self.dismiss();
        }
    }
}

/// Notifies a client in this process that the node stops.
impl Drop for Client {
    fn drop(&mut self) {
        if let Output::Local(inbox) = &self.output {
            inbox.close();
        }
    }
}

fn weight_of(message: &ReplicaMessage) -> usize {
    match message {
        ReplicaMessage::Reply { outcome: Outcome::Executed(_, answer), .. } => {
            size_of::<ReplicaMessage>() + answer.len()
        }
        ReplicaMessage::Status(json) => json.len(),
        _ => size_of::<ReplicaMessage>(),
    }
}

type Map<V, K = u64> = HashMap<K, V, RandomState>;

/// All clients, and which replies are whose.
#[derive(Debug)]
pub(super) struct Clients {
    limits: Limits,
    figures: Arc<Figures>,
    sessions: RefCell<Map<Rc<Client>, Owned>>,
    nonces: RefCell<Map<Rc<Client>>>,
    connected: RefCell<Map<Rc<Client>>>,
    local: RefCell<Map<Rc<Client>>>,
    connections: Cell<u64>,
    /// Sessions that each address has asked for in this minute.
    opened: RefCell<Map<usize, IpAddr>>,
    /// Bytes of frames that are not whole yet, of all clients.
    unfinished: Cell<usize>,
}

impl Clients {
    pub(super) fn new(limits: Limits, sessions: u64, figures: Arc<Figures>) -> Self {
        let quarter = usize::try_from(sessions.div_ceil(4)).unwrap_or(usize::MAX);
        let limits = Limits {
            client_sessions: limits.client_sessions.min(quarter),
            address_sessions: limits.address_sessions.min(quarter),
            ..limits
        };
        Self {
            limits,
            opened: RefCell::default(),
            figures,
            sessions: RefCell::default(),
            nonces: RefCell::default(),
            connected: RefCell::default(),
            local: RefCell::default(),
            connections: Cell::new(0),
            unfinished: Cell::new(0),
        }
    }

    /// May one more connect?
    pub(super) fn admit(&self) -> Result<(), Refusal> {
        if self.connected.borrow().len() < self.limits.clients { Ok(()) } else { Err(Refusal::TooManyConnections) }
    }

    fn connect(&self, packer: Packer<ReplicaMessage>, from: Option<IpAddr>) -> (u64, Rc<Client>) {
        let client = Client::new(Output::Socket(RefCell::new(packer)), self.limits, from);
        let id = self.connections.get();
        self.connections.set(id + 1);
        self.connected.borrow_mut().insert(id, Rc::clone(&client));
        self.count_connected();
        (id, client)
    }

    fn disconnect(&self, id: u64) {
        let client = self.connected.borrow_mut().remove(&id);
        self.count_connected();
        if let Some(client) = client {
            if client.is_dismissed.get() {
                self.figures.dismissed.fetch_add(1, Ordering::Relaxed);
            }
            self.note_unfinished(&client, 0);
            self.forget_routes(&client);
        }
    }

    /// Records bytes of an incomplete frame from this client; more must follow.
    fn note_unfinished(&self, client: &Client, bytes: usize) {
        let before = client.unfinished.replace(bytes);
        self.unfinished.set(self.unfinished.get() - before + bytes);
        if bytes > before && self.unfinished.get() > self.limits.unfinished_bytes {
            client.dismiss();
        }
    }

    fn count_connected(&self) {
        self.figures.connected.store(self.connected.borrow().len(), Ordering::Relaxed);
    }

    /// A client in this process comes.
    pub(super) fn join(&self, id: LocalId, inbox: Arc<Mailbox<ReplicaMessage>>) -> Rc<Client> {
        let client = Client::new(Output::Local(inbox), self.limits, None);
        self.local.borrow_mut().insert(id, Rc::clone(&client));
        client
    }

    /// The client of this process with this number.
    pub(super) fn local(&self, id: LocalId) -> Option<Rc<Client>> {
        self.local.borrow().get(&id).cloned()
    }

    pub(super) fn leave_local(&self, id: LocalId) {
        let client = self.local.borrow_mut().remove(&id);
        client.into_iter().for_each(|client| self.forget_routes(&client));
    }

    fn forget_routes(&self, client: &Rc<Client>) {
        let mut sessions = self.sessions.borrow_mut();
        for session in client.sessions.take() {
            // It may have gone on through another connection.
            if sessions.get(&session).is_some_and(|owner| Rc::ptr_eq(owner, client)) {
                sessions.remove(&session);
            }
        }
        if client.opening.get() > 0 {
            self.nonces.borrow_mut().retain(|_, owner| !Rc::ptr_eq(owner, client));
        }
    }

    /// Takes a request to the chunk, or answers it where no order is needed for that.
    pub(super) fn request(&self, client: &Rc<Client>, message: &ClientMessage, own: ReplicaId, chunk: &mut Chunk) {
        let (session, sequence, nonce, body) = match message {
            ClientMessage::Open(nonce) => match self.spend_session(client) {
                Ok(()) => (OPEN, *nonce, *nonce, &[][..]),
                Err(limit) => return client.push(&ReplicaMessage::TooManySessions { nonce: *nonce, limit }),
            },
            ClientMessage::Request { session, sequence, nonce, body } => (*session, *sequence, *nonce, &body[..]),
            ClientMessage::Status => return,
        };
        if session == OPEN && !matches!(message, ClientMessage::Open(_)) {
            return client.push(&ReplicaMessage::Reply { session, sequence, outcome: Outcome::UnknownSession });
        }
        match chunk.push(Request { origin: own, session, sequence, nonce: Some(nonce), body }) {
            Ok(()) if session == OPEN => self.lead_nonce(sequence, client),
            Ok(()) => self.lead_session((session, nonce), client),
            Err(BadRequest::TooLarge { .. } | BadRequest::Origin(_)) => {
                let outcome = Outcome::TooLarge(MAX_BODY_BYTES as u64);
                client.push(&ReplicaMessage::Reply { session, sequence, outcome });
            }
        }
    }

    /// One session more for this client, if it and its address may have it; else the limit.
    fn spend_session(&self, client: &Client) -> Result<(), u64> {
        let Limits { client_sessions, address_sessions, .. } = self.limits;
        if client.opened.get() >= client_sessions {
            return Err(client_sessions as u64);
        }
        if let Some(from) = client.from {
            let mut opened = self.opened.borrow_mut();
            let count = opened.entry(from).or_default();
            if *count >= address_sessions {
                return Err(address_sessions as u64);
            }
            *count += 1;
        }
        client.opened.update(|opened| opened + 1);
        Ok(())
    }

    /// A minute is over: every address may open sessions again. For ever.
    pub(super) async fn renew_quotas(&self) {
        loop {
            sleep(QUOTA_PERIOD).await;
            self.opened.borrow_mut().clear();
        }
    }

    fn lead_nonce(&self, nonce: u64, client: &Rc<Client>) {
        client.opening.update(|opening| opening + 1);
        if let Some(before) = self.nonces.borrow_mut().insert(nonce, Rc::clone(client)) {
            before.opening.update(|opening| opening - 1);
        }
    }

    fn lead_session(&self, session: Owned, client: &Rc<Client>) {
        let mut sessions = self.sessions.borrow_mut();
        if !sessions.get(&session).is_some_and(|owner| Rc::ptr_eq(owner, client)) {
            sessions.insert(session, Rc::clone(client));
            client.sessions.borrow_mut().push(session);
            client.dismiss_if_greedy();
        }
    }

    /// Sends a reply to whose it is, if that client is still here.
    pub(super) fn reply(&self, reply: Reply) {
        match reply {
            Reply::Opened { nonce, session } => {
                let client = self.nonces.borrow_mut().remove(&nonce);
                if let Some(client) = client {
                    client.opening.update(|opening| opening - 1);
                    client.push(&ReplicaMessage::Opened { nonce, session });
                }
            }
            Reply::Done { session, sequence, nonce, outcome } => {
                let owned = (session, nonce.unwrap_or_default());
                if let Some(client) = self.sessions.borrow().get(&owned) {
                    client.push(&ReplicaMessage::Reply { session, sequence, outcome });
                }
            }
        }
    }

    pub(super) fn tell_all(&self, message: &ReplicaMessage) {
        self.connected.borrow().values().chain(self.local.borrow().values()).for_each(|client| client.push(message));
    }

    /// Waits until all that was pushed is written.
    pub(super) async fn flushed(&self) {
        while !self.connected.borrow().values().all(|client| client.is_flushed.get()) {
            sleep(FLUSH_INTERVAL).await;
        }
    }
}

/// Ends when there is nothing more to read, or nothing that makes sense.
async fn read(server: &ClientServer, client: &Rc<Client>, mut stream: OwnedReadHalf, mut decoder: Decoder) {
    decoder.set_limit(MAX_CLIENT_FRAME_BYTES);
    loop {
        let mut chunk = Chunk::with_capacity(decoder.buffer().len());
        while let Ok(Some(frame)) = decoder.next_frame().inspect_err(|_| client.dismiss()) {
            for message in frame.messages::<ClientMessage>() {
                match message {
                    Ok(message) => server.receive(client, message, &mut chunk),
                    Err(_) => client.dismiss(),
                }
            }
        }
        server.clients.note_unfinished(client, decoder.unfinished());
        // Clients that have sent something wait here while too much waits to be ordered, and nobody reads what they send next.
        if !chunk.is_empty() && server.setup.submitter.room().await.is_err() {
            return;
        }
        if server.setup.submitter.submit(chunk).is_err() || client.is_dismissed.get() {
            return;
        }
        match stream.read_buf(decoder.buffer()).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

async fn write(client: &Client, mut stream: OwnedWriteHalf) {
    let Output::Socket(packer) = &client.output else { return };
    let mut bytes = Vec::new();
    loop {
        packer.borrow_mut().drain_into(&mut bytes);
        if bytes.is_empty() {
            client.is_flushed.set(true);
            client.filled.notified().await;
            continue;
        }
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
        bytes.clear();
        bytes.shrink_to(KEPT_BUFFER_BYTES);
    }
}
