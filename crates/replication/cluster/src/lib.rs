//! A replicated store: on each node a local store, and between them a total order in which transactions are certified.
//!
//! # The idea
//! A transaction runs on one node, on a snapshot of the local store, with its own writes before it. What it has read (its *read
//! set*: keys, absent ones too, and predicates: ranges as far as scans went, with their filters; of both, the columns) and written is
//! then proposed to the order. Each node *certifies* it when it is delivered: it commits if no write since its snapshot has changed
//! what it read. For that the *window* has, for each row that was written of late, the way back to the row before. One thread of each
//! node does this, in the order, and is the only one that writes the local store; so all nodes apply the same transactions.
//!
//! ```text
//!   session   snapshot at position 7, reads, own writes
//!      | COMMIT
//!   order     ... 8: node 2's  9: node 1's  10: {base 7, read set: t where class = 1, writes}
//!      | delivered on each node
//!   deliver   the window: which writes since 7 did t where class = 1 show, before or after?  ->  apply, or refuse
//!      | one local transaction for each batch
//!   local     rows, entries of the window, position
//!
//!   window    8: key a inserted   9: key b: class was 2      with the rows as they are: a (1), b (1): 8 and 9 met the predicate
//! ```
//!
//! It is an [`model::Interactive`] over any [`model::Store`] and any [`total::TotalOrder`]: SQL runs on it unchanged.
//!
//! # The promise
//! Strictly serializable. A transaction that writes has its place as serial point, and is answered when it is delivered and applied
//! here, so a session reads its own writes. One that may write, and did not, is checked at COMMIT against a *barrier*: a position
//! at or behind all that was acknowledged anywhere. One that can only read begins behind a barrier, and always commits.
//! [`model::Begin::staleness`] lets one that can only read have a state of up to that age without a barrier, and [`Options::staleness`]
//! is its default for [`model::Mode::Snapshot`]. A transaction that may
//! write reads a state that may be old until it commits: what it shows before its COMMIT, and what it shows if it is rolled back,
//! may be so. A duplicate key is reported behind a barrier.
//!
//! What was acknowledged is as durable as the order. The local log only says where the order has to deliver again from.
//!
//! # Invariants
//! - **C1** The local store has the effects of the places up to the one that its root names, and of no other.
//! - **C2** Whether a transaction commits depends on its payload, its place and the window alone, and the window on what was
//!   delivered: the same on every node, in every life, after every fetched state. The window in memory is never older than the
//!   local store.
//! - **C3** Places are applied in their order.
//! - **C4** The window forgets by a rule that looks at its entries alone, and who has read before it is refused.
//! - **C5** A state that is fetched counts once all of it is there, for all readers at once. What is delivered behind its end meanwhile is
//!   applied behind it.
//! - **C6** A reader's barrier is begun after the reader asked.
//! - **C7** A payload of a life counts from its first payload on until that of a later life of its node. What an earlier life of
//!   *this* node has left is removed, and nothing of others.
//! - **C8** A row is had by one transaction of a node at a time, and no circle of them waits.
//! - **C9** An answer follows the application here.
//! - **C10** A predicate is met by every write that changes the answer of its scan, and, as long as the rows are kept, by no other.
//!   What is kept may be coarser than what was read and written, never finer.
//! - **C11** The row before a write is the one at its place: of all places before it, and of no other, wherever a batch ends.
//!
//! | | asserted | tests; mutants |
//! | --- | --- | --- |
//! | C1 | by one local transaction: `deliver.rs` `apply` | `restarts`; `forget_before_the_disk_has_it` |
//! | C2 | by `deliver.rs` `certify` | `histories`, `predicates`; `certify_nothing`, `forget_absent_points`, `forget_ranges` |
//! | C3 | `window.rs` `push`, `progress.rs` `set_applied` | `histories`; `apply_out_of_order` |
//! | C4 | `window.rs` `restore` | `restarts`, `window.rs`; `trim_by_restart` |
//! | C5 | `core.rs` `snapshot` | `states`, `following`; `install_half`, `follow_whatever_state_comes_next` |
//! | C6 | by `barrier.rs` `ask` | `strictness`, `barrier.rs`; `share_a_barrier_under_way` |
//! | C7 | by `deliver.rs` `begin_life` | `restarts`, `sql`; `drop_tables_of_others` |
//! | C8 | `locks.rs` `release` | `conformance`, `locks.rs` |
//! | C9 | by `deliver.rs` `flush` | `strictness`; `answer_before_applying` |
//! | C10 | by `window.rs` `met_by` | `window/predicates.rs`; `skip_the_row_before`, `skip_the_row_after`, `ignore_deletes` |
//! | C11 | by `deliver.rs` `changes` | `predicates`; `compare_with_the_last_batch` |
//!
//! # Limits
//! [`Options`] and [`Limits`]. A payload longer than [`Options::part_bytes`] is proposed in parts. A transaction that waits longer
//! than [`Options::catch_up`] for the node to catch up fails with [`model::Fault::Behind`], and nothing was changed; one that is
//! proposed and not delivered within [`Options::answer`] with [`model::Fault::OutcomeUnknown`]. A filter of more than 4 KiB, a
//! transaction that wrote more than 1 MiB, and more than 1,048,576 comparisons of writes with filters are certified more coarsely
//! (decision 0161). Memory and ages are limited for sessions alone (`memory.rs`, `age.rs`): the local store has no such limits of its own,
//! since a node that cannot apply what was ordered stops.
//!
//! # What is deliberately absent
//! - Locks between nodes: transactions of two nodes that write the same row meet in certification.
//! - Speculation on transactions that were not delivered: see the engine `dur` and decision 0147.
//! - Writes of single columns: rows are written whole, so that an update has read all of its row.
//! - Reads from several threads, by column, and SKIP LOCKED ([`model::Finish::shared_reads`], [`model::Finish::skips_locked`]).
//! - Serial points: a place is not one of a reader. [`model::Committed::log_position`] counts places.
//! - Channels: a [`States`] is the caller's.
#![forbid(unsafe_code)]

