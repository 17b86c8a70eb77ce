//! The paper's claims, one test each, named after the section that makes them.
//!
//! Source: Chang, Jung, Sharma, Tassarotti, Kaashoek, Zeldovich, "Verifying vMVCC, a high-performance transaction library using
//! multi-version concurrency control", OSDI 2023.

mod support;

use env::{Clock, Randomness};
use model::{Begin, Error, Finish, Interactive, Mode, Storage, TableId};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use support::{
    Engine, all, at, begin, begin_as, delete, engine_and_clock, get, impatient, insert, now, put, read_during_a_commit,
    reading, registers, rule, set, with_registers,
};

/// An engine on the machine's own clock, with a table of registers.
fn on_the_real_clock(options: Options) -> (Arc<Mvto>, TableId) {
    let engine = Arc::new(Mvto::in_memory(options).expect("nothing can fail in memory"));
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    (engine, table)
}

/// The timestamp that a transaction draws on a new thread.
fn drawn_on_a_new_thread(engine: &Engine) -> u64 {
    let engine = engine.clone();
    thread::spawn(move || at(&begin(&engine))).join().expect("no panic")
}

// ---------------------------------------------------------------------------------------------------------------
// Sections 2 and 4.5: timestamps.

/// Section 4.5: transaction ids are strictly monotonic: whoever begins after another has begun has the greater one, on
/// whatever thread and site. They are unique.
#[test]
fn sec_4_5_timestamps_are_unique_and_increase_in_real_time() {
    const DRAWS: usize = 2_000;
    for sites in [1, 2, 64] {
        let (engine, _) = on_the_real_clock(Options { sites, ..Options::default() });
        // The greatest timestamp whose drawing has returned. SeqCst: as real time itself.
        let returned = AtomicU64::new(0);
        let drawn: Vec<u64> = thread::scope(|scope| {
            let draw = || {
                let mut drawn = Vec::with_capacity(DRAWS);
                for _ in 0..DRAWS {
                    let before = returned.load(Ordering::SeqCst);
                    let mut open = engine.begin(Begin::default()).expect("begin only notes down");
                    open.savepoint().expect("a healthy clock");
                    let at = open.timestamp().expect("drawn").0;
                    assert!(at > before, "T{at} was drawn after T{before} had been returned");
                    returned.fetch_max(at, Ordering::SeqCst);
                    drawn.push(at);
                }
                drawn
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), 4 * DRAWS, "no timestamp is drawn twice");
    }
}

/// Section 2: Txn B runs after Txn A on a site with a lower number; its id is the higher one all the same. On a clock that
/// ticks once per reading, so that the low bits matter.
#[test]
fn sec_4_5_a_lower_site_does_not_draw_a_lower_timestamp() {
    let (engine, _) = engine_and_clock(Options { sites: 64, ..impatient() });
    let drawn: Vec<u64> = (0..200).map(|_| drawn_on_a_new_thread(&engine)).collect();
    assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "{drawn:?}");
    assert!(drawn.windows(2).any(|pair| pair[0] % 64 > pair[1] % 64), "some came from a lower site");
}

/// Section 2: the low bits of a timestamp are its site's number, and a thread keeps its site.
#[test]
fn sec_4_5_the_low_bits_are_the_site() {
    let (engine, _) = engine_and_clock(Options { sites: 8, ..impatient() });
    let residues = |_| {
        let engine = engine.clone();
        let draws = move || (0..20).map(|_| at(&begin(&engine)) % 8).collect::<BTreeSet<u64>>();
        thread::spawn(draws).join().expect("no panic")
    };
    let of_threads: Vec<BTreeSet<u64>> = (0..32).map(residues).collect();
    assert!(of_threads.iter().all(|residues| residues.len() == 1), "a thread keeps its site: {of_threads:?}");
    assert!(of_threads.iter().collect::<BTreeSet<_>>().len() > 1, "threads are spread over the sites");
}

