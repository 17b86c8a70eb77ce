//! Leaders and elections.

use super::*;

#[test]
fn a_fresh_cluster_elects_its_first_replica_at_once() {
    for voters in 1..=7 {
        let mut cluster = Cluster::new(voters, 0, |_| {});
        let time = cluster.wait(SUSPICION, |cluster| cluster.leader().is_some());
        assert_eq!(cluster.leader(), Some(0));
        assert!(time < 10 * MS, "{voters} voters: {time:?}");
        cluster.run(20 * SUSPICION);
        assert_eq!(cluster.leader(), Some(0), "and keeps it");
        assert_eq!((0..voters).map(|id| cluster.replica(id).counters().candidacies).sum::<u64>(), 1);
    }
}

#[test]
fn without_the_first_replica_the_second_comes_forward() {
    let mut cluster = Cluster::new(3, 0, |_| {});
    cluster.kill(0);
    let time = cluster.wait(SUSPICION, |cluster| cluster.leader().is_some());
    assert_eq!(cluster.leader(), Some(1));
    assert!(time < SUSPICION / 3, "{time:?}");
}

#[test]
fn a_leader_that_was_killed_is_replaced_within_little_more_than_the_timeout() {
    for voters in [3, 5, 7, 15, 31] {
        let mut cluster = Cluster::led(voters, 1, |_| {});
        cluster.run(SUSPICION * 3 + 37 * MS);
        cluster.kill(0);
        let time = cluster.wait(2 * SUSPICION, |cluster| cluster.leader() == Some(1));
        assert!(time < SUSPICION * 11 / 10, "{voters} voters: {time:?}");
        let candidacies: u64 = (1..voters).map(|id| cluster.replica(id).counters().candidacies).sum();
        assert_eq!(candidacies, 1, "one comes forward");
        assert_eq!(cluster.node(2).leaders, [Some(0), None, Some(1)], "clients are told");
    }
}

#[test]
fn when_the_next_in_the_ring_is_dead_too_the_one_after_it_leads() {
    let mut cluster = Cluster::led(5, 0, |_| {});
    cluster.kill(1);
    cluster.kill(0);
    let time = cluster.wait(2 * SUSPICION, |cluster| cluster.leader() == Some(2));
    assert!(time < SUSPICION * 13 / 10, "{time:?}");
}

#[test]
fn a_candidate_that_dies_does_not_hold_up_the_others_for_long() {
    let mut cluster = Cluster::led(5, 0, |_| {});
    cluster.kill(0);
    cluster.wait(2 * SUSPICION, |cluster| cluster.replica(1).counters().candidacies == 1);
    cluster.run(MS * 3 / 4);
    cluster.kill(1);
    let time = cluster.wait(2 * SUSPICION, |cluster| cluster.leader().is_some());
    assert!(time < SUSPICION, "{time:?}");
}

#[test]
fn one_that_hears_nobody_deposes_nobody() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.cut.extend([(0, 2), (1, 2)]);
    cluster.run(20 * SUSPICION);
    assert_eq!(cluster.replica(2).leader(), None);
    assert_eq!(cluster.replica(2).counters().candidacies, 0);
    assert_eq!(cluster.replica(0).leader(), Some(0));
    cluster.cut.clear();
    cluster.wait(SUSPICION, |cluster| cluster.leader() == Some(0));
    assert_eq!(cluster.replica(0).counters().elections, 1);
}

#[test]
fn one_that_hears_all_but_the_leader_deposes_nobody() {
    let mut cluster = Cluster::led(5, 0, |_| {});
    cluster.cut.extend([(0, 3), (3, 0)]);
    cluster.run(20 * SUSPICION);
    assert_eq!((0..5).map(|id| cluster.replica(id).counters().candidacies).sum::<u64>(), 1);
    assert_eq!((0..3).map(|id| cluster.replica(id).leader()).collect::<Vec<_>>(), [Some(0); 3]);
}

#[test]
fn a_leader_without_a_majority_steps_aside_and_goes_on_if_nobody_else_could() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    let all = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];
    cluster.cut.extend(all);
    cluster.run(2 * SUSPICION);
    assert!((0..3).all(|id| cluster.replica(id).leader().is_none()));
    assert_eq!(cluster.node(0).leaders.last(), Some(&None), "clients are told");
    cluster.submit(0, chunk(0, 1, 1..4));
    cluster.run(10 * SUSPICION);
    cluster.cut.clear();
    let time = cluster.wait(2 * SUSPICION, |cluster| cluster.leader().is_some());
    assert!(time < SUSPICION, "{time:?}");
    cluster.run(SUSPICION);
    assert_eq!(cluster.requests(2), [(0, 1), (0, 2), (0, 3)], "what waited is ordered");
}

