//! Order in advance, as in BOHM: in memory, or with a log of the calls on a disk.
//!
//! # The idea
//! Procedures are put into an order before any of them runs: their *position* in a log. A position is a timestamp that
//! nobody draws from a counter. *Planners* then place, for every key that a procedure declares to write, a version
//! without a row, a *placeholder*, on top of the key's versions; and for every key that it declares to read they leave
//! a reference to the version below its position. So before a body runs, it is decided what it reads and what reads it.
//! *Executing threads* run the bodies in any order: one that reads a placeholder runs its producer first.
//!
//! ```text
//! log        T1 writes x     T2 reads x, writes y     T3 overwrites x
//! planning   x: [T1 _]       y: [T2 _]  T2.x -> T1    x: [T3 _] -> [T1 _]
//! execution  T3 (needs nothing) | T2 -> runs T1 first, x: [T3 9] -> [T1 5] | T2, y: [T2 6]
//! ```
//!
//! There are no locks, no validation, no tracked reads, and no aborts but those that a body asks for: a read writes
//! nothing that others see, and a writer never waits for a reader.
//!
//! # Batches
//! Threads meet once for each batch and never for a procedure. A batch is what has come in while the one before was
//! being planned: with few clients it is short, so nobody waits for it to fill. It is longest where a procedure's way
//! through both stages takes [`Options::latency`], as long as the queue is shorter than that too; behind a longer
//! queue it grows up to [`Options::batch`], since throughput counts there (`length.rs`). Planner 0 is the
//! *sequencer*: it seals batches. A key has one planner, by its hash, which alone changes the key's versions. Who submits a call works
//! out which of its keys are whose, and a planner looks at nothing else but a word of each call.
//! Execution of a batch begins when all planners have passed its *barrier*, and overlaps with planning of the next
//! ones. All threads sleep when they have nothing to do. With [`Options::moves_threads`] each thread takes what there is, one batch at
//! a time: a partition of keys to plan, else calls to execute (`moving.rs`,
//! [0129](../../../docs/decisions/0129-threads-take-a-partition-for-a-batch.md)).
//!
//! # The promise
//! Strictly serializable: a procedure is sealed after it was submitted, and its ticket is resolved after it has run, so
//! positions increase with real time. A procedure of [`model::Mode::ReadOnly`] has a place like all others, and so sees what its
//! caller has submitted before; but it needs no footprint, planning leaves it alone, and no guess of it misses: it looks for the versions
//! below its position when it runs. One of [`model::Mode::Snapshot`] is *serializable, not strict*: it reads
//! the state at the end of the last complete batch in its caller's thread, waits for nothing, and delays nobody. [`Bohm::settle`] brings
//! snapshots up to date. [`Snapshot`] is the same state as a value that is held, for readers of several steps: `seriatim::batch`
//! has SQL over it.
//!
//! # Phantoms
//! A declared range is walked as of the position when the body runs. Every key that an earlier procedure writes has its
//! record and its placeholder in the index before the batch is executed, and keys of later ones are skipped by their
//! position.
//!
//! # Footprints that are guesses
//! A footprint that the arguments do not tell is found by a trial run on the state at the end of the last complete
//! batch. In its place the body is held to it. If it touches another key, its placeholders repeat the rows below, and
//! it is submitted again; [`Stats::missed`] counts that. Where no trial run was needed, such a touch is a mistake of the
//! procedure ([`model::Invalid::Undeclared`]).
//!
//! Procedures that say that they guess, and all that missed, have their trial runs when their batch is sealed, one after the
//! other in the order of positions, each on that state with what the trial runs before it would write: so orders that draw their
//! numbers from one row miss no more than others (`foresight.rs`).
//!
//! # The log
//! On a disk, the calls of a batch are one record of the write-ahead log ([`wal`]), appended when the batch gets its positions.
//! Planning and execution go on while the log syncs; answers and snapshots wait until the batch is durable. Opening loads the
//! last checkpoint and executes the calls behind it again, by the same pipeline: what a body reads is decided by its place, so
//! it writes what it had written. A body must not look at a clock, at random numbers of its own or at anything else that its
//! arguments, its [`model::Draws`] and its reads do not decide. Procedures are registered with name and version, and a log with
//! others is refused. Checkpoints are of the end of a batch (`checkpoint.rs`). What is in a record: `log.rs`.
//!
//! # Invariants
//! - **B1** Positions follow the order of the intake, and a position is given once, also after a restart.
//! - **B2** One planner makes the records of a key and places its versions, in the order of positions.
//! - **B3** A batch is executed after all planners have planned it, and batches are planned in their order.
//! - **B4** A read returns the newest version that begins below its position.
//! - **B5** A version is written by the thread that executes its producer, published once, and immutable from then on.
//! - **B6** At any time one thread at most executes a call, and what it does is published once: all placeholders, then
//!   the state.
//! - **B7** A call is evaluated, or waited for, only for the sake of one behind it. So nobody waits in a circle.
//! - **B8** A version is freed when the batch that replaced it is at or below the low-water mark: complete, with all
//!   before it, and no thread reads at a position in it or below. So nobody follows the reference from a version of such
//!   a batch to the one before.
//! - **B9** A record leaves its index when it has no row and its batch is at or below the mark, and is freed when the
//!   batch that was planned then is.
//! - **B10** Readers behind a complete batch find no placeholder.
//! - **B11** On a disk whose answers wait: nothing of a batch is answered or shown before the log is durable up to the batch, and
//!   nothing after the log has failed.
//! - **B12** A batch's record is appended before the batch has positions, in their order, and a call that could not be logged
//!   gets none.
//! - **B13** A checkpoint has every row that its boundary shows, and only records of batches at or below the boundary go.
//! - **B14** What has a place was accepted, and what was accepted is never refused for memory, by a restart neither; it counts from
//!   then until it is freed.
//! - **B15** A procedure that guesses has its trial run behind those of all guesses before it, on the end of a complete batch
//!   covered by what they would write.
//!
//! # Where they are asserted
//! In constant time, in all builds where nothing else is said. On executing threads a broken invariant stops the
//! process: a panic would be taken for one of the body.
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | B1 | by the latch of `pipeline.rs` `seal`; `log.rs` `cover` | `conformance`, `paper`, `recovery`; `miss_without_another_run`, `forget_the_ceiling` |
//! | B2 | `record.rs` `newest_below`, `store.rs` `insert` | `paper`, `shuttle_engine`; `sleep_over_a_submission` |
//! | B3 | `pipeline.rs` `pass_barrier`, `call.rs` `placeholder` | `conformance`; `skip_a_placeholder`, `execute_before_planned`, `route_to_nobody` |
//! | B4 | `record.rs` `newest_below`, `attempt.rs` `make_ready` | `paper`; `read_one_version_too_low`, `read_the_newest_version`, `read_what_stands_behind` |
//! | B5 | `version.rs` `publish` | `paper` |
//! | B6 | `state.rs` `leave`, `execute.rs` `evaluate_producer` | `loom_state`; `lose_the_row_below`, `sleep_on` |
//! | B7 | `execute.rs` `evaluate_producer` | `paper` |
//! | B8 | `plan.rs` `collect_below`, `pipeline.rs` `batch`, `read.rs` `newest_at` | `paper`; `free_one_batch_early` |
//! | B9 | `store.rs` `remove` | `paper` |
//! | B10 | `read.rs` `make_ready` | `paper` |
//! | B11 | `pipeline.rs` `advance`, `recover.rs` `open_telling` | `recovery`; `answer_before_the_sync`, `show_what_may_be_lost` |
//! | B12 | by `seal.rs` `seal`, which alone appends | `recovery`, `checkpoint`, `lab kill`; `log_in_another_order` |
//! | B13 | by `wal` L8 | `checkpoint`; `truncate_what_is_being_executed`, `hand_nothing_over` |
//! | B14 | by `memory.rs`, whose callers alone submit | `memory`; `count_no_placeholders`, `keep_the_charge` |
//! | B15 | `foresight.rs` `remember` | `foresight`; `forget_what_is_foreseen`, `go_on_after_a_miss` |
//!
//! # Memory
//! What is kept has a limit, [`Options::memory_bytes`]. At it, calls that may need more are refused when they are submitted, and those that
//! read, replace or delete go on (`memory.rs`,
//! [0137](../../../docs/decisions/0137-calls-are-refused-for-memory-before-they-have-a-place.md)).
//!
//! # Doors
//! [`model::Declared`]; and [`model::Reexecutable`] for loading and rare work: a trial run whose reads a procedure
//! repeats in its place before it writes. No open transactions: there is no place for a transaction whose writes are
//! not known.
//!
//! # What is deliberately absent
//! - Rows of other engines' logs: their directories open after a checkpoint, which every engine reads.
//! - A checksum of what a batch has written: a body that is not deterministic is not found out
//!   ([0123](../../../docs/decisions/0123-recovery-executes-the-calls-again.md)).
//!
//! # From the paper to code
//! Faleiro, Abadi, *Rethinking Serializable Multiversion Concurrency Control*, VLDB 2015.
//!
//! | section | here | test |
//! | --- | --- | --- |
//! | 3.1 overview | this tour | |
//! | 3.2.1 timestamps | `intake.rs`, `pipeline.rs` `seal` | `conformance` |
//! | 3.2.2 placeholders | `plan.rs` `finish`, `version.rs` | `paper`: `placeholders_are_placed_before_execution` |
//! | 3.2.2 routing by a step before | `call.rs` `Routes`, `pipeline.rs` `calls_of` | `call.rs`: `every_slot_is_routed_to_its_planner` |
//! | 3.2.3 read and write sets | `plan.rs` `plan`, `call.rs` | `paper`: `a_read_finds_the_version_below_its_position` |
//! | 3.2.3 reads not known before; 4.2.3 | `execute.rs` `attempt_read`, `read.rs` `read_many` | `paper`: `what_only_reads_..` |
//! | 4.1 threads by load | `moving.rs` | `paper`: `threads_take_what_there_is_to_do`; `shuttle_engine` |
//! | 3.2.4 batching | `pipeline.rs` | `shuttle_engine` |
//! | 3.3.1 evaluation | `execute.rs`, `state.rs` | `paper`: `a_long_chain_is_evaluated_from_its_end`, `loom_state` |
//! | - (footprints that rows decide) | `foresight.rs` | `foresight`: `numbers_drawn_from_one_row_do_not_miss` |
//! | 3.3.2 collection | `plan.rs` `collect`, `pipeline.rs` `low_water` | `paper`: `a_row_that_is_written_again_..` |
//!
//! Decisions 0114, 0127 and 0128 say more of batches and of planning.
//!
//! *Deviations:* a version has no end timestamp, since its record says where the newest one begins, and planning leaves a
//! reference for every read of a call that also writes: so planning a write touches the key's bucket, its record, and the memory of
//! the new version, and not the version below; a batch has no fixed size; the record of a key is found in the house's index, which
//! planners share, and not in a table of each planner; an evaluation within evaluations ends at a depth, and is then made from a list;
//! a version carries room for a row as long as the longest of its table so far, since its row is not known when it is
//! placed; the input log (section 3.2.1 has it in memory) is durable, and its sync overlaps with execution.

