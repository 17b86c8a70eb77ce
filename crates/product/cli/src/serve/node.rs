//! The server of a cluster's node.

use super::{Closer, Kind, Serve, Statistics, Wait};
use crate::cluster::{Limits, Node, Parts, Waiting};
use crate::failure::{Failure, Outcome};
use crate::opening;
use crate::signals::note_signals;
use clap::ValueEnum;
use env::thread::{JoinHandle, sleep, spawn_named};
use seriatim::Durability;
use sql::error::state;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use wire::{Entrance, LOG};

/// Interval between checks that the node takes part still.
const CHECK: Duration = Duration::from_millis(200);

/// Pause before the tables are opened again.
const AGAIN: Duration = Duration::from_millis(100);

/// Errors of opening that pass: another node does the same, or the order does not answer.
const OPENED_BY_ANOTHER: [&str; 3] = [state::SERIALIZATION_FAILURE, state::DUPLICATE_TABLE, state::CANNOT_CONNECT_NOW];

impl Serve {
    /// Serves as a node of a cluster. Clients that come before it takes part are told what it waits for.
    pub(super) fn run_node(&self, file: &Path, node: u64) -> Outcome {
        self.check_node()?;
        let stop = note_signals()?;
        let begun = Instant::now();
        let entrance = Entrance::bind(self.wire(), self.limits.max_connections);
        let mut entrance = entrance.map_err(|error| self.cannot_listen(&error))?;
        let waiting = Waiting::default();
        entrance.refuse({
            let waiting = waiting.clone();
            move || waiting.refusal()
        });
        let engine = self.node_engine()?;
        let skew = self.join.test_clock;
        let limits = Limits {
            transaction_bytes: self.join.transaction_size as u64,
            memory_bytes: self.memory.rows() as u64,
            transaction_age: self.limits.transaction_age(),
        };
        let (name, builder) = (engine.name().to_owned(), Serve::builder(engine));
        let parts = Parts { file, node, data: &self.data, engine: name, builder, limits, skew };
        let Some(node) = Node::open(parts, &waiting, &stop)? else {
            tracing::info!(target: LOG, "stopped before it took part");
            return Ok(());
        };
        let opening = opening::lines(&node.database, &self.data, begun.elapsed());
        let closer = Closer::start()?;
        let statistics = Statistics::start(node.database.clone())?;
        let node = Arc::new(node);
        let served = self.serve_node(&node, entrance, &waiting, &stop, &opening);
        drop(statistics);
        let database = Arc::into_inner(node).map(Node::leave);
        served?;
        database.map_or(Ok(()), |database| closer.close(database))?;
        tracing::info!(target: LOG, "stopped");
        Ok(())
    }

    /// The engine that was asked for, else that of the node's directory, else the default.
    fn node_engine(&self) -> Outcome<Kind> {
        if let Some(engine) = self.engine {
            return Ok(engine);
        }
        let Some(name) = crate::cluster::engine_of(&self.data)? else { return Ok(Kind::default()) };
        Kind::from_str(&name, false)
            .map_err(|why| Failure::Trouble(format!("{}: engine {name}: {why}", self.data.display())))
    }

    fn check_node(&self) -> Outcome {
        if !self.is_on_disk() {
            return Err(Failure::trouble(
                "--engine twopl keeps nothing on disk: a node of a cluster needs mvto or hyper",
            ));
        }
        if self.durability != Wait::Fsync {
            return Err(Failure::trouble(
                "--durability: what a cluster acknowledges is on the disks of a majority; there is no other durability with --cluster",
            ));
        }
        Ok(())
    }

    fn serve_node(
        &self,
        node: &Arc<Node>,
        entrance: Entrance,
        waiting: &Waiting,
        stop: &AtomicBool,
        opening: &[String],
    ) -> Outcome {
        let Some(sql) = self.open_tables(node, waiting, stop)? else { return Ok(()) };
        let server = entrance.open(sql);
        let termination = server.termination().map_err(Failure::trouble)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let watch = Watch::start(node.clone())?;
        self.announce(&server, opening)?;
        server.run(termination);
        tracing::info!(target: LOG, "no more connections");
        watch.end()
    }
}

impl Serve {
    /// Opens SQL's tables; nothing if all is to stop before. The nodes of a new cluster make the catalog at the same time, and all but one
    /// find that another one has.
    fn open_tables(
        &self,
        node: &Arc<Node>,
        waiting: &Waiting,
        stop: &AtomicBool,
    ) -> Outcome<Option<Arc<sql::database::Database>>> {
        waiting.note("the tables are being opened");
        let store = self.recorded(node.store())?;
        let mut options = self.sql_options(Durability::Fsync);
        options.cluster = Some(node.view.clone());
        while !stop.load(Ordering::Relaxed) {
            node.check()?;
            match sql::database::Database::open(store.clone(), options.clone()) {
                Ok(database) => return self.check_settings(&database).map(|()| Some(database)),
                Err(error) if OPENED_BY_ANOTHER.contains(&error.code()) => {
                    waiting.note(format!("the tables are being opened: {}", error.message()));
                    sleep(AGAIN);
                }
                Err(error) => return Err(Failure::trouble(error)),
            }
        }
        Ok(None)
    }
}

/// A thread that ends the server when its node has stopped by itself.
struct Watch {
    /// Dropped, it ends the thread.
    _running: mpsc::Sender<()>,
    thread: JoinHandle<Outcome>,
}

impl Watch {
    fn start(node: Arc<Node>) -> Outcome<Watch> {
        let (_running, over) = mpsc::channel::<()>();
        let thread = spawn_named("seriatim-node", move || {
            let mut waits = 0;
            while over.recv_timeout(CHECK) == Err(mpsc::RecvTimeoutError::Timeout) {
                waits = node.note_disks(waits);
                if let Err(failure) = node.check() {
                    // As if somebody had asked the process to stop: sessions end in order.
                    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGTERM);
                    return Err(failure);
                }
            }
            Ok(())
        })?;
        Ok(Watch { _running, thread })
    }

    /// Why the node had stopped by itself, if it had.
    fn end(self) -> Outcome {
        drop(self._running);
        self.thread.join().unwrap_or_else(|_| Err(Failure::trouble("the thread that watches the node has panicked")))
    }
}
