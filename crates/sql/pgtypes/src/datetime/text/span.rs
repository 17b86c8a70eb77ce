//! Intervals from text.

use super::moment::parse_fraction;
use super::scan::{Field, Kind, fields};
use crate::datetime::civil::{DAY, HOUR, MINUTE, SECOND};
use crate::error::{Error, Result, state};
use crate::facts::IntervalRange;
use crate::numeric::is_space;
use crate::{Interval, IntervalStyle, Modifier, Styles};

/// Why a text is no interval.
enum Wrong {
    Format,
    Field,
    /// The whole is beyond its range, though no field is.
    Sum,
}

type Decoded<T> = std::result::Result<T, Wrong>;

/// Reads an interval. The modifier gives the unit of a number without one: seconds, unless it ends with another field.
/// In IntervalStyle `sql_standard` a minus before the first field, and no other sign, is meant for all.
pub(crate) fn parse_interval(text: &str, modifier: Modifier, styles: &Styles) -> Result<Interval> {
    let decoded = match text.trim_matches(is_space).strip_prefix(['P', 'p']) {
        Some(rest) => parse_iso(rest),
        None => parse_fields(text, modifier.interval_fields().0).map(|interval| match styles.intervals {
            IntervalStyle::Sql if has_one_leading_minus(text) => all_negative(&interval),
            _ => interval,
        }),
    };
    decoded.map_err(|wrong| match wrong {
        Wrong::Format => {
            Error::new(state::INVALID_DATETIME_FORMAT, format!("invalid input syntax for type interval: \"{text}\""))
        }
        Wrong::Sum => Error::new(state::DATETIME_FIELD_OVERFLOW, "interval out of range"),
        Wrong::Field => {
            Error::new(state::INTERVAL_FIELD_OVERFLOW, format!("interval field value out of range: \"{text}\""))
        }
    })
}

fn has_one_leading_minus(text: &str) -> bool {
    let Some(fields) = fields(text) else { return false };
    let is_signed = |field: &Field| field.text.starts_with(['-', '+']);
    fields.split_first().is_some_and(|(first, more)| first.text.starts_with('-') && !more.iter().any(is_signed))
}

fn all_negative(interval: &Interval) -> Interval {
    let Interval { months, days, micros } = *interval;
    Interval { months: -months.saturating_abs(), days: -days.saturating_abs(), micros: -micros.saturating_abs() }
}

/// Units of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    fn named(word: &str) -> Option<Unit> {
        Some(match word {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" | "microsecond" | "microseconds" => {
                Unit::Microsecond
            }
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" | "millisecond" | "milliseconds" => {
                Unit::Millisecond
            }
            "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
            "d" | "day" | "days" => Unit::Day,
            "w" | "week" | "weeks" => Unit::Week,
            "mon" | "mons" | "month" | "months" => Unit::Month,
            "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
            "dec" | "decs" | "decade" | "decades" => Unit::Decade,
            "c" | "cent" | "century" | "centuries" => Unit::Century,
            "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
            _ => return None,
        })
    }

    /// Returns the unit of a number without a written one.
    fn of_range(range: Option<IntervalRange>) -> Unit {
        match range {
            Some(IntervalRange::YEAR) => Unit::Year,
            Some(IntervalRange::MONTH | IntervalRange::YEAR_TO_MONTH) => Unit::Month,
            Some(IntervalRange::DAY) => Unit::Day,
            Some(IntervalRange::HOUR | IntervalRange::DAY_TO_HOUR) => Unit::Hour,
            Some(IntervalRange::MINUTE | IntervalRange::HOUR_TO_MINUTE | IntervalRange::DAY_TO_MINUTE) => Unit::Minute,
            _ => Unit::Second,
        }
    }
}

/// The sum so far; nothing in it overflows unnoticed.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i128,
}

impl Sum {
    fn interval(&self) -> Decoded<Interval> {
        Ok(Interval {
            months: i32::try_from(self.months).map_err(|_| Wrong::Sum)?,
            days: i32::try_from(self.days).map_err(|_| Wrong::Field)?,
            micros: i64::try_from(self.micros).map_err(|_| Wrong::Sum)?,
        })
    }

