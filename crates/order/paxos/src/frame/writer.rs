//! Fields of a message, appended to a buffer. What is written here, [`Reader`](super::Reader) reads.

/// A number that counts on: LEB128.
pub(crate) fn number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Any 64 bits.
pub(crate) fn word(word: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// A byte string.
pub(crate) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
