//! Snapshots with a checksum at their end, written and read piece by piece.

use crate::service::BadSnapshot;
use paxos::core::Image;
use paxos::image::{ImageReader, ImageWriter};
use std::io::{self, BufRead, Read, Write};

const CHECKSUM_BYTES: u64 = 4;

/// Writes an image, and CRC32C of all its bytes behind them.
pub(super) struct Checksummed {
    out: ImageWriter,
    checksum: u32,
}

impl Checksummed {
    pub(super) fn new(out: ImageWriter) -> Self {
        Self { out, checksum: 0 }
    }

    pub(super) fn finish(mut self) -> io::Result<Image> {
        let checksum = self.checksum;
        self.out.write_all(&checksum.to_le_bytes())?;
        self.out.finish()
    }
}

impl Write for Checksummed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.checksum = crc32c::crc32c_append(self.checksum, &bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads an image up to its checksum.
pub(super) struct CheckedReader {
    input: ImageReader,
    checksum: u32,
}

impl CheckedReader {
    pub(super) fn new(image: &Image) -> Result<Self, BadSnapshot> {
        if image.len() < CHECKSUM_BYTES {
            return Err(BadSnapshot("it is too short".into()));
        }
        Ok(Self { input: image.reader(), checksum: 0 })
    }

    /// Bytes before the checksum that were not consumed.
    fn left(&self) -> u64 {
        self.input.total() - CHECKSUM_BYTES - self.input.position()
    }

    /// Checks that everything was read, and was what was written.
    pub(super) fn finish(mut self) -> Result<(), BadSnapshot> {
        if self.left() > 0 {
            return Err(BadSnapshot(format!("{} bytes are left behind the service's state", self.left())));
        }
        let mut checksum = [0; CHECKSUM_BYTES as usize];
        self.input.read_exact(&mut checksum)?;
        if checksum != self.checksum.to_le_bytes() {
            return Err(BadSnapshot("it does not match its checksum".into()));
        }
        Ok(())
    }
}

impl BufRead for CheckedReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(&[]);
        }
        let part = self.input.fill_buf()?;
        Ok(&part[..part.len().min(left)])
    }

    fn consume(&mut self, count: usize) {
        // What was filled is at hand still.
        if let Ok(part) = self.input.fill_buf() {
            let count = count.min(part.len());
            self.checksum = crc32c::crc32c_append(self.checksum, &part[..count]);
            self.input.consume(count);
        }
    }
}

impl Read for CheckedReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let part = self.fill_buf()?;
        let count = part.len().min(out.len());
        out[..count].copy_from_slice(&part[..count]);
        self.consume(count);
        Ok(count)
    }
}
