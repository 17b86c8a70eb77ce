//! Messages as bytes: frames, and a decoder that accepts arbitrary input.
//!
//! A frame is a header and a body; the body is one message or several of one kind, back to back, so that whoever has many to say
//! pays for a header and a checksum once. Numbers in the header are little-endian.
//!
//! | field of the header | bytes |
//! | --- | --- |
//! | magic: `SP` | 2 |
//! | protocol version | 1 |
//! | kind | 1 |
//! | length of the body | 4 |
//! | CRC32C of the body | 4 |
//! | CRC32C of the twelve bytes before | 4 |
//!
//! The header has a checksum of its own lest a damaged length makes the reader wait for bytes that never come, or take memory for
//! them. On connections with a shared key a tag of 16 bytes follows each body: see [`crate::auth`]. Checksums find accidents,
//! only tags find intent.
//!
//! Invariants:
//! 1. Decoding ends: with messages, with "more bytes are needed", or with a named error; never with a panic.
//! 2. Nothing is allocated for what a length merely announces: lengths are compared with the bytes that are there.
//! 3. Ballots, instances, sessions and the like are below 2^62, so that sums of them cannot overflow.
//! 4. Nothing here does I/O: the simulator sends the same bytes.

use std::fmt;
use std::marker::PhantomData;

use bytes::{Bytes, BytesMut};

use crate::auth::{Seal, TAG_BYTES};

mod reader;

pub use reader::Reader;

/// The version of the protocol that this code speaks.
pub const PROTOCOL_VERSION: u8 = 3;

/// A header's length.
pub const HEADER_BYTES: usize = 16;

/// The longest body of any frame.
pub const MAX_FRAME_BYTES: usize = 64 << 20;

/// Numbers that count on (ballots, instances, sessions) are below it, so that sums of two do not overflow.
pub const NUMBER_LIMIT: u64 = 1 << 62;

/// The longest body before the identity of the other end is known.
pub const MAX_HANDSHAKE_BYTES: usize = 4 << 10;

/// A [`Packer`] closes a frame that has this many bytes and opens the next: receivers work while the rest is on its way.
const PACK_BYTES: usize = 64 << 10;

/// Free buffer space that a decoder asks for before a read, in bytes.
pub const READ_BYTES: usize = 64 << 10;

/// A read with less free space than this is not worth its system call.
const MIN_READ_BYTES: usize = 8 << 10;

const MAGIC: [u8; 2] = *b"SP";

/// Protocol of the messages in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Either end's, before all others: [`crate::handshake`].
    Handshake,
    /// From a replica to a replica.
    Peer,
    /// From a client to a replica.
    Client,
    /// From a replica to a client.
    Replica,
    /// Between nodes that hand each other a state.
    State,
}

impl Kind {
    /// The kind with this number in a header.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        [Self::Handshake, Self::Peer, Self::Client, Self::Replica, Self::State]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }

    /// Its number in a header.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Handshake => 1,
            Self::Peer => 2,
            Self::Client => 3,
            Self::Replica => 4,
            Self::State => 5,
        }
    }
}

/// Bytes that are no frame, or a frame that must not be here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadFrame {
    /// It does not begin with the magic number: the sender does not speak the protocol.
    Magic,
    /// The header was damaged.
    HeaderChecksum,
    /// The body was damaged.
    BodyChecksum,
    /// The sender speaks another version.
    Version(u8),
    /// No kind has this number.
    UnknownKind(u8),
    /// A frame of this kind has no place here.
    UnexpectedKind(Kind),
    /// Longer than this connection takes.
    TooLong {
        /// The body's length.
        bytes: usize,
        /// Maximum length that is accepted.
        limit: usize,
    },
    /// The tag is not the one that a holder of the key would have written here.
    Forged,
    /// A frame without a message.
    Empty,
    /// No message of the kind has this number.
    UnknownMessage(u8),
    /// The body ends within a message.
    CutOff,
    /// A number is not written in the shortest way, or exceeds 64 bits.
    BadNumber,
    /// A number is beyond its limit.
    NumberTooLarge(u64),
    /// A text is not UTF-8.
    BadText,
    /// A piece of something long that lies outside of it.
    BadPiece,
}

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => write!(f, "the bytes are not of this protocol"),
            Self::HeaderChecksum => write!(f, "a frame's header is damaged"),
            Self::BodyChecksum => write!(f, "a frame's body is damaged"),
            Self::Version(version) => {
                write!(f, "the other end speaks version {version} of the protocol, this one {PROTOCOL_VERSION}")
            }
            Self::UnknownKind(kind) => write!(f, "unknown kind of frame: {kind}"),
            Self::UnexpectedKind(kind) => write!(f, "unexpected frame of kind {kind:?}"),
            Self::TooLong { bytes, limit } => write!(f, "a frame of {bytes} bytes exceeds the limit of {limit} bytes"),
            Self::Forged => {
                write!(f, "a frame's authentication tag is wrong: its sender lacks the shared key, or it was altered")
            }
            Self::Empty => write!(f, "a frame has no message"),
            Self::UnknownMessage(tag) => write!(f, "unknown kind of message: {tag}"),
            Self::CutOff => write!(f, "a frame ends within a message"),
            Self::BadNumber => write!(f, "a number is not in its shortest encoding"),
            Self::NumberTooLarge(number) => write!(f, "number {number} is beyond its limit"),
            Self::BadText => write!(f, "a text is not UTF-8"),
            Self::BadPiece => write!(f, "a piece lies outside of its snapshot"),
        }
    }
}

