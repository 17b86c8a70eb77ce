//! The battery that every engine passes, on one node that executes one transaction at a time, on one that executes many, and on three,
//! by each policy.

mod common;

use common::{Many, OneAtATime, ThreeConflictAware, ThreeInSets, ThreeSliding};

conformance::battery! {
    OneAtATime: procedures programs tickets;
    lacks anomalies "no open transactions: a body runs to its end in its turn",
    lacks definitions "no open transactions: tables are created between transactions",
    lacks durability "in memory: the order has what was acknowledged",
    lacks histories "no open transactions: those of programs are judged in their group",
    lacks limits "no open transactions: tests/limits.rs has the limits",
    lacks memory "nothing is counted",
    lacks mistakes "no open transactions: tests/limits.rs has the mistakes",
    lacks rows "no open transactions",
    lacks savepoints "a body is run to its end",
    lacks serial_points "no open transactions: places are judged in the group programs",
    lacks snapshots "no open transactions: tests/snapshots.rs has the snapshots",
    lacks twin "no open transactions",
    lacks views "a body is run by one thread",
    lacks waits "no procedure waits for an open transaction",
}

mod many {
    use super::Many;

    conformance::battery!(@procedures Many);
    conformance::battery!(@programs Many);
    conformance::battery!(@tickets Many);
}

mod three_in_sets {
    use super::ThreeInSets;

    conformance::battery!(@procedures ThreeInSets);
    conformance::battery!(@programs ThreeInSets);
    conformance::battery!(@tickets ThreeInSets);
}

mod three_sliding {
    use super::ThreeSliding;

    conformance::battery!(@procedures ThreeSliding);
    conformance::battery!(@programs ThreeSliding);
    conformance::battery!(@tickets ThreeSliding);
}

mod three_conflict_aware {
    use super::ThreeConflictAware;

    conformance::battery!(@procedures ThreeConflictAware);
    conformance::battery!(@programs ThreeConflictAware);
    conformance::battery!(@tickets ThreeConflictAware);
}
