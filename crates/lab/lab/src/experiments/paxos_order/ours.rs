//! Our own clusters: replicas as processes, clients in this one.

use super::arguments::Durability;
use super::bench::{Bench, Scratch};
use super::measurement::{Measurement, Span};
use super::node::{NodePlan, Status};
use super::row::Subject;
use crate::processes::{Failure, Processes, free_ports, own_program};
use bytes::Bytes;
use env::time::{Duration, Instant};
use load::LoadPlan;
pub use load::Pace;
use std::process::Command;
use std::thread;

/// Load of the clients.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of clients, each with one request in flight.
    pub clients: u64,
    /// Bytes of a body.
    pub body_bytes: u64,
    /// Requests in one body.
    pub requests_per_body: u64,
    /// When they send.
    pub pace: Pace,
}

/// Replicas that run.
#[derive(Debug)]
pub struct Cluster {
    processes: Processes,
    plans: Vec<NodePlan>,
    /// Directory of the replicas' data.
    _scratch: Scratch,
}

impl Cluster {
    /// Starts replicas and waits until all listen.
    ///
    /// # Errors
    /// One does not start.
    pub fn start(bench: &Bench, subject: Subject) -> Result<Cluster, Failure> {
        let replicas = usize::try_from(subject.replicas).map_err(|_| "too many replicas")?;
        let scratch = bench.scratch(bench.data())?;
        let addresses: Vec<String> =
            free_ports(replicas)?.into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let plan = |position: usize| NodePlan {
            engine: subject.engine,
            id: position as u64,
            addresses: addresses.clone(),
            durability: subject.durability,
            data: (subject.durability == Durability::Fsync).then(|| scratch.path().join(format!("replica-{position}"))),
            batch_bytes: bench.arguments().batch_bytes,
            suspicion_ms: bench.arguments().suspicion_ms,
        };
        let plans: Vec<NodePlan> = (0..replicas).map(plan).collect();
        let mut processes = Processes::default();
        for plan in &plans {
            processes.start(&mut command(plan)?)?;
        }
        let mut cluster = Cluster { processes, plans, _scratch: scratch };
        (0..replicas).try_for_each(|position| cluster.await_ready(position))?;
        Ok(cluster)
    }

    fn await_ready(&mut self, position: usize) -> Result<(), Failure> {
        match self.processes.hear(position)?.as_str() {
            super::node::READY => Ok(()),
            other => Err(format!("replica {position} says {other:?} where it should be ready")),
        }
    }

    /// Returns the number of replicas, killed ones included.
    pub fn len(&self) -> usize {
        self.plans.len()
    }

    /// Returns whether there are no replicas.
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// Requests the status of a replica.
    ///
    /// # Errors
    /// It does not run.
    pub fn status(&mut self, position: usize) -> Result<Status, Failure> {
        let answer = self.processes.ask(position, super::node::STATUS)?;
        serde_json::from_str(&answer).map_err(|error| format!("cannot read the status of replica {position}: {error}"))
    }

