//! Building a join's table: threads gather rows and their keys, then make the table together.

use super::{Chains, JoinKind, KeyPart, NarrowJoin, Table, part_of};
use crate::batch::Batch;
use crate::column::{ABSENT, Column};
use crate::keys::Keys;
use crate::spill::{DEEPEST, Part, Partitions, Spilling};
use crate::threads::Threads;
use pgtypes::{Result, interrupt};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// Rows for which a table is made by several threads.
const WORTH_THREADS: usize = 1 << 17;
/// Threads that make one table, at most.
const MOST: usize = 16;

/// Rows on their way into a table, in the order in which they came.
pub struct Builder {
    join: Arc<NarrowJoin>,
    chunks: Vec<(Batch, Keys)>,
    bytes: usize,
    rows: usize,
    spilling: Option<Spilling>,
    level: u32,
    /// All rows, where they do not fit.
    parts: Option<Partitions>,
    /// Number of builders of the same table, which share what may be held.
    sharing: Arc<AtomicUsize>,
}

/// All rows of the built side.
pub enum Built {
    /// In a table.
    Table(Arc<Table>),
    /// By parts of the keys' hashes.
    Parts(Vec<Part>),
}

impl Builder {
    /// No rows, of some that were divided so many times. `sharing` counts the builders of the table.
    pub fn new(join: Arc<NarrowJoin>, spilling: Option<Spilling>, level: u32, sharing: &Arc<AtomicUsize>) -> Builder {
        // Relaxed, here and below: a number that orders nothing.
        sharing.fetch_add(1, Relaxed);
        let sharing = sharing.clone();
        Builder { join, chunks: Vec::new(), bytes: 0, rows: 0, spilling, level, parts: None, sharing }
    }

    /// Adds rows. Those with NULL in their keys have no partner: no key of the other side equals theirs.
    ///
    /// # Errors
    /// Errors of the keys, and of temporary files.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let (mut keys, mut batch) = (Keys::of(batch, &self.join.rule.build)?, batch.clone());
        if self.join.rule.kind.is_null_aware() {
            self.join.seen.note(&keys);
        }
        // A row that nothing is equal to has no partner, and stays in an anti-join.
        let stays = self.join.rule.marks() && self.join.rule.kind == JoinKind::Anti;
        let kept: Vec<u32> = (0..batch.rows as u32).filter(|row| stays || !keys.has_null(*row as usize)).collect();
        if kept.is_empty() {
            return Ok(());
        }
        if kept.len() < batch.rows {
            batch = batch.gather(&kept);
            keys = Keys::of(&batch, &self.join.rule.build)?;
        }
        if let Some(parts) = &mut self.parts {
            return parts.add(&batch, &all(&batch), |row| keys.hash(row));
        }
        // With its place in the table's slots and chains.
        self.bytes += batch.bytes() + batch.rows * 24;
        self.rows += batch.rows;
        self.chunks.push((batch, keys));
        match &self.spilling {
            Some(spilling)
                if self.bytes > spilling.bytes / self.sharing.load(Relaxed).max(1) && self.level < DEEPEST =>
            {
                self.write_away()
            }
            _ => Ok(()),
        }
    }

    /// Writes away the rows so far.
    fn write_away(&mut self) -> Result<()> {
        let Some(spilling) = &self.spilling else { return Ok(()) };
        let parts = self.parts.get_or_insert_with(|| Partitions::new(spilling, self.level));
        self.bytes = 0;
        for (batch, keys) in self.chunks.drain(..) {
            parts.add(&batch, &all(&batch), |row| keys.hash(row))?;
        }
        Ok(())
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.parts.as_ref().map_or(0, Partitions::memory) + self.bytes
    }

    /// The rows of all builders of a table.
    ///
    /// # Errors
    /// 57014 and its kin; errors of temporary files.
    pub fn finish(join: &Arc<NarrowJoin>, mut all: Vec<Builder>, threads: &Threads) -> Result<Built> {
        if all.iter().all(|builder| builder.parts.is_none()) {
            let chunks = all.into_iter().flat_map(|builder| builder.chunks).collect::<Vec<_>>();
            return Ok(Built::Table(Arc::new(table(join, &chunks, threads)?)));
        }
        let mut parts: Vec<Part> = Vec::new();
        for builder in &mut all {
            builder.write_away()?;
            let Some(own) = builder.parts.take() else { continue };
            for (number, part) in own.finish()?.into_iter().enumerate() {
                match parts.get_mut(number) {
                    Some(known) => known.append(part),
                    None => parts.push(part),
                }
            }
        }
        Ok(Built::Parts(parts))
    }
}

