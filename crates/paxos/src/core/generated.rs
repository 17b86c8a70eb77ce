//! Printed from proofs/paxos/Model.v and Sessions.v; not to be edited.  CI regenerates and compares.
#![allow(clippy::all)]
#![allow(unused)]
use super::prim::{self, Image, InstanceMap, ReplicaSet, SessionMap, Value};

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq, Copy)]
pub struct Config {
    /// As in the model.
    pub replicas: u64,
    /// As in the model.
    pub span: u64,
    /// As in the model.
    pub window: u64,
    /// As in the model.
    pub chunk: u64,
}

/// An alias of the model.
pub type Replica = u64;

/// An alias of the model.
pub type Ballot = u64;

/// An alias of the model.
pub type Instance = u64;

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// As in the model.
    pub instance: Instance,
    /// As in the model.
    pub ballot: Ballot,
    /// As in the model.
    pub value: Value,
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// As in the model.
    pub instance: Instance,
    /// As in the model.
    pub value: Value,
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// As in the model.
    Prepare(Ballot, Instance),
    /// As in the model.
    Promise(Ballot, Instance, Vec<Vote>),
    /// As in the model.
    Propose(Ballot, Instance, Value),
    /// As in the model.
    Accept(Ballot, Instance),
    /// As in the model.
    Commit(Ballot, Instance),
    /// As in the model.
    Reject(Ballot),
    /// As in the model.
    Alive(Ballot, Instance),
    /// As in the model.
    Query(Instance, Instance),
    /// As in the model.
    Learned(Vec<Decision>),
    /// As in the model.
    Snapshot(Instance, Image),
    /// As in the model.
    Truncated(Instance),
    /// As in the model.
    Forward(Value),
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// As in the model.
    Receive(Replica, Message),
    /// As in the model.
    Request(Value),
    /// As in the model.
    Suspect,
    /// As in the model.
    Heartbeat,
    /// As in the model.
    Execute,
    /// As in the model.
    CatchUp(Replica, Instance),
    /// As in the model.
    Snapshot(Instance, Image),
    /// As in the model.
    Truncate(Instance),
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq, Copy)]
pub enum Role {
    /// As in the model.
    Follower,
    /// As in the model.
    Preparing,
    /// As in the model.
    Leading,
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// As in the model.
    pub ballot: Ballot,
    /// As in the model.
    pub value: Value,
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As in the model.
    pub ballot: Ballot,
    /// As in the model.
    pub value: Value,
    /// As in the model.
    pub acks: ReplicaSet,
}

/// As in the model.
#[derive(Debug)]
pub struct State {
    /// As in the model.
    pub promised: Ballot,
    /// As in the model.
    pub role_now: Role,
    /// As in the model.
    pub low: Instance,
    /// As in the model.
    pub executed: Instance,
    /// As in the model.
    pub next: Instance,
    /// As in the model.
    pub first: Instance,
    /// As in the model.
    pub promises: ReplicaSet,
    /// As in the model.
    pub candidates: InstanceMap<Candidate>,
    /// As in the model.
    pub log: InstanceMap<Entry>,
    /// As in the model.
    pub decisions: InstanceMap<Value>,
    /// As in the model.
    pub snapshot_at: Instance,
    /// As in the model.
    pub snapshot: Image,
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// As in the model.
    Ballot(Ballot),
    /// As in the model.
    Vote(Ballot, Instance, Value),
    /// As in the model.
    Decided(Ballot, Instance),
    /// As in the model.
    Learned(Vec<Decision>),
    /// As in the model.
    Snapshot(Instance, Image),
    /// As in the model.
    Install(Instance, Image),
    /// As in the model.
    Truncate(Instance),
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// As in the model.
    Journal(Record),
    /// As in the model.
    Send(Replica, Message),
    /// As in the model.
    Broadcast(Message),
    /// As in the model.
    Deliver(Instance, Value),
    /// As in the model.
    Install(Instance, Image),
    /// As in the model.
    Return(Value),
}

/// As in the model.
pub fn vote_of(p: (u64, Entry)) -> Vote {
    Vote { instance: p.0, ballot: p.1.ballot, value: p.1.value }
}

/// As in the model.
pub fn votes_from(c: Config, k: Instance, s: &State) -> Vec<Vote> {
    prim::im_range(k, prim::n_add(s.low.clone(), c.span), &s.log).into_iter().map(|x| vote_of(x)).collect::<Vec<_>>()
}

