//! Who holds what, and who waits: rules without synchronization.

use crate::{Answer, Edge, Grant, Wait};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::task::Waker;

/// Number of a session.
pub type Owner = i32;

/// Name of a lock, as `pg_locks` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The database: each has locks of its own.
    pub database: u32,
    /// `classid`: the first of two numbers, or the upper half of one.
    pub class: u32,
    /// `objid`: the second of two numbers, or the lower half of one.
    pub object: u32,
    /// `objsubid`: 1 for one number, 2 for two. They name different locks.
    pub kind: i16,
}

impl Key {
    /// The lock of one number.
    pub fn one(database: u32, number: i64) -> Key {
        let number = number as u64;
        Key { database, class: (number >> 32) as u32, object: number as u32, kind: 1 }
    }

    /// The lock of two numbers.
    pub fn two(database: u32, class: i32, object: i32) -> Key {
        Key { database, class: class as u32, object: object as u32, kind: 2 }
    }
}

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// With others that share it.
    Shared,
    /// Alone.
    Exclusive,
}

impl Mode {
    /// PostgreSQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Shared => "ShareLock",
            Mode::Exclusive => "ExclusiveLock",
        }
    }

    fn conflicts(self, other: Mode) -> bool {
        self == Mode::Exclusive || other == Mode::Exclusive
    }
}

/// How long a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Until it is given back as often as it was taken, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// A request for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The session.
    pub owner: Owner,
    /// The lock.
    pub key: Key,
    /// How it is to be held.
    pub mode: Mode,
    /// For how long.
    pub level: Level,
}

/// A lock that is held, or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The session.
    pub owner: Owner,
    /// The lock.
    pub key: Key,
    /// How it is held.
    pub mode: Mode,
    /// Whether it is held, and not waited for.
    pub is_granted: bool,
}

/// There are too many locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// The limit.
    pub limit: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} advisory locks are held or waited for, and no more are allowed", self.limit)
    }
}

impl std::error::Error for Full {}

/// How often a session holds one lock, by mode.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    session: [u64; 2],
    transaction: [bool; 2],
}

impl Held {
    fn has(&self, mode: Mode) -> bool {
        self.session[mode as usize] > 0 || self.transaction[mode as usize]
    }

    /// Counts the lock; says whether the session has it newly in this mode and at this level.
    fn add(&mut self, mode: Mode, level: Level) -> bool {
        match level {
            Level::Session => {
                let count = &mut self.session[mode as usize];
                *count = count.saturating_add(1);
                *count == 1
            }
            Level::Transaction => !std::mem::replace(&mut self.transaction[mode as usize], true),
        }
    }

    fn conflicts(&self, mode: Mode) -> bool {
        self.modes().any(|held| held.conflicts(mode))
    }

    fn modes(self) -> impl Iterator<Item = Mode> {
        [Mode::Shared, Mode::Exclusive].into_iter().filter(move |&mode| self.has(mode))
    }
}

#[derive(Debug, Default)]
struct Lock {
    holders: BTreeMap<Owner, Held>,
    /// Sessions whose requests wait, in the order in which they are granted.
    queue: VecDeque<Owner>,
}

/// A session's request that was queued.
#[derive(Debug)]
pub struct Waiting {
    request: Request,
    waker: Waker,
    pub state: State,
}

#[derive(Debug)]
pub enum State {
    Queued,
    Granted(Grant),
    Deadlock(Vec<Edge>),
}

#[derive(Debug)]
pub struct Table {
    locks: BTreeMap<Key, Lock>,
    /// What each session holds: the keys of `locks` with it among the holders.
    owned: BTreeMap<Owner, BTreeSet<Key>>,
    /// A session waits for one lock at a time.
    waiting: BTreeMap<Owner, Waiting>,
    /// Entries of all holders and queues.
    entries: usize,
    limit: usize,
    rests_on: u64,
}

impl Table {
    pub fn new(limit: usize) -> Table {
        let (locks, owned, waiting) = Default::default();
        Table { locks, owned, waiting, entries: 0, limit, rests_on: 0 }
    }

    pub fn rests_on(&mut self, position: u64) {
        self.rests_on = self.rests_on.max(position);
    }

