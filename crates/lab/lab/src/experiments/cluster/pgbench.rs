//! pgbench's tpcb-like through SQL: on one node, on all nodes, and on a PostgreSQL with a synchronous standby, in turns.
//!
//! Every COMMIT waits for a second machine's disk in the rival, and for a majority's in the cluster; here the machines are processes, so
//! that they share processors and a disk. Transactions that conflict are run again by pgbench until they succeed, and their latency
//! counts from the first attempt.

use super::arguments::{Isolation, PgbenchArguments};
use super::nodes::Nodes;
use super::show;
use super::standby::{Replicated, run as run_program};
use crate::failure::Failure;
use crate::machine;
use crate::new_directory::NewDirectory;
use crate::report::{grouped, median, write_cells};
use crate::servers::Address;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Bar: how many times as fast as the rival.
const BAR: f64 = 2.0;

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum System {
    /// PostgreSQL with a synchronous standby; all clients at the primary.
    Postgresql,
    /// A cluster, and clients on all nodes.
    AllNodes,
    /// A cluster, and all clients on its first node.
    OneNode,
}

impl System {
    const ALL: [System; 3] = [System::Postgresql, System::AllNodes, System::OneNode];

    fn name(self) -> &'static str {
        match self {
            System::Postgresql => "PostgreSQL, synchronous standby",
            System::AllNodes => "seriatim, clients on all nodes",
            System::OneNode => "seriatim, clients on one node",
        }
    }
}

/// A row of figures: medians of the repeats.
#[derive(Clone, Debug, Serialize)]
pub struct PgbenchRow {
    /// Always `cluster-pgbench`.
    pub experiment: &'static str,
    /// Who was asked.
    pub system: System,
    /// Nodes of the cluster; 2 for PostgreSQL.
    pub nodes: u32,
    /// The isolation level that clients asked for.
    pub isolation: Isolation,
    /// Clients, all together.
    pub clients: u32,
    /// Branches.
    pub scale: u32,
    /// Committed transactions in a second.
    pub txn_per_s: f64,
    /// The least and the most of the repeats.
    pub txn_per_s_range: [f64; 2],
    /// Milliseconds of a transaction, with all its attempts: the mean.
    pub latency_ms: f64,
    /// Percentage of transactions that were run again.
    pub retried_percent: f64,
    /// Transactions that failed for good.
    pub failed: f64,
    /// Committed transactions in a second, in those of PostgreSQL at the same isolation level; none for PostgreSQL.
    pub ratio: Option<f64>,
    /// The bar of the ratio.
    pub bar: f64,
    /// The file system under the data.
    pub storage: String,
    /// Number of repeats.
    pub repeats: usize,
    /// Processors of the machine.
    pub cores: usize,
    /// The commit of the repository, if known.
    pub commit: Option<String>,
}

/// Measures and writes the figures.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &PgbenchArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let rows = rows(arguments).map_err(Failure::Run)?;
    show(arguments.cluster.format, &rows, out, |out| write_table(&rows, out))
}

fn rows(arguments: &PgbenchArguments) -> Result<Vec<PgbenchRow>, String> {
    run_program(Command::new("pgbench").arg("--version"))?;
    let directory = NewDirectory::of(arguments.cluster.data.as_deref(), "cluster-pgbench")?;
    std::fs::create_dir_all(directory.path()).map_err(|error| format!("{}: {error}", directory.path().display()))?;
    let storage = file_system(directory.path());
    let rival = Replicated::start(&arguments.postgresql, &directory.path().join("postgresql"))?;
    let cluster = Nodes::start(&arguments.cluster, &directory.path().join("cluster"))?;
    let addresses = cluster.addresses();
    for address in [rival.address(), addresses[0]] {
        load(address, arguments.scale)?;
    }
    let mut rows = Vec::new();
    for &isolation in &arguments.isolation {
        let mut runs: [Vec<Figures>; 3] = Default::default();
        for _ in 0..arguments.repeat {
            for (system, runs) in System::ALL.into_iter().zip(&mut runs) {
                let asked = match system {
                    System::Postgresql => &[rival.address()][..],
                    System::AllNodes => &addresses,
                    System::OneNode => &addresses[..1],
                };
                let figures = measure(arguments, isolation, asked)?;
                eprintln!("{}, {isolation}: {} txn/s", system.name(), grouped(figures.txn_per_s));
                runs.push(figures);
            }
        }
        let rival = median(runs[0].iter().map(|run| run.txn_per_s));
        let row = |(system, runs): (System, &Vec<Figures>)| row(arguments, (system, isolation), runs, rival, &storage);
        rows.extend(System::ALL.into_iter().zip(&runs).map(row));
    }
    [rival.address(), addresses[addresses.len() - 1]].into_iter().try_for_each(audit)?;
    Ok(rows)
}