/// Section 4.5: the timestamp `t'` lies above the reading at the call and below the reading at the return: the transaction
/// takes its place inside the call.
#[test]
fn sec_4_5_a_timestamp_lies_inside_the_call_that_drew_it() {
    for sites in [1, 4, 64, 1024] {
        let (engine, clock) = engine_and_clock(Options { sites, ..impatient() });
        for _ in 0..50 {
            let before = reading(&clock);
            let open = begin(&engine);
            let after = reading(&clock);
            assert!(before < at(&open) && at(&open) < after, "{before} < {} < {after}", at(&open));
            assert!(at(&open) - before <= sites as u64 + 1, "the next that has the site in its low bits, and no later");
        }
    }
}

/// Section 5.1, "missing the wait loop": when begin returns, the clock has passed the timestamp, also when it ticks slowly.
#[test]
fn sec_4_5_begin_waits_until_the_clock_has_passed_the_timestamp() {
    let (engine, clock) = engine_and_clock(Options { sites: 1024, ..impatient() });
    for stalled in [0, 1, 100, 1000] {
        clock.stall_for(stalled);
        let open = begin(&engine);
        let after = clock.now();
        assert!(at(&open) < after, "{} < {after}", at(&open));
    }
}

/// Section 1: transactions linearize when the timestamp is obtained, before their bodies run: the serial point is the begin
/// timestamp, whatever happens until the commit.
#[test]
fn sec_4_5_the_serial_point_is_the_begin_timestamp() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let mut first = begin(&engine);
    let expected = at(&first);
    let later = set(&engine, table, 2, 2);
    put(&mut first, table, 1, 3).expect("nobody in the way");
    let point = first.commit().expect("nobody in the way").claimed().0;
    assert!(point == expected && point < later, "{point} = {expected} < {later}");
}

// ---------------------------------------------------------------------------------------------------------------
// Section 2: reads.

/// "When an application invokes Read(k), the transaction first checks its local write buffer for pending writes to k."
#[test]
fn sec_2_read_looks_into_the_write_buffer_first() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 2)]);
    let mut open = begin(&engine);
    put(&mut open, table, 1, 10).expect("nobody in the way");
    delete(&mut open, table, 2).expect("nobody in the way");
    insert(&mut open, table, 3, 30).expect("nobody in the way");
    assert_eq!(get(&mut open, table, 1).expect("own"), Some(10));
    assert_eq!(get(&mut open, table, 2).expect("own"), None);
    assert_eq!(get(&mut open, table, 3).expect("own"), Some(30));
    put(&mut open, table, 2, 20).expect("nobody in the way");
    assert_eq!(all(&mut open, table).expect("own"), [(1, 10), (2, 20), (3, 30)]);
}

/// "It then searches the version of key k whose timestamp immediately precedes the transaction's timestamp."
#[test]
fn sec_2_read_finds_the_version_that_immediately_precedes() {
    let (engine, _, table) = with_registers(impatient(), &[]);
    let mut readers = vec![(None, begin(&engine))];
    for value in 0..20 {
        match value % 5 {
            4 => {
                let mut open = begin(&engine);
                assert!(delete(&mut open, table, 1).expect("nobody in the way"));
                open.commit().expect("nobody in the way");
                readers.push((None, begin(&engine)));
            }
            _ => {
                set(&engine, table, 1, value);
                readers.push((Some(value), begin(&engine)));
            }
        }
    }
    for (expected, reader) in readers.iter_mut().rev() {
        assert_eq!(get(reader, table, 1).expect("read-only transactions always succeed"), *expected);
    }
}

/// Section 5.1, "off-by-one errors": neighbouring timestamps on one site, reader and writer in both orders.
#[test]
fn sec_2_read_is_exact_between_neighbouring_timestamps() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0)]);
    for value in 1..100 {
        let mut before = begin(&engine);
        let mut writer = begin(&engine);
        let mut after = begin(&engine);
        put(&mut writer, table, 1, value).expect("nobody in the way");
        writer.commit().expect("nobody has read it yet");
        assert_eq!(get(&mut before, table, 1).expect("old"), Some(value - 1));
        assert_eq!(get(&mut after, table, 1).expect("new"), Some(value));
        drop((before, after));
        engine.collect();
    }
}

