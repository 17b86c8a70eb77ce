//! Ownership of data directories.

use super::*;
use crate::config::Durability;
use crate::known_voters::{Note, Notes};

fn open_as(disk: &SimDisk, options: &Options) -> Result<(), JournalError> {
    Journal::open(Arc::new(disk.clone()), options, small(), BIRTH).map(drop)
}

fn enter(disk: &SimDisk, options: &Options) -> Result<(Options, OwnedDirectory), JournalError> {
    enter_without_journal(Arc::new(disk.clone()), options, BIRTH)
}

fn differing(result: Result<(), JournalError>) -> String {
    match result {
        Err(JournalError::ForeignDirectory { option, found, wanted }) => format!("{option} {found} {wanted}"),
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
    assert_eq!(differing(open_as(&disk, &Options { sessions: 9, ..options() })), "sessions 65536 9");
    open_as(&disk, &options()).unwrap();
}

#[test]
fn a_life_is_counted_before_it_begins_and_what_was_met_is_remembered() {
    let disk = disk(1);
    let note = Note { birth: u64::MAX, life: 3, incarnation: u64::MAX, records: 1 << 40 };
    let mut lives = disk.clone();
    for life in 1..=3 {
        let (journal, _) = open(&lives).unwrap();
        let owner = journal.directory().owner();
        assert_eq!((owner.birth, owner.life, owner.admitted), (BIRTH, life, life > 2));
        assert_eq!(owner.met.len(), usize::from(life > 1) * 2);
        if life == 1 {
            journal.directory().note(&Notes::from([(0, note), (2, Note::UNCOUNTED)])).unwrap();
        } else if life == 2 {
            assert_eq!(owner.met.get(&0), Some(&note));
            journal.directory().admit().unwrap();
        }
        drop(journal);
        lives = lives.power_cut_with(Survival::SyncedOnly);
    }
}

/// The file of the version before this one, as it was written by it.
#[test]
fn yesterdays_directory_opens_and_its_replicas_have_voted() {
    let disk = disk(1);
    open_as(&disk, &options()).unwrap();
    // Number 1 of 3 with a journal.
    let mut yesterday = b"SPXR\x01\x01\x01\x03".to_vec();
    codec::put_number(&mut yesterday, options().core().span);
    yesterday.extend(crc32c::crc32c(&yesterday).to_le_bytes());
    disk.edit("REPLICA", |bytes| bytes.clone_from(&yesterday));
    let owner = DirectoryOwner::read(&disk).unwrap().unwrap();
    assert_eq!((owner.life, owner.admitted), (1, true));
    let without_sessions = Options { sessions: 0, ..options() };
    assert_eq!(differing(open_as(&disk, &without_sessions)), "sessions of some number 0");
    let (journal, _) = open(&disk).unwrap();
    let owner = journal.directory().owner();
    assert_eq!((owner.life, owner.admitted, owner.birth, owner.sessions), (2, true, BIRTH, 1 << 16));
    assert_eq!(owner.met, Notes::from([(0, Note::UNCOUNTED), (2, Note::UNCOUNTED)]));
}

#[test]
fn a_replica_without_a_journal_comes_back_as_a_learner() {
    let disk = disk(1);
    let memory = Options::new(3, 1);
    let (first, directory) = enter(&disk, &memory).unwrap();
    assert_eq!(first, memory);
    assert!(matches!(enter(&disk, &memory).map(drop), Err(JournalError::InUse { .. })));
    drop(directory);
    let disk = disk.power_cut_with(Survival::SyncedOnly);
    let (again, directory) = enter(&disk, &memory).unwrap();
    assert_eq!((again, directory.owner().life), (memory.clone(), 2), "it has never voted");
    directory.admit().unwrap();
    drop(directory);
    for _ in 0..2 {
        let (again, _lock) = enter(&disk.power_cut_with(Survival::SyncedOnly), &memory).unwrap();
        assert_eq!(again, Options { id: 4, ..memory.clone() });
        assert!(!again.votes());
    }
    assert_eq!(differing(enter(&disk, &Options::new(3, 2)).map(drop)), "id 1 2");
}

#[test]
fn a_journal_cannot_be_begun_or_left_out_later() {
    let (with, without) = (disk(1), disk(2));
    open_as(&with, &options()).unwrap();
    let memory = Options::new(3, 1);
    assert_eq!(differing(enter(&with, &memory).map(drop)), "durability fsync memory");
    enter(&without, &memory).map(drop).unwrap();
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
    assert!(!disk.paths().iter().any(|path| path == "CONTROL"));
}

#[test]
fn the_log_of_something_else_is_refused() {
    let disk = disk(1);
    let (log, _) = Log::open(Arc::new(disk.clone()), small()).unwrap();
    log.append(1, b"a transaction", wal::Durability::Fsync).unwrap();
    log.close().unwrap();
    drop(log);
    assert!(matches!(open_as(&disk, &options()), Err(JournalError::NotAJournal)));
    assert!(matches!(enter(&disk, &Options::new(3, 1)).map(drop), Err(JournalError::NotAJournal)));
}

#[test]
fn a_damaged_resident_is_refused_whatever_bit_it_is() {
    let disk = disk(1);
    open_as(&disk, &options()).unwrap();
    let bytes = disk.contents("REPLICA").unwrap();
    for bit in 0..bytes.len() * 8 {
        let disk = disk.copy();
        disk.flip_bit("REPLICA", bit as u64 / 8, bit as u8 % 8);
        let refused = open_as(&disk, &options()).unwrap_err();
        assert!(
            matches!(refused, JournalError::BadOwnerFile | JournalError::NewerOwnerFile { .. }),
            "bit {bit}: {refused}"
        );
    }
    for length in 0..bytes.len() {
        let disk = disk.copy();
        disk.edit("REPLICA", |bytes| bytes.truncate(length));
        assert!(matches!(open_as(&disk, &options()), Err(JournalError::BadOwnerFile)), "{length}");
    }
}
