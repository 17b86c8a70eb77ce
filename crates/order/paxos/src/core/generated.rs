//! Printed from `proofs/paxos/Model.v` and `proofs/paxos/Release.v` and `proofs/paxos/Sessions.v`, which the proofs are about.
//!
//! Not to be edited: `make proofs` prints it again and compares.

#![allow(clippy::match_like_matches_macro, reason = "the text follows the model's, clause by clause")]

use super::prim::{
    Image, InstanceMap, ReplicaSet, SessionMap, Value, blank, im_drop_below, im_empty, im_get, im_has, im_range,
    im_set, list_append, n_add, n_div, n_max, n_min, n_mod, n_mul, n_range, noop, ns_add, ns_empty, ns_mem, ns_size,
    sm_empty, sm_get, sm_remove, sm_set,
};

/// `replica` of the model.
pub type Replica = u64;

/// `ballot` of the model.
pub type Ballot = u64;

/// `instance` of the model.
pub type Instance = u64;

/// `config_replicas`: how many vote; they are 0, 1, ... and whoever has a greater number only learns.
/// `config_span`: instances that are kept at most. `config_window`: instances that a leader has open at most.
/// `config_chunk`: instances in one answer to a query at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// `replicas` of the model's config.
    pub replicas: u64,
    /// `span` of the model's config.
    pub span: u64,
    /// `window` of the model's config.
    pub window: u64,
    /// `chunk` of the model's config.
    pub chunk: u64,
}

/// An own vote, and who is known to have voted so too (kept by the proposer).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `ballot` of the model's entry.
    pub ballot: Ballot,
    /// `value` of the model's entry.
    pub value: Value,
    /// `acks` of the model's entry.
    pub acks: ReplicaSet,
}

/// A vote as a promise reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// `instance` of the model's vote.
    pub instance: Instance,
    /// `ballot` of the model's vote.
    pub ballot: Ballot,
    /// `value` of the model's vote.
    pub value: Value,
}

/// The newest vote that phase 1 has heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// `ballot` of the model's candidate.
    pub ballot: Ballot,
    /// `value` of the model's candidate.
    pub value: Value,
}

/// `decision` of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `instance` of the model's decision.
    pub instance: Instance,
    /// `value` of the model's decision.
    pub value: Value,
}

/// `role` of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `Follower`.
    Follower,
    /// `Preparing`.
    Preparing,
    /// `Leading`.
    Leading,
}

/// `message` of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// `Prepare(b, first)`.
    Prepare(Ballot, Instance),
    /// `Promise(b, first, votes)`.
    Promise(Ballot, Instance, Vec<Vote>),
    /// `Propose(b, i, v)`.
    Propose(Ballot, Instance, Value),
    /// `Accept(b, i)`.
    Accept(Ballot, Instance),
    /// `Commit(b, i)`: what was proposed at b for i is chosen.
    Commit(Ballot, Instance),
    /// `Reject(b)`: I have promised b.
    Reject(Ballot),
    /// `Alive(b, executed)`.
    Alive(Ballot, Instance),
    /// `Query(lo, hi)`: what was chosen there?
    Query(Instance, Instance),
    /// `Learned(ds)`.
    Learned(Vec<Decision>),
    /// `Snapshot(k, s)`: the state after all instances below k.
    Snapshot(Instance, Image),
    /// `Truncated(k)`: I have forgotten what is below k.
    Truncated(Instance),
    /// `Forward(v)`.
    Forward(Value),
}

/// `event` of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// `Receive(src, m)`.
    Receive(Replica, Message),
    /// `Request(v)`: propose this.
    Request(Value),
    /// `Suspect`: the leader seems dead: become it.
    Suspect,
    /// `Heartbeat`: say that we live.
    Heartbeat,
    /// `Execute`: the service has room for the next instance.
    Execute,
    /// `CatchUp(dst, hi)`: ask dst for what was chosen below hi.
    CatchUp(Replica, Instance),
    /// `Snapshot(k, s)`: the service's state after all instances below k.
    Snapshot(Instance, Image),
    /// `Truncate(k)`: forget what is below k.
    Truncate(Instance),
}

