//! A connection's first bytes: see [`greeting`](crate::auth::greeting).

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::auth::greeting::{Greeting, Hello, Identity, Refusal};
use crate::auth::{ConnectionKeys, Proof, Seal, SharedKey, nonce};
use crate::frame::{BadFrame, Decoder, Frame, MAX_HANDSHAKE_BYTES, Wire, encode};

/// Who has not greeted after this is not waited for.
pub(crate) const GREETING_PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug)]
pub enum GreetingError {
    /// The network.
    Io(io::Error),
    /// The other end does not speak the protocol.
    BadFrame(BadFrame),
    /// Its messages came in another order.
    OutOfTurn,
    /// The other end did not answer in time.
    Silent,
    /// The other end refuses this one. `proved`: it holds the key, if there is one.
    Refused {
        /// Why.
        refusal: Refusal,
        /// Whether nobody in between can have said so.
        proved: bool,
    },
    /// This end refuses the other.
    Refusing(Refusal),
}

impl fmt::Display for GreetingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::BadFrame(error) => write!(f, "{error}"),
            Self::OutOfTurn => write!(f, "the other end greets in a way that this one does not know"),
            Self::Silent => write!(f, "the other end does not answer"),
            Self::Refused { refusal, .. } => write!(f, "the other end refuses: {refusal}"),
            Self::Refusing(refusal) => write!(f, "the other end was refused: {refusal}"),
        }
    }
}

impl std::error::Error for GreetingError {}

impl From<io::Error> for GreetingError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<BadFrame> for GreetingError {
    fn from(error: BadFrame) -> Self {
        Self::BadFrame(error)
    }
}

/// The other end of a connection, and how to speak with it.
#[derive(Debug)]
pub struct Greeted {
    /// Who it is.
    pub identity: Identity,
    /// For what comes; to be given its limit.
    pub decoder: Decoder,
    /// For what is sent.
    pub seal: Option<Seal>,
}

/// Greets as the end that has made the connection. `judge` looks at the other end, once it has proved itself.
///
/// # Errors
/// What [`GreetingError`] names.
pub async fn initiate<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: Option<&SharedKey>,
    identity: Identity,
    judge: impl FnOnce(&Identity) -> Result<(), Refusal>,
) -> Result<Greeted, GreetingError> {
    timeout(GREETING_PATIENCE, Conversation::new(stream).initiate(key, identity, judge))
        .await
        .unwrap_or(Err(GreetingError::Silent))
}

/// Greets as the end that was connected to. `key_for` chooses the key by what the other end says it is.
///
/// # Errors
/// What [`GreetingError`] names.
pub async fn accept<'k, S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key_for: impl FnOnce(&Identity) -> Option<&'k SharedKey>,
    identity: Identity,
    judge: impl FnOnce(&Identity) -> Result<(), Refusal>,
) -> Result<Greeted, GreetingError> {
    timeout(GREETING_PATIENCE, Conversation::new(stream).accept(key_for, identity, judge))
        .await
        .unwrap_or(Err(GreetingError::Silent))
}

struct Conversation<'s, S> {
    stream: &'s mut S,
    decoder: Decoder,
}

impl<'s, S: AsyncRead + AsyncWrite + Unpin> Conversation<'s, S> {
    fn new(stream: &'s mut S) -> Self {
        Self { stream, decoder: Decoder::new(MAX_HANDSHAKE_BYTES) }
    }

    async fn initiate(
        mut self,
        key: Option<&SharedKey>,
        identity: Identity,
        judge: impl FnOnce(&Identity) -> Result<(), Refusal>,
    ) -> Result<Greeted, GreetingError> {
        let hello = framed(&Greeting::Hello(Hello { nonce: nonce()?, keyed: key.is_some(), identity }));
        self.stream.write_all(&hello).await?;
        let (other, other_bytes) = self.hello().await?;
        let keys = key.map(|key| key.connection(&hello, &other_bytes));
        if let Some(keys) = &keys {
            if !other.keyed {
                return Err(GreetingError::Refusing(Refusal::KeyRequired));
            }
            if self.proof().await? != keys.acceptor_proof() {
                self.judge(Err(Refusal::WrongKey), None).await?;
            }
            self.stream.write_all(&framed(&Greeting::Proof(keys.initiator_proof()))).await?;
        }
        if let Some(keys) = &keys {
            self.decoder.set_seal(keys.from_acceptor());
        }
        let mut seal = keys.as_ref().map(ConnectionKeys::from_initiator);
        self.judge(judge(&other.identity), seal.as_mut()).await?;
        self.await_verdict().await?;
        Ok(Greeted { identity: other.identity, decoder: self.decoder, seal })
    }

