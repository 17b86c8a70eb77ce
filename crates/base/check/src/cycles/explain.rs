//! Explanation of a cycle, step by step.

use super::edges::Kind;
use super::facts::Facts;
use super::order::Basis;
use super::search::Hop;
use crate::history::{Event, History, KeyId, Transaction, ValueId};
use crate::report::{Anomaly, CycleClass, Finding, Step};

/// Names the cycle by its edges and tells why each of them holds.
pub(super) fn explain(facts: &Facts, bases: &[Basis], cycle: &[Hop]) -> Finding {
    let id = |index: u32| facts.transaction(index).id;
    let transactions: Vec<u64> = cycle.iter().map(|hop| id(hop.from)).collect();
    let mut story = String::new();
    for id in &transactions {
        story += &format!("T{id} before ");
    }
    let first = transactions.first().copied().unwrap_or_default();
    Finding {
        anomaly: classify(cycle),
        explanation: format!("{story}T{first} in any serial order"),
        transactions,
        steps: cycle.iter().map(|hop| step(facts, bases, hop)).collect(),
    }
}

fn classify(cycle: &[Hop]) -> Anomaly {
    let count = |kind: Kind| cycle.iter().filter(|hop| hop.kind.has(kind)).count();
    let class = match count(Kind::RW.or(Kind::PREDICATE_RW)) {
        0 if count(Kind::WR.or(Kind::PREDICATE_WR)) == 0 => CycleClass::G0,
        0 => CycleClass::G1c,
        1 => CycleClass::GSingle,
        _ if count(Kind::PREDICATE_RW) == 0 => CycleClass::G2Item,
        _ => CycleClass::G2,
    };
    Anomaly::Cycle { class, real_time: count(Kind::TIME) > 0 }
}

fn step(facts: &Facts, bases: &[Basis], hop: &Hop) -> Step {
    let history = facts.history;
    let (from, to) = (facts.transaction(hop.from), facts.transaction(hop.to));
    let reason = match hop.key {
        None => format!(
            "T{} ended at {}, before T{} began at {}",
            from.id,
            seconds(from.end_ns),
            to.id,
            seconds(to.start_ns)
        ),
        Some(key) if hop.kind.has(Kind::WW) => format!(
            "T{} {}, and T{} {} after that{}",
            from.id,
            left_behind(history, from, key),
            to.id,
            left_behind(history, to, key),
            source(bases, key, hop.kind)
        ),
        Some(key) if hop.kind.has(Kind::WR.or(Kind::PREDICATE_WR)) => {
            let seen = sight(history, to, key, |seen| seen == last_write(history, from, key));
            format!(
                "T{} {}, which T{} {}{}",
                to.id,
                seen.clause,
                from.id,
                made(history, from, key),
                source_of_absence(hop.kind)
            )
        }
        Some(key) => {
            let missed = hop.kind.has(Kind::PREDICATE_RW);
            let seen = sight(history, from, key, |seen| !missed || seen == Left::Nothing);
            format!(
                "T{} {}, {}{}",
                from.id,
                seen.clause,
                overwrote(history, to, key, seen.left),
                source(bases, key, hop.kind)
            )
        }
    };
    Step {
        from: from.id,
        to: to.id,
        edge: name(hop.kind),
        key: hop.key.map(|key| history.key(key).clone()),
        because: format!("{reason}: T{} before T{}", from.id, to.id),
    }
}

fn name(kind: Kind) -> &'static str {
    let names = [
        (Kind::WW, "ww"),
        (Kind::WR, "wr"),
        (Kind::RW, "rw"),
        (Kind::PREDICATE_WR, "predicate-wr"),
        (Kind::PREDICATE_RW, "predicate-rw"),
    ];
    let named = names.into_iter().find(|(part, _)| kind.has(*part));
    named.map_or("real-time", |(_, name)| name)
}

/// By what it is known that one version follows another.
fn source(bases: &[Basis], key: KeyId, kind: Kind) -> &'static str {
    if kind.has(Kind::TIME) {
        return " (as real time tells)";
    }
    match bases[key.index()] {
        Basis::Lists => "",
        Basis::Steps if !kind.has(Kind::WW) => "",
        Basis::Versions => " (as the versions tell)",
        Basis::Steps => " (as reads before writes tell)",
    }
}

fn source_of_absence(kind: Kind) -> &'static str {
    if kind.has(Kind::TIME) { " (any earlier absence was over by then)" } else { "" }
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

/// Describes what a transaction left or found on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// No register.
    Nothing,
    Value(ValueId),
    /// A list; which elements does not matter here.
    List,
}

