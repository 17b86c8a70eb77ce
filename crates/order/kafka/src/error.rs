//! Why a node of an order on Kafka does not start, or has stopped.

use std::fmt;

/// Why a node does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KafkaError {
    /// The options contradict each other, or the client library refuses them.
    Options(String),
    /// No broker has answered as it should in the time given; the last problem.
    Unavailable(String),
    /// Kafka does what was asked for, but cannot be used: the reason, and what to do.
    Refused(String),
    /// The operating system refuses a thread.
    System(String),
}

impl fmt::Display for KafkaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(why) => write!(f, "these options do not go together: {why}"),
            Self::Unavailable(why) => write!(f, "no broker of Kafka can be used: {why}"),
            Self::Refused(why) => f.write_str(why),
            Self::System(why) => write!(f, "cannot start: {why}"),
        }
    }
}

impl std::error::Error for KafkaError {}
