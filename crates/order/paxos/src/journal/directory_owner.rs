//! Owner of a data directory (J4): the replica, its current life, and the voters that it has met.
//!
//! The file `REPLICA` in a data directory names the replica that owns it. It is rewritten durably at each start (the life is
//! raised before the replica sends its first message), when the replica is admitted, and when it meets another replica in a
//! life that it has not met before. Decision 0026 gives the reasons.
//!
//! | field | bytes |
//! | --- | --- |
//! | magic `SPXR` and format version | 4 and 1 |
//! | 1 if it keeps a journal, and 2 if it was admitted | 1 |
//! | its number; replicas that vote; span of instances; sessions; its life | LEB128 each |
//! | its birth | 8 |
//! | number of voters that it has met | LEB128 |
//! | of each, by number: its number, life, records; its birth, incarnation | LEB128 each; 8 each |
//! | CRC32C of everything before | 4 |
//!
//! Version 1 had the first flag, the number, the voters and the span. A directory of that version is taken over on the
//! assumption that its replica has voted, and that all others may have, in lives that were not counted. Version 2 had the same fields; its
//! journal had every snapshot in a record, and none in a file beside the log.

use super::error::JournalError;
use crate::config::{Durability, Options};
use crate::core::ReplicaId;
use crate::image::ImageStore;
use crate::known_voters::{Note, Notes};
use codec::{Malformed, Reader, put_number};
use env::{Disk, DiskError, DiskFile, DiskLock};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FILE: &str = "REPLICA";
const UNFINISHED: &str = "REPLICA.tmp";
/// Held by whoever may write the file. The log has a lock of its own, and gives it back before the last note is written.
const LOCK: &str = "REPLICA.lock";
/// Name of the lock file that the log uses.
const LOG_LOCK: &str = "LOCK";
const CONTROL: &str = "CONTROL";

const MAGIC: [u8; 4] = *b"SPXR";
const VERSION: u8 = 3;
const UNCOUNTED: u8 = 1;
/// Maximum length of a file of this version.
const MAX_BYTES: usize = 4 << 10;

const JOURNALLED: u8 = 1;
const ADMITTED: u8 = 2;

/// Owner of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryOwner {
    /// Durability: whether it keeps a journal in the directory.
    pub durability: Durability,
    /// Its number.
    pub id: ReplicaId,
    /// Number of replicas of its cluster that vote.
    pub replicas: u64,
    /// Instances that it keeps. With a smaller span it would leave out votes from its promises.
    pub span: u64,
    /// Client sessions that may be open. Replicas with other limits forget other sessions, and so come to other states.
    pub sessions: u64,
    /// Drawn at random when the directory was made: an emptied one has another.
    pub birth: u64,
    /// Starts so far.
    pub life: u64,
    /// All other voters have met it, so that it may vote.
    pub admitted: bool,
    /// Voters that it has met.
    pub met: Notes,
}

impl DirectoryOwner {
    /// One whose directory is new.
    fn new(durability: Durability, options: &Options, birth: u64) -> Self {
        Self {
            durability,
            id: options.id,
            replicas: options.replicas,
            span: options.core().span,
            sessions: options.sessions,
            birth,
            life: 0,
            admitted: false,
            met: Notes::default(),
        }
    }

    /// Reads the owner of the root of `disk`, if there has ever been one.
    ///
    /// # Errors
    /// The file is damaged or of a newer version, or the disk fails.
    pub fn read(disk: &dyn Disk) -> Result<Option<Self>, JournalError> {
        Ok(Found::read(disk)?.map(|found| found.owner))
    }

    /// Refuses a directory that belongs to another.
    fn check(&self, found: &Found, disk: &dyn Disk) -> Result<(), JournalError> {
        let owner = &found.owner;
        let named = |durability| if durability == Durability::Fsync { "fsync" } else { "memory" };
        let same = |option, found: u64, wanted: u64| match found == wanted {
            true => Ok(()),
            false => {
                Err(JournalError::ForeignDirectory { option, found: found.to_string(), wanted: wanted.to_string() })
            }
        };
        same("id", owner.id, self.id)?;
        same("replicas", owner.replicas, self.replicas)?;
        if owner.durability != self.durability {
            let (found, wanted) = (named(owner.durability).into(), named(self.durability).into());
            return Err(JournalError::ForeignDirectory { option: "durability", found, wanted });
        }
        // Named after what it follows from: whoever changes either of the two sees this.
        same("span (by the options span and batch_bytes)", owner.span, self.span)?;
        if found.version > UNCOUNTED {
            same("sessions", owner.sessions, self.sessions)?;
        } else if self.sessions == 0 {
            // Version 1 did not say how many, and knew no cluster without.
            let (found, wanted) = ("of some number".into(), "0".into());
            return Err(JournalError::ForeignDirectory { option: "sessions", found, wanted });
        }
        if self.durability == Durability::Fsync && !disk.list("")?.iter().any(|name| name == CONTROL) {
            return Err(JournalError::Lost);
        }
        Ok(())
    }

