//! Bytes on disk. All integers are little-endian. Nothing here touches a disk.
//!
//! A *block* (64 bytes) heads a segment, is a slot of the control file, heads and ends a checkpoint:
//!
//! | bytes | 0..8 | 8..12 | 12..16 | 16..24 | 24..56 | 56..60 | 60..64 |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | | `SERIATIM` | format version | kind | log's identity | four numbers | zero | CRC32C of 0..60 |
//!
//! A *record* of a segment:
//!
//! | bytes | 0..4 | 4..8 | 8 | 9..17 | 17.. |
//! | --- | --- | --- | --- | --- | --- |
//! | | CRC32C | payload's length | kind | stamp | payload |
//!
//! Its checksum also covers the record's position and the log's identity, so that intact bytes of another place, another
//! time or another log do not pass. The payload comes first in the checksum: that part is computed before the position is
//! known, outside the latch under which positions are drawn. Seventeen zero bytes are no record: they are where the log ends.
//!
//! A *large record* is written as several records, its parts, with those of others in between: a first part, parts, and a last
//! part, which commits it. The payloads of all but the first begin with the position at which the first part begins.
//!
//! Version 2 has added large records to version 1. Version 3 changes nothing here, and in the payloads of an engine: the mark of
//! a table of index entries in its schema.

use codec::{put_u32, put_u64, u32_at, u64_at};

/// The newest format that this software reads, and the one that it writes.
pub const FORMAT_VERSION: u32 = 3;

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// Bytes before the first record of a segment.
pub const SEGMENT_HEADER: u64 = BLOCK as u64;

/// Bytes at a segment's end that only closing records (a seal, a stop, each with a group's record) may use: whatever happens,
/// a segment can be closed without asking for space.
pub const SEGMENT_RESERVE: u64 = 128;

/// Bytes of each kind of record, header included; redo records add their payload.
pub mod overhead {
    /// A record's header.
    pub const RECORD: u64 = 17;
    /// A record that begins a group.
    pub const GROUP: u64 = RECORD + 8;
    /// A record that ends a segment.
    pub const SEAL: u64 = RECORD + 8;
    /// A record that ends a clean run.
    pub const STOP: u64 = RECORD;
    /// A record that continues a large record.
    pub const PART: u64 = RECORD + 8;
}

const _: () = assert!(overhead::GROUP + overhead::STOP + overhead::GROUP + overhead::SEAL <= SEGMENT_RESERVE);

const MAGIC: [u8; 8] = *b"SERIATIM";

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum BlockKind {
    /// Heads a segment: number, start position, capacity in bytes.
    Segment = 1,
    /// A slot of the control file: sequence number, timestamp ceiling.
    Control = 2,
    /// Heads a checkpoint: the position at which it was begun.
    CheckpointStart = 3,
    /// Ends a checkpoint: count of rows, bound, first segment still needed, bytes of rows.
    CheckpointEnd = 4,
}

/// A block's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Kind.
    pub kind: BlockKind,
    /// Drawn when the log was created; equal in all its files.
    pub identity: u64,
    /// Numbers, by kind.
    pub numbers: [u64; 4],
}

/// Why bytes are not the block that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError {
    /// They are damaged, or another kind.
    Damaged,
    /// They are intact, but of this newer version.
    Newer(u32),
}

