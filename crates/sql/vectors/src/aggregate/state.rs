//! States of one aggregate over many groups.

use super::{Call, Sum};
use crate::batch::Batch;
use crate::column::{Class, Column, Data};
use crate::digits::{Digits, bits_of};
use crate::kernels::compare_floats;
use bigdecimal::num_bigint::BigInt;
use pgtypes::functions::Accumulator;
use pgtypes::{Datum, Error, Numeric, Result, Type, state};

/// Approximate bytes of an accumulator behind a pointer, besides those that it reports.
const ACCUMULATOR_BYTES: usize = 64;

/// The states of one call, by number of the group.
pub enum State {
    /// `count(*)`, `count(x)`
    Count(Vec<i64>),
    /// Sums of integers of four bytes at most, how many they are, and the rows of all groups: so few that no sum can wrap.
    Narrow(Vec<(i64, i64)>, u64),
    /// Sums of integers, and how many they are.
    Integers(Vec<(i128, i64)>),
    /// Sums of numerics.
    Numerics(Vec<NumericSum>),
    /// The least or greatest of integers.
    Extreme(Vec<Option<i64>>, bool),
    /// The least or greatest of numerics of one scale.
    NumericExtreme(NumericExtreme),
    /// The least or greatest of floats.
    FloatExtreme(Vec<Option<f64>>, bool),
    /// Any other, a row at a time. The bytes that they report.
    Any(Vec<Box<dyn Accumulator>>, fn() -> Box<dyn Accumulator>, usize),
}

/// A sum of numerics: of those of one scale as an integer, of all others as such.
#[derive(Clone, Default)]
pub struct NumericSum {
    digits: i128,
    scale: Option<u32>,
    others: Option<Numeric>,
    count: i64,
}

/// The least or greatest of numerics of one scale, by their digits.
#[derive(Clone)]
pub struct NumericExtreme {
    found: Vec<Option<i128>>,
    /// `None` until there is a value.
    scale: Option<u32>,
    is_greatest: bool,
}

impl NumericExtreme {
    /// Adds rows; false, and none, if they are of another scale or form.
    fn add(&mut self, column: &Column, groups: Option<&[u32]>) -> bool {
        let nulls = column.nulls.as_deref();
        if column.is_empty() || nulls.is_some_and(|nulls| !nulls.contains(&false)) {
            return true;
        }
        let Data::Decimal(values, scale) = &column.data else { return false };
        if *self.scale.get_or_insert(*scale) != *scale {
            return false;
        }
        let (found, is_greatest) = (&mut self.found, self.is_greatest);
        let better = |group: usize, value: i128| {
            let found = &mut found[group];
            if found.is_none_or(|found| if is_greatest { value > found } else { value < found }) {
                *found = Some(value);
            }
        };
        each_digits(values, nulls, groups, better);
        true
    }

    fn get(&self, group: usize) -> Option<Datum> {
        let digits = self.found[group]?;
        Some(Datum::Numeric(Numeric::new(BigInt::from(digits), self.scale?)))
    }
}

impl NumericSum {
    #[inline]
    fn add(&mut self, digits: i128, scale: u32) -> Result<()> {
        self.count += 1;
        if *self.scale.get_or_insert(scale) == scale
            && let Some(sum) = self.digits.checked_add(digits)
        {
            self.digits = sum;
            return Ok(());
        }
        self.add_other(&Numeric::new(BigInt::from(digits), scale))
    }

    #[cold]
    fn add_other(&mut self, value: &Numeric) -> Result<()> {
        self.others = Some(match &self.others {
            None => value.clone(),
            Some(sum) => sum.add(value)?,
        });
        Ok(())
    }

    fn merge(&mut self, other: NumericSum) -> Result<()> {
        let count = self.count + other.count;
        if let Some(scale) = other.scale {
            self.add(other.digits, scale)?;
        }
        if let Some(value) = &other.others {
            self.add_other(value)?;
        }
        self.count = count;
        Ok(())
    }

    fn sum(&self) -> Result<Option<Numeric>> {
        let plain = self.scale.map(|scale| Numeric::new(BigInt::from(self.digits), scale));
        Ok(match (plain, &self.others) {
            (Some(plain), Some(others)) => Some(plain.add(others)?),
            (plain, others) => plain.or_else(|| others.clone()),
        })
    }
}

