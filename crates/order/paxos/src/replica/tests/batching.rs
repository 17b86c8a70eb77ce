//! Batching of requests, and their way to the leader.

use super::*;
use crate::replica::batcher::Batcher;

/// Requests of each batch that a node has delivered.
fn sizes(cluster: &Cluster, id: usize) -> Vec<usize> {
    cluster.node(id).delivered.iter().map(|(_, value)| read(value).len()).collect()
}

#[test]
fn requests_of_every_replica_are_delivered_everywhere_in_the_order_of_their_origin() {
    let mut cluster = Cluster::led(3, 1, |_| {});
    for round in 0..50 {
        for id in 0..4 {
            cluster.submit(id, chunk(id as u64, 1, round * 7..round * 7 + 7));
        }
        cluster.run(MS);
    }
    cluster.run(100 * MS);
    for id in 0..4 {
        let requests = cluster.requests(id);
        assert_eq!(requests, cluster.requests(0));
        for origin in 0..4 {
            let own: Vec<_> = requests.iter().filter(|request| request.0 == origin).map(|request| request.1).collect();
            assert_eq!(own, (0..350).collect::<Vec<_>>(), "in order, each once");
        }
    }
}

#[test]
fn a_batch_holds_three_hundred_requests_of_forty_bytes_and_full_ones_go_at_once() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.submit(0, chunk(0, 1, 0..1));
    cluster.run(20 * MS);
    cluster.submit(0, chunk(0, 1, 1..1001));
    let proposed = cluster.replica(0).view().next;
    assert_eq!(proposed, 1 + 3, "three are full, the last one waits");
    cluster.run(20 * MS);
    assert_eq!(sizes(&cluster, 2), [1, 300, 300, 300, 100]);
    assert_eq!(cluster.replica(0).counters().requests_proposed, 1001);
}

#[test]
fn a_lone_request_goes_at_once() {
    let mut cluster = Cluster::led(3, 0, |options| options.batch_delay = Duration::from_secs(1));
    for sequence in 0..5 {
        cluster.submit(0, chunk(0, 1, sequence..sequence + 1));
        cluster.run(2 * MS);
        assert_eq!(cluster.requests(0).len() as u64, sequence + 1);
    }
}

/// An instance takes 1 ms here (0.5 ms each way), once it is measured.
#[test]
fn while_an_instance_is_open_requests_wait_half_its_time_or_the_delay() {
    for (delay, wait) in [(Duration::from_secs(1), MS / 2), (MS / 5, MS / 5), (Duration::ZERO, Duration::ZERO)] {
        let mut cluster = Cluster::led(3, 0, |_| {});
        for node in cluster.nodes.iter_mut().flatten() {
            let mut options = node.replica.options().clone();
            options.batch_delay = delay;
            node.replica.batcher = Batcher::new(&options);
        }
        cluster.submit(0, chunk(0, 1, 0..1));
        cluster.run(10 * MS);
        cluster.submit(0, chunk(0, 1, 1..2));
        cluster.submit(0, chunk(0, 1, 2..3));
        cluster.run(MS / 10);
        cluster.submit(0, chunk(0, 1, 3..4));
        let proposed = |cluster: &Cluster| cluster.replica(0).view().next;
        let before = proposed(&cluster);
        let waited = cluster.wait(10 * MS, |cluster| cluster.replica(0).batcher.own_bytes() == 0);
        assert_eq!(waited, wait.saturating_sub(MS / 10), "delay {delay:?}, {before} proposed");
        cluster.run(10 * MS);
        assert_eq!(cluster.requests(0), [(0, 0), (0, 1), (0, 2), (0, 3)]);
    }
}

#[test]
fn beyond_the_window_requests_wait_and_the_room_shrinks_to_nothing() {
    let mut cluster = Cluster::led(3, 0, |options| (options.window, options.pending_bytes) = (4, 100_000));
    cluster.cut.extend([(0, 1), (0, 2)]);
    let mut submitted = 0;
    while cluster.replica(0).room() > 0 {
        cluster.submit(0, chunk(0, 1, submitted..submitted + 100));
        submitted += 100;
        assert!(submitted < 10_000, "there is a limit");
    }
    assert_eq!(cluster.replica(0).view().next, 4, "the window");
    let waiting = cluster.replica(0).batcher.own_bytes();
    assert!((100_000..105_000).contains(&waiting), "at most one submission more than the limit: {waiting}");
    cluster.cut.clear();
    cluster.run(SUSPICION);
    assert_eq!(cluster.requests(1).len() as u64, submitted);
    assert_eq!(cluster.replica(0).room(), 100_000);
}

