//! The journal: the state that a replica must not lose, on disk before a message reveals it (P8, P10).
//!
//! The core's records are payloads of a redo log ([`wal`]); all that was appended since the last fdatasync becomes durable with the
//! next one. When the journal has grown long, the core's checkpoint (records that stand for all records so far) is written as the
//! log's checkpoint, and the log drops the segments that only it needed.
//!
//! ```text
//!  append ──► log: [Vote 1 0 ..] [Vote 1 1 ..] [Decided 1 0] ... ──► fdatasync ──► callback: durable up to the record 3
//!  compact 3 ──► CHECKPOINT: [Install 0 ..] [Ballot 1] ...            (a thread of its own; the log goes on)
//!  open ──► the checkpoint's records, then the log's from the fourth on
//! ```
//!
//! Invariants:
//! - J1 Recovered records are a prefix of what was appended, at least as long as what was reported durable; the records that a
//!   compaction replaced stand at its beginning as their replacement. (`tests.rs`: the power goes at every change of the disk)
//! - J2 The stamp of a record in the log is its number in this life after those of the lives before: it never decreases, so a
//!   checkpoint's bound splits the records exactly.
//! - J3 A record longer than the log takes is cut into pieces; a record of which pieces are missing at the end was never durable.
//! - J4 A directory belongs to one replica of one cluster for ever ([`DirectoryOwner`]): promises of another are never taken for one's own.
//! - J5 The number of a replica's life is greater than that of any life before, and durable before it says its first word.
//! - J6 The file of the newest snapshot or installation that is durable as a record stays, and those of newer ones; the files of older
//!   ones go when a newer one is durable. So a recovery finds the file that it needs, whatever prefix of the records it finds.

mod compaction;
mod directory_owner;
mod error;
mod files;
mod pieces;
mod record;
#[cfg(test)]
mod tests;

use crate::config::Options;
use crate::core::Record;
use crate::image::ImageStore;
use compaction::Compactor;
use directory_owner::UnopenedDirectory;
use env::Disk;
use files::{Files, RecoveredRecords};
use pieces::{Assembly, Pieces};
use std::sync::Arc;
use wal::{Durability, Log, LogOptions, LogPosition, Recovered, RecoveryReport};

pub use compaction::Compactions;
pub use directory_owner::{DirectoryOwner, OwnedDirectory, enter_without_journal};
pub use error::JournalError;

/// The journal of a running replica. Its records are numbered 1, 2, 3, ... from its opening on, as
/// [`Effect::Journal`](crate::replica::Effect::Journal) counts them.
///
/// Dropped without [`close`](Self::close), it ends like a crash: what was not durable is lost.
#[derive(Debug)]
pub struct Journal {
    /// Dropped first, so that no compaction outlives the log.
    compactor: Compactor,
    log: Arc<Log>,
    report: RecoveryReport,
    directory: Arc<OwnedDirectory>,
    images: ImageStore,
    files: Files,
    /// The greatest stamp of all lives before.
    base: u64,
    /// Records appended in this life.
    appended: u64,
    /// End of the last of them in the log.
    position: LogPosition,
    pieces: Pieces,
    /// The failure after which nothing can be appended: the core is ahead of the journal.
    failed: Option<JournalError>,
}

impl Journal {
    /// Opens the journal in the root of `disk`, which is made if there is none and is known by the name `birth` then, begins the next life
    /// there, and returns the records to recover from.
    ///
    /// # Errors
    /// The directory belongs to somebody else ([`JournalError::ForeignDirectory`]), has lost its log, is damaged below what was
    /// durable, was written by a newer version, is in use, or the disk fails.
    pub fn open(
        disk: Arc<dyn Disk>,
        options: &Options,
        log: LogOptions,
        birth: u64,
    ) -> Result<(Self, Vec<Record>), JournalError> {
        let unopened = UnopenedDirectory::find(Arc::clone(&disk), options, birth)?;
        let driver = log.driver;
        let (log, mut recovered) = Log::open(Arc::clone(&disk), log)?;
        // A directory has an owner before it has its first record: else this is another database's log.
        if !unopened.is_known && (recovered.report.records > 0 || recovered.checkpoint.is_some()) {
            return Err(JournalError::NotAJournal);
        }
        let directory = Arc::new(unopened.enter()?);
        let (found, base) = recover(&mut recovered)?;
        let images = ImageStore::open(disk, &found.numbers())?;
        let (records, files) = found.with_files(&images)?;
        let log = Arc::new(log);
        let position = log.appended();
        let compactor = Compactor::start(Arc::clone(&log), driver)?;
        let pieces = Pieces::new(log.max_payload());
        let report = recovered.report;
        let journal = Self {
            compactor,
            log,
            report,
            directory,
            images,
            files,
            base,
            appended: 0,
            position,
            pieces,
            failed: None,
        };
        Ok((journal, records))
    }

