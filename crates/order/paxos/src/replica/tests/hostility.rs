//! Whatever peers say, a replica neither panics nor spins, and equal inputs have equal effects.

use super::*;
use crate::core::generated::{Decision, Vote};
use proptest::collection::vec;
use proptest::prelude::*;

/// Small numbers, and the greatest that the codec lets through.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..40u64, 1 => 0..5_000u64, 1 => (1u64 << 62) - 70..1 << 62]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::new()),
        Just(Value::from_static(b"no batch")),
        (0..4u64, 0..9u64).prop_map(|(origin, sequence)| chunk(origin, 1, sequence..sequence + 3).into_value()),
    ]
}

fn message() -> impl Strategy<Value = PeerMessage> {
    let vote = (number(), number(), value()).prop_map(|(instance, ballot, value)| Vote { instance, ballot, value });
    let decision = (number(), value()).prop_map(|(instance, value)| Decision { instance, value });
    let image = Image::from([1; 8].as_slice());
    let core = prop_oneof![
        (number(), number()).prop_map(|(b, i)| Message::Prepare(b, i)),
        (number(), number(), vec(vote, 0..4)).prop_map(|(b, i, votes)| Message::Promise(b, i, votes)),
        (number(), number(), value()).prop_map(|(b, i, v)| Message::Propose(b, i, v)),
        (number(), number()).prop_map(|(b, i)| Message::Accept(b, i)),
        (number(), number()).prop_map(|(b, i)| Message::Commit(b, i)),
        number().prop_map(Message::Reject),
        (number(), number()).prop_map(|(b, i)| Message::Alive(b, i)),
        (number(), number()).prop_map(|(lo, hi)| Message::Query(lo, hi)),
        vec(decision, 0..4).prop_map(Message::Learned),
        number().prop_map(move |i| Message::Snapshot(i, image.clone())),
        number().prop_map(Message::Truncated),
        value().prop_map(Message::Forward),
    ];
    prop_oneof![
        8 => core.prop_map(PeerMessage::Core),
        1 => number().prop_map(PeerMessage::Suspicion),
        1 => number().prop_map(PeerMessage::Durable),
        1 => number().prop_map(|at| PeerMessage::Piece { at, offset: 0, total: 9, bytes: Value::new() }),
    ]
}

fn peer() -> impl Strategy<Value = ReplicaId> {
    prop_oneof![8 => 0..5u64, 1 => 60..70u64, 1 => any::<u64>()]
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        12 => (peer(), message()).prop_map(|(from, message)| Input::Peer { from, message }),
        1 => peer().prop_map(Input::Connected),
        1 => peer().prop_map(Input::Disconnected),
        1 => (0..20u64).prop_map(|n| Input::Submit(chunk(0, 1, n..n + n))),
        1 => (0..200u64).prop_map(Input::Durable),
        1 => (0..200u64).prop_map(Input::Executed),
        1 => number().prop_map(Input::ConsumerHas),
        1 => number().prop_map(|at| Input::Taken(at, Image::from([1; 8].as_slice()))),
        4 => Just(Input::Tick),
    ]
}

/// Everything that a replica does upon inputs at moments, as text; it must not want to be called again and again at one moment.
fn effects(id: ReplicaId, inputs: Vec<(u64, Input)>) -> Result<String, TestCaseError> {
    let mut options = Options::new(3, id);
    (options.span, options.durability, options.suspicion) = (32, Durability::Fsync, 100 * MS);
    let mut replica: Replica = Replica::new(options, Moment(0), 7).unwrap();
    let (mut now, mut effects) = (Moment(0), Vec::new());
    for (micros, input) in inputs {
        now = now + Duration::from_micros(micros);
        replica.handle(now, input, &mut effects);
        let mut ticks = 0;
        while replica.deadline() <= now {
            replica.handle(now, Input::Tick, &mut effects);
            ticks += 1;
            prop_assert!(ticks < 8, "it spins: {replica:?}");
        }
    }
    let to_itself = |effect: &Effect| matches!(effect, Effect::Send(to, _) if *to == id || *to >= 64);
    prop_assert!(!effects.iter().any(to_itself));
    Ok(format!("{effects:?}"))
}

proptest! {
    #[test]
    fn no_peer_can_make_a_replica_panic_or_spin(
        id in prop_oneof![Just(0u64), Just(1), Just(3)],
        inputs in vec((0..30_000u64, input()), 0..150),
    ) {
        prop_assert_eq!(effects(id, inputs.clone())?, effects(id, inputs)?);
    }
}

#[test]
fn strangers_and_oneself_are_not_listened_to() {
    let mut cluster = Cluster::led(3, 0, |_| {});
    for from in [1, 64, u64::MAX] {
        let message = PeerMessage::Core(Message::Prepare(1000, 0));
        cluster.input(1, Input::Peer { from, message });
        cluster.input(1, Input::Connected(from));
        cluster.input(1, Input::Disconnected(from));
    }
    assert!(cluster.replica(1).view().promised < 1000);
    assert_eq!(cluster.leader(), Some(0));
}

#[test]
fn equal_clusters_do_the_same() {
    let run = || {
        let mut cluster = Cluster::led(5, 1, |options| options.span = 64);
        let mut randomness = env::Randomness::from_seed(4);
        cluster.loses = Box::new(move |_, _, _| randomness.chance(1, 5));
        for round in 0..100 {
            cluster.submit(round as usize % 6, chunk(round % 6, 1, round..round + 5));
            cluster.run(7 * MS);
        }
        let sent: Vec<_> = (0..6).map(|id| format!("{:?}", cluster.node(id).sent)).collect();
        sent
    };
    assert_eq!(run(), run());
}

/// A peer with the key says the greatest ballot in every way there is. Whoever believed it would take no other ever again.
#[test]
fn a_ballot_far_above_all_others_is_passed_over_and_elections_go_on() {
    let mut replica: Replica = Replica::new(Options::new(3, 0), Moment(0), 1).unwrap();
    let mut effects = Vec::new();
    let mut say = |replica: &mut Replica, now: Moment, message| {
        replica.handle(now, Input::Peer { from: 1, message: PeerMessage::Core(message) }, &mut effects);
    };
    let last = (1 << 62) - 1;
    for message in [
        Message::Prepare(last, 0),
        Message::Promise(last, 0, Vec::new()),
        Message::Propose(last, 0, Value::new()),
        Message::Accept(last, 0),
        Message::Commit(last, 0),
        Message::Reject(last),
        Message::Alive(last, 0),
    ] {
        say(&mut replica, Moment(1), message);
    }
    assert_eq!((replica.view().promised, replica.counters().jumps_refused), (0, 7));
    // Who was away for long is back at once, and the next one so far ahead has to wait for a second.
    let (first, second) = (1 << 31, 1 << 32);
    say(&mut replica, Moment(2), Message::Prepare(first, 0));
    assert_eq!(replica.view().promised, first);
    say(&mut replica, Moment(3), Message::Prepare(second, 0));
    assert_eq!(replica.view().promised, first);
    say(&mut replica, Moment(2) + Duration::from_secs(1), Message::Prepare(second, 0));
    assert_eq!(replica.view().promised, second);
    say(&mut replica, Moment(3) + Duration::from_secs(1), Message::Prepare(second + 3, 0));
    assert_eq!(replica.view().promised, second + 3, "an election");
}
