//! Messages behind the greeting.

use bytes::Bytes;
use codec::{put_bytes, put_number};
use net::frame::{BadFrame, HEADER_BYTES, Kind, Reader, Wire};
use total::Position;

/// The longest piece.
pub const PIECE_BYTES: usize = 256 << 10;

/// The longest body of a frame: a piece, its tag and its length.
pub const MAX_BODY_BYTES: usize = PIECE_BYTES + HEADER_BYTES;

/// The longest reason of a holder.
const MAX_REASON_BYTES: usize = 4 << 10;

/// A message of either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Asks for a state that has everything up to this position.
    Fetch(Position),
    /// What comes next of it, at most [`PIECE_BYTES`].
    Piece(Bytes),
    /// That was all: so many bytes.
    End(u64),
    /// The holder cannot go on.
    Failed(String),
}

const FETCH: u8 = 1;
const PIECE: u8 = 2;
const END: u8 = 3;
const FAILED: u8 = 4;

impl Message {
    /// A failure with as much of its reason as is sent.
    pub fn failed(reason: &str) -> Self {
        let end = (0..=reason.len().min(MAX_REASON_BYTES)).rev().find(|at| reason.is_char_boundary(*at));
        Self::Failed(reason[..end.unwrap_or_default()].to_owned())
    }
}

impl Wire for Message {
    const KIND: Kind = Kind::State;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Fetch(at_least) => {
                out.push(FETCH);
                put_number(out, at_least.instance);
                put_number(out, at_least.index.into());
            }
            Self::Piece(piece) => {
                out.push(PIECE);
                put_bytes(out, piece);
            }
            Self::End(bytes) => {
                out.push(END);
                put_number(out, *bytes);
            }
            Self::Failed(reason) => {
                out.push(FAILED);
                put_bytes(out, reason.as_bytes());
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        Ok(match reader.byte()? {
            FETCH => {
                let (instance, index) = (reader.number()?, reader.number_up_to(u32::MAX.into())?);
                Self::Fetch(Position { instance, index: index as u32 })
            }
            PIECE => Self::Piece(reader.slice()?),
            END => Self::End(reader.number()?),
            FAILED => Self::Failed(reader.text(MAX_REASON_BYTES)?),
            tag => return Err(BadFrame::UnknownMessage(tag)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::frame::{Decoder, encode};

    #[test]
    fn messages_come_back_as_they_were_and_fit_their_frames() {
        let long = "ä".repeat(MAX_REASON_BYTES);
        for message in [
            Message::Fetch(Position { instance: 1 << 40, index: u32::MAX }),
            Message::Piece(vec![7; PIECE_BYTES].into()),
            Message::End(1 << 40),
            Message::failed("the disk"),
            Message::failed(&long),
        ] {
            let mut bytes = Vec::new();
            encode(&message, &mut bytes).expect("short");
            let mut decoder = Decoder::new(MAX_BODY_BYTES);
            decoder.buffer().extend_from_slice(&bytes);
            assert_eq!(decoder.next_frame().expect("a frame").expect("whole").message(), Ok(message));
        }
    }
}