mod attempt;
mod call;
mod checkpoint;
mod definitions;
mod directory;
mod doors;
mod execute;
mod foresight;
mod intake;
mod job;
mod length;
mod log;
mod logged;
mod memory;
mod moving;
mod pipeline;
mod plan;
mod pool;
mod position;
mod programs;
mod read;
mod readers;
mod record;
mod recover;
mod seal;
mod snapshot;
mod stamps;
pub mod state;
mod store;
mod version;

pub use snapshot::Snapshot;

use call::{Call, Slot};
use checkpoint::Checkpoints;
use env::time::Duration;
use execute::Executor;
use intake::Intake;
use job::{Job, Marker};
use length::BatchLength;
use log::InputLog;
use memory::Memory;
use model::{Durability, Error, Footprint, Limit, LimitKind, Pending, Result, Storage};
use moving::Partitions;
use parts::CachePadded;

use parts::promise::promise;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};
use parts::sync::thread::{self, JoinHandle};
use parts::sync::{Mutex, OnceLock};
use parts::wait::WaitTable;
use pipeline::Pipeline;
use plan::Planner;
use read::{Boundary, Trial};
use record::RecordRef;
use std::sync::{Arc, PoisonError};
use store::Tables;

pub use checkpoint::CheckpointReport;
pub use logged::{Found, read_log};
pub use recover::RecoveryReport;
pub use wal::{Driver, LogOptions, OnProgress, Pace, RecoveryProgress};

