//! Rows by parts of a hash.

use super::{BatchFile, Extent, Spilling, rows_in};
use crate::batch::Batch;
use crate::column::Column;
use pgtypes::{Result, interrupt};
use std::sync::Arc;

/// Parts of one level.
pub const PARTITIONS: usize = 16;
/// Levels at which rows are divided further. Rows that are still together then have equal hashes, or nearly.
pub const DEEPEST: u32 = 5;
/// A part is written when it holds so many of the share's bytes.
const CHUNKS: usize = 4 * PARTITIONS;

/// The part to which a hash belongs. Hash tables look at the other end of the hash.
pub fn partition(hash: u64, level: u32) -> usize {
    (hash >> (60 - 4 * level.min(DEEPEST))) as usize % PARTITIONS
}

/// Bytes below which a write of its own does not pay.
pub(crate) const LEAST: usize = 2 << 10;

/// Rows on their way into parts.
pub struct Partitions {
    file: BatchFile,
    level: u32,
    /// Bytes of rows of one part that are written together.
    chunk: usize,
    parts: Vec<Buffer>,
}

#[derive(Default)]
struct Buffer {
    columns: Vec<Column>,
    rows: usize,
    extents: Vec<Extent>,
}

/// The rows of one part, in the order in which they were added.
#[derive(Clone)]
pub struct Part {
    /// Where they stand, in one file or several.
    extents: Vec<(Arc<BatchFile>, Extent)>,
}

impl Partitions {
    /// No rows. Nothing is written before there are.
    pub fn new(spilling: &Spilling, level: u32) -> Partitions {
        let parts = (0..PARTITIONS).map(|_| Buffer::default()).collect();
        Partitions { file: BatchFile::new(spilling), level, chunk: (spilling.bytes / CHUNKS).max(LEAST), parts }
    }

    /// Adds these rows of a batch, each to the part of its hash.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn add(&mut self, batch: &Batch, rows: &[u32], hash: impl Fn(usize) -> u64) -> Result<()> {
        interrupt::look()?;
        let mut of: Vec<Vec<u32>> = vec![Vec::new(); PARTITIONS];
        for row in rows {
            of[partition(hash(*row as usize), self.level)].push(*row);
        }
        for (number, rows) in of.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let gathered = batch.gather(rows);
            let part = &mut self.parts[number];
            if part.rows == 0 {
                part.columns = gathered.columns.into_iter().map(Arc::unwrap_or_clone).collect();
            } else {
                part.columns.iter_mut().zip(&gathered.columns).for_each(|(known, more)| known.append(more));
            }
            part.rows += rows.len();
            if part.columns.iter().map(Column::bytes).sum::<usize>() >= self.chunk {
                part.write(&mut self.file, self.chunk)?;
            }
        }
        Ok(())
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.parts.iter().flat_map(|part| &part.columns).map(Column::bytes).sum()
    }

    /// The parts.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(mut self) -> Result<Vec<Part>> {
        for part in &mut self.parts {
            part.write(&mut self.file, self.chunk)?;
        }
        let file = Arc::new(self.file);
        let of_file = |part: Buffer| part.extents.into_iter().map(|extent| (file.clone(), extent)).collect();
        Ok(self.parts.into_iter().map(|part| Part { extents: of_file(part) }).collect())
    }
}

impl Buffer {
    fn write(&mut self, file: &mut BatchFile, chunk: usize) -> Result<()> {
        let batch = Batch::new(std::mem::take(&mut self.rows), std::mem::take(&mut self.columns));
        // One value may be longer than the rows that fit.
        let rows = rows_in(&batch, chunk);
        for start in (0..batch.rows).step_by(rows) {
            let end = (start + rows).min(batch.rows);
            let written = match (start, end) {
                (0, end) if end == batch.rows => file.append(&batch)?,
                _ => file.append(&batch.gather(&(start as u32..end as u32).collect::<Vec<_>>()))?,
            };
            self.extents.push(written);
        }
        Ok(())
    }
}

impl Part {
    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// Adds the rows of another part behind these.
    pub fn append(&mut self, other: Part) {
        self.extents.extend(other.extents);
    }

    /// The rows.
    pub fn batches(self) -> impl Iterator<Item = Result<Batch>> + Send {
        self.extents.into_iter().map(|(file, extent)| {
            interrupt::look()?;
            file.read(extent)
        })
    }
}
