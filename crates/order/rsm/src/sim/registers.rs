//! The service of the simulated cluster: a few registers that are read, written, and compared and set. It keeps a list of what it was
//! made to execute, so that the judge sees what the executor did and not what it says.

use crate::service::{BadSnapshot, Service};
use paxos::core::Instance;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Write};

/// Keys are below this: few, so that clients meet.
pub const KEYS: u8 = 4;

/// Command of a client. Values are never zero: a register that was never written reads as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Returns the value.
    Read {
        /// The register.
        key: u8,
    },
    /// Put this there.
    Write {
        /// The register.
        key: u8,
        /// The new value.
        value: u64,
    },
    /// Put this there if that is there.
    CompareAndSet {
        /// The register.
        key: u8,
        /// The value required.
        expected: u64,
        /// The new value, if the register holds `expected`.
        value: u64,
    },
}

/// A command with its name: no other command of the run has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its client.
    pub client: u16,
    /// Which of this client's.
    pub number: u32,
    /// The command.
    pub command: Command,
}

const BYTES: usize = 24;

impl Named {
    /// The request's body, with some bytes behind it that mean nothing.
    #[must_use]
    pub fn encode(&self, padding: usize) -> Vec<u8> {
        let (kind, key, expected, value) = match self.command {
            Command::Read { key } => (0, key, 0, 0),
            Command::Write { key, value } => (1, key, 0, value),
            Command::CompareAndSet { key, expected, value } => (2, key, expected, value),
        };
        let mut bytes = Vec::with_capacity(BYTES + padding);
        bytes.extend_from_slice(&[kind, key]);
        bytes.extend_from_slice(&self.client.to_be_bytes());
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.extend_from_slice(&expected.to_be_bytes());
        bytes.extend_from_slice(&value.to_be_bytes());
        bytes.resize(BYTES + padding, 0);
        bytes
    }

    /// Decodes the bytes that [`encode`](Self::encode) returned.
    #[must_use]
    pub fn decode(body: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = body.first_chunk()?;
        let word = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (key, expected, value) = (bytes[1], word(8)?, word(16)?);
        let command = match bytes[0] {
            0 => Command::Read { key },
            1 => Command::Write { key, value },
            2 => Command::CompareAndSet { key, expected, value },
            _ => return None,
        };
        let number = u32::from_be_bytes(bytes[4..8].try_into().ok()?);
        Some(Self { client: u16::from_be_bytes([bytes[2], bytes[3]]), number, command })
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "C{}#{} {:?}", self.client, self.number, self.command)
    }
}

/// The answer: what the register held before.
#[must_use]
pub fn answer(reply: &[u8]) -> Option<u64> {
    reply.try_into().ok().map(u64::from_be_bytes)
}

/// One execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The instance, as the service was told.
    pub at: Instance,
    /// The command.
    pub named: Named,
    /// Value of the register before.
    pub before: u64,
}

/// The registers.
#[derive(Debug, Default)]
pub struct Registers {
    values: BTreeMap<u8, u64>,
    /// Follows from all executions and their order.
    digest: u64,
    /// Bytes of a snapshot that mean nothing.
    ballast: usize,
    /// A cell, since an executor shows its service only to look at.
    executions: RefCell<Vec<Execution>>,
}

impl Registers {
    /// Registers that were never written, with this number of meaningless bytes in their snapshots.
    #[must_use]
    pub fn new(ballast: usize) -> Self {
        Self { ballast, ..Self::default() }
    }

    /// Returns the executions since the last call, in order.
    pub fn take_executions(&self) -> Vec<Execution> {
        self.executions.take()
    }

    fn apply(&mut self, named: Named) -> u64 {
        let (key, change) = match named.command {
            Command::Read { key } => (key, None),
            Command::Write { key, value } => (key, Some((None, value))),
            Command::CompareAndSet { key, expected, value } => (key, Some((Some(expected), value))),
        };
        let before = self.values.get(&key).copied().unwrap_or(0);
        if let Some((expected, value)) = change
            && expected.is_none_or(|expected| expected == before)
        {
            self.values.insert(key, value);
        }
        let name = u64::from(named.client) << 32 | u64::from(named.number);
        self.digest = (self.digest ^ name).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ before;
        before
    }
}

impl Service for Registers {
    fn execute(&mut self, at: Instance, request: &[u8], reply: &mut Vec<u8>) {
        let Some(named) = Named::decode(request) else { return };
        let before = self.apply(named);
        reply.extend_from_slice(&before.to_be_bytes());
        self.executions.get_mut().push(Execution { at, named, before });
    }

    fn snapshot(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut bytes = self.digest.to_be_bytes().to_vec();
        bytes.extend((0..self.ballast).map(|place| place as u8));
        for (key, value) in &self.values {
            bytes.push(*key);
            bytes.extend_from_slice(&value.to_be_bytes());
        }
        out.write_all(&bytes)
    }

    fn restore(&mut self, input: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        let mut snapshot = Vec::new();
        input.read_to_end(&mut snapshot)?;
        let bad = || BadSnapshot(format!("{} bytes are no registers", snapshot.len()));
        let (digest, rest) = snapshot.split_first_chunk().ok_or_else(bad)?;
        let (ballast, entries) = rest.split_at_checked(self.ballast).ok_or_else(bad)?;
        let is_whole = ballast.iter().enumerate().all(|(place, byte)| *byte == place as u8);
        if entries.len() % 9 != 0 || !is_whole {
            return Err(bad());
        }
        self.digest = u64::from_be_bytes(*digest);
        self.values = entries.chunks(9).map(|entry| (entry[0], answer(&entry[1..]).unwrap_or(0))).collect();
        Ok(())
    }
}
