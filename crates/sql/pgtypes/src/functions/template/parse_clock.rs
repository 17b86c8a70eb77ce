//! `to_date` and `to_timestamp`.

use super::super::arguments::Arguments;
use super::super::table::*;
use super::words::{DAYS, Field, MONTHS, Piece, ROMAN_MONTHS, pieces};
use crate::datetime::{self as dt, civil_from_days, days_from_civil};

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("to_date", &[TEXT, TEXT], DATE, |a| {
        let (text, days) = (a.text(0)?, Reading::read(a.text(0)?, a.text(1)?)?.days(a.text(0)?)?);
        i32::try_from(days)
            .map(Datum::Date)
            .map_err(|_| Error::new(state::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\"")))
    }),
    session("to_timestamp", &[TEXT, TEXT], TIMESTAMPTZ, |env, a| {
        let text = a.text(0)?;
        let reading = Reading::read(text, a.text(1)?)?;
        let days = i32::try_from(reading.days(text)?).map_err(|_| field_overflow(text))?;
        let local = dt::timestamp_add(dt::date_to_timestamp(days)?, &reading.time(text)?)?;
        match reading.offset {
            Some(offset) => local.checked_sub(i64::from(offset) * 1_000_000).map(Datum::Timestamptz),
            None => Some(Datum::Timestamptz(dt::timestamp_to_timestamptz(local, &env.styles().zone)?)),
        }
        .ok_or_else(|| field_overflow(text))
    }),
];

fn field_overflow(text: &str) -> Error {
    Error::new(state::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""))
}

fn malformed(message: String, detail: &str) -> Error {
    Error::new(state::INVALID_DATETIME_FORMAT, message).detail(detail)
}

/// Fields read from a text.
#[derive(Default)]
struct Reading {
    year: Option<i64>,
    century: Option<i64>,
    before_christ: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    hour: i64,
    /// Whether the hour is on a 12-hour clock.
    twelve: bool,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    second_of_day: Option<i64>,
    micros: i64,
    /// Seconds east of UTC.
    offset: Option<i32>,
}

/// The text that is left.
struct Input<'t> {
    rest: &'t str,
}

impl<'t> Input<'t> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn skip_char(&mut self) {
        let mut rest = self.rest.chars();
        rest.next();
        self.rest = rest.as_str();
    }

    /// A sign, if the next number has one.
    fn sign(&mut self) -> i64 {
        let negative = self.rest.starts_with('-');
        if negative || self.rest.starts_with('+') {
            self.skip_char();
        }
        if negative { -1 } else { 1 }
    }

    /// A number of at most so many digits, and how many there were.
    fn number(&mut self, limit: usize, name: &str) -> Result<(i64, usize)> {
        self.skip_blanks();
        let sign = self.sign();
        let count = self.rest.bytes().take(limit).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(count);
        if digits.is_empty() {
            let shown: String = self.rest.chars().take(limit.min(9)).collect();
            let message = format!("invalid value \"{shown}\" for \"{name}\"");
            return Err(malformed(message, "Value must be an integer."));
        }
        self.rest = rest;
        let value = digits.parse::<i32>().map_err(|_| {
            let message = format!("value for \"{name}\" in source string is out of range");
            Error::new(state::DATETIME_FIELD_OVERFLOW, message)
                .detail("Value must be in the range -2147483648 to 2147483647.")
        })?;
        Ok((sign * i64::from(value), count))
    }

    /// The place of the word of a list that comes next.
    fn word(&mut self, words: &[&str], name: &str) -> Result<usize> {
        self.skip_blanks();
        let starts = |word: &&str| self.rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        let found = words.iter().enumerate().filter(|(_, word)| starts(word)).max_by_key(|(_, word)| word.len());
        let (at, word) = found.ok_or_else(|| {
            let shown = self.rest.split_whitespace().next().unwrap_or("");
            let message = format!("invalid value \"{shown}\" for \"{name}\"");
            malformed(message, "The given value did not match any of the allowed values for this field.")
        })?;
        self.rest = &self.rest[word.len()..];
        Ok(at)
    }
}