/// "Keys not present in the index are assumed to be not present (deleted) at every timestamp."
#[test]
fn sec_2_read_of_a_key_that_is_not_in_the_index_finds_nothing() {
    let (engine, _, table) = with_registers(impatient(), &[]);
    let (mut old, mut young) = (begin(&engine), begin(&engine));
    assert_eq!((get(&mut old, table, 1).unwrap(), get(&mut young, table, 1).unwrap()), (None, None));
}

/// "Read-only transactions always succeed": under writers, deletes, inserts, and collection, and what they see is whole.
#[test]
fn sec_2_read_only_transactions_always_commit() {
    const KEYS: u64 = 8;
    const ROUNDS: u64 = 300;
    let (engine, table) = on_the_real_clock(Options { sites: 2, ..Options::default() });
    let load = engine
        .run(Begin::default(), RetryPolicy::default(), |open| (0..KEYS).try_for_each(|key| put(open, table, key, 100)));
    load.map_err(|error: Error| error.to_string()).expect("alone");
    thread::scope(|scope| {
        for seed in 0..2 {
            let engine = &engine;
            scope.spawn(move || transfer(engine, table, seed, ROUNDS, KEYS));
        }
        for mode in [Mode::ReadOnly, Mode::Snapshot] {
            let engine = &engine;
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let mut reader = engine.begin(Begin { mode, ..Begin::default() }).expect("begin only notes down");
                    let rows = all(&mut reader, table).expect("a read-only transaction is never aborted");
                    let sum: u64 = rows.iter().map(|(_, value)| value).sum();
                    assert_eq!(sum, KEYS * 100, "all or nothing of each transfer: {rows:?}");
                    let again = all(&mut reader, table).expect("a read-only transaction is never aborted");
                    assert_eq!(rows, again, "what was read stays as it was");
                    reader.commit().expect("a read-only transaction always commits");
                }
            });
        }
    });
}

/// Moves amounts between keys; a key whose amount is zero is deleted.
fn transfer(engine: &Mvto, table: TableId, seed: u64, rounds: u64, keys: u64) {
    let mut random = Randomness::from_seed(seed);
    for round in 0..rounds {
        let (from, to) = (random.in_range(0..keys), random.in_range(0..keys));
        let moved = engine.run(Begin::default(), RetryPolicy::unlimited(), |open| {
            let available = get(open, table, from)?.unwrap_or(0);
            if from == to || available == 0 {
                return Ok(());
            }
            let amount = if round % 2 == 0 { available } else { available / 2 + 1 };
            let there = get(open, table, to)?.unwrap_or(0);
            match available - amount {
                0 => delete(open, table, from).map(drop)?,
                left => put(open, table, from, left)?,
            }
            put(open, table, to, there + amount)
        });
        moved.map_err(|error: Error| error.to_string()).expect("it wins in the end");
        if round % 32 == 0 {
            engine.collect();
        }
    }
}

/// A reader that meets an older transaction in its commit waits for it, and sees what it commits.
#[test]
fn sec_2_read_waits_for_an_older_owner() {
    let options = Options { wait_limit: Duration::from_secs(60), ..Options::default() };
    let read = read_during_a_commit(options, |engine, table| {
        get(&mut engine.begin(Begin::default()).expect("begin only notes down"), table, 1)
    });
    assert_eq!(read.expect("it waits long enough"), Some(2));
    let read = read_during_a_commit(impatient(), |engine, table| {
        get(&mut engine.begin(Begin::default()).expect("begin only notes down"), table, 1)
    });
    assert_eq!(rule(read), "wait-limit");
}

/// Readers never wait for a younger owner.
#[test]
fn sec_2_read_does_not_wait_for_a_younger_owner() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let mut reader = begin(&engine);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 1, 2).expect("nobody in the way");
    assert_eq!(get(&mut reader, table, 1).expect("no wait"), Some(1));
    owner.commit().expect("an older reader is not in the way");
    assert_eq!(get(&mut reader, table, 1).expect("no wait"), Some(1));
}

// ---------------------------------------------------------------------------------------------------------------
// Section 2: the write buffer and commits.

