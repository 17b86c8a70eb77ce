//! The end of the node that is behind.

use crate::greeting::{GreetingError, Member, Refusal};
use crate::message::{MAX_BODY_BYTES, Message};
use crate::{Limits, MAX_QUEUED_PIECES};
use bytes::{Buf, Bytes};
use env::thread::spawn_named;
use net::auth::{Seal, SharedKey, require_key};
use net::connection::{SharedFrame, connect, prepare, write_frames};
use net::frame::Decoder;
use net::handshake::{GREETING_PATIENCE, initiate};
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::oneshot;
use tokio::time::timeout;
use total::Position;

/// A node to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub node: u64,
    /// Where its [`Server`](crate::Server) listens, as `HOST:PORT`.
    pub address: String,
}

/// Why no state came.
#[derive(Debug)]
pub struct FetchError {
    /// The node that was asked.
    pub node: u64,
    /// Where.
    pub address: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} at {} hands over no state: {}", self.node, self.address, self.why)
    }
}

impl std::error::Error for FetchError {}

/// The state of another node, as it comes. An end without an error means that all of it came (S1).
#[derive(Debug)]
pub struct Incoming {
    pieces: Receiver<io::Result<Bytes>>,
    piece: Bytes,
    ended: bool,
    /// Dropped, it ends the connection.
    _wanted: oneshot::Sender<()>,
}

/// Asks a node for its state, which is to have everything up to this position. Returns when the node has agreed to be asked.
///
/// # Errors
/// [`FetchError`].
pub fn fetch(
    holder: &Holder,
    at_least: Position,
    own: Member,
    key: Option<SharedKey>,
    limits: Limits,
) -> Result<Incoming, FetchError> {
    let failed = |why: String| FetchError { node: holder.node, address: holder.address.clone(), why };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    let connection = runtime.block_on(Connection::open(holder, own, key, limits.patience));
    let mut connection = connection.map_err(|error| failed(error.to_string()))?;
    let asked = runtime.block_on(connection.ask(at_least));
    asked.map_err(|error| failed(error.to_string()))?;
    let (sender, pieces) = sync_channel(MAX_QUEUED_PIECES);
    let (_wanted, unwanted) = oneshot::channel();
    let receive = move || {
        runtime.block_on(async {
            tokio::select! {
                () = connection.receive(&sender) => {}
                _ = unwanted => {}
            }
        });
    };
    spawn_named("state", receive).map_err(|error| failed(error.to_string()))?;
    Ok(Incoming { pieces, piece: Bytes::new(), ended: false, _wanted })
}

impl Read for Incoming {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while self.piece.is_empty() && !self.ended {
            // S1: the thread says how the stream ended, by an empty piece or an error, before it ends itself.
            match self.pieces.recv().unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))? {
                piece if piece.is_empty() => self.ended = true,
                piece => self.piece = piece,
            }
        }
        let count = out.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut out[..count]);
        Ok(count)
    }
}

struct Connection {
    stream: TcpStream,
    decoder: Decoder,
    seal: Option<Seal>,
    patience: Duration,
}

impl Connection {
    async fn open(
        holder: &Holder,
        own: Member,
        key: Option<SharedKey>,
        patience: Duration,
    ) -> Result<Self, GreetingError> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in lookup_host(holder.address.as_str()).await? {
            require_key(key.as_ref(), address).map_err(io::Error::other)?;
            match connect(address, GREETING_PATIENCE).await {
                Ok(stream) => return Self::greet(stream, holder.node, own, key, patience).await,
                Err(error) => last = error,
            }
        }
        Err(last.into())
    }

    async fn greet(
        mut stream: TcpStream,
        node: u64,
        own: Member,
        key: Option<SharedKey>,
        patience: Duration,
    ) -> Result<Self, GreetingError> {
        prepare(&stream)?;
        let judge = |other: &Member| {
            own.judge(other)?;
            if other.node == node { Ok(()) } else { Err(Refusal::OtherNode) }
        };
        let greeted = initiate(&mut stream, key.as_ref(), own.clone(), judge).await?;
        let (mut decoder, seal) = (greeted.decoder, greeted.seal);
        decoder.set_limit(MAX_BODY_BYTES);
        Ok(Self { stream, decoder, seal, patience })
    }

    async fn ask(&mut self, at_least: Position) -> io::Result<()> {
        let question =
            SharedFrame::new(&Message::Fetch(at_least)).map_err(|error| io::Error::other(error.to_string()))?;
        write_frames(&mut self.stream, &[Arc::new(question)], self.seal.as_mut()).await
    }

    async fn next(&mut self) -> io::Result<Message> {
        loop {
            if let Some(frame) = self.decoder.next_frame().map_err(io::Error::other)? {
                return frame.message().map_err(io::Error::other);
            }
            let read = timeout(self.patience, self.stream.read_buf(self.decoder.buffer())).await;
            if read.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Passes pieces on, then how the stream ended: an empty one, or why it broke off.
    async fn receive(&mut self, pieces: &SyncSender<io::Result<Bytes>>) {
        let mut bytes = 0;
        loop {
            let (piece, ended) = match self.next().await {
                Ok(Message::Piece(piece)) if !piece.is_empty() => (Ok(piece), false),
                Ok(Message::End(all)) if all == bytes => (Ok(Bytes::new()), true),
                Ok(Message::End(_)) => (Err(io::ErrorKind::UnexpectedEof.into()), true),
                Ok(Message::Failed(why)) => (Err(io::Error::other(why)), true),
                Ok(Message::Fetch(_) | Message::Piece(_)) => (Err(io::ErrorKind::InvalidData.into()), true),
                Err(error) => (Err(error), true),
            };
            bytes += piece.as_ref().map_or(0, |piece| piece.len() as u64);
            // This thread does nothing else, so it may wait for its reader; one that has gone ends it.
            if pieces.send(piece).is_err() || ended {
                return;
            }
        }
    }
}
