//! Memory for the rows of a write set: chunks, so that a large set is never copied while it grows, and each chunk can be freed
//! when its rows are installed.

/// Bytes of a chunk; a longer row has one to itself.
#[cfg(not(test))]
const CHUNK: usize = 256 << 10;
#[cfg(test)]
const CHUNK: usize = 64;

/// Rows by their places.
#[derive(Debug, Default)]
pub(super) struct Arena {
    /// The first grows as it is filled; the others are made whole.
    chunks: Vec<Vec<u8>>,
    /// Rows of each chunk that are still to be installed; empty before that begins, and where there is one chunk only.
    uses: Vec<u32>,
}

/// Position of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    chunk: u32,
    start: u32,
    length: u32,
}

impl Place {
    /// The row's length.
    pub fn length(self) -> usize {
        self.length as usize
    }
}

impl Arena {
    /// Adds a row, at most 4 GiB long.
    #[inline]
    pub fn add(&mut self, row: &[u8]) -> Place {
        let number = self.chunks.len();
        match self.chunks.last_mut() {
            Some(chunk) if chunk.is_empty() || chunk.len() + row.len() <= CHUNK => append(chunk, number - 1, row),
            _ => self.add_in_new_chunk(row),
        }
    }

    #[cold]
    fn add_in_new_chunk(&mut self, row: &[u8]) -> Place {
        let number = self.chunks.len();
        let capacity = if number == 0 { 0 } else { row.len().max(CHUNK) };
        append(self.chunks.push_mut(Vec::with_capacity(capacity)), number, row)
    }

    /// A row.
    #[inline]
    pub fn row(&self, Place { chunk, start, length }: Place) -> &[u8] {
        &self.chunks[chunk as usize][start as usize..][..length as usize]
    }

    /// The rows at these places, and no others, will be installed.
    pub fn begin_installing(&mut self, places: impl Iterator<Item = Place>) {
        if self.chunks.len() > 1 {
            self.uses.resize(self.chunks.len(), 0);
            places.for_each(|place| self.uses[place.chunk as usize] += 1);
        }
    }

    /// A row is installed: its chunk is given back with the last of its rows.
    pub fn installed(&mut self, place: Place) {
        if let Some(uses) = self.uses.get_mut(place.chunk as usize) {
            *uses -= 1;
            if *uses == 0 {
                self.chunks[place.chunk as usize] = Vec::new();
            }
        }
    }

    /// Returns whether no row is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chunks.first().is_none_or(Vec::is_empty) && self.chunks.len() <= 1
    }

    /// Forgets all rows, and keeps the first chunk's memory.
    pub fn clear(&mut self) {
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(Vec::clear);
        self.uses.clear();
    }

    /// Bytes that it holds.
    pub fn capacity(&self) -> usize {
        let later = self.chunks.len().saturating_sub(1) * CHUNK;
        self.chunks.first().map_or(0, Vec::capacity) + later
    }
}

fn append(chunk: &mut Vec<u8>, number: usize, row: &[u8]) -> Place {
    let start = chunk.len();
    chunk.extend_from_slice(row);
    Place { chunk: number as u32, start: start as u32, length: row.len() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_found_and_chunks_given_back() {
        let mut arena = Arena::default();
        for round in 0..3 {
            let rows: Vec<Vec<u8>> = (0..200u8).map(|n| vec![n; usize::from(n) * 7 % 150]).collect();
            let places: Vec<Place> = rows.iter().map(|row| arena.add(row)).collect();
            for (row, place) in rows.iter().zip(&places) {
                assert_eq!(arena.row(*place), row, "round {round}");
            }
            assert!(arena.capacity() >= rows.iter().map(Vec::len).sum::<usize>() / 2);
            // The odd ones were overwritten.
            arena.begin_installing(places.iter().copied().step_by(2));
            for (row, place) in rows.iter().zip(&places).step_by(2) {
                assert_eq!(arena.row(*place), row, "round {round}");
                arena.installed(*place);
            }
            assert_eq!(
                arena.chunks.iter().zip(&arena.uses).filter(|(chunk, uses)| chunk.len() > 64 && **uses > 0).count(),
                0
            );
            arena.clear();
        }
    }
}
