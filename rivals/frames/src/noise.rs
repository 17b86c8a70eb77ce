//! `Noise_NNpsk0`: fresh Diffie-Hellman keys under a shared key, then every frame is encrypted for its peer.

use crate::{Links, PEERS};
use snow::{Builder, TransportState};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// The longest message of the protocol.
const MOST: usize = 65_535;

pub struct Noise {
    links: Vec<(TransportState, TransportState)>,
    sealed: Vec<u8>,
    opened: Vec<u8>,
}

impl Links for Noise {
    const NAME: &str = "Noise NNpsk0 (snow)";

    fn connect() -> Self {
        Noise { links: (0..PEERS).map(|_| handshake()).collect(), sealed: vec![0; MOST], opened: vec![0; MOST] }
    }

    fn send(&mut self, frame: &[u8]) {
        for (sender, receiver) in &mut self.links {
            let length = sender.write_message(frame, &mut self.sealed).expect("a frame fits a message");
            let opened = receiver.read_message(&self.sealed[..length], &mut self.opened).expect("what was sealed");
            assert_eq!(opened, frame.len());
        }
    }
}

/// Both ends of a handshake.
fn handshake() -> (TransportState, TransportState) {
    let builder =
        || Builder::new(PATTERN.parse().expect("a known pattern")).psk(0, &[9; 32]).expect("a key of 32 bytes");
    let mut initiator = builder().build_initiator().expect("a complete builder");
    let mut acceptor = builder().build_responder().expect("a complete builder");
    let (mut message, mut payload) = (vec![0; MOST], vec![0; MOST]);
    let length = initiator.write_message(&[], &mut message).expect("the first message");
    acceptor.read_message(&message[..length], &mut payload).expect("the first message");
    let length = acceptor.write_message(&[], &mut message).expect("the second message");
    initiator.read_message(&message[..length], &mut payload).expect("the second message");
    let ready = "both messages were exchanged";
    (initiator.into_transport_mode().expect(ready), acceptor.into_transport_mode().expect(ready))
}
