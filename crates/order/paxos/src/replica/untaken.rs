//! Batches that were delivered and that the application has not taken yet: how many, and how long they are together.

use crate::core::Instance;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Untaken {
    /// Batches, at most.
    most: u64,
    /// Bytes of them after which no more are delivered.
    most_bytes: usize,
    /// Every instance below was taken.
    done: Instance,
    /// Lengths of the batches from there on.
    lengths: VecDeque<usize>,
    bytes: usize,
}

impl Untaken {
    pub(super) fn new(most: u64, most_bytes: usize, executed: Instance) -> Self {
        Self { most, most_bytes, done: executed, lengths: VecDeque::new(), bytes: 0 }
    }

    /// Returns whether one more may be delivered.
    pub(super) fn has_room(&self) -> bool {
        (self.lengths.len() as u64) < self.most && self.bytes < self.most_bytes
    }

    /// The batch of the next instance was delivered.
    pub(super) fn delivered(&mut self, length: usize) {
        self.lengths.push_back(length);
        self.bytes += length;
    }

    /// Records that instances below were executed; numbers beyond the delivered ones are ignored.
    pub(super) fn taken(&mut self, below: Instance) {
        let count = below.saturating_sub(self.done).min(self.lengths.len() as u64);
        self.done += count;
        let taken = usize::try_from(count).unwrap_or(usize::MAX);
        self.bytes -= self.lengths.drain(..taken).sum::<usize>();
    }

    /// A state replaces all that was delivered: the next instance is this one.
    pub(super) fn replaced(&mut self, at: Instance) {
        self.done = at;
        self.lengths.clear();
        self.bytes = 0;
    }
}
