//! Sites draw timestamps and register active transactions, without a shared counter. The kernel "bound against begin" is
//! checked by loom (`tests/loom_sites.rs`).
//!
//! A timestamp is the least value above the clock's reading whose residue is the site's number, returned once the clock
//! has passed it. During that wait the site's mutex, or its lane, keeps other threads from drawing the same. So timestamps are unique
//! (residue and mutex or lane) and each lies strictly inside its call (the transaction's linearization point):
//!
//! ```text
//! clock   ....c........t'....r......    c: read at the call   t': c rounded up to the site's residue   r: t' < r at return
//! ```
//!
//! The *bound* is the minimum of all active timestamps and of a clock reading taken before any site's mutex: later draws lie above
//! that reading. The reading is stored in `noted`, and draws below it are refused, so this holds even if the clock steps back. (The
//! paper's authors first used infinity for a site without active transactions; their proof found the error, a transaction that
//! begins at that moment: section 5.1.)
//!
//! A transaction registers in its site's *lane* if that is free (`lane.rs`): one compare-exchange at the begin and one at the end, and
//! the mutex is not locked. Otherwise, and where ages have a limit or the transaction may move, it registers under the mutex.
//!
//! A *batch* of transactions draws together, in the lane: one reading of the clock, and a timestamp for each from the first one on,
//! returned once the clock has passed the last. All were submitted before the reading, so each lies inside the call of the batch, and
//! they rise in the order in which the batch runs. The lane shows all of them until the last has ended.
//!
//! Deviation: section 2 returns `t''`, the clock's reading after the wait; its residue is not the site's. Section 4.5's
//! `t'` is right.
//! Source: vMVCC, sections 2, 4.5 and 5.1.

mod lane;

use crate::ownership::{TIMESTAMP_LIMIT, load_in_total_order};
use env::Clock;
use env::time::Duration;
use model::Timestamp;
use parts::CachePadded;
use parts::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use parts::sync::{Condvar, Mutex, MutexGuard, spin_loop};
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};

pub use lane::{Drawn, Held, InLane};
use lane::{Lane, MOST_AT_ONCE, Occupant};

/// Transactions of a batch that draws together, at most.
pub const LARGEST_BATCH: usize = MOST_AT_ONCE as usize;

/// Readings without passing a timestamp after which a clock counts as stalled: about a second.
#[cfg(not(any(loom, feature = "shuttle")))]
const STALL_READINGS: u32 = 1 << 25;
#[cfg(any(loom, feature = "shuttle"))]
const STALL_READINGS: u32 = 1 << 10;

/// Engine time: the clock, shifted so that timestamps continue where those before a restart ended, and above all that were drawn
/// where the clock has stepped back (a computer that slept, a virtual machine that moved).
#[derive(Debug)]
pub struct Time<C> {
    clock: C,
    /// Added to the clock's reading, modulo 2^64. Changed while nobody draws ([`Sites::continue_time`]).
    offset: AtomicU64,
    /// A lower bound of all later draws: the greatest floor of a survey, and from time to time a drawn timestamp. Rarely written.
    /// Loaded with the site locked, or in its lane, and before the clock is read, so a reading below it shows a fault of the clock.
    noted: AtomicU64,
    /// An upper bound of all drawn timestamps, and of the floors of all surveys. Raised before either is used, by [`LEAD`] more than is
    /// needed, so that few draws write to it. Partner of the lanes' words ([`Sites::hold`]).
    limit: AtomicU64,
    /// Ticks by which it is raised ahead.
    lead_ticks: u64,
    /// Ticks after which drawing raises `noted` again.
    coarse_ticks: u64,
    /// Number of sites, a power of two; timestamps are congruent to their site modulo this.
    sites: u64,
}

/// Interval at which draws raise `noted`. A smaller step back is not detected at a site that has been idle since before it.
const COARSE_STEP: Duration = Duration::from_micros(20);

/// Time by which the limit is raised ahead. Longer: fewer stores that all threads share. Shorter: fewer writers that abort because
/// [`crate::Mvto::get`] has stamped their key with a time to come.
const LEAD: Duration = Duration::from_micros(1);

/// Fault of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockFault {
    /// It did not pass a timestamp while it was read very often.
    Stalled {
        /// Its last reading.
        reading: u64,
    },
    /// It showed less than before.
    SteppedBack {
        /// The earlier reading.
        before: u64,
        /// Its last reading.
        reading: u64,
    },
    /// It showed more than timestamps can hold.
    OutOfRange {
        /// Its reading.
        reading: u64,
    },
}

