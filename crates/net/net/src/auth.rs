//! Authentication of connections and frames by a shared key.
//!
//! Ends that hold the key prove it to each other when a connection is made (challenge and response over fresh nonces), and every
//! frame from then on carries a tag of 16 bytes under a key of that connection and direction, over a counter and the frame. So
//! nobody without the key can inject, alter, replay, reorder or drop a frame unnoticed; a connection on which that happens ends.
//! Contents are not hidden: run over a private network or a tunnel where they must be. One who holds the key may claim
//! any replica's number.
//!
//! All is BLAKE3: derived keys, keyed hashes, and hash-then-tag for frames, so that a leader hashes a batch once for all its peers
//! and then tags 40 bytes for each. It was taken because one small, portable library has all three modes and uses
//! the vector units for a batch's many blocks, and because a keyed BLAKE3 is a pseudorandom function without HMAC's second pass.
//!
//! Without a key, only loopback addresses may be bound or connected to: see [`NoKey`].

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// A tag's length.
pub const TAG_BYTES: usize = 16;

/// A key file has at least this many bytes (all of which count) and at most [`MAX_KEY_BYTES`].
pub const MIN_KEY_BYTES: usize = 32;

/// A key file has at most this many bytes.
pub const MAX_KEY_BYTES: usize = 64 << 10;

/// Contexts of derived keys: one each, never used for anything else. They are part of the protocol: another text is another key, and so
/// they keep the name of the first protocol that used them.
const KEY_CONTEXT: &str = "seriatim paxos 2026-11 shared key";
const INITIATOR_PROOF: &str = "seriatim paxos 2026-11 proof of the initiator";
const ACCEPTOR_PROOF: &str = "seriatim paxos 2026-11 proof of the acceptor";
const FROM_INITIATOR: &str = "seriatim paxos 2026-11 frames from the initiator";
const FROM_ACCEPTOR: &str = "seriatim paxos 2026-11 frames from the acceptor";

/// The key that all ends of a cluster share.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedKey([u8; blake3::KEY_LEN]);

/// A key that cannot be used.
#[derive(Debug)]
pub enum BadKey {
    /// The file cannot be read.
    Unreadable(io::Error),
    /// It has fewer than [`MIN_KEY_BYTES`] or more than [`MAX_KEY_BYTES`] bytes.
    Length(usize),
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "the key file cannot be read: {error}"),
            Self::Length(bytes) => {
                write!(
                    f,
                    "a key of {bytes} bytes: it must have {MIN_KEY_BYTES} to {MAX_KEY_BYTES}, from a random source"
                )
            }
        }
    }
}

impl std::error::Error for BadKey {}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(..)")
    }
}

impl SharedKey {
    /// The key in these bytes, of which every one counts (a final newline too).
    ///
    /// # Errors
    /// [`BadKey::Length`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadKey> {
        if !(MIN_KEY_BYTES..=MAX_KEY_BYTES).contains(&bytes.len()) {
            return Err(BadKey::Length(bytes.len()));
        }
        Ok(Self(blake3::derive_key(KEY_CONTEXT, bytes)))
    }

    /// The key in this file.
    ///
    /// # Errors
    /// See [`BadKey`].
    pub fn read(path: &Path) -> Result<Self, BadKey> {
        Self::from_bytes(&std::fs::read(path).map_err(BadKey::Unreadable)?)
    }

    /// The keys of one connection, whose ends greeted each other with these two frames. The frames carry the nonces, and both ends'
    /// roles, numbers and options: whatever is said there is proved with the key.
    #[must_use]
    pub fn connection(&self, initiator_hello: &[u8], acceptor_hello: &[u8]) -> ConnectionKeys {
        let mut transcript = blake3::Hasher::new_keyed(&self.0);
        for hello in [initiator_hello, acceptor_hello] {
            transcript.update(&(hello.len() as u64).to_le_bytes()).update(hello);
        }
        ConnectionKeys { secret: *transcript.finalize().as_bytes() }
    }
}