/// "On calling Abort(), the transaction drops its write buffer." Before, nobody has seen it.
#[test]
fn sec_2_write_buffer_is_private_and_dropped_on_abort() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let mut open = begin(&engine);
    put(&mut open, table, 1, 2).expect("nobody in the way");
    insert(&mut open, table, 2, 2).expect("nobody in the way");
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1)]);
    open.abort();
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1)]);
}

/// "On ... a failed Commit(), the transaction drops its write buffer": all of it, whichever row failed.
#[test]
fn sec_2_write_buffer_is_dropped_on_a_failed_commit() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 1), (3, 1)]);
    for read in 1..=4 {
        let mut writer = begin(&engine);
        for key in 1..=4 {
            put(&mut writer, table, key, 9).expect("nobody in the way");
        }
        let mut reader = begin(&engine);
        get(&mut reader, table, read).expect("nobody in the way");
        let rule = rule(writer.commit());
        assert_eq!(rule, if read == 4 { "later-gap-reader" } else { "later-reader" });
        assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 1), (2, 1), (3, 1)]);
    }
    let mut next = begin(&engine);
    put(&mut next, table, 1, 5).expect("nobody in the way");
    next.commit().expect("nothing is left owned");
}

/// "On successfully calling Commit(), the transaction creates a new version for each key in the write buffer with the
/// transaction's timestamp": seen by every later transaction and by no earlier one, all keys alike.
#[test]
fn sec_2_write_buffer_becomes_versions_at_the_timestamp() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 1)]);
    let mut before = begin(&engine);
    let mut writer = begin(&engine);
    let mut after = begin(&engine);
    put(&mut writer, table, 1, 2).expect("nobody in the way");
    delete(&mut writer, table, 2).expect("nobody in the way");
    put(&mut writer, table, 3, 2).expect("nobody in the way");
    writer.commit().expect("nobody has read them");
    assert_eq!(all(&mut before, table).expect("old"), [(1, 1), (2, 1)]);
    assert_eq!(all(&mut after, table).expect("new"), [(1, 2), (3, 2)]);
}

/// "A transaction involving updates might fail to commit if another transaction with a higher timestamp has read or updated
/// the modified key in the meantime": with a higher one only.
#[test]
fn sec_2_write_buffer_commits_over_earlier_readers_and_writers() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let (mut reader, mut older, mut writer) = (begin(&engine), begin(&engine), begin(&engine));
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(1));
    put(&mut older, table, 1, 2).expect("nobody in the way");
    older.commit().expect("the reader is earlier");
    put(&mut writer, table, 1, 3).expect("nobody in the way");
    writer.commit().expect("reader and writer are earlier");
    assert_eq!((get(&mut reader, table, 1).expect("old"), now(&engine, table, 1)), (Some(1), Some(3)));
}

/// Figure 2(a): txn 4 reads u, txn 15 appends v while txn 4 is active; neither waits for the other or aborts.
#[test]
fn sec_2_fig_2a_a_writer_does_not_disturb_an_earlier_reader() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 100)]);
    let (mut t4, mut t15) = (begin(&engine), begin(&engine));
    assert_eq!(get(&mut t4, table, 1).expect("no wait"), Some(100));
    put(&mut t15, table, 1, 200).expect("no wait");
    t15.commit().expect("2PL would have waited here");
    assert_eq!(get(&mut t4, table, 1).expect("no wait"), Some(100));
    t4.commit().expect("OCC would have aborted here");
}

/// Figure 2(a), step 3: the write raises `tslast` to 15 + 1, "preventing transactions with timestamp below 16 from modifying
/// this tuple", though nobody has read it.
#[test]
fn sec_2_fig_2a_a_write_forbids_earlier_writes() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 100)]);
    let (mut t14, mut t15, mut t16) = (begin(&engine), begin(&engine), begin(&engine));
    put(&mut t15, table, 1, 15).expect("nobody in the way");
    let later = t15.timestamp();
    t15.commit().expect("nobody in the way");
    put(&mut t14, table, 1, 14).expect("the commit will tell");
    let error = t14.commit().expect_err("too late");
    assert_eq!(error.abort().expect("an abort").other, later);
    assert_eq!(rule::<()>(Err(error)), "later-writer");
    put(&mut t16, table, 1, 16).expect("nobody in the way");
    t16.commit().expect("16 may");
    assert_eq!(now(&engine, table, 1), Some(16));
}

