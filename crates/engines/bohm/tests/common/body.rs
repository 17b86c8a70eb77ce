//! Procedures whose bodies are closures, and gates that hold the thread that executes one.

use conformance::registers::registers;
use model::{
    Access, Begin, Completed, Declared, Error, Footprint, Malformed, Mode, Procedure, Program, Result, Storage,
    TableId, Ticket,
};
use seriatim_bohm::{Bohm, Options};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

type Body = Arc<dyn Fn(&mut dyn Access) -> Result<u64> + Send + Sync>;
type Footprints = Arc<dyn Fn(&mut dyn Access) -> Result<Footprint> + Send + Sync>;

/// A procedure made of closures.
#[derive(Clone)]
pub struct Do {
    footprint: Footprints,
    body: Body,
    /// Whether it says that it guesses.
    guesses: bool,
}

impl Do {
    /// A procedure that declares a footprint.
    pub fn new(footprint: Footprint, body: impl Fn(&mut dyn Access) -> Result<u64> + Send + Sync + 'static) -> Do {
        Do { footprint: Arc::new(move |_| Ok(footprint.clone())), body: Arc::new(body), guesses: false }
    }

    /// A procedure that finds its footprint by a trial run.
    pub fn guessing(
        footprint: impl Fn(&mut dyn Access) -> Result<Footprint> + Send + Sync + 'static,
        body: impl Fn(&mut dyn Access) -> Result<u64> + Send + Sync + 'static,
    ) -> Do {
        Do { footprint: Arc::new(footprint), body: Arc::new(body), guesses: false }
    }

    /// The same, and says so before.
    pub fn late(self) -> Do {
        Do { guesses: true, ..self }
    }
}

impl Program for Do {
    type Output = u64;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<u64> {
        (self.body)(&mut access)
    }
}

impl Procedure for Do {
    const NAME: &'static str = "do";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Do, Malformed> {
        Err(Malformed)
    }
    fn guesses(&self) -> bool {
        self.guesses
    }
    fn footprint<A: Access + ?Sized>(&self, mut access: &mut A) -> Result<Footprint> {
        (self.footprint)(&mut access)
    }
}

/// Holds the thread that executes a procedure.
pub struct Gate {
    begun: Receiver<()>,
    go: SyncSender<()>,
}

impl Gate {
    /// A gate, and what its procedure calls: it returns once [`Gate::open`] is called.
    pub fn new() -> (Gate, impl Fn() + Send + Sync + 'static) {
        let ((begin, begun), (go, gone)) = (sync_channel(1), sync_channel(1));
        let gone = std::sync::Mutex::new(gone);
        let pass = move || {
            begin.send(()).expect("the test listens");
            gone.lock().expect("no panic").recv().expect("the test opens the gate");
        };
        (Gate { begun, go }, pass)
    }

    /// Waits until the procedure is there.
    pub fn wait(&self) {
        self.begun.recv().expect("the procedure is executed");
    }

    /// Lets it go on.
    pub fn open(self) {
        self.go.send(()).expect("the procedure waits");
    }
}

/// An engine with an ordered table of registers.
pub fn open(options: Options) -> (Arc<Bohm>, TableId) {
    let engine = Arc::new(Bohm::new(options));
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    (engine, table)
}

/// Submits a procedure that is not retried.
pub fn submit(engine: &Bohm, procedure: Do) -> Ticket<Do> {
    engine.submit(procedure, Begin::default(), Box::new(never))
}

/// Submits a procedure, waits for it, and returns its output.
pub fn call(engine: &Bohm, procedure: Do) -> u64 {
    output(submit(engine, procedure).wait())
}

/// The output of a procedure that commits.
pub fn output(completed: Completed<Do>) -> u64 {
    completed.expect("it commits").0
}

/// Runs a body on a snapshot.
pub fn snapshot(engine: &Bohm, procedure: Do) -> Completed<Do> {
    let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
    engine.submit(procedure, how, Box::new(never)).wait()
}

fn never(_: u32, error: &Error) -> bool {
    panic!("nothing to retry: {error}")
}

/// Writes a register without reading it.
pub fn overwrite(table: TableId, key: u64, value: u64) -> Do {
    let footprint = Footprint::default().touches(table, key, model::Touch::Overwrite);
    Do::new(footprint, move |mut access| conformance::registers::put(&mut access, table, key, value).map(|()| value))
}

/// Reads a register; zero if it is not there.
pub fn read(table: TableId, key: u64) -> Do {
    let body = move |mut access: &mut dyn Access| {
        Ok(conformance::registers::get(&mut access, table, key)?.unwrap_or_default())
    };
    Do::new(Footprint::default().reads(table, key), body)
}

/// Multiplies a register by three and adds a number, so that the order shows.
pub fn step(table: TableId, key: u64, by: u64) -> Do {
    let body = move |mut access: &mut dyn Access| {
        let before = conformance::registers::get(&mut access, table, key)?.unwrap_or_default();
        let after = before.wrapping_mul(3).wrapping_add(by);
        conformance::registers::put(&mut access, table, key, after).map(|()| after)
    };
    Do::new(Footprint::default().touches(table, key, model::Touch::Update), body)
}

/// Deletes a register.
pub fn remove(table: TableId, key: u64) -> Do {
    let body =
        move |mut access: &mut dyn Access| conformance::registers::delete(&mut access, table, key).map(u64::from);
    Do::new(Footprint::default().touches(table, key, model::Touch::Delete), body)
}
