//! The first judge: serial replay at the claimed serial points.
//!
//! The transactions that took effect run one after another, in the order of their claims, on a plain map. Every read, list read and scan
//! must return what the map holds; with [`Model::Strict`] the claims must also respect real time.
//!
//! A transaction of unknown outcome took effect if somebody who took effect read a value that it wrote. One that nobody read might
//! still have deleted something, which shows only as an absence: it counts as having taken effect as soon as an absence has no other
//! explanation.

use crate::Model;
use crate::history::{Event, History, KeyId, Span, Status, Transaction, ValueId};
use crate::report::{Anomaly, Finding, Findings, Judgement};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// Replays the history. Not applicable when a transaction that took effect, or may have deleted something, claims no serial point.
pub fn judge(history: &History, model: Model) -> Judgement {
    let mut took_effect = committed(history);
    spread(history, &mut took_effect);
    loop {
        if let Some(reason) = missing_claim(history, &took_effect) {
            return Judgement::not_applicable(reason);
        }
        let mut replay = Replay::new(history, &took_effect);
        replay.run();
        if replay.needed.is_empty() {
            let mut findings = Findings::default();
            find_ties(history, &replay.order, &mut findings);
            if model == Model::Strict {
                find_time_travel(history, &replay.order, &mut findings);
            }
            findings.append(replay.findings);
            return Judgement::of(findings, 0);
        }
        for index in replay.needed {
            took_effect[index] = true;
        }
        spread(history, &mut took_effect);
    }
}

fn committed(history: &History) -> Vec<bool> {
    let transactions = history.transactions().iter();
    transactions.map(|transaction| transaction.status == Status::Committed).collect()
}

/// Marks transactions of unknown outcome whose values were read by marked ones, and so on.
fn spread(history: &History, took_effect: &mut [bool]) {
    let mut writers = HashMap::new();
    for (index, transaction) in history.transactions().iter().enumerate() {
        if transaction.status != Status::Unknown || took_effect[index] {
            continue;
        }
        for event in history.events(transaction) {
            if let Event::Append { key, value } | Event::Write { key, value, .. } = *event {
                writers.insert((key, value), index);
            }
        }
    }
    if writers.is_empty() {
        return;
    }
    let mut pending: Vec<usize> = (0..took_effect.len()).filter(|&i| took_effect[i]).collect();
    while let Some(reader) = pending.pop() {
        for_each_value_read(history, &history.transactions()[reader], |key, value| {
            if let Some(&writer) = writers.get(&(key, value))
                && !took_effect[writer]
            {
                took_effect[writer] = true;
                pending.push(writer);
            }
        });
    }
}

fn for_each_value_read(history: &History, transaction: &Transaction, mut see: impl FnMut(KeyId, ValueId)) {
    for event in history.events(transaction) {
        match *event {
            Event::Read { key, value: Some(value), .. } => see(key, value),
            Event::ReadList { key, elements } => {
                let elements = history.elements(elements).iter();
                elements.for_each(|&value| see(key, value));
            }
            Event::Scan { entries, .. } => {
                let entries = history.entries(entries).iter();
                entries.for_each(|&(key, value)| see(key, value));
            }
            _ => {}
        }
    }
}

fn missing_claim(history: &History, took_effect: &[bool]) -> Option<String> {
    let mut missing = history.transactions().iter().zip(took_effect).filter(|(transaction, took_effect)| {
        transaction.serial_point.is_none() && (**took_effect || may_have_deleted(history, transaction))
    });
    let (first, _) = missing.next()?;
    let count = missing.count() + 1;
    Some(format!("{count} transactions claim no serial point (the first is T{})", first.id))
}

fn may_have_deleted(history: &History, transaction: &Transaction) -> bool {
    transaction.status == Status::Unknown
        && history.events(transaction).iter().any(|event| matches!(event, Event::Delete { .. }))
}

fn find_ties(history: &History, order: &[usize], findings: &mut Findings) {
    for &[first, second] in order.array_windows() {
        let (a, b) = (&history.transactions()[first], &history.transactions()[second]);
        if a.serial_point == b.serial_point {
            findings.add(|| Finding {
                anomaly: Anomaly::TiedSerialPoints,
                transactions: vec![a.id, b.id],
                explanation: format!("T{} and T{} both claim serial point {}", a.id, b.id, claim(a)),
                steps: Vec::new(),
            });
        }
    }
}

