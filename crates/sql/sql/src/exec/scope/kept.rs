//! Rows of a query of WITH as batches, for all its readers: in memory as long as the statement holds little, beyond that in a temporary
//! file.

use super::Run;
use crate::error::{Result, state};
use crate::types::{Row, Type};
use std::sync::Arc;
use vectors::Batch;
use vectors::spill::{BatchFile, Extent, Spilling};

/// Part of a statement's memory, as a divisor, up to which rows are kept in memory: the operators that read them have the rest.
pub const SHARE: usize = 4;

/// The batches so far.
#[derive(Default)]
pub struct KeptBatches {
    types: Arc<[Type]>,
    /// Each with the number of its first row.
    batches: Vec<(usize, Kept)>,
    /// Rows of all.
    rows: usize,
    file: Option<BatchFile>,
}

enum Kept {
    Held(Batch),
    Stored(Extent),
}

impl KeptBatches {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a batch of rows of these types.
    ///
    /// # Errors
    /// 53200; errors of temporary files.
    pub fn add(&mut self, batch: Batch, types: &[Type], run: &mut Run<'_, '_>) -> Result<()> {
        if self.batches.is_empty() {
            self.types = types.into();
        }
        let memory = &run.exec.memory;
        let (bytes, rows) = (batch.bytes(), batch.rows);
        let stored = match memory.used() + bytes > memory.limit() / SHARE {
            true => self.store(&batch, run)?,
            false => None,
        };
        let kept = match stored {
            Some(extent) => Kept::Stored(extent),
            None => {
                run.hold(bytes, "a query of WITH")?;
                Kept::Held(batch)
            }
        };
        self.batches.push((self.rows, kept));
        self.rows += rows;
        Ok(())
    }

    /// Writes a batch away; `None` if its values have no written form.
    fn store(&mut self, batch: &Batch, run: &Run<'_, '_>) -> Result<Option<Extent>> {
        let make = || BatchFile::new(&Spilling { files: run.exec.temporary_files(), bytes: 0 });
        match self.file.get_or_insert_with(make).append(batch) {
            Ok(extent) => Ok(Some(extent)),
            Err(error) if error.code() == state::FEATURE_NOT_SUPPORTED => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The batch that has a row, and the number of its first row; `None` behind the last.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn with_row(&self, row: usize) -> Result<Option<(usize, Batch)>> {
        if row >= self.rows {
            return Ok(None);
        }
        let place = self.batches.partition_point(|(first, _)| *first <= row).checked_sub(1);
        Ok(match (place.and_then(|place| self.batches.get(place)), &self.file) {
            (Some((first, Kept::Held(batch))), _) => Some((*first, batch.clone())),
            (Some((first, Kept::Stored(extent))), Some(file)) => Some((*first, file.read(*extent)?)),
            _ => None,
        })
    }

    /// A row of a batch.
    pub fn row(&self, batch: &Batch, row: usize) -> Row {
        batch.row(row, &self.types)
    }
}
