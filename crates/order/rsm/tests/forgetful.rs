//! Replicas that have forgotten what they promised: whatever they say, no acknowledged write is lost, and they are told by name.

use env::{SimDisk, SimDiskOptions};
use paxos::config::{Durability, Options};
use paxos::membership::Refusal;
use rsm::client::{BlockingClient, ClientError, ClientOptions};
use rsm::kv::{Answer, Command, KeyValue};
use rsm::node::{Listen, Node, NodeError, NodeOptions};
use rsm::status::Status;
use seriatim_rsm as rsm;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longer than anything here takes; nothing waits for it unless something is wrong.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Long enough for a cluster that answers at all.
const SHORT: Duration = Duration::from_secs(2);

/// Nobody listens there.
const NOBODY: &str = "127.0.0.1:1";

/// A socket that outlives the nodes that listen on it.
struct Place {
    socket: TcpListener,
    address: String,
}

fn places() -> [Place; 3] {
    [0, 1, 2].map(|_| {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        Place { socket, address }
    })
}

fn addresses(places: &[Place; 3]) -> [String; 3] {
    [0, 1, 2].map(|id| places[id].address.clone())
}

fn start(id: usize, places: &[Place; 3], addresses: &[String; 3], disk: Option<&SimDisk>) -> Node {
    let mut replica = Options::new(3, id as u64);
    replica.suspicion = Duration::from_millis(100);
    if disk.is_some() {
        replica.durability = Durability::Fsync;
    }
    let listen = Listen::On(places[id].socket.try_clone().unwrap());
    let mut options = NodeOptions::new(replica, listen, addresses.to_vec());
    options.order.log.segment_bytes = 1 << 20;
    options.order.disk = disk.map(|disk| Arc::new(disk.clone()) as _);
    Node::start(options, KeyValue::default()).unwrap()
}

fn disks() -> [SimDisk; 3] {
    [1, 2, 3].map(new_disk)
}

fn new_disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, SimDiskOptions::default())
}

fn ask(address: &str, command: Command<'_>, time_limit: Duration) -> Result<Vec<u8>, ClientError> {
    let options = ClientOptions { time_limit, ..ClientOptions::new(vec![address.to_owned()]) };
    let client = BlockingClient::new(options).unwrap();
    client.execute(command.to_bytes().into()).map(|answer| answer.bytes.to_vec())
}

fn put(address: &str) {
    let answer = ask(address, Command::Put { key: b"x", value: b"1" }, TIME_LIMIT).unwrap();
    assert!(matches!(Answer::decode(&answer), Ok(Answer::Done { .. })));
}

fn wait_for(node: &Node, is_so: impl Fn(&Status) -> bool) {
    let start = Instant::now();
    while !node.status().is_some_and(|status| is_so(&status)) {
        assert!(node.failure().is_none() && start.elapsed() < TIME_LIMIT, "{:?} {:?}", node.failure(), node.status());
        std::thread::yield_now();
    }
}

fn is_connected(status: &Status, peer: u64) -> bool {
    status.peers.get(&peer).is_some_and(|peer| peer.connected)
}

/// Replica 2 has never been there, so it has never met 0, who stops and comes back without its memory; 1, who knows, is not reached.
#[test]
fn a_voter_that_forgot_everything_finds_no_majority_among_those_who_never_met_it() {
    let places = places();
    let all = addresses(&places);
    let (first, second) = (start(0, &places, &all, None), start(1, &places, &all, None));
    wait_for(&second, |status| is_connected(status, 0));
    let written = ask(&all[1], Command::Put { key: b"x", value: b"1" }, SHORT);
    first.stop().unwrap();
    let places = self::places();
    let mut all = addresses(&places);
    all[1] = NOBODY.to_owned();
    let (again, third) = (start(0, &places, &all, None), start(2, &places, &all, None));
    wait_for(&third, |status| is_connected(status, 0));
    let read = ask(&all[0], Command::Get { key: b"x" }, SHORT);
    assert!(written.is_err() || read.is_err(), "acknowledged {written:?}, and then read {read:?}");
    for node in [&again, &second, &third] {
        wait_for(node, |status| !status.admitted && status.leader.is_none());
    }
}

#[test]
fn a_cluster_begins_when_all_have_met_and_goes_on_with_a_majority() {
    let places = places();
    let all = addresses(&places);
    let nodes = [0, 1, 2].map(|id| start(id, &places, &all, None));
    put(&all[0]);
    for node in &nodes {
        wait_for(node, |status| status.admitted);
    }
    nodes[0].stop().unwrap();
    put(&all[1]);
}

