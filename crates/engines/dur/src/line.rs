//! The line: transactions of this node by their turns, from admission to delivery.
//!
//! ```text
//!   admitted, active (slots)      | pending: x-committed   | in flight: proposed      | delivered
//!   wait for their turns to end     the cascade removes      the order decides          committed or not
//! ```
//!
//! One latch. Who holds it finds each transaction of this node in one of these stages; so an abort that cascades misses none (D6).

use crate::Core;
use crate::job::Job;
use crate::object::{Active, Object};
use crate::slots::Slots;
use crate::turn::{Place, Turn};
use model::{Error, Result};
use parts::bell::{Bell, Threads};
use parts::promise::Promise;
use parts::sync::{Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};

/// How transactions are admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The next set begins when all of the set before have committed speculatively. Source: thesis, section 3.1.1.
    #[default]
    Sets,
    /// A transaction begins when the one a window's length before it has committed speculatively.
    Sliding,
}

/// A transaction that has committed speculatively.
pub(crate) struct Ready {
    pub turn: Turn,
    /// As it is proposed.
    pub encoded: Vec<u8>,
    /// Objects that it has written.
    pub writes: Vec<Arc<Object>>,
    /// Whether it holds them until it is delivered.
    pub holds: bool,
    /// Whose speculative rows it has read.
    pub rests_on: Vec<Turn>,
    pub outcome: Outcome,
    /// Whether its speculative versions were taken back: certification will refuse it.
    pub is_doomed: bool,
}

/// Who is told whether it committed.
pub(crate) enum Outcome {
    /// A caller that waits: its place, or the conflict.
    Caller(Promise<Result<Place>>),
    /// A procedure of the queue.
    Queued(Box<dyn Job>),
}

pub(crate) struct Line {
    state: Mutex<State>,
    /// For those that wait for admission.
    room: Bell,
    /// For the thread that proposes.
    work: Bell,
    window: Window,
    /// Transactions that were not delivered, beyond which none is admitted.
    limit: usize,
    /// Payloads in flight, beyond which none is proposed: meanwhile the next one grows.
    payloads: usize,
}

struct State {
    /// The next turn to be given.
    next: Turn,
    /// The last turn that has passed (the thesis' `LastXcommittedTx`).
    passed: Turn,
    pending: VecDeque<Ready>,
    in_flight: VecDeque<Ready>,
    payloads: usize,
    /// The last turn that was delivered.
    delivered: Turn,
    /// Procedures that have met a row which is held, by the turn that holds it.
    parked: BTreeMap<Turn, Vec<Box<dyn Job>>>,
    /// Why the node has stopped.
    failure: Option<Error>,
    crowd: usize,
    is_awaited: bool,
}

/// Who is told what, once the latch is released.
pub(crate) type Told = Vec<(Ready, Result<Place>)>;

impl Line {
    pub fn new(window: Window, limit: usize, payloads: usize, threads: Option<&Arc<dyn Threads>>) -> Line {
        let state = State {
            next: Turn(1),
            passed: Turn(0),
            pending: VecDeque::new(),
            in_flight: VecDeque::new(),
            payloads: 0,
            delivered: Turn(0),
            parked: BTreeMap::new(),
            failure: None,
            crowd: 0,
            is_awaited: false,
        };
        let (room, work) = (Bell::new(threads), Bell::new(threads));
        Line { state: Mutex::new(state), room, work, window, limit, payloads }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a free slot, and gives the next turn.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn admit(&self, slots: &Slots) -> Result<Turn> {
        let mut state = self.lock();
        loop {
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            if state.has_room(self.window, slots.len()) && state.undelivered() < self.limit {
                let turn = state.next;
                assert!(turn.0 - state.passed.0 <= slots.len(), "D1: a slot is given when its transaction has ended");
                state.next = turn.next();
                return Ok(turn);
            }
            state.crowd += 1;
            state = self.room.wait(&self.state, state);
            state.crowd -= 1;
        }
    }

    /// Waits for room for a transaction that gets its turn when it commits.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn admit_without_turn(&self) -> Result<()> {
        self.wait_for(|state| state.undelivered() < self.limit)
    }

    /// Waits until a turn was delivered.
    ///
    /// # Errors
    /// The node has stopped.
    pub fn await_delivery(&self, turn: Turn) -> Result<()> {
        self.wait_for(|state| state.delivered >= turn)
    }

    fn wait_for(&self, is_true: impl Fn(&State) -> bool) -> Result<()> {
        let mut state = self.lock();
        loop {
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            if is_true(&state) {
                return Ok(());
            }
            state.crowd += 1;
            state = self.room.wait(&self.state, state);
            state.crowd -= 1;
        }
    }