/// Places at which executing threads sleep for each other.
const WAIT_SHARDS: usize = 16;
/// Planners at most: a key's planner is a byte.
const MOST_PLANNERS: usize = 64;

/// Batches after which [`Bohm::collect`] gives up. Without readers and other submissions four are enough: versions go in the second,
/// records in the third or fourth.
const COLLECTING_BATCHES: usize = 8;

/// A database whose procedures are ordered before they run: in memory, or with a log of them on a disk.
pub struct Bohm {
    shared: Arc<Shared>,
    recovery: Option<RecoveryReport>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    planners: Vec<JoinHandle<Planner>>,
    executors: Vec<JoinHandle<()>>,
    /// Of threads that move, which are the executors then.
    partitions: Option<Arc<Partitions>>,
}

/// What the threads share.
pub(crate) struct Shared {
    options: Options,
    tables: Tables,
    intake: Intake,
    pipeline: Arc<Pipeline>,
    /// Set once everything is recovered. None in memory.
    log: OnceLock<InputLog>,
    checkpoints: Checkpoints,
    waits: WaitTable,
    length: BatchLength,
    memory: Memory,
    counts: Counts,
}

/// Counters, each written by one thread unless it is rare.
struct Counts {
    executed: Box<[CachePadded<AtomicU64>]>,
    garbage: Box<[CachePadded<AtomicU64>]>,
    missed: AtomicU64,
}

