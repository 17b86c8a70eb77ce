//! Encoding of the messages of clients.

use crate::message::ClientMessage;
use codec::{put_bytes, put_number, put_u64};
use net::frame::{BadFrame, Kind, Reader, Wire};

const OPEN: u8 = 1;
const REQUEST: u8 = 2;
const STATUS: u8 = 3;

impl Wire for ClientMessage {
    const KIND: Kind = Kind::Client;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Open(nonce) => {
                out.push(OPEN);
                put_u64(out, *nonce);
            }
            Self::Request { session, sequence, nonce, body } => {
                out.push(REQUEST);
                put_number(out, *session);
                put_number(out, *sequence);
                put_u64(out, *nonce);
                put_bytes(out, body);
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
