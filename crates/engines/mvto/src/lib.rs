//! Multi-version timestamp ordering: the protocol of vMVCC (OSDI '23), durable, with ranges and typed rows.
//!
//! # The idea in five sentences
//! A transaction's place in the serial order is fixed when it begins, by a timestamp that it draws from the CPU's clock
//! without touching memory that others write. Every key keeps several versions, each valid from its writer's timestamp on; a
//! read takes the newest version below its own timestamp, and leaves that timestamp behind as the key's *last-read stamp*.
//! Writes are buffered; at commit the transaction owns what it changes, and aborts if somebody with a later timestamp has
//! read or written it before, since that somebody should have seen this write. A reader that meets an older transaction in
//! the middle of its commit waits for it, and never anybody for a younger one. So read-only transactions always commit, and
//! long readers delay no writer.
//!
//! A transaction may also own a row from the statement on that writes it ([`model::Mode::OwnAtStatement`]). Then its place may
//! still change: readers do not wait for it but *push* it, and at commit it moves above them, if what it has read is the same
//! there (`advance.rs`, docs/decisions/0021).
//!
//! ```text
//! time    ----------4-----------------10-----12------15-------->
//! k       [ 2: u ]                                [ 15: v ]         T4 and T12 read u; T15 installs v over it
//!                    \_ last-read 4      \_ last-read 12
//! T10     .......................begin............................... write k ... commit: 10 < last-read 12: later-reader
//! ```
//!
//! # Where the serial order is chosen
//! At begin (`sites.rs`): the timestamp lies strictly inside the call that drew it, so the order is that of real time too
//! (strict serializability). One that is pushed draws again, inside the call that commits it. Timestamps rise across
//! restarts: a ceiling above all that are in use is durable beforehand.
//!
//! # Invariants
//! - **M1** A timestamp of site `s` is congruent to `s` modulo the number of sites, above the clock's reading at the call and
//!   below its reading at the return.
//! - **M2** Drawing and registering are one step under the site's mutex; timestamps are unique. They stay so, and rise, where the
//!   clock steps back: engine time then goes on above all that were drawn, and above the floors of all surveys.
//! - **M3** Of a reader that stamps and then looks, and a writer that owns and then checks, at least one sees the other.
//! - **M4** A chain is strictly ordered, newest first; a reader sees only versions below its own timestamp; a writer installs
//!   above every version and every last-read stamp.
//! - **M5** No registered or future transaction has a timestamp below the bound, nor one below a horizon's floor that is not
//!   among the horizon's snapshots. The newest version of a row stays linked, whatever happens, and shows its begin; the newest
//!   below the bound stays, and so does each that is valid where a snapshot, or somebody above the floor, may read.
//! - **M6** A gap has a stamp as a tuple has: whoever finds a key absent or scans over it raises the stamp of its index leaf and
//!   then confirms; an insert is placed under the leaf's latch at or above the stamp, already owned; a split copies the stamp, a
//!   merge takes the greater, a dead key folds its own in.
//! - **M7** No deadlock: one that commits waits only for smaller timestamps that commit, one that executes for older ones and
//!   for those that commit; who owns at commit holds nothing while it waits for one that executes. No latch is held meanwhile.
//! - **M9** A redo record (a large one: its last part) gets its log position while its tuples are owned; every answer,
//!   an error as well as a commit, waits until the log is durable past every version that was read or written.
//! - **M10** A transaction commits at its begin timestamp, or at one that it drew after its last word had turned to committing:
//!   above everybody who has pushed it. What it has read is then the same as it was: stamped there, and the newest version not
//!   younger than its reads.
//! - **M11** No epoch guard is held while a transaction sleeps or a visitor's code runs: a guard holds back what all threads of
//!   the process retire. A tuple that is waited for is pinned instead; what a visitor sees is kept by the registration (S2).
//! - **M12** A transaction that is doomed (too old, and between two statements) enters no statement any more, so it never
//!   commits: its versions may go, and its rows may be taken. Its site's mutex decides: it is doomed there, and enters statements
//!   and its end there. An end that finds it doomed gives back only the rows that it still has.
//! - **S1, S2, S4** (`store.rs`) what is pinned is not killed; what a registered transaction may return is not freed; what a
//!   reader may stand on while it walks is freed through the epoch.
//! - **S3** (`pins.rs`) a tuple is queued for collection once at most, and whoever leaves something in it leaves it queued.
//! - **C1, C2, C3** (`checkpoint.rs`) a checkpoint and the log behind its start have everything, and nothing by half.
//!
//! # Where they are asserted
//! In constant time, in pairs where two threads have a part in it. *Debug*: not in release builds.
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | M1, M2 | `Time::draw` (M1 debug) | `loom_sites`, `clock`; `round_down`, `skip_clock_wait` |
//! | M3 | `read.rs` `look`, after the stamp (debug) | `loom_ownership`, `shuttle_engine`; `stamp_not_raised`, `look_before_stamp`, `skip_owner_wait`, `release_before_install` |
//! | M4 | `commit.rs` `install`, `read.rs` `rest_on`, `store.rs` `install`, `splice` (debug) | `conformance`; `skip_later_writer` |
//! | M5 | `begin.rs` `prepare` against `gc.rs` `advance_bound` (debug); `store.rs` `cut`, `gc.rs` `remove_dead` (debug) | `loom_sites`, `versions`; `infinite_bound`, `prune_one_too_many`, `splice_*` |
//! | M6 | `parts` (L2, L3) | `anomalies`; `reclaim_drops_stamp` |
//! | M7 | `wait.rs` `sleep_while` (debug) | `waits`, `push`, `conformance` |
//! | M9 | `commit.rs` `commit`; `install` (debug) | `answers`, `recovery`, `sim`; `error_without_wait` (in `model`) |
//! | M10 | `advance.rs` `settle` | `push`, `loom_ownership`; `skip_refresh`, `refresh_*`, `check_before_turn` |
//! | M11 | `wait.rs` `sleep_while`, `scan.rs` `run` (debug) | `reclaim`, `checkpoint` |
//! | M12 | `begin.rs` `end` | `abandoned`, `loom_sites`; `release_of_the_doomed` |
//! | S1, S3 | `pins.rs`, `store.rs` `retire` (debug) | `loom_pins`, `loom_ownership`; `forget_the_queued` |
//! | S2, S4 | `store.rs` `begin`: versions that are gone are poisoned (debug) | `conformance` (histories), `versions`, `reclaim` |
//! | C1 to C3 | `wal`, L8 | `checkpoint`, `sim` |
//!
//! # What is deliberately absent
//! A shared counter at begin or read; a lock table; deadlock detection; a collector thread and any walk over a table; fences
//! beyond those of M3 and M6; validation at commit, but of those that are pushed.
//!
//! # From the paper to the code
//! | vMVCC | here | test |
//! | --- | --- | --- |
//! | 2 `Begin`, 4.5 timestamps | `sites.rs` `Time::draw`, `begin.rs` | `tests/paper.rs` `sec_4_5_*`, `tests/loom_sites.rs` |
//! | beyond: a clock that steps back | `sites.rs` `continue_time` | `tests/clock.rs`, `tests/loom_sites.rs` |
//! | 2 `Read`, `tslast` | `read.rs` `look`, `ownership.rs` | `sec_2_read_*`, `tests/loom_ownership.rs` |
//! | beyond: several keys side by side | `read.rs` `read_many` | `tests/conformance.rs` (twin) |
//! | 2 `Write`, `Delete`, write buffer | `write.rs`, `write_set.rs` | `sec_2_write_buffer_*` |
//! | 2 `Commit`, figure 2 | `commit.rs`, `write.rs` `own` | `sec_2_fig_2a_*`, `sec_2_fig_2b_*` |
//! | 2 garbage collection, 5.1 its bug | `gc.rs`, `sites.rs` `survey` | `sec_2_gc_*`, `sec_5_1_*` |
//! | beyond: one version for each open snapshot | `horizon.rs`, `store.rs` `splice` | `tests/versions.rs` |
//! | 2 `db.Run` | `doors.rs` `Mvto::run` | `sec_2_run_*` |
//! | beyond: ranges | `scan.rs` | `tests/anomalies.rs`, `tests/conformance.rs` |
//! | beyond: pushing | `ownership.rs`, `advance.rs`, `read_set.rs` | `tests/push.rs`, `tests/scripts/push_*`, `tests/loom_ownership.rs` |
//! | beyond: a limit on age | `sites.rs` `doom`, `wait.rs` `take_if_doomed` | `tests/abandoned.rs`, `tests/loom_sites.rs` |
//! | beyond: durability | `recover.rs`, `checkpoint.rs` | `tests/recovery.rs` |
//!
//! Deviations: section 2's `t''` is taken for section 4.5's `t'` (`sites.rs`); tuples have an owner word instead of a mutex;
//! an absent key is stamped in its leaf and gets no tuple; collection is fed by writers, and takes out versions above the bound too
//! (`gc.rs`).
//!
//! Rooms: `engine.rs` is what all transactions share; `sites.rs`, `ownership.rs` and `pins.rs` are the kernels;
//! `begin.rs`, `read.rs`, `scan.rs`, `write.rs`, `commit.rs` the path of a transaction; `advance.rs` and `read_set.rs`
//! how it moves; `store.rs` memory; `write_set.rs` its buffer; `catalog.rs` tables; `gc.rs` and `horizon.rs`;
//! `memory.rs` the limit on it; `recover.rs` and `checkpoint.rs`; `wait.rs` sleeping, and how it ends; `doors.rs` the
//! way in; `view.rs` parallel reads; `reason.rs` why it aborts; `options.rs` knobs.

