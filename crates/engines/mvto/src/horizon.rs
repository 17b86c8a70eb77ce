//! Versions that may still be read: the open snapshots, and a floor below which there are no others.
//!
//! ```text
//! time    -----s1---------------s2----------F======================>
//!          b [ 4 )[ 6      )[ 9     )[ 12  )[ 15                     versions 6 and 12 hold no snapshot: spliced out
//! ```
//!
//! A horizon may be out of date, but is safe to use. A transaction that begins after it was taken draws a timestamp above its
//! floor, where every version is kept. A transaction that ended after it was taken is still listed, so its versions are kept
//! until the next horizon.
//!
//! Deviation: vMVCC, section 2, keeps every version above the bound.

use model::Timestamp;

/// The open snapshots at one moment (begin timestamps of transactions, and points that checkpoints read at).
#[derive(Debug, Default)]
pub struct Horizon {
    /// Horizons are numbered in the order of their moments.
    pub number: u64,
    /// In ascending order.
    open: Vec<u64>,
    /// No other transaction is, or will ever be, below.
    floor: u64,
}

impl Horizon {
    /// The horizon of these snapshots; nobody else reads below `floor`.
    pub fn new(number: u64, mut open: Vec<u64>, floor: u64) -> Horizon {
        open.sort_unstable();
        Horizon { number, open, floor }
    }

    /// Returns the floor: no transaction but the listed snapshots is, or will ever be, below.
    pub fn floor(&self) -> Timestamp {
        Timestamp(self.floor)
    }

    /// Returns whether some transaction may read a version that is valid from `begin` until `end`, the next one's begin: a
    /// transaction at `T` reads it if `begin < T <= end` (M4).
    pub fn needs(&self, begin: Timestamp, end: Timestamp) -> bool {
        if end.0 >= self.floor {
            return true;
        }
        let above = self.open.partition_point(|&open| open <= begin.0);
        self.open.get(above).is_some_and(|&open| open <= end.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_needed_by_whoever_reads_above_its_begin_and_up_to_its_end() {
        let horizon = Horizon::new(1, vec![20, 10], 30);
        let needs = |begin, end| horizon.needs(Timestamp(begin), Timestamp(end));
        assert!(needs(9, 10) && needs(5, 15) && needs(19, 25) && needs(1, 29));
        assert!(!needs(10, 19) && !needs(1, 9) && !needs(20, 29), "nobody is in between");
        assert!(needs(21, 30) && needs(40, 50), "somebody may yet begin there");
    }
}
