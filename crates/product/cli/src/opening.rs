//! Report on opening a database. It shows if a new database was created by mistake.

use crate::output::counted;
use seriatim::{Database, Error, Fault};
use std::path::Path;
use std::time::Duration;

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
