//! A new voter is silent until every other voter knows it (decision 0026).
//!
//! A replica whose memory is new does not know whether another memory of its number has voted before. The others do: whoever connects
//! with it has compared what it says of itself with whom it had met, and notes it ([`crate::known_voters`]). So each voter was
//! known to all others before its first vote; and one that has forgotten is refused by each of them that has not.

use super::peers::PeerSet;
use super::{Effect, Replica};
use crate::core::{Core, Message, ReplicaId, generated};

/// Which voters have not met this one yet, while it is new.
#[derive(Debug, Default)]
pub(super) struct Admission {
    missing: PeerSet,
}

impl Admission {
    /// Nobody is waited for.
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
