//! A disk in memory that tracks which bytes and names are durable, and what else may survive a power cut.

use super::blocks::Blocks;
use super::{Disk, DiskError, DiskFile, DiskLock, DurableWrites, Operation};
use crate::random::Randomness;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a disk writes as one: a torn write tears between sectors, or anywhere if the write is smaller.
const SECTOR: usize = 512;

/// Bytes of a block of direct writes: few, so that small files have several.
const BLOCK: usize = 256;

/// Share of the unsynced data that survives a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Survival {
    /// Each unsynced write and each unsynced name, by itself and by the seed: all of it, a part, or nothing.
    #[default]
    Random,
    /// Nothing but what was synced: the least that a disk may keep.
    SyncedOnly,
    /// Everything: what the death of the process alone leaves (the operating system keeps the page cache).
    Everything,
}

/// Options of a [`SimDisk`].
#[derive(Clone, Copy, Debug)]
pub struct SimDiskOptions {
    /// Bytes that all files together may hold; beyond, writes and reservations fail as on a full disk. Default: no limit.
    pub capacity: u64,
    /// Survival rule of [`SimDisk::power_cut`]. Default: [`Survival::Random`].
    pub survival: Survival,
    /// Whether reads return fewer bytes than requested, decided by the seed. Default: no.
    pub short_reads: bool,
    /// How durable writes work: a write and a sync, or one operation with faults and cuts of its own, which makes nothing
    /// durable but its own bytes; direct ones write whole blocks where they append. Default: a write and a sync.
    pub durable_writes: DurableWrites,
}

impl Default for SimDiskOptions {
    fn default() -> Self {
        Self { capacity: u64::MAX, survival: Survival::Random, short_reads: false, durable_writes: DurableWrites::Sync }
    }
}

/// An error to come.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Which operation will fail.
    pub operation: Operation,
    /// Number of operations that still succeed first.
    pub after: u64,
    /// With what error.
    pub kind: io::ErrorKind,
}

/// Number of calls of each operation, failed calls included.
pub type OperationCounts = BTreeMap<Operation, u64>;

/// A simulated disk. Clones are the same disk. All that happens follows from the seed and the order of the calls.
///
/// Operations that change something (everything but opening, listing, reading, measuring and locking) are numbered from
/// zero, so that a test can cut the power at each of them: [`cut_power_at`](Self::cut_power_at), then
/// [`power_cut`](Self::power_cut) for the disk as it is found after the reboot.
#[derive(Clone, Debug)]
pub struct SimDisk {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    options: SimDiskOptions,
    randomness: Randomness,
    inodes: Vec<Inode>,
    /// Names as programs see them.
    names: BTreeMap<String, usize>,
    /// Names as they are on the disk for certain.
    durable_names: BTreeMap<String, usize>,
    /// Name changes since the last sync of their directory, oldest first.
    name_changes: Vec<NameChange>,
    directories: BTreeSet<String>,
    locks: BTreeSet<String>,
    faults: Vec<Fault>,
    counts: OperationCounts,
    changes: u64,
    cut_at: Option<u64>,
    powered: bool,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    /// Bytes as programs see them (the page cache).
    current: Vec<u8>,
    /// Bytes as they are on the disk for certain.
    durable: Vec<u8>,
    /// Changes since the last sync, oldest first.
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLength(usize),
    Extend(usize),
}

#[derive(Clone, Debug)]
enum NameChange {
    Link { name: String, inode: usize },
    Unlink { name: String },
    Rename { from: String, to: String, inode: usize },
}

impl SimDisk {
    /// An empty disk with a root directory.
    #[must_use]
    pub fn new(seed: u64, options: SimDiskOptions) -> Self {
        Self::with_state(State {
            options,
            randomness: Randomness::from_seed(seed),
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            name_changes: Vec::new(),
            directories: BTreeSet::from([String::new()]),
            locks: BTreeSet::new(),
            faults: Vec::new(),
            counts: OperationCounts::new(),
            changes: 0,
            cut_at: None,
            powered: true,
        })
    }