/// What must survive a crash. Replayed in order by `replay`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// `Ballot(b)`.
    Ballot(Ballot),
    /// `Vote(b, i, v)`.
    Vote(Ballot, Instance, Value),
    /// `Decided(b, i)`: the own vote at b for i is chosen.
    Decided(Ballot, Instance),
    /// `Learned(ds)`.
    Learned(Vec<Decision>),
    /// `Snapshot(k, s)`.
    Snapshot(Instance, Image),
    /// `Install(k, s)`.
    Install(Instance, Image),
    /// `Truncate(k)`.
    Truncate(Instance),
}

/// `output` of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// `Journal(r)`.
    Journal(Record),
    /// `Send(dst, m)`.
    Send(Replica, Message),
    /// `Broadcast(m)`: to every voting replica, the own one too, and to learners.
    Broadcast(Message),
    /// `Deliver(i, v)`.
    Deliver(Instance, Value),
    /// `Install(k, s)`: the service's state is s now: instances below k are in it.
    Install(Instance, Image),
    /// `Return(v)`: not proposed: no leader, or too many instances open.
    Return(Value),
}

/// `state` of the model.
#[derive(Debug, PartialEq, Eq)]
pub struct State {
    /// No vote and no promise below it any more.
    pub promised: Ballot,
    /// As the owner of `promised`.
    pub role_now: Role,
    /// Below it everything is forgotten: no vote and no promise there.
    pub low: Instance,
    /// The next instance to deliver.
    pub executed: Instance,
    /// The first that the leader has not used.
    pub next: Instance,
    /// Phase 1 covers the instances from it on.
    pub first: Instance,
    /// Who has promised `promised` to us.
    pub promises: ReplicaSet,
    /// What they had voted for.
    pub candidates: InstanceMap<Candidate>,
    /// Own votes.
    pub log: InstanceMap<Entry>,
    /// What is chosen.
    pub decisions: InstanceMap<Value>,
    /// `snapshot` is the state after all instances below it.
    pub snapshot_at: Instance,
    /// `snapshot` of the model's state.
    pub snapshot: Image,
}

/// `init` of the model.
pub fn init() -> State {
    State {
        promised: 0,
        role_now: Role::Follower,
        low: 0,
        executed: 0,
        next: 0,
        first: 0,
        promises: ns_empty(),
        candidates: im_empty(),
        log: im_empty(),
        decisions: im_empty(),
        snapshot_at: 0,
        snapshot: blank(),
    }
}

/// `majority` of the model.
pub fn majority(n: u64, k: u64) -> bool {
    n < n_mul(2, k)
}

/// `owner` of the model.
pub fn owner(n: u64, b: Ballot) -> Replica {
    n_mod(b, n)
}

fn next_ballot(n: u64, self_id: Replica, b: Ballot) -> Ballot {
    n_add(n_mul(n_add(n_div(b, n), 1), n), self_id)
}

/// Instances that are kept: low <= i < low + span.
fn in_span(c: Config, i: Instance, s: &State) -> bool {
    s.low <= i && i < n_add(s.low, c.span)
}

// --- Phase 1.

fn vote_of(p: (u64, Entry)) -> Vote {
    Vote { instance: p.0, ballot: p.1.ballot, value: p.1.value }
}

fn votes_from(c: Config, k: Instance, s: &State) -> Vec<Vote> {
    im_range(k, n_add(s.low, c.span), &s.log).into_iter().map(vote_of).collect::<Vec<_>>()
}

fn on_suspect(c: Config, self_id: Replica, s: State) -> (State, Vec<Output>) {
    if self_id < c.replicas {
        let b = next_ballot(c.replicas, self_id, s.promised);
        let k = n_max(s.executed, s.low);
        let votes = votes_from(c, k, &s);
        (
            State {
                promised: b,
                role_now: Role::Preparing,
                next: k,
                first: k,
                promises: ns_empty(),
                candidates: im_empty(),
                ..s
            },
            vec![
                Output::Journal(Record::Ballot(b)),
                Output::Broadcast(Message::Prepare(b, k)),
                Output::Send(self_id, Message::Promise(b, k, votes)),
            ],
        )
    } else {
        (s, vec![])
    }
}

fn on_prepare(c: Config, self_id: Replica, src: Replica, b: Ballot, k: Instance, s: State) -> (State, Vec<Output>) {
    if self_id < c.replicas {
        if s.promised < b {
            if k < s.low {
                let l = s.low;
                (s, vec![Output::Send(src, Message::Truncated(l))])
            } else {
                let votes = votes_from(c, k, &s);
                (
                    State { promised: b, role_now: Role::Follower, ..s },
                    vec![Output::Journal(Record::Ballot(b)), Output::Send(src, Message::Promise(b, k, votes))],
                )
            }
        } else if b < s.promised {
            let b_prime = s.promised;
            (s, vec![Output::Send(src, Message::Reject(b_prime))])
        } else {
            (s, vec![])
        }
    } else {
        (s, vec![])
    }
}

