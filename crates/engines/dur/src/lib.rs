//! Deferred-update replication with parallel speculation (PXDUR): nodes of a total order, each with all rows in memory.
//!
//! # The idea
//! A transaction executes on one node, on its rows. What it has read and written is then put into a total order ([`total`]), and
//! every node *certifies* it when the order delivers it: it commits if what it has read is still so. No node executes another's
//! transactions. The order must come back before a transaction is answered, but not before the next one begins: transactions of a
//! node read what earlier ones have written *speculatively*, before it is ordered. They have an order among themselves, their *turns*,
//! which the total order keeps; so a node's own transactions never abort each other in certification.
//!
//! ```text
//!   node 0   T1 T2 T3   execute side by side, commit speculatively in their turns
//!              |
//!   order    ... [node 2: T7] [node 0: T1 T2 T3] [node 1: T9] ...     places
//!              |
//!   nodes    certify each at its place, on the committed versions; apply it, or not
//! ```
//!
//! # Turns
//! Requests wait in a queue, and [`Options::speculative`] of them execute at a time (`MaxSpec`), each in a slot. An object has a
//! committed version, speculative versions, the active writer that owns it, and its active readers as the bits of a word. A turn that
//! meets an earlier owner waits for it, parked; a writer aborts later turns that have read or own what it writes, and they run again
//! in their turns. A turn that has run waits until all before it have passed; then what it has written is there for later turns
//! (*x-commit*), and only another node can still undo it.
//!
//! With [`Options::speculative`] 1 this is XDUR: one transaction after the other, without conflicts among them, and without parallelism.
//!
//! With [`Policy::ConflictAware`] transactions have no turns while they execute: they read committed rows, hold what they write until it
//! is delivered, and run again when they meet what is held (`held.rs`). Programs that conflict should be executed on one node, where
//! their rows are at home. It is the thesis' competitor.
//!
//! # Certification
//! A read names the writer of the version that was read, speculative or committed. At its place the read holds if the committed
//! version has that writer. A transaction of this node that is refused takes back its speculative versions, and those that rest on it
//! abort too, before they are proposed if they were not (`line.rs` `cascade`). Local transactions that cannot have met a conflict are
//! not validated at all (`contention.rs`).
//!
//! # The promise
//! Strictly serializable: a transaction's serial point is its place, and it is answered after its delivery. That holds for
//! [`model::Mode::ReadOnly`] too, which is certified as any other. [`model::Mode::Snapshot`] reads the state that the node has applied:
//! it waits for nothing, aborts nobody, and is *serializable, not strict*; after [`Dur::catch_up`] a snapshot sees all that was
//! acknowledged anywhere before. What was acknowledged is as durable as the order: nodes keep nothing on a disk.
//!
//! A body may see rows that never were together, in an attempt that is aborted already or will be refused: its own errors come back
//! when what it has read is certified, and not before.
//!
//! # Invariants
//! - **D1** A slot has one transaction at a time, and the bits of a slot mean that one.
//! - **D2** An object has one active owner, the earliest that writes it. Who commits speculatively owns what it has written.
//! - **D3** Turns pass one after the other, each once, and speculative versions are installed in their order.
//! - **D4** A scan and an earlier writer of a key in its range see each other: the scan waits, or runs again.
//! - **D5** Places are applied in their order, the same on all nodes.
//! - **D6** Transactions of a node are delivered by their turns. What rests on one that aborted aborts.
//! - **D7** What is applied without validation would have passed.
//! - **D8** A range that was read holds if each row that was seen in it holds, and it has as many rows as then.
//! - **D9** A snapshot reads the versions of one place, which are kept until it ends.
//! - **D10** What is held has one holder, which releases it when it is delivered. Who holds something has met nothing that is held.
//!
//! # Where they are asserted
//! In constant time, in all builds where nothing else is said.
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | D1 | `slots.rs` `begin`, `line.rs` `admit` | `shuttle_engine` |
//! | D2 | `object.rs` `install`, `slots.rs` `abort_owner` | `paper`; `overwrite_the_owner`, `abort_earlier_readers` |
//! | D3 | `object.rs` `install`, `line.rs` `pass`, `commit` | `paper`; `commit_out_of_turn` |
//! | D4 | by the latches of ranges and objects | `paper`, `cluster`; `look_for_no_scans` |
//! | D5 | `object.rs` `commit`, `snapshot.rs` `set_applied` | `cluster` |
//! | D6 | `line.rs` `deliver` | `paper`, `cluster`; `cascade_late`, `keep_what_was_refused` |
//! | D7 | `certify.rs` `decide`, with [`Options::checks_skips`] | `cluster`, `paper`; `forget_who_crosses` |
//! | D8 | by `certify.rs` `validate` | `paper`, `cluster`; `skip_validation`, `count_no_rows` |
//! | D9 | by the latch of `snapshot.rs` | `snapshots`; `forget_what_snapshots_read` |
//! | D10 | `object.rs` `hold`, `release` | `held`, `cluster`; `write_what_is_held` |
//!
//! # What is deliberately absent
//! - A state on a disk, and fetching it from another node: a node begins with the first payload of the order, and one for which the
//!   order does not keep what it missed stops with a named error.
//! - Open transactions ([`model::Interactive`]): a turn must not wait for a client.
//! - A limit on memory; removal of tables.
//!
//! # From the thesis to code
//! Pandey, *Optimizing Distributed Transactions: Speculative Client Execution, Certified Serializability, and High Performance Run-Time*
//! (thesis, 2016), chapter 3.
//!
//! | section | here | test |
//! | --- | --- | --- |
//! | 3.1, requests, MaxSpec | `job.rs` `Queue`, `line.rs` `admit` | `paper`: `four_transactions_read_what_the_speculative_order_says` |
//! | 3.1.1, Algorithm 1 | `object.rs` `read` | `paper`: `a_reader_waits_for_an_earlier_owner` and its neighbours |
//! | 3.1.1, Algorithm 2 | `object.rs` `own`, `slots.rs` `abort` | `paper`: `a_writer_that_meets_a_later_owner_aborts_it` and its neighbours |
//! | 3.1.1, Algorithm 3 | `line.rs` `commit`, `object.rs` `install` | `paper`: `transactions_commit_speculatively_in_their_turns` |
//! | 3.1, certification | `certify.rs` | `cluster` |
//! | 3.1.2, conflict map | `line.rs` `cascade` | `paper`: `a_remote_conflict_cascades_before_the_order` |
//! | 3.1.3, contention maps | `contention.rs` | `cluster`; `paper`: `what_begins_before_the_cascade_is_validated` |
//! | 4, conflict-aware load balancing | `held.rs` | `held` |
//!
//! *Deviations* (decisions 0140 and 0141): the pseudo-code is corrected where it contradicts its text: a writer aborts the later owner
//! that it replaces; invalidation begins behind the writer's own slot; waits end when the owner is gone. A version names its writer,
//! where the thesis counts versions: a reader of an aborted version cannot take another one for it. An object has as many speculative
//! versions as were x-committed, so that taking one back shows the one before. A row that is written without being read is not
//! certified as read. Active readers of what another node changed run again at once. Contentions stand for contention maps. Ranges,
//! insertions and deletions are beyond the thesis.
#![forbid(unsafe_code)]

