//! A network between a few nodes, simulated in virtual time: it delays, loses, duplicates and reorders packets and can be cut.

mod options;

#[cfg(test)]
mod tests;

use crate::event_queue::EventQueue;
use env::Randomness;
use std::sync::Arc;

pub use options::{Delay, NetworkOptions};

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Sender.
    pub from: usize,
    /// Receiver.
    pub to: usize,
    /// When it was sent, in nanoseconds.
    pub sent_at: u64,
    /// Payload.
    pub bytes: Arc<[u8]>,
}

/// Counts of packets by fate, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkCounts {
    /// Calls of [`SimNetwork::send`].
    pub sent: u64,
    /// Packets handed out, copies too.
    pub delivered: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets lost by chance, or with a connection that broke.
    pub lost: u64,
    /// Packets lost because their link was cut.
    pub cut_off: u64,
    /// Packets lost because too much was waiting for their link already.
    pub overflowed: u64,
    /// Connections that broke.
    pub broken: u64,
}

/// A simulated network. Nodes are `0..nodes`; two of them are joined by two links, one each way. The caller passes the time, in
/// nanoseconds; it must not go back. A run is a function of the seed and the calls.
///
/// A link stays cut until it is restored. A packet is lost if its link is cut when it is sent or when it would arrive.
#[derive(Clone, Debug)]
pub struct SimNetwork {
    nodes: usize,
    options: NetworkOptions,
    randomness: Randomness,
    links: Vec<Link>,
    flights: EventQueue<Flight>,
    broken: Vec<(usize, usize)>,
    counts: NetworkCounts,
}

/// One direction between two nodes.
#[derive(Clone, Debug, Default)]
struct Link {
    cut: bool,
    /// Number of times that its connection has broken. Packets from before the last break never arrive.
    epoch: u64,
    /// When the last packet will have left.
    busy_until: u64,
    /// When the last of the packets that keep their order arrives.
    last_arrival: u64,
}

#[derive(Clone, Debug)]
struct Flight {
    epoch: u64,
    packet: Packet,
}

impl SimNetwork {
    /// A network whose links are all up and empty.
    #[must_use]
    pub fn new(seed: u64, nodes: usize, options: NetworkOptions) -> Self {
        Self {
            nodes,
            options,
            randomness: Randomness::from_seed(seed),
            links: vec![Link::default(); nodes * nodes],
            flights: EventQueue::new(),
            broken: Vec::new(),
            counts: NetworkCounts::default(),
        }
    }

    /// Sends `bytes`, which arrive later, perhaps twice, or never.
    ///
    /// # Panics
    /// If one of the nodes does not exist.
    pub fn send(&mut self, now: u64, from: usize, to: usize, bytes: impl Into<Arc<[u8]>>) {
        let packet = Packet { from, to, sent_at: now, bytes: bytes.into() };
        self.counts.sent += 1;
        if self.link(from, to).cut {
            self.counts.cut_off += 1;
            return;
        }
        let Some(left_at) = self.leave(now, &packet) else {
            self.counts.overflowed += 1;
            return;
        };
        if self.happens(self.options.loss_ppm) {
            self.lose(from, to);
            return;
        }
        if self.happens(self.options.duplicate_ppm) {
            self.counts.duplicated += 1;
            self.fly(left_at, packet.clone());
        }
        self.fly(left_at, packet);
    }

    /// Returns the time of the next arrival, if any. [`SimNetwork::deliver`] may then return nothing: the packet's link was cut, or
    /// its connection broke, after it was sent.
    #[must_use]
    pub fn next_at(&self) -> Option<u64> {
        self.flights.next_at()
    }

    /// The next packet that has arrived at `now` or before, oldest arrival first.
    pub fn deliver(&mut self, now: u64) -> Option<Packet> {
        while let Some((_, Flight { epoch, packet })) = self.flights.take_due(now) {
            let link = self.link(packet.from, packet.to);
            if link.cut {
                self.counts.cut_off += 1;
            } else if link.epoch != epoch {
                self.counts.lost += 1;
            } else {
                self.counts.delivered += 1;
                return Some(packet);
            }
        }
        None
    }

