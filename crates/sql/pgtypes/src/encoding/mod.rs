//! Character encodings of clients and of byte strings, as PostgreSQL 15 names and converts them. Texts are UTF-8 everywhere else.
//!
//! [`Encoding`] and its names are here, the lengths of characters in `length.rs`, the conversions of a single encoding in `table.rs`
//! over the files in `tables`, conversions of texts and their errors in `convert.rs`.

mod convert;
mod length;
mod table;
#[cfg(test)]
mod tests;

pub use convert::{Decoder, convert, utf8};

use crate::error::{Error, Result, state};

macro_rules! encodings {
    ($($(#[$default:meta])? $variant:ident $name:literal $longest:literal,)*) => {
        /// A character encoding. Its number is PostgreSQL's.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum Encoding {
            $($(#[$default])? $variant,)*
        }

        /// By number: the encoding, its name, and the bytes of its longest character.
        static ENCODINGS: &[(Encoding, &str, i32)] = &[$((Encoding::$variant, $name, $longest),)*];
    };
}

encodings! {
    SqlAscii "SQL_ASCII" 1,
    EucJp "EUC_JP" 3,
    EucCn "EUC_CN" 3,
    EucKr "EUC_KR" 3,
    EucTw "EUC_TW" 4,
    EucJis2004 "EUC_JIS_2004" 3,
    #[default]
    Utf8 "UTF8" 4,
    MuleInternal "MULE_INTERNAL" 4,
    Latin1 "LATIN1" 1,
    Latin2 "LATIN2" 1,
    Latin3 "LATIN3" 1,
    Latin4 "LATIN4" 1,
    Latin5 "LATIN5" 1,
    Latin6 "LATIN6" 1,
    Latin7 "LATIN7" 1,
    Latin8 "LATIN8" 1,
    Latin9 "LATIN9" 1,
    Latin10 "LATIN10" 1,
    Win1256 "WIN1256" 1,
    Win1258 "WIN1258" 1,
    Win866 "WIN866" 1,
    Win874 "WIN874" 1,
    Koi8R "KOI8R" 1,
    Win1251 "WIN1251" 1,
    Win1252 "WIN1252" 1,
    Iso88595 "ISO_8859_5" 1,
    Iso88596 "ISO_8859_6" 1,
    Iso88597 "ISO_8859_7" 1,
    Iso88598 "ISO_8859_8" 1,
    Win1250 "WIN1250" 1,
    Win1253 "WIN1253" 1,
    Win1254 "WIN1254" 1,
    Win1255 "WIN1255" 1,
    Win1257 "WIN1257" 1,
    Koi8U "KOI8U" 1,
    Sjis "SJIS" 2,
    Big5 "BIG5" 2,
    Gbk "GBK" 2,
    Uhc "UHC" 2,
    Gb18030 "GB18030" 4,
    Johab "JOHAB" 3,
    ShiftJis2004 "SHIFT_JIS_2004" 2,
}

/// Other names, in lower case without punctuation.
static ALIASES: &[(&str, Encoding)] = &[
    ("abc", Encoding::Win1258),
    ("alt", Encoding::Win866),
    ("iso88591", Encoding::Latin1),
    ("iso885910", Encoding::Latin6),
    ("iso885913", Encoding::Latin7),
    ("iso885914", Encoding::Latin8),
    ("iso885915", Encoding::Latin9),
    ("iso885916", Encoding::Latin10),
    ("iso88592", Encoding::Latin2),
    ("iso88593", Encoding::Latin3),
    ("iso88594", Encoding::Latin4),
    ("iso88599", Encoding::Latin5),
    ("koi8", Encoding::Koi8R),
    ("mskanji", Encoding::Sjis),
    ("shiftjis", Encoding::Sjis),
    ("tcvn", Encoding::Win1258),
    ("tcvn5712", Encoding::Win1258),
    ("unicode", Encoding::Utf8),
    ("vscii", Encoding::Win1258),
    ("win", Encoding::Win1251),
    ("win932", Encoding::Sjis),
    ("win936", Encoding::Gbk),
    ("win949", Encoding::Uhc),
    ("win950", Encoding::Big5),
];

/// Longest name that is looked up, as an identifier.
const LONGEST_NAME: usize = 63;

impl Encoding {
    /// Returns the encoding of this name: in any case, with any punctuation, or by another of its names.
    pub fn named(name: &str) -> Option<Encoding> {
        if name.len() > LONGEST_NAME {
            return None;
        }
        let plain = plain(name);
        let own = |name: &str| ENCODINGS.iter().find(|(_, known, _)| self::plain(known) == name).map(|found| found.0);
        // Each code page of Windows has a longer name, too.
        let page = plain.strip_prefix("windows").filter(|page| !page.is_empty());
        let short = || page.and_then(|page| Encoding::named(&format!("win{page}")));
        let alias = || ALIASES.iter().find(|(alias, _)| *alias == plain).map(|found| found.1);
        own(&plain).or_else(alias).or_else(short)
    }

    /// Returns the encoding of a number of PostgreSQL's.
    pub fn from_number(number: i32) -> Option<Encoding> {
        usize::try_from(number).ok().and_then(|number| ENCODINGS.get(number)).map(|found| found.0)
    }

    /// PostgreSQL's number.
    pub fn number(self) -> i32 {
        i32::from(self as u8)
    }

    /// Its name, as SHOW prints it.
    pub fn name(self) -> &'static str {
        ENCODINGS[usize::from(self as u8)].1
    }

    /// Bytes of its longest character, as PostgreSQL counts them.
    pub fn longest_character(self) -> i32 {
        ENCODINGS[usize::from(self as u8)].2
    }

    /// Returns whether texts are sent and received as they are. SQL_ASCII means no conversion, and the database's texts are UTF-8.
    pub fn is_utf8(self) -> bool {
        matches!(self, Encoding::Utf8 | Encoding::SqlAscii)
    }

    /// Bytes of UTF-8 that a byte may become, at most: a character of three bytes, or half of one of two.
    pub fn growth(self) -> usize {
        if self.is_utf8() { 1 } else { 3 }
    }

    /// Returns the value of `client_encoding` of this name; `None`: there is no such encoding.
    ///
    /// # Errors
    /// 0A000 for an encoding that does not convert to UTF-8.
    pub fn of_client(name: &str) -> Result<Option<Encoding>> {
        match Encoding::named(name) {
            Some(encoding @ Encoding::MuleInternal) => {
                let message = format!("invalid value for parameter \"client_encoding\": \"{name}\"");
                Err(Error::new(state::FEATURE_NOT_SUPPORTED, message)
                    .detail(format!("Conversion between {} and UTF8 is not supported.", encoding.name()))
                    .hint("Use UTF8."))
            }
            found => Ok(found),
        }
    }
}

/// The letters and digits of a name, in lower case.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
