//! The command line.

use crate::engines::{DoorName, EngineName, LocalStore, OrderName, PolicyName, RECEIVE};
use crate::experiments::cluster::arguments::{FailoverArguments, PgbenchArguments};
use crate::experiments::paxos_order::arguments::PaxosOrderArguments;
use crate::kill::CHILD;
use crate::kill::arguments::KillArguments;
use crate::options::{Format, number, positive, seconds, seconds_or_none};
use crate::soak::arguments::SoakArguments;
use crate::trial::DurabilityName;
use crate::workloads::parameters;
use crate::workloads::ycsb::StorageName;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  lab workload ycsb --engine mvto --compare twopl --threads 1,2 --seconds 3
  lab workload ycsb --engine mvto --keys-per-txn 4 --reads 50 --theta 0.85 --format json
  lab workload bank --engine mvto --accounts 1000 --durability fsync --data /mnt/disk
  lab history --engine all --operations 1000000 --threads 2
  lab run vmvcc-stock-scan --scale full
  lab experiment paxos-order --replicas 3,5,7 --durability memory,fsync
  lab soak --minutes 30
  lab kill --engine bohm --rounds 100";

/// Runs workloads on database engines side by side, and judges what they did
#[derive(Debug, Parser)]
#[command(name = "lab", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure a workload on one or more engines
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// Record random transactions on few keys, and let both judges look at them
    History(HistoryArguments),
    /// Load, kill and restart a server for a long time, and audit it
    Soak(SoakArguments),
    /// Kill a process that executes logged calls, again and again, and look for each answer
    Kill(KillArguments),
    /// List the papers' experiments
    List(ListArguments),
    /// Run an experiment of a paper, and compare with its figure
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Make a page with charts of what `run --format json` has printed
    Report(ReportArguments),
    /// Reproduce an experiment of a paper that has options of its own
    #[command(subcommand)]
    Experiment(ExperimentCommand),
    /// Run one replica, given as JSON, in this process: how `experiment paxos-order` keeps its replicas apart
    #[command(hide = true)]
    OrderNode {
        /// The replica
        plan: String,
    },
    /// Store the redo log that a trial ships here, in a directory
    #[command(name = RECEIVE, hide = true)]
    ReceiveLog {
        /// The directory
        directory: PathBuf,
    },
    /// Execute calls until killed: how `kill` has something to kill
    #[command(name = CHILD, hide = true)]
    KillChild {
        /// The directory of the database
        directory: PathBuf,
        /// Seed of all random choices
        seed: u64,
    },
    /// Run one trial, given as JSON, in this process: how `workload` keeps its runs apart
    #[command(hide = true)]
    Measure {
        /// The plan
        plan: String,
    },
}

/// Which workload.
#[derive(Debug, Subcommand)]
pub enum WorkloadCommand {
    /// Reads and blind writes of records by popularity, and scans
    #[command(after_help = YCSB_EXAMPLES)]
    Ycsb(YcsbArguments),
    /// Transfers between accounts, and audits of their sum
    #[command(after_help = BANK_EXAMPLES)]
    Bank(BankArguments),
    /// Short transactions on two accounts of each customer
    #[command(after_help = SMALLBANK_EXAMPLES)]
    Smallbank(SmallbankArguments),
    /// Inserts, updates and deletions of rows of ten integers
    #[command(after_help = DML_EXAMPLES)]
    Dml(DmlArguments),
    /// Lookups and updates of telephone subscribers
    #[command(after_help = TATP_EXAMPLES)]
    Tatp(TatpArguments),
    /// Orders, payments and deliveries of a wholesale supplier
    #[command(after_help = TPCC_EXAMPLES)]
    Tpcc(TpccArguments),
    /// A travel agency: bookings of cars, flights and rooms
    #[command(after_help = VACATION_EXAMPLES)]
    Vacation(VacationArguments),
}

/// Which experiment.
#[derive(Debug, Subcommand)]
pub enum ExperimentCommand {
    /// A proved total order against a plain one and etcd (Pandey 2016, figure 7.2)
    PaxosOrder(PaxosOrderArguments),
    /// Kill each node of a replicated database under load, and find how long nobody is answered
    ClusterFailover(FailoverArguments),
    /// pgbench on a replicated database, and on a PostgreSQL with a synchronous standby
    ClusterPgbench(PgbenchArguments),
}

