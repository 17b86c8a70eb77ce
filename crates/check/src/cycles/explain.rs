//! A cycle's story.

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
        Some(key) if hop.kind.has(Kind::WR.or(Kind::PREDICATE_WR)) => format!(
            "T{} {}, which T{} left behind when it {}{}",
            to.id,
            saw(history, to, key),
            from.id,
            left_behind(history, from, key),
            source_of_absence(hop.kind)
        ),
        Some(key) => format!(
            "T{} {}, which T{} overwrote when it {}{}",
            from.id,
            saw(history, from, key),
            to.id,
            left_behind(history, to, key),
            source(bases, key, hop.kind)
        ),
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

/// A transaction's last write of a key, as a past-tense clause.
fn left_behind(history: &History, transaction: &Transaction, key: KeyId) -> String {
    let name = history.key(key);
    let writes = history.events(transaction).iter().rev();
    let clause = |event: &Event| match *event {
        Event::Write { key: k, value, .. } if k == key => Some(format!("wrote {name}={}", history.value(value))),
        Event::Delete { key: k, .. } if k == key => Some(format!("deleted {name}")),
        Event::Append { key: k, value } if k == key => {
            Some(format!("appended {} to list {name}", history.value(value)))
        }
        _ => None,
    };
    writes.filter_map(clause).next().unwrap_or_default()
}

/// A transaction's first read of a key, as a past-tense clause.
fn saw(history: &History, transaction: &Transaction, key: KeyId) -> String {
    let name = history.key(key);
    let clause = |event: &Event| match *event {
        Event::Read { key: k, value, .. } if k == key => Some(match value {
            Some(value) => format!("read {name}={}", history.value(value)),
            None => format!("found {name} absent"),
        }),
        Event::ReadList { key: k, elements } if k == key => Some(saw_list(history, history.elements(elements), key)),
        Event::Scan { low, high, entries }
            if low.is_none_or(|low| low <= key) && high.is_none_or(|high| key <= high) =>
        {
            let entries = history.entries(entries);
            let show = |bound: Option<KeyId>| bound.map_or("..".to_owned(), |key| history.key(key).to_string());
            let seen = match entries.iter().find(|(k, _)| *k == key) {
                Some((_, value)) => format!("and saw {name}={}", history.value(*value)),
                None => format!("and did not see {name}"),
            };
            Some(format!("scanned {} to {} {seen}", show(low), show(high)))
        }
        _ => None,
    };
    history.events(transaction).iter().filter_map(clause).next().unwrap_or_default()
}

fn saw_list(history: &History, elements: &[ValueId], key: KeyId) -> String {
    let name = history.key(key);
    match elements {
        [] => format!("read list {name} empty"),
        [.., last] => format!("read list {name} with {} elements, the last {}", elements.len(), history.value(*last)),
    }
}