impl std::fmt::Display for ClockFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClockFault::Stalled { reading } => write!(f, "the clock does not advance beyond {reading}"),
            ClockFault::SteppedBack { before, reading } => {
                write!(f, "the clock stepped back from {before} to {reading}")
            }
            ClockFault::OutOfRange { reading } => {
                write!(f, "the clock reads {reading}, more than a timestamp can hold")
            }
        }
    }
}

impl<C: Clock> Time<C> {
    /// Time that starts at `start` now.
    pub fn starting_at(start: u64, clock: C, sites: u64) -> Time<C> {
        assert!(sites.is_power_of_two(), "residues are bits");
        let (offset, coarse_ticks) = (start.wrapping_sub(clock.now()), clock.ticks_in(COARSE_STEP));
        let lead_ticks = clock.ticks_in(LEAD);
        let (offset, noted, limit) = (AtomicU64::new(offset), AtomicU64::new(start), AtomicU64::new(start));
        Time { clock, offset, noted, limit, lead_ticks, coarse_ticks, sites }
    }

    /// The present. Zero where the clock shows less than ever.
    pub fn now(&self) -> u64 {
        // Relaxed: whoever must not mix an old offset with a new one holds a site's mutex, or is in its lane.
        let now = self.clock.now().wrapping_add(self.offset.load(Relaxed));
        if now.cast_signed() < 0 { 0 } else { now }
    }

    /// Continues time above `floor`. Nobody draws.
    fn continue_above(&self, floor: u64) {
        self.offset.store((floor + 1).wrapping_sub(self.clock.now()), Relaxed);
        self.noted.fetch_max(floor, SeqCst);
    }

    /// Returns the present and stores it in `noted`: a thread that takes a site's mutex later draws above it. If the clock shows less
    /// than `noted`, or more than timestamps can hold, returns `noted`.
    ///
    /// Why it is seen: a survey stores it and then looks at the sites in use; a thread puts its site into use, takes the mutex, and then
    /// loads `noted`. If the survey has looked at the site before, the mutex orders the two. If it has not seen the site, the four
    /// accesses are sequentially consistent and each thread's store precedes its load, so the thread sees the survey's store.
    fn note_now(&self) -> u64 {
        let (now, noted) = (self.now(), self.noted.load(SeqCst));
        if now <= noted || now >= TIMESTAMP_LIMIT - self.sites {
            return noted;
        }
        self.noted.fetch_max(now, SeqCst).max(now)
    }

    /// Raises the limit to a timestamp that was drawn, or to the floor of a survey, before either is used.
    #[inline]
    fn raise_limit(&self, to: u64, lead: u64) {
        if load_in_total_order(&self.limit) < to {
            self.limit.fetch_max(to.saturating_add(lead), SeqCst);
        }
    }

    /// Returns the lower bound of later draws.
    pub fn noted(&self) -> u64 {
        self.noted.load(SeqCst)
    }

    /// The clock behind it.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The least timestamp of `site` above `reading` (M1). Source: section 4.5's `t'`.
    fn round_up(&self, reading: u64, site: u64) -> u64 {
        let candidate = (reading & !(self.sites - 1)) + site;
        if candidate > reading { candidate } else { candidate + self.sites }
    }

    /// Draws the next timestamps of `site`; `last` is the one before. Nobody else draws there.
    #[inline]
    fn draw(&self, site: u64, last: u64, count: u64) -> Result<Drawn, ClockFault> {
        let noted = load_in_total_order(&self.noted);
        let reading = self.now();
        if reading <= last || reading < noted {
            return Err(ClockFault::SteppedBack { before: noted.max(last), reading });
        }
        if reading >= TIMESTAMP_LIMIT - self.sites * count {
            return Err(ClockFault::OutOfRange { reading });
        }
        let first = self.round_up(reading, site);
        debug_assert!(first > reading && first & (self.sites - 1) == site, "M1");
        assert!(first > last, "M2: timestamps of a site rise");
        let last = first + self.sites * (count - 1);
        self.wait_until_passed(last, reading)?;
        self.raise_limit(last, self.lead_ticks);
        if last > noted.saturating_add(self.coarse_ticks) {
            self.noted.fetch_max(last, SeqCst);
        }
        Ok(Drawn { first, last, count })
    }

