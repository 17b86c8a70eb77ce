//! What the tests share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of one test's own, removed when dropped.
pub struct Directory(PathBuf);

impl Directory {
    /// A name that nobody else has; nothing is there yet.
    pub fn new(test: &str) -> Directory {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("seriatim-{test}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    /// The same, made already.
    pub fn made(test: &str) -> Directory {
        let directory = Directory::new(test);
        std::fs::create_dir_all(directory.path()).unwrap();
        directory
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::create_dir_all(&self.0).unwrap();
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The files whose names start so, sorted.
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

/// What the command did.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Fails the test unless it went well.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// Fails the test unless it ended so, and complained of this.
    #[track_caller]
    pub fn refused(self, code: i32, complaint: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(complaint) || self.out.contains(complaint), "{complaint:?} is not in {self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}

/// The `seriatim` command.
pub fn seriatim() -> Command {
    Command::new(env!("CARGO_BIN_EXE_seriatim"))
}

/// Runs the `seriatim` command.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    let Output { status, stdout, stderr } = seriatim().args(arguments).output().unwrap();
    Ran {
        code: status.code().unwrap_or(-1),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}
