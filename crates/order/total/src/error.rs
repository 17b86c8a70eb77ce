//! Why an order did not do what it was asked for.

use std::fmt;

/// Why a payload was not taken, or nothing was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderError {
    /// Too many proposals of this node wait to be ordered: take deliveries, then try again.
    Busy,
    /// A payload without bytes says nothing.
    Empty,
    /// Longer than the order takes, in bytes.
    TooLarge {
        /// The payload's length.
        bytes: usize,
        /// Maximum length.
        limit: usize,
    },
    /// It did not come to pass within the time given.
    TimedOut,
    /// What this node missed is not kept any more: its state must come from another node.
    Missed,
    /// The store that keeps the order is full. The text says what its operator has to do; after that, payloads are taken again.
    NoSpace(String),
    /// The order has stopped; whether proposals that were not delivered will be is unknown.
    Stopped(String),
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(f, "too many proposals wait to be ordered"),
            Self::Empty => write!(f, "a proposal needs at least one byte"),
            Self::TooLarge { bytes, limit } => {
                write!(f, "a proposal of {bytes} bytes exceeds the limit of {limit} bytes")
            }
            Self::TimedOut => write!(f, "it did not come to pass in time"),
            Self::Missed => write!(f, "the deliveries that this node missed are no longer kept"),
            Self::NoSpace(why) => f.write_str(why),
            Self::Stopped(why) => write!(f, "the order has stopped: {why}"),
        }
    }
}

impl std::error::Error for OrderError {}
