//! Frames with a keyed tag: one hash of the frame for all peers, one tag of 40 bytes for each.

use crate::{Links, PEERS};
use net::auth::{Seal, SharedKey, digest, nonce};

pub struct Tagged(Vec<(Seal, Seal)>);

impl Links for Tagged {
    const NAME: &str = "tagged frames (BLAKE3)";

    fn connect() -> Self {
        let key = SharedKey::from_bytes(&[9; 32]).expect("32 bytes are a key");
        Tagged((0..PEERS).map(|_| handshake(&key)).collect())
    }

    fn send(&mut self, frame: &[u8]) {
        let hash = digest(frame);
        for (sender, receiver) in &mut self.0 {
            let tag = sender.tag_digest(&hash);
            assert!(receiver.accepts(frame, &tag), "its own tag");
        }
    }
}

/// Both ends of a handshake, without the bytes in between: greetings of a nonce and an identity, proofs, keys of both directions.
fn handshake(key: &SharedKey) -> (Seal, Seal) {
    let hellos = [nonce().expect("randomness"), nonce().expect("randomness")];
    let [initiator, acceptor] = [(); 2].map(|()| key.connection(&hellos[0], &hellos[1]));
    assert!(initiator.initiator_proof() == acceptor.initiator_proof(), "one key");
    assert!(initiator.acceptor_proof() == acceptor.acceptor_proof(), "one key");
    let _answers = (acceptor.from_acceptor(), initiator.from_acceptor());
    (initiator.from_initiator(), acceptor.from_initiator())
}
