//! The proved automaton: `generated` is printed from the Coq model in `proofs/paxos`, `prim` holds its primitives.

pub mod generated;
pub mod prim;
