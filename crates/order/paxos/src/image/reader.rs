//! Reading an image from its beginning.

use super::{Content, Image, ImageFile, PART_BYTES, name_of};
use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::Arc;

/// Reads an image, a part of it in memory at a time.
pub struct ImageReader {
    image: Image,
    /// Position of the next part.
    next: u64,
    /// CRC32C of the parts of a file so far.
    checksum: u32,
    /// The part of a file at hand.
    part: Vec<u8>,
    /// Length of the part at hand, and the bytes of it that were consumed.
    length: usize,
    consumed: usize,
}

impl fmt::Debug for ImageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageReader({:?}, {} bytes read)", self.image, self.position())
    }
}

impl ImageReader {
    pub(super) fn new(image: Image) -> Self {
        Self { image, next: 0, checksum: 0, part: Vec::new(), length: 0, consumed: 0 }
    }

    /// Length of the image, in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.image.length
    }

    /// Bytes that were consumed.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.next - (self.length - self.consumed) as u64
    }

    fn next_part(&mut self) -> io::Result<()> {
        let left = self.image.length - self.next;
        self.length = usize::try_from(left).unwrap_or(usize::MAX).min(PART_BYTES);
        self.consumed = 0;
        if let Content::File(file) = &self.image.content {
            let file = Arc::clone(file);
            self.read_part(&file).inspect_err(|_| self.length = 0)?;
        }
        self.next += self.length as u64;
        Ok(())
    }

    fn read_part(&mut self, file: &ImageFile) -> io::Result<()> {
        self.part.resize(self.length, 0);
        let count = file.read_full_at(self.next, &mut self.part);
        let count = count.map_err(|error| io::Error::new(error.kind(), error))?;
        self.checksum = crc32c::crc32c_append(self.checksum, &self.part);
        let is_last = self.next + self.length as u64 == self.image.length;
        if count < self.length || is_last && self.checksum != file.checksum {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("the snapshot {} is damaged: it does not match its length and checksum", name_of(file.number)),
            ));
        }
        Ok(())
    }
}

impl BufRead for ImageReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed == self.length && self.next < self.image.length {
            self.next_part()?;
        }
        let part: &[u8] = match &self.image.content {
            Content::File(_) => &self.part,
            Content::Memory(parts) => {
                // All parts but the last one have the same length; before the first, nothing is at hand.
                let index = (self.next - self.length as u64) / PART_BYTES as u64;
                parts.get(usize::try_from(index).unwrap_or(usize::MAX)).map_or(&[], |part| part)
            }
        };
        Ok(part.get(self.consumed..self.length).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.consumed = self.length.min(self.consumed + count);
    }
}

impl Read for ImageReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let part = self.fill_buf()?;
        let count = part.len().min(out.len());
        out[..count].copy_from_slice(&part[..count]);
        self.consume(count);
        Ok(count)
    }
}