#[test]
fn a_service_that_stops_is_not_fed_for_ever() {
    let mut cluster = Cluster::led(3, 0, |options| options.undone_batches = 3);
    cluster.node_mut(0).service_stopped = true;
    for sequence in 0..100 {
        cluster.submit(0, chunk(0, 1, sequence..sequence + 1));
        cluster.run(3 * MS);
    }
    assert_eq!(cluster.node(0).delivered.len(), 3);
    assert!(cluster.replica(0).view().next <= 3 + 16, "the window counts from what is delivered");
    cluster.node_mut(0).service_stopped = false;
    let done = cluster.node(0).delivered.len() as u64;
    cluster.input(0, Input::Executed(done));
    cluster.run(SUSPICION);
    assert_eq!(cluster.requests(1).len(), 100);
}

#[test]
fn long_batches_that_the_service_has_not_taken_are_bounded_in_bytes() {
    let mut cluster = Cluster::led(3, 0, |options| options.undone_bytes = 100);
    cluster.node_mut(0).service_stopped = true;
    for sequence in 0..100 {
        cluster.submit(0, chunk(0, 1, sequence..sequence + 1));
        cluster.run(3 * MS);
    }
    let lengths =
        |cluster: &Cluster| cluster.node(0).delivered.iter().map(|(_, value)| value.len()).collect::<Vec<_>>();
    let [.., last] = lengths(&cluster)[..] else { panic!("nothing was delivered") };
    let bytes: usize = lengths(&cluster).iter().sum();
    assert!((100..100 + last).contains(&bytes), "no more once the limit is reached: {bytes}");
    cluster.node_mut(0).service_stopped = false;
    let done = cluster.node(0).delivered.len() as u64;
    cluster.input(0, Input::Executed(done));
    cluster.run(SUSPICION);
    assert_eq!(cluster.requests(1).len(), 100);
}

#[test]
fn batches_are_bounded_in_bytes_and_a_long_request_travels_alone() {
    let mut batcher = Batcher::new(&Options::new(3, 0));
    let (bodies, value) = (12_000, Options::new(3, 0).max_value_bytes());
    let lengths = [0, 12_001, 1, 5_000, 7_000, 1, 20_000, 12_000, 0, 3];
    let mut chunk = Chunk::new();
    let mut sequence = 0..;
    let mut push = |length: usize, chunk: &mut Chunk| {
        let body = vec![1; length];
        chunk
            .push(Request {
                origin: 0,
                session: u64::MAX,
                sequence: sequence.next().unwrap(),
                nonce: Some(7),
                body: &body,
            })
            .unwrap();
    };
    (0..5_000).for_each(|_| push(0, &mut chunk));
    lengths.iter().for_each(|length| push(*length, &mut chunk));
    batcher.push(&chunk, true, Moment(0));
    let mut taken = Vec::new();
    while let Some(batch) = batcher.take() {
        let chunk = batch.into_chunk();
        assert!(chunk.requests() == 1 || chunk.body_bytes() <= bodies, "{} bytes of bodies", chunk.body_bytes());
        assert!(chunk.requests() == 1 || chunk.bytes().len() <= value, "{} bytes", chunk.bytes().len());
        taken.extend(chunk.iter().map(|request| request.sequence));
    }
    assert_eq!(taken, (0..5_010).collect::<Vec<_>>());
    assert_eq!(batcher.own_bytes(), 0);
}

#[test]
fn what_is_put_back_comes_first_again() {
    let mut batcher = Batcher::new(&Options::new(3, 0));
    batcher.push(&chunk(0, 1, 0..400), true, Moment(0));
    batcher.push(&chunk(1, 1, 0..400), false, Moment(0));
    let (own, foreign) = (batcher.own_bytes(), batcher.foreign_bytes());
    let first = batcher.take().unwrap().into_chunk();
    let second = batcher.take().unwrap().into_chunk();
    batcher.put_back(second.clone(), Moment(1));
    batcher.put_back(first.clone(), Moment(1));
    assert_eq!((batcher.own_bytes(), batcher.foreign_bytes()), (own, foreign));
    assert_eq!(batcher.take().unwrap().into_chunk(), first);
    assert_eq!(batcher.take().unwrap().into_chunk(), second);
    assert_eq!(batcher.take().unwrap().into_chunk().requests(), 200);
    assert!(batcher.take().is_none());
    assert_eq!((batcher.own_bytes(), batcher.foreign_bytes()), (0, 0));
}

#[test]
fn who_leads_no_more_keeps_its_own_requests_only() {
    let mut batcher = Batcher::new(&Options::new(3, 0));
    for round in 0..3 {
        batcher.push(&chunk(0, 1, round * 200..round * 200 + 200), true, Moment(round));
        batcher.push(&chunk(1, 1, round * 200..round * 200 + 200), false, Moment(round));
    }
    batcher.drop_foreign();
    assert_eq!(batcher.foreign_bytes(), 0);
    let mut own = Vec::new();
    while let Some(batch) = batcher.take() {
        own.extend(batch.into_chunk().iter().map(|request| (request.origin, request.sequence)));
    }
    assert_eq!(own, (0..600).map(|sequence| (0, sequence)).collect::<Vec<_>>());
}

