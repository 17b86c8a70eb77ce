//! Who asks, who answers, and why not.

use codec::{put_bytes, put_number};
use net::frame::{BadFrame, Reader};
use net::handshake::{self, KeyRefusal, Part};
use std::fmt;

/// A cluster's name has at most so many bytes.
pub const MAX_NAME_BYTES: usize = 63;

/// A node, as it presents itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of its cluster, at most 63 bytes.
    pub cluster: String,
    /// Its number.
    pub node: u64,
    /// Version of what it sends and takes.
    pub format: u64,
}

/// Why an end does not want the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The refusing end has a key, the other end has none.
    KeyRequired,
    /// The other end has a key, the refusing end has none.
    NoKeyHere,
    /// The keys differ.
    WrongKey,
    /// They are of different clusters.
    OtherCluster,
    /// Another node was expected at the address.
    OtherNode,
    /// They have different versions of the state's format.
    OtherFormat,
    /// The holder hands over as many states as it may already.
    TooMany,
}

impl Refusal {
    /// By their numbers on the wire.
    const ALL: [Self; 7] = [
        Self::KeyRequired,
        Self::NoKeyHere,
        Self::WrongKey,
        Self::OtherCluster,
        Self::OtherNode,
        Self::OtherFormat,
        Self::TooMany,
    ];
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyRequired => "a shared key is required",
            Self::NoKeyHere => "a shared key was offered where none is used",
            Self::WrongKey => "the shared keys differ",
            Self::OtherCluster => "the nodes belong to different clusters",
            Self::OtherNode => "another node was expected at the address",
            Self::OtherFormat => {
                "the nodes have different versions of the program, whose states differ in their format"
            }
            Self::TooMany => "the node hands its state to others at the moment",
        })
    }
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

pub type Greeted = handshake::Greeted<Member>;
pub type GreetingError = handshake::GreetingError<Refusal>;

impl Member {
    /// Compares the cluster and the format.
    pub fn judge(&self, other: &Member) -> Result<(), Refusal> {
        if self.cluster != other.cluster {
            return Err(Refusal::OtherCluster);
        }
        if self.format == other.format { Ok(()) } else { Err(Refusal::OtherFormat) }
    }
}

impl Part for Member {
    fn write(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.cluster.as_bytes());
        put_number(out, self.node);
        put_number(out, self.format);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        Ok(Self { cluster: reader.text(MAX_NAME_BYTES)?, node: reader.number()?, format: reader.number()? })
    }
}

impl Part for Refusal {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(Self::ALL.iter().position(|refusal| refusal == self).map(|at| at as u8));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        let tag = reader.byte()?;
        Self::ALL.get(usize::from(tag)).copied().ok_or(BadFrame::UnknownMessage(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::frame::{Decoder, MAX_HANDSHAKE_BYTES, encode};
    use net::handshake::{Greeting, Hello};

    #[test]
    fn greetings_come_back_as_they_were() {
        let identity = Member { cluster: "n".repeat(MAX_NAME_BYTES), node: 2, format: 1 << 40 };
        let mut greetings = vec![Greeting::Hello(Hello { nonce: [3; 32], keyed: false, identity })];
        greetings.extend(Refusal::ALL.map(|refusal| Greeting::Verdict(Err(refusal))));
        for greeting in greetings {
            let mut bytes = Vec::new();
            encode(&greeting, &mut bytes).expect("short");
            let mut decoder = Decoder::new(MAX_HANDSHAKE_BYTES);
            decoder.buffer().extend_from_slice(&bytes);
            let frame = decoder.next_frame().expect("a frame").expect("whole");
            assert_eq!(frame.message::<Greeting<Member, Refusal>>(), Ok(greeting));
        }
    }
}
