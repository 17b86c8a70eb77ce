//! Texts of the slots of a block by their numbers in a dictionary of the block, where few are different.
//!
//! The dictionary only grows, and is replaced when a scan holds it: whoever has it reads it without a latch.

use super::heap::Heap;
use super::words::Words;
use model::columns::{BATCH_ROWS, Dictionary};
use std::sync::Arc;

/// The longest text in a dictionary. Unit: bytes. What is there stays when its last row goes.
const LONGEST_CODED: usize = 255;
/// Texts in a dictionary at most: as many as a batch has rows, since each batch has the dictionary, and a filter is asked for all of it.
const MOST_CODED: usize = BATCH_ROWS;

/// Texts by number.
#[derive(Debug)]
pub(crate) struct Codes {
    numbers: Words,
    dictionary: Arc<Dictionary>,
    /// Numbers of texts plus one, by hash; 0 is free. A power of two of them, twice the texts or more.
    places: Vec<u16>,
}

impl Codes {
    /// The texts of the slots that count, if each stands there twice or more, on average.
    pub fn of(heap: &Heap, counts: impl Fn(usize) -> bool) -> Option<Codes> {
        let slots = (0..heap.slots()).filter(|&slot| counts(slot));
        let most = slots.clone().count() / 2;
        let mut codes =
            Codes { numbers: Words::new(heap.slots()), dictionary: Arc::default(), places: vec![0; FIRST_PLACES] };
        for slot in slots {
            codes.set_among(slot, heap.get(slot), most)?;
        }
        (!codes.dictionary.is_empty()).then_some(codes)
    }

    /// Numbers of the texts, by slot.
    pub fn numbers(&self) -> &Words {
        &self.numbers
    }

    /// The texts by number. There is at least one.
    pub fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    /// The text of a slot.
    #[inline]
    pub fn get(&self, slot: usize) -> &[u8] {
        self.dictionary.get(self.numbers.get(slot) as usize)
    }

    /// Replaces a text. Returns whether the memory that all take may have changed; `None` if there is no room for another text.
    pub fn set(&mut self, slot: usize, text: &[u8]) -> Option<bool> {
        self.set_among(slot, text, self.numbers.slots() / 2)
    }

    /// Same as [`Codes::set`], among so many different texts at most.
    fn set_among(&mut self, slot: usize, text: &[u8], most: usize) -> Option<bool> {
        let (place, known) = self.find(text);
        if let Some(number) = known {
            return Some(self.numbers.set(slot, number as i64));
        }
        let number = self.dictionary.len();
        if number >= most.min(MOST_CODED) || text.len() > LONGEST_CODED {
            return None;
        }
        Arc::make_mut(&mut self.dictionary).push(text);
        self.places[place] = number as u16 + 1;
        if 2 * (number + 1) > self.places.len() {
            self.widen_places();
        }
        self.numbers.set(slot, number as i64);
        Some(true)
    }

    /// The place of a text, and its number if it is known.
    fn find(&self, text: &[u8]) -> (usize, Option<usize>) {
        let mask = self.places.len() - 1;
        let mut place = hash(text) as usize & mask;
        loop {
            match usize::from(self.places[place]).checked_sub(1) {
                Some(number) if self.dictionary.get(number) != text => place = (place + 1) & mask,
                known => return (place, known),
            }
        }
    }

    fn widen_places(&mut self) {
        self.places = vec![0; 2 * self.places.len()];
        for number in 0..self.dictionary.len() {
            let (place, known) = self.find(self.dictionary.get(number));
            assert!(known.is_none(), "Y11: a dictionary has each text once");
            self.places[place] = number as u16 + 1;
        }
    }

    /// Asks for the memory of a slot.
    pub fn prefetch(&self, slot: usize) {
        self.numbers.prefetch(slot);
    }

    /// Makes room for more slots.
    pub fn grow(&mut self, slots: usize) {
        self.numbers.grow(slots);
    }

    /// Returns the bytes of memory that they take.
    pub fn memory(&self) -> usize {
        let dictionary = size_of::<Dictionary>() + self.dictionary.memory();
        self.numbers.memory() + dictionary + size_of::<u16>() * self.places.capacity()
    }
}

const FIRST_PLACES: usize = 8;

/// A hash, of eight bytes at a time.
fn hash(text: &[u8]) -> u64 {
    text.chunks(8).fold(text.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let product = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ product >> 32
    })
}
