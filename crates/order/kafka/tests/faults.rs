//! Faults of Kafka's brokers, of the connections to them, and of who else uses the topic.

mod common;

use common::Kafka;
use env::Randomness;
use env::time::Duration;
use futures_executor::block_on;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use rdkafka::{Offset, TopicPartitionList};
use seriatim_kafka::{KafkaError, KafkaOptions, KafkaOrder};
use total::suite::faults::under_faults;
use total::suite::histories::{all_nodes, assert_agreement, end_of, propose_each};
use total::suite::{Cluster, Faults, Partitions, Taken, payload, propose, take};
use total::{OrderError, OrderLimits, Position, TotalOrder};

const PATIENCE: Duration = Kafka::PATIENCE;

fn started() -> Option<Kafka> {
    Kafka::can_start().then(|| Kafka::start(OrderLimits::default()))
}

fn none_taken() -> Vec<Taken> {
    all_nodes().iter().map(|_| Taken::default()).collect()
}

/// The broker that leads does not run for a while: another one leads, and what it was about to do is done once.
#[test]
fn a_leader_that_is_paused_is_replaced() {
    let Some(cluster) = started() else { return };
    let mut taken = none_taken();
    propose_each(&cluster, 0..100);
    assert_agreement(&cluster, &mut taken, 100);
    let paused = cluster.leader();
    cluster.pause(paused);
    propose_each(&cluster, 100..200);
    assert_agreement(&cluster, &mut taken, 200);
    cluster.go_on(paused);
    propose_each(&cluster, 200..300);
    assert_agreement(&cluster, &mut taken, 300);
}

/// All brokers are killed at once, and come back: nothing that was delivered is lost, and nothing comes twice.
#[test]
fn brokers_that_are_killed_together_come_back() {
    let Some(mut cluster) = started() else { return };
    let mut taken = none_taken();
    propose_each(&cluster, 0..300);
    taken[0].until::<Kafka>(cluster.node(0), &[0], 300);
    propose_each(&cluster, 300..400);
    all_nodes().into_iter().for_each(|at| cluster.kill(at));
    assert_eq!(cluster.node(1).barrier(Duration::ZERO), Err(OrderError::TimedOut));
    propose_each(&cluster, 400..500);
    all_nodes().into_iter().for_each(|at| cluster.start_again(at));
    assert_agreement(&cluster, &mut taken, 500);
}

/// One broker of three has what two have acknowledged: alone it acknowledges nothing.
#[test]
fn a_minority_acknowledges_nothing() {
    let Some(mut cluster) = started() else { return };
    let mut taken = none_taken();
    propose_each(&cluster, 0..10);
    assert_agreement(&cluster, &mut taken, 10);
    let leader = cluster.leader();
    let others: Vec<u64> = all_nodes().into_iter().filter(|at| *at != leader).collect();
    others.iter().for_each(|at| cluster.kill(*at));
    let order = cluster.node(leader);
    propose::<Kafka>(order, payload(leader, 10));
    // Long enough for an answer, which does not come.
    assert_eq!(order.barrier(Duration::from_secs(2)), Err(OrderError::TimedOut));
    assert_eq!(order.deliver(&mut Vec::new(), 1, Duration::ZERO), Err(OrderError::TimedOut));
    assert!(order.problem().is_some() || order.barrier(Duration::ZERO).is_err());
    others.iter().for_each(|at| cluster.start_again(*at));
    for node in all_nodes() {
        taken[node as usize].until::<Kafka>(cluster.node(node), &[leader], 11);
        taken[node as usize].assert_payloads(leader, 0..11);
    }
}

