//! How many versions stay, and for whom: one for each open snapshot of a row, however often it is written, and nothing of what
//! was deleted or dropped.
#![cfg(not(any(loom, feature = "shuttle")))]

mod support;

use env::Randomness;
use model::{Access, Begin, Finish, Interactive, Mode, Schema, TableId};
use seriatim_mvto::Options;
use std::collections::BTreeMap;
use support::{Engine, Open, all, begin, begin_as, delete, get, impatient, insert, put, set, with_registers};

/// Replaced versions that are still there.
fn kept(engine: &Engine) -> u64 {
    let stats = engine.stats();
    stats.replaced_versions - stats.collected_versions
}

fn remove(engine: &Engine, table: TableId, key: u64) {
    let mut transaction = begin(engine);
    assert!(delete(&mut transaction, table, key).expect("nobody in the way"));
    transaction.commit().expect("nobody in the way");
}

/// B1: neither a limit nor more than one version for each reader, and what the horizon has not seen yet.
#[test]
fn a_hot_row_keeps_one_version_for_each_open_snapshot() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0)]);
    let mut readers = Vec::new();
    for value in 1..=100_000 {
        if value % 20_000 == 1 {
            readers.push((value - 1, begin_as(&engine, Mode::ReadOnly)));
        }
        set(&engine, table, 1, value);
        if value % 1_000 == 0 {
            let (kept, most) = (kept(&engine), readers.len() as u64 + 2 * engine.options().versions as u64);
            assert!(kept <= most, "{kept} versions at {value}, at most {most}");
        }
    }
    engine.collect();
    assert_eq!((readers.len(), kept(&engine)), (5, 5));
    assert_eq!(engine.stats().waiting_versions, 1, "the row is queued once");
    for (value, mut reader) in readers {
        assert_eq!(get(&mut reader, table, 1).expect("it has all it reads"), Some(value));
        reader.commit().expect("read-only transactions always commit");
    }
    engine.collect();
    assert_eq!((kept(&engine), engine.stats().waiting_versions), (0, 0));
}

/// As many sessions as a server has, idle in their transactions, and each finds what it would have found at once.
#[test]
fn four_hundred_idle_transactions_find_their_versions() {
    let (engine, _, table) = with_registers(Options { sites: 8, ..impatient() }, &[(1, 0), (2, 0)]);
    let mut idle = Vec::new();
    for value in 1..=4_000 {
        set(&engine, table, 1, value);
        if value % 10 == 0 {
            idle.push((value, begin_as(&engine, Mode::OwnAtStatement)));
        }
        assert!(kept(&engine) <= idle.len() as u64 + 128, "{} versions for {}", kept(&engine), idle.len());
    }
    engine.collect();
    // Removals by the idle ones at their begin are counted when they end.
    assert!(kept(&engine) < 410, "{} versions for 400", kept(&engine));
    for (value, transaction) in &mut idle {
        assert_eq!(get(transaction, table, 1).expect("nobody in the way"), Some(*value));
    }
    // All but the first end: the next writer finds out.
    idle.truncate(1);
    engine.collect();
    for value in 0..=engine.options().versions as u64 {
        set(&engine, table, 1, value);
    }
    assert!(kept(&engine) < 2 * engine.options().versions as u64);
    assert_eq!(get(&mut idle[0].1, table, 1).expect("nobody in the way"), Some(10));
}

/// A queue of jobs: new keys all the time, each deleted soon, and somebody idle who is older than all of them.
#[test]
fn deleted_rows_go_though_somebody_is_idle() {
    let (engine, _, table) = with_registers(impatient(), &[(0, 7)]);
    let mut idle = begin(&engine);
    assert_eq!(get(&mut idle, table, 0).expect("nobody in the way"), Some(7));
    let before = engine.stats().memory_bytes;
    for key in 1..20_000 {
        set(&engine, table, key, key);
        remove(&engine, table, key);
    }
    // A row that its own writer was reading when it published a horizon is looked at again, some of them each time.
    while engine.collect() > 0 {}
    let after = engine.stats();
    assert!(after.memory_bytes < before + (64 << 10), "{before} before, {} after", after.memory_bytes);
    assert_eq!(all(&mut idle, table).expect("nobody in the way"), [(0, 7)]);
    // Its own insert comes too late, as if the tombstone were still there.
    insert(&mut idle, table, 19_999, 1).expect("buffered");
    let refused = idle.commit().expect_err("somebody later has written there");
    assert!(refused.is_retryable(), "{refused}");
}

/// B12, and the index with it: after a mass delete one collection gives back all that the rows took.
#[test]
fn after_a_mass_delete_and_silence_the_memory_goes() {
    let (engine, _, table) = with_registers(impatient(), &[]);
    let empty = engine.stats().memory_bytes;
    let mut load = begin(&engine);
    for key in 0..20_000 {
        put(&mut load, table, key, key).expect("alone");
    }
    load.commit().expect("alone");
    let full = engine.stats().memory_bytes;
    let mut deleter = begin(&engine);
    for key in 0..20_000 {
        delete(&mut deleter, table, key).expect("alone");
    }
    deleter.commit().expect("alone");
    engine.collect();
    let stats = engine.stats();
    assert_eq!(stats.waiting_versions, 0);
    // Memory that a site's workspace keeps for its next transaction stays.
    assert!(stats.memory_bytes < empty + (full - empty) / 50, "{empty} empty, {full} full, {} now", stats.memory_bytes);
}

