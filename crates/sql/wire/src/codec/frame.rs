//! Message boundaries.

/// Messages that carry no statement, no values and no data are never longer: a longer one is garbage.
pub const SHORT_MESSAGE: usize = 10_000;

/// Bytes before a message's body: its type, and its length, which counts itself.
const HEADER: usize = 5;

/// The first message of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Too few bytes to tell, or a message that is not all there.
    Incomplete,
    /// The beginning of COPY data that are not all there, and how many bytes of body are to come in all.
    CopyBegins {
        /// Bytes of the body.
        body: usize,
    },
    /// A whole message.
    Message {
        /// Its type.
        kind: u8,
        /// Bytes of its body, which begins at [`Frame::BODY`].
        body: usize,
    },
    /// A message that is longer than the limit. It can be passed over.
    TooLong {
        /// Its type.
        kind: u8,
        /// Bytes of its body.
        body: usize,
    },
    /// No message has this type: the stream makes no sense from here on.
    UnknownKind(u8),
    /// No message of this type has this length: the stream makes no sense from here on.
    InvalidLength,
}

impl Frame {
    /// Offset of the body.
    pub const BODY: usize = HEADER;

    /// Parses the first message of `buffer`, if a message of a statement, values or data may have `limit` bytes.
    pub fn first(buffer: &[u8], limit: usize) -> Frame {
        let Some((header, rest)) = buffer.split_first_chunk::<HEADER>() else {
            return match buffer.first() {
                Some(&kind) if !is_known(kind) => Frame::UnknownKind(kind),
                _ => Frame::Incomplete,
            };
        };
        let [kind, length @ ..] = *header;
        if !is_known(kind) {
            return Frame::UnknownKind(kind);
        }
        let Some(body) = i32::from_be_bytes(length).checked_sub(4).and_then(|body| usize::try_from(body).ok()) else {
            return Frame::InvalidLength;
        };
        if body > SHORT_MESSAGE && !may_be_long(kind) {
            Frame::InvalidLength
        } else if body <= rest.len() && (body <= limit || kind == b'd') {
            Frame::Message { kind, body }
        } else if kind == b'd' {
            Frame::CopyBegins { body }
        } else if body > limit {
            Frame::TooLong { kind, body }
        } else {
            Frame::Incomplete
        }
    }

    /// Type and bytes of body of the message at the beginning of `buffer`, which has a frame.
    pub fn announced(buffer: &[u8]) -> Option<(u8, usize)> {
        let [kind, length @ ..] = *buffer.first_chunk::<HEADER>()?;
        let body = i32::from_be_bytes(length).checked_sub(4)?;
        Some((kind, usize::try_from(body).ok()?))
    }

    /// Returns whether `buffer` begins with a whole Sync.
    pub fn is_sync(buffer: &[u8]) -> bool {
        buffer.starts_with(b"S\x00\x00\x00\x04")
    }
}

/// Bind, Close, CopyData, CopyDone, Describe, Execute, CopyFail, FunctionCall, Flush, Parse, password, Query, Sync,
/// Terminate.
fn is_known(kind: u8) -> bool {
    b"BCDEFHPQSXcdfp".contains(&kind)
}

/// Returns whether a message carries a statement, values or data.
fn may_be_long(kind: u8) -> bool {
    b"BFPQd".contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames() {
        let cases: &[(&[u8], Frame)] = &[
            (b"", Frame::Incomplete),
            (b"Q", Frame::Incomplete),
            (b"Q\0\0\0\x06a", Frame::Incomplete),
            (b"Q\0\0\0\x06a\0", Frame::Message { kind: b'Q', body: 2 }),
            (b"S\0\0\0\x04S", Frame::Message { kind: b'S', body: 0 }),
            (b"S\0\0\0\x03", Frame::InvalidLength),
            (b"Q\x80\0\0\0", Frame::InvalidLength),
            (b"Q\0\0\0\0", Frame::InvalidLength),
            (b"S\0\x01\0\0", Frame::InvalidLength),
            (b"Q\0\0\0\x18", Frame::Incomplete),
            (b"Q\0\0\0\x19", Frame::TooLong { kind: b'Q', body: 21 }),
            (b"Q\x7f\xff\xff\xff", Frame::TooLong { kind: b'Q', body: 0x7fff_fffb }),
            (b"d\0\0\x01\0ab", Frame::CopyBegins { body: 252 }),
            (b"\0", Frame::UnknownKind(0)),
            (b"z\0\0\0\x04", Frame::UnknownKind(b'z')),
        ];
        for (bytes, frame) in cases {
            assert_eq!(Frame::first(bytes, 20), *frame, "{bytes:?}");
        }
    }
}
