//! Operators put together: batches flow from a source through stages into an operator that holds rows, and from there on.

mod shared;
mod threads;

use crate::aggregate::{Grouping, Groups, SpilledGroups};
use crate::batch::Batch;
use crate::expression::Expression;
use crate::join::{Builder, Built, JoinRule, Probing, SpilledJoin, Table};
use crate::sort::{SortKey, Sorted, Sorter};
use crate::spill::{Spilling, Stored};
use crate::threads::Threads;
use pgtypes::{Error, Type, state};
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
    /// Makes the batch.
    ///
    /// # Errors
    /// A stored value is none of its type.
    fn decode(self: Box<Self>) -> Result<Batch, Error>;
}

impl Piece for Batch {
    fn decode(self: Box<Self>) -> Result<Batch, Error> {
        Ok(*self)
    }
}

/// Returns the next rows of a source, on any thread; `None` behind the last.
pub type Next<'n, E> = dyn Fn() -> Result<Option<Box<dyn Piece>>, Stop<E>> + Sync + 'n;

/// What is done with such a call.
pub type Work<'w, E> = dyn FnMut(&Next<'_, E>) -> Result<(), Stop<E>> + 'w;

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
pub enum Stage {
    /// Rows for which the condition is true.
    Filter(Expression),
    /// New rows of expressions.
    Project(Vec<Expression>),
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
    /// Rows of the origin.
    counter: Arc<AtomicU64>,
    /// Bytes of tables and batches that are held.
    held: usize,
}

impl Flow {
    /// Starts an operator: everything below that holds rows runs to its end.
    ///
    /// # Errors
    /// [`Stop`]
    pub fn start<H: Host>(operator: Operator, host: &mut H) -> Result<Flow, Stop<H::Error>> {
        // Rows that a sort calls equal have no order.
        let order = if matches!(operator.kind, Kind::Sort(..)) { Order::OfSource } else { Order::Kept };
        Flow::ordered(operator, order, host)
    }

    /// Starts an operator on whose rows something depends above: on their order or not.
    fn ordered<H: Host>(operator: Operator, order: Order, host: &mut H) -> Result<Flow, Stop<H::Error>> {
        let Operator { kind, types, counter } = operator;
        match kind {
            Kind::Source(source) => Ok(Flow::of(Origin::Source(source), counter, 0)),
            Kind::Filter(input, condition) => {
                Ok(Flow::ordered(*input, order, host)?.with(Stage::Filter(condition), counter))
            }
            Kind::Project(input, columns) => {
                Ok(Flow::ordered(*input, order, host)?.with(Stage::Project(columns), counter))
            }
            Kind::Join(probing, built, rule) => Flow::join((*probing, *built), &rule, (order, counter), host),
            Kind::Aggregate(input, grouping) => Flow::aggregate(*input, &grouping, counter, host),
            Kind::Sort(input, keys, bound) => Flow::sort((*input, order), &keys, (&types, bound), counter, host),
        }
    }

    fn sort<H: Host>(
        (input, order): (Operator, Order),
        keys: &Arc<Vec<SortKey>>,
        (types, bound): (&[Type], Option<usize>),
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let flow = Flow::ordered(input, order, host)?;
        let share = flow.share(host);
        let sharing = Arc::default();
        let start = || Sorter::new(keys.clone(), types, bound, share.clone(), &sharing);
        let sorters = flow.drive(host, order, &start, &|sorter, batch| {
            sorter.add(batch)?;
            Ok(sorter.memory())
        })?;
        let mut sorters = sorters.into_iter();
        let mut all = sorters.next().unwrap_or_else(start);
        for other in sorters {
            all.merge(other)?;
        }
        match all.finish(&threads(host))? {
            Sorted::Held(batches) => Flow::made(batches, counter, host),
            Sorted::Merged(merge) => Flow::stored(merge, share, counter, host),
        }
    }

