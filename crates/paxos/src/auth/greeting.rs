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

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use super::Proof;
use crate::config::Options;
use crate::core::ReplicaId;
use crate::frame::{BadFrame, Kind, Reader, Wire, writer};

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
    fn difference(&self, other: &Self) -> Option<SharedOption> {
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
    /// This life of it: drawn at random at each start.
    pub incarnation: u64,
    /// Whether it remembers what it promised in earlier lives: it has a journal, and that is not a new one.
    pub remembers: bool,
    /// What it runs with.
    pub agreement: Agreement,
}

impl Membership {
    /// That of a replica with these options in its first life.
    #[must_use]
    pub fn new(options: &Options, incarnation: u64) -> Self {
        Self { id: options.id, incarnation, remembers: false, agreement: Agreement::of(options) }
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
        }
    }
}

impl std::error::Error for Refusal {}

/// Earlier lives of one replica that are known, at most.
const KNOWN_LIVES: usize = 64;

/// The replicas that one has met. A voter that remembers nothing may come in one life only, and none may come back to an earlier one:
/// then two replicas have the same number, and take turns.
#[derive(Debug)]
pub struct Acquaintances {
    own: Membership,
    /// The lives of voters, the present one last.
    met: BTreeMap<ReplicaId, VecDeque<u64>>,
}

impl Acquaintances {
    /// Nobody yet.
    #[must_use]
    pub fn new(own: Membership) -> Self {
        Self { own, met: BTreeMap::new() }
    }

    /// Who is asking.
    #[must_use]
    pub fn own(&self) -> Membership {
        self.own
    }

    /// Is this the replica itself?
    #[must_use]
    pub fn is_oneself(&self, other: &Membership) -> bool {
        (other.id, other.incarnation) == (self.own.id, self.own.incarnation)
    }

    /// May this replica be talked to? To be asked once it has proved itself: it is remembered.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn meet(&mut self, other: &Membership) -> Result<(), Refusal> {
        if self.is_oneself(other) {
            return Err(Refusal::Oneself);
        }
        if other.id == self.own.id {
            return Err(Refusal::SameNumber);
        }
        if other.id > 63 {
            return Err(Refusal::NoSuchNumber);
        }
        if let Some(option) = self.own.agreement.difference(&other.agreement) {
            return Err(Refusal::Disagreement(option));
        }
        if other.votes() { self.recognize(other) } else { Ok(()) }
    }

    fn recognize(&mut self, voter: &Membership) -> Result<(), Refusal> {
        let lives = self.met.entry(voter.id).or_default();
        match lives.back() {
            Some(present) if *present == voter.incarnation => return Ok(()),
            Some(_) if lives.contains(&voter.incarnation) => return Err(Refusal::SameNumber),
            Some(_) if !voter.remembers => return Err(Refusal::RestartedWithoutMemory),
            _ => lives.push_back(voter.incarnation),
        }
        if lives.len() > KNOWN_LIVES {
            lives.pop_front();
        }
        Ok(())
    }
}

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
    writer::word(membership.incarnation, out);
    out.push(u8::from(membership.remembers));
    let suspicion = u64::try_from(suspicion.as_nanos()).unwrap_or(u64::MAX);
    for number in [membership.id, replicas, span, batch_bytes, sessions, suspicion] {
        writer::number(number, out);
    }
}

fn read_identity(reader: &mut Reader<'_>) -> Result<Identity, BadFrame> {
    match reader.byte()? {
        CLIENT => return Ok(Identity::Client),
        REPLICA => {}
        tag => return Err(BadFrame::UnknownMessage(tag)),
    }
    let (incarnation, remembers, id) = (reader.word()?, read_flag(reader)?, reader.number()?);
    let agreement = Agreement {
        replicas: reader.number()?,
        span: reader.number()?,
        batch_bytes: reader.number()?,
        sessions: reader.number()?,
        suspicion: Duration::from_nanos(reader.number()?),
    };
    Ok(Identity::Replica(Membership { id, incarnation, remembers, agreement }))
}

fn read_flag(reader: &mut Reader<'_>) -> Result<bool, BadFrame> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(BadFrame::BadNumber),
    }
}

