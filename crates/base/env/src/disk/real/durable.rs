//! Writes that are durable when they return, and space that can be written so without a note of the file system's own.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the system still has to be asked for durable writes in one call. Relaxed: a hint that only ever falls.
#[derive(Debug)]
pub struct OneCall(AtomicBool);

impl Default for OneCall {
    fn default() -> Self {
        Self(AtomicBool::new(cfg!(target_os = "linux")))
    }
}

impl OneCall {
    /// The system has not refused it.
    pub fn is_possible(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Writes all of `bytes` durably with `RWF_DSYNC`. `Ok(false)` if the system refuses that call: then nothing was
    /// written by the refused call, and a write and a sync of all bytes must follow.
    #[cfg(target_os = "linux")]
    pub fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        use rustix::io::{Errno, ReadWriteFlags, pwritev2};
        let mut written = 0;
        while written < bytes.len() {
            let rest = [io::IoSlice::new(&bytes[written..])];
            match pwritev2(file, &rest, offset + written as u64, ReadWriteFlags::DSYNC) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                // Kernels before 4.7, file systems and sandboxes without it.
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                    self.0.store(false, Ordering::Relaxed);
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Never.
    #[cfg(not(target_os = "linux"))]
    pub fn write(&self, _: &File, _: u64, _: &[u8]) -> io::Result<bool> {
        Ok(false)
    }
}

/// Returns whether the file system marks reserved blocks as unwritten, and commits a journal entry with the first sync
/// behind a write to each. File systems that copy on write gain nothing by zeros, and those in memory pay for them.
#[cfg(target_os = "linux")]
pub fn has_unwritten_blocks(file: &File) -> bool {
    const EXT4: u64 = 0xEF53;
    const XFS: u64 = 0x5846_5342;
    rustix::fs::fstatfs(file).is_ok_and(|system| matches!(system.f_type as u64, EXT4 | XFS))
}

/// Unknown: zeros are right everywhere.
#[cfg(not(target_os = "linux"))]
pub fn has_unwritten_blocks(_: &File) -> bool {
    true
}

/// Bytes of zeros that are written at a time, and that may be unsynced at a time: more would hold up the syncs of others.
const WRITE: usize = 256 * 1024;
const SYNC_EVERY: u64 = 4 << 20;

/// Writes zeros over the first `length` bytes of a file that has no others.
pub fn fill(file: &File, length: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let zeros = vec![0; WRITE.min(length as usize)];
    let mut end = 0;
    while end < length {
        let count = (length - end).min(WRITE as u64);
        file.write_all_at(&zeros[..count as usize], end)?;
        end += count;
        if end % SYNC_EVERY == 0 {
            file.sync_data()?;
        }
    }
    Ok(())
}
