//! Handshake: the first bytes of a connection exchange the identities, prove that both ends hold the key, and let each accept or refuse.
//!
//! ```text
//! initiator                                     acceptor
//!   Hello: nonce, identity               ──►
//!                                        ◄──    Hello: nonce, identity
//!                                        ◄──    Proof                      only with a key
//!   Proof                                ──►                               only with a key
//!                                        ◄──    Verdict                    with a key: under a tag already
//!   Verdict                              ──►                               the same
//! ```
//!
//! Both greetings are in what the proofs prove, so nobody in between can alter an identity, an option or the wish for a key, and no
//! proof is good for another connection. What an identity says, and why one end refuses another, is the protocol's: both are [`Part`]s.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::auth::{ConnectionKeys, Proof, Seal, SharedKey, nonce};
use crate::frame::{BadFrame, Decoder, Frame, Kind, MAX_HANDSHAKE_BYTES, Reader, Wire, encode};

#[cfg(test)]
mod tests;

/// A part of a greeting that the protocol defines: an identity, or a refusal.
pub trait Part: Sized {
    /// Appends its bytes.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads one.
    ///
    /// # Errors
    /// See [`BadFrame`].
    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame>;
}

/// Why an end refuses another because of the key: every protocol's refusals have these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// The refusing end has a key, the other has none.
    KeyRequired,
    /// The other end has a key, the refusing one has none.
    NoKeyHere,
    /// The keys differ.
    WrongKey,
}

/// The first message of either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello<I> {
    /// Random, for this connection.
    pub nonce: [u8; 32],
    /// Whether the sender has a key and requires a proof.
    pub keyed: bool,
    /// Identity of the sender.
    pub identity: I,
}

/// A message of the handshake, with identities `I` and refusals `R`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting<I, R> {
    /// First.
    Hello(Hello<I>),
    /// Proof that the sender holds the key.
    Proof(Proof),
    /// Whether the sender accepts the other end.
    Verdict(Result<(), R>),
}

const HELLO: u8 = 1;
const PROOF: u8 = 2;
const WELCOME: u8 = 3;
const REFUSED: u8 = 4;

impl<I: Part, R: Part> Wire for Greeting<I, R> {
    const KIND: Kind = Kind::Handshake;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => {
                out.push(HELLO);
                out.extend_from_slice(&hello.nonce);
                out.push(u8::from(hello.keyed));
                hello.identity.write(out);
            }
            Self::Proof(proof) => {
                out.push(PROOF);
                out.extend_from_slice(&proof.0);
            }
            Self::Verdict(Ok(())) => out.push(WELCOME),
            Self::Verdict(Err(refusal)) => {
                out.push(REFUSED);
                refusal.write(out);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        Ok(match reader.byte()? {
            HELLO => {
                let (nonce, keyed) = (reader.array()?, reader.flag()?);
                Self::Hello(Hello { nonce, keyed, identity: I::read(reader)? })
            }
            PROOF => Self::Proof(Proof(reader.array()?)),
            WELCOME => Self::Verdict(Ok(())),
            REFUSED => Self::Verdict(Err(R::read(reader)?)),
            tag => return Err(BadFrame::UnknownMessage(tag)),
        })
    }
}

/// Time limit for a greeting. A connection without one is closed after it.
pub const GREETING_PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug)]
pub enum GreetingError<R> {
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
        refusal: R,
        /// Whether the refusal is authenticated: nobody in between can have forged it.
        proved: bool,
    },
    /// This end refuses the other.
    Refusing(R),
}

impl<R: fmt::Display> fmt::Display for GreetingError<R> {
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

impl<R: fmt::Debug + fmt::Display> std::error::Error for GreetingError<R> {}

impl<R> From<io::Error> for GreetingError<R> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<R> From<BadFrame> for GreetingError<R> {
    fn from(error: BadFrame) -> Self {
        Self::BadFrame(error)
    }
}

/// The other end of a connection, and how to speak with it.
#[derive(Debug)]
pub struct Greeted<I> {
    /// Identity of the other end.
    pub identity: I,
    /// For what comes; to be given its limit.
    pub decoder: Decoder,
    /// For what is sent.
    pub seal: Option<Seal>,
}

/// Greets as the end that has made the connection. `judge` looks at the other end, once it has proved itself.
///
/// # Errors
/// See [`GreetingError`].
pub async fn initiate<S, I, R>(
    stream: &mut S,
    key: Option<&SharedKey>,
    identity: I,
    judge: impl FnOnce(&I) -> Result<(), R>,
) -> Result<Greeted<I>, GreetingError<R>>
where
    S: AsyncRead + AsyncWrite + Unpin,
    I: Part + Clone,
    R: Part + Copy + From<KeyRefusal>,
{
    timeout(GREETING_PATIENCE, Conversation::new(stream).initiate(key, identity, judge))
        .await
        .unwrap_or(Err(GreetingError::Silent))
}

/// Greets as the end that was connected to. `key_for` chooses the key by what the other end says it is.
///
/// # Errors
/// See [`GreetingError`].
pub async fn accept<'k, S, I, R>(
    stream: &mut S,
    key_for: impl FnOnce(&I) -> Option<&'k SharedKey>,
    identity: I,
    judge: impl FnOnce(&I) -> Result<(), R>,
) -> Result<Greeted<I>, GreetingError<R>>
where
    S: AsyncRead + AsyncWrite + Unpin,
    I: Part + Clone,
    R: Part + Copy + From<KeyRefusal>,
{
    timeout(GREETING_PATIENCE, Conversation::new(stream).accept(key_for, identity, judge))
        .await
        .unwrap_or(Err(GreetingError::Silent))
}