    /// Gives a transaction its turn, in which it is pending, if `hold` says that nothing is in its way. What is held is held under the
    /// latch: all that it writes, or nothing (D10).
    ///
    /// # Errors
    /// What it has met.
    pub fn commit_held<E>(
        &self,
        hold: impl FnOnce(Turn) -> std::result::Result<Ready, E>,
    ) -> std::result::Result<Option<(Ready, Error)>, E> {
        let mut state = self.lock();
        let turn = state.next;
        let ready = hold(turn)?;
        (state.next, state.passed) = (turn.next(), turn);
        match state.failure.clone() {
            Some(error) => {
                ready.release();
                Ok(Some((ready, error)))
            }
            None => {
                state.pending.push_back(ready);
                self.wake_proposer(&mut state);
                Ok(None)
            }
        }
    }

    /// Keeps a procedure until a turn is delivered. Returns it if that is over, or the node has stopped.
    pub fn park(&self, job: Box<dyn Job>, behind: Turn) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        if state.delivered >= behind || state.failure.is_some() {
            return Some(job);
        }
        state.parked.entry(behind).or_default().push(job);
        None
    }

    /// Takes the procedures that are parked behind a turn or an earlier one; behind any, without.
    pub fn unpark(&self, delivered: Option<Turn>) -> Vec<Box<dyn Job>> {
        let mut state = self.lock();
        let later = delivered.map_or_else(BTreeMap::new, |turn| state.parked.split_off(&turn.next()));
        std::mem::replace(&mut state.parked, later).into_values().flatten().collect()
    }

    /// Waits until all earlier turns have passed: they have, until this one does.
    pub fn await_turn_only(&self, active: Active<'_>) {
        drop(self.await_turn(active));
    }

    /// Waits until all earlier turns have passed.
    fn await_turn(&self, active: Active<'_>) -> MutexGuard<'_, State> {
        loop {
            let signal = active.slots.listen(active.turn);
            let state = self.lock();
            if state.passed.next() == active.turn {
                return state;
            }
            assert!(state.passed < active.turn, "D3: a turn passes once");
            drop(state);
            active.slots.sleep(active.turn, signal);
        }
    }

    /// Algorithm 3: waits for the turn; unless the transaction was aborted, `install` shows what it has written, and it is pending.
    ///
    /// # Errors
    /// It was aborted, and must run again in the same turn.
    pub fn commit(
        &self,
        active: Active<'_>,
        install: impl FnOnce() -> Ready,
    ) -> std::result::Result<Option<(Ready, Error)>, ()> {
        let mut state = self.await_turn(active);
        if !active.slots.seal(active.turn) {
            return Err(());
        }
        let ready = install();
        assert!(ready.turn == active.turn, "D3: a transaction is pending by its own turn");
        let refused = match &state.failure {
            Some(error) => Some((ready, error.clone())),
            None => {
                state.pending.push_back(ready);
                self.wake_proposer(&mut state);
                None
            }
        };
        self.pass(state, active);
        Ok(refused)
    }

    /// Lets a turn pass without effect, when it comes. `leave` ends what the transaction has in objects.
    pub fn abandon(&self, active: Active<'_>, leave: impl FnOnce()) {
        let state = self.await_turn(active);
        leave();
        active.slots.end(active.turn);
        self.pass(state, active);
    }

    fn pass(&self, mut state: MutexGuard<'_, State>, active: Active<'_>) {
        assert!(state.passed.next() == active.turn, "D3: turns pass in their order");
        state.passed = active.turn;
        let crowd = state.crowd;
        drop(state);
        active.slots.wake(active.turn.next());
        if crowd > 0 {
            self.room.ring();
        }
    }

    fn wake_proposer(&self, state: &mut State) {
        if std::mem::take(&mut state.is_awaited) {
            self.work.ring_one();
        }
    }

    /// Takes pending transactions for a payload of at most so many and so many bytes, the first whatever its length; they are in
    /// flight then. `None`: the node has stopped.
    pub fn take(&self, most: usize, bytes: usize, payload: &mut Vec<u8>) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() {
                return None;
            }
            if !state.pending.is_empty() && state.payloads < self.payloads {
                break;
            }
            state.is_awaited = true;
            state = self.work.wait(&self.state, state);
        }
        let mut taken = 0;
        while taken < most {
            let fits = |ready: &mut Ready| taken == 0 || payload.len() + ready.encoded.len() + 10 <= bytes;
            let Some(mut ready) = state.pending.pop_front_if(fits) else { break };
            codec::put_bytes(payload, &std::mem::take(&mut ready.encoded));
            state.in_flight.push_back(ready);
            taken += 1;
        }
        state.payloads += 1;
        Some(taken)
    }

    /// A payload of this life was delivered whole.
    pub fn end_payload(&self) {
        let mut state = self.lock();
        state.payloads = state.payloads.saturating_sub(1);
        self.wake_proposer(&mut state);
    }

    /// A transaction of this node was delivered. If it did not commit, those that rest on it go too: those that are pending are
    /// never proposed (section 3.1.2).
    pub fn deliver(&self, turn: Turn, decision: Result<Place>, core: &Core) -> Told {
        let mut state = self.lock();
        let Some(ready) = state.in_flight.pop_front() else { return Told::new() };
        assert!(ready.turn == turn, "D6: transactions of a node are delivered by their turns");
        assert!(!ready.is_doomed || decision.is_err(), "D6: what rests on an aborted one aborts");
        state.delivered = turn;
        ready.release();
        let mut told = Told::new();
        match &decision {
            Ok(_) => {}
            Err(conflict) => state.cascade(&ready, conflict, core, &mut told),
        }
        told.insert(0, (ready, decision));
        let has_crowd = state.crowd > 0;
        drop(state);
        if has_crowd {
            self.room.ring();
        }
        told
    }

    /// Ends everything: whoever is pending or in flight is told the error, as everybody who comes later.
    pub fn fail(&self, error: &Error, unknown: &Error) -> Told {
        let mut state = self.lock();
        let is_first = state.failure.is_none();
        state.failure.get_or_insert_with(|| error.clone());
        let pending: Vec<Ready> = state.pending.drain(..).collect();
        let in_flight: Vec<Ready> = state.in_flight.drain(..).collect();
        self.wake_proposer(&mut state);
        drop(state);
        if is_first {
            self.room.ring();
            self.work.ring();
        }
        let told = in_flight.into_iter().map(|ready| (ready, Err(unknown.clone())));
        told.chain(pending.into_iter().map(|ready| (ready, Err(error.clone())))).collect()
    }

    /// Why the node has stopped.
    pub fn failure(&self) -> Option<Error> {
        self.lock().failure.clone()
    }

    /// Transactions that were admitted and not delivered, or have not passed.
    pub fn open(&self) -> usize {
        let state = self.lock();
        state.undelivered() + (state.next.0 - 1 - state.passed.0) as usize
    }
}