/// One-way cuts: the leader's messages are lost, or those to the leader.
#[test]
fn a_leader_that_is_half_cut_off_is_replaced() {
    for cut in [[(0, 1), (0, 2)], [(1, 0), (2, 0)]] {
        let mut cluster = Cluster::led(3, 0, |_| {});
        cluster.cut.extend(cut);
        cluster.wait(4 * SUSPICION, |cluster| (1..3).all(|id| cluster.replica(id).leader() == Some(1)));
        cluster.run(SUSPICION);
        assert_ne!(cluster.replica(0).leader(), Some(0));
        cluster.submit(1, chunk(1, 1, 1..2));
        cluster.wait(SUSPICION, |cluster| cluster.requests(2) == [(1, 1)]);
        cluster.cut.clear();
        cluster.wait(4 * SUSPICION, |cluster| cluster.leader() == Some(1) && cluster.requests(0) == [(1, 1)]);
    }
}

/// A leader that one peer does not receive, and that does not receive the other one, has nobody's votes, although each side hears somebody.
#[test]
fn a_leader_without_one_peer_in_both_directions_is_replaced() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.cut.extend([(0, 2), (1, 0)]);
    cluster.wait(6 * SUSPICION, |cluster| (1..3).all(|id| matches!(cluster.replica(id).leader(), Some(1 | 2))));
    let leader = cluster.replica(1).leader().unwrap();
    cluster.submit(leader as usize, chunk(leader, 1, 1..2));
    cluster.wait(SUSPICION, |cluster| cluster.requests(1) == [(leader, 1)] && cluster.requests(2) == [(leader, 1)]);
}

/// With two of five dead every other replica is needed, even one whose messages are lost on the way to the leader.
#[test]
fn an_isolated_leader_lends_its_suspicion() {
    let mut cluster = Cluster::led(5, 0, |_| {});
    cluster.kill(3);
    cluster.kill(4);
    cluster.cut.insert((1, 0));
    cluster.wait(4 * SUSPICION, |cluster| cluster.replica(2).leader().is_some_and(|leader| leader != 0));
}

#[test]
fn a_candidate_without_an_answer_tries_again() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.kill(0);
    cluster.loses = Box::new(|_, _, message| matches!(message, PeerMessage::Core(Message::Promise(..))));
    cluster.run(SUSPICION * 4);
    assert_eq!(cluster.leader(), None);
    assert!((1..3).map(|id| cluster.replica(id).counters().candidacies).sum::<u64>() > 3);
    cluster.loses = Box::new(|_, _, _| false);
    cluster.wait(SUSPICION * 2, |cluster| cluster.leader().is_some());
}

#[test]
fn a_learner_knows_the_leader_and_never_stands() {
    let mut cluster = Cluster::led(3, 2, |_| {});
    assert_eq!(cluster.replica(4).leader(), Some(0));
    cluster.kill(0);
    cluster.kill(1);
    cluster.run(SUSPICION * 10);
    assert_eq!(cluster.replica(4).leader(), None);
    assert_eq!((3..5).map(|id| cluster.replica(id).counters().candidacies).sum::<u64>(), 0);
}

#[test]
fn a_quiet_cluster_says_little() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.run(SUSPICION);
    let (since, time) = (cluster.now, 20);
    cluster.run(SUSPICION * time);
    let sent: usize = (0..3).map(|id| cluster.sent(id, since).count()).sum();
    assert!(sent < 25 * time as usize, "{sent} messages in {time} timeouts");
    let suspicions = |id: usize| {
        cluster.node(id).sent.iter().filter(|(at, _, m)| *at > since && matches!(m, PeerMessage::Suspicion(_))).count()
    };
    assert_eq!((0..3).map(suspicions).sum::<usize>(), 0);
}

#[test]
fn a_candidate_that_nobody_heard_finds_its_way_back() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.loses = Box::new(|from, _, message| {
        from == 0
            || (from == 1 && matches!(message, PeerMessage::Core(Message::Prepare(..)) | PeerMessage::Suspicion(_)))
    });
    cluster.wait(3 * SUSPICION, |cluster| cluster.replica(1).counters().candidacies == 1);
    cluster.loses = Box::new(|_, _, _| false);
    cluster.cut.extend([(0, 1), (1, 0), (1, 2), (2, 1)]);
    cluster.run(3 * SUSPICION);
    assert_eq!(cluster.replica(2).leader(), Some(0), "the leader that was suspected is heard again");
    cluster.cut.clear();
    let agree = |cluster: &Cluster| {
        let leader = cluster.replica(0).leader();
        leader.is_some() && (1..3).all(|id| cluster.replica(id).leader() == leader)
    };
    cluster.wait(4 * SUSPICION, agree);
    cluster.run(10 * SUSPICION);
    assert!(agree(&cluster));
}
