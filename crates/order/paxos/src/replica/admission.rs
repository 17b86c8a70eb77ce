//! Admission: a new voter sends no votes until every other voter has recorded it (decision 0026).
//!
//! A replica with a new directory cannot know whether an earlier directory of the same number has voted. Its peers can: a peer that
//! connects compares the identity that the replica sends with the one that it has recorded for this number, and records a new one
//! ([`crate::known_voters`]). So every other voter has recorded a voter before its first vote, and a replica that has lost its votes
//! is refused by each peer that still has the record.

use super::peers::PeerSet;
use super::{Effect, Replica};
use crate::core::{Core, Message, ReplicaId, generated};

/// The voters that have not recorded this one yet.
#[derive(Debug, Default)]
pub(super) struct Admission {
    missing: PeerSet,
}

impl Admission {
    /// Returns whether all voters have recorded this one.
    pub(super) fn is_over(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns whether this message may be sent now. Until the end of the admission, promises, votes and prepares are dropped,
    /// like packets on a network.
    pub(super) fn allows(&self, message: &Message) -> bool {
        self.is_over() || !generated::waits(message)
    }
}

impl<C: Core> Replica<C> {
    /// The replica if its directory is new, or it has none: it does not vote before it has been connected with every other voter. Then
    /// it tells [`Effect::Admitted`].
    #[must_use]
    pub fn unadmitted(mut self) -> Self {
        if self.options.votes() {
            self.admission.missing = self.peers.voters().collect();
        }
        self
    }

    /// A voter has this one for the same as ever.
    pub(super) fn met_by(&mut self, peer: ReplicaId, effects: &mut Vec<Effect>) {
        if self.admission.is_over() {
            return;
        }
        self.admission.missing.remove(peer);
        if self.admission.is_over() {
            effects.push(Effect::Admitted);
        }
    }
}