/// As in the model.
pub fn on_prepare(c: Config, self_id: Replica, src: Replica, b: Ballot, k: Instance, s: State) -> (State, Vec<Output>) {
    if (self_id < c.replicas) {
        if (s.promised < b) {
            if (k < s.low) {
                let l = s.low;
                (s, vec![Output::Send(src, Message::Truncated(l))])
            } else {
                let votes = votes_from(c, k, &s);
                (
                    State {
                        promised: b,
                        role_now: Role::Follower,
                        low: s.low,
                        executed: s.executed,
                        next: s.next,
                        first: s.first,
                        promises: s.promises,
                        candidates: s.candidates,
                        log: s.log,
                        decisions: s.decisions,
                        snapshot_at: s.snapshot_at,
                        snapshot: s.snapshot,
                    },
                    vec![Output::Journal(Record::Ballot(b)), Output::Send(src, Message::Promise(b, k, votes))],
                )
            }
        } else {
            if (b < s.promised) {
                let b_p = s.promised;
                (s, vec![Output::Send(src, Message::Reject(b_p))])
            } else {
                (s, vec![])
            }
        }
    } else {
        (s, vec![])
    }
}

/// As in the model.
pub fn within(lo: Instance, hi: Instance, votes: Vec<Vote>) -> bool {
    votes.into_iter().fold(true, |a, v| ((a && (lo <= v.instance.clone())) && (v.instance < hi)))
}

/// As in the model.
pub fn upper(votes: Vec<Vote>, k: Instance) -> Instance {
    votes.into_iter().fold(k, |a, v| prim::n_max(a, prim::n_add(v.instance, 1)))
}

/// As in the model.
pub fn merge_vote(m: InstanceMap<Candidate>, v: Vote) -> InstanceMap<Candidate> {
    match prim::im_get(v.instance, &m) {
        Some(x) => {
            if (x.ballot < v.ballot) {
                prim::im_set(v.instance, Candidate { ballot: v.ballot, value: v.value }, m)
            } else {
                m
            }
        }
        None => prim::im_set(v.instance, Candidate { ballot: v.ballot, value: v.value }, m),
    }
}

/// As in the model.
pub fn merge_votes(votes: Vec<Vote>, m: InstanceMap<Candidate>) -> InstanceMap<Candidate> {
    votes.into_iter().fold(m, |a, x| merge_vote(a, x))
}

/// As in the model.
pub fn majority(n0: u64, k: u64) -> bool {
    (n0 < prim::n_mul(2, k))
}

/// As in the model.
pub fn pick(i: Instance, m: &InstanceMap<Candidate>) -> Value {
    match prim::im_get(i, m) {
        Some(x) => x.value,
        None => prim::noop(),
    }
}

/// As in the model.
pub fn reproposals(b: Ballot, lo: Instance, hi: Instance, m: &InstanceMap<Candidate>) -> Vec<Output> {
    prim::n_range(lo, hi)
        .into_iter()
        .map(|i| Output::Broadcast(Message::Propose(b, i.clone(), pick(i, m))))
        .collect::<Vec<_>>()
}

/// As in the model.
pub fn on_promise(c: Config, src: Replica, b: Ballot, k: Instance, votes: Vec<Vote>, s: State) -> (State, Vec<Output>) {
    match s.role_now {
        Role::Follower => (s, vec![]),
        Role::Preparing => {
            if (((((b == s.promised) && (k == s.first)) && (src < c.replicas)) && !prim::ns_mem(src, s.promises))
                && within(k, prim::n_add(k, c.span), votes.clone()))
            {
                let hi = upper(votes.clone(), s.next);
                let m = merge_votes(votes, s.candidates);
                let acks = prim::ns_add(src, s.promises);
                if majority(c.replicas, prim::ns_size(acks)) {
                    let outs = reproposals(b, k, hi, &m);
                    (
                        State {
                            promised: s.promised,
                            role_now: Role::Leading,
                            low: s.low,
                            executed: s.executed,
                            next: hi,
                            first: k,
                            promises: acks,
                            candidates: prim::im_empty(),
                            log: s.log,
                            decisions: s.decisions,
                            snapshot_at: s.snapshot_at,
                            snapshot: s.snapshot,
                        },
                        outs,
                    )
                } else {
                    (
                        State {
                            promised: s.promised,
                            role_now: Role::Preparing,
                            low: s.low,
                            executed: s.executed,
                            next: hi,
                            first: k,
                            promises: acks,
                            candidates: m,
                            log: s.log,
                            decisions: s.decisions,
                            snapshot_at: s.snapshot_at,
                            snapshot: s.snapshot,
                        },
                        vec![],
                    )
                }
            } else {
                (s, vec![])
            }
        }
        Role::Leading => (s, vec![]),
    }
}