fn merge_vote(m: InstanceMap<Candidate>, v: Vote) -> InstanceMap<Candidate> {
    match im_get(v.instance, &m) {
        Some(x) => {
            if x.ballot < v.ballot {
                im_set(v.instance, Candidate { ballot: v.ballot, value: v.value }, m)
            } else {
                m
            }
        }
        None => im_set(v.instance, Candidate { ballot: v.ballot, value: v.value }, m),
    }
}

fn merge_votes(votes: Vec<Vote>, m: InstanceMap<Candidate>) -> InstanceMap<Candidate> {
    votes.into_iter().fold(m, merge_vote)
}

/// One past the last instance that somebody has voted in, at least k.
fn upper(votes: &[Vote], k: Instance) -> Instance {
    votes.iter().fold(k, |a, v| n_max(a, n_add(v.instance, 1)))
}

fn within(lo: Instance, hi: Instance, votes: &[Vote]) -> bool {
    votes.iter().fold(true, |a, v| a && lo <= v.instance && v.instance < hi)
}

fn pick(i: Instance, m: &InstanceMap<Candidate>) -> Value {
    match im_get(i, m) {
        Some(x) => x.value.clone(),
        None => noop(),
    }
}

fn reproposals(b: Ballot, lo: Instance, hi: Instance, m: &InstanceMap<Candidate>) -> Vec<Output> {
    n_range(lo, hi).into_iter().map(|i| Output::Broadcast(Message::Propose(b, i, pick(i, m)))).collect::<Vec<_>>()
}

fn on_promise(c: Config, src: Replica, b: Ballot, k: Instance, votes: Vec<Vote>, s: State) -> (State, Vec<Output>) {
    match s.role_now {
        Role::Preparing => {
            if b == s.promised
                && k == s.first
                && src < c.replicas
                && !ns_mem(src, s.promises)
                && within(k, n_add(k, c.span), &votes)
            {
                let hi = upper(&votes, s.next);
                let m = merge_votes(votes, s.candidates);
                let acks = ns_add(src, s.promises);
                if majority(c.replicas, ns_size(acks)) {
                    let lo = n_max(k, s.low);
                    let outs = reproposals(b, lo, hi, &m);
                    (
                        State {
                            role_now: Role::Leading,
                            next: hi,
                            first: k,
                            promises: acks,
                            candidates: im_empty(),
                            ..s
                        },
                        outs,
                    )
                } else {
                    (
                        State { role_now: Role::Preparing, next: hi, first: k, promises: acks, candidates: m, ..s },
                        vec![],
                    )
                }
            } else {
                (s, vec![])
            }
        }
        _ => (s, vec![]),
    }
}

// --- Phase 2.

/// The leader's window: open instances are few, and all are in the span.
pub fn has_room(c: Config, s: &State) -> bool {
    s.next < n_add(s.executed, c.window) && s.next < n_add(s.low, c.span)
}

fn propose(c: Config, v: Value, s: State) -> (State, Vec<Output>) {
    if has_room(c, &s) {
        let b = s.promised;
        let i = s.next;
        (State { next: n_add(i, 1), ..s }, vec![Output::Broadcast(Message::Propose(b, i, v))])
    } else {
        (s, vec![Output::Return(v)])
    }
}

fn on_request(c: Config, self_id: Replica, v: Value, s: State) -> (State, Vec<Output>) {
    match s.role_now {
        Role::Follower => {
            let leader = owner(c.replicas, s.promised);
            if leader == self_id {
                (s, vec![Output::Return(v)])
            } else {
                (s, vec![Output::Send(leader, Message::Forward(v))])
            }
        }
        Role::Preparing => (s, vec![Output::Return(v)]),
        Role::Leading => propose(c, v, s),
    }
}

/// Not forwarded again: replicas that take each other for the leader would send it round and round.
fn on_forward(c: Config, v: Value, s: State) -> (State, Vec<Output>) {
    match s.role_now {
        Role::Leading => propose(c, v, s),
        _ => (s, vec![]),
    }
}

