//! Correct random histories: serial by construction, concurrent in time.
//!
//! They feed the judges' own tests and figures, and serve as samples of the format.

use crate::history::{Operation, Record, Scalar, Status};
use std::collections::BTreeMap;

/// A small random sequence (splitmix64), the same everywhere for one seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `limit - 1`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Parameters of a generated history.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Determines everything.
    pub seed: u64,
    /// Number of transactions, aborted ones included.
    pub transactions: u64,
    /// Most operations of one transaction; at least 1.
    pub operations: u64,
    /// Registers: keys 0 to `registers - 1`.
    pub registers: u64,
    /// Lists: keys `"list-0"` and on.
    pub lists: u64,
    /// Clients, each of which runs one transaction at a time; at least 1.
    pub clients: u64,
    /// Percent of operations on registers that scan.
    pub scan_percent: u64,
    /// Widest scan, in keys.
    pub scan_width: u64,
    /// Whether writes and reads state versions.
    pub versions: bool,
    /// Percent of transactions that abort.
    pub abort_percent: u64,
    /// Percent of transactions of unknown outcome, half of which took effect.
    pub unknown_percent: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            seed: 1,
            transactions: 1000,
            operations: 6,
            registers: 100,
            lists: 10,
            clients: 8,
            scan_percent: 10,
            scan_width: 10,
            versions: true,
            abort_percent: 5,
            unknown_percent: 2,
        }
    }
}

/// The records of a history of this shape, in the order of their serial points.
///
/// The transactions run one after another on a plain map; each gets an interval of time around its serial point that overlaps those of
/// other clients.
pub fn generate(shape: Shape) -> impl Iterator<Item = Record> {
    let mut generator = Generator {
        random: Random::new(shape.seed),
        shape,
        free_at_ns: vec![0; shape.clients.max(1) as usize],
        registers: BTreeMap::new(),
        lists: BTreeMap::new(),
        next_value: 0,
    };
    (1..=shape.transactions).map(move |number| generator.transaction(number))
}

/// Nanoseconds between two serial points.
const STEP_NS: u64 = 1000;

#[derive(Clone, Debug, Default)]
struct Register {
    value: Option<u64>,
    version: u64,
}

struct Generator {
    random: Random,
    shape: Shape,
    /// By client: when its last transaction ended.
    free_at_ns: Vec<u64>,
    registers: BTreeMap<u64, Register>,
    lists: BTreeMap<u64, Vec<Scalar>>,
    next_value: u64,
}

impl Generator {
    fn transaction(&mut self, number: u64) -> Record {
        let clients = self.free_at_ns.len() as u64;
        let process = number % clients;
        let now = number * STEP_NS;
        let reach = STEP_NS * clients / 2;
        let start_ns = (now - self.random.below(reach.min(now))).max(self.free_at_ns[process as usize] + 1).min(now);
        let end_ns = now + self.random.below(reach);
        self.free_at_ns[process as usize] = end_ns;
        let (status, takes_effect) = self.outcome();
        let saved = (!takes_effect).then(|| (self.registers.clone(), self.lists.clone()));
        let count = 1 + self.random.below(self.shape.operations);
        let operations = (0..count).map(|_| self.operation(number)).collect();
        if let Some((registers, lists)) = saved {
            self.registers = registers;
            self.lists = lists;
        }
        Record {
            id: number,
            process,
            start_ns,
            end_ns,
            status,
            serial_point: (status != Status::Aborted).then_some(number),
            operations,
        }
    }

    fn outcome(&mut self) -> (Status, bool) {
        let roll = self.random.below(100);
        if roll < self.shape.abort_percent {
            (Status::Aborted, false)
        } else if roll < self.shape.abort_percent + self.shape.unknown_percent {
            (Status::Unknown, self.random.percent(50))
        } else {
            (Status::Committed, true)
        }
    }

    fn operation(&mut self, number: u64) -> Operation {
        let total = self.shape.registers + self.shape.lists;
        let key = self.random.below(total);
        if key >= self.shape.registers {
            return self.list_operation(key - self.shape.registers);
        }
        if self.random.percent(self.shape.scan_percent) {
            return self.scan(key);
        }
        match self.random.below(10) {
            0..5 => self.read(key),
            5..9 => self.write(key, number),
            _ => self.delete(key, number),
        }
    }

    fn value(&mut self) -> u64 {
        self.next_value += 1;
        self.next_value
    }

    fn read(&mut self, key: u64) -> Operation {
        let register = self.registers.get(&key).cloned().unwrap_or_default();
        Operation::Read {
            key: key.into(),
            value: register.value.map(Scalar::from),
            version: self.shape.versions.then_some(register.version),
        }
    }

    fn write(&mut self, key: u64, version: u64) -> Operation {
        let value = self.value();
        let register = Register { value: Some(value), version };
        self.registers.insert(key, register);
        Operation::Write { key: key.into(), value: value.into(), version: self.shape.versions.then_some(version) }
    }

    fn delete(&mut self, key: u64, version: u64) -> Operation {
        let register = Register { value: None, version };
        self.registers.insert(key, register);
        Operation::Delete { key: key.into(), version: self.shape.versions.then_some(version) }
    }

    fn scan(&mut self, low: u64) -> Operation {
        let high = low + self.random.below(self.shape.scan_width.max(1));
        let present = self.registers.range(low..=high);
        Operation::Scan {
            low: Some(low.into()),
            high: Some(high.into()),
            entries: present.filter_map(|(&key, register)| Some((key.into(), register.value?.into()))).collect(),
        }
    }

    fn list_operation(&mut self, list: u64) -> Operation {
        let key = Scalar::Text(format!("list-{list}"));
        if self.random.percent(50) {
            let value = Scalar::from(self.value());
            self.lists.entry(list).or_default().push(value.clone());
            return Operation::Append { key, value };
        }
        let values = self.lists.get(&list).cloned().unwrap_or_default();
        Operation::ReadList { key, values }
    }
}
