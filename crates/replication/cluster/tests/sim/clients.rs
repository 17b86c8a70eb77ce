//! Clients of all nodes, what they saw, and the judges.

use crate::items;
use crate::mixed::{Place, outcome_of, statement, with_points};
use crate::run::{Sim, lock};
use conformance::judges;
use env::Randomness;
use model::history::{Operation, Outcome, Recorder, Transaction};
use model::{Access, Begin, Committed, Finish, Interactive, Mode, Pending, Result, Scan, TableId};
use seriatim_cluster::Cluster;
use sim::{MILLISECOND, Violation};
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

/// The tables of the clients.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub registers: TableId,
    pub items: TableId,
}

/// What clients saw.
pub type Seen = Vec<(Transaction, Place)>;

/// Starts the clients of the setting.
pub fn start(sim: &Arc<Sim>, tables: Tables) {
    sim.clients.store(sim.setting.clients as usize, SeqCst);
    for client in 0..sim.setting.clients {
        sim.spawn(sim.outside(), move |sim| {
            run(sim, client, tables);
            sim.clients.fetch_sub(1, SeqCst);
        });
    }
}

/// Has the clients end, and waits until each has the answer to its last statement.
pub fn end(sim: &Arc<Sim>, longest_ns: u64) {
    sim.is_over.store(true, SeqCst);
    let until = sim.schedule.now() + longest_ns;
    while sim.clients.load(SeqCst) > 0 && !sim.has_failed() {
        if sim.schedule.now() > until {
            return sim.fail("a client waits for an answer".to_owned());
        }
        sim.schedule.sleep_until(sim.schedule.now() + MILLISECOND);
    }
}

/// Runs transactions on any nodes until the run is over.
fn run(sim: &Arc<Sim>, client: u32, tables: Tables) {
    let mut random = Randomness::from_seed(sim.draw(u64::MAX) ^ u64::from(client));
    let mut written = u64::from(client + 1) << 32;
    let mut home = random.in_range(0..sim.nodes.len() as u64) as usize;
    while !sim.is_over.load(SeqCst) && !sim.has_failed() {
        sim.schedule.stand_on(sim.outside());
        let think = random.in_range(0..2 * sim.setting.think_ns);
        sim.schedule.sleep_until(sim.schedule.now() + think);
        if random.chance(1, 4) {
            home = random.in_range(0..sim.nodes.len() as u64) as usize;
        }
        let Some(cluster) = sim.nodes[home].cluster() else {
            home = random.in_range(0..sim.nodes.len() as u64) as usize;
            sim.schedule.sleep_until(sim.schedule.now() + 20 * MILLISECOND);
            continue;
        };
        sim.schedule.stand_on(home);
        transaction(sim, &cluster, client, tables, &mut random, &mut written);
    }
}

fn transaction(
    sim: &Arc<Sim>,
    cluster: &Arc<Cluster>,
    client: u32,
    tables: Tables,
    random: &mut Randomness,
    written: &mut u64,
) {
    let modes = [Mode::ReadWrite, Mode::OwnAtStatement, Mode::OwnAtStatement, Mode::ReadOnly];
    let mode = modes[random.in_range(0..4) as usize];
    let start_ns = sim.schedule.now();
    let Ok(open) = cluster.begin_owned(Begin { mode, ..Begin::default() }) else { return };
    sim.step(|| format!("client {client}: begins on node {} in mode {mode:?}", cluster.status().origin.node));
    let mut recorder = Recorder::new(open);
    let (reads_only, mut notes) = (mode == Mode::ReadOnly, Vec::new());
    let ran = (0..1 + random.in_range(0..4)).try_for_each(|nr| {
        *written += 1;
        if nr > 0 && random.chance(1, 2) {
            sim.schedule.sleep_until(sim.schedule.now() + random.in_range(0..sim.setting.think_ns));
        }
        if random.chance(1, 2) {
            return items::statement(recorder.inner(), tables.items, random, *written, reads_only, &mut notes);
        }
        statement(&mut recorder, (tables.registers, sim.setting.keys), random, *written, reads_only)
    });
    let (open, mut operations) = recorder.into_parts();
    operations.append(&mut notes);
    let wrote = operations.iter().any(|it| matches!(it, Operation::Write(..) | Operation::Delete(..)));
    let ended = ran.and_then(|()| await_commit(sim, open.begin_commit()));
    note(sim, client, start_ns, &ended, wrote, operations);
}

