//! Calls: submitted procedures in their places, and the slots that planning fills in for them.

use crate::directory::Directory;
use crate::job::Job;
use crate::log::{self, InputLog};
use crate::memory::Charge;
use crate::position::Position;
use crate::state::CallState;
use crate::version::{Content, Version, VersionRef};
use model::{Footprint, FootprintEntry, Key, TableId, Touch};
use parts::index::prefetch::{SIDE_BY_SIDE, prefetch_to_write};
use parts::sync::atomic::{AtomicPtr, AtomicU8, Ordering::Relaxed};
use parts::sync::cell::UnsafeCell;
use smallvec::SmallVec;
use std::ops::{Deref, Range};
use std::ptr::{self, NonNull};

/// Bytes of a key that stand in its slot.
const PREFIX: usize = size_of::<u64>();
/// Slots up to this number are searched from front to back.
const LINEAR: usize = 32;

/// A submitted procedure. It lives in its batch, at an address that does not change once the batch is sealed.
pub(crate) struct Call {
    /// Drawn when the batch is sealed (B1).
    pub position: Position,
    pub footprint: Footprint,
    /// Whether the footprint was found by a trial run: then it may miss.
    pub is_guess: bool,
    /// Whether it only reads: it has no footprint, and planning leaves it alone.
    pub is_read: bool,
    /// Whether its footprint is to be found when its batch is sealed (`foresight.rs`).
    pub due: Option<Due>,
    /// Its entry in the input log. Empty: it changes nothing, or there is no log.
    pub logged: Vec<u8>,
    /// Whether its answer waits for the log.
    pub awaits_log: bool,
    /// What counts for it.
    pub charge: Charge,
    /// The table that it drops.
    pub drops: Option<TableId>,
    /// How many tables had been dropped when its own were looked for.
    pub drops_seen: u64,
    /// Whether some of its keys are of ordered tables.
    pub has_order: bool,
    /// One for each key of the footprint; those of a planner together, in the footprint's order.
    pub slots: Box<[Slot]>,
    /// Which slots are whose.
    pub routes: Routes,
    /// Of more slots than are searched from front to back.
    directory: Option<Directory>,
    pub state: CallState,
    /// Taken when it is complete.
    job: UnsafeCell<Option<Box<dyn Job>>>,
}

// SAFETY: the job is used by the thread that executes the call, and by no other (B6); everything else is atomic or set
// before the call is shared.
unsafe impl Sync for Call {}

/// A footprint that is to be found when its call is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The call may be refused then.
    First,
    /// The call was accepted with another one, which missed.
    Again,
}

/// A key of a footprint.
#[derive(Debug)]
pub(crate) struct Slot {
    pub table: TableId,
    /// Index of the first entry of the key in the footprint.
    entry: u32,
    pub actions: Actions,
    /// The first bytes of the key.
    prefix: u64,
    /// Whether the key has no other bytes.
    is_short: bool,
    /// Which planner owns the key.
    pub planner: u8,
    /// A [`Content`]: what the attempt under way has drafted. `Relaxed`: handed on with the state of the call.
    draft: AtomicU8,
    /// The version that is read; null: the key is absent. Set by the planner as `placeholder`, and published by the
    /// barrier of the batch (B3).
    below: AtomicPtr<Version>,
    /// The placeholder of a key that is written.
    placeholder: AtomicPtr<Version>,
}

/// What a footprint allows to be done to a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Actions(u8);

impl Actions {
    fn bit(touch: Touch) -> u8 {
        match touch {
            Touch::Read => 1,
            Touch::Insert => 2,
            Touch::Update => 4,
            Touch::Delete => 8,
            Touch::Overwrite => 16,
            Touch::Any => 32,
        }
    }

    /// As [`Footprint::covers`] of one entry.
    fn of(declared: Touch) -> Actions {
        let bit = Actions::bit;
        Actions(match declared {
            Touch::Any => u8::MAX,
            Touch::Update => bit(Touch::Update) | bit(Touch::Overwrite) | bit(Touch::Read),
            Touch::Insert | Touch::Delete => bit(declared) | bit(Touch::Read),
            Touch::Read | Touch::Overwrite => bit(declared),
        })
    }

    #[inline]
    pub fn allow(self, touch: Touch) -> bool {
        self.0 & Actions::bit(touch) != 0
    }

    /// Whether it may read the row.
    #[inline]
    pub fn read(self) -> bool {
        self.0 & !Actions::bit(Touch::Overwrite) != 0
    }

