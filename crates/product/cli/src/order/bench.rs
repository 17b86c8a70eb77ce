//! `seriatim order bench`: compares total orders by the same load.

use super::credentials::Credentials;
use crate::failure::{Failure, Outcome};
use crate::output::{Format, grouped};
use crate::signals::stop_on_signals;
use crate::units::{bytes, duration};
use clap::{Args, ValueEnum};
use env::{Randomness, RealDisk};
use etcd::{EtcdOptions, EtcdOrder};
use load::Latencies;
use load::order::{OrderFigures, OrderLoad};
use paxos::config::{Durability, Options};
use paxos::node::{Listen, NodeOptions};
use paxos::order::NodeOrder;
use serde_json::json;
use std::io::{Write, stdout};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use total::sequencer::Sequencer;
use total::{OrderLimits, TotalOrder};

/// Measure a total order of payloads, without sessions and services: proposals per second, and the time until one is delivered.
///
/// All nodes run in this process, and each has a number of proposals open at any time. A proposal's time ends when the node that
/// has proposed it is delivered it.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim order bench --order paxos --data ./data/bench\n  \
    seriatim order bench --order etcd --endpoints http://a:2379,http://b:2379,http://c:2379\n  \
    seriatim order bench --order kafka --brokers a:9092,b:9092,c:9092\n  \
    seriatim order bench --order sequencer --open 1 --format json\n\n\
    With etcd, an order of a random name is made, whose keys stay: etcdctl del --prefix /seriatim-bench\n\
    With Kafka (in builds with the feature kafka), a topic is made, which stays: kafka-topics.sh --delete --topic 'seriatim-bench-.*'\n\n\
    Exit codes: 0 success; 2 the command could not run, or nothing was delivered.")]
pub struct Bench {
    /// Which order.
    #[arg(long, value_enum)]
    order: Kind,
    /// Number of nodes.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=31))]
    nodes: u16,
    /// Proposals of each node that are open at any time.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    open: u32,
    /// Size of a payload.
    #[arg(long, value_name = "SIZE", default_value = "100", value_parser = bytes)]
    size: usize,
    /// Duration of the measurement.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    seconds: Duration,
    /// Duration of the warm-up, which is not counted.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    warm_up: Duration,
    /// paxos: directory for the replicas' journals, synced (fsync). Without it, all is in memory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// etcd: addresses of the members.
    #[arg(long, value_name = "URL,...", value_delimiter = ',', default_value = "http://127.0.0.1:2379")]
    endpoints: Vec<String>,
    /// kafka: addresses of brokers.
    #[cfg(feature = "kafka")]
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', default_value = "127.0.0.1:9092")]
    brokers: Vec<String>,
    /// kafka: copies of the topic [default: 3]
    #[cfg(feature = "kafka")]
    #[arg(long, value_name = "N")]
    replication: Option<u16>,
    /// kafka: how the user proves its password.
    #[cfg(feature = "kafka")]
    #[arg(long, value_enum, default_value_t = kafka_node::Sasl::ScramSha512)]
    sasl: kafka_node::Sasl,
    /// etcd, kafka: PEM file with the authorities of the servers' certificates; etcd's addresses then begin with https.
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// etcd, kafka: PEM file with this client's certificate.
    #[arg(long, value_name = "FILE", requires_all = ["cacert", "cert_key"])]
    cert: Option<PathBuf>,
    /// etcd, kafka: PEM file with the key of `--cert`.
    #[arg(long, value_name = "FILE", requires = "cert")]
    cert_key: Option<PathBuf>,
    /// etcd, kafka: user, whose password is the first line of `--password-file`.
    #[arg(long, value_name = "NAME", requires = "password_file")]
    user: Option<String>,
    /// etcd, kafka: file with the password of `--user`.
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// etcd: batches of a node that are under way at once [default: 1]
    #[arg(long, value_name = "N")]
    in_flight: Option<usize>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Orders that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// One list in this process.
    Sequencer,
    /// Proved Multi-Paxos, on loopback.
    Paxos,
    /// An etcd cluster that runs already.
    Etcd,
    /// A Kafka cluster that runs already.
    #[cfg(feature = "kafka")]
    Kafka,
}

/// Starts a node, at a member of its own if there are enough.
fn etcd_node(options: &EtcdOptions, node: u64, limits: OrderLimits) -> Outcome<EtcdOrder> {
    let mut options = EtcdOptions { node, ..options.clone() };
    let members = options.endpoints.len();
    options.endpoints.rotate_left(node as usize % members);
    EtcdOrder::start(options, limits, None).map_err(Failure::trouble)
}

#[cfg(feature = "kafka")]
mod kafka_node {
    use super::{Failure, OrderLimits, Outcome};
    use clap::ValueEnum;
    use kafka::{KafkaOptions, KafkaOrder, Mechanism};

    /// How a user proves its password.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    pub enum Sasl {
        /// It is sent; only with TLS.
        Plain,
        ScramSha256,
        ScramSha512,
    }

    impl From<Sasl> for Mechanism {
        fn from(sasl: Sasl) -> Mechanism {
            match sasl {
                Sasl::Plain => Mechanism::Plain,
                Sasl::ScramSha256 => Mechanism::ScramSha256,
                Sasl::ScramSha512 => Mechanism::ScramSha512,
            }
        }
    }

    pub fn start(options: &KafkaOptions, node: u64, limits: OrderLimits) -> Outcome<KafkaOrder> {
        let mut options = KafkaOptions { node, ..options.clone() };
        let brokers = options.brokers.len().max(1);
        options.brokers.rotate_left(node as usize % brokers);
        KafkaOrder::start(options, limits, None).map_err(Failure::trouble)
    }
}

