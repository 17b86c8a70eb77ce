//! Functions that exist only over windows.

use super::super::super::scope::Run;
use super::Partition;
use super::frame::{Frames, Part};
use crate::error::{Result, SqlError, state};
use crate::functions::WindowFunction;
use crate::plan::WindowCall;
use crate::types::{Datum, Row};

impl Partition<'_> {
    /// Computes a window function for each row.
    pub fn function(&self, function: WindowFunction, call: &WindowCall, run: &mut Run<'_, '_>) -> Result<Vec<Datum>> {
        let rows = 0..self.rows.len();
        match function {
            WindowFunction::RowNumber => Ok(rows.map(|row| Datum::Int8(row as i64 + 1)).collect()),
            WindowFunction::Rank => Ok(rows.map(|row| Datum::Int8(self.rank(row))).collect()),
            WindowFunction::DenseRank => Ok(self.dense_ranks()),
            WindowFunction::PercentRank => Ok(rows.map(|row| Datum::Float8(self.percent_rank(row))).collect()),
            WindowFunction::CumeDist => {
                Ok(rows.map(|row| Datum::Float8(self.peers[row].1 as f64 / self.rows.len() as f64)).collect())
            }
            WindowFunction::Ntile => self.ntile(call, run),
            WindowFunction::Lag => self.shifted(call, true, run),
            WindowFunction::Lead => self.shifted(call, false, run),
            WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
                self.of_frame(function, call, run)
            }
        }
    }

    fn rank(&self, row: usize) -> i64 {
        self.peers[row].0 as i64 + 1
    }

    fn dense_ranks(&self) -> Vec<Datum> {
        let mut rank = 0;
        let rank_of = |(row, peers): (usize, &(usize, usize))| {
            rank += i64::from(peers.0 == row);
            Datum::Int8(rank)
        };
        self.peers.iter().enumerate().map(rank_of).collect()
    }

    fn percent_rank(&self, row: usize) -> f64 {
        if self.rows.len() <= 1 { 0.0 } else { (self.rank(row) - 1) as f64 / (self.rows.len() - 1) as f64 }
    }

    /// `ntile(n)`: the first buckets get one more row if the rows do not divide evenly. The argument is evaluated on the
    /// partition's first row; NULL makes all results NULL.
    fn ntile(&self, call: &WindowCall, run: &mut Run<'_, '_>) -> Result<Vec<Datum>> {
        let length = self.rows.len() as i64;
        let buckets = match self.rows.first() {
            Some(first) => argument(call, 0, &first.row, run)?,
            None => None,
        };
        let Some(buckets) = buckets.as_ref().map(Datum::as_i64) else { return Ok(vec![Datum::Null; self.rows.len()]) };
        let Some(buckets) = buckets else { return Ok(vec![Datum::Null; self.rows.len()]) };
        if buckets <= 0 {
            let message = "argument of ntile must be greater than zero";
            return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_NTILE, message));
        }
        let (size, larger) = (length / buckets, length % buckets);
        let bucket = |row: i64| {
            let in_larger = larger * (size + 1);
            if row < in_larger { row / (size + 1) } else { larger + (row - in_larger) / size.max(1) }
        };
        Ok((0..length).map(|row| Datum::Int4(i32::try_from(bucket(row) + 1).unwrap_or(i32::MAX))).collect())
    }

    /// `lag` and `lead`: the value some rows before or after, otherwise the default.
    fn shifted(&self, call: &WindowCall, back: bool, run: &mut Run<'_, '_>) -> Result<Vec<Datum>> {
        let mut values = Vec::with_capacity(self.rows.len());
        for (at, sorted) in self.rows.iter().enumerate() {
            run.tick()?;
            let offset = match argument(call, 1, &sorted.row, run)? {
                None => Some(1),
                Some(offset) => offset.as_i64(),
            };
            let Some(offset) = offset else {
                values.push(Datum::Null);
                continue;
            };
            let there = if back { (at as i64).checked_sub(offset) } else { (at as i64).checked_add(offset) };
            let other = there.and_then(|there| usize::try_from(there).ok()).and_then(|there| self.rows.get(there));
            let value = match other {
                Some(other) => argument(call, 0, &other.row, run)?,
                None => argument(call, 2, &sorted.row, run)?,
            };
            values.push(value.unwrap_or_default());
        }
        Ok(values)
    }

    /// Returns the value from one row of each row's frame.
    fn of_frame(&self, function: WindowFunction, call: &WindowCall, run: &mut Run<'_, '_>) -> Result<Vec<Datum>> {
        let frames = Frames::new(self, &call.frame, run)?;
        let mut values = Vec::with_capacity(self.rows.len());
        for (row, sorted) in self.rows.iter().enumerate() {
            run.tick()?;
            let parts = frames.parts(self, row, run)?;
            let at = match function {
                WindowFunction::FirstValue => parts.first().map(|part| part.start),
                WindowFunction::LastValue => parts.last().map(|part| part.end - 1),
                _ => nth(&parts, argument(call, 1, &sorted.row, run)?.as_ref().and_then(Datum::as_i64))?,
            };
            values.push(match at.and_then(|at| self.rows.get(at)) {
                Some(other) => argument(call, 0, &other.row, run)?.unwrap_or_default(),
                None => Datum::Null,
            });
        }
        Ok(values)
    }
}

/// Returns the nth row of a frame, counted from 1.
fn nth(parts: &[Part], n: Option<i64>) -> Result<Option<usize>> {
    let Some(n) = n else { return Ok(None) };
    if n <= 0 {
        let message = "argument of nth_value must be greater than zero";
        return Err(SqlError::new(state::INVALID_ARGUMENT_FOR_NTH_VALUE, message));
    }
    let mut left = usize::try_from(n - 1).unwrap_or(usize::MAX);
    for part in parts {
        let length = part.end - part.start;
        if left < length {
            return Ok(Some(part.start + left));
        }
        left -= length;
    }
    Ok(None)
}

/// Evaluates an argument over a row, if the call has it.
fn argument(call: &WindowCall, number: usize, row: &Row, run: &mut Run<'_, '_>) -> Result<Option<Datum>> {
    call.arguments.get(number).map(|argument| run.evaluate(argument, row)).transpose()
}
