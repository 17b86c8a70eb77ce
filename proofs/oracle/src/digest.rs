//! The digest, step by step as `oracle.ml` computes it.

use paxos::core::generated::{
    Config, Decision, Message, Output, Record, Release, Role, State, Turn, Verdict, Vote, waits,
};
use paxos::core::prim::{Image, InstanceMap, ReplicaSet, im_range, ns_mem, ns_size};

/// OCaml's greatest int.
const MASK: u64 = (1 << 62) - 1;
const FACTOR: u64 = 0x1b87_3593_cc9e_2d51;

/// What has been put out so far, in 62 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Digest {
    /// Takes in a number.
    pub fn number(&mut self, number: u64) {
        let h = (self.0 ^ number).wrapping_mul(FACTOR) & MASK;
        self.0 = h ^ (h >> 29);
    }

    /// Takes in several numbers.
    pub fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.number(*number));
    }

    /// Takes in a truth value.
    pub fn boolean(&mut self, value: bool) {
        self.number(u64::from(value));
    }

    /// Images of the traffic are short, and so in memory.
    fn image(&mut self, image: &Image) {
        self.text(&image.to_vec().expect("it is in memory"));
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        text.iter().for_each(|byte| self.number(u64::from(*byte)));
    }

    /// Takes in a list.
    pub fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|item| each(self, item));
    }

    /// Takes in what may be missing.
    pub fn option(&mut self, number: Option<u64>) {
        match number {
            None => self.number(0),
            Some(number) => self.numbers(&[1, number]),
        }
    }

    fn decisions(&mut self, decisions: &[Decision]) {
        self.list(decisions, |digest, Decision { instance, value }| {
            digest.number(*instance);
            digest.text(value);
        });
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::Prepare(b, k) => self.numbers(&[0, *b, *k]),
            Message::Promise(b, k, votes) => {
                self.numbers(&[1, *b, *k]);
                self.list(votes, |digest, Vote { instance, ballot, value }| {
                    digest.numbers(&[*instance, *ballot]);
                    digest.text(value);
                });
            }
            Message::Propose(b, i, value) => {
                self.numbers(&[2, *b, *i]);
                self.text(value);
            }
            Message::Accept(b, i) => self.numbers(&[3, *b, *i]),
            Message::Commit(b, i) => self.numbers(&[4, *b, *i]),
            Message::Reject(b) => self.numbers(&[5, *b]),
            Message::Alive(b, i) => self.numbers(&[6, *b, *i]),
            Message::Query(lo, hi) => self.numbers(&[7, *lo, *hi]),
            Message::Learned(decisions) => {
                self.number(8);
                self.decisions(decisions);
            }
            Message::Snapshot(k, image) => {
                self.numbers(&[9, *k]);
                self.image(image);
            }
            Message::Truncated(k) => self.numbers(&[10, *k]),
            Message::Forward(value) => {
                self.number(11);
                self.text(value);
            }
        }
    }

    /// Takes in a record of the journal.
    pub fn record(&mut self, record: &Record) {
        match record {
            Record::Ballot(b) => self.numbers(&[0, *b]),
            Record::Vote(b, i, value) => {
                self.numbers(&[1, *b, *i]);
                self.text(value);
            }
            Record::Decided(b, i) => self.numbers(&[2, *b, *i]),
            Record::Learned(decisions) => {
                self.number(3);
                self.decisions(decisions);
            }
            Record::Snapshot(k, image) => {
                self.numbers(&[4, *k]);
                self.image(image);
            }
            Record::Install(k, image) => {
                self.numbers(&[5, *k]);
                self.image(image);
            }
            Record::Truncate(k) => self.numbers(&[6, *k]),
        }
    }

    /// Takes in an output; of a message also whether it must wait.
    pub fn output(&mut self, output: &Output) {
        match output {
            Output::Journal(record) => {
                self.number(0);
                self.record(record);
            }
            Output::Send(dst, message) => {
                self.numbers(&[1, *dst]);
                self.boolean(waits(message));
                self.message(message);
            }
            Output::Broadcast(message) => {
                self.number(2);
                self.boolean(waits(message));
                self.message(message);
            }
            Output::Deliver(i, value) => {
                self.numbers(&[3, *i]);
                self.text(value);
            }
            Output::Install(k, image) => {
                self.numbers(&[4, *k]);
                self.image(image);
            }
            Output::Return(value) => {
                self.number(5);
                self.text(value);
            }
        }
    }

    /// Takes in what waits for the journal.
    pub fn release(&mut self, release: &Release) {
        self.numbers(&[release.numbered, release.synced]);
        self.list(&release.waiting, |digest, delayed| {
            digest.number(delayed.until);
            digest.output(&delayed.output);
        });
    }

    /// Takes in an answer to `admit`.
    pub fn verdict(&mut self, verdict: Verdict) {
        self.number(match verdict {
            Verdict::Fresh => 0,
            Verdict::Repeated => 1,
            Verdict::Early => 2,
            Verdict::Unknown => 3,
        });
    }

    /// Takes in what becomes of a request.
    pub fn turn(&mut self, turn: Turn) {
        match turn {
            Turn::Opened(id) => self.numbers(&[0, id]),
            Turn::Run => self.number(1),
            Turn::Again => self.number(2),
            Turn::Early => self.number(3),
            Turn::Unknown => self.number(4),
            Turn::Foreign => self.number(5),
        }
    }

    /// Takes in what of a state is no map.
    pub fn scalars(&mut self, state: &State) {
        let role = match state.role_now {
            Role::Follower => 0,
            Role::Preparing => 1,
            Role::Leading => 2,
        };
        self.numbers(&[state.promised, role, state.low, state.executed, state.next, state.first]);
        self.numbers(&[ns_size(state.promises), state.snapshot_at]);
        self.image(&state.snapshot);
    }

    fn set(&mut self, set: ReplicaSet) {
        (0..64).filter(|replica| ns_mem(*replica, set)).for_each(|replica| self.number(replica));
    }

    /// Takes in all of a state.
    ///
    /// # Panics
    /// If a map has keys out of its span, which the model rules out.
    pub fn state(&mut self, config: Config, state: &State) {
        self.scalars(state);
        self.set(state.promises);
        let span = config.span;
        self.map(&state.candidates, state.first, span, |digest, candidate| {
            digest.number(candidate.ballot);
            digest.text(&candidate.value);
        });
        self.map(&state.log, state.low, span, |digest, entry| {
            digest.number(entry.ballot);
            digest.text(&entry.value);
            digest.set(entry.acks);
        });
        self.map(&state.decisions, state.low, span, |digest, value| digest.text(value));
    }

    fn map<V: Clone>(&mut self, map: &InstanceMap<V>, lo: u64, span: u64, mut each: impl FnMut(&mut Self, &V)) {
        let kept = im_range(lo, lo + span, map);
        assert_eq!(kept.len(), map.iter().count(), "a map has keys out of {lo} to {}", lo + span);
        self.list(&kept, |digest, (instance, element)| {
            digest.number(*instance);
            each(digest, element);
        });
    }
}
