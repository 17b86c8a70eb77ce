use super::*;

const FOREVER: u64 = u64::MAX;

fn datagrams() -> NetworkOptions {
    NetworkOptions { in_order: false, ..NetworkOptions::default() }
}

/// Sends the numbers below `count`, a microsecond apart, and returns those that arrive, in their order.
fn numbers(network: &mut SimNetwork, count: u32) -> Vec<u32> {
    (0..count).for_each(|number| network.send(u64::from(number) * 1_000, 0, 1, number.to_be_bytes()));
    received(network)
}

fn received(network: &mut SimNetwork) -> Vec<u32> {
    let packets = std::iter::from_fn(|| network.deliver(FOREVER));
    packets.map(|packet| u32::from_be_bytes((*packet.bytes).try_into().expect("a number"))).collect()
}

fn is_rising(numbers: &[u32]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

#[test]
fn a_healthy_network_delivers_everything_once_in_order_and_within_its_delays() {
    let mut network = SimNetwork::new(1, 2, NetworkOptions::default());
    network.send(1_000, 0, 1, *b"x");
    assert_eq!(network.deliver(50_999), None, "no packet is faster than the least delay");
    let arrival = network.next_at().expect("it is on its way");
    assert!((51_000..=201_000).contains(&arrival));
    let packet = network.deliver(arrival).expect("it has arrived");
    assert_eq!((packet.from, packet.to, packet.sent_at, &*packet.bytes), (0, 1, 1_000, &b"x"[..]));
    assert_eq!(numbers(&mut network, 1_000), (0..1_000).collect::<Vec<_>>());
    assert_eq!(network.in_flight(), 0);
}

#[test]
fn datagrams_overtake_each_other_and_streams_do_not() {
    let mut network = SimNetwork::new(1, 2, datagrams());
    let arrived = numbers(&mut network, 1_000);
    assert!(arrived.len() == 1_000 && !is_rising(&arrived));
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let options = NetworkOptions { loss_ppm: 100_000, duplicate_ppm: 100_000, ..datagrams() };
        numbers(&mut SimNetwork::new(seed, 2, options), 1_000)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn faults_are_as_frequent_as_the_options_say() {
    let delay = Delay { long_ppm: 50_000, longest_ns: 50_000_000, ..NetworkOptions::default().delay };
    let options = NetworkOptions { delay, loss_ppm: 100_000, duplicate_ppm: 200_000, ..datagrams() };
    let mut network = SimNetwork::new(2, 2, options);
    (0..100_000_u32).for_each(|number| network.send(0, 0, 1, number.to_be_bytes()));
    let late = std::iter::from_fn(|| network.deliver(200_000)).count();
    let rest = std::iter::from_fn(|| network.deliver(FOREVER)).count();
    let NetworkCounts { sent, delivered, duplicated, lost, .. } = network.counts();
    assert_eq!((sent, delivered), (100_000, (late + rest) as u64));
    assert!((9_500..10_500).contains(&lost), "{lost}");
    assert!((17_500..18_500).contains(&duplicated), "{duplicated} of the 90,000 that were not lost");
    assert!((4_900..5_900).contains(&rest), "{rest} of 108,000 are late");
}

#[test]
fn a_stream_that_loses_a_packet_loses_what_is_on_its_way_with_it() {
    let mut network = SimNetwork::new(3, 3, NetworkOptions::default());
    network.send(0, 0, 1, 1_u32.to_be_bytes());
    network.send(0, 1, 0, 2_u32.to_be_bytes());
    network.send(0, 2, 1, 3_u32.to_be_bytes());
    network.set_options(NetworkOptions { loss_ppm: 1_000_000, ..NetworkOptions::default() });
    network.send(0, 0, 1, 4_u32.to_be_bytes());
    network.set_options(NetworkOptions::default());
    network.send(0, 0, 1, 5_u32.to_be_bytes());
    let mut arrived = received(&mut network);
    arrived.sort_unstable();
    assert_eq!(arrived, [3, 5], "other connections, and later packets, are untouched");
    assert_eq!((network.counts().broken, network.counts().lost), (1, 3));
    assert_eq!((network.take_broken(), network.take_broken()), (vec![(0, 1)], vec![]));
}

#[test]
fn a_cut_link_carries_nothing_one_way_only() {
    let mut network = SimNetwork::new(4, 2, NetworkOptions::default());
    network.send(0, 0, 1, 1_u32.to_be_bytes());
    network.cut(0, 1);
    network.send(0, 0, 1, 2_u32.to_be_bytes());
    network.send(0, 1, 0, 3_u32.to_be_bytes());
    assert!(network.is_cut(0, 1) && !network.is_cut(1, 0));
    assert_eq!(received(&mut network), [3], "what was on its way is lost too");
    network.mend(0, 1);
    network.send(FOREVER, 0, 1, 4_u32.to_be_bytes());
    assert_eq!(received(&mut network), [4]);
    assert_eq!(network.counts().cut_off, 2);
}

#[test]
fn a_partition_separates_its_sides_until_it_heals() {
    let mut network = SimNetwork::new(4, 5, NetworkOptions::default());
    let all = |network: &mut SimNetwork| {
        for (from, to) in network.pairs() {
            network.send(0, from, to, (from as u32 * 10 + to as u32).to_be_bytes());
        }
        received(network)
    };
    network.partition(&[0, 3]);
    let arrived = all(&mut network);
    assert_eq!(arrived.len(), 2 * 2 + 3 * 3);
    assert!(arrived.iter().all(|pair| [0, 3].contains(&(pair / 10)) == [0, 3].contains(&(pair % 10))));
    network.heal();
    network.isolate(2);
    assert_eq!(all(&mut network).len(), 4 * 4 + 1, "a node always reaches itself");
    network.heal();
    assert_eq!(all(&mut network).len(), 25);
}

#[test]
fn a_node_that_dies_loses_what_it_sent_and_what_it_was_sent() {
    let mut network = SimNetwork::new(4, 3, NetworkOptions::default());
    network.send(0, 0, 1, 1_u32.to_be_bytes());
    network.send(0, 1, 2, 2_u32.to_be_bytes());
    network.send(0, 2, 0, 3_u32.to_be_bytes());
    network.disconnect(1);
    assert_eq!(received(&mut network), [3]);
}

#[test]
fn a_link_with_a_rate_takes_its_time_and_overflows() {
    let options = NetworkOptions {
        delay: Delay::fixed(0),
        bytes_per_second: Some(1_000),
        backlog_ns: 2_000_000_000,
        ..NetworkOptions::default()
    };
    let mut network = SimNetwork::new(4, 2, options);
    (0..5).for_each(|_| network.send(0, 0, 1, vec![0; 1_000]));
    let arrivals: Vec<u64> = std::iter::from_fn(|| {
        let at = network.next_at()?;
        network.deliver(at).map(|_| at)
    })
    .collect();
    assert_eq!(
        arrivals,
        [1_000_000_000, 2_000_000_000, 3_000_000_000],
        "a second each; two would have waited too long"
    );
    assert_eq!(network.counts().overflowed, 2);
}
