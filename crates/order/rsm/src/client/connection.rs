//! A connection with a replica, as a client has it.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::message::{ClientMessage, ReplicaMessage};
use net::auth::{NoKey, SharedKey, require_key};
use net::connection::connect;
use net::frame::{BadFrame, Decoder, MAX_FRAME_BYTES, Packer};
use net::handshake::initiate;
use paxos::core::ReplicaId;
use paxos::membership::{GreetingError, Identity, Refusal};

/// A replica that does not take a connection within this is not waited for.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// A buffer that has grown beyond this is not kept.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The network.
    Io(io::Error),
    /// The address needs a key.
    NoKey(NoKey),
    /// The two ends did not come to trust each other.
    Greeting(GreetingError),
    /// The received bytes are not a message.
    BadFrame(BadFrame),
    /// The replica has closed the connection.
    Closed,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::NoKey(error) => write!(f, "{error}"),
            Self::Greeting(error) => write!(f, "{error}"),
            Self::BadFrame(error) => write!(f, "{error}"),
            Self::Closed => write!(f, "the replica has closed the connection"),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<BadFrame> for ConnectError {
    fn from(error: BadFrame) -> Self {
        Self::BadFrame(error)
    }
}

/// A connection with a replica.
#[derive(Debug)]
pub(crate) struct Connection {
    replica: ReplicaId,
    reader: OwnedReadHalf,
    decoder: Decoder,
    writer: OwnedWriteHalf,
    packer: Packer<ClientMessage>,
    bytes: Vec<u8>,
}

impl Connection {
    /// Connects to the first of the address' meanings that takes it.
    pub(crate) async fn open(address: &str, key: Option<&SharedKey>) -> Result<Self, ConnectError> {
        let mut last = ConnectError::Io(io::ErrorKind::NotFound.into());
        for address in tokio::net::lookup_host(address).await? {
            if let Err(error) = require_key(key, address) {
                last = ConnectError::NoKey(error);
                continue;
            }
            match connect(address, CONNECT_PATIENCE).await {
                Ok(stream) => return Self::greet(stream, key).await,
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    async fn greet(mut stream: TcpStream, key: Option<&SharedKey>) -> Result<Self, ConnectError> {
        stream.set_nodelay(true)?;
        let mut replica = None;
        let judge = |identity: &Identity| match identity {
            Identity::Replica(membership) => {
                replica = Some(membership.id);
                Ok(())
            }
            Identity::Client => Err(Refusal::NoSuchNumber),
        };
        let greeted = initiate(&mut stream, key, Identity::Client, judge).await.map_err(ConnectError::Greeting)?;
        let (reader, writer) = stream.into_split();
        let mut decoder = greeted.decoder;
        decoder.set_limit(MAX_FRAME_BYTES);
        let packer = Packer::new(greeted.seal);
        Ok(Self { replica: replica.ok_or(ConnectError::Closed)?, reader, decoder, writer, packer, bytes: Vec::new() })
    }

    /// The replica at its other end.
    pub(crate) fn replica(&self) -> ReplicaId {
        self.replica
    }

    /// Waits for bytes, and appends the complete messages, perhaps none. Safe to cancel.
    pub(crate) async fn receive(&mut self, messages: &mut Vec<ReplicaMessage>) -> Result<(), ConnectError> {
        // What came with the greeting is there already.
        if self.decode(messages)? {
            return Ok(());
        }
        if self.reader.read_buf(self.decoder.buffer()).await? == 0 {
            return Err(ConnectError::Closed);
        }
        self.decode(messages)?;
        Ok(())
    }

    fn decode(&mut self, messages: &mut Vec<ReplicaMessage>) -> Result<bool, BadFrame> {
        let before = messages.len();
        while let Some(frame) = self.decoder.next_frame()? {
            for message in frame.messages() {
                messages.push(message?);
            }
        }
        Ok(messages.len() > before)
    }

    /// Says this with the next [`flush`](Self::flush).
    pub(crate) fn push(&mut self, message: &ClientMessage) {
        // Sessions take no request that a frame does not hold.
        let _ = self.packer.push(message);
    }

    /// Sends the pushed messages. Not safe to cancel.
    pub(crate) async fn flush(&mut self) -> Result<(), ConnectError> {
        if self.packer.is_empty() {
            return Ok(());
        }
        self.packer.drain_into(&mut self.bytes);
        self.writer.write_all(&self.bytes).await?;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BUFFER_BYTES);
        Ok(())
    }
}
