//! Footprints as bytes: an input log holds those that do not follow from the arguments.

use super::footprint::{Footprint, FootprintEntry, FootprintRange, Touch};
use crate::{Decoder, Key, Malformed, TableId};
use codec::{put_bytes32, put_u32};
use std::ops::Bound;

const UNBOUNDED: u8 = 0;
const INCLUDED: u8 = 1;
const EXCLUDED: u8 = 2;

impl Touch {
    fn to_byte(self) -> u8 {
        match self {
            Touch::Read => 0,
            Touch::Insert => 1,
            Touch::Update => 2,
            Touch::Delete => 3,
            Touch::Overwrite => 4,
            Touch::Any => 5,
        }
    }

    fn from_byte(byte: u8) -> Result<Touch, Malformed> {
        let all = [Touch::Read, Touch::Insert, Touch::Update, Touch::Delete, Touch::Overwrite, Touch::Any];
        all.into_iter().find(|touch| touch.to_byte() == byte).ok_or(Malformed)
    }
}

impl Footprint {
    /// Appends its keys and ranges.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u32(out, self.keys().len() as u32);
        for FootprintEntry { table, key, touch } in self.keys() {
            put_u32(out, table.0);
            put_bytes32(out, key);
            out.push(touch.to_byte());
        }
        put_u32(out, self.ranges().len() as u32);
        for FootprintRange { table, lower, upper } in self.ranges() {
            put_u32(out, table.0);
            encode_bound(lower, out);
            encode_bound(upper, out);
        }
    }

    /// Reads what [`Footprint::encode`] wrote.
    ///
    /// # Errors
    /// [`Malformed`] if it did not.
    pub fn decode(from: &mut Decoder<'_>) -> Result<Footprint, Malformed> {
        let entry = |from: &mut Decoder<'_>| -> Result<FootprintEntry, Malformed> {
            let (table, key) = (TableId(from.u32()?), Key::from_bytes(from.bytes32()?));
            Ok(FootprintEntry { table, key, touch: Touch::from_byte(from.u8()?)? })
        };
        let keys = (0..from.u32()?).map(|_| entry(from)).collect::<Result<Footprint, Malformed>>()?;
        (0..from.u32()?).try_fold(keys, |footprint, _| {
            let table = TableId(from.u32()?);
            Ok(footprint.reads_range(table, decode_bound(from)?, decode_bound(from)?))
        })
    }
}

/// Appends a bound of a range.
pub fn encode_bound(bound: &Bound<Key>, out: &mut Vec<u8>) {
    match bound {
        Bound::Unbounded => out.push(UNBOUNDED),
        Bound::Included(key) | Bound::Excluded(key) => {
            out.push(if matches!(bound, Bound::Included(_)) { INCLUDED } else { EXCLUDED });
            put_bytes32(out, key);
        }
    }
}

/// Reads what [`encode_bound`] wrote.
///
/// # Errors
/// [`Malformed`] if it did not.
pub fn decode_bound(from: &mut Decoder<'_>) -> Result<Bound<Key>, Malformed> {
    let kind = from.u8()?;
    match kind {
        UNBOUNDED => Ok(Bound::Unbounded),
        INCLUDED => Ok(Bound::Included(Key::from_bytes(from.bytes32()?))),
        EXCLUDED => Ok(Bound::Excluded(Key::from_bytes(from.bytes32()?))),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Footprint {
        let table = TableId(7);
        let all = [Touch::Read, Touch::Insert, Touch::Update, Touch::Delete, Touch::Overwrite, Touch::Any];
        let keys = (0..)
            .zip(all)
            .fold(Footprint::default(), |footprint, (n, touch)| footprint.touches(table, Key::from_u64(n), touch));
        let key = Key::from_u64;
        keys.reads_range(table, Bound::Unbounded, Bound::Included(key(9))).reads_range(
            TableId(8),
            Bound::Excluded(key(1)),
            Bound::Unbounded,
        )
    }

    #[test]
    fn what_was_written_is_read() {
        for footprint in [Footprint::default(), sample()] {
            let mut bytes = Vec::new();
            footprint.encode(&mut bytes);
            let mut from = Decoder::new(&bytes);
            assert_eq!(Footprint::decode(&mut from), Ok(footprint));
            assert_eq!(from.end(), Ok(()));
        }
    }

    /// Logs hold these bytes.
    #[test]
    fn bytes_stay_as_they_are() {
        let mut bytes = Vec::new();
        let footprint = Footprint::default().touches(TableId(3), Key::from_bytes(b"k"), Touch::Update);
        footprint.reads_range(TableId(4), Bound::Excluded(Key::from_bytes(b"l")), Bound::Unbounded).encode(&mut bytes);
        assert_eq!(bytes, b"\x01\0\0\0\x03\0\0\0\x01\0\0\0k\x02\x01\0\0\0\x04\0\0\0\x02\x01\0\0\0l\0");
    }

    #[test]
    fn every_truncation_is_malformed() {
        let mut bytes = Vec::new();
        sample().encode(&mut bytes);
        for end in 0..bytes.len() {
            assert!(Footprint::decode(&mut Decoder::new(&bytes[..end])).is_err(), "{end}");
        }
        bytes[4 + 4 + 4 + 8] = 9;
        assert!(Footprint::decode(&mut Decoder::new(&bytes)).is_err(), "an unknown touch");
    }
}
