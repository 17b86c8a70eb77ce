//! Words of versions and of transactions: what stands in a begin or end field, and in which phase a transaction is.

/// A timestamp above all that are drawn: the end of a version that nobody has replaced, the begin of one that was rolled back.
pub(crate) const NEVER: u64 = (1 << 60) - 1;

/// Set in words that hold a transaction's id.
const IS_ID: u64 = 1 << 63;
const SLOT_BITS: u32 = 16;
const PHASE_BITS: u32 = 3;

/// Transactions that can be open at once, whatever the options say.
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// A transaction: its slot, and which one of that slot it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(u64);

impl Id {
    /// The id of a slot's first transaction.
    pub fn first(slot: usize) -> Id {
        debug_assert!(slot < MAX_SLOTS, "so many slots are there");
        Id(IS_ID | slot as u64)
    }

    /// The id of the slot's next transaction. Ids of a slot repeat after 2^47 transactions, long after the last word with them is gone
    /// (K6).
    pub fn next(self) -> Id {
        Id(self.0.wrapping_add(1 << SLOT_BITS) | IS_ID)
    }

    /// Returns the number of transactions of the slot before this one.
    pub fn count(self) -> u64 {
        (self.0 & !IS_ID) >> SLOT_BITS
    }

    pub fn slot(self) -> usize {
        (self.0 & (MAX_SLOTS as u64 - 1)) as usize
    }

    /// As it stands in a version.
    pub fn word(self) -> u64 {
        self.0
    }

    /// The id in a word; `None`: it is a timestamp.
    pub fn in_word(word: u64) -> Option<Id> {
        (word & IS_ID != 0).then_some(Id(word))
    }
}

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It executes.
    Active,
    /// It draws its end timestamp: whoever sees this waits for it (K1).
    Drawing,
    /// It validates, at this end timestamp.
    Preparing(u64),
    Committed(u64),
    Aborted,
}

impl Phase {
    /// Phase and timestamp in one word, so that both are read at one instant.
    pub fn word(self) -> u64 {
        match self {
            Phase::Active => 0,
            Phase::Drawing => 1,
            Phase::Preparing(at) => at << PHASE_BITS | 2,
            Phase::Committed(at) => at << PHASE_BITS | 3,
            Phase::Aborted => 4,
        }
    }

    pub fn from_word(word: u64) -> Phase {
        let at = word >> PHASE_BITS;
        match word & ((1 << PHASE_BITS) - 1) {
            0 => Phase::Active,
            1 => Phase::Drawing,
            2 => Phase::Preparing(at),
            3 => Phase::Committed(at),
            _ => Phase::Aborted,
        }
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn words_are_ids_or_timestamps() {
        let first = Id::first(7);
        let second = first.next();
        assert_ne!(first, second);
        assert_eq!((first.slot(), second.slot(), first.count(), second.count()), (7, 7, 0, 1));
        assert_eq!(Id::in_word(second.word()), Some(second));
        assert_eq!([0, 1, NEVER].map(Id::in_word), [None; 3]);
    }

    #[test]
    fn phases_keep_their_timestamp() {
        for phase in [Phase::Active, Phase::Drawing, Phase::Preparing(NEVER), Phase::Committed(1), Phase::Aborted] {
            assert_eq!(Phase::from_word(phase.word()), phase);
        }
    }
}
