//! Commits per second of 1 to N threads that append and wait, against the raw fdatasyncs per second of the same disk in the same
//! run: `cargo run --release -p seriatim-wal --example group_commit -- [DIRECTORY] [SECONDS] [THREADS,...]`.
//!
//! Raw and logged runs alternate; medians of three are shown. The last column is the share of `threads x raw` that group commit
//! reaches: 100 % means that each fdatasync has served every thread.

use env::time::{Duration, Instant};
use env::{Disk, RealDisk};
use seriatim_wal::{Durability, Log, LogError, LogOptions, LogStats};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a record: a small transaction.
const PAYLOAD: usize = 100;
/// Repetitions of each measurement.
const RUNS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "target/group_commit".to_owned());
    let seconds: f64 = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
    let threads = arguments.next().unwrap_or_else(|| "1,2,4,8,16,32".to_owned());
    let threads: Vec<usize> = threads.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let limit = Duration::from_secs_f64(seconds);
    println!(
        "{:>7} {:>12} {:>11} {:>12} {:>9} {:>8}",
        "threads", "commits/s", "raw sync/s", "commits/sync", "p. sync", "share"
    );
    for threads in threads {
        let (mut commits, mut raws, mut last) = (Vec::new(), Vec::new(), LogStats::default());
        for _ in 0..RUNS {
            let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(&directory));
            raws.push(raw_syncs(&*disk, limit)?);
            let (rate, stats) = group_commits(&disk, threads, limit)?;
            commits.push(rate);
            last = stats;
            empty(&*disk)?;
        }
        let (commits, raw) = (median(commits), median(raws));
        println!(
            "{threads:>7} {commits:>12.0} {raw:>11.0} {:>12.1} {:>6.0} us {:>6.0} %",
            last.waiters as f64 / last.syncs as f64,
            last.sync_time.as_secs_f64() / last.syncs as f64 * 1e6,
            100.0 * commits / (raw * threads as f64),
        );
    }
    Ok(())
}

/// Leaves the directory as a new one.
fn empty(disk: &dyn Disk) -> Result<(), Box<dyn Error>> {
    for name in disk.list("")? {
        disk.remove(&name)?;
    }
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// One record written and synced after the other, as a log without groups would.
fn raw_syncs(disk: &dyn Disk, limit: Duration) -> Result<f64, Box<dyn Error>> {
    disk.create_dir_all("")?;
    let file = disk.create_new("raw")?;
    file.allocate(64 << 20)?;
    file.sync()?;
    let start = Instant::now();
    let mut count = 0u64;
    while start.elapsed() < limit {
        file.write_at(count * 128 % (63 << 20), &[7; 128])?;
        file.sync()?;
        count += 1;
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    disk.remove("raw")?;
    Ok(rate)
}

fn group_commits(disk: &Arc<dyn Disk>, threads: usize, limit: Duration) -> Result<(f64, LogStats), Box<dyn Error>> {
    let (log, _) = Log::open(Arc::clone(disk), LogOptions::default())?;
    let (log, stop) = (Arc::new(log), Arc::new(AtomicBool::new(false)));
    let start = Instant::now();
    let mut committers = Vec::new();
    for _ in 0..threads {
        let (log, stop) = (Arc::clone(&log), Arc::clone(&stop));
        committers.push(env::thread::spawn_named("committer", move || commit_until(&log, &stop))?);
    }
    env::thread::sleep(limit);
    stop.store(true, Ordering::Relaxed);
    let mut commits = 0;
    for committer in committers {
        commits += committer.join().map_err(|_| "a committer has panicked")??;
    }
    let rate = commits as f64 / start.elapsed().as_secs_f64();
    let stats = log.stats();
    log.close()?;
    Ok((rate, stats))
}

/// Work of one thread. Returns its number of commits.
fn commit_until(log: &Log, stop: &AtomicBool) -> Result<u64, LogError> {
    let mut commits = 0;
    while !stop.load(Ordering::Relaxed) {
        let position = log.append(commits, &[9; PAYLOAD], Durability::Fsync)?;
        log.wait_durable(position)?;
        commits += 1;
    }
    Ok(commits)
}
