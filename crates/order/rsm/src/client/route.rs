//! Which replica to talk to, without I/O: the leader if it is known and can be reached, else the next of the list.

use std::fmt;
use std::time::Duration;

use env::{Backoff, Randomness};

use paxos::core::ReplicaId;

/// The pause after the first failure, at most; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Redirections in a row that are followed: replicas that disagree about the leader must not send a client round and round.
const MAX_REDIRECTIONS: u32 = 4;

/// A client without an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAddress;

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a client needs the address of at least one replica")
    }
}

impl std::error::Error for NoAddress {}

/// Choice of the replica that a client connects to.
#[derive(Debug)]
pub struct Route {
    /// Addresses given by the user.
    addresses: Vec<String>,
    /// Which of them is next.
    position: usize,
    /// The leader as another replica named it: number and address.
    redirection: Option<(ReplicaId, String)>,
    /// The leader that could not be reached at its reported address.
    unreachable: Option<ReplicaId>,
    redirections: u32,
    backoff: Backoff,
    randomness: Randomness,
}

impl Route {
    /// A route over these addresses, from a random one on.
    ///
    /// # Errors
    /// [`NoAddress`].
    pub fn new(addresses: Vec<String>, seed: u64) -> Result<Self, NoAddress> {
        if addresses.is_empty() {
            return Err(NoAddress);
        }
        let mut randomness = Randomness::from_seed(seed);
        Ok(Self {
            position: randomness.in_range(0..addresses.len() as u64) as usize,
            addresses,
            redirection: None,
            unreachable: None,
            redirections: 0,
            backoff: Backoff::new(FIRST_PAUSE, LONGEST_PAUSE),
            randomness,
        })
    }

    /// Returns the address to connect to.
    #[must_use]
    pub fn address(&self) -> &str {
        self.redirection.as_ref().map_or(&self.addresses[self.position], |(_, address)| address)
    }

    /// The replica `connected` says who leads, and where. True: leave it and connect to [`address`](Self::address).
    pub fn on_leader(&mut self, connected: ReplicaId, leader: Option<ReplicaId>, address: Option<&str>) -> bool {
        if leader != self.unreachable {
            self.unreachable = None;
        }
        match (leader, address) {
            (Some(leader), Some(address))
                if leader != connected && self.unreachable != Some(leader) && self.redirections < MAX_REDIRECTIONS =>
            {
                self.redirections += 1;
                self.redirection = Some((leader, address.to_owned()));
                true
            }
            _ => false,
        }
    }

    /// A request was answered: the next failure is the first.
    pub fn succeeded(&mut self) {
        self.backoff.reset();
        self.redirections = 0;
    }

    /// The connection could not be made, or broke, or was silent for too long. [`address`](Self::address) is another one now, to be
    /// tried after the pause returned.
    pub fn failed(&mut self) -> Duration {
        match self.redirection.take() {
            // Whoever sent us there may still serve: it forwards.
            Some((leader, _)) => self.unreachable = Some(leader),
            None => self.position = (self.position + 1) % self.addresses.len(),
        }
        self.redirections = 0;
        self.backoff.next_delay(&mut self.randomness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(addresses: &[&str]) -> Route {
        Route::new(addresses.iter().map(ToString::to_string).collect(), 1).expect("addresses")
    }

    #[test]
    fn failures_lead_through_all_addresses() {
        let mut route = route(&["a", "b", "c"]);
        let mut seen: Vec<String> = (0..3)
            .map(|_| {
                let address = route.address().to_owned();
                assert!(route.failed() <= LONGEST_PAUSE);
                address
            })
            .collect();
        seen.sort();
        assert_eq!(seen, ["a", "b", "c"]);
        assert_eq!(Route::new(Vec::new(), 1).err(), Some(NoAddress));
    }

    #[test]
    fn the_leader_is_followed_until_it_cannot_be_reached() {
        let mut route = route(&["a"]);
        assert!(!route.on_leader(0, Some(0), Some("a")), "it leads itself");
        assert!(!route.on_leader(0, None, None), "nobody leads");
        assert!(!route.on_leader(0, Some(1), None), "nobody knows where");
        assert!(route.on_leader(0, Some(1), Some("b")));
        assert_eq!(route.address(), "b");
        route.failed();
        assert_eq!(route.address(), "a");
        assert!(!route.on_leader(0, Some(1), Some("b")), "it was not there a moment ago");
        assert!(route.on_leader(0, Some(2), Some("c")), "another one");
        route.failed();
        assert!(route.on_leader(0, Some(1), Some("b")), "it leads again");
    }

    #[test]
    fn replicas_that_disagree_are_not_followed_for_ever() {
        let mut route = route(&["a"]);
        let followed = (0..100).filter(|turn| route.on_leader(turn % 2, Some((turn + 1) % 2), Some("x"))).count();
        assert_eq!(followed, MAX_REDIRECTIONS as usize);
        route.succeeded();
        assert!(route.on_leader(0, Some(1), Some("x")));
    }
}
