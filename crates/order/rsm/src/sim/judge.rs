//! Properties that every run is checked for.
//!
//! - agreement: every replica delivers the same batch at an instance, and no hole is left;
//! - at most once: an instance makes every replica execute the same commands; no command of a client is executed twice, and the
//!   sequence numbers of a session's executed requests are 1, 2, 3, ...;
//! - replies: a client receives the answer that the service gave when it executed the command, and none for an execution that
//!   did not happen;
//! - linearizability: serial replay at (instance, place in the batch) gives every answer, and the order respects real time; the second
//!   judge looks for cycles and does not know the claimed order.

use super::registers::{Command, Execution, Named};
use check::history::{Operation, Record, Scalar};
use check::{History, Model, Status};
use paxos::core::{Instance, ReplicaId, Sequence, Session, Value};
use paxos::request::{OPEN, requests};
use sim::{Violation, demand};
use std::collections::{BTreeMap, HashMap};

/// Judge of a run. Its memory is not bounded by the cluster: it is an omniscient observer.
#[derive(Debug, Default)]
pub struct Judge {
    /// The batch of each instance, from 0 on, as first delivered by anybody.
    delivered: Vec<Value>,
    /// Commands that the service executed at each instance, from 0 on.
    executed: Vec<Vec<Execution>>,
    /// The last executed sequence of each session.
    last: BTreeMap<Session, Sequence>,
    /// Place in the order of each executed command.
    places: HashMap<(u16, u32), Place>,
    completions: Vec<Observation>,
    /// State after each prefix of which a replica has taken a snapshot.
    snapshots: HashMap<Instance, Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    serial_point: u64,
    instance: Instance,
    before: u64,
}

/// Knowledge of a client about one command.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// The command.
    pub named: Named,
    /// When it was handed in.
    pub start_ns: u64,
    /// When the client knew more.
    pub end_ns: u64,
    /// Its knowledge at that time.
    pub outcome: Knowledge,
}

/// Knowledge of a client about one command's outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// It was executed at this instance, and the register held this before.
    Executed(Instance, u64),
    /// It was executed; the answer is lost. In these clusters no answer may be: clients stay within what is remembered.
    Forgotten,
    /// It was executed once or not at all.
    Unknown,
}

impl Judge {
    /// A replica hands a batch to its service.
    pub fn on_delivery(&mut self, id: ReplicaId, instance: Instance, value: &Value) -> Result<(), Violation> {
        let known = self.delivered.len() as u64;
        demand!(instance <= known, "R{id} delivers instance {instance}, and nobody has delivered {known}");
        if instance == known {
            self.delivered.push(value.clone());
        }
        let first = &self.delivered[instance as usize];
        demand!(first == value, "R{id} delivers {} bytes at {instance}, not the batch of others", value.len());
        Ok(())
    }

    /// A replica's service has executed the batch of an instance.
    pub fn on_execution(
        &mut self,
        id: ReplicaId,
        instance: Instance,
        executions: Vec<Execution>,
    ) -> Result<(), Violation> {
        if let Some(first) = self.executed.get(instance as usize) {
            demand!(*first == executions, "R{id} executes {executions:?} at {instance}, others {first:?}");
            return Ok(());
        }
        demand!(instance == self.executed.len() as u64, "R{id} executes {instance} before anybody its predecessor");
        self.check_sessions(instance, &executions)?;
        for (index, execution) in executions.iter().enumerate() {
            let Execution { at, named, before } = *execution;
            demand!(at == instance, "R{id} tells its service that {named:?} is at {at}, not {instance}");
            let place = Place { serial_point: instance << 20 | index as u64, instance, before };
            let earlier = self.places.insert((named.client, named.number), place);
            demand!(earlier.is_none(), "{named:?} is executed twice: at {earlier:?} and at {place:?}");
        }
        self.executed.push(executions);
        Ok(())
    }

