//! The battery on a small correct engine that claims no serial points, and whose procedures run on a thread of its own: no part
//! needs a claim, or procedures that have run when their submission returns.

extern crate seriatim_conformance as conformance;

mod small;

type Subject = small::Subject<{ small::Flaw::ClaimsNothing as usize }>;

conformance::battery! {
    Subject: anomalies durability histories limits mistakes procedures programs rows savepoints tickets twin;
    lacks definitions "tables stay",
    lacks memory "nothing is counted",
    lacks serial_points "it claims none",
    lacks snapshots "no settled reads: a snapshot does not wait for older writers",
    lacks views "a transaction is read by one thread",
    lacks waits "optimistic: nobody waits",
}