    /// From now on packets that are sent meet these chances and delays.
    pub fn set_options(&mut self, options: NetworkOptions) {
        self.options = options;
    }

    /// Conditions for packets that are sent now.
    #[must_use]
    pub fn options(&self) -> &NetworkOptions {
        &self.options
    }

    /// Cuts one direction.
    pub fn cut(&mut self, from: usize, to: usize) {
        self.link(from, to).cut = true;
    }

    /// Mends one direction.
    pub fn mend(&mut self, from: usize, to: usize) {
        self.link(from, to).cut = false;
    }

    /// Cuts every link between a node of `side` and a node that is not of it, both ways.
    pub fn partition(&mut self, side: &[usize]) {
        for (from, to) in self.pairs() {
            if side.contains(&from) != side.contains(&to) {
                self.cut(from, to);
            }
        }
    }

    /// Cuts everything to and from `node`.
    pub fn isolate(&mut self, node: usize) {
        self.partition(&[node]);
    }

    /// Mends every link.
    pub fn heal(&mut self) {
        self.links.iter_mut().for_each(|link| link.cut = false);
    }

    /// Returns whether a cut loses the packets from one node to another.
    #[must_use]
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        self.links[from * self.nodes + to].cut
    }

    /// Breaks the connection between two nodes: what is on its way between them, both ways, is lost.
    pub fn break_connection(&mut self, one: usize, other: usize) {
        self.counts.broken += 1;
        self.broken.push((one, other));
        for (from, to) in [(one, other), (other, one)] {
            let link = self.link(from, to);
            link.epoch += 1;
            link.busy_until = 0;
            link.last_arrival = 0;
        }
    }

    /// Breaks every connection of `node`, as its death does.
    pub fn disconnect(&mut self, node: usize) {
        (0..self.nodes).filter(|&other| other != node).for_each(|other| self.break_connection(node, other));
    }

    /// Returns the pairs of nodes whose connection has broken since the last call, so that both can be notified.
    pub fn take_broken(&mut self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.broken)
    }

    /// Counts of packets by fate, so far.
    #[must_use]
    pub fn counts(&self) -> NetworkCounts {
        self.counts
    }

    /// Packets on their way, those included that will turn out to be lost.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    fn link(&mut self, from: usize, to: usize) -> &mut Link {
        assert!(from < self.nodes && to < self.nodes, "{from} to {to}: there are {} nodes", self.nodes);
        &mut self.links[from * self.nodes + to]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let nodes = self.nodes;
        (0..nodes * nodes).map(move |pair| (pair / nodes, pair % nodes))
    }

    fn happens(&mut self, ppm: u32) -> bool {
        ppm > 0 && self.randomness.chance(u64::from(ppm), 1_000_000)
    }

    /// When the packet's last byte has left; `None` if too much is waiting already.
    fn leave(&mut self, now: u64, packet: &Packet) -> Option<u64> {
        let Some(rate) = self.options.bytes_per_second else { return Some(now) };
        let lasts = (packet.bytes.len() as u64).saturating_mul(1_000_000_000) / rate.max(1);
        let backlog = self.options.backlog_ns;
        let link = self.link(packet.from, packet.to);
        let begins = link.busy_until.max(now);
        if begins - now > backlog {
            return None;
        }
        link.busy_until = begins.saturating_add(lasts);
        Some(link.busy_until)
    }

    /// A stream loses no single packet: its connection breaks.
    fn lose(&mut self, from: usize, to: usize) {
        self.counts.lost += 1;
        if self.options.in_order {
            self.break_connection(from, to);
        }
    }

    fn fly(&mut self, left_at: u64, packet: Packet) {
        let mut arrival = left_at.saturating_add(self.options.delay.draw(&mut self.randomness));
        let in_order = self.options.in_order;
        let link = self.link(packet.from, packet.to);
        if in_order {
            arrival = arrival.max(link.last_arrival);
            link.last_arrival = arrival;
        }
        let epoch = link.epoch;
        self.flights.enter(arrival, Flight { epoch, packet });
    }
}
