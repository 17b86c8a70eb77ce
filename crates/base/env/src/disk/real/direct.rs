//! Durable appends past the page cache (`O_DIRECT`): one request to the device where it takes forced writes, and neither a copy
//! into pages nor their search for what is dirty.

use crate::disk::blocks::Blocks;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a block: what devices and file systems align to, at most.
const BLOCK: usize = 4096;

/// Bytes of the largest direct write; they are copied once more.
const LARGEST: usize = 1 << 20;

/// Direct writes of one file.
#[derive(Debug, Default)]
pub struct Direct {
    /// Locked while the disk writes.
    state: Mutex<State>,
    /// Whether it is open, for who must not wait for the disk. Relaxed: for the statistics.
    is_open: AtomicBool,
}

#[derive(Debug, Default)]
enum State {
    /// Nobody has tried yet.
    #[default]
    Untried,
    /// The system has refused them, or the file system has better ways.
    Refused,
    /// The same file, opened for them.
    Open { file: File, length: u64, blocks: Blocks },
}

impl Direct {
    /// Returns whether the file is open for direct writes, none of which was refused. Waits for none that is under way.
    pub fn is_used(&self) -> bool {
        self.is_open.load(Relaxed)
    }

    /// The file's bytes are changed in another way.
    pub fn forget(&self) {
        if let State::Open { blocks, .. } = &mut *self.lock() {
            blocks.forget();
        }
    }

    /// The file's length is changed.
    pub fn close(&self) {
        let mut state = self.lock();
        if matches!(*state, State::Open { .. }) {
            self.change(&mut state, State::Untried);
        }
    }

    /// Writes all of `bytes` durably at `offset`, behind which `file` has zeros only. `Ok(false)` if that cannot be done so: then
    /// nothing was written.
    pub fn append(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        let mut state = self.lock();
        if matches!(*state, State::Untried) {
            self.change(&mut state, open(file));
        }
        let State::Open { file: direct, length, blocks } = &mut *state else { return Ok(false) };
        // A block beyond the end would make the file longer.
        if bytes.len() > LARGEST || blocks.end_of(offset, bytes.len()) > *length {
            blocks.forget();
            return Ok(false);
        }
        let read = |at, head: &mut [u8]| std::os::unix::fs::FileExt::read_exact_at(file, head, at);
        let assembled = blocks.assemble(offset, bytes, read)?;
        match write(direct, assembled.offset, assembled.bytes) {
            Ok(true) => Ok(true),
            Ok(false) => {
                self.change(&mut state, State::Refused);
                Ok(false)
            }
            Err(error) => {
                blocks.forget();
                Err(error)
            }
        }
    }

    fn change(&self, state: &mut State, to: State) {
        self.is_open.store(matches!(to, State::Open { .. }), Relaxed);
        *state = to;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What a panic has left is a state all the same: of a block that is not known, at worst.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the file once more, where its blocks are written in place: on ext4 and XFS.
#[cfg(target_os = "linux")]
fn open(file: &File) -> State {
    use rustix::fs::{Mode, OFlags};
    use std::os::fd::AsRawFd;
    if !super::durable::has_unwritten_blocks(file) {
        return State::Refused;
    }
    // By its descriptor: its name may be another by now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = rustix::fs::open(path, OFlags::WRONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty());
    match (opened, file.metadata()) {
        (Ok(opened), Ok(metadata)) => {
            State::Open { file: opened.into(), length: metadata.len(), blocks: Blocks::new(BLOCK) }
        }
        _ => State::Refused,
    }
}

/// Never.
#[cfg(not(target_os = "linux"))]
fn open(_: &File) -> State {
    State::Refused
}

/// Writes whole blocks durably. `Ok(false)` if the system refuses them, before it has written any.
#[cfg(target_os = "linux")]
fn write(file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};
    let mut written = 0;
    while written < bytes.len() {
        let rest = [io::IoSlice::new(&bytes[written..])];
        match pwritev2(file, &rest, offset + written as u64, ReadWriteFlags::DSYNC) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            // File systems and sandboxes without it, devices with larger blocks.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) if written == 0 => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Never called.
#[cfg(not(target_os = "linux"))]
fn write(_: &File, _: u64, _: &[u8]) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who asks may have a latch that the whole log waits for, and the disk may not return. Without this, the test does not either.
    #[test]
    fn who_asks_does_not_wait_for_a_write() {
        let direct = Direct::default();
        let writing = direct.lock();
        assert!(!direct.is_used());
        drop(writing);
    }
}