impl Counts {
    fn garbage(&self) -> u64 {
        self.garbage.iter().map(|counter| counter.load(Relaxed)).sum()
    }
}

/// The knobs. Every limit ends in a named error.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that plan, each for its share of the keys: 1 to 64. Default: 1.
    pub planners: usize,
    /// Threads that execute: at least 1. Default: 1.
    pub executors: usize,
    /// Whether threads move between planning and execution by what there is to do: so many as both options say together, and keys in
    /// as many partitions as [`Options::planners`] says, each planned by one thread at a time. Default: false.
    pub moves_threads: bool,
    /// Procedures of one batch, at most: 1 to 131,072. A batch is what has come in while the one before was planned, so
    /// that few clients do not wait for a batch to fill. Default: 1,024.
    pub batch: usize,
    /// Time from submission to answer that batches are made for while the engine is not saturated: they are the shorter, the longer
    /// procedures take. No promise, and of no effect on a full queue, where batches are as long as [`Options::batch`] says. Zero:
    /// they always are. Default: 1 ms.
    pub latency: Duration,
    /// Batches that are planned or executed at a time: at least 1. Default: 4.
    pub run_ahead: usize,
    /// Procedures that wait to be sealed; beyond it a submission waits. Default: 16,384.
    pub queue: usize,
    /// Procedures that one thread evaluates within each other, at most: each takes the stack that its body needs.
    /// Default: 32.
    pub depth: usize,
    /// Snapshots and trial runs open at once. Default: 1,024.
    pub readers: usize,
    /// Longest key. Unit: bytes. Default: 8,192.
    pub key_bytes: u64,
    /// Longest row. Unit: bytes. Default: 1 MiB; at most 4 GiB.
    pub row_bytes: u64,
    /// Keys that one footprint may write. Default: 1,000,000.
    pub write_set_rows: u64,
    /// Tables, those that were dropped included. Default: 1,000.
    pub tables: usize,
    /// Bytes of memory that keys, rows, their versions, index nodes and procedures on their way may take, without the allocator's
    /// overhead, arguments of procedures, and answers that nobody has taken. Beyond it a procedure that may need more is refused before
    /// it has a place ([`LimitKind::Memory`]), after its submission has waited for what can be collected. Procedures that read go on,
    /// those that write only keys that are there up to an eighth beyond, and those that only delete up to a quarter, since they make room.
    /// A database that needs twice as much is not opened ([`LimitKind::MemoryToOpen`]). Default: half of what the process may have
    /// ([`env::memory`]).
    pub memory_bytes: Option<usize>,
    /// What answers wait for, in a database on a disk, where a procedure says nothing else. With [`Durability::Fsync`] snapshots see
    /// only what is durable. Default: [`Durability::Fsync`].
    pub durability: Durability,
    /// The input log of a database on a disk.
    pub log: LogOptions,
    /// Whether the nodes of ordered tables hold four records: for tests, to which splits and merges are then common.
    /// Default: false.
    pub has_small_nodes: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            planners: 1,
            executors: 1,
            moves_threads: false,
            batch: 1024,
            latency: Duration::from_millis(1),
            run_ahead: 4,
            queue: 16_384,
            depth: 32,
            readers: 1024,
            key_bytes: 8192,
            row_bytes: 1 << 20,
            write_set_rows: 1_000_000,
            tables: 1000,
            memory_bytes: None,
            durability: Durability::default(),
            log: LogOptions::default(),
            has_small_nodes: false,
        }
    }
}