    /// Waits until the clock has passed a stamp that a single read has left, no further ahead than the limit is raised. Others lie in
    /// the past.
    pub fn wait_out(&self, stamp: Timestamp) {
        for _ in 0..STALL_READINGS {
            let now = self.now();
            if now > stamp.0 || stamp.0 - now > self.lead_ticks + self.sites {
                return;
            }
            spin_loop();
        }
    }

    fn wait_until_passed(&self, timestamp: u64, mut before: u64) -> Result<(), ClockFault> {
        for _ in 0..STALL_READINGS {
            let reading = self.now();
            if reading > timestamp {
                return Ok(());
            }
            if reading < before {
                return Err(ClockFault::SteppedBack { before, reading });
            }
            before = reading;
            spin_loop();
        }
        Err(ClockFault::Stalled { reading: before })
    }
}

/// The right to draw the timestamps of one entry into a lane.
#[derive(Debug)]
pub struct Draw<'t, C> {
    time: &'t Time<C>,
    site: u64,
    last: u64,
    count: u64,
}

impl<C: Clock> Draw<'_, C> {
    /// Draws. Of several draws, which rise, the last counts.
    ///
    /// # Errors
    /// The clock is broken.
    #[inline]
    pub fn now(&self) -> Result<Drawn, ClockFault> {
        self.time.draw(self.site, self.last, self.count)
    }
}

/// All sites. Beside each site's active set the engine keeps an `X` under the mutex, a `K` for the next transaction in the lane,
/// and an `S` that is shared.
#[derive(Debug)]
pub struct Sites<X, K = (), S = ()> {
    sites: Arc<[CachePadded<Site<X, K, S>>]>,
    /// Sites from here on have never been used.
    used: AtomicUsize,
}

/// One site.
#[derive(Debug)]
pub struct Site<X, K = (), S = ()> {
    lane: Lane<K>,
    shared: S,
    /// On cache lines of its own, as the lane is.
    state: CachePadded<Mutex<SiteState<X>>>,
    /// Signalled at the end of a transaction while another one waits for older ones to end.
    ended: Condvar,
}

/// State under a site's mutex.
#[derive(Debug)]
pub struct SiteState<X> {
    /// Timestamps of active transactions; 0 marks a free slot.
    active: Vec<Active>,
    free: Vec<u32>,
    /// Threads that wait for transactions of this site to end.
    waiting: u32,
    /// The engine's own.
    pub extra: X,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    /// Timestamp at which it reads.
    at: u64,
    /// Name in owner words.
    name: u64,
    beginner: Beginner,
    /// It may be looking at versions right now.
    in_statement: bool,
    /// It was too old between two statements: it may not enter another one, so it keeps no versions and no rows (M12).
    doomed: bool,
}

impl Beginner {
    fn to_raw(self) -> u64 {
        (self.thread as u64) << 1 | u64::from(self.writes)
    }

    fn from_raw(raw: u64) -> Beginner {
        Beginner { thread: (raw >> 1) as usize, writes: raw & 1 == 1 }
    }
}

/// Facts about a transaction that are fixed at its begin.
#[derive(Clone, Copy, Debug)]
pub struct Beginner {
    /// The number of the thread that began it.
    pub thread: usize,
    /// Whether it may write.
    pub writes: bool,
}

/// A registered transaction's place in its site.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The site, also the timestamp's residue.
    pub site: u32,
    place: u32,
}

impl<X: Default, K: Default, S: Default> Sites<X, K, S> {
    /// `count` sites, a power of two.
    pub fn new(count: usize) -> Sites<X, K, S> {
        assert!(count.is_power_of_two(), "the number of sites is a power of two");
        let site = |_| {
            let state = SiteState { active: Vec::new(), free: Vec::new(), waiting: 0, extra: X::default() };
            let state = CachePadded::new(Mutex::new(state));
            CachePadded::new(Site { lane: Lane::new(), shared: S::default(), state, ended: Condvar::new() })
        };
        Sites { sites: (0..count).map(site).collect(), used: AtomicUsize::new(0) }
    }
}

