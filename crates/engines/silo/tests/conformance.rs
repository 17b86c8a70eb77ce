//! The battery that every engine passes, on Silo: with claimed places, which two judges and the twin follow, and
//! histories without.

mod common;

use common::{Claiming, Plain};

conformance::battery! {
    Claiming: anomalies definitions histories limits mistakes procedures programs rows savepoints serial_points tickets twin;
    lacks durability "in memory only",
    lacks memory "for comparison: nothing is counted",
    lacks snapshots "read-only transactions validate, and snapshots read the end of an epoch: tests/snapshots.rs",
    lacks views "the read set of a transaction belongs to one thread",
    lacks waits "nothing waits for an open transaction",
}

/// Histories of commits that share no counter, as the paper has them: the judge of dependencies decides.
mod unclaimed {
    use super::Plain;
    use conformance::histories;

    #[test]
    fn two_clients_on_eight_keys() {
        histories::two_clients_on_eight_keys::<Plain>();
    }

    #[test]
    fn four_clients_with_small_parts() {
        histories::four_clients_with_small_parts::<Plain>();
    }

    #[test]
    fn eight_clients_over_several_leaves() {
        histories::eight_clients_over_several_leaves::<Plain>();
    }

    #[test]
    fn eight_clients_with_long_scans() {
        histories::eight_clients_with_long_scans::<Plain>();
    }

    #[test]
    fn a_forged_read_is_refused() {
        histories::a_forged_read_is_refused::<Plain>();
    }
}
