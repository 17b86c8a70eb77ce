//! State of the other replicas as known to a replica.

use crate::core::{Instance, ReplicaId};
use env::Moment;
use std::time::Duration;

/// Replicas are numbered below this.
pub(super) const MAX_REPLICAS: u64 = 64;

/// Some replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PeerSet(u64);

impl PeerSet {
    pub(super) fn insert(&mut self, peer: ReplicaId) {
        self.0 |= bit(peer);
    }

    pub(super) fn remove(&mut self, peer: ReplicaId) {
        self.0 &= !bit(peer);
    }

    pub(super) fn contains(self, peer: ReplicaId) -> bool {
        self.0 & bit(peer) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// In ascending order.
    pub(super) fn iter(self) -> impl Iterator<Item = ReplicaId> {
        (0..MAX_REPLICAS).filter(move |peer| self.contains(*peer))
    }
}

impl FromIterator<ReplicaId> for PeerSet {
    fn from_iter<I: IntoIterator<Item = ReplicaId>>(peers: I) -> Self {
        let mut set = Self::default();
        peers.into_iter().for_each(|peer| set.insert(peer));
        set
    }
}

/// Numbers that are no replica's have no bit.
fn bit(peer: ReplicaId) -> u64 {
    u32::try_from(peer).ok().and_then(|peer| 1_u64.checked_shl(peer)).unwrap_or(0)
}

/// State of one replica as last reported.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    /// When anything last came from it.
    pub(super) heard: Option<Moment>,
    /// Time of the last message to it that shows that this replica is alive: see [`Peers::shown`].
    shown: Option<Moment>,
    /// Time of its last report that it receives no leader.
    pub(super) suspected: Option<Moment>,
    /// Instances below it were executed there, or at least chosen, it says.
    pub(super) executed: Instance,
}

/// The other replicas.
#[derive(Debug)]
pub(super) struct Peers {
    id: ReplicaId,
    replicas: u64,
    connected: PeerSet,
    table: [Peer; MAX_REPLICAS as usize],
    /// The highest of all claims.
    goal: Instance,
}

impl Peers {
    pub(super) fn new(replicas: u64, id: ReplicaId) -> Self {
        let table = [Peer::default(); MAX_REPLICAS as usize];
        Self { id, replicas, connected: PeerSet::default(), table, goal: 0 }
    }

    /// Returns whether `peer` is a possible number of a peer.
    pub(super) fn is_peer(&self, peer: ReplicaId) -> bool {
        peer != self.id && peer < MAX_REPLICAS
    }

    pub(super) fn get(&self, peer: ReplicaId) -> Peer {
        usize::try_from(peer).ok().and_then(|peer| self.table.get(peer)).copied().unwrap_or_default()
    }

    fn change(&mut self, peer: ReplicaId, change: impl FnOnce(&mut Peer)) {
        if let Some(peer) = usize::try_from(peer).ok().and_then(|peer| self.table.get_mut(peer)) {
            change(peer);
        }
    }

    pub(super) fn connect(&mut self, peer: ReplicaId) {
        self.connected.insert(peer);
    }

    pub(super) fn disconnect(&mut self, peer: ReplicaId) {
        self.connected.remove(peer);
    }

    pub(super) fn is_connected(&self, peer: ReplicaId) -> bool {
        self.connected.contains(peer)
    }

    /// The other replicas that vote.
    pub(super) fn voters(&self) -> impl Iterator<Item = ReplicaId> + use<> {
        let id = self.id;
        (0..self.replicas).filter(move |peer| *peer != id)
    }

    /// The learners that are connected.
    pub(super) fn learners(&self) -> impl Iterator<Item = ReplicaId> + use<> {
        let (id, replicas) = (self.id, self.replicas);
        self.connected.iter().filter(move |peer| *peer >= replicas && *peer != id)
    }

    /// Returns whether this number of replicas, this one included, is a majority of the voters.
    pub(super) fn is_majority(&self, count: usize) -> bool {
        count as u64 * 2 > self.replicas
    }

    /// Records a message from the peer.
    pub(super) fn heard(&mut self, peer: ReplicaId, now: Moment) {
        self.change(peer, |peer| peer.heard = Some(now));
    }

    /// Records a message to the peer that shows that this replica is alive and, if it leads, that it leads.
    pub(super) fn shown(&mut self, peer: ReplicaId, now: Moment) {
        self.change(peer, |peer| peer.shown = Some(now));
    }

    /// Next time at which a peer must get such a message, if one is due every `interval`.
    pub(super) fn show_at(&self, peer: ReplicaId, now: Moment, interval: Duration) -> Moment {
        self.get(peer).shown.map_or(now, |shown| shown + interval)
    }

    /// Records a peer's report that it receives no leader.
    pub(super) fn suspected(&mut self, peer: ReplicaId, now: Moment) {
        self.change(peer, |peer| peer.suspected = Some(now));
    }

    /// Returns the number of other voters that have reported within `lifetime` that they receive no leader.
    pub(super) fn suspecting(&self, now: Moment, lifetime: Duration) -> usize {
        let fresh = |at: Moment| now < at + lifetime;
        self.voters().filter(|peer| self.get(*peer).suspected.is_some_and(fresh)).count()
    }

    /// Until when a majority counts as heard if each message counts for `lifetime`; `NEVER` if this replica is one. A peer that has
    /// reported within `lifetime` that it receives no leader is none of it: it does not receive this one.
    pub(super) fn contact(&self, now: Moment, lifetime: Duration) -> Option<Moment> {
        let suspects = |peer: &ReplicaId| self.get(*peer).suspected.is_some_and(|at| now < at + lifetime);
        let receiving = self.voters().filter(|peer| !suspects(peer));
        let mut heard: Vec<_> = receiving.filter_map(|peer| self.get(peer).heard).collect();
        heard.sort_unstable_by(|a, b| b.cmp(a));
        let Some(last) = (self.replicas / 2).checked_sub(1) else { return Some(Moment::NEVER) };
        usize::try_from(last).ok().and_then(|last| heard.get(last)).map(|at| *at + lifetime)
    }

    /// Records a peer's report that all instances below `executed` are chosen.
    pub(super) fn claim(&mut self, peer: ReplicaId, executed: Instance) {
        self.goal = self.goal.max(executed);
        self.change(peer, |peer| peer.executed = peer.executed.max(executed));
    }

    /// Returns the instance below which all are chosen, as reported by peers.
    pub(super) fn goal(&self) -> Instance {
        self.goal
    }

    /// No peer could provide an instance from `executed` on: resets the higher claims, which must be reported again.
    pub(super) fn doubt_claims(&mut self, executed: Instance) {
        self.goal = self.goal.min(executed);
        for peer in &mut self.table {
            peer.executed = peer.executed.min(executed);
        }
    }
}