const YCSB_EXAMPLES: &str = "\
Examples:
  One key per transaction, half of them reads, on two engines, one and two threads:
    lab workload ycsb --engine mvto --compare twopl --reads 50 --threads 1,2 --seconds 3
  Four keys with popular ones among them, beside eight readers of 10,000 keys each:
    lab workload ycsb --engine mvto --keys-per-txn 4 --reads 50 --theta 0.85 --long-readers 8
  Ten read-modify-writes of popular records, as BOHM was measured:
    lab workload ycsb --preset bohm-10rmw --engine mvto --compare twopl --theta 0.9 --threads 2
  Group commit on the disk under /mnt/disk:
    lab workload ycsb --engine mvto --reads 0 --threads 8 --durability fsync --data /mnt/disk";

const BANK_EXAMPLES: &str = "\
Examples:
  lab workload bank --engine mvto --compare twopl --threads 2 --seconds 3
  lab workload bank --engine mvto --accounts 100 --audits 10 --history bank.jsonl && seriatim check bank.jsonl";

const SMALLBANK_EXAMPLES: &str = "\
Examples:
  lab workload smallbank --engine mvto --compare twopl --threads 2
  lab workload smallbank --preset contended --engine mvto --compare twopl --threads 1,2";

const DML_EXAMPLES: &str = "\
Examples:
  lab workload dml --engine hyper --compare mvto,twopl,silo
  lab workload dml --engine hyper --compare mvto --operations 100 --updates 100";

const TATP_EXAMPLES: &str = "\
Examples:
  lab workload tatp --engine mvto --compare twopl --threads 1,2
  lab workload tatp --engine mvto --subscribers 1000000";

/// What `lab run` costs at full scale. A test holds the numbers of trials against the experiments.
pub const RUN_EXAMPLES: &str = "\
At full scale each point is measured three times. A trial takes about 3.5 s: two are counted, the rest is start, load, warm-up and audit;
HyPer's load more, and take up to 20 s. What experiments share is measured once.
Trials on two cores (on more there are more points):
  vmvcc-silo 66, vmvcc-long-readers 72, vmvcc-stock-scan 24, vmvcc-ladder 24, vmvcc-contention 48,
  hyper-scan 72, hyper-synopsis 36, hyper-cycles 48, hyper-dml 72, hyper-tpcc 27, hyper-tatp 27, hyper-threads 48, hyper-logging 93,
  hyper-validation 36, hyper-aborts 36,
  bohm-stages 3, bohm-10rmw 96, bohm-2rmw8r 42, bohm-theta 84, bohm-long-readers 84, bohm-smallbank 48; all 939, two hours.
dur-bank, dur-tpcc, dur-vacation and dur-remote run in virtual time, each point once: --repeat and --seconds have no effect on them.
They measure this machine for half a minute a workload first: only then must it be quiet.
paxos-order starts a cluster for each measurement, of 5 s; with --resume it is measured anew.
Smoke scale takes seconds, and decides nothing.

Exit codes: 0 the experiment ran, whatever came out; 1 a trial failed (the others have figures, all the same); 2 bad arguments.

Examples:
  lab run vmvcc-long-readers --scale smoke
  lab run all --scale full --resume trials.jsonl --format json > figures.json && lab report figures.json --out figures.html
  lab run vmvcc-stock-scan --history /tmp && seriatim check /tmp/vmvcc-stock-scan-1.jsonl";

const TPCC_EXAMPLES: &str = "\
Examples:
  lab workload tpcc --engine mvto --compare twopl --threads 2 --warehouses 2
  A scan of the whole stock every 100 ms beside the clients:
    lab workload tpcc --engine mvto --compare twopl --long-readers 1 --long-reader-interval 100";

const VACATION_EXAMPLES: &str = "\
Examples:
  lab workload vacation --engine mvto --compare twopl --threads 2
  lab workload vacation --preset high --engine mvto --compare silo,bohm --threads 1,2";

/// What every workload takes.
#[derive(Debug, Args)]
pub struct CommonArguments {
    /// The engine
    #[arg(long, value_enum)]
    pub engine: EngineName,

    /// Engines to run beside it, in turns
    #[arg(long, value_enum, value_delimiter = ',', value_name = "ENGINE,...")]
    pub compare: Vec<EngineName>,

    /// Parameters to begin with, by name: a file of `crates/lab/lab/workloads` lists those of each workload
    #[arg(long, default_value = parameters::DEFAULT, value_name = "NAME")]
    pub preset: String,