impl State {
    /// No groups.
    pub fn new(call: &Call) -> State {
        let class = call.arguments.first().map(|argument| (argument.data_type(), Class::of(argument.data_type())));
        match (call.aggregate.name, class) {
            ("count", _) if call.arguments.len() <= 1 => State::Count(Vec::new()),
            ("sum" | "avg", Some((Type::INT2 | Type::INT4, _))) => State::Narrow(Vec::new(), 0),
            ("sum" | "avg", Some((Type::INT8, _))) => State::Integers(Vec::new()),
            ("sum" | "avg", Some((Type::NUMERIC, _))) => State::Numerics(Vec::new()),
            ("min" | "max", Some((Type::NUMERIC, _))) => {
                let is_greatest = call.aggregate.name == "max";
                State::NumericExtreme(NumericExtreme { found: Vec::new(), scale: None, is_greatest })
            }
            ("min" | "max", Some((_, Class::Int))) => State::Extreme(Vec::new(), call.aggregate.name == "max"),
            ("min" | "max", Some((Type::FLOAT8, _))) => State::FloatExtreme(Vec::new(), call.aggregate.name == "max"),
            _ => State::Any(Vec::new(), call.aggregate.start, 0),
        }
    }

    /// See [`Call::is_mergeable`]: of equal zeros with different signs the first counts, and of equal numerics of different scales.
    pub fn is_mergeable(&self) -> bool {
        !matches!(self, State::Any(..) | State::FloatExtreme(..) | State::NumericExtreme(_))
    }

    /// Adds empty groups up to so many.
    pub fn resize(&mut self, groups: usize) {
        match self {
            State::Count(counts) => counts.resize(groups, 0),
            State::Narrow(sums, _) => sums.resize(groups, (0, 0)),
            State::Integers(sums) => sums.resize(groups, (0, 0)),
            State::Numerics(sums) => sums.resize(groups, NumericSum::default()),
            State::Extreme(values, _) => values.resize(groups, None),
            State::NumericExtreme(extreme) => extreme.found.resize(groups, None),
            State::FloatExtreme(values, _) => values.resize(groups, None),
            State::Any(all, start, _) => all.resize_with(groups, start),
        }
    }

