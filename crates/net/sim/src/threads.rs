//! Threads in virtual time: a program with threads and latches is simulated as it is. Each is a thread of the operating system, of
//! which one runs at a time, until it computes, sleeps or waits; then virtual time goes on to what happens next.
//!
//! Threads stand on machines with a number of cores. A computation takes one of them, in the order in which threads ask.
//!
//! # Invariants
//! - A thread that gives way holds no latch that others take.
//! - Whoever runs has the only turn. So a run is a function of what its threads do: their latches are never contended.

use crate::EventQueue;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A schedule of threads and events. A clone is the same schedule.
#[derive(Clone)]
pub struct Schedule(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Where the thread sleeps that drives the schedule.
    driver: Condvar,
}

struct State {
    now: u64,
    events: EventQueue<Event>,
    machines: Vec<Machine>,
    threads: Vec<Thread>,
    /// Threads that wait at each bell.
    waiting: BTreeMap<u64, VecDeque<usize>>,
    bells: u64,
    /// Nothing is begun after this.
    until: u64,
    /// Whether the driver has the turn.
    is_driven: bool,
    /// Threads that have not ended.
    live: usize,
}

/// A machine's cores.
struct Machine {
    free: usize,
    waiting: VecDeque<usize>,
    /// Its threads do not run before.
    frozen_until: u64,
}

/// A thread, and where it stands.
struct Thread {
    seat: Arc<Seat>,
    machine: usize,
    /// Number of its waits with a limit, and the bell of the one that lasts.
    waits: u64,
    at_bell: Option<u64>,
}

/// Where a thread waits for its turn.
#[derive(Default)]
struct Seat {
    has_turn: Mutex<bool>,
    changed: Condvar,
}

enum Event {
    /// A thread goes on.
    Thread(usize),
    /// A thread's wait with this number goes on for no longer.
    Limit(usize, u64),
    /// Something happens.
    Call(Box<dyn FnOnce() + Send>),
}

thread_local! {
    /// Number of the thread of a schedule that this is.
    static NUMBER: std::cell::Cell<Option<usize>> = const { std::cell::Cell::new(None) };
}