impl<X, K: Default, S> Sites<X, K, S> {
    /// Draws a timestamp in the lane of a site, if that is free, and takes what the lane keeps. No mutex is locked.
    ///
    /// # Errors
    /// The clock is broken.
    #[inline]
    pub fn enter<C: Clock>(
        &self,
        site: u32,
        time: &Time<C>,
        beginner: Beginner,
    ) -> Result<Option<(Timestamp, InLane, K)>, ClockFault> {
        self.enter_with(site, time, beginner, 1, |_, draw| draw.now())
    }

    /// The same for a batch of `count` transactions: the timestamp of the first, which the others follow, a number of sites apart.
    /// `draw` is called while the lane shows that timestamps above its lower bound are being drawn. It may do something with what the
    /// lane keeps before it draws. It waits for nobody: whoever wants to draw at this site spins.
    ///
    /// # Errors
    /// That of `draw`. The lane is free again.
    #[inline]
    pub fn enter_with<C: Clock, E>(
        &self,
        site: u32,
        time: &Time<C>,
        beginner: Beginner,
        count: usize,
        draw: impl FnOnce(&mut K, Draw<'_, C>) -> Result<Drawn, E>,
    ) -> Result<Option<(Timestamp, InLane, K)>, E> {
        assert!((1..=LARGEST_BATCH).contains(&count), "a batch has a limit");
        // Relaxed: whatever was noted is below what will be drawn.
        let lower = time.noted.load(Relaxed);
        let entered = self.sites[site as usize].lane.enter(site, lower, beginner, |kept, last| {
            draw(kept, Draw { time, site: u64::from(site), last, count: count as u64 })
        })?;
        Ok(entered.map(|(at, right, kept)| (Timestamp(at), right, kept)))
    }

    /// The site at which a timestamp was drawn (M1).
    pub fn site_of(&self, at: Timestamp) -> u32 {
        at.0 as u32 & (self.sites.len() as u32 - 1)
    }

    /// The timestamps of a batch that begins at `first`.
    pub fn following(&self, first: Timestamp, count: usize) -> impl Iterator<Item = Timestamp> + use<X, K, S> {
        let step = self.sites.len() as u64;
        (0..count as u64).map(move |number| Timestamp(first.0 + number * step))
    }

    /// Takes the lane of a site, if it is free, to look at newest versions without a timestamp, and what the lane keeps. No mutex is
    /// locked, and no clock read. The holder waits for nobody.
    ///
    /// Every timestamp that was drawn before lies below the returned limit or at it. So does the floor of every survey that does not
    /// find the lane held; one that does has a floor no higher either. (The survey raises the limit and then looks at the lanes; the
    /// holder takes the lane and then loads the limit. All four are sequentially consistent.) So until the lane is given back, nothing
    /// is collected that was replaced above the limit.
    #[inline]
    pub fn hold<C: Clock>(&self, site: u32, time: &Time<C>) -> Option<Held<'_, K>> {
        // Relaxed: the limit only grows.
        let lower = time.limit.load(Relaxed);
        self.sites[site as usize].lane.hold(lower, || load_in_total_order(&time.limit))
    }

    /// Ends a transaction in a lane, and leaves something for the next one.
    #[inline]
    pub fn leave(&self, right: InLane, kept: K) {
        let site = &self.sites[right.site as usize];
        if site.lane.leave(right, kept) {
            site.wake();
        }
    }
}

impl<X, K, S> Sites<X, K, S> {
    /// The site that the thread with this number uses.
    #[inline]
    pub fn assign(&self, thread: usize) -> u32 {
        let site = thread & (self.sites.len() - 1);
        if self.used.load(SeqCst) <= site {
            self.used.fetch_max(site + 1, SeqCst);
        }
        site as u32
    }