fn accept(src: Replica, b: Ballot, i: Instance, v: Value, s: State) -> (State, Vec<Output>) {
    match im_get(i, &s.log) {
        Some(e) => {
            if e.ballot == b {
                (s, vec![Output::Send(src, Message::Accept(b, i))])
            } else {
                (
                    State { log: im_set(i, Entry { ballot: b, value: v.clone(), acks: ns_empty() }, s.log), ..s },
                    vec![Output::Journal(Record::Vote(b, i, v)), Output::Send(src, Message::Accept(b, i))],
                )
            }
        }
        None => (
            State { log: im_set(i, Entry { ballot: b, value: v.clone(), acks: ns_empty() }, s.log), ..s },
            vec![Output::Journal(Record::Vote(b, i, v)), Output::Send(src, Message::Accept(b, i))],
        ),
    }
}

fn on_propose(
    c: Config,
    self_id: Replica,
    src: Replica,
    b: Ballot,
    i: Instance,
    v: Value,
    s: State,
) -> (State, Vec<Output>) {
    if self_id < c.replicas {
        if i < s.low {
            let l = s.low;
            (s, vec![Output::Send(src, Message::Truncated(l))])
        } else if n_add(s.low, c.span) <= i {
            (s, vec![])
        } else if s.promised == b {
            accept(src, b, i, v, s)
        } else if s.promised < b {
            accept(src, b, i, v, State { promised: b, role_now: Role::Follower, ..s })
        } else {
            let b_prime = s.promised;
            (s, vec![Output::Send(src, Message::Reject(b_prime))])
        }
    } else {
        (s, vec![])
    }
}

fn on_accept(c: Config, src: Replica, b: Ballot, i: Instance, s: State) -> (State, Vec<Output>) {
    if src < c.replicas && !im_has(i, &s.decisions) {
        match im_get(i, &s.log) {
            Some(e) => {
                if e.ballot == b {
                    let v = e.value.clone();
                    let acks = ns_add(src, e.acks);
                    let s1 = State { log: im_set(i, Entry { ballot: b, value: v.clone(), acks }, s.log), ..s };
                    if majority(c.replicas, ns_size(acks)) {
                        (
                            State { decisions: im_set(i, v, s1.decisions), ..s1 },
                            vec![Output::Journal(Record::Decided(b, i)), Output::Broadcast(Message::Commit(b, i))],
                        )
                    } else {
                        (s1, vec![])
                    }
                } else {
                    (s, vec![])
                }
            }
            None => (s, vec![]),
        }
    } else {
        (s, vec![])
    }
}

// --- Learning.

fn on_commit(b: Ballot, i: Instance, s: State) -> (State, Vec<Output>) {
    if im_has(i, &s.decisions) {
        (s, vec![])
    } else {
        match im_get(i, &s.log) {
            Some(e) => {
                if e.ballot == b {
                    let v = e.value.clone();
                    (State { decisions: im_set(i, v, s.decisions), ..s }, vec![Output::Journal(Record::Decided(b, i))])
                } else {
                    (s, vec![])
                }
            }
            None => (s, vec![]),
        }
    }
}

fn on_execute(s: State) -> (State, Vec<Output>) {
    match im_get(s.executed, &s.decisions).cloned() {
        Some(v) => {
            let i = s.executed;
            (State { executed: n_add(i, 1), ..s }, vec![Output::Deliver(i, v)])
        }
        None => (s, vec![]),
    }
}

/// A ballot that somebody else has promised: follow its owner.
fn on_ballot(b: Ballot, s: State) -> (State, Vec<Output>) {
    if s.promised < b {
        (State { promised: b, role_now: Role::Follower, ..s }, vec![Output::Journal(Record::Ballot(b))])
    } else {
        (s, vec![])
    }
}

fn on_heartbeat(s: State) -> (State, Vec<Output>) {
    let b = s.promised;
    let e = s.executed;
    (s, vec![Output::Broadcast(Message::Alive(b, e))])
}

// --- Catch-up.

fn on_catch_up(dst: Replica, hi: Instance, s: State) -> (State, Vec<Output>) {
    let e = s.executed;
    if e < hi { (s, vec![Output::Send(dst, Message::Query(e, hi))]) } else { (s, vec![]) }
}

fn decision_of(p: (u64, Value)) -> Decision {
    Decision { instance: p.0, value: p.1 }
}