/// As in the model.
pub fn accept(src: Replica, b: Ballot, i: Instance, v: Value, s: State) -> (State, Vec<Output>) {
    match prim::im_get(i, &s.log) {
        Some(e) => {
            if (e.ballot == b) {
                (s, vec![Output::Send(src, Message::Accept(b, i))])
            } else {
                (
                    State {
                        promised: s.promised,
                        role_now: s.role_now,
                        low: s.low,
                        executed: s.executed,
                        next: s.next,
                        first: s.first,
                        promises: s.promises,
                        candidates: s.candidates,
                        log: prim::im_set(i, Entry { ballot: b, value: v.clone(), acks: prim::ns_empty() }, s.log),
                        decisions: s.decisions,
                        snapshot_at: s.snapshot_at,
                        snapshot: s.snapshot,
                    },
                    vec![Output::Journal(Record::Vote(b, i, v)), Output::Send(src, Message::Accept(b, i))],
                )
            }
        }
        None => (
            State {
                promised: s.promised,
                role_now: s.role_now,
                low: s.low,
                executed: s.executed,
                next: s.next,
                first: s.first,
                promises: s.promises,
                candidates: s.candidates,
                log: prim::im_set(i, Entry { ballot: b, value: v.clone(), acks: prim::ns_empty() }, s.log),
                decisions: s.decisions,
                snapshot_at: s.snapshot_at,
                snapshot: s.snapshot,
            },
            vec![Output::Journal(Record::Vote(b, i, v)), Output::Send(src, Message::Accept(b, i))],
        ),
    }
}

/// As in the model.
pub fn on_propose(
    c: Config,
    self_id: Replica,
    src: Replica,
    b: Ballot,
    i: Instance,
    v: Value,
    s: State,
) -> (State, Vec<Output>) {
    if (self_id < c.replicas) {
        if (i < s.low) {
            let l = s.low;
            (s, vec![Output::Send(src, Message::Truncated(l))])
        } else {
            if (prim::n_add(s.low, c.span) <= i) {
                (s, vec![])
            } else {
                if (s.promised == b) {
                    accept(src, b, i, v, s)
                } else {
                    if (s.promised < b) {
                        accept(
                            src,
                            b,
                            i,
                            v,
                            State {
                                promised: b,
                                role_now: Role::Follower,
                                low: s.low,
                                executed: s.executed,
                                next: s.next,
                                first: s.first,
                                promises: s.promises,
                                candidates: s.candidates,
                                log: s.log,
                                decisions: s.decisions,
                                snapshot_at: s.snapshot_at,
                                snapshot: s.snapshot,
                            },
                        )
                    } else {
                        let b_p = s.promised;
                        (s, vec![Output::Send(src, Message::Reject(b_p))])
                    }
                }
            }
        }
    } else {
        (s, vec![])
    }
}