struct Conversation<'s, S, I, R> {
    stream: &'s mut S,
    decoder: Decoder,
    of: PhantomData<fn(I, R)>,
}

impl<'s, S, I, R> Conversation<'s, S, I, R>
where
    S: AsyncRead + AsyncWrite + Unpin,
    I: Part + Clone,
    R: Part + Copy + From<KeyRefusal>,
{
    fn new(stream: &'s mut S) -> Self {
        Self { stream, decoder: Decoder::new(MAX_HANDSHAKE_BYTES), of: PhantomData }
    }

    async fn initiate(
        mut self,
        key: Option<&SharedKey>,
        identity: I,
        judge: impl FnOnce(&I) -> Result<(), R>,
    ) -> Result<Greeted<I>, GreetingError<R>> {
        let hello = framed(&Greeting::<I, R>::Hello(Hello { nonce: nonce()?, keyed: key.is_some(), identity }));
        self.stream.write_all(&hello).await?;
        let (other, other_bytes) = self.hello().await?;
        let keys = key.map(|key| key.connection(&hello, &other_bytes));
        if let Some(keys) = &keys {
            if !other.keyed {
                return Err(GreetingError::Refusing(KeyRefusal::KeyRequired.into()));
            }
            if self.proof().await? != keys.acceptor_proof() {
                self.judge(Err(KeyRefusal::WrongKey.into()), None).await?;
            }
            self.stream.write_all(&framed(&Greeting::<I, R>::Proof(keys.initiator_proof()))).await?;
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
        key_for: impl FnOnce(&I) -> Option<&'k SharedKey>,
        identity: I,
        judge: impl FnOnce(&I) -> Result<(), R>,
    ) -> Result<Greeted<I>, GreetingError<R>> {
        let (other, other_bytes) = self.hello().await?;
        let key = key_for(&other.identity);
        if key.is_some() != other.keyed {
            let refusal = if key.is_some() { KeyRefusal::KeyRequired } else { KeyRefusal::NoKeyHere };
            self.judge(Err(refusal.into()), None).await?;
        }
        let hello = framed(&Greeting::<I, R>::Hello(Hello { nonce: nonce()?, keyed: key.is_some(), identity }));
        self.stream.write_all(&hello).await?;
        let keys = key.map(|key| key.connection(&other_bytes, &hello));
        if let Some(keys) = &keys {
            self.stream.write_all(&framed(&Greeting::<I, R>::Proof(keys.acceptor_proof()))).await?;
            if self.proof().await? != keys.initiator_proof() {
                self.judge(Err(KeyRefusal::WrongKey.into()), None).await?;
            }
            self.decoder.set_seal(keys.from_initiator());
        }
        let mut seal = keys.as_ref().map(ConnectionKeys::from_acceptor);
        self.judge(judge(&other.identity), seal.as_mut()).await?;
        self.await_verdict().await?;
        Ok(Greeted { identity: other.identity, decoder: self.decoder, seal })
    }

    /// Tells the other end what this one thinks of it.
    async fn judge(&mut self, verdict: Result<(), R>, seal: Option<&mut Seal>) -> Result<(), GreetingError<R>> {
        let mut bytes = framed(&Greeting::<I, R>::Verdict(verdict));
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

    async fn await_verdict(&mut self) -> Result<(), GreetingError<R>> {
        match self.message().await? {
            Greeting::Verdict(Ok(())) => Ok(()),
            Greeting::Verdict(Err(refusal)) => Err(GreetingError::Refused { refusal, proved: true }),
            _ => Err(GreetingError::OutOfTurn),
        }
    }

    /// The other end's greeting, and the bytes that a proof depends on.
    async fn hello(&mut self) -> Result<(Hello<I>, Vec<u8>), GreetingError<R>> {
        match self.message().await? {
            Greeting::Hello(hello) => {
                // Messages have one encoding, so these are the bytes that came.
                let bytes = framed(&Greeting::<I, R>::Hello(hello.clone()));
                Ok((hello, bytes))
            }
            Greeting::Verdict(Err(refusal)) => Err(GreetingError::Refused { refusal, proved: false }),
            _ => Err(GreetingError::OutOfTurn),
        }
    }

    async fn proof(&mut self) -> Result<Proof, GreetingError<R>> {
        match self.message().await? {
            Greeting::Proof(proof) => Ok(proof),
            Greeting::Verdict(Err(refusal)) => Err(GreetingError::Refused { refusal, proved: false }),
            _ => Err(GreetingError::OutOfTurn),
        }
    }

    async fn message(&mut self) -> Result<Greeting<I, R>, GreetingError<R>> {
        Ok(self.frame().await?.message()?)
    }

    async fn frame(&mut self) -> Result<Frame, GreetingError<R>> {
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
