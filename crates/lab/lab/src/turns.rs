//! Trials in turns: the engines of a comparison run one after another, again and again, so that what disturbs the machine for a
//! while disturbs all of them.

mod kept;
mod progress;

pub use kept::Kept;
pub use progress::Progress;
pub(crate) use progress::rounded;

use crate::engines::Settings;
use crate::failure::Failure;
use crate::trial::{self, DurabilityName, Measurement, Plan, Subject};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Runs every plan so many times; returns each plan's measurements. The trials of a repeat differ from those of the others in seed,
/// directory and history. What `kept` has is not run again. A plan without a directory stays without one.
///
/// # Errors
/// The first trial that failed.
pub fn take<S: Subject>(
    plans: &[Plan<S>],
    repeats: u32,
    space: &Space,
    kept: &mut Kept,
    progress: &mut Progress,
) -> Result<Vec<Vec<Measurement>>, Failure> {
    let mut measured: Vec<Vec<Measurement>> = vec![Vec::new(); plans.len()];
    for repeat in 0..repeats {
        for (at, (plan, measured)) in plans.iter().zip(&mut measured).enumerate() {
            let number = repeat as usize * plans.len() + at + 1;
            let data = plan.settings.data.as_ref().and_then(|_| space.directory(number));
            let settings = Settings { data, ..plan.settings.clone() };
            let seed = plan.seed.wrapping_add(repeat.into());
            let shares = repeats > 1 || plans.iter().filter(|other| other.history == plan.history).count() > 1;
            let history = plan.history.as_ref().map(|path| history_path(path, plan, repeat, shares));
            let trial = Plan { settings, seed, history, ..plan.clone() };
            if let Some(measurement) = kept.find(&trial) {
                progress.pass_over();
                measured.push(measurement);
                continue;
            }
            let measurement = trial::perform_apart(&trial);
            space.clear(number)?;
            let measurement = measurement.map_err(Failure::Run)?;
            progress.show(plan, &measurement);
            kept.add(&trial, &measurement)?;
            measured.push(measurement);
        }
    }
    Ok(measured)
}

/// Number of plans of which none equals another.
pub fn distinct<S: Subject>(plans: &[&Plan<S>]) -> usize {
    plans.iter().map(|plan| kept::name(plan)).collect::<HashSet<String>>().len()
}

/// `FILE` for a trial that has it to itself; otherwise its name says which trial: `bank.jsonl` becomes `bank-mvto-2-1.jsonl` for the
/// first repeat on two threads.
fn history_path<S: Subject>(path: &Path, plan: &Plan<S>, repeat: u32, is_shared: bool) -> PathBuf {
    let trial = || format!("{}-{}-{}", plan.engine, plan.threads, repeat + 1);
    if is_shared { beside(path, &trial()) } else { path.to_owned() }
}

/// A file beside another: `bank.jsonl` becomes `bank-NAME.jsonl`.
pub(crate) fn beside(path: &Path, name: &str) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let stem = part(path.file_stem()).unwrap_or_else(|| "history".to_owned());
    let extension = part(path.extension()).map_or(String::new(), |extension| format!(".{extension}"));
    path.with_file_name(format!("{stem}-{name}{extension}"))
}

/// Location of durable databases while they are measured.
#[derive(Debug)]
pub enum Space {
    /// Nowhere: they are in memory.
    Memory,
    /// In directories of their own below this one, which goes if it is `temporary`.
    Disk {
        /// Theirs.
        root: PathBuf,
        /// Whether it goes too.
        temporary: bool,
    },
}

impl Space {
    /// Below `data`, or in the system's directory for temporary files if something must be durable.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn prepare(data: Option<&Path>, durability: DurabilityName) -> Result<Space, Failure> {
        let (root, temporary) = match (data, durability) {
            (None, DurabilityName::None) => return Ok(Space::Memory),
            (None, _) => (std::env::temp_dir().join(format!("seriatim-lab-{}", std::process::id())), true),
            (Some(directory), _) => (directory.to_owned(), false),
        };
        let cannot = |error| Failure::Run(format!("cannot create {}: {error}", root.display()));
        fs::create_dir_all(&root).map_err(cannot)?;
        Ok(Space::Disk { root, temporary })
    }

    /// The directory above all others.
    pub fn root(&self) -> Option<&Path> {
        match self {
            Space::Memory => None,
            Space::Disk { root, .. } => Some(root),
        }
    }

    /// Returns the data directory of trial `number`.
    fn directory(&self, number: usize) -> Option<PathBuf> {
        self.root().map(|root| root.join(format!("trial-{}-{number}", std::process::id())))
    }

    fn clear(&self, number: usize) -> Result<(), Failure> {
        let Some(directory) = self.directory(number) else { return Ok(()) };
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::Run(format!("cannot remove {}: {error}", directory.display())))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if let Space::Disk { root, temporary: true } = self {
            // Leftovers in a directory for temporary files are the system's to remove.
            let _ = fs::remove_dir_all(root);
        }
    }
}
