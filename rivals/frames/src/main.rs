//! Measures what a frame and a handshake cost: this repository's tagged frames, Noise (`snow`), and TLS 1.3 with certificates on
//! both sides (`rustls`).
//!
//! The work is a leader's: one frame goes to each of two peers, and each peer checks it. Time is processor time of this process,
//! so that other programs on the machine do not count. `cargo run --release` in this directory prints the table.
#![forbid(unsafe_code)]

use std::time::Duration;

mod noise;
mod ours;
mod tls;

/// Peers that a leader sends each frame to.
const PEERS: usize = 2;
/// Frame sizes, in bytes: a vote, a small batch, a batch at its usual size, a large one.
const SIZES: [usize; 4] = [64, 1 << 10, 12_000, 60_000];
/// Processor time spent on one figure.
const ENOUGH: Duration = Duration::from_millis(400);
/// Connections, or frames, between two looks at the clock.
const ROUND: u32 = 50;

/// Connections from a leader to its peers.
trait Links: Sized {
    /// Name in the table.
    const NAME: &str;

    /// Makes the connections: each a whole handshake, both ends.
    fn connect() -> Self;

    /// Sends a frame to every peer, and checks it there.
    fn send(&mut self, frame: &[u8]);
}

/// Processor time of this process so far.
fn used() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/schedstat").expect("Linux keeps the time of each process");
    let nanoseconds = stat.split_whitespace().next().and_then(|first| first.parse().ok()).expect("a number");
    Duration::from_nanos(nanoseconds)
}

/// Processor time of one call.
fn cost(mut call: impl FnMut()) -> Duration {
    (0..ROUND).for_each(|_| call());
    let (start, mut calls) = (used(), 0);
    loop {
        (0..ROUND).for_each(|_| call());
        calls += ROUND;
        let spent = used() - start;
        if spent >= ENOUGH {
            return spent / calls;
        }
    }
}

fn row<L: Links>() {
    let handshake = cost(|| drop(L::connect())) / PEERS as u32;
    print!("{:<28}{:>12.1}", L::NAME, handshake.as_nanos() as f64 / 1e3);
    for size in SIZES {
        let (mut links, frame) = (L::connect(), vec![7; size]);
        let spent = cost(|| links.send(&frame));
        print!("{:>12.2}", spent.as_nanos() as f64 / 1e3);
    }
    println!();
}

fn main() {
    println!("Microseconds of processor time; a frame goes to {PEERS} peers, which check it. Both ends are counted.");
    print!("{:<28}{:>12}", "", "handshake");
    SIZES.iter().for_each(|size| print!("{:>12}", format!("{size} B")));
    println!();
    row::<ours::Tagged>();
    row::<noise::Noise>();
    row::<tls::Tls>();
}
