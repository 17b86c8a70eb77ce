//! One battery of tests for every engine, whatever its doors.
//!
//! # How to test a new engine
//! (CONTRIBUTING.md lists what else a new engine needs: the library, the server, the lab.)
//!
//! 1. Add `conformance.workspace = true` to the engine's `[dev-dependencies]`.
//! 2. Write `tests/conformance.rs`: a type `Subject` with `impl Fixture` (how to open the engine with the asked [`Knobs`], how to
//!    create a table, what must hold when every transaction has ended), and one `impl` for each door and capability:
//!
//!    | the engine has | implement | groups that it gets |
//!    | --- | --- | --- |
//!    | `Interactive`: open transactions | [`Sessions`] | `anomalies` `histories` `limits` `memory` `mistakes` `rows` `twin` |
//!    | read-only transactions that always commit | [`Sessions::READERS_COMMIT`] | `snapshots` |
//!    | a serial point for each transaction | [`Fixture::CLAIMS_SERIAL_POINTS`] | `serial_points` |
//!    | savepoints | `Finish::savepoints` | `savepoints` |
//!    | tables that come and go | `Interactive::ddl` | `definitions` |
//!    | reads that threads share | `Finish::shared_reads` | `views` |
//!    | waits | [`Waits`] | `waits` |
//!    | a log | [`Durable`] | `durability` |
//!    | `Reexecutable`, or `Interactive` by `model::AsReexecutable` | [`Programs`] | `programs` |
//!    | `Declared`, or `Reexecutable` by `model::AsDeclared` | [`Procedures`] | `procedures` `tickets` |
//!
//! 3. Call [`battery!`] with the groups, and list those that the engine lacks, each with its reason. A group whose trait is not
//!    implemented does not compile; one that is neither run nor listed fails the test `the_battery_is_whole`.
//! 4. `cargo test -p seriatim-ENGINE --test conformance`. To record how the engine resolves each anomaly, point
//!    [`Sessions::RECORDINGS`] at `tests/scripts`, run `UPDATE_SCRIPTS=1 cargo test -p seriatim-ENGINE --test conformance` once,
//!    and review the files: they say which transaction gave way, by which rule.
//! 5. What is particular to the engine (its paper's claims, its formats, its internal limits) stays in tests of its own; they use
//!    [`registers`], [`statements`], [`indexed`] and [`script`] too. Scripts of its own are played by [`anomalies::play_file`].
//!
//! A failure of a random test prints its seed and the command that repeats it (`CONFORMANCE_SEED=n cargo test ...`), and the
//! shortest program that fails. Concurrent runs start from the same seed each time; a seed does not fix their schedule, so the
//! engine's models (loom, shuttle) remain its own.
//!
//! # What decides
//! - `twin`, `savepoints`: each answer is the naive twin's (`model::twin`), of one transaction at a time and of concurrent ones in
//!   the order of their serial points.
//! - `anomalies`, `histories`, `programs`, `procedures`: both judges of `check` find what was seen strictly serializable. Where no
//!   serial points are claimed, the judge of dependencies decides alone.
//! - The others: assertions that hold for every engine. What engines may choose (who waits, who gives way, when) is not asserted
//!   but recorded in the scripts.
//!
//! That the battery can fail is tested: `tests/broken.rs` runs it on small engines that lose updates, show phantoms, read what is
//! not committed and so on, and each is caught by a named part; `tests/sound.rs` runs it whole on the same engine unbroken.
#![forbid(unsafe_code)]

pub mod ages;
pub mod anomalies;
pub mod battery;
pub mod definitions;
pub mod durability;
pub mod fixture;
pub mod histories;
pub mod indexed;
pub mod judges;
pub mod limits;
pub mod memory;
pub mod mistakes;
pub mod observe;
pub mod procedures;
pub mod programs;
pub mod registers;
pub mod rows;
pub mod savepoints;
pub mod script;
pub mod seeds;
pub mod serial_points;
pub mod snapshots;
pub mod statements;
pub mod tickets;
pub mod twin;
pub mod views;
pub mod waits;
pub mod ways;

pub use fixture::{Durable, Fixture, Knobs, Open, Procedures, Programs, Sessions, Waits};