#[cfg(not(loom))]
mod advance;
#[cfg(not(loom))]
mod begin;
#[cfg(not(loom))]
mod catalog;
#[cfg(not(loom))]
mod checkpoint;
#[cfg(not(loom))]
mod commit;
#[cfg(not(loom))]
mod doors;
#[cfg(not(loom))]
mod engine;
#[cfg(not(loom))]
mod gc;
#[cfg(not(loom))]
mod horizon;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod options;
#[doc(hidden)]
pub mod ownership;
#[doc(hidden)]
pub mod pins;
#[cfg(not(loom))]
mod read;
#[cfg(not(loom))]
mod read_set;
#[cfg(not(loom))]
mod reason;
#[cfg(not(loom))]
mod recover;
#[cfg(not(loom))]
mod scan;
#[doc(hidden)]
pub mod sites;
#[cfg(not(loom))]
mod store;
#[cfg(not(loom))]
mod view;
#[cfg(not(loom))]
mod wait;
#[cfg(not(loom))]
mod write;
#[cfg(not(loom))]
mod write_set;

#[cfg(not(loom))]
pub use model::Savepoint;
#[cfg(not(loom))]
pub use {
    checkpoint::{CheckpointReport, Pace},
    doors::{Handle, Transaction},
    engine::{Mvto, Stats},
    model::RetryPolicy,
    options::Options,
    reason::Reason,
    recover::RecoveryReport,
};
