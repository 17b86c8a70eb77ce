//! Replay by several threads shows an engine what replay by one does.

mod common;

use common::{new_disk, shared, small};
use env::{Randomness, SimDisk};
use model::{ColumnType, Error, Fault, Malformed, Schema, TableId};
use seriatim_wal::redo::{self, Write};
use seriatim_wal::{
    Durability, Log, LogOptions, LogPosition, OnProgress, Rebuild, RecoveryProgress, RecoveryStep, Replayed,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock};

/// What was written under a key, one after the other.
type Story = Vec<(u64, Option<Vec<u8>>)>;
type Stories = HashMap<Vec<u8>, Story>;

/// An engine that remembers what it was shown.
#[derive(Debug, Default)]
struct Memory {
    tables: RwLock<BTreeMap<u32, Mutex<Stories>>>,
    next: AtomicU64,
    /// Writes that go on now.
    writing: AtomicU64,
    threads: AtomicU64,
}

impl Memory {
    /// All that it has, in order.
    fn content(&self) -> BTreeMap<u32, BTreeMap<Vec<u8>, Story>> {
        let tables = self.tables.read().unwrap();
        let content = |stories: &Mutex<Stories>| stories.lock().unwrap().clone().into_iter().collect();
        tables.iter().map(|(id, stories)| (*id, content(stories))).collect()
    }
}

impl Rebuild for Memory {
    /// The thread's number.
    type Own = u64;

    fn own(&self) -> u64 {
        self.threads.fetch_add(1, SeqCst)
    }

    fn create_table(&self, id: TableId, _: Schema, _: bool) -> Result<(), Malformed> {
        assert_eq!(self.writing.load(SeqCst), 0, "nobody writes while a table is created");
        self.tables.write().unwrap().insert(id.0, Mutex::default()).map_or(Ok(()), |_| Err(Malformed))
    }

    fn drop_table(&self, id: TableId) {
        assert_eq!(self.writing.load(SeqCst), 0, "nobody writes while a table is dropped");
        self.tables.write().unwrap().remove(&id.0);
    }

    fn reserve(&self, next: TableId) {
        self.next.store(next.0.into(), SeqCst);
    }

    fn write<'a>(
        &self,
        _: &mut u64,
        writes: impl Iterator<Item = Result<(u64, Write<'a>), Malformed>>,
    ) -> Result<(), Malformed> {
        self.writing.fetch_add(1, SeqCst);
        let tables = self.tables.read().unwrap();
        for write in writes {
            let (at, write) = write?;
            if write.key == BAD {
                return Err(Malformed);
            }
            if let Some(stories) = tables.get(&write.table.0) {
                let mut stories = stories.lock().unwrap();
                stories.entry(write.key.to_vec()).or_default().push((at, write.row.map(<[u8]>::to_vec)));
            }
        }
        self.writing.fetch_sub(1, SeqCst);
        Ok(())
    }
}

/// A key that the engine refuses.
const BAD: &[u8] = b"bad";

fn schema() -> Schema {
    Schema::table("t").column("id", ColumnType::Int).key(["id"]).build().unwrap()
}

fn options(recovery_threads: usize) -> LogOptions {
    LogOptions { recovery_threads, ..small() }
}

fn append(log: &Log, stamp: u64, record: &[u8]) -> LogPosition {
    let position = log.append(stamp, record, Durability::Fsync).unwrap();
    log.wait_durable(position).unwrap();
    position
}

fn replay(disk: &SimDisk, options: LogOptions) -> (Memory, model::Result<Replayed>) {
    let (_log, recovered) = Log::open(shared(disk), options).unwrap();
    let memory = Memory::default();
    let replayed = recovered.replay(&memory);
    (memory, replayed)
}

/// Writes of few keys in few tables, which come and go; with a checkpoint in the middle.
fn fill(disk: &SimDisk, seed: u64) {
    let (log, _) = Log::open(shared(disk), options(1)).unwrap();
    let (mut random, mut record) = (Randomness::from_seed(seed), Vec::new());
    let (mut listed, mut next) = (Vec::new(), 0_u32);
    for stamp in 1..400 {
        record.clear();
        match random.in_range(0..40) {
            number if number == 0 || next == 0 => {
                redo::encode_create(&mut record, TableId(next), &schema());
                listed.push(next);
                next += 1;
            }
            1 if listed.len() > 1 => {
                let gone = listed.swap_remove(random.in_range(0..listed.len() as u64) as usize);
                redo::encode_drop(&mut record, TableId(gone));
            }
            _ => {
                redo::begin_writes(&mut record);
                for _ in 0..random.in_range(1..8) {
                    let key = random.in_range(0..6).to_be_bytes();
                    let row = random.next_u64().to_le_bytes();
                    // Now and then to a table that was dropped, or is to come.
                    let any = random.in_range(0..u64::from(next) + 1) as u32;
                    let there = listed[random.in_range(0..listed.len() as u64) as usize];
                    let table = TableId(if random.chance(1, 8) { any } else { there });
                    let row = random.chance(3, 4).then_some(&row[..]);
                    assert!(redo::add_write(&mut record, &Write { table, key: &key, row }, usize::MAX));
                }
            }
        }
        append(&log, stamp, &record);
        if stamp == 150 {
            let mut writer = log.begin_checkpoint().unwrap();
            record.clear();
            redo::encode_checkpoint_start(&mut record, TableId(next));
            writer.write(&record).unwrap();
            for &table in &listed {
                record.clear();
                redo::encode_create(&mut record, TableId(table), &schema());
                writer.write(&record).unwrap();
                for key in 0..6_u64 {
                    record.clear();
                    redo::encode_checkpoint_row(&mut record, TableId(table), 100 + key, &key.to_be_bytes(), b"row");
                    writer.write(&record).unwrap();
                }
            }
            writer.finish(u64::MAX, LogPosition::ZERO).unwrap();
        }
    }
    log.close().unwrap();
}