    /// Adds so many of a unit; a fraction of a month goes to days (30), of a day or week to the time.
    fn add(&mut self, unit: Unit, amount: Amount) -> Decoded<()> {
        let Amount { whole, fraction } = amount;
        match unit {
            Unit::Microsecond => self.add_time(whole, fraction, 1),
            Unit::Millisecond => self.add_time(whole, fraction, 1000),
            Unit::Second => self.add_time(whole, fraction, SECOND),
            Unit::Minute => self.add_time(whole, fraction, MINUTE),
            Unit::Hour => self.add_time(whole, fraction, HOUR),
            Unit::Day => {
                self.days += whole;
                self.add_time(0, fraction, DAY);
            }
            Unit::Week => {
                self.days += whole * 7;
                self.add_days(fraction * 7.0);
            }
            Unit::Month => {
                self.months += whole;
                self.add_days(fraction * 30.0);
            }
            Unit::Year => self.add_years(whole, fraction, 1),
            Unit::Decade => self.add_years(whole, fraction, 10),
            Unit::Century => self.add_years(whole, fraction, 100),
            Unit::Millennium => self.add_years(whole, fraction, 1000),
        }
        if i32::try_from(self.days).is_ok() { Ok(()) } else { Err(Wrong::Field) }
    }

    fn add_time(&mut self, whole: i64, fraction: f64, unit: i64) {
        self.micros += i128::from(whole) * i128::from(unit) + (fraction * unit as f64).round_ties_even() as i128;
    }

    fn add_days(&mut self, days: f64) {
        self.days += days as i64;
        self.add_time(0, days.fract(), DAY);
    }

    fn add_years(&mut self, whole: i64, fraction: f64, years: i64) {
        self.months += whole * years * 12 + (fraction * years as f64 * 12.0).round_ties_even() as i64;
    }
}

/// A number: its whole part, and the rest with the same sign.
#[derive(Clone, Copy)]
struct Amount {
    whole: i64,
    fraction: f64,
}

impl Amount {
    /// Reads digits with an optional sign and point.
    fn parse(text: &str) -> Decoded<Amount> {
        let (negative, digits) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return Err(Wrong::Format);
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse::<i64>().map_err(|_| Wrong::Field)? };
        let fraction: f64 = format!("0.{fraction}0").parse().map_err(|_| Wrong::Format)?;
        // So large a number fits no field but microseconds, and must not overflow on its way to the others.
        if whole > 1 << 53 {
            return Err(Wrong::Field);
        }
        Ok(if negative { Amount { whole: -whole, fraction: -fraction } } else { Amount { whole, fraction } })
    }

    fn check_field(self, unit: Unit) -> Decoded<Amount> {
        let limited = !matches!(unit, Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour);
        if limited && i32::try_from(self.whole).is_err() { Err(Wrong::Field) } else { Ok(self) }
    }
}

/// PostgreSQL's own form: numbers and units, a time, years and months with a hyphen. Read from the right, since a unit stands
/// behind its number.
fn parse_fields(text: &str, range: Option<IntervalRange>) -> Decoded<Interval> {
    let fields = fields(text).ok_or(Wrong::Format)?;
    let (mut sum, mut seen) = (Sum::default(), Vec::new());
    let (mut unit, mut ago) = (None, false);
    for (at, field) in fields.iter().enumerate().rev() {
        let once = |name: Unit, seen: &mut Vec<Unit>| {
            let first = !seen.contains(&name);
            seen.push(name);
            if first { Ok(()) } else { Err(Wrong::Format) }
        };
        match field.kind {
            Kind::Word if field.text == "ago" && at == fields.len() - 1 => ago = true,
            Kind::Word | Kind::SignedWord => {
                unit = Some(Unit::named(&field.text).ok_or(Wrong::Format)?);
            }
            _ if field.text.contains(':') => {
                once(Unit::Hour, &mut seen)?;
                sum.micros += parse_clock(&field.text, range)?;
                // A number in front of a time counts days.
                unit = Some(Unit::Day);
            }
            _ if is_year_to_month(field) => {
                once(Unit::Month, &mut seen)?;
                once(Unit::Year, &mut seen)?;
                sum.months += parse_year_to_month(&field.text)?;
                unit = None;
            }
            _ => {
                let unit = unit.take().unwrap_or_else(|| Unit::of_range(range));
                once(unit, &mut seen)?;
                sum.add(unit, Amount::parse(&field.text)?.check_field(unit)?)?;
            }
        }
    }
    if seen.is_empty() {
        return Err(Wrong::Format);
    }
    let interval = sum.interval()?;
    if !ago {
        return Ok(interval);
    }
    Ok(Interval {
        months: interval.months.checked_neg().ok_or(Wrong::Field)?,
        days: interval.days.checked_neg().ok_or(Wrong::Field)?,
        micros: interval.micros.checked_neg().ok_or(Wrong::Field)?,
    })
}