/// Counters since the engine was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Batches that were sealed.
    pub batches: u64,
    /// Procedures that have run to their end, whether or not they committed. Counted when a thread leaves a batch.
    pub executed: u64,
    /// Footprints, found by a trial run, that missed.
    pub missed: u64,
    /// Versions that were placed, and records that left their index, that are not looked after yet.
    pub garbage: u64,
    /// Keys in the indexes: those with a row, and those whose absence is still recorded.
    pub records: u64,
    /// Snapshots and trial runs that are open.
    pub readers: u64,
    /// Bytes of memory that count: see [`Options::memory_bytes`].
    pub memory_bytes: u64,
    /// Their limit.
    pub memory_limit_bytes: u64,
}

impl Bohm {
    /// An empty database, with its threads. Dropping it waits for what was submitted: a procedure must not hold the last
    /// handle of its engine, since a thread cannot wait for itself.
    pub fn new(options: Options) -> Bohm {
        Bohm::begin(options, 0)
    }

    /// Begins with an empty database; batches begin above `start`.
    fn begin(options: Options, start: u64) -> Bohm {
        let options = options.within_bounds();
        let planners = options.planners;
        let counters = |count: usize| (0..count).map(|_| CachePadded::default()).collect();
        let memory = Memory::new(options.memory_limit());
        let meter = || memory.allowance.meter.clone();
        let pipeline = Arc::new(Pipeline::new(&options, meter(), start));
        let shared = Arc::new(Shared {
            tables: Tables::new(options.tables, meter()),
            intake: Intake::new(options.queue, options.moves_threads.then(|| pipeline.clone())),
            pipeline,
            log: OnceLock::new(),
            checkpoints: Checkpoints::new(planners, meter()),
            waits: WaitTable::new(WAIT_SHARDS),
            length: BatchLength::new(options.latency, options.batch),
            counts: Counts {
                executed: counters(options.executing_threads()),
                garbage: counters(planners),
                missed: AtomicU64::new(0),
            },
            memory,
            options,
        });
        let threads = if shared.options.moves_threads { Threads::moving(&shared) } else { Threads::fixed(&shared) };
        Bohm { shared, recovery: None, threads: Mutex::new(threads) }
    }

    /// Has what is submitted from now on wait in the queue, until [`Bohm::release`]: so that a measurement prepares its
    /// procedures beforehand, or a test knows what stands in one batch. A submission beyond [`Options::queue`] waits
    /// until then, as does everything that waits for a submission.
    pub fn hold(&self) {
        self.shared.intake.set_held(true);
    }

    /// Lets what waits in the queue be sealed, and what is submitted from now on.
    pub fn release(&self) {
        self.shared.intake.set_held(false);
    }

    /// Returns the number of procedures that wait to be sealed.
    pub fn queued(&self) -> usize {
        self.shared.intake.len()
    }

    /// Waits until everything is complete that was submitted before: snapshots that begin afterwards see it.
    pub fn settle(&self) {
        self.shared.settle();
    }

    /// Frees what nobody reads any more, as planning does all the time: for an engine that idles. Returns what is left:
    /// nothing, unless somebody submits or reads meanwhile.
    pub fn collect(&self) -> u64 {
        // A planner collects before it plans, each at its own time. So only the second batch is one before which all planners could
        // collect what was submitted before. What leaves its index in one batch is freed in one after the next, once the threads have
        // left that.
        self.shared.settle_and_leave();
        for _ in 1..COLLECTING_BATCHES {
            self.shared.settle_and_leave();
            if self.stats().garbage == 0 {
                break;
            }
        }
        self.stats().garbage
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        let Shared { tables, pipeline, memory, counts, .. } = &*self.shared;
        let sum = |counters: &[CachePadded<AtomicU64>]| counters.iter().map(|counter| counter.load(Relaxed)).sum();
        Stats {
            batches: pipeline.last_sealed(),
            executed: sum(&counts.executed),
            missed: counts.missed.load(Relaxed),
            garbage: counts.garbage(),
            records: tables.all().map(|table| table.index.len() as u64).sum(),
            readers: pipeline.readers.open(),
            memory_bytes: memory.allowance.meter.used() as u64,
            memory_limit_bytes: memory.allowance.limit as u64,
        }
    }
}

