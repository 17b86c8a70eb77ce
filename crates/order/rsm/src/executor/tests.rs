//! Batches against executors: what is executed, what is answered, what is forgotten, and that replicas stay the same.

use super::*;
use crate::message::SESSION_WINDOW;
use crate::service::EmptyService;
use paxos::image::ImageStore;
use paxos::request::Chunk;
use proptest::prelude::*;
use std::io::{BufRead, Write};

/// Answers with what it was sent so far, and sends a count of zeros for `zeros N`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct RecordingService(Vec<u8>);

impl Service for RecordingService {
    fn execute(&mut self, _: Instance, request: &[u8], reply: &mut Vec<u8>) {
        match request.strip_prefix(b"zeros ") {
            Some(count) => reply.resize(usize::from(count[0]), 0),
            None => {
                self.0.extend_from_slice(request);
                reply.extend_from_slice(&self.0);
            }
        }
    }

    fn snapshot(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.0)
    }

    fn restore(&mut self, snapshot: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        self.0.clear();
        snapshot.read_to_end(&mut self.0)?;
        Ok(())
    }
}

fn snapshot<S: Service>(executor: &Executor<S>) -> (Instance, Image) {
    executor.snapshot(ImageStore::in_memory().writer()).expect("memory takes it")
}

/// Nonce of every client in these tests.
const NONCE: Option<u64> = Some(9);

const SMALL: Limits = Limits { sessions: 8, reply_bytes: 64, kept_bytes: 256 };

fn executor(id: ReplicaId) -> Executor<RecordingService> {
    Executor::with_limits(id, SMALL, RecordingService::default())
}

fn batch(requests: &[(ReplicaId, Session, Sequence, &[u8])]) -> Value {
    let mut chunk = Chunk::new();
    for &(origin, session, sequence, body) in requests {
        chunk.push(Request { origin, session, sequence, nonce: NONCE, body }).expect("a batch holds it");
    }
    chunk.into_value()
}

fn deliver<S: Service>(executor: &mut Executor<S>, requests: &[(ReplicaId, Session, Sequence, &[u8])]) -> Vec<Reply> {
    let mut replies = Vec::new();
    let at = executor.executed().next;
    executor.deliver(at, &batch(requests), &mut replies).expect("the batch is well formed");
    replies
}

fn outcomes(replies: Vec<Reply>) -> Vec<Outcome> {
    let outcome = |reply| match reply {
        Reply::Done { outcome, .. } => outcome,
        Reply::Opened { .. } => panic!("no session was to be opened"),
    };
    replies.into_iter().map(outcome).collect()
}

fn executed(at: Instance, answer: &str) -> Outcome {
    Outcome::Executed(at, Bytes::copy_from_slice(answer.as_bytes()))
}

#[test]
fn sessions_are_opened_by_the_log_and_their_clients_told() {
    let mut executor = executor(1);
    let replies = deliver(&mut executor, &[(1, OPEN, 77, b""), (0, OPEN, 78, b""), (1, OPEN, 77, b"")]);
    let opened = |nonce, session| Reply::Opened { nonce, session };
    assert_eq!(replies, [opened(77, 1), opened(77, 3)], "only those of this replica's clients");
    assert_eq!(executor.executed().sessions, 3);
}

#[test]
fn a_request_is_executed_once_and_its_answer_repeated() {
    let mut executor = executor(0);
    deliver(&mut executor, &[(0, OPEN, 1, b"")]);
    let first = deliver(&mut executor, &[(0, 1, 1, b"a"), (0, 1, 2, b"b"), (0, 1, 1, b"a")]);
    assert_eq!(outcomes(first), [executed(1, "a"), executed(1, "ab"), executed(1, "a")]);
    let again = deliver(&mut executor, &[(0, 1, 2, b"b"), (0, 1, 3, b"c")]);
    assert_eq!(outcomes(again), [executed(1, "ab"), executed(2, "abc")]);
    assert_eq!(executor.executed(), Executed { requests: 3, refused: 2, sessions: 1, next: 3 });
}

