//! Operators put together: batches flow from a source through stages into an operator that holds rows, and from there on.

mod shared;
mod sought;
mod start;
mod sums;
mod threads;

use crate::aggregate::{Grouping, Sums};
use crate::batch::Batch;
use crate::columns::Columns;
use crate::expression::Expression;
use crate::join::{JoinRule, Table};
use crate::sort::{Edge, SortKey};
use crate::spill::{Spilling, Stored};
use pgtypes::{Error, Type};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why an execution ends early.
#[derive(Debug)]
pub enum Stop<E> {
    /// A row failed. Which error the statement returns, if any, is found out row by row.
    Row(Error),
    /// The operators hold more than the statement may.
    Memory(E),
    /// The statement ends: a request to stop, an error of a source.
    Statement(E),
}

impl<E> From<Error> for Stop<E> {
    fn from(error: Error) -> Stop<E> {
        Stop::Row(error)
    }
}

/// Rows as they come from a source, to be made a batch on any thread.
pub trait Piece: Send {
    /// Makes the batch, of these columns.
    ///
    /// # Errors
    /// A stored value is none of its type.
    fn decode(self: Box<Self>, columns: &Columns) -> Result<Batch, Error>;
}

impl Piece for Batch {
    fn decode(self: Box<Self>, columns: &Columns) -> Result<Batch, Error> {
        Ok(Batch { rows: self.rows, columns: columns.iter().map(|at| self.columns[at].clone()).collect() })
    }
}

/// Returns the next rows of a source, on any thread; `None` behind the last.
pub type Next<'n, E> = dyn Fn() -> Result<Option<Box<dyn Piece>>, Stop<E>> + Sync + 'n;

/// What is done with such a call.
pub type Work<'w, E> = dyn FnMut(&Next<'_, E>) -> Result<(), Stop<E>> + 'w;

/// Rows of a source that it has added up, and others that cannot be added up.
pub struct Added {
    /// What the columns of the former add up to.
    pub sums: Sums,
    /// The latter.
    pub others: Option<Box<dyn Piece>>,
}

/// Adds up the next rows of a source, on any thread; `None` behind the last.
pub type NextSums<'n, E> = dyn Fn() -> Result<Option<Added>, Stop<E>> + Sync + 'n;

/// What is done with such a call.
pub type WorkOnSums<'w, E> = dyn FnMut(&NextSums<'_, E>) -> Result<(), Stop<E>> + 'w;

/// What an execution stands on.
pub trait Host {
    /// Errors that end the statement.
    type Error: Send + 'static;

    /// The next rows of a source; `None` behind the last.
    ///
    /// # Errors
    /// Errors of the source.
    fn next(&mut self, source: usize) -> Result<Option<Box<dyn Piece>>, Self::Error>;

    /// Shows all rows of a source, on this thread. A host whose source can be read at once only does so here.
    ///
    /// # Errors
    /// Errors of the source and of `visit`.
    fn read(
        &mut self,
        source: usize,
        visit: &mut dyn FnMut(Box<dyn Piece>) -> Result<(), Stop<Self::Error>>,
    ) -> Result<(), Stop<Self::Error>> {
        while let Some(piece) = self.next(source).map_err(Stop::Statement)? {
            visit(piece)?;
        }
        Ok(())
    }

    /// Shows a call that returns the next rows of a source, and that several threads may make; `None` if the source has none.
    /// `work` is called once at most.
    ///
    /// # Errors
    /// Errors of the source and of `work`.
    fn share(&mut self, _source: usize, _work: &mut Work<'_, Self::Error>) -> Option<Result<(), Stop<Self::Error>>> {
        None
    }

    /// Shows a call that adds up these columns of a source, integers and numerics, and that several threads may make; `None` if the source
    /// adds up nothing. `work` is called once at most, in place of all that returns rows.
    ///
    /// # Errors
    /// Errors of the source and of `work`.
    fn sum(
        &mut self,
        _source: usize,
        _columns: &Columns,
        _work: &mut WorkOnSums<'_, Self::Error>,
    ) -> Option<Result<(), Stop<Self::Error>>> {
        None
    }

    /// Says that rows of a source whose value in a column is none of these integers, or NULL, are not needed. It is said before the
    /// first of its rows is taken, and a host may return them nevertheless.
    fn sift(&mut self, _source: usize, _column: usize, _keys: &mut dyn Iterator<Item = i64>) {}

