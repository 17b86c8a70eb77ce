//! The order: one counter gives start and commit timestamps, and the recently committed are found by theirs.
//!
//! Source: sections 2.1, 2.3 and 2.7. The global section draws a number, puts the writer into its place and nothing
//! else: validation, the log and publishing come after it, beside those of others.

use crate::writer::{Commit, Status, Write, Writer};
use model::Timestamp;
use parts::CachePadded;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use parts::sync::{Mutex, MutexGuard, OnceLock};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// Commits that a validation takes at once.
const TAKEN_AT_ONCE: usize = 64;
/// Commits that one draw forgets at most: more than it adds, so that they do not pile up.
const FORGOTTEN_AT_ONCE: usize = 4;

/// The counter, and who has drawn what from it.
#[derive(Debug)]
pub(crate) struct Order {
    /// The timestamp that was drawn last. The writers of all up to it say so, and are among the recent (Y2).
    last: CachePadded<AtomicU64>,
    /// The global section: those that have drawn a commit timestamp, the oldest first.
    recent: CachePadded<Mutex<VecDeque<Arc<Commit>>>>,
}

/// A commit timestamp that was drawn.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub commit: Arc<Commit>,
    /// Those that have drawn theirs since the transaction started: the first of them, if they are many.
    pub others: Vec<Arc<Commit>>,
    /// Some for whom no transaction will be validated. To be dropped outside of the section.
    pub forgotten: SmallVec<[Arc<Commit>; FORGOTTEN_AT_ONCE]>,
    /// Whether somebody sleeps until the writer goes on.
    pub is_awaited: bool,
}

impl Order {
    /// An order in which nothing has happened after `last`.
    pub fn new(last: u64) -> Order {
        Order { last: CachePadded::new(AtomicU64::new(last)), recent: CachePadded::default() }
    }

    /// The timestamp that was drawn last: whoever starts there sees all that has committed (Y2).
    #[inline]
    pub fn now(&self) -> u64 {
        self.last.load(SeqCst)
    }

    /// Draws a timestamp that no writer has: the start of a transaction that claims a place of its own.
    pub fn draw(&self) -> u64 {
        let _section = self.enter();
        let at = self.last.load(Relaxed) + 1;
        self.last.store(at, SeqCst);
        at
    }

    /// Draws the commit timestamp of a transaction. Forgets some commits at or below `forgettable`, as [`Order::forget`] does.
    pub fn draw_for(&self, writer: Arc<Writer>, writes: Vec<Write>, start: u64, forgettable: u64) -> Drawn {
        let mut recent = self.enter();
        let at = self.last.load(Relaxed) + 1;
        let is_awaited = writer.status.decides(at);
        let others = after(&recent, start);
        let commit = Arc::new(Commit { at, writer, writes });
        assert!(recent.back().is_none_or(|last| last.at < at), "Y1: timestamps rise");
        recent.push_back(commit.clone());
        self.last.store(at, SeqCst);
        let forgotten = take_until(&mut recent, forgettable, FORGOTTEN_AT_ONCE).collect();
        drop(recent);
        Drawn { commit, others, forgotten, is_awaited }
    }

    /// Shows the commits whose timestamps lie between two, both left out, until `visit` returns false. `known` are the first of them.
    pub fn between(&self, mut known: Vec<Arc<Commit>>, end: u64, mut visit: impl FnMut(&Commit) -> bool) {
        while let Some(last) = known.last() {
            let (last, is_all) = (last.at, known.len() < TAKEN_AT_ONCE);
            if !known.iter().take_while(|commit| commit.at < end).all(|commit| visit(commit)) || is_all || last >= end {
                return;
            }
            known = self.since(last);
        }
    }

    /// The first commits after a timestamp.
    pub fn since(&self, start: u64) -> Vec<Arc<Commit>> {
        after(&self.enter(), start)
    }

    /// Forgets the commits at or below a timestamp: no transaction that has started before it will validate.
    pub fn forget(&self, until: u64) {
        loop {
            let over: Vec<_> = take_until(&mut self.enter(), until, TAKEN_AT_ONCE).collect();
            if over.is_empty() {
                return;
            }
            drop(over); // What they wrote, outside of the section.
        }
    }

    /// Forgets a commit that has aborted, which would stay for as long as the oldest transaction: it conflicts with nobody. Whoever has
    /// found it before looks at its status.
    pub fn forget_aborted(&self, commit: &Commit) {
        assert_eq!(commit.writer.status.load(), Status::Aborted, "Y2: who commits is among the recent");
        let mut recent = self.enter();
        let place = recent.binary_search_by_key(&commit.at, |other| other.at);
        // Its transaction has left the starts: somebody else may have forgotten it.
        place.ok().and_then(|place| recent.remove(place));
    }

    /// Returns the number of commits that are remembered.
    pub fn remembered(&self) -> u64 {
        self.enter().len() as u64
    }

