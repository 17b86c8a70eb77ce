//! Multi-version timestamp ordering: the protocol of vMVCC (OSDI '23), durable, with ranges and typed rows.
//!
//! # The idea
//! A transaction's place in the serial order is fixed when it begins, by a timestamp that it draws from the CPU's clock
//! without touching memory that others write. Every key keeps several versions, each valid from its writer's timestamp on. A
//! read takes the newest version below its own timestamp, and leaves that timestamp behind as the key's *last-read stamp*.
//! Writes are buffered. At commit the transaction owns what it changes. It aborts if a transaction with a later timestamp has
//! already read or written one of these keys, since that one should have seen this write. A reader waits only for an older
//! transaction that is in the middle of its commit. So read-only transactions always commit, and long readers delay no writer.
//!
//! A transaction may also own a row from the statement on that writes it ([`model::Mode::OwnAtStatement`]). Then its place may
//! still change: later readers do not wait for it but *push* it, and at commit it moves above them, if what it has read is the
//! same there (`advance.rs`, docs/decisions/0021).
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
//! - **M2** Drawing and registering are one step under the site's mutex, or in its lane, which holds one transaction or batch; who
//!   draws under the mutex bars the lane. Timestamps are unique. They stay so, and rise, where the
//!   clock steps back: engine time then goes on above all that were drawn, and above the floors of all surveys.
//! - **M3** A reader stamps a tuple and then looks at its owner; a writer owns it and then checks its stamp. At least one of the
//!   two sees the other. A single read, in no transaction, stamps with an upper bound of all timestamps drawn so far (`get.rs`).
//!   An owner whose timestamp is not drawn yet is waited for, awake, by all who meet it, and it draws above what it has seen. What
//!   it has not written by its end counts as read.
//! - **M4** A chain is strictly ordered, newest first; a reader sees only versions below its own timestamp; a writer installs
//!   above every version, and above every last-read stamp but those of readers that wait for it.
//! - **M5** No registered or future transaction has a timestamp below the bound. None has one below a horizon's floor that is
//!   not among the horizon's snapshots. The newest version of a row always stays, and shows its begin. The newest version
//!   below the bound stays, and so does each that is valid where a snapshot, or a transaction above the floor, may read.
//! - **M6** A gap has a stamp as a tuple has: a reader that finds a key absent or scans over it raises the stamp of its index leaf
//!   and then confirms. An insert is placed under the leaf's latch at or above the stamp, already owned. A split copies the stamp,
//!   a merge takes the greater one, the removal of a key folds its stamp into the leaf's.
//! - **M7** No deadlock. A committing transaction waits only for smaller timestamps that commit. An executing one waits for older
//!   ones and for those that commit. A transaction that owns at commit gives up all that it owns before it waits for an executing
//!   one. One that owns before it has drawn waits for nobody. No latch is held during a wait.
//! - **M9** A redo record (a large one: its last part) gets its log position while its tuples are owned. Every answer, an error
//!   as well as a commit, waits until the log is durable past every version that was read or written.
//! - **M10** A transaction commits at its begin timestamp, or at one that it drew after the last of its owner words had turned to
//!   committing. The later one lies above every reader that has pushed it. At the new place all that it has read is unchanged:
//!   the read is stamped there, and the newest version is one that it could see before.
//! - **M11** No epoch guard is held while a transaction sleeps or a visitor's code runs: a guard holds back the memory that all
//!   threads of the process retire. A tuple that is waited for is pinned instead (`pins.rs`); what a visitor sees is kept by the
//!   transaction's registration (S2).
//! - **M12** A doomed transaction enters no statement and does not commit, so its versions may be collected and its rows taken by
//!   others. It is doomed by `sites.rs` `doom_below`, when it is too old and between two statements. Both that and `enter`, by which
//!   it enters a statement or its end, run under its site's mutex, so exactly one of them is first. A doomed transaction still ends
//!   (`begin.rs` `end`): it then releases only the rows that nobody has taken.
//! - **S1, S2, S4** (`store.rs`) A pinned tuple is not killed. A version that a registered transaction may return is not used again. What
//!   a reader may stand on while it walks a chain is freed through the epoch.
//! - **S3** (`pins.rs`) A tuple is queued for collection at most once, and a transaction that leaves garbage in it leaves it queued. It
//!   stays queued until nothing is left to collect.
//! - **S5** (`store.rs`) A chain ends, for all but registered readers, before the first version that was retired: its memory may be in use
//!   again. Who is neither registered nor has the tuple to himself looks at its newest version while the bound stands still.
//! - **C1, C2, C3** (`checkpoint.rs`) A checkpoint together with the log behind its start holds every commit whole.
//!
//! M8 is missing: the number of a retired invariant is not used again.
//!
//! # Where they are asserted
//! In constant time, in pairs where two threads have a part in it. The third column is left out of release builds.
//!
//! | | asserted | in debug builds | tests; mutants |
//! | --- | --- | --- | --- |
//! | M1 | | `sites.rs` `draw`, `ownership.rs` `word` | `loom_sites`, `clock`, `batch`; `round_down`, `skip_clock_wait`, `batch_draws_before_it_is_submitted` |
//! | M2 | `sites.rs` `draw` | | `loom_sites`, `clock`, `batch`; `draw_beside_the_lane`, `batch_reuses_a_timestamp` |
//! | M3 | | `read.rs` `look`, after the stamp | `loom_ownership`, `shuttle_engine`, `get`, `own_first`; `single_read_*`, `draw_above_the_limit`, `stamp_not_raised`, `look_before_stamp`, `pass_an_undated_owner`, `draw_before_owning`, `unwritten_leaves_no_stamp`, `skip_owner_wait`, `release_before_install` |
//! | M4 | `commit.rs` `install`, `read.rs` `rest_on` | `store.rs` `install`, `splice` | `conformance`; `skip_later_writer` |
//! | M5 | `begin.rs` `prepare` | `gc.rs` `advance_bound` (its partner), `remove_dead`; `store.rs` `cut` | `loom_sites`, `versions`, `batch`; `infinite_bound`, `lane_*`, `batch_shows_its_first_timestamp`, `survey_*`, `prune_one_too_many`, `splice_*` |
//! | M6 | | `parts` (L2, L3) | `anomalies`; `reclaim_drops_stamp` |
//! | M7 | | `wait.rs` `sleep_while` | `waits`, `push`, `conformance`, `shuttle_engine`; `undated_owner_waits` |
//! | M9 | `commit.rs` `commit` | `commit.rs` `install` | `answers`, `recovery`, `sim`; `error_without_wait` (in `model`) |
//! | M10 | `advance.rs` `settle` | | `push`, `loom_ownership`; `skip_refresh`, `refresh_*`, `check_before_turn` |
//! | M11 | | `wait.rs` `sleep_while`, `scan.rs` `run` | `reclaim`, `checkpoint` |
//! | M12 | `begin.rs` `end` | | `abandoned`, `loom_sites`; `release_of_the_doomed` |
//! | S1, S3 | | `pins.rs`, `store.rs` `retire` | `loom_pins`, `loom_ownership`; `forget_the_pinned` |
//! | S2, S4 | | `store.rs` `begin`: the memory of freed versions is poisoned | `loom_retired`, `loom_home`, `conformance` (histories), `versions`, `reclaim`, `memory_model` (by `make miri`); `used_again_too_early`, `home_*` |
//! | S5 | | `store.rs` `replace`, `cut`, `splice` | `store.rs`, `gc.rs` (their tests), `checkpoint`; `walk_past_what_is_kept`, `bound_moves_while_it_is_held_still` |
//! | C1 to C3 | `wal`, L8 | | `checkpoint`, `sim` |
//!
//! # What is deliberately absent
//! A shared counter at begin or read; a lock table; deadlock detection; a collector thread and any walk over a table; fences
//! beyond those of M3 and M6; validation at commit, except of transactions that were pushed.
//!
//! # From the paper to the code
//! | vMVCC | here | test |
//! | --- | --- | --- |
//! | 2 `Begin`, 4.5 timestamps | `sites.rs` `Time::draw`, `begin.rs` | `tests/paper.rs` `sec_4_5_*`, `tests/loom_sites.rs` |
//! | beyond: single reads without a timestamp | `get.rs`, `sites.rs` `hold` | `tests/get.rs`, `tests/loom_sites.rs` |
//! | beyond: transactions that begin together | `batch.rs`, `sites.rs` `enter_with` | `tests/batch.rs`, `tests/loom_sites.rs` |
//! | beyond: rows owned before the timestamp is drawn | `own_first.rs`, `ownership.rs` | `tests/own_first.rs`, `tests/loom_ownership.rs`, `tests/shuttle_engine.rs` |
//! | beyond: registration without a mutex | `sites/lane.rs` | `tests/loom_sites.rs` |
//! | beyond: a clock that steps back | `sites.rs` `continue_time` | `tests/clock.rs`, `tests/loom_sites.rs` |
//! | 2 `Read`, `tslast` | `read.rs` `look`, `ownership.rs` | `sec_2_read_*`, `tests/loom_ownership.rs` |
//! | beyond: a short row beside its key | `home.rs`, `store.rs` `take_home` | `tests/loom_home.rs`, `store.rs` (its tests), `tests/memory_model.rs` |
//! | beyond: versions used again, and not unlinked | `retired.rs`, `store.rs` `replace` | `tests/loom_retired.rs`, `store.rs` (its tests) |
//! | beyond: several keys side by side | `read.rs` `read_many`, `prefetch` | `tests/conformance.rs` (twin) |
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
//! Deviations: `sites.rs` draws section 4.5's `t'`, not section 2's `t''`; tuples have an owner word instead of a mutex;
//! an absent key is stamped in its leaf and gets no tuple; collection is fed by writers, and takes out versions above the bound too
//! (`gc.rs`).
//!
//! # Files
//! - `engine.rs`: what all transactions share. `doors.rs`: the interface of `model`. `options.rs`: knobs.
//! - The path of a transaction: `begin.rs`, `view.rs` (what its reads need of it; parallel reads), `read.rs`, `scan.rs`, `write.rs`
//!   with the buffer `write_set.rs`, `commit.rs`; how it moves: `advance.rs`, `read_set.rs`; reads without one: `get.rs`, for
//!   estimates: `sample.rs`; several of them: `batch.rs`; declared writes: `own_first.rs`; sleeping: `wait.rs`; why it aborts: `reason.rs`.
//! - The kernels, small parts that loom checks by themselves: `sites.rs` with `sites/lane.rs`, `ownership.rs`, `pins.rs`, `retired.rs`,
//!   `home.rs`.
//! - Memory and disk: `store.rs` with `store/pool.rs` (blocks of versions) and `store/space.rs` (indexes of tuples), `gc.rs`,
//!   `horizon.rs`, `memory.rs` (its limit), `catalog.rs` (tables), `recover.rs`, `checkpoint.rs`.

#[cfg(not(loom))]
mod advance;
#[cfg(not(loom))]
mod batch;
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
mod get;
#[doc(hidden)]
pub mod home;
#[doc(hidden)]
pub mod horizon;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod options;
#[cfg(not(loom))]
mod own_first;
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
#[doc(hidden)]
pub mod retired;
#[cfg(not(loom))]
mod sample;
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
    checkpoint::CheckpointReport,
    doors::{Handle, Transaction},
    engine::{Mvto, Stats},
    model::RetryPolicy,
    options::{Options, OwnFirst},
    reason::Reason,
    recover::RecoveryReport,
    wal::Pace,
};