impl Bench {
    pub fn run(&self) -> Outcome {
        let stop = stop_on_signals()?;
        let limits = OrderLimits { delivered_bytes: 256 << 20, ..OrderLimits::default() };
        let figures = match self.order {
            Kind::Sequencer => {
                let sequencer = Sequencer::new(limits);
                self.measure((0..self.nodes).map(|node| Ok(sequencer.join(node.into(), None))), &stop)
            }
            Kind::Paxos => self.measure(self.replicas(limits)?.into_iter(), &stop),
            Kind::Etcd => {
                let options = self.etcd_options()?;
                self.measure((0..self.nodes).map(|node| etcd_node(&options, node.into(), limits)), &stop)
            }
            #[cfg(feature = "kafka")]
            Kind::Kafka => {
                let options = self.kafka_options()?;
                self.measure((0..self.nodes).map(|node| kafka_node::start(&options, node.into(), limits)), &stop)
            }
        }?;
        if figures.latencies.requests == 0 {
            return Err(Failure::Trouble("nothing was delivered while it was counted".into()));
        }
        self.print(&figures)
    }

    fn measure<O: TotalOrder>(
        &self,
        nodes: impl Iterator<Item = Outcome<O>>,
        stop: &AtomicBool,
    ) -> Outcome<OrderFigures> {
        let nodes = nodes.collect::<Outcome<Vec<O>>>()?;
        if let Some(node) = nodes.first()
            && !(1..=node.capabilities().payload_bytes).contains(&self.size)
        {
            let most = node.capabilities().payload_bytes;
            return Err(Failure::Trouble(format!("--size {}: a payload has 1 to {most} bytes", self.size)));
        }
        let load = OrderLoad {
            open: self.open as usize,
            payload: vec![7; self.size].into(),
            warm_up: self.warm_up,
            measured: self.seconds,
        };
        load::order::run(&nodes, &load, stop).map_err(Failure::trouble)
    }

    /// Replicas on free ports. They are started together: each waits for the others.
    fn replicas(&self, limits: OrderLimits) -> Outcome<Vec<Outcome<NodeOrder>>> {
        let sockets = (0..self.nodes).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>();
        let sockets = sockets.map_err(Failure::trouble)?;
        let addresses = sockets.iter().map(|socket| Ok(socket.local_addr()?.to_string()));
        let addresses = addresses.collect::<Result<Vec<_>, std::io::Error>>().map_err(Failure::trouble)?;
        let start = |(node, socket)| {
            let mut replica = Options::new(self.nodes.into(), node);
            if self.data.is_some() {
                replica.durability = Durability::Fsync;
            }
            let mut options = NodeOptions::new(replica, Listen::On(socket), addresses.clone());
            let disk = self.data.as_ref().map(|data| RealDisk::new(data.join(format!("replica-{node}"))));
            options.disk = disk.map(|disk| Arc::new(disk) as _);
            NodeOrder::start(options, limits, None).map_err(Failure::trouble)
        };
        Ok((0..).zip(sockets).map(start).collect())
    }

    fn etcd_options(&self) -> Outcome<EtcdOptions> {
        let mut options = EtcdOptions::new(0, self.endpoints.clone());
        options.prefix = format!("/seriatim-bench/{:016x}", Randomness::from_entropy().next_u64());
        options.patience = Duration::from_secs(10);
        options.in_flight = self.in_flight.unwrap_or(options.in_flight);
        (options.tls, options.user) = self.credentials().for_etcd()?;
        Ok(options)
    }

    fn credentials(&self) -> Credentials<'_> {
        Credentials {
            cacert: self.cacert.as_deref(),
            cert: self.cert.as_deref().zip(self.cert_key.as_deref()),
            user: self.user.as_deref().zip(self.password_file.as_deref()),
        }
    }

    #[cfg(feature = "kafka")]
    fn kafka_options(&self) -> Outcome<kafka::KafkaOptions> {
        let mut options = kafka::KafkaOptions::new(0, self.brokers.clone());
        options.topic = format!("seriatim-bench-{:016x}", Randomness::from_entropy().next_u64());
        options.patience = Duration::from_secs(30);
        options.replication = self.replication.unwrap_or(options.replication);
        options.tls =
            self.credentials().tls()?.map(|(authorities, identity)| kafka::KafkaTls { authorities, identity });
        let mechanism = self.sasl.into();
        let user = self.credentials().user()?;
        options.user = user.map(|(name, password)| kafka::KafkaUser { name, password, mechanism });
        Ok(options)
    }

    /// Kafka's brokers sync records later: they are in the memory of a majority.
    fn is_durable(&self) -> bool {
        self.order == Kind::Etcd || self.order == Kind::Paxos && self.data.is_some()
    }

    fn print(&self, figures: &OrderFigures) -> Outcome {
        let OrderFigures { latencies: Latencies { requests, p50_us, p99_us, p999_us }, seconds } = *figures;
        let per_second = requests as f64 / seconds;
        let order = self.order.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let mut out = stdout().lock();
        if self.format == Format::Json {
            let row = json!({
                "order": order, "nodes": self.nodes, "proposals": requests, "seconds": seconds,
                "proposals_per_s": per_second, "p50_us": p50_us, "p99_us": p99_us, "p999_us": p999_us,
                "open": self.open, "payload_bytes": self.size, "durable": self.is_durable(),
            });
            writeln!(out, "{row}")?;
            return Ok(out.flush()?);
        }
        writeln!(out, "proposals     {} in {seconds:.1} s", grouped(requests))?;
        writeln!(out, "proposals/s   {}", grouped(per_second as u64))?;
        for (name, us) in [("p50", p50_us), ("p99", p99_us), ("p99.9", p999_us)] {
            writeln!(out, "{name:12}  {:.3} ms", us / 1e3)?;
        }
        Ok(out.flush()?)
    }
}
