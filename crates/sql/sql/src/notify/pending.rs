//! What LISTEN and NOTIFY of an open transaction will do at its COMMIT.

use super::{ChannelChange, Notification};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a transaction's LISTEN and NOTIFY will do.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    changes: Vec<ChannelChange>,
    /// In order, each once.
    notifications: Vec<Arc<Notification>>,
    known: BTreeSet<Arc<Notification>>,
    bytes: usize,
}

/// A savepoint's place in it.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    changes: usize,
    notifications: usize,
}

impl Pending {
    /// Adds a change of the channels that the session listens to.
    pub fn change(&mut self, change: ChannelChange) {
        self.changes.push(change);
    }

    /// Adds a notification, unless the transaction has the same already. Returns the bytes of all.
    pub fn notify(&mut self, notification: Notification) -> usize {
        let notification = Arc::new(notification);
        if self.known.insert(notification.clone()) {
            self.bytes += notification.bytes();
            self.notifications.push(notification);
        }
        self.bytes
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.notifications.is_empty()
    }

    /// The notifications, in order.
    pub fn notifications(&self) -> &[Arc<Notification>] {
        &self.notifications
    }

    /// The changes and the notifications, in order.
    pub fn into_parts(self) -> (Vec<ChannelChange>, Vec<Arc<Notification>>) {
        (self.changes, self.notifications)
    }

    /// A place for [`Pending::back_to`].
    pub fn mark(&self) -> Mark {
        Mark { changes: self.changes.len(), notifications: self.notifications.len() }
    }

    /// Forgets what came after a place.
    pub fn back_to(&mut self, mark: Mark) {
        self.changes.truncate(mark.changes);
        for forgotten in self.notifications.drain(mark.notifications.min(self.notifications.len())..) {
            self.bytes -= forgotten.bytes();
            self.known.remove(&forgotten);
        }
    }
}