/// B11: a dropped table is freed by whoever collects, not by the last transaction that could see it.
#[test]
fn a_dropped_table_is_freed_by_the_collector() {
    let (engine, _, table) = with_registers(impatient(), &[]);
    let other = engine.create_table(Schema::bytes("other").u64_key().build().expect("a schema")).expect("a table");
    let empty = engine.stats().memory_bytes;
    let mut load = begin(&engine);
    for key in 0..5_000 {
        put(&mut load, table, key, key).expect("alone");
    }
    load.commit().expect("alone");
    let full = engine.stats().memory_bytes;
    let mut last = begin(&engine);
    assert_eq!(get(&mut last, table, 17).expect("nobody in the way"), Some(17));
    engine.drop_table("registers").expect("it is there");
    engine.collect();
    assert_eq!(get(&mut last, table, 18).expect("it goes on seeing it"), Some(18));
    last.commit().expect("read-only transactions always commit");
    set(&engine, other, 1, 1);
    assert!(engine.stats().memory_bytes > empty + (full - empty) / 2, "no user has freed it");
    engine.collect();
    let now = engine.stats().memory_bytes;
    assert!(now < empty + (16 << 10), "{empty} empty, {full} full, {now} now");
}

/// A snapshot and what it must go on seeing.
type Old = (Open, BTreeMap<u64, u64>);

/// Writers, snapshots of all ages and collectors in random order; each snapshot reads what its twin kept.
#[test]
fn snapshots_of_all_ages_read_what_was_there() {
    for seed in 0..60 {
        let mut random = Randomness::from_seed(seed);
        let options = Options { versions: 2 + (seed % 4) as usize, sites: 1 << (seed % 3), ..impatient() };
        let (engine, _, table) = with_registers(options, &[]);
        let mut twin = BTreeMap::new();
        let mut snapshots: Vec<Old> = Vec::new();
        for _ in 0..1_500 {
            let key = random.in_range(0..6);
            match random.in_range(0..20) {
                0 if snapshots.len() < 12 => snapshots.push((begin_as(&engine, Mode::ReadOnly), twin.clone())),
                1 if !snapshots.is_empty() => {
                    let (snapshot, _) = snapshots.swap_remove(random.in_range(0..snapshots.len() as u64) as usize);
                    snapshot.commit().expect("read-only transactions always commit");
                }
                2 => drop(engine.collect()),
                3..=5 if twin.remove(&key).is_some() => remove(&engine, table, key),
                6..=9 if !snapshots.is_empty() => look(&mut random, table, &mut snapshots, key, seed),
                _ => {
                    let value = random.in_range(0..u64::MAX);
                    set(&engine, table, key, value);
                    twin.insert(key, value);
                }
            }
        }
        snapshots.iter_mut().for_each(|old| look_at_all(table, old, seed));
        drop(snapshots);
        engine.collect();
        assert_eq!((kept(&engine), engine.stats().waiting_versions), (0, 0), "seed {seed}");
    }
}

fn look(random: &mut Randomness, table: TableId, snapshots: &mut [Old], key: u64, seed: u64) {
    let place = random.in_range(0..snapshots.len() as u64) as usize;
    if random.chance(1, 4) {
        return look_at_all(table, &mut snapshots[place], seed);
    }
    let (snapshot, twin) = &mut snapshots[place];
    let seen = get(snapshot, table, key).expect("nobody in the way");
    assert_eq!(seen, twin.get(&key).copied(), "key {key}, seed {seed}");
}

fn look_at_all(table: TableId, (snapshot, twin): &mut Old, seed: u64) {
    let seen = all(snapshot, table).expect("nobody in the way");
    assert_eq!(seen, twin.iter().map(|(key, value)| (*key, *value)).collect::<Vec<_>>(), "seed {seed}");
}

/// Entries of an index are collected as rows are: under an idle reader, a row that moves in the index leaves nothing behind.
#[test]
fn entries_that_nobody_reads_go_too() {
    use model::{Key, RowBuf, Schema};
    let (engine, _, _) = with_registers(impatient(), &[]);
    let by_age = Schema::bytes("people_by_age").for_index().build().expect("a schema");
    let by_age = engine.create_table(by_age).expect("a table");
    let entry = |age: u64| Key::from_u64(age);
    let person = RowBuf::from_bytes(&1_u64.to_be_bytes());
    let mut write = begin(&engine);
    write.insert(by_age, &entry(0), person.row()).expect("alone");
    write.commit().expect("alone");
    let mut idle = engine.begin_owned(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("begin notes down");
    assert!(idle.read(by_age, &entry(0), model::Columns::All, &mut RowBuf::new()).expect("alone"));
    let before = engine.stats().memory_bytes;
    for age in 1..5_000 {
        let mut write = begin(&engine);
        assert!(write.delete(by_age, &entry(age - 1)).expect("nobody in the way"));
        write.insert(by_age, &entry(age), person.row()).expect("nobody in the way");
        write.commit().expect("nobody in the way");
    }
    engine.collect();
    let after = engine.stats().memory_bytes;
    assert!(after < before + (64 << 10), "{before} before, {after} after");
    drop(idle);
}