    pub fn ask(&mut self, request: Request, waker: Option<Waker>) -> Result<Answer, Full> {
        let Request { owner, key, mode, .. } = request;
        let lock = self.locks.get(&key);
        let held = lock.and_then(|lock| lock.holders.get(&owner)).copied();
        if held.is_some_and(|held| held.has(mode)) {
            return Ok(Answer::Granted(self.grant(request)));
        }
        // Who holds the lock in another mode comes before those that wait for its end; it would wait for itself.
        let place = lock.map_or(0, |lock| {
            let mut queue = lock.queue.iter();
            let before = held.and_then(|held| queue.position(|other| held.conflicts(self.waiting[other].request.mode)));
            before.unwrap_or(lock.queue.len())
        });
        // Who would not wait does not overtake anybody either.
        let ahead = if waker.is_some() { place } else { usize::MAX };
        if (held.is_none() || waker.is_some()) && self.entries >= self.limit {
            return Err(Full { limit: self.limit });
        }
        if self.can_have(request, ahead) {
            return Ok(Answer::Granted(self.grant(request)));
        }
        let Some(waker) = waker else { return Ok(Answer::Denied) };
        self.locks.entry(key).or_default().queue.insert(place, owner);
        self.entries += 1;
        self.waiting.insert(owner, Waiting { request, waker, state: State::Queued });
        self.assert_rules(key);
        Ok(Answer::Queued)
    }

    /// Whether neither another holder nor one of the first requests of the queue conflicts with a request.
    fn can_have(&self, request: Request, ahead: usize) -> bool {
        let Some(lock) = self.locks.get(&request.key) else { return true };
        let is_other = |owner: &Owner| *owner != request.owner;
        let mut holders = lock.holders.iter().filter(|(owner, _)| is_other(owner));
        let mut queue = lock.queue.iter().take(ahead).filter(|owner| is_other(owner));
        !holders.any(|(_, held)| held.conflicts(request.mode))
            && !queue.any(|other| self.waiting[other].request.mode.conflicts(request.mode))
    }

    fn grant(&mut self, request: Request) -> Grant {
        let Request { owner, key, mode, level } = request;
        let holders = &mut self.locks.entry(key).or_default().holders;
        if !holders.contains_key(&owner) {
            self.entries += 1;
            self.owned.entry(owner).or_default().insert(key);
        }
        let is_new = holders.entry(owner).or_default().add(mode, level);
        Grant { is_new, rests_on: self.rests_on }
    }

    pub fn poll(&self, owner: Owner) -> Wait {
        self.waiting.get(&owner).map_or(Wait::Queued, Waiting::shown)
    }

    pub fn withdraw(&mut self, owner: Owner) -> (Option<Grant>, Vec<Waker>) {
        let Some(waiting) = self.waiting.remove(&owner) else { return (None, Vec::new()) };
        match waiting.state {
            State::Granted(grant) => (Some(grant), Vec::new()),
            State::Deadlock(_) => (None, Vec::new()),
            State::Queued => {
                self.leave_queue(owner, waiting.request.key);
                (None, self.grant_waiting(waiting.request.key))
            }
        }
    }

    fn leave_queue(&mut self, owner: Owner, key: Key) {
        if let Some(lock) = self.locks.get_mut(&key) {
            lock.queue.retain(|other| *other != owner);
            self.entries -= 1;
        }
    }

    pub fn unlock(&mut self, owner: Owner, key: Key, mode: Mode) -> (bool, Vec<Waker>) {
        let held = self.locks.get_mut(&key).and_then(|lock| lock.holders.get_mut(&owner));
        let Some(count) = held.map(|held| &mut held.session[mode as usize]).filter(|count| **count > 0) else {
            return (false, Vec::new());
        };
        *count -= 1;
        let is_last = *count == 0;
        (true, if is_last { self.after_release(owner, key) } else { Vec::new() })
    }

    /// Gives back what a session holds at a level; of `only` these, if given.
    pub fn unlock_level(&mut self, owner: Owner, level: Level, only: Option<&[(Key, Mode)]>) -> Vec<Waker> {
        let both = |key: &Key| [Mode::Shared, Mode::Exclusive].map(|mode| (*key, mode));
        let given: Vec<(Key, Mode)> = match only {
            Some(only) => only.to_vec(),
            None => self.owned.get(&owner).into_iter().flatten().flat_map(both).collect(),
        };
        let mut wakers = Vec::new();
        for (key, mode) in given {
            let Some(held) = self.locks.get_mut(&key).and_then(|lock| lock.holders.get_mut(&owner)) else { continue };
            match level {
                Level::Session => held.session[mode as usize] = 0,
                Level::Transaction => held.transaction[mode as usize] = false,
            }
            wakers.extend(self.after_release(owner, key));
        }
        wakers
    }