/// Answers of Kafka are lost: what was carried out counts once.
#[test]
fn a_batch_whose_answer_is_lost_is_ordered_once() {
    if !Kafka::can_start() {
        return;
    }
    let cluster = Kafka::start(OrderLimits { retry: Duration::from_millis(500), ..OrderLimits::default() });
    let mut taken = none_taken();
    for round in 0..5 {
        let from = round * 20;
        propose_each(&cluster, from..from + 10);
        cluster.lose_answers(0);
        propose_each(&cluster, from + 10..from + 20);
        // What node 0 has sent is carried out, and seen by others; it has no answers.
        taken[1].until::<Kafka>(cluster.node(1), &[1, 2], from + 20);
        cluster.cut_off(0);
        cluster.connect(0);
    }
    assert_agreement(&cluster, &mut taken, 100);
}

/// Two processes with the number of one node: what the first one sends after the second has begun counts nowhere.
#[test]
fn a_later_life_stops_an_earlier_one() {
    let Some(cluster) = started() else { return };
    let first = cluster.node(1);
    propose::<Kafka>(first, payload(1, 0));
    take::<Kafka>(first, &[1], 1);
    // It is cut off, and sends what it is given only when the second has begun, by another way.
    cluster.cut_off(1);
    propose::<Kafka>(first, payload(1, 7));
    let way = KafkaOptions { node: 1, ..cluster.options(2) };
    let second = KafkaOrder::start(way, cluster.limits, None).unwrap();
    propose::<Kafka>(&second, payload(1, 1));
    take::<Kafka>(&second, &[1], 2).assert_payloads(1, 0..2);
    cluster.connect(1);
    assert!(end_of::<Kafka>(first).contains("another life of this node has begun"));
    assert!(matches!(first.propose(payload(1, 8)), Err(OrderError::Stopped(_))));
    assert!(matches!(first.barrier(PATIENCE), Err(OrderError::Stopped(_))));
    propose::<Kafka>(&second, payload(1, 2));
    take::<Kafka>(cluster.node(2), &[1], 3).assert_payloads(1, 0..3);
}

fn administer(cluster: &Kafka) -> AdminClient<DefaultClientContext> {
    cluster.client().create().unwrap()
}

/// Somebody else deletes the log's begin: who has read it goes on, and who begins later is told what is wrong.
#[test]
fn a_log_that_others_have_cut_is_noticed() {
    let Some(mut cluster) = started() else { return };
    propose::<Kafka>(cluster.node(0), payload(0, 0));
    let last = take::<Kafka>(cluster.node(0), &[0], 1).all[0].position;
    let mut place = TopicPartitionList::new();
    let topic = cluster.topic.clone();
    place.add_partition_offset(&topic, 0, Offset::Offset(last.instance as i64 + 1)).unwrap();
    let options = AdminOptions::new().request_timeout(Some(PATIENCE));
    let done = block_on(administer(&cluster).delete_records(&place, &options)).unwrap();
    assert!(done.elements().iter().all(|partition| partition.error().is_ok()));
    propose::<Kafka>(cluster.node(0), payload(0, 1));
    take::<Kafka>(cluster.node(0), &[0], 1);
    cluster.stop_node(2);
    let error = cluster.try_node(2, Some(last)).unwrap_err();
    assert!(matches!(&error, KafkaError::Refused(why) if why.contains("no node of the order has done it")), "{error}");
}

/// What somebody else has written ends the order with the reason.
#[test]
fn records_of_others_are_noticed() {
    let Some(cluster) = started() else { return };
    propose::<Kafka>(cluster.node(0), payload(0, 0));
    take::<Kafka>(cluster.node(0), &[0], 1);
    let other: ThreadedProducer<_> = cluster.client().create().unwrap();
    assert!(other.send(BaseRecord::<(), str>::to(&cluster.topic).partition(0).payload("hello")).is_ok());
    other.flush(PATIENCE).unwrap();
    for node in all_nodes() {
        assert!(end_of::<Kafka>(cluster.node(node)).contains("another program has written to the topic"));
    }
}

