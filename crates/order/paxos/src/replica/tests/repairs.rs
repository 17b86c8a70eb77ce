//! Retransmission of lost messages, and catch-up.

use super::*;

fn is(kind: fn(&Message) -> bool) -> impl Fn(&(ReplicaId, &Message)) -> bool {
    move |(_, message)| kind(message)
}

/// Loses this percentage of messages, by a small generator.
fn lossy(percent: u64) -> LossRule {
    let mut randomness = env::Randomness::from_seed(percent);
    Box::new(move |_, _, _| randomness.chance(percent, 100))
}

fn fill(cluster: &mut Cluster, at: usize, batches: u64) {
    for batch in 0..batches {
        cluster.submit(at, chunk(at as u64, 1, batch * 300..batch * 300 + 300));
        cluster.run(MS / 5);
    }
    cluster.run(20 * MS);
}

#[test]
fn proposals_that_get_no_answer_are_sent_again_ever_more_slowly() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    fill(&mut cluster, 0, 3);
    let since = cluster.now;
    cluster.loses = Box::new(|_, _, message| matches!(message, PeerMessage::Core(Message::Accept(..))));
    cluster.submit(0, chunk(0, 2, 0..1));
    cluster.run(300 * MS);
    let proposals = cluster.sent(0, since).filter(is(|m| matches!(m, Message::Propose(..)))).count();
    assert_eq!(proposals, 2 * 5, "after 10, 30, 70, 150 ms");
    assert_eq!(cluster.replica(0).counters().retransmissions, 8);
    cluster.loses = Box::new(|_, _, _| false);
    cluster.wait(SUSPICION, |cluster| (0..3).all(|id| cluster.requests(id).len() == 901));
    let since = cluster.now;
    cluster.run(SUSPICION);
    assert!(!cluster.sent(0, since).any(|sent| is(|m| matches!(m, Message::Propose(..)))(&sent)), "it is chosen");
}

#[test]
fn replicas_that_become_slow_are_not_sent_everything_twice_for_ever() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    fill(&mut cluster, 0, 20);
    cluster.latency = 40 * MS;
    let mut again = Vec::new();
    for sequence in 0..40 {
        cluster.submit(0, chunk(0, 2, sequence..sequence + 1));
        cluster.run(20 * MS);
        again.push(cluster.replica(0).counters().retransmissions);
    }
    assert!(again[10] > 0, "the timeout was that of a fast network");
    assert_eq!(again[20], again[39], "{again:?}");
}

#[test]
fn only_who_has_not_voted_gets_a_proposal_again() {
    let mut cluster = Cluster::led(5, 0, |_| {});
    let since = cluster.now;
    cluster.cut.extend([(0, 2), (0, 3), (0, 4)]);
    cluster.submit(0, chunk(0, 1, 0..1));
    cluster.run(200 * MS);
    let to = |peer| cluster.sent(0, since).filter(|(to, m)| *to == peer && matches!(m, Message::Propose(..))).count();
    assert_eq!(to(1), 1);
    assert!(to(2) > 1 && to(2) == to(4));
}

#[test]
fn a_peer_that_comes_back_gets_what_is_open_at_once() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.cut.extend([(0, 1), (0, 2)]);
    cluster.submit(0, chunk(0, 1, 0..1));
    cluster.run(200 * MS);
    cluster.cut.clear();
    let since = cluster.now;
    cluster.input(0, Input::Connected(2));
    assert!(cluster.sent(0, since).any(|(to, m)| to == 2 && matches!(m, Message::Propose(..))));
    cluster.wait(3 * MS, |cluster| cluster.requests(0).len() == 1);
}

#[test]
fn all_replicas_deliver_all_batches_whatever_is_lost() {
    for percent in [5, 20, 40] {
        let mut cluster = Cluster::led(3, 1, |_| {});
        cluster.loses = lossy(percent);
        for batch in 0..200_u64 {
            cluster.submit(0, chunk(0, 1, batch..batch + 1));
            cluster.run(MS);
        }
        cluster.loses = Box::new(|_, _, _| false);
        // A leader may be deposed by losses; what it had gathered then goes to the next one.
        cluster.wait(10 * SUSPICION, |cluster| {
            (0..4).all(|id| cluster.node(id).service.0 == cluster.replica(0).view().next)
        });
        let state = cluster.node(0).service;
        assert!((0..4).all(|id| cluster.node(id).service == state), "{percent} %");
        assert!(state.0 > 0);
    }
}

#[test]
fn a_commit_that_was_lost_is_made_up_for() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.loses = Box::new(|_, to, message| to == 2 && matches!(message, PeerMessage::Core(Message::Commit(..))));
    cluster.submit(0, chunk(0, 1, 0..1));
    let time = cluster.wait(SUSPICION, |cluster| cluster.requests(2).len() == 1);
    assert!(time < SUSPICION / 2, "the next heartbeat tells, {time:?}");
    assert_eq!(cluster.replica(2).counters().queries, 1);
}

#[test]
fn who_was_away_asks_a_replica_that_does_not_lead_and_within_its_rate() {
    let mut cluster = Cluster::led(3, 0, |options| options.catch_up_bytes_per_s = 10 << 20);
    cluster.cut.extend([(0, 2), (2, 0), (1, 2), (2, 1)]);
    fill(&mut cluster, 0, 500);
    let behind: usize = cluster.node(0).delivered.iter().map(|(_, value)| value.len()).sum();
    cluster.cut.clear();
    let (since, start) = (cluster.now, cluster.now);
    let time = cluster.wait(20 * SUSPICION, |cluster| cluster.node(2).service == cluster.node(0).service);
    let fastest = Duration::from_secs_f64(behind as f64 / (10 << 20) as f64);
    assert!(time > fastest / 2 && time < fastest * 3, "{behind} bytes in {time:?}");
    let queries: Vec<_> = cluster.sent(2, since).filter(is(|m| matches!(m, Message::Query(..)))).collect();
    assert!(queries.len() >= 500 / 43 && queries.iter().all(|(to, _)| *to == 1), "{queries:?}");
    let answers =
        cluster.sent(0, start).filter(is(|m| matches!(m, Message::Learned(_) | Message::Snapshot(..)))).count();
    assert_eq!(answers, 0);
}

