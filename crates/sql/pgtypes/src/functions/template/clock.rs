//! `to_char` of timestamps and intervals.

use super::super::arguments::Arguments;
use super::super::table::*;
use super::ordinal;
use super::words::{Case, DAYS, Field, MONTHS, Piece, ROMAN_MONTHS, pieces};
use crate::datetime::{self as dt, civil_from_days, days_from_civil};
use jiff::Timestamp;

const DAY: i64 = 86_400_000_000;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("to_char", &[TIMESTAMP, TEXT], TEXT, |a| match a.timestamp(0)? {
        i64::MIN | i64::MAX => Ok(Datum::Null),
        timestamp => Ok(Moment::of(timestamp).format(a.text(1)?).into()),
    }),
    session("to_char", &[TIMESTAMPTZ, TEXT], TEXT, |env, a| {
        let (timestamp, zone) = (a.timestamp(0)?, env.styles().zone);
        if matches!(timestamp, i64::MIN | i64::MAX) {
            return Ok(Datum::Null);
        }
        let mut moment = Moment::of(dt::timestamptz_to_timestamp(timestamp, &zone)?);
        if let Ok(instant) = Timestamp::from_microsecond(timestamp) {
            let info = zone.to_offset_info(instant);
            moment.offset = Some(info.offset().seconds());
            moment.zone = info.abbreviation().to_owned();
        }
        Ok(moment.format(a.text(1)?).into())
    }),
    pure("to_char", &[INTERVAL, TEXT], TEXT, |a| Ok(Moment::of_interval(a.interval(0)?).format(a.text(1)?).into())),
];

/// A point in time, or an interval, in fields.
#[derive(Default)]
struct Moment {
    /// Astronomical; 0 is 1 BC.
    year: i64,
    month: i64,
    day: i64,
    /// Days since 1970.
    days: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    is_interval: bool,
    /// Seconds east of UTC.
    offset: Option<i32>,
    zone: String,
}

impl Moment {
    fn of(timestamp: i64) -> Moment {
        let days = timestamp.div_euclid(DAY);
        let (year, month, day) = civil_from_days(days);
        let moment = Moment { year, month: month.into(), day: day.into(), days, ..Moment::default() };
        moment.at(timestamp.rem_euclid(DAY))
    }

    fn of_interval(interval: &Interval) -> Moment {
        let (months, days) = (i64::from(interval.months), i64::from(interval.days));
        let moment = Moment {
            year: months / 12,
            month: months % 12,
            day: days,
            days: (months / 12) * 365 + (months % 12) * 30 + days,
            is_interval: true,
            ..Moment::default()
        };
        moment.at(interval.micros)
    }

    fn at(self, micros: i64) -> Moment {
        let seconds = micros / 1_000_000;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        Moment { hour, minute, second, micros: micros % 1_000_000, ..self }
    }

    fn format(&self, template: &str) -> String {
        let mut out = String::new();
        for piece in pieces(template) {
            match piece {
                Piece::Literal(c) | Piece::Separator(c) => out.push(c),
                Piece::Field { field, fill, ordinal: suffix, .. } => {
                    let text = self.field(field, fill);
                    out.push_str(&text);
                    if let Some(lower) = suffix {
                        let suffix = ordinal(&text);
                        out.push_str(&if lower { suffix.to_owned() } else { suffix.to_uppercase() });
                    }
                }
            }
        }
        out
    }