/// Makes and fills the tables. pgbench itself fills them in one transaction, which a cluster refuses when it is too long.
fn load(address: Address, scale: u32) -> Result<(), String> {
    run_program(&mut address.pgbench(&["-i", "-q", "-I", "dt", "-s", &scale.to_string()]))?;
    let mut client = address.connect().map_err(|error| format!("cannot connect: {error:?}"))?;
    let cannot = |error: postgres::Error| format!("cannot fill the tables: {error:?}");
    for branch in 1..=scale {
        let (first, last) = ((branch - 1) * 100_000 + 1, branch * 100_000);
        let (first_teller, last_teller) = ((branch - 1) * 10 + 1, branch * 10);
        let sql = format!(
            "INSERT INTO pgbench_branches (bid, bbalance) VALUES ({branch}, 0);
             INSERT INTO pgbench_tellers (tid, bid, tbalance)
                 SELECT g, {branch}, 0 FROM generate_series({first_teller}, {last_teller}) g;
             INSERT INTO pgbench_accounts (aid, bid, abalance, filler)
                 SELECT g, {branch}, 0, '' FROM generate_series({first}, {last}) g"
        );
        client.batch_execute(&sql).map_err(cannot)?;
    }
    drop(client);
    run_program(&mut address.pgbench(&["-i", "-q", "-I", "vp", "-s", &scale.to_string()])).map(drop)
}

/// Compares the sums of the tables.
fn audit(address: Address) -> Result<(), String> {
    let sql = "SELECT (SELECT sum(abalance) FROM pgbench_accounts)::bigint, (SELECT sum(tbalance) FROM pgbench_tellers)::bigint,
                      (SELECT sum(bbalance) FROM pgbench_branches)::bigint, (SELECT sum(delta) FROM pgbench_history)::bigint";
    let row = address.connect().and_then(|mut client| client.query_one(sql, &[]));
    let row = row.map_err(|error| format!("cannot audit: {error:?}"))?;
    let sums: Vec<Option<i64>> = (0..4).map(|at| row.get(at)).collect();
    if sums.iter().all(|sum| *sum == sums[0]) { Ok(()) } else { Err(format!("the books do not balance: {sums:?}")) }
}

/// What pgbench says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    txn_per_s: f64,
    latency_ms: f64,
    processed: f64,
    failed: f64,
    retried: f64,
}

impl Figures {
    fn read(output: &str) -> Result<Figures, String> {
        let after = |name: &str| {
            let rest = output.lines().find_map(|line| line.strip_prefix(name))?;
            rest.trim_start().split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.parse::<f64>().ok()
        };
        let needed = |name: &str| after(name).ok_or_else(|| format!("pgbench says nothing of {name:?}:\n{output}"));
        Ok(Figures {
            txn_per_s: needed("tps = ")?,
            latency_ms: needed("latency average = ")?,
            processed: needed("number of transactions actually processed:")?,
            failed: needed("number of failed transactions:")?,
            // Said only if there were some.
            retried: after("number of transactions retried:").unwrap_or(0.0),
        })
    }

    /// Of several pgbenchs that ran at the same time.
    fn sum(all: &[Figures]) -> Figures {
        let sum = |of: fn(&Figures) -> f64| all.iter().map(of).sum::<f64>();
        let processed = sum(|one| one.processed);
        Figures {
            txn_per_s: sum(|one| one.txn_per_s),
            latency_ms: sum(|one| one.latency_ms * one.processed) / processed.max(1.0),
            processed,
            failed: sum(|one| one.failed),
            retried: sum(|one| one.retried),
        }
    }
}

/// How many of all clients the server at a position has.
fn dealt(clients: usize, servers: usize, at: usize) -> usize {
    (clients + servers - 1 - at) / servers
}

/// Runs pgbench on some servers of one database at the same time, with the clients dealt out.
fn measure(arguments: &PgbenchArguments, isolation: Isolation, addresses: &[Address]) -> Result<Figures, String> {
    let seconds = arguments.seconds.to_string();
    let mut children = Vec::new();
    for (at, address) in addresses.iter().enumerate() {
        let clients = dealt(arguments.clients as usize, addresses.len(), at);
        if clients == 0 {
            continue;
        }
        let clients = clients.to_string();
        let options =
            ["-n", "-b", "tpcb-like", "-M", "prepared", "-c", &clients, "-T", &seconds, "--max-tries", "1000000"];
        let mut command = address.pgbench(&options);
        command.env("PGOPTIONS", format!("-c default_transaction_isolation={}", isolation.setting()));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        children.push(child.map_err(|error| format!("cannot run pgbench: {error}"))?);
    }
    // All of them have ended before anything is said of one.
    let ended: Vec<_> = children.into_iter().map(std::process::Child::wait_with_output).collect();
    let figures: Result<Vec<Figures>, String> = ended
        .into_iter()
        .map(|ended| {
            let output = ended.map_err(|error| format!("cannot read what pgbench says: {error}"))?;
            match output.status.success() {
                true => Figures::read(&String::from_utf8_lossy(&output.stdout)),
                false => Err(format!("pgbench failed: {}", String::from_utf8_lossy(&output.stderr))),
            }
        })
        .collect();
    figures.map(|figures| Figures::sum(&figures))
}

