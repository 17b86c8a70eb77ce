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
        let (slot, batch) = self.open_slot()?;
        Ok(Pinned { slot: &self.slots[slot], batch })
    }

    /// Same as [`Readers::pin`], for a reader that does not borrow: its slot, to be closed by [`Readers::close_slot`], and its
    /// batch.
    ///
    /// # Errors
    /// Same as [`Readers::pin`].
    pub fn open_slot(&self) -> Result<(usize, u64)> {
        let first = threads::number();
        let mut places = (0..self.slots.len()).map(|at| (first + at) % self.slots.len());
        let mut batch = self.complete();
        // Relaxed: the place is only reserved here.
        let free = places.find(|&at| self.slots[at].compare_exchange(IDLE, batch, SeqCst, Relaxed).is_ok());
        let Some(slot) = free else {
            let limit = self.slots.len() as u64;
            return Err(Limit { kind: LimitKind::Transactions, limit, actual: limit + 1 }.into());
        };
        loop {
            let now = self.complete();
            if now == batch {
                return Ok((slot, batch));
            }
            batch = now;
            self.slots[slot].store(batch, SeqCst);
        }
    }

    /// Closes a reader that [`Readers::open_slot`] opened.
    pub fn close_slot(&self, slot: usize) {
        self.slots[slot].store(IDLE, Release);
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
        self.place_behind(pinned.batch)
    }

    /// Draws the place of an open reader of a batch.
    pub fn place_behind(&self, batch: u64) -> Position {
        Position::of_reader(batch, self.drawn.fetch_add(1, Relaxed))
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
