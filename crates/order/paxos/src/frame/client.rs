//! What clients say, as bytes.

use super::writer::{bytes, number, word};
use super::{BadFrame, Kind, Reader, Wire};
use crate::message::ClientMessage;

const OPEN: u8 = 1;
const REQUEST: u8 = 2;
const STATUS: u8 = 3;

impl Wire for ClientMessage {
    const KIND: Kind = Kind::Client;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Open(nonce) => {
                out.push(OPEN);
                word(*nonce, out);
            }
            Self::Request { session, sequence, nonce, body } => {
                out.push(REQUEST);
                number(*session, out);
                number(*sequence, out);
                word(*nonce, out);
                bytes(body, out);
            }
            Self::Status => out.push(STATUS),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, BadFrame> {
        Ok(match reader.byte()? {
            OPEN => Self::Open(reader.word()?),
            REQUEST => {
                let (session, sequence) = (reader.number()?, reader.number()?);
                Self::Request { session, sequence, nonce: reader.word()?, body: reader.slice()? }
            }
            STATUS => Self::Status,
            tag => return Err(BadFrame::UnknownMessage(tag)),
        })
    }
}
