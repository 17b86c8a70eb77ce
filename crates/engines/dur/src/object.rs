//! Objects: a key with its committed version, its speculative versions, its owner and its readers. Each operation of the
//! protocol on one object is a step under its latch.
//!
//! ```text
//!   committed   speculative (turns)     owner       readers
//!   row, place  [S3] [S7]               turn 9      bits of active transactions
//!               what later turns read   writes it   who must run again if an earlier turn writes it
//! ```

use crate::slots::{Signal, Slots};
use crate::turn::{Place, Seen, Turn, Writer};
use model::{Key, TableId};
use parts::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};

/// A row, or none.
pub(crate) type Row = Option<Arc<[u8]>>;

/// A key with its versions.
#[derive(Debug)]
pub(crate) struct Object {
    pub table: TableId,
    pub key: Key,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    committed: Version,
    /// Replaced versions that a snapshot may still read, oldest first.
    older: Vec<Version>,
    /// Of transactions of this node that have committed speculatively and were not delivered, by their turns.
    speculative: Vec<Speculative>,
    /// The active transaction that will write it; where rows are held, the one on its way that will.
    owner: Option<Turn>,
    /// Active transactions that have read it, by the bits of their slots.
    readers: u64,
    /// Active transactions that sleep until the owner leaves, by the bits of their slots.
    waiters: u64,
}

/// A committed version. Without a row: the key is absent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    pub row: Row,
    /// `None`: nobody has ever written it here.
    pub writer: Option<Writer>,
    pub place: Place,
}

#[derive(Debug)]
struct Speculative {
    turn: Turn,
    row: Row,
}

/// What a transaction reads.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub row: Row,
    pub seen: Seen,
    /// Whose speculative row it is: the reader aborts with it for sure. Who reads a speculative deletion does not: another
    /// transaction may delete the row meanwhile.
    pub rests_on: Option<Turn>,
}

/// Why a transaction that holds what it writes must run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// This one holds an object until it is delivered.
    Held(Turn),
    /// A committed version was replaced since it was read.
    Changed,
}

/// A step of a transaction on an object.
pub(crate) enum Step<T> {
    Done(T),
    /// An earlier transaction owns it: sleep since the signal, then try again.
    Blocked(Signal),
    /// The transaction must run again.
    Aborted,
}

/// A transaction of this node, and its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active<'s> {
    pub slots: &'s Slots,
    pub turn: Turn,
}

impl Active<'_> {
    fn bit(self) -> u64 {
        self.slots.bit(self.turn)
    }

    fn is_aborted(self) -> bool {
        self.slots.is_aborted(self.turn)
    }
}

