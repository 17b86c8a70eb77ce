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
use codec::{Malformed, Reader, put_number};
use paxos::core::generated::{self, Sessions};
use paxos::core::{Image, Instance, Session, prim};
use std::collections::VecDeque;

const MAGIC: [u8; 4] = *b"SPXI";
const VERSION: u8 = 2;
const WITHOUT_NONCES: u8 = 1;
const CHECKSUM_BYTES: usize = 4;

/// Instances, sessions and sequences of a snapshot lie below it, so that counting on does not leave 64 bits.
const LIMIT: u64 = 1 << 62;

/// Contents of a snapshot.
pub(super) struct Decoded<'a> {
    pub(super) next: Instance,
    pub(super) sessions: Sessions,
    pub(super) replies: Replies,
    pub(super) service: &'a [u8],
}

pub(super) fn encode(next: Instance, sessions: &Sessions, replies: &Replies, service: &[u8]) -> Image {
    let mut out = Vec::with_capacity(64 + replies.sessions() * 80 + replies.bytes() + service.len());
    out.extend_from_slice(&MAGIC);
    out.push(VERSION);
    put_number(&mut out, next);
    put_number(&mut out, sessions.opened);
    put_number(&mut out, replies.sessions() as u64);
    let mut before = 0;
    for (session, remembered) in replies.in_order() {
        put_number(&mut out, session - before);
        before = session;
        put_number(&mut out, prim::sm_get(session, &sessions.last).copied().unwrap_or(0));
        put_remembered(&mut out, remembered);
    }
    out.extend_from_slice(service);
    let checksum = crc32c::crc32c(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    Image(out.into())
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

pub(super) fn decode(image: &[u8]) -> Result<Decoded<'_>, BadSnapshot> {
    let (version, body) = checked(image)?;
    decode_body(version, &mut Reader::new(body))
        .map_err(|Malformed { offset, .. }| BadSnapshot(format!("the field at byte {offset} is malformed")))
}

/// The version, and the bytes between it and the checksum, if both are right.
fn checked(image: &[u8]) -> Result<(u8, &[u8]), BadSnapshot> {
    let split = image.len().checked_sub(CHECKSUM_BYTES).and_then(|end| image.split_at_checked(end));
    let rest = split.and_then(|(body, _)| body.strip_prefix(&MAGIC)).and_then(|rest| rest.split_first());
    let (Some((body, checksum)), Some((version, rest))) = (split, rest) else {
        return Err(BadSnapshot("it does not begin with the magic number".into()));
    };
    if !(WITHOUT_NONCES..=VERSION).contains(version) {
        return Err(BadSnapshot(format!("its format version is {version}, and this software reads up to {VERSION}")));
    }
    if crc32c::crc32c(body).to_le_bytes() != *checksum {
        return Err(BadSnapshot("it does not match its checksum".into()));
    }
    Ok((*version, rest))
}

fn decode_body<'a>(version: u8, reader: &mut Reader<'a>) -> Result<Decoded<'a>, Malformed> {
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
    Ok(Decoded { next, sessions, replies, service: reader.rest() })
}

fn decode_remembered(version: u8, reader: &mut Reader<'_>, last: u64, next: Instance) -> Result<Remembered, Malformed> {
    let wrong = Malformed::value_at(reader.offset());
    let active = reader.number()?;
    let nonce = if version == WITHOUT_NONCES { None } else { decode_nonce(reader)? };
    let count = reader.number()?;
    if active >= next || count > last.min(SESSION_WINDOW) {
        return Err(wrong);
    }
    let mut answers = VecDeque::with_capacity(count as usize);
    for _ in 0..count {
        let wrong = Malformed::value_at(reader.offset());
        let at = active.checked_sub(reader.number()?).ok_or(wrong)?;
        let answer = match reader.number()?.checked_sub(1) {
            Some(length) => Answer::Bytes(reader.take(usize::try_from(length).map_err(|_| wrong)?)?.into()),
            None => Answer::TooLarge(reader.number()?),
        };
        answers.push_back((at, answer));
    }
    Ok(Remembered { active, nonce, answers })
}

fn decode_nonce(reader: &mut Reader<'_>) -> Result<Option<u64>, Malformed> {
    let wrong = Malformed::value_at(reader.offset());
    match reader.number()? {
        0 => Ok(None),
        1 => Ok(Some(reader.u64()?)),
        _ => Err(wrong),
    }
}

fn limited(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    let wrong = Malformed::value_at(reader.offset());
    Some(reader.number()?).filter(|number| *number < LIMIT).ok_or(wrong)
}
