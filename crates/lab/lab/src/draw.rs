//! Random draws of workloads: keys by popularity, and yes or no by percentage.

use env::Randomness;

/// True with a fixed probability, for the price of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// In units of 2^-63.
    threshold: u64,
}

const WHOLE: u64 = 1 << 63;

impl Chance {
    /// True in this many of a hundred cases; 0 is never and 100 always.
    ///
    /// # Panics
    /// If it is not between 0 and 100.
    pub fn percent(percent: f64) -> Chance {
        assert!((0.0..=100.0).contains(&percent), "{percent} %");
        Chance { threshold: (percent / 100.0 * WHOLE as f64) as u64 }
    }

    /// Draws.
    #[inline]
    pub fn draw(self, randomness: &mut Randomness) -> bool {
        randomness.next_u64() / 2 < self.threshold
    }
}

/// Numbers below a bound, drawn with popularity by rank: rank *i* (from 1) has weight 1 / i^theta. Theta 0 is uniform.
///
/// Source: Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994, section 3. Its constants are
/// computed once, in time linear in the bound; copies are cheap.
///
/// Deviation: ranks are spread over the numbers, so that the popular ones do not lie side by side, as in YCSB.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    count: u64,
    /// Rank r stands for the number r * spread mod count; the two are coprime, so that this is a permutation.
    spread: u64,
    law: Option<Law>,
}

/// The paper's names.
#[derive(Clone, Copy, Debug)]
struct Law {
    zeta_n: f64,
    zeta_2: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    /// Largest bound: products of two numbers below it fit in 64 bits.
    pub const MAX_COUNT: u64 = 1 << 32;

    /// Numbers below `count`.
    ///
    /// # Panics
    /// Unless 1 <= count <= [`Zipf::MAX_COUNT`] and 0 <= theta < 1.
    pub fn new(count: u64, theta: f64) -> Zipf {
        assert!((1..=Zipf::MAX_COUNT).contains(&count), "{count} numbers");
        assert!((0.0..1.0).contains(&theta), "theta {theta}");
        let law = (theta > 0.0).then(|| Law::new(count, theta));
        Zipf { count, spread: coprime_near_golden_section(count), law }
    }

    /// Draws a number.
    #[inline]
    pub fn draw(&self, randomness: &mut Randomness) -> u64 {
        match &self.law {
            None => randomness.in_range(0..self.count),
            Some(law) => self.number(law.rank(self.count, randomness.next_f64())),
        }
    }

    /// The number with this popularity; 0 is the most popular.
    pub fn number(&self, rank: u64) -> u64 {
        rank * self.spread % self.count
    }
}

impl Law {
    fn new(count: u64, theta: f64) -> Law {
        let zeta_n: f64 = (1..=count).map(|rank| (rank as f64).powf(-theta)).sum();
        let zeta_2 = 1.0 + 0.5f64.powf(theta);
        let eta = (1.0 - (2.0 / count as f64).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta_n);
        Law { zeta_n, zeta_2, alpha: 1.0 / (1.0 - theta), eta }
    }

    /// The rank, from 0, at `uniform` in `[0, 1)`.
    #[inline]
    fn rank(&self, count: u64, uniform: f64) -> u64 {
        let scaled = uniform * self.zeta_n;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.zeta_2 {
            return 1;
        }
        let rank = count as f64 * (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(count - 1)
    }
}

/// A number coprime to `count`, near the golden section of it: neighbours in rank end up far apart.
fn coprime_near_golden_section(count: u64) -> u64 {
    let start = (count as f64 * 0.618_033_988_75) as u64;
    (start.max(1)..).find(|&candidate| greatest_common_divisor(candidate, count) == 1).expect("count + 1 is coprime")
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(zipf: Zipf, draws: u32) -> Vec<f64> {
        let mut randomness = Randomness::from_seed(1);
        let mut counts = vec![0.0; zipf.count as usize];
        for _ in 0..draws {
            counts[zipf.draw(&mut randomness) as usize] += 1.0;
        }
        counts
    }

    #[test]
    fn popularity_follows_the_law() {
        let (theta, draws) = (0.85, 400_000);
        let zipf = Zipf::new(1000, theta);
        let counts = counts(zipf, draws);
        let zeta: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-theta)).sum();
        // The first two ranks are exact in Gray's method.
        for rank in 0..2u64 {
            let expected = f64::from(draws) * (rank as f64 + 1.0).powf(-theta) / zeta;
            let seen = counts[zipf.number(rank) as usize];
            assert!((seen / expected - 1.0).abs() < 0.05, "rank {rank}: {seen} instead of {expected}");
        }
        // The rest is an approximation: compare the mass of ranges of ranks.
        for range in [2..10u64, 10..100, 100..1000] {
            let expected: f64 =
                range.clone().map(|rank| (rank as f64 + 1.0).powf(-theta)).sum::<f64>() / zeta * f64::from(draws);
            let seen: f64 = range.clone().map(|rank| counts[zipf.number(rank) as usize]).sum();
            assert!((seen / expected - 1.0).abs() < 0.15, "ranks {range:?}: {seen} instead of {expected}");
        }
    }

    #[test]
    fn theta_zero_is_uniform() {
        let counts = counts(Zipf::new(10, 0.0), 100_000);
        assert!(counts.iter().all(|&count| (9_500.0..10_500.0).contains(&count)), "{counts:?}");
    }

    #[test]
    fn every_rank_is_another_number() {
        for count in [1, 2, 3, 4, 10, 97, 1000, 65_536] {
            let zipf = Zipf::new(count, 0.5);
            let numbers: std::collections::BTreeSet<u64> = (0..count).map(|rank| zipf.number(rank)).collect();
            assert_eq!(numbers.len() as u64, count);
            assert!(numbers.iter().all(|&number| number < count));
        }
    }

    #[test]
    fn the_smallest_bounds_work() {
        let mut randomness = Randomness::from_seed(2);
        for count in 1..4 {
            let zipf = Zipf::new(count, 0.99);
            let drawn: std::collections::BTreeSet<u64> = (0..1000).map(|_| zipf.draw(&mut randomness)).collect();
            assert_eq!(drawn.len() as u64, count, "every number is drawn, none beyond");
        }
    }

    #[test]
    fn a_chance_keeps_its_percentage() {
        let mut randomness = Randomness::from_seed(3);
        let mut yes = |percent| (0..100_000).filter(|_| Chance::percent(percent).draw(&mut randomness)).count();
        assert_eq!((yes(0.0), yes(100.0)), (0, 100_000));
        assert!((24_000..26_000).contains(&yes(25.0)));
    }
}
