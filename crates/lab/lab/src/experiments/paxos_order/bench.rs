//! State shared by all parts: the arguments with defaults filled in, programs and directories.

use super::arguments::{Durability, Engine, PaxosOrderArguments};
use super::etcd::Programs;
use super::ours::{Load, Pace};
use super::row::{self, Subject};
use crate::processes::Failure;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The arguments of a run, checked.
#[derive(Debug)]
pub struct Bench {
    arguments: PaxosOrderArguments,
    engines: Vec<Engine>,
    etcd: Option<Programs>,
    data: PathBuf,
    /// Directories made so far: their names differ.
    made: Cell<u32>,
}

impl Bench {
    /// Finds what the engines need. Without etcd, prints a note and leaves it out, unless it was requested.
    ///
    /// # Errors
    /// etcd is missing and was requested.
    pub fn new(arguments: PaxosOrderArguments) -> Result<Bench, Failure> {
        let mut engines = arguments.engines.clone();
        let is_asked_for = engines.iter().any(|engine| engine.is_etcd());
        if engines.is_empty() {
            engines = vec![Engine::Proved, Engine::Plain, Engine::Etcd];
        }
        let mut etcd = None;
        if engines.iter().any(|engine| engine.is_etcd()) {
            match Programs::find(&arguments.etcd, arguments.etcd_puts.as_deref()) {
                Ok(programs) => etcd = Some(programs),
                Err(failure) if is_asked_for => return Err(failure),
                Err(failure) => {
                    eprintln!("without etcd: {failure}");
                    engines.retain(|engine| !engine.is_etcd());
                }
            }
        }
        let data = arguments.data.clone().unwrap_or_else(std::env::temp_dir);
        Ok(Bench { arguments, engines, etcd, data, made: Cell::new(0) })
    }

    /// Returns the arguments of the command line.
    pub fn arguments(&self) -> &PaxosOrderArguments {
        &self.arguments
    }

    /// The engines to run.
    pub fn engines(&self) -> &[Engine] {
        &self.engines
    }

    /// Returns the programs of etcd, if it is to be run.
    pub fn etcd(&self) -> Option<&Programs> {
        self.etcd.as_ref()
    }

    /// The numbers of replicas.
    pub fn replicas(&self, default: &[u64]) -> Vec<u64> {
        if self.arguments.replicas.is_empty() { default.to_vec() } else { self.arguments.replicas.clone() }
    }

    /// Time before counting begins.
    pub fn warm_up(&self) -> Duration {
        Duration::from_secs_f64(self.arguments.warm_up)
    }

    /// Time that is counted.
    pub fn measured(&self) -> Duration {
        Duration::from_secs_f64(self.arguments.seconds)
    }

    /// Everything that is to be measured of our own clusters, in this order.
    ///
    /// # Errors
    /// etcd was requested: the part is about the runtime.
    pub fn subjects(
        &self,
        engines: &[Engine],
        replicas: &[u64],
        durabilities: &[Durability],
    ) -> Result<Vec<Subject>, Failure> {
        let engines = if self.arguments.engines.is_empty() { engines } else { self.engines() };
        if engines.iter().any(|engine| engine.is_etcd()) {
            return Err("this part measures our own replicas only: name proved or plain".to_owned());
        }
        Ok(self.combined(engines, replicas, durabilities))
    }

    /// Everything that is to be measured, etcd included, in this order.
    pub fn all_subjects(&self, replicas: &[u64], durabilities: &[Durability]) -> Vec<Subject> {
        self.combined(self.engines(), replicas, durabilities)
    }

    /// The defaults are for what the user has not named.
    fn combined(&self, engines: &[Engine], replicas: &[u64], durabilities: &[Durability]) -> Vec<Subject> {
        let durabilities = if self.arguments.durability.is_empty() { durabilities } else { &self.arguments.durability };
        let mut subjects = Vec::new();
        for &durability in durabilities {
            for replicas in self.replicas(replicas) {
                subjects.extend(engines.iter().map(|&engine| Subject { engine, replicas, durability }));
            }
        }
        subjects
    }

    /// The same for a row.
    pub fn row_load(&self) -> row::Load {
        let PaxosOrderArguments { clients, request_bytes, batch_bytes, .. } = self.arguments;
        row::Load { clients, request_bytes, batch_bytes }
    }

    /// Clients in closed loops, each request by itself.
    pub fn load(&self) -> Load {
        Load {
            clients: self.arguments.clients,
            body_bytes: self.arguments.request_bytes,
            requests_per_body: 1,
            pace: Pace::Closed,
        }
    }

    /// Ready-made batches in closed loops.
    pub fn load_of_batches(&self, in_flight: u64) -> Load {
        Load {
            clients: in_flight,
            body_bytes: self.arguments.batch_bytes,
            requests_per_body: self.requests_per_batch(),
            pace: Pace::Closed,
        }
    }

    /// Requests that fit in a batch.
    pub fn requests_per_batch(&self) -> u64 {
        (self.arguments.batch_bytes / self.arguments.request_bytes.max(1)).max(1)
    }

    /// Returns the directory for replicas that write to a disk.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// A new directory below `root`, which goes when it is dropped.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn scratch(&self, root: &Path) -> Result<Scratch, Failure> {
        let number = self.made.replace(self.made.get() + 1);
        let path = root.join(format!("seriatim-lab-order-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
        Ok(Scratch(path))
    }
}

/// A directory that goes when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Leftovers in a scratch directory are its owner's to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}
