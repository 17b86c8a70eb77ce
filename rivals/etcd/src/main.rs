//! Puts values into an etcd cluster, many at a time, and says how fast they were.
//!
//! One put stands for one batch of requests: etcd orders opaque values as a total order does, and answers when a value is
//! chosen, on the disks of a majority and applied. Standard output has two lines: `measuring` when the warm-up is over, so
//! that whoever started this program can look at the members' use of the processor there and then, and at the end the
//! figures as JSON.
#![forbid(unsafe_code)]

use clap::{Parser, ValueEnum};
use load::{Figures, Load};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tonic::transport::{Channel, Endpoint};

mod etcd;
mod load;

/// Loads an etcd cluster with puts and says how fast they were
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The members' addresses
    #[arg(long, required = true, value_delimiter = ',', value_name = "http://HOST:PORT,...")]
    endpoints: Vec<String>,

    /// Who gets the puts
    #[arg(long, value_enum, default_value = "leader")]
    entry: Entry,

    /// Puts that wait for their answers at any time
    #[arg(long, default_value = "4", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,

    /// Bytes of a value
    #[arg(long, default_value = "12000", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    value_bytes: u32,

    /// Milliseconds before counting begins
    #[arg(long, default_value = "1000", value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=3_600_000))]
    warm_up_ms: u64,

    /// Milliseconds that are counted
    #[arg(long, default_value = "5000", value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    measured_ms: u64,
}

/// Who gets the puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Entry {
    /// The leader: nothing is forwarded
    Leader,
    /// All members in turns: they forward to the leader
    All,
}

/// How long a cluster that has just been started may take until it has a leader.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(figures) => {
            println!("{}", serde_json::to_string(&figures).expect("figures are plain data"));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("etcd-puts: {message}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<Figures, String> {
    let channels = connect(&arguments.endpoints)?;
    let leader = find_leader(&channels).await?;
    let entries = match arguments.entry {
        Entry::Leader => vec![channels[leader].clone()],
        Entry::All => channels,
    };
    let load = Load {
        in_flight: arguments.in_flight as usize,
        value_bytes: arguments.value_bytes as usize,
        warm_up: Duration::from_millis(arguments.warm_up_ms),
        measured: Duration::from_millis(arguments.measured_ms),
    };
    let announce = || {
        println!("measuring");
        std::io::stdout().flush().map_err(|error| format!("cannot write: {error}"))
    };
    load.run(&entries, announce).await
}

fn connect(endpoints: &[String]) -> Result<Vec<Channel>, String> {
    let connect = |endpoint: &String| {
        let endpoint = Endpoint::from_shared(endpoint.clone()).map_err(|error| format!("{endpoint}: {error}"))?;
        Ok(endpoint.tcp_nodelay(true).connect_lazy())
    };
    endpoints.iter().map(connect).collect()
}

/// The position of the member that leads, once all members know of each other and one does.
async fn find_leader(channels: &[Channel]) -> Result<usize, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match leader(channels).await {
            Ok(leader) => return Ok(leader),
            Err(reason) if Instant::now() >= deadline => return Err(format!("no leader after {PATIENCE:?}: {reason}")),
            Err(_) => sleep(BETWEEN_TRIES).await,
        }
    }
}

async fn leader(channels: &[Channel]) -> Result<usize, String> {
    let mut leader = None;
    for (position, channel) in channels.iter().enumerate() {
        let status = etcd::status(channel.clone()).await.map_err(|error| error.to_string())?;
        if status.leader == 0 {
            return Err(format!("member {position} knows of no leader"));
        }
        if status.is_leader() {
            leader = Some(position);
        }
    }
    leader.ok_or_else(|| "none of the endpoints leads".to_owned())
}
