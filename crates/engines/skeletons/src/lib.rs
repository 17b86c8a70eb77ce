//! Engines to come, as far as their doors: the types that each needs, the `impl` headers, and how each method will be met.
//!
//! A proof by compilation that the doors fit. Every store is an empty enum: no value of it exists, so no method can be called,
//! and each body says so by matching on it. A skeleton is deleted when its engine lands.
//!
//! | engine | paper | doors | what it asked of them |
//! | --- | --- | --- | --- |
//! | [`hyper`] | Neumann et al., SIGMOD 2015 | 1 | predicate and columns in every [`model::Scan`]; scans by column ([`model::columns`]) |
//! | [`bohm`] | Faleiro and Abadi, VLDB 2015 | 3 | many submissions at once, kinds of writes in footprints, [`model::Error::NotYet`], input logs |
//! | [`dur`] | Pandey, thesis 2016 (PXDUR) | 1 | a commit that is decided later: [`model::Pending`]; positions of a total order |
//! | [`ssn`] | Pandey, thesis 2016 (TSAsR); Wang et al., DaMoN 2015 | 1 | capabilities that may be absent: it has neither savepoints nor tables; no serial points |
//! | [`morty`] | Burke et al., EuroSys 2023 | 2 | bodies that stop and run again from a longer read log; draws that repeat |
#![forbid(unsafe_code)]

pub mod bohm;
pub mod dur;
pub mod hyper;
pub mod morty;
pub mod ssn;