#[test]
fn without_a_leader_requests_wait_and_go_when_there_is_one() {
    let mut cluster = Cluster::led(3, 0, |options| options.pending_bytes = 50_000);
    cluster.kill(0);
    cluster.kill(2);
    cluster.run(2 * SUSPICION);
    let since = cluster.now;
    let mut submitted = 0;
    while cluster.replica(1).room() > 0 {
        cluster.submit(1, chunk(1, 1, submitted..submitted + 100));
        submitted += 100;
    }
    cluster.run(SUSPICION);
    assert!(cluster.sent(1, since).all(|(_, message)| !matches!(message, Message::Forward(_))));
    let mut effects = Vec::new();
    let leading = PeerMessage::Core(Message::Alive(5, 0));
    cluster.node_mut(1).replica.handle(since + SUSPICION, Input::Peer { from: 2, message: leading }, &mut effects);
    let forwarded = |effects: &[Effect]| {
        let values = effects.iter().filter_map(|effect| match effect {
            Effect::Send(2, PeerMessage::Core(Message::Forward(value))) => Some(read(value).len()),
            _ => None,
        });
        values.sum::<usize>()
    };
    assert_eq!(forwarded(&effects), 0, "known, but not connected");
    cluster.node_mut(1).replica.handle(since + SUSPICION, Input::Connected(2), &mut effects);
    assert_eq!(forwarded(&effects) as u64, submitted);
}

#[test]
fn a_follower_forwards_full_batches_and_not_more_than_the_leader_can_take() {
    let mut cluster = Cluster::led(3, 0, |options| options.window = 4);
    let since = cluster.now;
    cluster.cut.extend([(0, 1)]);
    cluster.submit(1, chunk(1, 1, 0..10_000));
    cluster.run(50 * MS);
    let forwards: Vec<_> = cluster
        .sent(1, since)
        .filter_map(|(to, message)| match message {
            Message::Forward(value) => Some((to, read(value).len())),
            _ => None,
        })
        .collect();
    assert!(forwards.iter().all(|forward| *forward == (0, 300)), "{forwards:?}");
    assert_eq!(forwards.len(), 7, "twice the window, by the bytes of their encoding");
    cluster.cut.clear();
    cluster.run(10 * SUSPICION);
    assert_eq!(cluster.requests(2).len(), 10_000);
}

#[test]
fn forwards_that_are_no_batch_of_the_sender_are_dropped() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    let good = chunk(1, 1, 0..2).into_value();
    let strange =
        [Value::from_static(b"\xff\xff"), good.slice(1..), chunk(2, 1, 0..2).into_value(), Value::new(), good];
    for value in strange {
        let message = PeerMessage::Core(Message::Forward(value));
        cluster.input(0, Input::Peer { from: 1, message: message.clone() });
        cluster.input(2, Input::Peer { from: 1, message });
    }
    cluster.run(10 * MS);
    assert_eq!(cluster.requests(1), [(1, 0), (1, 1)], "the last one, taken by the leader");
}

#[test]
fn clients_are_told_when_a_forward_is_lost() {
    let leaders = |cluster: &Cluster| cluster.node(1).leaders.clone();
    // Overtaken by the next one.
    let mut cluster = Cluster::led(3, 0, |_| {});
    let mut first = true;
    cluster.loses = Box::new(move |_, _, message| {
        matches!(message, PeerMessage::Core(Message::Forward(_))) && std::mem::take(&mut first)
    });
    cluster.submit(1, chunk(1, 1, 0..301));
    cluster.submit(1, chunk(1, 2, 0..301));
    let time = cluster.wait(SUSPICION, |cluster| leaders(cluster) == [Some(0), Some(0)]);
    assert!(time < 10 * MS, "{time:?}");
    // Alone: after twice the timeout, then ever later.
    let mut cluster = Cluster::led(3, 0, |_| {});
    cluster.loses = Box::new(|_, _, message| matches!(message, PeerMessage::Core(Message::Forward(_))));
    cluster.submit(1, chunk(1, 1, 0..1));
    cluster.wait(SUSPICION * 2, |cluster| leaders(cluster) == [Some(0), Some(0)]);
    cluster.submit(1, chunk(1, 1, 0..1));
    let time = cluster.wait(SUSPICION * 10, |cluster| leaders(cluster).len() == 3);
    assert_eq!(time, SUSPICION * 4);
    // The connection to the leader was made again.
    cluster.input(1, Input::Disconnected(0));
    cluster.input(1, Input::Connected(0));
    assert_eq!(leaders(&cluster), [Some(0); 4]);
    cluster.run(SUSPICION * 20);
    assert_eq!(leaders(&cluster), [Some(0); 4], "nothing is under way");
}