    /// Adds the rows of a batch: each to the group of `groups`, or all to the only one.
    pub fn add(&mut self, call: &Call, batch: &Batch, groups: Option<&[u32]>) -> Result<()> {
        if let State::Any(all, _, bytes) = self {
            return add_each(all, bytes, call, batch, groups);
        }
        self.make_room(batch.rows as u64);
        let Some(argument) = call.arguments.first() else {
            if let State::Count(counts) = self {
                count(counts, batch.rows, groups);
            }
            return Ok(());
        };
        let column = argument.evaluate(batch)?.spread(batch.rows);
        let nulls = column.nulls.as_deref();
        if let State::NumericExtreme(extreme) = self {
            if extreme.add(&column, groups) {
                return Ok(());
            }
            self.take_any_numeric(call)?;
            return self.add(call, batch, groups);
        }
        match (self, &column.data) {
            (State::Count(counts), _) => match nulls {
                None => count(counts, batch.rows, groups),
                Some(nulls) => each(nulls, Some(nulls), groups, |group, _| counts[group] += 1),
            },
            (State::Narrow(sums, rows), Data::Int(values)) => {
                *rows += values.len() as u64;
                match (nulls, groups) {
                    (None, None) => add_to(&mut sums[0], values.iter().sum(), values.len()),
                    _ => each(values, nulls, groups, |group, value| add_to(&mut sums[group], value, 1)),
                }
            }
            (State::Integers(sums), Data::Int(values)) => match (nulls, groups) {
                (None, None) => {
                    // In a register.
                    sums[0].0 += values.iter().map(|value| i128::from(*value)).sum::<i128>();
                    sums[0].1 += values.len() as i64;
                }
                _ => each(values, nulls, groups, |group, value| {
                    let (sum, count) = &mut sums[group];
                    *sum += i128::from(value);
                    *count += 1;
                }),
            },
            (State::Extreme(found, true), Data::Int(values)) => extreme(found, values, nulls, groups, i64::max),
            (State::Extreme(found, false), Data::Int(values)) => extreme(found, values, nulls, groups, i64::min),
            (State::FloatExtreme(found, greatest), Data::Float(values)) => {
                let greatest = *greatest;
                each(values, nulls, groups, |group, value| {
                    let is_better = |found: f64| {
                        let order = compare_floats(value, found);
                        if greatest { order.is_gt() } else { order.is_lt() }
                    };
                    if found[group].is_none_or(is_better) {
                        found[group] = Some(value);
                    }
                });
            }
            (State::Numerics(sums), Data::Decimal(values, scale))
                if let (None, None, false) = (nulls, groups, values.is_empty())
                    && let Some(sum) = sum_of(values) =>
            {
                sums[0].add(sum, *scale)?;
                sums[0].count += values.len() as i64 - 1;
            }
            (State::Numerics(sums), Data::Decimal(Digits::Short(values), scale))
                if let Some(groups) = groups.filter(|_| sums.len() <= FEW_GROUPS && nulls.is_none())
                    && bits_of(values) + (values.len() + 1).ilog2() < i64::BITS - 2 =>
            {
                add_few(sums, (values, *scale), groups)?;
            }
            (State::Numerics(sums), Data::Decimal(values, scale)) => {
                let mut result = Ok(());
                each_digits(values, nulls, groups, |group, value| {
                    if let Err(error) = sums[group].add(value, *scale) {
                        result = Err(error);
                    }
                });
                result?;
            }
            (State::Numerics(sums), Data::Datums(values)) => {
                for (row, value) in values.iter().enumerate() {
                    if let Datum::Numeric(value) = value {
                        let sum = &mut sums[groups.map_or(0, |groups| groups[row] as usize)];
                        sum.count += 1;
                        sum.add_other(value)?;
                    }
                }
            }
            _ => return Err(Error::new(state::INTERNAL_ERROR, "a column is not of its type's form")),
        }
        Ok(())
    }

    /// Adds rows to the only group by the sum of their values.
    pub fn add_sum(&mut self, Sum { values, digits, scale }: Sum) -> Result<()> {
        self.make_room(values);
        match (self, i64::try_from(digits)) {
            (State::Count(counts), _) => counts[0] += values as i64,
            (State::Narrow(sums, rows), Ok(sum)) => {
                *rows += values;
                add_to(&mut sums[0], sum, values as usize);
            }
            (State::Integers(sums), _) => {
                sums[0].0 += digits;
                sums[0].1 += values as i64;
            }
            (State::Numerics(sums), _) if values > 0 => {
                sums[0].add(digits, scale)?;
                sums[0].count += values as i64 - 1;
            }
            (State::Numerics(_), _) => {}
            _ => return Err(Error::new(state::INTERNAL_ERROR, "a column is not of its type's form")),
        }
        Ok(())
    }

    /// Takes numerics of any scale from now on, one by one.
    fn take_any_numeric(&mut self, call: &Call) -> Result<()> {
        let State::NumericExtreme(extreme) = self else { return Ok(()) };
        let mut all: Vec<Box<dyn Accumulator>> = Vec::with_capacity(extreme.found.len());
        for group in 0..extreme.found.len() {
            let mut accumulator = (call.aggregate.start)();
            if let Some(value) = extreme.get(group) {
                accumulator.add(&[value])?;
            }
            all.push(accumulator);
        }
        let bytes = all.iter().map(|accumulator| accumulator.memory()).sum();
        *self = State::Any(all, call.aggregate.start, bytes);
        Ok(())
    }

    /// Makes the sums wider if they might not have room for so many rows more.
    fn make_room(&mut self, more: u64) {
        if let State::Narrow(sums, rows) = self
            && *rows + more > MOST_NARROW
        {
            *self = State::Integers(sums.iter().map(|(sum, count)| (i128::from(*sum), *count)).collect());
        }
    }

