//! Lengths of characters: what their first bytes announce, and which bytes may stand in them.

use super::Encoding;

/// Single shift 2 and 3 of the extended Unix codes: they announce a character of another set.
const SHIFT_2: u8 = 0x8e;
const SHIFT_3: u8 = 0x8f;

impl Encoding {
    /// Bytes of the first character of `bytes`, by what its first byte announces. `bytes` may be shorter. GB18030 announces it by two
    /// bytes: without the second one, two are announced.
    pub(super) fn announced(self, bytes: &[u8]) -> usize {
        let first = bytes.first().copied().unwrap_or_default();
        if first.is_ascii() {
            return 1;
        }
        match self {
            Encoding::Utf8 => match first {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 1,
            },
            // The first byte is the character's set.
            Encoding::MuleInternal => match first {
                0x81..=0x8d => 2,
                0x90..=0x9b => 3,
                0x9c | 0x9d => 4,
                _ => 1,
            },
            Encoding::EucJp | Encoding::EucKr | Encoding::EucJis2004 | Encoding::Johab => {
                if first == SHIFT_3 {
                    3
                } else {
                    2
                }
            }
            Encoding::EucTw => match first {
                SHIFT_2 => 4,
                SHIFT_3 => 3,
                _ => 2,
            },
            Encoding::Sjis | Encoding::ShiftJis2004 if matches!(first, 0xa1..=0xdf) => 1,
            Encoding::Gb18030 if matches!(bytes.get(1), Some(b'0'..=b'9')) => 4,
            Encoding::EucCn
            | Encoding::Big5
            | Encoding::Gbk
            | Encoding::Uhc
            | Encoding::Gb18030
            | Encoding::Sjis
            | Encoding::ShiftJis2004 => 2,
            _ => 1,
        }
    }

    /// The first character of `bytes`, which are not empty, if it is one by its form.
    pub(super) fn first_character(self, bytes: &[u8]) -> Option<&[u8]> {
        let character = bytes.get(..self.announced(bytes))?;
        let is_euc = |byte: &u8| matches!(byte, 0xa1..=0xfe);
        let is_one = match (self, character) {
            (_, [byte]) => *byte != 0,
            (Encoding::EucJp | Encoding::EucJis2004, [SHIFT_2, kana]) => matches!(kana, 0xa1..=0xdf),
            (Encoding::EucJp | Encoding::EucJis2004, [SHIFT_3, rest @ ..]) => rest.iter().all(is_euc),
            (Encoding::EucJp | Encoding::EucJis2004 | Encoding::EucKr | Encoding::EucCn, all) => all.iter().all(is_euc),
            (Encoding::EucTw, [SHIFT_2, plane, rest @ ..]) => matches!(plane, 0xa1..=0xa7) && rest.iter().all(is_euc),
            (Encoding::EucTw, [SHIFT_3, ..]) => false,
            (Encoding::MuleInternal, [_, rest @ ..]) => !rest.iter().any(u8::is_ascii),
            (Encoding::EucTw | Encoding::Johab, [_, rest @ ..]) => rest.iter().all(is_euc),
            (Encoding::Sjis | Encoding::ShiftJis2004, [first, second]) => {
                matches!(first, 0x81..=0x9f | 0xe0..=0xfc) && matches!(second, 0x40..=0x7e | 0x80..=0xfc)
            }
            (Encoding::Gb18030, [first, second]) => {
                matches!(first, 0x81..=0xfe) && matches!(second, 0x40..=0x7e | 0x80..=0xfe)
            }
            (Encoding::Gb18030, [first, _, third, fourth]) => {
                matches!(first, 0x81..=0xfe) && matches!(third, 0x81..=0xfe) && fourth.is_ascii_digit()
            }
            // The pair 0x8d 0x20 is kept free: PostgreSQL makes it of what it cannot escape.
            (_, [0x8d, b' ']) => false,
            (_, [_, rest @ ..]) => !rest.contains(&0),
            (_, []) => false,
        };
        is_one.then_some(character)
    }
}