#[test]
fn whoever_comes_too_early_or_from_nowhere_is_refused() {
    let mut executor = executor(0);
    let replies = deliver(&mut executor, &[(0, OPEN, 1, b""), (0, 1, 2, b"x"), (0, 9, 1, b"x"), (0, 1, 0, b"x")]);
    assert_eq!(outcomes(replies[1..].to_vec()), [Outcome::Early, Outcome::UnknownSession, Outcome::Forgotten]);
    assert_eq!(executor.service().0, b"");
}

#[test]
fn answers_are_kept_for_a_window_of_requests() {
    let mut executor = Executor::with_limits(0, Limits::default(), RecordingService::default());
    deliver(&mut executor, &[(0, OPEN, 1, b"")]);
    for sequence in 1..=SESSION_WINDOW + 1 {
        deliver(&mut executor, &[(0, 1, sequence, b"x")]);
    }
    let replies = deliver(&mut executor, &[(0, 1, 1, b"x"), (0, 1, 2, b"x")]);
    assert_eq!(outcomes(replies), [Outcome::Forgotten, executed(2, "xx")]);
}

#[test]
fn only_the_replica_whose_client_asked_answers() {
    let mut executors = [executor(0), executor(1)];
    let requests: [(_, _, _, &[u8]); 3] = [(0, OPEN, 5, b""), (1, 1, 1, b"x"), (0, 1, 1, b"x")];
    let [mine, others] = executors.each_mut().map(|executor| deliver(executor, &requests));
    // The client moved from replica 1 to 0 and sent again.
    assert_eq!((mine.len(), outcomes(mine[1..].to_vec())), (2, vec![executed(0, "x")]));
    assert_eq!(outcomes(others), [executed(0, "x")]);
    assert_eq!(snapshot(&executors[0]), snapshot(&executors[1]));
}

#[test]
fn answers_beyond_the_limit_are_named() {
    let mut executor = executor(0);
    let replies = deliver(&mut executor, &[(0, OPEN, 1, b""), (0, 1, 1, b"zeros A"), (0, 1, 1, b"zeros A")]);
    assert_eq!(outcomes(replies[1..].to_vec()), [Outcome::ReplyTooLarge(65), Outcome::ReplyTooLarge(65)]);
}

#[test]
fn kept_answers_are_bounded_and_those_of_idle_sessions_go_first() {
    let mut executor = executor(0);
    for nonce in 0..5 {
        deliver(&mut executor, &[(0, OPEN, nonce, b"")]);
    }
    for session in [2, 1, 3, 4, 5] {
        deliver(&mut executor, &[(0, session, 1, b"zeros 7")]);
        assert!(executor.replies.bytes() <= SMALL.kept_bytes, "X4");
    }
    // Five answers of 55 bytes are more than 256: 192 are left, so the two of the longest idle sessions are gone.
    let again: Vec<_> = (1..=5).map(|session| (0, session, 1, &b"zeros 7"[..])).collect();
    let replies = outcomes(deliver(&mut executor, &again));
    let kept: Vec<_> = replies.iter().map(|outcome| *outcome != Outcome::Forgotten).collect();
    assert_eq!(kept, [false, false, true, true, true]);
}

#[test]
fn the_longest_idle_sessions_are_forgotten_when_there_are_too_many() {
    let mut executor = executor(0);
    for nonce in 0..8 {
        deliver(&mut executor, &[(0, OPEN, nonce, b"")]);
    }
    deliver(&mut executor, &[(0, 1, 1, b"x"), (0, 3, 1, b"x")]);
    deliver(&mut executor, &[(0, OPEN, 9, b"")]);
    assert_eq!(executor.executed().sessions, 7, "two of eight are gone, one is new");
    let ask: Vec<_> = (1..=9).map(|session| (0, session, 7, &b""[..])).collect();
    let replies = outcomes(deliver(&mut executor, &ask));
    let gone: Vec<_> = (1..=9).filter(|session| replies[session - 1] == Outcome::UnknownSession).collect();
    assert_eq!(gone, [2, 4]);
}

