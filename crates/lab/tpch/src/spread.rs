//! Times of repeated runs.

use env::time::{Duration, Instant};

/// Times of the runs of one thing, in their order.
#[derive(Clone, Debug, Default)]
pub struct Spread(Vec<Duration>);

impl Spread {
    /// The times of `repeat` runs, and what the last one returned.
    ///
    /// # Errors
    /// The first error of a run.
    pub fn of<T, E>(repeat: usize, mut run: impl FnMut() -> Result<T, E>) -> Result<(Spread, T), E> {
        let mut spread = Spread::default();
        let mut last = spread.time(&mut run)?;
        for _ in 1..repeat {
            last = spread.time(&mut run)?;
        }
        Ok((spread, last))
    }

    /// Runs something, and adds its time.
    ///
    /// # Errors
    /// The run's, whose time counts nevertheless.
    pub fn time<T, E>(&mut self, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let begun = Instant::now();
        let done = run();
        self.0.push(begun.elapsed());
        done
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether nothing has run.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The shortest time.
    pub fn least(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }

    /// The longest time.
    pub fn most(&self) -> Duration {
        self.0.iter().max().copied().unwrap_or_default()
    }

    /// The median.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// The time that a share of the runs did not exceed, 0 to 1.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut times = self.0.clone();
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        times.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
    }
}

impl FromIterator<Duration> for Spread {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Spread {
        Spread(times.into_iter().collect())
    }
}
