//! What two ends say before anything else: who they are, and what they must have in common.
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
//! proof is good for another connection.

use std::fmt;
use std::time::Duration;

use super::Proof;
use crate::config::Options;
use crate::core::ReplicaId;
use crate::frame::{BadFrame, Kind, Reader, Wire};
use crate::journal::Resident;
use codec::{put_number, put_u64};

/// What all voting replicas of a cluster must have in common, lest they come to different states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// [`Options::replicas`].
    pub replicas: u64,
    /// That of the core ([`Options::core`]).
    pub span: u64,
    /// [`Options::batch_bytes`].
    pub batch_bytes: u64,
    /// [`Options::sessions`].
    pub sessions: u64,
    /// [`Options::suspicion`].
    pub suspicion: Duration,
}

impl Agreement {
    /// That of a replica with these options.
    #[must_use]
    pub fn of(options: &Options) -> Self {
        Self {
            replicas: options.replicas,
            span: options.core().span,
            batch_bytes: options.batch_bytes as u64,
            sessions: options.sessions,
            suspicion: options.suspicion,
        }
    }

    /// The first option in which two differ.
    pub(super) fn difference(&self, other: &Self) -> Option<SharedOption> {
        [
            (self.replicas == other.replicas, SharedOption::Replicas),
            // First: the span follows from it.
            (self.batch_bytes == other.batch_bytes, SharedOption::BatchBytes),
            (self.span == other.span, SharedOption::Span),
            (self.sessions == other.sessions, SharedOption::Sessions),
            (self.suspicion == other.suspicion, SharedOption::Suspicion),
        ]
        .into_iter()
        .find_map(|(same, option)| (!same).then_some(option))
    }
}

/// An option that replicas must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedOption {
    /// [`Options::replicas`].
    Replicas,
    /// The span of [`Options::core`], which follows from `span`, `batch_bytes` and, if that is great, `window`.
    Span,
    /// [`Options::batch_bytes`].
    BatchBytes,
    /// [`Options::sessions`].
    Sessions,
    /// [`Options::suspicion`].
    Suspicion,
}

impl SharedOption {
    const ALL: [Self; 5] = [Self::Replicas, Self::Span, Self::BatchBytes, Self::Sessions, Self::Suspicion];

    fn name(self) -> &'static str {
        match self {
            Self::Replicas => "replicas",
            Self::Span => "span",
            Self::BatchBytes => "batch_bytes",
            Self::Sessions => "sessions",
            Self::Suspicion => "suspicion",
        }
    }
}

/// A replica, as it presents itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Its number.
    pub id: ReplicaId,
    /// Drawn at random when its directory was made; without one, at each start.
    pub birth: u64,
    /// How often it has started from that directory.
    pub life: u64,
    /// Drawn at random at each start.
    pub incarnation: u64,
    /// Every other voter has met it, so that it may have voted.
    pub admitted: bool,
    /// How many records of its journal are durable, those of earlier lives too.
    pub records: u64,
    /// What it runs with.
    pub agreement: Agreement,
}

impl Membership {
    /// That of a replica with these options and no directory.
    #[must_use]
    pub fn new(options: &Options, incarnation: u64) -> Self {
        let (id, agreement) = (options.id, Agreement::of(options));
        Self { id, birth: incarnation, life: 1, incarnation, admitted: false, records: 0, agreement }
    }

    /// That of a replica with these options, of which the directory says this.
    #[must_use]
    pub fn resident(options: &Options, incarnation: u64, resident: &Resident, records: u64) -> Self {
        let Resident { birth, life, admitted, .. } = *resident;
        Self { birth, life, admitted, records, ..Self::new(options, incarnation) }
    }

    /// Whether it has a vote.
    #[must_use]
    pub fn votes(&self) -> bool {
        self.id < self.agreement.replicas
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A client.
    Client,
    /// A replica.
    Replica(Membership),
}

/// The first message of either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Random, for this connection.
    pub nonce: [u8; 32],
    /// Whether the sender has a key, and so wants a proof.
    pub keyed: bool,
    /// Who sends it.
    pub identity: Identity,
}

