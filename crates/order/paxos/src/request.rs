//! Requests, and the bytes of a batch of them.
//!
//! A batch is what the core calls a value: entries one after another, and nothing else. A batch without entries is the no-op that
//! fills a hole.
//!
//! | field of an entry | bytes |
//! | --- | --- |
//! | origin: the replica whose client sent it; and 128 if a nonce follows | 1 |
//! | session; 0: open one | 1 to 10 (LEB128) |
//! | sequence; of session 0: the client's nonce | 1 to 10 (LEB128) |
//! | the nonce with which the session was or is to be opened | 8 |
//! | length of the body | 1 to 4 (LEB128) |
//! | body | as it says |
//!
//! Numbers are written in as few bytes as they need, so that equal requests have equal bytes. Batches of the version before this one
//! have no nonces; they may still stand in journals.
//!
//! Invariant: whatever is in a batch came through [`Chunk`], whose only makers check every entry; decoding a batch that a peer sent
//! ends with a named error, never with a panic.

use crate::core::{ReplicaId, Sequence, Session, Value};
use bytes::Bytes;
use codec::{Reader, put_number};
use std::fmt;

/// The longest body of one request, in bytes.
pub const MAX_BODY_BYTES: usize = 8 << 20;

/// The greatest number of an origin.
const MAX_ORIGIN: u8 = 63;

/// In an origin's byte: a nonce follows.
const WITH_NONCE: u8 = 0x80;

/// Maximum overhead of an entry in addition to its body, in bytes.
pub const MAX_HEADER_BYTES: usize = 1 + 10 + 10 + 8 + 4;

/// One request, as it stands in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The replica whose client sent it: the one that answers.
    pub origin: ReplicaId,
    /// The session; [`OPEN`] to open one.
    pub session: Session,
    /// The request's number in its session, or the nonce.
    pub sequence: Sequence,
    /// With which its client has opened the session, or opens it. `None`: of a version that knew no owners.
    pub nonce: Option<u64>,
    /// For the service.
    pub body: &'a [u8],
}

/// The session of requests that open a session.
pub const OPEN: Session = 0;

/// Some requests in a row, encoded: what a connection hands to the batcher, and what the batcher joins to batches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    bytes: Vec<u8>,
    requests: usize,
    body_bytes: usize,
}

/// Bytes that are no batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBatch {
    /// Start of the entry that cannot be read.
    pub offset: usize,
}

impl fmt::Display for BadBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed request at byte {} of a batch", self.offset)
    }
}

impl std::error::Error for BadBatch {}

/// A request that no batch can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRequest {
    /// Its body is longer than [`MAX_BODY_BYTES`].
    TooLarge {
        /// The body's length.
        bytes: usize,
    },
    /// There is no replica with so great a number.
    Origin(ReplicaId),
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => {
                write!(f, "a request of {bytes} bytes exceeds the limit of {MAX_BODY_BYTES} bytes")
            }
            Self::Origin(origin) => write!(f, "no replica has number {origin}: the highest number is 63"),
        }
    }
}

impl std::error::Error for BadRequest {}

