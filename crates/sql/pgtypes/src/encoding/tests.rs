use super::*;
use md5::{Digest, Md5};
use proptest::prelude::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Digests of what PostgreSQL 15 reads and writes: of `BYTES RESULT` for each byte string of [`candidates`], the result in hexadecimal
/// digits of UTF-8 or the SQLSTATE behind `!`; and of `CHARACTER BYTES` for each character that the encoding has.
const DIGESTS: &str = include_str!("digests.txt");

/// One high byte; two, for encodings of several bytes; three and four where they have a form of their own.
fn candidates(encoding: Encoding) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = (0x80..=0xff).map(|byte| vec![byte]).collect();
    if encoding.longest_character() == 1 {
        return found;
    }
    found.extend((0x80..=0xff).flat_map(|first| (1..=0xff).map(move |second| vec![first, second])));
    let pairs = || (0xa1..=0xff).flat_map(|first| (0xa1..=0xff).map(move |second| [first, second]));
    match encoding {
        Encoding::EucJp | Encoding::EucJis2004 | Encoding::Johab => {
            found.extend(pairs().map(|pair| [&[0x8f][..], &pair].concat()));
        }
        Encoding::EucTw => {
            found.extend((0xa1..=0xb4).flat_map(|plane| pairs().map(move |pair| [&[0x8e, plane][..], &pair].concat())));
        }
        _ => {}
    }
    found
}

fn read(encoding: Encoding) -> String {
    let mut digest = Md5::new();
    for bytes in candidates(encoding) {
        let result = match encoding.decode(&bytes) {
            Ok(text) => hex(text.as_bytes()),
            Err(error) => format!("!{}", error.code()),
        };
        digest.update(format!("{} {result}\n", hex(&bytes)));
    }
    hex(&digest.finalize())
}

fn written(encoding: Encoding) -> String {
    let mut digest = Md5::new();
    let (table, mut text) = (encoding.table(), [0; 4]);
    // GB18030 alone has characters beyond the second plane: of the others some are tried.
    let (end, step) = if encoding == Encoding::Gb18030 { (0x11_0000, 1) } else { (0x3_0000, 1 << 12) };
    for character in (0x80..end).chain((end..0x11_0000).step_by(step)).filter_map(char::from_u32) {
        let text = &*character.encode_utf8(&mut text);
        // An error is made only for a few.
        if table.code(text).is_some() || u32::from(character).is_multiple_of(1 << 12) {
            match encoding.encode(text) {
                Ok(bytes) => digest.update(format!("{:x} {}\n", u32::from(character), hex(&bytes))),
                Err(error) => assert_eq!(error.code(), "22P05"),
            }
        }
    }
    hex(&digest.finalize())
}

#[test]
fn every_character_is_converted_as_postgresql_does() {
    let mut compared = 0;
    for line in DIGESTS.lines() {
        let [name, reads, writes] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let encoding = Encoding::named(name).unwrap();
        assert_eq!((read(encoding).as_str(), written(encoding).as_str()), (reads, writes), "{name}");
        compared += 1;
    }
    assert_eq!(compared, ENCODINGS.len() - 3, "all but SQL_ASCII, UTF8 and MULE_INTERNAL");
}

/// GB18030 has all of Unicode.
#[test]
fn gb18030_returns_every_character() {
    for character in '\u{80}'..=char::MAX {
        let text = character.to_string();
        let bytes = Encoding::Gb18030.encode(&text).unwrap();
        assert_eq!(Encoding::Gb18030.decode(&bytes).unwrap(), text);
    }
    assert_eq!(Encoding::Gb18030.decode(b"\xe3\x32\x9a\x36").unwrap_err().code(), "22P05", "behind the last one");
}

