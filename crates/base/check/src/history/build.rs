//! From records to the compact form, refusing what no judge could judge.

use super::{
    Event, History, HistoryError, HistoryErrorKind, KeyId, Operation, Record, Scalar, Span, Status, Transaction,
    ValueId,
};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Collects records; [`Builder::finish`] makes them a [`History`].
#[derive(Debug, Default)]
pub struct Builder {
    transactions: Vec<Transaction>,
    events: Vec<Event>,
    elements: Vec<ValueId>,
    entries: Vec<(KeyId, ValueId)>,
    /// Until `finish`, a `KeyId` is the order of first appearance.
    keys: HashMap<Scalar, u32>,
    values: HashMap<Scalar, u32>,
    lines_by_id: HashMap<u64, u64>,
    /// The last line that was read.
    pub(super) line: u64,
}

impl Builder {
    /// Adds the record of the next line.
    ///
    /// # Errors
    /// A record that is wrong by itself or repeats an id.
    pub fn push(&mut self, record: Record) -> Result<(), HistoryError> {
        let line = self.line + 1;
        self.push_at(line, record)
    }

    /// Adds the record of `line`; lines increase.
    pub(super) fn push_at(&mut self, line: u64, record: Record) -> Result<(), HistoryError> {
        self.line = line;
        self.add(record).map_err(|kind| HistoryError { line, kind })
    }

    /// The history of all records so far.
    ///
    /// # Errors
    /// No record at all, or two that contradict each other: see [`HistoryErrorKind`].
    pub fn finish(mut self) -> Result<History, HistoryError> {
        if self.transactions.is_empty() {
            return Err(HistoryError { line: self.line, kind: HistoryErrorKind::Empty });
        }
        let keys = self.rank_keys();
        let history = History {
            transactions: self.transactions,
            events: self.events,
            elements: self.elements,
            entries: self.entries,
            keys,
            values: in_order(self.values),
        };
        let history = settle_lists(history)?;
        refuse_repeated_writes(&history)?;
        Ok(history)
    }

    fn add(&mut self, record: Record) -> Result<(), HistoryErrorKind> {
        let known_end = record.status != Status::Unknown;
        if known_end && record.end_ns < record.start_ns {
            return Err(HistoryErrorKind::EndsBeforeStart);
        }
        match self.lines_by_id.entry(record.id) {
            Entry::Occupied(first) => {
                return Err(HistoryErrorKind::DuplicateId { id: record.id, first_line: *first.get() });
            }
            Entry::Vacant(slot) => slot.insert(self.line),
        };
        let start = count(self.events.len())?;
        for operation in record.operations {
            let event = self.event(operation)?;
            self.events.push(event);
        }
        count(self.transactions.len())?;
        self.transactions.push(Transaction {
            id: record.id,
            process: record.process,
            start_ns: record.start_ns,
            end_ns: if known_end { record.end_ns } else { u64::MAX },
            status: record.status,
            serial_point: record.serial_point,
            line: self.line,
            events: Span { start, end: count(self.events.len())? },
        });
        Ok(())
    }

    fn event(&mut self, operation: Operation) -> Result<Event, HistoryErrorKind> {
        Ok(match operation {
            Operation::Append { key, value } => Event::Append { key: self.key(key)?, value: self.value(value)? },
            Operation::ReadList { key, values } => {
                Event::ReadList { key: self.key(key)?, elements: self.list(values)? }
            }
            Operation::Write { key, version: Some(0), .. } | Operation::Delete { key, version: Some(0) } => {
                return Err(HistoryErrorKind::VersionZeroWritten { key });
            }
            Operation::Write { key, value, version } => {
                Event::Write { key: self.key(key)?, value: self.value(value)?, version }
            }
            Operation::Read { key, value, version } => {
                Event::Read { key: self.key(key)?, value: value.map(|value| self.value(value)).transpose()?, version }
            }
            Operation::Delete { key, version } => Event::Delete { key: self.key(key)?, version },
            Operation::Scan { low, high, entries } => self.scan(low, high, entries)?,
        })
    }

    fn list(&mut self, values: Vec<Scalar>) -> Result<Span, HistoryErrorKind> {
        let start = count(self.elements.len())?;
        for value in values {
            let value = self.value(value)?;
            self.elements.push(value);
        }
        let end = count(self.elements.len())?;
        Ok(Span { start, end })
    }

    fn scan(
        &mut self,
        low: Option<Scalar>,
        high: Option<Scalar>,
        entries: Vec<(Scalar, Scalar)>,
    ) -> Result<Event, HistoryErrorKind> {
        let (low, high) = match (low, high) {
            (Some(low), Some(high)) if low > high => {
                return Err(HistoryErrorKind::ReversedRange { low, high });
            }
            bounds => bounds,
        };
        let start = count(self.entries.len())?;
        for (key, value) in entries {
            let entry = (self.key(key)?, self.value(value)?);
            self.entries.push(entry);
        }
        let end = count(self.entries.len())?;
        Ok(Event::Scan {
            low: low.map(|key| self.key(key)).transpose()?,
            high: high.map(|key| self.key(key)).transpose()?,
            entries: Span { start, end },
        })
    }

    fn key(&mut self, key: Scalar) -> Result<KeyId, HistoryErrorKind> {
        intern(&mut self.keys, key).map(KeyId)
    }