/// All have met. Then 2 is away while x is written; 0 stops and its directory is emptied; 1 is not reached.
#[test]
fn a_voter_whose_directory_was_emptied_is_refused_by_one_who_met_it_in_an_earlier_life_of_its_own() {
    let (places, disks) = (places(), disks());
    let all = addresses(&places);
    let nodes = [0, 1, 2].map(|id| start(id, &places, &all, Some(&disks[id])));
    for node in &nodes {
        wait_for(node, |status| status.admitted);
    }
    nodes[2].stop().unwrap();
    put(&all[1]);
    nodes.iter().for_each(|node| drop(node.stop()));
    drop(nodes);
    let unreached = [all[0].clone(), NOBODY.to_owned(), all[2].clone()];
    let again = start(0, &places, &unreached, Some(&new_disk(4)));
    let third = start(2, &places, &unreached, Some(&disks[2]));
    let refused = again.wait();
    assert!(matches!(refused, Err(NodeError::RestartedWithoutMemory { known_by: 2 })), "{refused:?}");
    assert!(third.failure().is_none());
}

/// A cluster that has met, and acknowledged something.
fn cluster(places: &[Place; 3], disks: &[SimDisk; 3]) -> [Node; 3] {
    let all = addresses(places);
    let nodes = [0, 1, 2].map(|id| start(id, places, &all, Some(&disks[id])));
    for node in &nodes {
        wait_for(node, |status| status.admitted);
    }
    put(&all[2]);
    nodes
}

#[test]
fn a_directory_from_before_the_last_starts_is_refused() {
    let (places, disks) = (places(), disks());
    let all = addresses(&places);
    let [mut first, second, _third] = cluster(&places, &disks);
    let copy = disks[0].copy();
    for _ in 0..2 {
        drop(first);
        first = start(0, &places, &all, Some(&disks[0]));
        wait_for(&first, |status| is_connected(status, 1) && is_connected(status, 2));
    }
    drop((first, second));
    let again = start(0, &places, &all, Some(&copy));
    let _second = start(1, &places, &all, Some(&disks[1]));
    let refused = again.wait();
    assert!(matches!(refused, Err(NodeError::OldCopy { refusal: Refusal::EarlierLife, .. })), "{refused:?}");
}

#[test]
fn a_directory_from_the_midst_of_the_last_life_is_refused() {
    let (places, disks) = (places(), disks());
    let all = addresses(&places);
    let [first, second, _third] = cluster(&places, &disks);
    let copy = disks[0].copy();
    (0..20).for_each(|_| put(&all[2]));
    // When they connect again they tell each other how long their journals are.
    drop(second);
    let second = start(1, &places, &all, Some(&disks[1]));
    wait_for(&second, |status| is_connected(status, 0));
    drop(first);
    let again = start(0, &places, &all, Some(&copy));
    let refused = again.wait();
    assert!(matches!(refused, Err(NodeError::OldCopy { refusal: Refusal::ShorterJournal, .. })), "{refused:?}");
}

#[test]
fn two_that_run_from_copies_of_one_directory_do_not_both_stay() {
    let (places, disks) = (places(), disks());
    let all = addresses(&places);
    let [first, second, third] = cluster(&places, &disks);
    drop(first);
    let copy = disks[0].copy();
    let again = start(0, &places, &all, Some(&disks[0]));
    wait_for(&again, |status| is_connected(status, 1) && is_connected(status, 2));
    // The other one of the two, in a place that a replica finds which restarts.
    let other_places = self::places();
    let mut others = all.clone();
    others[0].clone_from(&other_places[0].address);
    let twin = start(0, &other_places, &others, Some(&copy));
    drop(second);
    let _second = start(1, &places, &others, Some(&disks[1]));
    assert!(matches!(twin.wait(), Err(NodeError::SameNumber(0))));
    assert!(again.failure().is_none() && third.failure().is_none());
}

#[test]
fn a_voter_without_a_directory_stays_on_the_loopback() {
    let listen = Listen::At("0.0.0.0:0".parse().unwrap());
    let mut options = NodeOptions::new(Options::new(1, 0), listen, vec![NOBODY.to_owned()]);
    options.order.key = Some(net::auth::SharedKey::from_bytes(&[7; 32]).unwrap());
    let refused = Node::start(options, KeyValue::default()).map(drop);
    assert!(matches!(refused, Err(NodeError::NoDirectory { .. })), "{refused:?}");
}
