//! Sequential reader of a file, in bounded memory.

use crate::sync::Arc;
use env::{DiskError, DiskFile};

/// Bytes that are read at a time.
const READ: usize = 256 * 1024;

/// A stretch of a file in memory.
#[derive(Debug)]
pub struct Window {
    file: Arc<dyn DiskFile>,
    length: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Over all of `file`.
    pub fn new(file: Arc<dyn DiskFile>) -> Result<Self, DiskError> {
        Ok(Self { length: file.len()?, file, start: 0, bytes: Vec::new() })
    }

    /// The file's length when the window was made.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The `count` bytes at `offset`, or as many as the file has. Memory is taken for bytes that the file has, never for what
    /// a damaged length claims.
    pub fn at(&mut self, offset: u64, count: u64) -> Result<&[u8], DiskError> {
        let count = count.min(self.length.saturating_sub(offset));
        let inside = offset >= self.start && offset + count <= self.start + self.bytes.len() as u64;
        if !inside {
            self.load(offset, count)?;
        }
        let start = (offset - self.start).min(self.bytes.len() as u64) as usize;
        // Fewer than asked for if somebody has shortened the file meanwhile.
        let end = self.bytes.len().min(start + count as usize);
        Ok(&self.bytes[start..end])
    }

    fn load(&mut self, offset: u64, count: u64) -> Result<(), DiskError> {
        let wanted = count.max((READ as u64).min(self.length.saturating_sub(offset)));
        self.bytes.clear();
        self.bytes.resize(wanted as usize, 0);
        self.start = offset;
        let read = self.file.read_full_at(offset, &mut self.bytes)?;
        self.bytes.truncate(read);
        Ok(())
    }
}
