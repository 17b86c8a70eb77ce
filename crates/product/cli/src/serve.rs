//! The server.

use crate::failure::{Failure, Outcome};
use crate::history::recorded;
use crate::memory::Memory;
use crate::opening;
use crate::units::{bytes, duration};
use clap::{Args, ValueEnum};
use seriatim::{Database, Durability, Engine};
use sql::store::Store;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use wire::Server;

/// Serve a database over the PostgreSQL protocol.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim serve --data ./data\n  \
    seriatim serve --data ./data --pg 127.0.0.1:5433 --durability async\n  \
    psql -h 127.0.0.1 -U postgres\n\n\
    Prints `ready` on standard output once clients can connect, and everything else on standard error. SIGTERM and SIGINT \
    stop it: running statements get some seconds, then they are cancelled. SIGHUP is ignored.\n\n\
    Exit codes: 0 stopped by a signal; 2 the server could not run.")]
pub struct Serve {
    /// Database directory; created if it does not exist.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Address to listen on. Loopback only, since there are no passwords yet. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5432")]
    pg: SocketAddr,
    /// What COMMIT waits for before it is acknowledged.
    #[arg(long, value_enum, default_value_t = Wait::Fsync)]
    durability: Wait,
    /// Concurrency control engine.
    #[arg(long, value_enum, default_value_t = Kind::Mvto)]
    engine: Kind,
    /// Record every transaction for `seriatim check FILE`. For tests: the database must be new, and no row may be written twice
    /// with the same values.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    #[command(flatten)]
    memory: Memory,
    #[command(flatten)]
    limits: Limits,
}

/// Limits on what clients may use.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// Maximum number of sessions; further connections are refused with 53300.
    #[arg(long, value_name = "N", default_value_t = 400)]
    max_connections: usize,
    /// Memory of one statement for sorts, hash tables and results; beyond it the statement fails with 53200.
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
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Multi-version timestamp ordering, on disk.
    Mvto,
    /// Two-phase locking, in memory only: a baseline to compare with.
    Twopl,
}

impl Serve {
    pub fn run(&self) -> Outcome {
        let begun = Instant::now();
        let database = self.open()?;
        let opening = opening::lines(&database, &self.data, begun.elapsed());
        let closer = Closer::start()?;
        self.serve(database.store(), database.statement_memory(), &opening)?;
        closer.close(database)
    }

    fn open(&self) -> Outcome<Database> {
        let age = self.limits.max_transaction_age;
        let builder = Database::builder()
            .engine(self.engine.into())
            .durability(self.durability.into())
            .max_transaction_age((!age.is_zero()).then_some(age));
        let builder = self.memory.limit(builder);
        match self.engine {
            Kind::Mvto => crate::inspect::open(builder, &self.data),
            Kind::Twopl if self.durability != Wait::None => Err(Failure::trouble(
                "--engine twopl keeps everything in memory and nothing on disk; say --durability none if that is meant",
            )),
            Kind::Twopl => Ok(builder.in_memory()?),
        }
    }

    fn serve(&self, mut store: Arc<dyn Store>, statement_memory: usize, opening: &[String]) -> Outcome {
        if let Some(file) = &self.history {
            store = Arc::new(recorded(store, file).map_err(Failure::file(file))?);
        }
        let options = sql::database::Options {
            budget_bytes: statement_memory,
            statement_bytes: self.limits.statement_size,
            work_bytes: self.limits.work_mem,
            connections: self.limits.max_connections,
            idle_in_transaction: self.limits.idle_in_transaction_timeout,
            durability: self.durability.into(),
            ..Default::default()
        };
        let database = sql::database::Database::open(store, options).map_err(Failure::trouble)?;
        let send_timeout = self.limits.send_timeout;
        let options = wire::Options { address: self.pg, send_timeout, ..Default::default() };
        let server = Server::bind(database, options).map_err(|error| self.cannot_listen(&error))?;
        let stop = server.termination().map_err(Failure::trouble)?;
        self.greet(server.address(), opening)?;
        server.run(stop);
        // Whoever read it may be gone.
        let _ = writeln!(std::io::stderr(), "seriatim: stopped");
        Ok(())
    }

    fn cannot_listen(&self, error: &std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::Unsupported => Failure::trouble(error),
            _ => Failure::Trouble(format!("cannot listen on {}: {error}", self.pg)),
        }
    }

    fn greet(&self, address: SocketAddr, opening: &[String]) -> Outcome {
        let place = match self.engine {
            Kind::Mvto => self.data.display().to_string(),
            Kind::Twopl => "in memory".to_owned(),
        };
        eprintln!("seriatim {} serves {place} on {address}", env!("CARGO_PKG_VERSION"));
        opening.iter().for_each(|line| eprintln!("  {line}"));
        eprintln!("  psql -h {} -p {} -U postgres", address.ip(), address.port());
        let mut out = std::io::stdout().lock();
        writeln!(out, "ready")?;
        Ok(out.flush()?)
    }
}

impl From<Kind> for Engine {
    fn from(kind: Kind) -> Engine {
        match kind {
            Kind::Mvto => Engine::Mvto,
            Kind::Twopl => Engine::Twopl,
        }
    }
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
