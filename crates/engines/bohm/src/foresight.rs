//! Footprints that depend on rows, found when their batch is sealed.
//!
//! A trial run reads the state at the end of the last complete batch. Behind that are the batches on their way, whose rows are not
//! there yet. What the trial runs of their calls would write is remembered until they are complete, and covers the state for the
//! trial runs behind them. The sequencer has them one after the other, in the order of positions, so a guess misses only if a call
//! whose footprint was declared, which had no trial run, writes what decides about the keys.
//!
//! After a miss what is remembered is wrong: the call had no effect. Then the sequencer waits until all batches are complete, and
//! forgets everything, so that one miss does not lead to others for as long as batches overlap. A thread that moves does not wait with
//! the partition in its hands: it gives that back, and executes what it would wait for.

use crate::Shared;
use crate::attempt::panicked;
use crate::call::{Call, Due};
use crate::position::Position;
use crate::read::{Boundary, Trial};
use model::{Access, Columns, Delta, Direction, Draws, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use parts::sync::atomic::Ordering::Relaxed;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows that are remembered, at most. Beyond it, the sequencer waits as after a miss. They count as memory, too.
const MOST_ROWS: usize = 1 << 20;

type Place = (TableId, Key);

/// What calls on their way are expected to write. The sequencer's own.
#[derive(Default)]
pub(crate) struct Foresight {
    rows: BTreeMap<Place, Foreseen>,
    /// What was remembered with each batch, oldest first.
    batches: VecDeque<Remembered>,
    /// Misses that it knows of.
    missed: u64,
}

/// What was remembered with a batch.
struct Remembered {
    batch: u64,
    places: Vec<Place>,
    /// What counts for it.
    bytes: usize,
}

/// The last write of a key; `None` deletes.
struct Foreseen {
    batch: u64,
    row: Option<RowBuf>,
}

impl Foresight {
    /// Finds the footprints that calls of the next batch lack. Calls without one that can be executed are answered here.
    /// What is remembered is right.
    pub fn complete(&mut self, shared: &Shared, calls: Vec<Call>) -> Vec<Call> {
        let batch = shared.pipeline.last_sealed() + 1;
        let mut state = Boundary::new(shared);
        // A state that cannot be pinned fails each trial run by itself.
        if let Ok(pinned) = state.pin() {
            self.forget(shared, pinned.position().batch());
        }
        let mut ahead = Ahead { foresight: self, trial: Trial::new(state, None), told: Vec::new() };
        calls
            .into_iter()
            .filter_map(|call| if let Some(due) = call.due { ahead.find(shared, call, due, batch) } else { Some(call) })
            .collect()
    }

    /// Waits until trial runs may begin: until the state says everything, if what is remembered is wrong or too much.
    pub fn wait_until_right(&mut self, shared: &Shared) {
        if !self.is_right_now(shared) {
            shared.pipeline.wait_complete(shared.pipeline.last_sealed());
            self.begin_anew(shared);
        }
    }

    /// Returns whether trial runs may begin. If not, they may once more batches are complete.
    pub fn is_right_now(&mut self, shared: &Shared) -> bool {
        // Relaxed: what missed is submitted again, and taken from the intake, after it was counted.
        let is_right = shared.counts.missed.load(Relaxed) == self.missed && self.rows.len() <= MOST_ROWS;
        if !is_right && shared.pipeline.is_all_complete() {
            self.begin_anew(shared);
            return true;
        }
        is_right
    }

    /// Forgets everything: all batches are complete.
    fn begin_anew(&mut self, shared: &Shared) {
        // Relaxed: executing threads have counted before their batch was complete.
        self.missed = shared.counts.missed.load(Relaxed);
        self.forget(shared, u64::MAX);
    }

    /// Forgets what the state at the end of a batch says itself.
    pub fn forget(&mut self, shared: &Shared, complete: u64) {
        while let Some(Remembered { places, bytes, .. }) = self.batches.pop_front_if(|it| it.batch <= complete) {
            for place in places {
                if self.rows.get(&place).is_some_and(|row| row.batch <= complete) {
                    self.rows.remove(&place);
                }
            }
            shared.memory.allowance.meter.credit(bytes);
        }
    }

    fn remember(&mut self, shared: &Shared, batch: u64, told: impl Iterator<Item = (Place, Option<RowBuf>)>) {
        let last = self.batches.back().map_or(0, |last| last.batch);
        assert!(last <= batch, "B15: trial runs come in the order of positions");
        if last < batch {
            self.batches.push_back(Remembered { batch, places: Vec::new(), bytes: 0 });
        }
        let of_batch = self.batches.back_mut().expect("it was added just now");
        let before = of_batch.bytes;
        for (place, row) in told {
            of_batch.bytes += bytes_of(&place, row.as_ref());
            of_batch.places.push(place.clone());
            self.rows.insert(place, Foreseen { batch, row });
        }
        shared.memory.allowance.meter.charge(of_batch.bytes - before);
    }

    /// What is remembered of a range, in the order of a scan.
    fn of<'f>(&'f self, scan: &Scan<'_>) -> Box<dyn Iterator<Item = (&'f Key, Option<&'f RowBuf>)> + 'f> {
        let Some(places) = places_of(scan) else { return Box::new(std::iter::empty()) };
        let rows = self.rows.range(places).map(|((_, key), foreseen)| (key, foreseen.row.as_ref()));
        if scan.direction == Direction::Forward { Box::new(rows) } else { Box::new(rows.rev()) }
    }
}

/// Bytes that a remembered row takes, about.
fn bytes_of((_, key): &Place, row: Option<&RowBuf>) -> usize {
    2 * (size_of::<Place>() + key.memory()) + size_of::<Foreseen>() + row.map_or(0, |row| row.bytes().len())
}

/// The bounds of a scan with its table; `None`: nothing is between them.
fn places_of(scan: &Scan<'_>) -> Option<(Bound<Place>, Bound<Place>)> {
    let table = scan.table;
    let of = |bound: &Bound<Key>| bound.as_ref().map(|key| (table, key.clone()));
    let lower = match of(&scan.lower) {
        Bound::Unbounded => Bound::Included((table, Key::new())),
        bound => bound,
    };
    let upper = match of(&scan.upper) {
        Bound::Unbounded => Bound::Excluded((TableId(table.0.checked_add(1)?), Key::new())),
        bound => bound,
    };
    let is_some = match (&lower, &upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower <= upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower < upper
        }
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
    };
    is_some.then_some((lower, upper))
}

