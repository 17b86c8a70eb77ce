//! Damaged files: every flipped bit, truncation or missing file is refused, reported, or harmless; never read as intact.

mod common;

use common::{Content, commit, new_disk, open, payload};
use env::{Disk, SimDisk};
use proptest::prelude::*;
use seriatim_wal::{DamageKind, Durability, FORMAT_VERSION, Log, LogError, TailCut, verify};

/// Records of the last group.
const LAST_GROUP: usize = 2;
/// Bytes of the last group: its own record and two others.
const LAST_GROUP_BYTES: u64 = 25 + 17 + 100 + 17 + 11;

/// A record in parts, with another between them.
fn append_large(log: &Log, number: u64) {
    let bytes = payload(number, 150);
    let mut record = log.begin_large(number, 150, 64).unwrap();
    record.append(&bytes[..64]).unwrap();
    commit(log, number, &payload(number, 20)).unwrap();
    record.append(&bytes[64..128]).unwrap();
    record.finish(&bytes[128..], Durability::None).unwrap();
}

/// A log of a few segments and groups behind a checkpoint.
fn written(close: bool) -> (SimDisk, Content) {
    let disk = new_disk(1);
    let (log, _) = open(&disk).unwrap();
    log.raise_ceiling(77).unwrap();
    for number in 0..6 {
        commit(&log, number, &payload(number, 200)).unwrap();
    }
    let mut checkpoint = log.begin_checkpoint().unwrap();
    for number in 0..6 {
        checkpoint.write(&payload(number, 20)).unwrap();
    }
    checkpoint.finish(6, model::LogPosition::ZERO).unwrap();
    for number in 6..18 {
        log.append(number, &payload(number, 100), Durability::None).unwrap();
        commit(&log, number, &payload(number, 11)).unwrap();
        if number == 14 {
            append_large(&log, number);
        }
    }
    if close {
        log.close().unwrap();
    }
    drop(log);
    let (_log, content) = open(&disk.copy()).unwrap();
    assert_eq!(content.records.last().unwrap().0, 17);
    assert!(content.report.segments >= 3, "{:?}", content.report);
    let last = verify(&disk.copy()).unwrap().segments.into_iter().rfind(|segment| segment.records > 0).unwrap();
    assert!(last.groups >= 3, "damage in the last segment, but not in the last group, is among the cases");
    (disk, content)
}

/// Outcome of opening a damaged log.
#[derive(Debug, PartialEq)]
enum Fate {
    Refused(String),
    Cut(TailCut),
    Unharmed,
}

/// Opens a damaged log; asserts that nothing wrong is believed and that `verify` sees the same.
fn fate(disk: &SimDisk, whole: &Content, context: &str) -> Fate {
    fate_with(disk, whole, LAST_GROUP, context)
}

fn fate_with(disk: &SimDisk, whole: &Content, tolerated: usize, context: &str) -> Fate {
    let before = disk.copy();
    let fate = fate_of_opening(disk, whole, tolerated, context);
    match (verify(&before), &fate) {
        (Ok(report), Fate::Refused(file)) => {
            assert!(report.damage.iter().any(|damage| &damage.file == file), "{context}: {file} is not in {report:?}");
        }
        (Ok(report), Fate::Cut(cut)) => assert_eq!(report.cut.as_ref(), Some(cut), "{context}"),
        (Ok(report), Fate::Unharmed) => assert!(report.is_sound() && report.cut.is_none(), "{context}: {report:?}"),
        (Err(LogError::Corrupt(damage)), Fate::Refused(file)) => assert_eq!(&damage.file, file, "{context}"),
        (Err(error), _) => panic!("{context}: {error}"),
    }
    fate
}

/// Opens a damaged log; asserts that nothing wrong is believed, and that no more than the tolerated number of records is cut.
fn fate_of_opening(disk: &SimDisk, whole: &Content, tolerated: usize, context: &str) -> Fate {
    match open(disk) {
        Ok((_log, content)) => {
            assert_eq!(content.checkpoint, whole.checkpoint, "{context}");
            assert_eq!(content.report.ceiling, whole.report.ceiling, "{context}");
            let count = content.records.len();
            assert_eq!(content.records, whole.records[..count], "{context}");
            match content.report.cut {
                Some(cut) => {
                    assert!(count + tolerated >= whole.records.len(), "{context}: more than the last group is gone");
                    Fate::Cut(cut)
                }
                None => {
                    assert_eq!(count, whole.records.len(), "{context}: records are gone silently");
                    Fate::Unharmed
                }
            }
        }
        Err(LogError::Corrupt(damage)) => Fate::Refused(damage.file),
        Err(error) => panic!("{context}: {error}"),
    }
}

/// Flips every bit of every file that was ever written, and one bit of each byte that was only reserved.
fn flip_all(disk: &SimDisk, whole: &Content, mut seen: impl FnMut(&str, u64, Fate)) {
    for path in disk.paths() {
        for (offset, bit) in bits_of(&path, &disk.contents(&path).unwrap()) {
            let damaged = disk.copy();
            damaged.flip_bit(&path, offset, bit);
            // One bit of each byte is shown to `verify`, too.
            let judge = if bit == (offset % 8) as u8 { fate_with } else { fate_of_opening };
            let fate = judge(&damaged, whole, LAST_GROUP, &format!("{path}, byte {offset}, bit {bit}"));
            seen(&path, offset, fate);
        }
    }
}

