//! Random numbers and the time, for bodies that may run more than once.

use crate::{Decoder, Malformed};

/// Draws of a body: fixed when its transaction begins, so that every run of the body draws the same, on every replica and after
/// a restart. A body takes neither random numbers nor the time from anywhere else.
///
/// A few bytes stand for all draws: numbers follow from a seed, and the time is one for the whole transaction, as `now()` in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    seed: u64,
    now: i64,
    drawn: u64,
}

impl Draws {
    /// Draws that follow from `seed`, at `now`: microseconds since 1970-01-01T00:00:00Z.
    pub fn new(seed: u64, now: i64) -> Draws {
        Draws { seed, now, drawn: 0 }
    }

    /// The next random number, uniform over all values. Not for secrets.
    /// Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014 (SplitMix64).
    pub fn number(&mut self) -> u64 {
        self.drawn += 1;
        let mut z = self.seed.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random number below `bound`; zero for a bound of zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// The transaction's time: microseconds since 1970-01-01T00:00:00Z, the same for every call.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// The same draws from the beginning, for the next run.
    pub fn restarted(self) -> Draws {
        Draws { drawn: 0, ..self }
    }

    /// Appends what determines all draws: 16 bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        codec::put_u64(out, self.seed);
        codec::put_u64(out, self.now as u64);
    }

    /// Reads what [`Draws::encode`] wrote: the draws from the beginning.
    ///
    /// # Errors
    /// [`Malformed`] with fewer than 16 bytes.
    pub fn decode(from: &mut Decoder<'_>) -> Result<Draws, Malformed> {
        let seed = from.u64()?;
        Ok(Draws::new(seed, from.u64()? as i64))
    }
}
