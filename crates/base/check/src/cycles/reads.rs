//! Collects what each transaction read from others, and checks that its reads agree with each other.

use super::facts::Facts;
use crate::history::{Event, History, KeyId, Span, ValueId};
use crate::report::{Anomaly, Finding, Findings};
use std::collections::BTreeSet;

/// Result of a read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    Absent,
    Value(ValueId),
    List(Span),
}

/// The first read of a key by a transaction that has not written it before: it shows what others wrote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) key: KeyId,
    pub(super) transaction: u32,
    pub(super) found: Found,
    pub(super) version: Option<u64>,
    /// It was a scan that did not see the key.
    pub(super) missed_by_scan: bool,
}

/// A scan, as ranks of keys: `low..high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    pub(super) transaction: u32,
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) entries: Span,
}

impl Scan {
    fn contains(&self, key: KeyId) -> bool {
        (self.low..self.high).contains(&key.0)
    }
}

/// All reads of transactions that took effect.
pub(super) struct Observed {
    pub(super) reads: Vec<Read>,
    pub(super) scans: Vec<Scan>,
    pub(super) findings: Findings,
}

/// Walks through every transaction that took effect.
pub(super) fn observe(facts: &Facts) -> Observed {
    let mut walk = Walk {
        history: facts.history,
        transaction: 0,
        locals: vec![Local::default(); facts.history.key_count()],
        appends: Vec::new(),
        first_scan: 0,
        touched: BTreeSet::new(),
        observed: Observed { reads: Vec::new(), scans: Vec::new(), findings: Findings::default() },
    };
    for index in facts.effective() {
        walk.transaction(index);
    }
    walk.observed
}

/// State of a key within the current transaction.
#[derive(Clone, Copy, Debug, Default)]
struct Local {
    /// The transaction, from 1, that the rest is about; of any other, nothing is known.
    owner: u32,
    /// Register: value read or written last.
    value: Option<ValueId>,
    /// Register: version of that value, where stated.
    version: Option<u64>,
    wrote: bool,
    /// List: elements that others had appended.
    others: Option<Span>,
    /// List: one above the place in `appends` of its own last append.
    last_append: usize,
    append_count: u32,
}

struct Walk<'a> {
    history: &'a History,
    transaction: u32,
    locals: Vec<Local>,
    /// The current transaction's appends, each with the place of its former append to that list, as `last_append`.
    appends: Vec<(ValueId, usize)>,
    first_scan: usize,
    /// The registers that the current transaction knows, if it scans.
    touched: BTreeSet<KeyId>,
    observed: Observed,
}

