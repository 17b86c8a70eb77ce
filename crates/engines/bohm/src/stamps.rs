//! Stamps: what the log calls a batch.
//!
//! It keeps the greatest stamp that a record may have, the *ceiling*, and a checkpoint covers stamps below its bound: so stamps must rise,
//! also behind those of the engine that had the directory before. Timestamps of `mvto` are readings of a clock, which within hours are
//! beyond any number of a batch.

use crate::position::{BATCHES, Position};
use model::{Fault, Result};

/// Below this a stamp may be a number: a run has room above for more batches than it can make.
const NUMBERS: u64 = BATCHES - (1 << 42);
/// No engine draws a timestamp in the upper half.
const LAST_START: u64 = BATCHES / 2;

/// How batches are stamped: by their numbers, or, in a directory with a stamp that no batch can have, by their first positions. The two
/// never mix: stamps of the second kind begin behind such a stamp, and a ceiling stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamps {
    Numbers,
    Positions,
}

impl Stamps {
    /// How batches are stamped behind the largest stamp of a directory, and the batch above which they begin.
    ///
    /// # Errors
    /// No engine draws such a stamp.
    pub fn behind(largest: u64) -> Result<(Stamps, u64)> {
        if largest < NUMBERS {
            return Ok((Stamps::Numbers, largest + 1));
        }
        let start = Position::from_number(largest).batch() + 1;
        if start > LAST_START {
            let detail = format!(
                "timestamps up to {largest} were used, which leaves the engine bohm no room above: dump the database with the \
                 engine that wrote it, and load it into a new directory"
            );
            return Err(Fault::Corruption { detail }.into());
        }
        Ok((Stamps::Positions, start))
    }

    /// The stamp of a batch.
    pub fn of(self, batch: u64) -> u64 {
        match self {
            Stamps::Numbers => batch,
            Stamps::Positions => Position::new(batch, 0).number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_rise_behind_those_of_any_engine() {
        for largest in [0, 1, 70_000, NUMBERS / 2, NUMBERS - 1, NUMBERS, BATCHES, 3 << 50, (1 << 61) - 1] {
            let (stamps, start) = Stamps::behind(largest).expect("an engine draws it");
            assert!(largest < stamps.of(start + 1), "{largest}: {stamps:?} above {start}");
            assert!(stamps.of(start + 1) < stamps.of(start + 2));
            assert_eq!(
                Position::new(start + (1 << 41), 5).batch(),
                start + (1 << 41),
                "{largest}: batches have positions"
            );
        }
        // A ceiling that was raised ahead.
        for largest in [5, NUMBERS / 2, NUMBERS, 3 << 50] {
            let (stamps, start) = Stamps::behind(largest).expect("an engine draws it");
            let (again, next) = Stamps::behind(stamps.of(start + (1 << 20))).expect("this engine has drawn it");
            assert!(again == stamps && next > start + (1 << 20), "{largest}: {again:?} above {next}");
        }
        assert!(matches!(Stamps::behind(u64::MAX), Err(model::Error::Fault(Fault::Corruption { .. }))));
    }
}
