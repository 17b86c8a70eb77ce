//! Listener, connection limit and shutdown.

use crate::{connection, log};
use socket2::{SockRef, TcpKeepalive};
use sql::cancel::Cancel;
use sql::database::Database;
use sql::error::{SqlError, state};
use sql::memory::Watermark;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

/// Connections beyond the limit on sessions: those that are being refused, and cancel requests.
const SPARE: usize = 64;

/// Backlog of connections in the operating system.
const BACKLOG: u32 = 1024;

/// Pause after a failure to accept, as where the process is out of descriptors, while all clients are refused anyway.
const REFUSING_PAUSE: Duration = Duration::from_millis(100);

/// Statements may nest deeply; unused pages of a thread's stack take no memory.
const STACK_BYTES: usize = 8 << 20;

/// Options of a server. Those of sessions belong to the database ([`sql::database::Options`]).
#[derive(Clone, Debug)]
pub struct Options {
    /// Listening address, a loopback address; port 0 is any free one. Default 127.0.0.1:5432.
    pub address: SocketAddr,
    /// Maximum duration of a client's start-up. Default 60 s.
    pub startup_timeout: Duration,
    /// Grace period of running statements after a stop request, before they are cancelled; and again, before they are
    /// abandoned. Default 5 s.
    pub stop_timeout: Duration,
    /// Maximum time that a client may read nothing of its output before its connection is closed; zero: no limit. Default 10
    /// min. The connection's locks and memory are held for as long, and others may wait for them.
    pub send_timeout: Duration,
    /// Time that a thread without work is kept. Default 10 min: where the system's memory has ended, a thread that takes over the stack
    /// of one that has ended finds no memory for its signals, and that ends the process.
    pub keep_threads: Duration,
    /// Threads of the reactor. Default 2.
    pub reactor_threads: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            address: SocketAddr::from(([127, 0, 0, 1], 5432)),
            startup_timeout: Duration::from_secs(60),
            stop_timeout: Duration::from_secs(5),
            send_timeout: Duration::from_secs(600),
            keep_threads: Duration::from_secs(600),
            reactor_threads: 2,
        }
    }
}

/// Phase of the server's shutdown. Later phases compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The server is running.
    Serving,
    /// Every session ends after the statement that it runs.
    Stopping,
    /// Sessions are not waited for any more.
    Abandoning,
}

/// Notifies connections of the phase.
pub type Phases = watch::Receiver<Phase>;

/// The address of a server whose database is not open yet: clients are told so instead of finding nobody.
pub struct Entrance {
    runtime: Runtime,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    options: Options,
    refusing: Option<JoinHandle<()>>,
}

/// A listening server.
pub struct Server {
    runtime: Runtime,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// State shared by connections.
pub struct Shared {
    pub database: Arc<Database>,
    pub options: Options,
    phase: watch::Sender<Phase>,
    running: Mutex<HashMap<u64, Arc<Cancel>>>,
    next: AtomicU64,
}

/// Registration of a session among those to cancel at shutdown.
pub struct Running {
    shared: Arc<Shared>,
    number: u64,
}

impl Entrance {
    /// Listens on the address, for so many sessions at once. Clients wait until they are refused, or the database is open.
    ///
    /// # Errors
    /// The address is not a loopback address, or is in use.
    pub fn bind(options: Options, connections: usize) -> io::Result<Entrance> {
        if !options.address.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, not_loopback(options.address)));
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.reactor_threads.max(1))
            .max_blocking_threads(connections.saturating_add(SPARE + options.reactor_threads))
            .thread_name("seriatim-session")
            .thread_stack_size(STACK_BYTES)
            .thread_keep_alive(options.keep_threads)
            .enable_all()
            .build()?;
        let listener = Arc::new(runtime.block_on(async { listen(options.address) })?);
        let address = listener.local_addr()?;
        Ok(Entrance { runtime, listener, address, options, refusing: None })
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Refuses clients from now on until the database is open, each with what `reason` returns at that time.
    pub fn refuse(&mut self, reason: impl Fn() -> SqlError + Send + Sync + 'static) {
        let (listener, patience) = (self.listener.clone(), self.options.startup_timeout);
        self.refusing = Some(self.runtime.spawn(refuse_all(listener, patience, Arc::new(reason))));
    }

    /// Opens it to the clients of a database, who are served once the server runs.
    pub fn open(self, database: Arc<Database>) -> Server {
        let Entrance { runtime, listener, address, options, refusing } = self;
        if let Some(refusing) = refusing {
            refusing.abort();
            // It ends as it was told to: the listener has one owner again, and is closed when the server stops.
            let _ = runtime.block_on(refusing);
        }
        let shared = Arc::new(Shared {
            database,
            options,
            phase: watch::Sender::new(Phase::Serving),
            running: Mutex::default(),
            next: AtomicU64::new(0),
        });
        Server { runtime, listener, address, shared }
    }
}