/// Figure 2(b): txn 12 has read the tuple; txn 10 attempts to update it and aborts, whether or not txn 12 is still active.
#[test]
fn sec_2_fig_2b_a_later_reader_aborts_an_earlier_writer() {
    for reader_ends in [false, true] {
        let (engine, _, table) = with_registers(impatient(), &[(1, 100)]);
        let (mut t10, mut t12) = (begin(&engine), begin(&engine));
        assert_eq!(get(&mut t12, table, 1).expect("nobody in the way"), Some(100));
        let reader = t12.timestamp();
        let open = (!reader_ends).then_some(t12);
        put(&mut t10, table, 1, 10).expect("the commit will tell");
        let error = t10.commit().expect_err("too late");
        let abort = error.abort().expect("an abort");
        assert_eq!((abort.rule, abort.other), ("later-reader", reader));
        assert!(error.is_retryable());
        drop(open);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Section 2 and 5.1: collection.

/// "vMVCC retains all past versions required by active transactions": a long reader reads what it would have read at its
/// begin, however much is written and collected; once it has ended, all but the last version go.
#[test]
fn sec_2_gc_keeps_what_active_transactions_need_and_nothing_else() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0), (2, 0)]);
    let mut early = begin_as(&engine, Mode::ReadOnly);
    for value in 1..=50 {
        set(&engine, table, 1, value);
    }
    let mut middle = begin_as(&engine, Mode::ReadOnly);
    for value in 51..=100 {
        set(&engine, table, 1, value);
    }
    engine.collect();
    assert_eq!(get(&mut early, table, 1).expect("kept"), Some(0));
    assert_eq!(get(&mut middle, table, 1).expect("kept"), Some(50));
    drop(early);
    engine.collect();
    assert_eq!(get(&mut middle, table, 1).expect("kept"), Some(50));
    drop(middle);
    engine.collect();
    assert_eq!((now(&engine, table, 1), now(&engine, table, 2)), (Some(100), Some(0)));
    assert_eq!(engine.stats().waiting_versions, 0, "nothing is left to collect");
}

/// Every replaced version goes back, and is counted once, whoever collects it.
#[test]
fn sec_2_gc_counts_every_collected_version() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0)]);
    for value in 1..=1000 {
        set(&engine, table, 1, value);
    }
    engine.collect();
    assert_eq!(engine.stats().collected_versions, 1000);
}

/// Writers feed the collection themselves: under a steady load, versions do not pile up though nobody asks for it.
#[test]
fn sec_2_gc_keeps_up_with_writers() {
    let (engine, _, table) = with_registers(impatient(), &[]);
    for round in 0..5_000 {
        set(&engine, table, round % 10, round);
        let waiting = engine.stats().waiting_versions;
        assert!(waiting < 1_000, "{waiting} versions wait in round {round}");
    }
}

/// "The garbage collector first determines a lower bound on the transaction IDs of all active and future transactions."
#[test]
fn sec_2_gc_bound_lies_below_active_and_future_transactions() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0)]);
    let mut last = 0;
    for value in 0..50 {
        let oldest = begin(&engine);
        set(&engine, table, 1, value);
        let younger = begin(&engine);
        engine.collect();
        let bound = engine.stats().bound.0;
        assert!(last <= bound && bound <= at(&oldest), "{last} <= {bound} <= {}", at(&oldest));
        drop(oldest);
        engine.collect();
        let bound = engine.stats().bound.0;
        assert!(bound <= at(&younger) && bound > last, "{last} < {bound} <= {}", at(&younger));
        drop(younger);
        engine.collect();
        last = engine.stats().bound.0;
        assert!(last <= at(&begin(&engine)), "a future transaction lies above");
    }
}

