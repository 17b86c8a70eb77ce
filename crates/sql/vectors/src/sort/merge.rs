//! Sorted runs in a file, and their merge.

use super::{SortKey, compare_key};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::spill::{BatchFile, Extent, LEAST, Spilling, Stored, rows_in};
use pgtypes::{Result, interrupt};
use std::cmp::Ordering;
use std::sync::Arc;

/// Runs that are merged at once. Of more, groups are merged first.
const TOGETHER: usize = 16;

/// Runs of sorted rows: the input's columns, then the keys.
pub struct Runs {
    spilling: Spilling,
    file: BatchFile,
    runs: Vec<Vec<Extent>>,
}

impl Runs {
    /// No runs.
    pub fn new(spilling: Spilling) -> Runs {
        Runs { file: BatchFile::new(&spilling), spilling, runs: Vec::new() }
    }

    /// Bytes that the sort may hold.
    pub fn share(&self) -> usize {
        self.spilling.bytes
    }

    /// Returns whether there is a run.
    pub fn has_rows(&self) -> bool {
        !self.runs.is_empty()
    }

    /// Bytes of a run's rows that are written together: a merge holds so many of each run.
    fn chunk(&self) -> usize {
        (self.spilling.bytes / (2 * TOGETHER)).max(LEAST)
    }

    /// Writes a run: the rows of a batch in this order.
    pub fn write(&mut self, rows: &Batch, order: &[u32]) -> Result<()> {
        let mut run = Vec::new();
        for part in order.chunks(rows_in(rows, self.chunk())) {
            interrupt::look()?;
            run.push(self.file.append(&rows.gather(part))?);
        }
        if !run.is_empty() {
            self.runs.push(run);
        }
        Ok(())
    }

    /// The rows of all runs, of these and of others, in order and without their keys.
    pub fn merged(
        self,
        others: Vec<Runs>,
        keys: Arc<Vec<SortKey>>,
        width: usize,
        bound: Option<usize>,
    ) -> Result<Merge> {
        let (spilling, whole) = (self.spilling.clone(), width + keys.len());
        let mut all: Vec<Written> = [self].into_iter().chain(others).flat_map(Runs::written).collect();
        while all.len() > TOGETHER {
            let mut longer = Runs::new(spilling.clone());
            for runs in all.chunks(TOGETHER) {
                let mut merge = Merge::new(runs.to_vec(), keys.clone(), (width, whole), bound)?;
                let mut run = Vec::new();
                while let Some(batch) = merge.next()? {
                    let rows = rows_in(&batch, longer.chunk());
                    for start in (0..batch.rows).step_by(rows) {
                        let end = (start + rows).min(batch.rows);
                        run.push(longer.file.append(&batch.gather(&(start as u32..end as u32).collect::<Vec<_>>()))?);
                    }
                }
                longer.runs.push(run);
            }
            all = longer.written();
        }
        Merge::new(all, keys, (width, width), bound)
    }

    fn written(self) -> Vec<Written> {
        let file = Arc::new(self.file);
        self.runs.into_iter().map(|run| (file.clone(), run)).collect()
    }
}

/// A run, and the file that it is in.
type Written = (Arc<BatchFile>, Vec<Extent>);

/// A merge of runs. Of equal rows, those of an earlier run come first.
pub struct Merge {
    keys: Arc<Vec<SortKey>>,
    /// Columns before the keys.
    width: usize,
    /// Columns that are wanted.
    wanted: usize,
    left: usize,
    runs: Vec<Run>,
    /// The runs that have rows, by their next row.
    order: Vec<usize>,
}

struct Run {
    file: Arc<BatchFile>,
    extents: std::vec::IntoIter<Extent>,
    batch: Batch,
    at: usize,
}

impl Merge {
    fn new(
        runs: Vec<Written>,
        keys: Arc<Vec<SortKey>>,
        (width, wanted): (usize, usize),
        bound: Option<usize>,
    ) -> Result<Merge> {
        let run = |(file, extents): Written| Run { file, extents: extents.into_iter(), batch: Batch::default(), at: 0 };
        let runs: Vec<Run> = runs.into_iter().map(run).collect();
        let left = bound.unwrap_or(usize::MAX);
        let mut merge = Merge { keys, width, wanted, left, order: Vec::with_capacity(runs.len()), runs };
        for number in 0..merge.runs.len() {
            if merge.load(number)? {
                merge.place(number);
            }
        }
        Ok(merge)
    }

    /// Reads the next batch of a run; `false` behind the last.
    fn load(&mut self, number: usize) -> Result<bool> {
        interrupt::look()?;
        let run = &mut self.runs[number];
        let Some(extent) = run.extents.next() else { return Ok(false) };
        (run.batch, run.at) = (run.file.read(extent)?, 0);
        Ok(true)
    }

    /// Puts a run among the others, by its next row.
    fn place(&mut self, number: usize) {
        let is_before = |other: &usize| self.compare(*other, number).then(other.cmp(&number)).is_lt();
        let at = self.order.partition_point(is_before);
        self.order.insert(at, number);
    }

    fn compare(&self, left: usize, right: usize) -> Ordering {
        let (left, right) = (&self.runs[left], &self.runs[right]);
        let mut orders = self.keys.iter().zip(self.width..).map(|(key, at)| {
            compare_key(key, (&left.batch.columns[at], left.at), (&right.batch.columns[at], right.at))
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Copies rows of the runs' batches side by side.
    fn gather(&self, picked: &[(usize, usize)]) -> Batch {
        let first = &self.runs[picked[0].0].batch;
        let columns = (0..self.wanted).map(|at| {
            let mut column = Column { data: first.columns[at].data.emptied(), nulls: None };
            for (run, row) in picked {
                column.push_from(&self.runs[*run].batch.columns[at], *row);
            }
            column
        });
        Batch::new(picked.len(), columns)
    }
}

impl Stored for Merge {
    fn next(&mut self) -> Result<Option<Batch>> {
        let (mut picked, mut ended) = (Vec::new(), None);
        while picked.len() < BATCH_ROWS.min(self.left)
            && ended.is_none()
            && let Some(&number) = self.order.first()
        {
            let run = &mut self.runs[number];
            picked.push((number, run.at));
            run.at += 1;
            self.order.remove(0);
            if run.at < run.batch.rows {
                self.place(number);
            } else {
                ended = Some(number);
            }
        }
        if picked.is_empty() {
            return Ok(None);
        }
        self.left -= picked.len();
        let batch = self.gather(&picked);
        // The rows of a batch that has ended were still to be copied.
        if let Some(number) = ended
            && self.load(number)?
        {
            self.place(number);
        }
        Ok(Some(batch))
    }
}
