//! Durability before sending, truncation, and restarts.

use super::*;
use crate::core::generated::waits;

fn fsync(options: &mut Options) {
    options.durability = Durability::Fsync;
    (options.span, options.snapshot_bytes) = (64, 200_000);
}

fn submit_batches(cluster: &mut Cluster, at: usize, batches: u64) {
    for batch in 0..batches {
        cluster.submit(at, chunk(at as u64, 1, batch * 300..batch * 300 + 300));
        cluster.run(MS);
    }
    cluster.run(20 * MS);
}

#[test]
fn nothing_that_waits_leaves_before_the_journal_is_durable_and_all_else_does() {
    let mut cluster = Cluster::led(3, 0, fsync);
    for id in 0..3 {
        cluster.node_mut(id).disk_stopped = true;
    }
    let since = cluster.now;
    cluster.submit(0, chunk(0, 1, 0..300));
    cluster.submit(0, chunk(0, 1, 300..600));
    cluster.run(50 * MS);
    assert!((0..3).all(|id| cluster.sent(id, since).all(|(_, message)| !waits(message))));
    assert!(cluster.sent(0, since).any(|(_, message)| matches!(message, Message::Propose(..))));
    assert!(cluster.node(1).delivered.is_empty());
    // Both votes of replica 1 are journalled; the first becomes durable.
    let emitted = cluster.node(1).records;
    cluster.input(1, Input::Durable(emitted - 1));
    let accepts = |cluster: &Cluster| -> Vec<_> {
        let sent = cluster.sent(1, since).filter_map(|(_, message)| match message {
            Message::Accept(_, instance) => Some(*instance),
            _ => None,
        });
        sent.collect()
    };
    assert_eq!(accepts(&cluster)[0], 0);
    assert!(accepts(&cluster).iter().all(|instance| *instance == 0));
    cluster.input(1, Input::Durable(emitted));
    assert!(accepts(&cluster).is_sorted() && accepts(&cluster).last() == Some(&1));
    cluster.run(MS);
    assert!(cluster.node(0).delivered.is_empty(), "the leader's own vote is not durable, nor another's");
    let emitted = cluster.node(0).records;
    cluster.input(0, Input::Durable(emitted));
    assert_eq!(cluster.requests(0).len(), 600);
}

#[test]
fn a_candidate_says_nothing_before_its_ballot_is_durable() {
    let mut cluster = Cluster::new(3, 0, fsync);
    for id in 0..3 {
        cluster.node_mut(id).disk_stopped = true;
    }
    cluster.run(50 * MS);
    assert_eq!(cluster.replica(0).counters().candidacies, 1);
    assert!((0..3).all(|id| cluster.sent(id, Moment(0)).all(|(_, message)| !waits(message))));
    cluster.input(0, Input::Durable(1));
    assert_eq!(cluster.sent(0, Moment(0)).filter(|(_, m)| matches!(m, Message::Prepare(..))).count(), 2);
}

#[test]
fn without_a_journal_nothing_is_journalled_and_nothing_waits() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    submit_batches(&mut cluster, 0, 10);
    assert!((0..3).all(|id| cluster.node(id).records == 0));
    assert_eq!(cluster.requests(2).len(), 3_000);
}

#[test]
fn a_stuck_disk_does_not_fill_the_memory() {
    let mut cluster = Cluster::led(3, 0, fsync);
    cluster.node_mut(1).disk_stopped = true;
    let ballot = cluster.replica(1).view().promised;
    for _ in 0..40_000 {
        let message = PeerMessage::Core(Message::Propose(ballot, 0, Value::new()));
        cluster.input(1, Input::Peer { from: 0, message });
    }
    let (records, since) = (cluster.node(1).records, cluster.now);
    cluster.input(1, Input::Durable(records));
    assert_eq!(cluster.sent(1, since).filter(|(_, m)| matches!(m, Message::Accept(..))).count(), 16_384);
}

#[test]
fn a_replica_that_restarts_installs_its_snapshot_and_delivers_from_there() {
    let mut cluster = Cluster::led(3, 0, fsync);
    submit_batches(&mut cluster, 0, 200);
    let killed = cluster.kill(1);
    let (state, at) = (killed.service, killed.replica.view().snapshot_at);
    assert!(at > 0);
    let mut replica: Replica =
        Replica::recover(killed.replica.options().clone(), cluster.now, 1, killed.journal.clone()).unwrap();
    let mut effects = Vec::new();
    replica.handle(cluster.now, Input::Tick, &mut effects);
    assert!(matches!(effects[0], Effect::Recover(first, _) if first == at), "{:?}", effects[0]);
    let delivered: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Deliver(instance, _) => Some(*instance),
            _ => None,
        })
        .collect();
    assert_eq!(delivered, (at..state.0).collect::<Vec<_>>());
    cluster.restart(killed);
    cluster.run(10 * MS);
    assert_eq!(cluster.node(1).service, state);
    submit_batches(&mut cluster, 1, 100);
    assert!((0..3).all(|id| cluster.node(id).service == cluster.node(0).service));
}