/// Deleted keys disappear: nothing is left to collect, a key found absent stays protected, and it can be inserted again.
#[test]
fn sec_2_gc_deleted_keys_disappear() {
    let (engine, _, table) = with_registers(impatient(), &[]);
    for round in 0..20 {
        for key in 0..100 {
            set(&engine, table, key, round);
        }
        let mut open = begin(&engine);
        for key in 0..100 {
            assert!(delete(&mut open, table, key).expect("nobody in the way"));
        }
        open.commit().expect("nobody in the way");
        let mut late = begin(&engine);
        let mut reader = begin(&engine);
        assert_eq!(get(&mut reader, table, 50).expect("nobody in the way"), None);
        drop(reader);
        engine.collect();
        insert(&mut late, table, 50, 1).expect("not there");
        assert!(late.commit().is_err(), "a later transaction has found it absent");
        engine.collect();
        assert_eq!(engine.stats().waiting_versions, 0);
        assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), []);
    }
}

/// A row that was committed before a scan began is seen by it, while a collector takes the deleted row of the same key away.
#[test]
fn sec_2_gc_hides_no_row_from_a_scan() {
    let (engine, table) = on_the_real_clock(Options { sites: 4, ..Options::default() });
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let collector = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                engine.collect();
            }
        });
        let writer = scope.spawn(|| {
            for round in 0..2_000 {
                let begin = || engine.begin(Begin::default()).expect("begin only notes down");
                let mut open = begin();
                insert(&mut open, table, 1, round).expect("it was deleted");
                open.commit().expect("nobody is in the way");
                assert_eq!(all(&mut begin(), table).expect("nobody is in the way"), [(1, round)]);
                let mut open = begin();
                assert!(delete(&mut open, table, 1).expect("nobody is in the way"));
                open.commit().expect("nobody is in the way");
                assert_eq!(all(&mut begin(), table).expect("nobody is in the way"), []);
            }
        });
        let outcome = writer.join();
        stop.store(true, Ordering::Relaxed);
        outcome.expect("no row was hidden");
        collector.join().expect("no panic");
    });
}

/// Section 5.1, the paper's bug: with no active transaction the bound must not be infinite, nor drawn after a transaction
/// has begun. Whatever bound was published before a begin lies below it.
#[test]
fn sec_5_1_the_bound_without_active_transactions_is_not_infinite() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 0)]);
    for value in 0..100 {
        set(&engine, table, 1, value);
        assert_eq!(engine.stats().active, 0);
        let before = reading(&clock);
        engine.collect();
        let after = reading(&clock);
        let bound = engine.stats().bound.0;
        assert!(before < bound && bound < after, "the present: {before} < {bound} < {after}");
        assert!(bound <= at(&begin(&engine)));
    }
}

/// Section 5.1: "a transaction enters the system right after getSafeTS returns, and then the garbage collector computes a
/// timestamp larger than the ID of that transaction". Transactions begin on several sites while others collect; each finds
/// all it may read.
#[test]
fn sec_5_1_who_begins_during_collection_finds_its_versions() {
    let (engine, table) = on_the_real_clock(Options { sites: 4, ..Options::default() });
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let collector = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                engine.collect();
            }
        });
        let clients: Vec<_> = (0..3)
            .map(|key| {
                let engine = &engine;
                scope.spawn(move || write_and_read(engine, table, key))
            })
            .collect();
        let outcomes: Vec<_> = clients.into_iter().map(thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        outcomes.into_iter().for_each(|outcome| outcome.expect("no panic"));
        collector.join().expect("no panic");
    });
}

