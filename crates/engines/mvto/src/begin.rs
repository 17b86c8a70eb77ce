//! The life of a transaction around its statements: registration, borrowed memory, and end.

use crate::catalog::{Catalog, Table};
use crate::commit::reason_of;
use crate::engine::{Mvto, SiteExtra, bump};
use crate::gc::{BEGINS_PER_ADVANCE, TAKEN_AT_BEGIN, leftover, take_ready};
use crate::reason::Reason;
use crate::sites::{Beginner, ClockFault, InLane, SiteState, Slot};
use crate::view::{SharedNotes, View};
use crate::write_set::{BorrowedWorkspace, Buffered, Workspace, Write};
use env::Clock;
use env::time::Duration;
use model::{
    Begin, Draws, Durability, Error, Fault, Invalid, Limit, LimitKind, LogPosition, Mode, Result, TableId, Timestamp,
};
use parts::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// A transaction without its handle of the engine.
#[derive(Debug)]
pub(crate) struct Core {
    pub view: View,
    pub mode: Mode,
    pub durability: Durability,
    /// Its first timestamp; zero before its first statement.
    pub began: Timestamp,
    /// Registration at the timestamp at which it reads; `None` before its first statement and after its end.
    pub place: Option<Place>,
    pub work: BorrowedWorkspace,
    pub poison: Option<Box<Error>>,
    /// Source of the values that its body may draw.
    pub draws: Option<Draws>,
    /// Notes that its read views leave, once it has had one.
    pub shared: Option<Box<SharedNotes>>,
    /// Whether the rows of its footprint have been asked for.
    pub is_near: bool,
    /// Whether its end keeps its place and its workspace for the next transaction of its batch.
    pub in_batch: bool,
    /// What its end has kept.
    pub seat: Option<Seat>,
}

/// What a transaction in a lane has, and the transactions of a batch one after the other: the right to the lane, in which all of
/// them are registered, and a workspace.
#[derive(Debug)]
pub(crate) struct Seat {
    pub right: InLane,
    pub work: Box<Workspace>,
}

/// Registration of a transaction at its site.
#[derive(Debug)]
pub(crate) enum Place {
    /// In the lane.
    Lane(InLane),
    /// Under the mutex: the lane was taken, ages have a limit, it may move, or it waits for others at its begin.
    Site(Slot),
}

/// Outcome of a transaction, for the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed { wrote: bool },
    Aborted(Option<Reason>),
}

impl Core {
    pub fn new(how: Begin, durability: Durability, wait_limit: Duration) -> Core {
        let view = View {
            at: Timestamp::ZERO,
            name: Timestamp::ZERO,
            moves: how.mode == Mode::OwnAtStatement,
            waits: how.mode == Mode::OwnAtStatement,
            skips: None,
            stamps: how.mode != Mode::Snapshot,
            rests_on: LogPosition::ZERO,
            wait_limit: how.wait_limit.unwrap_or(wait_limit),
            supervisor: None,
        };
        let durability = how.durability.unwrap_or(durability);
        Core {
            view,
            mode: how.mode,
            durability,
            began: Timestamp::ZERO,
            place: None,
            work: BorrowedWorkspace::default(),
            poison: None,
            draws: how.draws,
            shared: None,
            is_near: false,
            in_batch: false,
            seat: None,
        }
    }

    /// The same for a transaction that is registered in a lane already.
    pub fn seated(how: Begin, durability: Durability, wait_limit: Duration, at: Timestamp, seat: Seat) -> Core {
        let mut core = Core::new(how, durability, wait_limit);
        (core.view.at, core.view.name, core.began) = (at, at, at);
        (core.place, core.work) = (Some(Place::Lane(seat.right)), BorrowedWorkspace::new(seat.work));
        core
    }

    /// Takes over the notes of read views.
    ///
    /// # Errors
    /// The abort that one of them met.
    #[inline]
    pub fn take_notes(&mut self, read_set: usize) -> Result<()> {
        match self.shared.take() {
            None => Ok(()),
            Some(notes) => self.take_over(*notes, read_set),
        }
    }