    /// Whether it deletes the row, if it changes anything. To read the row for an update belongs to that.
    pub fn delete_only(self) -> bool {
        let grows = Actions::bit(Touch::Insert) | Actions::bit(Touch::Any);
        self.0 & Actions::bit(Touch::Delete) != 0 && self.0 & grows == 0
    }

    /// Whether it may write a row.
    #[inline]
    pub fn write(self) -> bool {
        self.0 & !Actions::bit(Touch::Read) != 0
    }
}

/// Which planners have keys in a call, and where the slots of each end: worked out by whoever submits it, so that a planner looks at its
/// own slots only. Source: section 3.2.2, the last paragraph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// A bit for each planner that has keys.
    pub planners: u64,
    /// For each of them the end of its slots.
    ends: SmallVec<[u32; 4]>,
}

impl Routes {
    /// Of slots that are sorted by planners.
    fn of(slots: &[Slot]) -> Routes {
        let (mut routes, mut end) = (Routes::default(), 0);
        for own in slots.chunk_by(|a, b| a.planner == b.planner) {
            end += own.len() as u32;
            routes.planners |= 1 << own[0].planner;
            routes.ends.push(end);
        }
        routes
    }

    #[inline]
    fn owned_by(&self, planner: u8) -> Range<usize> {
        let bit = 1_u64 << planner;
        if self.planners & bit == 0 {
            return 0..0;
        }
        let at = (self.planners & (bit - 1)).count_ones() as usize;
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        first as usize..self.ends[at] as usize
    }
}

/// The first bytes of a key, filled up with zeros.
#[inline]
fn prefix_of(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; PREFIX];
            first[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(first)
        }
    }
}

impl Slot {
    /// The slots of a footprint, by their planners. `planner_of` tells which planner owns a key.
    pub fn all(footprint: &Footprint, planner_of: impl Fn(&FootprintEntry) -> u8) -> Box<[Slot]> {
        let mut slots: Vec<Slot> = Vec::with_capacity(footprint.keys().len());
        for (at, entry) in footprint.keys().iter().enumerate() {
            let actions = Actions::of(entry.touch);
            match slots.last_mut() {
                Some(last) if last.table == entry.table && footprint.keys()[last.entry as usize].key == entry.key => {
                    last.actions.0 |= actions.0;
                }
                _ => slots.push(Slot {
                    table: entry.table,
                    entry: at as u32,
                    actions,
                    prefix: prefix_of(&entry.key),
                    is_short: entry.key.len() == PREFIX,
                    planner: planner_of(entry),
                    draft: AtomicU8::new(Content::Empty as u8),
                    below: AtomicPtr::default(),
                    placeholder: AtomicPtr::default(),
                }),
            }
        }
        if !slots.is_sorted_by_key(|slot| slot.planner) {
            slots.sort_by_key(|slot| slot.planner); // Stable: in the order of the keys.
        }
        slots.into_boxed_slice()
    }

    #[inline]
    pub fn key<'f>(&self, footprint: &'f Footprint) -> &'f [u8] {
        &footprint.keys()[self.entry as usize].key
    }

    /// Calls a function with the key, which is not looked for in the footprint if it is short.
    #[inline]
    pub fn with_key<T>(&self, footprint: &Footprint, work: impl FnOnce(&[u8]) -> T) -> T {
        if self.is_short { work(&self.prefix.to_be_bytes()) } else { work(self.key(footprint)) }
    }

    /// Leaves what planning has found: the version that is read, and the placeholder of a key that is written.
    #[inline]
    pub fn refer(&self, below: Option<VersionRef>, placeholder: Option<VersionRef>) {
        let pointer = |version: Option<VersionRef>| version.map_or(ptr::null_mut(), VersionRef::pointer);
        // Relaxed: published by the barrier.
        self.below.store(pointer(below), Relaxed);
        self.placeholder.store(pointer(placeholder), Relaxed);
    }

    /// The placeholder of a key that is written.
    #[inline]
    pub fn placeholder(&self) -> VersionRef {
        VersionRef::from_pointer(self.placeholder.load(Relaxed))
            .expect("B3: a batch is executed when every written key has its placeholder")
    }

    /// The version that the call reads: the one below its own placeholder, or the newest one.
    #[inline]
    pub fn below(&self) -> Option<VersionRef> {
        VersionRef::from_pointer(self.below.load(Relaxed))
    }

    #[inline]
    pub fn draft(&self) -> Content {
        Content::from_number(self.draft.load(Relaxed))
    }

    #[inline]
    fn prefetch_versions(&self) {
        if self.actions.read()
            && let Some(version) = self.below()
        {
            version.prefetch();
        }
        if let Some(placeholder) = VersionRef::from_pointer(self.placeholder.load(Relaxed)) {
            placeholder.prefetch_to_fill();
        }
    }

    /// Replaces the draft, and frees what the one before held. Adds to `made` what it takes more outside of its version.
    #[inline]
    pub fn set_draft(&self, row: Option<&[u8]>, made: &mut isize) {
        let (placeholder, before) = (self.placeholder(), self.draft());
        *made -= placeholder.block_bytes(before) as isize;
        placeholder.discard(before);
        let content = row.map_or(Content::Absent, |row| placeholder.draft(row));
        *made += placeholder.block_bytes(content) as isize;
        self.draft.store(content as u8, Relaxed);
    }

    /// Takes the draft back, and from `made` what it took outside of its version.
    #[inline]
    pub fn forget_draft(&self, made: &mut isize) {
        let draft = self.draft();
        if draft != Content::Empty {
            *made -= self.placeholder().block_bytes(draft) as isize;
            self.placeholder().discard(draft);
            self.draft.store(Content::Empty as u8, Relaxed);
        }
    }
}

