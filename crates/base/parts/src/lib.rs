//! Concurrent structures that the engines share. They contain no protocol: no transaction, no version, no conflict.
//!
//! - [`sync`]: the one place from which synchronization is imported (std, loom or shuttle).
//! - [`index`]: the leaf kernel that phantom protection rests on, and the two indexes built of it:
//!   [`index::Ordered`] (B+tree, optimistic latching) and [`index::Hash`] (buckets, points only).
//!   [`index::AnyIndex`] is the one that a table asks for.
//! - [`tables`]: an engine's tables by name and number, read without a latch.
//! - [`marks`]: which keys a transaction has written, while they are few.
//! - [`memory`]: counting bytes without a counter that all threads write.
//! - [`spin`]: waiting for a thread that is about to finish.
//! - [`wait`]: parking on an address, for the rare wait of a transaction for another.
//! - [`bell`]: conditions that threads wait for, of the operating system or of a simulation.
//! - [`promise`]: a value that one thread resolves and another waits for, polls or is called with.
//! - [`threads`]: a small number for each thread.
//! - [`epoch`]: reclamation of memory that optimistic readers may still look at.
//!
//! Invariants are numbered where they hold: L1 to L4 in [`index::leaf`], N1 to N3 and O1 to O3 in the ordered index, H1 to H4
//! in the hash index. They are asserted here (H4 in release builds too, the others where debug assertions are on):
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | L1 | `leaf.rs` `take` and the drop of `Latched` | `loom_leaf`; `check_before_latch` |
//! | L2 | `ordered.rs` `insert` | `loom_leaf` |
//! | L3 | `leaf.rs` `stamp_and_validate` | `loom_leaf`; `split_drops_stamp`, `removal_drops_stamp` |
//! | L4 | `leaf.rs` `latch_at`, `stamp_and_validate` | `loom_leaf` |
//! | N1, O1, O3 | `ordered/shape.rs`, of a whole tree: tests only | `shuttle_ordered`, the unit tests |
//! | N2, N3 | `ordered/node.rs` `insert`, `remove`, `append` | `shuttle_ordered` |
//! | H1, H2 | by the search that confirms | `hash`, `loom_hash`, `shuttle_hash` |
//! | H3, H4 | `hash/shard.rs`, `hash/bucket.rs` | `hash` |

pub mod bell;
pub mod epoch;
pub mod index;
pub mod marks;
pub mod memory;
pub mod promise;
pub mod spin;
pub mod sync;
pub mod tables;
pub mod threads;
pub mod wait;

pub use crossbeam_utils::CachePadded;