    fn with_state(state: State) -> Self {
        Self { shared: Arc::new(Mutex::new(state)) }
    }

    /// The disk as it is found when the power comes back after being cut now, by the survival that the options name. This
    /// disk itself goes on unharmed. No fault, cut or lock is inherited.
    #[must_use]
    pub fn power_cut(&self) -> Self {
        let survival = self.lock_state().options.survival;
        self.power_cut_with(survival)
    }

    /// The same, with a survival of one's own.
    #[must_use]
    pub fn power_cut_with(&self, survival: Survival) -> Self {
        let mut state = self.lock_state();
        let mut randomness = state.randomness.fork();
        let names = state.surviving_names(survival, &mut randomness);
        let inodes: Vec<Inode> = state.inodes.iter().map(|inode| inode.survivor(survival, &mut randomness)).collect();
        Self::with_state(State {
            options: state.options,
            randomness,
            inodes,
            durable_names: names.clone(),
            names,
            name_changes: Vec::new(),
            directories: state.directories.clone(),
            locks: BTreeSet::new(),
            faults: Vec::new(),
            counts: OperationCounts::new(),
            changes: 0,
            cut_at: None,
            powered: true,
        })
    }

    /// A byte-for-byte copy of everything, as if all had been synced: the start of many experiments on one state.
    #[must_use]
    pub fn copy(&self) -> Self {
        self.power_cut_with(Survival::Everything)
    }

    /// The power goes in the middle of the change number `change` (counted from zero since the disk was made): that change
    /// is begun and, like all unsynced ones, survives or not; it and every later call fails.
    pub fn cut_power_at(&self, change: u64) {
        self.lock_state().cut_at = Some(change);
    }

    /// Returns the number of calls of operations that change something.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.lock_state().changes
    }

    /// Returns the number of calls of each operation.
    #[must_use]
    pub fn counts(&self) -> OperationCounts {
        self.lock_state().counts.clone()
    }

    /// Makes one operation fail, once. A failing sync loses, by the seed, some of the unsynced writes for good, although
    /// reads still show them and the next sync succeeds; a failing write may have written a part.
    pub fn inject(&self, fault: Fault) {
        self.lock_state().faults.push(fault);
    }

    /// Faults that have not struck yet never will.
    pub fn forget_faults(&self) {
        self.lock_state().faults.clear();
    }

    /// Changes how many bytes all files together may hold.
    pub fn set_capacity(&self, bytes: u64) {
        self.lock_state().options.capacity = bytes;
    }

    /// Bytes that all files hold.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.lock_state().used()
    }

    /// Flips one bit of a file, as a decaying medium does: in what programs see and in what is durable.
    ///
    /// # Panics
    /// If there is no such byte: a test that damages nothing must not pass.
    pub fn flip_bit(&self, path: &str, offset: u64, bit: u8) {
        self.edit(path, |bytes| bytes[offset as usize] ^= 1 << bit);
    }

    /// Changes a file's bytes behind everybody's back, in what programs see and in what is durable: for damage that
    /// [`flip_bit`](Self::flip_bit) cannot express.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn edit(&self, path: &str, change: impl Fn(&mut Vec<u8>)) {
        let mut state = self.lock_state();
        let inode = *state.names.get(path).expect("the file to damage exists");
        let inode = &mut state.inodes[inode];
        let same = inode.pending.is_empty();
        change(&mut inode.current);
        if same {
            inode.durable.clone_from(&inode.current);
        } else {
            change(&mut inode.durable);
        }
    }

    /// A file's bytes as programs see them; `None` if there is no such file.
    #[must_use]
    pub fn contents(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.lock_state();
        state.names.get(path).map(|inode| state.inodes[*inode].current.clone())
    }

    /// All paths of files, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.lock_state().names.keys().cloned().collect()
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        // A panic of a test under the lock has already failed the test; others may still report.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, path: &str, inode: usize) -> Box<dyn DiskFile> {
        let blocks = Mutex::new(Blocks::new(BLOCK));
        Box::new(SimFile { disk: self.clone(), path: path.to_owned(), inode, blocks })
    }
}