/// Why an end does not want the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Who refuses has a key, the other end has none.
    KeyRequired,
    /// The other end has a key, who refuses has none.
    NoKeyHere,
    /// The other end's key is another one.
    WrongKey,
    /// The clusters differ in this option.
    Disagreement(SharedOption),
    /// Two replicas claim this number.
    SameNumber,
    /// The other end is who refuses: a learner's former slot, or another replica's by mistake, has its own address.
    Oneself,
    /// Another replica was expected at the address.
    OtherReplica,
    /// There is no such number.
    NoSuchNumber,
    /// The other end lived before under this number, and has forgotten its promises: it may come back as a learner.
    RestartedWithoutMemory,
    /// There are too many connections.
    TooManyConnections,
    /// The other end was met in a later life: its directory is an old copy.
    EarlierLife,
    /// The other end's journal was longer: its directory, or its whole machine, is an old copy.
    ShorterJournal,
    /// Who refuses cannot note whom it meets, and stops.
    Stopping,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyRequired => write!(f, "a shared key is required"),
            Self::NoKeyHere => write!(f, "a shared key was offered where none is used"),
            Self::WrongKey => write!(f, "the shared keys differ"),
            Self::Disagreement(option) => write!(f, "option {} differs from that of the cluster", option.name()),
            Self::SameNumber => write!(f, "two replicas claim the same number"),
            Self::Oneself => write!(f, "the address leads back to the replica itself"),
            Self::OtherReplica => write!(f, "the address is that of another replica"),
            Self::NoSuchNumber => write!(f, "no replica may have this number"),
            Self::RestartedWithoutMemory => write!(
                f,
                "the replica has restarted without its memory of what it promised: it may come back as a learner only"
            ),
            Self::TooManyConnections => write!(f, "there are too many connections"),
            Self::EarlierLife => write!(f, "the replica was met in a later life: its directory is an old copy"),
            Self::ShorterJournal => {
                write!(f, "the replica's journal was longer: its directory or its machine is an old copy")
            }
            Self::Stopping => write!(f, "the replica cannot note whom it meets, and stops"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What the ends say until they trust each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// First.
    Hello(Hello),
    /// That the sender holds the key.
    Proof(Proof),
    /// What the sender thinks of the other end.
    Verdict(Result<(), Refusal>),
}

const HELLO: u8 = 1;
const PROOF: u8 = 2;
const WELCOME: u8 = 3;
const REFUSED: u8 = 4;

const CLIENT: u8 = 0;
const REPLICA: u8 = 1;

impl Wire for Greeting {
    const KIND: Kind = Kind::Handshake;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello(hello) => {
                out.push(HELLO);
                out.extend_from_slice(&hello.nonce);
                out.push(u8::from(hello.keyed));
                write_identity(&hello.identity, out);
            }
            Self::Proof(proof) => {
                out.push(PROOF);
                out.extend_from_slice(&proof.0);
            }
            Self::Verdict(Ok(())) => out.push(WELCOME),
            Self::Verdict(Err(refusal)) => {
                out.push(REFUSED);
                write_refusal(*refusal, out);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        Ok(match reader.byte()? {
            HELLO => {
                let (nonce, keyed) = (reader.array()?, read_flag(reader)?);
                Self::Hello(Hello { nonce, keyed, identity: read_identity(reader)? })
            }
            PROOF => Self::Proof(Proof(reader.array()?)),
            WELCOME => Self::Verdict(Ok(())),
            REFUSED => Self::Verdict(Err(read_refusal(reader)?)),
            tag => return Err(BadFrame::UnknownMessage(tag)),
        })
    }
}

fn write_identity(identity: &Identity, out: &mut Vec<u8>) {
    let Identity::Replica(membership) = identity else { return out.push(CLIENT) };
    let Agreement { replicas, span, batch_bytes, sessions, suspicion } = membership.agreement;
    out.push(REPLICA);
    put_u64(out, membership.birth);
    put_number(out, membership.life);
    put_u64(out, membership.incarnation);
    out.push(u8::from(membership.admitted));
    put_number(out, membership.records);
    let suspicion = u64::try_from(suspicion.as_nanos()).unwrap_or(u64::MAX);
    for number in [membership.id, replicas, span, batch_bytes, sessions, suspicion] {
        put_number(out, number);
    }
}

