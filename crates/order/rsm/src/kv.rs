//! An example of a service: a map from keys to values, both bytes, in which every operation is ordered, reads too.
//!
//! Reads go through the log like writes. So each one sees what was acknowledged before it was asked, whichever replica is asked
//! (linearizable), at the price of a write. Commands and answers are in [`Command`] and [`Answer`]; commands that
//! cannot be carried out are answered with a [`Refusal`], since what was ordered cannot be refused any more.

mod answer;
mod command;
#[cfg(test)]
mod tests;

use crate::service::{BadSnapshot, Service};
use codec::{Malformed, StreamError, StreamReader, put_bytes, put_number};
use paxos::core::Instance;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::ops::Bound;

pub use answer::{Answer, BadAnswer, Refusal};
pub use command::{BadCommand, Command};

/// Bytes of a key, at most.
pub const MAX_KEY_BYTES: usize = 1 << 10;
/// Bytes of a value, at most.
pub const MAX_VALUE_BYTES: usize = 1 << 20;
/// Keys that one list names, at most.
pub const MAX_LISTED: u64 = 10_000;
/// Bytes of keys and values after which a list ends and says that there is more.
pub const MAX_LISTED_BYTES: usize = 1 << 20;

/// Bytes that an entry takes beside its key and value, for the limit on all.
const ENTRY_BYTES: usize = 64;
/// The first byte of a snapshot.
const VERSION: u8 = 1;

type Key = Box<[u8]>;
type Value = Box<[u8]>;

/// The map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    entries: BTreeMap<Key, Value>,
    bytes: usize,
    limit: usize,
}

impl Default for KeyValue {
    /// At most 256 MiB: a snapshot of it is written whenever some MiB of requests were executed.
    fn default() -> Self {
        Self::with_limit(256 << 20)
    }
}

impl KeyValue {
    /// An empty map that holds so many bytes at most (keys, values and 64 for each entry). The same on all replicas,
    /// since a full map refuses.
    #[must_use]
    pub fn with_limit(bytes: usize) -> Self {
        Self { entries: BTreeMap::new(), bytes: 0, limit: bytes }
    }

    /// Returns the number of keys that have a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether no key has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Carries out one command.
    pub fn apply<'a>(&'a mut self, command: &Command<'_>) -> Answer<'a> {
        let done = match *command {
            Command::Get { key } => return Answer::Value(self.get(key)),
            Command::List { prefix, after, limit } => return self.list(prefix, after, limit),
            Command::CompareAndSet { key, expected, .. } if self.get(key) != expected => {
                return Answer::Differs(self.get(key));
            }
            Command::CompareAndSet { key, new, .. } => self.set(key, new).map(|_| Answer::Swapped),
            Command::Put { key, value } => self.set(key, Some(value)).map(|existed| Answer::Done { existed }),
            Command::Delete { key } => self.set(key, None).map(|existed| Answer::Done { existed }),
            Command::Add { key, delta } => self.add(key, delta).map(Answer::Counter),
        };
        done.unwrap_or_else(Answer::Refused)
    }

    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.entries.get(key).map(|value| &**value)
    }

    /// Sets or removes the key's value. Returns whether it had one.
    fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<bool, Refusal> {
        let Some(value) = value else { return Ok(self.remove(key)) };
        if key.len() > MAX_KEY_BYTES {
            return Err(Refusal::KeyTooLong);
        }
        if value.len() > MAX_VALUE_BYTES {
            return Err(Refusal::ValueTooLong);
        }
        let old = self.entries.get_mut(key);
        let taken = old.as_ref().map_or(0, |old| weight(key, old));
        let bytes = self.bytes - taken + weight(key, value);
        if bytes > self.limit {
            return Err(Refusal::Full);
        }
        self.bytes = bytes;
        match old {
            Some(old) if old.len() == value.len() => old.copy_from_slice(value),
            Some(old) => *old = value.into(),
            None => {
                self.entries.insert(key.into(), value.into());
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        let removed = self.entries.remove(key);
        self.bytes -= removed.as_ref().map_or(0, |value| weight(key, value));
        removed.is_some()
    }

    /// Values that are counted are decimal numbers, so that a get shows them; no value counts as zero.
    fn add(&mut self, key: &[u8], delta: i64) -> Result<i64, Refusal> {
        let number = match self.get(key) {
            None => 0,
            Some(text) => str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Refusal::NotANumber)?,
        };
        let sum = delta.checked_add(number).ok_or(Refusal::Overflow)?;
        self.set(key, Some(sum.to_string().as_bytes()))?;
        Ok(sum)
    }

    fn list(&self, prefix: &[u8], after: Option<&[u8]>, limit: u64) -> Answer<'_> {
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let mut left = self
            .entries
            .range::<[u8], _>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, value)| (&**key, &**value))
            .peekable();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        while (entries.len() as u64) < limit.min(MAX_LISTED) && bytes < MAX_LISTED_BYTES {
            let Some((key, value)) = left.next() else { break };
            bytes += key.len() + value.len();
            entries.push((key, value));
        }
        Answer::Listed { entries, more: left.peek().is_some() }
    }

    /// Adds the entries of a snapshot to none.
    fn read(&mut self, reader: &mut StreamReader<&mut dyn BufRead>) -> Result<(), StreamError> {
        if reader.u8()? != VERSION {
            return Err(Malformed::value_at(0).into());
        }
        for _ in 0..reader.number()? {
            let wrong = Malformed::value_at(reader.offset());
            let (key, value) = (reader.bytes(MAX_KEY_BYTES as u64)?, reader.bytes(MAX_VALUE_BYTES as u64)?);
            if self.entries.last_key_value().is_some_and(|(before, _)| *before >= key) {
                return Err(wrong.into());
            }
            self.bytes += weight(&key, &value);
            self.entries.insert(key, value);
        }
        reader.end()
    }
}

fn weight(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + ENTRY_BYTES
}

impl Service for KeyValue {
    fn execute(&mut self, _: Instance, request: &[u8], reply: &mut Vec<u8>) {
        match Command::decode(request) {
            Ok(command) => self.apply(&command).encode(reply),
            Err(_) => Answer::Refused(Refusal::Unreadable).encode(reply),
        }
    }

    fn snapshot(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut bytes = vec![VERSION];
        put_number(&mut bytes, self.entries.len() as u64);
        for (key, value) in &self.entries {
            put_bytes(&mut bytes, key);
            put_bytes(&mut bytes, value);
            out.write_all(&bytes)?;
            bytes.clear();
        }
        out.write_all(&bytes)
    }

    fn restore(&mut self, snapshot: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        // The old entries go first: two maps need not fit into memory.
        *self = Self::with_limit(self.limit);
        self.read(&mut StreamReader::new(snapshot))
            .map_err(|error| BadSnapshot(format!("it is no list of keys and values: {error}")))
    }
}