/// A position of another order's, or of a Kafka that was restored from a backup, is not taken for one of this order.
#[test]
fn a_position_in_the_future_is_refused() {
    let Some(mut cluster) = started() else { return };
    cluster.stop_node(2);
    cluster.start_node(2, Some(Position { instance: 1 << 40, index: 0 }));
    assert!(end_of::<Kafka>(cluster.node(2)).contains("restored from a backup"));
}

/// A topic that is deleted, and made anew by a node that starts, is another order: no node goes on as if nothing had happened.
#[test]
fn a_topic_that_is_made_anew_is_noticed() {
    let Some(mut cluster) = started() else { return };
    for number in 0..20 {
        propose::<Kafka>(cluster.node(0), payload(0, number));
        all_nodes().into_iter().for_each(|node| drop(take::<Kafka>(cluster.node(node), &[0], 1)));
    }
    cluster.stop_node(2);
    let options = AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE));
    let deleted = block_on(administer(&cluster).delete_topics(&[&cluster.topic], &options)).unwrap();
    assert!(deleted.iter().all(Result::is_ok), "{deleted:?}");
    cluster.start_node(2, None);
    for node in [0, 1] {
        let why = end_of::<Kafka>(cluster.node(node));
        assert!(why.contains("begin a new order with another topic"), "{why}");
    }
}

/// A topic that would lose what was acknowledged, or has several orders, is refused with what to do.
#[test]
fn a_topic_that_does_not_serve_is_refused() {
    if !Kafka::can_start() {
        return;
    }
    let cluster = Kafka::without_nodes(OrderLimits::default());
    let right = |topic: &str| KafkaOptions { topic: topic.to_owned(), ..cluster.options(0) };
    // It waits for the brokers.
    drop(KafkaOrder::start(right(&cluster.topic), cluster.limits, None).unwrap());
    let settings = [
        ("min.insync.replicas", "2"),
        ("retention.ms", "-1"),
        ("unclean.leader.election.enable", "false"),
        ("max.message.bytes", "2097152"),
    ];
    let make = |name: &str, partitions, copies, wrong: (&str, &str)| {
        let topic = NewTopic::new(name, partitions, TopicReplication::Fixed(copies));
        let topic = settings
            .iter()
            .fold(topic, |topic, (name, value)| topic.set(name, if *name == wrong.0 { wrong.1 } else { value }));
        let options = AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE));
        let made = block_on(administer(&cluster).create_topics([&topic], &options)).unwrap();
        assert!(made.iter().all(Result::is_ok), "{made:?}");
    };
    for (number, (partitions, copies, wrong, reason)) in [
        (1, 3, ("min.insync.replicas", "1"), "--add-config min.insync.replicas=2"),
        (1, 3, ("retention.ms", "1000000"), "--add-config retention.ms=-1"),
        (1, 3, ("unclean.leader.election.enable", "true"), "--add-config unclean.leader.election.enable=false"),
        (1, 3, ("max.message.bytes", "1048588"), "--add-config max.message.bytes=2097152"),
        (2, 3, ("", ""), "has 2 partitions"),
        (1, 2, ("", ""), "has 2 copies, and 3 are asked for"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{}-{number}", cluster.topic);
        make(&name, partitions, copies, wrong);
        let error = KafkaOrder::start(right(&name), cluster.limits, None).unwrap_err();
        assert!(matches!(&error, KafkaError::Refused(why) if why.contains(reason)), "{error}");
    }
}

/// Brokers are paused, killed and started again, connections are cut and lose answers, nodes start again: in any order, under load.
#[test]
fn whatever_happens_all_lives_are_delivered_one_order() {
    if !Kafka::can_start() {
        return;
    }
    let seed =
        std::env::var("SEED").map_or_else(|_| Randomness::from_entropy().next_u64(), |seed| seed.parse().unwrap());
    testing::say(&format!("the faults of Kafka: SEED={seed}"));
    let count = under_faults::<Kafka>(seed, 8);
    assert!(count > 1_000, "{count} deliveries");
}
