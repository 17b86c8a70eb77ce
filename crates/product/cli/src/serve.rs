//! The server.

mod node;

use crate::address;
use crate::cluster::Join;
use crate::failure::{Failure, Outcome};
use crate::history::recorded;
use crate::log::Log;
use crate::memory::Memory;
use crate::opening::{self, Recovering};
use crate::processes;
use crate::units::{bytes, duration};
use clap::{Args, ValueEnum};
use seriatim::{Builder, Database, Durability, Engine, EngineStats};
use sql::store::Store;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};
use wire::{LOG, Server};

/// Serve a database over the PostgreSQL protocol.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim serve --data ./data\n  \
    seriatim serve --data ./data --pg 127.0.0.1:5433 --durability async\n  \
    psql -h 127.0.0.1 -U postgres\n  \
    seriatim serve --data ./data --cluster shop.toml --node 0\n\n\
    Prints `ready` on standard output once clients can connect, and everything else on standard error. SIGTERM and SIGINT \
    stop it: running statements get some seconds, then they are cancelled. SIGHUP is ignored.\n\n\
    Exit codes: 0 stopped by a signal; 2 the server could not run.")]
pub struct Serve {
    /// Database directory; created if it does not exist.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Address to listen on, or a name: localhost:5433. Loopback only, since there are no passwords yet. Port 0 picks a free port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5432", value_parser = address::listening)]
    pg: SocketAddr,
    /// What COMMIT waits for before it is acknowledged.
    #[arg(long, value_enum, default_value_t = Wait::Fsync)]
    durability: Wait,
    /// Concurrency control engine [default: hyper, or for a cluster's node that of its directory].
    #[arg(long, value_enum)]
    engine: Option<Kind>,
    /// Record every transaction for `seriatim check FILE`. For tests: the database must be new, and no row may be written twice
    /// with the same values.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Setting that sessions begin with: log_connections, log_disconnections, log_min_duration_statement (a time such as 250ms; -1,
    /// the default: none), log_min_messages, and those of SET. May be repeated; ALTER DATABASE, ALTER ROLE and clients come after it.
    #[arg(short = 'c', value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    #[command(flatten)]
    join: Join,
    #[command(flatten, next_help_heading = "Limits")]
    memory: Memory,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    log: Log,
}

/// `NAME=VALUE`
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Name of the directory for temporary files, in that of the database.
const TEMPORARY: &str = "temporary";

/// Limits on what clients may use.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// Maximum number of sessions; further connections are refused with 53300.
    #[arg(long, value_name = "N", default_value_t = 400)]
    max_connections: usize,
    /// Memory of one statement for sorts, hash tables and results; beyond it the statement uses temporary files, or fails with 53200.
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = bytes)]
    work_mem: usize,
    /// Maximum length of a statement; a longer one fails with 54000.
    #[arg(long, value_name = "SIZE", default_value = "16MB", value_parser = bytes)]
    statement_size: usize,
    /// How long a session may idle inside a transaction before it is terminated with 25P03; 0 means no limit.
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = duration)]
    idle_in_transaction_timeout: Duration,
    /// How long a client may leave its results unread before its connection is closed; 0 means no limit.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = duration)]
    send_timeout: Duration,
    /// Age at which a transaction is aborted; 0 means no limit.
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration)]
    max_transaction_age: Duration,
}

impl Limits {
    /// The limit on the age of a transaction, if there is one.
    fn transaction_age(&self) -> Option<Duration> {
        Some(self.max_transaction_age).filter(|age| !age.is_zero())
    }
}

/// What COMMIT waits for before it is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wait {
    /// The transaction and all it has read is on disk.
    Fsync,
    /// Nothing; a crash may lose the last few transactions.
    Async,
    /// Nothing; a crash may lose any transaction since the last checkpoint.
    None,
}

/// Concurrency control engine.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Rows in place by column, with undo entries, validated by predicates (HyPer), on disk.
    #[default]
    Hyper,
    /// Multi-version timestamp ordering (vMVCC), on disk.
    Mvto,
    /// Two-phase locking, in memory only: a baseline to compare with.
    Twopl,
}