#[test]
fn names_are_read_as_postgresql_reads_them() {
    for (name, number) in [
        ("Latin-1", 8),
        ("ISO 8859-1", 8),
        ("iso88595", 25),
        ("iso885911", -1),
        ("\"utf-8\"", 6),
        ("utf8é", 6),
        ("unicode", 6),
        ("windows1252", 24),
        ("windows932", 35),
        ("windows949", 38),
        ("windows866", 20),
        ("win", 23),
        ("windows", -1),
        ("mskanji", 35),
        ("shift_jis_2004", 41),
        ("tcvn", 19),
        ("abc", 19),
        ("alt", 20),
        ("mswin1252", -1),
        ("cp1252", -1),
        ("", -1),
        ("é", -1),
    ] {
        assert_eq!(Encoding::named(name).map_or(-1, Encoding::number), number, "{name}");
    }
    for (number, (encoding, name, _)) in (0..).zip(ENCODINGS) {
        assert_eq!((encoding.number(), Encoding::named(name)), (number, Some(*encoding)));
        assert_eq!(Encoding::from_number(number), Some(*encoding));
    }
    assert_eq!((Encoding::from_number(-1), Encoding::from_number(42)), (None, None));
    assert_eq!(Encoding::of_client("mule_internal").unwrap_err().code(), "0A000");
}

#[test]
fn faults_show_the_bytes() {
    let read = |encoding: Encoding, bytes: &[u8]| encoding.decode(bytes).unwrap_err().to_string();
    let invalid = |name: &str, bytes: &str| format!("invalid byte sequence for encoding \"{name}\": {bytes} (22021)");
    assert_eq!(read(Encoding::Utf8, b"a\xe2\x82b"), invalid("UTF8", "0xe2 0x82 0x62"));
    assert_eq!(read(Encoding::SqlAscii, b"a\xff"), invalid("UTF8", "0xff"));
    assert_eq!(read(Encoding::Utf8, b"a\0\xff"), invalid("UTF8", "0x00"));
    assert_eq!(read(Encoding::Latin1, b"a\0"), invalid("LATIN1", "0x00"));
    assert_eq!(read(Encoding::EucJp, b"\xa4\xa2\x8f\xa2"), invalid("EUC_JP", "0x8f 0xa2"));
    assert_eq!(read(Encoding::Gb18030, b"\x81\x30\x81"), invalid("GB18030", "0x81 0x30 0x81"));
    let lacks = |bytes: &str, from: &str, to: &str| {
        format!(
            "character with byte sequence {bytes} in encoding \"{from}\" has no equivalent in encoding \"{to}\" (22P05)"
        )
    };
    assert_eq!(read(Encoding::Win1252, b"\x80\x81"), lacks("0x81", "WIN1252", "UTF8"));
    let euro = Encoding::Latin1.encode("5 €").unwrap_err().to_string();
    assert_eq!(euro, lacks("0xe2 0x82 0xac", "UTF8", "LATIN1"));
    assert_eq!(*Encoding::Latin1.encode_lossy("é€ß€"), *b"\xe9?\xdf?");
    assert_eq!(Encoding::EucJp.count_characters(b"a\xa4\xa2\x8f\xa2\xaf").unwrap(), 3);
    assert_eq!(Encoding::Utf8.count_characters("aé€😀".as_bytes()).unwrap(), 4);
    assert_eq!(Encoding::SqlAscii.count_characters(b"\xe9\xe9").unwrap(), 2);
    assert_eq!(Encoding::MuleInternal.count_characters(b"a\x81\xe9\x92\xa4\xa2").unwrap(), 3);
    assert_eq!(Encoding::MuleInternal.count_characters(b"\x81e").unwrap_err().code(), "22021");
}

/// A code of two characters, and its first one alone.
#[test]
fn two_characters_may_be_one_code() {
    for encoding in [Encoding::EucJis2004, Encoding::ShiftJis2004] {
        for text in ["か\u{309a}", "か", "かa", "かか\u{309a}か", "æ\u{300}æ"] {
            let bytes = encoding.encode(text).unwrap();
            assert_eq!(encoding.decode(&bytes).unwrap(), text, "{encoding:?} {}", hex(&bytes));
        }
        assert_eq!(encoding.encode("か\u{309a}").unwrap().len(), 2);
    }
}