impl Block {
    /// The bytes on disk.
    pub fn encode(&self) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.identity.to_le_bytes());
        for (field, number) in bytes[24..56].chunks_exact_mut(8).zip(self.numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a block of `kind`; fewer bytes than a block's are damage.
    pub fn decode(bytes: &[u8], kind: BlockKind) -> Result<Self, BlockError> {
        let bytes: &[u8; BLOCK] = bytes.first_chunk().ok_or(BlockError::Damaged)?;
        if bytes[..8] != MAGIC || u32_at(bytes, 60) != crc32c::crc32c(&bytes[..60]) {
            return Err(BlockError::Damaged);
        }
        // Magic, version and checksum stay where they are in every version, so that this answer can be trusted.
        let version = u32_at(bytes, 8);
        if version > FORMAT_VERSION {
            return Err(BlockError::Newer(version));
        }
        if version == 0 || u32_at(bytes, 12) != kind as u32 {
            return Err(BlockError::Damaged);
        }
        let numbers = std::array::from_fn(|index| u64_at(bytes, 24 + 8 * index));
        Ok(Self { kind, identity: u64_at(bytes, 16), numbers })
    }
}

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// A payload that an engine appended.
    Redo = 1,
    /// Begins a group; its payload is a position that was durable when the group was written: all before it is vouched for.
    Group = 2,
    /// Ends a segment; its payload says how many bytes recovery cut off here, usually zero.
    Seal = 3,
    /// Ends a clean run and vouches for all before it.
    Stop = 4,
    /// Begins a large record, whose name is the position at which this part begins.
    FirstPart = 5,
    /// Continues a large record.
    Part = 6,
    /// Ends a large record: without it, the other parts count for nothing.
    LastPart = 7,
}

impl RecordKind {
    fn from_byte(byte: u8) -> Option<Self> {
        let kinds = [Self::Redo, Self::Group, Self::Seal, Self::Stop, Self::FirstPart, Self::Part, Self::LastPart];
        kinds.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Returns whether records of this kind make up large ones.
    pub fn is_part(self) -> bool {
        matches!(self, Self::FirstPart | Self::Part | Self::LastPart)
    }

    /// Returns whether a record of this kind may have a payload of `length` bytes.
    fn allows(self, length: u32) -> bool {
        match self {
            Self::Redo | Self::FirstPart => true,
            Self::Group | Self::Seal => length == 8,
            Self::Part | Self::LastPart => length >= 8,
            Self::Stop => length == 0,
        }
    }
}

/// A record's header, as found; its checksum is not verified yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Checksum as stored.
    pub checksum: u32,
    /// The payload's length in bytes.
    pub length: u32,
    /// Kind of the record.
    pub kind: RecordKind,
    /// The timestamp of a redo record or of a part of one; zero in others.
    pub stamp: u64,
}

/// Bytes where a record may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing was written here.
    Empty,
    /// Something that cannot be a record.
    Damaged,
    /// Perhaps a record.
    Header(RecordHeader),
}

impl RecordHeader {
    /// Reads what stands at the start of `bytes`, which may end early.
    pub fn parse(bytes: &[u8]) -> Slot {
        let header = &bytes[..bytes.len().min(overhead::RECORD as usize)];
        if header.iter().all(|byte| *byte == 0) {
            return Slot::Empty;
        }
        if header.len() < overhead::RECORD as usize {
            return Slot::Damaged;
        }
        let length = u32_at(header, 4);
        match RecordKind::from_byte(header[8]) {
            Some(kind) if kind.allows(length) => {
                Slot::Header(Self { checksum: u32_at(header, 0), length, kind, stamp: u64_at(header, 9) })
            }
            _ => Slot::Damaged,
        }
    }

    /// Bytes of the whole record.
    pub fn record_bytes(&self) -> u64 {
        overhead::RECORD + u64::from(self.length)
    }

    /// Returns whether `payload` at `position` is what was written.
    pub fn verify(&self, payload: &[u8], position: u64, identity: u64) -> bool {
        let expected = checksum(crc32c::crc32c(payload), self.length, self.kind, self.stamp, position, identity);
        payload.len() as u64 == u64::from(self.length) && expected == self.checksum
    }
}

/// A record's checksum, from that of its payload.
fn checksum(payload: u32, length: u32, kind: RecordKind, stamp: u64, position: u64, identity: u64) -> u32 {
    let mut rest = [0; 29];
    rest[..4].copy_from_slice(&length.to_le_bytes());
    rest[4] = kind as u8;
    rest[5..13].copy_from_slice(&stamp.to_le_bytes());
    rest[13..21].copy_from_slice(&position.to_le_bytes());
    rest[21..].copy_from_slice(&identity.to_le_bytes());
    crc32c::crc32c_append(payload, &rest)
}