/// Outcome of a call after power cuts and faults are applied.
enum Fate {
    Proceed,
    /// The call takes effect as an unsynced change, but fails.
    Interrupted(io::Error),
}

impl State {
    /// Counts the call. An error means that it has no effect at all.
    fn enter(&mut self, operation: Operation) -> io::Result<Fate> {
        if !self.powered {
            return Err(io::Error::other("the power is off"));
        }
        *self.counts.entry(operation).or_default() += 1;
        if changes_something(operation) {
            let number = self.changes;
            self.changes += 1;
            if self.cut_at == Some(number) {
                self.powered = false;
                return Ok(Fate::Interrupted(io::Error::other("the power was cut")));
            }
        }
        Ok(match self.next_fault(operation) {
            Some(kind) => Fate::Interrupted(kind.into()),
            None => Fate::Proceed,
        })
    }

    fn next_fault(&mut self, operation: Operation) -> Option<io::ErrorKind> {
        let mut struck = None;
        self.faults.retain_mut(|fault| {
            if fault.operation != operation || struck.is_some() {
                return true;
            }
            if fault.after > 0 {
                fault.after -= 1;
                return true;
            }
            struck = Some(fault.kind);
            false
        });
        struck
    }

    /// For operations that change nothing: an interrupted one is simply an error.
    fn look(&mut self, operation: Operation) -> io::Result<()> {
        match self.enter(operation)? {
            Fate::Proceed => Ok(()),
            Fate::Interrupted(error) => Err(error),
        }
    }

    fn used(&self) -> u64 {
        let linked: BTreeSet<usize> = self.names.values().copied().collect();
        linked.iter().map(|inode| self.inodes[*inode].current.len() as u64).sum()
    }

    /// Fails as a full disk does if a file may not grow to `length`.
    fn check_space(&self, inode: usize, length: usize) -> io::Result<()> {
        let growth = length.saturating_sub(self.inodes[inode].current.len()) as u64;
        if growth > 0 && self.used().saturating_add(growth) > self.options.capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    /// What a failed sync does: some of the unsynced changes are lost for good, although reads still show them.
    fn lose_unsynced(&mut self, inode: usize) {
        let mut randomness = self.randomness.fork();
        self.inodes[inode].pending.retain(|_| randomness.chance(1, 2));
    }

    fn find(&self, path: &str) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn check_directory(&self, directory: &str) -> io::Result<()> {
        if self.directories.contains(directory) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn surviving_names(&self, survival: Survival, randomness: &mut Randomness) -> BTreeMap<String, usize> {
        let mut names = self.durable_names.clone();
        for change in &self.name_changes {
            let kept = match survival {
                Survival::Random => randomness.chance(1, 2),
                Survival::SyncedOnly => false,
                Survival::Everything => true,
            };
            if kept {
                change.apply(&mut names);
            }
        }
        names
    }
}

fn changes_something(operation: Operation) -> bool {
    use Operation::{Length, List, Lock, Open, Read};
    !matches!(operation, Open | List | Read | Length | Lock)
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Link { name, inode } => {
                names.insert(name.clone(), *inode);
            }
            Self::Unlink { name } => {
                names.remove(name);
            }
            Self::Rename { from, to, inode } => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
        }
    }

    fn is_in(&self, directory: &str) -> bool {
        let (Self::Link { name, .. } | Self::Unlink { name } | Self::Rename { to: name, .. }) = self;
        parent(name) == directory
    }
}

impl Inode {
    /// Survival rule of a power cut.
    fn survivor(&self, survival: Survival, randomness: &mut Randomness) -> Self {
        let mut bytes = self.durable.clone();
        for change in &self.pending {
            match survival {
                Survival::Random => change.apply_in_part(&mut bytes, randomness),
                Survival::SyncedOnly => {}
                Survival::Everything => change.apply(&mut bytes),
            }
        }
        if survival == Survival::Everything {
            // Also what a failed sync has thrown away for good on the medium: the page cache still shows it.
            bytes.clone_from(&self.current);
        }
        Self { current: bytes.clone(), durable: bytes, pending: Vec::new() }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.pending.push(change);
    }

