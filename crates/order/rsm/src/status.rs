//! Status of a node: the answer to [`ClientMessage::Status`](crate::message::ClientMessage::Status), as JSON.

use std::ops::Deref;

use serde::Serialize;

use crate::executor::Executed;

pub use paxos::status::{JournalStatus, LogStatus, Part, PeerStatus, QueueStatus};

/// Status of a node. Counts are since its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The node of the order: its fields stand beside the others in JSON, and are read through this.
    #[serde(flatten)]
    pub node: paxos::status::Status,
    /// Counts of its executor.
    pub executor: Executed,
    /// Batches that could not be read to their end: some peer has proposed what no replica makes.
    pub bad_batches: u64,
    /// Clients.
    pub clients: ClientStatus,
}

/// Clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClientStatus {
    /// Connections.
    pub connected: usize,
    /// Clients that were disconnected: they sent what is no message, did not read their replies, or used too many sessions.
    pub dismissed: u64,
}

impl Deref for Status {
    type Target = paxos::status::Status;

    fn deref(&self) -> &Self::Target {
        &self.node
    }
}

impl Status {
    /// Returns the status as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts under names are JSON")
    }
}