    async fn accept<'k>(
        mut self,
        key_for: impl FnOnce(&Identity) -> Option<&'k SharedKey>,
        identity: Identity,
        judge: impl FnOnce(&Identity) -> Result<(), Refusal>,
    ) -> Result<Greeted, GreetingError> {
        let (other, other_bytes) = self.hello().await?;
        let key = key_for(&other.identity);
        if key.is_some() != other.keyed {
            let refusal = if key.is_some() { Refusal::KeyRequired } else { Refusal::NoKeyHere };
            self.judge(Err(refusal), None).await?;
        }
        let hello = framed(&Greeting::Hello(Hello { nonce: nonce()?, keyed: key.is_some(), identity }));
        self.stream.write_all(&hello).await?;
        let keys = key.map(|key| key.connection(&other_bytes, &hello));
        if let Some(keys) = &keys {
            self.stream.write_all(&framed(&Greeting::Proof(keys.acceptor_proof()))).await?;
            if self.proof().await? != keys.initiator_proof() {
                self.judge(Err(Refusal::WrongKey), None).await?;
            }
            self.decoder.set_seal(keys.from_initiator());
        }
        let mut seal = keys.as_ref().map(ConnectionKeys::from_acceptor);
        self.judge(judge(&other.identity), seal.as_mut()).await?;
        self.await_verdict().await?;
        Ok(Greeted { identity: other.identity, decoder: self.decoder, seal })
    }

    /// Tells the other end what this one thinks of it.
    async fn judge(&mut self, verdict: Result<(), Refusal>, seal: Option<&mut Seal>) -> Result<(), GreetingError> {
        let mut bytes = framed(&Greeting::Verdict(verdict));
        if let Some(seal) = seal {
            let tag = seal.tag(&bytes);
            bytes.extend_from_slice(&tag);
        }
        let written = self.stream.write_all(&bytes).await;
        match verdict {
            // The other end may have refused and gone: its reason is there to be read.
            Ok(()) => Ok(()),
            Err(refusal) => {
                if written.is_ok() {
                    self.part().await;
                }
                Err(GreetingError::Refusing(refusal))
            }
        }
    }

    /// Waits for the other end to close: if this one closed with something unread, the system would throw away what was said last.
    async fn part(&mut self) {
        let (mut scrap, mut left) = ([0; 256], MAX_HANDSHAKE_BYTES);
        // Whatever goes wrong here, this end closes.
        let _ = self.stream.shutdown().await;
        while let Ok(count @ 1..) = self.stream.read(&mut scrap).await
            && count <= left
        {
            left -= count;
        }
    }

    async fn await_verdict(&mut self) -> Result<(), GreetingError> {
        match self.message().await? {
            Greeting::Verdict(Ok(())) => Ok(()),
            Greeting::Verdict(Err(refusal)) => Err(GreetingError::Refused { refusal, proved: true }),
            _ => Err(GreetingError::OutOfTurn),
        }
    }

    /// The other end's greeting, and the bytes that a proof depends on.
    async fn hello(&mut self) -> Result<(Hello, Vec<u8>), GreetingError> {
        match self.message().await? {
            Greeting::Hello(hello) => {
                // Messages have one encoding, so these are the bytes that came.
                let bytes = framed(&Greeting::Hello(hello.clone()));
                Ok((hello, bytes))
            }
            Greeting::Verdict(Err(refusal)) => Err(GreetingError::Refused { refusal, proved: false }),
            _ => Err(GreetingError::OutOfTurn),
        }
    }

    async fn proof(&mut self) -> Result<Proof, GreetingError> {
        match self.message().await? {
            Greeting::Proof(proof) => Ok(proof),
            Greeting::Verdict(Err(refusal)) => Err(GreetingError::Refused { refusal, proved: false }),
            _ => Err(GreetingError::OutOfTurn),
        }
    }

    async fn message(&mut self) -> Result<Greeting, GreetingError> {
        Ok(self.frame().await?.message()?)
    }

    async fn frame(&mut self) -> Result<Frame, GreetingError> {
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                return Ok(frame);
            }
            if self.stream.read_buf(self.decoder.buffer()).await? == 0 {
                return Err(GreetingError::Io(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }
}

fn framed<M: Wire>(message: &M) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(message, &mut bytes).expect("greetings are short");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::greeting::Membership;
    use crate::config::Options;
    use crate::frame::Packer;
    use crate::message::ClientMessage;

    fn key(byte: u8) -> SharedKey {
        SharedKey::from_bytes(&[byte; 32]).expect("long enough")
    }

    fn replica(id: u64) -> Identity {
        Identity::Replica(Membership::new(&Options::new(3, id), id))
    }

    fn anybody(_: &Identity) -> Result<(), Refusal> {
        Ok(())
    }

    /// Both ends' results of a greeting with these keys.
    fn greet(
        initiator: Option<&SharedKey>,
        acceptor: Option<&SharedKey>,
    ) -> (Result<Greeted, GreetingError>, Result<Greeted, GreetingError>) {
        greet_and_judge(initiator, acceptor, anybody, anybody)
    }

    fn greet_and_judge(
        initiator: Option<&SharedKey>,
        acceptor: Option<&SharedKey>,
        initiator_judges: fn(&Identity) -> Result<(), Refusal>,
        acceptor_judges: fn(&Identity) -> Result<(), Refusal>,
    ) -> (Result<Greeted, GreetingError>, Result<Greeted, GreetingError>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let (mut left, mut right) = tokio::io::duplex(1 << 16);
            let initiate = async {
                let result = initiate(&mut left, initiator, replica(2), initiator_judges).await;
                drop(left);
                result
            };
            let accept = async {
                let result = accept(&mut right, |_| acceptor, replica(1), acceptor_judges).await;
                drop(right);
                result
            };
            tokio::join!(initiate, accept)
        })
    }

    #[test]
    fn ends_with_one_key_or_none_trust_each_other() {
        for key in [None, Some(&key(1))] {
            let (initiator, acceptor) = greet(key, key);
            let (initiator, acceptor) = (initiator.expect("welcome"), acceptor.expect("welcome"));
            assert_eq!((initiator.identity, acceptor.identity), (replica(1), replica(2)));
            let pairs = [(initiator.seal, acceptor.decoder), (acceptor.seal, initiator.decoder)];
            for (seal, mut decoder) in pairs {
                assert_eq!(seal.is_some(), key.is_some());
                let mut packer = Packer::new(seal);
                let mut bytes = Vec::new();
                packer.push(&ClientMessage::Open(1)).expect("short");
                packer.drain_into(&mut bytes);
                decoder.buffer().extend_from_slice(&bytes);
                let frame = decoder.next_frame().expect("a frame").expect("whole");
                assert_eq!(frame.message(), Ok(ClientMessage::Open(1)));
            }
        }
    }

    #[test]
    fn ends_with_different_keys_refuse_each_other() {
        let (initiator, acceptor) = greet(Some(&key(1)), Some(&key(2)));
        assert!(matches!(initiator, Err(GreetingError::Refusing(Refusal::WrongKey))), "{initiator:?}");
        assert!(
            matches!(acceptor, Err(GreetingError::Refused { refusal: Refusal::WrongKey, proved: false })),
            "{acceptor:?}"
        );
        let (initiator, acceptor) = greet(None, Some(&key(2)));
        assert!(
            matches!(initiator, Err(GreetingError::Refused { refusal: Refusal::KeyRequired, proved: false })),
            "{initiator:?}"
        );
        assert!(matches!(acceptor, Err(GreetingError::Refusing(Refusal::KeyRequired))), "{acceptor:?}");
        let (initiator, acceptor) = greet(Some(&key(1)), None);
        assert!(matches!(initiator, Err(GreetingError::Refused { refusal: Refusal::NoKeyHere, .. })), "{initiator:?}");
        assert!(matches!(acceptor, Err(GreetingError::Refusing(Refusal::NoKeyHere))), "{acceptor:?}");
    }

    #[test]
    fn a_refusal_reaches_the_other_end_by_name() {
        let forgetful = |_: &Identity| Err(Refusal::RestartedWithoutMemory);
        let is_refused = |end: &Result<Greeted, GreetingError>| {
            matches!(end, Err(GreetingError::Refused { refusal: Refusal::RestartedWithoutMemory, proved: true }))
        };
        let is_refusing = |end: &Result<Greeted, GreetingError>| {
            matches!(end, Err(GreetingError::Refusing(Refusal::RestartedWithoutMemory)))
        };
        for key in [None, Some(&key(1))] {
            let (initiator, acceptor) = greet_and_judge(key, key, anybody, forgetful);
            assert!(is_refused(&initiator) && is_refusing(&acceptor), "{initiator:?} {acceptor:?}");
            let (initiator, acceptor) = greet_and_judge(key, key, forgetful, anybody);
            assert!(is_refusing(&initiator) && is_refused(&acceptor), "{initiator:?} {acceptor:?}");
        }
    }

    #[test]
    fn an_end_that_speaks_something_else_is_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let error = runtime.block_on(async {
            let (mut left, mut right) = tokio::io::duplex(1 << 16);
            left.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("room");
            accept(&mut right, |_| None, replica(1), anybody).await.expect_err("no greeting")
        });
        assert!(matches!(error, GreetingError::BadFrame(BadFrame::Magic)), "{error}");
    }
}
