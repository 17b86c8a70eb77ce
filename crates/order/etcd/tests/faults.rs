//! Faults of etcd's members, of the connections to them, and of who else uses the store.

mod common;

use bytes::Bytes;
use common::Etcd;
use env::Randomness;
use env::time::Duration;
use testing::Members;
use total::suite::faults::under_faults;
use total::suite::histories::{all_nodes, assert_agreement, end_of, propose_each};
use total::suite::{Cluster, Faults, Partitions, Taken, payload, propose, take};
use total::{Event, OrderError, OrderLimits, Position, TotalOrder};

const PATIENCE: Duration = Etcd::PATIENCE;

/// The member that leads does not run for a while: the others elect another one, and what it was about to do is done once.
#[test]
fn a_leader_that_is_paused_is_replaced() {
    if !Etcd::can_start() {
        return;
    }
    let cluster = Etcd::start(OrderLimits::default());
    let mut taken: Vec<Taken> = all_nodes().iter().map(|_| Taken::default()).collect();
    propose_each(&cluster, 0..100);
    let paused = cluster.leader();
    cluster.members.signal(paused, "STOP");
    propose_each(&cluster, 100..200);
    let running = all_nodes().into_iter().find(|node| *node != paused).unwrap();
    take::<Etcd>(cluster.node(running), &all_nodes(), 200);
    cluster.members.signal(paused, "CONT");
    // The node that has taken begins at its second payload then; the others have everything.
    propose_each(&cluster, 200..300);
    let others: Vec<u64> = all_nodes().into_iter().filter(|node| *node != running).collect();
    for &node in &others {
        taken[node as usize].until::<Etcd>(cluster.node(node), &all_nodes(), 300);
        all_nodes().into_iter().for_each(|from| taken[node as usize].assert_payloads(from, 0..300));
    }
    assert!(taken[others[0] as usize].all == taken[others[1] as usize].all, "O1");
}

/// All members are killed at once, and come back: nothing that was delivered is lost, and nothing comes twice.
#[test]
fn members_that_are_killed_together_come_back() {
    if !Etcd::can_start() {
        return;
    }
    let mut cluster = Etcd::start(OrderLimits::default());
    let mut taken: Vec<Taken> = all_nodes().iter().map(|_| Taken::default()).collect();
    propose_each(&cluster, 0..300);
    taken[0].until::<Etcd>(cluster.node(0), &[0], 300);
    propose_each(&cluster, 300..400);
    all_nodes().into_iter().for_each(|at| cluster.members.kill(at));
    assert_eq!(cluster.node(1).barrier(Duration::ZERO), Err(OrderError::TimedOut));
    propose_each(&cluster, 400..500);
    all_nodes().into_iter().for_each(|at| cluster.members.start_again(at));
    assert_agreement(&cluster, &mut taken, 500);
}

/// Answers of etcd are lost: what was carried out is not carried out again.
#[test]
fn a_batch_whose_answer_is_lost_is_ordered_once() {
    if !Etcd::can_start() {
        return;
    }
    let cluster = Etcd::start(OrderLimits { retry: Duration::from_millis(200), ..OrderLimits::default() });
    let mut taken: Vec<Taken> = all_nodes().iter().map(|_| Taken::default()).collect();
    for round in 0..10 {
        let from = round * 20;
        propose_each(&cluster, from..from + 10);
        cluster.lose_answers(0);
        propose_each(&cluster, from + 10..from + 20);
        // What node 0 has sent is carried out, and seen by others; it has no answers.
        taken[1].until::<Etcd>(cluster.node(1), &[1, 2], from + 20);
        cluster.cut_off(0);
        cluster.connect(0);
    }
    assert_agreement(&cluster, &mut taken, 200);
}

/// Two processes with the number of one node: the first one adds nothing after the second has begun.
#[test]
fn a_later_life_stops_an_earlier_one() {
    if !Etcd::can_start() {
        return;
    }
    // Long enough that the first life does not read by chance that it is over: etcd refuses what it adds.
    let cluster = Etcd::start(OrderLimits { retry: PATIENCE, ..OrderLimits::default() });
    let first = cluster.node(1);
    propose::<Etcd>(first, payload(1, 0));
    take::<Etcd>(first, &[1], 1);
    let second = cluster.try_node(1, None).unwrap();
    propose::<Etcd>(first, payload(1, 7));
    assert!(end_of::<Etcd>(first).contains("another life of this node has begun"));
    propose::<Etcd>(&second, payload(1, 1));
    take::<Etcd>(&second, &[1], 2).assert_payloads(1, 0..2);
    assert!(matches!(first.propose(payload(1, 8)), Err(OrderError::Stopped(_))));
    assert!(matches!(first.barrier(PATIENCE), Err(OrderError::Stopped(_))));
    take::<Etcd>(cluster.node(2), &[1], 2).assert_payloads(1, 0..2);
}