impl Server {
    /// Listens on the address. Clients are served once the server runs.
    ///
    /// # Errors
    /// The address is not a loopback address, or is in use.
    pub fn bind(database: Arc<Database>, options: Options) -> io::Result<Server> {
        let connections = database.options.connections;
        Ok(Entrance::bind(options, connections)?.open(database))
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Completes at SIGTERM or SIGINT, from this call on. A closing terminal (SIGHUP) has no effect.
    ///
    /// # Errors
    /// The signals cannot be watched.
    pub fn termination(&self) -> io::Result<impl Future<Output = ()> + use<>> {
        let _inside = self.runtime.enter();
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let mut hangup = signal(SignalKind::hangup())?;
        Ok(async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => return,
                    _ = interrupt.recv() => return,
                    _ = hangup.recv() => log::server(format_args!("SIGHUP is ignored: there is no configuration to load again")),
                }
            }
        })
    }

    /// Serves until `stop` ends; then lets running statements end, and closes all connections.
    pub fn run(self, stop: impl Future<Output = ()>) {
        let Server { runtime, listener, shared, .. } = self;
        runtime.block_on(async {
            let (alive, gone) = mpsc::channel(1);
            tokio::select! {
                () = accept(&listener, &shared, alive) => {}
                () = shared.watch_log_waits() => {}
                () = shared.watch_memory() => {}
                () = stop => {}
            }
            drop(listener);
            shared.stop(gone).await;
        });
        runtime.shutdown_timeout(shared.options.stop_timeout);
    }
}

fn not_loopback(address: SocketAddr) -> String {
    format!(
        "refusing to listen on {address}: without passwords and encryption, which this version does not have, anybody \
         who reaches that address could read and change everything; use a loopback address, such as 127.0.0.1:{}",
        address.port()
    )
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Tells every client why it is not served.
async fn refuse_all(listener: Arc<TcpListener>, patience: Duration, reason: Arc<dyn Fn() -> SqlError + Send + Sync>) {
    let places = Arc::new(Semaphore::new(SPARE));
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(REFUSING_PAUSE).await;
            continue;
        };
        let reason = reason.clone();
        match places.clone().try_acquire_owned() {
            Ok(place) => {
                tokio::spawn(async move {
                    connection::refuse_start(stream, client, patience, &*reason).await;
                    drop(place);
                });
            }
            Err(_) => connection::refuse(&stream, &reason()),
        }
    }
}

/// Every connection holds a clone of `alive`, so that the last one's end is noticed.
async fn accept(listener: &TcpListener, shared: &Arc<Shared>, alive: mpsc::Sender<()>) {
    let places =
        Arc::new(Semaphore::new(shared.database.options.connections.saturating_add(SPARE).min(Semaphore::MAX_PERMITS)));
    let mut trouble = Trouble::default();
    loop {
        let (stream, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                let (news, pause) = trouble.meet(&error);
                news.iter().for_each(|news| log::warning(format_args!("{news}")));
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        trouble.pass().iter().for_each(|news| log::server(format_args!("{news}")));
        // Without these options small answers are late, and connections of dead machines stay for long: no reason to refuse.
        let _ = stream.set_nodelay(true);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE);
        let Ok(place) = places.clone().try_acquire_owned() else {
            let error = too_many();
            log::refused(Some(client), &error);
            connection::refuse(&stream, &error);
            continue;
        };
        let (shared, alive) = (shared.clone(), alive.clone());
        tokio::spawn(async move {
            connection::serve(stream, client, shared).await;
            drop((place, alive));
        });
    }
}

/// Clients whose machine has died, or is cut off, are noticed after some minutes of silence.
const KEEPALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15));

/// Repeated failure to accept connections. Mostly the process is out of descriptors, until a client disconnects.
#[derive(Default)]
struct Trouble {
    /// Last error of the system, and its number of repetitions.
    error: Option<Option<i32>>,
    times: u32,
}

impl Trouble {
    /// Returns the message to log, if it is new, and the delay before the next attempt, which grows to a second.
    fn meet(&mut self, error: &io::Error) -> (Option<String>, Duration) {
        let crosses_limit = self.error.replace(error.raw_os_error()) != Some(error.raw_os_error());
        self.times = self.times.saturating_add(1);
        let news = crosses_limit.then(|| format!("cannot accept connections: {error}; trying again until it passes"));
        (news, Duration::from_millis(10 << self.times.min(7)).min(Duration::from_secs(1)))
    }