fn on_query(c: Config, src: Replica, lo: Instance, hi: Instance, s: State) -> (State, Vec<Output>) {
    if lo < s.low {
        let k = s.snapshot_at;
        let x = s.snapshot.clone();
        (s, vec![Output::Send(src, Message::Snapshot(k, x))])
    } else {
        let ds = im_range(lo, n_min(hi, n_min(n_add(lo, c.chunk), n_add(s.low, c.span))), &s.decisions)
            .into_iter()
            .map(decision_of)
            .collect::<Vec<_>>();
        (s, vec![Output::Send(src, Message::Learned(ds))])
    }
}

fn learn(c: Config, s: State, d: Decision) -> State {
    if in_span(c, d.instance, &s) && !im_has(d.instance, &s.decisions) {
        State { decisions: im_set(d.instance, d.value, s.decisions), ..s }
    } else {
        s
    }
}

fn on_learned(c: Config, ds: Vec<Decision>, s: State) -> (State, Vec<Output>) {
    (ds.clone().into_iter().fold(s, |s, d| learn(c, s, d)), vec![Output::Journal(Record::Learned(ds))])
}

// --- Snapshots and truncation.

fn install(k: Instance, x: Image, s: State) -> State {
    let s0 = State { low: k, log: im_drop_below(k, s.log), decisions: im_drop_below(k, s.decisions), ..s };
    let s0 = State { executed: k, ..s0 };
    State { snapshot_at: k, snapshot: x, ..s0 }
}

fn on_snapshot(k: Instance, x: Image, s: State) -> (State, Vec<Output>) {
    if s.executed < k {
        let i = n_max(s.next, k);
        (
            install(k, x.clone(), State { next: i, ..s }),
            vec![Output::Journal(Record::Install(k, x.clone())), Output::Install(k, x)],
        )
    } else {
        (s, vec![])
    }
}

/// The own service's snapshot.
fn on_taken(k: Instance, x: Image, s: State) -> (State, Vec<Output>) {
    if s.snapshot_at < k && k <= s.executed {
        (State { snapshot_at: k, snapshot: x.clone(), ..s }, vec![Output::Journal(Record::Snapshot(k, x))])
    } else {
        (s, vec![])
    }
}

/// Never beyond the snapshot: whoever asks for what is forgotten gets that.
fn on_truncate(k: Instance, s: State) -> (State, Vec<Output>) {
    if s.low < k && k <= s.snapshot_at {
        (
            State { low: k, log: im_drop_below(k, s.log), decisions: im_drop_below(k, s.decisions), ..s },
            vec![Output::Journal(Record::Truncate(k))],
        )
    } else {
        (s, vec![])
    }
}

// --- All together.

fn receive(c: Config, self_id: Replica, src: Replica, m: Message, s: State) -> (State, Vec<Output>) {
    match m {
        Message::Prepare(b, k) => on_prepare(c, self_id, src, b, k, s),
        Message::Promise(b, k, votes) => on_promise(c, src, b, k, votes, s),
        Message::Propose(b, i, v) => on_propose(c, self_id, src, b, i, v, s),
        Message::Accept(b, i) => on_accept(c, src, b, i, s),
        Message::Commit(b, i) => on_commit(b, i, s),
        Message::Reject(b) => on_ballot(b, s),
        Message::Alive(b, _) => on_ballot(b, s),
        Message::Query(lo, hi) => on_query(c, src, lo, hi, s),
        Message::Learned(ds) => on_learned(c, ds, s),
        Message::Snapshot(k, x) => on_snapshot(k, x, s),
        Message::Truncated(..) => (s, vec![]),
        Message::Forward(v) => on_forward(c, v, s),
    }
}

/// `step` of the model.
pub fn step(c: Config, self_id: Replica, e: Event, s: State) -> (State, Vec<Output>) {
    match e {
        Event::Receive(src, m) => receive(c, self_id, src, m, s),
        Event::Request(v) => on_request(c, self_id, v, s),
        Event::Suspect => on_suspect(c, self_id, s),
        Event::Heartbeat => on_heartbeat(s),
        Event::Execute => on_execute(s),
        Event::CatchUp(dst, hi) => on_catch_up(dst, hi, s),
        Event::Snapshot(k, x) => on_taken(k, x, s),
        Event::Truncate(k) => on_truncate(k, s),
    }
}

// --- Restart.

/// Must this wait until everything journalled so far, by this step too, is durable? A promise and a vote say "I
/// shall remember"; a prepare says "I have used this ballot". All else rests on what others remember.
pub fn waits(m: &Message) -> bool {
    match m {
        Message::Prepare(..) => true,
        Message::Promise(..) => true,
        Message::Accept(..) => true,
        _ => false,
    }
}

