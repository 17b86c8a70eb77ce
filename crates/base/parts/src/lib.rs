//! Concurrent structures that the engines share. They know no protocol: no transaction, no version, no conflict.
//!
//! - [`sync`]: the one place from which synchronization is imported (std, loom or shuttle).
//! - [`index`]: the leaf kernel that phantom protection rests on, and the two indexes built of it:
//!   [`index::Ordered`] (B+tree, optimistic latching) and [`index::Hash`] (buckets, points only).
//! - [`memory`]: counting bytes without a counter that all threads write.
//! - [`spin`]: waiting for somebody who is about to finish.
//! - [`wait`]: parking on an address, for the rare wait of a transaction for another.
//! - [`epoch`]: reclamation of memory that optimistic readers may still look at.

pub mod epoch;
pub mod index;
pub mod memory;
pub mod spin;
pub mod sync;
pub mod wait;

pub use crossbeam_utils::CachePadded;