/// The [`Access`] of trial runs: the state, covered by what is remembered.
struct Ahead<'f, 's> {
    foresight: &'f mut Foresight,
    trial: Trial<'s, Boundary<'s>>,
    /// What the trial run that is on its way would write.
    told: Vec<(Place, Option<RowBuf>)>,
}

impl Ahead<'_, '_> {
    /// Gives a call its footprint, and remembers what it would write in a batch. A call that cannot be executed is answered.
    fn find(&mut self, shared: &Shared, call: Call, due: Due, batch: u64) -> Option<Call> {
        let (counted, job) = (call.charge, call.into_job());
        (self.trial.draws, self.trial.was_touched) = (job.draws(), false);
        self.told.clear();
        let found = catch_unwind(AssertUnwindSafe(|| job.footprint(self)));
        let found = found.unwrap_or_else(|_| Err(panicked(Position::end_of(batch - 1))));
        let call = match found {
            Ok(footprint) => shared.call(job, footprint, self.trial.was_touched || due == Due::Again),
            Err(error) => Err((job, error)),
        };
        let call = call.and_then(|call| match shared.weigh_again(&call, counted, due) {
            Ok(()) => Ok(call),
            Err(error) => Err((call.into_job(), error)),
        });
        match call {
            Ok(call) => {
                self.foresight.remember(shared, batch, self.told.drain(..));
                Some(call)
            }
            Err((job, error)) => {
                shared.memory.allowance.meter.credit(counted.total());
                job.give_up(error);
                None
            }
        }
    }
}

/// Who shows the rows of a scan.
struct Shown<'a, 'v> {
    scan: &'a Scan<'a>,
    examined: usize,
    row: RowBuf,
    visit: &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    stopped: Option<Key>,
}

impl Shown<'_, '_> {
    fn show(&mut self, key: &[u8], row: RowRef<'_>) -> ControlFlow<()> {
        self.examined += 1;
        let mut flow = ControlFlow::Continue(());
        if self.scan.filter.is_none_or(|filter| filter.matches(row)) {
            self.row.project(row, self.scan.columns);
            flow = (self.visit)(Item { key, row: self.row.row() });
        }
        if flow.is_break() || self.scan.examine.is_some_and(|most| self.examined >= most) {
            self.stopped = Some(Key::from_bytes(key));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn show_foreseen(&mut self, (key, row): (&Key, Option<&RowBuf>)) -> ControlFlow<()> {
        row.map_or(ControlFlow::Continue(()), |row| self.show(key, row.row()))
    }
}

impl Access for Ahead<'_, '_> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let Some(foreseen) = self.foresight.rows.get(&(table, Key::from_bytes(key))) else {
            return self.trial.read(table, key, columns, row);
        };
        self.trial.was_touched = true;
        match &foreseen.row {
            Some(foreseen) => row.project(foreseen.row(), columns),
            None => row.clear(),
        }
        Ok(foreseen.row.is_some())
    }

    fn read_many(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        if self.foresight.rows.is_empty() {
            return self.trial.read_many(table, keys, columns, each);
        }
        let mut row = RowBuf::new();
        keys.iter().enumerate().try_for_each(|(at, key)| {
            let found = self.read(table, key, columns, &mut row)?;
            each(at, found.then(|| row.row()));
            Ok(())
        })
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        self.trial.prefetch(table, keys);
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.trial.put(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.trial.insert(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.trial.update(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.trial.delete(table, key)
    }

    /// Merges both, in the order of the scan; of a key that both have, what is remembered.
    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let mut foreseen = self.foresight.of(scan).peekable();
        if foreseen.peek().is_none() {
            return self.trial.scan(scan, visit);
        }
        let is_before = |one: &[u8], other: &[u8]| match scan.direction {
            Direction::Forward => one < other,
            Direction::Backward => one > other,
        };
        let mut shown = Shown { scan, examined: 0, row: RowBuf::new(), visit, stopped: None };
        let whole = Scan { filter: None, columns: Columns::All, examine: None, ..scan.clone() };
        self.trial.scan(&whole, &mut |item| {
            while let Some(earlier) = foreseen.next_if(|(key, _)| is_before(key, item.key)) {
                shown.show_foreseen(earlier)?;
            }
            match foreseen.next_if(|(key, _)| key[..] == *item.key) {
                Some(same) => shown.show_foreseen(same),
                None => shown.show(item.key, item.row),
            }
        })?;
        while shown.stopped.is_none()
            && let Some(later) = foreseen.next()
        {
            _ = shown.show_foreseen(later);
        }
        Ok(shown.stopped.map_or(ScanEnd::Finished, ScanEnd::Stopped))
    }

    fn foresee(&mut self, table: TableId, key: &[u8], row: Option<RowRef<'_>>) {
        self.told.push(((table, Key::from_bytes(key)), row.map(|row| RowBuf::from_bytes(row.bytes()))));
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.trial.draws()
    }
}
