//! An open database of procedures: a service that any number of threads call.

use crate::batch::admission::{Admission, Admitted, Patience};
use crate::batch::arguments::Arguments;
use crate::batch::defined::Defined;
use crate::batch::inside::is_inside;
use crate::batch::kept::{OnDisk, close};
use crate::batch::procedure::{Call, Procedure};
use crate::batch::ticket::Ticket;
use crate::batch::transaction::Snapshot;
use crate::{CheckpointReport, DateTime, Error, Fault, Invalid, Result};
use bohm::{Bohm, Pace};
use env::thread::spawn_named;
use env::time::Duration;
use model::{BatchEntry, Begin, Declared, Draws, Mode, Retry};
use std::cell::RefCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Procedures that are handed to the engine together, at most.
const TOGETHER: usize = 1024;

/// A database of procedures, opened by [`Builder`](crate::batch::Builder). Clones are handles of the same database.
///
/// It is a service as it stands: any number of threads and tasks submit through clones, and the engine puts together in batches
/// what has come in. A call that was accepted is executed, whatever becomes of its ticket; the last handle waits for it.
#[derive(Clone)]
pub struct Database {
    pub(crate) inner: Arc<Inner>,
}

/// What calls need while they are under way. They do not own the engine, whose threads run them.
#[derive(Debug)]
pub(crate) struct Shared {
    pub tables: Defined,
    pub admission: Arc<Admission>,
}

pub(crate) struct Inner {
    /// `None` only while it is dropped.
    engine: Option<Arc<Bohm>>,
    pub shared: Arc<Shared>,
    pub options: Knobs,
    /// Calls that drew numbers: each gets a seed of its own.
    drawn: AtomicU64,
    seed: u64,
    /// `None` in memory.
    disk: Option<OnDisk>,
    /// Whether [`Database::close`] has closed it.
    is_closed: AtomicBool,
    #[cfg(feature = "sql")]
    pub sql: std::sync::Mutex<Option<Arc<::sql::database::Database>>>,
}

/// What the database itself goes by; the engine has its own options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knobs {
    /// Identifies the database among those of the process.
    pub database: u64,
    /// Places that one call gets at most, while its guessed footprints miss.
    pub places: u32,
    #[cfg(feature = "sql")]
    pub statement_bytes: usize,
}

/// Counters and gauges of a database of procedures.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Procedures that were accepted and have not ended.
    pub under_way: u64,
    /// Batches so far.
    pub batches: u64,
    /// Places of the order that have been executed, those of guesses that missed included.
    pub executed: u64,
    /// Guessed footprints that missed.
    pub missed: u64,
    /// Keys with a row, and keys whose absence is still recorded.
    pub records: u64,
    /// Versions that wait to be freed.
    pub garbage: u64,
    /// Snapshots that are open.
    pub readers: u64,
    /// Bytes of memory that rows, old versions, indexes and procedures on their way take.
    pub memory_bytes: u64,
    /// Bytes that they may take ([`seriatim::Builder::memory`](crate::Builder::memory)).
    pub memory_limit_bytes: u64,
}

impl Stats {
    /// Mean number of procedures of a batch.
    pub fn mean_batch(&self) -> f64 {
        if self.batches == 0 { 0.0 } else { self.executed as f64 / self.batches as f64 }
    }
}

impl Database {
    pub(crate) fn new(engine: Arc<Bohm>, shared: Arc<Shared>, options: Knobs, disk: Option<OnDisk>) -> Database {
        let inner = Inner {
            engine: Some(engine),
            shared,
            options,
            drawn: AtomicU64::new(0),
            seed: env::Randomness::from_entropy().next_u64(),
            disk,
            is_closed: AtomicBool::new(false),
            #[cfg(feature = "sql")]
            sql: std::sync::Mutex::default(),
        };
        Database { inner: Arc::new(inner) }
    }

