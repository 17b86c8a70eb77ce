//! The bytes of a record: a tag, its numbers (LEB128), and what is left is its value or image. Checksums are the log's.

use crate::core::generated::Decision;
use crate::core::{Image, Record, Value};
use codec::{Malformed, Reader, put_bytes, put_number};

const BALLOT: u8 = 1;
const VOTE: u8 = 2;
const DECIDED: u8 = 3;
const LEARNED: u8 = 4;
const SNAPSHOT: u8 = 5;
const INSTALL: u8 = 6;
const TRUNCATE: u8 = 7;

pub(super) fn encode(record: &Record, out: &mut Vec<u8>) {
    match record {
        Record::Ballot(ballot) => put(out, BALLOT, &[*ballot], &[]),
        Record::Vote(ballot, instance, value) => put(out, VOTE, &[*ballot, *instance], value),
        Record::Decided(ballot, instance) => put(out, DECIDED, &[*ballot, *instance], &[]),
        Record::Learned(decisions) => {
            put(out, LEARNED, &[decisions.len() as u64], &[]);
            for decision in decisions {
                put_number(out, decision.instance);
                put_bytes(out, &decision.value);
            }
        }
        Record::Snapshot(at, image) => put(out, SNAPSHOT, &[*at], &image.0),
        Record::Install(at, image) => put(out, INSTALL, &[*at], &image.0),
        Record::Truncate(at) => put(out, TRUNCATE, &[*at], &[]),
    }
}

fn put(out: &mut Vec<u8>, tag: u8, numbers: &[u64], rest: &[u8]) {
    out.push(tag);
    numbers.iter().for_each(|number| put_number(out, *number));
    out.extend_from_slice(rest);
}

pub(super) fn decode(bytes: &[u8]) -> Result<Record, Malformed> {
    let mut reader = Reader::new(bytes);
    let record = match reader.u8()? {
        BALLOT => Record::Ballot(reader.number()?),
        VOTE => Record::Vote(reader.number()?, reader.number()?, Value::copy_from_slice(reader.rest())),
        DECIDED => Record::Decided(reader.number()?, reader.number()?),
        LEARNED => Record::Learned(decisions(&mut reader)?),
        SNAPSHOT => Record::Snapshot(reader.number()?, Image(reader.rest().into())),
        INSTALL => Record::Install(reader.number()?, Image(reader.rest().into())),
        TRUNCATE => Record::Truncate(reader.number()?),
        _ => return Err(Malformed::value_at(0)),
    };
    reader.end()?;
    Ok(record)
}

fn decisions(reader: &mut Reader<'_>) -> Result<Vec<Decision>, Malformed> {
    let count = reader.number()?;
    // Not collected with a capacity: the count is what the bytes say, not what they have.
    (0..count)
        .map(|_| Ok(Decision { instance: reader.number()?, value: Value::copy_from_slice(reader.bytes()?) }))
        .collect()
}
