//! The kernel of a replaced version's memory: when it may be used again. Checked by loom (`tests/loom_retired.rs`).
//!
//! A version that was replaced at `r` is looked at by readers at or below `r` only: all others stop at the one that replaced it. So it
//! is not unlinked, and nobody visits its tuple for its sake: who replaced it notes `r`, and once the bound has passed `r` nobody is
//! registered who could look (M5). Whoever acquires such a bound has acquired the ends of all who did look.
//!
//! Source: vMVCC, section 2 (garbage collection). Deviation: the paper's collector unlinks what it frees.

use model::Timestamp;
use std::collections::VecDeque;

/// Returns whether nobody looks any more at what only readers at or below `last` look at.
#[inline]
pub fn has_passed(bound: Timestamp, last: Timestamp) -> bool {
    last < bound
}

/// Notes of what was replaced, in about the order of the timestamps. `B` is what is used again.
#[derive(Debug)]
pub struct Notes<B>(VecDeque<Note<B>>);

/// Something that was replaced at a timestamp.
#[derive(Debug)]
pub struct Note<B> {
    /// What is used again.
    pub what: B,
    /// The last timestamp of those who may look at it.
    pub at: Timestamp,
}

impl<B> Default for Notes<B> {
    fn default() -> Notes<B> {
        Notes(VecDeque::new())
    }
}

impl<B> Notes<B> {
    /// Adds a note.
    #[inline]
    pub fn push(&mut self, note: Note<B>) {
        self.0.push_back(note);
    }

    /// Takes the oldest note, if nobody looks at its subject any more.
    #[inline]
    pub fn take(&mut self, bound: Timestamp) -> Option<B> {
        self.0.pop_front_if(|note| has_passed(bound, note.at)).map(|note| note.what)
    }

    /// Returns how many there are.
    #[expect(clippy::len_without_is_empty, reason = "for the statistics")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes all, whoever looks.
    pub fn drain(&mut self) -> impl Iterator<Item = B> {
        self.0.drain(..).map(|note| note.what)
    }
}
