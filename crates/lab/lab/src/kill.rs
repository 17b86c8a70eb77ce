//! A kill loop for the engine whose log has calls: a child process executes procedures on a directory and is killed, again and again.
//!
//! After each kill the calls in the log are run one after the other on a naive twin, and the directory is opened: both must hold the
//! same rows, and every acknowledged call must be among them, once ([`verify`]).
//!
//! - [`arguments`] is the command line; [`calls`] the procedure; [`child`] the process that is killed.

pub mod arguments;
pub mod calls;
pub mod child;
pub mod verify;

use crate::failure::Failure;
use crate::new_directory::NewDirectory;
use crate::processes::{Processes, own_program};
use arguments::KillArguments;
use env::Randomness;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use verify::Verified;

/// The hidden command of the child.
pub const CHILD: &str = "kill-child";

/// What was acknowledged: numbers of calls, by thread. A call that failed as it should is not among them.
pub type Acknowledged = BTreeSet<(u64, u64)>;

/// Runs the rounds, and prints a row for each.
///
/// # Errors
/// The child or the directory fails; or [`Failure::Verdict`], when something acknowledged is missing, is there twice, or the states
/// differ.
pub fn run(arguments: &KillArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let directory = NewDirectory::of(arguments.data.as_deref(), "lab-kill").map_err(Failure::Run)?;
    let mut random = Randomness::from_seed(arguments.seed);
    let mut acknowledged = Acknowledged::new();
    let mut is_good = true;
    for round in 1..=arguments.rounds {
        let wanted = random.in_range(1..arguments.answers.max(1) + 1);
        let before = acknowledged.len();
        let seed = random.in_range(0..u64::MAX);
        kill_one(directory.path(), seed, wanted, &mut acknowledged).map_err(Failure::Run)?;
        let verified = verify::verify(directory.path(), &acknowledged).map_err(Failure::Run)?;
        is_good &= verified.is_good();
        let new = acknowledged.len() - before;
        write_row(out, round, new, &verified).map_err(|error| Failure::Run(format!("cannot write a row: {error}")))?;
    }
    if is_good { Ok(()) } else { Err(Failure::Verdict) }
}

/// Starts a child, and kills it once it has acknowledged so many calls more.
fn kill_one(directory: &Path, seed: u64, wanted: u64, acknowledged: &mut Acknowledged) -> Result<(), String> {
    let program = own_program().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut processes = Processes::default();
    processes.start(Command::new(program).arg(CHILD).arg(directory).arg(seed.to_string()))?;
    let mut heard = 0;
    while heard < wanted {
        let line = processes.hear(0)?;
        heard += 1;
        acknowledged.extend(child::acknowledgement(&line)?);
    }
    processes.kill(0)
}

fn write_row(out: &mut dyn Write, round: u32, new: usize, verified: &Verified) -> std::io::Result<()> {
    let Verified { report, calls, hash, twin_hash, missing, twice, strange } = verified;
    writeln!(
        out,
        "round {round}: {new} acknowledged; {report}; {calls} calls in the log; hash {hash:016x}, twin {twin_hash:016x}; {missing} \
         missing, {twice} twice, {strange} of failed calls: {}",
        if verified.is_good() { "good" } else { "WRONG" }
    )?;
    out.flush()
}
