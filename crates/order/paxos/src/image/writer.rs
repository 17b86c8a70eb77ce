//! Writing an image, piece by piece.

use super::store::Place;
use super::{Image, ImageFile, ImageStore, PART_BYTES};
use bytes::Bytes;
use env::DiskError;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

/// Bytes of a file after which they are made durable: so no single sync, of this file or of the journal beside it, takes long.
const SYNC_BYTES: u64 = 4 << 20;

/// Writes an image. Dropped without [`finish`](Self::finish), it leaves nothing behind.
///
/// After an error it must not be used: what it has written is unknown.
pub struct ImageWriter {
    store: ImageStore,
    pub(super) written: u64,
    /// The last bytes, which are in no part yet.
    buffer: Vec<u8>,
    target: Target,
}

enum Target {
    Memory(Vec<Bytes>),
    File(OpenFile),
}

/// A file with the bytes up to the writer's buffer.
struct OpenFile {
    place: Arc<Place>,
    file: ImageFile,
    length: u64,
    synced: u64,
}

impl fmt::Debug for ImageWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageWriter({} bytes)", self.written)
    }
}

impl ImageWriter {
    pub(super) fn new(store: ImageStore) -> Self {
        Self { store, written: 0, buffer: Vec::new(), target: Target::Memory(Vec::new()) }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The image of all that was written, durable if it is in a file (I1).
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn finish(mut self) -> io::Result<Image> {
        self.move_to_file()?;
        if !self.buffer.is_empty() {
            self.put_part()?;
        }
        match self.target {
            Target::Memory(parts) => Ok(Image::in_memory(parts)),
            Target::File(open) => {
                open.file.file.sync().map_err(failed)?;
                open.place.sync_names().map_err(failed)?;
                Ok(Image::in_file(open.length, open.file))
            }
        }
    }

    /// Moves what was written to a file, if it is in memory and too long to stay there.
    fn move_to_file(&mut self) -> io::Result<()> {
        let Target::Memory(parts) = &mut self.target else { return Ok(()) };
        let Some(place) = self.store.place(self.written) else { return Ok(()) };
        let parts = std::mem::take(parts);
        let file = place.create().map_err(failed)?;
        let mut open = OpenFile { place: Arc::clone(place), file, length: 0, synced: 0 };
        parts.iter().try_for_each(|part| open.write(part))?;
        self.target = Target::File(open);
        Ok(())
    }

    /// Empties the buffer into a part.
    fn put_part(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Memory(parts) => parts.push(std::mem::take(&mut self.buffer).into()),
            Target::File(open) => {
                open.write(&self.buffer)?;
                self.buffer.clear();
            }
        }
        self.move_to_file()
    }
}

impl Write for ImageWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let limit = self.store.limit();
        if self.written + bytes.len() as u64 > limit {
            return Err(io::Error::new(ErrorKind::FileTooLarge, format!("a snapshot has at most {limit} bytes")));
        }
        let count = bytes.len().min(PART_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        self.written += count as u64;
        if self.buffer.len() == PART_BYTES {
            self.put_part()?;
        }
        Ok(count)
    }

    /// Does nothing: [`finish`](Self::finish) makes durable what was written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OpenFile {
    fn write(&mut self, part: &[u8]) -> io::Result<()> {
        self.file.file.write_at(self.length, part).map_err(failed)?;
        self.length += part.len() as u64;
        self.file.checksum = crc32c::crc32c_append(self.file.checksum, part);
        if self.length - self.synced >= SYNC_BYTES {
            self.file.file.sync().map_err(failed)?;
            self.synced = self.length;
        }
        Ok(())
    }
}

fn failed(error: DiskError) -> io::Error {
    io::Error::new(error.kind(), error)
}
