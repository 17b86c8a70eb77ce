//! The bytes of a snapshot.
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `SPXI` and format version | 4 and 1 |
//! | next instance; sessions opened so far; sessions open | a number each |
//! | of each session, by number: its number as the distance from the one before; its last request; the instance in which it was active; 1 if a nonce follows, else 0; the nonce; how many answers follow | a number each, the nonce 8 |
//! | of each answer: how long before the session's activity it was given, in instances; 1 + its length, or 0 and the length of one that was not kept; its bytes | a number each, the bytes |
//! | the service's own snapshot | to the end but 4 |
//! | CRC32C of everything before | 4 |
//!
//! Version 1 had no nonces. Numbers are LEB128. The order of the sessions makes the bytes a function of the state (X2).

use super::replies::{Answer, Remembered, Replies};
use crate::message::SESSION_WINDOW;
use crate::service::BadSnapshot;
use codec::{Malformed, StreamError, StreamReader, put_number};
use paxos::core::generated::{self, Sessions};
use paxos::core::{Instance, Session, prim};
use std::collections::VecDeque;
use std::io::{self, BufRead, Write};

type Reader<'r> = StreamReader<&'r mut dyn BufRead>;

const MAGIC: [u8; 4] = *b"SPXI";
const VERSION: u8 = 2;
const WITHOUT_NONCES: u8 = 1;

/// Instances, sessions and sequences of a snapshot lie below it, so that counting on does not leave 64 bits.
const LIMIT: u64 = 1 << 62;

/// Contents of a snapshot, before the service's.
pub(super) struct Decoded {
    pub(super) next: Instance,
    pub(super) sessions: Sessions,
    pub(super) replies: Replies,
}

/// Writes everything before the service's own snapshot.
pub(super) fn write(out: &mut dyn Write, next: Instance, sessions: &Sessions, replies: &Replies) -> io::Result<()> {
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    put_number(&mut bytes, next);
    put_number(&mut bytes, sessions.opened);
    put_number(&mut bytes, replies.sessions() as u64);
    let mut before = 0;
    for (session, remembered) in replies.in_order() {
        put_number(&mut bytes, session - before);
        before = session;
        put_number(&mut bytes, prim::sm_get(session, &sessions.last).copied().unwrap_or(0));
        put_remembered(&mut bytes, remembered);
        out.write_all(&bytes)?;
        bytes.clear();
    }
    out.write_all(&bytes)
}

fn put_remembered(out: &mut Vec<u8>, remembered: &Remembered) {
    put_number(out, remembered.active);
    put_number(out, u64::from(remembered.nonce.is_some()));
    out.extend(remembered.nonce.into_iter().flat_map(u64::to_le_bytes));
    put_number(out, remembered.answers.len() as u64);
    for (at, answer) in &remembered.answers {
        put_number(out, remembered.active - at);
        match answer {
            Answer::Bytes(bytes) => {
                put_number(out, 1 + bytes.len() as u64);
                out.extend_from_slice(bytes);
            }
            Answer::TooLarge(length) => {
                put_number(out, 0);
                put_number(out, *length);
            }
        }
    }
}

/// Reads everything before the service's own snapshot.
pub(super) fn read(input: &mut dyn BufRead) -> Result<Decoded, BadSnapshot> {
    let mut reader = StreamReader::new(input);
    if !matches!(reader.array(), Ok(MAGIC)) {
        return Err(BadSnapshot("it does not begin with the magic number".into()));
    }
    let version = reader.u8()?;
    if !(WITHOUT_NONCES..=VERSION).contains(&version) {
        return Err(BadSnapshot(format!("its format version is {version}, and this software reads up to {VERSION}")));
    }
    Ok(decode_body(version, &mut reader)?)
}

fn decode_body(version: u8, reader: &mut Reader<'_>) -> Result<Decoded, StreamError> {
    let next = limited(reader)?;
    let mut sessions = generated::no_sessions();
    sessions.opened = limited(reader)?;
    let count = reader.number()?;
    let mut replies = Replies::default();
    let mut session: Session = 0;
    for _ in 0..count {
        let wrong = Malformed::value_at(reader.offset());
        let distance = reader.number()?;
        session = session.checked_add(distance).filter(|next| distance > 0 && *next <= sessions.opened).ok_or(wrong)?;
        let last = limited(reader)?;
        sessions.last = prim::sm_set(session, last, sessions.last);
        replies.insert(session, decode_remembered(version, reader, last, next)?);
    }
    Ok(Decoded { next, sessions, replies })
}

fn decode_remembered(
    version: u8,
    reader: &mut Reader<'_>,
    last: u64,
    next: Instance,
) -> Result<Remembered, StreamError> {
    let wrong = Malformed::value_at(reader.offset());
    let active = reader.number()?;
    let nonce = if version == WITHOUT_NONCES { None } else { decode_nonce(reader)? };
    let count = reader.number()?;
    if active >= next || count > last.min(SESSION_WINDOW) {
        return Err(wrong.into());
    }
    let mut answers = VecDeque::with_capacity(count as usize);
    for _ in 0..count {
        let wrong = Malformed::value_at(reader.offset());
        let at = active.checked_sub(reader.number()?).ok_or(wrong)?;
        let answer = match reader.number()?.checked_sub(1) {
            Some(length) => Answer::Bytes(reader.take(length)?),
            None => Answer::TooLarge(reader.number()?),
        };
        answers.push_back((at, answer));
    }
    Ok(Remembered { active, nonce, answers })
}

fn decode_nonce(reader: &mut Reader<'_>) -> Result<Option<u64>, StreamError> {
    let wrong = Malformed::value_at(reader.offset());
    match reader.number()? {
        0 => Ok(None),
        1 => Ok(Some(reader.u64()?)),
        _ => Err(wrong.into()),
    }
}

fn limited(reader: &mut Reader<'_>) -> Result<u64, StreamError> {
    let wrong = Malformed::value_at(reader.offset());
    Some(reader.number()?).filter(|number| *number < LIMIT).ok_or_else(|| wrong.into())
}
