//! The connection with one peer.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use env::{Backoff, Randomness};
use net::auth::{NoKey, Seal, require_key};
use net::connection::{SharedFrame, connect as dial, prepare, write_frames};
use net::frame::{BadFrame, Decoder, MAX_FRAME_BYTES};
use net::handshake::{GREETING_PATIENCE, initiate};
use net::mailbox::Closed;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::Net;
use super::pieces::{Cutter, PIECE_BYTES, PieceAssembly};
use crate::board::{PeerFigures, count};
use crate::core::{Image, Instance, Message, ReplicaId};
use crate::error::NodeError;
use crate::inbox::CoreInput;
use crate::membership::{Greeted, GreetingError, Refusal};
use crate::message::PeerMessage;
use crate::replica::Input;

/// The first and the longest pause between attempts to connect.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Frames and bytes in one write.
const WRITE_FRAMES: usize = 128;
const WRITE_BYTES: usize = 256 << 10;

/// Overhead of a message in addition to its bytes.
const MESSAGE_BYTES: usize = 128;

/// A peer, connected or not.
#[derive(Debug)]
pub(super) struct Link {
    id: ReplicaId,
    limit: usize,
    figures: Arc<PeerFigures>,
    queue: RefCell<Queue>,
    /// The queue is not empty.
    filled: Notify,
    /// A newer connection has taken the place of this one.
    replaced: Notify,
    /// Connections so far.
    generation: Cell<u64>,
    connected: Cell<bool>,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Arc<SharedFrame>>,
    bytes: usize,
    snapshot: Option<Cutter>,
    /// A snapshot is on its way: here, or in the hands of the task that sends it.
    sends_snapshot: bool,
}

/// Why a connection has ended.
#[derive(Debug)]
pub(super) enum Ended {
    Io(io::Error),
    BadFrame(BadFrame),
    /// A snapshot of the other end's is too long.
    Snapshot(io::Error),
    Greeting(GreetingError),
    /// The other end has lost records.
    Forgetful(Refusal),
    NoKey(NoKey),
    /// The address is malformed, or there is no such host.
    Unreachable,
    /// The other end has closed it.
    Left,
    Replaced,
    Stopped,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::BadFrame(error) => write!(f, "{error}"),
            Self::Snapshot(error) => write!(f, "{error}"),
            Self::Greeting(error) => write!(f, "{error}"),
            Self::Forgetful(refusal) => write!(f, "the other end was refused: {refusal}"),
            Self::NoKey(error) => write!(f, "{error}"),
            Self::Unreachable => write!(f, "no replica can be reached at the address"),
            Self::Left => write!(f, "the other end has closed the connection"),
            Self::Replaced => write!(f, "the other end has made a new connection"),
            Self::Stopped => write!(f, "this node is stopping"),
        }
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<BadFrame> for Ended {
    fn from(error: BadFrame) -> Self {
        Self::BadFrame(error)
    }
}

impl From<Closed> for Ended {
    fn from(Closed: Closed) -> Self {
        Self::Stopped
    }
}

impl Link {
    pub(super) fn new(id: ReplicaId, limit: usize, figures: Arc<PeerFigures>) -> Self {
        Self {
            id,
            limit,
            figures,
            queue: RefCell::default(),
            filled: Notify::new(),
            replaced: Notify::new(),
            generation: Cell::new(0),
            connected: Cell::new(false),
        }
    }

    /// Sends a frame if there is a connection and not too much waits.
    pub(super) fn send(&self, frame: Arc<SharedFrame>) {
        let mut queue = self.queue.borrow_mut();
        if !self.connected.get() || queue.bytes >= self.limit {
            return count(&self.figures.dropped);
        }
        queue.bytes += frame.bytes().len();
        queue.frames.push_back(frame);
        self.filled.notify_one();
    }

    /// Sends a snapshot, unless one is on its way: the replica asks again for what that one does not have.
    pub(super) fn send_snapshot(&self, at: Instance, image: &Image) {
        let mut queue = self.queue.borrow_mut();
        if self.connected.get() && !queue.sends_snapshot {
            queue.snapshot = Some(Cutter::new(at, image, PIECE_BYTES));
            queue.sends_snapshot = true;
            self.filled.notify_one();
        }
    }

    /// The next piece of a snapshot, if one is on its way. It is read from the disk beside the I/O thread.
    async fn next_piece(&self, net: &Net) -> Result<Option<Arc<SharedFrame>>, Ended> {
        let Some(mut cutter) = self.queue.borrow_mut().snapshot.take() else { return Ok(None) };
        let (cutter, piece) = beside(move || {
            let piece = cutter.next_piece();
            (cutter, piece)
        })
        .await?;
        let piece = piece.map_err(|error| net.stop_for_snapshot(error))?;
        // Pieces are far shorter than any frame may be.
        let frame = piece.and_then(|piece| SharedFrame::new(&piece).ok()).map(Arc::new);
        let mut queue = self.queue.borrow_mut();
        queue.sends_snapshot = frame.is_some();
        queue.snapshot = frame.is_some().then_some(cutter);
        Ok(frame)
    }

