//! Encoding of the messages of replicas to clients.

use crate::message::{Outcome, ReplicaMessage};
use codec::{put_bytes, put_number, put_u64};
use net::frame::{BadFrame, Kind, Reader, Wire};

const LEADER: u8 = 1;
const OPENED: u8 = 2;
const STATUS: u8 = 3;
const EXECUTED: u8 = 4;
const FORGOTTEN: u8 = 5;
const EARLY: u8 = 6;
const UNKNOWN_SESSION: u8 = 7;
const TOO_LARGE: u8 = 8;
const REPLY_TOO_LARGE: u8 = 9;
const FOREIGN_SESSION: u8 = 10;
const TOO_MANY_SESSIONS: u8 = 11;

/// The greatest number of a replica.
const MAX_REPLICA: u64 = 63;

/// The longest address: a name of 253 bytes and a port.
pub(crate) const MAX_ADDRESS_BYTES: usize = 260;

/// The longest status.
const MAX_STATUS_BYTES: usize = 1 << 20;

impl Wire for ReplicaMessage {
    const KIND: Kind = Kind::Replica;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Leader { leader, address } => {
                out.push(LEADER);
                // One more than the replica's number, 0 for none; an address is never empty.
                put_number(out, leader.map_or(0, |id| id + 1));
                put_bytes(out, address.as_deref().unwrap_or("").as_bytes());
            }
            Self::Opened { nonce, session } => {
                out.push(OPENED);
                put_u64(out, *nonce);
                put_number(out, *session);
            }
            Self::Reply { session, sequence, outcome } => {
                out.push(tag_of(outcome));
                put_number(out, *session);
                put_number(out, *sequence);
                write_outcome(outcome, out);
            }
            Self::TooManySessions { nonce, limit } => {
                out.push(TOO_MANY_SESSIONS);
                put_u64(out, *nonce);
                put_number(out, *limit);
            }
            Self::Status(json) => {
                out.push(STATUS);
                put_bytes(out, json.as_bytes());
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        Ok(match reader.byte()? {
            LEADER => {
                let leader = reader.number_up_to(MAX_REPLICA + 1)?.checked_sub(1);
                let address = reader.text(MAX_ADDRESS_BYTES)?;
                Self::Leader { leader, address: (!address.is_empty()).then_some(address) }
            }
            OPENED => Self::Opened { nonce: reader.word()?, session: reader.number()? },
            TOO_MANY_SESSIONS => Self::TooManySessions { nonce: reader.word()?, limit: reader.number()? },
            STATUS => Self::Status(reader.text(MAX_STATUS_BYTES)?),
            tag @ EXECUTED..=FOREIGN_SESSION => {
                let (session, sequence) = (reader.number()?, reader.number()?);
                Self::Reply { session, sequence, outcome: read_outcome(tag, reader)? }
            }
            tag => return Err(BadFrame::UnknownMessage(tag)),
        })
    }
}

fn tag_of(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Executed(..) => EXECUTED,
        Outcome::Forgotten => FORGOTTEN,
        Outcome::Early => EARLY,
        Outcome::UnknownSession => UNKNOWN_SESSION,
        Outcome::ForeignSession => FOREIGN_SESSION,
        Outcome::TooLarge(_) => TOO_LARGE,
        Outcome::ReplyTooLarge(_) => REPLY_TOO_LARGE,
    }
}

fn write_outcome(outcome: &Outcome, out: &mut Vec<u8>) {
    match outcome {
        Outcome::Executed(at, answer) => {
            put_number(out, *at);
            put_bytes(out, answer);
        }
        Outcome::TooLarge(length) | Outcome::ReplyTooLarge(length) => put_number(out, *length),
        Outcome::Forgotten | Outcome::Early | Outcome::UnknownSession | Outcome::ForeignSession => {}
    }
}

fn read_outcome(tag: u8, reader: &mut Reader<'_>) -> Result<Outcome, BadFrame> {
    Ok(match tag {
        EXECUTED => Outcome::Executed(reader.number()?, reader.slice()?),
        FORGOTTEN => Outcome::Forgotten,
        EARLY => Outcome::Early,
        UNKNOWN_SESSION => Outcome::UnknownSession,
        FOREIGN_SESSION => Outcome::ForeignSession,
        TOO_LARGE => Outcome::TooLarge(reader.number()?),
        REPLY_TOO_LARGE => Outcome::ReplyTooLarge(reader.number()?),
        tag => return Err(BadFrame::UnknownMessage(tag)),
    })
}