mod age;
mod barrier;
mod change;
mod codes;
mod columns;
mod core;
mod deliver;
mod doors;
mod error;
mod filter;
mod follow;
mod host;
mod incoming;
mod install;
mod load;
mod locks;
mod memory;
mod options;
mod payload;
mod progress;
mod read_set;
mod replica;
mod root;
mod spool;
mod states;
mod status;
mod transaction;
mod values;
mod window;
mod writes;

pub use host::Host;
pub use options::{Limits, Options};
pub use parts::bell::Threads;
pub use states::{NoStates, States};
pub use status::{Doing, Member, Placed, Status};
pub use transaction::Transaction;

use crate::core::Core;
use crate::deliver::Deliverer;
use crate::host::{Hosted, Thread};
use crate::load::Loaded;
use crate::spool::Spool;
use env::time::Duration;
use model::{Result, Store, Timestamp};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use total::{Position, TotalOrder};

/// A node: a replica of the database in a local store, and its end of a total order.
pub struct Cluster {
    core: Arc<Core>,
    thread: Mutex<Option<Thread>>,
}

/// Where the order is to be resumed for a local store: before the order is opened. `None`: at its beginning.
///
/// # Errors
/// Errors of the store.
pub fn position_of_start(local: &dyn Store) -> Result<Option<Position>> {
    Ok(load::start_of(replica::stored_root(local)?))
}

impl Cluster {
    /// Opens a node. The order resumes where [`position_of_start`] said. Returns at once: [`Cluster::wait_until_current`] waits until the
    /// node takes part and has what was acknowledged before.
    ///
    /// Dropping it gives up what was not delivered.
    ///
    /// # Errors
    /// Errors of the local store; it has tables that were not replicated; the order does not take the node's first payload.
    pub fn open(
        local: Arc<dyn Store>,
        order: Arc<dyn TotalOrder>,
        states: Arc<dyn States>,
        options: Options,
    ) -> Result<Arc<Cluster>> {
        Cluster::open_hosted(local, order, states, options, Hosted::default())
    }

    /// Same as [`Cluster::open`], on the threads and the clock of a simulation.
    ///
    /// # Errors
    /// Same as [`Cluster::open`].
    pub fn open_on(
        host: Arc<dyn Host>,
        local: Arc<dyn Store>,
        order: Arc<dyn TotalOrder>,
        states: Arc<dyn States>,
        options: Options,
    ) -> Result<Arc<Cluster>> {
        Cluster::open_hosted(local, order, states, options, Hosted::simulated(host))
    }

