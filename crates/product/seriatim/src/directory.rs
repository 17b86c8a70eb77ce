//! Directories: whether one holds a database, and what one may be used for.

use crate::{Database, Invalid, Result};
use env::{Disk, RealDisk};
use std::io;
use std::path::{Path, PathBuf};

impl Database {
    /// Whether there is a database in the directory `path`, sound or damaged. (A replica of `seriatim order` counts as one, so
    /// that opening it can say what it is.)
    ///
    /// # Errors
    /// [`Fault::Disk`](crate::Fault::Disk) if the directory is there and cannot be read.
    pub fn exists(path: impl AsRef<Path>) -> Result<bool> {
        Ok(matches!(Content::of(path.as_ref())?, Content::Database | Content::Replica))
    }
}

/// What a directory holds.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Nothing,
    Database,
    /// A replica of `seriatim order`, which keeps a log of the same kind.
    Replica,
    /// Files that are no database's, of which this is one.
    Foreign(String),
}

impl Content {
    fn of(path: &Path) -> Result<Content> {
        let names = match RealDisk::new(path).list("") {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Nothing),
            Err(error) => return Err(crate::Fault::Disk { detail: error.to_string() }.into()),
        };
        if names.iter().any(|name| name == "REPLICA") {
            return Ok(Content::Replica);
        }
        if names.iter().any(|name| is_of_a_database(name)) {
            return Ok(Content::Database);
        }
        let foreign = names.into_iter().find(|name| !may_lie_about(name));
        Ok(foreign.map_or(Content::Nothing, Content::Foreign))
    }
}

/// One such file is enough: which others are missing is for the log to say.
fn is_of_a_database(name: &str) -> bool {
    name == "CONTROL" || name == "CHECKPOINT" || (name.starts_with("wal-") && name.ends_with(".log"))
}

/// What a creation that was interrupted has left, what a file system brings along, and hidden files.
fn may_lie_about(name: &str) -> bool {
    name == "LOCK" || name.ends_with(".tmp") || name == "lost+found" || name.starts_with('.')
}

fn refuse(path: &Path, what: impl Into<String>) -> crate::Error {
    Invalid::Directory { path: path.display().to_string(), what: what.into() }.into()
}

/// Refuses to make a database among files that are not its own: a mistyped path. To be read, it must be there.
pub(crate) fn check_to_open(path: &Path, is_read_only: bool) -> Result<()> {
    match Content::of(path)? {
        Content::Database => Ok(()),
        Content::Replica => {
            Err(refuse(path, "this directory belongs to a replica of `seriatim order`: use another one"))
        }
        _ if is_read_only => Err(refuse(path, "there is no database in this directory")),
        Content::Nothing => Ok(()),
        Content::Foreign(name) => {
            let what = "this directory holds other files and no database";
            Err(refuse(path, format!("{what} ({name}): use one that is empty or does not exist")))
        }
    }
}

/// Refuses what cannot take a copy of the database in `of`: a directory in which something is, one in the database's own,
/// and no directory at all.
pub(crate) fn check_to_back_up(path: &Path, of: Option<&Path>) -> Result<()> {
    if of.is_some_and(|of| is_within(path, of)) {
        return Err(refuse(path, "a backup cannot be written into the directory of its own database: use another one"));
    }
    match RealDisk::new(path).list("") {
        Ok(names) if names.is_empty() => Ok(()),
        Ok(_) => Err(refuse(path, "it is not empty: a backup needs a directory that is empty or does not exist")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refuse(path, format!("a backup cannot be written there: {error}"))),
    }
}

/// Whether `path`, or the nearest directory above it that is there, lies in `directory`, whatever both are called.
fn is_within(path: &Path, directory: &Path) -> bool {
    let here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    let found = path.ancestors().find_map(|above| here(above).canonicalize().ok());
    found.zip(directory.canonicalize().ok()).is_some_and(|(found, directory)| found.starts_with(directory))
}