    /// Numbers of client threads, each measured by itself
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N,...",
          value_parser = clap::value_parser!(u32).range(1..=MAX_THREADS))]
    pub threads: Vec<u32>,

    /// Seconds that are counted, per run
    #[arg(long, default_value = "3", value_name = "S", value_parser = seconds)]
    pub seconds: f64,

    /// Seconds before counting begins [default: a fifth of the counted ones, at most 2]
    #[arg(long, value_name = "S", value_parser = seconds_or_none)]
    pub warm_up: Option<f64>,

    /// Run this many transactions instead of some seconds, without warm-up
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "warm_up"], value_parser = clap::value_parser!(u64).range(1..))]
    pub transactions: Option<u64>,

    /// How often each run is repeated, the engines taking turns; figures are medians
    #[arg(long, default_value = "1", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Threads that meanwhile run long reading transactions, counted apart
    #[arg(long, default_value = "0", value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MAX_THREADS))]
    pub long_readers: u32,

    /// Milliseconds from the begin of a long reader's transaction to the begin of its next, at least
    #[arg(long, default_value = "0", value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=86_400_000))]
    pub long_reader_interval: u64,

    /// Take hold of a row at the statement that writes it instead of at commit
    #[arg(long)]
    pub own_at_statement: bool,

    /// How transactions enter the engine
    #[arg(long, value_enum, default_value = "program")]
    pub door: DoorName,

    /// Transactions that a client submits together: with --door batch
    #[arg(long, default_value = "16", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub batch: u32,

    /// Transactions that come in a second, of all clients together, whether or not earlier ones have ended: with --door declared.
    /// Latencies then count from when a transaction was due
    #[arg(long, value_name = "N", value_parser = positive)]
    pub rate: Option<f64>,

    /// Threads that plan, of --engine bohm
    #[arg(long, default_value = "1", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub planners: u32,

    /// Threads that execute, of --engine bohm
    #[arg(long, default_value = "1", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_THREADS))]
    pub executors: u32,

    /// Threads of --engine bohm plan or execute by what there is to do, as many as --planners and --executors say together
    #[arg(long)]
    pub moves_threads: bool,

    /// Transactions of --engine bohm that only read do so behind the last complete batch: serializable, not strict. Not with --door
    /// prepared
    #[arg(long)]
    pub reads_behind: bool,

    /// Nodes of --engine dur and cluster
    #[arg(long, default_value = "1", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub nodes: u32,

    /// The order between nodes of --engine dur and cluster
    #[arg(long, value_enum, default_value = "sequencer")]
    pub order: OrderName,

    /// What each node of --engine cluster keeps its rows in
    #[arg(long, value_enum, default_value = "mvto")]
    pub local_store: LocalStore,

    /// What transactions of --engine dur may read
    #[arg(long, value_enum, default_value = "speculative")]
    pub policy: PolicyName,

    /// Transactions that a node of --engine dur executes at a time; 0 is its default
    #[arg(long, default_value = "0", value_name = "N", value_parser = clap::value_parser!(u32).range(0..=64))]
    pub speculative: u32,

    /// What acknowledgements wait for
    #[arg(long, value_enum, default_value = "none")]
    pub durability: DurabilityName,

    /// Where durable databases are put, each in a directory of its own that is removed afterwards [default: the system's
    /// directory for temporary files, on whatever disk it may be]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Record every transaction there, for `seriatim check`; with several runs, each in a file of its own beside it.
    /// Recording takes time and memory: figures of such a run mean little
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,

    /// Where all random choices come from
    #[arg(long, default_value = "1", value_name = "N")]
    pub seed: u64,

    /// How the figures are shown
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// Enough for the largest machines of the papers, with room.
const MAX_THREADS: i64 = 1024;

/// `lab workload ycsb`.
#[derive(Debug, Args)]
pub struct YcsbArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub common: CommonArguments,

    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub changes: YcsbChanges,
}

/// Changes of a preset of YCSB. The names are those of its parameters.
#[derive(Debug, Default, Args, Serialize)]
pub struct YcsbChanges {
    /// Keys that a transaction reads or writes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub keys_per_txn: Option<u32>,

    /// Keys of them that are read and written back
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub rmws: Option<u32>,

    /// Percentage of the other keys that are read; the rest is overwritten
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub reads: Option<f64>,

    /// How uneven popularity is (Gray et al. 1994); 0 is even
    #[arg(long, value_name = "T", value_parser = theta)]
    pub theta: Option<f64>,

