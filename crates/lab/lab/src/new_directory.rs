//! Directories for databases that a command creates.

use std::path::{Path, PathBuf};

/// A directory that does not exist yet: the one that was named, or a temporary one, which goes with this value.
#[derive(Debug)]
pub struct NewDirectory {
    path: PathBuf,
    is_temporary: bool,
}

impl NewDirectory {
    /// The directory `data`, or one among the system's temporary files whose name has `what` in it.
    ///
    /// # Errors
    /// It exists.
    pub fn of(data: Option<&Path>, what: &str) -> Result<NewDirectory, String> {
        let temporary = || std::env::temp_dir().join(format!("seriatim-{what}-{}", std::process::id()));
        let path = data.map_or_else(temporary, Path::to_owned);
        if path.exists() {
            return Err(format!("{} exists already: name a directory that does not", path.display()));
        }
        Ok(NewDirectory { path, is_temporary: data.is_none() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        if self.is_temporary {
            // Leftovers are the system's to remove.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