    /// The executed requests of a session have the numbers 1, 2, 3, ...
    fn check_sessions(&mut self, instance: Instance, executions: &[Execution]) -> Result<(), Violation> {
        let mut rest = executions.iter().peekable();
        for request in requests(&self.delivered[instance as usize]).flatten() {
            let named = Named::decode(request.body);
            let is_executed = |execution: &&Execution| request.session != OPEN && named == Some(execution.named);
            if rest.next_if(is_executed).is_some() {
                let last = self.last.entry(request.session).or_default();
                demand!(
                    request.sequence == *last + 1,
                    "session {} has executed request {} after {last}, at {instance}",
                    request.session,
                    request.sequence
                );
                *last = request.sequence;
            }
        }
        demand!(rest.peek().is_none(), "{:?} was executed at {instance}, and is not in its batch", rest.peek());
        Ok(())
    }

    /// A replica has taken a snapshot of everything below an instance.
    pub fn on_snapshot(&mut self, id: ReplicaId, instance: Instance, image: &[u8]) -> Result<(), Violation> {
        let first = self.snapshots.entry(instance).or_insert_with(|| image.to_vec());
        demand!(first == image, "R{id} has another state than others after everything below {instance}");
        Ok(())
    }

    /// A client learns what became of a command.
    pub fn on_completion(&mut self, completion: Observation) -> Result<(), Violation> {
        let Observation { named, outcome, .. } = completion;
        let place = self.places.get(&(named.client, named.number)).copied();
        match outcome {
            Knowledge::Executed(instance, before) => {
                let truth = place.map(|place| (place.instance, place.before));
                let claim = (instance, before);
                demand!(
                    truth == Some(claim),
                    "{named:?} was told (instance, answer) {claim:?}; the truth is {truth:?}"
                );
            }
            Knowledge::Forgotten => demand!(false, "the answer to {named:?} is forgotten, executed at {place:?}"),
            Knowledge::Unknown => {}
        }
        self.completions.push(completion);
        Ok(())
    }

    /// Returns the number of instances that some replica has delivered.
    #[must_use]
    pub fn instances(&self) -> u64 {
        self.delivered.len() as u64
    }

    /// Asks the two judges of histories. Call it when no client waits any more.
    pub fn check_history(&self) -> Result<(), Violation> {
        let records: Vec<Record> = self.completions.iter().map(|completion| self.record(completion)).collect();
        if records.is_empty() {
            return Ok(());
        }
        let history = History::from_records(records).map_err(|error| Violation(format!("not a history: {error}")))?;
        let report = check::judge(&history, Model::Strict);
        demand!(report.valid, "the history is not linearizable:\n{report}");
        Ok(())
    }

    fn record(&self, completion: &Observation) -> Record {
        let Observation { named, start_ns, end_ns, outcome } = *completion;
        let place = self.places.get(&(named.client, named.number));
        let status = match (outcome, place) {
            (Knowledge::Executed(..), _) => Status::Committed,
            (_, Some(_)) => Status::Unknown,
            // Nobody will execute it any more: whoever reads it reads what is not there.
            (_, None) => Status::Aborted,
        };
        Record {
            id: u64::from(named.client) << 32 | u64::from(named.number),
            process: named.client.into(),
            start_ns,
            end_ns,
            status,
            serial_point: place.map(|place| place.serial_point),
            operations: operations(named.command, place.map_or(0, |place| place.before)),
        }
    }
}

fn operations(command: Command, before: u64) -> Vec<Operation> {
    let key = |key: u8| Scalar::from(u64::from(key));
    let read = |k: u8| Operation::Read { key: key(k), value: (before != 0).then(|| before.into()), version: None };
    let write = |k: u8, value: u64| Operation::Write { key: key(k), value: value.into(), version: None };
    match command {
        Command::Read { key } => vec![read(key)],
        Command::Write { key, value } => vec![read(key), write(key, value)],
        Command::CompareAndSet { key, expected, value } if expected == before => vec![read(key), write(key, value)],
        Command::CompareAndSet { key, .. } => vec![read(key)],
    }
}
