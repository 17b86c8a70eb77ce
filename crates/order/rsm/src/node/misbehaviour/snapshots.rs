//! Peers that send snapshots which nobody asked for, or begin and do not end.

use super::*;
use env::{Disk, SimDisk, SimDiskOptions};
use std::sync::Arc;

/// Replica 0 of 3, with a directory.
fn first_of_three(disk: &SimDisk) -> Node {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let mut options = NodeOptions::new(Options::new(3, 0), Listen::On(listener), vec![address; 3]);
    options.order.disk = Some(Arc::new(disk.clone()));
    Node::start(options, LongAnswers(1)).expect("a node")
}

fn has_files(disk: &SimDisk) -> bool {
    disk.list("").expect("the disk works").iter().any(|name| name.starts_with("SNAPSHOT-"))
}

fn piece(number: u64) -> PeerMessage {
    let bytes = Bytes::from(vec![7; 1 << 20]);
    PeerMessage::Piece { at: 1_000, offset: number << 20, total: 1 << 30, bytes }
}

fn voter() -> Identity {
    Identity::Replica(Membership::new(&Options::new(3, 1), 1))
}

#[test]
fn a_snapshot_that_was_not_asked_for_is_not_gathered() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let node = first_of_three(&disk);
    let mut peer = Raw::greeted(node.address(), voter());
    for number in [0, 1, 0] {
        peer.say(&piece(number));
    }
    wait_for(&node, "both beginnings were refused", |status| {
        status.peers.get(&1).is_some_and(|peer| peer.unasked_snapshots == 2)
    });
    assert!(!has_files(&disk));
}

/// The next message but those by which replicas show that they live.
fn hear_query(peer: &mut Raw) -> PeerMessage {
    loop {
        let message = peer.hear().expect("the node does not close the connection");
        if let PeerMessage::Core(Message::Query(..)) = message {
            return message;
        }
    }
}

#[test]
fn the_beginning_of_one_that_was_asked_for_goes_with_its_connection() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let node = first_of_three(&disk);
    let mut peer = Raw::greeted(node.address(), voter());
    peer.say(&PeerMessage::Core(Message::Alive(1, 1_000)));
    assert_eq!(hear_query(&mut peer), PeerMessage::Core(Message::Query(0, 1_000)));
    for number in [0, 1] {
        peer.say(&piece(number));
    }
    let start = Instant::now();
    while !has_files(&disk) {
        assert!(start.elapsed() < TIME_LIMIT && node.failure().is_none(), "{:?}", node.status());
        std::thread::yield_now();
    }
    drop(peer);
    wait_for(&node, "the connection is gone", |status| status.peers.get(&1).is_some_and(|peer| !peer.connected));
    while has_files(&disk) {
        assert!(start.elapsed() < TIME_LIMIT, "the beginning stays");
        std::thread::yield_now();
    }
    assert!(node.failure().is_none());
}
