//! The files of snapshots that records name: which of them stay (J6).

use super::error::JournalError;
use super::record::Decoded;
use crate::core::{Image, Record};
use crate::image::{FileName, ImageStore};
use std::collections::{BTreeSet, VecDeque};

/// Images of the records of snapshots and installations, from the newest durable one on, each with its record's number.
#[derive(Debug, Default)]
pub(super) struct Files {
    needed: VecDeque<(u64, Image)>,
}

impl Files {
    /// A record was appended: the file of its image stays.
    pub(super) fn appended(&mut self, number: u64, record: &Record) {
        if let Record::Snapshot(_, image) | Record::Install(_, image) = record {
            image.keep(true);
            self.needed.push_back((number, image.clone()));
        }
    }

    /// Records up to this one are durable: no recovery needs the image of one before the newest of them.
    pub(super) fn durable(&mut self, number: u64) {
        while self.needed.get(1).is_some_and(|(next, _)| *next <= number) {
            if let Some((_, image)) = self.needed.pop_front() {
                // Not, if a newer record names the same file.
                image.keep(self.needed.iter().any(|(_, other)| other.file() == image.file()));
            }
        }
    }
}

/// The records of a journal, before the images in files are looked up.
#[derive(Debug, Default)]
pub(super) struct RecoveredRecords(Vec<Decoded>);

impl Extend<Decoded> for RecoveredRecords {
    fn extend<I: IntoIterator<Item = Decoded>>(&mut self, records: I) {
        self.0.extend(records);
    }
}

impl RecoveredRecords {
    /// Numbers of the files that they name.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        let named = self.0.iter().filter_map(|record| match record {
            Decoded::Whole(_) => None,
            Decoded::Snapshot(_, name) | Decoded::Install(_, name) => Some(name.number),
        });
        named.collect()
    }

    /// The records, and the files that they name. These stay until records of this life are durable: how many of the recovered ones
    /// are is the log's affair.
    ///
    /// The file of an image that a later record replaces may be gone. Then the record has no image in it, which nobody looks at: the
    /// core's recovery keeps the last one.
    pub(super) fn with_files(self, images: &ImageStore) -> Result<(Vec<Record>, Files), JournalError> {
        let mut files = Files::default();
        let last = self.0.iter().rposition(has_image);
        let mut records = Vec::with_capacity(self.0.len());
        for (place, record) in self.0.into_iter().enumerate() {
            let find = |name| find(images, name, Some(place) == last);
            let record = match record {
                Decoded::Whole(record) => record,
                Decoded::Snapshot(at, name) => Record::Snapshot(at, find(name)?),
                Decoded::Install(at, name) => Record::Install(at, find(name)?),
            };
            files.appended(0, &record);
            records.push(record);
        }
        Ok((records, files))
    }
}

fn has_image(record: &Decoded) -> bool {
    match record {
        Decoded::Whole(record) => matches!(record, Record::Snapshot(..) | Record::Install(..)),
        Decoded::Snapshot(..) | Decoded::Install(..) => true,
    }
}

fn find(images: &ImageStore, name: FileName, is_last: bool) -> Result<Image, JournalError> {
    match images.find(name)? {
        Some(image) => Ok(image),
        None if is_last => Err(JournalError::SnapshotLost { file: name.file() }),
        None => Ok(Image::blank()),
    }
}
