//! Many threads and the log's own: groups, callbacks, back-pressure, and wake-ups.

mod common;

use common::{Content, WAYS, new_disk, new_disk_that, open, open_with, payload, shared, small};
use env::disk::Fault;
use env::time::Duration;
use env::{Disk, Operation, RealDisk, SimDisk, WatchedDisk};
use seriatim_wal::{Driver, Durability, LOG_THREAD, Log, LogError, LogOptions, LogPosition, verify};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};

fn threaded() -> LogOptions {
    LogOptions { driver: Driver::Threads, ..small() }
}

/// A gate in front of every fdatasync of a kind of file: closed, syncs wait there.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    closed: bool,
    waiting: u64,
    passed: u64,
}

impl Gate {
    fn set(&self, closed: bool) {
        self.state.lock().unwrap().closed = closed;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |state| state.closed).unwrap();
        state.waiting -= 1;
        state.passed += 1;
    }

    /// Waits until somebody stands at the closed gate.
    fn await_arrival(&self) {
        drop(self.changed.wait_while(self.state.lock().unwrap(), |state| state.waiting == 0).unwrap());
    }

    fn passed(&self) -> u64 {
        self.state.lock().unwrap().passed
    }
}

fn gated(options: LogOptions) -> (Log, SimDisk, Arc<Gate>) {
    gated_files("wal-", options)
}

/// A log on a simulated disk, with a gate before each fdatasync of files whose names begin so.
fn gated_files(prefix: &'static str, options: LogOptions) -> (Log, SimDisk, Arc<Gate>) {
    let disk = new_disk(1);
    let gate = Arc::<Gate>::default();
    let gated = WatchedDisk::new(disk.clone(), {
        let gate = Arc::clone(&gate);
        move |operation, path| {
            if operation == Operation::Sync && path.starts_with(prefix) {
                gate.pass();
            }
        }
    });
    let (log, _) = Log::open(Arc::new(gated), options).unwrap();
    (log, disk, gate)
}

/// The ceiling is raised ahead of need by the log's own thread; nobody waits for it who need not, and it is raised once.
#[test]
fn a_ceiling_is_raised_ahead_once_and_without_a_wait() {
    let (log, _, gate) = gated_files("CONTROL", threaded());
    log.raise_ceiling(10).unwrap();
    gate.set(true);
    let before = gate.passed();
    for _ in 0..100 {
        log.raise_ceiling_ahead(20);
    }
    gate.await_arrival();
    assert_eq!(log.ceiling(), 10, "not before it is durable");
    log.append(5, b"meanwhile", Durability::Fsync).unwrap();
    log.flush().unwrap();
    std::thread::scope(|scope| {
        // Whoever has passed it waits for the one raise, and raises it no further.
        let late: Vec<_> = (0..4)
            .map(|ahead| {
                scope.spawn({
                    let log = &log;
                    move || log.cover(10, 30 + ahead, &|| None)
                })
            })
            .collect();
        gate.set(false);
        late.into_iter().for_each(|late| late.join().unwrap().unwrap());
    });
    assert_eq!((log.ceiling(), gate.passed() - before), (20, 2), "one raise: two slots");
    log.cover(19, 40, &|| None).unwrap();
    assert_eq!((log.ceiling(), gate.passed() - before), (20, 2));
    log.cover(20, 40, &|| None).unwrap();
    assert_eq!((log.ceiling(), gate.passed() - before), (40, 4));
}

/// What a sync is about to cover does not count as durable while it runs.
#[test]
fn nothing_counts_as_durable_before_its_sync_has_returned() {
    let (log, _, gate) = gated(threaded());
    gate.set(true);
    let position = log.append(1, b"x", Durability::Fsync).unwrap();
    let durable = std::thread::scope(|scope| {
        scope.spawn(|| log.wait_durable(position).unwrap());
        gate.await_arrival();
        let durable = log.durable();
        gate.set(false);
        durable
    });
    assert!(durable < position, "no sync has returned");
}

