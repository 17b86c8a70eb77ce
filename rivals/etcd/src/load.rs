//! Closed loops of puts on one thread, and what came of them.

use crate::etcd::{self, Put};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep_until};
use tonic::transport::Channel;

/// What is put, how much at a time, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Puts that wait for their answers at any time.
    pub in_flight: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Time before counting begins.
    pub warm_up: Duration,
    /// Time that is counted.
    pub measured: Duration,
}

/// What was measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// Puts answered while it was counted.
    pub puts: u64,
    /// Counted seconds.
    pub seconds: f64,
    /// Median time from a put to its answer. Microseconds.
    pub p50_us: f64,
    /// 99th percentile of it.
    pub p99_us: f64,
    /// 99.9th percentile of it.
    pub p999_us: f64,
}

/// Keys that are written over and over: few, so that what is measured is the order and not a growing tree.
const KEYS: usize = 1024;

/// Counts what is answered between the two instants.
struct Tally {
    begin: Instant,
    end: Instant,
    latency_ns: Histogram<u64>,
}

impl Tally {
    fn count(&mut self, sent: Instant, answered: Instant) {
        if (self.begin..self.end).contains(&answered) {
            self.latency_ns.saturating_record(u64::try_from((answered - sent).as_nanos()).unwrap_or(u64::MAX));
        }
    }

    fn figures(&self) -> Figures {
        let quantile_us = |quantile| self.latency_ns.value_at_quantile(quantile) as f64 / 1000.0;
        Figures {
            puts: self.latency_ns.len(),
            seconds: (self.end - self.begin).as_secs_f64(),
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
            p999_us: quantile_us(0.999),
        }
    }
}

impl Load {
    /// Runs the loops on the channels in turns; calls `announce` when counting begins.
    ///
    /// # Errors
    /// The first put that failed: there are no figures for a cluster that refuses.
    pub async fn run(
        self,
        channels: &[Channel],
        announce: impl FnOnce() -> Result<(), String>,
    ) -> Result<Figures, String> {
        let begin = Instant::now() + self.warm_up;
        let end = begin + self.measured;
        let latency_ns = Histogram::new_with_bounds(1000, 60_000_000_000, 3).map_err(|error| error.to_string())?;
        let tally = Rc::new(RefCell::new(Tally { begin, end, latency_ns }));
        let loops = LocalSet::new();
        let started: Vec<_> = (0..self.in_flight)
            .map(|number| {
                let channel = channels[number % channels.len()].clone();
                loops.spawn_local(self.put_until(end, number, channel, Rc::clone(&tally)))
            })
            .collect();
        loops
            .run_until(async {
                sleep_until(begin).await;
                announce()?;
                for each in started {
                    each.await.map_err(|error| error.to_string())??;
                }
                Ok(tally.borrow().figures())
            })
            .await
    }

    async fn put_until(
        self,
        end: Instant,
        number: usize,
        channel: Channel,
        tally: Rc<RefCell<Tally>>,
    ) -> Result<(), String> {
        let value = vec![b'v'; self.value_bytes];
        let keys = (number..).step_by(self.in_flight).map(|key| key % KEYS);
        for key in keys {
            let sent = Instant::now();
            if sent >= end {
                break;
            }
            let put = Put { key: format!("{key:04}").into_bytes(), value: value.clone() };
            etcd::put(channel.clone(), put).await.map_err(|status| format!("a put failed: {status}"))?;
            tally.borrow_mut().count(sent, Instant::now());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_within_the_time_count() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(1);
        let latency_ns = Histogram::new_with_bounds(1000, 60_000_000_000, 3).unwrap();
        let mut tally = Tally { begin, end, latency_ns };
        let ms = |ms| Duration::from_millis(ms);
        tally.count(begin - ms(2), begin - ms(1));
        tally.count(begin - ms(2), begin);
        tally.count(begin, end - ms(1));
        tally.count(begin, end);
        let figures = tally.figures();
        assert_eq!((figures.puts, figures.seconds), (2, 1.0));
        assert!(figures.p50_us < 2_010.0 && figures.p99_us > 998_000.0);
    }
}