impl std::error::Error for BadFrame {}

/// A message that is longer than any frame: it cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Its length.
    pub bytes: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message of {} bytes: a frame holds at most {MAX_FRAME_BYTES}", self.bytes)
    }
}

impl std::error::Error for TooLong {}

/// A message that can be encoded in a frame.
pub trait Wire: Sized {
    /// The kind of frames in which it stands.
    const KIND: Kind;

    /// Appends its bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads one.
    ///
    /// # Errors
    /// See [`BadFrame`].
    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame>;
}

/// Appends a frame with this one message.
///
/// # Errors
/// [`TooLong`]: `out` is as it was.
pub fn encode<M: Wire>(message: &M, out: &mut Vec<u8>) -> Result<(), TooLong> {
    let start = begin(out);
    message.write(out);
    let bytes = out.len() - start - HEADER_BYTES;
    if bytes > MAX_FRAME_BYTES {
        out.truncate(start);
        return Err(TooLong { bytes });
    }
    finish(out, start, M::KIND);
    Ok(())
}

/// Room for a header that [`finish`] writes.
fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    start
}

/// Writes the header of the frame that began at `start`; its body is all that follows.
fn finish(out: &mut [u8], start: usize, kind: Kind) {
    let (header, body) = out[start..].split_at_mut(HEADER_BYTES);
    let length = u32::try_from(body.len()).expect("bodies are at most MAX_FRAME_BYTES long");
    header[..2].copy_from_slice(&MAGIC);
    header[2] = PROTOCOL_VERSION;
    header[3] = kind.byte();
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..12].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
    let checksum = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&checksum.to_le_bytes());
}

/// Gathers messages of one kind in as few frames as is sensible.
#[derive(Debug)]
pub struct Packer<M> {
    bytes: Vec<u8>,
    /// Start of the open frame.
    open: Option<usize>,
    seal: Option<Seal>,
    of: PhantomData<fn(M)>,
}

impl<M: Wire> Packer<M> {
    /// Nothing yet. With a seal, each frame gets its tag.
    #[must_use]
    pub fn new(seal: Option<Seal>) -> Self {
        Self { bytes: Vec::new(), open: None, seal, of: PhantomData }
    }

    /// Adds a message.
    ///
    /// # Errors
    /// [`TooLong`]: nothing was added.
    pub fn push(&mut self, message: &M) -> Result<(), TooLong> {
        let start = *self.open.get_or_insert_with(|| begin(&mut self.bytes));
        let before = self.bytes.len();
        message.write(&mut self.bytes);
        let added = self.bytes.len() - before;
        if added > MAX_FRAME_BYTES - PACK_BYTES {
            self.bytes.truncate(before);
            if before == start + HEADER_BYTES {
                self.bytes.truncate(start);
                self.open = None;
            }
            return Err(TooLong { bytes: added });
        }
        if self.bytes.len() - start >= PACK_BYTES {
            self.close();
        }
        Ok(())
    }

    /// Bytes that wait to be sent, tags apart.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Is there nothing to send?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Moves everything that waits to the end of `out`, as whole frames. The memory stays here for the next messages.
    pub fn drain_into(&mut self, out: &mut Vec<u8>) {
        self.close();
        out.append(&mut self.bytes);
    }

    fn close(&mut self) {
        let Some(start) = self.open.take() else { return };
        finish(&mut self.bytes, start, M::KIND);
        if let Some(seal) = &mut self.seal {
            let tag = seal.tag(&self.bytes[start..]);
            self.bytes.extend_from_slice(&tag);
        }
    }
}

/// A whole frame whose checksums (and tag) were right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Protocol of the messages.
    pub kind: Kind,
    /// The messages' bytes.
    pub body: Bytes,
}

