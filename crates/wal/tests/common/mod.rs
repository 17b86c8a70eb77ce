//! What the tests share: small logs on simulated disks, and what recovery reads back.
#![allow(dead_code)] // Each test file is a crate of its own and uses a part.

use env::{Disk, SimDisk, SimDiskOptions};
use seriatim_wal::{Driver, Durability, Log, LogError, LogOptions, RecoveryReport};
use std::sync::Arc;

/// Limits so small that segments switch all the time, and no thread: everything follows from the calls.
pub fn small() -> LogOptions {
    LogOptions { segment_bytes: 1024, buffer_bytes: 1024, driver: Driver::Caller, ..LogOptions::default() }
}

/// An empty disk.
pub fn new_disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, SimDiskOptions::default())
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
    /// Stamp and payload of each record.
    pub records: Vec<(u64, Vec<u8>)>,
    /// What recovery said.
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
    let mut records = Vec::new();
    while let Some(record) = recovered.records.next_record()? {
        records.push((record.stamp, record.payload.to_vec()));
    }
    assert_eq!(records.len() as u64, recovered.report.records);
    assert_eq!(recovered.report.max_stamp, records.iter().map(|record| record.0).max().unwrap_or(0));
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
