//! Both disks keep one contract; the simulated one also shows every state that a power cut may leave.

use proptest::prelude::*;
use seriatim_env::disk::Fault;
use seriatim_env::{Disk, DiskFile, DurableWrites, Operation, Randomness, RealDisk, SimDisk, SimDiskOptions, Survival};
use std::collections::BTreeSet;
use std::io::ErrorKind;

/// A directory of its own, removed at the end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("seriatim-env-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sim() -> SimDisk {
    SimDisk::new(1, SimDiskOptions::default())
}

fn read_all(file: &dyn DiskFile) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    assert_eq!(file.read_full_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

/// Readers share a directory without changing it; readers and writers exclude each other.
#[test]
fn a_read_only_disk_reads_and_changes_nothing() {
    let scratch = Scratch::new("read-only");
    let (disk, reader) = (RealDisk::new(&scratch.0), RealDisk::read_only(&scratch.0));
    assert_eq!(reader.list("").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(reader.create_dir_all("").unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    disk.create_dir_all("").unwrap();
    disk.create_new("a").unwrap().write_at(0, b"abc").unwrap();
    assert!(reader.lock("LOCK").is_ok(), "nobody has it who has made no lock file");
    let writing = disk.lock("LOCK").unwrap();
    assert_eq!(reader.lock("LOCK").unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(writing);
    let reading = [reader.lock("LOCK").unwrap(), reader.lock("LOCK").unwrap()];
    assert_eq!(disk.lock("LOCK").unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(reading);
    let file = reader.open("a").unwrap();
    assert_eq!(read_all(&*file), b"abc");
    assert!(file.write_at(0, b"x").is_err() && file.truncate(0).is_err());
    for refused in [reader.create_new("b").map(drop), reader.rename("a", "b"), reader.remove("a")] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    }
    assert_eq!(disk.list("").unwrap(), ["LOCK", "a"]);
}

/// The contract of [`Disk`] and [`DiskFile`], as far as one process without faults can see it.
fn keeps_the_contract(disk: &dyn Disk) {
    disk.create_dir_all("").unwrap();
    disk.create_dir_all("").unwrap();
    let file = disk.create_new("a").unwrap();
    assert_eq!(disk.create_new("a").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(disk.open("b").unwrap_err().kind(), ErrorKind::NotFound);
    file.write_at(3, b"xyz").unwrap();
    assert_eq!(read_all(&*file), b"\0\0\0xyz");
    assert_eq!(file.read_at(100, &mut [0; 4]).unwrap(), 0);
    file.allocate(4).unwrap();
    assert_eq!(file.len().unwrap(), 6, "reserving never shortens");
    file.allocate(9).unwrap();
    assert_eq!(read_all(&*file), b"\0\0\0xyz\0\0\0");
    file.truncate(5).unwrap();
    file.sync().unwrap();
    assert_eq!(read_all(&*disk.open("a").unwrap()), b"\0\0\0xy");

    disk.create_dir_all("d/e").unwrap();
    disk.create_new("d/f").unwrap().write_at(0, b"new").unwrap();
    disk.create_new("d/g").unwrap().write_at(0, b"old").unwrap();
    disk.rename("d/f", "d/g").unwrap();
    assert_eq!(disk.rename("d/f", "d/g").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(disk.rename("d/g", "g").unwrap_err().kind(), ErrorKind::InvalidInput);
    disk.sync_dir("d").unwrap();
    assert_eq!(read_all(&*disk.open("d/g").unwrap()), b"new");
    assert_eq!(disk.list("d").unwrap(), ["e", "g"]);
    assert_eq!(disk.list("").unwrap(), ["a", "d"]);
    assert_eq!(disk.list("none").unwrap_err().kind(), ErrorKind::NotFound);
    disk.remove("a").unwrap();
    assert_eq!(disk.remove("a").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(file.len().unwrap(), 5, "an open file outlives its name");

    let held = disk.lock("LOCK").unwrap();
    let refused = disk.lock("LOCK").unwrap_err();
    assert_eq!((refused.kind(), refused.operation()), (ErrorKind::WouldBlock, Operation::Lock));
    drop(held);
    disk.lock("LOCK").unwrap();
}

#[test]
fn the_real_disk_keeps_the_contract() {
    let scratch = Scratch::new("contract");
    keeps_the_contract(&RealDisk::new(scratch.0.join("nested/root")));
}

#[test]
fn the_simulated_disk_keeps_the_contract() {
    keeps_the_contract(&sim());
}

#[test]
fn errors_name_the_operation_and_the_path() {
    let error = sim().open("missing.log").unwrap_err();
    assert_eq!(error.to_string(), "cannot open \"missing.log\": entity not found");
    assert_eq!((error.operation(), error.path(), error.is_full()), (Operation::Open, "missing.log", false));
}

#[test]
fn short_reads_still_fill_a_buffer() {
    let disk = SimDisk::new(5, SimDiskOptions { short_reads: true, ..Default::default() });
    let file = disk.create_new("f").unwrap();
    let bytes: Vec<u8> = (0..=255).collect();
    file.write_at(0, &bytes).unwrap();
    assert_eq!(read_all(&*file), bytes);
    assert!(disk.counts()[&Operation::Read] > 1, "no read was short");
}

#[test]
fn only_synced_bytes_and_names_are_certain() {
    let disk = sim();
    let file = disk.create_new("f").unwrap();
    file.write_at(0, b"first").unwrap();
    file.sync().unwrap();
    assert!(disk.power_cut_with(Survival::SyncedOnly).paths().is_empty(), "the name was not synced");
    disk.sync_dir("").unwrap();
    file.write_at(0, b"FI").unwrap();
    let after = disk.power_cut_with(Survival::SyncedOnly);
    assert_eq!(after.contents("f").unwrap(), b"first");
    assert_eq!(disk.copy().contents("f").unwrap(), b"FIrst");
    file.sync().unwrap();
    assert_eq!(disk.power_cut_with(Survival::SyncedOnly).contents("f").unwrap(), b"FIrst");
}

#[test]
fn a_rename_that_was_not_synced_may_be_lost_but_never_half_done() {
    let mut seen = BTreeSet::new();
    for seed in 0..64 {
        let disk = SimDisk::new(seed, SimDiskOptions::default());
        for (name, bytes) in [("old", b"1"), ("new", b"2")] {
            let file = disk.create_new(name).unwrap();
            file.write_at(0, bytes).unwrap();
            file.sync().unwrap();
        }
        disk.sync_dir("").unwrap();
        disk.rename("new", "old").unwrap();
        let after = disk.power_cut();
        let state = (after.contents("old"), after.contents("new"));
        assert!(
            state == (Some(b"2".to_vec()), None) || state == (Some(b"1".to_vec()), Some(b"2".to_vec())),
            "{state:?}"
        );
        seen.insert(state);
    }
    assert_eq!(seen.len(), 2, "both outcomes are found");
}

#[test]
fn unsynced_writes_are_kept_lost_or_torn() {
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let disk = SimDisk::new(seed, SimDiskOptions::default());
        let file = disk.create_new("f").unwrap();
        file.write_at(0, &[1; 1500]).unwrap();
        file.sync().unwrap();
        disk.sync_dir("").unwrap();
        file.write_at(100, &[2; 1300]).unwrap();
        let bytes = disk.power_cut().contents("f").unwrap();
        assert_eq!(bytes.len(), 1500);
        assert!(bytes[..100].iter().chain(&bytes[1400..]).all(|byte| *byte == 1), "untouched bytes stay");
        seen.insert(bytes);
    }
    assert!(seen.len() > 20, "only {} different states", seen.len());
}

#[test]
fn a_cut_in_the_middle_stops_everything_after() {
    let disk = sim();
    let file = disk.create_new("f").unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(0, b"a").unwrap();
    file.sync().unwrap();
    disk.cut_power_at(disk.changes() + 1);
    file.write_at(1, b"b").unwrap();
    assert!(file.sync().is_err(), "the cut strikes here");
    assert!(file.write_at(2, b"c").is_err() && disk.list("").is_err());
    assert_eq!(disk.power_cut_with(Survival::SyncedOnly).contents("f").unwrap(), b"a");
    assert_eq!(disk.power_cut_with(Survival::Everything).contents("f").unwrap(), b"ab");
}

/// The behaviour that makes a repeated fsync a lie.
#[test]
fn after_a_failed_sync_a_later_one_succeeds_without_the_bytes() {
    let lost = (0..32).any(|seed| {
        let disk = SimDisk::new(seed, SimDiskOptions::default());
        let file = disk.create_new("f").unwrap();
        disk.sync_dir("").unwrap();
        disk.inject(Fault { operation: Operation::Sync, after: 0, kind: ErrorKind::Other });
        file.write_at(0, b"bytes").unwrap();
        assert!(file.sync().is_err());
        file.sync().unwrap();
        assert_eq!(read_all(&*file), b"bytes", "reads go on showing them");
        disk.power_cut_with(Survival::SyncedOnly).contents("f").unwrap().is_empty()
    });
    assert!(lost);
}

#[test]
fn faults_strike_once_and_where_they_were_asked_for() {
    let disk = sim();
    let file = disk.create_new("f").unwrap();
    disk.inject(Fault { operation: Operation::Write, after: 1, kind: ErrorKind::PermissionDenied });
    file.write_at(0, b"1").unwrap();
    assert_eq!(file.write_at(0, b"2").unwrap_err().kind(), ErrorKind::PermissionDenied);
    file.write_at(0, b"3").unwrap();
    assert_eq!(read_all(&*file), b"3");
}

#[test]
fn a_full_disk_says_so_and_keeps_what_it_has() {
    let disk = SimDisk::new(1, SimDiskOptions { capacity: 100, ..Default::default() });
    let file = disk.create_new("f").unwrap();
    file.allocate(80).unwrap();
    assert!(file.allocate(101).unwrap_err().is_full());
    assert!(file.write_at(99, b"xx").unwrap_err().is_full());
    file.write_at(0, &[7; 80]).unwrap();
    assert_eq!(disk.used(), 80);
    file.truncate(10).unwrap();
    disk.create_new("g").unwrap().allocate(90).unwrap();
    disk.remove("g").unwrap();
    assert_eq!(disk.used(), 10);
}

#[test]
fn damage_is_durable() {
    let disk = sim();
    let file = disk.create_new("f").unwrap();
    file.write_at(0, &[0b1000]).unwrap();
    file.sync().unwrap();
    disk.sync_dir("").unwrap();
    disk.flip_bit("f", 0, 3);
    assert_eq!(disk.power_cut().contents("f").unwrap(), [0]);
}

#[test]
fn equal_seeds_and_calls_leave_equal_disks() {
    let run = |seed| {
        let disk = SimDisk::new(seed, SimDiskOptions::default());
        let mut randomness = Randomness::from_seed(9);
        for index in 0..10 {
            let file = disk.create_new(&format!("f{index}")).unwrap();
            let mut bytes = vec![0; randomness.in_range(1..3000) as usize];
            randomness.fill(&mut bytes);
            file.write_at(0, &bytes).unwrap();
        }
        let after = disk.power_cut();
        after.paths().into_iter().map(|path| (after.contents(&path), path)).collect::<Vec<_>>()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

proptest! {
    /// Synced bytes survive every cut, whatever was written elsewhere afterwards.
    #[test]
    fn synced_bytes_survive(seed: u64, synced in prop::collection::vec(any::<u8>(), 1..2000),
                            later in prop::collection::vec((0u64..4000, 1usize..1500), 0..6)) {
        let disk = SimDisk::new(seed, SimDiskOptions::default());
        let file = disk.create_new("f").unwrap();
        file.write_at(0, &synced).unwrap();
        file.sync().unwrap();
        disk.sync_dir("").unwrap();
        for (offset, length) in &later {
            file.write_at(synced.len() as u64 + offset, &vec![0xAA; *length]).unwrap();
        }
        let after = disk.power_cut().contents("f").unwrap();
        prop_assert_eq!(&after[..synced.len()], &synced[..]);
    }
}

/// A durable write in one call makes its own bytes durable, and nothing else.
#[test]
fn a_durable_write_is_its_own_only() {
    let disk = SimDisk::new(1, SimDiskOptions { durable_writes: DurableWrites::OneCall, ..Default::default() });
    let file = disk.create_new("a").unwrap();
    file.allocate(8).unwrap();
    file.sync().unwrap();
    disk.sync_dir("").unwrap();
    file.write_at(0, b"unsynced").unwrap();
    file.write_at(0, b"u").unwrap();
    let other = disk.create_new("b").unwrap();
    disk.sync_dir("").unwrap();
    other.write_durable_at(0, b"durable").unwrap();
    let after = disk.power_cut_with(Survival::SyncedOnly);
    assert_eq!(after.contents("a").unwrap(), [0; 8]);
    assert_eq!(after.contents("b").unwrap(), b"durable");
    file.write_durable_at(8, b"tail").unwrap();
    assert_eq!(disk.power_cut_with(Survival::SyncedOnly).contents("a").unwrap(), b"\0\0\0\0\0\0\0\0tail");
    assert_eq!(disk.contents("a").unwrap(), b"unsyncedtail");
    file.write_durable_at(1, b"N").unwrap();
    assert_eq!(disk.power_cut_with(Survival::SyncedOnly).contents("a").unwrap(), b"uNsyncedtail");
}

/// One that fails or is cut may have written any part, and was not durable.
#[test]
fn a_failed_durable_write_leaves_anything() {
    for cut in [false, true] {
        let disk = SimDisk::new(1, SimDiskOptions { durable_writes: DurableWrites::OneCall, ..Default::default() });
        let file = disk.create_new("a").unwrap();
        disk.sync_dir("").unwrap();
        match cut {
            true => disk.cut_power_at(disk.changes()),
            false => disk.inject(Fault { operation: Operation::WriteDurable, after: 0, kind: ErrorKind::Other }),
        }
        file.write_durable_at(0, b"bytes").unwrap_err();
        assert!(disk.power_cut_with(Survival::SyncedOnly).contents("a").unwrap().is_empty());
        assert_eq!(disk.power_cut_with(Survival::Everything).contents("a").unwrap(), b"bytes");
    }
}

#[test]
fn a_real_disk_writes_durably_over_zeros() {
    let scratch = Scratch::new("durable");
    let disk = RealDisk::new(&scratch.0);
    disk.create_dir_all("").unwrap();
    let file = disk.create_new("a").unwrap();
    file.allocate_written(9 << 20).unwrap();
    file.write_durable_at(5000, b"bytes").unwrap();
    assert!(matches!(file.durable_writes(), DurableWrites::OneCall | DurableWrites::Sync));
    let mut bytes = vec![1; 9 << 20];
    assert_eq!(file.read_full_at(0, &mut bytes).unwrap(), 9 << 20);
    assert_eq!(&bytes[5000..5005], b"bytes");
    bytes[5000..5005].fill(0);
    assert!(bytes.iter().all(|byte| *byte == 0));
}

/// Appends of whole blocks keep what stands before them, wherever they begin, and whatever was written in between by other
/// calls. Where the system refuses direct writes, and at the file's end, others do the same.
#[test]
fn appends_of_a_real_disk_keep_what_was_there() {
    for directory in [std::env::temp_dir(), "/dev/shm".into()] {
        let path = directory.join(format!("seriatim-env-appends-{}", std::process::id()));
        let scratch = Scratch(path.clone());
        let disk = RealDisk::new(&path);
        if disk.create_dir_all("").is_err() {
            continue; // No such file system here.
        }
        let file = disk.create_new("unfinished").unwrap();
        file.allocate_written(40_001).unwrap();
        disk.rename("unfinished", "a").unwrap();
        let mut expected = Vec::new();
        for number in 1..=200_u32 {
            let bytes = vec![number as u8; (number as usize * 37) % 301 + 1];
            let offset = expected.len() as u64;
            expected.extend_from_slice(&bytes);
            match number % 10 {
                0 => file.write_at(offset, &bytes).unwrap(),
                5 => file.write_durable_at(offset, &bytes).unwrap(),
                _ => file.append_durable_at(offset, &bytes).unwrap(),
            }
        }
        let last = 40_001 - expected.len();
        expected.resize(40_001, 9);
        file.append_durable_at((40_001 - last) as u64, &vec![9; last]).unwrap();
        assert!(read_all(&*file) == expected, "in {directory:?}, {:?}", file.durable_writes());
        assert!(read_all(&*disk.open("a").unwrap()) == expected);
        drop(scratch);
    }
}

/// A direct append that the power cuts in the middle leaves what its first block held before.
#[test]
fn a_torn_append_keeps_the_beginning_of_its_block() {
    for seed in 0..200 {
        let options = SimDiskOptions { durable_writes: DurableWrites::Direct, ..Default::default() };
        let disk = SimDisk::new(seed, options);
        let file = disk.create_new("a").unwrap();
        file.allocate(1024).unwrap();
        file.sync().unwrap();
        disk.sync_dir("").unwrap();
        file.append_durable_at(0, &[1; 300]).unwrap();
        disk.cut_power_at(disk.changes());
        file.append_durable_at(300, &[2; 300]).unwrap_err();
        let found = disk.power_cut().contents("a").unwrap();
        assert_eq!(found.len(), 1024);
        assert_eq!(found[..300], [1; 300], "seed {seed}");
        assert!(found[300..600].iter().all(|byte| [0, 2].contains(byte)), "seed {seed}");
        assert!(found[600..].iter().all(|byte| *byte == 0), "seed {seed}");
    }
}