/// While one sync runs the next group gathers, and one more sync serves all of it.
#[test]
fn one_sync_serves_all_who_came_during_the_last() {
    let options = LogOptions { segment_bytes: 1 << 16, buffer_bytes: 1 << 16, ..threaded() };
    let (log, disk, gate) = gated(options);
    gate.set(true);
    let first = log.append(0, &payload(0, 8), Durability::Fsync).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| log.wait_durable(first).unwrap());
        gate.await_arrival();
        let before = gate.passed();
        let (sender, receiver) = mpsc::channel();
        let positions: Vec<LogPosition> =
            (1..=40).map(|number| log.append(number, &payload(number, 8), Durability::Fsync).unwrap()).collect();
        for position in positions.iter().rev() {
            let (sender, position) = (sender.clone(), *position);
            log.on_durable(position, Box::new(move |result| sender.send((position, result)).unwrap()));
        }
        assert!(log.durable() < first && receiver.try_recv().is_err(), "nothing is acknowledged before its sync");
        gate.set(false);
        let called: Vec<_> =
            receiver.iter().take(40).map(|(position, result)| result.map(|()| position).unwrap()).collect();
        assert_eq!(called, positions, "callbacks come in log order");
        assert_eq!(gate.passed() - before, 2, "one sync for the first, one for the forty");
    });
    assert_eq!(log.durable(), log.appended());
    let stats = log.stats();
    assert_eq!((stats.records, stats.largest_group), (41, 40));
    drop(log);
    assert_eq!(open(&disk).unwrap().1.records.len(), 41);
}

/// A waiter that nobody can end writes for itself where nobody else does; who can be ended, or is called back, leaves the
/// disk to the log's thread.
#[test]
fn a_lone_waiter_writes_itself_unless_it_can_be_ended() {
    let writers: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let watched = WatchedDisk::new(new_disk(1), {
        let writers = Arc::clone(&writers);
        move |operation, path| {
            if operation == Operation::Sync && path.ends_with(".log") {
                writers.lock().unwrap().push(std::thread::current().name().map(str::to_owned));
            }
        }
    });
    let options = LogOptions { segment_bytes: 1 << 16, ..threaded() };
    let (log, _) = Log::open(Arc::new(watched), options).unwrap();
    let append = || log.append(1, b"x", Durability::Fsync).unwrap();
    let writer = || writers.lock().unwrap().pop().unwrap();

    assert!(log.wait_durable_unless(append(), &|| false).unwrap());
    assert_eq!(writer().as_deref(), Some(LOG_THREAD));

    let (sender, receiver) = mpsc::channel();
    log.on_durable(append(), Box::new(move |result| sender.send(result).unwrap()));
    receiver.recv().unwrap().unwrap();
    assert_eq!(writer().as_deref(), Some(LOG_THREAD));

    // The thread may not be back at rest yet; once it is, nobody else writes.
    let is_own = |_: &_| {
        log.wait_durable(append()).unwrap();
        writer().as_deref() == std::thread::current().name()
    };
    assert!((0..1_000_000).any(|attempt| is_own(&attempt)));
}

/// Callbacks that the sync of a waiter serves are called by the log's thread all the same.
#[test]
fn callbacks_stay_on_the_thread_when_a_waiter_writes() {
    let options = LogOptions { segment_bytes: 1 << 16, buffer_bytes: 1 << 16, ..threaded() };
    let (log, _, gate) = gated(options);
    gate.set(true);
    let first = log.append(1, b"x", Durability::Fsync).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| log.wait_durable(first).unwrap());
        gate.await_arrival();
        let later = log.append(2, b"y", Durability::Fsync).unwrap();
        for position in [first, later] {
            let sender = sender.clone();
            let call = move |result| sender.send((std::thread::current().name().map(str::to_owned), result)).unwrap();
            log.on_durable(position, Box::new(call));
        }
        gate.set(false);
        for (thread, result) in receiver.iter().take(2) {
            result.unwrap();
            assert_eq!(thread.as_deref(), Some(LOG_THREAD));
        }
    });
}

/// Whoever was served before the log ended is told so, called late or not.
#[test]
fn what_was_durable_when_the_log_stopped_is_reported_durable() {
    let (log, disk, gate) = gated(threaded());
    gate.set(true);
    let (first, second) = (log.append(1, b"x", Durability::Fsync).unwrap(), mpsc::channel());
    std::thread::scope(|scope| {
        scope.spawn(|| log.wait_durable(first).unwrap());
        gate.await_arrival();
        let (sender, later) = (second.0.clone(), log.append(2, b"y", Durability::Fsync).unwrap());
        log.on_durable(first, Box::new(move |result| sender.send(result.is_ok()).unwrap()));
        let sender = second.0.clone();
        log.on_durable(later, Box::new(move |result| sender.send(result.is_ok()).unwrap()));
        disk.inject(Fault { operation: Operation::Sync, after: 1, kind: std::io::ErrorKind::Other });
        gate.set(false);
    });
    assert_eq!(second.1.iter().take(2).collect::<Vec<_>>(), [true, false]);
}