impl Threads {
    /// Threads that plan, and threads that execute.
    fn fixed(shared: &Arc<Shared>) -> Threads {
        let plan = |number: usize| {
            let planner = Planner::new(shared.clone(), number as u8);
            thread::spawn(move || stop_on_panic(|| planner.run()))
        };
        let execute = |number: usize| {
            let shared = shared.clone();
            thread::spawn(move || stop_on_panic(|| Executor::new(&shared, number).run()))
        };
        let Options { planners, executors, .. } = shared.options;
        let (planners, executors) = ((0..planners).map(plan).collect(), (0..executors).map(execute).collect());
        Threads { planners, executors, partitions: None }
    }

    /// Threads that do either.
    fn moving(shared: &Arc<Shared>) -> Threads {
        let planner = |number: usize| Mutex::new(Planner::new(shared.clone(), number as u8));
        let partitions: Arc<Partitions> = Arc::new((0..shared.options.planners).map(planner).collect());
        let start = |number: usize| {
            let (partitions, shared) = (partitions.clone(), shared.clone());
            thread::spawn(move || stop_on_panic(|| moving::run(&partitions, &shared, number)))
        };
        let executors = (0..shared.options.executing_threads()).map(start).collect();
        Threads { planners: Vec::new(), executors, partitions: Some(partitions) }
    }

    /// Waits for all to end. Returns the planners.
    fn join(self) -> Vec<Planner> {
        self.executors.into_iter().for_each(|thread| _ = thread.join());
        let partitions = self.partitions.and_then(Arc::into_inner).into_iter().flatten();
        let planners = partitions.map(|partition| partition.into_inner().unwrap_or_else(PoisonError::into_inner));
        planners.chain(self.planners.into_iter().filter_map(|thread| thread.join().ok())).collect()
    }
}

impl Drop for Bohm {
    fn drop(&mut self) {
        self.shared.intake.close();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let mut planners = threads.join();
        planners.iter_mut().for_each(Planner::dispose);
        // The pools last: the versions are in them.
        let pools: Vec<_> = planners.into_iter().map(|planner| planner.pool).collect();
        let shared = Arc::get_mut(&mut self.shared).expect("the threads have ended");
        shared.tables.all_mut().for_each(|table| table.index.drain(free));
        drop(pools);
    }
}

/// Frees a record that its last owner has taken out, and what its newest version holds outside of its pool.
fn free(record: std::ptr::NonNull<record::Record>) {
    // SAFETY: taken out of the index of an engine whose threads have ended, and whose planners have ended the lives of
    // the versions below the newest.
    unsafe {
        record.as_ref().newest().end_life();
        RecordRef::of(record.as_ref()).free();
    }
}

impl Shared {
    /// Makes a call of a job and its footprint.
    fn call(
        &self,
        job: Box<dyn Job>,
        footprint: Footprint,
        is_guess: bool,
    ) -> std::result::Result<Call, (Box<dyn Job>, Error)> {
        let drops_seen = self.tables.drops();
        if let Err(error) = self.check(&footprint) {
            return Err((job, error));
        }
        let slots = Slot::all(&footprint, |entry| store::planner_of(entry.table, &entry.key, self.options.planners));
        let is_ordered = |slot: &Slot| self.tables.get(slot.table).is_some_and(|table| table.index.is_ordered());
        let has_order = slots.iter().any(is_ordered);
        let mut call = Call::new(job, footprint, slots, is_guess);
        call.has_order = has_order;
        call.drops_seen = drops_seen;
        let call = self.prepared(call);
        match self.log().map_or(Ok(()), |input| input.check_length(&call)) {
            Ok(()) => Ok(call),
            Err(error) => Err((call.into_job(), error)),
        }
    }

