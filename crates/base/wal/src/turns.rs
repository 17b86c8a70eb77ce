//! Whose turn it is to write a checkpoint, and how fast: for engines, which write one at a time.

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use env::time::{Duration, Instant};
use std::sync::PoisonError;

/// Speed at which a checkpoint is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At full speed: a caller waits for it.
    Full,
    /// With a pause after each batch, as long as the batch took: half of a disk and of a processor are left to others.
    Half,
}

/// Batches are joined until they have taken so long: shorter pauses are mostly the system's.
const LEAST_WORK: Duration = Duration::from_millis(1);

/// Gives checkpoints their turns.
#[derive(Debug, Default)]
pub struct CheckpointTurns {
    writing: Mutex<()>,
    /// How many wait for a turn, or want the one who has it to hurry. `Relaxed`: advice.
    waiting: AtomicU64,
}

impl CheckpointTurns {
    /// Waits for the checkpoint that is being written, which then goes at full speed.
    pub fn take(&self, pace: Pace) -> CheckpointTurn<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        CheckpointTurn { turns: self, pace, since: Instant::now(), _writing: writing }
    }

    /// Lets the checkpoint that is being written, and later ones, go at full speed: the engine is about to be closed.
    pub fn hurry(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }
}

/// The right to write a checkpoint.
pub struct CheckpointTurn<'t> {
    turns: &'t CheckpointTurns,
    pace: Pace,
    /// When it last rested.
    since: Instant,
    _writing: MutexGuard<'t, ()>,
}

impl CheckpointTurn<'_> {
    /// Rests after a batch, if that is due. Call it with nothing held that others want.
    pub fn rest(&mut self) {
        let worked = self.since.elapsed();
        if worked >= LEAST_WORK {
            env::thread::sleep(self.rest_after(worked));
            self.since = Instant::now();
        }
    }

    fn rest_after(&self, worked: Duration) -> Duration {
        let is_wanted = self.pace == Pace::Half && self.turns.waiting.load(Ordering::Relaxed) == 0;
        if is_wanted { worked } else { Duration::ZERO }
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_time_is_left_to_others_until_somebody_waits() {
        let (turns, worked) = (CheckpointTurns::default(), Duration::from_secs(3));
        assert_eq!(turns.take(Pace::Full).rest_after(worked), Duration::ZERO);
        let turn = turns.take(Pace::Half);
        assert_eq!(turn.rest_after(worked), worked);
        std::thread::scope(|scope| {
            scope.spawn(|| drop(turns.take(Pace::Full)));
            while turn.rest_after(worked) > Duration::ZERO {
                std::thread::yield_now();
            }
            drop(turn);
        });
        let turn = turns.take(Pace::Half);
        assert_eq!(turn.rest_after(worked), worked, "nobody waits any more");
        turns.hurry();
        assert_eq!(turn.rest_after(worked), Duration::ZERO);
    }
}
