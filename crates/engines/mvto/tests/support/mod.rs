//! Common parts of the tests: an engine on a clock that they move, tables of registers, and short ways to read and write.
#![allow(dead_code, unused_imports, reason = "each test takes what it needs")]

pub mod subject;

pub use conformance::registers::{all, delete, get, insert, integer, put, range, registers, rule};
pub use conformance::statements;

use env::{Clock, SimClock};
use model::{Begin, Columns, Error, Finish, Interactive, Key, Mode, RowBuf, Storage, TableId};
use seriatim_mvto::{Mvto, Options, OwnFirst, RetryPolicy, Transaction};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// An engine in memory, on a clock that advances by one tick with each reading.
pub type Engine = Arc<Mvto<SimClock>>;
/// One of its transactions.
pub type Open = Transaction<Engine>;

/// No transaction waits: instead of a wait comes an abort, so that one thread can run many transactions.
pub fn impatient() -> Options {
    Options { wait_limit: Duration::ZERO, sites: 1, ..Options::default() }
}

/// Returns the options for the battery's knobs.
pub fn options_for(knobs: &conformance::Knobs) -> Options {
    let default = if knobs.wait_limit == Some(Duration::ZERO) { impatient() } else { Options::default() };
    let small =
        if knobs.has_small_parts { Options { sites: 2, versions: 4, ..default.clone() } } else { default.clone() };
    let bytes = |asked: Option<u64>, otherwise: usize| asked.map_or(otherwise, |asked| asked as usize);
    Options {
        wait_limit: knobs.wait_limit.unwrap_or(default.wait_limit),
        key_bytes: bytes(knobs.key_bytes, default.key_bytes),
        row_bytes: bytes(knobs.row_bytes, default.row_bytes),
        write_set_rows: bytes(knobs.write_set_rows, default.write_set_rows),
        write_set_bytes: bytes(knobs.write_set_bytes, default.write_set_bytes),
        read_set: bytes(knobs.read_set, default.read_set),
        transactions: bytes(knobs.transactions, default.transactions),
        tables: bytes(knobs.tables, default.tables),
        memory_bytes: knobs.memory_bytes.map(|bytes| bytes as usize),
        own_first: OwnFirst::Always,
        ..small
    }
}

/// An engine whose timestamps are the readings of the returned clock.
pub fn engine_and_clock(options: Options) -> (Engine, SimClock) {
    let clock = SimClock::new(0, 1);
    (Arc::new(Mvto::in_memory_with(options, clock.clone()).expect("nothing can fail in memory")), clock)
}

/// A clock that runs something in the middle of a draw: after the reading that the timestamp follows from, and before the
/// timestamp is returned.
#[derive(Clone)]
pub struct HookedClock {
    clock: SimClock,
    hook: Arc<Mutex<Option<(u32, Hook)>>>,
}

type Hook = Box<dyn FnOnce() + Send>;

impl HookedClock {
    pub fn new() -> HookedClock {
        HookedClock { clock: SimClock::new(0, 1), hook: Arc::default() }
    }

    /// Runs `hook` in the middle of the next draw, long before whatever is drawn in it.
    pub fn in_the_next_draw(&self, hook: impl FnOnce() + Send + 'static) {
        let clock = self.clock.clone();
        let hook = move || {
            clock.advance(1_000_000);
            hook();
        };
        *self.hook.lock().expect("no panic") = Some((1, Box::new(hook)));
    }
}

impl Clock for HookedClock {
    fn now(&self) -> u64 {
        let due = {
            let mut hook = self.hook.lock().expect("no panic");
            match hook.take() {
                Some((0, due)) => Some(due),
                other => {
                    *hook = other.map(|(readings, due)| (readings - 1, due));
                    None
                }
            }
        };
        if let Some(due) = due {
            due();
        }
        self.clock.now()
    }

    fn ticks_per_second(&self) -> u64 {
        self.clock.ticks_per_second()
    }
}

/// Rows of eight-byte keys on a clock with a hook. So many sites that no two threads of the process share one.
pub fn with_hooked_clock(options: Options, rows: &[(u64, u64)]) -> (Arc<Mvto<HookedClock>>, HookedClock, TableId) {
    let clock = HookedClock::new();
    let options = Options { sites: 1024, ..options };
    let engine = Arc::new(Mvto::in_memory_with(options, clock.clone()).expect("nothing can fail in memory"));
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let load = engine.run(Begin::default(), RetryPolicy::default(), |open| {
        rows.iter().try_for_each(|&(key, value)| put(open, table, key, value))
    });
    load.map_err(|error: Error| error.to_string()).expect("alone");
    (engine, clock, table)
}

