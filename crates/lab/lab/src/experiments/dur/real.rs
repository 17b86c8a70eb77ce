//! Clusters on this machine, from which the model's costs come, and which the model must come near.

use super::clients::Time;
use super::cluster::{Measured, Nodes, Setting, System};
use super::gauge::{Costs, Gauge};
use super::link::LinkCosts;
use crate::engines::replicas::replicas;
use crate::workloads::{Client, Partitioned};
use bytes::Bytes;
use dur::{Meter, Options};
use env::time::{Duration, Instant};
use paxos::order::NodeOrder;
use std::sync::Arc;
use std::thread;
use total::sequencer::Sequencer;
use total::{Event, OrderError, OrderLimits, TotalOrder};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Takes deliveries until so many payloads have come.
fn take(order: &NodeOrder, mut payloads: usize) -> Result<(), OrderError> {
    let mut events = Vec::new();
    while payloads > 0 {
        order.deliver(&mut events, 4_096, PATIENCE)?;
        payloads -= events.drain(..).filter(|event| matches!(event, Event::Ordered(_))).count();
    }
    Ok(())
}

/// Proposes payloads of so many bytes, takes them, and returns the nanoseconds that it took.
fn order_all(order: &NodeOrder, count: usize, bytes: usize) -> Result<f64, OrderError> {
    let (payload, start) = (Bytes::from(vec![7; bytes]), Instant::now());
    for _ in 0..count {
        while let Err(error) = order.propose(payload.clone()) {
            match error {
                OrderError::Busy => _ = order.room(PATIENCE)?,
                error => return Err(error),
            }
        }
    }
    take(order, count)?;
    Ok(start.elapsed().as_nanos() as f64)
}

/// What the order of three replicas takes.
///
/// # Errors
/// The order failed: a sentence.
pub fn link_costs() -> Result<LinkCosts, String> {
    /// Two followers.
    const FOLLOWERS: f64 = 2.0;
    let orders = replicas(3)?;
    let measure = || -> Result<LinkCosts, OrderError> {
        let order = &orders[0];
        let mut latencies = (0..100).map(|_| order_all(order, 1, 64)).collect::<Result<Vec<_>, _>>()?;
        latencies.sort_unstable_by(f64::total_cmp);
        let (small, large) = ((10_000, 64), (100, 60_000));
        let of_small = order_all(order, small.0, small.1)? / small.0 as f64;
        let of_large = order_all(order, large.0, large.1)? / large.0 as f64;
        let byte_ns = (of_large - of_small).max(0.0) / (large.1 - small.1) as f64 / FOLLOWERS;
        Ok(LinkCosts { latency_ns: latencies[latencies.len() / 2], payload_ns: of_small / FOLLOWERS, byte_ns })
    };
    measure().map_err(|error| format!("the order of three replicas: {error}"))
}

/// Runs a workload on nodes of this machine.
///
/// # Errors
/// The workload's audit failed: a sentence.
pub fn measure<O: TotalOrder + 'static, W: Partitioned + Send>(
    workload: &Arc<W>,
    setting: Setting,
    ends: Vec<O>,
    gauge: Option<Arc<Gauge>>,
    measured: Duration,
) -> Result<Measured, String>
where
    W::Client: Client<Call: 'static> + 'static,
{
    let meter = gauge.clone();
    let change = |_, options| {
        // What is skipped is measured, too.
        let meter: Option<Arc<dyn Meter>> = meter.clone().map(|gauge| gauge as Arc<dyn Meter>);
        Options { skips_validation: meter.is_none(), meter, ..options }
    };
    let time = (Time::Real(Instant::now()), gauge);
    let mut nodes = Nodes::open(workload, setting, ends.into_iter(), change, time);
    let advance = || thread::sleep(Duration::from_millis(1));
    nodes.load(advance)?;
    let fronts: Vec<_> = (0..setting.nodes as usize)
        .map(|number| {
            let front = nodes.front(number);
            thread::spawn(move || front.serve())
        })
        .collect();
    nodes.start(1);
    thread::sleep(measured / 5);
    let counted = nodes.measure(|| thread::sleep(measured));
    let finished = nodes.finish(advance);
    if finished.is_ok() {
        fronts.into_iter().for_each(|front| _ = front.join());
    }
    finished.map(|()| counted)
}

/// What steps take: of one node that executes one transaction at a time.
///
/// # Errors
/// The workload's audit failed: a sentence.
pub fn step_costs<W: Partitioned + Send>(workload: &Arc<W>, measured: Duration) -> Result<Costs, String>
where
    W::Client: Client<Call: 'static> + 'static,
{
    let (gauge, setting) = (Gauge::measuring(), Setting { system: System::Xdur, nodes: 1, clients: 16 });
    let end = Sequencer::new(OrderLimits::default()).join(0, None);
    measure(workload, setting, vec![end], Some(gauge.clone()), measured)?;
    Ok(gauge.costs())
}