/// Secrets of one connection, which only its two ends can compute.
pub struct ConnectionKeys {
    secret: [u8; blake3::KEY_LEN],
}

/// Proof that an end holds the key.
#[derive(Clone, Copy, Debug)]
pub struct Proof(pub [u8; blake3::OUT_LEN]);

/// In constant time.
impl PartialEq for Proof {
    fn eq(&self, other: &Self) -> bool {
        blake3::Hash::from_bytes(self.0) == blake3::Hash::from_bytes(other.0)
    }
}

impl Eq for Proof {}

impl ConnectionKeys {
    fn derive(&self, context: &str) -> [u8; blake3::KEY_LEN] {
        blake3::derive_key(context, &self.secret)
    }

    /// Returns the proof that the initiator sends.
    #[must_use]
    pub fn initiator_proof(&self) -> Proof {
        Proof(self.derive(INITIATOR_PROOF))
    }

    /// Returns the proof that the acceptor sends.
    #[must_use]
    pub fn acceptor_proof(&self) -> Proof {
        Proof(self.derive(ACCEPTOR_PROOF))
    }

    /// For the frames from the initiator to the acceptor: both ends have one.
    #[must_use]
    pub fn from_initiator(&self) -> Seal {
        Seal::new(self.derive(FROM_INITIATOR))
    }

    /// For the frames from the acceptor to the initiator: both ends have one.
    #[must_use]
    pub fn from_acceptor(&self) -> Seal {
        Seal::new(self.derive(FROM_ACCEPTOR))
    }
}

/// The hash of a whole frame, which all connections that it is sent on can use.
pub type FrameDigest = [u8; blake3::OUT_LEN];

/// The hash of a whole frame.
#[must_use]
pub fn digest(frame: &[u8]) -> FrameDigest {
    *blake3::hash(frame).as_bytes()
}

/// Tags the frames of one direction of one connection, or checks them: each frame once, in order.
pub struct Seal {
    key: [u8; blake3::KEY_LEN],
    /// Frames so far.
    count: u64,
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({} frames)", self.count)
    }
}

impl Seal {
    fn new(key: [u8; blake3::KEY_LEN]) -> Self {
        Self { key, count: 0 }
    }

    /// The next frame's tag.
    pub fn tag(&mut self, frame: &[u8]) -> [u8; TAG_BYTES] {
        self.tag_digest(&digest(frame))
    }

    /// The next frame's tag, from its [`digest`].
    pub fn tag_digest(&mut self, digest: &FrameDigest) -> [u8; TAG_BYTES] {
        let whole = self.next(digest);
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&whole.as_bytes()[..TAG_BYTES]);
        tag
    }

    /// Is this the next frame, with its tag?
    #[must_use]
    pub fn accepts(&mut self, frame: &[u8], tag: &[u8]) -> bool {
        let mut expected = *self.next(&digest(frame)).as_bytes();
        let mut actual = [0; blake3::OUT_LEN];
        if tag.len() != TAG_BYTES {
            return false;
        }
        actual[..TAG_BYTES].copy_from_slice(tag);
        expected[TAG_BYTES..].fill(0);
        // Hashes are compared in constant time.
        blake3::Hash::from_bytes(expected) == blake3::Hash::from_bytes(actual)
    }

    fn next(&mut self, digest: &FrameDigest) -> blake3::Hash {
        let mut message = [0; 8 + blake3::OUT_LEN];
        message[..8].copy_from_slice(&self.count.to_le_bytes());
        message[8..].copy_from_slice(digest);
        self.count += 1;
        blake3::keyed_hash(&self.key, &message)
    }
}

/// An address that must not be used without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoKey {
    /// The address.
    pub address: SocketAddr,
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a loopback address: without a shared key only those are used", self.address)
    }
}

impl std::error::Error for NoKey {}