impl Isolation {
    /// As the setting has it, with its space escaped.
    fn setting(self) -> &'static str {
        match self {
            Isolation::Serializable => "serializable",
            Isolation::ReadCommitted => "read\\ committed",
        }
    }
}

fn row(
    arguments: &PgbenchArguments,
    (system, isolation): (System, Isolation),
    runs: &[Figures],
    rival: f64,
    storage: &str,
) -> PgbenchRow {
    let of = |of: fn(&Figures) -> f64| median(runs.iter().map(of));
    let rates = || runs.iter().map(|run| run.txn_per_s);
    let txn_per_s = of(|run| run.txn_per_s);
    PgbenchRow {
        experiment: "cluster-pgbench",
        system,
        nodes: if system == System::Postgresql { 2 } else { arguments.cluster.nodes },
        isolation,
        clients: arguments.clients,
        scale: arguments.scale,
        txn_per_s,
        txn_per_s_range: [rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max)],
        latency_ms: of(|run| run.latency_ms),
        retried_percent: of(|run| run.retried / run.processed.max(1.0) * 100.0),
        failed: of(|run| run.failed),
        ratio: (system != System::Postgresql).then(|| txn_per_s / rival),
        bar: BAR,
        storage: storage.to_owned(),
        repeats: runs.len(),
        cores: machine::cores(),
        commit: machine::commit(),
    }
}

/// The kind of file system that a directory is on, as the system calls it.
fn file_system(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        words.next().zip(words.next())
    });
    let under = mounts.filter(|(place, _)| directory.starts_with(place));
    under.max_by_key(|(place, _)| place.len()).map_or_else(|| "unknown".to_owned(), |(_, kind)| kind.to_owned())
}

const TITLES: [&str; 8] = ["system", "isolation", "txn/s", "least", "most", "latency ms", "retried %", "ratio"];

/// Writes the rows as an aligned table, and whether the bar is met.
///
/// # Errors
/// Errors of the output.
pub fn write_table(rows: &[PgbenchRow], out: &mut dyn Write) -> io::Result<()> {
    let cells = rows.iter().map(|row| {
        [
            row.system.name().to_owned(),
            row.isolation.to_string(),
            grouped(row.txn_per_s),
            grouped(row.txn_per_s_range[0]),
            grouped(row.txn_per_s_range[1]),
            format!("{:.2}", row.latency_ms),
            format!("{:.1}", row.retried_percent),
            row.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        ]
    });
    let lines: Vec<_> = std::iter::once(TITLES.map(str::to_owned)).chain(cells).collect();
    if let Some(row) = rows.iter().find(|row| row.system == System::AllNodes) {
        let (nodes, clients, scale, storage, cores) = (row.nodes, row.clients, row.scale, &row.storage, row.cores);
        writeln!(
            out,
            "cluster-pgbench: tpcb-like, prepared, {clients} clients, scale {scale}; {nodes} nodes; all on {storage}, {cores} processors\n"
        )?;
    }
    write_cells(&lines, out)?;
    writeln!(out)?;
    for row in rows.iter().filter(|row| row.system == System::AllNodes) {
        let (ratio, isolation) = (row.ratio.unwrap_or_default(), row.isolation);
        let verdict = if ratio >= BAR { "met" } else { "not met" };
        writeln!(out, "{verdict}: {ratio:.2} times PostgreSQL at {isolation}; the bar is {BAR:.0}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
transaction type: <builtin: TPC-B (sort of)>
number of transactions actually processed: 1000
number of failed transactions: 2 (0.200%)
number of transactions retried: 50 (5.000%)
total number of retries: 70
latency average = 4.500 ms
initial connection time = 3.1 ms
tps = 222.5 (without initial connection time)
";

    #[test]
    fn what_pgbench_says_is_read_and_added_up() {
        let one = Figures::read(SAID).unwrap();
        let expected = Figures { txn_per_s: 222.5, latency_ms: 4.5, processed: 1000.0, failed: 2.0, retried: 50.0 };
        assert_eq!(one, expected);
        let other = Figures { txn_per_s: 77.5, latency_ms: 8.5, processed: 3000.0, failed: 0.0, retried: 1.0 };
        let both = Figures::sum(&[one, other]);
        assert_eq!((both.txn_per_s, both.latency_ms, both.failed, both.retried), (300.0, 7.5, 2.0, 51.0));
        let without = SAID.replace("number of transactions retried: 50 (5.000%)\n", "");
        assert_eq!(Figures::read(&without).unwrap().retried, 0.0);
        assert!(Figures::read("tps = 5").is_err());
    }

    #[test]
    fn clients_are_dealt_out_evenly() {
        let all = |clients: usize, addresses: usize| -> Vec<usize> {
            (0..addresses).map(|at| dealt(clients, addresses, at)).collect()
        };
        assert_eq!((all(8, 3), all(2, 3), all(8, 1)), (vec![3, 3, 2], vec![1, 1, 0], vec![8]));
    }
}
