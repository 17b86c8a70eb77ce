//! The error of decoding stored bytes: rows, keys, schemas, arguments.

use std::fmt;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed bytes")
    }
}

impl std::error::Error for Malformed {}

impl From<codec::Malformed> for Malformed {
    fn from(_: codec::Malformed) -> Malformed {
        Malformed
    }
}
