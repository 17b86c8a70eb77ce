//! What may be forgotten follows from what the voters' consumers say of their disks.

use super::*;

fn fsync(options: &mut Options) {
    options.durability = Durability::Fsync;
}

/// Voters and learners, of which some consumers have said what they have.
fn reported(voters: usize, learners: usize, reports: &[(usize, Instance)]) -> Cluster {
    let mut cluster = Cluster::led(voters, learners, fsync);
    report(&mut cluster, reports);
    cluster
}

fn report(cluster: &mut Cluster, reports: &[(usize, Instance)]) {
    reports.iter().for_each(|(node, below)| cluster.input(*node, Input::ConsumerHas(*below)));
    cluster.run(5 * MS);
}

const NOTHING: [Instance; 0] = [];

fn may_forget(cluster: &Cluster) -> Vec<&[Instance]> {
    cluster.nodes.iter().flatten().map(|node| &node.may_forget[..]).collect()
}

#[test]
fn only_what_a_majority_has_may_be_forgotten() {
    let mut cluster = reported(3, 1, &[(0, 50)]);
    assert_eq!(may_forget(&cluster), [NOTHING; 4]);
    report(&mut cluster, &[(1, 30)]);
    assert_eq!(may_forget(&cluster), [&[30][..], &[30], &[30], &[]]);
    report(&mut cluster, &[(2, 40), (1, 20), (3, 60)]);
    assert_eq!(may_forget(&cluster), [&[30, 40][..], &[30, 40], &[30, 40], &[]], "a learner does not count");
    assert_eq!(may_forget(&reported(5, 0, &[(0, 9), (1, 8)])), [NOTHING; 5]);
    assert_eq!(may_forget(&reported(5, 0, &[(0, 9), (1, 8), (2, 7)])), [[7]; 5]);
    assert_eq!(may_forget(&reported(1, 0, &[(0, 9)])), [[9]]);
}

#[test]
fn a_report_that_was_lost_is_repeated() {
    let mut cluster = Cluster::led(3, 0, fsync);
    cluster.loses = Box::new(|_, _, message| matches!(message, PeerMessage::Durable(_)));
    report(&mut cluster, &[(0, 50), (1, 30)]);
    assert_eq!(may_forget(&cluster), [NOTHING; 3]);
    cluster.loses = Box::new(|_, _, _| false);
    cluster.wait(2 * SUSPICION, |cluster| may_forget(cluster) == [[30]; 3]);
}

#[test]
fn who_connects_is_told() {
    let mut cluster = reported(3, 0, &[(0, 50), (1, 30)]);
    let killed = cluster.kill(2);
    cluster.run(MS);
    cluster.restart(killed);
    cluster.run(5 * MS);
    assert_eq!(may_forget(&cluster), [[30]; 3]);
}

/// Who is gone has its disk. Who comes back may have lost its rows, and what it says then counts.
#[test]
fn a_report_counts_until_the_next_one_and_that_may_go_back() {
    let mut cluster = reported(3, 0, &[(0, 10), (1, 30)]);
    let killed = cluster.kill(1);
    report(&mut cluster, &[(0, 20)]);
    assert_eq!(may_forget(&cluster), [[10, 20]; 2]);
    cluster.restart(killed);
    report(&mut cluster, &[(1, 0)]);
    report(&mut cluster, &[(0, 60)]);
    assert_eq!(cluster.node(0).may_forget, [10, 20]);
    report(&mut cluster, &[(1, 40)]);
    assert_eq!(cluster.node(0).may_forget, [10, 20, 40]);
}
