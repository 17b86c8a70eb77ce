//! The map against its definition, and its bytes.

use super::*;
use proptest::prelude::*;

fn answer<'a>(map: &mut KeyValue, command: &Command<'_>, reply: &'a mut Vec<u8>) -> Answer<'a> {
    reply.clear();
    map.execute(0, &command.to_bytes(), reply);
    Answer::decode(reply).expect("the service's own answer")
}

/// Carries out commands and compares the answers.
fn check(map: &mut KeyValue, steps: &[(Command<'_>, Answer<'_>)]) {
    let mut reply = Vec::new();
    for (index, (command, expected)) in steps.iter().enumerate() {
        assert_eq!(&answer(map, command, &mut reply), expected, "step {index}: {command:?}");
    }
}

const A: &[u8] = b"a";

#[test]
fn values_are_put_read_and_deleted() {
    check(
        &mut KeyValue::default(),
        &[
            (Command::Get { key: A }, Answer::Value(None)),
            (Command::Put { key: A, value: b"one" }, Answer::Done { existed: false }),
            (Command::Put { key: A, value: b"" }, Answer::Done { existed: true }),
            (Command::Get { key: A }, Answer::Value(Some(b""))),
            (Command::Delete { key: A }, Answer::Done { existed: true }),
            (Command::Delete { key: A }, Answer::Done { existed: false }),
        ],
    );
}

#[test]
fn a_value_is_swapped_only_for_the_expected_one() {
    let swap = |expected, new| Command::CompareAndSet { key: A, expected, new };
    let (one, two): (Option<&[u8]>, Option<&[u8]>) = (Some(b"one"), Some(b"two"));
    check(
        &mut KeyValue::default(),
        &[
            (swap(one, two), Answer::Differs(None)),
            (swap(None, one), Answer::Swapped),
            (swap(None, two), Answer::Differs(one)),
            (swap(one, two), Answer::Swapped),
            (swap(two, None), Answer::Swapped),
            (Command::Get { key: A }, Answer::Value(None)),
        ],
    );
}

#[test]
fn numbers_are_added_to() {
    let add = |delta| Command::Add { key: A, delta };
    let refused = Answer::Refused;
    check(
        &mut KeyValue::default(),
        &[
            (add(5), Answer::Counter(5)),
            (add(-7), Answer::Counter(-2)),
            (Command::Get { key: A }, Answer::Value(Some(b"-2"))),
            (add(i64::MIN), refused(Refusal::Overflow)),
            (add(i64::MAX), Answer::Counter(i64::MAX - 2)),
            (Command::Put { key: A, value: b"x" }, Answer::Done { existed: true }),
            (add(1), refused(Refusal::NotANumber)),
        ],
    );
}

