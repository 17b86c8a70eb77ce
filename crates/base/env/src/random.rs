//! Randomness: a small seeded generator, and the jittered exponential back-off of retries.
//!
//! Not for secrets: the rest can be predicted from a few outputs.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::time::Duration;

/// A xoshiro256++ generator: equal seeds give equal sequences on every machine and in every version.
///
/// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators" (2021).
#[derive(Clone, Debug)]
pub struct Randomness {
    state: [u64; 4],
}

impl Randomness {
    /// The generator that follows from `seed`; every seed is good, zero included.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut seed = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut seed)) }
    }

    /// A generator whose seed comes from the operating system.
    #[must_use]
    pub fn from_entropy() -> Self {
        Self::from_seed(entropy())
    }

    /// An independent generator, drawn from this one: one per thread or per file of a simulation.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::from_seed(self.next_u64())
    }

    /// 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Uniform in `range`, without bias.
    ///
    /// # Panics
    /// If `range` is empty.
    pub fn in_range(&mut self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "an empty range has no member to draw");
        range.start + self.below(range.end - range.start)
    }

    /// True with probability `numerator / denominator`.
    ///
    /// # Panics
    /// If `denominator` is zero.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.in_range(0..denominator) < numerator
    }

    /// Uniform in `[0, 1)`, in steps of 2^-53.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Fills `bytes` with uniform bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// Lemire's method: the high half of a 128-bit product, redrawn in the few cases that would be biased.
    fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}

/// One step of SplitMix64, which spreads a seed over the generator's state.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The standard library keys its hash maps from the operating system's entropy; hashing nothing hands us 64 bits of it.
fn entropy() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Delays between retries: uniform between zero and a ceiling that doubles with each attempt ("full jitter"), so that
/// transactions that collided once do not collide again in step.
#[derive(Clone, Debug)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    attempts: u32,
}

impl Backoff {
    /// The first delay is at most `base`, every delay at most `cap`.
    #[must_use]
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self { base, cap, attempts: 0 }
    }

    /// The delay before the next attempt.
    pub fn next_delay(&mut self, randomness: &mut Randomness) -> Duration {
        let ceiling = self.ceiling();
        self.attempts = self.attempts.saturating_add(1);
        let nanoseconds = u64::try_from(ceiling.as_nanos()).unwrap_or(u64::MAX - 1);
        Duration::from_nanos(randomness.in_range(0..nanoseconds.min(u64::MAX - 1) + 1))
    }

    /// Attempts that have drawn a delay since the start or the last reset.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Starts again from `base`, after a success.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    fn ceiling(&self) -> Duration {
        let doublings = 1u32.checked_shl(self.attempts).unwrap_or(u32::MAX);
        self.base.saturating_mul(doublings).min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences_and_others_do_not() {
        let draw = |seed| {
            let mut randomness = Randomness::from_seed(seed);
            (0..8).map(|_| randomness.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(0).iter().any(|word| *word != 0), "the zero seed is good too");
    }

    /// The published test vector of xoshiro256++ with state 1, 2, 3, 4.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut randomness = Randomness { state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..4).map(|_| randomness.next_u64()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn a_range_is_covered_evenly() {
        let mut randomness = Randomness::from_seed(1);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[usize::try_from(randomness.in_range(10..16) - 10).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn delays_grow_to_the_cap_and_never_beyond() {
        let (base, cap) = (Duration::from_micros(10), Duration::from_millis(1));
        let mut randomness = Randomness::from_seed(3);
        let mut backoff = Backoff::new(base, cap);
        assert!(backoff.next_delay(&mut randomness) <= base);
        let longest = (0..200).map(|_| backoff.next_delay(&mut randomness)).max().unwrap();
        assert!(longest <= cap && longest > base * 10, "{longest:?}");
        backoff.reset();
        assert!(backoff.next_delay(&mut randomness) <= base);
    }

    #[test]
    fn a_backoff_without_a_base_does_not_wait() {
        let mut backoff = Backoff::new(Duration::ZERO, Duration::from_secs(1));
        let mut randomness = Randomness::from_seed(3);
        assert!((0..100).all(|_| backoff.next_delay(&mut randomness).is_zero()));
    }
}
