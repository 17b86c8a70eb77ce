//! The battery that every engine passes, on multi-version timestamp ordering.

mod support;

use support::subject::Subject;

conformance::battery! {
    Subject: anomalies definitions durability histories limits memory mistakes procedures programs rows savepoints serial_points snapshots tickets
        twin views waits;
}