    /// Makes a call of a job that only reads. Nothing is refused before it runs.
    fn reading(&self, job: Box<dyn Job>) -> Call {
        let drops_seen = self.tables.drops();
        let mut call = Call::reading(job);
        call.drops_seen = drops_seen;
        self.prepared(call)
    }

    fn prepared(&self, mut call: Call) -> Call {
        if let Some(input) = self.log() {
            call.prepare_log(input);
        }
        call.charge = self.charge_of(&call);
        call
    }

    /// Finds the footprint of a job, and whether that took a trial run.
    fn footprint_of(&self, job: &dyn Job) -> (Result<Footprint>, bool) {
        let mut trial = Trial::new(Boundary::new(self), job.draws());
        let footprint = job.footprint(&mut trial);
        (footprint, trial.was_touched)
    }

    #[inline]
    fn log(&self) -> Option<&InputLog> {
        self.log.get()
    }

    fn check(&self, footprint: &Footprint) -> Result<()> {
        let limit = self.options.key_bytes.min(u64::from(u32::MAX));
        for entry in footprint.keys() {
            self.tables.find(entry.table)?.schema.check_key(&entry.key)?;
            check_limit(LimitKind::KeyBytes, limit, entry.key.len() as u64)?;
        }
        for range in footprint.ranges() {
            let schema = &self.tables.find(range.table)?.schema;
            if schema.storage() == Storage::Hash {
                return Err(model::Invalid::NotOrdered { table: schema.name().into() }.into());
            }
        }
        let written = footprint.keys().iter().filter(|entry| entry.touch.writes()).count() as u64;
        check_limit(LimitKind::WriteSetRows, self.options.write_set_rows, written)
    }

    /// Waits until everything is complete that was submitted before.
    fn settle(&self) {
        let batch = self.mark().wait();
        self.pipeline.wait_complete(batch);
    }

    /// Same as [`Shared::settle`], and until all executing threads have left that: what it has replaced is collected in the next batch,
    /// unless somebody reads behind an older one.
    fn settle_and_leave(&self) {
        let batch = self.mark().wait();
        self.pipeline.wait_complete(batch);
        self.pipeline.wait_left(batch);
    }

    /// Puts a marker into the order, so that there is a batch to plan. Returns its batch, once it is executed.
    fn mark(&self) -> Pending<u64> {
        let (promise, batch) = promise();
        self.intake.submit([Call::new(Box::new(Marker(promise)), Footprint::default(), Box::default(), false)]);
        batch
    }
}

fn check_limit(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}

impl Options {
    /// The limit on memory: what was asked for, or a share of what the process may have.
    pub fn memory_limit(&self) -> usize {
        let share = || usize::try_from(env::memory() / 2).unwrap_or(usize::MAX);
        self.memory_bytes.unwrap_or_else(share)
    }

    /// Threads that execute, perhaps among other things.
    fn executing_threads(&self) -> usize {
        self.executors + if self.moves_threads { self.planners } else { 0 }
    }

    fn within_bounds(self) -> Options {
        Options {
            planners: self.planners.clamp(1, MOST_PLANNERS),
            executors: self.executors.max(1),
            batch: self.batch.clamp(1, position::BATCH_LIMIT),
            run_ahead: self.run_ahead.max(1),
            queue: self.queue.max(1),
            ..self
        }
    }
}

impl std::fmt::Debug for Bohm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bohm").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

/// Stops the process if an invariant does not hold. A panic would be taken for one of the body that is executed.
#[inline]
pub(crate) fn ensure(holds: bool, invariant: &str) {
    if !holds {
        broken(invariant);
    }
}

#[cold]
fn broken(invariant: &str) -> ! {
    eprintln!("a bug of the engine bohm: {invariant}");
    std::process::abort()
}

/// Stops the process if a thread of the engine panics: others would wait for it for ever.
fn stop_on_panic<T>(body: impl FnOnce() -> T) -> T {
    struct Running(bool);
    impl Drop for Running {
        fn drop(&mut self) {
            // Shuttle reports a panic, and drops threads unfinished.
            if self.0 && cfg!(not(feature = "shuttle")) {
                broken("one of its threads has panicked");
            }
        }
    }
    let mut running = Running(true);
    let output = body();
    running.0 = false;
    output
}
