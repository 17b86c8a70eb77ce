//! Commits per second of 1 to N threads that append and wait, against the raw durable writes per second of the same disk in
//! the same run: `cargo run --release -p seriatim-wal --example group_commit -- [DIRECTORY] [SECONDS] [THREADS,...]
//! [MICROSECONDS] [library|server]`. Threads compute for so long before each commit, and wait as the library's do, or as
//! the server's sessions, which leave the disk to the log's thread.
//!
//! Raw and logged runs alternate; each logged run is compared with the raw run before it. Medians of five with the least
//! and the greatest are shown. The share is of `threads x raw`: 100 % means that each sync has served every thread. On a
//! machine that others use both fall together and the share says little: look at the load, which is printed. Raw writes go
//! over zeros, in the way in which the log writes.

use env::time::{Duration, Instant};
use env::{Disk, RealDisk};
use seriatim_wal::{Durability, Log, LogError, LogOptions, LogStats};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a record: a small transaction.
const PAYLOAD: usize = 100;
/// Repetitions of each measurement.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "target/group_commit".to_owned());
    let seconds: f64 = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
    let threads = arguments.next().unwrap_or_else(|| "1,8".to_owned());
    let threads: Vec<usize> = threads.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let work: u64 = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let work_of_each =
        Load { work: Duration::from_micros(work), is_server: arguments.next().as_deref() == Some("server") };
    let limit = Duration::from_secs_f64(seconds);
    println!("load before: {}", load());
    println!(
        "{:>7} {:>12} {:>11} {:>12} {:>9} {:>20} {:>10}",
        "threads", "commits/s", "raw/s", "commits/sync", "p. sync", "share (least, most)", "writes by"
    );
    for threads in threads {
        let (mut commits, mut raws, mut shares, mut last) = (Vec::new(), Vec::new(), Vec::new(), LogStats::default());
        for _ in 0..RUNS {
            let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(&directory));
            let raw = raw_syncs(&*disk, limit)?;
            let (rate, stats) = group_commits(&disk, threads, work_of_each, limit)?;
            raws.push(raw);
            commits.push(rate);
            shares.push(100.0 * rate / (raw * threads as f64));
            last = stats;
            empty(&*disk)?;
        }
        let [(commits, ..), (raw, ..), (share, least, most)] = [commits, raws, shares].map(median);
        println!(
            "{threads:>7} {commits:>12.0} {raw:>11.0} {:>12.1} {:>6.0} us {share:>6.0} % ({least:>3.0}, {most:>3.0}) {:>10}",
            last.waiters as f64 / last.syncs as f64,
            last.sync_time.as_secs_f64() / last.syncs as f64 * 1e6,
            last.durable_writes.name(),
        );
    }
    println!("load after: {}", load());
    Ok(())
}

/// The system's load averages, where it tells them.
fn load() -> String {
    let mut bytes = [0; 64];
    let file = RealDisk::read_only("/proc").open("loadavg");
    let count = file.and_then(|file| file.read_full_at(0, &mut bytes)).unwrap_or(0);
    if count == 0 { "unknown".to_owned() } else { String::from_utf8_lossy(&bytes[..count]).trim().to_owned() }
}

/// Leaves the directory as a new one.
fn empty(disk: &dyn Disk) -> Result<(), Box<dyn Error>> {
    for name in disk.list("")? {
        disk.remove(&name)?;
    }
    Ok(())
}

/// Median, least and greatest.
fn median(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[0], figures[figures.len() - 1])
}

/// One record written and synced after the other, as a log without groups would.
fn raw_syncs(disk: &dyn Disk, limit: Duration) -> Result<f64, Box<dyn Error>> {
    disk.create_dir_all("")?;
    let file = disk.create_new("raw")?;
    file.allocate_written(16 << 20)?;
    file.sync()?;
    let start = Instant::now();
    let mut count = 0u64;
    while start.elapsed() < limit {
        file.append_durable_at(count * 128 % (15 << 20), &[7; 128])?;
        count += 1;
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    disk.remove("raw")?;
    Ok(rate)
}

/// What each thread does.
#[derive(Clone, Copy)]
struct Load {
    /// Time for which it computes before each commit.
    work: Duration,
    /// It waits as the server's sessions do.
    is_server: bool,
}

fn group_commits(
    disk: &Arc<dyn Disk>,
    threads: usize,
    load: Load,
    limit: Duration,
) -> Result<(f64, LogStats), Box<dyn Error>> {
    let (log, _) = Log::open(Arc::clone(disk), LogOptions::default())?;
    let (log, stop) = (Arc::new(log), Arc::new(AtomicBool::new(false)));
    let start = Instant::now();
    let mut committers = Vec::new();
    for _ in 0..threads {
        let (log, stop) = (Arc::clone(&log), Arc::clone(&stop));
        committers.push(env::thread::spawn_named("committer", move || commit_until(&log, load, &stop))?);
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
fn commit_until(log: &Log, load: Load, stop: &AtomicBool) -> Result<u64, LogError> {
    let mut commits = 0;
    while !stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        while start.elapsed() < load.work {}
        let position = log.append(commits, &[9; PAYLOAD], Durability::Fsync)?;
        if load.is_server {
            log.wait_durable_unless(position, &|| false)?;
        } else {
            log.wait_durable(position)?;
        }
        commits += 1;
    }
    Ok(commits)
}