    fn enter(&self) -> MutexGuard<'_, VecDeque<Arc<Commit>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the oldest commits out, up to a timestamp and so many at most.
fn take_until(recent: &mut VecDeque<Arc<Commit>>, until: u64, most: usize) -> impl Iterator<Item = Arc<Commit>> {
    let over = recent.iter().take(most).take_while(|commit| commit.at <= until).count();
    recent.drain(..over)
}

fn after(recent: &VecDeque<Arc<Commit>>, start: u64) -> Vec<Arc<Commit>> {
    // Those that a short transaction has missed are few, and the last ones.
    if recent.back().is_none_or(|last| last.at <= start) {
        return Vec::new();
    }
    let first = recent.partition_point(|commit| commit.at <= start);
    recent.range(first..).take(TAKEN_AT_ONCE).cloned().collect()
}

/// The places of open transactions: below the lowest nobody reads.
#[derive(Debug)]
pub(crate) struct Starts {
    chunks: Box<[OnceLock<Chunk>]>,
    used: AtomicU64,
    /// Whether transactions can be doomed.
    has_ages: bool,
}

type Chunk = Box<[CachePadded<Place>]>;

/// The place of one transaction at a time.
#[derive(Debug)]
struct Place {
    entry: AtomicU64,
    /// A bound on the start that its transaction had first. `Relaxed`: published by the entry, which is stored after it.
    first: AtomicU64,
    /// Who has it, and since when by the engine's clock: for figures. `Relaxed`: they may be those of the one before.
    name: AtomicU64,
    began: AtomicU64,
    /// Which transaction it is ([`Seat`]), whether it is in a statement, and whether it is doomed. Where ages have a limit only: who
    /// enters a statement and who dooms change the same word, so one of them is first.
    state: AtomicU64,
}

/// Set while its transaction is in a statement.
const BUSY: u64 = 1;
/// Set once its transaction is doomed: it counts for nobody.
const DOOMED: u64 = 2;
/// The transaction's number stands above these bits.
const SEAT_SHIFT: u32 = 2;

/// A transaction by its place, and by its number among those that have had it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seat {
    slot: u64,
    number: u64,
}

/// An open transaction, as others see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub slot: u64,
    /// It has started here or later.
    pub from: u64,
    pub reads_only: bool,
    pub name: Timestamp,
    /// When it began, by the engine's clock.
    pub began: u64,
}
/// A model checker would have to explore a look at each.
const CHUNK: usize = if cfg!(loom) { 2 } else { 64 };
/// A slot without a transaction.
const IDLE: u64 = u64::MAX;
/// Set in the slots of transactions that will never validate.
const READS_ONLY: u64 = 1;

impl Starts {
    /// Room for so many transactions.
    pub fn new(limit: u64, has_ages: bool) -> Starts {
        let chunks = (0..limit.div_ceil(CHUNK as u64) + 1).map(|_| OnceLock::new()).collect();
        Starts { chunks, used: AtomicU64::new(0), has_ages }
    }

    /// A slot that nobody has; `None` if there is no room for more.
    pub fn add(&self) -> Option<u64> {
        let slot = self.used.fetch_add(1, SeqCst);
        if slot as usize >= self.chunks.len() * CHUNK {
            self.used.fetch_sub(1, SeqCst);
            return None;
        }
        self.chunks[slot as usize / CHUNK].get_or_init(|| (0..CHUNK).map(|_| CachePadded::new(Place::new())).collect());
        Some(slot)
    }

    fn place(&self, slot: u64) -> &Place {
        &self.chunks[slot as usize / CHUNK].get().expect("made when the slot was given")[slot as usize % CHUNK]
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        let used = self.used.load(SeqCst) as usize;
        // A place that is given later has an entry from then on, which is at or above a counter that was read before (Y5).
        self.chunks
            .iter()
            .take(used.div_ceil(CHUNK))
            .filter_map(OnceLock::get)
            .flatten()
            .take(used)
            .map(|place| &**place)
    }

    /// Says who has a slot, for figures.
    pub fn describe(&self, slot: u64, name: Timestamp, began: u64) {
        let place = self.place(slot);
        place.name.store(name.0, Relaxed);
        place.began.store(began, Relaxed);
    }

    /// The open transactions that have started: about, while some begin and end.
    pub fn opened(&self) -> impl Iterator<Item = Opened> {
        (0..).zip(self.places()).filter_map(|(slot, place)| {
            let entry = Some(place.entry.load(SeqCst)).filter(|&entry| entry != IDLE)?;
            Some(Opened {
                slot,
                from: entry >> 1,
                reads_only: entry & READS_ONLY != 0,
                name: Timestamp(place.name.load(Relaxed)),
                began: place.began.load(Relaxed),
            })
        })
    }

    /// Enters a transaction, before it learns its start: which is this or later (Y5).
    pub fn enter(&self, slot: u64, from: u64, reads_only: bool) {
        self.place(slot).entry.store(from << 1 | u64::from(reads_only), SeqCst);
    }

