//! The rival: a cluster of real etcd, loaded by the program in `rivals/etcd`.

use super::measurement::{Measurement, Span};
use crate::processes::{Failure, Lines, Processes, free_ports};
use serde::Deserialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Paths of etcd and its load generator.
#[derive(Clone, Debug)]
pub struct Programs {
    /// etcd.
    pub etcd: PathBuf,
    /// The load.
    pub puts: PathBuf,
}

impl Programs {
    /// Finds the programs at the paths given, or else in the usual places.
    ///
    /// # Errors
    /// One is missing; the sentence says how to get it.
    pub fn find(etcd: &Path, puts: Option<&Path>) -> Result<Programs, Failure> {
        let answers = Command::new(etcd).arg("--version").stdin(Stdio::null()).output();
        if !answers.is_ok_and(|output| output.status.success()) {
            let etcd = etcd.display();
            return Err(format!(
                "cannot run {etcd}: install Debian's etcd-server, name it with --etcd, or leave etcd out"
            ));
        }
        let puts = puts.map(Path::to_owned).or_else(usual_puts).filter(|path| path.is_file()).ok_or(
            "cannot find etcd-puts: cargo build --release --manifest-path rivals/etcd/Cargo.toml, \
             name it with --etcd-puts, or leave etcd out",
        )?;
        Ok(Programs { etcd: etcd.to_owned(), puts })
    }
}

/// Beside this program, or where `rivals/etcd` is built in the repository that this program is from.
fn usual_puts() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?.with_file_name("etcd-puts");
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../rivals/etcd/target/release/etcd-puts");
    [beside, built].into_iter().find(|path| path.is_file())
}

/// Load on etcd.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Members of the cluster.
    pub members: usize,
    /// Puts in flight.
    pub in_flight: u64,
    /// Bytes of a value.
    pub value_bytes: u64,
    /// Requests in one put.
    pub requests_per_put: u64,
    /// Time before counting begins.
    pub warm_up: Duration,
    /// Time that is counted.
    pub measured: Duration,
}

/// Starts a cluster in `directory`, loads it, and ends it.
///
/// # Errors
/// A process cannot be started or fails.
pub fn measure(programs: &Programs, directory: &Path, load: &Load) -> Result<Measurement, Failure> {
    let ports = free_ports(2 * load.members)?;
    let (client_ports, peer_ports) = ports.split_at(load.members);
    let mut members = Processes::default();
    for position in 0..load.members {
        members.start(&mut member(programs, directory, position, client_ports, peer_ports)?)?;
    }
    let endpoints: Vec<String> = client_ports.iter().map(|port| url(*port)).collect();
    let mut puts = Command::new(&programs.puts)
        .args(["--entry", "leader", "--endpoints", &endpoints.join(",")])
        .args(["--in-flight", &load.in_flight.to_string(), "--value-bytes", &load.value_bytes.to_string()])
        .args(["--warm-up-ms", &load.warm_up.as_millis().to_string()])
        .args(["--measured-ms", &load.measured.as_millis().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", programs.puts.display()))?;
    let measurement = follow(&mut puts, &members, load);
    // It has ended by itself, or there is nothing more to learn from it.
    let _ = puts.kill();
    let status = puts.wait().map_err(|error| format!("cannot wait for etcd's load: {error}"))?;
    measurement.map_err(|failure| format!("{failure} (etcd's load ended with {status})"))
}

/// Looks at the members' use of processors when counting begins and when the figures come.
fn follow(puts: &mut Child, members: &Processes, load: &Load) -> Result<Measurement, Failure> {
    let mut lines = Lines::new(puts.stdout.take().ok_or("the load of etcd has no output")?);
    match lines.read()?.as_deref() {
        Some("measuring") => {}
        other => {
            return Err(format!("the load of etcd did not begin to measure: {}", other.unwrap_or("it said nothing")));
        }
    }
    let span = Span::begin(members, puts.id())?;
    let figures = lines.read()?.ok_or("the load of etcd has no figures")?;
    let figures: Figures =
        serde_json::from_str(&figures).map_err(|error| format!("cannot read the figures of etcd's load: {error}"))?;
    let use_of_cores = span.end(members)?;
    Ok(Measurement {
        requests: figures.puts * load.requests_per_put,
        batches: figures.puts,
        seconds: figures.seconds,
        p50_us: figures.p50_us,
        p99_us: figures.p99_us,
        p999_us: figures.p999_us,
        elections: 0,
        in_flight: Some(load.in_flight),
        cores_used: use_of_cores,
    })
}

/// Output of `etcd-puts`.
#[derive(Debug, Deserialize)]
struct Figures {
    puts: u64,
    seconds: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn member(
    programs: &Programs,
    directory: &Path,
    position: usize,
    client_ports: &[u16],
    peer_ports: &[u16],
) -> Result<Command, Failure> {
    let name = |position: usize| format!("member-{position}");
    let peers: Vec<String> =
        peer_ports.iter().enumerate().map(|(position, port)| format!("{}={}", name(position), url(*port))).collect();
    let log = directory.join(name(position) + ".log");
    let log = File::create(&log).map_err(|error| format!("cannot create {}: {error}", log.display()))?;
    let (client_url, peer_url) = (url(client_ports[position]), url(peer_ports[position]));
    let mut command = Command::new(&programs.etcd);
    command
        .args(["--name", &name(position), "--initial-cluster", &peers.join(","), "--initial-cluster-state", "new"])
        .args(["--listen-client-urls", &client_url, "--advertise-client-urls", &client_url])
        .args(["--listen-peer-urls", &peer_url, "--initial-advertise-peer-urls", &peer_url])
        .args(["--log-level", "error", "--logger", "zap", "--quota-backend-bytes", QUOTA_BYTES])
        .arg("--data-dir")
        .arg(directory.join(name(position)))
        .stderr(log);
    Ok(command)
}

/// etcd refuses more than 2 GiB by default, which a longer run writes.
const QUOTA_BYTES: &str = "8589934592";

/// Returns a directory in memory for members' data, so that etcd's writes and syncs cost next to nothing.
///
/// # Errors
/// This machine has no such file system in the usual place.
pub fn in_memory() -> Result<PathBuf, Failure> {
    let root = Path::new("/dev/shm");
    if root.is_dir() { Ok(root.to_owned()) } else { Err("etcd needs /dev/shm to run in memory".to_owned()) }
}