    /// Submits a procedure. It gets its place in the order behind everything that this thread has submitted, unless its footprint
    /// was a guess that misses. Waits while as many calls are under way as
    /// [`Bohm::under_way`](crate::batch::Bohm::under_way) allows, and at the limit on memory for what can be freed.
    ///
    /// An error is the ticket's: [`LimitKind::Memory`](crate::LimitKind::Memory) if it may need memory beyond the limit,
    /// [`Fault::Closed`] after [`Database::close`], [`Error::OtherDatabase`] for a procedure of another database, and those of
    /// [`Ticket::wait`].
    pub fn submit<A, T, E>(&self, procedure: &Procedure<A, T, E>, arguments: A) -> Ticket<T, E>
    where
        A: Arguments,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.submit_patiently(procedure, arguments, Patience::Endless)
            .unwrap_or_else(|error| Ticket::failed(error.into()))
    }

    /// Same as [`Database::submit`], without waiting for room.
    ///
    /// # Errors
    /// [`LimitKind::Queue`](crate::LimitKind::Queue): as many calls are under way as may be. [`Fault::Closed`],
    /// [`Error::OtherDatabase`]. The procedure was not accepted.
    pub fn try_submit<A, T, E>(&self, procedure: &Procedure<A, T, E>, arguments: A) -> Result<Ticket<T, E>>
    where
        A: Arguments,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.submit_patiently(procedure, arguments, Patience::None)
    }

    /// Same as [`Database::submit`], waiting for room for so long at most. [`Ticket::wait_for`] bounds the wait for the result.
    ///
    /// # Errors
    /// Errors of [`Database::try_submit`].
    pub fn submit_within<A, T, E>(
        &self,
        procedure: &Procedure<A, T, E>,
        arguments: A,
        limit: Duration,
    ) -> Result<Ticket<T, E>>
    where
        A: Arguments,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.submit_patiently(procedure, arguments, Patience::within(limit))
    }

    /// Submits a procedure and waits for its result.
    ///
    /// # Errors
    /// Errors of [`Ticket::wait`].
    pub fn call<A, T, E>(&self, procedure: &Procedure<A, T, E>, arguments: A) -> Result<T, E>
    where
        A: Arguments,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.submit(procedure, arguments).wait()
    }

    /// Submits a procedure once for each of `arguments`, in their order: cheaper than one by one. They are no transaction: each
    /// has a place and a result of its own. Waits for room as [`Database::submit`] does.
    pub fn submit_all<A, T, E>(
        &self,
        procedure: &Procedure<A, T, E>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Vec<Ticket<T, E>>
    where
        A: Arguments,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (mut arguments, mut tickets) = (arguments.into_iter(), Vec::new());
        while let Some(first) = arguments.next() {
            // Only the first waits: those that have a place already are not yet under way.
            let first = match self.admit(procedure, Patience::Endless) {
                Ok(admitted) => self.entry(procedure, first, admitted),
                Err(error) => {
                    tickets.push(Ticket::failed(error.into()));
                    continue;
                }
            };
            let mut together = vec![first];
            while together.len() < TOGETHER {
                let Ok(admitted) = self.admit(procedure, Patience::None) else { break };
                let Some(next) = arguments.next() else { break };
                together.push(self.entry(procedure, next, admitted));
            }
            tickets.extend(self.engine().submit_batch(together).into_iter().map(Ticket::new));
        }
        tickets
    }

    fn submit_patiently<A, T, E>(
        &self,
        procedure: &Procedure<A, T, E>,
        arguments: A,
        patience: Patience,
    ) -> Result<Ticket<T, E>>
    where
        A: Arguments,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let admitted = self.admit(procedure, patience)?;
        let BatchEntry { procedure, how, retry } = self.entry(procedure, arguments, admitted);
        Ok(Ticket::new(self.engine().submit(procedure, how, retry)))
    }

    fn admit<A, T, E>(&self, procedure: &Procedure<A, T, E>, patience: Patience) -> Result<Admitted> {
        if procedure.code.database != self.inner.options.database {
            return Err(Error::OtherDatabase);
        }
        // Whoever makes room must not wait for it.
        let patience = if is_inside() { Patience::None } else { patience };
        self.inner.shared.admission.enter(patience)
    }

    fn entry<A, T, E>(
        &self,
        procedure: &Procedure<A, T, E>,
        arguments: A,
        admitted: Admitted,
    ) -> BatchEntry<Call<A, T, E>> {
        let Inner { shared, options, .. } = &*self.inner;
        let mode = if procedure.code.is_read_only { Mode::ReadOnly } else { Mode::ReadWrite };
        let places = options.places;
        let retry: Box<dyn Retry + Send> = Box::new(move |failed: u32, _: &model::Error| failed < places);
        BatchEntry {
            procedure: Call {
                shared: shared.clone(),
                code: procedure.code.clone(),
                arguments,
                _admitted: Some(admitted),
                wrong: RefCell::default(),
            },
            how: Begin { mode, draws: Some(self.draws()), ..Begin::default() },
            retry,
        }
    }

    fn draws(&self) -> Draws {
        // Relaxed: only the numbers count.
        let number = self.inner.drawn.fetch_add(1, Relaxed);
        let seed = Draws::new(self.inner.seed.wrapping_add(number), 0).number();
        Draws::new(seed, DateTime::now().micros)
    }

    /// Runs `body` in the calling thread on the state as of the last complete batch. It waits for nothing and delays nothing:
    /// *serializable, not strict*. A procedure whose ticket was resolved just before may be missing, if its batch is not complete
    /// yet; [`Database::read_strict`] shows it.
    ///
    /// # Errors
    /// Errors of the body; [`Fault::Closed`]; [`Error::Limit`] with too many snapshots.
    pub fn read<T>(&self, body: impl FnOnce(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        if self.inner.shared.admission.is_closed() {
            return Err(Fault::Closed.into());
        }
        let snapshot = self.engine().snapshot()?;
        body(&Snapshot::new(&mut snapshot.reads(), &self.inner.shared.tables))
    }

    /// Same as [`Database::read`], on a state that has everything that was submitted before: *strictly serializable*. It waits for
    /// one batch. Not to be called by bodies and callbacks.
    ///
    /// # Errors
    /// Errors of [`Database::read`]; [`Invalid::Unsupported`] inside a body or a callback.
    pub fn read_strict<T>(&self, body: impl FnOnce(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        self.settle()?;
        self.read(body)
    }

    /// Waits until everything is complete that was submitted before: what is read as of the last complete batch has it.
    ///
    /// # Errors
    /// [`Fault::Closed`]; [`Invalid::Unsupported`] inside a body or a callback.
    pub fn settle(&self) -> Result<()> {
        if self.inner.shared.admission.is_closed() {
            return Err(Fault::Closed.into());
        }
        refuse_inside("waiting for a batch inside a procedure or a callback")?;
        self.engine().settle();
        Ok(())
    }

    /// Returns counters and gauges.
    pub fn stats(&self) -> Stats {
        let of = self.engine().stats();
        Stats {
            under_way: self.inner.shared.admission.under_way(),
            batches: of.batches,
            executed: of.executed,
            missed: of.missed,
            records: of.records,
            garbage: of.garbage,
            readers: of.readers,
            memory_bytes: of.memory_bytes,
            memory_limit_bytes: of.memory_limit_bytes,
        }
    }

    /// Closes the database now, even if there are other handles: waits until everything that was accepted has ended and its
    /// tickets are resolved. Calls through other handles get [`Fault::Closed`] from then on, those that wait for room included.
    ///
    /// # Errors
    /// [`Invalid::Unsupported`] inside a body or a callback, which it would have to wait for; [`Error::Fault`] if the rest of the log
    /// could not be written.
    pub fn close(self) -> Result<()> {
        refuse_inside("closing the database inside a procedure or a callback")?;
        self.inner.shared.admission.close();
        let Some(disk) = &self.inner.disk else { return Ok(()) };
        close(self.engine(), &disk.maintenance)?;
        // Relaxed: only a drop reads it, which comes after.
        self.inner.is_closed.store(true, Relaxed);
        Ok(())
    }

    /// Writes a checkpoint that has everything submitted before, while calls go on, so that the log before it can be removed and the
    /// next start is quick: calls in it are not executed again, and procedures may change. With
    /// [`seriatim::Builder::checkpoint_after`](crate::Builder::checkpoint_after) checkpoints are automatic.
    ///
    /// # Errors
    /// Errors of [`Database::settle`]; [`Invalid::Unsupported`] in memory, [`Error::Fault`] if the disk fails (the checkpoint before
    /// stays).
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        self.settle()?;
        let bohm::CheckpointReport { start, tables, rows, bytes, elapsed, .. } =
            self.engine().write_checkpoint(Pace::Full)?;
        Ok(CheckpointReport { start, tables, rows, bytes, elapsed })
    }

    /// Returns the report of recovery; `None` in memory.
    pub fn recovery(&self) -> Option<&bohm::RecoveryReport> {
        self.engine().recovery()
    }

    pub(crate) fn engine(&self) -> &Arc<Bohm> {
        self.inner.engine.as_ref().expect("it is there until the last handle is dropped")
    }
}

