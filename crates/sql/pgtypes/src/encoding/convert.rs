//! Conversions of texts, and their errors in PostgreSQL's words.

use super::Encoding;
use crate::error::{Error, Result, state};
use crate::interrupt::work;
use std::borrow::Cow;

/// Cost of a converted byte, in units of work.
const COST: usize = 8;

/// Bytes between two counts of work.
const PIECE: usize = 64 << 10;

/// Bytes of a character that an error shows.
const SHOWN: usize = 8;

impl Encoding {
    /// Reads bytes of this encoding. Nothing is copied where they are UTF-8 as they are.
    ///
    /// # Errors
    /// 22021 for bytes that are no character, zero among them; 22P05 for a character that Unicode lacks.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>> {
        if self.is_utf8() || bytes.is_ascii() {
            return checked(bytes, self).map(Cow::Borrowed);
        }
        let mut text = String::with_capacity(bytes.len() + bytes.len() / 2);
        let rest = self.decode_prefix(bytes, &mut text)?;
        if rest.is_empty() { Ok(Cow::Owned(text)) } else { Err(self.fault(rest)) }
    }

    /// Writes a text in this encoding. Nothing is copied where its bytes are those of UTF-8.
    ///
    /// # Errors
    /// 22P05 for a character that this encoding lacks.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>> {
        if self.is_utf8() || text.is_ascii() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let mut bytes = Vec::with_capacity(text.len());
        let rest = self.encode_prefix(text, &mut bytes)?;
        match rest.chars().next() {
            None => Ok(Cow::Owned(bytes)),
            Some(character) => Err(untranslatable(character.to_string().as_bytes(), Encoding::Utf8, self)),
        }
    }

    /// Writes a text in this encoding, with `?` for what it lacks.
    pub fn encode_lossy(self, text: &str) -> Cow<'_, [u8]> {
        if self.is_utf8() || text.is_ascii() {
            return Cow::Borrowed(text.as_bytes());
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        // A statement that must stop stops elsewhere: its messages are short.
        while let Ok(after) = self.encode_prefix(rest, &mut bytes)
            && let Some(character) = after.chars().next()
        {
            bytes.push(b'?');
            rest = &after[character.len_utf8()..];
        }
        Cow::Owned(bytes)
    }

    /// Number of characters of bytes of this encoding.
    ///
    /// # Errors
    /// 22021 for bytes that are no character.
    pub fn count_characters(self, bytes: &[u8]) -> Result<usize> {
        let (mut rest, mut count) = (bytes, 0);
        while !rest.is_empty() {
            let character = self.first_verified(rest).ok_or_else(|| self.invalid(rest))?;
            rest = &rest[character..];
            count += 1;
            work(COST)?;
        }
        Ok(count)
    }

    /// Bytes of the first character of `bytes`; `None` if they do not begin with one.
    fn first_verified(self, bytes: &[u8]) -> Option<usize> {
        if self != Encoding::Utf8 {
            return self.first_character(bytes).map(<[u8]>::len);
        }
        let character = bytes.get(..self.announced(bytes)).filter(|character| *character != [0])?;
        std::str::from_utf8(character).is_ok().then_some(character.len())
    }

    /// Appends the characters of `bytes` up to the first that cannot be read, and returns the rest from there.
    fn decode_prefix<'b>(self, bytes: &'b [u8], text: &mut String) -> Result<&'b [u8]> {
        let table = self.table();
        let (mut rest, mut counted) = (bytes, bytes.len());
        while let Some(&first) = rest.first() {
            if counted - rest.len() >= PIECE {
                work((counted - rest.len()) * COST)?;
                counted = rest.len();
            }
            if first.is_ascii() && first != 0 {
                text.push(char::from(first));
                rest = &rest[1..];
                continue;
            }
            let Some(character) = self.first_character(rest) else { return Ok(rest) };
            let code = character.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
            let Some((first, second)) = table.characters(code) else { return Ok(rest) };
            text.push(first);
            text.extend(second);
            rest = &rest[character.len()..];
        }
        Ok(rest)
    }

    /// Appends the codes of `text` up to the first character that has none, and returns the rest from there.
    fn encode_prefix<'t>(self, text: &'t str, bytes: &mut Vec<u8>) -> Result<&'t str> {
        let table = self.table();
        let (mut rest, mut counted) = (text, text.len());
        while let Some(&first) = rest.as_bytes().first() {
            if counted - rest.len() >= PIECE {
                work((counted - rest.len()) * COST)?;
                counted = rest.len();
            }
            if first.is_ascii() {
                bytes.push(first);
                rest = &rest[1..];
                continue;
            }
            let Some((code, length)) = table.code(rest) else { return Ok(rest) };
            let code_bytes = code.to_be_bytes();
            bytes.extend_from_slice(&code_bytes[code.leading_zeros() as usize / 8..]);
            rest = &rest[length..];
        }
        Ok(rest)
    }

    /// The error of bytes that do not begin with a character that can be read.
    fn fault(self, rest: &[u8]) -> Error {
        match self.first_character(rest) {
            Some(character) => untranslatable(character, self, Encoding::Utf8),
            None => self.invalid(rest),
        }
    }

    fn invalid(self, rest: &[u8]) -> Error {
        let shown = &rest[..self.announced(rest).min(rest.len()).min(SHOWN)];
        let message = format!("invalid byte sequence for encoding \"{}\": {}", self.name(), listed(shown));
        Error::new(state::CHARACTER_NOT_IN_REPERTOIRE, message)
    }
}