impl Walk<'_> {
    fn transaction(&mut self, index: u32) {
        self.transaction = index;
        self.appends.clear();
        self.first_scan = self.observed.scans.len();
        self.touched.clear();
        let history = self.history;
        let events = history.events(&history.transactions()[index as usize]);
        let scans = events.iter().any(|event| matches!(event, Event::Scan { .. }));
        for event in events {
            match *event {
                Event::Append { key, value } => self.append(key, value),
                Event::ReadList { key, elements } => self.read_list(key, elements),
                Event::Read { key, value, version } => self.read(key, value, version),
                Event::Write { key, value, version } => self.write(key, Some(value), version),
                Event::Delete { key, version } => self.write(key, None, version),
                Event::Scan { low, high, entries } => self.scan(low, high, entries),
            }
            if let (true, Event::Read { key, .. } | Event::Write { key, .. } | Event::Delete { key, .. }) =
                (scans, event)
            {
                self.touched.insert(*key);
            }
        }
    }

    fn known(&self, key: KeyId) -> Option<Local> {
        let local = self.locals[key.index()];
        (local.owner == self.transaction + 1).then_some(local)
    }

    fn learn(&mut self, key: KeyId) -> &mut Local {
        let owner = self.transaction + 1;
        let local = &mut self.locals[key.index()];
        if local.owner != owner {
            *local = Local { owner, ..Local::default() };
        }
        local
    }

    fn read(&mut self, key: KeyId, value: Option<ValueId>, version: Option<u64>) {
        if let Some(local) = self.known(key) {
            if local.value != value {
                self.contradiction(key, local, value, "read");
            } else if let (Some(before), Some(now)) = (local.version, version)
                && before != now
            {
                self.add_internal(|history, reader| {
                    let key = history.key(key);
                    format!("{reader} knew version {before} of {key}, then read version {now}")
                });
            }
            return;
        }
        if value.is_some() {
            self.recall_missed(key);
        }
        let local = self.learn(key);
        local.value = value;
        local.version = version;
        let found = value.map_or(Found::Absent, Found::Value);
        self.push_read(key, found, version, false);
    }

    fn push_read(&mut self, key: KeyId, found: Found, version: Option<u64>, missed_by_scan: bool) {
        self.observed.reads.push(Read { key, transaction: self.transaction, found, version, missed_by_scan });
    }

    /// Notes that an earlier scan missed a key of which nothing else was known so far, if one did. (A scan makes the keys known that it
    /// sees; those that it misses are too many.)
    fn recall_missed(&mut self, key: KeyId) {
        let scans = &self.observed.scans[self.first_scan..];
        if scans.iter().any(|scan| scan.contains(key)) {
            self.push_read(key, Found::Absent, None, true);
        }
    }

    fn write(&mut self, key: KeyId, value: Option<ValueId>, version: Option<u64>) {
        if self.known(key).is_none() {
            self.recall_missed(key);
        }
        let local = self.learn(key);
        local.value = value;
        local.version = version;
        local.wrote = true;
    }

    fn append(&mut self, key: KeyId, value: ValueId) {
        let place = self.appends.len() + 1;
        let local = self.learn(key);
        let former = std::mem::replace(&mut local.last_append, place);
        local.append_count += 1;
        self.appends.push((value, former));
    }

    fn read_list(&mut self, key: KeyId, elements: Span) {
        let local = *self.learn(key);
        let others = elements.without_last(local.append_count);
        let list = self.history.elements(elements);
        let own = &list[self.history.elements(others).len()..];
        if !self.are_own_appends(local, own) {
            return self.add_internal(|history, reader| {
                let key = history.key(key);
                format!("{reader} appended to list {key}, then read it without its own appends at the end")
            });
        }
        match local.others {
            None => {
                self.learn(key).others = Some(others);
                self.push_read(key, Found::List(others), None, false);
            }
            Some(before) if self.history.elements(before) == self.history.elements(others) => {}
            Some(_) => self.add_internal(|history, reader| {
                let key = history.key(key);
                format!("{reader} read list {key} twice, and what others had appended differs")
            }),
        }
    }

    fn are_own_appends(&self, local: Local, elements: &[ValueId]) -> bool {
        let mut place = local.last_append;
        for &element in elements.iter().rev() {
            match place.checked_sub(1).map(|place| self.appends[place]) {
                Some((value, former)) if value == element => place = former,
                _ => return false,
            }
        }
        place == 0
    }

    fn scan(&mut self, low: Option<KeyId>, high: Option<KeyId>, entries: Span) {
        let scan = Scan {
            transaction: self.transaction,
            low: low.map_or(0, |key| key.0),
            high: high.map_or(self.history.key_count() as u32, |key| key.0 + 1),
            entries,
        };
        let history = self.history;
        let found = history.entries(entries);
        self.check_scan(scan, found);
        for &(key, value) in found {
            self.read(key, Some(value), None);
        }
        let range = KeyId(scan.low)..KeyId(scan.high);
        let touched: Vec<KeyId> = self.touched.range(range).copied().collect();
        for key in touched {
            let seen = found.binary_search_by_key(&key, |&(key, _)| key).is_ok();
            if let Some(local) = self.known(key).filter(|local| !seen && local.value.is_some()) {
                self.contradiction(key, local, None, "scanned and found");
            }
        }
        for &(key, _) in found {
            self.touched.insert(key);
        }
        self.observed.scans.push(scan);
    }

    fn check_scan(&mut self, scan: Scan, found: &[(KeyId, ValueId)]) {
        let outside = found.iter().find(|(key, _)| !scan.contains(*key));
        let twice = found.array_windows().find(|[a, b]| a.0 == b.0);
        let broken = match (outside, twice) {
            (Some(&(key, _)), _) => (key, "outside of its range"),
            (None, Some([(key, _), _])) => (*key, "twice"),
            (None, None) => return,
        };
        let id = self.history.transactions()[self.transaction as usize].id;
        let key = self.history.key(broken.0);
        self.observed.findings.add(|| Finding {
            anomaly: Anomaly::BrokenScan,
            transactions: vec![id],
            explanation: format!("a scan of T{id} returned key {key} {}", broken.1),
            steps: Vec::new(),
        });
    }

    fn contradiction(&mut self, key: KeyId, local: Local, value: Option<ValueId>, verb: &str) {
        self.add_internal(|history, reader| {
            let show = |value: Option<ValueId>| match value {
                Some(value) => format!("{}={}", history.key(key), history.value(value)),
                None => format!("{} absent", history.key(key)),
            };
            let before = match (local.wrote, local.value) {
                (true, None) => format!("deleted {}", history.key(key)),
                (true, value) => format!("wrote {}", show(value)),
                (false, value) => format!("read {}", show(value)),
            };
            format!("{reader} {before}, then {verb} {}", show(value))
        });
    }

    fn add_internal(&mut self, explain: impl FnOnce(&History, &str) -> String) {
        let id = self.history.transactions()[self.transaction as usize].id;
        let history = self.history;
        self.observed.findings.add(|| Finding {
            anomaly: Anomaly::Internal,
            transactions: vec![id],
            explanation: explain(history, &format!("T{id}")),
            steps: Vec::new(),
        });
    }
}
