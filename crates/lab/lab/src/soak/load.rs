//! The clients of one round.

use super::books;
use super::copies;
use super::server::Server;
use crate::processes::Failure;
use crate::servers::Address;
use env::time::Instant;
use postgres::error::SqlState;
use postgres::{Client, IsolationLevel};
use std::process::{Child, Output, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Pause between two passes of the auditor and of the roll-up.
const PAUSE: Duration = Duration::from_secs(5);
/// Time limit for pgbench to connect.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Failures that are kept of a round.
const MOST_FAILURES: usize = 100;
/// pgbench's duration, longer than any round: it ends when the server is killed.
const FOR_EVER: &str = "1000000";

/// Makes the tables.
///
/// # Errors
/// pgbench is missing, or the server refuses.
pub fn initialize(server: &Server) -> Result<(), Failure> {
    let output = server.address().pgbench(&["-i", "-q", "-s", "1"]).output();
    let output = output.map_err(|error| format!("cannot run pgbench, which a soak needs: {error}"))?;
    if !output.status.success() {
        return Err(format!("pgbench -i failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let tables = format!("{}; CREATE TABLE soak_rolled_up (transfers bigint, delta bigint)", copies::TABLE);
    let mut client = server.address().connect().map_err(|error| format!("cannot connect: {error:?}"))?;
    client.batch_execute(&tables).map_err(|error| format!("cannot make the tables: {error:?}"))
}

/// State shared by the clients of a round.
#[derive(Debug)]
pub struct Shared {
    address: Address,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    failures: Vec<Failure>,
}

/// Counts of one client in a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Times that it did its work.
    pub done: u64,
    /// Attempts that ended in a conflict.
    pub conflicts: u64,
}

impl Shared {
    /// For a server that runs.
    pub fn new(address: Address) -> Shared {
        Shared { address, state: Mutex::default(), ended: Condvar::new() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the round: from here on, a lost connection is what is meant.
    pub fn end(&self) {
        self.state().is_over = true;
        self.ended.notify_all();
    }

    /// Returns whether the round is over.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Rests, at most until the round ends. Returns whether it goes on.
    pub fn rest(&self, time: Duration) -> bool {
        let state = self.state();
        let rested = self.ended.wait_timeout_while(state, time, |state| !state.is_over);
        !rested.unwrap_or_else(PoisonError::into_inner).0.is_over
    }

    /// A session; `None`, and a complaint, if there is none to be had.
    pub fn connect(&self) -> Option<Client> {
        match self.address.connect() {
            Ok(client) => Some(client),
            Err(error) => {
                self.complain("a new session", &error);
                None
            }
        }
    }

    /// Records an error, unless the round is over.
    pub fn complain(&self, who: &str, error: &postgres::Error) {
        let detail = error.as_db_error().map_or_else(
            || format!("{error:?}"),
            |error| format!("{}: {} {}", error.code().code(), error.message(), error.detail().unwrap_or_default()),
        );
        self.fail(format!("{who}: {detail}"));
    }

    fn fail(&self, failure: Failure) {
        let mut state = self.state();
        if !state.is_over && state.failures.len() < MOST_FAILURES {
            state.failures.push(failure);
        }
    }

    /// Returns the failures so far.
    pub fn failures(&self) -> Vec<Failure> {
        self.state().failures.clone()
    }
}

/// Returns whether the error is a conflict, after which the transaction can be retried.
pub fn is_conflict(error: &postgres::Error) -> bool {
    error
        .code()
        .is_some_and(|code| *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED)
}

/// pgbench, until the server is killed.
///
/// # Errors
/// It cannot be started.
pub fn transfers(address: Address, clients: u32) -> Result<Child, Failure> {
    let clients = clients.to_string();
    let options = ["-n", "-M", "prepared", "-c", &clients, "-T", FOR_EVER, "--max-tries", "1000000"];
    let mut command = address.pgbench(&options);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    child.map_err(|error| format!("cannot run pgbench: {error}"))
}

/// Waits until all of pgbench's clients have a session, so that none of them meets a dead server before it has begun.
///
/// # Errors
/// They do not come.
pub fn wait_for_clients(shared: &Shared, clients: u32) -> Result<(), Failure> {
    let cannot = |error: postgres::Error| format!("cannot look for pgbench's sessions: {error:?}");
    let mut client = shared.address.connect().map_err(cannot)?;
    let started = Instant::now();
    while started.elapsed() < TIME_LIMIT {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'";
        if client.query_one(count, &[]).map_err(cannot)?.get::<_, i64>(0) >= i64::from(clients) {
            return Ok(());
        }
        shared.rest(Duration::from_millis(50));
    }
    Err(format!("pgbench has not opened {clients} sessions in {} s", TIME_LIMIT.as_secs()))
}

/// Returns the number of acknowledged transactions that pgbench reports after the server has been killed.
///
/// # Errors
/// The output has no count, or reports failed transactions.
pub fn acknowledged(output: &Output) -> Result<u64, Failure> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let number = |line: &str| -> Option<u64> {
        let rest = out.lines().find_map(|found| found.strip_prefix(line))?;
        rest.trim().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let failed = number("number of failed transactions:");
    match (number("number of transactions actually processed:"), failed) {
        (Some(processed), None | Some(0)) => Ok(processed),
        (_, failed) => Err(format!("pgbench: {failed:?} transactions have failed\n{out}\n{err}")),
    }
}

/// Holds a snapshot for as long as the round takes, and reads the same at its end as at its begin.
pub fn idle_reader(shared: &Shared, hold: Duration) -> Tally {
    let mut tally = Tally::default();
    let Some(mut client) = shared.connect() else { return tally };
    while !shared.is_over() {
        match hold_snapshot(shared, &mut client, hold) {
            Ok(()) => tally.done += 1,
            Err(error) if is_conflict(&error) => tally.conflicts += 1,
            // A session that is gone fails at once, again and again.
            Err(error) => {
                shared.complain("the idle reader", &error);
                return tally;
            }
        }
    }
    tally
}

fn hold_snapshot(shared: &Shared, client: &mut Client, hold: Duration) -> Result<(), postgres::Error> {
    client.batch_execute("SET idle_in_transaction_session_timeout = 0")?;
    let mut transaction = client.transaction()?;
    let sum = "SELECT (SELECT sum(abalance)::bigint FROM pgbench_accounts), (SELECT sum(bbalance)::bigint FROM pgbench_branches)";
    let mut read =
        || -> Result<[i64; 2], postgres::Error> { transaction.query_one(sum, &[]).map(|row| [row.get(0), row.get(1)]) };
    let before = read()?;
    shared.rest(hold);
    let after = read()?;
    if before != after || before[0] != before[1] {
        shared.fail(format!("the idle reader read {before:?} and then {after:?} in one transaction"));
    }
    transaction.commit()
}

/// Checkpoints without a pause.
pub fn checkpoints(shared: &Shared) -> Tally {
    repeat(shared, "CHECKPOINT", Duration::ZERO, |client| client.batch_execute("CHECKPOINT"))
}

/// Audits the sums.
pub fn audits(shared: &Shared) -> Tally {
    repeat(shared, "the auditor", PAUSE, |client| {
        let sums = books::sums(client)?;
        sums.check().unwrap_or_else(|failure| shared.fail(failure));
        Ok(())
    })
}

/// Empties the history into sums, so that the live data stays as small as it is.
pub fn roll_ups(shared: &Shared) -> Tally {
    repeat(shared, "the roll-up", PAUSE, |client| {
        let mut transaction = client.build_transaction().isolation_level(IsolationLevel::Serializable).start()?;
        transaction.batch_execute(
            "WITH gone AS (DELETE FROM pgbench_history RETURNING delta)
             INSERT INTO soak_rolled_up SELECT count(*), coalesce(sum(delta), 0) FROM gone",
        )?;
        transaction.commit()
    })
}

fn repeat(
    shared: &Shared,
    who: &str,
    pause: Duration,
    mut work: impl FnMut(&mut Client) -> Result<(), postgres::Error>,
) -> Tally {
    let mut tally = Tally::default();
    let Some(mut client) = shared.connect() else { return tally };
    while shared.rest(pause) {
        match work(&mut client) {
            Ok(()) => tally.done += 1,
            Err(error) if is_conflict(&error) => tally.conflicts += 1,
            Err(error) => {
                shared.complain(who, &error);
                return tally;
            }
        }
    }
    tally
}

/// Looks at the server once a second until `time` is over.
///
/// # Errors
/// It has ended by itself.
pub fn watch<T>(
    shared: &Shared,
    time: Duration,
    mut look: impl FnMut(f64) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let started = Instant::now();
    let mut seen = vec![look(0.0)?];
    while started.elapsed() < time && shared.rest(Duration::from_secs(1).min(time)) {
        seen.push(look(started.elapsed().as_secs_f64())?);
    }
    Ok(seen)
}