/// Without a key, any process that reaches a replica's port can impersonate another replica; users of the same machine are
/// trusted.
///
/// # Errors
/// [`NoKey`].
pub fn require_key(key: Option<&SharedKey>, address: SocketAddr) -> Result<(), NoKey> {
    if key.is_some() || is_loopback(address) { Ok(()) } else { Err(NoKey { address }) }
}

/// Returns whether the address can be reached from this machine only.
#[must_use]
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// 32 bytes that nobody can guess, and that never come again.
///
/// # Errors
/// The operating system has none.
pub fn nonce() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::from)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SharedKey {
        SharedKey::from_bytes(&[byte; MIN_KEY_BYTES]).expect("long enough")
    }

    fn keys() -> ConnectionKeys {
        key(1).connection(b"hello", b"well met")
    }

    #[test]
    fn short_and_long_keys_are_refused_and_every_byte_counts() {
        assert!(matches!(SharedKey::from_bytes(&[0; MIN_KEY_BYTES - 1]), Err(BadKey::Length(31))));
        assert!(matches!(SharedKey::from_bytes(&vec![0; MAX_KEY_BYTES + 1]), Err(BadKey::Length(_))));
        let mut long = vec![7; 100];
        let first = SharedKey::from_bytes(&long).expect("long enough");
        long[99] ^= 1;
        assert_ne!(first, SharedKey::from_bytes(&long).expect("long enough"));
        assert_eq!(format!("{first:?}"), "SharedKey(..)");
    }

    #[test]
    fn proofs_depend_on_key_role_and_both_greetings() {
        let proof = keys().initiator_proof();
        assert_eq!(proof, key(1).connection(b"hello", b"well met").initiator_proof());
        assert_ne!(proof, keys().acceptor_proof());
        assert_ne!(proof, key(2).connection(b"hello", b"well met").initiator_proof());
        assert_ne!(proof, key(1).connection(b"hellp", b"well met").initiator_proof());
        assert_ne!(proof, key(1).connection(b"hello", b"well mes").initiator_proof());
        // Where one greeting ends and the other begins counts too.
        assert_ne!(proof, key(1).connection(b"hellow", b"ell met").initiator_proof());
    }

    #[test]
    fn frames_are_accepted_once_in_order_in_their_direction_and_as_they_were() {
        let mut sender = keys().from_initiator();
        let tags = [sender.tag(b"one"), sender.tag(b"two"), sender.tag_digest(&digest(b"three"))];
        let mut receiver = keys().from_initiator();
        assert!(receiver.accepts(b"one", &tags[0]) && receiver.accepts(b"two", &tags[1]));
        assert!(receiver.accepts(b"three", &tags[2]));

        let refused = |seal: &mut Seal, frame: &[u8], tag: &[u8]| assert!(!seal.accepts(frame, tag));
        refused(&mut keys().from_acceptor(), b"one", &tags[0]);
        refused(&mut keys().from_initiator(), b"two", &tags[1]);
        refused(&mut keys().from_initiator(), b"onf", &tags[0]);
        refused(&mut keys().from_initiator(), b"one", &tags[0][..15]);
        refused(&mut keys().from_initiator(), b"one", b"");
        let mut replayed = keys().from_initiator();
        assert!(replayed.accepts(b"one", &tags[0]));
        refused(&mut replayed, b"one", &tags[0]);
        for bit in 0..8 * TAG_BYTES {
            let mut flipped = tags[0];
            flipped[bit / 8] ^= 1 << (bit % 8);
            refused(&mut keys().from_initiator(), b"one", &flipped);
        }
    }

    #[test]
    fn without_a_key_only_loopback_is_used() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        for loopback in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(require_key(None, address(loopback)), Ok(()));
        }
        for public in ["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[2001:db8::1]:1"] {
            assert_eq!(require_key(None, address(public)), Err(NoKey { address: address(public) }));
            assert_eq!(require_key(Some(&key(1)), address(public)), Ok(()));
        }
    }

    #[test]
    fn nonces_differ() {
        assert_ne!(nonce().expect("entropy"), nonce().expect("entropy"));
    }
}