    /// Adds the groups of other rows: each to the one of `groups`.
    pub fn merge(&mut self, mut other: State, groups: &[u32]) -> Result<()> {
        let groups = groups.iter().map(|group| *group as usize);
        let rows = |state: &State| if let State::Narrow(_, rows) = state { *rows } else { MOST_NARROW + 1 };
        let (own, others) = (rows(self), rows(&other));
        self.make_room(others);
        other.make_room(own);
        match (self, other) {
            (State::Narrow(sums, rows), State::Narrow(others, more)) => {
                *rows += more;
                groups.zip(others).for_each(|(group, (sum, count))| add_to(&mut sums[group], sum, count as usize));
            }
            (State::Count(counts), State::Count(others)) => {
                groups.zip(others).for_each(|(group, count)| counts[group] += count);
            }
            (State::Integers(sums), State::Integers(others)) => groups.zip(others).for_each(|(group, other)| {
                sums[group].0 += other.0;
                sums[group].1 += other.1;
            }),
            (State::Numerics(sums), State::Numerics(others)) => {
                for (group, other) in groups.zip(others) {
                    sums[group].merge(other)?;
                }
            }
            (State::Extreme(found, greatest), State::Extreme(others, _)) => {
                for (group, other) in groups.zip(others) {
                    let both = found[group].into_iter().chain(other);
                    found[group] = if *greatest { both.max() } else { both.min() };
                }
            }
            _ => return Err(Error::new(state::INTERNAL_ERROR, "an aggregate cannot be merged")),
        }
        Ok(())
    }

    /// The states of these groups. All are mergeable.
    pub fn gather(&self, groups: &[u32]) -> State {
        fn each<T: Clone>(all: &[T], groups: &[u32]) -> Vec<T> {
            groups.iter().map(|group| all[*group as usize].clone()).collect()
        }
        match self {
            State::Count(counts) => State::Count(each(counts, groups)),
            State::Narrow(sums, rows) => State::Narrow(each(sums, groups), *rows),
            State::Integers(sums) => State::Integers(each(sums, groups)),
            State::Numerics(sums) => State::Numerics(each(sums, groups)),
            State::Extreme(values, greatest) => State::Extreme(each(values, groups), *greatest),
            State::NumericExtreme(extreme) => {
                State::NumericExtreme(NumericExtreme { found: each(&extreme.found, groups), ..extreme.clone() })
            }
            State::FloatExtreme(values, greatest) => State::FloatExtreme(each(values, groups), *greatest),
            State::Any(_, start, _) => State::Any(groups.iter().map(|_| start()).collect(), *start, 0),
        }
    }

    /// The results.
    pub fn finish(&self, call: &Call, groups: usize) -> Result<Column> {
        let mut results = Column::new(call.result);
        let integers = match self {
            State::Count(counts) => Some(Column { data: Data::Int(counts.clone()), nulls: None }),
            State::Narrow(sums, _) if call.result == Type::INT8 => {
                let is_null = sums.iter().map(|(_, count)| *count == 0);
                Some(Column::of_integers(sums.iter().map(|(sum, _)| *sum).collect(), is_null.collect()))
            }
            State::Extreme(found, _) => {
                let is_null = found.iter().map(Option::is_none);
                Some(Column::of_integers(found.iter().map(|found| found.unwrap_or(0)).collect(), is_null.collect()))
            }
            _ => None,
        };
        if let Some(integers) = integers {
            return Ok(integers);
        }
        for group in 0..groups {
            results.push(&self.result(call, group)?);
        }
        Ok(results)
    }