    #[cold]
    fn take_over(&mut self, notes: SharedNotes, read_set: usize) -> Result<()> {
        self.view.rests_on = self.view.rests_on.max(LogPosition::from_raw(notes.rests_on.into_inner()));
        if self.place.is_some() && self.view.moves {
            let mut reads = notes.reads.into_inner().unwrap_or_else(PoisonError::into_inner);
            self.work.reads.take_over(&mut reads, read_set);
        }
        notes.abort.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    pub fn is_open(&self) -> bool {
        self.place.is_some()
    }

    /// Returns its registration under the mutex, if it has one.
    #[inline]
    pub fn slot(&self) -> Option<Slot> {
        match self.place {
            Some(Place::Site(slot)) => Some(slot),
            Some(Place::Lane(_)) | None => None,
        }
    }

    /// Returns the log position that an answer disclosing the reads must wait for (M9), also after the end.
    pub fn rests_on(&self) -> LogPosition {
        // Relaxed: read views have ended, or are the asker's.
        let shared = self.shared.as_ref().map_or(0, |notes| notes.rests_on.load(Ordering::Relaxed));
        self.to_await(self.view.rests_on.max(LogPosition::from_raw(shared)))
    }

    /// Returns the position to wait for, by the durability that was asked for: zero if there is none.
    pub fn to_await(&self, position: LogPosition) -> LogPosition {
        if self.durability == Durability::Fsync { position } else { LogPosition::ZERO }
    }
}

impl<C: Clock> Mvto<C> {
    /// Draws the timestamp at the first statement that touches data, not before: drivers send BEGIN early (design, rule 1).
    #[inline]
    pub(crate) fn start(&self, core: &mut Core) -> Result<()> {
        debug_assert!(core.poison.is_none() || !core.is_open(), "what is poisoned has ended");
        if core.is_open() { Ok(()) } else { self.begin_now(core) }
    }

    fn begin_now(&self, core: &mut Core) -> Result<()> {
        if let Some(poison) = &core.poison {
            return Err((**poison).clone());
        }
        self.check_log()?;
        let advance = self.in_time(|| self.register(core))?;
        core.view.supervisor.iter().for_each(|supervisor| supervisor.transaction_begins(core.view.at));
        let opened = self.prepare(core, advance);
        if let Err(error) = &opened {
            self.end(core, Outcome::Aborted(reason_of(error)));
        }
        opened
    }

    /// Draws a timestamp; where the clock has stepped back, engine time is continued above all that were drawn, and it draws
    /// again. (`Ok(Err(_))` is the clock's fault.)
    ///
    /// # Errors
    /// The clock stands still, shows too much, or steps back again and again.
    pub(crate) fn in_time<T>(&self, mut draw: impl FnMut() -> Result<std::result::Result<T, ClockFault>>) -> Result<T> {
        let mut steps = 0;
        loop {
            match draw()? {
                Ok(drawn) => return Ok(drawn),
                Err(ClockFault::SteppedBack { .. }) if steps < STEPS_BACK => self.continue_time(),
                Err(fault) => return Err(clock_fault(fault)),
            }
            steps += 1;
        }
    }

    #[cold]
    fn continue_time(&self) {
        let _no_survey = self.bound.survey_state();
        if self.sites.continue_time(&self.time) {
            self.clock_steps.fetch_add(1, Ordering::Relaxed); // For the statistics.
        }
    }

    /// Registers the transaction at this thread's site. Says whether it is its turn to advance the bound.
    #[inline]
    fn register(&self, core: &mut Core) -> Result<std::result::Result<bool, ClockFault>> {
        let thread = thread_number();
        let site = self.sites.assign(thread);
        let beginner = Beginner { thread, writes: matches!(core.mode, Mode::ReadWrite | Mode::OwnAtStatement) };
        if self.may_enter_lane(core.mode) {
            match self.sites.enter(site, &self.time, beginner) {
                Ok(Some((at, right, spare))) => {
                    core.work = BorrowedWorkspace::new(spare.unwrap_or_else(|| self.new_workspace()));
                    (core.view.at, core.view.name, core.began, core.place) = (at, at, at, Some(Place::Lane(right)));
                    let begins = bump(&self.sites.shared(site).begins, 1);
                    return Ok(Ok(begins & (BEGINS_PER_ADVANCE - 1) == 0));
                }
                Ok(None) => {}
                Err(fault) => return Ok(Err(fault)),
            }
        }
        self.register_under_mutex(core, site, beginner)
    }

