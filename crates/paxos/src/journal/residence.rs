//! Whose directory it is (J4).
//!
//! The file `REPLICA` in a data directory names the replica that lives there. It is written once and never changes: with a journal,
//! before the first record; without one, before the replica says its first word, so that a later start knows that promises were made
//! and forgotten (decision 0018).
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `SPXR` and format version | 4 and 1 |
//! | 1 if it keeps a journal, else 0 | 1 |
//! | its number; replicas that vote; span of instances | LEB128 |
//! | CRC32C of everything before | 4 |

use super::error::JournalError;
use crate::config::{Durability, Options};
use crate::core::ReplicaId;
use crate::encoding::{Malformed, Reader, put_number};
use env::{Disk, DiskError, DiskFile, DiskLock};
use std::io::ErrorKind;

const FILE: &str = "REPLICA";
const UNFINISHED: &str = "REPLICA.tmp";
/// As the log calls them.
const LOCK: &str = "LOCK";
const CONTROL: &str = "CONTROL";

const MAGIC: [u8; 4] = *b"SPXR";
const VERSION: u8 = 1;
/// Longer files are none of this version.
const MAX_BYTES: usize = 64;

/// Who lives in a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Whether it keeps a journal there.
    pub durability: Durability,
    /// Its number.
    pub id: ReplicaId,
    /// How many replicas of its cluster vote.
    pub replicas: u64,
    /// Instances that it keeps. With a smaller span it would leave out votes from its promises.
    pub span: u64,
}

impl Resident {
    fn new(durability: Durability, options: &Options) -> Self {
        Self { durability, id: options.id, replicas: options.replicas, span: options.core().span }
    }

    /// The replica of these options, with a journal.
    pub(super) fn journalled(options: &Options) -> Self {
        Self::new(Durability::Fsync, options)
    }

    /// Who lives in the root of `disk`, if anybody has ever.
    ///
    /// # Errors
    /// The file is damaged or of a newer version, or the disk fails.
    pub fn read(disk: &dyn Disk) -> Result<Option<Self>, JournalError> {
        let file = match disk.open(FILE) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = [0; MAX_BYTES];
        let length = file.read_full_at(0, &mut bytes)?;
        Self::decode(&bytes[..length]).map(Some)
    }

    /// Whether this replica lives in the directory; if not, nobody does.
    pub(super) fn check(&self, disk: &dyn Disk) -> Result<bool, JournalError> {
        let Some(found) = Self::read(disk)? else { return Ok(false) };
        let named = |durability| if durability == Durability::Fsync { "fsync" } else { "memory" };
        let same = |option, found: u64, wanted: u64| match found == wanted {
            true => Ok(()),
            false => Err(JournalError::Resident { option, found: found.to_string(), wanted: wanted.to_string() }),
        };
        same("id", found.id, self.id)?;
        same("replicas", found.replicas, self.replicas)?;
        if found.durability != self.durability {
            let (found, wanted) = (named(found.durability).into(), named(self.durability).into());
            return Err(JournalError::Resident { option: "durability", found, wanted });
        }
        // Named after what it follows from: whoever changes either of the two sees this.
        same("span (by the options span and batch_bytes)", found.span, self.span)?;
        if self.durability == Durability::Fsync && !disk.list("")?.iter().any(|name| name == CONTROL) {
            return Err(JournalError::Lost);
        }
        Ok(true)
    }

    /// Makes it the directory's resident, durably.
    pub(super) fn write(&self, disk: &dyn Disk) -> Result<(), JournalError> {
        match disk.remove(UNFINISHED) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let file = disk.create_new(UNFINISHED)?;
        self.fill(&*file)?;
        disk.rename(UNFINISHED, FILE)?;
        disk.sync_dir("")?;
        Ok(())
    }

    fn fill(&self, file: &dyn DiskFile) -> Result<(), DiskError> {
        file.write_at(0, &self.encode())?;
        file.sync()
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        bytes.push(u8::from(self.durability == Durability::Fsync));
        [self.id, self.replicas, self.span].into_iter().for_each(|number| put_number(&mut bytes, number));
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, JournalError> {
        let (body, checksum) = bytes.split_last_chunk::<4>().ok_or(JournalError::BadResident)?;
        let rest = body.strip_prefix(&MAGIC).ok_or(JournalError::BadResident)?;
        let (version, rest) = rest.split_first().ok_or(JournalError::BadResident)?;
        if *version > VERSION {
            return Err(JournalError::NewerResident { found: *version });
        }
        if crc32c::crc32c(body).to_le_bytes() != *checksum {
            return Err(JournalError::BadResident);
        }
        Self::decode_fields(rest).map_err(|_| JournalError::BadResident)
    }

    fn decode_fields(fields: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(fields);
        let durability = if reader.byte()? == 0 { Durability::Memory } else { Durability::Fsync };
        let resident = Self { durability, id: reader.number()?, replicas: reader.number()?, span: reader.number()? };
        reader.end()?;
        Ok(resident)
    }
}

/// Who a replica is that keeps no journal but has a data directory: itself if nobody has lived there before; else a learner with the
/// number `id + replicas`, since it has forgotten what it promised (decision 0018). The directory is its own for as long as the lock
/// is held.
///
/// # Errors
/// The directory belongs to another replica or to one with a journal, holds another log, or is in use.
pub fn enter_without_journal(disk: &dyn Disk, options: &Options) -> Result<(Options, DiskLock), JournalError> {
    disk.create_dir_all("")?;
    let lock = disk.lock(LOCK).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => JournalError::InUse { path: error.path().to_owned() },
        _ => JournalError::Disk(error),
    })?;
    let resident = Resident::new(Durability::Memory, options);
    let mut options = options.clone();
    if resident.check(disk)? {
        if options.votes() {
            options.id += options.replicas;
        }
    } else if disk.list("")?.iter().any(|name| name == CONTROL) {
        return Err(JournalError::NotAJournal);
    } else {
        resident.write(disk)?;
    }
    Ok((options, lock))
}