/// Finds transactions placed after one that began only when they had ended.
fn find_time_travel(history: &History, order: &[usize], findings: &mut Findings) {
    let mut last_to_start: Option<&Transaction> = None;
    for &index in order {
        let transaction = &history.transactions()[index];
        if let Some(late) = last_to_start.filter(|late| transaction.end_ns < late.start_ns) {
            findings.add(|| Finding {
                anomaly: Anomaly::SerialPointAgainstRealTime,
                transactions: vec![transaction.id, late.id],
                explanation: format!(
                    "T{} ended before T{} began, but claims serial point {}, after T{}'s {}",
                    transaction.id,
                    late.id,
                    claim(transaction),
                    late.id,
                    claim(late)
                ),
                steps: Vec::new(),
            });
        }
        if last_to_start.is_none_or(|late| late.start_ns < transaction.start_ns) {
            last_to_start = Some(transaction);
        }
    }
}

fn claim(transaction: &Transaction) -> u64 {
    transaction.serial_point.unwrap_or_default()
}

/// The state of one replay.
struct Replay<'a> {
    history: &'a History,
    /// Transactions that took effect, in their claimed order.
    order: Vec<usize>,
    /// Transactions that may have deleted something, in their claimed order.
    doubtful: Vec<usize>,
    /// Present registers: the value and who wrote it.
    registers: BTreeMap<KeyId, (ValueId, usize)>,
    /// Transaction that deleted the register last, while the register is absent.
    deleted_by: HashMap<KeyId, usize>,
    lists: HashMap<KeyId, Vec<ValueId>>,
    /// Present registers that doubtful transactions may have deleted since they were written, and those transactions.
    maybe_deleted: HashMap<KeyId, Vec<usize>>,
    /// Doubtful transactions that alone explain an absence.
    needed: Vec<usize>,
    findings: Findings,
}

impl<'a> Replay<'a> {
    fn new(history: &'a History, took_effect: &[bool]) -> Self {
        let by_claim = |index: &usize| (claim(&history.transactions()[*index]), *index);
        let all = 0..history.transactions().len();
        let mut order: Vec<usize> = all.clone().filter(|&i| took_effect[i]).collect();
        order.sort_unstable_by_key(by_claim);
        let mut doubtful: Vec<usize> =
            all.filter(|&i| !took_effect[i] && may_have_deleted(history, &history.transactions()[i])).collect();
        doubtful.sort_unstable_by_key(by_claim);
        Replay {
            history,
            order,
            doubtful,
            registers: BTreeMap::new(),
            deleted_by: HashMap::new(),
            lists: HashMap::new(),
            maybe_deleted: HashMap::new(),
            needed: Vec::new(),
            findings: Findings::default(),
        }
    }

    fn run(&mut self) {
        let mut doubtful = std::mem::take(&mut self.doubtful).into_iter().peekable();
        for position in 0..self.order.len() {
            let index = self.order[position];
            let transaction = &self.history.transactions()[index];
            while let Some(doubt) =
                doubtful.next_if(|&doubt| claim(&self.history.transactions()[doubt]) < claim(transaction))
            {
                self.doubt(doubt);
            }
            for event in self.history.events(transaction) {
                self.step(index, event);
            }
        }
    }

    /// Notes what a transaction that may not have taken effect would have deleted.
    fn doubt(&mut self, index: usize) {
        let events = self.history.events(&self.history.transactions()[index]);
        for event in events {
            match *event {
                Event::Delete { key, .. } if self.registers.contains_key(&key) => {
                    let doubts = self.maybe_deleted.entry(key).or_default();
                    if doubts.last() != Some(&index) {
                        doubts.push(index);
                    }
                }
                // Written again after its own delete: it would have left no absence, and nobody saw the value.
                Event::Write { key, .. } => {
                    if let Some(doubts) = self.maybe_deleted.get_mut(&key) {
                        doubts.retain(|&doubt| doubt != index);
                    }
                }
                _ => {}
            }
        }
    }

    fn step(&mut self, index: usize, event: &Event) {
        match *event {
            Event::Append { key, value } => self.lists.entry(key).or_default().push(value),
            Event::ReadList { key, elements } => self.read_list(index, key, elements),
            Event::Write { key, value, .. } => {
                self.registers.insert(key, (value, index));
                self.deleted_by.remove(&key);
                self.maybe_deleted.remove(&key);
            }
            Event::Delete { key, .. } => {
                self.registers.remove(&key);
                self.deleted_by.insert(key, index);
                self.maybe_deleted.remove(&key);
            }
            Event::Read { key, value, .. } => self.read(index, key, value),
            Event::Scan { low, high, entries } => self.scan(index, low, high, entries),
        }
    }