fn bits_of(path: &str, bytes: &[u8]) -> Vec<(u64, u8)> {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut bits = Vec::new();
    for offset in 0..bytes.len() {
        // The control file's slots are far apart.
        let written = if path == "CONTROL" { offset % 4096 < 64 } else { offset < used };
        match written {
            true => bits.extend((0..8).map(|bit| (offset as u64, bit))),
            false if path == "CONTROL" && offset % 64 != 0 => {}
            false => bits.push((offset as u64, (offset % 8) as u8)),
        }
    }
    bits
}

#[test]
fn every_flipped_bit_of_a_crashed_log() {
    let (disk, whole) = written(false);
    let (mut refused, mut cut, mut control) = (0, 0, 0);
    flip_all(&disk, &whole, |path, offset, fate| match fate {
        Fate::Refused(file) => {
            refused += 1;
            // A written-to successor accuses its predecessor; everything else accuses the file itself.
            assert!(file == path || path > file.as_str(), "{path} is damaged, {file} is accused");
        }
        Fate::Cut(found) => {
            assert_eq!(found.file, path);
            assert!(found.offset <= offset && offset < found.offset + found.bytes, "{found:?}, byte {offset}");
            cut += 1;
        }
        Fate::Unharmed => {
            control += u32::from(path == "CONTROL");
            assert!(path == "CONTROL" || is_unused(&disk, path, offset), "byte {offset} of {path} does not matter");
        }
    });
    assert!(refused > 10_000 && cut > 100 && control > 1_000, "{refused} refused, {cut} cut, {control} survived");
}

#[test]
fn every_flipped_bit_of_a_closed_log() {
    let (disk, whole) = written(true);
    assert!(whole.report.clean);
    let mut refused = 0;
    flip_all(&disk, &whole, |path, offset, fate| match fate {
        Fate::Refused(_) => refused += 1,
        Fate::Cut(cut) => panic!("a closed log has nothing to cut: byte {offset} of {path}, {cut}"),
        Fate::Unharmed => assert!(path == "CONTROL" || is_unused(&disk, path, offset), "byte {offset} of {path}"),
    });
    assert!(refused > 10_000);
}

/// Returns whether a byte lies behind a segment's seal.
fn is_unused(disk: &SimDisk, path: &str, offset: u64) -> bool {
    let report = verify(&disk.copy()).unwrap();
    let segment = report.segments.iter().find(|segment| segment.file == path).unwrap();
    segment.sealed && offset >= 64 + segment.bytes()
}

