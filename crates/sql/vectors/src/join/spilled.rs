//! A join of sides that were written away by parts of their keys' hashes.

use super::{Builder, Built, JoinKind, NarrowJoin, Table};
use crate::batch::Batch;
use crate::keys::Keys;
use crate::spill::{Part, Partitions, Spilling, Stored};
use crate::threads::Threads;
use pgtypes::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// A join, one part of the keys after the other.
pub struct SpilledJoin {
    join: Arc<NarrowJoin>,
    spilling: Spilling,
    /// The parts of both sides, and how many times they were divided.
    parts: Vec<(Part, Part, u32)>,
    running: Option<(Arc<Table>, Batches)>,
    ready: VecDeque<Batch>,
}

type Batches = Box<dyn Iterator<Item = Result<Batch>> + Send>;

/// The probing side on its way into parts.
pub struct Probing {
    join: Arc<NarrowJoin>,
    parts: Partitions,
}

impl Probing {
    /// No rows.
    pub fn new(join: Arc<NarrowJoin>, spilling: &Spilling, level: u32) -> Probing {
        Probing { join, parts: Partitions::new(spilling, level) }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Errors of the keys, and of temporary files.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let keys = Keys::of(batch, &self.join.rule.probe)?;
        self.parts.add(batch, &(0..batch.rows as u32).collect::<Vec<_>>(), |row| keys.hash(row))
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.parts.memory()
    }
}

impl SpilledJoin {
    /// A join of the parts of the built side and of the probing side.
    ///
    /// # Errors
    /// Errors of temporary files.
    pub fn new(built: Vec<Part>, probing: Probing, spilling: Spilling) -> Result<SpilledJoin> {
        let (join, parts, ready) = (probing.join.clone(), Vec::new(), VecDeque::new());
        let mut spilled = SpilledJoin { join, spilling, parts, running: None, ready };
        spilled.divide(built, probing, 1)?;
        Ok(spilled)
    }

    fn divide(&mut self, built: Vec<Part>, probing: Probing, level: u32) -> Result<()> {
        let both = built.into_iter().zip(probing.parts.finish()?);
        // Without a row that probes there is none at all, unless built rows stay that have no partner.
        let stays = self.join.rule.marks() && self.join.rule.kind == JoinKind::Anti;
        let both = both.filter(|(_, probing)| stays || !probing.is_empty());
        self.parts.extend(both.map(|(built, probing)| (built, probing, level)));
        Ok(())
    }

    /// Builds the table of a part, or divides the part again.
    fn start(&mut self, (built, probing, level): (Part, Part, u32)) -> Result<()> {
        let mut builder = Builder::new(self.join.clone(), Some(self.spilling.clone()), level, &Arc::default());
        built.batches().try_for_each(|batch| builder.add(&batch?))?;
        match Builder::finish(&self.join, vec![builder], &Threads::one())? {
            Built::Table(table) if self.join.rule.marks() => {
                probing.batches().try_for_each(|batch| table.mark(&batch?))?;
                self.ready.extend(table.remaining());
            }
            Built::Table(table) => self.running = Some((table, Box::new(probing.batches()))),
            Built::Parts(built) => {
                let mut divided = Probing::new(self.join.clone(), &self.spilling, level);
                probing.batches().try_for_each(|batch| divided.add(&batch?))?;
                self.divide(built, divided, level + 1)?;
            }
        }
        Ok(())
    }
}

impl Stored for SpilledJoin {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if let Some((table, batches)) = &mut self.running {
                match batches.next() {
                    Some(batch) => table.probe(&batch?, &mut |batch| {
                        self.ready.push_back(batch);
                        Ok::<(), Error>(())
                    })?,
                    None => self.running = None,
                }
                continue;
            }
            let Some(part) = self.parts.pop() else { return Ok(None) };
            self.start(part)?;
        }
    }
}