    /// Appends a record and returns its number. It is durable only when [`sync`](Self::sync) or a callback of
    /// [`on_durable`](Self::on_durable) says so. Waits if the disk does not keep up.
    ///
    /// # Errors
    /// The log is full, fails or has failed: no record is taken from then on, and the replica must stop.
    pub fn append(&mut self, record: &Record) -> Result<u64, JournalError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let stamp = self.base + self.appended + 1;
        let (log, position) = (&self.log, &mut self.position);
        let appended = self.pieces.cut(record, |piece| {
            *position = log.append(stamp, piece, Durability::Fsync)?;
            Ok(())
        });
        match appended {
            Ok(()) => {
                self.appended += 1;
                self.files.appended(self.appended, record);
                Ok(self.appended)
            }
            Err(error) => Err(self.failed.insert(error).clone()),
        }
    }

    /// Returns the number of records appended since the opening.
    #[must_use]
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Waits until all that was appended is durable and returns the number of the last record.
    ///
    /// # Errors
    /// The disk fails or has failed: what is durable is unknown until the next opening.
    pub fn sync(&self) -> Result<u64, JournalError> {
        self.log.wait_durable(self.position)?;
        Ok(self.appended)
    }

    /// Calls `callback` once, when all that was appended so far is durable or never will be: on the log's thread, or on this one if it
    /// is known already. It must be short and must not panic. One call serves all records appended before it.
    pub fn on_durable(&self, callback: impl FnOnce(Result<u64, JournalError>) + Send + 'static) {
        let number = self.appended;
        let callback = move |durable: Result<(), _>| callback(durable.map(|()| number).map_err(JournalError::from));
        self.log.on_durable(self.position, Box::new(callback));
    }

    /// Records up to this one are durable, as [`sync`](Self::sync) or a callback said: snapshots that a newer one among them replaces are
    /// removed (J6).
    pub fn settle(&mut self, number: u64) {
        self.files.durable(number);
    }

    /// Where snapshots for this journal's records are written.
    #[must_use]
    pub fn images(&self) -> &ImageStore {
        &self.images
    }

    /// Replaces the first `up_to` records, and all of the lives before, by `records`; later ones stay. With the log's own threads it
    /// returns at once; if an earlier compaction is still running, this one comes after it, unless a still newer one comes first.
    ///
    /// # Errors
    /// Only where the caller drives the log, and only then harmful if [`JournalError::is_fatal`]: otherwise the journal goes on, as long as
    /// it was before. What happens on the thread is told by [`compactions`](Self::compactions).
    ///
    /// # Panics
    /// If fewer than `up_to` records were appended.
    pub fn compact(&self, up_to: u64, records: Vec<Record>) -> Result<(), JournalError> {
        assert!(up_to <= self.appended, "a compaction replaces records that were appended");
        self.compactor.compact(self.base + up_to + 1, records)
    }

    /// Returns the state of the compactions.
    #[must_use]
    pub fn compactions(&self) -> Compactions {
        self.compactor.counts()
    }

    /// Returns the directory that holds the journal.
    #[must_use]
    pub fn directory(&self) -> &Arc<OwnedDirectory> {
        &self.directory
    }

    /// Records of earlier lives, all of which are durable: their numbers are below those of this one.
    #[must_use]
    pub fn records_before(&self) -> u64 {
        self.base
    }

    /// Returns the report of the recovery at the opening.
    #[must_use]
    pub fn report(&self) -> &RecoveryReport {
        &self.report
    }

    /// Figures of the log below.
    #[must_use]
    pub fn stats(&self) -> wal::LogStats {
        self.log.stats()
    }

    /// Makes everything durable and returns the directory. Waits for a running compaction.
    ///
    /// # Errors
    /// See [`sync`](Self::sync).
    pub fn close(mut self) -> Result<(), JournalError> {
        self.compactor.stop();
        Ok(self.log.close()?)
    }
}

/// The records of the checkpoint and of the log after it, and the greatest stamp.
fn recover(recovered: &mut Recovered) -> Result<(RecoveredRecords, u64), JournalError> {
    let mut records = RecoveredRecords::default();
    let mut assembly = Assembly::default();
    let mut bound = 0;
    if let Some(checkpoint) = &mut recovered.checkpoint {
        bound = checkpoint.info().bound;
        while let Some(row) = checkpoint.next_row()? {
            records.extend(assembly.add(row).map_err(|_| JournalError::BadRecord { stamp: bound.saturating_sub(1) })?);
        }
    }
    let mut base = bound.saturating_sub(1);
    while let Some(record) = recovered.records.next_record()? {
        let stamp = record.stamp;
        base = base.max(stamp);
        if stamp >= bound {
            records.extend(assembly.add(record.payload).map_err(|_| JournalError::BadRecord { stamp })?);
        }
    }
    Ok((records, base))
}