/// Writes a key of its own, and reads it both before and after in transactions that were open across the write.
fn write_and_read(engine: &Mvto, table: TableId, key: u64) {
    let begin = |mode| {
        let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("begin only notes down");
        let bound = engine.stats().bound;
        open.savepoint().expect("a healthy clock");
        assert!(bound <= open.timestamp().expect("drawn"), "a bound that was published before");
        open
    };
    for value in 0..300 {
        let mut before = begin(Mode::ReadOnly);
        let mut writer = begin(Mode::ReadWrite);
        put(&mut writer, table, key, value).expect("its own key");
        writer.commit().expect("its own key: nobody else reads it");
        let mut after = begin(Mode::ReadOnly);
        assert_eq!(get(&mut before, table, key).expect("kept"), value.checked_sub(1));
        assert_eq!(get(&mut after, table, key).expect("there"), Some(value));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Section 2: db.Run.

/// "The transaction body returns a boolean to indicate whether it wants to commit or abort": here an error of its own.
#[test]
fn sec_2_run_commits_or_aborts_as_the_body_says() {
    #[derive(Debug, PartialEq)]
    enum Refused {
        TooPoor,
        Engine(String),
    }
    impl From<Error> for Refused {
        fn from(error: Error) -> Refused {
            Refused::Engine(error.to_string())
        }
    }
    let (engine, _, table) = with_registers(impatient(), &[(1, 70), (2, 0)]);
    let transfer = |amount: u64| {
        engine.run(Begin::default(), RetryPolicy::default(), |open| {
            let from = get(open, table, 1)?.unwrap_or(0);
            let to = get(open, table, 2)?.unwrap_or(0);
            put(open, table, 2, to + amount)?;
            put(open, table, 1, from.checked_sub(amount).ok_or(Refused::TooPoor)?)?;
            Ok(from)
        })
    };
    assert_eq!(transfer(50).expect("rich enough").0, 70);
    assert_eq!(transfer(50).map(|(from, _)| from), Err(Refused::TooPoor));
    assert_eq!(all(&mut begin(&engine), table).expect("nobody in the way"), [(1, 20), (2, 50)]);
    assert_eq!(engine.stats().active, 0);
}

/// Run begins inside the call, so that its serial point lies inside it too.
#[test]
fn sec_2_run_begins_inside_the_call() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 1)]);
    for mode in [Mode::ReadWrite, Mode::OwnAtStatement, Mode::ReadOnly, Mode::Snapshot] {
        let before = reading(&clock);
        let how = Begin { mode, ..Begin::default() };
        let ran = engine.run(how, RetryPolicy::default(), |open| get(open, table, 1));
        let (seen, committed) = ran.expect("nobody in the way");
        let point = committed.claimed().0;
        assert!(seen == Some(1) && before < point && point < reading(&clock), "{mode:?}");
    }
}

/// On a conflict the body runs again as a new transaction, with a later timestamp, and sees what it lost against.
#[test]
fn sec_2_run_again_is_a_new_transaction() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10)]);
    let mut seen = Vec::new();
    let policy = RetryPolicy::default().with_delays(Duration::ZERO, Duration::ZERO);
    let ran = engine.run(Begin::default(), policy, |open| {
        open.savepoint()?;
        if seen.len() < 2 {
            set(&engine, table, 1, 20 + seen.len() as u64); // Somebody younger is faster, twice.
        }
        let value = get(open, table, 1)?.unwrap_or(0);
        seen.push((value, open.timestamp().expect("drawn")));
        put(open, table, 1, value + 1)
    });
    ran.expect("it wins at the third attempt");
    assert_eq!(seen.iter().map(|(value, _)| *value).collect::<Vec<_>>(), [10, 20, 21]);
    assert!(seen.windows(2).all(|pair| pair[0].1 < pair[1].1), "{seen:?}");
    assert_eq!(now(&engine, table, 1), Some(22));
}

/// Threads that increment one hot row through run lose no update, and all get through.
#[test]
fn sec_2_run_loses_no_update_on_a_hot_row() {
    const THREADS: u64 = 4;
    const INCREMENTS: u64 = 500;
    let (engine, table) = on_the_real_clock(Options::default());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..INCREMENTS {
                    let policy = RetryPolicy::unlimited();
                    let added = engine.run(Begin::default(), policy, |open| {
                        let value = get(open, table, 1)?.unwrap_or(0);
                        put(open, table, 1, value + 1)
                    });
                    added.map_err(|error: Error| error.to_string()).expect("it wins in the end");
                }
            });
        }
    });
    let mut reader = engine.begin(Begin::default()).expect("begin only notes down");
    assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), Some(THREADS * INCREMENTS));
}
