//! Why a call that was logged cannot be run again.

use crate::Malformed;
use std::fmt;

/// A logged call that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownCall {
    /// No procedure of this name is registered.
    Name {
        /// The name in the log.
        name: String,
        /// The version in the log.
        version: u32,
    },
    /// The procedure is registered with another version: it may do something else now.
    Version {
        /// The name.
        name: String,
        /// The version in the log.
        logged: u32,
        /// The version that is registered.
        registered: u32,
    },
    /// The record is damaged.
    Record(Malformed),
    /// The arguments are not those of the procedure of this name.
    Arguments(String, Malformed),
}

impl fmt::Display for UnknownCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnknownCall::Name { name, version } => {
                write!(
                    f,
                    "the log has calls of procedure {name}, version {version}, and none is registered: register it"
                )
            }
            UnknownCall::Version { name, logged, registered } => write!(
                f,
                "the log has calls of procedure {name}, version {logged}, and version {registered} is registered: open the \
                 database with the version that was logged, and write a checkpoint before the procedure changes"
            ),
            UnknownCall::Record(error) => write!(f, "damaged record of a call: {error}"),
            UnknownCall::Arguments(name, error) => write!(f, "damaged arguments of procedure {name}: {error}"),
        }
    }
}

impl std::error::Error for UnknownCall {}