#[test]
fn a_snapshot_holds_everything() {
    let mut before = executor(0);
    deliver(&mut before, &[(0, OPEN, 1, b""), (0, OPEN, 2, b""), (0, 2, 1, b"x"), (0, 2, 2, b"zeros A")]);
    let (at, image) = snapshot(&before);
    let mut after = executor(0);
    after.install(at, &image).unwrap();
    assert_eq!(snapshot(&after), (at, image));
    let requests: [(_, _, _, &[u8]); 4] = [(0, 2, 1, b""), (0, 2, 2, b""), (0, 1, 1, b"y"), (0, OPEN, 3, b"")];
    assert_eq!(deliver(&mut after, &requests), deliver(&mut before, &requests));
    assert_eq!(after.service(), before.service());
}

#[test]
fn snapshots_that_are_none_are_refused() {
    let mut before = executor(0);
    deliver(&mut before, &[(0, OPEN, 1, b""), (0, 1, 1, b"x"), (0, 1, 2, b"zeros A")]);
    let (at, image) = snapshot(&before);
    let refused = |bytes: &[u8]| executor(0).install(at, &Image::from(bytes)).is_err();
    let whole = image.to_vec().unwrap();
    for length in 0..whole.len() {
        assert!(refused(&whole[..length]), "cut after {length} bytes");
    }
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(refused(&bytes), "bit {bit}");
    }
    assert!(executor(0).install(at + 1, &image).is_err(), "of another instance");
    let newer = {
        let mut bytes = whole;
        bytes[4] += 1;
        bytes
    };
    let error = executor(0).install(at, &Image::from(newer)).unwrap_err();
    assert!(error.0.contains("format version is 3"), "{error}");
}

#[test]
fn a_batch_that_cannot_be_read_is_skipped_from_there_on() {
    let mut executor = executor(0);
    let mut bytes = batch(&[(0, OPEN, 1, b""), (0, 1, 1, b"x")]).to_vec();
    let good = bytes.len();
    bytes.extend_from_slice(&[0, 1, 2, 200]);
    let mut replies = Vec::new();
    let error = executor.deliver(0, &bytes.into(), &mut replies).unwrap_err();
    assert_eq!((error, replies.len()), (BadBatch { offset: good }, 2));
    assert_eq!(outcomes(deliver(&mut executor, &[(0, 1, 2, b"y")])), [executed(1, "xy")]);
}

fn as_client(nonce: Option<u64>, session: Session, sequence: Sequence, body: &[u8]) -> Value {
    let mut chunk = Chunk::new();
    chunk.push(Request { origin: 0, session, sequence, nonce, body }).expect("a batch holds it");
    chunk.into_value()
}

#[test]
fn a_session_is_used_by_nobody_but_whoever_opened_it() {
    let mut executor = executor(0);
    deliver(&mut executor, &[(0, OPEN, 9, b""), (0, 1, 1, b"mine")]);
    for thief in [None, Some(8)] {
        for (sequence, body) in [(2, &b"theirs"[..]), (1, b"")] {
            let mut replies = Vec::new();
            let at = executor.executed().next;
            executor.deliver(at, &as_client(thief, 1, sequence, body), &mut replies).expect("well formed");
            let outcome = Outcome::ForeignSession;
            assert_eq!(replies, [Reply::Done { session: 1, sequence, nonce: thief, outcome }]);
        }
        // Its replicas forget who it is as little.
        let (at, image) = snapshot(&executor);
        executor.install(at, &image).expect("a snapshot");
    }
    let next = executor.executed().next;
    assert_eq!(
        outcomes(deliver(&mut executor, &[(0, 1, 2, b"!")])),
        [executed(next, "mine!")],
        "and the owner goes on"
    );
}