/// Returns whether the number of a field extends to the end of the text's digits, because no digit field follows directly.
fn ends_freely(pieces: &[Piece]) -> bool {
    match pieces.first() {
        None | Some(Piece::Separator(_) | Piece::Literal(_)) => true,
        Some(Piece::Field { field, .. }) => matches!(
            field,
            Field::MonthName(..) | Field::DayName(..) | Field::Meridiem(..) | Field::Era(..) | Field::RomanMonth(_)
        ),
    }
}

impl Reading {
    fn read(text: &str, template: &str) -> Result<Reading> {
        let pieces = pieces(template);
        let mut reading = Reading::default();
        let mut input = Input { rest: text.trim_start() };
        for (at, piece) in pieces.iter().enumerate() {
            if input.rest.is_empty() {
                break;
            }
            match piece {
                Piece::Literal(_) => input.skip_char(),
                Piece::Separator(_) => {
                    input.skip_blanks();
                    let signed = matches!(pieces.get(at + 1), Some(Piece::Field { field: Field::ZoneHours, .. }));
                    if input.rest.starts_with(|c: char| !c.is_alphanumeric()) && !signed {
                        input.skip_char();
                    }
                    input.skip_blanks();
                }
                Piece::Field { field, name, ordinal, .. } => {
                    reading.take(*field, name, &mut input, ends_freely(&pieces[at + 1..]))?;
                    if ordinal.is_some() {
                        input.skip_char();
                        input.skip_char();
                    }
                }
            }
        }
        Ok(reading)
    }

    fn take(&mut self, field: Field, name: &str, input: &mut Input<'_>, free: bool) -> Result<()> {
        let mut number = |width: usize| input.number(if free { 18 } else { width }, name);
        match field {
            Field::YearGrouped => {
                let thousands = number(9)?.0;
                input.skip_char();
                self.year = Some(thousands * 1000 + input.number(3, name)?.0);
            }
            Field::Year(width) => {
                let (year, digits) = number(width as usize)?;
                self.year = Some(if width < 4 && digits < 4 { near_2020(year) } else { year });
            }
            Field::IsoYear(width) => {
                let (year, digits) = number(width as usize)?;
                self.iso_year = Some(if width < 4 && digits < 4 { near_2020(year) } else { year });
            }
            Field::Century => self.century = Some(number(2)?.0),
            Field::Quarter | Field::DayOfWeek | Field::Week | Field::WeekOfMonth => drop(number(2)?),
            Field::Month => self.month = Some(number(2)?.0),
            Field::MonthName(..) => {
                let short = MONTHS.map(|month| &month[..3]);
                let all: Vec<&str> = MONTHS.into_iter().chain(short).collect();
                self.month = Some(input.word(&all, name)? as i64 % 12 + 1);
            }
            Field::RomanMonth(_) => self.month = Some(input.word(&ROMAN_MONTHS, name)? as i64 + 1),
            Field::DayName(..) => {
                let short = DAYS.map(|day| &day[..3]);
                let all: Vec<&str> = DAYS.into_iter().chain(short).collect();
                self.iso_day = Some(match input.word(&all, name)? % 7 {
                    0 => 7,
                    day => day as i64,
                });
            }
            Field::IsoWeek => self.iso_week = Some(number(2)?.0),
            Field::IsoDayOfWeek => self.iso_day = Some(number(1)?.0),
            Field::DayOfYear | Field::IsoDayOfYear => self.day_of_year = Some(number(3)?.0),
            Field::Day => self.day = Some(number(2)?.0),
            Field::Julian => self.julian = Some(number(9)?.0),
            Field::Hour24 => (self.hour, self.twelve) = (number(2)?.0, false),
            Field::Hour12 => (self.hour, self.twelve) = (number(2)?.0, true),
            Field::Minute => self.minute = number(2)?.0,
            Field::Second => self.second = number(2)?.0,
            Field::SecondOfDay => self.second_of_day = Some(number(5)?.0),
            Field::Fraction(width) => {
                let (value, digits) = input.number(width as usize, name)?;
                self.micros += value * 10_i64.pow(6_u32.saturating_sub(digits as u32));
            }
            Field::Meridiem(..) => {
                let word = input.word(&["AM", "PM", "A.M.", "P.M."], name)?;
                self.afternoon = Some(word % 2 == 1);
            }
            Field::Era(..) => self.before_christ = input.word(&["AD", "BC", "A.D.", "B.C."], name)? % 2 == 1,
            Field::ZoneHours => {
                let hours = number(2)?.0;
                self.offset = i32::try_from(hours * 3600).ok();
            }
            Field::ZoneMinutes => {
                let minutes = i32::try_from(number(2)?.0 * 60).unwrap_or(0);
                let hours = self.offset.unwrap_or(0);
                self.offset =
                    Some(if hours < 0 { hours.saturating_sub(minutes) } else { hours.saturating_add(minutes) });
            }
            Field::ZoneName(_) | Field::Offset => {
                let message = format!("formatting field \"{name}\" is only supported in to_char");
                return Err(Error::new(state::FEATURE_NOT_SUPPORTED, message));
            }
        }
        Ok(())
    }