/// As in the model.
pub fn on_accept(c: Config, src: Replica, b: Ballot, i: Instance, s: State) -> (State, Vec<Output>) {
    if ((src < c.replicas) && !prim::im_has(i, &s.decisions)) {
        match prim::im_get(i, &s.log) {
            Some(e) => {
                if (e.ballot == b) {
                    let v = e.value;
                    let acks = prim::ns_add(src, e.acks);
                    let s1 = State {
                        promised: s.promised,
                        role_now: s.role_now,
                        low: s.low,
                        executed: s.executed,
                        next: s.next,
                        first: s.first,
                        promises: s.promises,
                        candidates: s.candidates,
                        log: prim::im_set(i, Entry { ballot: b, value: v.clone(), acks: acks }, s.log),
                        decisions: s.decisions,
                        snapshot_at: s.snapshot_at,
                        snapshot: s.snapshot,
                    };
                    if majority(c.replicas, prim::ns_size(acks)) {
                        (
                            State {
                                promised: s1.promised,
                                role_now: s1.role_now,
                                low: s1.low,
                                executed: s1.executed,
                                next: s1.next,
                                first: s1.first,
                                promises: s1.promises,
                                candidates: s1.candidates,
                                log: s1.log,
                                decisions: prim::im_set(i, v, s1.decisions),
                                snapshot_at: s1.snapshot_at,
                                snapshot: s1.snapshot,
                            },
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

/// As in the model.
pub fn on_commit(b: Ballot, i: Instance, s: State) -> (State, Vec<Output>) {
    if prim::im_has(i, &s.decisions) {
        (s, vec![])
    } else {
        match prim::im_get(i, &s.log) {
            Some(e) => {
                if (e.ballot == b) {
                    let v = e.value;
                    (
                        State {
                            promised: s.promised,
                            role_now: s.role_now,
                            low: s.low,
                            executed: s.executed,
                            next: s.next,
                            first: s.first,
                            promises: s.promises,
                            candidates: s.candidates,
                            log: s.log,
                            decisions: prim::im_set(i, v, s.decisions),
                            snapshot_at: s.snapshot_at,
                            snapshot: s.snapshot,
                        },
                        vec![Output::Journal(Record::Decided(b, i))],
                    )
                } else {
                    (s, vec![])
                }
            }
            None => (s, vec![]),
        }
    }
}

/// As in the model.
pub fn on_ballot(b: Ballot, s: State) -> (State, Vec<Output>) {
    if (s.promised < b) {
        (
            State {
                promised: b,
                role_now: Role::Follower,
                low: s.low,
                executed: s.executed,
                next: s.next,
                first: s.first,
                promises: s.promises,
                candidates: s.candidates,
                log: s.log,
                decisions: s.decisions,
                snapshot_at: s.snapshot_at,
                snapshot: s.snapshot,
            },
            vec![Output::Journal(Record::Ballot(b))],
        )
    } else {
        (s, vec![])
    }
}

/// As in the model.
pub fn decision_of(p: (u64, Value)) -> Decision {
    Decision { instance: p.0, value: p.1 }
}

/// As in the model.
pub fn on_query(c: Config, src: Replica, lo: Instance, hi: Instance, s: State) -> (State, Vec<Output>) {
    if (lo < s.low) {
        let k = s.snapshot_at;
        let x = s.snapshot.clone();
        (s, vec![Output::Send(src, Message::Snapshot(k, x))])
    } else {
        let ds = prim::im_range(
            lo.clone(),
            prim::n_min(hi, prim::n_min(prim::n_add(lo, c.chunk), prim::n_add(s.low.clone(), c.span))),
            &s.decisions,
        )
        .into_iter()
        .map(|x| decision_of(x))
        .collect::<Vec<_>>();
        (s, vec![Output::Send(src, Message::Learned(ds))])
    }
}

/// As in the model.
pub fn in_span(c: Config, i: Instance, s: &State) -> bool {
    ((s.low <= i) && (i < prim::n_add(s.low, c.span)))
}

/// As in the model.
pub fn learn(c: Config, s: State, d: Decision) -> State {
    if (in_span(c, d.instance, &s) && !prim::im_has(d.instance, &s.decisions)) {
        State {
            promised: s.promised,
            role_now: s.role_now,
            low: s.low,
            executed: s.executed,
            next: s.next,
            first: s.first,
            promises: s.promises,
            candidates: s.candidates,
            log: s.log,
            decisions: prim::im_set(d.instance, d.value, s.decisions),
            snapshot_at: s.snapshot_at,
            snapshot: s.snapshot,
        }
    } else {
        s
    }
}

/// As in the model.
pub fn on_learned(c: Config, ds: Vec<Decision>, s: State) -> (State, Vec<Output>) {
    (ds.clone().into_iter().fold(s, |a, x| learn(c, a, x)), vec![Output::Journal(Record::Learned(ds))])
}

/// As in the model.
pub fn install(k: Instance, x: Image, s: State) -> State {
    let s0 = {
        let s0 = {
            let s0 = State {
                promised: s.promised,
                role_now: s.role_now,
                low: k,
                executed: s.executed,
                next: s.next,
                first: s.first,
                promises: s.promises,
                candidates: s.candidates,
                log: prim::im_drop_below(k, s.log),
                decisions: prim::im_drop_below(k, s.decisions),
                snapshot_at: s.snapshot_at,
                snapshot: s.snapshot,
            };
            State {
                promised: s0.promised,
                role_now: s0.role_now,
                low: s0.low,
                executed: s0.executed,
                next: prim::n_max(s.next, k),
                first: s0.first,
                promises: s0.promises,
                candidates: s0.candidates,
                log: s0.log,
                decisions: s0.decisions,
                snapshot_at: s0.snapshot_at,
                snapshot: s0.snapshot,
            }
        };
        State {
            promised: s0.promised,
            role_now: s0.role_now,
            low: s0.low,
            executed: k,
            next: s0.next,
            first: s0.first,
            promises: s0.promises,
            candidates: s0.candidates,
            log: s0.log,
            decisions: s0.decisions,
            snapshot_at: s0.snapshot_at,
            snapshot: s0.snapshot,
        }
    };
    State {
        promised: s0.promised,
        role_now: s0.role_now,
        low: s0.low,
        executed: s0.executed,
        next: s0.next,
        first: s0.first,
        promises: s0.promises,
        candidates: s0.candidates,
        log: s0.log,
        decisions: s0.decisions,
        snapshot_at: k,
        snapshot: x,
    }
}

/// As in the model.
pub fn on_snapshot(k: Instance, x: Image, s: State) -> (State, Vec<Output>) {
    if (s.executed < k) {
        (install(k, x.clone(), s), vec![Output::Journal(Record::Install(k, x.clone())), Output::Install(k, x)])
    } else {
        (s, vec![])
    }
}

/// As in the model.
pub fn has_room(c: Config, s: &State) -> bool {
    ((s.next < prim::n_add(s.executed, c.window)) && (s.next < prim::n_add(s.low, c.span)))
}

/// As in the model.
pub fn propose(c: Config, v: Value, s: State) -> (State, Vec<Output>) {
    if has_room(c, &s) {
        let b = s.promised;
        let i = s.next;
        (
            State {
                promised: s.promised,
                role_now: s.role_now,
                low: s.low,
                executed: s.executed,
                next: prim::n_add(i, 1),
                first: s.first,
                promises: s.promises,
                candidates: s.candidates,
                log: s.log,
                decisions: s.decisions,
                snapshot_at: s.snapshot_at,
                snapshot: s.snapshot,
            },
            vec![Output::Broadcast(Message::Propose(b, i, v))],
        )
    } else {
        (s, vec![Output::Return(v)])
    }
}

/// As in the model.
pub fn on_forward(c: Config, v: Value, s: State) -> (State, Vec<Output>) {
    match s.role_now {
        Role::Follower => (s, vec![]),
        Role::Preparing => (s, vec![]),
        Role::Leading => propose(c, v, s),
    }
}

/// As in the model.
pub fn receive(c: Config, self_id: Replica, src: Replica, m: Message, s: State) -> (State, Vec<Output>) {
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
        Message::Truncated(_) => (s, vec![]),
        Message::Forward(v) => on_forward(c, v, s),
    }
}

/// As in the model.
pub fn owner(n0: u64, b: Ballot) -> Replica {
    prim::n_mod(b, n0)
}

/// As in the model.
pub fn on_request(c: Config, self_id: Replica, v: Value, s: State) -> (State, Vec<Output>) {
    match s.role_now {
        Role::Follower => {
            let leader = owner(c.replicas, s.promised);
            if (leader == self_id) {
                (s, vec![Output::Return(v)])
            } else {
                (s, vec![Output::Send(leader, Message::Forward(v))])
            }
        }
        Role::Preparing => (s, vec![Output::Return(v)]),
        Role::Leading => propose(c, v, s),
    }
}

/// As in the model.
pub fn next_ballot(n0: u64, self_id: Replica, b: Ballot) -> Ballot {
    prim::n_add(prim::n_mul(prim::n_add(prim::n_div(b, n0), 1), n0), self_id)
}

/// As in the model.
pub fn on_suspect(c: Config, self_id: Replica, s: State) -> (State, Vec<Output>) {
    if (self_id < c.replicas) {
        let b = next_ballot(c.replicas, self_id, s.promised);
        let k = prim::n_max(s.executed, s.low);
        let votes = votes_from(c, k, &s);
        (
            State {
                promised: b,
                role_now: Role::Preparing,
                low: s.low,
                executed: s.executed,
                next: k,
                first: k,
                promises: prim::ns_empty(),
                candidates: prim::im_empty(),
                log: s.log,
                decisions: s.decisions,
                snapshot_at: s.snapshot_at,
                snapshot: s.snapshot,
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

/// As in the model.
pub fn on_heartbeat(s: State) -> (State, Vec<Output>) {
    let b = s.promised;
    let e = s.executed;
    (s, vec![Output::Broadcast(Message::Alive(b, e))])
}

/// As in the model.
pub fn on_execute(s: State) -> (State, Vec<Output>) {
    match prim::im_get(s.executed, &s.decisions) {
        Some(v) => {
            let i = s.executed;
            (
                State {
                    promised: s.promised,
                    role_now: s.role_now,
                    low: s.low,
                    executed: prim::n_add(i, 1),
                    next: s.next,
                    first: s.first,
                    promises: s.promises,
                    candidates: s.candidates,
                    log: s.log,
                    decisions: s.decisions,
                    snapshot_at: s.snapshot_at,
                    snapshot: s.snapshot,
                },
                vec![Output::Deliver(i, v)],
            )
        }
        None => (s, vec![]),
    }
}

/// As in the model.
pub fn on_catch_up(dst: Replica, hi: Instance, s: State) -> (State, Vec<Output>) {
    let e = s.executed;
    if (e < hi) { (s, vec![Output::Send(dst, Message::Query(e, hi))]) } else { (s, vec![]) }
}

/// As in the model.
pub fn on_taken(k: Instance, x: Image, s: State) -> (State, Vec<Output>) {
    if ((s.snapshot_at < k) && (k <= s.executed)) {
        (
            State {
                promised: s.promised,
                role_now: s.role_now,
                low: s.low,
                executed: s.executed,
                next: s.next,
                first: s.first,
                promises: s.promises,
                candidates: s.candidates,
                log: s.log,
                decisions: s.decisions,
                snapshot_at: k,
                snapshot: x.clone(),
            },
            vec![Output::Journal(Record::Snapshot(k, x))],
        )
    } else {
        (s, vec![])
    }
}

/// As in the model.
pub fn on_truncate(k: Instance, s: State) -> (State, Vec<Output>) {
    if ((s.low < k) && (k <= s.snapshot_at)) {
        (
            State {
                promised: s.promised,
                role_now: s.role_now,
                low: k,
                executed: s.executed,
                next: s.next,
                first: s.first,
                promises: s.promises,
                candidates: s.candidates,
                log: prim::im_drop_below(k, s.log),
                decisions: prim::im_drop_below(k, s.decisions),
                snapshot_at: s.snapshot_at,
                snapshot: s.snapshot,
            },
            vec![Output::Journal(Record::Truncate(k))],
        )
    } else {
        (s, vec![])
    }
}

/// As in the model.
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

/// As in the model.
pub fn init() -> State {
    State {
        promised: 0,
        role_now: Role::Follower,
        low: 0,
        executed: 0,
        next: 0,
        first: 0,
        promises: prim::ns_empty(),
        candidates: prim::im_empty(),
        log: prim::im_empty(),
        decisions: prim::im_empty(),
        snapshot_at: 0,
        snapshot: prim::blank(),
    }
}

/// As in the model.
pub fn waits(m: &Message) -> bool {
    match m {
        Message::Prepare(_, _) => true,
        Message::Promise(_, _, _) => true,
        Message::Propose(_, _, _) => false,
        Message::Accept(_, _) => true,
        Message::Commit(_, _) => false,
        Message::Reject(_) => false,
        Message::Alive(_, _) => false,
        Message::Query(_, _) => false,
        Message::Learned(_) => false,
        Message::Snapshot(_, _) => false,
        Message::Truncated(_) => false,
        Message::Forward(_) => false,
    }
}

/// As in the model.
pub fn remember(b: Ballot, s: State) -> State {
    if (s.promised < b) {
        State {
            promised: b,
            role_now: Role::Follower,
            low: s.low,
            executed: s.executed,
            next: s.next,
            first: s.first,
            promises: s.promises,
            candidates: s.candidates,
            log: s.log,
            decisions: s.decisions,
            snapshot_at: s.snapshot_at,
            snapshot: s.snapshot,
        }
    } else {
        s
    }
}

/// As in the model.
pub fn replay_vote(b: Ballot, i: Instance, v: Value, s: State) -> State {
    State {
        promised: s.promised,
        role_now: s.role_now,
        low: s.low,
        executed: s.executed,
        next: s.next,
        first: s.first,
        promises: s.promises,
        candidates: s.candidates,
        log: prim::im_set(i, Entry { ballot: b, value: v, acks: prim::ns_empty() }, s.log),
        decisions: s.decisions,
        snapshot_at: s.snapshot_at,
        snapshot: s.snapshot,
    }
}

/// As in the model.
pub fn replay_decided(b: Ballot, i: Instance, s: State) -> State {
    match prim::im_get(i, &s.log) {
        Some(e) => {
            if (e.ballot == b) {
                let v = e.value;
                State {
                    promised: s.promised,
                    role_now: s.role_now,
                    low: s.low,
                    executed: s.executed,
                    next: s.next,
                    first: s.first,
                    promises: s.promises,
                    candidates: s.candidates,
                    log: s.log,
                    decisions: prim::im_set(i, v, s.decisions),
                    snapshot_at: s.snapshot_at,
                    snapshot: s.snapshot,
                }
            } else {
                s
            }
        }
        None => s,
    }
}

/// As in the model.
pub fn replay(c: Config, s: State, r: Record) -> State {
    match r {
        Record::Ballot(b) => remember(b, s),
        Record::Vote(b, i, v) => replay_vote(b, i, v, remember(b, s)),
        Record::Decided(b, i) => replay_decided(b, i, s),
        Record::Learned(ds) => ds.into_iter().fold(s, |a, x| learn(c, a, x)),
        Record::Snapshot(k, x) => {
            let s0 = State {
                promised: s.promised,
                role_now: s.role_now,
                low: s.low,
                executed: s.executed,
                next: s.next,
                first: s.first,
                promises: s.promises,
                candidates: s.candidates,
                log: s.log,
                decisions: s.decisions,
                snapshot_at: k,
                snapshot: x,
            };
            State {
                promised: s0.promised,
                role_now: s0.role_now,
                low: s0.low,
                executed: k,
                next: s0.next,
                first: s0.first,
                promises: s0.promises,
                candidates: s0.candidates,
                log: s0.log,
                decisions: s0.decisions,
                snapshot_at: s0.snapshot_at,
                snapshot: s0.snapshot,
            }
        }
        Record::Install(k, x) => install(k, x, s),
        Record::Truncate(k) => State {
            promised: s.promised,
            role_now: s.role_now,
            low: k,
            executed: s.executed,
            next: s.next,
            first: s.first,
            promises: s.promises,
            candidates: s.candidates,
            log: prim::im_drop_below(k, s.log),
            decisions: prim::im_drop_below(k, s.decisions),
            snapshot_at: s.snapshot_at,
            snapshot: s.snapshot,
        },
    }
}

/// As in the model.
pub fn recover(c: Config, rs: Vec<Record>) -> State {
    rs.into_iter().fold(init(), |a, x| replay(c, a, x))
}

/// An alias of the model.
pub type Session = u64;

/// An alias of the model.
pub type Sequence = u64;

/// As in the model.
#[derive(Debug)]
pub struct Sessions {
    /// As in the model.
    pub opened: Session,
    /// As in the model.
    pub last: SessionMap<Sequence>,
}

/// As in the model.
pub fn open_session(s: Sessions) -> (Sessions, Session) {
    let id = prim::n_add(s.opened, 1);
    (Sessions { opened: id, last: prim::sm_set(id, 0, s.last) }, id)
}

/// As in the model.
pub fn forget_session(id: Session, s: Sessions) -> Sessions {
    Sessions { opened: s.opened, last: prim::sm_remove(id, s.last) }
}

/// As in the model.
#[derive(Debug, Clone, PartialEq, Eq, Copy)]
pub enum Verdict {
    /// As in the model.
    Fresh,
    /// As in the model.
    Repeated,
    /// As in the model.
    Early,
    /// As in the model.
    Unknown,
}

/// As in the model.
pub fn admit(id: Session, q: Sequence, s: Sessions) -> (Sessions, Verdict) {
    match prim::sm_get(id, &s.last) {
        Some(l) => {
            if (q == prim::n_add(l.clone(), 1)) {
                (Sessions { opened: s.opened, last: prim::sm_set(id, q, s.last) }, Verdict::Fresh)
            } else {
                if (q <= l) { (s, Verdict::Repeated) } else { (s, Verdict::Early) }
            }
        }
        None => (s, Verdict::Unknown),
    }
}

/// As in the model.
pub fn no_sessions() -> Sessions {
    Sessions { opened: 0, last: prim::sm_empty() }
}