    fn make_durable(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Writes so that these bytes are durable. Of the changes before, those go with it that it cannot do without: of the
    /// file's length, and of the same bytes.
    fn write_durably(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        let is_needed = |change: &Change| match change {
            Change::Write { offset: start, bytes } => *start < end && offset < start + bytes.len(),
            Change::SetLength(_) | Change::Extend(_) => true,
        };
        // All up to the last that is needed, so that what is durable is a state that was there.
        let needed = self.pending.iter().rposition(is_needed).map_or(0, |last| last + 1);
        for change in self.pending.drain(..needed) {
            change.apply(&mut self.durable);
        }
        let write = Change::Write { offset, bytes: bytes.to_vec() };
        write.apply(&mut self.current);
        write.apply(&mut self.durable);
    }
}

impl Change {
    fn apply(&self, target: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if target.len() < end {
                    target.resize(end, 0);
                }
                target[*offset..end].copy_from_slice(bytes);
            }
            Self::SetLength(length) => target.resize(*length, 0),
            Self::Extend(length) => target.resize(target.len().max(*length), 0),
        }
    }

    /// Applies all of the change, nothing, or for a write any of its parts.
    fn apply_in_part(&self, target: &mut Vec<u8>, randomness: &mut Randomness) {
        match (randomness.in_range(0..4), self) {
            (0, _) => {}
            (1, _) => self.apply(target),
            (2, Self::Write { offset, bytes }) => {
                let kept = randomness.in_range(0..bytes.len() as u64 + 1) as usize;
                Self::Write { offset: *offset, bytes: bytes[..kept].to_vec() }.apply(target);
            }
            (_, Self::Write { offset, bytes }) => {
                let mut start = 0;
                while start < bytes.len() {
                    let end = bytes.len().min((offset + start + SECTOR) / SECTOR * SECTOR - offset);
                    if randomness.chance(1, 2) {
                        Self::Write { offset: offset + start, bytes: bytes[start..end].to_vec() }.apply(target);
                    }
                    start = end;
                }
            }
            (choice, _) => {
                if choice == 2 {
                    self.apply(target);
                }
            }
        }
    }
}

/// The directory of `path`.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn failed(operation: Operation, path: &str) -> impl Fn(io::Error) -> DiskError {
    move |error| DiskError::new(operation, path, error)
}

/// The result of an operation that has taken effect: an interrupted one is an error all the same.
fn outcome(fate: Fate) -> io::Result<()> {
    match fate {
        Fate::Proceed => Ok(()),
        Fate::Interrupted(error) => Err(error),
    }
}

impl Disk for SimDisk {
    fn create_new(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        let mut state = self.lock_state();
        let mut create = || -> io::Result<usize> {
            let fate = state.enter(Operation::Create)?;
            state.check_directory(parent(path))?;
            if state.names.contains_key(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let inode = state.inodes.len();
            state.inodes.push(Inode::default());
            state.names.insert(path.to_owned(), inode);
            state.name_changes.push(NameChange::Link { name: path.to_owned(), inode });
            outcome(fate).map(|()| inode)
        };
        create().map(|inode| self.file(path, inode)).map_err(failed(Operation::Create, path))
    }

    fn open(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        let mut state = self.lock_state();
        let inode = state.look(Operation::Open).and_then(|()| state.find(path));
        inode.map(|inode| self.file(path, inode)).map_err(failed(Operation::Open, path))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        let mut state = self.lock_state();
        let looked = state.look(Operation::List).and_then(|()| state.check_directory(directory));
        looked.map_err(failed(Operation::List, directory))?;
        let directories = state.directories.iter().filter(|path| !path.is_empty());
        let inside = state.names.keys().chain(directories).filter(|path| parent(path) == directory);
        let names: BTreeSet<String> =
            inside.map(|path| path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name).to_owned()).collect();
        Ok(names.into_iter().collect())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut state = self.lock_state();
        let mut rename = || -> io::Result<()> {
            let fate = state.enter(Operation::Rename)?;
            if parent(from) != parent(to) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let inode = state.find(from)?;
            let change = NameChange::Rename { from: from.to_owned(), to: to.to_owned(), inode };
            change.apply(&mut state.names);
            state.name_changes.push(change);
            outcome(fate)
        };
        rename().map_err(failed(Operation::Rename, from))
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        let mut state = self.lock_state();
        let mut remove = || -> io::Result<()> {
            let fate = state.enter(Operation::Remove)?;
            state.find(path)?;
            let change = NameChange::Unlink { name: path.to_owned() };
            change.apply(&mut state.names);
            state.name_changes.push(change);
            outcome(fate)
        };
        remove().map_err(failed(Operation::Remove, path))
    }

    fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        let mut state = self.lock_state();
        let fate = state.enter(Operation::CreateDirectory).map_err(failed(Operation::CreateDirectory, path))?;
        // Durable at once, as the contract says; one cut in the middle leaves a directory or none, which is the same to
        // whoever creates it again.
        let mut prefix = path;
        while !prefix.is_empty() {
            state.directories.insert(prefix.to_owned());
            prefix = parent(prefix);
        }
        outcome(fate).map_err(failed(Operation::CreateDirectory, path))
    }

    fn sync_dir(&self, directory: &str) -> Result<(), DiskError> {
        let mut state = self.lock_state();
        let mut sync = || -> io::Result<()> {
            let fate = state.enter(Operation::SyncDirectory)?;
            state.check_directory(directory)?;
            outcome(fate)?;
            let changes = std::mem::take(&mut state.name_changes);
            let (synced, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.is_in(directory));
            state.name_changes = others;
            synced.iter().for_each(|change| change.apply(&mut state.durable_names));
            Ok(())
        };
        sync().map_err(failed(Operation::SyncDirectory, directory))
    }

    fn lock(&self, path: &str) -> Result<DiskLock, DiskError> {
        let mut state = self.lock_state();
        let mut lock = || -> io::Result<()> {
            state.look(Operation::Lock)?;
            state.check_directory(parent(path))?;
            if !state.locks.insert(path.to_owned()) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            if !state.names.contains_key(path) {
                let inode = state.inodes.len();
                state.inodes.push(Inode::default());
                state.names.insert(path.to_owned(), inode);
                state.name_changes.push(NameChange::Link { name: path.to_owned(), inode });
            }
            Ok(())
        };
        lock().map_err(failed(Operation::Lock, path))?;
        Ok(DiskLock::new(SimLock { disk: self.clone(), path: path.to_owned() }))
    }
}

/// Gives the lock back when dropped.
struct SimLock {
    disk: SimDisk,
    path: String,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.lock_state().locks.remove(&self.path);
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    path: String,
    inode: usize,
    blocks: Mutex<Blocks>,
}

impl SimFile {
    /// The blocks of direct appends. Taken before the disk's state.
    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A durable write as one operation.
    fn write_in_one_call(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let mut state = self.disk.lock_state();
        let mut write = || -> io::Result<()> {
            let fate = state.enter(Operation::WriteDurable)?;
            let offset = to_index(offset)?;
            state.check_space(self.inode, offset + bytes.len())?;
            match fate {
                Fate::Proceed => state.inodes[self.inode].write_durably(offset, bytes),
                // As of a write that was not synced: all of it may be seen, any part of it survives.
                Fate::Interrupted(error) => {
                    let inode = self.inode;
                    state.inodes[inode].change(Change::Write { offset, bytes: bytes.to_vec() });
                    if state.powered {
                        state.lose_unsynced(inode);
                    }
                    return Err(error);
                }
            }
            Ok(())
        };
        write().map_err(self.failed(Operation::WriteDurable))
    }

