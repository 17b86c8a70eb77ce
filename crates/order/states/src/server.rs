//! The holder's end.

use crate::greeting::{Greeted, GreetingError, Member, Refusal};
use crate::message::{MAX_BODY_BYTES, Message, PIECE_BYTES};
use crate::{Limits, MAX_QUEUED_PIECES};
use bytes::Bytes;
use env::thread::{JoinHandle, spawn_named};
use net::auth::{NoKey, Seal, SharedKey, require_key};
use net::connection::{SharedFrame, prepare, write_frames};
use net::handshake::accept;
use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use total::Position;

/// Connections that have not asked yet. Those beyond wait in the system's queue: one that is silent is closed after the greeting's
/// patience.
const MAX_GREETING: usize = 64;

/// The operating system may have no descriptor left for a while.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Whose state is handed over.
pub trait Source: Send + Sync + 'static {
    /// Writes the state of one moment, which has everything up to this position. A writer that fails has lost its reader: the error goes
    /// back up.
    ///
    /// # Errors
    /// `out`'s, or the reason why there is no such state, which the other node is told.
    fn write_state(&self, at_least: Position, out: &mut dyn Write) -> io::Result<()>;
}

/// Why a server does not start.
#[derive(Debug)]
pub enum ServeError {
    /// The address needs a key.
    NoKey(NoKey),
    /// The address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// The operating system gives no thread.
    System(io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKey(error) => write!(f, "{error}"),
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::System(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// Hands a node's state to others. Dropped, it stops, and breaks off what is under way.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by the connections.
struct Shared {
    own: Member,
    key: Option<SharedKey>,
    limits: Limits,
    source: Arc<dyn Source>,
    /// Transfers under way.
    busy: AtomicUsize,
}

impl Server {
    /// Starts it at this address; port 0 means one that is free.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start(
        address: SocketAddr,
        own: Member,
        key: Option<SharedKey>,
        limits: Limits,
        source: Arc<dyn Source>,
    ) -> Result<Self, ServeError> {
        require_key(key.as_ref(), address).map_err(ServeError::NoKey)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::System)?;
        let listen = |error| ServeError::Listen(address, error);
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shared = Arc::new(Shared { own, key, limits, source, busy: AtomicUsize::new(0) });
        let (stop, stopped) = oneshot::channel();
        let thread = spawn_named("states", move || {
            runtime.block_on(async {
                tokio::select! {
                    () = listen_on(listener, shared) => {}
                    _ = stopped => {}
                }
            });
            // A source that writes meets a closed channel, and need not be waited for.
            runtime.shutdown_background();
        })
        .map_err(ServeError::System)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

async fn listen_on(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(MAX_GREETING));
    loop {
        // Never closed, so there is a place at some time.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, from)) if require_key(shared.key.as_ref(), from).is_ok() => {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    // Whoever asked is told, or has gone.
                    let _ = serve(stream, &shared, place).await;
                });
            }
            Ok(_) => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// A transfer under way; dropped, it is not.
struct Turn<'a>(&'a AtomicUsize);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Counts, and publishes nothing.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve<P>(mut stream: TcpStream, shared: &Shared, place: P) -> Result<(), GreetingError> {
    prepare(&stream)?;
    let mut turn = None;
    let greeted = accept(
        &mut stream,
        |_: &Member| shared.key.as_ref(),
        shared.own.clone(),
        |other| {
            shared.own.judge(other)?;
            let before = shared.busy.fetch_add(1, Ordering::Relaxed); // Counts, and publishes nothing.
            let taken = Turn(&shared.busy);
            if before >= shared.limits.transfers {
                return Err(Refusal::TooMany);
            }
            turn = Some(taken);
            Ok(())
        },
    )
    .await?;
    drop(place);
    let Greeted { mut decoder, mut seal, .. } = greeted;
    decoder.set_limit(MAX_BODY_BYTES);
    let question = async {
        loop {
            if let Some(frame) = decoder.next_frame()? {
                return Ok::<_, GreetingError>(frame.message::<Message>()?);
            }
            if stream.read_buf(decoder.buffer()).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    };
    let question = timeout(shared.limits.patience, question).await.unwrap_or(Err(GreetingError::Silent))?;
    if let Message::Fetch(at_least) = question {
        hand_over(&mut stream, seal.as_mut(), shared, at_least).await?;
    }
    drop(turn);
    Ok(())
}

/// Sends the state while another thread writes it.
async fn hand_over(
    stream: &mut TcpStream,
    mut seal: Option<&mut Seal>,
    shared: &Shared,
    at_least: Position,
) -> io::Result<()> {
    let (pieces, mut written) = mpsc::channel(MAX_QUEUED_PIECES);
    let source = Arc::clone(&shared.source);
    let writing = tokio::task::spawn_blocking(move || {
        let mut out = Pieces { pieces, piece: Vec::with_capacity(PIECE_BYTES), bytes: 0 };
        source.write_state(at_least, &mut out).and_then(|()| out.end())
    });
    while let Some(piece) = written.recv().await {
        send(stream, Message::Piece(piece), seal.as_deref_mut(), shared.limits.patience).await?;
    }
    let end = match writing.await {
        Ok(Ok(bytes)) => Message::End(bytes),
        Ok(Err(error)) => Message::failed(&error.to_string()),
        // It has been printed.
        Err(panic) => Message::failed(&panic.to_string()),
    };
    send(stream, end, seal, shared.limits.patience).await
}

async fn send(stream: &mut TcpStream, message: Message, seal: Option<&mut Seal>, patience: Duration) -> io::Result<()> {
    let frame = SharedFrame::new(&message).map_err(|error| io::Error::other(error.to_string()))?;
    let sent = timeout(patience, write_frames(stream, &[Arc::new(frame)], seal)).await;
    sent.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Cuts what is written into pieces, and waits while too many of them wait.
struct Pieces {
    pieces: mpsc::Sender<Bytes>,
    piece: Vec<u8>,
    bytes: u64,
}

impl Pieces {
    fn end(mut self) -> io::Result<u64> {
        self.send()?;
        Ok(self.bytes)
    }

    fn send(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        self.bytes += self.piece.len() as u64;
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        self.pieces.blocking_send(piece.into()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE_BYTES {
            self.send()?;
        }
        Ok(taken)
    }

    /// Pieces are sent when they are full, and at the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
