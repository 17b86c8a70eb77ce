//! Snapshots in transit: sent in pieces, so that other messages need not wait for them, and put together again where the receiver
//! keeps its snapshots. Both ends have a piece in memory at a time.

use std::collections::BTreeMap;
use std::io::{self, BufRead, ErrorKind, Write};

use bytes::Bytes;

use crate::core::{Image, Instance, ReplicaId};
use crate::image::{ImageReader, ImageStore, ImageWriter};
use crate::message::PeerMessage;

/// Bytes of a piece, at most.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// A snapshot that is being sent.
#[derive(Debug)]
pub struct Cutter {
    at: Instance,
    reader: ImageReader,
    piece_bytes: usize,
    is_done: bool,
}

impl Cutter {
    /// Cuts the snapshot of the state before instance `at` into pieces of at most `piece_bytes` bytes.
    #[must_use]
    pub fn new(at: Instance, image: &Image, piece_bytes: usize) -> Self {
        Self { at, reader: image.reader(), piece_bytes, is_done: false }
    }

    /// The next piece. An empty snapshot has one piece.
    ///
    /// # Errors
    /// The file of the snapshot cannot be read, or is damaged.
    pub fn next_piece(&mut self) -> io::Result<Option<PeerMessage>> {
        if self.is_done {
            return Ok(None);
        }
        let (at, offset, total) = (self.at, self.reader.position(), self.reader.total());
        let part = self.reader.fill_buf()?;
        let bytes = Bytes::copy_from_slice(&part[..part.len().min(self.piece_bytes)]);
        self.reader.consume(bytes.len());
        self.is_done = self.reader.position() == total;
        Ok(Some(PeerMessage::Piece { at, offset, total, bytes }))
    }
}

/// Which peers were asked for what this replica misses. Nobody else may begin a snapshot: it would be written in vain.
#[derive(Debug, Default)]
pub struct AskedPeers(BTreeMap<ReplicaId, Instance>);

impl AskedPeers {
    /// The peer was asked for the instances from `from` on, and answers once: with them, or with a snapshot of more.
    pub fn ask(&mut self, peer: ReplicaId, from: Instance) {
        self.0.insert(peer, from);
    }

    /// The peer has answered, or is gone.
    pub fn forget(&mut self, peer: ReplicaId) {
        self.0.remove(&peer);
    }

    /// Returns whether the peer may begin a snapshot of everything below `at`. It may do so once for each question.
    #[must_use]
    pub fn may_begin(&mut self, peer: ReplicaId, at: Instance) -> bool {
        let is_news = self.0.get(&peer).is_some_and(|from| at > *from);
        if is_news {
            self.forget(peer);
        }
        is_news
    }
}

/// A snapshot that is being received. It holds the pieces of one at a time; the first piece of another starts anew.
#[derive(Debug)]
pub struct PieceAssembly {
    images: ImageStore,
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    at: Instance,
    total: u64,
    writer: ImageWriter,
}

impl PieceAssembly {
    /// Snapshots are written to `images`.
    #[must_use]
    pub fn new(images: ImageStore) -> Self {
        Self { images, begun: None }
    }

    /// Takes a piece; the whole snapshot, if it was the last one. A piece that does not follow the one before is passed over: the
    /// replica asks again for what it still misses.
    ///
    /// # Errors
    /// `FileTooLarge`: the snapshot is longer than any may be. Else the disk is full or fails.
    pub fn add(
        &mut self,
        at: Instance,
        offset: u64,
        total: u64,
        piece: &[u8],
    ) -> io::Result<Option<(Instance, Image)>> {
        if offset == 0 {
            let limit = self.images.limit();
            if total > limit {
                let message = format!("a snapshot of {total} bytes is too long: {limit} are taken");
                return Err(io::Error::new(ErrorKind::FileTooLarge, message));
            }
            self.begun = Some(Begun { at, total, writer: self.images.writer() });
        }
        let Some(begun) = &mut self.begun else { return Ok(None) };
        // What is empty is no progress, unless the whole is.
        let follows = (begun.at, begun.total, begun.writer.written()) == (at, total, offset);
        if !follows || piece.is_empty() && total > 0 {
            return Ok(None);
        }
        begun.writer.write_all(piece)?;
        if begun.writer.written() < total {
            return Ok(None);
        }
        let whole = self.begun.take().map(|begun| begun.writer.finish()).transpose()?;
        Ok(whole.map(|image| (at, image)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(at: Instance, state: &[u8]) -> Vec<(u64, u64, Bytes)> {
        let mut cutter = Cutter::new(at, &Image::from(state), PIECE_BYTES);
        std::iter::from_fn(|| cutter.next_piece().expect("it is in memory"))
            .map(|piece| match piece {
                PeerMessage::Piece { at: of, offset, total, bytes } if of == at => (offset, total, bytes),
                other => panic!("{other:?} is no piece of it"),
            })
            .collect()
    }

    fn assembly() -> PieceAssembly {
        PieceAssembly::new(ImageStore::in_memory())
    }

    #[test]
    fn a_snapshot_arrives_as_it_was() {
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let state: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let pieces = pieces(7, &state);
            assert_eq!(pieces.len(), length.div_ceil(PIECE_BYTES).max(1));
            let mut assembly = assembly();
            let mut whole = None;
            for (offset, total, bytes) in pieces {
                assert_eq!(whole, None);
                whole = assembly.add(7, offset, total, &bytes).expect("short enough");
            }
            assert_eq!(whole, Some((7, Image::from(state))));
            assert!(assembly.begun.is_none());
        }
    }

    #[test]
    fn lost_pieces_and_other_snapshots_mean_another_try() {
        let state = vec![1; 2 * PIECE_BYTES];
        let cut = pieces(7, &state);
        let mut assembly = assembly();
        let mut add = |at, (offset, total, bytes): &(u64, u64, Bytes)| {
            assembly.add(at, *offset, *total, bytes).expect("short enough")
        };
        assert_eq!(add(7, &cut[1]), None, "it does not begin here");
        assert_eq!(add(7, &cut[0]), None);
        assert_eq!(add(8, &cut[1]), None, "another one's end");
        assert_eq!(add(7, &cut[0]), None, "from the beginning again");
        assert_eq!(add(7, &cut[1]), Some((7, Image::from(state))));
        assert_eq!(add(7, &cut[1]), None);
    }

    #[test]
    fn a_snapshot_that_claims_too_much_is_refused() {
        let total = ImageStore::in_memory().limit() + 1;
        let refused = assembly().add(1, 0, total, b"x").expect_err("it is too long");
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_peer_begins_one_snapshot_for_each_question() {
        let mut asked = AskedPeers::default();
        assert!(!asked.may_begin(1, 9), "nobody was asked");
        asked.ask(1, 5);
        assert!(!asked.may_begin(2, 9), "another one was asked");
        assert!(!asked.may_begin(1, 5), "that is known");
        assert!(asked.may_begin(1, 6));
        assert!(!asked.may_begin(1, 6), "it has answered");
        asked.ask(1, 6);
        asked.forget(1);
        assert!(!asked.may_begin(1, 9));
    }
}
