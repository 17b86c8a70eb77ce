//! How fast a database comes back, from its log or from a checkpoint.
//!
//! ```sh
//! cargo build --release -p seriatim-hyper --example recovery && cd target/release/examples
//! ./recovery fill /tmp/db 1024 && time ./recovery open /tmp/db 1 && time ./recovery open /tmp/db 2
//! ./recovery checkpoint /tmp/db && time ./recovery open /tmp/db 2
//! ```

use env::time::Instant;
use env::{Randomness, RealDisk};
use model::{Access, Begin, ColumnType, Durability, Finish, Interactive, Key, Result, RowBuf, Schema, ValueRef};
use seriatim_hyper::{Hyper, LogOptions, Options, Pace};
use std::sync::Arc;

/// Rows of a transaction.
const ROWS: u64 = 10;
/// Bytes of a row's text.
const TEXT: usize = 80;

fn options(recovery_threads: usize) -> Options {
    let log = LogOptions { recovery_threads, ..LogOptions::default() };
    Options { durability: Durability::Async, log, ..Options::default() }
}

/// Writes so many megabytes of log: new rows, and every other time one that is there.
fn fill(engine: &Hyper, megabytes: u64) -> Result<()> {
    let schema = Schema::table("t").column("id", ColumnType::Int).column("n", ColumnType::Int);
    let schema = schema.column("text", ColumnType::Text).key(["id"]).build()?;
    let table = engine.create_table(schema)?;
    let (mut random, mut next, text) = (Randomness::from_seed(1), 0_u64, "x".repeat(TEXT));
    while engine.log_stats().is_some_and(|log| log.payload_bytes < megabytes << 20) {
        let mut open = engine.begin(Begin::default())?;
        for _ in 0..ROWS {
            let id = if random.chance(1, 2) { random.in_range(0..next + 1) } else { next } as i64;
            next = next.max(id as u64 + 1);
            let row = [ValueRef::Int(id), ValueRef::Int(next as i64), ValueRef::Text(&text)];
            let mut key = Key::new();
            key.push_i64(id);
            open.put(table, &key, RowBuf::from_values(&row).row())?;
        }
        open.commit()?;
    }
    Ok(())
}

/// Opens it by so many threads, and says how fast that is.
fn measure(directory: &str, threads: usize) -> Result<()> {
    let begun = Instant::now();
    let engine = Hyper::open(Arc::new(RealDisk::new(directory)), options(threads))?;
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(found) = engine.recovery() {
        println!("{threads} threads, {seconds:.2} s: {found}");
    }
    engine.close()
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["fill", directory, megabytes] => {
            let engine = Hyper::open(Arc::new(RealDisk::new(directory)), options(0))?;
            fill(&engine, megabytes.parse()?)?;
            engine.close()?;
        }
        ["checkpoint", directory] => {
            let engine = Hyper::open(Arc::new(RealDisk::new(directory)), options(0))?;
            println!("{:?}", engine.write_checkpoint(Pace::Full)?);
            engine.close()?;
        }
        ["open", directory, threads] => measure(directory, threads.parse()?)?,
        _ => return Err("fill DIRECTORY MEGABYTES, open DIRECTORY THREADS, or checkpoint DIRECTORY".into()),
    }
    Ok(())
}
