//! How far a node has come, and who waits for it to come further.

use crate::error::{behind, unknown};
use crate::host::Hosted;
use crate::status::{Doing, Member};
use env::time::Duration;
use model::{Error, Result};
use parts::bell::Bell;
use parts::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;
use total::Position;

/// How far a node has come.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Bell,
    host: Hosted,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The last place whose transaction is in the local store.
    pub applied: Position,
    /// Transactions that were certified up to there.
    pub place: u64,
    /// All that was delivered up to here is applied: a barrier may be further than the last payload. Nothing, unless `has_begun`: orders
    /// may count from zero.
    pub reached: Position,
    /// Something was applied, or awaited.
    pub has_begun: bool,
    /// The furthest position that is known: of a barrier, or of what waits to be applied.
    pub known: Position,
    pub doing: Doing,
    /// Nodes that have a life, as of the last batch.
    pub members: Vec<Member>,
    /// Why the last state could not be fetched.
    pub trouble: Option<String>,
    /// Why the node has stopped.
    pub failure: Option<Error>,
}

impl Progress {
    /// `applied` is the last place, if there is one.
    pub fn new(host: &Hosted, applied: Option<Position>, place: u64) -> Progress {
        let (has_begun, applied) = (applied.is_some(), applied.unwrap_or_default());
        let doing = Doing::CatchingUp;
        let state = State {
            applied,
            place,
            reached: applied,
            has_begun,
            known: applied,
            doing,
            members: Vec::new(),
            trouble: None,
            failure: None,
        };
        Progress { state: Mutex::new(state), changed: host.bell(), host: host.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self) -> State {
        self.lock().clone()
    }

    pub fn failure(&self) -> Option<Error> {
        self.lock().failure.clone()
    }

    /// The batch up to here is in the local store.
    pub fn set_applied(&self, applied: Position, place: u64) {
        let mut state = self.lock();
        assert!(state.applied <= applied, "C3: places are applied in their order");
        (state.applied, state.place, state.has_begun) = (applied, place, true);
        state.reached = state.reached.max(applied);
        state.known = state.known.max(applied);
        self.changed.ring();
    }

    /// Nodes have begun lives, or have been delivered.
    pub fn set_members(&self, members: Vec<Member>) {
        self.lock().members = members;
    }

    /// All that was delivered before a barrier is applied.
    pub fn set_reached(&self, at: Position) {
        let mut state = self.lock();
        state.reached = state.reached.max(at);
        state.known = state.known.max(at);
        state.has_begun = true;
        self.changed.ring();
    }

    /// The order has come at least so far.
    pub fn set_known(&self, at: Position) {
        let mut state = self.lock();
        state.known = state.known.max(at);
    }

    /// A state could not be fetched.
    pub fn set_trouble(&self, why: String) {
        self.lock().trouble = Some(why);
    }

    pub fn set_doing(&self, doing: Doing) {
        let mut state = self.lock();
        if doing == Doing::Serving {
            state.trouble = None;
        }
        if state.failure.is_none() {
            state.doing = doing;
        }
        drop(state);
        self.changed.ring();
    }

    /// Ends all waits, those to come too. The first reason counts.
    pub fn fail(&self, error: &Error) {
        let mut state = self.lock();
        if state.failure.is_none() {
            state.failure = Some(error.clone());
            state.doing = Doing::Stopped;
        }
        self.changed.ring();
    }

    /// Waits until the node takes part in the order.
    ///
    /// # Errors
    /// It does not in time, or has stopped.
    pub fn wait_serving(&self, longest: Duration) -> Result<()> {
        self.wait(longest, |state| state.doing == Doing::Serving)
    }

    /// Waits until all that was delivered up to a position is applied.
    ///
    /// # Errors
    /// It is not in time, or the node has stopped.
    pub fn wait_reached(&self, at: Position, longest: Duration) -> Result<()> {
        self.wait(longest, |state| state.reached >= at)
    }

    /// The same for a position of which something is needed: at the first place of an order, a node that has nothing has not reached it.
    ///
    /// # Errors
    /// As [`Progress::wait_reached`].
    pub fn wait_applied(&self, at: Position, longest: Duration) -> Result<()> {
        self.wait(longest, |state| state.has_begun && state.reached >= at)
    }

    fn wait(&self, longest: Duration, is_there: impl Fn(&State) -> bool) -> Result<()> {
        let began = self.host.now();
        let mut state = self.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if is_there(&state) {
                return Ok(());
            }
            let left = longest.saturating_sub(self.host.since(began));
            if left.is_zero() {
                let trouble = state.trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                return Err(behind(format!("it was {} for {longest:.1?}{trouble}", state.doing)));
            }
            state = self.changed.wait_for(&self.state, state, left);
        }
    }

    /// Waits until the node has stopped, or for so long.
    pub fn wait_stopped(&self, longest: Duration) {
        let began = self.host.now();
        let mut state = self.lock();
        while state.failure.is_none() {
            let left = longest.saturating_sub(self.host.since(began));
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_for(&self.state, state, left);
        }
    }

    /// The error of what was proposed and will not be answered.
    pub fn unanswered(&self) -> Error {
        let why = self.failure().map_or_else(|| "the node was closed".to_owned(), |failure| failure.to_string());
        unknown(why)
    }
}