fn is_year_to_month(field: &Field) -> bool {
    field.text.get(1..).is_some_and(|text| text.contains('-'))
}

fn parse_year_to_month(text: &str) -> Decoded<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (years, months) = digits.trim_start_matches('+').split_once('-').ok_or(Wrong::Format)?;
    let years: i32 = years.parse().map_err(|_| Wrong::Format)?;
    let months: i32 = months.parse().map_err(|_| Wrong::Format)?;
    if !(0..12).contains(&months) {
        return Err(Wrong::Field);
    }
    let total = i64::from(years) * 12 + i64::from(months);
    Ok(if negative { -total } else { total })
}

/// `hh:mm[:ss[.fraction]]`, with a sign; `mm:ss` if the range is minutes to seconds or the first part has a fraction.
fn parse_clock(text: &str, range: Option<IntervalRange>) -> Decoded<i128> {
    let (negative, clock) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, digits)| (clock, Some(digits)));
    let parts: Vec<i64> = clock
        .split(':')
        .map(|part| part.parse::<u32>().map(i64::from).map_err(|_| Wrong::Format))
        .collect::<Decoded<_>>()?;
    let (hours, minutes, seconds) = match parts.as_slice() {
        [minutes, seconds] if fraction.is_some() || range == Some(IntervalRange::MINUTE_TO_SECOND) => {
            (0, *minutes, *seconds)
        }
        [hours, minutes] => (*hours, *minutes, 0),
        [hours, minutes, seconds] => (*hours, *minutes, *seconds),
        _ => return Err(Wrong::Format),
    };
    if minutes > 59 || seconds > 60 {
        return Err(Wrong::Field);
    }
    let micros = parse_fraction(fraction.unwrap_or("")).ok_or(Wrong::Format)?;
    let total = i128::from(hours) * i128::from(HOUR) + i128::from(minutes * MINUTE + seconds * SECOND + micros);
    Ok(if negative { -total } else { total })
}

/// ISO 8601: `1Y2M3DT4H5M6S` after the P, or `0001-02-03T04:05:06`.
fn parse_iso(text: &str) -> Decoded<Interval> {
    let (date, time) = match text.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    if date.is_empty() && time.is_none() {
        return Err(Wrong::Format);
    }
    let mut sum = Sum::default();
    if date.get(1..).is_some_and(|rest| rest.contains('-')) && date.ends_with(|c: char| c.is_ascii_digit()) {
        let units = [Unit::Year, Unit::Month, Unit::Day];
        add_parts(&mut sum, date.splitn(3, '-'), &units)?;
    } else {
        add_designated(&mut sum, date, |letter| match letter {
            'Y' | 'y' => Some(Unit::Year),
            'M' | 'm' => Some(Unit::Month),
            'W' | 'w' => Some(Unit::Week),
            'D' | 'd' => Some(Unit::Day),
            _ => None,
        })?;
    }
    match time {
        Some(time) if time.contains(':') => {
            add_parts(&mut sum, time.splitn(3, ':'), &[Unit::Hour, Unit::Minute, Unit::Second])?;
        }
        Some(time) => add_designated(&mut sum, time, |letter| match letter {
            'H' | 'h' => Some(Unit::Hour),
            'M' | 'm' => Some(Unit::Minute),
            'S' | 's' => Some(Unit::Second),
            _ => None,
        })?,
        None => {}
    }
    sum.interval()
}

fn add_parts<'t>(sum: &mut Sum, parts: impl Iterator<Item = &'t str>, units: &[Unit]) -> Decoded<()> {
    for (part, unit) in parts.zip(units) {
        sum.add(*unit, Amount::parse(part)?.check_field(*unit)?)?;
    }
    Ok(())
}

fn add_designated(sum: &mut Sum, text: &str, unit_of: impl Fn(char) -> Option<Unit>) -> Decoded<()> {
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or(Wrong::Format)?;
        let unit = rest[end..].chars().next().and_then(&unit_of).ok_or(Wrong::Format)?;
        sum.add(unit, Amount::parse(&rest[..end])?.check_field(unit)?)?;
        rest = &rest[end + 1..];
    }
    Ok(())
}
