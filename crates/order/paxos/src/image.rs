//! Snapshots of the application's state: short ones in memory, long ones in files of the data directory.
//!
//! ```text
//!  application ──► ImageWriter ──► Image ──► the core, which keeps it and passes it on
//!  peer's pieces ──────┘             │
//!                                    └──► ImageReader ──► application, pieces for a peer
//! ```
//!
//! An image is a handle: cloning it copies no bytes, and who writes, reads, sends or journals one holds a piece of it in memory at a time.
//!
//! Invariants:
//! - I1 The file of an image is durable, its name too, before there is an image of it; so a record that names the file may be written.
//! - I2 A file is removed when no image of it is left, unless it is to be kept (`Image::keep`): the journal keeps those that its records
//!   need. What a crash leaves behind is removed at the next opening (`ImageStore::open`).
//! - I3 Bytes of a file that are not those written are noticed at the latest when its last byte is read: the reader fails.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use env::{Disk, DiskError, DiskFile};

mod reader;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use reader::ImageReader;
pub use store::{ImageStore, MAX_IMAGE_BYTES, MAX_MEMORY_IMAGE_BYTES};
pub use writer::ImageWriter;

/// Bytes that are in memory at a time of an image in a file, and the length of the parts of one in memory.
const PART_BYTES: usize = 256 << 10;

/// The application's state after a prefix of the log, opaque and cheap to clone.
#[derive(Clone)]
pub struct Image {
    length: u64,
    content: Content,
}

#[derive(Clone)]
enum Content {
    /// Parts of [`PART_BYTES`], the last one shorter.
    Memory(Arc<[Bytes]>),
    File(Arc<ImageFile>),
}

impl Image {
    /// The state before the first instance.
    #[must_use]
    pub fn blank() -> Self {
        Self { length: 0, content: Content::Memory(Arc::default()) }
    }

    fn in_memory(parts: Vec<Bytes>) -> Self {
        Self { length: parts.iter().map(|part| part.len() as u64).sum(), content: Content::Memory(parts.into()) }
    }

    fn in_file(length: u64, file: ImageFile) -> Self {
        Self { length, content: Content::File(Arc::new(file)) }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Returns whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads it from the beginning.
    #[must_use]
    pub fn reader(&self) -> ImageReader {
        ImageReader::new(self.clone())
    }

    /// All bytes in memory.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader().read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Its file, if it is in one.
    pub(crate) fn file(&self) -> Option<FileName> {
        match &self.content {
            Content::Memory(_) => None,
            Content::File(file) => Some(FileName { number: file.number, length: self.length, checksum: file.checksum }),
        }
    }

    /// Bytes that it takes in a record of the journal.
    pub(crate) fn record_bytes(&self) -> u64 {
        if self.file().is_some() { 0 } else { self.length }
    }

    /// From now on its file stays when no image of it is left, or (`false`) no longer does (I2).
    pub(crate) fn keep(&self, keeps: bool) {
        if let Content::File(file) = &self.content {
            // Publishes nothing: the last drop of the handle is ordered behind all others.
            file.is_kept.store(keeps, Ordering::Relaxed);
        }
    }
}

impl From<Vec<u8>> for Image {
    fn from(bytes: Vec<u8>) -> Self {
        let mut rest = Bytes::from(bytes);
        let mut parts = Vec::new();
        while !rest.is_empty() {
            parts.push(rest.split_to(rest.len().min(PART_BYTES)));
        }
        Self::in_memory(parts)
    }
}

impl From<&[u8]> for Image {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

/// Equal bytes. Reads files; what cannot be read is equal to nothing but itself.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        let are_same = match (&self.content, &other.content) {
            (Content::Memory(one), Content::Memory(other)) => Arc::ptr_eq(one, other),
            (Content::File(one), Content::File(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        are_same || self.length == other.length && has_same_bytes(self, other).unwrap_or(false)
    }
}

impl Eq for Image {}

fn has_same_bytes(one: &Image, other: &Image) -> io::Result<bool> {
    let (mut one, mut other) = (one.reader(), other.reader());
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let count = left.len().min(right.len());
        if count == 0 || left[..count] != right[..count] {
            return Ok(left.is_empty() && right.is_empty());
        }
        one.consume(count);
        other.consume(count);
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({} bytes)", self.length)
    }
}

/// What a record of the journal says of an image in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileName {
    pub(crate) number: u64,
    pub(crate) length: u64,
    /// CRC32C of its bytes.
    pub(crate) checksum: u32,
}

impl FileName {
    /// The name in the directory.
    pub(crate) fn file(self) -> String {
        name_of(self.number)
    }
}

/// The name of the file with this number.
fn name_of(number: u64) -> String {
    format!("{PREFIX}{number:010}")
}

const PREFIX: &str = "SNAPSHOT-";

/// An open file with a whole image.
struct ImageFile {
    disk: Arc<dyn Disk>,
    number: u64,
    file: Box<dyn DiskFile>,
    checksum: u32,
    /// See [`Image::keep`].
    is_kept: AtomicBool,
}

impl ImageFile {
    fn read_full_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_full_at(offset, bytes)
    }
}

impl Drop for ImageFile {
    fn drop(&mut self) {
        if !*self.is_kept.get_mut() {
            // If it stays, the next opening removes it.
            let _ = self.disk.remove(&name_of(self.number));
        }
    }
}