fn refuse_inside(what: &'static str) -> Result<()> {
    if is_inside() { Err(Invalid::Unsupported { what }.into()) } else { Ok(()) }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// What the end of a database takes.
struct End {
    engine: Arc<Bohm>,
    /// `None` if there is nothing to close.
    disk: Option<OnDisk>,
}

impl End {
    fn come(self) {
        if let Some(disk) = &self.disk {
            // A failure was told to whom the program has named for that.
            let _ = disk.close(&self.engine);
        }
        // The maintenance has a handle, too.
        drop(self.disk);
        drop(self.engine);
    }
}

impl Drop for Inner {
    /// Waits for what was accepted, unless a callback has dropped the last handle: the engine's threads cannot wait for themselves.
    fn drop(&mut self) {
        #[cfg(feature = "sql")]
        drop(self.sql.get_mut().map(Option::take));
        let end = ManuallyDrop::new(End {
            engine: self.engine.take().expect("it is there until now"),
            disk: self.disk.take().filter(|_| !*self.is_closed.get_mut()),
        });
        if is_inside() {
            // Without a thread to close it the engine stays: nothing accepted is lost.
            let _ = spawn_named("seriatim-close", move || ManuallyDrop::into_inner(end).come());
        } else {
            ManuallyDrop::into_inner(end).come();
        }
    }
}