    /// A session has given something back: it may hold the lock no more, and others may have it now.
    fn after_release(&mut self, owner: Owner, key: Key) -> Vec<Waker> {
        let holders = self.locks.get_mut(&key).map(|lock| &mut lock.holders);
        if let Some(holders) =
            holders.filter(|holders| holders.get(&owner).is_some_and(|held| held.modes().next().is_none()))
        {
            holders.remove(&owner);
            self.entries -= 1;
            if let Some(owned) = self.owned.get_mut(&owner) {
                owned.remove(&key);
                if owned.is_empty() {
                    self.owned.remove(&owner);
                }
            }
        }
        self.grant_waiting(key)
    }

    /// Grants what can be granted, in the queue's order.
    fn grant_waiting(&mut self, key: Key) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let mut at = 0;
        while let Some(&owner) = self.locks.get(&key).and_then(|lock| lock.queue.get(at)) {
            let request = self.waiting[&owner].request;
            if !self.can_have(request, at) {
                at += 1;
                continue;
            }
            self.leave_queue(owner, key);
            let grant = self.grant(request);
            if let Some(waiting) = self.waiting.get_mut(&owner) {
                waiting.state = State::Granted(grant);
                wakers.push(waiting.waker.clone());
            }
        }
        if self.locks.get(&key).is_some_and(|lock| lock.holders.is_empty() && lock.queue.is_empty()) {
            self.locks.remove(&key);
        }
        self.assert_rules(key);
        wakers
    }

    /// A1, A2.
    fn assert_rules(&self, key: Key) {
        let Some(lock) = self.locks.get(&key).filter(|_| cfg!(debug_assertions)) else { return };
        let exclusive = lock.holders.values().any(|held| held.has(Mode::Exclusive));
        assert!(!exclusive || lock.holders.len() == 1, "A1: {key:?} is held exclusively by one of several holders");
        let could = lock.queue.iter().enumerate().find(|(at, owner)| self.can_have(self.waiting[owner].request, *at));
        assert!(could.is_none(), "A2: {key:?} is waited for by {could:?}, who could have it");
    }

    pub fn has_waiting(&self) -> bool {
        self.waiting.values().any(|waiting| matches!(waiting.state, State::Queued))
    }

    /// The request with which a session waits.
    pub fn request(&self, owner: Owner) -> Option<Request> {
        let waiting = self.waiting.get(&owner)?;
        matches!(waiting.state, State::Queued).then_some(waiting.request)
    }

    /// The sessions that a session's request waits for: holders, then those before it in the queue.
    pub fn blocking(&self, owner: Owner) -> Vec<Owner> {
        let Some(request) = self.request(owner) else { return Vec::new() };
        let Some(lock) = self.locks.get(&request.key) else { return Vec::new() };
        let holders = lock.holders.iter().filter(|(other, held)| **other != owner && held.conflicts(request.mode));
        let before = lock.queue.iter().take_while(|other| **other != owner);
        let before = before.filter(|other| self.waiting[other].request.mode.conflicts(request.mode));
        holders.map(|(other, _)| *other).chain(before.copied()).collect()
    }

    /// Takes the request of a session out of its queue, since it is part of this cycle.
    pub fn give_up(&mut self, owner: Owner, cycle: Vec<Edge>) -> Vec<Waker> {
        let Some(request) = self.request(owner) else { return Vec::new() };
        self.leave_queue(owner, request.key);
        let mut wakers = self.grant_waiting(request.key);
        if let Some(waiting) = self.waiting.get_mut(&owner) {
            waiting.state = State::Deadlock(cycle);
            wakers.push(waiting.waker.clone());
        }
        wakers
    }

    pub fn all(&self) -> Vec<Holding> {
        let held = self.locks.iter().flat_map(|(key, lock)| {
            let modes = |(owner, held): (&Owner, &Held)| {
                let (owner, key) = (*owner, *key);
                held.modes().map(move |mode| Holding { owner, key, mode, is_granted: true })
            };
            lock.holders.iter().flat_map(modes)
        });
        let waiting = self.waiting.keys().filter_map(|owner| self.request(*owner));
        let waiting = waiting.map(|Request { owner, key, mode, .. }| Holding { owner, key, mode, is_granted: false });
        held.chain(waiting).collect()
    }
}