#[test]
fn the_leader_is_asked_if_nobody_else_answers() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.cut.extend([(0, 2), (2, 0), (1, 2), (2, 1)]);
    fill(&mut cluster, 0, 50);
    cluster.cut.remove(&(0, 2));
    cluster.cut.remove(&(2, 0));
    let since = cluster.now;
    cluster.wait(4 * SUSPICION, |cluster| cluster.node(2).service == cluster.node(0).service);
    let asked: Vec<_> =
        cluster.sent(2, since).filter(is(|m| matches!(m, Message::Query(..)))).map(|(to, _)| to).collect();
    assert_eq!(asked[..2], [1, 0], "first the other, which does not answer");
}

#[test]
fn a_learner_follows() {
    let mut cluster = Cluster::led(3, 1, |_| {});
    fill(&mut cluster, 1, 100);
    cluster.wait(SUSPICION, |cluster| cluster.node(3).service == cluster.node(0).service);
    assert_eq!(cluster.requests(3).len(), 30_000);
    let proposals = (0..3)
        .flat_map(|id| cluster.sent(id, Moment(0)))
        .filter(|(to, m)| *to == 3 && matches!(m, Message::Propose(..)));
    assert_eq!(proposals.count(), 0, "values come as answers");
}

/// A learner hears of an instance when the others do, and may ask one that has not heard of it yet. It must not ask the leader for
/// ever after.
#[test]
fn a_learner_goes_back_to_those_who_do_not_lead() {
    let mut cluster = Cluster::led(3, 1, |_| {});
    let mut randomness = env::Randomness::from_seed(1);
    cluster.loses = Box::new(move |_, to, message| {
        to != 3 && matches!(message, PeerMessage::Core(Message::Commit(..))) && randomness.chance(1, 30)
    });
    for sequence in 0..400 {
        cluster.submit(0, chunk(0, 1, sequence..sequence + 1));
        cluster.run(10 * MS);
    }
    let asked =
        |peer| cluster.sent(3, Moment(0)).filter(|(to, m)| *to == peer && matches!(m, Message::Query(..))).count();
    let (leader, others) = (asked(0), asked(1) + asked(2));
    assert!(leader + others >= 400 && leader < others / 2, "the leader {leader} times, the others {others} times");
}

#[test]
fn who_was_away_too_long_gets_a_snapshot() {
    let mut cluster = Cluster::led(3, 1, |options| (options.span, options.snapshot_bytes) = (64, 200_000));
    cluster.cut.extend((0..4).flat_map(|id| [(id, 2), (2, id), (id, 3), (3, id)]));
    fill(&mut cluster, 0, 300);
    assert!(cluster.replica(0).view().low > cluster.replica(2).view().executed + 100);
    cluster.cut.clear();
    cluster.wait(4 * SUSPICION, |cluster| (2..4).all(|id| cluster.node(id).service == cluster.node(0).service));
    assert!((2..4).all(|id| cluster.replica(id).counters().snapshots_installed == 1));
}

/// A replica that was away leads again: others have forgotten what it proposes, and it must catch up first.
#[test]
fn a_leader_that_is_behind_catches_up() {
    let mut cluster = Cluster::led(3, 0, |options| (options.span, options.snapshot_bytes) = (64, 200_000));
    cluster.cut.extend([(0, 1), (1, 0), (0, 2), (2, 0)]);
    cluster.wait(3 * SUSPICION, |cluster| {
        cluster.replica(1).leader() == Some(1) && cluster.replica(2).leader() == Some(1)
    });
    fill(&mut cluster, 1, 300);
    cluster.cut.clear();
    cluster.cut.extend([(1, 2), (2, 1), (0, 1), (1, 0)]);
    cluster.wait(20 * SUSPICION, |cluster| {
        cluster.replica(0).leader().is_some_and(|leader| leader != 1) && cluster.replica(0).view().executed >= 300
    });
    cluster.submit(0, chunk(0, 9, 0..1));
    cluster.wait(4 * SUSPICION, |cluster| cluster.requests(2).last() == Some(&(0, 0)));
    cluster.wait(SUSPICION, |cluster| cluster.node(0).service == cluster.node(2).service);
}

#[test]
fn claims_that_nobody_can_satisfy_cost_little() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    let claim = PeerMessage::Core(Message::Alive(0, (1 << 62) - 1));
    cluster.input(2, Input::Peer { from: 1, message: claim });
    cluster.run(20 * SUSPICION);
    assert_eq!(cluster.replica(2).counters().queries, 2, "each of the others was asked once");
    assert_eq!(cluster.leader(), Some(0));
}

#[test]
fn answers_that_were_not_asked_for_are_not_believed() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    let value = chunk(1, 1, 0..1).into_value();
    let learned = Message::Learned(vec![crate::core::generated::Decision { instance: 0, value }]);
    let snapshot = Message::Snapshot(1 << 40, Image::from([0; 8].as_slice()));
    for message in [learned, snapshot] {
        cluster.input(2, Input::Peer { from: 1, message: PeerMessage::Core(message) });
    }
    cluster.run(SUSPICION);
    assert_eq!((cluster.replica(2).view().executed, cluster.node(2).delivered.len()), (0, 0));
}