    fn result(&self, call: &Call, group: usize) -> Result<Datum> {
        let is_average = call.aggregate.name == "avg";
        Ok(match self {
            State::Count(counts) => Datum::Int8(counts[group]),
            State::Narrow(sums, _) => sum_or_average(call, i128::from(sums[group].0), sums[group].1)?,
            State::Integers(sums) => sum_or_average(call, sums[group].0, sums[group].1)?,
            State::Numerics(sums) => match sums[group].sum()? {
                None => Datum::Null,
                Some(sum) if is_average => Datum::Numeric(sum.div(&Numeric::from(sums[group].count))?),
                Some(sum) => Datum::Numeric(sum),
            },
            State::Extreme(found, _) => {
                let found = Column::of_integers(vec![found[group].unwrap_or(0)], vec![found[group].is_none()]);
                found.get(0, call.result)
            }
            State::NumericExtreme(extreme) => extreme.get(group).unwrap_or(Datum::Null),
            State::FloatExtreme(found, _) => found[group].map_or(Datum::Null, Datum::Float8),
            State::Any(all, ..) => all[group].value()?,
        })
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        match self {
            State::Count(counts) => counts.len() * 8,
            State::Narrow(sums, _) => sums.len() * 16,
            State::Integers(sums) => sums.len() * 32,
            State::Numerics(sums) => sums.len() * size_of::<NumericSum>(),
            State::Extreme(values, _) => values.len() * 16,
            State::NumericExtreme(extreme) => extreme.found.len() * size_of::<Option<i128>>(),
            State::FloatExtreme(values, _) => values.len() * 16,
            State::Any(all, _, bytes) => all.len() * ACCUMULATOR_BYTES + bytes,
        }
    }
}

/// Rows of narrow integers whose sum is a `bigint`, whatever they are.
const MOST_NARROW: u64 = u32::MAX as u64;

#[inline]
fn add_to((sum, count): &mut (i64, i64), more: i64, rows: usize) {
    *sum += more;
    *count += rows as i64;
}

/// The result of a sum or an average of integers.
fn sum_or_average(call: &Call, sum: i128, count: i64) -> Result<Datum> {
    let beyond = |_| Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    Ok(match count {
        0 => Datum::Null,
        _ if call.aggregate.name == "avg" => Datum::Numeric(Numeric::from(sum).div(&Numeric::from(count))?),
        _ if call.result == Type::NUMERIC => Datum::Numeric(Numeric::from(sum)),
        _ => Datum::Int8(i64::try_from(sum).map_err(beyond)?),
    })
}

/// Shows the values that are not NULL, with their groups.
#[inline]
fn each<T: Copy>(values: &[T], nulls: Option<&[bool]>, groups: Option<&[u32]>, mut add: impl FnMut(usize, T)) {
    match (nulls, groups) {
        (None, None) => values.iter().for_each(|value| add(0, *value)),
        (None, Some(groups)) => values.iter().zip(groups).for_each(|(value, group)| add(*group as usize, *value)),
        (Some(nulls), None) => {
            let known = values.iter().zip(nulls).filter(|(_, null)| !**null);
            known.for_each(|(value, _)| add(0, *value));
        }
        (Some(nulls), Some(groups)) => {
            let known = values.iter().zip(nulls).zip(groups).filter(|((_, null), _)| !**null);
            known.for_each(|((value, _), group)| add(*group as usize, *value));
        }
    }
}

/// Same as [`each`], of digits of either width.
#[inline]
fn each_digits(values: &Digits, nulls: Option<&[bool]>, groups: Option<&[u32]>, mut add: impl FnMut(usize, i128)) {
    match values {
        Digits::Short(values) => each(values, nulls, groups, |group, value| add(group, value.into())),
        Digits::Long(values) => each(values, nulls, groups, add),
    }
}

/// Groups so few that a sum in eight bytes for each is worth it in every batch.
const FEW_GROUPS: usize = 128;

/// Adds numerics of one scale to few groups, whose sums of one batch have room in eight bytes.
fn add_few(sums: &mut [NumericSum], (values, scale): (&[i64], u32), groups: &[u32]) -> Result<()> {
    let mut of_batch = [(0_i64, 0_i64); FEW_GROUPS];
    for (value, group) in values.iter().zip(groups) {
        add_to(&mut of_batch[*group as usize % FEW_GROUPS], *value, 1);
    }
    for (sum, (digits, count)) in sums.iter_mut().zip(of_batch).filter(|(_, (_, count))| *count > 0) {
        sum.add(digits.into(), scale)?;
        sum.count += count - 1;
    }
    Ok(())
}

/// The sum of digits; `None` if it has no room.
fn sum_of(values: &Digits) -> Option<i128> {
    match values {
        Digits::Short(values) => Some(values.iter().map(|&value| i128::from(value)).sum()),
        Digits::Long(values) => values.iter().try_fold(0i128, |sum, value| sum.checked_add(*value)),
    }
}