fn remember(b: Ballot, s: State) -> State {
    if s.promised < b { State { promised: b, role_now: Role::Follower, ..s } } else { s }
}

fn replay_vote(b: Ballot, i: Instance, v: Value, s: State) -> State {
    State { log: im_set(i, Entry { ballot: b, value: v, acks: ns_empty() }, s.log), ..s }
}

fn replay_decided(b: Ballot, i: Instance, s: State) -> State {
    match im_get(i, &s.log) {
        Some(e) => {
            if e.ballot == b {
                let v = e.value.clone();
                State { decisions: im_set(i, v, s.decisions), ..s }
            } else {
                s
            }
        }
        None => s,
    }
}

/// A replica that restarts is `recover` of its journal: it follows, and delivers again from its snapshot on.
pub fn replay(c: Config, s: State, r: Record) -> State {
    match r {
        Record::Ballot(b) => remember(b, s),
        Record::Vote(b, i, v) => replay_vote(b, i, v, remember(b, s)),
        Record::Decided(b, i) => replay_decided(b, i, s),
        Record::Learned(ds) => ds.into_iter().fold(s, |s, d| learn(c, s, d)),
        Record::Snapshot(k, x) => {
            let s0 = State { snapshot_at: k, snapshot: x, ..s };
            State { executed: k, ..s0 }
        }
        Record::Install(k, x) => install(k, x, s),
        Record::Truncate(k) => {
            State { low: k, log: im_drop_below(k, s.log), decisions: im_drop_below(k, s.decisions), ..s }
        }
    }
}

/// `recover` of the model.
pub fn recover(c: Config, rs: Vec<Record>) -> State {
    rs.into_iter().fold(init(), |s, r| replay(c, s, r))
}

/// The journal in short: `recover` of these records is as good as `recover` of the whole journal, now and after any
/// further records (see StatementsReplay.v).
fn vote_record(p: (Instance, Entry)) -> Record {
    Record::Vote(p.1.ballot, p.0, p.1.value)
}

/// `checkpoint` of the model.
pub fn checkpoint(c: Config, s: &State) -> Vec<Record> {
    let lo = s.low;
    let hi = n_add(lo, c.span);
    let k = s.snapshot_at;
    let x = s.snapshot.clone();
    let b = s.promised;
    let ds = im_range(lo, hi, &s.decisions).into_iter().map(decision_of).collect::<Vec<_>>();
    list_append(
        vec![Record::Truncate(lo), Record::Snapshot(k, x), Record::Ballot(b), Record::Learned(ds)],
        im_range(lo, hi, &s.log).into_iter().map(vote_record).collect::<Vec<_>>(),
    )
}

/// A message, and how many records must be durable first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delayed {
    /// `until` of the model's delayed.
    pub until: u64,
    /// `output` of the model's delayed.
    pub output: Output,
}

/// `numbered`: records put out since the start. `synced`: how many of them are known to be durable. `waiting`: what
/// waits, in the order in which it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// `numbered` of the model's release.
    pub numbered: u64,
    /// `synced` of the model's release.
    pub synced: u64,
    /// `waiting` of the model's release.
    pub waiting: Vec<Delayed>,
}

/// `no_release` of the model.
pub fn no_release() -> Release {
    Release { numbered: 0, synced: 0, waiting: vec![] }
}

/// The core puts out o: what is performed now? A message goes unless it must wait and a record is not known to be
/// durable.
fn pass_message(must: bool, o: Output, r: Release) -> (Release, Option<Output>) {
    if must && r.synced < r.numbered {
        let k = r.numbered;
        (
            Release {
                numbered: k,
                synced: r.synced,
                waiting: list_append(r.waiting, vec![Delayed { until: k, output: o }]),
            },
            None,
        )
    } else {
        (r, Some(o))
    }
}

/// `pass` of the model.
pub fn pass(o: Output, r: Release) -> (Release, Option<Output>) {
    match o {
        Output::Journal(x) => (Release { numbered: n_add(r.numbered, 1), ..r }, Some(Output::Journal(x))),
        Output::Send(dst, m) => {
            let must = waits(&m);
            pass_message(must, Output::Send(dst, m), r)
        }
        Output::Broadcast(m) => {
            let must = waits(&m);
            pass_message(must, Output::Broadcast(m), r)
        }
        Output::Deliver(i, v) => (r, Some(Output::Deliver(i, v))),
        Output::Install(k, x) => (r, Some(Output::Install(k, x))),
        Output::Return(v) => (r, Some(Output::Return(v))),
    }
}