/// Refusals without a detail, by their numbers on the wire.
const PLAIN_REFUSALS: [Refusal; 9] = [
    Refusal::KeyRequired,
    Refusal::NoKeyHere,
    Refusal::WrongKey,
    Refusal::SameNumber,
    Refusal::Oneself,
    Refusal::OtherReplica,
    Refusal::NoSuchNumber,
    Refusal::RestartedWithoutMemory,
    Refusal::TooManyConnections,
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
        Membership::new(&Options::new(3, id), incarnation)
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
        assert_eq!(greetings.len(), 18);
        for greeting in greetings {
            let mut bytes = Vec::new();
            encode(&greeting, &mut bytes).expect("short");
            let mut decoder = Decoder::new(MAX_HANDSHAKE_BYTES);
            decoder.buffer().extend_from_slice(&bytes);
            assert_eq!(decoder.next_frame().expect("a frame").expect("whole").message(), Ok(greeting));
        }
    }

    #[test]
    fn a_voter_without_memory_is_met_in_one_life_only() {
        let mut acquaintances = Acquaintances::new(membership(0, 1));
        assert_eq!(acquaintances.meet(&membership(1, 10)), Ok(()));
        assert_eq!(acquaintances.meet(&membership(1, 10)), Ok(()), "it reconnects");
        assert_eq!(acquaintances.meet(&membership(1, 11)), Err(Refusal::RestartedWithoutMemory));
        let learner = |incarnation| membership(5, incarnation);
        assert_eq!((acquaintances.meet(&learner(1)), acquaintances.meet(&learner(2))), (Ok(()), Ok(())));
        let durable = |incarnation| Membership { remembers: true, ..membership(2, incarnation) };
        assert_eq!((acquaintances.meet(&durable(1)), acquaintances.meet(&durable(2))), (Ok(()), Ok(())));
        assert_eq!((acquaintances.meet(&durable(2)), acquaintances.meet(&durable(3))), (Ok(()), Ok(())));
        assert_eq!(acquaintances.meet(&durable(2)), Err(Refusal::SameNumber), "both live");
    }

    #[test]
    fn strangers_are_refused_by_name() {
        let mut acquaintances = Acquaintances::new(membership(0, 1));
        assert_eq!(acquaintances.meet(&membership(0, 2)), Err(Refusal::SameNumber));
        assert_eq!(acquaintances.meet(&membership(0, 1)), Err(Refusal::Oneself));
        assert_eq!(acquaintances.meet(&membership(64, 1)), Err(Refusal::NoSuchNumber));
        let mut meet_with = |change: fn(&mut Options)| {
            let mut options = Options::new(3, 1);
            change(&mut options);
            acquaintances.meet(&Membership::new(&options, 1))
        };
        assert_eq!(meet_with(|o| o.replicas = 5), Err(Refusal::Disagreement(SharedOption::Replicas)));
        assert_eq!(meet_with(|o| o.span = 17), Err(Refusal::Disagreement(SharedOption::Span)));
        assert_eq!(meet_with(|o| o.batch_bytes = 1), Err(Refusal::Disagreement(SharedOption::BatchBytes)));
        assert_eq!(meet_with(|o| o.sessions = 1), Err(Refusal::Disagreement(SharedOption::Sessions)));
        assert_eq!(meet_with(|o| o.suspicion *= 2), Err(Refusal::Disagreement(SharedOption::Suspicion)));
        assert_eq!(meet_with(|o| o.window = 3), Ok(()), "a leader's own affair");
    }

    #[test]
    fn the_span_that_is_compared_is_the_core_s() {
        let membership = |window| {
            let mut options = Options::new(3, 1);
            (options.batch_bytes, options.window) = (1 << 20, window);
            assert_eq!(options.check(), Ok(()));
            Membership::new(&options, 1)
        };
        let mut acquaintances = Acquaintances::new(Membership { id: 0, ..membership(16) });
        assert_eq!(acquaintances.meet(&membership(16)), Ok(()));
        let wide = acquaintances.meet(&membership(28));
        assert_eq!(wide, Err(Refusal::Disagreement(SharedOption::Span)), "so many open batches need a longer span");
    }
}
