//! Readers behind a batch: trial runs and snapshots, which read the state at the end of the last complete batch, and
//! wait for nobody.

use crate::position::Position;
use model::{Limit, LimitKind, Result};
use parts::CachePadded;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release, SeqCst},
};
use parts::threads;

const IDLE: u64 = u64::MAX;

/// The open readers. A reader stores its batch and then looks at the last complete one again; who advances that stores
/// it and then looks at the readers. All four are sequentially consistent, so at least one of the two sees the other
/// (B8).
#[derive(Debug)]
pub(crate) struct Readers {
    complete: CachePadded<AtomicU64>,
    slots: Box<[CachePadded<AtomicU64>]>,
    /// Places drawn for readers.
    drawn: CachePadded<AtomicU64>,
}

/// An open reader: what its batch shows stays.
#[derive(Debug)]
pub(crate) struct Pinned<'r> {
    slot: &'r AtomicU64,
    /// The batch at whose end it reads.
    pub batch: u64,
}

impl Readers {
    pub fn new(limit: usize) -> Readers {
        Readers {
            complete: CachePadded::default(),
            slots: (0..limit.max(1)).map(|_| CachePadded::new(AtomicU64::new(IDLE))).collect(),
            drawn: CachePadded::default(),
        }
    }

    /// The last batch that is complete, as are all before it.
    pub fn complete(&self) -> u64 {
        self.complete.load(SeqCst)
    }

    /// Notes that all batches up to this one are complete.
    pub fn set_complete(&self, batch: u64) {
        self.complete.store(batch, SeqCst);
    }

    /// Opens a reader behind the last complete batch.
    ///
    /// # Errors
    /// [`LimitKind::Transactions`].
    pub fn pin(&self) -> Result<Pinned<'_>> {
        let first = threads::number();
        let places = (0..self.slots.len()).map(|at| &self.slots[(first + at) % self.slots.len()]);
        let mut batch = self.complete();
        // Relaxed: the place is only reserved here.
        let mut free = places.filter(|slot| slot.compare_exchange(IDLE, batch, SeqCst, Relaxed).is_ok());
        let Some(slot) = free.next() else {
            let limit = self.slots.len() as u64;
            return Err(Limit { kind: LimitKind::Transactions, limit, actual: limit + 1 }.into());
        };
        loop {
            let now = self.complete();
            if now == batch {
                return Ok(Pinned { slot, batch });
            }
            batch = now;
            slot.store(batch, SeqCst);
        }
    }

    /// The oldest batch at whose end somebody reads, or `batch`.
    pub fn oldest(&self, batch: u64) -> u64 {
        self.slots.iter().map(|slot| slot.load(SeqCst)).fold(batch, u64::min)
    }

    /// Returns the number of open readers.
    pub fn open(&self) -> u64 {
        self.slots.iter().filter(|slot| slot.load(Relaxed) != IDLE).count() as u64
    }

    /// Draws the place of a reader that is open.
    pub fn place(&self, pinned: &Pinned<'_>) -> Position {
        Position::of_reader(pinned.batch, self.drawn.fetch_add(1, Relaxed))
    }
}

impl Pinned<'_> {
    /// What it reads: everything below.
    pub fn position(&self) -> Position {
        Position::end_of(self.batch)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        self.slot.store(IDLE, Release);
    }
}