/// What has waited long enough, and what has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parted {
    /// `ready` of the model's parted.
    pub ready: Vec<Output>,
    /// `rest` of the model's parted.
    pub rest: Vec<Delayed>,
}

fn part(k: u64, p: Parted, d: Delayed) -> Parted {
    if d.until <= k {
        Parted { ready: list_append(p.ready, vec![d.output]), rest: p.rest }
    } else {
        Parted { ready: p.ready, rest: list_append(p.rest, vec![d]) }
    }
}

/// The first k records since the start are durable: what is performed now?
pub fn report(k: u64, r: Release) -> (Release, Vec<Output>) {
    let known = n_max(r.synced, n_min(k, r.numbered));
    let p = r.waiting.into_iter().fold(Parted { ready: vec![], rest: vec![] }, |p, d| part(known, p, d));
    (Release { numbered: r.numbered, synced: known, waiting: p.rest }, p.ready)
}

/// `session` of the model.
pub type Session = u64;

/// `sequence` of the model.
pub type Sequence = u64;

/// `verdict` of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// `Fresh`: execute it.
    Fresh,
    /// `Repeated`: it was executed already.
    Repeated,
    /// `Early`: an earlier request of its session is missing.
    Early,
    /// `Unknown`: never opened, or forgotten.
    Unknown,
}

/// `opened`: how many sessions were opened so far; `last`: the last request executed of those that are open.
#[derive(Debug, PartialEq, Eq)]
pub struct Sessions {
    /// `opened` of the model's sessions.
    pub opened: Session,
    /// `last` of the model's sessions.
    pub last: SessionMap<Sequence>,
}

/// `no_sessions` of the model.
pub fn no_sessions() -> Sessions {
    Sessions { opened: 0, last: sm_empty() }
}

/// `open_session` of the model.
pub fn open_session(s: Sessions) -> (Sessions, Session) {
    let id = n_add(s.opened, 1);
    (Sessions { opened: id, last: sm_set(id, 0, s.last) }, id)
}

/// `forget_session` of the model.
pub fn forget_session(id: Session, s: Sessions) -> Sessions {
    Sessions { opened: s.opened, last: sm_remove(id, s.last) }
}

/// `admit` of the model.
pub fn admit(id: Session, q: Sequence, s: Sessions) -> (Sessions, Verdict) {
    match sm_get(id, &s.last).copied() {
        Some(l) => {
            if q == n_add(l, 1) {
                (Sessions { opened: s.opened, last: sm_set(id, q, s.last) }, Verdict::Fresh)
            } else if q <= l {
                (s, Verdict::Repeated)
            } else {
                (s, Verdict::Early)
            }
        }
        None => (s, Verdict::Unknown),
    }
}

// --- What becomes of a request.

/// What it asks of the sessions: a new one, or to be executed as number q of session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// `Opens`.
    Opens,
    /// `Calls`.
    Calls(Session, Sequence),
}

/// `turn` of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// `Opened(id)`: a new session, for its client.
    Opened(Session),
    /// `Run`: hand it to the service, and keep the answer.
    Run,
    /// `Again`: give the answer that was kept, if it still is.
    Again,
    /// `Early`: refuse it: an earlier one is missing.
    Early,
    /// `Unknown`: refuse it: its session is not there.
    Unknown,
    /// `Foreign`: refuse it: it does not come from whoever opened the session.
    Foreign,
}

/// `owned`: does it come from whoever opened its session, as far as is known?
pub fn take_turn(owned: bool, d: Demand, s: Sessions) -> (Sessions, Turn) {
    match d {
        Demand::Opens => {
            let p = open_session(s);
            let id = p.1;
            (p.0, Turn::Opened(id))
        }
        Demand::Calls(id, q) => {
            if owned {
                let p = admit(id, q, s);
                match p.1 {
                    Verdict::Fresh => (p.0, Turn::Run),
                    Verdict::Repeated => (p.0, Turn::Again),
                    Verdict::Early => (p.0, Turn::Early),
                    Verdict::Unknown => (p.0, Turn::Unknown),
                }
            } else {
                (s, Turn::Foreign)
            }
        }
    }
}