    /// Whether a transaction of this mode may register in a lane, if that is free.
    #[inline]
    pub(crate) fn may_enter_lane(&self, mode: Mode) -> bool {
        matches!(mode, Mode::ReadWrite | Mode::ReadOnly)
            && self.has_lanes
            && self.crowded_sites.load(Ordering::Relaxed) == 0
    }

    fn register_under_mutex(
        &self,
        core: &mut Core,
        site: u32,
        beginner: Beginner,
    ) -> Result<std::result::Result<bool, ClockFault>> {
        let mut state = self.sites.lock(site);
        if state.active_count() >= self.fair_share || self.crowded_sites.load(Ordering::Relaxed) > 0 {
            drop(state);
            self.check_transactions()?;
            state = self.sites.lock(site);
        }
        let (at, slot) = match self.sites.begin(site, &self.time, beginner, &mut state) {
            Ok(drawn) => drawn,
            Err(fault) => return Ok(Err(fault)),
        };
        if state.active_count() == self.fair_share + 1 {
            self.crowded_sites.fetch_add(1, Ordering::Relaxed); // Advice: a limit may be passed by those who begin at once.
        }
        core.work = BorrowedWorkspace::new(state.extra.spare.pop().unwrap_or_else(|| self.new_workspace()));
        take_ready(&mut state, self.bound.collection_limits(), TAKEN_AT_BEGIN, &mut core.work);
        state.extra.begins += 1;
        (core.view.at, core.view.name, core.began, core.place) = (at, at, at, Some(Place::Site(slot)));
        Ok(Ok(state.extra.begins.is_multiple_of(BEGINS_PER_ADVANCE)))
    }

    #[cold]
    pub(crate) fn new_workspace(&self) -> Box<Workspace> {
        Box::new(Workspace::new(&self.memory.meter))
    }

    /// Registers a transaction at a later timestamp, too. Its name stays if others may wait for it.
    pub(crate) fn register_again(&self, core: &Core) -> Result<(Timestamp, Slot)> {
        self.in_time(|| Ok(self.try_register_again(core)))
    }

    fn try_register_again(&self, core: &Core) -> std::result::Result<(Timestamp, Slot), ClockFault> {
        let slot = core.slot().expect("one that may move has begun under the mutex");
        let mut state = self.sites.lock(slot.site);
        let beginner = state.beginner(slot);
        let drawn = self.sites.begin(slot.site, &self.time, beginner, &mut state)?;
        if core.work.writes.owns_anything() {
            state.rename(drawn.1, core.view.name);
        }
        if state.active_count() == self.fair_share + 1 {
            self.crowded_sites.fetch_add(1, Ordering::Relaxed);
        }
        Ok(drawn)
    }

    /// Takes one of two registrations of a transaction back.
    pub(crate) fn unregister(&self, place: Place) {
        if let Place::Site(slot) = place {
            self.leave_site(slot, &mut self.sites.lock(slot.site));
        }
    }

    fn leave_site(&self, slot: Slot, state: &mut SiteState<SiteExtra>) {
        if state.active_count() == self.fair_share + 1 {
            self.crowded_sites.fetch_sub(1, Ordering::Relaxed);
        }
        self.sites.end(slot, state);
    }

    fn prepare(&self, core: &mut Core, advance: bool) -> Result<()> {
        assert!(core.view.at >= self.bound.get(), "M5: nobody begins below the bound");
        self.check_ceiling(&core.view, core.view.at)?;
        self.refresh_catalog(&mut core.work);
        if advance {
            self.advance_bound(false, &mut core.work);
        }
        if core.mode != Mode::ReadWrite && !core.work.ready.is_empty() {
            // It may idle, and would keep what it took over from being collected. Others do so at their end: the time between
            // their timestamp and their writes is when they lose to others.
            self.reclaim(&mut core.work);
        }
        if core.mode == Mode::Snapshot {
            self.wait_for_older_writers(&core.view)?;
        }
        Ok(())
    }

