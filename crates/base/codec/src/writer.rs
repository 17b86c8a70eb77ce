//! Fields, appended to a buffer.

/// Appends a number in LEB128.
#[inline]
pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a byte string: its length as a number, then its bytes.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends two bytes, little-endian.
#[inline]
pub fn put_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends four bytes, little-endian.
#[inline]
pub fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends eight bytes, little-endian.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a byte string: its length in four bytes, then its bytes.
///
/// # Panics
/// If it has 4 GiB or more: limits of the format keep it below.
#[inline]
pub fn put_bytes32(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, u32::try_from(bytes.len()).expect("limits keep byte strings below 4 GiB"));
    out.extend_from_slice(bytes);
}
