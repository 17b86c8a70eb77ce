//! Common parts of the tests: small logs on simulated disks, and the result of recovery.
#![allow(dead_code)] // Each test file is a crate of its own and uses a part.

use env::{Disk, DurableWrites, SimDisk, SimDiskOptions};
use seriatim_wal::{Driver, Durability, Log, LogError, LogOptions, LogPosition, RecoveryReport};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limits so small that segments switch all the time, and no thread: everything follows from the calls.
pub fn small() -> LogOptions {
    LogOptions {
        segment_bytes: 1024,
        part_bytes: 64,
        buffer_bytes: 1024,
        driver: Driver::Caller,
        ..LogOptions::default()
    }
}

/// An empty disk.
pub fn new_disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, SimDiskOptions::default())
}

/// Ways in which a disk writes durably. Each has operations, and so faults and cuts, of its own.
pub const WAYS: [DurableWrites; 3] = [DurableWrites::Sync, DurableWrites::OneCall, DurableWrites::Direct];

/// An empty disk that writes so.
pub fn new_disk_that(seed: u64, durable_writes: DurableWrites) -> SimDisk {
    SimDisk::new(seed, SimDiskOptions { durable_writes, ..SimDiskOptions::default() })
}

/// The disk as the log wants it.
pub fn shared(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// A record that says which one it is and is recognizable as a whole: `length` bytes, at least eight.
pub fn payload(number: u64, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|index| (number as usize * 31 + index) as u8).collect();
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// Everything that recovery hands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Bound and rows of the checkpoint.
    pub checkpoint: Option<(u64, Vec<Vec<u8>>)>,
    /// Stamp and payload of each record, large ones put together again.
    pub records: Vec<(u64, Vec<u8>)>,
    /// Report of recovery.
    pub report: RecoveryReport,
}

/// Opens the log and reads all that recovery hands out.
pub fn open_with(disk: &SimDisk, options: LogOptions) -> Result<(Log, Content), LogError> {
    let (log, mut recovered) = Log::open(shared(disk), options)?;
    let checkpoint = match &mut recovered.checkpoint {
        None => None,
        Some(reader) => {
            let mut rows = Vec::new();
            while let Some(row) = reader.next_row()? {
                rows.push(row.to_vec());
            }
            assert_eq!(rows.len() as u64, reader.info().rows);
            Some((reader.info().bound, rows))
        }
    };
    let (mut records, mut begun) = (Vec::new(), BTreeMap::<LogPosition, Vec<u8>>::new());
    while let Some(record) = recovered.records.next_record()? {
        let mut payload = begun.remove(&record.position).unwrap_or_default();
        payload.extend_from_slice(record.payload);
        match record.is_end {
            true => records.push((record.stamp, payload)),
            false => drop(begun.insert(record.position, payload)),
        }
    }
    assert!(begun.is_empty(), "no large record is handed out in part");
    assert_eq!(records.len() as u64, recovered.report.records);
    let max_stamp = records.iter().map(|record| record.0).max().unwrap_or(0);
    assert!(recovered.report.max_stamp >= max_stamp, "unfinished records have stamps, too");
    Ok((log, Content { checkpoint, records, report: recovered.report }))
}

/// The same with small limits.
pub fn open(disk: &SimDisk) -> Result<(Log, Content), LogError> {
    open_with(disk, small())
}

/// Appends and waits.
pub fn commit(log: &Log, stamp: u64, payload: &[u8]) -> Result<(), LogError> {
    let position = log.append(stamp, payload, Durability::Fsync)?;
    log.wait_durable(position)
}

/// Acknowledgements given to a workload so far: every recovery is checked against them.
#[derive(Clone, Debug, Default)]
pub struct Acknowledged {
    /// Stamps of appended records, in log order: 0, 1, 2, ...
    pub appended: u64,
    /// So many of them were acknowledged as durable.
    pub durable: u64,
    /// The ceiling that was acknowledged.
    pub ceiling: u64,
}

impl Acknowledged {
    /// Checks that the content is a prefix of what was appended and holds all that was acknowledged. The records' payloads
    /// follow from their stamps; the checkpoint holds all below its bound.
    pub fn check(&self, content: &Content) -> u64 {
        let bound = content.checkpoint.as_ref().map_or(0, |(bound, _)| *bound);
        if let Some((_, rows)) = &content.checkpoint {
            let expected: Vec<_> = (0..bound).map(|number| payload(number, length(number))).collect();
            assert_eq!(rows, &expected, "the checkpoint is complete");
        }
        let later = content.records.iter().filter(|record| record.0 >= bound);
        let mut count = bound;
        for (stamp, bytes) in later {
            assert_eq!(*stamp, count, "records come without gaps");
            assert_eq!(bytes, &payload(count, length(count)));
            count += 1;
        }
        assert!(count <= self.appended, "{count} records recovered, {} appended", self.appended);
        assert!(count >= self.durable, "{count} records recovered, {} acknowledged", self.durable);
        assert!(content.report.ceiling >= self.ceiling, "the ceiling {} was acknowledged", self.ceiling);
        count
    }

    /// Appends the next record.
    pub fn append(&mut self, log: &Log, durability: Durability) -> Result<(), LogError> {
        log.append(self.appended, &payload(self.appended, length(self.appended)), durability)?;
        self.appended += 1;
        Ok(())
    }

    /// Appends the next record in parts, and the one before it between them. One more is begun and never finished.
    pub fn append_large(&mut self, log: &Log, durability: Durability) -> Result<(), LogError> {
        let number = self.appended + 1;
        let bytes = payload(number, length(number));
        let mut parts: Vec<&[u8]> = bytes.chunks(40).collect();
        let last = parts.pop().expect("a payload is not empty");
        let mut record = log.begin_large(number, bytes.len() as u64, 40)?;
        let mut unfinished = log.begin_large(number, 48, 16)?;
        for part in parts {
            record.append(part)?;
            unfinished.append(&[0xAB; 16])?;
            if self.appended + 1 == number {
                self.append(log, durability)?;
            }
        }
        drop(unfinished);
        if self.appended < number {
            self.append(log, durability)?;
        }
        record.finish(last, durability)?;
        self.appended += 1;
        Ok(())
    }

    /// Waits for all that was appended.
    pub fn flush(&mut self, log: &Log) -> Result<(), LogError> {
        log.flush()?;
        self.durable = self.appended;
        Ok(())
    }

    /// Raises the ceiling.
    pub fn raise(&mut self, log: &Log, ceiling: u64) -> Result<(), LogError> {
        log.raise_ceiling(ceiling)?;
        self.ceiling = self.ceiling.max(ceiling);
        Ok(())
    }

    /// Writes a checkpoint of everything.
    pub fn checkpoint(&mut self, log: &Log) -> Result<(), LogError> {
        let bound = self.appended;
        let mut writer = log.begin_checkpoint()?;
        for number in 0..bound {
            writer.write(&payload(number, length(number)))?;
        }
        writer.finish(bound, LogPosition::ZERO)?;
        self.durable = self.durable.max(bound);
        Ok(())
    }
}

/// Bytes of a record of a workload: some small, some large against a segment.
pub fn length(number: u64) -> usize {
    8 + (number as usize * 37) % 150
}