    /// Timestamps stay below a ceiling that is durable before any of them is used, so that a restart begins above all that
    /// were (design, rule 1).
    pub(crate) fn check_ceiling(&self, view: &View, at: Timestamp) -> Result<()> {
        // Acquire, partner of the Release below.
        if at.0 < self.renew_at.load(Ordering::Acquire) { Ok(()) } else { self.renew_ceiling(view, at) }
    }

    /// From half a lease before the ceiling on, the log's own thread renews it, without a wait here. A transaction that finds the
    /// ceiling passed (after a long idle time, or with a slow disk) waits; one of those that wait renews it.
    #[cold]
    fn renew_ceiling(&self, view: &View, at: Timestamp) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let lease = self.time.clock().ticks_in(self.options.ceiling_lease).max(1);
        if at.0 >= log.ceiling() {
            let ceiling = at.0.saturating_add(lease);
            view.log_wait(log, |caller| log.cover(at.0, ceiling, caller)).map_err(|error| view.log_error(error))?;
        }
        let ceiling = log.ceiling();
        assert!(at.0 < ceiling, "no timestamp is used before a ceiling above it is durable");
        let renew_at = ceiling.saturating_sub(lease / 2);
        if at.0 < renew_at {
            self.renew_at.fetch_max(renew_at, Ordering::Release);
        } else {
            log.raise_ceiling_ahead(ceiling.saturating_add(lease));
        }
        Ok(())
    }

    pub(crate) fn refresh_catalog(&self, work: &mut Workspace) {
        // Acquire, partner of the Release in `publish`: whoever was told of a table finds it.
        if self.catalog_version.load(Ordering::Acquire) != work.catalog.version {
            work.catalog = self.catalog();
        }
    }

    /// Lets an open transaction use a table that was created, unlisted, after it began. Its other tables stay as they were:
    /// it may hold tuples of ones that were dropped since.
    #[inline]
    pub(crate) fn add_unlisted_table(&self, core: &mut Core, id: TableId) {
        if core.is_open() && id >= core.work.catalog.next_id() {
            self.add_newer_tables(core);
        }
    }

    #[cold]
    fn add_newer_tables(&self, core: &mut Core) {
        core.work.catalog = Arc::new(core.work.catalog.with_newer(&self.catalog()));
    }

    /// Enters a statement of an open transaction. If ages are limited, a transaction that is too old is aborted here; one that
    /// has entered is not doomed before it leaves, so what it reads is not collected (M12).
    ///
    /// # Errors
    /// Its age.
    #[inline]
    pub(crate) fn enter(&self, core: &Core) -> Result<()> {
        match self.age_limit_ticks {
            Some(limit) => core.slot().map_or(Ok(()), |slot| self.enter_young(core, slot, limit)),
            None => Ok(()),
        }
    }

    fn enter_young(&self, core: &Core, slot: Slot, limit: u64) -> Result<()> {
        let oldest_allowed = self.time.now().saturating_sub(limit);
        if core.view.at.0 >= oldest_allowed && self.sites.lock(slot.site).enter(slot) {
            return Ok(());
        }
        Err(Reason::Age.abort(core.view.name, None, None).into())
    }

    /// Leaves a statement.
    #[inline]
    pub(crate) fn leave(&self, core: &Core) {
        if self.age_limit_ticks.is_some()
            && let Some(slot) = core.slot()
        {
            self.sites.lock(slot.site).leave(slot);
        }
    }

    fn check_transactions(&self) -> Result<()> {
        let (open, _) = self.sites.active();
        let limit = self.options.transactions;
        if open < limit {
            return Ok(());
        }
        Err(Limit { kind: LimitKind::Transactions, limit: limit as u64, actual: open as u64 + 1 }.into())
    }