impl Object {
    pub fn new(table: TableId, key: Key) -> Object {
        Object { table, key, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Algorithm 1: waits for an earlier owner, else notes the reader and returns the newest version.
    pub fn read(&self, active: Active<'_>) -> Step<View> {
        let mut state = self.lock();
        if let Some(step) = state.pass_owner(active) {
            return step;
        }
        state.readers |= active.bit();
        Step::Done(state.view())
    }

    /// Algorithm 2: waits for an earlier owner; aborts a later one, and later readers; owns it.
    pub fn own(&self, active: Active<'_>) -> Step<()> {
        let mut state = self.lock();
        if let Some(step) = state.pass_owner(active) {
            return step;
        }
        if let Some(later) = state.owner.filter(|owner| *owner > active.turn) {
            active.slots.abort_owner(later);
        }
        state.owner = Some(active.turn);
        active.slots.abort(state.readers & !active.bit(), active.turn);
        Step::Done(())
    }

    /// Algorithm 3, for one object: shows what its owner has written to later turns.
    pub fn install(&self, active: Active<'_>, row: Row) {
        let mut state = self.lock();
        assert!(state.owner == Some(active.turn), "D2: who commits speculatively owns what it has written");
        let last = state.speculative.last().map(|version| version.turn);
        assert!(last < Some(active.turn), "D3: speculative versions are installed by turns");
        state.speculative.push(Speculative { turn: active.turn, row });
        state.leave(active);
    }

    /// Ends what a transaction has here: its mark as a reader, and its ownership. Returns whether nothing is left.
    pub fn leave(&self, active: Active<'_>) -> bool {
        let mut state = self.lock();
        state.leave(active);
        state.is_vacant()
    }

    /// Reads the committed version, unless a transaction on its way holds the object.
    pub fn read_committed(&self) -> Result<View, Met> {
        let state = self.lock();
        state.owner.map_or(Ok(()), |holder| Err(Met::Held(holder)))?;
        Ok(state.committed.view())
    }

    /// Checks that nobody holds the object, and that its committed version is what was seen.
    pub fn check(&self, seen: Option<Seen>) -> Result<(), Met> {
        let state = self.lock();
        state.owner.map_or(Ok(()), |holder| Err(Met::Held(holder)))?;
        if seen.is_none_or(|seen| state.committed.seen() == seen) { Ok(()) } else { Err(Met::Changed) }
    }

    /// Holds the object until [`Object::release`]. Who holds has the latch of the line, and has checked.
    pub fn hold(&self, turn: Turn) {
        let before = self.lock().owner.replace(turn);
        assert!(before.is_none(), "D10: one transaction holds an object");
    }

    /// Ends [`Object::hold`].
    pub fn release(&self, turn: Turn) {
        let before = self.lock().owner.take();
        assert!(before == Some(turn), "D10: who releases an object holds it");
    }

    /// The committed version.
    pub fn committed(&self) -> Version {
        self.lock().committed.clone()
    }

    /// Returns whether the committed version is what a transaction has seen.
    pub fn is_still(&self, seen: Seen) -> bool {
        self.lock().committed.seen() == seen
    }

    /// Applies a write that was certified. `own`: the transaction is of this life, so that readers may have seen its version
    /// already. Others that have read what is replaced must run again. Snapshots at or behind `oldest` read on. Returns
    /// whether replaced versions are kept.
    pub fn commit(&self, version: Version, own: Option<Turn>, slots: &Slots, oldest: Place) -> bool {
        let mut state = self.lock();
        assert!(state.committed.place < version.place, "D5: writes are applied in the order of places");
        let was_shown = own.is_some_and(|turn| state.take_speculative(turn));
        let replaced = std::mem::replace(&mut state.committed, version);
        state.keep(replaced, oldest);
        let has_older = !state.older.is_empty();
        if !was_shown && state.speculative.is_empty() {
            slots.abort(state.readers, Turn::default());
        }
        has_older
    }

    /// Takes back the speculative version of a transaction that will not commit, and aborts who has read it.
    pub fn withdraw(&self, turn: Turn, slots: &Slots) {
        let mut state = self.lock();
        let is_newest = state.speculative.last().is_some_and(|version| version.turn == turn);
        state.take_speculative(turn);
        if is_newest {
            slots.abort(state.readers, turn);
        }
    }

    /// The row as of a place, for a snapshot.
    pub fn row_at(&self, place: Place) -> Row {
        let state = self.lock();
        if state.committed.place <= place {
            return state.committed.row.clone();
        }
        let older = state.older.iter().rev().find(|version| version.place <= place);
        older.and_then(|version| version.row.clone())
    }

    /// Forgets versions that no snapshot reads. Returns whether some are left.
    pub fn collect(&self, oldest: Place) -> bool {
        let mut state = self.lock();
        state.prune(oldest);
        !state.older.is_empty()
    }

    /// Returns whether there is nothing to know of the key.
    pub fn is_vacant(&self) -> bool {
        self.lock().is_vacant()
    }

    /// Asserts that no transaction of this node is here.
    pub fn assert_idle(&self) {
        let state = self.lock();
        assert!(state.owner.is_none() && state.readers == 0 && state.speculative.is_empty(), "D2: {state:?}");
    }
}

impl Version {
    fn seen(&self) -> Seen {
        match (&self.row, self.writer) {
            (Some(_), Some(writer)) => Seen::Row(writer),
            _ => Seen::Absent,
        }
    }

    fn view(&self) -> View {
        View { row: self.row.clone(), seen: self.seen(), rests_on: None }
    }
}

impl State {
    /// Whether an earlier owner is to be waited for. The wait ends when the owner leaves, and when the waiter is aborted.
    fn pass_owner<T>(&mut self, active: Active<'_>) -> Option<Step<T>> {
        let is_blocked = self.owner.is_some_and(|owner| owner < active.turn);
        let signal = is_blocked.then(|| active.slots.listen(active.turn));
        if active.is_aborted() {
            return Some(Step::Aborted);
        }
        let signal = signal?;
        self.waiters |= active.bit();
        Some(Step::Blocked(signal))
    }

    fn view(&self) -> View {
        if let Some(Speculative { turn, row }) = self.speculative.last() {
            let writer = Writer { origin: crate::turn::OriginId::OWN, turn: *turn };
            let seen = if row.is_some() { Seen::Row(writer) } else { Seen::Absent };
            return View { row: row.clone(), seen, rests_on: row.as_ref().map(|_| *turn) };
        }
        self.committed.view()
    }

    fn leave(&mut self, active: Active<'_>) {
        self.readers &= !active.bit();
        self.waiters &= !active.bit();
        if self.owner == Some(active.turn) {
            self.owner = None;
            active.slots.wake_all(std::mem::take(&mut self.waiters));
        }
    }

    fn take_speculative(&mut self, turn: Turn) -> bool {
        let found = self.speculative.iter().position(|version| version.turn == turn);
        found.map(|at| self.speculative.remove(at)).is_some()
    }

    /// Keeps a replaced version if a snapshot may read it.
    fn keep(&mut self, replaced: Version, oldest: Place) {
        if replaced.writer.is_some() && oldest < self.committed.place {
            self.older.push(replaced);
        }
        self.prune(oldest);
    }

    /// Of the versions at or before the oldest snapshot, only the newest is read.
    fn prune(&mut self, oldest: Place) {
        if self.committed.place <= oldest {
            self.older = Vec::new();
            return;
        }
        let unread = self.older.iter().rposition(|version| version.place <= oldest).unwrap_or(0);
        self.older.drain(..unread);
    }

    fn is_vacant(&self) -> bool {
        self.committed.row.is_none()
            && self.older.is_empty()
            && self.speculative.is_empty()
            && self.owner.is_none()
            && (self.readers, self.waiters) == (0, 0)
    }
}