#[test]
fn several_threads_show_what_one_shows() {
    for seed in 0..20 {
        let disk = new_disk(seed);
        fill(&disk, seed);
        let (one, replayed) = replay(&disk, options(1));
        let expected = (one.content(), Replayed { threads: 0, ..replayed.unwrap() });
        assert!(expected.1.records > 200 && expected.1.newest > 390, "{:?}", expected.1);
        assert!(expected.0.values().flatten().any(|(_, story)| story.len() > 3), "keys are written again and again");
        for threads in [2, 5] {
            let (several, replayed) = replay(&disk, options(threads));
            let replayed = replayed.unwrap();
            assert_eq!((replayed.threads, several.threads.load(SeqCst)), (threads, threads as u64));
            assert_eq!(
                (several.content(), Replayed { threads: 0, ..replayed }),
                expected,
                "seed {seed}, {threads} threads"
            );
            assert_eq!(several.next.load(SeqCst), one.next.load(SeqCst));
        }
    }
}

/// The error names the first record that cannot be what an engine has logged, whichever thread finds it.
#[test]
fn what_is_intact_and_cannot_be_decoded_is_named() {
    let (disk, mut record) = (new_disk(3), Vec::new());
    let (log, _) = Log::open(shared(&disk), options(1)).unwrap();
    redo::encode_create(&mut record, TableId(0), &schema());
    append(&log, 1, &record);
    redo::begin_writes(&mut record);
    redo::add_write(&mut record, &Write { table: TableId(0), key: BAD, row: None }, usize::MAX);
    let bad = append(&log, 2, &record);
    drop(log);
    for threads in [1, 4] {
        let Err(Error::Fault(Fault::Corruption { detail })) = replay(&disk, options(threads)).1 else {
            panic!("{threads} threads open it")
        };
        assert!(detail.contains(&format!("the record that ends at {bad} ")), "{detail}");
    }
    let (log, _) = Log::open(shared(&disk), options(1)).unwrap();
    let mut writer = log.begin_checkpoint().unwrap();
    writer.write(b"\x77").unwrap();
    writer.finish(u64::MAX, LogPosition::ZERO).unwrap();
    drop(log);
    let Err(Error::Fault(Fault::Corruption { detail })) = replay(&disk, options(2)).1 else { panic!("it opens") };
    assert!(detail.starts_with("a row of the checkpoint passed its checksum"), "{detail}");
}

#[test]
fn progress_grows_to_all_of_both_steps() {
    let disk = new_disk(4);
    let (log, _) = Log::open(shared(&disk), LogOptions { segment_bytes: 8 << 20, ..options(1) }).unwrap();
    let mut record = Vec::new();
    redo::begin_writes(&mut record);
    redo::add_write(&mut record, &Write { table: TableId(0), key: b"k", row: Some(&[7; 1 << 20]) }, usize::MAX);
    for stamp in 1..=20 {
        append(&log, stamp, &record);
    }
    drop(log);

    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    let on_progress = Some(OnProgress(Arc::new(move |progress| note.lock().unwrap().push(progress))));
    replay(&disk, LogOptions { segment_bytes: 8 << 20, on_progress, ..options(2) }).1.unwrap();
    let seen = seen.lock().unwrap();
    let of = |step| seen.iter().copied().filter(move |progress: &RecoveryProgress| progress.step == step);
    for step in [RecoveryStep::Verify, RecoveryStep::Replay] {
        let total = of(step).next_back().expect("each step is reported").total;
        assert!(total > 20 << 20 && of(step).all(|progress| progress.total == total), "{seen:?}");
        assert!(of(step).count() > 2 && of(step).next_back().map(|progress| progress.done) == Some(total), "{seen:?}");
    }
    assert!(seen.is_sorted_by_key(|progress| (progress.step, progress.done)), "{seen:?}");
}