impl Call {
    pub fn new(job: Box<dyn Job>, footprint: Footprint, slots: Box<[Slot]>, is_guess: bool) -> Call {
        let keys = || slots.iter().map(|slot| (slot.table, slot.key(&footprint)));
        let directory = (slots.len() > LINEAR).then(|| Directory::of(keys()));
        Call {
            position: Position::START,
            is_guess,
            is_read: false,
            due: None,
            has_order: false,
            footprint,
            routes: Routes::of(&slots),
            logged: Vec::new(),
            awaits_log: false,
            charge: Charge::default(),
            drops: None,
            drops_seen: 0,
            slots,
            directory,
            state: CallState::default(),
            job: UnsafeCell::new(Some(job)),
        }
    }

    /// A call of a job that only reads, which may be anything.
    pub fn reading(job: Box<dyn Job>) -> Call {
        let mut call = Call::new(job, Footprint::default(), Box::default(), false);
        call.is_read = true;
        call
    }

    /// A call of a job whose footprint is due.
    pub fn without_footprint(job: Box<dyn Job>, due: Due) -> Call {
        let mut call = Call::new(job, Footprint::default(), Box::default(), true);
        call.due = Some(due);
        call
    }

    /// Has its footprint be found when it is sealed. What counts for it stays.
    pub fn due_first(self) -> Call {
        if self.due.is_some() {
            return self;
        }
        let charge = self.charge;
        let mut call = Call::without_footprint(self.into_job(), Due::First);
        call.charge = charge;
        call
    }

    /// Makes its entry for the input log, if it may change anything.
    pub fn prepare_log(&mut self, input: &InputLog) {
        let (is_guess, writes) = (self.is_guess, self.writes());
        self.job.with_mut(|job| {
            // SAFETY: the call is the caller's own.
            let job = unsafe { &mut *job }.as_deref().expect("B6: a job is taken when its call is complete");
            self.awaits_log = input.is_awaited(job.durability());
            if writes {
                self.logged = log::encode_entry(job, &self.footprint, is_guess);
            }
        });
    }

    /// Bytes that it takes, about.
    pub fn memory(&self) -> usize {
        let keys = self.footprint.keys();
        let long = self.slots.iter().filter(|slot| !slot.is_short);
        let outside: usize = long.map(|slot| keys[slot.entry as usize].key.memory()).sum();
        let job = self.job.with_mut(|job| {
            // SAFETY: the call is the caller's own, as only such calls are weighed.
            unsafe { &*job }.as_deref().map_or(0, size_of_val)
        });
        size_of::<Call>() + job + size_of_val(&*self.slots) + size_of_val(keys) + outside + self.logged.capacity()
    }

    /// Returns whether it writes a row, perhaps.
    pub fn writes(&self) -> bool {
        self.slots.iter().any(|slot| slot.actions.write())
    }

    /// Returns whether nothing can be learnt from it.
    pub fn touches_nothing(&self) -> bool {
        self.slots.is_empty() && self.footprint.ranges().is_empty() && self.drops.is_none() && !self.is_read
    }