    /// Says the same of rows whose integer in a column is beyond an edge, which narrows while rows are taken.
    fn narrow(&mut self, _source: usize, _column: usize, _edge: &Arc<Edge>) {}

    /// The statement's ledger.
    fn ledger(&self) -> Arc<dyn Ledger<Self::Error>>;

    /// Number of threads that may work beside the one that reads.
    fn workers(&self) -> usize;

    /// Leave to write rows away, with all that the operators may hold; `None`: they may not.
    fn spilling(&self) -> Option<Spilling> {
        None
    }

    /// Prepares a thread to work for the statement.
    fn enter(&self) -> Arc<dyn Fn() + Send + Sync>;
}

/// Memory and time of a statement.
pub trait Ledger<E>: Send + Sync {
    /// Accounts for the bytes that the operators hold now.
    ///
    /// # Errors
    /// 53200
    fn hold(&self, bytes: usize) -> Result<(), E>;

    /// Returns whether the statement may go on.
    ///
    /// # Errors
    /// 57014 and its kin.
    fn check(&self) -> Result<(), E>;
}

/// Whether results depend on the order in which rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They may: one thread takes the rows in their order.
    Kept,
    /// They do not: threads take rows as they can.
    Free,
    /// They do as far as a source has an order of its own. One that threads share has none.
    OfSource,
}

/// An operator and what is below it.
pub struct Operator {
    /// Which.
    pub kind: Kind,
    /// Types of its columns.
    pub types: Vec<Type>,
    /// Rows that it has returned.
    pub counter: Arc<AtomicU64>,
}

/// Kind of an operator.
pub enum Kind {
    /// The rows of a source.
    Source(usize),
    /// Rows for which the condition is true.
    Filter(Box<Operator>, Expression),
    /// New rows of expressions.
    Project(Box<Operator>, Vec<Expression>),
    /// Rows of the first and their partners in the second, which is built.
    Join(Box<Operator>, Box<Operator>, Arc<JoinRule>),
    /// Groups.
    Aggregate(Box<Operator>, Arc<Grouping>),
    /// Sorted rows, the first so many if that is known.
    Sort(Box<Operator>, Arc<Vec<SortKey>>, Option<usize>),
}

impl Operator {
    /// An operator whose rows have these types.
    pub fn new(kind: Kind, types: Vec<Type>) -> Operator {
        Operator { kind, types, counter: Arc::default() }
    }
}

/// Work on single batches, on any thread.
enum Stage {
    /// These columns of the rows for which the condition is true.
    Filter(Expression, Vec<usize>),
    /// New rows of expressions, and those that nobody reads and that may fail.
    Project(Vec<Expression>, Vec<Expression>),
    /// Partners of the rows in a table.
    Probe(Arc<Table>),
}

/// Where batches come from.
enum Origin {
    Source(usize),
    Made(VecDeque<Batch>),
    Stored(Box<dyn Stored>),
}

/// A running operator.
pub struct Flow {
    origin: Origin,
    course: Course,
    /// Batches that the stages have made and that were not taken yet.
    ready: VecDeque<Batch>,
}

/// What happens to the rows of a flow's origin. Threads share it.
struct Course {
    stages: Vec<(Stage, Arc<AtomicU64>)>,
    /// The columns of the origin that are read.
    columns: Columns,
    /// Rows of the origin.
    counter: Arc<AtomicU64>,
    /// Bytes of tables and batches that are held.
    held: usize,
}

impl Flow {
    /// What an operator above may hold.
    fn share<H: Host>(&self, host: &H) -> Option<Spilling> {
        Some(host.spilling()?.share(self.course.held))
    }

    /// The rows of an operator that has written them away, and that holds its share at most; these columns of them.
    fn stored<H: Host>(
        stored: Box<dyn Stored>,
        columns: Columns,
        share: Option<Spilling>,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let held = share.map_or(0, |share| share.bytes);
        host.ledger().hold(held).map_err(Stop::Memory)?;
        Ok(Flow::of(Origin::Stored(stored), columns, counter, held))
    }

