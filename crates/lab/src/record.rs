//! Histories: every attempt of every client, written down for the judges of `check`.
//!
//! Keys of a history are integers (one table of a workload may claim them) or texts, `table/key`, whose order is the
//! order of the keys. Values name the write that they come from. A range that excludes a bound is shown by a text just
//! beside it that no key has.

use crate::workloads::Client;
use check::{Operation, Record, Scalar, Status};
use env::{Clock, MonotonicClock};
use model::{Access, Committed, Error, Fault, Key, Program, RowRef, TableId, history};
use std::cell::Cell;
use std::fmt::Write;
use std::ops::Bound;

/// How a history shows one table.
#[derive(Clone, Debug)]
pub struct Form {
    /// How it shows keys.
    pub keys: KeyForm,
    /// What it shows of a row: equal exactly if the same write made them.
    pub value: fn(RowRef<'_>) -> Scalar,
}

/// How a history shows keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// The integers that eight-byte keys are. For at most one table of a history.
    Integers,
    /// This name, a slash, and the key's bytes in hexadecimal.
    Text(&'static str),
}

/// The id under which a client adds operations on something that is not a table of the engine.
pub fn virtual_table(position: usize) -> TableId {
    TableId(u32::MAX - u32::try_from(position).expect("a handful of tables"))
}

/// How a history shows all tables of a run.
#[derive(Clone, Debug)]
pub struct Forms(Vec<(TableId, Form)>);

impl Forms {
    /// `forms` are those of `tables`, followed by those of virtual tables, from position 0.
    pub fn new(tables: &[TableId], forms: Vec<Form>) -> Forms {
        let virtual_tables = (0..).map(virtual_table);
        Forms(tables.iter().copied().chain(virtual_tables).zip(forms).collect())
    }

    fn of(&self, table: TableId) -> &Form {
        let form = self.0.iter().find(|(id, _)| *id == table);
        &form.expect("operations are on tables of the workload").1
    }

    /// The operation as the judges read it; `None` for a range that cannot hold a key.
    fn translate(&self, operation: history::Operation) -> Option<Operation> {
        Some(match operation {
            history::Operation::Read(table, key, row) => {
                let form = self.of(table);
                let value = row.map(|row| (form.value)(RowRef::new(&row)));
                Operation::Read { key: form.keys.show(&key), value, version: None }
            }
            history::Operation::Write(table, key, row) => {
                let form = self.of(table);
                let value = (form.value)(RowRef::new(&row));
                Operation::Write { key: form.keys.show(&key), value, version: None }
            }
            history::Operation::Delete(table, key) => {
                Operation::Delete { key: self.of(table).keys.show(&key), version: None }
            }
            history::Operation::Scan(table, lower, upper, rows) => {
                let form = self.of(table);
                let (low, high) = form.keys.show_range(&lower, &upper)?;
                let entry = |(key, row): (Key, Vec<u8>)| (form.keys.show(&key), (form.value)(RowRef::new(&row)));
                let entries = rows.into_iter().map(entry).collect();
                Operation::Scan { low: Some(low), high: Some(high), entries }
            }
        })
    }
}

/// Sorts behind everything that follows the same text with a hexadecimal digit.
const AFTER_DIGITS: char = '~';
/// Sorts before every hexadecimal digit, so between a key and the keys that it is a prefix of.
const BEFORE_DIGITS: char = '!';

impl KeyForm {
    fn show(self, key: &[u8]) -> Scalar {
        match self {
            KeyForm::Integers => Scalar::from(Key::to_u64(key).expect("a table with integer keys has no others")),
            KeyForm::Text(_) => Scalar::from(self.text(key)),
        }
    }

    fn text(self, key: &[u8]) -> String {
        let KeyForm::Text(name) = self else { unreachable!("only texts are shown as texts") };
        let mut text = String::with_capacity(name.len() + 1 + 2 * key.len());
        text.push_str(name);
        text.push('/');
        for byte in key {
            write!(text, "{byte:02x}").expect("a string takes every text");
        }
        text
    }