    fn value(&mut self, value: Scalar) -> Result<ValueId, HistoryErrorKind> {
        intern(&mut self.values, value).map(ValueId)
    }

    /// Sorts the keys and makes every `KeyId` a rank.
    fn rank_keys(&mut self) -> Vec<Scalar> {
        let mut keys: Vec<(Scalar, u32)> = std::mem::take(&mut self.keys).into_iter().collect();
        keys.sort_unstable();
        let mut ranks = vec![0; keys.len()];
        for (rank, &(_, appearance)) in keys.iter().enumerate() {
            ranks[appearance as usize] = rank as u32;
        }
        let rank = |key: &mut KeyId| *key = KeyId(ranks[key.index()]);
        for (key, _) in &mut self.entries {
            rank(key);
        }
        for event in &mut self.events {
            match event {
                Event::Append { key, .. }
                | Event::ReadList { key, .. }
                | Event::Write { key, .. }
                | Event::Read { key, .. }
                | Event::Delete { key, .. } => rank(key),
                Event::Scan { low, high, entries } => {
                    low.iter_mut().chain(high).for_each(rank);
                    self.entries[entries.range()].sort_unstable();
                }
            }
        }
        keys.into_iter().map(|(key, _)| key).collect()
    }
}

fn intern(map: &mut HashMap<Scalar, u32>, scalar: Scalar) -> Result<u32, HistoryErrorKind> {
    let next = count(map.len())?;
    Ok(*map.entry(scalar).or_insert(next))
}

/// A quantity in 32 bits; the highest numbers stay free for the judges' marks.
fn count(length: usize) -> Result<u32, HistoryErrorKind> {
    u32::try_from(length).ok().filter(|&count| count < u32::MAX - 1).ok_or(HistoryErrorKind::TooLarge)
}

fn in_order(map: HashMap<Scalar, u32>) -> Vec<Scalar> {
    let mut scalars: Vec<(u32, Scalar)> = map.into_iter().map(|(s, place)| (place, s)).collect();
    scalars.sort_unstable_by_key(|&(place, _)| place);
    scalars.into_iter().map(|(_, scalar)| scalar).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// Only read as `null` so far, or a bound of scans: may turn out to be either.
    Open,
    List,
    Register,
}

/// Finds which keys are lists, refuses those that are both, and turns reads of `null` from lists into reads of the empty list.
fn settle_lists(mut history: History) -> Result<History, HistoryError> {
    let mut uses = vec![Use::Open; history.keys.len()];
    for transaction in &history.transactions {
        for event in history.events(transaction) {
            claim_uses(&history, event, &mut uses).map_err(|key| HistoryError {
                line: transaction.line,
                kind: HistoryErrorKind::ListAndRegister { key: history.key(key).clone() },
            })?;
        }
    }
    for event in &mut history.events {
        if let Event::Read { key, value: None, .. } = *event
            && uses[key.index()] == Use::List
        {
            let elements = Span { start: 0, end: 0 };
            *event = Event::ReadList { key, elements };
        }
    }
    Ok(history)
}

fn claim_uses(history: &History, event: &Event, uses: &mut [Use]) -> Result<(), KeyId> {
    let mut claim = |key: KeyId, claimed: Use| {
        let known = &mut uses[key.index()];
        if *known != Use::Open && *known != claimed {
            return Err(key);
        }
        *known = claimed;
        Ok(())
    };
    match *event {
        Event::Append { key, .. } | Event::ReadList { key, .. } => claim(key, Use::List),
        Event::Read { value: None, version: None, .. } => Ok(()),
        Event::Write { key, .. } | Event::Read { key, .. } | Event::Delete { key, .. } => claim(key, Use::Register),
        Event::Scan { entries, .. } => {
            history.entries(entries).iter().try_for_each(|&(key, _)| claim(key, Use::Register))
        }
    }
}

/// Refuses a value, or a version of two transactions, that a key was given twice.
fn refuse_repeated_writes(history: &History) -> Result<(), HistoryError> {
    let mut values = Vec::new();
    let mut versions = Vec::new();
    for (index, transaction) in history.transactions.iter().enumerate() {
        for event in history.events(transaction) {
            match *event {
                Event::Append { key, value } => values.push((key, value, index)),
                Event::Write { key, value, version } => {
                    values.push((key, value, index));
                    versions.extend(version.map(|version| (key, version, index)));
                }
                Event::Delete { key, version } => {
                    versions.extend(version.map(|version| (key, version, index)));
                }
                _ => {}
            }
        }
    }
    let line = |index: usize| history.transactions[index].line;
    values.sort_unstable();
    if let Some([first, second]) = values.array_windows().find(|[a, b]| (a.0, a.1) == (b.0, b.1)) {
        return Err(HistoryError {
            line: line(second.2),
            kind: HistoryErrorKind::DuplicateWrite {
                key: history.key(first.0).clone(),
                value: history.value(first.1).clone(),
                first_line: line(first.2),
            },
        });
    }
    versions.sort_unstable();
    let repeated = |[a, b]: &&[(KeyId, u64, usize); 2]| (a.0, a.1) == (b.0, b.1) && a.2 != b.2;
    if let Some([first, second]) = versions.array_windows().find(repeated) {
        return Err(HistoryError {
            line: line(second.2),
            kind: HistoryErrorKind::DuplicateVersion {
                key: history.key(first.0).clone(),
                version: first.1,
                first_line: line(first.2),
            },
        });
    }
    Ok(())
}