    /// Index of the slot of a key, if the footprint has it. `guess` is looked at first.
    #[inline]
    pub fn find(&self, table: TableId, key: &[u8], guess: usize) -> Option<usize> {
        let (prefix, is_short) = (prefix_of(key), key.len() == PREFIX);
        let is_it = |slot: &Slot| {
            slot.prefix == prefix
                && slot.table == table
                && slot.is_short == is_short
                && (is_short || slot.key(&self.footprint) == key)
        };
        if self.slots.get(guess).is_some_and(is_it) {
            return Some(guess);
        }
        if self.slots.len() <= LINEAR {
            return self.slots.iter().position(is_it);
        }
        self.directory.as_ref()?.find(table, key, |at| is_it(&self.slots[at]))
    }

    /// Brings the versions of the first of some keys near, for a body that announces them, unless they are near already.
    pub fn prefetch_keys(&self, table: TableId, keys: &[Key]) {
        if self.slots.len() > LINEAR {
            let found = keys.iter().take(SIDE_BY_SIDE).filter_map(|key| self.find(table, key, 0));
            found.for_each(|at| self.slots[at].prefetch_versions());
        }
    }

    /// Brings the slots near.
    #[inline]
    pub fn prefetch_slots(&self) {
        // Their drafts are written.
        prefetch_to_write(self.slots.as_ptr(), size_of::<Slot>() * self.slots.len().min(LINEAR));
    }

    /// Brings near what the call will read and write, at its beginning. Its slots are near.
    #[inline]
    pub fn prefetch_versions(&self) {
        for slot in self.slots.iter().take(LINEAR) {
            slot.prefetch_versions();
        }
    }

    /// Slots of keys that are written.
    pub fn written(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.actions.write())
    }

    /// Slots of the keys that a planner owns.
    #[inline]
    pub fn owned_by(&self, planner: u8) -> &[Slot] {
        &self.slots[self.routes.owned_by(planner)]
    }

    /// Slots of keys that a planner has placed a version for.
    pub fn placed_by(&self, planner: u8) -> impl Iterator<Item = &Slot> {
        self.owned_by(planner).iter().filter(|slot| slot.actions.write())
    }

    /// Lets the thread that executes the call use its job.
    ///
    /// # Safety
    /// The caller has begun the call and neither completed nor put it back (B6), and is not in this method already.
    pub unsafe fn with_job<T>(&self, work: impl FnOnce(&mut dyn Job) -> T) -> T {
        self.job.with_mut(|job| {
            // SAFETY: the caller's promise.
            let job = unsafe { &mut *job };
            work(&mut **job.as_mut().expect("B6: a job is taken when its call is complete"))
        })
    }

    /// The job of a call that is not sealed.
    pub fn into_job(self) -> Box<dyn Job> {
        // SAFETY: the call is the caller's own.
        unsafe { self.take_job() }
    }

    /// Takes the job of a call that is about to be complete.
    ///
    /// # Safety
    /// As [`Call::with_job`].
    pub unsafe fn take_job(&self) -> Box<dyn Job> {
        // SAFETY: the caller's promise.
        self.job.with_mut(|job| unsafe { (*job).take() }).expect("B6: a job is taken once")
    }
}

/// A call by its address. Whoever has one executes a batch that keeps the call's from being freed
/// ([`crate::pipeline`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallRef(NonNull<Call>);

impl CallRef {
    pub fn new(call: *const Call) -> CallRef {
        CallRef(NonNull::new(call.cast_mut()).expect("every version has a producer"))
    }
}

impl Deref for CallRef {
    type Target = Call;

    #[inline]
    fn deref(&self) -> &Call {
        // SAFETY: as the type says.
        unsafe { self.0.as_ref() }
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_routed_to_its_planner() {
        let footprint: Footprint = (0..200_u64).fold(Footprint::default(), |it, key| it.writes(TableId(0), key));
        for planners in [1, 2, 5, 64] {
            let owner = |entry: &FootprintEntry| (entry.key[7] % planners) / 3 * 3;
            let slots = Slot::all(&footprint, owner);
            let routes = Routes::of(&slots);
            let mut keys = 0;
            for planner in 0..64 {
                let own = &slots[routes.owned_by(planner)];
                assert!(own.iter().all(|slot| slot.planner == planner));
                assert!(own.is_sorted_by_key(|slot| slot.entry));
                assert_eq!(routes.planners & 1 << planner != 0, !own.is_empty());
                keys += own.len();
            }
            assert_eq!(keys, 200);
        }
    }
}
