//! The whole battery on a small correct engine: no part reports a false failure.

extern crate seriatim_conformance as conformance;

mod small;

type Subject = small::Subject<0>;

conformance::battery! {
    Subject: anomalies durability histories limits mistakes procedures programs rows savepoints serial_points tickets twin;
    lacks definitions "tables stay",
    lacks memory "nothing is counted",
    lacks snapshots "no settled reads: a snapshot does not wait for older writers",
    lacks views "a transaction is read by one thread",
    lacks waits "optimistic: nobody waits",
}