#[test]
fn all_replicas_may_restart_and_elect_at_once() {
    let mut cluster = Cluster::led(3, 0, fsync);
    submit_batches(&mut cluster, 0, 100);
    let killed: Vec<_> = (0..3).map(|id| cluster.kill(id)).collect();
    let state = killed[0].service;
    killed.into_iter().for_each(|node| cluster.restart(node));
    let time = cluster.wait(SUSPICION, |cluster| cluster.leader().is_some());
    assert!(time < 10 * MS, "{time:?}");
    cluster.run(10 * MS);
    assert!((0..3).all(|id| cluster.node(id).service.0 >= state.0));
    submit_batches(&mut cluster, 2, 100);
    assert!((0..3).all(|id| cluster.node(id).service == cluster.node(0).service));
}

#[test]
fn snapshots_are_taken_by_bytes_and_a_tail_is_kept() {
    let mut cluster = Cluster::led(3, 0, |options| (options.span, options.snapshot_bytes) = (64, 200_000));
    submit_batches(&mut cluster, 0, 500);
    for id in 0..3 {
        let view = cluster.replica(id).view();
        let taken = cluster.replica(id).counters().snapshots_taken;
        assert!((25..40).contains(&taken), "every 200,000 bytes: {taken}");
        assert!(
            view.low <= view.snapshot_at && view.executed - view.low >= 16,
            "a quarter of the span stays: {view:?}"
        );
    }
}

#[test]
fn small_batches_are_forgotten_when_the_span_fills() {
    for span in [16, 20, 64] {
        let mut cluster = Cluster::led(3, 0, |options| options.span = 16);
        for node in cluster.nodes.iter_mut().flatten() {
            let mut options = node.replica.options().clone();
            options.span = span;
            node.replica = Replica::new(options, cluster.now, 3).unwrap();
        }
        for id in 0..3 {
            (0..3).filter(|other| *other != id).for_each(|other| cluster.input(id, Input::Connected(other as u64)));
        }
        cluster.wait(SUSPICION, |cluster| cluster.leader().is_some());
        for sequence in 0..1000 {
            cluster.submit(0, chunk(0, 1, sequence..sequence + 1));
            cluster.run(MS / 4);
            let view = cluster.replica(1).view();
            let kept = cluster.replica(1).config.span;
            assert!(view.executed - view.low <= kept, "{view:?}");
        }
        cluster.run(100 * MS);
        assert_eq!(cluster.requests(2).len(), 1000);
        let taken = cluster.replica(0).counters().snapshots_taken;
        assert!(taken > 0 && taken <= 1000 / (span / 4), "span {span}: {taken}");
    }
}

/// Requests that are longer than a batch travel alone; whatever their length, what is kept fits a promise.
#[test]
fn long_requests_are_forgotten_when_their_bytes_fill_what_may_be_kept() {
    let mut cluster =
        Cluster::led(3, 0, |options| (options.snapshot_bytes, options.pending_bytes) = (1 << 40, 16 << 20));
    let body = vec![1; 1 << 20];
    let (mut sequence, mut most) = (0..150, 0);
    while !sequence.is_empty() {
        while cluster.replica(0).room() > 0 {
            let Some(sequence) = sequence.next() else { break };
            let mut chunk = Chunk::new();
            chunk.push(Request { origin: 0, session: 1, sequence, nonce: Some(7), body: &body }).unwrap();
            cluster.submit(0, chunk);
        }
        cluster.run(MS);
        let view = cluster.replica(0).view();
        assert!(view.next - view.executed <= 13, "12 MiB are open: {view:?}");
        most = most.max(view.next - view.low);
    }
    cluster.run(100 * MS);
    assert!((0..3).all(|id| cluster.node(id).service == cluster.node(0).service && cluster.node(id).service.0 == 150));
    assert!((20..=50).contains(&most), "{most} MiB");
    let view = cluster.replica(1).view();
    assert!(view.executed - view.low >= 12, "a tail is kept: {view:?}");
    assert!(cluster.replica(1).counters().snapshots_taken >= 3);
}

#[test]
fn the_journal_is_written_anew_when_it_is_several_times_what_must_be_kept() {
    let mut cluster = Cluster::led(3, 0, |options| {
        options.durability = Durability::Fsync;
        (options.span, options.snapshot_bytes) = (64, 4 << 20);
        options.batch_bytes = 100_000;
    });
    for batch in 0..1_000 {
        let mut chunk = Chunk::new();
        chunk.push(Request { origin: 0, session: 1, sequence: batch, nonce: Some(7), body: &[0; 100_000] }).unwrap();
        cluster.submit(0, chunk);
        cluster.run(MS);
    }
    cluster.run(20 * MS);
    let node = cluster.node(1);
    assert!((2..5).contains(&node.compactions), "100 MB in parts of 32: {}", node.compactions);
    let bytes: usize =
        node.journal.iter().map(|record| if let Record::Vote(_, _, value) = record { value.len() } else { 0 }).sum();
    assert!(bytes < 48 << 20, "{bytes} bytes");
    let state = node.service;
    let killed = cluster.kill(1);
    cluster.restart(killed);
    cluster.run(50 * MS);
    assert_eq!(cluster.node(1).service, state);
}