    /// The range with both bounds included; `None` if it is empty.
    fn show_range(self, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<(Scalar, Scalar)> {
        let (low, high) = match self {
            KeyForm::Integers => integer_range(lower, upper)?,
            KeyForm::Text(_) => self.text_range(lower, upper)?,
        };
        (low <= high).then_some((low, high))
    }

    fn text_range(self, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<(Scalar, Scalar)> {
        let mut low = self.text(bound_key(lower).unwrap_or(&[]));
        if matches!(lower, Bound::Excluded(_)) {
            low.push(BEFORE_DIGITS);
        }
        let mut high = self.text(bound_key(upper).unwrap_or(&[]));
        match upper {
            Bound::Included(_) => {}
            Bound::Unbounded => high.push(AFTER_DIGITS),
            Bound::Excluded(key) if key.is_empty() => return None,
            Bound::Excluded(_) => step_below(&mut high),
        }
        Some((low.into(), high.into()))
    }
}

/// Changes the text of a key to one above every lesser key's and below its own.
fn step_below(text: &mut String) {
    let digit = text.pop().and_then(|last| last.to_digit(16)).expect("the text of a key ends in a digit");
    if let Some(digit) = digit.checked_sub(1) {
        text.push(char::from_digit(digit, 16).expect("one below a digit is a digit"));
        text.push(AFTER_DIGITS);
    }
}

fn bound_key(bound: &Bound<Key>) -> Option<&[u8]> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
    }
}

/// Bounds of eight-byte keys may be shorter or longer than eight bytes; then the integers just within are shown.
fn integer_range(lower: &Bound<Key>, upper: &Bound<Key>) -> Option<(Scalar, Scalar)> {
    let low = match lower {
        Bound::Unbounded => 0,
        Bound::Included(key) => least_integer_from(key)?,
        Bound::Excluded(key) if key.len() < 8 => least_integer_from(key)?,
        Bound::Excluded(key) => leading_integer(key).checked_add(1)?,
    };
    let high = match upper {
        Bound::Unbounded => u64::MAX,
        Bound::Included(key) if key.len() >= 8 => leading_integer(key),
        Bound::Excluded(key) if key.len() > 8 => leading_integer(key),
        Bound::Included(key) | Bound::Excluded(key) => leading_integer(key).checked_sub(1)?,
    };
    Some((low.into(), high.into()))
}

/// The first eight bytes, or as many as there are and zeros.
fn leading_integer(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

/// The least integer whose key is not below `key`.
fn least_integer_from(key: &[u8]) -> Option<u64> {
    if key.len() > 8 { leading_integer(key).checked_add(1) } else { Some(leading_integer(key)) }
}

/// What one client did. Times are nanoseconds of the clock that the logs of a run share.
#[derive(Debug)]
pub struct Log<'a> {
    client: u32,
    clock: MonotonicClock,
    forms: &'a Forms,
    records: Vec<Record>,
    committed_operations: u64,
}

const COUNTER_BITS: u32 = 40;

impl<'a> Log<'a> {
    /// Nothing yet.
    pub fn new(client: u32, clock: MonotonicClock, forms: &'a Forms) -> Log<'a> {
        Log { client, clock, forms, records: Vec::new(), committed_operations: 0 }
    }

    /// Operations of committed transactions so far.
    pub fn committed_operations(&self) -> u64 {
        self.committed_operations
    }

    /// What was recorded.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// Runs one transaction through `execute`, which is handed the client's program under observation and calls the
    /// given function just before each further attempt. `execute` returns when the outcome is known to the client.
    pub fn observe<C: Client, T>(
        &mut self,
        client: &mut C,
        execute: impl FnOnce(&mut Observed<'_, 'a, C>, &dyn Fn()) -> Result<(T, Committed), Error>,
    ) -> Result<(T, Committed), Error> {
        let clock = self.clock;
        let attempt_start = Cell::new(clock.now());
        let first = self.records.len();
        let mut observed = Observed { client, log: self, attempt_start: &attempt_start };
        let outcome = execute(&mut observed, &|| attempt_start.set(clock.now()));
        self.settle(first, &outcome);
        outcome
    }

    /// All attempts from `first` on have failed, but for the last, which ended as `outcome` says.
    fn settle<T>(&mut self, first: usize, outcome: &Result<(T, Committed), Error>) {
        let end_ns = self.clock.now();
        let Some(last) = self.records[first..].last_mut() else { return };
        last.end_ns = end_ns;
        match outcome {
            Ok((_, committed)) => {
                last.status = Status::Committed;
                last.serial_point = Some(committed.serial_point.0);
                self.committed_operations += last.operations.len() as u64;
            }
            Err(Error::Fault(Fault::OutcomeUnknown { .. })) => last.status = Status::Unknown,
            Err(_) => {}
        }
    }

    /// Adds an attempt, as failed: [`Log::settle`] knows better of the last.
    fn add(&mut self, start_ns: u64, operations: Vec<history::Operation>) {
        let operations = operations.into_iter().filter_map(|operation| self.forms.translate(operation)).collect();
        self.records.push(Record {
            id: u64::from(self.client) << COUNTER_BITS | self.records.len() as u64,
            process: self.client.into(),
            start_ns,
            end_ns: self.clock.now(),
            status: Status::Aborted,
            serial_point: None,
            operations,
        });
    }
}

/// A client's program whose every attempt is written down.
#[derive(Debug)]
pub struct Observed<'o, 'a, C> {
    client: &'o mut C,
    log: &'o mut Log<'a>,
    attempt_start: &'o Cell<u64>,
}

impl<C: Client> Program for Observed<'_, '_, C> {
    type Output = C::Output;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<C::Output, Error> {
        let mut recorder = history::Recorder::new(access);
        let output = self.client.run(&mut recorder);
        let (_, mut operations) = recorder.into_parts();
        self.client.observe(&mut operations);
        self.log.add(self.attempt_start.get(), operations);
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every range over a few keys holds, in its shown form, exactly the shown keys that it holds.
    fn shown_ranges_are_exact(form: KeyForm, keys: &[Key], bounds: &[Key]) {
        use Bound::{Excluded, Included, Unbounded};
        let all = |wrap: fn(Key) -> Bound<Key>| bounds.iter().cloned().map(wrap);
        let bounds: Vec<Bound<Key>> = all(Included).chain(all(Excluded)).chain([Unbounded]).collect();
        for lower in &bounds {
            for upper in &bounds {
                let shown = form.show_range(lower, upper);
                for key in keys {
                    let above = match lower {
                        Included(bound) => key >= bound,
                        Excluded(bound) => key > bound,
                        Unbounded => true,
                    };
                    let below = match upper {
                        Included(bound) => key <= bound,
                        Excluded(bound) => key < bound,
                        Unbounded => true,
                    };
                    let name = form.show(key);
                    let inside = shown.as_ref().is_some_and(|(low, high)| (low..=high).contains(&&name));
                    assert_eq!(inside, above && below, "{key:?} in {lower:?} to {upper:?}, shown {shown:?}");
                }
            }
        }
    }

    #[test]
    fn ranges_of_texts_are_exact() {
        let keys: Vec<Key> = [&[][..], &[0], &[0, 0], &[0, 255], &[9], &[0x0f], &[0x10], &[0xa0], &[255], &[255, 255]]
            .into_iter()
            .map(Key::from_bytes)
            .collect();
        shown_ranges_are_exact(KeyForm::Text("t"), &keys, &keys);
    }

    #[test]
    fn ranges_of_integers_are_exact_whatever_the_bounds_length() {
        let integers = [0, 1, 2, 255, 256, 257, u64::MAX - 1, u64::MAX];
        let keys: Vec<Key> = integers.into_iter().map(Key::from_u64).collect();
        let odd: [&[u8]; 7] =
            [&[], &[0], &[255], &[0; 7], &[0, 0, 0, 0, 0, 0, 1], &[0, 0, 0, 0, 0, 0, 0, 1, 0], &[255; 9]];
        let bounds: Vec<Key> = keys.iter().cloned().chain(odd.into_iter().map(Key::from_bytes)).collect();
        shown_ranges_are_exact(KeyForm::Integers, &keys, &bounds);
    }
}
