//! Errors of the operating system.

use std::fmt;
use std::io;
use std::sync::Arc;

/// An error of the operating system, shared.
#[derive(Clone, Debug)]
pub struct IoError(Arc<io::Error>);

impl From<io::Error> for IoError {
    fn from(error: io::Error) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