fn last_write(history: &History, transaction: &Transaction, key: KeyId) -> Left {
    let writes = history.events(transaction).iter().rev();
    let left = |event: &Event| match *event {
        Event::Write { key: k, value, .. } if k == key => Some(Left::Value(value)),
        Event::Delete { key: k, .. } if k == key => Some(Left::Nothing),
        Event::Append { key: k, .. } if k == key => Some(Left::List),
        _ => None,
    };
    writes.filter_map(left).next().unwrap_or(Left::Nothing)
}

/// A transaction's last write of a key, as a past-tense clause.
fn left_behind(history: &History, transaction: &Transaction, key: KeyId) -> String {
    let name = history.key(key);
    match last_write(history, transaction, key) {
        Left::Value(value) => format!("wrote {name}={}", history.value(value)),
        Left::Nothing => format!("deleted {name}"),
        Left::List => format!("appended {} to list {name}", all_appended(history, transaction, key)),
    }
}

/// The same, of what somebody saw.
fn made(history: &History, transaction: &Transaction, key: KeyId) -> String {
    match last_write(history, transaction, key) {
        Left::Value(_) => "wrote".to_owned(),
        Left::Nothing => "had deleted".to_owned(),
        Left::List => format!("appended ({})", all_appended(history, transaction, key)),
    }
}

/// The same, of what somebody saw before it.
fn overwrote(history: &History, writer: &Transaction, key: KeyId, seen: Left) -> String {
    let id = writer.id;
    match (seen, last_write(history, writer, key)) {
        (Left::Nothing, Left::Value(value)) => {
            format!("which T{id} then inserted as {}={}", history.key(key), history.value(value))
        }
        (_, Left::Value(value)) => {
            format!("which T{id} overwrote with {}={}", history.key(key), history.value(value))
        }
        (_, Left::Nothing) => format!("which T{id} then deleted"),
        (_, Left::List) => format!("to which T{id} then appended {}", all_appended(history, writer, key)),
    }
}

fn all_appended(history: &History, transaction: &Transaction, key: KeyId) -> String {
    let events = history.events(transaction).iter();
    let values = events.filter_map(|event| match *event {
        Event::Append { key: k, value } if k == key => Some(history.value(value).to_string()),
        _ => None,
    });
    values.collect::<Vec<_>>().join(", ")
}

/// Describes what a transaction saw of a key, as a clause in the past tense.
struct Observation {
    left: Left,
    clause: String,
}

/// A transaction's first read of a key that saw what is `wanted`, or else its first.
fn sight(history: &History, transaction: &Transaction, key: KeyId, wanted: impl Fn(Left) -> bool) -> Observation {
    let events = || history.events(transaction).iter();
    let sights = || events().filter_map(|event| saw(history, event, key));
    let best = sights().find(|sight| wanted(sight.left)).or_else(|| sights().next());
    best.unwrap_or(Observation { left: Left::Nothing, clause: String::new() })
}

fn saw(history: &History, event: &Event, key: KeyId) -> Option<Observation> {
    let name = history.key(key);
    match *event {
        Event::Read { key: k, value, .. } if k == key => Some(match value {
            Some(value) => {
                Observation { left: Left::Value(value), clause: format!("read {name}={}", history.value(value)) }
            }
            None => Observation { left: Left::Nothing, clause: format!("found {name} absent") },
        }),
        Event::ReadList { key: k, elements } if k == key => {
            Some(Observation { left: Left::List, clause: saw_list(history, history.elements(elements), key) })
        }
        Event::Scan { low, high, entries }
            if low.is_none_or(|low| low <= key) && high.is_none_or(|high| key <= high) =>
        {
            let show = |bound: Option<KeyId>| bound.map_or("the end".to_owned(), |key| history.key(key).to_string());
            let range = format!("scanned {} to {}", show(low), show(high));
            let entry = history.entries(entries).iter().find(|(k, _)| *k == key);
            Some(match entry {
                Some(&(_, value)) => Observation {
                    left: Left::Value(value),
                    clause: format!("{range} and saw {name}={}", history.value(value)),
                },
                None => Observation { left: Left::Nothing, clause: format!("{range} and did not see {name}") },
            })
        }
        _ => None,
    }
}

fn saw_list(history: &History, elements: &[ValueId], key: KeyId) -> String {
    let name = history.key(key);
    match elements {
        [] => format!("read list {name} empty"),
        [.., last] => format!("read list {name} with {} elements, the last {}", elements.len(), history.value(*last)),
    }
}
