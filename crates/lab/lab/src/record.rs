//! Histories: every attempt of every client, written down for the judges of `check`.
//!
//! Values name the write that they come from; how keys are shown is `check`'s business ([`KeyForm`]).

pub use check::KeyForm;
use check::{Operation, Record, Scalar, Status};
use env::{Clock, MonotonicClock};
use model::{Access, Committed, Error, Fault, Program, RowRef, TableId, history};
use std::cell::Cell;

/// Representation of one table in a history.
#[derive(Clone, Debug)]
pub struct Form {
    /// Representation of keys.
    pub keys: KeyForm,
    /// Value of a row in the history. Two are equal exactly if the same write made them.
    pub value: fn(RowRef<'_>) -> Scalar,
}

/// Representation of all tables of a run in a history.
#[derive(Clone, Debug)]
pub struct Forms(Vec<(TableId, Form)>);

impl Forms {
    /// `forms` are those of `tables`.
    pub fn new(tables: &[TableId], forms: Vec<Form>) -> Forms {
        Forms(tables.iter().copied().zip(forms).collect())
    }

    fn of(&self, table: TableId) -> &Form {
        let form = self.0.iter().find(|(id, _)| *id == table);
        &form.expect("operations are on tables of the workload").1
    }

    /// The operation as the judges read it; `None` for a range that cannot hold a key.
    fn translate(&self, operation: history::Operation) -> Option<Operation> {
        let form = self.of(operation.table());
        form.keys.translate(operation, form.value)
    }
}

/// Log of one client. Times are nanoseconds of the clock that the logs of a run share.
#[derive(Debug)]
pub struct Log<'a> {
    client: u32,
    clock: MonotonicClock,
    forms: &'a Forms,
    records: Vec<Record>,
    committed_operations: u64,
}

const COUNTER_BITS: u32 = 40;

impl<'a> Log<'a> {
    /// Nothing yet.
    pub fn new(client: u32, clock: MonotonicClock, forms: &'a Forms) -> Log<'a> {
        Log { client, clock, forms, records: Vec::new(), committed_operations: 0 }
    }

    /// Operations of committed transactions so far.
    pub fn committed_operations(&self) -> u64 {
        self.committed_operations
    }

    /// Returns the records.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// Runs one transaction through `execute`, which is handed its program under observation and calls the
    /// given function just before each further attempt. `execute` returns when the outcome is known to the client. One that
    /// `reads_the_past` may stand before everything: it is written down as if it had begun with the run.
    pub fn observe<P: Program<Error = Error>, T>(
        &mut self,
        program: &mut P,
        reads_the_past: bool,
        execute: impl FnOnce(&mut Observed<'_, 'a, P>, &dyn Fn()) -> Result<(T, Committed), Error>,
    ) -> Result<(T, Committed), Error> {
        let clock = self.clock;
        let attempt_start = Cell::new(clock.now());
        let first = self.records.len();
        let mut observed = Observed { program, log: self, attempt_start: &attempt_start };
        let outcome = execute(&mut observed, &|| attempt_start.set(clock.now()));
        self.settle(first, &outcome);
        if reads_the_past {
            self.records[first..].iter_mut().for_each(|record| record.start_ns = 0);
        }
        outcome
    }

    /// All attempts from `first` on have failed, but for the last, which ended as `outcome` says.
    fn settle<T>(&mut self, first: usize, outcome: &Result<(T, Committed), Error>) {
        let end_ns = self.clock.now();
        let Some(last) = self.records[first..].last_mut() else { return };
        last.end_ns = end_ns;
        match outcome {
            Ok((_, committed)) => {
                last.status = Status::Committed;
                last.serial_point = committed.serial_point.map(|point| point.0);
                self.committed_operations += last.operations.len() as u64;
            }
            Err(Error::Fault(Fault::OutcomeUnknown { .. })) => last.status = Status::Unknown,
            Err(_) => {}
        }
    }

    /// Adds an attempt, as failed: [`Log::settle`] knows better of the last.
    fn add(&mut self, start_ns: u64, operations: Vec<history::Operation>) {
        let operations = operations.into_iter().filter_map(|operation| self.forms.translate(operation)).collect();
        self.records.push(Record {
            id: u64::from(self.client) << COUNTER_BITS | self.records.len() as u64,
            process: self.client.into(),
            start_ns,
            end_ns: self.clock.now(),
            status: Status::Aborted,
            serial_point: None,
            operations,
        });
    }
}

/// A program whose every attempt is written down.
#[derive(Debug)]
pub struct Observed<'o, 'a, P> {
    program: &'o mut P,
    log: &'o mut Log<'a>,
    attempt_start: &'o Cell<u64>,
}

impl<P: Program<Error = Error>> Program for Observed<'_, '_, P> {
    type Output = P::Output;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<P::Output, Error> {
        let mut recorder = history::Recorder::new(access);
        let output = self.program.run(&mut recorder);
        let (_, operations) = recorder.into_parts();
        self.log.add(self.attempt_start.get(), operations);
        output
    }
}