    /// Locks a site.
    pub fn lock(&self, site: u32) -> MutexGuard<'_, SiteState<X>> {
        lock(&self.sites[site as usize])
    }

    /// What the engine shares at a site.
    #[inline]
    pub fn shared(&self, site: u32) -> &S {
        &self.sites[site as usize].shared
    }

    /// Draws a timestamp and registers its transaction, in one step under the site's mutex (M2).
    ///
    /// # Errors
    /// The clock is broken.
    pub fn begin<C: Clock>(
        &self,
        site: u32,
        time: &Time<C>,
        beginner: Beginner,
        state: &mut SiteState<X>,
    ) -> Result<(Timestamp, Slot), ClockFault> {
        let at = self.sites[site as usize].draw(site, time)?;
        let active = Active { at, name: at, beginner, in_statement: true, doomed: false };
        let place = match state.free.pop() {
            Some(place) => {
                state.active[place as usize] = active;
                place
            }
            None => {
                state.active.push(active);
                state.active.len() as u32 - 1
            }
        };
        Ok((Timestamp(at), Slot { site, place }))
    }

    /// Draws a later timestamp for a transaction that commits there and reads nothing more. It stays registered where it is.
    ///
    /// # Errors
    /// The clock is broken.
    pub fn draw_again<C: Clock>(&self, slot: Slot, time: &Time<C>) -> Result<Timestamp, ClockFault> {
        let _state = self.lock(slot.site);
        self.sites[slot.site as usize].draw(slot.site, time).map(Timestamp)
    }

    /// The last timestamp that was drawn at any site, by whom the caller knows of.
    pub fn latest(&self) -> Timestamp {
        // Relaxed: the caller has acquired what those did whom it knows of, after they had drawn.
        let latest = self.sites[..self.used.load(SeqCst)].iter().map(|site| site.lane.last().load(Relaxed)).max();
        Timestamp(latest.unwrap_or(0))
    }

    /// Continues engine time above everything that was drawn or noted, if the clock has stepped back below that. No thread draws
    /// meanwhile. Returns whether the clock had.
    ///
    /// Later draws lie above all earlier ones, so timestamps stay unique and in the order of real time (M1, M2). The caller ensures
    /// that no survey is under way, and the floors of earlier ones are in `noted`, so M5 holds. Each later timestamp is
    /// compared with the durable ceiling before it is used, as always, so a restart begins above it.
    pub fn continue_time<C: Clock>(&self, time: &Time<C>) -> bool {
        // All, not the used ones: a thread may be about to use one more.
        let states: Vec<_> = self.sites.iter().map(|site| lock(site)).collect();
        for site in &*self.sites {
            site.lane.bar();
        }
        let floor = self.sites.iter().map(|site| site.lane.last().load(Relaxed)).fold(time.noted(), u64::max);
        let is_behind = time.now() <= floor;
        if is_behind {
            time.continue_above(floor);
        }
        self.sites.iter().for_each(|site| site.lane.unbar());
        drop(states);
        is_behind
    }

    /// Takes a transaction out of the active set.
    pub fn end(&self, slot: Slot, state: &mut SiteState<X>) {
        state.active[slot.place as usize].at = 0;
        state.free.push(slot.place);
        if state.waiting > 0 {
            self.sites[slot.site as usize].ended.notify_all();
        }
    }

    /// Puts the active timestamps into `open`, and returns a floor: no other transaction is active below it, or ever will be
    /// (M5). It is the clock's reading before any site is looked at, or what somebody who draws now has noted before. Transactions
    /// older than `age_limit` ticks that are between two statements are doomed, and do not count. `visit` sees each used site.
    pub fn survey<C: Clock>(
        &self,
        time: &Time<C>,
        age_limit: Option<u64>,
        open: &mut Vec<u64>,
        mut visit: impl FnMut(&mut SiteState<X>),
    ) -> u64 {
        // Whoever is not found active below draws later, and not below this, whatever the clock shows then.
        let mut floor = time.note_now();
        time.raise_limit(floor, 0);
        let oldest_allowed = age_limit.map_or(0, |limit| floor.saturating_sub(limit));
        #[cfg(loom)]
        parts::sync::fence(SeqCst); // As in `load_in_total_order`.
        for site in &self.sites[..self.used.load(SeqCst)] {
            let mut state = lock(site);
            site.doom_below(oldest_allowed, &mut state);
            let active = state.active.iter().filter(|active| active.at != 0 && !active.doomed);
            open.extend(active.map(|active| active.at));
            match site.lane.occupant() {
                Occupant::Nobody => {}
                Occupant::At(at) => {
                    let step = self.sites.len() as u64;
                    open.extend((0..site.lane.count()).map(|number| at + number * step));
                }
                Occupant::DrawsAbove(lower) => floor = floor.min(lower),
            }
            visit(&mut state);
        }
        floor
    }

    /// Returns whether the transaction that owner words call `name` is doomed; dooms it if it is between two statements and reads below
    /// `oldest_allowed`. Whatever it owns may then be taken (M12).
    pub fn doom(&self, name: Timestamp, oldest_allowed: u64) -> bool {
        let site = &self.sites[name.0 as usize & (self.sites.len() - 1)]; // Where it was drawn (M1).
        let mut state = lock(site);
        site.doom_below(oldest_allowed, &mut state);
        state.active.iter().any(|active| active.at != 0 && active.name == name.0 && active.doomed)
    }

    /// Waits until no transaction that may write is active below `at`, or `limit` returns zero. Meanwhile transactions that read
    /// below `oldest_allowed` and are between two statements are doomed.
    ///
    /// Before it sleeps, it calls `attend` with the oldest such writer and its site, and then `limit` with that writer, for the time to
    /// sleep. To end the sleep early, first let `limit` return zero and then call the site's [`Sites::waker`]. All three closures are
    /// called with the site locked.
    ///
    /// # Errors
    /// The writer that was still active when `limit` returned zero.
    pub fn wait_for_older_writers(
        &self,
        at: Timestamp,
        oldest_allowed: impl Fn() -> u64,
        mut limit: impl FnMut(Timestamp) -> Option<Duration>,
        mut attend: impl FnMut(Timestamp, u32),
    ) -> Result<(), Timestamp> {
        for (number, site) in self.sites[..self.used.load(SeqCst)].iter().enumerate() {
            let mut state = lock(site);
            let mut reported = None;
            loop {
                site.doom_below(oldest_allowed(), &mut state);
                let in_lane = site.lane.settled().filter(|(_, beginner)| beginner.writes).map(|(oldest, _)| oldest);
                let oldest = state.oldest_active(Active::may_write).into_iter().chain(in_lane).min();
                let Some(oldest) = oldest.filter(|&oldest| oldest < at.0).map(Timestamp) else { break };
                if reported.replace(oldest) != Some(oldest) {
                    attend(oldest, number as u32);
                }
                let limit = limit(oldest);
                if limit == Some(Duration::ZERO) {
                    return Err(oldest);
                }
                if in_lane == Some(oldest.0) && !site.lane.announce_waiter(oldest.0) {
                    continue;
                }
                state.waiting += 1;
                state = sleep(&site.ended, state, limit);
                state.waiting -= 1;
            }
        }
        Ok(())
    }

    /// Returns whether this thread has begun a transaction that is active below `at` and may write. Only then can its wait for
    /// older writers be a wait for itself.
    pub fn has_older_writer_of(&self, thread: usize, at: Timestamp) -> bool {
        let site = self.assign(thread);
        let state = self.lock(site);
        let is_its = |active: &Active| active.may_write() && active.beginner.thread == thread;
        let in_lane = self.sites[site as usize].lane.settled();
        let in_lane = in_lane.filter(|(_, beginner)| beginner.writes && beginner.thread == thread).map(|(at, _)| at);
        state.oldest_active(is_its).into_iter().chain(in_lane).any(|oldest| oldest < at.0)
    }

    /// Wakes the waiters for the end of a site's transactions.
    pub fn waker(&self, site: u32) -> Waker
    where
        X: Send + 'static,
        K: Send + 'static,
        S: Send + Sync + 'static,
    {
        Waker::from(Arc::new(Waiting { sites: self.sites.clone(), site: site as usize }))
    }

    /// Active transactions, and the oldest timestamp among them.
    pub fn active(&self) -> (usize, Option<Timestamp>) {
        let mut count = 0;
        let mut oldest = None;
        for site in &self.sites[..self.used.load(SeqCst)] {
            let state = lock(site);
            let in_lane = match site.lane.occupant() {
                Occupant::Nobody => None,
                Occupant::DrawsAbove(at) | Occupant::At(at) => Some(at),
            };
            count += state.active.len() - state.free.len() + usize::from(in_lane.is_some());
            oldest = state.oldest_active(|_| true).into_iter().chain(oldest).chain(in_lane).min();
        }
        (count, oldest.map(Timestamp))
    }

    /// Visits the engine's own state of each used site.
    pub fn for_each(&self, mut visit: impl FnMut(&mut SiteState<X>)) {
        self.sites[..self.used.load(SeqCst)].iter().for_each(|site| visit(&mut lock(site)));
    }

    /// Visits what the engine shares at each used site.
    pub fn for_each_shared(&self, visit: impl FnMut(&S)) {
        self.sites[..self.used.load(SeqCst)].iter().map(|site| &site.shared).for_each(visit);
    }

    /// Visits what the lane of each used site keeps, except of those that a transaction is in.
    pub fn for_each_kept(&self, mut visit: impl FnMut(&mut K)) {
        for site in 0..self.used.load(SeqCst) as u32 {
            self.with_kept(site, &mut visit);
        }
    }

    /// Calls a function with what a lane keeps, if no transaction is in it.
    pub fn with_kept<R>(&self, site: u32, access: impl FnOnce(&mut K) -> R) -> Option<R> {
        let site = &self.sites[site as usize];
        let _state = lock(site);
        site.lane.with_kept(access)
    }
}