/// A waiter that arrives during a sync that covers its position is woken by that sync, although no other follows.
#[test]
fn who_comes_during_the_sync_that_covers_it_needs_no_other() {
    for _ in 0..20 {
        let (log, _, gate) = gated(threaded());
        gate.set(true);
        let position = log.append(1, b"x", Durability::Fsync).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| log.wait_durable(position).unwrap());
            gate.await_arrival();
            let before = gate.passed();
            let late: Vec<_> = (0..3).map(|_| scope.spawn(|| log.wait_durable(position).unwrap())).collect();
            // Mostly long enough for them to wait; if not, they find it durable, which is right as well.
            (0..100).for_each(|_| std::thread::yield_now());
            gate.set(false);
            late.into_iter().for_each(|waiter| waiter.join().unwrap());
            assert_eq!(gate.passed() - before, 1);
        });
    }
}

/// The buffer is bounded: who finds it full waits, and not for ever.
#[test]
fn appends_wait_for_a_slow_disk_and_give_up_in_time() {
    let options = LogOptions { segment_bytes: 1 << 16, append_timeout: Duration::from_millis(5), ..threaded() };
    let (log, disk, gate) = gated(options);
    gate.set(true);
    let first = log.append(0, &payload(0, 8), Durability::Fsync).unwrap();
    let mut appended = 1;
    std::thread::scope(|scope| {
        scope.spawn(|| log.wait_durable(first).unwrap());
        gate.await_arrival();
        let refused = loop {
            match log.append(appended, &payload(appended, 100), Durability::None) {
                Ok(_) => appended += 1,
                Err(error) => break error,
            }
            assert!(log.stats().pending_bytes <= 1024);
        };
        match refused {
            LogError::Stalled { waited } => assert!(waited >= Duration::from_millis(5)),
            error => panic!("{error}"),
        }
        gate.set(false);
    });
    assert!(log.stats().append_waits > 0);
    // The disk need not be back within an append's few milliseconds; a wait for what was appended has no such limit.
    log.flush().unwrap();
    log.append(appended, &payload(appended, 100), Durability::None).unwrap();
    log.close().unwrap();
    assert_eq!(open(&disk).unwrap().1.records.len() as u64, appended + 1);
}

/// A record that does not fit beside what waits makes the writer empty a buffer that is less than half full.
#[test]
fn a_large_record_does_not_wait_for_a_reason_to_write() {
    let (log, _) = open_with(&new_disk(1), threaded()).unwrap();
    for number in 0..20 {
        log.append(number, &payload(number, 400), Durability::None).unwrap();
        log.append(number, &payload(number, 700), Durability::None).unwrap();
    }
    assert!(log.stats().append_waits > 0);
}

/// Asynchronous records become durable although no thread waits for them.
#[test]
fn asynchronous_records_become_durable_by_themselves() {
    let options = LogOptions { flush_interval: Duration::from_millis(1), ..threaded() };
    let (log, disk, gate) = gated(options);
    for number in 0..3 {
        let before = gate.passed();
        let position = log.append(number, &payload(number, 8), Durability::Async).unwrap();
        while log.durable() < position {
            std::thread::yield_now();
        }
        assert!(gate.passed() > before);
    }
    drop(log);
    assert_eq!(open(&disk.power_cut()).unwrap().1.records.len(), 3);
}

#[test]
fn the_last_handle_may_go_on_the_log_thread() {
    let (log, disk, gate) = gated(threaded());
    gate.set(true);
    let log = Arc::new(log);
    let position = log.append(1, b"x", Durability::Fsync).unwrap();
    let (sender, receiver) = mpsc::channel();
    let handle = Arc::clone(&log);
    log.on_durable(
        position,
        Box::new(move |result| {
            drop(handle);
            sender.send(result).unwrap();
        }),
    );
    gate.await_arrival();
    drop(log);
    gate.set(false);
    receiver.recv().unwrap().unwrap();
    assert_eq!(open(&disk.power_cut()).unwrap().1.records.len(), 1);
}