#[test]
fn sessions_of_a_version_without_owners_go_on() {
    let mut executor = executor(0);
    for (session, sequence, body) in [(OPEN, 5, &b""[..]), (1, 1, b"old")] {
        let at = executor.executed().next;
        executor.deliver(at, &as_client(None, session, sequence, body), &mut Vec::new()).expect("well formed");
    }
    assert_eq!(executor.service().0, b"old");
    assert_eq!(outcomes(deliver(&mut executor, &[(0, 1, 2, b"new")])), [Outcome::ForeignSession]);
    let mut replies = Vec::new();
    executor.deliver(3, &as_client(None, 1, 2, b"er"), &mut replies).expect("well formed");
    assert_eq!(outcomes(replies), [executed(3, "older")]);
}

#[test]
fn the_empty_service_answers_nothing() {
    let mut executor = Executor::new(&Options::new(3, 0), EmptyService);
    assert_eq!(deliver(&mut executor, &[(0, OPEN, 1, b""), (0, 1, 1, b"x")]).len(), 2);
    let (at, image) = snapshot(&executor);
    assert!(executor.install(at, &image).is_ok());
}

/// A request to one of a few sessions, with a number near the right one.
fn any_request() -> impl Strategy<Value = (ReplicaId, Session, Sequence, Vec<u8>)> {
    let body = prop_oneof![4 => proptest::collection::vec(any::<u8>(), 0..4), 1 => (0u8..80).prop_map(|count| [&b"zeros "[..], &[count]].concat())];
    (0u64..2, 0u64..14, 0u64..6, body)
}

proptest! {
    /// Two replicas, one of which was away and installed the other's snapshot, are the same in every byte and limit.
    #[test]
    fn replicas_stay_the_same(batches in proptest::collection::vec(proptest::collection::vec(any_request(), 0..12), 1..24), away in 0usize..24) {
        let (mut first, mut second) = (executor(0), executor(0));
        for (index, requests) in batches.iter().enumerate() {
            let requests: Vec<_> = requests.iter().map(|(o, s, q, body)| (*o, *s, *q, &body[..])).collect();
            let replies = deliver(&mut first, &requests);
            if index == away % batches.len() {
                let (at, image) = snapshot(&first);
                second = executor(0);
                second.install(at, &image).unwrap();
            } else {
                prop_assert_eq!(replies, deliver(&mut second, &requests));
            }
            prop_assert_eq!(snapshot(&first), snapshot(&second));
            prop_assert!(first.replies.sessions() <= SMALL.sessions && first.replies.bytes() <= SMALL.kept_bytes, "X4");
        }
    }

    /// A snapshot with altered bytes and a matching checksum.
    #[test]
    fn hostile_snapshots_are_refused_without_a_panic(changes in proptest::collection::vec((5usize..200, any::<u8>()), 0..6)) {
        let mut before = executor(0);
        deliver(&mut before, &[(0, OPEN, 1, b""), (0, OPEN, 2, b""), (0, 2, 1, b"x"), (0, 2, 2, b"zeros A"), (0, 1, 1, b"y")]);
        let (at, image) = snapshot(&before);
        let mut bytes = image.to_vec().unwrap();
        bytes.truncate(bytes.len() - 4);
        for (offset, byte) in changes {
            let offset = offset % bytes.len();
            bytes[offset.max(5)] = byte;
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        let mut executor = executor(0);
        if executor.install(at, &Image::from(bytes)).is_ok() {
            deliver(&mut executor, &[(0, OPEN, 3, b""), (0, 1, 2, b"z"), (0, 2, 3, b"z"), (0, 2, 1, b"")]);
            prop_assert_eq!(executor.executed().next, at + 1);
        }
    }
}