impl Serve {
    pub fn run(&self) -> Outcome {
        self.log.begin()?;
        if self.join.until_stdin_ends {
            processes::on_end_of_stdin(|| {
                // As if somebody had asked the process to stop.
                let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTERM);
            })?;
        }
        tracing::info!(target: LOG, version = env!("CARGO_PKG_VERSION"), data = %self.data.display(), "starting");
        match self.join.cluster.as_deref().zip(self.join.node) {
            Some((file, node)) => self.run_node(file, node),
            None => self.run_alone(),
        }
    }

    fn run_alone(&self) -> Outcome {
        let begun = Instant::now();
        let database = self.open()?;
        let opening = opening::lines(&database, &self.data, begun.elapsed());
        let closer = Closer::start()?;
        let statistics = Statistics::start(database.clone())?;
        let served = self.serve(&database, &opening);
        drop(statistics);
        served?;
        closer.close(database)?;
        tracing::info!(target: LOG, "stopped");
        Ok(())
    }

    /// A database on this engine, without options of the server.
    fn builder(engine: Kind) -> Builder {
        let recovering = Mutex::new(Recovering::new(Instant::now()));
        Database::builder().engine(Engine::from(engine)).on_recovery_progress(move |progress| {
            let line = recovering.lock().unwrap_or_else(PoisonError::into_inner).line(Instant::now(), progress);
            line.into_iter().for_each(|line| tracing::info!(target: LOG, "{line}"));
        })
    }

    fn open(&self) -> Outcome<Database> {
        let engine = self.engine.unwrap_or_default();
        let builder = self.memory.limit(Serve::builder(engine)).durability(self.durability.into());
        let builder = builder.max_transaction_age(self.limits.transaction_age());
        match engine {
            Kind::Mvto | Kind::Hyper => crate::inspect::open(builder, &self.data),
            Kind::Twopl if self.durability != Wait::None => Err(Failure::trouble(
                "--engine twopl keeps everything in memory and nothing on disk; say --durability none if that is meant",
            )),
            Kind::Twopl => Ok(builder.in_memory()?),
        }
    }

    fn serve(&self, database: &Database, opening: &[String]) -> Outcome {
        let options = self.sql_options(self.durability.into());
        let sql = sql::database::Database::open(self.recorded(database.store())?, options).map_err(Failure::trouble)?;
        self.check_settings(&sql)?;
        let server = Server::bind(sql, self.wire()).map_err(|error| self.cannot_listen(&error))?;
        let stop = server.termination().map_err(Failure::trouble)?;
        self.announce(&server, opening)?;
        server.run(stop);
        tracing::info!(target: LOG, "no more connections");
        Ok(())
    }

    /// The store as sessions use it: recorded, if that was asked for.
    fn recorded(&self, store: Arc<dyn Store>) -> Outcome<Arc<dyn Store>> {
        match &self.history {
            Some(file) => Ok(Arc::new(recorded(store, file).map_err(Failure::file(file))?)),
            None => Ok(store),
        }
    }

    fn sql_options(&self, durability: Durability) -> sql::database::Options {
        sql::database::Options {
            budget_bytes: self.memory.statements(),
            statement_bytes: self.limits.statement_size,
            work_bytes: self.limits.work_mem,
            connections: self.limits.max_connections,
            idle_in_transaction: self.limits.idle_in_transaction_timeout,
            durability,
            settings: self.settings.clone(),
            temporary: self.temporary(),
            ..Default::default()
        }
    }

    fn wire(&self) -> wire::Options {
        wire::Options { address: self.pg, send_timeout: self.limits.send_timeout, ..Default::default() }
    }

    /// Says that clients can connect.
    fn announce(&self, server: &Server, opening: &[String]) -> Outcome {
        self.greet(server.address())?;
        opening.iter().for_each(|line| tracing::info!(target: LOG, "{line}"));
        tracing::info!(target: LOG, address = %server.address(), "ready to accept connections");
        Ok(())
    }

    fn is_on_disk(&self) -> bool {
        self.engine != Some(Kind::Twopl)
    }

    /// The directory of temporary files, beside the log; the system's if nothing else is on disk.
    fn temporary(&self) -> Option<Arc<dyn env::Disk>> {
        self.is_on_disk().then(|| Arc::new(env::RealDisk::new(self.data.join(TEMPORARY))) as Arc<dyn env::Disk>)
    }

    /// A session begins with all of them: what it refuses must not wait for the first client.
    fn check_settings(&self, database: &Arc<sql::database::Database>) -> Outcome {
        let how = sql::session::Connect { user: "postgres".into(), database: "postgres".into(), ..Default::default() };
        database.connect(how).map(drop).map_err(|error| Failure::Trouble(format!("-c: {}", error.message())))
    }

    fn cannot_listen(&self, error: &std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::Unsupported => Failure::trouble(error),
            _ => Failure::Trouble(format!("cannot listen on {}: {error}", self.pg)),
        }
    }

    fn greet(&self, address: SocketAddr) -> Outcome {
        let place = if self.is_on_disk() { self.data.display().to_string() } else { "in memory".to_owned() };
        if !self.log.is_json_on_standard_error() {
            let mut error = std::io::stderr().lock();
            let version = env!("CARGO_PKG_VERSION");
            // Whoever reads it may be gone.
            let _ = writeln!(error, "seriatim {version} serves {place} on {address}");
            let _ = writeln!(error, "  psql -h {} -p {} -U postgres", address.ip(), address.port());
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "ready")?;
        Ok(out.flush()?)
    }
}

