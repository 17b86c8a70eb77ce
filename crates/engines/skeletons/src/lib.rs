//! Engines to come, as skeletons: the types that each needs, the `impl` headers of its door, and how each method will be implemented.
//!
//! That they compile shows that the interface of `model` fits these engines. Every store is an empty enum: no value of it exists, so
//! no method can be called, and a body is a `match` without arms. A skeleton is deleted when its engine lands.
//!
//! | engine | paper | door | what it needs of the interface |
//! | --- | --- | --- | --- |
//! | [`ssn`] | Pandey, thesis 2016 (TSAsR); Wang et al., DaMoN 2015 | `Interactive` | capabilities that may be absent: it has neither savepoints nor tables; no serial points |
//! | [`morty`] | Burke et al., EuroSys 2023 | `Reexecutable` | bodies that stop and run again from a longer read log; draws that repeat |
#![forbid(unsafe_code)]

pub mod morty;
pub mod ssn;
