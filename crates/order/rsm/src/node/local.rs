//! Clients in the node's own process: the same messages, without a socket.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use net::mailbox::{Mailbox, Refused};
use paxos::application::Submitter;

use super::clients::{LocalId, Post};
use crate::message::{ClientMessage, ReplicaMessage};

/// Bytes of messages that wait for a client to take them; one that lets more gather is dismissed.
const INBOX_BYTES: usize = 64 << 20;

/// Why a client in this process was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalError {
    /// Too many requests wait to be ordered. Nothing was taken.
    Busy,
    /// The node has stopped, or has dismissed this client because it did not take its messages.
    Stopped,
}

impl fmt::Display for LocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(f, "too many requests wait to be ordered"),
            Self::Stopped => write!(f, "the node does not serve this client any more"),
        }
    }
}

impl std::error::Error for LocalError {}

/// A client in the node's own process. It speaks as others do, and is told first who leads: a
/// [`ClientSession`](crate::client::ClientSession) decides what to say.
#[derive(Debug)]
pub struct LocalClient {
    id: LocalId,
    post: Arc<Mailbox<Post>>,
    submitter: Submitter,
    inbox: Arc<Mailbox<ReplicaMessage>>,
}

impl LocalClient {
    pub(super) fn new(id: LocalId, post: Arc<Mailbox<Post>>, submitter: Submitter) -> Self {
        let inbox = Arc::new(Mailbox::new(INBOX_BYTES));
        if post.force(Post::Join(id, Arc::clone(&inbox)), 1).is_err() {
            inbox.close();
        }
        Self { id, post, submitter, inbox }
    }

    /// Says this. Replies come to [`receive`](Self::receive), in any order.
    ///
    /// # Errors
    /// [`LocalError`]: nothing was sent.
    pub fn send(&self, messages: Vec<ClientMessage>) -> Result<(), LocalError> {
        if !self.submitter.has_room() {
            return Err(LocalError::Busy);
        }
        let weight = messages.iter().map(weight_of).sum();
        self.post.offer(Post::Say(self.id, messages), weight).map_err(|refused| match refused {
            Refused::Full => LocalError::Busy,
            Refused::Closed => LocalError::Stopped,
        })
    }

    /// Appends the node's messages; if there are none, waits for some until the deadline.
    ///
    /// # Errors
    /// [`LocalError::Stopped`].
    pub fn receive(&self, messages: &mut Vec<ReplicaMessage>, deadline: Option<Instant>) -> Result<(), LocalError> {
        self.inbox.take(messages, deadline).map_err(|_| LocalError::Stopped)
    }
}

impl Drop for LocalClient {
    fn drop(&mut self) {
        self.inbox.close();
        // Closed: the node has forgotten it already.
        let _ = self.post.force(Post::Leave(self.id), 1);
    }
}

fn weight_of(message: &ClientMessage) -> usize {
    match message {
        ClientMessage::Request { body, .. } => size_of::<ClientMessage>() + body.len(),
        _ => size_of::<ClientMessage>(),
    }
}
