//! One run of one engine, and the use of processors meanwhile.

use crate::machine;
use crate::processes::{Failure, Processes};
use env::time::{Duration, Instant};

/// Result of one run.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Requests ordered and acknowledged while it was counted.
    pub requests: u64,
    /// Batches in which they were.
    pub batches: u64,
    /// Counted seconds.
    pub seconds: f64,
    /// Median time from a request to its acknowledgement. Microseconds.
    pub p50_us: f64,
    /// 99th percentile of it.
    pub p99_us: f64,
    /// 99.9th percentile of it.
    pub p999_us: f64,
    /// Elections during the run; unknown for etcd.
    pub elections: u64,
    /// Number of batches in flight, if the load reported it.
    pub in_flight: Option<u64>,
    /// Processor use by process.
    pub cores_used: UseOfCores,
}

impl Measurement {
    /// Requests in a second.
    pub fn requests_per_s(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    /// Batches in a second.
    pub fn batches_per_s(&self) -> f64 {
        self.batches as f64 / self.seconds
    }

    /// Microseconds of processor that all replicas together spend on a request.
    pub fn cpu_us_per_request(&self) -> f64 {
        self.replica_us() / self.requests.max(1) as f64
    }

    /// Microseconds of processor that all replicas together spend on a batch.
    pub fn cpu_us_per_batch(&self) -> f64 {
        self.replica_us() / self.batches.max(1) as f64
    }

    /// In the counted time: the processors were looked at for a little longer or shorter.
    fn replica_us(&self) -> f64 {
        self.cores_used.replicas * self.seconds * 1e6
    }
}

/// Average number of busy processors, by user.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UseOfCores {
    /// All replicas.
    pub replicas: f64,
    /// Clients.
    pub load: f64,
    /// Whatever else ran on this machine: figures of a run where this is much are worth little.
    pub others: f64,
}

/// A time over which the use of processors is observed.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    start: Instant,
    load_process: u32,
    replicas: Duration,
    load: Duration,
    all: Duration,
}

impl Span {
    /// From now on. `load_process` runs the clients.
    ///
    /// # Errors
    /// A process has ended.
    pub fn begin(replicas: &Processes, load_process: u32) -> Result<Span, Failure> {
        Ok(Span {
            start: Instant::now(),
            load_process,
            replicas: replicas.cpu_time()?,
            load: cpu_time(load_process)?,
            all: machine::busy_time().ok_or("this operating system does not say how busy it is")?,
        })
    }

    /// Up to now.
    ///
    /// # Errors
    /// A process has ended.
    pub fn end(self, replicas: &Processes) -> Result<UseOfCores, Failure> {
        let end = Span::begin(replicas, self.load_process)?;
        let elapsed = (end.start - self.start).as_secs_f64().max(f64::MIN_POSITIVE);
        let cores = |later: Duration, earlier: Duration| later.saturating_sub(earlier).as_secs_f64() / elapsed;
        let (replicas, load) = (cores(end.replicas, self.replicas), cores(end.load, self.load));
        Ok(UseOfCores { replicas, load, others: (cores(end.all, self.all) - replicas - load).max(0.0) })
    }
}

fn cpu_time(process: u32) -> Result<Duration, Failure> {
    machine::cpu_time_of(process).ok_or_else(|| format!("process {process} has ended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shared_out_by_request_and_by_batch() {
        let cores_used = UseOfCores { replicas: 1.5, load: 0.25, others: 0.0 };
        let (p50_us, p99_us, p999_us) = (1.0, 2.0, 3.0);
        let measurement = Measurement {
            requests: 300_000,
            batches: 1_000,
            seconds: 2.0,
            p50_us,
            p99_us,
            p999_us,
            elections: 0,
            in_flight: None,
            cores_used,
        };
        assert_eq!((measurement.requests_per_s(), measurement.batches_per_s()), (150_000.0, 500.0));
        assert_eq!((measurement.cpu_us_per_request(), measurement.cpu_us_per_batch()), (10.0, 3_000.0));
    }
}