#[test]
fn every_truncation() {
    for close in [false, true] {
        let (disk, whole) = written(close);
        for path in disk.paths() {
            let length = disk.contents(&path).unwrap().len();
            // The control file's slots are far apart.
            for kept in (0..length).filter(|kept| path != "CONTROL" || kept % 4096 < 64) {
                let damaged = disk.copy();
                damaged.edit(&path, |bytes| bytes.truncate(kept));
                let context = format!("{path} cut to {kept} of {length} bytes, closed: {close}");
                match fate(&damaged, &whole, &context) {
                    Fate::Refused(file) => assert_eq!(file, path, "{context}"),
                    Fate::Cut(cut) => panic!("{context}: {cut}"),
                    Fate::Unharmed => {
                        let spare_slot = path == "CONTROL" && kept >= 64;
                        assert!(spare_slot || is_unused(&disk, &path, kept as u64), "{context}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_missing_file() {
    for close in [false, true] {
        let (disk, whole) = written(close);
        let last = disk.paths().pop().unwrap();
        for path in disk.paths().into_iter().filter(|path| path != "LOCK") {
            let damaged = disk.copy();
            Disk::remove(&damaged, &path).unwrap();
            let verified = verify(&damaged);
            match open(&damaged) {
                Err(LogError::Corrupt(damage)) if path == "CHECKPOINT" => {
                    // Without it, the removed segments are the ones that are missed.
                    assert_eq!((damage.kind, damage.file.as_str()), (DamageKind::Missing, "wal-0000000001.log"));
                }
                Err(LogError::Corrupt(damage)) => {
                    assert_eq!((damage.kind, &damage.file), (DamageKind::Missing, &path));
                }
                other => panic!("{path} (last: {last}) of {whole:?} is missing: {:?}", other.map(|opened| opened.1)),
            }
            match verified {
                Ok(report) => assert!(!report.is_sound(), "{path}"),
                Err(LogError::NotALog { file }) => assert_eq!(file, path),
                Err(error) => panic!("{path}: {error}"),
            }
        }
    }
}

#[test]
fn a_refused_directory_is_left_as_it_was() {
    let (disk, _) = written(false);
    disk.flip_bit("wal-0000000003.log", 100, 3);
    let contents = || disk.paths().into_iter().map(|path| (disk.contents(&path), path)).collect::<Vec<_>>();
    let before = contents();
    assert!(matches!(open(&disk), Err(LogError::Corrupt(_))));
    assert_eq!(contents(), before);
}

/// A swapped or copied segment has a good checksum and is still not believed.
#[test]
fn intact_segments_of_another_place_or_log_are_refused() {
    let (disk, _) = written(false);
    let (other, _) = written(false);
    let (third, fourth) = ("wal-0000000003.log", "wal-0000000004.log");
    let replace = |with: Vec<u8>| {
        let damaged = disk.copy();
        damaged.edit(third, |bytes| bytes.clone_from(&with));
        match open(&damaged) {
            Err(LogError::Corrupt(damage)) => {
                assert_eq!((damage.file.as_str(), damage.kind), (third, DamageKind::Foreign))
            }
            other => panic!("{:?}", other.err()),
        }
    };
    replace(disk.contents(fourth).unwrap());
    replace(other.contents(third).unwrap());
    // With its own header, another log's records do not pass either.
    let mut spliced = other.contents(third).unwrap();
    spliced[..64].copy_from_slice(&disk.contents(third).unwrap()[..64]);
    let damaged = disk.copy();
    damaged.edit(third, |bytes| bytes.clone_from(&spliced));
    assert!(matches!(open(&damaged), Err(LogError::Corrupt(_))));
}

#[test]
fn what_recovery_has_cut_stays_on_record() {
    let (disk, whole) = written(false);
    let (file, end) = {
        let report = verify(&disk.copy()).unwrap();
        let last = report.segments.iter().rfind(|segment| segment.records > 0).unwrap();
        (last.file.clone(), 64 + last.bytes())
    };
    disk.flip_bit(&file, end - 3, 0);
    let (log, content) = open(&disk).unwrap();
    let cut = content.report.cut.unwrap();
    assert!(cut.to_string().contains(&file), "{cut}");
    assert!(content.records.len() < whole.records.len());
    log.close().unwrap();
    let report = verify(&disk).unwrap();
    let segment = report.segments.iter().find(|segment| segment.file == file).unwrap();
    assert_eq!((segment.cut_earlier, segment.sealed), (cut.bytes, true));
    assert_eq!(open(&disk).unwrap().1.records, content.records);
}

#[test]
fn newer_formats_are_told_apart_from_damage() {
    for path in ["CONTROL", "CHECKPOINT", "wal-0000000003.log"] {
        let (disk, _) = written(true);
        disk.edit(path, |bytes| {
            bytes[8] = FORMAT_VERSION as u8 + 1;
            let checksum = crc32c::crc32c(&bytes[..60]);
            bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
        });
        for result in [open(&disk).map(drop), verify(&disk).map(drop)] {
            match result {
                Err(LogError::NewerFormat { file, found, supported }) => {
                    assert_eq!((file.as_str(), found, supported), (path, FORMAT_VERSION + 1, FORMAT_VERSION));
                }
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_ceiling_outlives_a_decayed_slot() {
    let (disk, _) = written(true);
    for offset in [0, 4096] {
        let damaged = disk.copy();
        damaged.edit("CONTROL", |bytes| bytes[offset..offset + 64].fill(0xEE));
        let report = verify(&damaged).unwrap();
        assert_eq!((report.survivable.len(), report.survivable[0].offset), (1, offset as u64));
        assert_eq!(open(&damaged).unwrap().1.report.ceiling, 77);
        assert!(verify(&damaged).unwrap().survivable.is_empty(), "opening writes both slots again");
    }
}

#[test]
fn a_directory_without_a_log_is_no_damaged_log() {
    match verify(&new_disk(1)) {
        Err(LogError::NotALog { file }) => assert_eq!(file, "CONTROL"),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// Random bytes in place of any part of any file: no panic, no unbounded allocation, nothing believed that was not written.
    #[test]
    fn random_bytes_are_never_believed(close: bool, file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
                                       garbage in prop::collection::vec(any::<u8>(), 1..300)) {
        let (disk, whole) = written(close);
        let paths: Vec<_> = disk.paths().into_iter().filter(|path| path != "LOCK").collect();
        let path = file.get(&paths);
        let length = disk.contents(path).unwrap().len();
        let start = at.index(length);
        // Damage that reaches into the last group leaves nothing that vouches for what it has hit before.
        let last = verify(&disk.copy()).unwrap().segments.into_iter().rfind(|segment| segment.records > 0).unwrap();
        let last_group = 64 + last.bytes() - LAST_GROUP_BYTES;
        let reaches = *path == last.file && (start + garbage.len()) as u64 > last_group;
        let tolerated = if reaches { whole.records.len() } else { LAST_GROUP };
        disk.edit(path, |bytes| {
            for (byte, garbage) in bytes[start..].iter_mut().zip(&garbage) {
                *byte = *garbage;
            }
        });
        fate_with(&disk, &whole, tolerated, &format!("{path} from {start}"));
    }
}