    /// Ends the transaction: everything that it owns or pinned is given up, its place in the active set too.
    pub(crate) fn end(&self, core: &mut Core, outcome: Outcome) {
        let (Some(place), Some(mut work)) = (core.place.take(), core.work.take()) else { return };
        let is_doomed = self.age_limit_ticks.is_some() && self.is_doomed(&place);
        assert!(!is_doomed || !matches!(outcome, Outcome::Committed { .. }), "M12: who is doomed does not commit");
        self.release_writes(&mut work, &core.view, is_doomed);
        if !work.kept.is_empty() {
            for (space, tuple) in work.kept.drain() {
                work.garbage.extend(leftover(space, tuple, core.view.at));
            }
        }
        if !work.ready.is_empty() {
            self.reclaim(&mut work);
        }
        let counted = work.writes.clear() + if core.view.moves { work.reads.clear() } else { 0 };
        if counted > 0 {
            self.memory.meter.credit(counted);
        }
        work.record.clear();
        self.refresh_catalog(&mut work);
        match place {
            Place::Lane(right) if core.in_batch => {
                self.count_in_lane(right.site, outcome);
                core.seat = Some(Seat { right, work });
            }
            Place::Lane(right) => {
                self.count_in_lane(right.site, outcome);
                self.leave_lane(Seat { right, work });
            }
            Place::Site(slot) => {
                let moved = outcome == Outcome::Committed { wrote: true } && core.view.at != core.began;
                self.end_under_mutex(slot, work, outcome, moved);
            }
        }
    }

    /// It can no longer be doomed afterwards; if it has been, its rows may belong to others now (M12).
    fn is_doomed(&self, place: &Place) -> bool {
        match *place {
            Place::Lane(_) => false,
            Place::Site(slot) => !self.sites.lock(slot.site).enter(slot),
        }
    }

    fn end_under_mutex(&self, slot: Slot, mut work: Box<Workspace>, outcome: Outcome, moved: bool) {
        let mut state = self.sites.lock(slot.site);
        let counters = &mut state.extra.counters;
        counters.count(outcome);
        counters.moved += u64::from(moved);
        counters.replaced += std::mem::take(&mut work.replaced) as u64;
        counters.collected += std::mem::take(&mut work.collected) as u64;
        state.extra.queue(&mut work);
        self.leave_site(slot, &mut state);
        // A workspace of an older catalog would keep dropped tables. `drop_table` takes away those that are here already.
        let is_current = work.catalog.version == self.catalog_version.load(Ordering::Acquire);
        if is_current && work.is_reusable() && state.extra.spare.len() < SPARE_WORKSPACES {
            state.extra.spare.push(work);
        }
    }

    /// Counts a transaction that ends in a lane.
    fn count_in_lane(&self, site: u32, outcome: Outcome) {
        let shared = self.sites.shared(site);
        match outcome {
            Outcome::Committed { wrote } => {
                bump(if wrote { &shared.commits } else { &shared.read_only_commits }, 1);
            }
            Outcome::Aborted(_) => self.sites.lock(site).extra.counters.count(outcome),
        }
    }

    /// Leaves a lane, which keeps the workspace.
    pub(crate) fn leave_lane(&self, Seat { right, mut work }: Seat) {
        let site = right.site;
        if !(work.garbage.is_empty() && work.retired.is_empty()) {
            self.queue_and_reclaim(site, &mut work);
        }
        if work.replaced | work.collected != 0 {
            let shared = self.sites.shared(site);
            bump(&shared.replaced, std::mem::take(&mut work.replaced) as u64);
            bump(&shared.collected, std::mem::take(&mut work.collected) as u64);
        }
        let version = work.catalog.version;
        self.sites.leave(right, work.is_reusable().then_some(work));
        // A workspace of an older catalog would keep dropped tables. `drop_table` takes away those in free lanes; one that it finds
        // taken was left after the new version was stored.
        if self.catalog_version.load(Ordering::SeqCst) != version {
            self.sites.with_kept(site, Option::take);
        }
    }

