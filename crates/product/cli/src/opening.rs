//! Report on opening a database. It shows if a new database was created by mistake.

use crate::output::counted;
use seriatim::{Database, Error, Fault, RecoveryProgress, RecoveryStep};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two lines about a recovery that is going on.
const SAY_EVERY: Duration = Duration::from_secs(1);

/// Lines about a recovery that takes longer than a second.
pub struct Recovering {
    /// When the step began.
    begun: Instant,
    /// When the last line was said; at first, when recovery began.
    said: Instant,
}

impl Recovering {
    /// From now on.
    pub fn new(now: Instant) -> Recovering {
        Recovering { begun: now, said: now }
    }

    /// The line that is due now, if one is. The end of one step begins the next.
    pub fn line(&mut self, now: Instant, progress: RecoveryProgress) -> Option<String> {
        let RecoveryProgress { step, done, total } = progress;
        let elapsed = now.duration_since(self.begun);
        if step == RecoveryStep::Verify && done == total {
            self.begun = now;
        }
        if now.duration_since(self.said) < SAY_EVERY {
            return None;
        }
        self.said = now;
        let what = match step {
            RecoveryStep::Verify => "verified",
            RecoveryStep::Replay => "replayed",
        };
        let share = u128::from(done) * 100 / u128::from(total.max(1));
        let (all, rate) = (total as f64 / 1e6, done as f64 / 1e6 / elapsed.as_secs_f64().max(1e-3));
        Some(format!("recovery: {what} {share} % of {all:.0} MB at {rate:.0} MB/s"))
    }
}

/// Lines about a database that was opened in `path`, which took `elapsed`.
pub fn lines(database: &Database, path: &Path, elapsed: Duration) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(found) = database.recovery() {
        lines.push(if found.created {
            format!("new database in {}", path.display())
        } else {
            let how = if found.clean { "closed cleanly" } else { "after a crash or a kill" };
            format!("{} recovered in {:.1} s ({how})", counted(found.rows, "row"), elapsed.as_secs_f64())
        });
        lines.extend(found.cut.clone());
    }
    if let Some(log) = database.stats().engine.log {
        lines.push(format!("log: syncs by {}", log.durable_writes.name()));
    }
    lines.extend(refusal(database));
    lines
}

/// Same as above for commands with other output: only what may be a mistake.
pub fn warnings(database: &Database, path: &Path) -> Vec<String> {
    let is_new = database.recovery().is_some_and(|found| found.created);
    let new = is_new.then(|| format!("new database in {}", path.display()));
    new.into_iter().chain(refusal(database)).collect()
}

fn refusal(database: &Database) -> Option<String> {
    Some(match database.read_only()? {
        Error::Fault(Fault::DiskFull { detail }) => {
            format!("READ ONLY until there is space: the disk is full, and writes fail with 53100 ({detail})")
        }
        error => format!("READ ONLY: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Silent for a second, then a line a second, with the share and the rate of its step.
    #[test]
    fn a_long_recovery_says_how_far_it_is() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let progress = |step, done: u64| RecoveryProgress { step, done: done * 1_000_000, total: 1_000_000_000 };
        let mut lines = Recovering::new(begun);
        assert_eq!(lines.line(at(900), progress(RecoveryStep::Verify, 450)), None);
        let verified = "recovery: verified 60 % of 1000 MB at 500 MB/s";
        assert_eq!(lines.line(at(1200), progress(RecoveryStep::Verify, 600)).as_deref(), Some(verified));
        assert_eq!(lines.line(at(2000), progress(RecoveryStep::Verify, 1000)), None);
        let replayed = "recovery: replayed 10 % of 1000 MB at 200 MB/s";
        assert_eq!(lines.line(at(2500), progress(RecoveryStep::Replay, 100)).as_deref(), Some(replayed));
        assert_eq!(lines.line(at(2600), progress(RecoveryStep::Replay, 120)), None);
    }
}