    /// Takes the frames that wait, for one write.
    fn next_frames(&self, frames: &mut Vec<Arc<SharedFrame>>) {
        let mut queue = self.queue.borrow_mut();
        let mut bytes = 0;
        while frames.len() < WRITE_FRAMES
            && bytes < WRITE_BYTES
            && let Some(frame) = queue.frames.pop_front()
        {
            bytes += frame.bytes().len();
            frames.push(frame);
        }
        queue.bytes -= bytes;
        self.figures.queued.store(queue.bytes, Ordering::Relaxed);
    }

    /// Begins a new connection, ending the one before.
    fn begin(&self, net: &Net) -> Result<u64, Closed> {
        self.replaced.notify_waiters();
        if self.connected.replace(true) {
            net.tell_core(Input::Disconnected(self.id))?;
        }
        *self.queue.borrow_mut() = Queue::default();
        self.generation.set(self.generation.get() + 1);
        self.figures.connected.store(true, Ordering::Relaxed);
        count(&self.figures.connections);
        net.tell_core(Input::Connected(self.id))?;
        Ok(self.generation.get())
    }

    fn end(&self, net: &Net, generation: u64, reason: &Ended) {
        self.figures.write_error(reason.to_string());
        if self.generation.get() == generation {
            net.asked.borrow_mut().forget(self.id);
            self.connected.set(false);
            *self.queue.borrow_mut() = Queue::default();
            self.figures.connected.store(false, Ordering::Relaxed);
            // If the core is gone, the node stops.
            let _ = net.tell_core(Input::Disconnected(self.id));
        }
    }
}

/// Keeps a connection to this peer, whom this replica is to connect to.
pub(super) async fn keep(net: Rc<Net>, id: ReplicaId) {
    let (first, longest) = PAUSES;
    let mut backoff = Backoff::new(first, longest);
    let mut randomness = Randomness::from_entropy();
    loop {
        match connect(&net, id).await {
            Ok((stream, greeted)) => {
                backoff.reset();
                run(&net, id, stream, greeted).await;
            }
            Err(error) => {
                note_refusal(&net, id, &error);
                net.link(id).figures.write_error(error.to_string());
            }
        }
        // Never at once: a peer that ends each connection must not keep this thread busy.
        sleep(first + backoff.next_delay(&mut randomness)).await;
    }
}

async fn connect(net: &Net, id: ReplicaId) -> Result<(TcpStream, Greeted), Ended> {
    let address = usize::try_from(id).ok().and_then(|id| net.setup.addresses.get(id)).ok_or(Ended::Unreachable)?;
    let mut last = Ended::Unreachable;
    for address in tokio::net::lookup_host(address.as_str()).await? {
        match connect_to(net, id, address).await {
            Err(error) => last = error,
            connected => return connected,
        }
    }
    Err(last)
}

async fn connect_to(net: &Net, id: ReplicaId, address: SocketAddr) -> Result<(TcpStream, Greeted), Ended> {
    require_key(net.setup.key.as_ref(), address).map_err(Ended::NoKey)?;
    let mut stream = dial(address, GREETING_PATIENCE).await?;
    prepare(&stream)?;
    let judge = |identity: &_| net.judge(identity, Some(id));
    let greeted = initiate(&mut stream, net.setup.key.as_ref(), net.identity(), judge).await;
    Ok((stream, greeted.map_err(Ended::Greeting)?))
}

fn note_refusal(net: &Net, id: ReplicaId, ended: &Ended) {
    if let Ended::Greeting(error) = ended {
        stop_if_refused(net, Some(id), error);
    }
}

/// Refusals after which this replica must not go on: its promises are known to be lost, or another replica makes them too.
pub(super) fn stop_if_refused(net: &Net, by: Option<ReplicaId>, error: &GreetingError) {
    let GreetingError::Refused { refusal, proved: true } = error else { return };
    match (refusal, by) {
        (Refusal::RestartedWithoutMemory, Some(known_by)) => {
            (net.setup.fail)(NodeError::RestartedWithoutMemory { known_by });
        }
        (Refusal::EarlierLife | Refusal::ShorterJournal, Some(known_by)) => {
            (net.setup.fail)(NodeError::OldCopy { known_by, refusal: *refusal });
        }
        (Refusal::SameNumber, _) => (net.setup.fail)(NodeError::SameNumber(net.own_id())),
        _ => {}
    }
}