/// Keeps the better of each group's values: `better` is the greater of two, or the less.
#[inline]
fn extreme(
    found: &mut [Option<i64>],
    values: &[i64],
    nulls: Option<&[bool]>,
    groups: Option<&[u32]>,
    better: impl Fn(i64, i64) -> i64,
) {
    if let ([found], [first, ..], None, None) = (&mut *found, values, nulls, groups) {
        let best = values.iter().fold(*first, |best, value| better(best, *value));
        *found = Some(found.map_or(best, |found| better(found, best)));
        return;
    }
    each(values, nulls, groups, |group, value| {
        let found = &mut found[group];
        *found = Some(found.map_or(value, |found| better(found, value)));
    });
}

/// Counts rows.
fn count(counts: &mut [i64], rows: usize, groups: Option<&[u32]>) {
    match groups {
        None => counts[0] += rows as i64,
        Some(groups) => groups.iter().for_each(|group| counts[*group as usize] += 1),
    }
}

/// Shows the rows to accumulators one by one.
fn add_each(
    all: &mut [Box<dyn Accumulator>],
    bytes: &mut usize,
    call: &Call,
    batch: &Batch,
    groups: Option<&[u32]>,
) -> Result<()> {
    let vectors = call.arguments.iter().map(|argument| argument.evaluate(batch)).collect::<Result<Vec<_>>>()?;
    let mut values = Vec::with_capacity(vectors.len());
    for row in 0..batch.rows {
        values.clear();
        values.extend(vectors.iter().zip(&call.arguments).map(|(vector, of)| vector.get(row, of.data_type())));
        if call.aggregate.strict && values.iter().any(Datum::is_null) {
            continue;
        }
        let accumulator = &mut all[groups.map_or(0, |groups| groups[row] as usize)];
        let before = accumulator.memory();
        accumulator.add(&values)?;
        *bytes = (*bytes + accumulator.memory()).saturating_sub(before);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expression;
    use pgtypes::functions::resolve_aggregate;

    fn call(name: &str) -> Call {
        let resolved = resolve_aggregate(name, &[Type::INT4]).expect("fits").expect("an aggregate");
        let argument = Expression::column(0, Type::INT4);
        let (arguments, aggregate, result) = (vec![argument], resolved.aggregate, resolved.result);
        Call { aggregate, arguments, filter: None, distinct: false, result }
    }

    fn batch(values: &[i64]) -> Batch {
        Batch::new(values.len(), [Column::of_integers(values.to_vec(), vec![false; values.len()])])
    }

    /// Sums of narrow integers go on where eight bytes might have no room for more, and fail in the end only.
    #[test]
    fn narrow_sums_become_wide() {
        let (sum, average, values) = (call("sum"), call("avg"), batch(&[i64::from(i32::MAX); 3]));
        let count = i64::from(u32::MAX) - 3;
        let full = || State::Narrow(vec![(count * i64::from(i32::MAX), count)], MOST_NARROW - 3);
        let mut state = full();
        state.add(&sum, &values, None).expect("room for three");
        assert!(matches!(state, State::Narrow(..)));
        state.add(&sum, &values, Some(&[0, 0, 0])).expect("no limit");
        assert!(matches!(state, State::Integers(..)));
        let average = state.finish(&average, 1).expect("a number").get(0, Type::NUMERIC);
        assert!(matches!(average, Datum::Numeric(value) if value.to_i64() == Some(i64::from(i32::MAX))));
    }

    #[test]
    fn sums_of_both_widths_are_put_together() {
        let sum = call("sum");
        for (left, right) in [(0, 1), (1, 0)] {
            let state = |at: i32| match at {
                0 => State::Narrow(vec![(7, 2), (0, 0)], 2),
                _ => State::Integers(vec![(1 << 70, 3), (5, 1)]),
            };
            let mut own = state(left);
            own.merge(state(right), &[0, 1]).expect("both are sums");
            let State::Integers(sums) = &own else { panic!("narrow") };
            assert_eq!(sums, &[((1 << 70) + 7, 5), (5, 1)]);
            assert_eq!(own.finish(&sum, 2).expect_err("beyond bigint").code(), state::NUMERIC_VALUE_OUT_OF_RANGE);
        }
    }
}