#[test]
fn a_closing_log_serves_those_who_wait_already() {
    let (log, _, gate) = gated(threaded());
    gate.set(true);
    let position = log.append(1, b"x", Durability::Fsync).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| log.wait_durable(position).unwrap());
        gate.await_arrival();
        let later = log.append(2, b"y", Durability::Fsync).unwrap();
        log.on_durable(later, Box::new(move |result| sender.send(result).unwrap()));
        scope.spawn(|| log.close().unwrap());
        gate.set(false);
    });
    receiver.recv().unwrap().unwrap();
}

#[test]
fn a_panicking_callback_stops_the_log_instead_of_hanging_it() {
    let (log, _, gate) = gated(threaded());
    let (sender, receiver) = mpsc::channel();
    let position = log.append(1, b"x", Durability::Fsync).unwrap();
    gate.set(true);
    for number in 0..3 {
        let sender = sender.clone();
        log.on_durable(
            position,
            Box::new(move |result| {
                sender.send(result).unwrap();
                if number == 1 {
                    std::panic::resume_unwind(Box::new("a bug of the caller"));
                }
            }),
        );
    }
    gate.set(false);
    assert_eq!(receiver.iter().take(3).filter(Result::is_ok).count(), 3, "the others are called all the same");
    let mut later = std::iter::repeat_with(|| {
        log.append(2, b"y", Durability::Fsync).and_then(|position| log.wait_durable(position))
    });
    assert!(later.find_map(Result::err).unwrap().outcome_unknown());
}

/// A directory of its own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("seriatim-wal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Threads append, some wait, some are called back; a checkpoint runs beside them. Each thread's records come back in its
/// order, all that were acknowledged and, after a close, all.
fn crowd(disk: &Arc<dyn Disk>, options: &LogOptions, per_thread: u64) -> BTreeMap<u64, Vec<u64>> {
    const THREADS: u64 = 4;
    let (log, _) = Log::open(Arc::clone(disk), options.clone()).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (log, sender) = (&log, sender.clone());
            scope.spawn(move || {
                for number in 0..per_thread {
                    let stamp = 1_000_000 + number;
                    let payload = payload(thread << 32 | number, 8 + (number as usize * 13) % 180);
                    let durability = [Durability::Fsync, Durability::Async, Durability::None][number as usize % 3];
                    let position = log.append(stamp, &payload, durability).unwrap();
                    match number % 4 {
                        0 => {
                            log.wait_durable(position).unwrap();
                            assert!(log.durable() >= position);
                        }
                        1 => {
                            let sender = sender.clone();
                            log.on_durable(position, Box::new(move |result| sender.send(result).unwrap()));
                        }
                        2 => assert!(log.wait_durable_unless(position, &|| false).unwrap()),
                        _ => {}
                    }
                }
            });
        }
        scope.spawn(|| {
            for bound in 0..3 {
                let mut writer = log.begin_checkpoint().unwrap();
                writer.write(b"row").unwrap();
                writer.finish(bound, LogPosition::ZERO).unwrap();
                log.raise_ceiling(bound).unwrap();
            }
        });
    });
    drop(sender);
    log.flush().unwrap();
    assert!(receiver.iter().all(|result| result.is_ok()));
    log.close().unwrap();
    let stats = log.stats();
    assert_eq!((stats.records, stats.durable, stats.checkpoints), (THREADS * per_thread, stats.appended, 3));
    read_by_thread(disk, options)
}

fn read_by_thread(disk: &Arc<dyn Disk>, options: &LogOptions) -> BTreeMap<u64, Vec<u64>> {
    let report = verify(&**disk).unwrap();
    assert!(report.is_sound() && report.clean, "{report:?}");
    let (_log, mut recovered) = Log::open(Arc::clone(disk), options.clone()).unwrap();
    let mut threads = BTreeMap::<u64, Vec<u64>>::new();
    while let Some(record) = recovered.records.next_record().unwrap() {
        let number = u64::from_le_bytes(*record.payload.first_chunk().unwrap());
        assert_eq!(record.payload, payload(number, record.payload.len()));
        threads.entry(number >> 32).or_default().push(number & 0xFFFF_FFFF);
    }
    threads
}

fn in_order(per_thread: u64) -> BTreeMap<u64, Vec<u64>> {
    (0..4).map(|thread| (thread, (0..per_thread).collect())).collect()
}

