//! Encoding of the messages between replicas.

use crate::core::generated::{Decision, Message, Vote};
use crate::message::PeerMessage;
use codec::{put_bytes, put_number};
use net::frame::{BadFrame, Kind, Reader, Wire};

const PREPARE: u8 = 1;
const PROMISE: u8 = 2;
const PROPOSE: u8 = 3;
const ACCEPT: u8 = 4;
const COMMIT: u8 = 5;
const REJECT: u8 = 6;
const ALIVE: u8 = 7;
const QUERY: u8 = 8;
const LEARNED: u8 = 9;
const TRUNCATED: u8 = 10;
const FORWARD: u8 = 11;
const SUSPICION: u8 = 12;
const PIECE: u8 = 13;
const RECORDS: u8 = 14;
const DURABLE: u8 = 15;

/// An instance, a ballot and the length of a value: a byte each, at least.
const MIN_VOTE_BYTES: usize = 3;

/// An instance and the length of a value: a byte each, at least.
const MIN_DECISION_BYTES: usize = 2;

impl Wire for PeerMessage {
    const KIND: Kind = Kind::Peer;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Core(message) => write_core(message, out),
            Self::Suspicion(ballot) => write_numbers(SUSPICION, &[*ballot], out),
            Self::Records(count) => write_numbers(RECORDS, &[*count], out),
            Self::Durable(below) => write_numbers(DURABLE, &[*below], out),
            Self::Piece { at, offset, total, bytes: part } => {
                write_numbers(PIECE, &[*at, *offset, *total], out);
                put_bytes(out, part);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        match reader.byte()? {
            SUSPICION => Ok(Self::Suspicion(reader.number()?)),
            RECORDS => Ok(Self::Records(reader.number()?)),
            DURABLE => Ok(Self::Durable(reader.number()?)),
            PIECE => read_piece(reader),
            tag => read_core(tag, reader).map(Self::Core),
        }
    }
}

fn write_numbers(tag: u8, numbers: &[u64], out: &mut Vec<u8>) {
    out.push(tag);
    for n in numbers {
        put_number(out, *n);
    }
}

fn write_core(message: &Message, out: &mut Vec<u8>) {
    match message {
        Message::Prepare(b, k) => write_numbers(PREPARE, &[*b, *k], out),
        Message::Promise(b, k, votes) => {
            write_numbers(PROMISE, &[*b, *k, votes.len() as u64], out);
            for vote in votes {
                put_number(out, vote.instance);
                put_number(out, vote.ballot);
                put_bytes(out, &vote.value);
            }
        }
        Message::Propose(b, i, v) => {
            write_numbers(PROPOSE, &[*b, *i], out);
            put_bytes(out, v);
        }
        Message::Accept(b, i) => write_numbers(ACCEPT, &[*b, *i], out),
        Message::Commit(b, i) => write_numbers(COMMIT, &[*b, *i], out),
        Message::Reject(b) => write_numbers(REJECT, &[*b], out),
        Message::Alive(b, i) => write_numbers(ALIVE, &[*b, *i], out),
        Message::Query(lo, hi) => write_numbers(QUERY, &[*lo, *hi], out),
        Message::Learned(decisions) => {
            write_numbers(LEARNED, &[decisions.len() as u64], out);
            for decision in decisions {
                put_number(out, decision.instance);
                put_bytes(out, &decision.value);
            }
        }
        // A snapshot travels in pieces; this one has no bytes, and so begins none.
        Message::Snapshot(k, image) => {
            write_numbers(PIECE, &[*k, 0, image.len()], out);
            put_bytes(out, &[]);
        }
        Message::Truncated(k) => write_numbers(TRUNCATED, &[*k], out),
        Message::Forward(v) => {
            out.push(FORWARD);
            put_bytes(out, v);
        }
    }
}

fn read_core(tag: u8, reader: &mut Reader<'_>) -> Result<Message, BadFrame> {
    Ok(match tag {
        PREPARE => Message::Prepare(reader.number()?, reader.number()?),
        PROMISE => Message::Promise(reader.number()?, reader.number()?, read_votes(reader)?),
        PROPOSE => Message::Propose(reader.number()?, reader.number()?, reader.bytes()?),
        ACCEPT => Message::Accept(reader.number()?, reader.number()?),
        COMMIT => Message::Commit(reader.number()?, reader.number()?),
        REJECT => Message::Reject(reader.number()?),
        ALIVE => Message::Alive(reader.number()?, reader.number()?),
        QUERY => Message::Query(reader.number()?, reader.number()?),
        LEARNED => Message::Learned(read_decisions(reader)?),
        TRUNCATED => Message::Truncated(reader.number()?),
        FORWARD => Message::Forward(reader.bytes()?),
        tag => return Err(BadFrame::UnknownMessage(tag)),
    })
}

fn read_votes(reader: &mut Reader<'_>) -> Result<Vec<Vote>, BadFrame> {
    let count = reader.count(MIN_VOTE_BYTES)?;
    (0..count)
        .map(|_| Ok(Vote { instance: reader.number()?, ballot: reader.number()?, value: reader.bytes()? }))
        .collect()
}

fn read_decisions(reader: &mut Reader<'_>) -> Result<Vec<Decision>, BadFrame> {
    let count = reader.count(MIN_DECISION_BYTES)?;
    (0..count).map(|_| Ok(Decision { instance: reader.number()?, value: reader.bytes()? })).collect()
}

fn read_piece(reader: &mut Reader<'_>) -> Result<PeerMessage, BadFrame> {
    let (at, offset, total) = (reader.number()?, reader.number()?, reader.number()?);
    let bytes = reader.slice()?;
    // All are below 2^62: the sum does not overflow.
    if offset + bytes.len() as u64 > total {
        return Err(BadFrame::BadPiece);
    }
    Ok(PeerMessage::Piece { at, offset, total, bytes })
}