/// A payload with its checksum, ready to be given a position.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// The large record that it continues.
    origin: Option<u64>,
    bytes: &'a [u8],
    checksum: u32,
}

impl<'a> Payload<'a> {
    /// Computes the checksum of `bytes`, at most `u32::MAX` of them.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { origin: None, bytes, checksum: crc32c::crc32c(bytes) }
    }

    /// The same of a part that continues the large record which begins at `origin`.
    pub fn continuing(origin: u64, bytes: &'a [u8]) -> Self {
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&origin.to_le_bytes()), bytes);
        Self { origin: Some(origin), bytes, checksum }
    }

    fn length(&self) -> usize {
        self.bytes.len() + self.origin.map_or(0, |_| size_of::<u64>())
    }

    /// Bytes of the record that will hold it.
    pub fn record_bytes(&self) -> u64 {
        overhead::RECORD + self.length() as u64
    }
}

/// Appends a record that begins at `position` to `target`.
pub fn push_record(
    target: &mut Vec<u8>,
    kind: RecordKind,
    stamp: u64,
    payload: Payload<'_>,
    position: u64,
    identity: u64,
) {
    let length = u32::try_from(payload.length()).expect("payloads are bounded by a segment, and so by 1 GiB");
    let checksum = checksum(payload.checksum, length, kind, stamp, position, identity);
    put_u32(target, checksum);
    put_u32(target, length);
    target.push(kind as u8);
    put_u64(target, stamp);
    target.extend(payload.origin.iter().flat_map(|origin| origin.to_le_bytes()));
    target.extend_from_slice(payload.bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_flipped_bit_of_a_block_is_noticed() {
        let block = Block { kind: BlockKind::Segment, identity: 77, numbers: [1, 2, 3, 4] };
        let bytes = block.encode();
        assert_eq!(Block::decode(&bytes, BlockKind::Segment), Ok(block));
        assert_eq!(Block::decode(&bytes, BlockKind::Control), Err(BlockError::Damaged));
        for bit in 0..BLOCK * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Block::decode(&damaged, BlockKind::Segment), Err(BlockError::Damaged), "bit {bit}");
        }
    }

    #[test]
    fn a_newer_version_is_told_apart_from_damage() {
        let mut bytes = Block { kind: BlockKind::Control, identity: 1, numbers: [0; 4] }.encode();
        bytes[8] = 9;
        assert_eq!(Block::decode(&bytes, BlockKind::Control), Err(BlockError::Damaged));
        let checksum = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(Block::decode(&bytes, BlockKind::Control), Err(BlockError::Newer(9)));
    }

    proptest! {
        #[test]
        fn random_bytes_are_never_a_valid_record_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Slot::Header(header) = RecordHeader::parse(&bytes) {
                let end = (header.record_bytes() as usize).min(bytes.len());
                prop_assert!(!header.verify(&bytes[17..end], 0, 0));
            }
            prop_assert!(Block::decode(&bytes, BlockKind::Segment).is_err());
        }

        #[test]
        fn a_record_is_valid_only_in_its_place(payload in prop::collection::vec(any::<u8>(), 0..100), stamp: u64,
                                               position: u64, identity: u64, elsewhere: u64) {
            let mut bytes = Vec::new();
            push_record(&mut bytes, RecordKind::Redo, stamp, Payload::new(&payload), position, identity);
            let Slot::Header(header) = RecordHeader::parse(&bytes) else { panic!("a record begins here") };
            prop_assert_eq!((header.stamp, header.kind, header.record_bytes()), (stamp, RecordKind::Redo, bytes.len() as u64));
            prop_assert!(header.verify(&bytes[17..], position, identity));
            if elsewhere != position {
                prop_assert!(!header.verify(&bytes[17..], elsewhere, identity));
            }
            if elsewhere != identity {
                prop_assert!(!header.verify(&bytes[17..], position, elsewhere));
            }
        }
    }
}
