//! LISTEN, UNLISTEN, NOTIFY, and what a session receives.

use super::Session;
use crate::error::Result;
use crate::notify::{ChannelChange, NOTIFY_OF_NODE, Notification, Received, Reserved};
use std::sync::Arc;

impl Session {
    /// Sets what is called when the session has notifications to receive: [`Session::notifications`]. It must not wait.
    pub fn on_notify(&mut self, wake: impl Fn() + Send + Sync + 'static) {
        self.wake = Arc::new(wake);
    }

    /// Takes the notifications that the session has to receive now: none while a transaction is open, as in PostgreSQL. They rest
    /// on the commits that they tell of: [`Session::wait_durable`] comes before the client gets them.
    pub fn notifications(&mut self) -> Vec<Received> {
        if self.open.is_some() || self.copy.is_some() {
            return Vec::new();
        }
        let received = self.database.channels.take(self.entry.process);
        if let Some(position) = received.iter().map(|received| received.position).max() {
            self.awaited = self.awaited.max(position);
        }
        received
    }

    pub(super) fn notify(&mut self, channel: &str, payload: &str) -> Result<()> {
        let notification = Notification::new(channel, payload)?;
        self.warn_of_node(NOTIFY_OF_NODE);
        self.open_implicit(false);
        let bytes = self.state.pending.notify(notification);
        self.database.channels.check_room(bytes)
    }

    pub(super) fn change_channels(&mut self, change: ChannelChange) -> Result<()> {
        if let ChannelChange::Listen(channel) = &change {
            Notification::new(channel, "")?;
            self.warn_of_node("LISTEN receives notifications from sessions");
        }
        self.open_implicit(false);
        self.state.pending.change(change);
        Ok(())
    }

    /// Warns of what only the sessions of this node share, where it is a node of a cluster.
    fn warn_of_node(&mut self, what: &'static str) {
        if self.database.options.cluster.is_some() {
            self.state.warn_of_node(what);
        }
    }

    /// Before a commit: room for its notifications. Without it there is no commit.
    ///
    /// # Errors
    /// 54000
    pub(super) fn reserve_notifications(&mut self) -> Result<Reserved> {
        let sender = (self.database.oid, self.entry.process);
        let reserved = self.database.channels.reserve(sender, self.state.pending.notifications());
        if reserved.is_err() {
            self.roll_back();
        }
        reserved
    }

    /// After a commit: its notifications go to whoever listens, itself included.
    pub(super) fn publish(&mut self, reserved: Reserved) {
        if self.state.pending.is_empty() {
            return;
        }
        let (changes, notifications) = std::mem::take(&mut self.state.pending).into_parts();
        let sender = (self.database.oid, self.entry.process, &self.wake);
        self.database.channels.publish(sender, changes, &notifications, reserved, self.awaited);
    }
}