    fn write(&self, disk: &dyn Disk) -> Result<(), JournalError> {
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
        let journalled = if self.durability == Durability::Fsync { JOURNALLED } else { 0 };
        bytes.extend([VERSION, journalled | if self.admitted { ADMITTED } else { 0 }]);
        let numbers = [self.id, self.replicas, self.span, self.sessions, self.life];
        numbers.into_iter().for_each(|number| put_number(&mut bytes, number));
        bytes.extend(self.birth.to_le_bytes());
        put_number(&mut bytes, self.met.len() as u64);
        for (id, Note { birth, life, incarnation, records }) in &self.met {
            [*id, *life, *records].into_iter().for_each(|number| put_number(&mut bytes, number));
            bytes.extend(birth.to_le_bytes());
            bytes.extend(incarnation.to_le_bytes());
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }
}

/// An owner, and the version of the file that names it.
struct Found {
    version: u8,
    owner: DirectoryOwner,
}

impl Found {
    fn read(disk: &dyn Disk) -> Result<Option<Self>, JournalError> {
        let file = match disk.open(FILE) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = [0; MAX_BYTES];
        let length = file.read_full_at(0, &mut bytes)?;
        Self::decode(&bytes[..length]).map(Some)
    }

    fn decode(bytes: &[u8]) -> Result<Self, JournalError> {
        let (body, checksum) = bytes.split_last_chunk::<4>().ok_or(JournalError::BadOwnerFile)?;
        let rest = body.strip_prefix(&MAGIC).ok_or(JournalError::BadOwnerFile)?;
        let (&version, rest) = rest.split_first().ok_or(JournalError::BadOwnerFile)?;
        if version > VERSION {
            return Err(JournalError::NewerOwnerFile { found: version });
        }
        if crc32c::crc32c(body).to_le_bytes() != *checksum {
            return Err(JournalError::BadOwnerFile);
        }
        let fields = if version == UNCOUNTED { decode_uncounted(rest) } else { decode_fields(rest) };
        let owner = fields.map_err(|_| JournalError::BadOwnerFile)?;
        Ok(Self { version, owner })
    }
}

fn durability(flags: u8) -> Durability {
    if flags & JOURNALLED == 0 { Durability::Memory } else { Durability::Fsync }
}

fn decode_fields(fields: &[u8]) -> Result<DirectoryOwner, Malformed> {
    let mut reader = Reader::new(fields);
    let flags = reader.u8()?;
    let mut owner = DirectoryOwner {
        durability: durability(flags),
        id: reader.number()?,
        replicas: reader.number()?,
        span: reader.number()?,
        sessions: reader.number()?,
        life: reader.number()?,
        birth: reader.u64()?,
        admitted: flags & ADMITTED != 0,
        met: Notes::default(),
    };
    for _ in 0..reader.number()? {
        let (id, life, records) = (reader.number()?, reader.number()?, reader.number()?);
        let (birth, incarnation) = (reader.u64()?, reader.u64()?);
        owner.met.insert(id, Note { birth, life, incarnation, records });
    }
    reader.end()?;
    Ok(owner)
}

/// Whoever lived in version 1 may have voted, and so may all others, in lives that nobody has counted. What it did not say is to be
/// filled in.
fn decode_uncounted(fields: &[u8]) -> Result<DirectoryOwner, Malformed> {
    let mut reader = Reader::new(fields);
    let (flags, id, replicas, span) = (reader.u8()?, reader.number()?, reader.number()?, reader.number()?);
    reader.end()?;
    let others = (0..replicas.min(64)).filter(|other| *other != id);
    let met = others.map(|other| (other, Note::UNCOUNTED)).collect();
    let durability = durability(flags);
    Ok(DirectoryOwner { durability, id, replicas, span, sessions: 0, birth: 0, life: 1, admitted: true, met })
}

/// A directory and who lives there now: nobody else does while this is held.
#[derive(Debug)]
pub struct OwnedDirectory {
    disk: Arc<dyn Disk>,
    owner: Mutex<DirectoryOwner>,
    _locks: Vec<DiskLock>,
}

impl OwnedDirectory {
    /// Begins the next life of the owner, or the first one of `wanted`, durably.
    fn begin(disk: Arc<dyn Disk>, wanted: DirectoryOwner, locks: Vec<DiskLock>) -> Result<Self, JournalError> {
        // Read once more: another process may have lived here before the lock was taken.
        let mut owner = match Found::read(&*disk)? {
            Some(Found { version: UNCOUNTED, owner }) => {
                DirectoryOwner { birth: wanted.birth, sessions: wanted.sessions, ..owner }
            }
            Some(Found { owner, .. }) => owner,
            None => wanted,
        };
        owner.life += 1;
        owner.write(&*disk)?;
        Ok(Self { disk, owner: Mutex::new(owner), _locks: locks })
    }

