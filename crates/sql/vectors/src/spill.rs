//! Temporary files of operators that hold more than they may.
//!
//! An operator that has filled its share writes rows away: a sort writes sorted runs and merges them, groups and joins write the rows that
//! they cannot hold by a part of their key's hash, and work on one part after another. What is written is read once.

mod codec;
mod partitions;

pub(crate) use partitions::LEAST;
pub use partitions::{DEEPEST, PARTITIONS, Part, Partitions, partition};

use crate::batch::Batch;
use pgtypes::Result;
use std::sync::Arc;

/// Where temporary files are made.
pub trait TemporaryFiles: Send + Sync {
    /// Makes an empty file, which goes when it is dropped.
    ///
    /// # Errors
    /// 53100, 58030
    fn create(&self) -> Result<Box<dyn TemporaryFile>>;
}

/// A temporary file.
pub trait TemporaryFile: Send + Sync {
    /// Writes at this position, which is the end.
    ///
    /// # Errors
    /// 53100, 53400, 58030
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Reads bytes that were written.
    ///
    /// # Errors
    /// 58030
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()>;
}

/// Leave to write rows away.
#[derive(Clone)]
pub struct Spilling {
    /// Where.
    pub files: Arc<dyn TemporaryFiles>,
    /// Bytes that are held at most.
    pub bytes: usize,
}

impl Spilling {
    /// The share of one operator, if others hold so many bytes: half of the rest, so that there is something left for those to come.
    pub fn share(&self, held: usize) -> Spilling {
        Spilling { files: self.files.clone(), bytes: (self.bytes.saturating_sub(held) / 2).max(self.bytes / 16) }
    }

    /// The same for each of some parts.
    pub fn divided(&self, parts: usize) -> Spilling {
        Spilling { files: self.files.clone(), bytes: self.bytes / parts.max(1) }
    }
}

/// Batches that are made from what was written.
pub trait Stored: Send {
    /// The next batch; `None` behind the last.
    ///
    /// # Errors
    /// Errors of the file and of expressions.
    fn next(&mut self) -> Result<Option<Batch>>;
}

/// Where a batch stands in a file.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    offset: u64,
    bytes: usize,
}

/// A file of batches. It is made when the first is written.
pub struct BatchFile {
    files: Arc<dyn TemporaryFiles>,
    file: Option<Box<dyn TemporaryFile>>,
    length: u64,
    buffer: Vec<u8>,
}

impl BatchFile {
    /// An empty file.
    pub fn new(spilling: &Spilling) -> BatchFile {
        BatchFile { files: spilling.files.clone(), file: None, length: 0, buffer: Vec::new() }
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// Errors of the file; 0A000 for values that have no written form here.
    pub fn append(&mut self, batch: &Batch) -> Result<Extent> {
        self.buffer.clear();
        codec::write(batch, &mut self.buffer)?;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.files.create()?),
        };
        file.write_at(self.length, &self.buffer)?;
        let extent = Extent { offset: self.length, bytes: self.buffer.len() };
        self.length += extent.bytes as u64;
        Ok(extent)
    }

    /// Reads a batch.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn read(&self, extent: Extent) -> Result<Batch> {
        let mut bytes = vec![0; extent.bytes];
        if let Some(file) = &self.file {
            file.read_at(extent.offset, &mut bytes)?;
        }
        codec::read(&bytes)
    }
}

/// Rows of a batch that take about so many bytes, at least one.
pub fn rows_in(batch: &Batch, bytes: usize) -> usize {
    let row = (batch.bytes() / batch.rows.max(1)).max(1);
    (bytes / row).clamp(1, crate::batch::BATCH_ROWS)
}