fn all(batch: &Batch) -> Vec<u32> {
    (0..batch.rows as u32).collect()
}

/// The table of all rows.
fn table(join: &Arc<NarrowJoin>, chunks: &[(Batch, Keys)], threads: &Threads) -> Result<Table> {
    let rows: usize = chunks.iter().map(|(batch, _)| batch.rows).sum();
    let count = if rows < WORTH_THREADS { 1 } else { threads.count.clamp(1, MOST).next_power_of_two() };
    let width = join.rule.built.len();
    let column = |at: usize| {
        let mut column = Column::new(join.rule.built[at]);
        // Of the keys the table has a form of its own.
        let chunks = if join.reads_built(at) { chunks } else { &[] };
        chunks.iter().for_each(|(batch, _)| column.append(&batch.columns[at]));
        Ok(Arc::new(column))
    };
    let threads = &Threads { count: threads.count.min(count), ..threads.clone() };
    let columns = together(width, threads, &column)?;
    let part = |number: usize| key_part(chunks, number, count);
    let parts = together(count, threads, &part)?;
    Ok(Table::of(join.clone(), parts, columns, rows))
}

/// The keys of one part, of so many.
fn key_part(chunks: &[(Batch, Keys)], number: usize, count: usize) -> Result<KeyPart> {
    let mut part = KeyPart::default();
    let mut row = 0;
    for (batch, keys) in chunks {
        interrupt::look()?;
        for at in 0..batch.rows {
            let hash = keys.hash(at);
            if count == 1 || part_of(hash, count) == number {
                let (key, is_new) = part.keys.insert(hash, keys.get(at));
                part.add(key, is_new, row);
            }
            row += 1;
        }
    }
    Ok(part)
}

impl KeyPart {
    /// Adds the next row of a key. Without rows of one key, the places of the rows are all that there is to know.
    fn add(&mut self, key: u32, is_new: bool, row: u32) {
        self.rows.push(row);
        let last = self.rows.len() as u32 - 1;
        match &mut self.chains {
            None if is_new => {}
            None => {
                let ends = (0..last).map(|row| (row, row)).collect();
                let chains = self.chains.insert(Chains { ends, next: vec![ABSENT; last as usize] });
                chains.add(key, is_new, last);
            }
            Some(chains) => chains.add(key, is_new, last),
        }
    }
}

impl Chains {
    fn add(&mut self, key: u32, is_new: bool, row: u32) {
        self.next.push(ABSENT);
        if is_new {
            return self.ends.push((row, row));
        }
        let last = &mut self.ends[key as usize].1;
        self.next[*last as usize] = row;
        *last = row;
    }
}

/// Makes `count` things, on several threads.
fn together<T: Send>(count: usize, threads: &Threads, make: &(dyn Fn(usize) -> Result<T> + Sync)) -> Result<Vec<T>> {
    let workers = threads.count.clamp(1, MOST).min(count);
    if workers < 2 {
        return (0..count).map(make).collect();
    }
    let of = |worker: usize| (worker..count).step_by(workers).map(|at| Ok((at, make(at)?))).collect::<Result<Vec<_>>>();
    let mut made = thread::scope(|scope| {
        let spawn = |worker: usize| {
            let body = move || {
                (threads.enter)();
                of(worker)
            };
            (worker, thread::Builder::new().name(format!("vectors {worker}")).spawn_scoped(scope, body))
        };
        let others: Vec<_> = (1..workers).map(spawn).collect();
        let mut made = of(0);
        for (worker, handle) in others {
            let other = match handle {
                Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // Where the system starts no thread, this one does it all.
                Err(_) => of(worker),
            };
            made = made.and_then(|mut made| {
                made.extend(other?);
                Ok(made)
            });
        }
        made
    })?;
    made.sort_by_key(|(at, _)| *at);
    Ok(made.into_iter().map(|(_, made)| made).collect())
}
