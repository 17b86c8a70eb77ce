//! Rows of Vacation: little-endian words, the first a stamp.

use crate::workloads::{Stamp, ycsb::stamp_value};
use check::Scalar;
use model::{RowBuf, RowRef};

/// Cars, flights or rooms of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub total: i64,
    pub used: i64,
    pub price: i64,
}

/// What a customer has booked: table, number, and the price of then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Booking {
    pub table: usize,
    pub number: u64,
    pub price: i64,
}

impl Offer {
    pub fn free(self) -> i64 {
        self.total - self.used
    }

    pub fn row(self, stamp: Stamp) -> RowBuf {
        row(stamp, &[self.total, self.used, self.price])
    }

    /// `None`: it is no such row.
    pub fn read(row: RowRef<'_>) -> Option<(Stamp, Offer)> {
        let (stamp, words) = words(row)?;
        let [total, used, price]: [i64; 3] = words.try_into().ok()?;
        Some((stamp, Offer { total, used, price }))
    }
}

impl Booking {
    /// The row of a customer.
    pub fn row(bookings: &[Booking], stamp: Stamp) -> RowBuf {
        let words = bookings.iter().flat_map(|it| [it.table as i64, it.number as i64, it.price]);
        row(stamp, &words.collect::<Vec<_>>())
    }

    /// `None`: it is no such row.
    pub fn read(row: RowRef<'_>) -> Option<(Stamp, Vec<Booking>)> {
        let (stamp, words) = words(row)?;
        let (bookings, []) = words.as_chunks::<3>() else { return None };
        let booking =
            |&[table, number, price]: &[i64; 3]| Booking { table: table as usize, number: number as u64, price };
        Some((stamp, bookings.iter().map(booking).collect()))
    }
}

/// Value of a row in a history.
pub(super) fn show(row: RowRef<'_>) -> Scalar {
    match words(row) {
        Some((Stamp(stamp), words)) => Scalar::from(format!("{stamp} holds {words:?}")),
        None => stamp_value(None, row),
    }
}

fn row(Stamp(stamp): Stamp, words: &[i64]) -> RowBuf {
    let mut bytes = stamp.to_le_bytes().to_vec();
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    RowBuf::from_bytes(&bytes)
}

fn words(row: RowRef<'_>) -> Option<(Stamp, Vec<i64>)> {
    let (words, []) = row.bytes().as_chunks::<8>() else { return None };
    let (stamp, words) = words.split_first()?;
    Some((Stamp(u64::from_le_bytes(*stamp)), words.iter().map(|word| i64::from_le_bytes(*word)).collect()))
}
