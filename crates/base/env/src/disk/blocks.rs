//! Writes of whole blocks at the end of what a file holds: the block in which the bytes so far end is written again, with them.
//!
//! **What is durable stays.** A block that is written again begins with the very bytes that stand in it, so whichever parts
//! of the old and of the new block a power cut leaves, those bytes are there: both have them in the same places. Behind the
//! new bytes stand zeros, as before the write.

/// Assembles the blocks. Pure.
#[derive(Debug)]
pub struct Blocks {
    /// Bytes of a block; a power of two.
    size: usize,
    /// Whole blocks begin at an address that is a multiple of their size.
    space: Vec<u8>,
    /// Offset of the file up to which `last` goes; `None` if it is not known what stands there.
    end: Option<u64>,
    /// Bytes of the block in which `end` lies, up to there.
    last: Vec<u8>,
}

/// Whole blocks, and where they belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assembled<'a> {
    /// Offset of the first.
    pub offset: u64,
    /// Their bytes.
    pub bytes: &'a [u8],
}

impl Blocks {
    /// Blocks of `size` bytes, which is a power of two.
    pub fn new(size: usize) -> Self {
        assert!(size.is_power_of_two(), "blocks are aligned to their size");
        Self { size, space: Vec::new(), end: None, last: Vec::new() }
    }

    /// Offset at which the last block of `length` bytes at `offset` ends.
    pub fn end_of(&self, offset: u64, length: usize) -> u64 {
        (offset + length as u64).next_multiple_of(self.size as u64)
    }

    /// Forgets what the last block holds: it has been written in another way, or it is not known whether it has.
    pub fn forget(&mut self) {
        self.end = None;
    }

    /// Assembles the blocks that put `bytes` at `offset`, behind which the file has zeros only; `read` fills in what stands
    /// before them in their first block, if that is not known. The caller writes them, or calls [`Self::forget`].
    ///
    /// # Errors
    /// Of `read`.
    pub fn assemble<E>(
        &mut self,
        offset: u64,
        bytes: &[u8],
        read: impl FnOnce(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<Assembled<'_>, E> {
        let head = (offset % self.size as u64) as usize;
        let start = offset - head as u64;
        if self.end.take() != Some(offset) {
            self.last.clear();
            self.last.resize(head, 0);
            read(start, &mut self.last)?;
        }
        let filled = head + bytes.len();
        let length = filled.next_multiple_of(self.size);
        let space = aligned(&mut self.space, length, self.size);
        space[..head].copy_from_slice(&self.last[..head]);
        space[head..filled].copy_from_slice(bytes);
        space[filled..].fill(0);
        let whole = filled / self.size * self.size;
        self.last.clear();
        self.last.extend_from_slice(&space[whole..filled]);
        self.end = Some(offset + bytes.len() as u64);
        Ok(Assembled { offset: start, bytes: space })
    }
}

/// The first `length` bytes of `space` at an address that is a multiple of `size`; makes room for them.
fn aligned(space: &mut Vec<u8>, length: usize, size: usize) -> &mut [u8] {
    if space.len() < length + size {
        space.resize(length + size, 0);
    }
    let skipped = space.as_ptr().align_offset(size);
    &mut space[skipped..skipped + length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Appends of any lengths, some of them by another way, leave the bytes that plain writes leave, and each write of
        /// blocks changes nothing that stood before it.
        #[test]
        fn blocks_are_the_file_with_the_new_bytes(appends in prop::collection::vec((1..200usize, any::<bool>()), 1..30)) {
            let mut blocks = Blocks::new(64);
            let (mut file, mut expected) = (vec![0; 8192], Vec::new());
            for (number, (length, is_other)) in appends.into_iter().enumerate() {
                let (offset, bytes) = (expected.len() as u64, vec![number as u8 + 1; length]);
                expected.extend_from_slice(&bytes);
                if is_other {
                    file[offset as usize..expected.len()].copy_from_slice(&bytes);
                    blocks.forget();
                    continue;
                }
                let read = |at: u64, head: &mut [u8]| {
                    head.copy_from_slice(&file[at as usize..at as usize + head.len()]);
                    Ok::<_, ()>(())
                };
                let (at, whole) = {
                    let assembled = blocks.assemble(offset, &bytes, read).unwrap();
                    prop_assert_eq!(assembled.bytes.as_ptr() as usize % 64, 0);
                    (assembled.offset as usize, assembled.bytes.to_vec())
                };
                prop_assert_eq!((at % 64, whole.len() % 64), (0, 0));
                prop_assert_eq!(&whole[..offset as usize - at], &file[at..offset as usize]);
                file[at..at + whole.len()].copy_from_slice(&whole);
                prop_assert_eq!(blocks.end_of(offset, length), (at + whole.len()) as u64);
            }
            prop_assert_eq!(&file[..expected.len()], &expected[..]);
            prop_assert!(file[expected.len()..].iter().all(|byte| *byte == 0));
        }
    }
}