fn note(
    sim: &Arc<Sim>,
    client: u32,
    start_ns: u64,
    ended: &Result<Committed>,
    wrote: bool,
    operations: Vec<Operation>,
) {
    let (outcome, place) = outcome_of(ended, wrote);
    let end_ns = sim.schedule.now();
    sim.with_orders(|orders| {
        orders.world.step(|| match ended {
            Ok(_) => format!("client {client}: committed at {place:?} {operations:?}"),
            Err(error) => format!("client {client}: {error}"),
        });
        orders.world.trace.count(match outcome {
            Outcome::Committed(_) if wrote => "commits of writers",
            Outcome::Committed(_) => "commits of readers",
            Outcome::Aborted => "aborts",
            Outcome::Unknown => "unknown outcomes",
        });
        orders.world.trace.digest(end_ns ^ place.map_or(u64::MAX, |(place, wrote)| place << 1 | u64::from(wrote)));
    });
    let transaction = Transaction { client, start_ns, end_ns, outcome, operations };
    lock(&sim.seen).push((transaction, place));
}

/// Waits for a commit in virtual time.
fn await_commit(sim: &Arc<Sim>, pending: Pending<Result<Committed>>) -> Result<Committed> {
    let (slot, bell) = (Arc::new(Mutex::new(None)), sim.schedule.bell());
    let (filled, schedule) = (slot.clone(), sim.schedule.clone());
    pending.on_resolved(move |value| {
        *lock(&filled) = Some(value);
        schedule.ring(bell, true);
    });
    loop {
        if let Some(value) = lock(&slot).take() {
            return value;
        }
        sim.schedule.wait(bell);
    }
}

/// A last reader of everything: what was acknowledged is there.
pub fn read_all(sim: &Arc<Sim>, node: usize, tables: Tables) {
    let Some(cluster) = sim.nodes[node].cluster() else { return };
    sim.schedule.stand_on(node);
    let start_ns = sim.schedule.now();
    let begun = cluster.begin_owned(Begin { mode: Mode::ReadOnly, ..Begin::default() });
    let read = begun.and_then(|open| {
        let mut recorder = Recorder::new(open);
        let all = Scan::table(tables.registers).between(Bound::Unbounded, Bound::Unbounded);
        recorder.scan(&all, &mut |_| ControlFlow::Continue(()))?;
        let mut notes = Vec::new();
        items::read_all(recorder.inner(), tables.items, &mut notes)?;
        let (open, mut operations) = recorder.into_parts();
        operations.append(&mut notes);
        Ok((open, operations))
    });
    match read {
        Ok((open, operations)) => {
            let ended = await_commit(sim, open.begin_commit());
            note(sim, u32::MAX, start_ns, &ended, false, operations);
        }
        Err(error) => sim.fail(format!("node {node} cannot be read at the end: {error}")),
    }
    sim.schedule.stand_on(sim.outside());
}

/// Both judges, on what all clients saw.
pub fn judge(sim: &Arc<Sim>) -> std::result::Result<(), Violation> {
    let history = with_points(std::mem::take(&mut *lock(&sim.seen)));
    let records = judges::records(history, |table| items::form(table).unwrap_or(check::KeyForm::Integers));
    let report = judges::judge(records);
    if report.valid && !report.judges_disagree {
        return Ok(());
    }
    Err(Violation(format!("not strictly serializable\n{report}")))
}
