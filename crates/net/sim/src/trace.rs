//! Record of a simulation: always a digest, and on request the steps in words.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Number of events of each kind. A simulation in which nothing happens proves nothing.
pub type Tally = BTreeMap<&'static str, u64>;

/// The story of one run.
#[derive(Debug, Default)]
pub struct Trace {
    /// The last steps in words, if they are wanted.
    recent: Option<RecentSteps>,
    digest: u64,
    tally: Tally,
}

#[derive(Debug)]
struct RecentSteps {
    lines: VecDeque<String>,
    limit: usize,
}

impl Trace {
    /// A trace that remembers the last `lines` steps in words; zero makes it fast.
    #[must_use]
    pub fn new(lines: usize) -> Self {
        let recent = (lines > 0).then(|| RecentSteps { lines: VecDeque::new(), limit: lines });
        Self { recent, ..Self::default() }
    }

    /// Tells a step.
    pub fn step(&mut self, words: impl FnOnce() -> String) {
        if let Some(recent) = &mut self.recent {
            if recent.lines.len() == recent.limit {
                recent.lines.pop_front();
            }
            recent.lines.push_back(words());
        }
    }

    /// Adds a number that equal runs have in common to the digest.
    pub fn digest(&mut self, number: u64) {
        // FNV-1a by words, with a shift to bring high bits down.
        self.digest = (self.digest ^ number ^ (self.digest >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Counts something.
    pub fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }

    /// Counts something several times.
    pub fn add(&mut self, what: &'static str, times: u64) {
        *self.tally.entry(what).or_default() += times;
    }

    /// The end of a run.
    #[must_use]
    pub fn into_parts(self) -> (Tally, u64, Vec<String>) {
        (self.tally, self.digest, self.recent.map_or_else(Vec::new, |recent| recent.lines.into()))
    }
}

/// A promise that was broken in a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

/// Fails with a [`Violation`] unless something holds.
#[macro_export]
macro_rules! demand {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::Violation(format!($($words)+)));
        }
    };
}

/// Result of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Number of events of each kind.
    pub tally: Tally,
    /// Equal runs have equal digests.
    pub digest: u64,
    /// The promise that was broken, if one was.
    pub violation: Option<Violation>,
    /// The last steps in words, if they were wanted.
    pub story: Vec<String>,
}

impl Outcome {
    /// The outcome of a run that ended with `result`.
    #[must_use]
    pub fn of(trace: Trace, result: Result<(), Violation>) -> Self {
        let (tally, digest, story) = trace.into_parts();
        Self { tally, digest, violation: result.err(), story }
    }
}
