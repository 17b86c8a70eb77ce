//! The transactions of TATP.

use super::rows::{
    ACCESS, BIT_1, DATA_A, END_TIME, FACILITIES, FORWARDINGS, IS_ACTIVE, MSC_LOCATION, NUMBER, NUMBERS, SUBSCRIBERS,
    VLR_LOCATION, digits, forwarding_row, number_key, of_facility, of_subscriber,
};
use crate::workloads::bank::read_account;
use crate::workloads::{Call, Stamp, Stamps, decode, encode, numbers};
use model::{
    Access, Columns, Delta, Error, Footprint, Key, Malformed, Procedure, Program, Result, RowBuf, RowRef, Scan,
    TableId, Touch, ValueRef,
};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};

/// Which transaction, in the benchmark's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    GetSubscriberData { subscriber: u64 },
    GetNewDestination { subscriber: u64, facility: u8, start: u8, end: u8 },
    GetAccessData { subscriber: u64, access: u8 },
    UpdateSubscriberData { subscriber: u64, facility: u8, bit: u8 },
    UpdateLocation { subscriber: u64 },
    InsertCallForwarding { subscriber: u64, facility: u8, start: u8, end: u8 },
    DeleteCallForwarding { subscriber: u64, facility: u8, start: u8 },
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::GetSubscriberData { .. } => "GetSubscriberData",
            Kind::GetNewDestination { .. } => "GetNewDestination",
            Kind::GetAccessData { .. } => "GetAccessData",
            Kind::UpdateSubscriberData { .. } => "UpdateSubscriberData",
            Kind::UpdateLocation { .. } => "UpdateLocation",
            Kind::InsertCallForwarding { .. } => "InsertCallForwarding",
            Kind::DeleteCallForwarding { .. } => "DeleteCallForwarding",
        }
    }

    pub fn writes(self) -> bool {
        match self {
            Kind::GetSubscriberData { .. } | Kind::GetNewDestination { .. } | Kind::GetAccessData { .. } => false,
            Kind::UpdateSubscriberData { .. }
            | Kind::UpdateLocation { .. }
            | Kind::InsertCallForwarding { .. }
            | Kind::DeleteCallForwarding { .. } => true,
        }
    }
}

/// A transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    tables: [u32; 5],
    kind: Kind,
    stamps: Stamps,
    #[serde(skip)]
    row: RowBuf,
}

/// What a transaction found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether a subscriber was missing: all were loaded and none is ever deleted.
    pub is_missing: bool,
    /// The write of a subscriber.
    pub subscriber: Option<(u64, Stamp)>,
    /// The write of a subscriber's location.
    pub location: Option<(u64, Stamp)>,
    /// The write of a facility.
    pub facility: Option<(u64, Stamp)>,
    /// The forwarding that came or went.
    pub forwarding: Option<Forwarding>,
}

/// What happened to a forwarding, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// It was inserted by this write.
    Inserted(u64, Stamp),
    /// It was deleted.
    Deleted(u64),
}

impl Transaction {
    pub(super) fn new(tables: &[TableId], stamps: Stamps) -> Transaction {
        let kind = Kind::GetSubscriberData { subscriber: 1 };
        Transaction { tables: numbers(tables), kind, stamps, row: RowBuf::new() }
    }

