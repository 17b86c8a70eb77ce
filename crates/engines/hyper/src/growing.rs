//! Arrays that grow without moving what is in them: read without a latch.

use parts::sync::OnceLock;

/// Places of the first chunk; each further one has twice as many. One: most tables have one block.
const FIRST_CHUNK: usize = 1;
/// Chunks: enough for all numbers.
const CHUNKS: usize = 33;

/// Values by numbers, each set once.
#[derive(Debug)]
pub(crate) struct Growing<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
}

impl<T> Default for Growing<T> {
    fn default() -> Growing<T> {
        Growing { chunks: [const { OnceLock::new() }; CHUNKS] }
    }
}

impl<T> Growing<T> {
    /// Sets the value of a number. Returns the bytes that the array has grown by.
    ///
    /// # Panics
    /// If it is set.
    pub fn set(&self, number: u32, value: T) -> usize {
        let (chunk, at) = position(number);
        let mut grown = 0;
        let values = self.chunks[chunk].get_or_init(|| {
            let places = FIRST_CHUNK << chunk;
            grown = places * size_of::<OnceLock<T>>();
            (0..places).map(|_| OnceLock::new()).collect()
        });
        assert!(values[at].set(value).is_ok(), "numbers are given once");
        grown
    }

    /// The value of a number; `None` if it is not set, or is being set.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (chunk, at) = position(number);
        self.chunks[chunk].get()?[at].get()
    }
}

impl<T> Growing<T> {
    /// Shows the values that are set, by number.
    pub fn each(&self, mut visit: impl FnMut(u32, &T)) {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        let places = chunks.flat_map(|chunk| chunk.iter());
        (0..).zip(places).for_each(|(number, place)| {
            if let Some(value) = place.get() {
                visit(number, value);
            }
        });
    }

    /// Returns the bytes that the array takes.
    pub fn bytes(&self) -> usize {
        self.chunks.iter().filter_map(OnceLock::get).map(|chunk| size_of_val(&**chunk)).sum()
    }
}

/// Chunk of a number, and position in it.
#[inline]
fn position(number: u32) -> (usize, usize) {
    let shifted = number as usize / FIRST_CHUNK + 1;
    let chunk = shifted.ilog2() as usize;
    (chunk, number as usize - FIRST_CHUNK * ((1 << chunk) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_places_of_their_own() {
        let mut seen = std::collections::BTreeSet::new();
        for number in (0..10_000).chain(u32::MAX - 10..=u32::MAX) {
            let (chunk, at) = position(number);
            assert!(chunk < CHUNKS && at < FIRST_CHUNK << chunk, "{number} in chunk {chunk} at {at}");
            assert!(seen.insert((chunk, at)), "{number}");
        }
    }

    #[test]
    fn what_is_set_is_found() {
        let growing = Growing::default();
        let grown: usize = (0..100).map(|number| growing.set(number, number)).sum();
        assert_eq!(grown, 127 * size_of::<OnceLock<u32>>(), "seven chunks, of which the last has 64 places");
        assert!((0..100).all(|number| growing.get(number) == Some(&number)));
        assert_eq!((growing.get(100), growing.get(u32::MAX)), (None, None));
    }
}
