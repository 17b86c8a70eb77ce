//! Operators over batches, inside a plan of rows.
//!
//! The plan below is translated when the first row is asked for. If a row fails before any has been returned, the plan runs again row by
//! row: which error comes first, and whether one comes at all, is what the row executor says. So it is where memory ends. What is more than
//! the statement may hold goes to temporary files, of which errors are the statement's.

use super::super::scope::{PlanRows, Rows, Run};
use super::Node;
use super::scan::{Decoded, Pushed, StoredRows};
use super::with::CteReader;
use crate::cancel::Cancel;
use crate::error::{Result, SqlError};
use crate::memory::Memory;
use crate::plan::{Expr, Plan, Scan};
use crate::temporary::is_of_files;
use crate::types::{Datum, Row, Styles, Type, memory};
use crate::vectorize::{Context, Source, Translation, nodes, translate};
use pgtypes::interrupt;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use vectors::flow::{Flow, Host, Ledger, Next, Piece, Stop, Work, WorkOnSums};
use vectors::sort::Edge;
use vectors::spill::{Spilling, TemporaryFiles};
use vectors::{Batch, Columns};

/// Rows of the row executor that become one batch.
const ROWS: usize = 256;
/// Bytes that operators over batches may hold, however little the statement may: some batches of each.
const LEAST: usize = 1 << 20;

/// The state of operators over batches.
pub struct VectorsState {
    /// The columns that are looked at; `None`: all.
    wanted: Option<Columns>,
    bound: Option<usize>,
    running: Option<Running>,
    /// The row executor instead.
    rows: Option<Node>,
}

struct Running {
    flow: Flow,
    sources: Vec<SourceState>,
    types: Vec<Type>,
    /// The columns that the flow's batches have.
    columns: Columns,
    counters: Vec<(usize, Arc<AtomicU64>)>,
    ledger: Arc<SqlLedger>,
    files: Arc<dyn TemporaryFiles>,
    batch: Batch,
    /// The next row of the batch.
    at: usize,
    /// Whether a row has been returned.
    has_returned: bool,
}

enum SourceState {
    Table(Box<StoredRows>),
    Rows(usize, Node, Arc<[Type]>),
    Cte(usize, Box<CteReader>, Arc<[Type]>),
}

impl VectorsState {
    /// Nothing has run. Of the plan's columns these are looked at; `None`: all.
    pub fn new(wanted: Option<&[usize]>) -> VectorsState {
        let wanted = wanted.map(|wanted| Columns::of(wanted.iter().copied()));
        VectorsState { wanted, bound: None, running: None, rows: None }
    }

    /// Announces that only the first `rows` will be read.
    pub fn bound(&mut self, rows: usize) {
        self.bound = Some(rows);
    }

    /// The next row.
    pub fn next(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        match self.next_by_batches(plan, run, Running::next)? {
            Some(row) => Ok(row),
            None => self.next_by_rows(plan, run),
        }
    }

