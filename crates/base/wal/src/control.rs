//! The control file: format version, the log's identity, and the durable timestamp ceiling.
//!
//! Two slots hold the same block. Raising the ceiling writes and syncs one after the other and returns after both, so that a
//! torn write leaves the other, and a slot that decays later does not bring an old ceiling back.

use crate::error::{Damage, DamageKind, LogError};
use crate::format::{BLOCK, Block, BlockError, BlockKind, FORMAT_VERSION};
use crate::segment::create_finished;
use crate::sync::Arc;
use codec::u32_at;
use env::{Disk, DiskError, DiskFile};

/// The file's name.
pub const CONTROL: &str = "CONTROL";

/// Offsets of the slots: in different sectors and pages of every common disk.
const SLOTS: [u64; 2] = [0, 4096];
const FILE_BYTES: usize = 8192;

/// The open control file.
#[derive(Debug)]
pub struct Control {
    file: Arc<dyn DiskFile>,
    identity: u64,
    sequence: u64,
    ceiling: u64,
}

/// Contents of the slots.
#[derive(Clone, Copy, Debug)]
pub struct ControlState {
    /// The log's identity.
    pub identity: u64,
    /// The greatest ceiling that was ever promised.
    pub ceiling: u64,
    /// Number of times that it was raised.
    pub sequence: u64,
    /// Slots that do not say the same: damaged, or an interrupted raise.
    pub stale_slots: [bool; 2],
    /// A slot was written in an older format.
    pub is_older: bool,
    /// The first of them, if it is damaged.
    pub damaged_slot: Option<u64>,
}

impl Control {
    /// Creates the file for a new log.
    pub fn create(disk: &dyn Disk, identity: u64) -> Result<Self, DiskError> {
        let mut contents = [0; FILE_BYTES];
        for slot in SLOTS {
            contents[slot as usize..][..BLOCK].copy_from_slice(&block(identity, 0, 0).encode());
        }
        let file = create_finished(disk, CONTROL, &contents, FILE_BYTES as u64)?;
        Ok(Self { file, identity, sequence: 0, ceiling: 0 })
    }

    /// Opens the file to read it only.
    pub fn open_to_read(disk: &dyn Disk) -> Result<Self, LogError> {
        Self::open_as_it_is(disk).map(|(control, _)| control)
    }

    /// Opens the file and makes both slots say what the newer one says.
    pub fn open(disk: &dyn Disk) -> Result<Self, LogError> {
        let (mut control, state) = Self::open_as_it_is(disk)?;
        // An interrupted raise may be in the page cache only: both slots are written again before the value is used. So are they
        // before anything else is written in a newer format, so that older software refuses the directory by name.
        if state.stale_slots != [false; 2] || state.is_older {
            control.write(state.ceiling).map_err(LogError::Disk)?;
        }
        Ok(control)
    }

    fn open_as_it_is(disk: &dyn Disk) -> Result<(Self, ControlState), LogError> {
        let file: Arc<dyn DiskFile> = disk.open(CONTROL).map_err(LogError::Disk)?.into();
        let state = read(&*file)?;
        Ok((Self { file, identity: state.identity, sequence: state.sequence, ceiling: state.ceiling }, state))
    }

    /// The log's identity.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The durable ceiling.
    pub fn ceiling(&self) -> u64 {
        self.ceiling
    }

    /// Makes `ceiling` durable if it is greater than the present one.
    pub fn raise(&mut self, ceiling: u64) -> Result<(), DiskError> {
        if ceiling > self.ceiling { self.write(ceiling) } else { Ok(()) }
    }

    fn write(&mut self, ceiling: u64) -> Result<(), DiskError> {
        let sequence = self.sequence + 1;
        let bytes = block(self.identity, sequence, ceiling).encode();
        for slot in SLOTS {
            self.file.write_at(slot, &bytes)?;
            self.file.sync()?;
        }
        (self.sequence, self.ceiling) = (sequence, ceiling);
        Ok(())
    }
}

fn block(identity: u64, sequence: u64, ceiling: u64) -> Block {
    Block { kind: BlockKind::Control, identity, numbers: [sequence, ceiling, 0, 0] }
}

/// Reads both slots without changing anything.
pub fn read(file: &dyn DiskFile) -> Result<ControlState, LogError> {
    let mut blocks = Vec::with_capacity(SLOTS.len());
    let mut is_older = false;
    for slot in SLOTS {
        let mut bytes = [0; BLOCK];
        let count = file.read_full_at(slot, &mut bytes).map_err(LogError::Disk)?;
        match Block::decode(&bytes[..count], BlockKind::Control) {
            Ok(block) => {
                is_older |= u32_at(&bytes, 8) < FORMAT_VERSION;
                blocks.push(Some(block));
            }
            Err(BlockError::Damaged) => blocks.push(None),
            Err(BlockError::Newer(found)) => return Err(newer(CONTROL, found)),
        }
    }
    let Some(newest) = blocks.iter().flatten().max_by_key(|block| block.numbers[0]).copied() else {
        return Err(LogError::Corrupt(damaged_slot(SLOTS[0])));
    };
    if blocks.iter().flatten().any(|block| block.identity != newest.identity) {
        let damage = Damage { file: CONTROL.to_owned(), offset: SLOTS[0], bytes: 0, kind: DamageKind::Foreign };
        return Err(LogError::Corrupt(damage));
    }
    Ok(ControlState {
        identity: newest.identity,
        sequence: newest.numbers[0],
        ceiling: newest.numbers[1],
        stale_slots: std::array::from_fn(|index| blocks[index] != Some(newest)),
        is_older,
        damaged_slot: SLOTS.into_iter().zip(&blocks).find(|(_, block)| block.is_none()).map(|(slot, _)| slot),
    })
}

/// The damage of one slot.
pub fn damaged_slot(offset: u64) -> Damage {
    Damage { file: CONTROL.to_owned(), offset, bytes: BLOCK as u64, kind: DamageKind::Header }
}

/// The error of a file that newer software has written.
pub fn newer(file: &str, found: u32) -> LogError {
    LogError::NewerFormat { file: file.to_owned(), found, supported: FORMAT_VERSION }
}