    /// Returns the owner.
    #[must_use]
    pub fn owner(&self) -> DirectoryOwner {
        self.lock().clone()
    }

    /// A place for snapshots in the directory of a replica without a journal: none is needed from an earlier life.
    ///
    /// # Errors
    /// The disk fails.
    pub fn images(&self) -> Result<ImageStore, JournalError> {
        Ok(ImageStore::open(Arc::clone(&self.disk), &BTreeSet::new())?)
    }

    /// The replica has met all others, and may vote from now on. Durable when it returns.
    ///
    /// # Errors
    /// The disk fails.
    pub fn admit(&self) -> Result<(), JournalError> {
        let mut owner = self.lock();
        owner.admitted = true;
        owner.write(&*self.disk)
    }

    /// Notes whom the replica has met. Durable when it returns.
    ///
    /// # Errors
    /// The disk fails.
    pub fn note(&self, met: &Notes) -> Result<(), JournalError> {
        let mut owner = self.lock();
        owner.met.clone_from(met);
        owner.write(&*self.disk)
    }

    /// No code of others runs under the lock.
    fn lock(&self) -> MutexGuard<'_, DirectoryOwner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn locked(disk: &dyn Disk, path: &str) -> Result<DiskLock, JournalError> {
    disk.lock(path).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => JournalError::InUse { path: error.path().to_owned() },
        _ => JournalError::Disk(error),
    })
}

/// The directory of a replica with a journal, before its log is opened.
#[derive(Debug)]
pub(super) struct UnopenedDirectory {
    disk: Arc<dyn Disk>,
    wanted: DirectoryOwner,
    lock: DiskLock,
    /// Whether the directory already belongs to this replica.
    pub(super) is_known: bool,
}

impl UnopenedDirectory {
    /// Refuses what is another's. A directory without an owner has the name `birth` from then on.
    pub(super) fn find(disk: Arc<dyn Disk>, options: &Options, birth: u64) -> Result<Self, JournalError> {
        let wanted = DirectoryOwner::new(Durability::Fsync, options, birth);
        let found = Found::read(&*disk)?;
        if let Some(found) = &found {
            wanted.check(found, &*disk)?;
        }
        disk.create_dir_all("")?;
        let lock = locked(&*disk, LOCK)?;
        Ok(Self { disk, wanted, lock, is_known: found.is_some() })
    }

    /// Begins its life there.
    pub(super) fn enter(self) -> Result<OwnedDirectory, JournalError> {
        OwnedDirectory::begin(self.disk, self.wanted, vec![self.lock])
    }
}

/// Opens the data directory of a replica without a journal. It keeps its number if it has never voted in this directory;
/// otherwise it becomes a learner with the number `id + replicas`, since it has lost its promises (decision 0018). `birth`
/// names a directory that is new.
///
/// # Errors
/// The directory belongs to another replica or to one with a journal, holds another log, or is in use.
pub fn enter_without_journal(
    disk: Arc<dyn Disk>,
    options: &Options,
    birth: u64,
) -> Result<(Options, OwnedDirectory), JournalError> {
    disk.create_dir_all("")?;
    let locks = vec![locked(&*disk, LOCK)?, locked(&*disk, LOG_LOCK)?];
    let wanted = DirectoryOwner::new(Durability::Memory, options, birth);
    let mut options = options.clone();
    match Found::read(&*disk)? {
        Some(found) => {
            wanted.check(&found, &*disk)?;
            if options.votes() && found.owner.admitted {
                options.id += options.replicas;
            }
        }
        None if disk.list("")?.iter().any(|name| name == CONTROL) => return Err(JournalError::NotAJournal),
        None => {}
    }
    Ok((options, OwnedDirectory::begin(disk, wanted, locks)?))
}