    /// The year as people count: 1 BC for 0.
    fn shown_year(&self, year: i64) -> i64 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    fn weekday(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    fn day_of_year(&self) -> i64 {
        if self.is_interval { self.days } else { self.days - days_from_civil(self.year, 1, 1) + 1 }
    }

    /// The ISO year, its week, and the day of the year that its weeks make.
    fn iso(&self) -> (i64, i64, i64) {
        let weekday = (self.days + 3).rem_euclid(7);
        let year = civil_from_days(self.days - weekday + 3).0;
        let fourth = days_from_civil(year, 1, 4);
        let first = fourth - (fourth + 3).rem_euclid(7);
        (year, (self.days - first) / 7 + 1, self.days - first + 1)
    }

    fn century(&self) -> i64 {
        match self.year {
            year if self.is_interval => year / 100,
            year if year > 0 => (year - 1) / 100 + 1,
            year => year / 100 - 1,
        }
    }

    fn field(&self, field: Field, fill: bool) -> String {
        let number = |value: i64, width: usize| match fill {
            true => value.to_string(),
            // A sign comes on top.
            false => format!("{value:0width$}", width = width + usize::from(value < 0)),
        };
        let named = |name: &str, width: usize| if fill { name.to_owned() } else { format!("{name:width$}") };
        let short = |name: &str| name[..3].to_owned();
        let last_digits = |year: i64, digits: u32| match digits {
            4 => year,
            digits => year % 10_i64.pow(digits),
        };
        let month = usize::try_from(self.month - 1).ok().filter(|month| *month < 12);
        match field {
            Field::YearGrouped => {
                let year = self.shown_year(self.year);
                format!("{},{:03}", year / 1000, year % 1000)
            }
            Field::Year(digits) => number(last_digits(self.shown_year(self.year), digits), digits as usize),
            Field::IsoYear(digits) => number(last_digits(self.shown_year(self.iso().0), digits), digits as usize),
            Field::Century => number(self.century(), 2),
            Field::Quarter => month.map_or(String::new(), |month| (month / 3 + 1).to_string()),
            Field::Month => number(self.month, 2),
            Field::MonthName(whole, case) => month.map_or(String::new(), |month| {
                let name = case.apply(MONTHS[month]);
                if whole { named(&name, 9) } else { short(&name) }
            }),
            Field::RomanMonth(case) => month.map_or(String::new(), |month| named(&case.apply(ROMAN_MONTHS[month]), 4)),
            Field::IsoWeek => number(self.iso().1, 2),
            Field::Week => number((self.day_of_year() - 1) / 7 + 1, 2),
            Field::WeekOfMonth => number((self.day - 1) / 7 + 1, 1),
            Field::DayOfYear => number(self.day_of_year(), 3),
            Field::IsoDayOfYear => number(self.iso().2, 3),
            Field::Day if fill => self.day.to_string(),
            Field::Day => format!("{:02}", self.day),
            Field::DayOfWeek => (self.weekday() + 1).to_string(),
            Field::IsoDayOfWeek => if self.weekday() == 0 { 7 } else { self.weekday() }.to_string(),
            Field::DayName(whole, case) => {
                let name = case.apply(DAYS[self.weekday() as usize]);
                if whole { named(&name, 9) } else { short(&name) }
            }
            Field::Julian => (self.days + 2_440_588).to_string(),
            Field::Hour24 => number(self.hour, 2),
            Field::Hour12 => number(if self.hour % 12 == 0 { 12 } else { self.hour % 12 }, 2),
            Field::Minute => number(self.minute, 2),
            Field::Second => number(self.second, 2),
            Field::Fraction(digits) => {
                format!("{:0width$}", self.micros / 10_i64.pow(6 - digits.min(6)), width = digits as usize)
            }
            Field::SecondOfDay => (self.hour * 3600 + self.minute * 60 + self.second).to_string(),
            Field::Meridiem(dots, case) => {
                letters(if self.hour.rem_euclid(24) >= 12 { "PM" } else { "AM" }, dots, case)
            }
            Field::Era(dots, case) => letters(if self.year <= 0 { "BC" } else { "AD" }, dots, case),
            Field::ZoneName(Case::Lower) => self.zone.to_lowercase(),
            Field::ZoneName(_) => self.zone.clone(),
            Field::ZoneHours => {
                let offset = self.offset.unwrap_or(0);
                format!("{}{:02}", if offset < 0 { '-' } else { '+' }, offset.abs() / 3600)
            }
            Field::ZoneMinutes => format!("{:02}", self.offset.unwrap_or(0).abs() / 60 % 60),
            Field::Offset => {
                let offset = self.offset.unwrap_or(0);
                let hours = format!("{}{:02}", if offset < 0 { '-' } else { '+' }, offset.abs() / 3600);
                match offset.abs() / 60 % 60 {
                    0 => hours,
                    minutes => format!("{hours}:{minutes:02}"),
                }
            }
        }
    }
}

fn letters(word: &str, dots: bool, case: Case) -> String {
    let word = if dots { word.chars().flat_map(|c| [c, '.']).collect() } else { word.to_owned() };
    case.apply(&word)
}