fn compact_all(cluster: &Etcd) {
    let status = cluster.members.ask(0, "kv/range", r#"{"key":"AA=="}"#).unwrap();
    let revision = Members::number(&status, "revision").unwrap();
    cluster.members.ask(0, "kv/compaction", &format!(r#"{{"revision":"{revision}","physical":true}}"#)).unwrap();
}

/// Somebody else compacts etcd: who has everything notices nothing, who lacks one batch of each node has it still, and who lacks more is
/// behind.
#[test]
fn a_compaction_by_others_is_borne() {
    if !Etcd::can_start() {
        return;
    }
    let mut cluster = Etcd::start(OrderLimits::default());
    let mut positions = Vec::new();
    for number in 0..6 {
        propose::<Etcd>(cluster.node(0), payload(0, number));
        positions.push(take::<Etcd>(cluster.node(0), &[0], 1).all[0].position);
        // Its own batch: the next one is proposed when it was delivered.
        take::<Etcd>(cluster.node(1), &[0], 1);
    }
    cluster.stop_node(1);
    cluster.stop_node(2);
    compact_all(&cluster);
    cluster.start_node(1, Some(positions[5]));
    cluster.start_node(2, Some(positions[3]));
    let mut events = Vec::new();
    cluster.node(2).deliver(&mut events, 9, PATIENCE).unwrap();
    assert_eq!(events, [Event::Behind { earliest: positions[5], holders: vec![0, 1] }]);
    assert_eq!(cluster.node(2).resume(positions[4]), Err(OrderError::Missed));
    cluster.node(2).resume(positions[5]).unwrap();
    propose::<Etcd>(cluster.node(2), payload(2, 0));
    let next: Vec<_> = [0, 1, 2].map(|node| take::<Etcd>(cluster.node(node), &[2], 1).all).into();
    assert!(next.iter().all(|all| all.len() == 1 && *all == next[0]));
    // A position within the last batch of a node, which a compaction leaves.
    (0..3).for_each(|number| {
        propose::<Etcd>(cluster.node(1), payload(1, number));
    });
    let last = take::<Etcd>(cluster.node(0), &[1], 3).all;
    cluster.stop_node(0);
    compact_all(&cluster);
    let whole_batch = last[2].position.instance == last[1].position.instance;
    let from = if whole_batch { last[1].position } else { last[2].position };
    cluster.start_node(0, Some(from));
    propose::<Etcd>(cluster.node(0), payload(0, 6));
    let rest = take::<Etcd>(cluster.node(0), &[0], 1).all;
    assert_eq!(rest.len(), if whole_batch { 2 } else { 1 });
}

/// etcd's quota is used up: proposals are refused with what to do, and go on after it was done; nothing that was taken is lost.
#[test]
fn a_store_without_space_is_named_and_recovers() {
    if !Etcd::can_start() {
        return;
    }
    // More is kept than there is room for.
    let limits = OrderLimits { kept_bytes: 1 << 30, ..OrderLimits::default() };
    let cluster = Etcd::with(limits, &["--quota-backend-bytes", "16777216"]);
    let order = cluster.node(0);
    let large = Bytes::from(vec![7; 256 << 10]);
    let mut accepted = 0;
    let mut taken = Vec::new();
    let refused = loop {
        match order.propose(large.clone()) {
            Ok(_) => accepted += 1,
            Err(OrderError::Busy) => {
                // While it is full nothing is delivered, and there is neither room nor an end.
                match order.room(PATIENCE) {
                    Ok(_) => (),
                    Err(error) => break error,
                }
            }
            Err(error) => break error,
        }
        let _ = order.deliver(&mut taken, 100, Duration::ZERO);
    };
    assert!(matches!(&refused, OrderError::NoSpace(why) if why.contains("etcdctl alarm disarm")), "{refused:?}");
    assert!(order.problem().is_some_and(|why| why.contains("NOSPACE")));
    // What the error says.
    compact_all(&cluster);
    all_nodes().into_iter().for_each(|at| drop(cluster.members.ask(at, "maintenance/defragment", "{}").unwrap()));
    for at in all_nodes() {
        let status = cluster.members.ask(at, "maintenance/status", "{}").unwrap();
        let member = Members::number(&status, "member_id").unwrap();
        let alarm = format!(r#"{{"action":"DEACTIVATE","memberID":"{member}","alarm":"NOSPACE"}}"#);
        cluster.members.ask(at, "maintenance/alarm", &alarm).unwrap();
    }
    while taken.len() < accepted {
        order.deliver(&mut taken, 100, PATIENCE).unwrap();
    }
    assert!(taken.iter().all(|event| matches!(event, Event::Ordered(delivered) if delivered.payload == large)));
    let submissions = taken.iter().filter_map(|event| match event {
        Event::Ordered(delivered) => Some(delivered.submission),
        _ => None,
    });
    assert!(submissions.eq(0..accepted as u64), "each once");
    assert!(order.room(PATIENCE).is_ok());
}

/// Keys that somebody has deleted, or written, end the order with the reason.
#[test]
fn keys_that_others_change_are_noticed() {
    if !Etcd::can_start() {
        return;
    }
    let cluster = Etcd::start(OrderLimits::default());
    propose::<Etcd>(cluster.node(0), payload(0, 0));
    take::<Etcd>(cluster.node(0), &[0], 1);
    // `/seriatim/log/0`, in base64, and a value that is no batch.
    let answer = cluster.members.ask(1, "kv/put", r#"{"key":"L3NlcmlhdGltL2xvZy8w","value":"AAAA"}"#);
    assert!(answer.is_some());
    assert!(end_of::<Etcd>(cluster.node(1)).contains("another program has changed the order's keys"));
    cluster.members.ask(1, "kv/deleterange", r#"{"key":"L3NlcmlhdGltL2xvZy8w"}"#).unwrap();
    assert!(end_of::<Etcd>(cluster.node(2)).contains("another program has changed the order's keys"));
}

/// A position of another order's, or of an etcd that was restored from a backup, is not taken for one of this order.
#[test]
fn a_position_in_the_future_is_refused() {
    if !Etcd::can_start() {
        return;
    }
    let mut cluster = Etcd::start(OrderLimits::default());
    cluster.stop_node(2);
    cluster.start_node(2, Some(Position { instance: 1 << 40, index: 0 }));
    assert!(end_of::<Etcd>(cluster.node(2)).contains("restored from a backup"));
}

/// Members that are restored from a backup have lost what was delivered: no node goes on as if nothing had happened.
#[test]
fn a_backup_that_is_restored_is_noticed() {
    if !Etcd::can_start() {
        return;
    }
    let mut cluster = Etcd::start(OrderLimits::default());
    propose::<Etcd>(cluster.node(0), payload(0, 0));
    all_nodes().into_iter().for_each(|node| drop(take::<Etcd>(cluster.node(node), &[0], 1)));
    all_nodes().into_iter().for_each(|at| cluster.members.kill(at));
    cluster.members.back_up();
    all_nodes().into_iter().for_each(|at| cluster.members.start_again(at));
    for number in 1..100 {
        propose::<Etcd>(cluster.node(0), payload(0, number));
        all_nodes().into_iter().for_each(|node| drop(take::<Etcd>(cluster.node(node), &[0], 1)));
    }
    all_nodes().into_iter().for_each(|at| cluster.members.kill(at));
    cluster.members.restore();
    all_nodes().into_iter().for_each(|at| cluster.members.start_again(at));
    for node in all_nodes() {
        assert!(end_of::<Etcd>(cluster.node(node)).contains("restored from a backup"), "node {node}");
    }
}

/// Members are paused, killed and started again, connections are cut and lose answers, nodes start again: in any order, under load.
#[test]
fn whatever_happens_all_lives_are_delivered_one_order() {
    if !Etcd::can_start() {
        return;
    }
    let seed =
        std::env::var("SEED").map_or_else(|_| Randomness::from_entropy().next_u64(), |seed| seed.parse().unwrap());
    testing::say(&format!("the faults of etcd: SEED={seed}"));
    let count = under_faults::<Etcd>(seed, 12);
    assert!(count > 1_000, "{count} deliveries");
}
