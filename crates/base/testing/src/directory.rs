//! Temporary directories.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Path of a directory for one test. Dropping it removes the directory.
pub struct Directory(PathBuf);

impl Directory {
    /// Returns a path that no other test uses. The directory does not exist yet.
    pub fn new(test: &str) -> Directory {
        // Relaxed: only the numbers must differ.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("seriatim-{test}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    /// Creates the directory.
    pub fn made(test: &str) -> Directory {
        let directory = Directory::new(test);
        std::fs::create_dir_all(directory.path()).unwrap();
        directory
    }

    /// Returns a path inside the directory.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, creates the directory if needed, and returns the file's path.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::create_dir_all(&self.0).unwrap();
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns the files whose names start with `prefix`, sorted.
    pub fn files(&self, prefix: &str) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
            .collect();
        files.sort();
        files
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