fn read_identity(reader: &mut Reader<'_>) -> Result<Identity, BadFrame> {
    match reader.byte()? {
        CLIENT => return Ok(Identity::Client),
        REPLICA => {}
        tag => return Err(BadFrame::UnknownMessage(tag)),
    }
    let (birth, life, incarnation) = (reader.word()?, reader.number()?, reader.word()?);
    let (admitted, records, id) = (read_flag(reader)?, reader.number()?, reader.number()?);
    let agreement = Agreement {
        replicas: reader.number()?,
        span: reader.number()?,
        batch_bytes: reader.number()?,
        sessions: reader.number()?,
        suspicion: Duration::from_nanos(reader.number()?),
    };
    Ok(Identity::Replica(Membership { id, birth, life, incarnation, admitted, records, agreement }))
}

fn read_flag(reader: &mut Reader<'_>) -> Result<bool, BadFrame> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(BadFrame::BadNumber),
    }
}

/// Refusals without a detail, by their numbers on the wire.
const PLAIN_REFUSALS: [Refusal; 12] = [
    Refusal::KeyRequired,
    Refusal::NoKeyHere,
    Refusal::WrongKey,
    Refusal::SameNumber,
    Refusal::Oneself,
    Refusal::OtherReplica,
    Refusal::NoSuchNumber,
    Refusal::RestartedWithoutMemory,
    Refusal::TooManyConnections,
    Refusal::EarlierLife,
    Refusal::ShorterJournal,
    Refusal::Stopping,
];

fn write_refusal(refusal: Refusal, out: &mut Vec<u8>) {
    let position = match refusal {
        Refusal::Disagreement(option) => {
            PLAIN_REFUSALS.len() + SharedOption::ALL.iter().take_while(|other| **other != option).count()
        }
        plain => PLAIN_REFUSALS.iter().take_while(|other| **other != plain).count(),
    };
    out.push(position as u8);
}

fn read_refusal(reader: &mut Reader<'_>) -> Result<Refusal, BadFrame> {
    let tag = reader.byte()?;
    let plain = PLAIN_REFUSALS.into_iter();
    let disagreements = SharedOption::ALL.into_iter().map(Refusal::Disagreement);
    plain.chain(disagreements).nth(usize::from(tag)).ok_or(BadFrame::UnknownMessage(tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Decoder, MAX_HANDSHAKE_BYTES, encode};

    fn membership(id: ReplicaId, incarnation: u64) -> Membership {
        let membership = Membership::new(&Options::new(3, id), incarnation);
        Membership { birth: 5, life: 300, admitted: true, records: 1 << 40, ..membership }
    }

    #[test]
    fn greetings_come_back_as_they_were() {
        let hello = |identity| Greeting::Hello(Hello { nonce: [7; 32], keyed: true, identity });
        let refusals = PLAIN_REFUSALS.into_iter().chain(SharedOption::ALL.into_iter().map(Refusal::Disagreement));
        let mut greetings = vec![
            hello(Identity::Client),
            hello(Identity::Replica(membership(2, u64::MAX))),
            Greeting::Proof(Proof([9; 32])),
            Greeting::Verdict(Ok(())),
        ];
        greetings.extend(refusals.map(|refusal| Greeting::Verdict(Err(refusal))));
        assert_eq!(greetings.len(), 21);
        for greeting in greetings {
            let mut bytes = Vec::new();
            encode(&greeting, &mut bytes).expect("short");
            let mut decoder = Decoder::new(MAX_HANDSHAKE_BYTES);
            decoder.buffer().extend_from_slice(&bytes);
            assert_eq!(decoder.next_frame().expect("a frame").expect("whole").message(), Ok(greeting));
        }
    }
}
