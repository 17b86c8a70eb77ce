//! Clients' messages, parsed in place. Texts are borrowed from the message where they are UTF-8 already.

use smallvec::SmallVec;
use sql::error::{Result, SqlError, state};
use sql::session::Format;
use sql::types::Encoding;
use std::borrow::Cow;

/// A message of a client.
#[derive(Debug)]
pub enum Message<'a> {
    /// A simple query.
    Query(Cow<'a, str>),
    /// Prepare a statement.
    Parse {
        /// Name of the new statement.
        name: Cow<'a, str>,
        /// Its text.
        sql: Cow<'a, str>,
        /// The types of its first parameters; 0 is unknown.
        types: SmallVec<[u32; 8]>,
    },
    /// Make a portal.
    Bind(Bind<'a>),
    /// Describe a statement or a portal.
    Describe(Target, Cow<'a, str>),
    /// Close a statement or a portal.
    Close(Target, Cow<'a, str>),
    /// Run a portal.
    Execute {
        /// Its name.
        portal: Cow<'a, str>,
        /// Maximum number of rows; 0: all.
        max_rows: usize,
    },
    /// The end of a series of messages that stand or fall together.
    Sync,
    /// Let the answers so far leave.
    Flush,
    /// Data of a COPY.
    CopyData(&'a [u8]),
    /// All data of a COPY have been sent.
    CopyDone,
    /// The client gives a COPY up.
    CopyFail(Cow<'a, str>),
    /// The function call of old.
    FunctionCall,
    /// An unsolicited password.
    Password,
    /// Good bye.
    Terminate,
}

/// Object of Describe and Close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// The parts of Bind.
#[derive(Debug)]
pub struct Bind<'a> {
    /// Name of the new portal.
    pub portal: Cow<'a, str>,
    /// Name of its statement.
    pub statement: Cow<'a, str>,
    /// The values, texts in the client's encoding.
    pub parameters: SmallVec<[Parameter<'a>; 8]>,
    /// The forms of the result's columns: none (all text), one for all, or one for each.
    pub results: Formats,
}

/// A value and its form.
pub type Parameter<'a> = (Format, Option<&'a [u8]>);

/// The forms of the columns of a result: none (all text), one for all, or one for each.
pub type Formats = SmallVec<[Format; 8]>;

impl<'a> Message<'a> {
    /// Reads the body of a message of a known type, with texts in `encoding`.
    ///
    /// # Errors
    /// 08P01 for a body that is not of its type's form, 22021 and 22P05 for a text that is not in the encoding, 22023 for an unknown
    /// format.
    pub fn read(kind: u8, body: &'a [u8], encoding: Encoding) -> Result<Message<'a>> {
        let mut body = Body(body, encoding);
        let message = match kind {
            b'Q' => Message::Query(body.text()?),
            b'P' => Message::Parse { name: body.text()?, sql: body.text()?, types: body.list(Body::u32)? },
            b'B' => Message::Bind(Bind::read(&mut body)?),
            b'D' => Message::Describe(body.target("DESCRIBE")?, body.text()?),
            b'C' => Message::Close(body.target("CLOSE")?, body.text()?),
            b'E' => {
                // A negative number means all, as zero does.
                let (portal, rows) = (body.text()?, body.u32()?.cast_signed());
                Message::Execute { portal, max_rows: usize::try_from(rows).unwrap_or(0) }
            }
            b'S' => Message::Sync,
            b'H' => Message::Flush,
            b'd' => return Ok(Message::CopyData(body.0)),
            b'c' => Message::CopyDone,
            b'f' => Message::CopyFail(body.text()?),
            b'F' => return Ok(Message::FunctionCall),
            b'p' => return Ok(Message::Password),
            b'X' => return Ok(Message::Terminate),
            _ => return Err(violation(format!("invalid frontend message type {kind}"))),
        };
        if body.0.is_empty() { Ok(message) } else { Err(violation("invalid message format")) }
    }
}

impl<'a> Bind<'a> {
    fn read(body: &mut Body<'a>) -> Result<Bind<'a>> {
        let (portal, statement) = (body.text()?, body.text()?);
        let formats: Formats = body.list(Body::format)?;
        let mut next = 0;
        let parameters: SmallVec<[_; 8]> = body.list(|body| {
            let format = match formats.as_slice() {
                [] => Format::Text,
                [all] => *all,
                each => each.get(next).copied().unwrap_or_default(),
            };
            next += 1;
            Ok((format, body.value()?))
        })?;
        if formats.len() > 1 && formats.len() != parameters.len() {
            let (formats, parameters) = (formats.len(), parameters.len());
            return Err(violation(format!("bind message has {formats} parameter formats but {parameters} parameters")));
        }
        Ok(Bind { portal, statement, parameters, results: body.list(Body::format)? })
    }
}

/// Unread rest of a message's body, and the encoding of its texts.
struct Body<'a>(&'a [u8], Encoding);

impl<'a> Body<'a> {
    fn text(&mut self) -> Result<Cow<'a, str>> {
        let end = self.0.iter().position(|&byte| byte == 0).ok_or_else(|| violation("invalid string in message"))?;
        let (text, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        Ok(self.1.decode(text)?)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk().ok_or_else(insufficient)?;
        self.0 = rest;
        Ok(*chunk)
    }

    fn u32(&mut self) -> Result<u32> {
        self.chunk().map(u32::from_be_bytes)
    }

    fn format(&mut self) -> Result<Format> {
        match self.chunk().map(i16::from_be_bytes)? {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => Err(SqlError::new(state::INVALID_PARAMETER_VALUE, format!("unsupported format code: {other}"))),
        }
    }

    /// Reads a list with its count before it. Memory is allocated as items are read, not as announced.
    fn list<T, const N: usize>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<SmallVec<[T; N]>>
    where
        [T; N]: smallvec::Array<Item = T>,
    {
        let count = self.chunk().map(u16::from_be_bytes)?;
        (0..count).map(|_| one(self)).collect()
    }

    fn value(&mut self) -> Result<Option<&'a [u8]>> {
        let length = self.u32()?.cast_signed();
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| insufficient())?;
        let (value, rest) = self.0.split_at_checked(length).ok_or_else(insufficient)?;
        self.0 = rest;
        Ok(Some(value))
    }

    fn target(&mut self, message: &str) -> Result<Target> {
        match self.chunk()? {
            [b'S'] => Ok(Target::Statement),
            [b'P'] => Ok(Target::Portal),
            [other] => Err(violation(format!("invalid {message} message subtype {other}"))),
        }
    }
}

/// A message that is not of its type's form.
pub fn violation(message: impl Into<String>) -> SqlError {
    SqlError::new(state::PROTOCOL_VIOLATION, message)
}

fn insufficient() -> SqlError {
    violation("insufficient data left in message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read() {
        let cases: &[(u8, &[u8], &str)] = &[
            (b'Q', b"select 1\0", r#"Query("select 1")"#),
            (b'P', b"s\0select $1\0\0\x01\0\0\0\x17", r#"Parse { name: "s", sql: "select $1", types: [23] }"#),
            (
                b'B',
                b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x02\0\0\0\x01",
                r#"Bind(Bind { portal: "", statement: "s", parameters: [(Binary, Some([120])), (Binary, None)], results: [Text, Binary] })"#,
            ),
            (b'D', b"Sx\0", r#"Describe(Statement, "x")"#),
            (b'C', b"P\0", r#"Close(Portal, "")"#),
            (b'E', b"\0\0\0\0\x05", r#"Execute { portal: "", max_rows: 5 }"#),
            (b'E', b"\0\xff\xff\xff\xff", r#"Execute { portal: "", max_rows: 0 }"#),
            (b'd', b"1\t2\n", "CopyData([49, 9, 50, 10])"),
            (b'f', b"why\0", r#"CopyFail("why")"#),
        ];
        for (kind, body, message) in cases {
            assert_eq!(format!("{:?}", Message::read(*kind, body, Encoding::Utf8).unwrap()), *message);
        }
    }

    #[test]
    fn texts_are_converted() {
        let read = |kind, body| Message::read(kind, body, Encoding::Latin1).map(|message| format!("{message:?}"));
        assert_eq!(read(b'Q', b"select '\xe9'\0").unwrap(), r#"Query("select 'é'")"#);
        assert_eq!(read(b'P', b"\xe9\0\xdf\0\0\0").unwrap(), r#"Parse { name: "é", sql: "ß", types: [] }"#);
        let bind = r#"Bind(Bind { portal: "é", statement: "ß", parameters: [(Text, Some([233]))], results: [] })"#;
        assert_eq!(
            read(b'B', b"\xe9\0\xdf\0\0\0\0\x01\0\0\0\x01\xe9\0\0").unwrap(),
            bind,
            "its type decides of a value"
        );
        let unread = Message::read(b'Q', b"\x81\0", Encoding::Win1252).unwrap_err();
        assert_eq!(unread.code(), "22P05");
    }

    #[test]
    fn malformed_bodies_are_named() {
        let cases: &[(u8, &[u8], &str, &str)] = &[
            (b'Q', b"select 1", "08P01", "invalid string in message"),
            (b'Q', b"a\0b", "08P01", "invalid message format"),
            (b'Q', b"\xff\0", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff"),
            (b'Q', b"\xe2\x82\0", "22021", "invalid byte sequence for encoding \"UTF8\": 0xe2 0x82"),
            (b'P', b"\0\0\xff\xff", "08P01", "insufficient data left in message"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0", "08P01", "insufficient data left in message"),
            (b'B', b"\0\0\0\0\0\x01\0\0\0\x09", "08P01", "insufficient data left in message"),
            (b'B', b"\0\0\0\x01\0\x02\0\0\0\0", "22023", "unsupported format code: 2"),
            (b'B', b"\0\0\0\x02\0\0\0\0\0\0\0\0", "08P01", "bind message has 2 parameter formats but 0 parameters"),
            (b'D', b"x\0", "08P01", "invalid DESCRIBE message subtype 120"),
            (b'S', b"x", "08P01", "invalid message format"),
        ];
        for (kind, body, code, message) in cases {
            let error = Message::read(*kind, body, Encoding::Utf8).unwrap_err();
            assert_eq!((error.code(), error.message()), (*code, *message), "{body:?}");
        }
    }
}