    pub(super) fn set(&mut self, kind: Kind) {
        self.kind = kind;
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    fn table(&self, table: usize) -> TableId {
        TableId(self.tables[table])
    }

    fn read<A: Access + ?Sized>(&mut self, access: &mut A, table: usize, key: u64) -> Result<bool> {
        access.read(self.table(table), &key.to_be_bytes(), Columns::All, &mut self.row)
    }

    /// Finds a subscriber by telephone number.
    fn by_number<A: Access + ?Sized>(&mut self, access: &mut A, subscriber: u64) -> Result<Option<u64>> {
        let found = access.read(self.table(NUMBERS), &number_key(subscriber), Columns::All, &mut self.row)?;
        Ok(if found { read_account(self.row.row()).map(|(_, subscriber)| subscriber as u64) } else { None })
    }

    /// Range of the forwardings of a facility that start up to a time.
    fn forwardings(subscriber: u64, facility: u8, start: u8) -> (Bound<Key>, Bound<Key>) {
        let bound = |start| Bound::Included(Key::from_u64(of_facility(subscriber, facility, start)));
        (bound(0), bound(start))
    }

    fn get_new_destination<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (subscriber, facility): (u64, u8),
        (start, end): (u8, u8),
    ) -> Result<Seen> {
        let is_there = self.read(access, FACILITIES, of_subscriber(subscriber, facility))?;
        if is_there && self.row.get(IS_ACTIVE).as_int() == Some(1) {
            let (lower, upper) = Transaction::forwardings(subscriber, facility, start);
            access.scan(&Scan::table(self.table(FORWARDINGS)).between(lower, upper), &mut |item| {
                if item.row.get(END_TIME).as_int() > Some(i64::from(end)) {
                    black_box(item.row.bytes());
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(Seen::default())
    }

    /// Writes the facility first: without it the transaction writes nothing.
    fn update_subscriber_data<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (subscriber, facility): (u64, u8),
        bit: u8,
    ) -> Result<Seen> {
        let (facility, written) = (of_subscriber(subscriber, facility), self.stamps.draw());
        let change = Delta::new().set(DATA_A, written.to_int());
        if !access.update(self.table(FACILITIES), &facility.to_be_bytes(), &change)? {
            return Ok(Seen::default());
        }
        let stamp = self.stamps.draw();
        let change = Delta::new().set(BIT_1, i64::from(bit)).set(MSC_LOCATION, stamp.to_int());
        let found = access.update(self.table(SUBSCRIBERS), &subscriber.to_be_bytes(), &change)?;
        let (subscriber, facility) = (Some((subscriber, stamp)), Some((facility, written)));
        Ok(Seen { is_missing: !found, subscriber, facility, ..Seen::default() })
    }

    fn update_location<A: Access + ?Sized>(&mut self, access: &mut A, subscriber: u64) -> Result<Seen> {
        let stamp = self.stamps.draw();
        let change = Delta::new().set(MSC_LOCATION, stamp.to_int()).set(VLR_LOCATION, stamp.to_int());
        let found = access.update(self.table(SUBSCRIBERS), &subscriber.to_be_bytes(), &change)?;
        let written = Some((subscriber, stamp));
        Ok(Seen { is_missing: !found, subscriber: written, location: written, ..Seen::default() })
    }

    fn insert_forwarding<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (subscriber, facility): (u64, u8),
        (start, end): (u8, u8),
    ) -> Result<Seen> {
        if !self.read(access, FACILITIES, of_subscriber(subscriber, facility))? {
            return Ok(Seen::default());
        }
        let (key, stamp) = (of_facility(subscriber, facility, start), self.stamps.draw());
        let row = forwarding_row(end, &digits(stamp.0));
        let inserted = Seen { forwarding: Some(Forwarding::Inserted(key, stamp)), ..Seen::default() };
        match access.insert(self.table(FORWARDINGS), &key.to_be_bytes(), row.row()) {
            // The statement did not happen: the benchmark expects that now and then.
            Err(Error::Duplicate(_)) => Ok(Seen::default()),
            done => done.map(|()| inserted),
        }
    }
}

const MISSING: Seen = Seen { is_missing: true, subscriber: None, location: None, facility: None, forwarding: None };

impl Program for Transaction {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        match self.kind {
            Kind::GetSubscriberData { subscriber } => {
                let is_missing = !self.read(access, SUBSCRIBERS, subscriber)?;
                black_box(self.row.bytes());
                Ok(Seen { is_missing, ..Seen::default() })
            }
            Kind::GetNewDestination { subscriber, facility, start, end } => {
                self.get_new_destination(access, (subscriber, facility), (start, end))
            }
            Kind::GetAccessData { subscriber, access: kind } => {
                self.read(access, ACCESS, of_subscriber(subscriber, kind))?;
                black_box(self.row.bytes());
                Ok(Seen::default())
            }
            Kind::UpdateSubscriberData { subscriber, facility, bit } => {
                self.update_subscriber_data(access, (subscriber, facility), bit)
            }
            Kind::UpdateLocation { subscriber } => {
                let Some(subscriber) = self.by_number(access, subscriber)? else { return Ok(MISSING) };
                self.update_location(access, subscriber)
            }
            Kind::InsertCallForwarding { subscriber, facility, start, end } => {
                let Some(subscriber) = self.by_number(access, subscriber)? else { return Ok(MISSING) };
                self.insert_forwarding(access, (subscriber, facility), (start, end))
            }
            Kind::DeleteCallForwarding { subscriber, facility, start } => {
                let Some(subscriber) = self.by_number(access, subscriber)? else { return Ok(MISSING) };
                let key = of_facility(subscriber, facility, start);
                let found = access.delete(self.table(FORWARDINGS), &key.to_be_bytes())?;
                Ok(Seen { forwarding: found.then_some(Forwarding::Deleted(key)), ..Seen::default() })
            }
        }
    }
}

impl Procedure for Transaction {
    const NAME: &'static str = super::NAME;

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Transaction, Malformed> {
        decode(arguments)
    }

