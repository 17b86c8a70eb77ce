//! The executor as the application of a node: takes batches, and sends replies to the clients.

use std::io;
use std::sync::Arc;

use net::mailbox::{Closed, Mailbox};
use paxos::application::{Application, BadSnapshot};
use paxos::core::{Image, Instance, Value};
use paxos::image::ImageWriter;

use super::clients::Post;
use super::figures::{Figures, ServiceFigures};
use crate::executor::{Executor, Reply};
use crate::message::Outcome;
use crate::service::Service;

/// Replies that gather before they are passed on, at most: clients should not wait for a whole backlog.
const REPLIES_AT_ONCE: usize = 1_024;

/// The state of the service's thread.
pub(super) struct ServiceApplication<S> {
    executor: Executor<S>,
    post: Arc<Mailbox<Post>>,
    figures: Arc<Figures>,
    replies: Vec<Reply>,
    bad_batches: u64,
}

impl<S: Service> ServiceApplication<S> {
    pub(super) fn new(executor: Executor<S>, post: Arc<Mailbox<Post>>, figures: Arc<Figures>) -> Self {
        Self { executor, post, figures, replies: Vec::new(), bad_batches: 0 }
    }
}

impl<S: Service> Application for ServiceApplication<S> {
    fn deliver(&mut self, at: Instance, batch: &Value) {
        if self.executor.deliver(at, batch, &mut self.replies).is_err() {
            // All replicas skip the same part of it.
            self.bad_batches += 1;
        }
    }

    fn install(&mut self, at: Instance, image: &Image) -> Result<(), BadSnapshot> {
        self.executor.install(at, image)
    }

    fn snapshot(&mut self, out: ImageWriter) -> io::Result<(Instance, Image)> {
        self.executor.snapshot(out)
    }

    fn next(&self) -> Instance {
        self.executor.executed().next
    }

    fn is_full(&self) -> bool {
        self.replies.len() >= REPLIES_AT_ONCE
    }

    /// Waits for the I/O thread if that lags behind.
    fn flush(&mut self) -> Result<(), Closed> {
        let executed = self.executor.executed();
        self.figures.write_service(ServiceFigures { executed, bad_batches: self.bad_batches });
        if self.replies.is_empty() {
            return Ok(());
        }
        let replies = std::mem::take(&mut self.replies);
        let weight = replies.iter().map(weight_of).sum();
        self.post.send(Post::Replies(replies), weight)
    }
}

fn weight_of(reply: &Reply) -> usize {
    match reply {
        Reply::Done { outcome: Outcome::Executed(_, answer), .. } => size_of::<Reply>() + answer.len(),
        _ => size_of::<Reply>(),
    }
}
