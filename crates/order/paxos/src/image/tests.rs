//! Images in memory and in files: their bytes come back, and their files stay as long as somebody needs them.

use super::*;
use env::disk::Fault;
use env::{Operation, SimDisk, SimDiskOptions, Survival};
use std::io::{ErrorKind, Write};

fn disk() -> SimDisk {
    SimDisk::new(1, SimDiskOptions { short_reads: true, ..SimDiskOptions::default() })
}

fn open(disk: &SimDisk, needed: &[u64]) -> ImageStore {
    let needed = needed.iter().copied().collect();
    ImageStore::open(Arc::new(disk.clone()), &needed).expect("the disk works").with_short_bytes(10)
}

fn state(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place % 251) as u8).collect()
}

fn write(store: &ImageStore, state: &[u8]) -> io::Result<Image> {
    let mut writer = store.writer();
    // In pieces that end nowhere in particular.
    for piece in state.chunks(100_003) {
        writer.write_all(piece)?;
    }
    assert_eq!(writer.written(), state.len() as u64);
    writer.finish()
}

fn files(disk: &SimDisk) -> Vec<String> {
    disk.list("").expect("the disk works")
}

#[test]
fn an_image_is_what_was_written_wherever_it_is() {
    let disk = disk();
    for store in [ImageStore::in_memory(), open(&disk, &[])] {
        for length in [0, 1, 10, 11, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 20 * PART_BYTES + 7] {
            let state = state(length);
            let image = write(&store, &state).expect("it is taken");
            let is_long = length > 10 && store.limit() == MAX_IMAGE_BYTES;
            assert_eq!(image.file().is_some(), is_long, "{length}");
            assert_eq!(image.len(), length as u64);
            assert_eq!(image.to_vec().expect("it is read"), state);
            assert_eq!(image, Image::from(state), "equal bytes, equal images");
            let mut other = self::state(length);
            let Some(last) = other.last_mut() else { continue };
            *last ^= 1;
            assert_ne!(image, Image::from(other));
        }
    }
}

#[test]
fn a_file_goes_with_its_last_image_unless_it_is_kept() {
    let disk = disk();
    let store = open(&disk, &[]);
    drop(store.writer());
    let mut unfinished = store.writer();
    unfinished.write_all(&state(2 * PART_BYTES)).expect("the disk takes it");
    assert_eq!(files(&disk), [name_of(1)]);
    drop(unfinished);
    assert_eq!(files(&disk), [] as [String; 0]);
    let image = write(&store, &state(99)).expect("the disk takes it");
    let copy = image.clone();
    drop(image);
    assert_eq!(files(&disk), [name_of(2)]);
    copy.keep(true);
    copy.keep(false);
    drop(copy);
    assert_eq!(files(&disk), [] as [String; 0]);
    let kept = write(&store, &state(99)).expect("the disk takes it");
    kept.keep(true);
    drop(kept);
    assert_eq!(files(&disk), [name_of(3)]);
}

#[test]
fn an_image_survives_the_power_and_what_nobody_needs_is_removed_after_it() {
    let disk = disk();
    let store = open(&disk, &[]);
    let images = [99, 3 * PART_BYTES].map(|length| write(&store, &state(length)).expect("the disk takes it"));
    let name = images[1].file().expect("in a file");
    let cut = disk.power_cut_with(Survival::SyncedOnly);
    assert_eq!(files(&cut), [name_of(1), name_of(2)], "I1");
    let store = open(&cut, &[name.number]);
    assert_eq!(files(&cut), [name.file()]);
    let found = store.find(name).expect("the disk works").expect("it is there");
    assert_eq!(found, images[1]);
    assert_eq!(store.find(FileName { number: 1, ..name }).expect("the disk works"), None, "it is gone");
    assert_eq!(store.find(FileName { length: 5, ..name }).expect("the disk works"), None, "it is another");
    drop(found);
    assert_eq!(files(&cut), [name.file()], "what was found is kept");
    assert_eq!(write(&store, &state(99)).expect("the disk takes it").file().expect("in a file").number, 3);
}

#[test]
fn damage_is_noticed_by_whoever_reads_to_the_end() {
    let disk = disk();
    let image = write(&open(&disk, &[]), &state(2 * PART_BYTES)).expect("the disk takes it");
    let file = disk.open(&name_of(1)).expect("it is there");
    file.write_at(7, &[99]).expect("the disk takes it");
    assert_eq!(image.to_vec().expect_err("a byte is another").kind(), ErrorKind::InvalidData);
    assert_ne!(image, Image::from(state(2 * PART_BYTES)));
    file.write_at(7, &[7]).expect("the disk takes it");
    assert_eq!(image.to_vec().expect("it is mended"), state(2 * PART_BYTES));
    file.truncate(100).expect("the disk takes it");
    assert_eq!(image.to_vec().expect_err("it is cut off").kind(), ErrorKind::InvalidData);
}

#[test]
fn a_disk_that_fails_leaves_no_image() {
    for (operation, kind) in [
        (Operation::Create, ErrorKind::StorageFull),
        (Operation::Write, ErrorKind::StorageFull),
        (Operation::Sync, ErrorKind::Other),
        (Operation::SyncDirectory, ErrorKind::Other),
    ] {
        let disk = disk();
        let store = open(&disk, &[]);
        disk.inject(Fault { operation, after: 0, kind });
        assert_eq!(write(&store, &state(3 * PART_BYTES)).expect_err("the disk fails").kind(), kind);
        // A file whose creation failed may be there still.
        open(&disk, &[]);
        assert_eq!(files(&disk), [] as [String; 0]);
    }
}

#[test]
fn what_is_too_long_is_refused_before_it_is_written() {
    let mut writer = ImageStore::in_memory().writer();
    writer.written = MAX_MEMORY_IMAGE_BYTES - 1;
    assert_eq!(writer.write(&[0; 2]).expect_err("a byte too many").kind(), ErrorKind::FileTooLarge);
    assert_eq!(writer.write(&[0]).expect("one is left"), 1);
}