/// Bytes as UTF-8.
///
/// # Errors
/// 22021 with the first bytes that are no character, zero among them.
pub fn utf8(bytes: &[u8]) -> Result<&str> {
    checked(bytes, Encoding::Utf8)
}

/// The same; errors name `encoding`.
fn checked(bytes: &[u8], encoding: Encoding) -> Result<&str> {
    let named = if encoding == Encoding::SqlAscii { Encoding::Utf8 } else { encoding };
    let text = std::str::from_utf8(bytes);
    let zero = memchr::memchr(0, &bytes[..text.map_or_else(|error| error.valid_up_to(), str::len)]);
    match (zero, text) {
        (Some(zero), _) => Err(named.invalid(&bytes[zero..])),
        (None, Ok(text)) => Ok(text),
        (None, Err(error)) => Err(named.invalid(&bytes[error.valid_up_to()..])),
    }
}

fn untranslatable(character: &[u8], from: Encoding, to: Encoding) -> Error {
    let (from, to) = (from.name(), to.name());
    let message = format!(
        "character with byte sequence {} in encoding \"{from}\" has no equivalent in encoding \"{to}\"",
        listed(character)
    );
    Error::new(state::UNTRANSLATABLE_CHARACTER, message)
}

fn listed(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Converts bytes from an encoding to another, one of which is UTF-8.
///
/// # Errors
/// 22021 and 22P05 as [`Encoding::decode`] and [`Encoding::encode`]; 42883 or 0A000 for two encodings of which none is UTF-8.
pub fn convert(bytes: &[u8], from: Encoding, to: Encoding) -> Result<Cow<'_, [u8]>> {
    // SQL_ASCII is any bytes but zero: from it the others are checked, to it they are.
    if from == to || to == Encoding::SqlAscii || from == Encoding::SqlAscii {
        let checked = if from == Encoding::SqlAscii { to } else { from };
        checked.check(bytes)?;
        return Ok(Cow::Borrowed(bytes));
    }
    match (from, to) {
        (Encoding::Utf8, Encoding::MuleInternal) | (Encoding::MuleInternal, Encoding::Utf8) => {
            Err(no_conversion(from, to))
        }
        (Encoding::Utf8, _) => to.encode(utf8(bytes)?),
        (_, Encoding::Utf8) => Ok(match from.decode(bytes)? {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
        _ => {
            from.check(bytes)?;
            Err(no_conversion(from, to))
        }
    }
}

impl Encoding {
    /// Checks the form of the characters.
    fn check(self, bytes: &[u8]) -> Result<()> {
        match self {
            Encoding::Utf8 => utf8(bytes).map(drop),
            _ => self.count_characters(bytes).map(drop),
        }
    }
}

/// Pairs between which PostgreSQL converts without UTF-8.
fn converts_directly(from: Encoding, to: Encoding) -> bool {
    use Encoding::{Big5, EucJp, EucTw, Iso88595, Koi8R, Latin2, MuleInternal, Sjis, Win866, Win1250, Win1251};
    const GROUPS: &[&[Encoding]] =
        &[&[Koi8R, Win1251, Win866, Iso88595], &[Latin2, Win1250], &[EucJp, Sjis], &[EucTw, Big5]];
    let both = |group: &&[Encoding]| group.contains(&from) && group.contains(&to);
    from == MuleInternal || to == MuleInternal || GROUPS.iter().any(both)
}

fn no_conversion(from: Encoding, to: Encoding) -> Error {
    let names = (from.name(), to.name());
    if converts_directly(from, to) && from != Encoding::Utf8 && to != Encoding::Utf8 {
        return Error::unsupported(format_args!("conversion from \"{}\" to \"{}\" without UTF8", names.0, names.1))
            .hint(format!("Use convert_to(convert_from(value, '{}'), '{}').", names.0, names.1));
    }
    let message = format!("default conversion function for encoding \"{}\" to \"{}\" does not exist", names.0, names.1);
    Error::new(state::UNDEFINED_FUNCTION, message)
}

/// Reads a stream of bytes that comes in pieces of any size. Pieces may end within a character.
#[derive(Debug, Default)]
pub struct Decoder {
    encoding: Encoding,
    /// Bytes that are not read yet: less than a character, or what follows a fault.
    rest: Vec<u8>,
    text: String,
}

impl Decoder {
    /// A reader of bytes of `encoding`.
    pub fn new(encoding: Encoding) -> Decoder {
        Decoder { encoding, rest: Vec::new(), text: String::new() }
    }

    /// Reads a piece, and returns the characters that are complete; with the fault that follows them, if there is one. Nothing can be
    /// read after a fault.
    pub fn read(&mut self, piece: &[u8]) -> (&str, Option<Error>) {
        self.text.clear();
        self.rest.extend_from_slice(piece);
        let unread = match self.encoding.decode_prefix(&self.rest, &mut self.text) {
            Ok(rest) => rest.len(),
            Err(error) => return (&self.text, Some(error)),
        };
        self.rest.drain(..self.rest.len() - unread);
        let is_cut = self.encoding.announced(&self.rest) > self.rest.len();
        let fault = (unread > 0 && !is_cut).then(|| self.encoding.fault(&self.rest));
        (&self.text, fault)
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// 22021 if it ends within a character.
    pub fn finish(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.encoding.fault(&self.rest)) }
    }
}