impl Kind {
    /// As the option has it.
    fn name(self) -> &'static str {
        match self {
            Kind::Mvto => "mvto",
            Kind::Hyper => "hyper",
            Kind::Twopl => "twopl",
        }
    }
}

impl From<Kind> for Engine {
    fn from(kind: Kind) -> Engine {
        match kind {
            Kind::Mvto => Engine::Mvto,
            Kind::Hyper => Engine::Hyper,
            Kind::Twopl => Engine::Twopl,
        }
    }
}

/// Time between two lines of statistics.
const STATISTICS: Duration = Duration::from_secs(300);

/// A thread that logs, from time to time, what has been committed and what had to be aborted.
struct Statistics {
    /// Dropped first: that ends the thread.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Statistics {
    fn start(database: Database) -> Outcome<Statistics> {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = env::thread::spawn_named("seriatim-statistics", move || {
            let mut before = database.stats().engine;
            while stopped.recv_timeout(STATISTICS) == Err(mpsc::RecvTimeoutError::Timeout) {
                let now = database.stats().engine;
                log_statistics(&before, &now);
                before = now;
            }
            // Once more at the end.
            log_statistics(&before, &database.stats().engine);
        })?;
        Ok(Statistics { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        self.stop = None;
        // A panic of the thread has been printed.
        self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// The rule of transactions that were rolled back as they were asked to be, such as those that only looked something up.
const ASKED_FOR: &str = "requested";

/// Logs what has happened between two looks, if anything has.
fn log_statistics(before: &EngineStats, now: &EngineStats) {
    let commits = now.commits - before.commits;
    let known = |rule: &str| before.aborts.iter().find(|(known, _)| *known == rule).map_or(0, |(_, count)| *count);
    let aborts: Vec<(&str, u64)> = now.aborts.iter().map(|(rule, count)| (*rule, count - known(rule))).collect();
    let aborts: Vec<_> = aborts.into_iter().filter(|(rule, count)| *count > 0 && *rule != ASKED_FOR).collect();
    let total: u64 = aborts.iter().map(|(_, count)| count).sum();
    if commits + total == 0 {
        return;
    }
    let by_rule: Vec<String> = aborts.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    let by_rule = by_rule.join(", ");
    tracing::info!(target: LOG, commits, aborts = total, by_rule, open = now.open, memory_bytes = now.memory_bytes as u64, "statistics");
}

/// How long the end waits for a disk that does not take the rest of the log.
const CLOSE_PATIENCE: Duration = Duration::from_secs(60);

/// A thread that closes the database at the end, so that a disk that does not return cannot hold the process. It is started
/// while there is memory for it: the end may come when there is none.
struct Closer {
    database: mpsc::SyncSender<Database>,
    closed: mpsc::Receiver<Result<(), seriatim::Error>>,
}

impl Closer {
    fn start() -> Outcome<Closer> {
        let (database, waiting) = mpsc::sync_channel::<Database>(1);
        let (sender, closed) = mpsc::sync_channel(1);
        env::thread::spawn_named("seriatim-close", move || {
            if let Ok(database) = waiting.recv() {
                // The receiver is gone if the disk was too slow.
                let _ = sender.send(database.close());
            }
        })?;
        Ok(Closer { database, closed })
    }

    /// Closes the database. If the disk does not return, the process ends without: what was acknowledged is durable.
    fn close(self, database: Database) -> Outcome {
        // The thread waits for the database until it has got it.
        let _ = self.database.send(database);
        match self.closed.recv_timeout(CLOSE_PATIENCE) {
            Ok(closed) => Ok(closed?),
            Err(_) => Err(Failure::Trouble(format!(
                "the disk has not taken the rest of the log within {} s: ended without closing the database; what was \
                 acknowledged is durable, and the next start recovers it",
                CLOSE_PATIENCE.as_secs()
            ))),
        }
    }
}

impl From<Wait> for Durability {
    fn from(wait: Wait) -> Durability {
        match wait {
            Wait::Fsync => Durability::Fsync,
            Wait::Async => Durability::Async,
            Wait::None => Durability::None,
        }
    }
}