    fn join<H: Host>(
        (probing, built): (Operator, Operator),
        rule: &Arc<JoinRule>,
        (order, counter): (Order, Arc<AtomicU64>),
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let flow = Flow::ordered(built, order, host)?;
        // Parts of the rows come in another order.
        let share = flow.share(host).filter(|_| !rule.keeps_order);
        let sharing = Arc::default();
        let start = || Builder::new(rule.clone(), share.clone(), 0, &sharing);
        let builders = flow.drive(host, order, &start, &|builder, batch| {
            builder.add(batch)?;
            Ok(builder.memory())
        })?;
        match (Builder::finish(rule, builders, &threads(host))?, share) {
            (Built::Parts(built), Some(share)) => {
                let flow = Flow::ordered(probing, order, host)?;
                let start = || Probing::new(rule.clone(), &share, 0);
                let all = flow.drive(host, Order::Kept, &start, &|probing, batch| {
                    probing.add(batch)?;
                    Ok(probing.memory())
                })?;
                let probing = all.into_iter().next().unwrap_or_else(start);
                let join = SpilledJoin::new(built, probing, share.clone())?;
                Flow::stored(Box::new(join), Some(share), counter, host)
            }
            (Built::Table(table), _) => {
                let held = table.memory();
                let mut flow = Flow::ordered(probing, order, host)?.with(Stage::Probe(Arc::from(table)), counter);
                flow.course.held += held;
                Ok(flow)
            }
            (Built::Parts(_), None) => {
                Err(Error::new(state::INTERNAL_ERROR, "a join was divided without leave").into())
            }
        }
    }

    fn aggregate<H: Host>(
        input: Operator,
        grouping: &Arc<Grouping>,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let order = if grouping.is_mergeable() { Order::Free } else { Order::Kept };
        // Rows without an order need none below; those that are read by one thread are read in theirs.
        let below = if order == Order::Free { Order::OfSource } else { order };
        let flow = Flow::ordered(input, below, host)?;
        let share = flow.share(host);
        let workers = if order == Order::Free { host.workers() } else { 1 };
        let of_each = share.as_ref().map(|share| share.divided(workers));
        let groups =
            flow.drive(host, order, &|| Groups::new(grouping.clone(), of_each.clone()), &|groups, batch| {
                groups.add(batch)?;
                Ok(groups.memory())
            })?;
        if groups.iter().any(Groups::is_spilled)
            && let Some(share) = share
        {
            let groups = SpilledGroups::new(groups, share.clone())?;
            return Flow::stored(Box::new(groups), Some(share), counter, host);
        }
        let mut groups = groups.into_iter();
        let mut all = groups.next().unwrap_or_else(|| Groups::new(grouping.clone(), None));
        for other in groups {
            all.merge(other)?;
        }
        Flow::made(all.finish()?, counter, host)
    }

    /// What an operator above may hold.
    fn share<H: Host>(&self, host: &H) -> Option<Spilling> {
        Some(host.spilling()?.share(self.course.held))
    }

    /// The rows of an operator that has written them away, and that holds its share at most.
    fn stored<H: Host>(
        stored: Box<dyn Stored>,
        share: Option<Spilling>,
        counter: Arc<AtomicU64>,
        host: &mut H,
    ) -> Result<Flow, Stop<H::Error>> {
        let held = share.map_or(0, |share| share.bytes);
        host.ledger().hold(held).map_err(Stop::Memory)?;
        Ok(Flow::of(Origin::Stored(stored), counter, held))
    }

    /// The rows of an operator that has held them.
    fn made<H: Host>(batches: Vec<Batch>, counter: Arc<AtomicU64>, host: &mut H) -> Result<Flow, Stop<H::Error>> {
        let held = batches.iter().map(Batch::bytes).sum();
        host.ledger().hold(held).map_err(Stop::Memory)?;
        Ok(Flow::of(Origin::Made(batches.into()), counter, held))
    }

    fn of(origin: Origin, counter: Arc<AtomicU64>, held: usize) -> Flow {
        Flow { origin, course: Course { stages: Vec::new(), counter, held }, ready: VecDeque::new() }
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
        let batch = piece.decode()?;
        // Relaxed: a count that is read when all threads have ended.
        self.counter.fetch_add(batch.rows as u64, Ordering::Relaxed);
        Ok(batch)
    }
}

fn threads<H: Host>(host: &H) -> Threads {
    Threads { count: host.workers(), enter: host.enter() }
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
        Stage::Filter(condition) => {
            let selected = condition.selected(&batch)?;
            match selected.len() {
                0 => Ok(()),
                all if all == batch.rows => pass(batch),
                _ => pass(batch.gather(&selected)),
            }
        }
        Stage::Project(columns) => {
            let columns = columns.iter().map(|column| Ok(column.evaluate(&batch)?.spread(batch.rows)));
            let columns = columns.collect::<Result<Vec<_>, Error>>()?;
            pass(Batch { rows: batch.rows, columns })
        }
        Stage::Probe(table) => table.probe(&batch, &mut pass),
    }
}
