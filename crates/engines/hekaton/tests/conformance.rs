//! The battery that every engine passes, on Hekaton.

mod common;

use common::Validating;

conformance::battery! {
    Validating: anomalies definitions histories limits mistakes procedures programs rows savepoints serial_points snapshots tickets
        twin;
    lacks durability "in memory only",
    lacks memory "for comparison: nothing is counted",
    lacks views "the read set of a transaction belongs to one thread",
    lacks waits "nothing waits for an open transaction",
}
