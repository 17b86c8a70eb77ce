//! Decides when to take a snapshot, what to truncate, and when to rewrite the journal.
//!
//! A snapshot is taken when enough bytes were delivered since the last, or when the instances that are kept fill most of the span:
//! beyond it nothing can be proposed. Then what it covers is forgotten, but for a quarter of the span: peers that are a little
//! behind fetch values instead of the whole state. Replicas begin to count at different places, so that they do not all stop for a
//! snapshot at once.
//!
//! The span counts instances, and is chosen so that batches of the usual length fit. Requests that are longer than a batch travel
//! alone, so the same rule is kept in bytes: a snapshot when most of the bytes are used, a quarter of them kept, and nothing
//! proposed beyond. So all that one replica promises to another fits a frame.

use super::{Effect, Replica};
use crate::config::{MAX_KEPT_BYTES, Options};
use crate::core::{Core, Event, Image, Instance, Record, View};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Truncation {
    span: u64,
    snapshot_bytes: u64,
    /// Bytes delivered since the last snapshot was asked for.
    delivered_bytes: u64,
    /// The service was asked, and has not answered.
    taking: bool,
    /// The lengths of the values that were delivered and are kept, from the instance `first` on.
    lengths: VecDeque<u64>,
    first: Instance,
    /// Their sum.
    kept_bytes: u64,
}

/// Limit of the bytes kept, and the number of bytes that remain when the others are forgotten.
const FULL_BYTES: u64 = MAX_KEPT_BYTES / 4 * 3;
const TAIL_BYTES: u64 = MAX_KEPT_BYTES / 4;

/// Bytes of open proposals, at most; a longer one is open alone.
const MAX_OPEN_BYTES: u64 = MAX_KEPT_BYTES / 4;

impl Truncation {
    pub(super) fn new(options: &Options, span: u64) -> Self {
        let snapshot_bytes = options.snapshot_bytes;
        let delivered_bytes = snapshot_bytes / options.replicas * (options.id % options.replicas);
        let (lengths, first, kept_bytes) = (VecDeque::new(), 0, 0);
        Self { span, snapshot_bytes, delivered_bytes, taking: false, lengths, first, kept_bytes }
    }

    pub(super) fn delivered(&mut self, instance: Instance, bytes: usize) {
        if instance != self.first + self.lengths.len() as u64 {
            self.lengths.clear();
            (self.first, self.kept_bytes) = (instance, 0);
        }
        self.lengths.push_back(bytes as u64);
        self.kept_bytes += bytes as u64;
        self.delivered_bytes += bytes as u64;
    }

    /// Everything below is forgotten.
    fn forget(&mut self, below: Instance) {
        while self.first < below {
            let Some(bytes) = self.lengths.pop_front() else { return };
            self.first += 1;
            self.kept_bytes -= bytes;
        }
    }

    /// Returns whether most of the span is used, or of the bytes.
    fn is_full(&self, view: &View) -> bool {
        view.executed - view.low >= self.span - self.span / 4 || self.kept_bytes >= FULL_BYTES
    }

    /// Returns whether another batch may be proposed while proposals of so many bytes are open.
    pub(super) fn has_room(&self, open_bytes: u64) -> bool {
        open_bytes < MAX_OPEN_BYTES && self.kept_bytes + open_bytes < MAX_KEPT_BYTES
    }

    /// Below which instance everything may be forgotten.
    fn cut(&self, view: &View) -> Instance {
        let mut bytes = 0;
        let fits = |length: &&u64| {
            bytes += **length;
            bytes <= TAIL_BYTES
        };
        let tail = self.lengths.iter().rev().take_while(fits).count() as u64;
        // Deliveries before a restart are not counted, which is harmless.
        let tail = if tail == self.lengths.len() as u64 { self.span / 4 } else { tail.min(self.span / 4) };
        view.snapshot_at.min(view.executed.saturating_sub(tail))
    }

    fn wants_snapshot(&self, view: &View) -> bool {
        let due = self.delivered_bytes >= self.snapshot_bytes || self.is_full(view);
        due && !self.taking && view.snapshot_at < view.executed
    }
}

/// Maximum ratio of the journal's length to that of the records that it must keep.
const JOURNAL_EXCESS: u64 = 4;

/// Approximate overhead of a record's frame, in bytes.
const RECORD_BYTES: u64 = 32;

/// Length of the journal, and the threshold of a compaction.
#[derive(Debug)]
pub(super) struct Compaction {
    /// The journal is not rewritten while it is shorter.
    least_bytes: u64,
    bytes: u64,
    /// It is looked at when it is as long as that.
    look_at: u64,
}

impl Compaction {
    pub(super) fn new(least_bytes: u64, records: &[Record]) -> Self {
        Self { least_bytes, bytes: records.iter().map(record_bytes).sum(), look_at: least_bytes }
    }

    pub(super) fn journalled(&mut self, record: &Record) {
        self.bytes += record_bytes(record);
    }

    fn is_due(&self) -> bool {
        self.bytes >= self.look_at
    }

    /// Returns whether to replace the journal by these records.
    fn should_compact(&mut self, records: &[Record]) -> bool {
        let kept = records.iter().map(record_bytes).sum::<u64>();
        let worth = self.bytes >= kept * JOURNAL_EXCESS;
        if worth {
            self.bytes = kept;
        }
        self.look_at = (kept * JOURNAL_EXCESS).max(self.least_bytes);
        worth
    }
}

fn record_bytes(record: &Record) -> u64 {
    let payload = match record {
        Record::Vote(_, _, value) => value.len() as u64,
        Record::Learned(decisions) => decisions.iter().map(|decision| decision.value.len() as u64 + 16).sum(),
        Record::Snapshot(_, image) | Record::Install(_, image) => image.record_bytes(),
        Record::Ballot(_) | Record::Decided(..) | Record::Truncate(_) => 0,
    };
    RECORD_BYTES + payload
}

impl<C: Core> Replica<C> {
    /// The service's state after all instances below `at`.
    pub(super) fn snapshot_taken(&mut self, at: Instance, image: Image, effects: &mut Vec<Effect>) {
        self.truncation.taking = false;
        let before = self.view.snapshot_at;
        self.drive(Event::Snapshot(at, image), effects);
        self.counters.snapshots_taken += u64::from(self.view.snapshot_at > before);
        self.truncate(effects);
    }

    fn truncate(&mut self, effects: &mut Vec<Effect>) {
        let cut = self.truncation.cut(&self.view);
        if cut > self.view.low {
            self.drive(Event::Truncate(cut), effects);
            self.truncation.forget(self.view.low);
        }
    }

    /// Bounds memory and journal: truncates instances, asks for a snapshot, compacts the journal, each when due.
    pub(super) fn truncate_and_compact(&mut self, effects: &mut Vec<Effect>) {
        if self.truncation.is_full(&self.view) {
            self.truncate(effects);
        }
        if self.truncation.wants_snapshot(&self.view) {
            (self.truncation.taking, self.truncation.delivered_bytes) = (true, 0);
            effects.push(Effect::TakeSnapshot);
        }
        self.compact(effects);
    }

    /// All records so far are emitted and all that they say is in the core's state, so the core's checkpoint replaces them, durable or
    /// not yet.
    fn compact(&mut self, effects: &mut Vec<Effect>) {
        if !self.release.journals() || !self.compaction.is_due() {
            return;
        }
        let records = self.core.checkpoint();
        if self.compaction.should_compact(&records) {
            effects.push(Effect::Compact(self.release.emitted(), records));
        }
    }
}
