//! Clusters on this machine, from which the model's costs come, and which the model must come near.

use super::clients::Time;
use super::cluster::{Measured, Nodes, Setting, System};
use super::gauge::{Costs, Gauge};
use super::link::LinkCosts;
use crate::engines::replicas::replicas;
use crate::machine;
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

/// Proposes payloads of so many bytes on the first node, takes them, and returns the nanoseconds that passed. The others take theirs
/// afterwards: the order goes on only with those that do.
fn order_all(orders: &[NodeOrder], count: usize, bytes: usize) -> Result<f64, OrderError> {
    let (order, others) = orders.split_first().expect("an order has nodes");
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
    let passed = start.elapsed();
    others.iter().try_for_each(|order| take(order, count))?;
    Ok(passed.as_nanos() as f64)
}

/// What the order takes for a payload of some length, in nanoseconds.
struct PerPayload {
    /// Of its busiest thread: those of a leader work at a time, on a machine that has the cores.
    busiest: f64,
    /// Of all threads of all replicas.
    all: f64,
}

/// Has payloads ordered for a time, and looks at the processor time of the replicas' threads, which the system tells in steps of 10 ms.
/// That of this thread, which proposes and takes, is the engine's.
fn per_payload(orders: &[NodeOrder], (count, bytes): (usize, usize), length: Duration) -> Result<PerPayload, String> {
    let times = || machine::cpu_time_of_others().ok_or("the system does not say what threads use (/proc/self/task)");
    let (before, start, mut ordered) = (times()?, Instant::now(), 0);
    while ordered == 0 || start.elapsed() < length {
        order_all(orders, count, bytes).map_err(|error| format!("the order of three replicas: {error}"))?;
        ordered += count;
    }
    let used = times()?.into_iter().map(|(thread, time)| {
        let used = time.saturating_sub(before.get(&thread).copied().unwrap_or_default());
        used.as_nanos() as f64 / ordered as f64
    });
    let (busiest, all) = used.fold((0.0, 0.0), |(most, sum), used| (f64::max(most, used), sum + used));
    Ok(PerPayload { busiest, all })
}

/// What the order of three replicas takes, measured for a time with short payloads and with long ones.
///
/// # Errors
/// The order failed: a sentence.
pub fn link_costs(length: Duration) -> Result<LinkCosts, String> {
    const FOLLOWERS: f64 = 2.0;
    const NODES: f64 = 3.0;
    let orders = replicas(3)?;
    let mut latencies = (0..100)
        .map(|_| order_all(&orders, 1, 64))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("the order of three replicas: {error}"))?;
    latencies.sort_unstable_by(f64::total_cmp);
    let (short, long) = (64, 60_000);
    let of_short = per_payload(&orders, (10_000, short), length)?;
    let of_long = per_payload(&orders, (100, long), length)?;
    let of_byte = |short_ns: f64, long_ns: f64| (long_ns - short_ns).max(0.0) / (long - short) as f64;
    Ok(LinkCosts {
        latency_ns: latencies[latencies.len() / 2],
        payload_ns: of_short.busiest / FOLLOWERS,
        byte_ns: of_byte(of_short.busiest, of_long.busiest) / FOLLOWERS,
        node_payload_ns: of_short.all / NODES,
        node_byte_ns: of_byte(of_short.all, of_long.all) / NODES,
    })
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