    /// Waits for a leader and returns its position.
    ///
    /// # Errors
    /// Nobody does for a long time.
    pub fn leader(&mut self) -> Result<usize, Failure> {
        let start = Instant::now();
        while start.elapsed() < TIME_LIMIT {
            for position in 0..self.len() {
                if self.status(position).is_ok_and(|status| status.leads) {
                    return Ok(position);
                }
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        Err("no replica leads".to_owned())
    }

    /// Returns the number of elections so far.
    ///
    /// # Errors
    /// A replica does not run.
    pub fn elections(&mut self) -> Result<u64, Failure> {
        (0..self.len()).map(|position| Ok(self.status(position)?.elections)).sum()
    }

    /// Kills a replica.
    ///
    /// # Errors
    /// It does not run.
    pub fn kill(&mut self, position: usize) -> Result<(), Failure> {
        self.processes.kill(position)
    }

    /// Starts a replica again that was killed, from what it has on its disk.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn restart(&mut self, position: usize) -> Result<(), Failure> {
        self.processes.restart(position, &mut command(&self.plans[position])?)?;
        self.await_ready(position)
    }

    /// Memory that each replica which runs uses, in MiB.
    ///
    /// # Errors
    /// One has ended.
    pub fn resident_mb(&self) -> Result<Vec<f64>, Failure> {
        self.processes.resident_mb()
    }

    /// Clients of all replicas.
    ///
    /// # Errors
    /// They cannot be started.
    pub fn clients(&self, load: &Load) -> Result<Clients, Failure> {
        self.clients_of(load, |_| true)
    }

    /// Clients of those replicas that are `chosen`.
    ///
    /// # Errors
    /// They cannot be started.
    pub fn clients_of(&self, load: &Load, chosen: impl Fn(usize) -> bool) -> Result<Clients, Failure> {
        let addresses = self.plans[0].addresses.iter().enumerate();
        let plan = LoadPlan {
            addresses: addresses
                .filter(|(position, _)| chosen(*position))
                .map(|(_, address)| address.clone())
                .collect(),
            key: None,
            clients: usize::try_from(load.clients).map_err(|_| "too many clients")?,
            body: Bytes::from(vec![b'r'; usize::try_from(load.body_bytes).map_err(|_| "too long requests")?]),
            pace: load.pace,
            retry: RETRY,
            nonce: 1,
        };
        let load = load::Load::start(plan).map_err(|error| format!("cannot start the clients: {error}"))?;
        Ok(Clients(load))
    }
}

fn command(plan: &NodePlan) -> Result<Command, Failure> {
    let program = own_program().map_err(|error| format!("cannot find this program: {error}"))?;
    let plan = serde_json::to_string(plan).map_err(|error| format!("cannot write a plan: {error}"))?;
    let mut command = Command::new(program);
    command.args(["order-node", &plan]);
    Ok(command)
}

/// Whoever has made no progress for so long makes none.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
/// Far above any latency here, so that what is sent again was lost.
const RETRY: Duration = Duration::from_secs(2);

/// Clients that send, until they are dropped.
#[derive(Debug)]
pub struct Clients(load::Load);

impl Clients {
    /// Requests that were answered so far.
    pub fn acknowledged(&self) -> u64 {
        self.0.acknowledged()
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// Nothing is answered meanwhile.
    pub fn wait_for(&self, duration: Duration) -> Result<(), Failure> {
        let before = self.acknowledged();
        thread::sleep(duration);
        if duration < TIME_LIMIT && self.acknowledged() == before { self.wait_until(before + 1) } else { Ok(()) }
    }

    /// Waits until so many requests have been answered.
    ///
    /// # Errors
    /// No request is answered for a long time.
    pub fn wait_until(&self, goal: u64) -> Result<(), Failure> {
        let (mut seen, mut since) = (self.acknowledged(), Instant::now());
        while seen < goal {
            thread::sleep(BETWEEN_LOOKS);
            let now = self.acknowledged();
            if now > seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > TIME_LIMIT {
                let problem = self.0.last_problem().unwrap_or_else(|| "no connection was lost".to_owned());
                return Err(format!("{seen} requests were answered, and for {TIME_LIMIT:?} no more ({problem})"));
            }
        }
        Ok(())
    }
}

/// Loads a cluster of its own and ends it.
///
/// # Errors
/// The cluster fails, or the clients got answers to other requests than were executed: there are no figures for wrong answers.
pub fn measure(bench: &Bench, subject: Subject, load: &Load) -> Result<Measurement, Failure> {
    let mut cluster = Cluster::start(bench, subject)?;
    let mut clients = cluster.clients(load)?;
    clients.wait_until(1)?;
    clients.wait_for(bench.warm_up())?;
    let leader = cluster.leader()?;
    let (batches_before, elections_before) = (cluster.status(leader)?.batches, cluster.elections()?);
    let span = Span::begin(&cluster.processes, std::process::id())?;
    let (start, answered_before) = (Instant::now(), clients.acknowledged());
    clients.0.open_window();
    clients.wait_for(bench.measured())?;
    let (window, seconds) = (clients.0.window(), start.elapsed().as_secs_f64());
    let answered = clients.acknowledged() - answered_before;
    let cores_used = span.end(&cluster.processes)?;
    let batches = cluster.status(leader)?.batches.saturating_sub(batches_before);
    let elections = cluster.elections()? - elections_before;
    clients.0.stop();
    settle(&mut cluster, &clients, load)?;
    Ok(Measurement {
        requests: answered * load.requests_per_body,
        batches,
        seconds,
        p50_us: window.p50_us,
        p99_us: window.p99_us,
        p999_us: window.p999_us,
        elections,
        in_flight: (load.requests_per_body > 1).then_some(load.clients),
        cores_used,
    })
}

/// Waits until all that was answered is executed by a replica that has executed everything, and compares the two.
fn settle(cluster: &mut Cluster, clients: &Clients, load: &Load) -> Result<(), Failure> {
    let (answered, start) = (clients.acknowledged(), Instant::now());
    loop {
        let mut executed = 0;
        for position in 0..cluster.len() {
            executed = executed.max(cluster.status(position)?.requests);
        }
        if executed >= answered || start.elapsed() > TIME_LIMIT {
            return check(answered, executed, clients.0.shed(), load);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Each client may have one request that was executed but not answered.
fn check(answered: u64, executed: u64, shed: u64, load: &Load) -> Result<(), Failure> {
    if !(answered..=answered + load.clients).contains(&executed) {
        return Err(format!("{answered} requests were answered, but {executed} executed"));
    }
    if shed > 0 {
        return Err(format!("{shed} requests were given up: they arrived faster than they were served"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_what_was_not_executed_are_no_figures() {
        let load = Load { clients: 10, body_bytes: 40, requests_per_body: 1, pace: Pace::Closed };
        assert_eq!(check(100, 100, 0, &load), Ok(()));
        assert_eq!(check(100, 110, 0, &load), Ok(()));
        assert!(check(100, 111, 0, &load).is_err());
        assert!(check(100, 99, 0, &load).is_err());
        assert!(check(100, 100, 1, &load).is_err());
    }
}