mod attempt;
mod certify;
mod contention;
mod deliver;
mod doors;
mod execute;
mod held;
mod host;
mod job;
mod line;
mod object;
mod options;
mod origins;
mod payload;
mod read;
mod requests;
mod slots;
mod snapshot;
mod store;
mod turn;

pub use contention::Partition;
pub use host::{Meter, Step};
pub use line::Window;
pub use options::{Options, Policy, Stats};
pub use parts::bell::Threads;

use env::time::Duration;
use host::Metered;
use job::Queue;
use line::Line;
use model::{Error, Fault, Pending, Result, Schema, TableId};
use object::Object;
use options::Counts;
use origins::Origins;
use parts::sync::Mutex;
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use parts::sync::thread::{self, JoinHandle};
use requests::{Definitions, Reached};
use slots::Slots;
use snapshot::Snapshots;
use std::sync::{Arc, PoisonError};
use store::Tables;
use total::TotalOrder;
use turn::Place;

/// A node: a replica of the database, and its end of a total order.
pub struct Dur<O: TotalOrder + 'static> {
    core: Arc<Core>,
    order: Arc<O>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the threads of a node share.
pub(crate) struct Core {
    options: Options,
    /// Longest record of a transaction. Unit: bytes.
    payload_limit: u64,
    tables: Tables,
    slots: Slots,
    line: Line,
    queue: Queue,
    origins: Origins,
    snapshots: Snapshots,
    /// The last place whose writes are all there: stored with `Release` behind them, acquired by attempts that begin.
    applied: AtomicU64,
    definitions: Definitions,
    reached: Reached,
    counts: Counts,
    metered: Metered,
}

/// Room for a payload's own bytes, and the length of a record.
const PAYLOAD_OVERHEAD: u64 = 16;