    /// Length of the file; asserts that it has zeros only from `offset` on, as whoever appends promises.
    fn length_of_zeros_from(&self, offset: u64) -> u64 {
        let state = self.disk.lock_state();
        let bytes = &state.inodes[self.inode].current;
        let rest = bytes.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
        assert!(rest.iter().all(|byte| *byte == 0), "{}: what is appended has zeros behind it", self.path);
        bytes.len() as u64
    }

    fn failed(&self, operation: Operation) -> impl Fn(io::Error) -> DiskError + '_ {
        failed(operation, &self.path)
    }

    /// A change of the file's length, which takes effect even if interrupted.
    fn resize(&self, operation: Operation, change: Change, length: u64) -> Result<(), DiskError> {
        let mut state = self.disk.lock_state();
        let mut resize = || -> io::Result<()> {
            let fate = state.enter(operation)?;
            state.check_space(self.inode, to_index(length)?)?;
            state.inodes[self.inode].change(change.clone());
            outcome(fate)
        };
        resize().map_err(self.failed(operation))
    }
}

fn to_index(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

impl DiskFile for SimFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let mut state = self.disk.lock_state();
        state.look(Operation::Read).map_err(self.failed(Operation::Read))?;
        let short = state.options.short_reads;
        let length = state.inodes[self.inode].current.len();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(length);
        let mut count = buffer.len().min(length - start);
        if short && count > 1 {
            count = state.randomness.in_range(1..count as u64 + 1) as usize;
        }
        buffer[..count].copy_from_slice(&state.inodes[self.inode].current[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.blocks().forget();
        let mut state = self.disk.lock_state();
        let mut write = || -> io::Result<()> {
            let fate = state.enter(Operation::Write)?;
            let offset = to_index(offset)?;
            state.check_space(self.inode, offset + bytes.len())?;
            let written = match (&fate, state.powered) {
                // An error of the disk may leave a part; a cut decides later, like for every unsynced write.
                (Fate::Interrupted(_), true) => state.randomness.in_range(0..bytes.len() as u64 + 1) as usize,
                _ => bytes.len(),
            };
            state.inodes[self.inode].change(Change::Write { offset, bytes: bytes[..written].to_vec() });
            outcome(fate)
        };
        write().map_err(self.failed(Operation::Write))
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.blocks().forget();
        if self.durable_writes() == DurableWrites::Sync {
            self.write_at(offset, bytes)?;
            return self.sync();
        }
        self.write_in_one_call(offset, bytes)
    }

    fn append_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let length = self.length_of_zeros_from(offset);
        let mut blocks = self.blocks();
        if self.durable_writes() != DurableWrites::Direct || blocks.end_of(offset, bytes.len()) > length {
            drop(blocks);
            return self.write_durable_at(offset, bytes);
        }
        let read = |at, head: &mut [u8]| self.read_full_at(at, head).map(drop);
        let assembled = blocks.assemble(offset, bytes, read)?;
        let written = self.write_in_one_call(assembled.offset, assembled.bytes);
        written.inspect_err(|_| blocks.forget())
    }

    fn durable_writes(&self) -> DurableWrites {
        self.disk.lock_state().options.durable_writes
    }

    fn sync(&self) -> Result<(), DiskError> {
        let mut state = self.disk.lock_state();
        let fate = state.enter(Operation::Sync).map_err(self.failed(Operation::Sync))?;
        match fate {
            Fate::Proceed => state.inodes[self.inode].make_durable(),
            Fate::Interrupted(error) => {
                if state.powered {
                    state.lose_unsynced(self.inode);
                }
                return Err(self.failed(Operation::Sync)(error));
            }
        }
        Ok(())
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        self.resize(Operation::Allocate, Change::Extend(usize::try_from(length).unwrap_or(usize::MAX)), length)
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.resize(Operation::Truncate, Change::SetLength(usize::try_from(length).unwrap_or(usize::MAX)), length)
    }

    fn len(&self) -> Result<u64, DiskError> {
        let mut state = self.disk.lock_state();
        state.look(Operation::Length).map_err(self.failed(Operation::Length))?;
        Ok(state.inodes[self.inode].current.len() as u64)
    }
}
