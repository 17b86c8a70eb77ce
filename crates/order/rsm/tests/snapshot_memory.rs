//! A snapshot that is far longer than the memory that a replica takes for it: written, journalled, recovered, sent, received and installed
//! piece by piece.
//!
//! Alone in its process, since it looks at the memory that the process has had at most.

use env::RealDisk;
use paxos::config::{Durability, Options};
use paxos::core::Instance;
use rsm::client::{BlockingClient, ClientOptions};
use rsm::node::{Listen, Node, NodeOptions};
use rsm::service::{BadSnapshot, Service};
use rsm::status::Status;
use seriatim_rsm as rsm;
use std::io::{self, BufRead, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;

/// Megabytes of a snapshot.
const SNAPSHOT_MIB: usize = 192;

/// Megabytes of memory of the whole process, at most: buffers of the log and of the connections, of two nodes, and the program itself.
const MEMORY_MIB: usize = 64;

/// Longer than anything here takes; nothing waits for it unless something is wrong.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Counts requests. Its snapshot is as many megabytes of that count as asked for, which it does not keep in memory.
struct Ballast(u64);

impl Service for Ballast {
    fn execute(&mut self, _: Instance, _: &[u8], reply: &mut Vec<u8>) {
        self.0 += 1;
        reply.extend_from_slice(&self.0.to_le_bytes());
    }

    fn snapshot(&self, out: &mut dyn Write) -> io::Result<()> {
        let part = self.0.to_le_bytes().repeat(MIB / 8);
        (0..SNAPSHOT_MIB).try_for_each(|_| out.write_all(&part))
    }

    fn restore(&mut self, snapshot: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        let mut part = vec![0; MIB];
        for _ in 0..SNAPSHOT_MIB {
            snapshot.read_exact(&mut part)?;
            let count = u64::from_le_bytes(*part.first_chunk().expect("eight bytes of many"));
            if part != count.to_le_bytes().repeat(MIB / 8) {
                return Err(BadSnapshot("it is not the same count everywhere".into()));
            }
            self.0 = count;
        }
        Ok(())
    }
}

/// The most memory that this process has had so far, in megabytes.
fn peak_mib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1_024
}

fn start(id: u64, socket: &TcpListener, addresses: &[String], directory: &Path) -> Node {
    let mut replica = Options::new(1, id);
    replica.durability = Durability::Fsync;
    (replica.snapshot_bytes, replica.span, replica.batch_bytes) = (1 << 30, 16, 50);
    let mut options = NodeOptions::new(replica, Listen::On(socket.try_clone().unwrap()), addresses.to_vec());
    options.order.disk = Some(Arc::new(RealDisk::new(directory)));
    (options.order.log.segment_bytes, options.order.log.buffer_bytes) = (1 << 20, 1 << 20);
    Node::start(options, Ballast(0)).unwrap()
}

fn wait_for(node: &Node, is_so: impl Fn(&Status) -> bool) -> Status {
    let start = Instant::now();
    loop {
        assert!(node.failure().is_none() && start.elapsed() < TIME_LIMIT, "{:?} {:?}", node.failure(), node.status());
        match node.status() {
            Some(status) if is_so(&status) => return status,
            _ => std::thread::yield_now(),
        }
    }
}

fn count(address: &str) -> u64 {
    let options = ClientOptions { time_limit: TIME_LIMIT, ..ClientOptions::new(vec![address.to_owned()]) };
    let answer = BlockingClient::new(options).unwrap().execute(vec![1].into()).unwrap();
    u64::from_le_bytes(answer.bytes[..].try_into().unwrap())
}

#[test]
fn a_long_snapshot_takes_little_memory_wherever_it_goes() {
    let directory = testing::Directory::new("snapshot_memory");
    let sockets = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let [address, learners] = [0, 1].map(|id| sockets[id].local_addr().unwrap().to_string());
    let addresses = [address.clone()];
    let voter = start(0, &sockets[0], &addresses, &directory.path().join("0"));
    let mut executed = 0;
    // The span is short: a snapshot is due after twelve instances.
    while wait_for(&voter, |_| true).counters.snapshots_taken == 0 {
        executed = count(&address);
    }
    wait_for(&voter, |status| status.log.low > 0);
    voter.stop().unwrap();
    drop(voter);
    let voter = start(0, &sockets[0], &addresses, &directory.path().join("0"));
    assert_eq!(count(&address), executed + 1, "it was recovered");
    let learner = start(1, &sockets[1], &addresses, &directory.path().join("1"));
    wait_for(&learner, |status| status.counters.snapshots_installed > 0);
    assert_eq!(count(&learners), executed + 2, "it was sent");
    learner.stop().unwrap();
    drop(learner);
    let learner = start(1, &sockets[1], &addresses, &directory.path().join("1"));
    assert_eq!(count(&learners), executed + 3, "it was journalled there");
    drop((learner, voter));
    let peak = peak_mib();
    assert!(peak <= MEMORY_MIB, "{peak} MiB of memory, for a snapshot of {SNAPSHOT_MIB} MiB");
}