    /// The day since 1970.
    fn days(&self, text: &str) -> Result<i64> {
        if let Some(julian) = self.julian {
            return Ok(julian - 2_440_588);
        }
        if let Some(year) = self.iso_year {
            let fourth = days_from_civil(year, 1, 4);
            let first = fourth - (fourth + 3).rem_euclid(7);
            let day = self.day_of_year.unwrap_or(self.iso_day.unwrap_or(1));
            return Ok(first + (self.iso_week.unwrap_or(1) - 1) * 7 + day - 1);
        }
        let year = match (self.year, self.century) {
            (Some(year), _) if self.before_christ => 1 - year,
            (Some(year), _) if year < 0 => year + 1,
            (Some(year), _) => year,
            (None, Some(century)) => (century - 1) * 100 + 1,
            (None, None) => 0,
        };
        if let (Some(day), None) = (self.day_of_year, self.month) {
            let first = days_from_civil(year, 1, 1);
            if !(1..=days_from_civil(year + 1, 1, 1) - first).contains(&day) {
                return Err(field_overflow(text));
            }
            return Ok(first + day - 1);
        }
        let month = u8::try_from(self.month.unwrap_or(1)).ok().filter(|month| (1..=12).contains(month));
        let day = u8::try_from(self.day.unwrap_or(1)).ok().filter(|day| (1..=31).contains(day));
        let (Some(month), Some(day)) = (month, day) else { return Err(field_overflow(text)) };
        let days = days_from_civil(year, month, day);
        // A day that the month does not have lands in the next one.
        if civil_from_days(days) != (year, month, day) {
            return Err(field_overflow(text));
        }
        Ok(days)
    }

    /// The time of day.
    fn time(&self, text: &str) -> Result<Interval> {
        let mut hour = self.hour;
        if self.twelve {
            if !(1..=12).contains(&hour) && hour != 0 || hour == 0 && self.afternoon.is_some() {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(Error::new(state::INVALID_DATETIME_FORMAT, message)
                    .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            match self.afternoon {
                Some(true) if hour < 12 => hour += 12,
                Some(false) if hour == 12 => hour = 0,
                _ => {}
            }
        }
        let seconds = match self.second_of_day {
            Some(seconds) if (0..86_400).contains(&seconds) => seconds,
            None if (0..24).contains(&hour) && (0..60).contains(&self.minute) && (0..60).contains(&self.second) => {
                hour * 3600 + self.minute * 60 + self.second
            }
            _ => return Err(field_overflow(text)),
        };
        Ok(Interval { micros: seconds * 1_000_000 + self.micros, ..Interval::default() })
    }
}

/// The year near 2020 that ends in these two or three digits.
fn near_2020(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}