impl State {
    fn has_room(&self, window: Window, slots: u64) -> bool {
        let first = match window {
            Window::Sets => (self.next.0 - 1) / slots * slots + 1,
            Window::Sliding => (self.next.0 + 1).saturating_sub(slots),
        };
        self.passed.0 + 1 >= first
    }

    fn undelivered(&self) -> usize {
        self.pending.len() + self.in_flight.len()
    }

    /// The conflict map: takes back the speculative versions of an aborted transaction, and of all that rest on it; those that are
    /// pending leave the line.
    fn cascade(&mut self, aborted: &Ready, conflict: &Error, core: &Core, told: &mut Told) {
        let mut map = ConflictMap { aborted: vec![aborted.turn] };
        aborted.withdraw(core);
        for ready in self.in_flight.iter_mut().filter(|ready| !ready.is_doomed) {
            if map.adds(ready) {
                ready.is_doomed = true;
                ready.withdraw(core);
            }
        }
        let pending = std::mem::take(&mut self.pending);
        for ready in pending {
            if map.adds(&ready) {
                ready.withdraw(core);
                core.counts.count_cascaded();
                told.push((ready, Err(conflict.clone())));
            } else {
                self.pending.push_back(ready);
            }
        }
    }
}

/// Who has aborted, in one cascade. The thesis keeps the objects that they have written, and takes whoever has read one of them;
/// here a version names its writer, so that only those go that have read what is gone.
struct ConflictMap {
    aborted: Vec<Turn>,
}

impl ConflictMap {
    /// Adds a transaction if it rests on one that is here. Called by turns: the list stays sorted.
    fn adds(&mut self, ready: &Ready) -> bool {
        let rests = ready.rests_on.iter().any(|turn| self.aborted.binary_search(turn).is_ok());
        if rests {
            self.aborted.push(ready.turn);
        }
        rests
    }
}

impl Ready {
    /// One that is not proposed.
    pub fn without_effect(turn: Turn, outcome: Outcome) -> Ready {
        let (encoded, writes, rests_on) = (Vec::new(), Vec::new(), Vec::new());
        Ready { turn, encoded, writes, holds: false, rests_on, outcome, is_doomed: false }
    }

    /// Ends what it holds.
    fn release(&self) {
        if self.holds {
            self.writes.iter().for_each(|object| object.release(self.turn));
        }
    }

    fn withdraw(&self, core: &Core) {
        self.writes.iter().for_each(|object| object.withdraw(self.turn, &core.slots));
    }
}