    /// Records in the table
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=crate::draw::Zipf::MAX_COUNT))]
    pub records: Option<u64>,

    /// Bytes of a row
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=1 << 20))]
    pub record_bytes: Option<u32>,

    /// Access method of the table
    #[arg(long, value_enum)]
    pub storage: Option<StorageName>,

    /// Percentage of transactions that are one scan instead
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub scans: Option<f64>,

    /// Keys that a scan visits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub scan_length: Option<u64>,

    /// Percentage of transactions that are one long read instead
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub long_reads: Option<f64>,

    /// Keys that a long read, or a long reader's transaction, reads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub long_reader_keys: Option<u32>,
}

/// `lab workload bank`.
#[derive(Debug, Args)]
pub struct BankArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub common: CommonArguments,

    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub changes: BankChanges,
}

/// Changes of a preset of Bank. The names are those of its parameters.
#[derive(Debug, Default, Args, Serialize)]
pub struct BankChanges {
    /// Accounts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=1 << 32))]
    pub accounts: Option<u64>,

    /// Percentage of transactions that are audits: scans of all accounts. Long readers do nothing else
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub audits: Option<f64>,
}

/// `lab workload smallbank`.
#[derive(Debug, Args)]
pub struct SmallbankArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub common: CommonArguments,

    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub changes: SmallbankChanges,
}

/// Changes of a preset of SmallBank. The names are those of its parameters.
#[derive(Debug, Default, Args, Serialize)]
pub struct SmallbankChanges {
    /// Customers, each with two accounts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=crate::draw::Zipf::MAX_COUNT))]
    pub customers: Option<u64>,

    /// How uneven the customers' popularity is; 0 is even
    #[arg(long, value_name = "T", value_parser = theta)]
    pub theta: Option<f64>,

    /// Microseconds that each transaction computes besides
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub spin_us: Option<u64>,

    /// Access method of the tables
    #[arg(long, value_enum)]
    pub storage: Option<StorageName>,
}

/// `lab workload dml`.
#[derive(Debug, Args)]
pub struct DmlArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub common: CommonArguments,

    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub changes: DmlChanges,
}

/// Changes of a preset of `dml`. The names are those of its parameters.
#[derive(Debug, Default, Args, Serialize)]
pub struct DmlChanges {
    /// Rows that are loaded
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub records: Option<u64>,

    /// Operations of a transaction
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub operations: Option<u32>,

    /// Percentage of transactions that update rows
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub updates: Option<f64>,

    /// Percentage of transactions that delete rows and insert them again; the rest insert new ones
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub delete_inserts: Option<f64>,
}

/// `lab workload tatp`.
#[derive(Debug, Args)]
pub struct TatpArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub common: CommonArguments,

    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub changes: TatpChanges,
}

/// Changes of a preset of TATP. The names are those of its parameters.
#[derive(Debug, Default, Args, Serialize)]
pub struct TatpChanges {
    /// Subscribers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub subscribers: Option<u64>,
}

/// `lab workload vacation`.
#[derive(Debug, Args)]
pub struct VacationArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub common: CommonArguments,

    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub changes: VacationChanges,
}

/// Changes of a preset of Vacation. The names are those of its parameters.
#[derive(Debug, Default, Args, Serialize)]
pub struct VacationChanges {
    /// Cars, flights, rooms and customers, each as many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub relations: Option<u64>,

    /// Offers that a transaction looks at
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub queries: Option<u32>,

    /// Percentage of the relations that are looked at
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub queried: Option<f64>,

    /// Percentage of transactions that book
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub users: Option<f64>,
}

/// `lab workload tpcc`.
#[derive(Debug, Args)]
pub struct TpccArguments {
    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub common: CommonArguments,

    #[command(flatten)]
    #[expect(missing_docs, reason = "its arguments are documented one by one")]
    pub changes: TpccChanges,
}

/// Changes of a preset of TPC-C. The names are those of its parameters.
#[derive(Debug, Default, Args, Serialize)]
pub struct TpccChanges {
    /// Warehouses; each client has a home among them, in turns
    #[arg(long, value_name = "N")]
    pub warehouses: Option<u64>,

    /// Items, and stock of each warehouse
    #[arg(long, value_name = "N")]
    pub items: Option<u64>,

    /// Customers of a district, and orders that it begins with
    #[arg(long, value_name = "N")]
    pub customers: Option<u64>,

    /// Percentage of transactions that scan the stock of all warehouses. Long readers do nothing else
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub stock_scans: Option<f64>,

    /// Percentage of transactions that look for the customer of a district with the highest balance
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub top_customers: Option<f64>,

    /// Percentage of order lines that another warehouse supplies
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub remote_items: Option<f64>,