    fn open_hosted(
        local: Arc<dyn Store>,
        order: Arc<dyn TotalOrder>,
        states: Arc<dyn States>,
        options: Options,
        host: Hosted,
    ) -> Result<Arc<Cluster>> {
        let options = options.checked(order.capabilities().payload_bytes)?;
        let (root_table, root) = replica::open(&*local)?;
        let Loaded { root, generation, window, lives, parts, window_rows } = load::load(&*local, root, options.limits)?;
        // What an interrupted creation or removal has left.
        let tables = generation.tables();
        replica::drop_others(&*local, root.generation, |id| {
            id == generation.state || tables.values().any(|table| table.local == id)
        })?;
        let spool = Spool::open(states.spool(), options.spool_bytes)?;
        let core = Arc::new(Core::new((local, order), host, options, root_table, root, generation, window));
        if core.options.is_durable {
            // Before the first delivery: an order keeps nothing for a node that has said nothing.
            core.order.keep_from(root.base());
        }
        let mut deliverer = Deliverer::new(core.clone(), states, root, lives, parts, window_rows, spool);
        deliverer.announce()?;
        let thread = core.host.spawn("deliver", move || stop_on_panic(|| deliverer.run()));
        let thread =
            thread.map_err(|error| model::Fault::Disk { detail: format!("no thread could be started: {error}") })?;
        Ok(Arc::new(Cluster { core, thread: Mutex::new(Some(thread)) }))
    }

    /// Waits until the node takes part, and has everything that was acknowledged anywhere before the call.
    ///
    /// # Errors
    /// [`model::Fault::Behind`] after that time; the node has stopped.
    pub fn wait_until_current(&self, longest: Duration) -> Result<()> {
        self.core.progress.wait_serving(longest)?;
        self.core.catch_up().map(drop)
    }

    /// Writes the state of this node, for another one that fetches it ([`States::fetch`]): of one snapshot, in pieces, while the node
    /// goes on.
    ///
    /// # Errors
    /// The node has no state up to `at_least` within `longest`; `out` failed.
    pub fn write_state(&self, at_least: Position, longest: Duration, out: &mut dyn Write) -> Result<()> {
        states::write(&self.core, at_least, longest, out)
    }

    /// What the node shows of itself.
    pub fn status(&self) -> Status {
        let core = &*self.core;
        let state = core.progress.state();
        let (window, window_bytes, window_floor) = {
            let window = core.window();
            (window.entries().len() as u64, window.bytes(), window.floor())
        };
        Status {
            origin: core.order.origin(),
            doing: state.doing,
            trouble: state.trouble,
            failure: state.failure.map(|failure| failure.to_string()),
            applied: state.applied,
            known: state.known,
            certified: state.place,
            window,
            window_bytes,
            window_floor,
            members: state.members,
            open: core.open.load(Relaxed),
            waiting: core.locks.waiting() as u64,
            proposed: core.proposed() as u64,
            commits: core.counts.commits.load(Relaxed),
            aborts: core.counts.aborts.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            fetched: core.counts.fetched.load(Relaxed),
        }
    }

    /// Who ran a transaction that an abort names as the other one, and where it stands in the order; `None` if it is not remembered.
    pub fn placed(&self, other: Timestamp) -> Option<Placed> {
        let window = self.core.window();
        window.at_place(other.0).map(|entry| Placed { origin: entry.origin, position: entry.position })
    }

    /// The number of rows that open transactions of this node have.
    pub fn rows_held(&self) -> usize {
        self.core.locks.held()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.core.stop(&Core::closed());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread.into_iter().for_each(Thread::join);
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("origin", &self.core.order.origin()).finish_non_exhaustive()
    }
}

/// Stops the process if the thread panics: others would wait for it for ever.
fn stop_on_panic(body: impl FnOnce()) {
    struct Running(bool);
    impl Drop for Running {
        fn drop(&mut self) {
            if self.0 {
                eprintln!("a bug of the replicated store: the thread that delivers has panicked");
                std::process::abort();
            }
        }
    }
    let mut running = Running(true);
    body();
    running.0 = false;
}
