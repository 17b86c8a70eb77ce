//! One round: check the books, load the server, kill it, start it again.

use super::arguments::SoakArguments;
use super::books::Ledger;
use super::load::{self, Shared};
use super::server::Server;
use crate::processes::Failure;
use crate::report::grouped;
use serde::Serialize;
use std::process::Output;
use std::thread;
use std::time::Duration;

/// A row of figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Round {
    /// From 1.
    pub round: usize,
    /// Seconds under load.
    pub seconds: f64,
    /// Transfers of pgbench that were acknowledged.
    pub transfers: u64,
    /// Transfers a second.
    pub transfers_per_s: f64,
    /// Snapshots that the idle reader held.
    pub snapshots: u64,
    /// Checkpoints taken on request.
    pub checkpoints: u64,
    /// COPYs acknowledged.
    pub copies: u64,
    /// Times that the history was rolled up.
    pub roll_ups: u64,
    /// Audits of the sums.
    pub audits: u64,
    /// Attempts of all but pgbench that ended in a conflict.
    pub conflicts: u64,
    /// Greatest memory of the server in the first, second and last third, in MiB.
    pub resident_mb: [f64; 3],
    /// Greatest size of its directory in the first, second and last third, in MiB.
    pub disk_mb: [f64; 3],
    /// Seconds that the start after the kill took.
    pub restart_s: f64,
    /// Failures.
    pub failures: Vec<Failure>,
}

/// Runs a round on a server that runs; it runs again afterwards.
///
/// # Errors
/// The server does not start again, or a program is missing.
pub fn run(
    arguments: &SoakArguments,
    number: usize,
    server: &mut Server,
    ledger: &mut Ledger,
) -> Result<Round, Failure> {
    ledger.copies.rows = arguments.copy_rows;
    let copied_before = ledger.copies.count();
    let (mut round, pgbench) = load_and_kill(arguments, server, ledger)?;
    round.round = number;
    match load::acknowledged(&pgbench) {
        Ok(transfers) => round.transfers = transfers,
        Err(failure) => round.failures.push(failure),
    }
    round.transfers_per_s = round.transfers as f64 / round.seconds;
    ledger.acknowledged += round.transfers;
    ledger.in_doubt += u64::from(arguments.clients);
    round.restart_s = server.start()?.as_secs_f64();
    round.copies = ledger.copies.count() - copied_before;
    round.conflicts += std::mem::take(&mut ledger.copies.conflicts);
    let mut client = server.address().connect().map_err(|error| format!("cannot connect: {error:?}"))?;
    if let Err(failure) = ledger.check(&mut client) {
        round.failures.push(failure);
    }
    Ok(round)
}

fn load_and_kill(
    arguments: &SoakArguments,
    server: &mut Server,
    ledger: &mut Ledger,
) -> Result<(Round, Output), Failure> {
    let shared = Shared::new(server.address());
    let time = Duration::from_secs_f64(arguments.kill_every);
    let mut round = Round { seconds: arguments.kill_every, ..Round::default() };
    let pgbench = load::transfers(server.address(), arguments.clients)?;
    load::wait_for_clients(&shared, arguments.clients)?;
    thread::scope(|scope| {
        let shared = &shared;
        let copies = &mut ledger.copies;
        scope.spawn(move || copies.run(shared));
        let reader = scope.spawn(move || load::idle_reader(shared, time / 3));
        let checkpoints = scope.spawn(move || load::checkpoints(shared));
        let audits = scope.spawn(move || load::audits(shared));
        let roll_ups = scope.spawn(move || load::roll_ups(shared));
        let samples = load::watch(shared, time, |at| Ok((at, server.resident_mb()?, server.disk_mb())));
        shared.end();
        let killed = server.kill();
        let tally = |thread: thread::ScopedJoinHandle<'_, load::Tally>| thread.join().unwrap_or_default();
        let tallies = [reader, checkpoints, audits, roll_ups].map(tally);
        [round.snapshots, round.checkpoints, round.audits, round.roll_ups] = tallies.map(|tally| tally.done);
        round.conflicts = tallies.iter().map(|tally| tally.conflicts).sum();
        round.note(&samples?, arguments.kill_every);
        killed
    })?;
    round.failures.extend(shared.failures());
    let output = pgbench.wait_with_output().map_err(|error| format!("cannot hear pgbench: {error}"))?;
    Ok((round, output))
}

impl Round {
    /// The greatest values of each third.
    fn note(&mut self, samples: &[(f64, f64, f64)], seconds: f64) {
        for &(at, resident, disk) in samples {
            let third = ((at / seconds * 3.0) as usize).min(2);
            self.resident_mb[third] = self.resident_mb[third].max(resident);
            self.disk_mb[third] = self.disk_mb[third].max(disk);
        }
    }

    /// A line for whoever watches.
    pub fn summary(&self) -> String {
        let Round { round, seconds, resident_mb, disk_mb, restart_s, failures, .. } = self;
        format!(
            "round {round}, {seconds:.0} s: {} transfers, {} copies, {} checkpoints, {:.0} MiB, {:.0} MiB on disk, restart {restart_s:.1} s, {} failures",
            grouped(self.transfers as f64),
            self.copies,
            self.checkpoints,
            resident_mb[2],
            disk_mb[2],
            failures.len()
        )
    }
}