    fn read(&mut self, index: usize, key: KeyId, value: Option<ValueId>) {
        let present = self.registers.get(&key).map(|&(value, _)| value);
        if present == value || (value.is_none() && self.was_deleted_in_doubt(key)) {
            return;
        }
        self.report_mismatch(index, Anomaly::ReadMismatch, "read", key, value);
    }

    fn report_mismatch(&mut self, index: usize, anomaly: Anomaly, verb: &str, key: KeyId, value: Option<ValueId>) {
        let history = self.history;
        let holder = self.registers.get(&key);
        let writer = holder.map(|&(_, writer)| writer);
        let writer = writer.or_else(|| self.deleted_by.get(&key).copied());
        let reader = &history.transactions()[index];
        let show = |value: Option<ValueId>| match value {
            Some(value) => format!("{}={}", history.key(key), history.value(value)),
            None => format!("{} absent", history.key(key)),
        };
        let expected = show(holder.map(|&(value, _)| value));
        self.findings.add(|| {
            let source = match writer.map(|writer| &history.transactions()[writer]) {
                Some(writer) => format!("left so by T{} at {}", writer.id, claim(writer)),
                None => "as at the beginning".to_owned(),
            };
            Finding {
                anomaly,
                transactions: [Some(reader.id), writer.map(|w| history.transactions()[w].id)]
                    .into_iter()
                    .flatten()
                    .collect(),
                explanation: format!(
                    "T{} at {} {verb} {}, where replay has {expected}, {source}",
                    reader.id,
                    claim(reader),
                    show(value)
                ),
                steps: Vec::new(),
            }
        });
    }

    /// Returns whether a doubtful delete explains that a present register was found absent; from then on it is absent.
    fn was_deleted_in_doubt(&mut self, key: KeyId) -> bool {
        let Some(doubts) = self.maybe_deleted.remove(&key).filter(|d| !d.is_empty()) else {
            return false;
        };
        self.registers.remove(&key);
        self.deleted_by.insert(key, doubts[0]);
        // Several would do: which one is not decided here, in the history's favour (I1).
        if let [only] = doubts[..] {
            self.needed.push(only);
        }
        true
    }

    fn read_list(&mut self, index: usize, key: KeyId, elements: Span) {
        let expected = self.lists.get(&key).map_or(&[][..], Vec::as_slice);
        let found = self.history.elements(elements);
        if expected == found {
            return;
        }
        let history = self.history;
        let reader = &history.transactions()[index];
        let same = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
        let show = |list: &[ValueId]| match list.get(same) {
            Some(&value) => history.value(value).to_string(),
            None => "its end".to_owned(),
        };
        self.findings.add(|| Finding {
            anomaly: Anomaly::ReadMismatch,
            transactions: vec![reader.id],
            explanation: format!(
                "T{} at {} read list {} of {} elements, where replay has {}; the first difference is at element {}: {} instead of {}",
                reader.id,
                claim(reader),
                history.key(key),
                found.len(),
                expected.len(),
                same + 1,
                show(found),
                show(expected)
            ),
            steps: Vec::new(),
        });
    }

    fn scan(&mut self, index: usize, low: Option<KeyId>, high: Option<KeyId>, entries: Span) {
        let history = self.history;
        let mut found = history.entries(entries).iter().copied().peekable();
        let bounds = (bound(low), bound(high));
        let present = self.registers.range(bounds);
        let present: Vec<(KeyId, ValueId)> = present.map(|(&key, &(value, _))| (key, value)).collect();
        let mut differences = Vec::new();
        for (key, value) in present {
            while let Some(extra) = found.next_if(|&(found, _)| found < key) {
                differences.push((extra.0, Some(extra.1)));
            }
            match found.next_if(|&(found, _)| found == key) {
                Some((_, same)) if same == value => {}
                other => differences.push((key, other.map(|(_, value)| value))),
            }
        }
        differences.extend(found.map(|(key, value)| (key, Some(value))));
        for (key, value) in differences {
            if value.is_some() || !self.was_deleted_in_doubt(key) {
                self.report_mismatch(index, Anomaly::ScanMismatch, "scanned and found", key, value);
            }
        }
    }
}

fn bound(key: Option<KeyId>) -> Bound<KeyId> {
    key.map_or(Bound::Unbounded, Bound::Included)
}