#[test]
fn keys_are_listed_by_prefix_in_pages() {
    let mut map = KeyValue::default();
    let keys: [&[u8]; 6] = [b"a", b"b", b"b1", b"b2", b"b\xff", b"c"];
    for key in keys {
        map.apply(&Command::Put { key, value: key });
    }
    let list = |prefix, after, limit| Command::List { prefix, after, limit };
    let listed =
        |keys: &[&'static [u8]], more| Answer::Listed { entries: keys.iter().map(|key| (*key, *key)).collect(), more };
    check(
        &mut map,
        &[
            (list(b"b", None, 2), listed(&[b"b", b"b1"], true)),
            (list(b"b", Some(b"b1"), 2), listed(&[b"b2", b"b\xff"], false)),
            (list(b"b", Some(b"a"), 1), listed(&[b"b"], true)),
            (list(b"b", Some(b"c"), 9), listed(&[], false)),
            (list(b"", None, 9), listed(&keys, false)),
            (list(b"", None, 0), listed(&[], true)),
        ],
    );
}

#[test]
fn lists_end_at_their_limits() {
    let mut map = KeyValue::default();
    for number in 0..3u8 {
        map.apply(&Command::Put { key: &[number], value: &vec![0; MAX_LISTED_BYTES / 2] });
    }
    match map.apply(&Command::List { prefix: b"", after: None, limit: u64::MAX }) {
        Answer::Listed { entries, more } => assert_eq!((entries.len(), more), (2, true)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_too_much_is_refused_by_name() {
    let mut map = KeyValue::with_limit(200);
    let (long_key, long_value) = (vec![0; MAX_KEY_BYTES + 1], vec![0; MAX_VALUE_BYTES + 1]);
    let refused = Answer::Refused;
    check(
        &mut map,
        &[
            (Command::Put { key: &long_key, value: b"" }, refused(Refusal::KeyTooLong)),
            (Command::Put { key: A, value: &long_value }, refused(Refusal::ValueTooLong)),
            (Command::Put { key: A, value: &[0; 100] }, Answer::Done { existed: false }),
            (Command::Put { key: b"b", value: b"" }, refused(Refusal::Full)),
            (Command::Put { key: A, value: &[0; 50] }, Answer::Done { existed: true }),
            (Command::Put { key: b"b", value: b"" }, Answer::Done { existed: false }),
            (Command::Delete { key: A }, Answer::Done { existed: true }),
            (Command::Put { key: A, value: &[0; 70] }, Answer::Done { existed: false }),
        ],
    );
    let mut reply = Vec::new();
    map.execute(0, b"\x09", &mut reply);
    assert_eq!(Answer::decode(&reply), Ok(refused(Refusal::Unreadable)));
}

fn snapshot(map: &KeyValue) -> Vec<u8> {
    let mut bytes = Vec::new();
    map.snapshot(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_snapshot_of_another_version_or_in_disorder_is_refused() {
    let mut map = KeyValue::default();
    assert!(map.restore(&mut b"\x02\x00".as_slice()).is_err());
    assert!(map.restore(&mut b"\x01\x02\x01b\x00\x01a\x00".as_slice()).is_err(), "keys descend");
    assert!(map.restore(&mut b"\x01\x01\x01b\x00\x00".as_slice()).is_err(), "more than the entries");
    assert!(map.restore(&mut b"\x01\x02\x01a\x00\x01b\x00".as_slice()).is_ok());
    assert_eq!(map.len(), 2);
}

/// A command as data of its own.
#[derive(Clone, Debug)]
enum Owned {
    Get(Vec<u8>),
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    Swap(Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>),
    Add(Vec<u8>, i64),
    List(Vec<u8>, Option<Vec<u8>>, u64),
}

impl Owned {
    fn command(&self) -> Command<'_> {
        match self {
            Self::Get(key) => Command::Get { key },
            Self::Put(key, value) => Command::Put { key, value },
            Self::Delete(key) => Command::Delete { key },
            Self::Swap(key, expected, new) => {
                Command::CompareAndSet { key, expected: expected.as_deref(), new: new.as_deref() }
            }
            Self::Add(key, delta) => Command::Add { key, delta: *delta },
            Self::List(prefix, after, limit) => Command::List { prefix, after: after.as_deref(), limit: *limit },
        }
    }
}

fn any_command() -> impl Strategy<Value = Owned> {
    // Few bytes, so that keys and values meet.
    let bytes = || proptest::collection::vec(b'0'..b'3', 0..3);
    let maybe = move || proptest::option::of(bytes());
    prop_oneof![
        bytes().prop_map(Owned::Get),
        (bytes(), bytes()).prop_map(|(key, value)| Owned::Put(key, value)),
        bytes().prop_map(Owned::Delete),
        (bytes(), maybe(), maybe()).prop_map(|(key, expected, new)| Owned::Swap(key, expected, new)),
        (bytes(), -3i64..4).prop_map(|(key, delta)| Owned::Add(key, delta)),
        (bytes(), maybe(), 0u64..9).prop_map(|(prefix, after, limit)| Owned::List(prefix, after, limit)),
    ]
}

proptest! {
    #[test]
    fn commands_and_answers_come_back_from_their_bytes(commands in proptest::collection::vec(any_command(), 1..40)) {
        let mut map = KeyValue::default();
        for command in &commands {
            let command = command.command();
            let bytes = command.to_bytes();
            prop_assert_eq!(Command::decode(&bytes), Ok(command));
            let answer = map.apply(&command);
            let mut bytes = Vec::new();
            answer.encode(&mut bytes);
            prop_assert_eq!(Answer::decode(&bytes), Ok(answer));
        }
    }

    /// A map that was restored in the middle goes on as the other; the bytes of its snapshot follow from its entries alone.
    #[test]
    fn a_snapshot_is_the_state(before in proptest::collection::vec(any_command(), 0..30), after in proptest::collection::vec(any_command(), 0..30)) {
        let (mut map, mut copy) = (KeyValue::default(), KeyValue::default());
        for command in &before {
            map.apply(&command.command());
        }
        copy.restore(&mut snapshot(&map).as_slice()).unwrap();
        prop_assert_eq!(&copy, &map);
        for command in &after {
            prop_assert_eq!(copy.apply(&command.command()), map.apply(&command.command()));
        }
        prop_assert_eq!(snapshot(&copy), snapshot(&map));
        let weights: usize = map.entries.iter().map(|(key, value)| weight(key, value)).sum();
        prop_assert_eq!(map.bytes, weights);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(tag in 0u8..9, mut bytes: Vec<u8>) {
        bytes.insert(0, tag);
        let _ = Answer::decode(&bytes);
        let mut reply = Vec::new();
        KeyValue::default().execute(0, &bytes, &mut reply);
        prop_assert!(Answer::decode(&reply).is_ok());
        let _ = KeyValue::default().restore(&mut bytes.as_slice());
    }
}