    /// The next batch, which has all columns; or the next row, where the row executor has to run the plan.
    pub fn next_rows(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Rows>> {
        match self.next_by_batches(plan, run, Running::next_batch)? {
            Some(batch) => Ok(batch.map(Rows::Batch)),
            None => Ok(self.next_by_rows(plan, run)?.map(Rows::One)),
        }
    }

    /// What comes next over batches; `None` where the row executor has to go on.
    fn next_by_batches<T>(
        &mut self,
        plan: &Plan,
        run: &mut Run<'_, '_>,
        next: impl FnOnce(&mut Running, &Plan, &mut Run<'_, '_>) -> Result<T, Stop<SqlError>>,
    ) -> Result<Option<T>> {
        self.start(plan, run)?;
        let Some(running) = &mut self.running else { return Ok(None) };
        match next(running, plan, run) {
            Ok(next) => Ok(Some(next)),
            Err(stop) => {
                let has_returned = running.has_returned;
                self.stopped(stop, has_returned, plan)?;
                Ok(None)
            }
        }
    }

    fn next_by_rows(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        self.rows.as_mut().map_or(Ok(None), |node| node.next(plan, run))
    }

    /// Runs what holds rows to its end, at the first call.
    fn start(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<()> {
        if self.rows.is_none() && self.running.is_none() {
            let before = run.exec.memory.used();
            match Running::start(plan, self.bound, self.wanted.as_ref(), run) {
                Ok(Some(running)) => self.running = Some(running),
                Ok(None) => self.fall_back(plan),
                Err(stop) => self.stopped(stop, false, plan)?,
            }
            if self.rows.is_some() {
                run.exec.memory.back_to(before);
            }
        }
        Ok(())
    }

    /// Falls back to the row executor, unless rows have been returned or it would fare no better.
    fn stopped(&mut self, stop: Stop<SqlError>, has_returned: bool, plan: &Plan) -> Result<()> {
        match stop {
            Stop::Row(error) if is_of_files(&error) => return Err(error.into()),
            Stop::Row(error) if has_returned => return Err(error.into()),
            Stop::Memory(error) if has_returned => return Err(error),
            Stop::Statement(error) => return Err(error),
            Stop::Row(_) | Stop::Memory(_) => self.fall_back(plan),
        }
        Ok(())
    }

    fn fall_back(&mut self, plan: &Plan) {
        self.running = None;
        let mut node = Node::new(plan);
        if let Some(bound) = self.bound {
            node.bound(bound);
        }
        self.rows = Some(node);
    }
}

impl Running {
    /// Translates a plan and runs what holds rows to its end; `None` if the row executor has to.
    fn start(
        plan: &Plan,
        bound: Option<usize>,
        wanted: Option<&Columns>,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Running>, Stop<SqlError>> {
        let mut asked = Asked { run, pushed: VecDeque::new() };
        let Some(translation) = translate(plan, bound, &mut asked) else { return Ok(None) };
        let mut pushed = asked.pushed;
        let Translation { operator, sources: found, counters } = translation;
        let (nodes, types) = (nodes(plan), operator.types.clone());
        let mut sources = Vec::with_capacity(found.len());
        for source in found {
            sources.push(match source {
                Source::Table(at) => {
                    let Plan::Scan(scan) = nodes[at] else { return Ok(None) };
                    let of = std::ptr::from_ref(scan).addr();
                    let Some(place) = pushed.iter().position(|(address, _)| *address == of) else { return Ok(None) };
                    let Some((_, pushed)) = pushed.remove(place) else { return Ok(None) };
                    SourceState::Table(Box::new(StoredRows::new(scan, pushed, run).map_err(Stop::Statement)?))
                }
                Source::Rows(at, types) => match nodes[at] {
                    Plan::CteScan { number } => SourceState::Cte(*number, Box::default(), types.into()),
                    node => SourceState::Rows(at, Node::new(node), types.into()),
                },
            });
        }
        let ledger = Arc::new(SqlLedger {
            memory: Mutex::new(run.exec.memory.rest_of_at_least(LEAST)),
            cancel: run.exec.cancel.clone(),
        });
        let files = run.exec.temporary_files();
        let mut host = SqlHost { run, nodes, sources, ledger: ledger.clone(), files: files.clone() };
        let columns = wanted.cloned().unwrap_or_else(|| Columns::first(types.len()));
        let started = Flow::start(operator, &columns, &mut host);
        let sources = host.sources;
        match started {
            Ok(flow) => Ok(Some(Running {
                flow,
                sources,
                types,
                columns,
                counters,
                ledger,
                files,
                batch: Batch::default(),
                at: 0,
                has_returned: false,
            })),
            Err(stop) => Err(stop),
        }
    }

    fn next(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>, Stop<SqlError>> {
        while self.at >= self.batch.rows {
            match self.next_batch(plan, run)? {
                Some(batch) => (self.batch, self.at) = (batch, 0),
                None => return Ok(None),
            }
        }
        self.at += 1;
        Ok(Some(self.row(self.at - 1)))
    }

    fn next_batch(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Batch>, Stop<SqlError>> {
        let sources = std::mem::take(&mut self.sources);
        let (ledger, files) = (self.ledger.clone(), self.files.clone());
        let mut host = SqlHost { run, nodes: nodes(plan), sources, ledger, files };
        let next = self.flow.next(&mut host);
        self.sources = host.sources;
        let batch = next?;
        match &batch {
            Some(_) => self.has_returned = true,
            None => self.count(plan, run),
        }
        Ok(batch)
    }

    /// A row of the batch. Columns that nobody looks at are NULL.
    fn row(&self, at: usize) -> Row {
        let mut row = vec![Datum::Null; self.types.len()];
        for (place, column) in self.columns.iter().zip(&self.batch.columns) {
            row[place] = column.get(at, self.types[place]);
        }
        row
    }

    /// Says what the operators returned, for EXPLAIN ANALYZE.
    fn count(&mut self, plan: &Plan, run: &mut Run<'_, '_>) {
        let Some(counters) = &mut run.scope.counters else { return };
        let nodes = nodes(plan);
        for (at, counter) in self.counters.drain(..) {
            counters.has_returned(nodes[at], counter.load(Ordering::Relaxed));
        }
    }
}

/// What a translation that will run asks for.
struct Asked<'a, 'r, 's> {
    run: &'a mut Run<'r, 's>,
    /// The divided filters of scans, by the scan's address.
    pushed: VecDeque<(usize, Pushed)>,
}

impl Context for Asked<'_, '_, '_> {
    fn constant(&mut self, expression: &Expr) -> Option<Datum> {
        // One that fails may be in a branch that no row takes: the row executor decides.
        self.run.evaluate(expression, &[]).ok()
    }

    fn rest(&mut self, scan: &Scan) -> Vec<usize> {
        match self.run.push_down(scan) {
            Ok(pushed) => {
                let rest = pushed.rest.clone();
                self.pushed.push_back((std::ptr::from_ref(scan).addr(), pushed));
                rest
            }
            // It fails again when it is read.
            Err(_) => Vec::new(),
        }
    }

    fn types(&self, plan: &Plan) -> Vec<Type> {
        self.run.output_types(plan)
    }

    fn styles(&self) -> Arc<Styles> {
        Arc::new(self.run.exec.env().styles())
    }
}

/// The statement, for operators over batches.
struct SqlHost<'a, 'r, 's, 'p> {
    run: &'a mut Run<'r, 's>,
    nodes: Vec<&'p Plan>,
    sources: Vec<SourceState>,
    ledger: Arc<SqlLedger>,
    files: Arc<dyn TemporaryFiles>,
}

impl Host for SqlHost<'_, '_, '_, '_> {
    type Error = SqlError;

    fn next(&mut self, source: usize) -> Result<Option<Box<dyn Piece>>> {
        match &mut self.sources[source] {
            SourceState::Table(rows) => rows.next(self.run),
            SourceState::Cte(number, reader, types) => reader.next_piece((*number, types), ROWS, self.run),
            SourceState::Rows(at, node, types) => {
                let mut rows = Vec::new();
                while rows.len() < ROWS
                    && let Some(row) = PlanRows::next(node, self.nodes[*at], self.run)?
                {
                    rows.push(row);
                }
                if rows.is_empty() {
                    return Ok(None);
                }
                Ok(Some(Box::new(Decoded { rows, types: types.clone() })))
            }
        }
    }

    fn read(
        &mut self,
        source: usize,
        visit: &mut dyn FnMut(Box<dyn Piece>) -> Result<(), Stop<SqlError>>,
    ) -> Result<(), Stop<SqlError>> {
        let all = &mut |next: &Next<'_, SqlError>| {
            while let Some(piece) = next()? {
                visit(piece)?;
            }
            Ok(())
        };
        if let Some(read) = self.share(source, all) {
            return read;
        }
        while let Some(piece) = self.next(source).map_err(Stop::Statement)? {
            visit(piece)?;
        }
        Ok(())
    }

    fn share(&mut self, source: usize, work: &mut Work<'_, SqlError>) -> Option<Result<(), Stop<SqlError>>> {
        match &mut self.sources[source] {
            SourceState::Table(rows) => rows.share_columns(self.run, work, Stop::Statement),
            SourceState::Rows(..) | SourceState::Cte(..) => None,
        }
    }

    fn sum(
        &mut self,
        source: usize,
        columns: &Columns,
        work: &mut WorkOnSums<'_, SqlError>,
    ) -> Option<Result<(), Stop<SqlError>>> {
        match &mut self.sources[source] {
            SourceState::Table(rows) => rows.sum_columns(columns, self.run, work, Stop::Statement),
            SourceState::Rows(..) | SourceState::Cte(..) => None,
        }
    }

    fn sift(&mut self, source: usize, column: usize, keys: &mut dyn Iterator<Item = i64>) {
        if let SourceState::Table(rows) = &mut self.sources[source] {
            rows.sift(column, keys);
        }
    }

    fn narrow(&mut self, source: usize, column: usize, edge: &Arc<Edge>) {
        if let SourceState::Table(rows) = &mut self.sources[source] {
            rows.narrow(column, edge);
        }
    }

    fn ledger(&self) -> Arc<dyn Ledger<SqlError>> {
        self.ledger.clone()
    }

    fn workers(&self) -> usize {
        env::thread::available_parallelism().map_or(1, usize::from)
    }

    fn spilling(&self) -> Option<Spilling> {
        // What is being moved counts, too: a part of it stays free.
        Some(Spilling { files: self.files.clone(), bytes: self.ledger.memory().limit() / 4 * 3 })
    }

    fn enter(&self) -> Arc<dyn Fn() + Send + Sync> {
        let (cancel, longest) = (self.ledger.cancel.clone(), self.ledger.memory().limit());
        Arc::new(move || {
            interrupt::begin_statement(cancel.clone());
            memory::begin_statement(longest);
        })
    }
}

/// Memory and time of a statement whose operators work over batches.
struct SqlLedger {
    memory: Mutex<Memory>,
    cancel: Arc<Cancel>,
}

impl SqlLedger {
    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger<SqlError> for SqlLedger {
    fn hold(&self, bytes: usize) -> Result<()> {
        let mut memory = self.memory();
        let used = memory.used();
        if bytes <= used {
            memory.back_to(bytes);
            return Ok(());
        }
        memory.take(bytes - used)
    }

    fn check(&self) -> Result<()> {
        self.cancel.check_work()
    }
}
