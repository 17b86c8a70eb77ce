//! Numbers and byte strings in compact encodings: snapshots, journal records and the requests of the key-value service.
//!
//! Numbers are LEB128, byte strings have their length first. Reading is total: hostile bytes end with [`Malformed`], and nothing is
//! allocated for lengths that the bytes do not have.

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Where the field begins that cannot be read.
    pub(crate) offset: usize,
}

/// Appends a number: 7 bits a byte, the low ones first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a byte string: its length, its bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads fields from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the first byte.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Where it stands.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// What [`put_number`] has put.
    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let start = self.offset;
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.offset).ok_or(Malformed { offset: start })?;
            self.offset += 1;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed { offset: start })
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let array = self.bytes[self.offset..].first_chunk().ok_or(Malformed { offset: self.offset })?;
        self.offset += N;
        Ok(*array)
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.offset..];
        let taken = rest.get(..count).ok_or(Malformed { offset: self.offset })?;
        self.offset += count;
        Ok(taken)
    }

    /// What [`put_bytes`] has put.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let start = self.offset;
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_| Malformed { offset: start })?;
        self.take(length).map_err(|_| Malformed { offset: start })
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.offset..];
        self.offset = self.bytes.len();
        rest
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.left() == 0 { Ok(()) } else { Err(Malformed { offset: self.offset }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_and_bytes_come_back(number: u64, bytes: Vec<u8>) {
            let mut out = Vec::new();
            put_number(&mut out, number);
            put_bytes(&mut out, &bytes);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.bytes(), Ok(&bytes[..]));
            prop_assert_eq!(reader.end(), Ok(()));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            while reader.bytes().is_ok() && reader.left() > 0 {}
            let mut reader = Reader::new(&bytes);
            while reader.number().is_ok() && reader.left() > 0 {}
            prop_assert!(reader.offset() <= bytes.len());
        }
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&most).number(), Ok(u64::MAX));
        let mut more = most;
        more[9] = 0x02;
        assert_eq!(Reader::new(&more).number(), Err(Malformed { offset: 0 }));
        assert_eq!(Reader::new(&[0x80; 11]).number(), Err(Malformed { offset: 0 }));
    }

    #[test]
    fn lengths_that_the_bytes_do_not_have_are_refused() {
        let mut long = Vec::new();
        put_number(&mut long, u64::MAX);
        assert_eq!(Reader::new(&long).bytes(), Err(Malformed { offset: 0 }));
        assert_eq!(Reader::new(&[3, 1, 2]).bytes(), Err(Malformed { offset: 0 }));
    }
}
