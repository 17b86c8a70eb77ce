//! The bytes of a record: a tag, its numbers (LEB128), and what is left is its value or image. Checksums are the log's.
//!
//! An image in a file ([`crate::image`]) is not in the record: after the instance stand the number of the file, its length and its
//! checksum.

use crate::core::generated::Decision;
use crate::core::{Image, Instance, Record, Value};
use crate::image::FileName;
use codec::{Malformed, Reader, put_bytes, put_number};
use std::io;

const BALLOT: u8 = 1;
const VOTE: u8 = 2;
const DECIDED: u8 = 3;
const LEARNED: u8 = 4;
const SNAPSHOT: u8 = 5;
const INSTALL: u8 = 6;
const TRUNCATE: u8 = 7;
const SNAPSHOT_FILE: u8 = 8;
const INSTALL_FILE: u8 = 9;

/// A record as its bytes have it.
#[derive(Debug)]
pub(super) enum Decoded {
    Whole(Record),
    /// A snapshot in a file.
    Snapshot(Instance, FileName),
    /// The installation of one.
    Install(Instance, FileName),
}

/// # Errors
/// An image cannot be read.
pub(super) fn encode(record: &Record, out: &mut Vec<u8>) -> io::Result<()> {
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
        Record::Snapshot(at, image) => return put_image(out, [SNAPSHOT, SNAPSHOT_FILE], *at, image),
        Record::Install(at, image) => return put_image(out, [INSTALL, INSTALL_FILE], *at, image),
        Record::Truncate(at) => put(out, TRUNCATE, &[*at], &[]),
    }
    Ok(())
}

/// The tags are those of an image in the record, and in a file.
fn put_image(out: &mut Vec<u8>, [whole, named]: [u8; 2], at: Instance, image: &Image) -> io::Result<()> {
    match image.file() {
        Some(FileName { number, length, checksum }) => {
            put(out, named, &[at, number, length, u64::from(checksum)], &[]);
        }
        None => {
            put(out, whole, &[at], &[]);
            io::copy(&mut image.reader(), out)?;
        }
    }
    Ok(())
}

fn put(out: &mut Vec<u8>, tag: u8, numbers: &[u64], rest: &[u8]) {
    out.push(tag);
    numbers.iter().for_each(|number| put_number(out, *number));
    out.extend_from_slice(rest);
}

pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, Malformed> {
    let mut reader = Reader::new(bytes);
    let record = match reader.u8()? {
        SNAPSHOT_FILE => return Ok(Decoded::Snapshot(reader.number()?, file_name(&mut reader)?)),
        INSTALL_FILE => return Ok(Decoded::Install(reader.number()?, file_name(&mut reader)?)),
        BALLOT => Record::Ballot(reader.number()?),
        VOTE => Record::Vote(reader.number()?, reader.number()?, Value::copy_from_slice(reader.rest())),
        DECIDED => Record::Decided(reader.number()?, reader.number()?),
        LEARNED => Record::Learned(decisions(&mut reader)?),
        SNAPSHOT => Record::Snapshot(reader.number()?, Image::from(reader.rest())),
        INSTALL => Record::Install(reader.number()?, Image::from(reader.rest())),
        TRUNCATE => Record::Truncate(reader.number()?),
        _ => return Err(Malformed::value_at(0)),
    };
    reader.end()?;
    Ok(Decoded::Whole(record))
}

fn file_name(reader: &mut Reader<'_>) -> Result<FileName, Malformed> {
    let (number, length, offset) = (reader.number()?, reader.number()?, reader.offset());
    let checksum = u32::try_from(reader.number()?).map_err(|_| Malformed::value_at(offset))?;
    reader.end()?;
    Ok(FileName { number, length, checksum })
}

fn decisions(reader: &mut Reader<'_>) -> Result<Vec<Decision>, Malformed> {
    let count = reader.number()?;
    // Not collected with a capacity: the count is what the bytes say, not what they have.
    (0..count)
        .map(|_| Ok(Decision { instance: reader.number()?, value: Value::copy_from_slice(reader.bytes()?) }))
        .collect()
}
