//! Trials in turns: the engines of a comparison run one after another, again and again, so that what disturbs the machine for a
//! while disturbs all of them.

mod kept;
mod progress;

pub use kept::Kept;
pub use progress::Progress;
pub(crate) use progress::rounded;

use crate::engines::Settings;
use crate::failure::Failure;
use crate::machine::DISTURBED;
use crate::trial::{self, DurabilityName, Measurement, Plan, Subject};
use kept::{End, Known};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How often a trial is run anew because other programs have disturbed it.
const MOST_AGAIN: u32 = 2;

/// What came of plans.
#[derive(Debug)]
pub struct Taken {
    /// Each plan's measurements, by repeat without those that failed.
    pub measured: Vec<Vec<Measurement>>,
    /// The trials without one.
    pub failed: Vec<Failed>,
}

/// A trial that has no measurement.
#[derive(Debug)]
pub struct Failed {
    /// Position of its plan.
    pub plan: usize,
    /// Its repeat, from 0.
    pub repeat: u32,
    /// A sentence for the user.
    pub reason: String,
}

/// Runs every plan so many times; returns each plan's measurements. The trials of a repeat differ from those of the others in seed,
/// directory and history. A plan without a directory stays without one.
///
/// # Errors
/// The first trial that failed.
pub fn take<S: Subject>(
    plans: &[Plan<S>],
    repeats: u32,
    space: &Space,
    progress: &mut Progress,
) -> Result<Vec<Vec<Measurement>>, Failure> {
    let mut measured: Vec<Vec<Measurement>> = vec![Vec::new(); plans.len()];
    for Trial { at, number, plan, .. } in trials(plans, repeats, space) {
        let measurement = perform(&plan, number, space)?.map_err(Failure::Run)?;
        progress.show(&plan, &measurement);
        measured[at].push(measurement);
    }
    Ok(measured)
}

/// Number of plans of which none equals another.
pub fn distinct<S: Subject>(plans: &[&Plan<S>]) -> usize {
    plans.iter().map(|plan| kept::name(plan)).collect::<HashSet<String>>().len()
}

/// The same, but what `kept` has is not run again, and a trial that fails, or is killed, ends itself alone. A trial that other programs
/// have disturbed is run anew; all of them together up to `again` times.
///
/// # Errors
/// What came of a trial cannot be kept, or its directory stays.
pub fn take_what_is_missing<S: Subject>(
    plans: &[Plan<S>],
    repeats: u32,
    space: &Space,
    kept: &mut Kept,
    progress: &mut Progress,
    mut again: u32,
) -> Result<Taken, Failure> {
    take_with(plans, repeats, space, kept, progress, |plan, number| {
        undisturbed(&mut again, || perform(plan, number, space))
    })
}

/// Measures until no other program disturbs that, a few times at most, and while `again`, which is counted down, is not zero. Returns the
/// least disturbed measurement.
fn undisturbed(
    again: &mut u32,
    mut measure: impl FnMut() -> Result<Result<Measurement, String>, Failure>,
) -> Result<Result<Measurement, String>, Failure> {
    let mut best = measure()?;
    for _ in 0..MOST_AGAIN.min(*again) {
        if !best.as_ref().is_ok_and(is_disturbed) {
            break;
        }
        *again -= 1;
        if let Ok(other) = measure()?
            && best.as_ref().is_ok_and(|best| other.other_cores < best.other_cores)
        {
            best = Ok(other);
        }
    }
    Ok(best)
}

fn is_disturbed(measurement: &Measurement) -> bool {
    measurement.other_cores.is_some_and(|cores| cores > DISTURBED)
}

fn take_with<S: Subject>(
    plans: &[Plan<S>],
    repeats: u32,
    space: &Space,
    kept: &mut Kept,
    progress: &mut Progress,
    mut perform: impl FnMut(&Plan<S>, usize) -> Result<Result<Measurement, String>, Failure>,
) -> Result<Taken, Failure> {
    let mut taken = Taken { measured: vec![Vec::new(); plans.len()], failed: Vec::new() };
    for Trial { at, repeat, number, plan } in trials(plans, repeats, space) {
        let end = match kept.find(&plan) {
            Known::Measured(measurement) => {
                progress.pass_over();
                Ok(*measurement)
            }
            Known::GivenUp(reason) => {
                progress.pass_over();
                Err(format!("{reason}, and was given up"))
            }
            Known::Open => {
                let end = perform(&plan, number)?;
                // Kept before it is shown: what was shown is not measured again after a kill.
                kept.add(&plan, end.clone().map_or_else(End::Failure, |it| End::Measurement(Box::new(it))))?;
                match &end {
                    Ok(measurement) => progress.show(&plan, measurement),
                    Err(reason) => progress.show_failure(&plan, reason),
                }
                end
            }
        };
        match end {
            Ok(measurement) => taken.measured[at].push(measurement),
            Err(reason) => taken.failed.push(Failed { plan: at, repeat, reason }),
        }
    }
    Ok(taken)
}

/// A plan's turn.
struct Trial<S> {
    /// Position of the plan.
    at: usize,
    repeat: u32,
    /// Number of the trial, from 1: the name of its directory.
    number: usize,
    /// The plan with the seed, directory and history of this repeat.
    plan: Plan<S>,
}

/// The trials of all plans, a turn of each after another.
fn trials<S: Subject>(plans: &[Plan<S>], repeats: u32, space: &Space) -> impl Iterator<Item = Trial<S>> {
    let turns = (0..repeats).flat_map(move |repeat| plans.iter().enumerate().map(move |(at, plan)| (repeat, at, plan)));
    (1..).zip(turns).map(move |(number, (repeat, at, plan))| {
        let data = plan.settings.data.as_ref().and_then(|_| space.directory(number));
        let settings = Settings { data, ..plan.settings.clone() };
        let seed = plan.seed.wrapping_add(repeat.into());
        let shares = repeats > 1 || plans.iter().filter(|other| other.history == plan.history).count() > 1;
        let history = plan.history.as_ref().map(|path| history_path(path, plan, repeat, shares));
        Trial { at, repeat, number, plan: Plan { settings, seed, history, ..plan.clone() } }
    })
}

/// Runs a trial apart, and removes its directory.
fn perform<S: Subject>(plan: &Plan<S>, number: usize, space: &Space) -> Result<Result<Measurement, String>, Failure> {
    let end = trial::perform_apart(plan);
    space.clear(number)?;
    Ok(end)
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

#[cfg(test)]
mod tests;