impl<X, K, S> Site<X, K, S> {
    /// Draws a timestamp under the site's mutex, which the caller holds.
    fn draw<C: Clock>(&self, site: u32, time: &Time<C>) -> Result<u64, ClockFault> {
        self.lane.bar();
        let last = self.lane.last();
        let drawn = time.draw(u64::from(site), last.load(Relaxed), 1).map(|drawn| drawn.first);
        if let Ok(drawn) = drawn {
            last.store(drawn, Relaxed);
        }
        self.lane.unbar();
        drawn
    }

    /// Wakes those who wait for transactions of the site.
    #[cold]
    fn wake(&self) {
        // Under the lock: a waiter has either not asked yet how long it may wait, or it sleeps.
        let _state = lock(self);
        self.ended.notify_all();
    }

    /// Dooms the transactions that read below `oldest_allowed` and are between two statements. Whoever waits for one looks again.
    fn doom_below(&self, oldest_allowed: u64, state: &mut SiteState<X>) {
        let old = |active: &&mut Active| {
            active.at != 0 && active.at < oldest_allowed && !active.in_statement && !active.doomed
        };
        let doomed = state.active.iter_mut().filter(old).map(|active| active.doomed = true).count();
        if doomed > 0 && state.waiting > 0 {
            self.ended.notify_all();
        }
    }
}