impl Chunk {
    /// No requests.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a chunk without requests, with room for this number of bytes.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), requests: 0, body_bytes: 0 }
    }

    /// The requests of a batch, after a look at every one.
    ///
    /// # Errors
    /// The bytes are no batch.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, BadBatch> {
        let (mut requests, mut body_bytes) = (0, 0);
        for request in self::requests(&bytes) {
            requests += 1;
            body_bytes += request?.body.len();
        }
        Ok(Self { bytes, requests, body_bytes })
    }

    /// Adds a request behind the others.
    ///
    /// # Errors
    /// No batch can hold it: nothing was added.
    pub fn push(&mut self, request: Request<'_>) -> Result<(), BadRequest> {
        if request.body.len() > MAX_BODY_BYTES {
            return Err(BadRequest::TooLarge { bytes: request.body.len() });
        }
        let origin = u8::try_from(request.origin).ok().filter(|origin| *origin <= MAX_ORIGIN);
        let flag = if request.nonce.is_some() { WITH_NONCE } else { 0 };
        self.bytes.push(origin.ok_or(BadRequest::Origin(request.origin))? | flag);
        put_number(&mut self.bytes, request.session);
        put_number(&mut self.bytes, request.sequence);
        self.bytes.extend(request.nonce.into_iter().flat_map(u64::to_le_bytes));
        put_number(&mut self.bytes, request.body.len() as u64);
        self.bytes.extend_from_slice(request.body);
        self.requests += 1;
        self.body_bytes += request.body.len();
        Ok(())
    }

    /// Adds the requests of another chunk behind the others.
    pub fn append(&mut self, other: &Chunk) {
        self.bytes.extend_from_slice(&other.bytes);
        self.requests += other.requests;
        self.body_bytes += other.body_bytes;
    }

    /// Adds one entry of another chunk behind the others.
    pub(crate) fn push_entry(&mut self, entry: &Entry<'_>) {
        self.bytes.extend_from_slice(entry.bytes);
        self.requests += 1;
        self.body_bytes += entry.request.body.len();
    }

    /// The entries, one after another.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        // Every maker of a chunk has checked every entry, so there is no error to skip.
        Entries::new(&self.bytes).filter_map(Result::ok)
    }

    /// The requests, one after another.
    pub fn iter(&self) -> impl Iterator<Item = Request<'_>> {
        self.entries().map(|entry| entry.request)
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Returns whether there are no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests == 0
    }

    /// Bytes of all bodies together.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    /// The encoding.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The batch: these requests as a value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Bytes::from(self.bytes)
    }
}

/// The requests of a batch, one after another; an error ends them.
pub fn requests(batch: &[u8]) -> impl Iterator<Item = Result<Request<'_>, BadBatch>> {
    Entries::new(batch).map(|entry| entry.map(|entry| entry.request))
}

/// A request and its encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) bytes: &'a [u8],
}

/// Reads entries until the end or the first error.
struct Entries<'a> {
    batch: &'a [u8],
    offset: usize,
}

impl<'a> Entries<'a> {
    fn new(batch: &'a [u8]) -> Self {
        Self { batch, offset: 0 }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, BadBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.batch[self.offset..];
        if rest.is_empty() {
            return None;
        }
        let entry = read_entry(rest).ok_or(BadBatch { offset: self.offset });
        self.offset = entry.as_ref().map_or(self.batch.len(), |entry| self.offset + entry.bytes.len());
        Some(entry)
    }
}