    /// The rows of an operator that has held them; these columns of them.
    fn made<H: Host>(
        batches: Vec<Batch>,
        columns: Columns,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let held = batches.iter().map(Batch::bytes).sum();
        host.ledger().hold(held).map_err(Stop::Memory)?;
        Ok(Flow::of(Origin::Made(batches.into()), columns, counter, held))
    }

    fn of(origin: Origin, columns: Columns, counter: Arc<AtomicU64>, held: usize) -> Flow {
        Flow { origin, course: Course { stages: Vec::new(), columns, counter, held }, ready: VecDeque::new() }
    }

    fn with(mut self, stage: Stage, counter: Arc<AtomicU64>) -> Flow {
        self.course.stages.push((stage, counter));
        self
    }

    /// The next batch of the operator's rows; `None` behind the last.
    ///
    /// # Errors
    /// [`Stop`]
    pub fn next<H: Host>(&mut self, host: &mut H) -> Result<Option<Batch>, Stop<H::Error>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(piece) = self.take(host)? else { return Ok(None) };
            let batch = self.course.decoded(piece)?;
            let mut ready = std::mem::take(&mut self.ready);
            let result = push(&self.course.stages, batch, &mut |batch| {
                ready.push_back(batch);
                Ok::<(), Error>(())
            });
            self.ready = ready;
            result?;
        }
    }

    /// The next rows of the origin.
    fn take<H: Host>(&mut self, host: &mut H) -> Result<Option<Box<dyn Piece>>, Stop<H::Error>> {
        host.ledger().check().map_err(Stop::Statement)?;
        match &mut self.origin {
            Origin::Source(source) => host.next(*source).map_err(Stop::Statement),
            Origin::Made(batches) => Ok(batches.pop_front().map(|batch| Box::new(batch) as Box<dyn Piece>)),
            Origin::Stored(stored) => Ok(stored.next()?.map(|batch| Box::new(batch) as Box<dyn Piece>)),
        }
    }

    /// Shows all rows of the origin.
    fn read<H: Host>(
        origin: Origin,
        host: &mut H,
        visit: &mut dyn FnMut(Box<dyn Piece>) -> Result<(), Stop<H::Error>>,
    ) -> Result<(), Stop<H::Error>> {
        match origin {
            Origin::Source(source) => host.read(source, visit),
            Origin::Made(batches) => batches.into_iter().try_for_each(|batch| visit(Box::new(batch))),
            Origin::Stored(mut stored) => {
                while let Some(batch) = stored.next()? {
                    visit(Box::new(batch))?;
                }
                Ok(())
            }
        }
    }
}

impl Course {
    fn decoded(&self, piece: Box<dyn Piece>) -> Result<Batch, Error> {
        let batch = piece.decode(&self.columns)?;
        assert!(batch.columns.iter().all(|column| column.len() == batch.rows), "V1");
        // Relaxed: a count that is read when all threads have ended.
        self.counter.fetch_add(batch.rows as u64, Ordering::Relaxed);
        Ok(batch)
    }
}

/// Sends a batch through stages.
fn push<E: From<Error>>(
    stages: &[(Stage, Arc<AtomicU64>)],
    batch: Batch,
    emit: &mut dyn FnMut(Batch) -> Result<(), E>,
) -> Result<(), E> {
    let Some(((stage, counter), rest)) = stages.split_first() else {
        return if batch.rows > 0 { emit(batch) } else { Ok(()) };
    };
    let mut pass = |batch: Batch| {
        counter.fetch_add(batch.rows as u64, Ordering::Relaxed);
        push(rest, batch, emit)
    };
    match stage {
        Stage::Filter(condition, shown) => {
            let selected = condition.selected(&batch)?;
            match selected.len() {
                0 => Ok(()),
                all if all == batch.rows => pass(batch.with_columns(shown)),
                _ => pass(batch.gather_from(&selected, shown)),
            }
        }
        Stage::Project(columns, failing) => {
            failing.iter().try_for_each(|column| column.evaluate(&batch).map(drop))?;
            let columns = columns.iter().map(|column| Ok(column.evaluate(&batch)?.spread(batch.rows)));
            let columns = columns.collect::<Result<Vec<_>, Error>>()?;
            pass(Batch { rows: batch.rows, columns })
        }
        Stage::Probe(table) => table.probe(&batch, &mut pass),
    }
}
