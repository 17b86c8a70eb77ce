//! A load: many logical clients on few connections and one thread, so that what is measured is the order and not the clients.
//!
//! - [`client_group`] is the clients of one connection, without I/O.
//! - `connection` keeps that connection: to another replica if its own is gone.
//! - [`Load`] starts them, and can be asked at any time what was acknowledged and how long it took.
//! - [`order`] is a load without clients, for any total order.

#![forbid(unsafe_code)]

pub mod client_group;
mod connection;
pub mod order;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use tokio::sync::watch;

use env::Moment;
use net::auth::SharedKey;

pub use client_group::{ClientGroup, Pace};

/// Parameters of a load.
#[derive(Debug)]
pub struct LoadPlan {
    /// Addresses of replicas for clients: each gets a connection, and the clients are balanced among them.
    pub addresses: Vec<String>,
    /// The key that clients need, if they do.
    pub key: Option<SharedKey>,
    /// Logical clients, each with a session and one request open.
    pub clients: usize,
    /// Every request's body.
    pub body: Bytes,
    /// When requests come.
    pub pace: Pace,
    /// Time after which a request without an answer is sent again.
    pub retry: Duration,
    /// Nonces of sessions count from here on: no other client should use them.
    pub nonce: u64,
}

/// A load that runs until it is dropped.
#[derive(Debug)]
pub struct Load {
    shared: Arc<Shared>,
    stop: watch::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

/// Results that the connections collect.
#[derive(Debug)]
struct Shared {
    start: Instant,
    /// Counts; publishes nothing.
    acknowledged: AtomicU64,
    /// Likewise: requests given up since far too many waited.
    shed: AtomicU64,
    latencies_ns: Mutex<Histogram<u64>>,
    last_problem: Mutex<Option<String>>,
}

impl Shared {
    fn now(&self) -> Moment {
        Moment(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn report(&self, problem: String) {
        *self.last_problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
    }
}

/// Durations of requests since a window was opened. Microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// Number of requests.
    pub requests: u64,
    /// The median.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// The 99.9th percentile.
    pub p999_us: f64,
}

impl Latencies {
    /// Of these times, in nanoseconds.
    fn of(latencies_ns: &Histogram<u64>) -> Self {
        let us = |quantile| latencies_ns.value_at_quantile(quantile) as f64 / 1_000.0;
        Self { requests: latencies_ns.len(), p50_us: us(0.5), p99_us: us(0.99), p999_us: us(0.999) }
    }
}

/// The longest latency that is told from longer ones, in nanoseconds.
const LONGEST_NS: u64 = 600_000_000_000;

impl Load {
    /// Starts the clients on a thread of their own.
    ///
    /// # Errors
    /// No thread can be had, or the plan makes no sense: no address, a rate that is none. Connections that cannot be made are tried
    /// again: see [`Load::last_problem`].
    pub fn start(plan: LoadPlan) -> io::Result<Self> {
        check(&plan)?;
        let latencies_ns = Histogram::new_with_bounds(1_000, LONGEST_NS, 3).map_err(io::Error::other)?;
        let shared = Arc::new(Shared {
            start: Instant::now(),
            acknowledged: AtomicU64::new(0),
            shed: AtomicU64::new(0),
            latencies_ns: Mutex::new(latencies_ns),
            last_problem: Mutex::new(None),
        });
        let (stop, stopped) = watch::channel(());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name("load".to_owned())
                .spawn(move || runtime.block_on(run_all(plan, &shared, &stopped)))?
        };
        Ok(Self { shared, stop, thread: Some(thread) })
    }

    /// Requests that were answered so far.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(Ordering::Relaxed)
    }

    /// Requests that were given up, because they came at a rate that nobody serves.
    #[must_use]
    pub fn shed(&self) -> u64 {
        self.shared.shed.load(Ordering::Relaxed)
    }

    /// Forgets the latencies seen so far.
    pub fn open_window(&self) {
        self.latencies(Histogram::reset);
    }

    /// The latencies since the window was opened.
    #[must_use]
    pub fn window(&self) -> Latencies {
        self.latencies(|latencies| Latencies::of(latencies))
    }

    fn latencies<T>(&self, look: impl FnOnce(&mut Histogram<u64>) -> T) -> T {
        look(&mut self.shared.latencies_ns.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why a connection was last lost or not made.
    #[must_use]
    pub fn last_problem(&self) -> Option<String> {
        self.shared.last_problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Load {
    /// Stops the clients: what they are told after this is not heard. Idempotent; dropping does the same.
    pub fn stop(&mut self) {
        // Nobody listens any more if the thread has ended by itself.
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed; there is nothing to add.
            let _ = thread.join();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop();
    }
}

fn check(plan: &LoadPlan) -> io::Result<()> {
    let refuse = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if plan.addresses.is_empty() {
        return refuse("a load needs the address of a replica");
    }
    match plan.pace {
        Pace::Rate(rate) if !(rate.is_finite() && rate > 0.0) => refuse("a rate is a number above 0"),
        Pace::Rate(_) | Pace::Closed => Ok(()),
    }
}

/// Every connection, until the load stops.
async fn run_all(plan: LoadPlan, shared: &Arc<Shared>, stopped: &watch::Receiver<()>) {
    let connections = plan.addresses.len();
    let tasks = tokio::task::LocalSet::new();
    let key = plan.key.map(Arc::new);
    let mut nonce = plan.nonce;
    for position in 0..connections {
        let clients = share(plan.clients, connections, position);
        let pace = match plan.pace {
            Pace::Rate(rate) => Pace::Rate(rate * clients as f64 / plan.clients as f64),
            Pace::Closed => Pace::Closed,
        };
        if clients == 0 {
            continue;
        }
        let group = ClientGroup::new(shared.now(), clients, nonce, plan.body.clone(), pace, plan.retry);
        nonce = nonce.wrapping_add(clients as u64);
        // Its own replica first, then those after it.
        let addresses = plan.addresses.iter().cycle().skip(position).take(connections).cloned().collect();
        let connection = connection::Connection { addresses, key: key.clone(), group, shared: Arc::clone(shared) };
        tasks.spawn_local(connection.run(stopped.clone()));
    }
    tasks.await;
}

/// Returns the number of `clients` at the connection in `position`.
fn share(clients: usize, connections: usize, position: usize) -> usize {
    clients / connections + usize::from(position < clients % connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_without_sense_are_refused() {
        let plan = |addresses: &[&str], pace| LoadPlan {
            addresses: addresses.iter().map(ToString::to_string).collect(),
            key: None,
            clients: 1,
            body: Bytes::new(),
            pace,
            retry: Duration::from_secs(1),
            nonce: 1,
        };
        assert!(check(&plan(&["127.0.0.1:1"], Pace::Closed)).is_ok());
        assert!(check(&plan(&[], Pace::Closed)).is_err());
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(check(&plan(&["127.0.0.1:1"], Pace::Rate(rate))).is_err(), "{rate}");
        }
    }

    #[test]
    fn clients_are_balanced() {
        let shares = |clients| (0..3).map(|position| share(clients, 3, position)).collect::<Vec<_>>();
        assert_eq!(shares(1200), [400; 3]);
        assert_eq!(shares(2), [1, 1, 0]);
        assert_eq!(shares(7), [3, 2, 2]);
    }
}