#[test]
fn texts_of_ascii_and_utf8_are_not_copied() {
    assert!(matches!(Encoding::Utf8.decode("é".as_bytes()), Ok(std::borrow::Cow::Borrowed("é"))));
    assert!(matches!(Encoding::SqlAscii.encode("é"), Ok(std::borrow::Cow::Borrowed(_))));
    assert!(matches!(Encoding::Sjis.decode(b"a\\"), Ok(std::borrow::Cow::Borrowed("a\\"))));
    assert!(matches!(Encoding::Latin9.encode("a"), Ok(std::borrow::Cow::Borrowed(b"a"))));
}

#[test]
fn pieces_may_end_within_characters() {
    let text = "aあ€😀한x\u{e5e5}".repeat(3);
    let bytes = Encoding::Gb18030.encode(&text).unwrap();
    for size in 1..7 {
        let (mut decoder, mut found) = (Decoder::new(Encoding::Gb18030), String::new());
        for piece in bytes.chunks(size) {
            let (read, fault) = decoder.read(piece);
            found.push_str(read);
            assert!(fault.is_none());
        }
        decoder.finish().unwrap();
        assert_eq!(found, text, "in pieces of {size}");
    }
    let mut decoder = Decoder::new(Encoding::EucKr);
    let (read, fault) = decoder.read(b"ab\xb0\xa1\xff\xffcd");
    assert_eq!((read, fault.unwrap().code()), ("ab가", "22021"));
    let mut decoder = Decoder::new(Encoding::EucKr);
    assert!(decoder.read(b"ab\xb0").1.is_none());
    assert_eq!(decoder.finish().unwrap_err().code(), "22021");
}

#[test]
fn byte_strings_are_converted() {
    let convert = |bytes: &[u8], from: &str, to: &str| {
        let converted = convert(bytes, Encoding::named(from).unwrap(), Encoding::named(to).unwrap());
        converted.map(|bytes| hex(&bytes)).map_err(|error| error.code())
    };
    assert_eq!(convert("é".as_bytes(), "UTF8", "LATIN1").as_deref(), Ok("e9"));
    assert_eq!(convert(b"\xe9", "LATIN1", "UTF8").as_deref(), Ok("c3a9"));
    assert_eq!(convert(b"\xe9", "LATIN1", "LATIN1").as_deref(), Ok("e9"));
    assert_eq!(convert(b"\xe9", "UTF8", "SQL_ASCII"), Err("22021"));
    assert_eq!(convert(b"\xe9", "LATIN1", "LATIN2"), Err("42883"));
    assert_eq!(convert(b"\xe9", "KOI8R", "WIN1251"), Err("0A000"));
    assert_eq!(convert(b"a", "MULE_INTERNAL", "UTF8"), Err("42883"));
}

proptest! {
    /// Any bytes are a text or an error, read at once or in pieces; and a text that can be written and read again comes back.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40), number in 0..42, size in 1_usize..9) {
        let encoding = Encoding::from_number(number).unwrap();
        let read = encoding.decode(&bytes);
        if let Ok(text) = &read
            && let Ok(written) = encoding.encode(text)
            && let Ok(back) = encoding.decode(&written)
        {
            prop_assert_eq!(&back, text);
        }
        if !encoding.is_utf8() {
            let (mut decoder, mut found) = (Decoder::new(encoding), String::new());
            let faults = bytes.chunks(size).find_map(|piece| {
                let (text, fault) = decoder.read(piece);
                found.push_str(text);
                fault
            });
            let ended = faults.map_or_else(|| decoder.finish(), Err);
            let codes = |result: Result<String>| result.map_err(|error| error.code());
            prop_assert_eq!(codes(ended.map(|()| found)), codes(read.map(|text| text.into_owned())));
        }
    }
}