/// Serves a connection until it ends.
pub(super) async fn run(net: &Net, id: ReplicaId, stream: TcpStream, greeted: Greeted) {
    let link = net.link(id);
    let Ok(generation) = link.begin(net) else { return };
    let (reader, writer) = stream.into_split();
    let ended = tokio::select! {
        ended = read(net, id, reader, greeted.decoder) => ended,
        ended = write(net, &link, writer, greeted.seal) => ended,
        () = link.replaced.notified() => Err(Ended::Replaced),
    };
    let reason = ended.err().unwrap_or(Ended::Left);
    link.end(net, generation, &reason);
    net.note_peers();
}

async fn read(net: &Net, id: ReplicaId, mut stream: OwnedReadHalf, mut decoder: Decoder) -> Result<(), Ended> {
    decoder.set_limit(MAX_FRAME_BYTES);
    let mut reception = Reception::new(net, id);
    let mut inputs = Vec::new();
    loop {
        net.setup.core.room().await?;
        let mut weight = 0;
        while let Some(frame) = decoder.next_frame()? {
            weight += frame.body.len();
            for message in frame.messages::<PeerMessage>() {
                let message = match message? {
                    PeerMessage::Records(records) => {
                        net.known_voters.borrow_mut().update_records(id, records).map_err(Ended::Forgetful)?;
                        continue;
                    }
                    message @ PeerMessage::Piece { .. } => reception.put_together(message).await?,
                    message => reception.note_answer(message),
                };
                if let Some(message) = message {
                    weight += MESSAGE_BYTES;
                    inputs.push(CoreInput::Replica(Input::Peer { from: id, message }));
                }
            }
        }
        if !inputs.is_empty() {
            net.setup.core.force_all(&mut inputs, weight)?;
        }
        if stream.read_buf(decoder.buffer()).await? == 0 {
            return Ok(());
        }
    }
}

/// The snapshots that a peer sends over a connection.
struct Reception<'n> {
    net: &'n Net,
    id: ReplicaId,
    /// Taken out only while a piece is written.
    assembly: Option<PieceAssembly>,
}

impl<'n> Reception<'n> {
    fn new(net: &'n Net, id: ReplicaId) -> Self {
        Self { net, id, assembly: Some(PieceAssembly::new(net.setup.images.clone())) }
    }

    /// Notes that what was asked for has come.
    fn note_answer(&self, message: PeerMessage) -> Option<PeerMessage> {
        if matches!(message, PeerMessage::Core(Message::Learned(_))) {
            self.net.asked.borrow_mut().forget(self.id);
        }
        Some(message)
    }

    /// Puts snapshots together, beside the I/O thread: the peer is not read from until the disk has taken the piece. The core receives of
    /// the pieces before the last one only the notice that they came, and of a snapshot that it has not asked for nothing.
    async fn put_together(&mut self, message: PeerMessage) -> Result<Option<PeerMessage>, Ended> {
        let PeerMessage::Piece { at, offset, total, bytes } = message else { return Ok(Some(message)) };
        if offset == 0 && !self.net.asked.borrow_mut().may_begin(self.id, at) {
            self.assembly = Some(PieceAssembly::new(self.net.setup.images.clone()));
            count(&self.net.link(self.id).figures.unasked_snapshots);
            return Ok(None);
        }
        let Some(mut assembly) = self.assembly.take() else { return Ok(None) };
        let (assembly, whole) = beside(move || {
            let whole = assembly.add(at, offset, total, &bytes);
            (assembly, whole)
        })
        .await?;
        self.assembly = Some(assembly);
        let whole = whole.map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => Ended::Snapshot(error),
            _ => self.net.stop_for_snapshot(error),
        })?;
        Ok(Some(match whole {
            Some((at, image)) => PeerMessage::Core(Message::Snapshot(at, image)),
            None => PeerMessage::Piece { at, offset, total, bytes: Bytes::new() },
        }))
    }
}

/// Runs what may wait for the disk on another thread than this.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Ended> {
    // It panics or is cancelled only with the whole runtime.
    spawn_blocking(work).await.map_err(|_| Ended::Stopped)
}

async fn write(net: &Net, link: &Link, mut stream: OwnedWriteHalf, mut seal: Option<Seal>) -> Result<(), Ended> {
    let mut frames = Vec::new();
    loop {
        link.next_frames(&mut frames);
        // Behind what waits, so that a snapshot holds nothing up.
        frames.extend(link.next_piece(net).await?);
        if frames.is_empty() {
            link.filled.notified().await;
            continue;
        }
        write_frames(&mut stream, &frames, seal.as_mut()).await?;
        frames.clear();
    }
}