impl Schedule {
    /// Machines with so many cores each.
    #[must_use]
    pub fn new(cores: &[usize]) -> Schedule {
        let machine = |cores: &usize| Machine { free: (*cores).max(1), waiting: VecDeque::new(), frozen_until: 0 };
        let state = State {
            now: 0,
            events: EventQueue::new(),
            machines: cores.iter().map(machine).collect(),
            threads: Vec::new(),
            waiting: BTreeMap::new(),
            bells: 0,
            until: 0,
            is_driven: true,
            live: 0,
        };
        Schedule(Arc::new(Shared { state: Mutex::new(state), driver: Condvar::new() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Virtual time, in nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.lock().now
    }

    /// Has something happen at a time, or now if that is over. It is called by whoever has the turn: it must not wait.
    pub fn enter(&self, at: u64, call: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        let at = at.max(state.now);
        state.events.enter(at, Event::Call(Box::new(call)));
    }

    /// Starts a thread on a machine. It begins at this time, when others have given way.
    pub fn spawn(&self, machine: usize, body: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        let number = state.threads.len();
        let seat = Arc::new(Seat::default());
        state.threads.push(Thread { seat: seat.clone(), machine, waits: 0, at_bell: None });
        state.live += 1;
        let now = state.now;
        state.events.enter(now, Event::Thread(number));
        drop(state);
        let schedule = self.clone();
        std::thread::spawn(move || {
            NUMBER.set(Some(number));
            seat.wait();
            let ended = Ended(schedule);
            body();
            drop(ended);
        });
    }

    /// A bell that no other has.
    #[must_use]
    pub fn bell(&self) -> u64 {
        let mut state = self.lock();
        state.bells += 1;
        state.bells
    }

    /// Waits until a bell is rung.
    ///
    /// # Panics
    /// The caller is no thread of a schedule.
    pub fn wait(&self, bell: u64) {
        self.wait_until(bell, u64::MAX);
    }

    /// Waits until a bell is rung, or until a time.
    ///
    /// # Panics
    /// The caller is no thread of a schedule.
    pub fn wait_until(&self, bell: u64, at: u64) {
        let number = own_number();
        let mut state = self.lock();
        state.waiting.entry(bell).or_default().push_back(number);
        let thread = &mut state.threads[number];
        thread.waits += 1;
        thread.at_bell = Some(bell);
        let wait = thread.waits;
        if at < u64::MAX {
            let at = at.max(state.now);
            state.events.enter(at, Event::Limit(number, wait));
        }
        self.give_way(state, Some(number));
    }

    /// Has those go on that wait at a bell: all, or the first.
    pub fn ring(&self, bell: u64, all: bool) {
        let mut state = self.lock();
        let State { waiting, events, now, threads, .. } = &mut *state;
        let Some(woken) = waiting.get_mut(&bell) else { return };
        let most = if all { woken.len() } else { 1.min(woken.len()) };
        for thread in woken.drain(..most) {
            threads[thread].at_bell = None;
            events.enter(*now, Event::Thread(thread));
        }
        if woken.is_empty() {
            waiting.remove(&bell);
        }
    }

    /// The calling thread goes on on another machine.
    ///
    /// # Panics
    /// The caller is no thread of a schedule.
    pub fn stand_on(&self, machine: usize) {
        let number = own_number();
        self.lock().threads[number].machine = machine;
    }

    /// Until a time, no thread of a machine runs.
    pub fn freeze(&self, machine: usize, until: u64) {
        self.lock().machines[machine].frozen_until = until;
    }

    /// Sleeps until a time.
    ///
    /// # Panics
    /// The caller is no thread of a schedule.
    pub fn sleep_until(&self, at: u64) {
        let number = own_number();
        let mut state = self.lock();
        let at = at.max(state.now);
        state.events.enter(at, Event::Thread(number));
        self.give_way(state, Some(number));
    }

    /// Computes for so many nanoseconds on a core of its machine.
    ///
    /// # Panics
    /// The caller is no thread of a schedule.
    pub fn compute(&self, nanoseconds: u64) {
        let number = own_number();
        let mut state = self.lock();
        let machine = state.threads[number].machine;
        if state.machines[machine].free == 0 {
            state.machines[machine].waiting.push_back(number);
            // Who leaves the core hands it over.
            self.give_way(state, Some(number));
            state = self.lock();
        } else {
            state.machines[machine].free -= 1;
        }
        let at = state.now + nanoseconds;
        state.events.enter(at, Event::Thread(number));
        self.give_way(state, Some(number));
        let mut state = self.lock();
        let now = state.now;
        match state.machines[machine].waiting.pop_front() {
            Some(next) => state.events.enter(now, Event::Thread(next)),
            None => state.machines[machine].free += 1,
        }
    }

    /// Runs what happens up to a time: by then nothing is left to happen, or what is left comes later. Returns the number of threads that
    /// have not ended.
    pub fn run(&self, until: u64) -> usize {
        let mut state = self.lock();
        state.until = until;
        state.is_driven = false;
        self.give_way(state, None);
        let mut state = self.lock();
        while !state.is_driven {
            state = self.0.driver.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.live
    }

    /// Gives the turn to whoever is next, and waits for the own one; without a number, it does not wait.
    fn give_way<'s>(&'s self, mut state: MutexGuard<'s, State>, own: Option<usize>) {
        let next = loop {
            let until = state.until;
            let Some((at, event)) = state.events.take_due(until) else { break None };
            state.now = state.now.max(at);
            match event {
                Event::Thread(number) | Event::Limit(number, _) if state.frozen_until(number) > state.now => {
                    let until = state.frozen_until(number);
                    state.events.enter(until, event);
                }
                Event::Thread(number) => break Some(number),
                Event::Limit(number, wait) => {
                    if state.give_up(number, wait) {
                        break Some(number);
                    }
                }
                Event::Call(call) => {
                    drop(state);
                    call();
                    state = self.lock();
                }
            }
        };
        if next.is_some() && next == own {
            return;
        }
        let own = own.map(|number| state.threads[number].seat.clone());
        match next {
            Some(number) => {
                let seat = state.threads[number].seat.clone();
                drop(state);
                seat.give();
            }
            None => {
                state.now = state.now.max(state.until);
                state.is_driven = true;
                drop(state);
                self.0.driver.notify_all();
            }
        }
        if let Some(own) = own {
            own.wait();
        }
    }
}

/// Ends a thread when it is dropped, by a panic too: the schedule goes on, and the driver finds what is missing.
struct Ended(Schedule);

impl Drop for Ended {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.live -= 1;
        self.0.give_way(state, None);
    }
}

impl State {
    fn frozen_until(&self, thread: usize) -> u64 {
        self.machines[self.threads[thread].machine].frozen_until
    }

    /// Ends a wait, if it lasts still.
    fn give_up(&mut self, number: usize, wait: u64) -> bool {
        let thread = &mut self.threads[number];
        if thread.waits != wait {
            return false;
        }
        let Some(bell) = thread.at_bell.take() else { return false };
        if let Some(waiting) = self.waiting.get_mut(&bell) {
            waiting.retain(|waiter| *waiter != number);
            if waiting.is_empty() {
                self.waiting.remove(&bell);
            }
        }
        true
    }
}

fn own_number() -> usize {
    NUMBER.get().expect("only threads of a schedule wait in virtual time")
}

impl Seat {
    fn give(&self) {
        *self.has_turn.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut has_turn = self.has_turn.lock().unwrap_or_else(PoisonError::into_inner);
        while !*has_turn {
            has_turn = self.changed.wait(has_turn).unwrap_or_else(PoisonError::into_inner);
        }
        *has_turn = false;
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Log = Arc<Mutex<Vec<(u64, &'static str)>>>;

    fn note(log: &Log, schedule: &Schedule, what: &'static str) {
        let now = schedule.now();
        log.lock().expect("no panic").push((now, what));
    }

    /// Three computations on two cores; a waiter, whom an event wakes.
    fn logged() -> Vec<(u64, &'static str)> {
        let (schedule, log) = (Schedule::new(&[2]), Log::default());
        for name in ["one", "two", "three"] {
            let (own, log) = (schedule.clone(), log.clone());
            schedule.spawn(0, move || {
                own.compute(100);
                note(&log, &own, name);
            });
        }
        let bell = schedule.bell();
        let (own, waiter) = (schedule.clone(), log.clone());
        schedule.spawn(0, move || {
            own.wait(bell);
            note(&waiter, &own, "woken");
            own.sleep_until(500);
            note(&waiter, &own, "slept");
        });
        let ringing = schedule.clone();
        schedule.enter(150, move || ringing.ring(bell, true));
        assert_eq!(schedule.run(300), 1, "one sleeps");
        assert_eq!(schedule.now(), 300);
        assert_eq!(schedule.run(1_000), 0);
        let log = log.lock().expect("no panic");
        log.clone()
    }

    #[test]
    fn threads_take_turns_in_virtual_time() {
        let expected = [(100, "one"), (100, "two"), (150, "woken"), (200, "three"), (500, "slept")];
        for _ in 0..20 {
            assert_eq!(logged(), expected);
        }
    }

    #[test]
    fn a_bell_that_nobody_waits_at_wakes_nobody() {
        let schedule = Schedule::new(&[1]);
        let bell = schedule.bell();
        schedule.ring(bell, true);
        let own = schedule.clone();
        schedule.spawn(0, move || own.wait(bell));
        assert_eq!(schedule.run(10), 1, "it waits");
        schedule.ring(bell, false);
        assert_eq!(schedule.run(20), 0);
    }

    /// A wait ends at its bell or at its limit, and a limit that comes after the bell wakes nobody.
    #[test]
    fn a_wait_has_a_limit() {
        let (schedule, log) = (Schedule::new(&[1]), Log::default());
        let bell = schedule.bell();
        let (own, waiter) = (schedule.clone(), log.clone());
        schedule.spawn(0, move || {
            own.wait_until(bell, 100);
            note(&waiter, &own, "limit");
            own.wait_until(bell, 300);
            note(&waiter, &own, "rung");
            own.wait_until(bell, 1_000);
            note(&waiter, &own, "limit");
        });
        let ringing = schedule.clone();
        schedule.enter(200, move || ringing.ring(bell, true));
        assert_eq!(schedule.run(2_000), 0);
        assert_eq!(*log.lock().expect("no panic"), [(100, "limit"), (200, "rung"), (1_000, "limit")]);
    }

    #[test]
    fn threads_of_a_frozen_machine_run_later() {
        let (schedule, log) = (Schedule::new(&[1, 1]), Log::default());
        for (machine, name) in [(0, "frozen"), (1, "free")] {
            let (own, log) = (schedule.clone(), log.clone());
            schedule.spawn(machine, move || {
                own.sleep_until(100);
                note(&log, &own, name);
                own.stand_on(1);
                own.sleep_until(200);
                note(&log, &own, name);
            });
        }
        schedule.freeze(0, 150);
        assert_eq!(schedule.run(1_000), 0);
        let expected = [(100, "free"), (150, "frozen"), (200, "free"), (200, "frozen")];
        assert_eq!(*log.lock().expect("no panic"), expected);
    }

    #[test]
    fn a_thread_that_panics_ends() {
        let schedule = Schedule::new(&[1]);
        let (one, other) = (schedule.clone(), schedule.clone());
        schedule.spawn(0, move || {
            one.compute(5);
            panic!("on purpose");
        });
        schedule.spawn(0, move || other.compute(10));
        assert_eq!(schedule.run(100), 0);
        assert_eq!(schedule.now(), 100);
    }
}