    /// Queues what a transaction leaves, and looks at what has become collectable: as much as a begin under the mutex takes over.
    fn queue_and_reclaim(&self, site: u32, work: &mut Workspace) {
        let limits = self.bound.collection_limits();
        let taken = TAKEN_AT_BEGIN + work.retired.len();
        {
            let mut state = self.sites.lock(site);
            state.extra.queue(work);
            take_ready(&mut state, limits, taken, work);
        }
        self.reclaim(work);
        if !work.garbage.is_empty() {
            self.sites.lock(site).extra.queue(work);
        }
    }

    /// Gives up what is still owned or pinned: all of it after an abort; what was installed has been given up.
    ///
    /// The keys that an aborted transaction inserted are removed on the way, some at a time: a large one that ran out of memory
    /// must not need more of it for a list of them all.
    fn release_writes(&self, work: &mut Workspace, view: &View, is_doomed: bool) {
        if work.writes.entries.is_empty() {
            return;
        }
        let mut entries = std::mem::take(&mut work.writes.entries);
        let mut most_garbage = RECLAIMED_AT_ONCE;
        for write in entries.drain(..) {
            let Write { table, tuple, owned, is_undated, .. } = write;
            let Some(tuple) = tuple else { continue };
            if is_undated {
                tuple.ownership.raise_last_read(view.at); // It counts as read (`own_first.rs`).
            }
            match (owned, is_doomed) {
                (true, false) => self.release(&tuple),
                (true, true) => self.take_from(&tuple, view.name),
                (false, _) => {}
            }
            work.garbage.extend(leftover(table, tuple, view.at));
            if work.garbage.len() >= most_garbage {
                work.ready.append(&mut work.garbage);
                self.reclaim(work);
                // What others still read or hold stays.
                most_garbage = work.garbage.len() + RECLAIMED_AT_ONCE;
            }
        }
        work.writes.entries = entries;
    }

    /// Aborts the transaction: ends it, which releases its rows, and poisons it.
    pub(crate) fn abort(&self, core: &mut Core, error: Error, reason: Option<Reason>) {
        self.end(core, Outcome::Aborted(reason));
        core.poison = Some(Box::new(error));
    }
}

/// The table of a transaction's catalog.
///
/// # Errors
/// There is none: it does not exist, or it was created after the transaction began.
pub(crate) fn table<'a, C>(engine: &Mvto<C>, view: &View, catalog: &'a Catalog, id: TableId) -> Result<&'a Table> {
    if let Some(table) = catalog.get(id).filter(|table| table.created_at < view.at) {
        return Ok(table);
    }
    match engine.catalog().get(id) {
        Some(table) => Err(Reason::OlderThanSchema.abort_at_table(view.name, table.schema.clone()).into()),
        None => Err(Invalid::UnknownTable { table: format!("number {}", id.0) }.into()),
    }
}

fn clock_fault(fault: ClockFault) -> Error {
    Fault::Clock { detail: fault.to_string() }.into()
}

/// Returns whether an entry of the write set will be installed.
pub(crate) fn is_installed(write: &Write) -> bool {
    write.buffered != Buffered::Unchanged
}

/// Times that one draw continues engine time because the clock has stepped back, at most.
const STEPS_BACK: usize = 4;

/// Keys that the end of a large transaction leaves before it looks which of them can go at once.
const RECLAIMED_AT_ONCE: usize = 1024;

/// Workspaces kept by each site. More than one only where transactions of one site overlap.
const SPARE_WORKSPACES: usize = 8;

/// Threads are numbered in the order in which they first begin a transaction; a thread keeps its site.
#[cfg(not(feature = "shuttle"))]
pub(crate) fn thread_number() -> usize {
    use parts::sync::atomic::AtomicUsize;
    use std::cell::Cell;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<usize> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed)));
    NUMBER.with(Cell::get)
}

/// Under shuttle all threads are one thread of the operating system: each transaction takes the next site.
#[cfg(feature = "shuttle")]
pub(crate) fn thread_number() -> usize {
    use parts::sync::atomic::AtomicUsize;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
