//! How fast procedures of ten read-modify-writes go through that are prepared beforehand, as the authors of the paper
//! measure it: figure 5, theta 0, without the lab around it.
//!
//! `cargo run --profile lines -p seriatim-bohm --example rmw -- [planners] [executors] [records] [procedures] [batch]`

use env::time::Instant;
use model::{
    Access, BatchEntry, Begin, Columns, Declared, Error, Footprint, FootprintEntry, Key, Malformed, Procedure, Program,
    Result, RowBuf, RowRef, Schema, Storage, TableId, Ticket, Touch,
};
use seriatim_bohm::{Bohm, Options};

const KEYS: usize = 10;
const ROW_BYTES: usize = 96;
const SUBMITTED_TOGETHER: usize = 1000;

/// The server's, so that what is freed by other threads costs what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Rmw {
    table: TableId,
    keys: [u64; KEYS],
}

impl Program for Rmw {
    type Output = u64;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<u64> {
        let (mut row, mut sum) = (RowBuf::new(), 0);
        for key in self.keys {
            let key = Key::from_u64(key);
            access.read(self.table, &key, Columns::All, &mut row)?;
            row.bytes_mut().resize(ROW_BYTES, 0);
            let counter = &mut row.bytes_mut()[0];
            *counter = counter.wrapping_add(1);
            sum += u64::from(*counter);
            access.put(self.table, &key, RowRef::new(row.bytes()))?;
        }
        Ok(sum)
    }
}

impl Procedure for Rmw {
    const NAME: &'static str = "rmw";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Rmw, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let entry = |&key: &u64| FootprintEntry { table: self.table, key: Key::from_u64(key), touch: Touch::Update };
        Ok(self.keys.iter().map(entry).collect())
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|it| it.parse::<usize>().expect("a number"));
    let mut next = |default: usize| arguments.next().unwrap_or(default);
    let (planners, executors, records, procedures) = (next(1), next(1), next(1_000_000) as u64, next(1_000_000));
    let batch = next(Options::default().batch);
    let engine = Bohm::new(Options { planners, executors, batch, queue: usize::MAX, ..Options::default() });
    let schema = Schema::bytes("rows").u64_key().storage(Storage::Hash).build().expect("a good schema");
    let table = engine.create_table(schema).expect("a new table");
    let mut seed = 1_u64;
    let mut draw = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(seed) * u128::from(records)) >> 64) as u64
    };
    let submit = |batch: Vec<[u64; KEYS]>| -> Vec<Ticket<Rmw>> {
        let entry = |keys| BatchEntry {
            procedure: Rmw { table, keys },
            how: Begin::default(),
            retry: Box::new(|_: u32, _: &Error| false) as Box<dyn model::Retry + Send>,
        };
        engine.submit_batch(batch.into_iter().map(entry).collect())
    };
    for first in (0..records).step_by(KEYS * SUBMITTED_TOGETHER) {
        let batch =
            (0..SUBMITTED_TOGETHER).map(|n| std::array::from_fn(|at| (first + (n * KEYS + at) as u64) % records));
        submit(batch.collect()).into_iter().for_each(|ticket| _ = ticket.wait().expect("it commits"));
    }
    engine.hold();
    let tickets: Vec<_> = (0..procedures.div_ceil(SUBMITTED_TOGETHER))
        .flat_map(|_| submit((0..SUBMITTED_TOGETHER).map(|_| std::array::from_fn(|_| draw())).collect()))
        .collect();
    let started = Instant::now();
    engine.release();
    engine.settle();
    let seconds = started.elapsed().as_secs_f64();
    tickets.into_iter().for_each(|ticket| _ = ticket.wait().expect("it commits"));
    println!("{planners}+{executors}: {:.0} procedures a second; {:?}", procedures as f64 / seconds, engine.stats());
}
