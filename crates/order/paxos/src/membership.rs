//! Identity and options that a replica sends in its greeting, the options that two replicas must share, and the reasons of
//! refusals.
//!
//! [`net::handshake`] transports them: its proofs cover both greetings, so nobody in between can alter an identity or an
//! option.

use std::fmt;
use std::time::Duration;

use codec::{put_number, put_u64};
use net::frame::{BadFrame, Reader};
use net::handshake::{self, KeyRefusal, Part};

use crate::config::Options;
use crate::core::ReplicaId;
use crate::journal::DirectoryOwner;

/// The other end of a connection that has greeted, and how to speak with it.
pub type Greeted = handshake::Greeted<Identity>;

/// Why there is no connection.
pub type GreetingError = handshake::GreetingError<Refusal>;

/// A message of the handshake.
pub type Greeting = handshake::Greeting<Identity, Refusal>;

/// Options that all voting replicas of a cluster must share; otherwise their states would diverge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// [`Options::replicas`].
    pub replicas: u64,
    /// Maximum distance between the oldest and newest open instance ([`Options::core`]).
    pub span: u64,
    /// [`Options::batch_bytes`].
    pub batch_bytes: u64,
    /// [`Options::sessions`].
    pub sessions: u64,
    /// [`Options::suspicion`].
    pub suspicion: Duration,
}

impl Agreement {
    /// Returns the agreement of a replica with these options.
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
    pub(crate) fn difference(&self, other: &Self) -> Option<SharedOption> {
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
    /// Number of starts from that directory.
    pub life: u64,
    /// Drawn at random at each start.
    pub incarnation: u64,
    /// Every other voter has met it, so that it may have voted.
    pub admitted: bool,
    /// Number of durable records of its journal, those of earlier lives included.
    pub records: u64,
    /// Options that it runs with.
    pub agreement: Agreement,
}

impl Membership {
    /// Membership of a replica with these options and no directory.
    #[must_use]
    pub fn new(options: &Options, incarnation: u64) -> Self {
        let (id, agreement) = (options.id, Agreement::of(options));
        Self { id, birth: incarnation, life: 1, incarnation, admitted: false, records: 0, agreement }
    }

    /// Membership of a replica with these options and the owner of its directory.
    #[must_use]
    pub fn of_owner(options: &Options, incarnation: u64, owner: &DirectoryOwner, records: u64) -> Self {
        let DirectoryOwner { birth, life, admitted, .. } = *owner;
        Self { birth, life, admitted, records, ..Self::new(options, incarnation) }
    }

    /// Returns whether it has a vote.
    #[must_use]
    pub fn votes(&self) -> bool {
        self.id < self.agreement.replicas
    }
}

/// Identity of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A client.
    Client,
    /// A replica.
    Replica(Membership),
}

/// Why an end does not want the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The refusing end has a key, the other end has none.
    KeyRequired,
    /// The other end has a key, this one has none.
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
    /// The other end was met after a later start: its directory is an old copy.
    EarlierLife,
    /// The other end's journal was longer: its directory, or its whole machine, is an old copy.
    ShorterJournal,
    /// The refusing replica cannot record the meeting, and stops.
    Stopping,
    /// The other end is a client, and nothing here serves clients.
    NoClients,
}

impl From<KeyRefusal> for Refusal {
    fn from(refusal: KeyRefusal) -> Self {
        match refusal {
            KeyRefusal::KeyRequired => Self::KeyRequired,
            KeyRefusal::NoKeyHere => Self::NoKeyHere,
            KeyRefusal::WrongKey => Self::WrongKey,
        }
    }
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
            Self::NoSuchNumber => write!(f, "the replica's number is out of range"),
            Self::RestartedWithoutMemory => write!(
                f,
                "the replica has restarted without its memory of what it promised: it may come back as a learner only"
            ),
            Self::TooManyConnections => write!(f, "there are too many connections"),
            Self::EarlierLife => write!(f, "the replica was seen after a later restart: its directory is an old copy"),
            Self::ShorterJournal => {
                write!(f, "the replica's journal was longer: its directory or its machine is an old copy")
            }
            Self::Stopping => write!(f, "the replica cannot record the voters that it meets, and stops"),
            Self::NoClients => write!(f, "this node serves no clients"),
        }
    }
}

impl std::error::Error for Refusal {}

const CLIENT: u8 = 0;
const REPLICA: u8 = 1;

impl Part for Identity {
    fn write(&self, out: &mut Vec<u8>) {
        write_identity(self, out);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        read_identity(reader)
    }
}

impl Part for Refusal {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(Self::all().position(|refusal| refusal == *self).map(|position| position as u8));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        let tag = reader.byte()?;
        Self::all().nth(usize::from(tag)).ok_or(BadFrame::UnknownMessage(tag))
    }
}

impl Refusal {
    /// All refusals, by their numbers on the wire.
    fn all() -> impl Iterator<Item = Self> {
        let disagreements = SharedOption::ALL.into_iter().map(Self::Disagreement);
        PLAIN_REFUSALS.into_iter().chain(disagreements).chain([Self::NoClients])
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
    let (admitted, records, id) = (reader.flag()?, reader.number()?, reader.number()?);
    let agreement = Agreement {
        replicas: reader.number()?,
        span: reader.number()?,
        batch_bytes: reader.number()?,
        sessions: reader.number()?,
        suspicion: Duration::from_nanos(reader.number()?),
    };
    Ok(Identity::Replica(Membership { id, birth, life, incarnation, admitted, records, agreement }))
}

/// Refusals that came before those with a detail, in the order of their numbers on the wire.
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

#[cfg(test)]
mod tests {
    use super::*;
    use net::auth::Proof;
    use net::frame::{Decoder, MAX_HANDSHAKE_BYTES, encode};
    use net::handshake::Hello;

    fn membership(id: ReplicaId, incarnation: u64) -> Membership {
        let membership = Membership::new(&Options::new(3, id), incarnation);
        Membership { birth: 5, life: 300, admitted: true, records: 1 << 40, ..membership }
    }

    #[test]
    fn greetings_come_back_as_they_were() {
        let hello = |identity| Greeting::Hello(Hello { nonce: [7; 32], keyed: true, identity });
        let mut greetings = vec![
            hello(Identity::Client),
            hello(Identity::Replica(membership(2, u64::MAX))),
            Greeting::Proof(Proof([9; 32])),
            Greeting::Verdict(Ok(())),
        ];
        greetings.extend(Refusal::all().map(|refusal| Greeting::Verdict(Err(refusal))));
        assert_eq!(greetings.len(), 22);
        for greeting in greetings {
            let mut bytes = Vec::new();
            encode(&greeting, &mut bytes).expect("short");
            let mut decoder = Decoder::new(MAX_HANDSHAKE_BYTES);
            decoder.buffer().extend_from_slice(&bytes);
            assert_eq!(decoder.next_frame().expect("a frame").expect("whole").message(), Ok(greeting));
        }
    }
}