impl<O: TotalOrder + 'static> Dur<O> {
    /// A node of an order, with its threads. It begins with an empty database: the order delivers from its beginning.
    ///
    /// Dropping it gives up what was not delivered. A procedure must not hold the last handle of its engine: a thread cannot wait for
    /// itself.
    pub fn new(order: O, options: Options) -> Dur<O> {
        let options = options.within_bounds();
        let order = Arc::new(order);
        let payload_bytes = order.capabilities().payload_bytes.min(options.payload_bytes) as u64;
        let core = Arc::new(Core {
            payload_limit: payload_bytes.saturating_sub(PAYLOAD_OVERHEAD),
            tables: Tables::new(options.tables),
            slots: Slots::new(options.speculative, options.threads.as_ref()),
            line: Line::new(options.window, options.pending, options.payloads, options.threads.as_ref()),
            queue: Queue::new(options.queue, options.threads.as_ref()),
            metered: Metered(options.meter.clone()),
            origins: Origins::new(order.origin()),
            snapshots: Snapshots::default(),
            applied: AtomicU64::new(0),
            definitions: Definitions::default(),
            reached: Reached::default(),
            counts: Counts::default(),
            options,
        });
        let mut threads = Vec::new();
        let mut spawn = |body: Box<dyn FnOnce() + Send>| match &core.options.threads {
            None => threads.push(thread::spawn(move || stop_on_panic(body))),
            Some(simulated) => simulated.spawn(body),
        };
        for _ in 0..core.options.executors {
            let core = core.clone();
            spawn(Box::new(move || core.execute_queue()));
        }
        let (proposer, proposing) = (core.clone(), order.clone());
        spawn(Box::new(move || proposer.propose(&*proposing)));
        let (deliverer, delivering) = (core.clone(), order.clone());
        spawn(Box::new(move || deliverer.deliver(&*delivering)));
        Dur { core, order, threads: Mutex::new(threads) }
    }

    /// Creates a table on all nodes, at one place of the order. Returns when this node has it.
    ///
    /// # Errors
    /// [`model::Invalid::TableExists`], [`model::LimitKind::Tables`]; the node has stopped.
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        self.define_table(schema).wait()
    }

    /// As [`Dur::create_table`], without waiting.
    pub fn define_table(&self, schema: Schema) -> Pending<Result<TableId>> {
        let (request, created) = self.core.definitions.request();
        let payload = payload::encode_definition(request, &schema);
        if let Err(error) = self.core.hand_in(&*self.order, payload.into()) {
            self.core.definitions.resolve(request, Err(deliver::order_failed(&error)));
        }
        if let Some(error) = self.core.line.failure() {
            self.core.definitions.fail(&error);
        }
        created
    }

    /// The table of a name, as far as this node has applied the order.
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.core.tables.all().find(|table| table.schema.name() == name).map(|table| table.id)
    }

    /// Waits until this node has applied everything that was acknowledged anywhere before the call: snapshots that begin afterwards
    /// see it.
    ///
    /// # Errors
    /// The order did not answer in this time, or the node has stopped.
    pub fn catch_up(&self, patience: Duration) -> Result<()> {
        let position = self.order.barrier(patience).map_err(|error| deliver::order_failed(&error))?;
        let is_over = || self.core.line.failure().is_some();
        if self.core.reached.wait(position, is_over) { Ok(()) } else { Err(self.core.failure()) }
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        let Core { counts, line, tables, applied, .. } = &*self.core;
        counts.stats(
            line.open() as u64,
            tables.all().map(|table| table.objects().len() as u64).sum(),
            applied.load(Acquire),
        )
    }

    /// Asserts that no transaction of this node is left in any object. For tests: while one executes, this fails.
    pub fn assert_idle(&self) {
        self.core.tables.all().flat_map(|table| table.objects()).for_each(|object| object.assert_idle());
    }
}

impl<O: TotalOrder + 'static> Drop for Dur<O> {
    fn drop(&mut self) {
        self.core.stop(&Error::Fault(Fault::Closed));
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        threads.into_iter().for_each(|thread| _ = thread.join());
    }
}

impl<O: TotalOrder + 'static> std::fmt::Debug for Dur<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dur").field("options", &self.core.options).finish_non_exhaustive()
    }
}

impl Core {
    fn applied(&self) -> Place {
        Place(self.applied.load(Acquire))
    }

    fn set_applied(&self, place: Place) {
        self.snapshots.set_applied(place);
        self.applied.store(place.0, Release);
    }

    /// Removes an object if there is nothing to know of its key.
    fn sweep(&self, table: TableId, object: Arc<Object>) {
        if let Ok(table) = self.tables.find(table) {
            table.sweep(object);
        }
    }
}

/// Stops the process if a thread of the engine panics: others would wait for it for ever.
fn stop_on_panic(body: impl FnOnce()) {
    struct Running(bool);
    impl Drop for Running {
        fn drop(&mut self) {
            // Shuttle reports a panic, and drops threads unfinished.
            if self.0 && cfg!(not(feature = "shuttle")) {
                eprintln!("a bug of the engine dur: one of its threads has panicked");
                std::process::abort();
            }
        }
    }
    let mut running = Running(true);
    body();
    running.0 = false;
}
