//! The printed core under the commands: the twin of `oracle.ml`.

use paxos::core::generated::{
    Config, Output, Record, Release, Sessions, State, admit, checkpoint, forget_session, init, no_release, no_sessions,
    open_session, pass, recover, report, step, take_turn,
};
use paxos::core::prim::{
    InstanceMap, ReplicaSet, SessionMap, im_drop_below, im_empty, im_get, im_has, im_range, im_set, list_append, n_add,
    n_div, n_max, n_min, n_mod, n_mul, n_range, ns_add, ns_empty, ns_mem, ns_size, sm_empty, sm_get, sm_remove, sm_set,
};

use crate::{Command, Digest};

/// Both factors of a tried product are below this, so that it fits OCaml's int.
const FACTORS: u64 = 0xff_ffff;

/// One replica.
#[derive(Debug)]
pub struct Replica {
    /// As the last step left it. Taken out only while a step replaces it.
    state: Option<State>,
    /// What it must not forget.
    journal: Vec<Record>,
    /// What waits for the journal. Taken out only while a step replaces it.
    release: Option<Release>,
}

impl Replica {
    fn new() -> Self {
        Self { state: Some(init()), journal: Vec::new(), release: Some(no_release()) }
    }

    /// As the last step left it.
    pub fn state(&self) -> &State {
        self.state.as_ref().expect("no step is under way")
    }

    /// What waits for the journal, and how many records it knows of.
    pub fn release(&self) -> &Release {
        self.release.as_ref().expect("no step is under way")
    }

    fn pass(&mut self, outputs: &[Output], digest: &mut Digest) {
        let mut release = self.release.take().expect("no step is under way");
        for output in outputs {
            let (after, now) = pass(output.clone(), release);
            release = after;
            digest.number(u64::from(now.is_some()));
            now.iter().for_each(|output| digest.output(output));
        }
        self.release = Some(release);
    }

    fn report(&mut self, records: u64, digest: &mut Digest) -> Vec<Output> {
        let (release, now) = report(records, self.release.take().expect("no step is under way"));
        self.release = Some(release);
        digest.list(&now, Digest::output);
        now
    }
}

/// Everything that commands act on.
#[derive(Debug)]
pub struct Machine {
    /// Of all replicas.
    pub config: Config,
    /// The replicas.
    pub replicas: Vec<Replica>,
    /// Everything that was put out.
    pub digest: Digest,
    sessions: Option<Sessions>,
    instances: Option<InstanceMap<u64>>,
    set: ReplicaSet,
    map: Option<SessionMap<u64>>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            config: Config { replicas: 0, span: 0, window: 0, chunk: 0 },
            replicas: Vec::new(),
            digest: Digest::default(),
            sessions: Some(no_sessions()),
            instances: Some(im_empty()),
            set: ns_empty(),
            map: Some(sm_empty()),
        }
    }
}

impl Machine {
    /// Runs a command; a step gives its outputs, a report those that it lets go.
    pub fn run(&mut self, command: Command) -> Vec<Output> {
        match command {
            Command::Step(id, event) => {
                let replica = &mut self.replicas[id as usize];
                let state = replica.state.take().expect("no step is under way");
                let (state, outputs) = step(self.config, id, event, state);
                let records = outputs.iter().filter_map(|output| match output {
                    Output::Journal(record) => Some(record.clone()),
                    _ => None,
                });
                replica.journal.extend(records);
                self.digest.list(&outputs, Digest::output);
                self.digest.scalars(&state);
                replica.state = Some(state);
                replica.pass(&outputs, &mut self.digest);
                return outputs;
            }
            Command::Start(count, config) => {
                let replicas = (0..count).map(|_| Replica::new()).collect();
                *self = Self { config, replicas, digest: self.digest, ..Self::default() };
            }
            Command::Restart(id) => {
                let replica = &mut self.replicas[id as usize];
                let state = recover(self.config, replica.journal.clone());
                self.digest.state(self.config, &state);
                replica.state = Some(state);
                replica.release = Some(no_release());
            }
            Command::Report(id, records) => return self.replicas[id as usize].report(records, &mut self.digest),
            Command::Shorten(id) => {
                let replica = &mut self.replicas[id as usize];
                replica.journal = checkpoint(self.config, replica.state());
                self.digest.list(&replica.journal, Digest::record);
            }
            Command::Mark => self.replicas.iter().for_each(|replica| {
                self.digest.state(self.config, replica.state());
                self.digest.release(replica.release());
            }),
            Command::Open | Command::Forget(_) | Command::Admit(..) | Command::Turn(..) => self.session(&command),
            _ => self.primitive(&command),
        }
        Vec::new()
    }

    fn session(&mut self, command: &Command) {
        let sessions = self.sessions.take().expect("no command is under way");
        self.sessions = Some(match command {
            Command::Open => {
                let (sessions, id) = open_session(sessions);
                self.digest.number(id);
                sessions
            }
            Command::Forget(id) => forget_session(*id, sessions),
            Command::Admit(id, sequence) => {
                let (sessions, verdict) = admit(*id, *sequence, sessions);
                self.digest.verdict(verdict);
                sessions
            }
            Command::Turn(owned, demand) => {
                let (sessions, turn) = take_turn(*owned, *demand, sessions);
                self.digest.turn(turn);
                sessions
            }
            _ => sessions,
        });
    }

    fn primitive(&mut self, command: &Command) {
        let digest = &mut self.digest;
        let instances = self.instances.take().expect("no command is under way");
        let map = self.map.take().expect("no command is under way");
        let (instances, map) = match *command {
            Command::InstanceSet(i, v) => (im_set(i, v, instances), map),
            Command::InstanceDrop(k) => (im_drop_below(k, instances), map),
            Command::SessionSet(i, v) => (instances, sm_set(i, v, map)),
            Command::SessionRemove(i) => (instances, sm_remove(i, map)),
            Command::Clear => {
                self.set = ns_empty();
                (im_empty(), sm_empty())
            }
            _ => (instances, map),
        };
        match *command {
            Command::Arithmetic(a, b) => arithmetic(digest, a, b),
            Command::Range(lo, hi) => {
                let numbers = list_append(n_range(lo, hi), n_range(hi, lo));
                digest.list(&numbers, |digest, number| digest.number(*number));
            }
            Command::InstanceGet(i) => {
                digest.option(im_get(i, &instances).copied());
                digest.boolean(im_has(i, &instances));
            }
            Command::InstanceRange(lo, hi) => {
                digest.list(&im_range(lo, hi, &instances), |digest, (i, v)| digest.numbers(&[*i, *v]));
            }
            Command::ReplicaAdd(a) => {
                self.set = ns_add(a, self.set);
                digest.number(ns_size(self.set));
            }
            Command::ReplicaMember(a) => digest.boolean(ns_mem(a, self.set)),
            Command::SessionGet(i) => digest.option(sm_get(i, &map).copied()),
            _ => {}
        }
        self.instances = Some(instances);
        self.map = Some(map);
    }
}

fn arithmetic(digest: &mut Digest, a: u64, b: u64) {
    digest.numbers(&[n_add(a, b), n_div(a, b), n_mod(a, b), n_max(a, b), n_min(a, b)]);
    // The operators that are printed for Coq's comparisons.
    [a < b, a <= b, a == b].into_iter().for_each(|value| digest.boolean(value));
    digest.number(n_mul(a & FACTORS, b & FACTORS));
}