    pub fn leave(&self, slot: u64) {
        self.place(slot).entry.store(IDLE, SeqCst);
    }

    /// Enters a transaction, and only then draws its start, or takes the last commit's (Y5).
    #[inline]
    pub fn start(&self, slot: u64, order: &Order, claims: bool, reads_only: bool) -> u64 {
        let now = order.now();
        self.place(slot).first.store(now, Relaxed);
        self.enter(slot, now, reads_only);
        fence_of_loom();
        if claims { order.draw() } else { order.now() }
    }

    /// The lowest start of an open transaction, and of one that may still validate; at most the counter, which is read first.
    pub fn lowest(&self, order: &Order) -> Lowest {
        let now = order.now();
        fence_of_loom();
        let mut lowest = Lowest { any: now, writing: now };
        for place in self.places() {
            let entry = place.entry.load(SeqCst);
            // A place is taken anew before it is entered: who is seen doomed is the one of this entry, or has ended.
            if entry == IDLE || self.has_ages && place.state.load(SeqCst) & DOOMED != 0 {
                continue;
            }
            lowest.any = lowest.any.min(entry >> 1);
            if entry & READS_ONLY == 0 {
                lowest.writing = lowest.writing.min(entry >> 1);
            }
        }
        lowest
    }
}

impl Starts {
    /// The lowest first start of an open transaction, at most the counter, which is read first. Who is doomed runs no statement any more.
    pub fn lowest_first(&self, order: &Order) -> u64 {
        let now = order.now();
        fence_of_loom();
        let is_open = |place: &&Place| {
            let is_doomed = || self.has_ages && place.state.load(SeqCst) & DOOMED != 0;
            place.entry.load(SeqCst) != IDLE && !is_doomed()
        };
        // If the place has another transaction by now, then the entry's has ended, and this is the other one's.
        self.places().filter(is_open).map(|place| place.first.load(Relaxed)).fold(now, u64::min)
    }

    /// Has a slot's next transaction begin, in a statement. Before it enters.
    pub fn take_seat(&self, slot: u64) -> Seat {
        let state = &self.place(slot).state;
        let number = (state.load(SeqCst) >> SEAT_SHIFT) + 1;
        state.store(number << SEAT_SHIFT | BUSY, SeqCst);
        Seat { slot, number }
    }

    /// Enters a statement of a slot's transaction; it may be in one. False if it is doomed.
    pub fn enter_statement(&self, slot: u64) -> bool {
        let enter = |state| (state & DOOMED == 0).then_some(state | BUSY);
        self.place(slot).state.fetch_update(SeqCst, SeqCst, enter).is_ok()
    }

    /// Leaves a statement.
    pub fn leave_statement(&self, slot: u64) {
        self.place(slot).state.fetch_and(!BUSY, SeqCst);
    }

    /// Dooms a transaction that began before `oldest` and is in no statement. Returns whether it is doomed, now or already; false, too,
    /// if it has ended and another one has its place.
    pub fn doom(&self, seat: Seat, oldest: u64) -> bool {
        let place = self.place(seat.slot);
        let is_doomed = |state: u64| state >> SEAT_SHIFT == seat.number && state & DOOMED != 0;
        let doom = |state: u64| {
            let is_idle = state == seat.number << SEAT_SHIFT;
            (is_idle && place.began.load(Relaxed) < oldest).then_some(state | DOOMED)
        };
        match place.state.fetch_update(SeqCst, SeqCst, doom) {
            Ok(_) => true,
            Err(state) => is_doomed(state),
        }
    }

    /// Dooms all that began before `oldest` and are in no statement.
    pub fn doom_all(&self, oldest: u64) {
        for (slot, place) in (0..).zip(self.places()) {
            if place.entry.load(SeqCst) != IDLE {
                self.doom(Seat { slot, number: place.state.load(SeqCst) >> SEAT_SHIFT }, oldest);
            }
        }
    }

    /// Returns whether a transaction is doomed, and has its place still.
    pub fn is_doomed(&self, seat: Seat) -> bool {
        self.place(seat.slot).state.load(SeqCst) == seat.number << SEAT_SHIFT | DOOMED
    }

    /// When a transaction began, by the engine's clock; or the next one of its place.
    pub fn began(&self, seat: Seat) -> u64 {
        self.place(seat.slot).began.load(Relaxed)
    }
}

impl Place {
    fn new() -> Place {
        let zero = || AtomicU64::new(0);
        Place { entry: AtomicU64::new(IDLE), first: zero(), name: zero(), began: zero(), state: zero() }
    }
}

/// Orders accesses of two words that are sequentially consistent anyway: loom takes them for acquire and release.
#[inline]
fn fence_of_loom() {
    if cfg!(loom) {
        parts::sync::fence(SeqCst);
    }
}

/// The lowest starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowest {
    pub any: u64,
    pub writing: u64,
}