/// `None`: the bytes are no entry.
fn read_entry(rest: &[u8]) -> Option<Entry<'_>> {
    let mut reader = Reader::new(rest);
    let first = reader.u8().ok()?;
    let origin = first & !WITH_NONCE;
    let (session, sequence) = (reader.number().ok()?, reader.number().ok()?);
    let nonce = if first == origin { None } else { Some(reader.u64().ok()?) };
    let length = usize::try_from(reader.number().ok()?).ok()?;
    if origin > MAX_ORIGIN || length > MAX_BODY_BYTES {
        return None;
    }
    let body = reader.take(length).ok()?;
    let request = Request { origin: ReplicaId::from(origin), session, sequence, nonce, body };
    Some(Entry { request, bytes: &rest[..reader.offset()] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    type Pushed = (u64, u64, u64, Option<u64>, Vec<u8>);

    fn chunk(requests: &[Pushed]) -> Chunk {
        let mut chunk = Chunk::new();
        for (origin, session, sequence, nonce, body) in requests {
            chunk
                .push(Request { origin: *origin, session: *session, sequence: *sequence, nonce: *nonce, body })
                .unwrap();
        }
        chunk
    }

    proptest! {
        #[test]
        fn what_was_pushed_is_read_again(
            pushed in vec((0..64u64, any::<u64>(), any::<u64>(), any::<Option<u64>>(), vec(any::<u8>(), 0..200)), 0..20),
        ) {
            let chunk = chunk(&pushed);
            let read: Vec<_> =
                chunk.iter().map(|r| (r.origin, r.session, r.sequence, r.nonce, r.body.to_vec())).collect();
            prop_assert_eq!(&read, &pushed);
            prop_assert_eq!(chunk.requests(), pushed.len());
            prop_assert_eq!(chunk.body_bytes(), pushed.iter().map(|r| r.4.len()).sum::<usize>());
            prop_assert!(chunk.bytes().len() <= chunk.body_bytes() + pushed.len() * MAX_HEADER_BYTES);
            prop_assert_eq!(Chunk::decode(chunk.bytes().to_vec()), Ok(chunk.clone()));
        }

        #[test]
        fn any_bytes_are_a_batch_or_an_error_and_batches_have_one_encoding(bytes in vec(any::<u8>(), 0..60)) {
            match Chunk::decode(bytes.clone()) {
                Ok(chunk) => {
                    let mut again = Chunk::new();
                    chunk.iter().for_each(|request| again.push(request).unwrap());
                    prop_assert_eq!(again.bytes(), bytes.as_slice());
                }
                Err(bad) => prop_assert!(bad.offset < bytes.len()),
            }
        }

        #[test]
        fn a_batch_that_is_cut_off_is_an_error_or_a_shorter_batch(
            pushed in vec((0..64u64, any::<u64>(), any::<u64>(), any::<Option<u64>>(), vec(any::<u8>(), 0..20)), 1..5),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = chunk(&pushed);
            let part = &whole.bytes()[..cut.index(whole.bytes().len())];
            let good = requests(part).take_while(Result::is_ok).count();
            prop_assert!(good < pushed.len());
            prop_assert!(requests(part).filter_map(Result::ok).eq(whole.iter().take(good)));
        }
    }

    #[test]
    fn requests_that_no_batch_can_hold_are_refused_by_name() {
        let mut chunk = Chunk::new();
        let request = |origin, body| Request { origin, session: 1, sequence: 1, nonce: Some(7), body };
        let body = vec![0; MAX_BODY_BYTES + 1];
        assert_eq!(chunk.push(request(0, &body)), Err(BadRequest::TooLarge { bytes: body.len() }));
        assert_eq!(chunk.push(request(64, &[])), Err(BadRequest::Origin(64)));
        assert_eq!(chunk.push(request(256, &[])), Err(BadRequest::Origin(256)));
        assert_eq!(chunk, Chunk::new(), "nothing was added");
        chunk.push(request(63, &body[1..])).unwrap();
        assert_eq!(chunk.iter().count(), 1);
    }

    #[test]
    fn malformed_entries_are_errors_at_their_beginning() {
        let good = [0, 1, 1, 1, b'x'];
        let malformed: [(&str, &[u8]); 8] = [
            ("an origin of 64", &[64, 1, 1, 0]),
            ("no session", &[0]),
            ("a nonce that is cut off", &[0x80, 1, 1, 0, 0, 0, 0, 0, 0, 0]),
            ("a number that goes on", &[0, 0x80]),
            ("a number of 65 bits", &[0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 1, 0]),
            ("a number in more bytes than it needs", &[0, 0x81, 0, 1, 0]),
            ("a body longer than allowed", &[0, 1, 1, 0x81, 0x80, 0x80, 4]),
            ("a body that is cut off", &[0, 1, 1, 2, b'x']),
        ];
        for (what, bytes) in malformed {
            let batch = [good.as_slice(), bytes].concat();
            assert_eq!(Chunk::decode(batch), Err(BadBatch { offset: good.len() }), "{what}");
        }
    }

    #[test]
    fn the_greatest_numbers_are_read_again() {
        let chunk = chunk(&[(63, u64::MAX, u64::MAX, Some(u64::MAX), vec![])]);
        assert_eq!(chunk.iter().next().map(|r| (r.session, r.sequence)), Some((u64::MAX, u64::MAX)));
    }
}