/// Threads that wait at a site.
struct Waiting<X, K, S> {
    sites: Arc<[CachePadded<Site<X, K, S>>]>,
    site: usize,
}

impl<X: Send + 'static, K: Send + 'static, S: Send + Sync + 'static> Wake for Waiting<X, K, S> {
    fn wake(self: Arc<Self>) {
        self.sites[self.site].wake();
    }
}

impl Active {
    fn may_write(&self) -> bool {
        self.beginner.writes && !self.doomed
    }
}

impl<X> SiteState<X> {
    /// Returns the beginner of a registered transaction.
    pub fn beginner(&self, slot: Slot) -> Beginner {
        self.active[slot.place as usize].beginner
    }

    fn oldest_active(&self, wanted: impl Fn(&Active) -> bool) -> Option<u64> {
        self.active.iter().filter(|active| active.at != 0 && wanted(active)).map(|active| active.at).min()
    }

    /// Enters a statement; `false` if the transaction is doomed.
    pub fn enter(&mut self, slot: Slot) -> bool {
        let active = &mut self.active[slot.place as usize];
        active.in_statement = !active.doomed;
        active.in_statement
    }

    /// Leaves a statement.
    pub fn leave(&mut self, slot: Slot) {
        self.active[slot.place as usize].in_statement = false;
    }

    /// Lets owner words call a transaction by an earlier timestamp of this site.
    pub fn rename(&mut self, slot: Slot, name: Timestamp) {
        self.active[slot.place as usize].name = name.0;
    }

    /// Transactions registered here.
    pub fn active_count(&self) -> usize {
        self.active.len() - self.free.len()
    }
}

/// A panic inside cannot leave the state half changed in a way that matters: registrations only grow the bound's delay.
fn lock<X, K, S>(site: &Site<X, K, S>) -> MutexGuard<'_, SiteState<X>> {
    site.state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(not(any(loom, feature = "shuttle")))]
fn sleep<'a, T>(ended: &Condvar, guard: MutexGuard<'a, T>, limit: Option<Duration>) -> MutexGuard<'a, T> {
    match limit {
        None => ended.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(limit) => ended.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner).0,
    }
}

/// Time does not pass under a model checker.
#[cfg(any(loom, feature = "shuttle"))]
fn sleep<'a, T>(ended: &Condvar, guard: MutexGuard<'a, T>, _: Option<Duration>) -> MutexGuard<'a, T> {
    ended.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
