//! Where the images of a replica are.

use super::{FileName, Image, ImageFile, ImageWriter, PREFIX, name_of};
use env::{Disk, DiskError};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The longest snapshot, in bytes, of a replica with a data directory.
pub const MAX_IMAGE_BYTES: u64 = 64 << 30;

/// The longest snapshot, in bytes, of a replica without one: it holds its snapshots in memory.
pub const MAX_MEMORY_IMAGE_BYTES: u64 = 2 << 30;

/// Bytes of an image that is not worth a file.
const SHORT_BYTES: u64 = 256 << 10;

/// Makes images: in files of a data directory, or in memory.
#[derive(Clone, Debug)]
pub struct ImageStore {
    place: Option<Arc<Place>>,
    /// Longer images are in files, if there is a directory.
    short_bytes: u64,
}

/// The root of a data directory.
#[derive(Debug)]
pub(super) struct Place {
    disk: Arc<dyn Disk>,
    /// The number of the next file.
    next: AtomicU64,
}

impl ImageStore {
    /// All images are in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { place: None, short_bytes: SHORT_BYTES }
    }

    /// Images are in the root of `disk`; those with a number in `needed` are left there, all others removed.
    ///
    /// # Errors
    /// The disk fails.
    pub(crate) fn open(disk: Arc<dyn Disk>, needed: &BTreeSet<u64>) -> Result<Self, DiskError> {
        let (mut next, mut removed) = (1, false);
        for name in disk.list("")? {
            let Some(number) = name.strip_prefix(PREFIX).and_then(|number| number.parse::<u64>().ok()) else {
                continue;
            };
            next = next.max(number.saturating_add(1));
            if !needed.contains(&number) && name == name_of(number) {
                disk.remove(&name)?;
                removed = true;
            }
        }
        if removed {
            disk.sync_dir("")?;
        }
        Ok(Self { place: Some(Arc::new(Place { disk, next: AtomicU64::new(next) })), short_bytes: SHORT_BYTES })
    }

    /// The same store, with images longer than this in files.
    #[must_use]
    pub fn with_short_bytes(self, short_bytes: u64) -> Self {
        Self { short_bytes, ..self }
    }

    /// The longest image, in bytes.
    #[must_use]
    pub fn limit(&self) -> u64 {
        if self.place.is_some() { MAX_IMAGE_BYTES } else { MAX_MEMORY_IMAGE_BYTES }
    }

    /// Returns whether an image of this length is in a file.
    #[must_use]
    pub fn is_long(&self, bytes: u64) -> bool {
        self.place(bytes).is_some()
    }

    /// Begins an image.
    #[must_use]
    pub fn writer(&self) -> ImageWriter {
        ImageWriter::new(self.clone())
    }

    /// Where an image of so many bytes is. `None`: in memory.
    pub(super) fn place(&self, bytes: u64) -> Option<&Arc<Place>> {
        self.place.as_ref().filter(|_| bytes > self.short_bytes)
    }

    /// The image in a file that a record names. `None`: there is no such file, or not of this length.
    pub(crate) fn find(&self, name: FileName) -> Result<Option<Image>, DiskError> {
        let Some(place) = &self.place else { return Ok(None) };
        let file = match place.disk.open(&name_of(name.number)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if file.len()? != name.length {
            return Ok(None);
        }
        let (disk, is_kept) = (Arc::clone(&place.disk), AtomicBool::new(true));
        let file = ImageFile { disk, number: name.number, file, checksum: name.checksum, is_kept };
        Ok(Some(Image::in_file(name.length, file)))
    }
}

impl Place {
    /// A new file, with a number that no other has had since the opening.
    pub(super) fn create(&self) -> Result<ImageFile, DiskError> {
        // Publishes nothing: numbers only differ.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let file = self.disk.create_new(&name_of(number))?;
        let (disk, is_kept) = (Arc::clone(&self.disk), AtomicBool::new(false));
        Ok(ImageFile { disk, number, file, checksum: 0, is_kept })
    }

    /// Makes the names of files durable.
    pub(super) fn sync_names(&self) -> Result<(), DiskError> {
        self.disk.sync_dir("")
    }
}
