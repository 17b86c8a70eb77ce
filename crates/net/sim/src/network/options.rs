//! Conditions on the simulated links.

use env::Randomness;

/// Delay of packets, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// No packet is faster.
    pub least_ns: u64,
    /// Most take at most so long: each time between the least and this is equally likely.
    pub usual_ns: u64,
    /// Number of packets in a million that take longer than usual.
    pub long_ppm: u32,
    /// Maximum delay of those packets; the usual maximum is their minimum.
    pub longest_ns: u64,
}

impl Delay {
    /// Every packet takes as long as the others.
    #[must_use]
    pub fn fixed(nanoseconds: u64) -> Self {
        Self { least_ns: nanoseconds, usual_ns: nanoseconds, long_ppm: 0, longest_ns: nanoseconds }
    }

    pub(super) fn draw(&self, randomness: &mut Randomness) -> u64 {
        let is_long = self.long_ppm > 0 && randomness.chance(u64::from(self.long_ppm), 1_000_000);
        let (low, high) = if is_long { (self.usual_ns, self.longest_ns) } else { (self.least_ns, self.usual_ns) };
        if low < high { randomness.in_range(low..high + 1) } else { low }
    }
}

/// Conditions on the simulated links. Chances are in parts per million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// Delay of packets, drawn for each packet: packets overtake each other unless `in_order` is set.
    pub delay: Delay,
    /// Whether the packets of a link arrive in the order in which they were sent, as on a stream. Then no packet is lost alone:
    /// its connection breaks, and all packets on their way between the two nodes are lost with it.
    pub in_order: bool,
    /// The chance that a packet is lost.
    pub loss_ppm: u32,
    /// The chance that a packet arrives twice.
    pub duplicate_ppm: u32,
    /// Rate of one link; `None`: everything at once.
    pub bytes_per_second: Option<u64>,
    /// A packet that would wait longer than this for a link's rate is lost.
    pub backlog_ns: u64,
}

impl Default for NetworkOptions {
    /// A healthy local network of streams: 50 to 200 us, nothing is lost.
    fn default() -> Self {
        Self {
            delay: Delay { least_ns: 50_000, usual_ns: 200_000, long_ppm: 0, longest_ns: 200_000 },
            in_order: true,
            loss_ppm: 0,
            duplicate_ppm: 0,
            bytes_per_second: None,
            backlog_ns: 1_000_000_000,
        }
    }
}
