//! What both sides are told, and how it is written for the oracle.

use paxos::core::generated::{Config, Decision, Demand, Event, Message, Vote};
use paxos::core::prim::Image;

/// One command. The oracle reads it as its place in this list and its numbers, of seven bits a byte.
#[derive(Clone, Debug)]
pub enum Command {
    /// Forget everything; this many replicas, all without a past.
    Start(u64, Config),
    /// An event at a replica.
    Step(u64, Event),
    /// A replica crashes and comes back from its journal.
    Restart(u64),
    /// A replica's journal is replaced by its checkpoint.
    Shorten(u64),
    /// Answer with the digest, all states included.
    Mark,
    /// `open_session`.
    Open,
    /// `forget_session`.
    Forget(u64),
    /// `admit`.
    Admit(u64, u64),
    /// All operations on two numbers.
    Arithmetic(u64, u64),
    /// `n_range` up and down, and `app`.
    Range(u64, u64),
    /// `im_set`.
    InstanceSet(u64, u64),
    /// `im_drop_below`.
    InstanceDrop(u64),
    /// `im_get` and `im_has`.
    InstanceGet(u64),
    /// `im_range`.
    InstanceRange(u64, u64),
    /// `ns_add` and `ns_size`.
    ReplicaAdd(u64),
    /// `ns_mem`.
    ReplicaMember(u64),
    /// `sm_set`.
    SessionSet(u64, u64),
    /// `sm_remove`.
    SessionRemove(u64),
    /// `sm_get`.
    SessionGet(u64),
    /// Forget what the primitives have made.
    Clear,
    /// So many of a replica's records are durable.
    Report(u64, u64),
    /// `take_turn`.
    Turn(bool, Demand),
}

impl Command {
    /// Appends it to what the oracle will read.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut out = Encoder(out);
        match self {
            Command::Start(count, config) => {
                out.numbers(&[0, *count, config.replicas, config.span, config.window, config.chunk]);
            }
            Command::Step(id, event) => {
                out.numbers(&[1, *id]);
                out.event(event);
            }
            Command::Restart(id) => out.numbers(&[2, *id]),
            Command::Shorten(id) => out.numbers(&[3, *id]),
            Command::Mark => out.numbers(&[4]),
            Command::Open => out.numbers(&[5]),
            Command::Forget(id) => out.numbers(&[6, *id]),
            Command::Admit(id, sequence) => out.numbers(&[7, *id, *sequence]),
            Command::Arithmetic(a, b) => out.numbers(&[8, *a, *b]),
            Command::Range(lo, hi) => out.numbers(&[9, *lo, *hi]),
            Command::InstanceSet(i, v) => out.numbers(&[10, *i, *v]),
            Command::InstanceDrop(k) => out.numbers(&[11, *k]),
            Command::InstanceGet(i) => out.numbers(&[12, *i]),
            Command::InstanceRange(lo, hi) => out.numbers(&[13, *lo, *hi]),
            Command::ReplicaAdd(a) => out.numbers(&[14, *a]),
            Command::ReplicaMember(a) => out.numbers(&[15, *a]),
            Command::SessionSet(i, v) => out.numbers(&[16, *i, *v]),
            Command::SessionRemove(i) => out.numbers(&[17, *i]),
            Command::SessionGet(i) => out.numbers(&[18, *i]),
            Command::Clear => out.numbers(&[19]),
            Command::Report(id, records) => out.numbers(&[20, *id, *records]),
            Command::Turn(owned, Demand::Opens) => out.numbers(&[21, u64::from(*owned), 0]),
            Command::Turn(owned, Demand::Calls(id, sequence)) => {
                out.numbers(&[21, u64::from(*owned), 1, *id, *sequence]);
            }
        }
    }
}

struct Encoder<'a>(&'a mut Vec<u8>);

impl Encoder<'_> {
    fn number(&mut self, mut number: u64) {
        while number > 127 {
            self.0.push(number as u8 | 128);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn numbers(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|number| self.number(*number));
    }

    /// Images of the traffic are short, and so in memory.
    fn image(&mut self, image: &Image) {
        self.text(&image.to_vec().expect("it is in memory"));
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Receive(src, message) => {
                self.numbers(&[0, *src]);
                self.message(message);
            }
            Event::Request(value) => {
                self.number(1);
                self.text(value);
            }
            Event::Suspect => self.number(2),
            Event::Heartbeat => self.number(3),
            Event::Execute => self.number(4),
            Event::CatchUp(dst, hi) => self.numbers(&[5, *dst, *hi]),
            Event::Snapshot(k, image) => {
                self.numbers(&[6, *k]);
                self.image(image);
            }
            Event::Truncate(k) => self.numbers(&[7, *k]),
        }
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::Prepare(b, k) => self.numbers(&[0, *b, *k]),
            Message::Promise(b, k, votes) => {
                self.numbers(&[1, *b, *k, votes.len() as u64]);
                for Vote { instance, ballot, value } in votes {
                    self.numbers(&[*instance, *ballot]);
                    self.text(value);
                }
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
                self.numbers(&[8, decisions.len() as u64]);
                for Decision { instance, value } in decisions {
                    self.number(*instance);
                    self.text(value);
                }
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
}