    /// Returns the message to log when a connection is accepted again.
    fn pass(&mut self) -> Option<String> {
        self.error.take()?;
        Some(format!("connections are accepted again, after {} attempts", std::mem::take(&mut self.times)))
    }
}

/// Warns that memory is nearly used up.
fn near(used: usize, limit: usize, what: &str, then: &str) {
    log::warning(format_args!("{what} took {used} of {limit} bytes of memory: {then}; --memory sets the limit"));
}

/// Returns whether the limit on connections is reached, so that another one is refused before its request is read.
fn too_many() -> SqlError {
    SqlError::new(state::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
}

impl Shared {
    /// Returns a receiver of the shutdown phase.
    pub fn phases(&self) -> Phases {
        self.phase.subscribe()
    }

    /// Registers a session, to cancel its statement when the grace period of a shutdown ends.
    pub fn enlist(self: &Arc<Self>, cancel: Arc<Cancel>) -> Running {
        // Only uniqueness matters, so no order is needed.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.running().insert(number, cancel);
        Running { shared: self.clone(), number }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, Arc<Cancel>>> {
        // The map is consistent even if a thread panicked under the lock.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Parks the sessions that have been waiting for the log since the previous check, and starts to watch whether their clients are
    /// still connected. To do either at each wait would slow down every commit. Does not return.
    async fn watch_log_waits(&self) {
        let mut before = HashMap::new();
        loop {
            tokio::time::sleep(connection::LOOK).await;
            let running = self.running();
            let now: HashMap<u64, u64> =
                running.iter().filter_map(|(number, cancel)| Some((*number, cancel.log_wait()?))).collect();
            let lasting = now.iter().filter(|(number, wait)| before.get(*number) == Some(*wait));
            let lasting: Vec<_> = lasting.filter_map(|(number, _)| running.get(number).cloned()).collect();
            drop(running);
            if !lasting.is_empty() {
                lasting.iter().for_each(|cancel| cancel.park());
                self.database.store.recheck_waits();
                lasting.iter().for_each(|cancel| cancel.notify_long_wait());
            }
            before = now;
        }
    }

    /// Writes a line to the server's log whenever memory comes near its limit. Does not return.
    async fn watch_memory(&self) {
        let (mut statements, mut rows) = (Watermark::default(), Watermark::default());
        loop {
            let (budget, usage) = (&self.database.budget, self.database.store.usage());
            let held = budget.take_peak();
            if statements.crosses_limit(held, budget.limit()) {
                near(held, budget.limit(), "statements of all sessions", "those that ask for more fail with 53200");
            }
            if let Some(usage) = usage {
                let (used, limit) = (usage.memory_bytes as usize, usage.memory_limit_bytes as usize);
                if rows.crosses_limit(used, limit) {
                    near(used, limit, "the database", "at the limit, writes that make it larger fail with 53200");
                }
            }
            tokio::time::sleep(connection::LOOK).await;
        }
    }

    async fn stop(&self, mut gone: mpsc::Receiver<()>) {
        self.phase.send_replace(Phase::Stopping);
        let limit = self.options.stop_timeout;
        if tokio::time::timeout(limit, gone.recv()).await.is_ok() {
            return;
        }
        self.running().values().for_each(|cancel| cancel.end());
        if tokio::time::timeout(limit, gone.recv()).await.is_err() {
            log::warning(format_args!("not every session has ended in time; their transactions are rolled back"));
            self.phase.send_replace(Phase::Abandoning);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.running().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logs one line when failures begin, one for each other reason, and one when they end. Attempts are up to a second apart.
    #[test]
    fn trouble_is_told_once() {
        let mut trouble = Trouble::default();
        assert_eq!(trouble.pass(), None);
        let (out_of_files, out_of_memory) = (io::Error::from_raw_os_error(24), io::Error::from_raw_os_error(12));
        let (news, first) = trouble.meet(&out_of_files);
        assert!(news.expect("it is new").contains("cannot accept connections"));
        let pauses: Vec<Duration> = (0..100)
            .map(|_| trouble.meet(&out_of_files))
            .map(|(news, pause)| {
                assert_eq!(news, None);
                pause
            })
            .collect();
        assert!(first < pauses[0] && pauses.is_sorted() && pauses[99] == Duration::from_secs(1));
        assert!(trouble.meet(&out_of_memory).0.is_some());
        assert_eq!(trouble.pass().as_deref(), Some("connections are accepted again, after 102 attempts"));
        assert_eq!(trouble.pass(), None);
        assert!(trouble.meet(&out_of_files).0.is_some());
    }
}