    /// A trial read finds the subscriber of a telephone number.
    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint> {
        let it = Footprint::default();
        let mut trial = self.clone();
        let mut by_number = |it: Footprint, number: u64| {
            let it = it.reads(self.table(NUMBERS), number_key(number));
            Ok::<_, Error>((it, trial.by_number(access, number)?))
        };
        Ok(match self.kind {
            Kind::GetSubscriberData { subscriber } => it.reads(self.table(SUBSCRIBERS), subscriber),
            Kind::GetNewDestination { subscriber, facility, start, .. } => {
                let (lower, upper) = Transaction::forwardings(subscriber, facility, start);
                it.reads(self.table(FACILITIES), of_subscriber(subscriber, facility)).reads_range(
                    self.table(FORWARDINGS),
                    lower,
                    upper,
                )
            }
            Kind::GetAccessData { subscriber, access } => {
                it.reads(self.table(ACCESS), of_subscriber(subscriber, access))
            }
            Kind::UpdateSubscriberData { subscriber, facility, .. } => it
                .touches(self.table(SUBSCRIBERS), subscriber, Touch::Update)
                .touches(self.table(FACILITIES), of_subscriber(subscriber, facility), Touch::Update),
            Kind::UpdateLocation { subscriber } => match by_number(it, subscriber)? {
                (it, Some(subscriber)) => it.touches(self.table(SUBSCRIBERS), subscriber, Touch::Update),
                (it, None) => it,
            },
            Kind::InsertCallForwarding { subscriber, facility, start, .. } => match by_number(it, subscriber)? {
                (it, Some(subscriber)) => it
                    .reads(self.table(FACILITIES), of_subscriber(subscriber, facility))
                    .touches(self.table(FORWARDINGS), of_facility(subscriber, facility, start), Touch::Insert),
                (it, None) => it,
            },
            Kind::DeleteCallForwarding { subscriber, facility, start } => match by_number(it, subscriber)? {
                (it, Some(subscriber)) => {
                    it.touches(self.table(FORWARDINGS), of_facility(subscriber, facility, start), Touch::Delete)
                }
                (it, None) => it,
            },
        })
    }
}

impl Call for Transaction {
    fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }
}

/// The stamp of a facility.
pub(super) fn facility_stamp(row: RowRef<'_>) -> Option<Stamp> {
    stamp_in(row, DATA_A)
}

/// The stamp of a subscriber.
pub(super) fn subscriber_stamp(row: RowRef<'_>) -> Option<Stamp> {
    stamp_in(row, MSC_LOCATION)
}

/// The stamp of a subscriber's location.
pub(super) fn location_stamp(row: RowRef<'_>) -> Option<Stamp> {
    stamp_in(row, VLR_LOCATION)
}

/// The stamp of a forwarding.
pub(super) fn forwarding_stamp(row: RowRef<'_>) -> Option<Stamp> {
    let ValueRef::Text(number) = row.get(NUMBER) else { return None };
    number.parse().ok().map(Stamp)
}

fn stamp_in(row: RowRef<'_>, column: u16) -> Option<Stamp> {
    row.get(usize::from(column)).as_int().map(|stamp| Stamp(stamp as u64))
}
