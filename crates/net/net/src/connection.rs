//! Sockets: options, allowed addresses, and writing many frames at once.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::auth::{FrameDigest, Seal, TAG_BYTES, digest};
use crate::frame::{TooLong, Wire, encode};

/// A silent connection is probed after this, and given up if the probes are not answered.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Sets a socket up: no delay of small packets, and probes of a silent other end.
///
/// # Errors
/// The operating system refuses.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 5);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// Connects to an address, and gives up after `time_limit`.
///
/// # Errors
/// Nobody listens there, or nobody answers in time.
pub async fn connect(address: SocketAddr, time_limit: Duration) -> io::Result<TcpStream> {
    let connecting = timeout(time_limit, TcpStream::connect(address)).await;
    connecting.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// A frame with one message that may go to several ends: encoded once, and hashed once for the tags of all of them.
#[derive(Debug)]
pub struct SharedFrame {
    bytes: Vec<u8>,
    digest: OnceLock<FrameDigest>,
}

impl SharedFrame {
    /// The frame of a message.
    ///
    /// # Errors
    /// No frame can hold it.
    pub fn new<M: Wire>(message: &M) -> Result<Self, TooLong> {
        let mut bytes = Vec::new();
        encode(message, &mut bytes)?;
        Ok(Self { bytes, digest: OnceLock::new() })
    }

    /// Its bytes, without a tag.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn digest(&self) -> &FrameDigest {
        self.digest.get_or_init(|| digest(&self.bytes))
    }
}

/// Writes all frames and their tags, without copying them, in as few system calls as the socket takes.
///
/// # Errors
/// The socket's.
pub async fn write_frames<W, F>(stream: &mut W, frames: &[F], seal: Option<&mut Seal>) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
    F: AsRef<SharedFrame>,
{
    let tags: Vec<[u8; TAG_BYTES]> = match seal {
        Some(seal) => frames.iter().map(|frame| seal.tag_digest(frame.as_ref().digest())).collect(),
        None => Vec::new(),
    };
    let mut slices: Vec<IoSlice<'_>> = Vec::with_capacity(frames.len() + tags.len());
    for (position, frame) in frames.iter().enumerate() {
        slices.push(IoSlice::new(frame.as_ref().bytes()));
        slices.extend(tags.get(position).map(|tag| IoSlice::new(tag)));
    }
    let mut rest = slices.as_mut_slice();
    while !rest.is_empty() {
        let written = stream.write_vectored(rest).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut rest, written);
    }
    Ok(())
}