    /// Percentage of payments of another warehouse's customer
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub remote_payments: Option<f64>,

    /// Percentage of payments and order statuses that look a customer up by name
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub by_last_name: Option<f64>,
}

/// `lab list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// How they are shown: `markdown` is the tables of docs/experiments.md
    #[arg(long, value_enum, default_value = "table")]
    pub format: ListFormat,
}

/// Output format of the list of experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For people
    Table,
    /// A table for each paper
    Markdown,
}

/// `lab run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The experiments, as `lab list` names them; `all`: all that this command runs
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,

    /// How large
    #[arg(long, value_enum, default_value = "smoke")]
    pub scale: Scale,

    /// How often each point is repeated, the systems taking turns [default: 1 at smoke scale, 3 at full]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,

    /// Seconds that are counted, per trial [default: 2; at smoke scale 400 transactions instead]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,

    /// Keep each measurement in FILE as soon as it is made, and do not repeat those that FILE has of this very program: a run that was
    /// interrupted, or whose trials were, goes on. A trial that failed is tried once more
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Record every transaction of each trial, in a file of its own in DIR, for `seriatim check`. At smoke scale only
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub history: Option<PathBuf>,

    /// How the figures are shown
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
}

/// Size of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Small tables and moments: whether it runs
    Smoke,
    /// The paper's, as far as this machine permits
    Full,
}

/// `lab report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Files that `lab run --format json` or `lab experiment paxos-order --format json` has printed
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Where to write the page
    #[arg(long, value_name = "FILE", default_value = "lab-report.html")]
    pub out: PathBuf,
}

/// `lab history`.
#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct HistoryArguments {
    /// The engines, one after another: names as of `lab workload`, or all that are serializable
    #[arg(long, required = true, value_delimiter = ',', value_name = "ENGINE,...", value_parser = engines)]
    pub engine: Vec<Engines>,

    /// Operations of committed transactions to record
    #[arg(long, default_value = "100000", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub operations: u64,

    /// Client threads
    #[arg(long, default_value = "4", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_THREADS))]
    pub threads: u32,

    /// Keys of each table: the fewer, the more conflicts
    #[arg(long, default_value = "200", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub keys: u64,

    /// Where all random choices come from. Threads still interleave as they like
    #[arg(long, default_value = "1", value_name = "N")]
    pub seed: u64,

    /// How transactions enter the engine. These have no footprint, so that they cannot be declared
    #[arg(long, value_enum, default_value = "program")]
    pub door: DoorName,

    /// The engine's limits: small ones make the rare paths common
    #[arg(long, value_enum, default_value = "small")]
    pub limits: Limits,

    /// Write the history there, too; of several engines each into a file of its own beside it
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

const HISTORY_EXAMPLES: &str = "\
Exit codes: 0 both judges are content; 1 they are not, or the run failed; 2 bad arguments.

Examples:
  lab history --engine mvto --operations 1000000 --threads 4 --seed 7
  lab history --engine all --operations 1000000 --threads 2
  lab history --engine twopl --threads 8 --keys 20 --out twopl.jsonl && seriatim check twopl.jsonl";

/// One engine, or all.
#[derive(Clone, Debug)]
pub struct Engines(Vec<EngineName>);

fn engines(text: &str) -> Result<Engines, String> {
    let all = EngineName::value_variants();
    if text == "all" {
        return Ok(Engines(all.iter().copied().filter(|engine| engine.is_serializable()).collect()));
    }
    let names = || all.iter().map(EngineName::to_string).collect::<Vec<_>>().join(", ");
    let engine = EngineName::from_str(text, false).map_err(|_| format!("the engines are {}; or all", names()))?;
    Ok(Engines(vec![engine]))
}

impl HistoryArguments {
    /// The engines, each once.
    pub fn engines(&self) -> Vec<EngineName> {
        let mut engines = Vec::new();
        for &engine in self.engine.iter().flat_map(|Engines(some)| some) {
            if !engines.contains(&engine) {
                engines.push(engine);
            }
        }
        engines
    }
}

/// Size of the engine's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Limits {
    /// So small that reaching them is common
    Small,
    /// The engine's own
    Default,
}

fn percentage(text: &str) -> Result<f64, String> {
    let percent = number(text)?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err("not between 0 and 100".to_owned()) }
}

fn theta(text: &str) -> Result<f64, String> {
    let theta = number(text)?;
    if (0.0..1.0).contains(&theta) { Ok(theta) } else { Err("not at least 0 and below 1".to_owned()) }
}
