//! Snapshots in transit: sent in pieces, so that other messages need not wait for them, and reassembled.

use bytes::Bytes;

use crate::core::{Image, Instance};
use crate::message::PeerMessage;

/// Bytes of a piece.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// The longest snapshot that is taken from a peer, in bytes.
pub const MAX_SNAPSHOT_BYTES: u64 = 2 << 30;

/// A snapshot that is being sent.
#[derive(Debug)]
pub(crate) struct Cutter {
    at: Instance,
    image: Image,
    offset: usize,
    is_done: bool,
}

impl Cutter {
    /// Splits the snapshot of the state before instance `at`.
    pub(crate) fn new(at: Instance, image: Image) -> Self {
        Self { at, image, offset: 0, is_done: false }
    }

    /// The next piece. An empty snapshot has one piece.
    pub(crate) fn next_piece(&mut self) -> Option<PeerMessage> {
        if self.is_done {
            return None;
        }
        let bytes = &self.image.0;
        let end = bytes.len().min(self.offset + PIECE_BYTES);
        let piece = PeerMessage::Piece {
            at: self.at,
            offset: self.offset as u64,
            total: bytes.len() as u64,
            bytes: Bytes::copy_from_slice(&bytes[self.offset..end]),
        };
        self.offset = end;
        self.is_done = end == bytes.len();
        Some(piece)
    }
}

/// A snapshot that is being received. It holds the pieces of one at a time; the first piece of another starts anew.
#[derive(Debug, Default)]
pub struct PieceAssembly {
    of: Option<(Instance, u64)>,
    bytes: Vec<u8>,
}

/// A snapshot is longer than [`MAX_SNAPSHOT_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotTooLong {
    /// Its length.
    pub bytes: u64,
}

impl PieceAssembly {
    /// Takes a piece; the whole snapshot, if it was the last one. A piece that does not follow the one before is passed over: the
    /// replica asks again for what it still misses.
    ///
    /// # Errors
    /// The snapshot is longer than any may be.
    pub fn add(
        &mut self,
        at: Instance,
        offset: u64,
        total: u64,
        piece: &[u8],
    ) -> Result<Option<(Instance, Image)>, SnapshotTooLong> {
        if total > MAX_SNAPSHOT_BYTES {
            return Err(SnapshotTooLong { bytes: total });
        }
        if offset == 0 {
            self.of = Some((at, total));
            self.bytes.clear();
        }
        if self.of != Some((at, total)) || self.bytes.len() as u64 != offset {
            return Ok(None);
        }
        self.bytes.extend_from_slice(piece);
        if (self.bytes.len() as u64) < total {
            return Ok(None);
        }
        self.of = None;
        Ok(Some((at, Image(std::mem::take(&mut self.bytes).into()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(at: Instance, state: &[u8]) -> Vec<(u64, u64, Bytes)> {
        let mut cutter = Cutter::new(at, Image(state.into()));
        std::iter::from_fn(|| cutter.next_piece())
            .map(|piece| match piece {
                PeerMessage::Piece { at: of, offset, total, bytes } if of == at => (offset, total, bytes),
                other => panic!("{other:?} is no piece of it"),
            })
            .collect()
    }

    #[test]
    fn a_snapshot_arrives_as_it_was() {
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let state: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let pieces = pieces(7, &state);
            assert_eq!(pieces.len(), length.div_ceil(PIECE_BYTES).max(1));
            let mut assembly = PieceAssembly::default();
            let mut whole = None;
            for (offset, total, bytes) in pieces {
                assert_eq!(whole, None);
                whole = assembly.add(7, offset, total, &bytes).expect("short enough");
            }
            assert_eq!(whole, Some((7, Image(state.into()))));
            assert_eq!(assembly.bytes.capacity(), 0);
        }
    }

    #[test]
    fn lost_pieces_and_other_snapshots_mean_another_try() {
        let state = vec![1; 2 * PIECE_BYTES];
        let cut = pieces(7, &state);
        let mut assembly = PieceAssembly::default();
        let mut add = |at, (offset, total, bytes): &(u64, u64, Bytes)| assembly.add(at, *offset, *total, bytes);
        assert_eq!(add(7, &cut[1]), Ok(None), "it does not begin here");
        assert_eq!(add(7, &cut[0]), Ok(None));
        assert_eq!(add(8, &cut[1]), Ok(None), "another one's end");
        assert_eq!(add(7, &cut[0]), Ok(None), "from the beginning again");
        assert_eq!(add(7, &cut[1]), Ok(Some((7, Image(state.into())))));
        assert_eq!(add(7, &cut[1]), Ok(None));
    }

    #[test]
    fn a_snapshot_that_claims_too_much_is_refused() {
        let total = MAX_SNAPSHOT_BYTES + 1;
        assert_eq!(PieceAssembly::default().add(1, 0, total, b"x"), Err(SnapshotTooLong { bytes: total }));
    }
}
