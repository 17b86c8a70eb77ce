//! Checks of directories: whether one holds a database, and what it may be used for.

use crate::{Database, Invalid, Result};
use env::{Disk, RealDisk};
use std::io;
use std::path::{Path, PathBuf};

impl Database {
    /// Returns whether there is a database in the directory `path`, sound or damaged. (A replica of `seriatim order` counts
    /// as one, so that opening it can say what it is.)
    ///
    /// # Errors
    /// [`Fault::Disk`](crate::Fault::Disk) if the directory is there and cannot be read.
    pub fn exists(path: impl AsRef<Path>) -> Result<bool> {
        Ok(matches!(Content::of(path.as_ref())?, Content::Database | Content::Replica))
    }
}

/// The contents of a directory.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Nothing,
    Database,
    /// A replica of `seriatim order`, whose log has the same format.
    Replica,
    /// Other files, of which this is one.
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

/// One such file is enough: the log reports which others are missing.
fn is_of_a_database(name: &str) -> bool {
    name == "CONTROL" || name == "CHECKPOINT" || (name.starts_with("wal-") && name.ends_with(".log"))
}

/// Files that an interrupted creation leaves, that a file system creates by itself, and hidden files.
fn may_lie_about(name: &str) -> bool {
    name == "LOCK" || name.ends_with(".tmp") || name == "lost+found" || name.starts_with('.')
}

fn refuse(path: &Path, what: impl Into<String>) -> crate::Error {
    Invalid::Directory { path: path.display().to_string(), what: what.into() }.into()
}

/// Refuses to create a database among other files, in case of a mistyped path. A database that is only read must exist.
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

/// Refuses a path that cannot hold a backup of the database in `of`: a directory that is not empty or lies in the database's own,
/// or something else than a directory.
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

/// Returns whether `path`, or the nearest directory above it that is there, lies in `directory`, whatever both are called.
fn is_within(path: &Path, directory: &Path) -> bool {
    let here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    let found = path.ancestors().find_map(|above| here(above).canonicalize().ok());
    found.zip(directory.canonicalize().ok()).is_some_and(|(found, directory)| found.starts_with(directory))
}
