//! A state that comes, read by a thread of its own: whoever takes its pieces need not wait where the holder is slow or silent, and can take
//! deliveries meanwhile.

use crate::core::Core;
use crate::error::behind;
use crate::states::{Piece, Pieces, States};
use env::time::Duration;
use model::{Fault, Result};
use parts::bell::Bell;
use parts::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};
use total::Position;

/// The taker's end. Dropped, it ends the thread, at its next piece.
pub(crate) struct Incoming(Arc<Shared>);

struct Shared {
    slot: Mutex<Slot>,
    changed: Bell,
}

/// One piece waits; one more is being read.
#[derive(Default)]
struct Slot {
    next: Option<Result<Piece>>,
    is_wanted: bool,
    has_ended: bool,
}

impl Incoming {
    /// Asks a holder for a state that has everything up to `earliest`.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn open(core: &Core, states: Arc<dyn States>, holder: u64, earliest: Position) -> Result<Incoming> {
        let slot = Mutex::new(Slot { is_wanted: true, ..Slot::default() });
        let shared = Arc::new(Shared { slot, changed: core.host.bell() });
        let reading = shared.clone();
        // Nobody waits for its end: it may be in the middle of a read that nothing comes for.
        core.host
            .spawn("state-reader", move || {
                let ending = Ending(&reading);
                ending.0.read(&*states, holder, earliest);
            })
            .map_err(|error| Fault::Disk { detail: format!("no thread could be started: {error}") })?;
        Ok(Incoming(shared))
    }

    /// Takes the next piece, if it comes within that time. After an error, or the last piece, there is none.
    pub fn take(&self, longest: Duration) -> Option<Result<Piece>> {
        let mut slot = self.0.lock();
        if slot.next.is_none() && !slot.has_ended {
            slot = self.0.changed.wait_for(&self.0.slot, slot, longest);
        }
        let next = slot.next.take();
        if next.is_none() && slot.has_ended {
            return Some(Err(behind("nobody reads the state any more".to_owned())));
        }
        drop(slot);
        if next.is_some() {
            self.0.changed.ring();
        }
        next
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.0.lock().is_wanted = false;
        self.0.changed.ring();
    }
}

/// Says that the thread has ended, however it did.
struct Ending<'s>(&'s Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.changed.ring();
    }
}

impl Shared {
    /// No code of others runs under the latch.
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, states: &dyn States, holder: u64, earliest: Position) {
        let failed = |error: std::io::Error| behind(format!("node {holder} has no state to send: {error}"));
        let mut pieces = match states.fetch(holder, earliest).map_err(failed).and_then(Pieces::new) {
            Ok(pieces) => pieces,
            Err(error) => {
                self.put(Err(error));
                return;
            }
        };
        loop {
            let piece = pieces.read_next();
            let is_last = matches!(piece, Err(_) | Ok(Piece::End(_)));
            if !self.put(piece) || is_last {
                return;
            }
        }
    }

    /// Returns whether more is wanted, once there is room for this one.
    fn put(&self, piece: Result<Piece>) -> bool {
        let mut slot = self.lock();
        while slot.is_wanted && slot.next.is_some() {
            slot = self.changed.wait_for(&self.slot, slot, Duration::MAX);
        }
        let is_wanted = slot.is_wanted;
        slot.next = Some(piece);
        drop(slot);
        self.changed.ring();
        is_wanted
    }
}
