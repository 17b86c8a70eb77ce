//! The value of a node's key: payloads of one life, in the order of their submission.
//!
//! ```text
//!   format (1 byte), life, number of the first payload, number of payloads, then each payload with its length before it
//! ```
//! Numbers have a variable length, except the format.

use bytes::Bytes;
use codec::{Malformed, Reader, put_bytes, put_number};

const FORMAT: u8 = 1;
/// Greatest length of what stands before the payloads.
pub const HEADER_BYTES: usize = 1 + 3 * 10;

/// A batch that was ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub life: u64,
    /// Number of the first payload.
    pub first: u64,
    pub payloads: Vec<Bytes>,
}

/// Returns the value for these payloads.
pub fn encode<'p>(life: u64, first: u64, payloads: impl ExactSizeIterator<Item = &'p Bytes> + Clone) -> Bytes {
    let bytes: usize = payloads.clone().map(|payload| payload.len() + 10).sum();
    let mut value = Vec::with_capacity(HEADER_BYTES + bytes);
    value.push(FORMAT);
    put_number(&mut value, life);
    put_number(&mut value, first);
    put_number(&mut value, payloads.len() as u64);
    payloads.for_each(|payload| put_bytes(&mut value, payload));
    value.into()
}

/// Reads a value. The payloads are slices of it.
///
/// # Errors
/// It is no batch of this format.
pub fn decode(value: &Bytes) -> Result<Batch, Malformed> {
    let mut reader = Reader::new(value);
    if reader.u8()? != FORMAT {
        return Err(Malformed::value_at(0));
    }
    let (life, first) = (reader.number()?, reader.number()?);
    let mut payloads = Vec::new();
    for _ in 0..reader.number()? {
        payloads.push(value.slice_ref(reader.bytes()?));
    }
    reader.end()?;
    if payloads.is_empty() || u32::try_from(payloads.len()).is_err() {
        return Err(Malformed::value_at(value.len()));
    }
    Ok(Batch { life, first, payloads })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_comes_back_and_a_part_of_it_does_not() {
        let payloads: Vec<Bytes> = [&b"one"[..], b"2", &[0; 300]].map(Bytes::copy_from_slice).into();
        let value = encode(u64::MAX, 1 << 40, payloads.iter());
        assert!(value.len() <= HEADER_BYTES + 300 + 3 * 10 + 4);
        assert_eq!(decode(&value), Ok(Batch { life: u64::MAX, first: 1 << 40, payloads }));
        for cut in 0..value.len() {
            assert!(decode(&value.slice(..cut)).is_err(), "cut at {cut}");
        }
        assert!(decode(&encode(1, 0, [].iter())).is_err(), "a batch has a payload");
        let mut other = value.to_vec();
        other[0] = 2;
        assert!(decode(&other.into()).is_err(), "another format");
    }
}