impl Frame {
    /// Its messages, which must be of the kind `M`; ends after the first error.
    #[must_use]
    pub fn messages<M: Wire>(&self) -> Messages<'_, M> {
        let wrong = (self.kind != M::KIND).then_some(BadFrame::UnexpectedKind(self.kind));
        let empty = self.body.is_empty().then_some(BadFrame::Empty);
        Messages { reader: Reader::new(&self.body), refused: wrong.or(empty), of: PhantomData }
    }

    /// Its message, which must be one of the kind `M` and the only one.
    ///
    /// # Errors
    /// See [`BadFrame`].
    pub fn message<M: Wire>(&self) -> Result<M, BadFrame> {
        let mut messages = self.messages();
        let message = messages.next().unwrap_or(Err(BadFrame::Empty))?;
        if messages.next().is_some() { Err(BadFrame::CutOff) } else { Ok(message) }
    }
}

/// The messages of a frame.
#[derive(Debug)]
pub struct Messages<'a, M> {
    reader: Reader<'a>,
    refused: Option<BadFrame>,
    of: PhantomData<fn() -> M>,
}

impl<M: Wire> Iterator for Messages<'_, M> {
    type Item = Result<M, BadFrame>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.refused.take() {
            self.reader.skip_all();
            return Some(Err(error));
        }
        if self.reader.is_at_end() {
            return None;
        }
        let message = M::read(&mut self.reader);
        if message.is_err() {
            self.reader.skip_all();
        }
        Some(message)
    }
}

/// Bytes in, frames out.
///
/// After an error the connection is of no use: where the next frame begins is not known.
#[derive(Debug)]
pub struct Decoder {
    buffer: BytesMut,
    limit: usize,
    seal: Option<Seal>,
}

impl Decoder {
    /// One that takes bodies of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), limit: limit.min(MAX_FRAME_BYTES), seal: None }
    }

    /// From here on bodies may be this long. What was read beyond the last frame is kept.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.min(MAX_FRAME_BYTES);
    }

    /// From here on each frame must have its tag.
    pub fn set_seal(&mut self, seal: Seal) {
        self.seal = Some(seal);
    }

    /// Returns the buffer to append received bytes to. It has room for a read.
    pub fn buffer(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < MIN_READ_BYTES {
            self.buffer.reserve(READ_BYTES);
        }
        &mut self.buffer
    }

    /// Bytes of memory that its buffer holds.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Bytes of a frame that is not whole yet (after [`next_frame`](Self::next_frame) has said so).
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole frame; `None`: more bytes are needed.
    ///
    /// # Errors
    /// See [`BadFrame`].
    pub fn next_frame(&mut self) -> Result<Option<Frame>, BadFrame> {
        let Some(header) = self.buffer.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = Header::parse(header, self.limit)?;
        let tag_bytes = if self.seal.is_some() { TAG_BYTES } else { 0 };
        let body_end = HEADER_BYTES + header.length;
        let Some(bytes) = self.buffer.get(..body_end + tag_bytes) else { return Ok(None) };
        let (frame, tag) = bytes.split_at(body_end);
        if let Some(seal) = &mut self.seal
            && !seal.accepts(frame, tag)
        {
            return Err(BadFrame::Forged);
        }
        if crc32c::crc32c(&frame[HEADER_BYTES..]) != header.checksum {
            return Err(BadFrame::BodyChecksum);
        }
        let mut body = self.buffer.split_to(body_end + tag_bytes).freeze();
        body.truncate(body_end);
        Ok(Some(Frame { kind: header.kind, body: body.slice(HEADER_BYTES..) }))
    }
}

struct Header {
    kind: Kind,
    length: usize,
    checksum: u32,
}

impl Header {
    fn parse(bytes: &[u8; HEADER_BYTES], limit: usize) -> Result<Self, BadFrame> {
        let [m0, m1, version, kind, l0, l1, l2, l3, b0, b1, b2, b3, h0, h1, h2, h3] = *bytes;
        if [m0, m1] != MAGIC {
            return Err(BadFrame::Magic);
        }
        if crc32c::crc32c(&bytes[..12]) != u32::from_le_bytes([h0, h1, h2, h3]) {
            return Err(BadFrame::HeaderChecksum);
        }
        if version != PROTOCOL_VERSION {
            return Err(BadFrame::Version(version));
        }
        let kind = Kind::from_byte(kind).ok_or(BadFrame::UnknownKind(kind))?;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > limit {
            return Err(BadFrame::TooLong { bytes: length, limit });
        }
        Ok(Self { kind, length, checksum: u32::from_le_bytes([b0, b1, b2, b3]) })
    }
}