/// Returns the result of `read` in another thread while an older transaction is in the middle of a commit that changes register
/// 1 from 1 to 2: it has drawn its place, and the reader begins above that.
pub fn read_during_a_commit<T: Send + 'static>(
    options: Options,
    read: impl FnOnce(&Arc<Mvto<HookedClock>>, TableId) -> T + Send + 'static,
) -> T {
    let (engine, clock, table) = with_hooked_clock(options, &[(1, 1)]);
    let mut owner = engine.begin(Begin { mode: Mode::OwnAtStatement, ..Begin::default() }).expect("it only notes down");
    put(&mut owner, table, 1, 2).expect("nobody in the way");
    // Pushed, so that it draws when it commits.
    let mut reader = engine.begin(Begin::default()).expect("it only notes down");
    assert_eq!(get(&mut reader, table, 1).expect("an owner that executes is no obstacle"), Some(1));
    reader.commit().expect("nobody in the way");
    let (send, receive) = mpsc::channel();
    let reader = {
        let engine = engine.clone();
        move || send.send(read(&engine, table)).expect("somebody listens")
    };
    let (began, has_begun) = mpsc::channel();
    let impatient = options_are_impatient(&engine);
    clock.in_the_next_draw(move || {
        let reader = thread::spawn(move || {
            began.send(()).expect("somebody listens");
            reader();
        });
        has_begun.recv().expect("it has begun");
        if impatient {
            reader.join().expect("no panic"); // It waits for nobody, so it is done before the commit is.
        }
    });
    owner.commit().expect("nothing that it has read has changed");
    receive.recv().expect("the reader is done")
}

fn options_are_impatient<C: Clock>(engine: &Mvto<C>) -> bool {
    engine.options().wait_limit == Duration::ZERO
}

/// An engine with one ordered table of registers that hold these values.
pub fn with_registers(options: Options, rows: &[(u64, u64)]) -> (Engine, SimClock, TableId) {
    let (engine, clock) = engine_and_clock(options);
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    let mut load = begin(&engine);
    for &(key, value) in rows {
        put(&mut load, table, key, value).expect("alone");
    }
    load.commit().expect("alone");
    (engine, clock, table)
}

/// Begins a transaction, and draws its timestamp now instead of at its first statement.
pub fn begin(engine: &Engine) -> Open {
    begin_as(engine, Mode::ReadWrite)
}

/// Same as [`begin`], in another mode.
pub fn begin_as(engine: &Engine, mode: Mode) -> Open {
    let mut transaction = engine.begin_owned(Begin { mode, ..Begin::default() }).expect("begin itself only notes down");
    transaction.savepoint().expect("the clock is healthy and nobody is in the way");
    transaction
}

/// Its begin timestamp.
pub fn at(transaction: &Open) -> u64 {
    transaction.timestamp().expect("it has touched data").0
}

/// The present in engine time: timestamps are the clock's readings.
pub fn reading(clock: &SimClock) -> u64 {
    clock.now()
}

/// Writes one register in a transaction of its own; its timestamp.
pub fn set(engine: &Engine, table: TableId, key: u64, value: u64) -> u64 {
    let mut transaction = begin(engine);
    put(&mut transaction, table, key, value).expect("nobody in the way");
    transaction.commit().expect("nobody in the way").claimed().0
}

/// Begins a transaction that is not in its site's lane, which is free afterwards.
pub fn begin_beside_the_lane(engine: &Engine) -> Open {
    let in_lane = begin(engine);
    let beside = begin(engine);
    in_lane.abort();
    beside
}

/// Reads one register without a transaction. The lane is free.
pub fn single_read(engine: &Engine, table: TableId, key: u64) -> Option<u64> {
    let mut row = RowBuf::new();
    let got = engine.get(table, &Key::from_u64(key), Columns::All, &mut row).expect("nobody in the way");
    got.found.then(|| integer(row.bytes()))
}

/// Reads one register in a transaction of its own.
pub fn now(engine: &Engine, table: TableId, key: u64) -> Option<u64> {
    get(&mut begin_as(engine, Mode::ReadOnly), table, key).expect("nobody in the way")
}
