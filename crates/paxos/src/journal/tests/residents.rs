//! Whose directory it is.

use super::*;
use crate::config::Durability;

fn open_as(disk: &SimDisk, options: &Options) -> Result<(), JournalError> {
    Journal::open(Arc::new(disk.clone()), options, small()).map(drop)
}

fn differing(result: Result<(), JournalError>) -> String {
    match result {
        Err(JournalError::Resident { option, found, wanted }) => format!("{option} {found} {wanted}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_journal_belongs_to_one_replica_of_one_cluster() {
    let disk = disk(1);
    open_as(&disk, &options()).unwrap();
    assert_eq!(differing(open_as(&disk, &Options { id: 2, ..options() })), "id 1 2");
    assert_eq!(differing(open_as(&disk, &Options { replicas: 5, ..options() })), "replicas 3 5");
    let span = format!("span (by the options span and batch_bytes) {} 100", options().core().span);
    assert_eq!(differing(open_as(&disk, &Options { span: 100, ..options() })), span);
    open_as(&disk, &options()).unwrap();
}

#[test]
fn a_replica_without_a_journal_comes_back_as_a_learner() {
    let disk = disk(1);
    let memory = Options::new(3, 1);
    let (first, lock) = enter_without_journal(&disk, &memory).unwrap();
    assert_eq!(first, memory);
    assert!(matches!(enter_without_journal(&disk, &memory).map(drop), Err(JournalError::InUse { .. })));
    drop(lock);
    for _ in 0..2 {
        let (again, _lock) = enter_without_journal(&disk.power_cut_with(Survival::SyncedOnly), &memory).unwrap();
        assert_eq!(again, Options { id: 4, ..memory.clone() });
        assert!(!again.votes());
    }
    assert_eq!(differing(enter_without_journal(&disk, &Options::new(3, 2)).map(drop)), "id 1 2");
}

#[test]
fn a_journal_cannot_be_begun_or_left_out_later() {
    let (with, without) = (disk(1), disk(2));
    open_as(&with, &options()).unwrap();
    let memory = Options::new(3, 1);
    assert_eq!(differing(enter_without_journal(&with, &memory).map(drop)), "durability fsync memory");
    enter_without_journal(&without, &memory).map(drop).unwrap();
    assert_eq!(differing(open_as(&without, &options())), "durability memory fsync");
    assert_eq!(memory.durability, Durability::Memory);
}

#[test]
fn a_lost_log_is_not_begun_anew() {
    let disk = disk(1);
    open_as(&disk, &options()).unwrap();
    for path in disk.paths().into_iter().filter(|path| path != "REPLICA") {
        Disk::remove(&disk, &path).unwrap();
    }
    assert!(matches!(open_as(&disk, &options()), Err(JournalError::Lost)));
    assert_eq!(disk.paths(), ["REPLICA"]);
}

#[test]
fn the_log_of_something_else_is_refused() {
    let disk = disk(1);
    let (log, _) = Log::open(Arc::new(disk.clone()), small()).unwrap();
    log.append(1, b"a transaction", wal::Durability::Fsync).unwrap();
    log.close().unwrap();
    drop(log);
    assert!(matches!(open_as(&disk, &options()), Err(JournalError::NotAJournal)));
    assert!(matches!(enter_without_journal(&disk, &Options::new(3, 1)).map(drop), Err(JournalError::NotAJournal)));
}

#[test]
fn a_damaged_resident_is_refused_whatever_bit_it_is() {
    let disk = disk(1);
    open_as(&disk, &options()).unwrap();
    let bytes = disk.contents("REPLICA").unwrap();
    assert_eq!(Resident::read(&disk).unwrap().unwrap(), Resident::journalled(&options()));
    for bit in 0..bytes.len() * 8 {
        let disk = disk.copy();
        disk.flip_bit("REPLICA", bit as u64 / 8, bit as u8 % 8);
        let refused = open_as(&disk, &options()).unwrap_err();
        assert!(
            matches!(refused, JournalError::BadResident | JournalError::NewerResident { .. }),
            "bit {bit}: {refused}"
        );
    }
    for length in 0..bytes.len() {
        let disk = disk.copy();
        disk.edit("REPLICA", |bytes| bytes.truncate(length));
        assert!(matches!(open_as(&disk, &options()), Err(JournalError::BadResident)), "{length}");
    }
}
