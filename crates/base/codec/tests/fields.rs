//! What was written is read again, and hostile bytes are refused by offset and reason.

use codec::{Malformed, Reader, Reason, put_bytes, put_bytes32, put_number, put_u16, put_u32, put_u64, u32_at, u64_at};
use proptest::prelude::*;
use seriatim_codec as codec;

fn malformed(offset: usize, reason: Reason) -> Malformed {
    Malformed { offset, reason }
}

fn number(bytes: &[u8]) -> Result<u64, Malformed> {
    Reader::new(bytes).number()
}

/// One call of the reader, by number.
fn read(reader: &mut Reader<'_>, field: u8) -> Result<(), Malformed> {
    match field % 9 {
        0 => reader.number().map(drop),
        1 => reader.bytes().map(drop),
        2 => reader.u8().map(drop),
        3 => reader.u16().map(drop),
        4 => reader.u32().map(drop),
        5 => reader.u64().map(drop),
        6 => reader.bytes32().map(drop),
        7 => reader.text32().map(drop),
        _ => reader.array::<3>().map(drop),
    }
}

proptest! {
    #[test]
    fn fields_come_back(n: u64, short: u16, word: u32, long: u64, bytes: Vec<u8>, text: String) {
        let mut out = Vec::new();
        put_number(&mut out, n);
        put_bytes(&mut out, &bytes);
        put_u16(&mut out, short);
        put_u32(&mut out, word);
        put_u64(&mut out, long);
        put_bytes32(&mut out, text.as_bytes());
        out.push(7);
        let mut reader = Reader::new(&out);
        prop_assert_eq!(reader.number(), Ok(n));
        prop_assert_eq!(reader.bytes(), Ok(&bytes[..]));
        prop_assert_eq!((reader.u16(), reader.u32(), reader.u64()), (Ok(short), Ok(word), Ok(long)));
        prop_assert_eq!(reader.text32(), Ok(&text[..]));
        prop_assert_eq!((reader.u8(), reader.end(), reader.left()), (Ok(7), Ok(()), 0));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, fields: Vec<u8>) {
        let mut reader = Reader::new(&bytes);
        for field in fields {
            let before = reader.offset();
            match read(&mut reader, field) {
                Ok(()) => prop_assert!(reader.offset() > before),
                Err(bad) => prop_assert_eq!((bad.offset, reader.offset()), (before, before), "an error reads nothing"),
            }
            prop_assert!(reader.offset() + reader.left() == bytes.len());
        }
    }

    #[test]
    fn a_number_has_one_encoding(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        let mut reader = Reader::new(&bytes);
        if let Ok(number) = reader.number() {
            let mut again = Vec::new();
            put_number(&mut again, number);
            prop_assert_eq!(&again[..], &bytes[..reader.offset()]);
        }
    }

    #[test]
    fn whatever_is_cut_off_is_refused(n: u64, bytes in prop::collection::vec(any::<u8>(), 1..40), cut: prop::sample::Index) {
        let mut long = Vec::new();
        put_number(&mut long, n);
        prop_assert_eq!(number(&long[..cut.index(long.len())]), Err(malformed(0, Reason::CutOff)));
        let mut out = Vec::new();
        put_bytes(&mut out, &bytes);
        let read = Reader::new(&out[..cut.index(out.len())]).bytes().map(<[u8]>::len);
        prop_assert_eq!(read, Err(malformed(0, Reason::CutOff)));
        out.clear();
        put_bytes32(&mut out, &bytes);
        let read = Reader::new(&out[..cut.index(out.len())]).bytes32().map(<[u8]>::len);
        prop_assert_eq!(read, Err(malformed(0, Reason::CutOff)));
    }
}

#[test]
fn numbers_beyond_64_bits_are_refused() {
    let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    assert_eq!(number(&most), Ok(u64::MAX));
    let mut more = most;
    more[9] = 0x02;
    assert_eq!(number(&more), Err(malformed(0, Reason::Number)));
    assert_eq!(number(&[0x80; 11]), Err(malformed(0, Reason::Number)));
    assert_eq!(number(&[0x80; 9]), Err(malformed(0, Reason::CutOff)));
}

#[test]
fn numbers_in_more_bytes_than_they_need_are_refused() {
    assert_eq!(number(&[0]), Ok(0));
    for long in [&[0x80, 0][..], &[0x81, 0], &[0xff, 0x80, 0]] {
        assert_eq!(number(long), Err(malformed(0, Reason::Number)), "{long:?}");
    }
}

#[test]
fn lengths_that_the_bytes_do_not_have_are_refused() {
    let mut long = vec![9];
    put_number(&mut long, u64::MAX);
    let mut reader = Reader::new(&long);
    assert_eq!(reader.u8(), Ok(9));
    assert_eq!(reader.bytes(), Err(malformed(1, Reason::CutOff)));
    assert_eq!(Reader::new(&[3, 1, 2]).bytes(), Err(malformed(0, Reason::CutOff)));
    assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 1]).bytes32(), Err(malformed(0, Reason::CutOff)));
}

#[test]
fn texts_are_utf_8() {
    assert_eq!(Reader::new(&[2, 0, 0, 0, 0xc3, 0xa9]).text32(), Ok("é"));
    assert_eq!(Reader::new(&[1, 0, 0, 0, 0xc3]).text32(), Err(malformed(0, Reason::Text)));
}

#[test]
fn nothing_may_be_left_at_the_end() {
    let mut reader = Reader::new(&[1, 2]);
    assert_eq!((reader.u8(), reader.end()), (Ok(1), Err(malformed(1, Reason::Value))));
    assert_eq!((reader.rest(), reader.end()), (&[2][..], Ok(())));
}

#[test]
fn blocks_of_fixed_layout_are_little_endian() {
    let block = [0, 1, 0, 0, 0, 0, 0, 0, 0, 2];
    assert_eq!((u32_at(&block, 1), u64_at(&block, 2)), (1, 2 << 56));
}
