//! Histories: every attempt of every client, written down for the judges of `check`.
//!
//! Values name the write that they come from; how keys are shown is `check`'s business ([`KeyForm`]).

pub use check::KeyForm;
use check::{Operation, Record, Scalar, Status};
use env::{Clock, MonotonicClock};
use model::{Access, Committed, Error, Fault, Footprint, Malformed, Procedure, Program, RowRef, TableId, history};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

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

    /// Writes down a submitted procedure, whose engine has kept its attempts: `run` submits it and returns when its outcome is known;
    /// `None` if it could not be submitted.
    pub fn observe_submission<T>(
        &mut self,
        attempts: &Attempts,
        reads_the_past: bool,
        run: impl FnOnce() -> Option<Result<(T, Committed), Error>>,
    ) -> Option<Result<(T, Committed), Error>> {
        let start = self.clock.now();
        let outcome = run()?;
        self.note_submission(start, attempts, reads_the_past, &outcome);
        Some(outcome)
    }

    /// Same as [`Log::observe_submission`] for procedures that are submitted together, each with whether it reads the past.
    pub fn observe_batch<T>(
        &mut self,
        submitted: &[(Attempts, bool)],
        run: impl FnOnce() -> Option<Vec<Result<(T, Committed), Error>>>,
    ) -> Option<Vec<Result<(T, Committed), Error>>> {
        let start = self.clock.now();
        let outcomes = run()?;
        for ((attempts, reads_the_past), outcome) in submitted.iter().zip(&outcomes) {
            self.note_submission(start, attempts, *reads_the_past, outcome);
        }
        Some(outcomes)
    }

    /// Writes down the attempts of a procedure that was submitted at `start`.
    fn note_submission<T>(
        &mut self,
        mut start: u64,
        attempts: &Attempts,
        reads_the_past: bool,
        outcome: &Result<(T, Committed), Error>,
    ) {
        let first = self.records.len();
        for (operations, end_ns) in attempts.take() {
            self.add(if reads_the_past { 0 } else { start }, end_ns, operations);
            // An attempt begins after the one before has run, at the earliest.
            start = end_ns;
        }
        self.settle(first, outcome);
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
    fn add(&mut self, start_ns: u64, end_ns: u64, operations: Vec<history::Operation>) {
        let operations = operations.into_iter().filter_map(|operation| self.forms.translate(operation)).collect();
        self.records.push(Record {
            id: u64::from(self.client) << COUNTER_BITS | self.records.len() as u64,
            process: self.client.into(),
            start_ns,
            end_ns,
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
        self.log.add(self.attempt_start.get(), self.log.clock.now(), operations);
        output
    }
}

/// Attempts of a submitted procedure: operations, and when the body had run.
#[derive(Clone, Debug)]
pub struct Attempts {
    clock: MonotonicClock,
    made: Arc<Mutex<Vec<Attempt>>>,
}

type Attempt = (Vec<history::Operation>, u64);

impl Attempts {
    /// None yet, timed by this clock.
    pub fn new(clock: MonotonicClock) -> Attempts {
        Attempts { clock, made: Arc::default() }
    }

    fn add(&self, operations: Vec<history::Operation>) {
        let end_ns = self.clock.now();
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push((operations, end_ns));
    }

    fn take(&self) -> Vec<Attempt> {
        std::mem::take(&mut self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A procedure whose every attempt is written down, wherever the engine runs it.
#[derive(Clone, Debug)]
pub struct Recorded<P> {
    procedure: P,
    attempts: Attempts,
}

impl<P> Recorded<P> {
    /// Writes down the attempts of `procedure`.
    pub fn new(procedure: P, attempts: Attempts) -> Recorded<P> {
        Recorded { procedure, attempts }
    }
}

impl<P: Procedure> Program for Recorded<P> {
    type Output = P::Output;
    type Error = P::Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<P::Output, P::Error> {
        let mut recorder = history::Recorder::new(access);
        let output = self.procedure.run(&mut recorder);
        self.attempts.add(recorder.into_parts().1);
        output
    }
}

/// Its name and arguments are those of the procedure inside.
impl<P: Procedure> Procedure for Recorded<P> {
    const NAME: &'static str = P::NAME;

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        self.procedure.encode_arguments(out);
    }

    /// What is read from a log is recorded for nobody.
    fn decode_arguments(arguments: &[u8]) -> Result<Recorded<P>, Malformed> {
        let attempts = Attempts::new(MonotonicClock::new());
        P::decode_arguments(arguments).map(|procedure| Recorded::new(procedure, attempts))
    }

    fn guesses(&self) -> bool {
        self.procedure.guesses()
    }

    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint, Error> {
        self.procedure.footprint(access)
    }
}