#[test]
fn a_crowd_on_a_real_disk() {
    let scratch = Scratch::new("crowd");
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(&scratch.0));
    let options = LogOptions { segment_bytes: 4096, buffer_bytes: 2048, ..threaded() };
    assert_eq!(crowd(&disk, &options, 200), in_order(200));
    let second = Log::open(Arc::clone(&disk), options.clone()).unwrap();
    match Log::open(disk, options) {
        Err(LogError::Locked { path, .. }) => assert!(path.ends_with("LOCK") && path.contains("crowd")),
        other => panic!("{:?}", other.err()),
    }
    drop(second);
}

/// Clients that wait for each record, in every way there is: groups are gathered by waiters and by the log's thread, and
/// taken from both. Who has been left out waits for ever.
#[test]
fn a_crowd_that_comes_back_for_each_group() {
    let scratch = Scratch::new("groups");
    let (log, _) = Log::open(Arc::new(RealDisk::new(&scratch.0)), threaded_with_room()).unwrap();
    std::thread::scope(|scope| {
        for client in 0..6u64 {
            let log = &log;
            scope.spawn(move || {
                for number in 0..150 {
                    let position = log.append(1, &payload(number, 50), Durability::Fsync).unwrap();
                    // Ways change with time: library alone, server alone, all of them.
                    match (number / 50, client % 3) {
                        (0, _) | (2, 0) => log.wait_durable(position).unwrap(),
                        (1, _) | (2, 1) => assert!(log.wait_durable_unless(position, &|| false).unwrap()),
                        _ => {
                            let (sender, receiver) = mpsc::channel();
                            log.on_durable(position, Box::new(move |result| sender.send(result).unwrap()));
                            receiver.recv().unwrap().unwrap();
                        }
                    }
                    assert!(log.durable() >= position);
                }
            });
        }
    });
    assert_eq!(log.stats().records, 900);
    log.close().unwrap();
}

fn threaded_with_room() -> LogOptions {
    LogOptions { segment_bytes: 1 << 20, buffer_bytes: 1 << 16, ..threaded() }
}

#[test]
fn a_crowd_with_and_without_threads_of_the_log() {
    for driver in [Driver::Threads, Driver::Caller] {
        let disk = new_disk(3);
        let options = LogOptions { driver, ..small() };
        assert_eq!(crowd(&shared(&disk), &options, 300), in_order(300), "{driver:?}");
    }
}

/// The power goes while threads are at work: of each thread a prefix is found, with all that was acknowledged to it.
#[test]
fn a_crowd_in_the_dark() {
    for cut in (20..400).step_by(10) {
        let disk = new_disk_that(cut, WAYS[cut as usize / 10 % WAYS.len()]);
        let (log, _) = open_with(&disk, threaded()).unwrap();
        disk.cut_power_at(disk.changes() + cut);
        let acknowledged: Vec<u64> = std::thread::scope(|scope| {
            let log = &log;
            let threads: Vec<_> = (0..3u64).map(|thread| scope.spawn(move || commit_until_dark(log, thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        drop(log);
        let (_log, content) = open(&disk.power_cut()).unwrap();
        let found = count_by_thread(&content);
        for (thread, acknowledged) in acknowledged.into_iter().enumerate() {
            assert!(
                found[thread] >= acknowledged,
                "{acknowledged} were acknowledged to thread {thread}, {} are found",
                found[thread]
            );
        }
    }
}

/// Commits until the power goes; how many commits were acknowledged.
fn commit_until_dark(log: &Log, thread: u64) -> u64 {
    for number in 0.. {
        let payload = payload(thread << 32 | number, 20);
        let committed = log.append(1, &payload, Durability::Fsync).and_then(|position| log.wait_durable(position));
        if let Err(error) = committed {
            assert!(matches!(error, LogError::Stopped(_) | LogError::Disk(_)), "{error}");
            return number;
        }
    }
    unreachable!("the power goes at some time")
}

fn count_by_thread(content: &Content) -> [u64; 3] {
    let mut counts = [0; 3];
    for (_, payload) in &content.records {
        let number = u64::from_le_bytes(*payload.first_chunk().unwrap());
        let count = &mut counts[(number >> 32) as usize];
        assert_eq!(number & 0xFFFF_FFFF, *count, "a thread's records come in its order");
        *count += 1;
    }
    counts
}
