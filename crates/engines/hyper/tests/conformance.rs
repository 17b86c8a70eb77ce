//! The battery that every engine passes, on HyPer's protocol; and histories of its variants.

mod common;

use common::{ByColumn, ByRow};

conformance::battery! {
    ByColumn: anomalies definitions durability histories limits memory mistakes procedures programs rows savepoints serial_points snapshots
        tickets twin views waits;
}

/// Histories of rows stored whole, without serial points.
mod by_row {
    use super::ByRow;
    use conformance::histories;

    #[test]
    fn two_clients_on_eight_keys() {
        histories::two_clients_on_eight_keys::<ByRow>();
    }

    #[test]
    fn four_clients_with_small_parts() {
        histories::four_clients_with_small_parts::<ByRow>();
    }

    #[test]
    fn eight_clients_with_long_scans() {
        histories::eight_clients_with_long_scans::<ByRow>();
    }
}
