//! Dates and times from text.

use super::scan::{Field, Kind, fields};
use crate::datetime::civil::{
    DAY, HOUR, MINUTE, SECOND, checked_date, checked_timestamp, days_from_civil, days_in_month, offset_at,
    offset_of_local, split,
};
use crate::datetime::zone::{fixed, lookup, parse_offset};
use crate::error::{Error, Result, state};
use crate::{DateOrder, Styles};
use jiff::tz::TimeZone;

/// Why a text is no moment.
enum Wrong {
    /// It does not look like one.
    Format,
    /// A field is beyond its range.
    Field,
    /// A month or day is: perhaps they were meant the other way round.
    MonthOrDay,
    /// The offset from UTC is.
    Offset,
    /// There is no such time zone.
    Zone(String),
}

type Decoded<T> = std::result::Result<T, Wrong>;

impl Wrong {
    fn explain(self, text: &str, data_type: &str) -> Error {
        let out_of_range =
            || Error::new(state::DATETIME_FIELD_OVERFLOW, format!("date/time field value out of range: \"{text}\""));
        match self {
            Wrong::Format => Error::new(
                state::INVALID_DATETIME_FORMAT,
                format!("invalid input syntax for type {data_type}: \"{text}\""),
            ),
            Wrong::Field => out_of_range(),
            Wrong::MonthOrDay => out_of_range().hint("Perhaps you need a different \"datestyle\" setting."),
            Wrong::Offset => Error::new("22009", format!("time zone displacement out of range: \"{text}\"")),
            Wrong::Zone(zone) => {
                Error::new(state::INVALID_PARAMETER_VALUE, format!("time zone \"{zone}\" not recognized"))
            }
        }
    }
}

/// Reads a date.
pub(crate) fn parse_date(text: &str, styles: &Styles) -> Result<i32> {
    if let Some(date) = plain_date(text.as_bytes()) {
        return Ok(date);
    }
    let wrong = |wrong: Wrong| wrong.explain(text, "date");
    let out_of_range = || Error::new(state::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\""));
    let moment = Moment::decode(text, styles, false).map_err(wrong)?;
    match moment.special {
        Some(Special::Infinity) => Ok(i32::MAX),
        Some(Special::NegativeInfinity) => Ok(i32::MIN),
        _ => {
            let day = moment.day(styles).and_then(|day| day.ok_or(Wrong::Format)).map_err(wrong)?;
            checked_date(day).ok_or_else(out_of_range)
        }
    }
}

/// The usual form, `YYYY-MM-DD`, without any detour.
fn plain_date(text: &[u8]) -> Option<i32> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0i64, |value, c| c.is_ascii_digit().then(|| value * 10 + i64::from(c - b'0')))
    };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    let (month, day) = (number(&[*m1, *m2])? as u8, number(&[*d1, *d2])? as u8);
    let valid = year > 0 && (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    valid.then(|| days_from_civil(year, month, day) as i32)
}

/// Reads a time of day; a date beside it does not count.
pub(crate) fn parse_time(text: &str, styles: &Styles) -> Result<i64> {
    let wrong = |wrong: Wrong| wrong.explain(text, "time");
    let moment = Moment::decode(text, styles, true).map_err(wrong)?;
    match (moment.special, moment.time) {
        (Some(Special::Now), _) => {
            let local = styles.now_micros + offset_at(styles.now_micros, &styles.zone) * SECOND;
            Ok(split(local).1)
        }
        (None, Some(time)) => Ok(time),
        _ => Err(wrong(Wrong::Format)),
    }
}

/// Reads a timestamp; a time zone in it does not count.
pub(crate) fn parse_timestamp(text: &str, styles: &Styles) -> Result<i64> {
    parse_moment(text, styles, "timestamp", |moment, styles| match moment.special {
        Some(Special::Now) => Ok(i128::from(local_now(styles))),
        _ => Ok(moment.local(styles)?),
    })
}

/// Reads a timestamp with time zone. Without a written zone, the session's applies.
pub(crate) fn parse_timestamptz(text: &str, styles: &Styles) -> Result<i64> {
    parse_moment(text, styles, "timestamp with time zone", |moment, styles| match moment.special {
        Some(Special::Now) => Ok(i128::from(styles.now_micros)),
        Some(Special::Epoch) => Ok(0),
        _ => {
            let local = moment.local(styles)?;
            let zone = moment.zone.as_ref().unwrap_or(&styles.zone);
            let near = i64::try_from(local).map_err(|_| Wrong::Field)?;
            Ok(local - i128::from(offset_of_local(near, zone) * SECOND))
        }
    })
}

fn parse_moment(
    text: &str,
    styles: &Styles,
    data_type: &str,
    micros: impl Fn(&Moment, &Styles) -> Decoded<i128>,
) -> Result<i64> {
    let wrong = |wrong: Wrong| wrong.explain(text, data_type);
    let moment = Moment::decode(text, styles, false).map_err(wrong)?;
    match moment.special {
        Some(Special::Infinity) => return Ok(i64::MAX),
        Some(Special::NegativeInfinity) => return Ok(i64::MIN),
        _ => {}
    }
    checked_timestamp(micros(&moment, styles).map_err(wrong)?)
        .ok_or_else(|| Error::new(state::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: \"{text}\"")))
}

fn local_now(styles: &Styles) -> i64 {
    styles.now_micros + offset_at(styles.now_micros, &styles.zone) * SECOND
}

/// Words that mean a moment by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Epoch,
    Infinity,
    NegativeInfinity,
}

/// Fields found so far.
#[derive(Default)]
struct Moment {
    special: Option<Special>,
    year: Option<i64>,
    /// The year was written with one or two digits: 70 to 99 are of the twentieth century.
    short_year: bool,
    month: Option<i64>,
    /// The month was written as a name.
    named_month: bool,
    day: Option<i64>,
    /// The day counts from the year's first.
    day_of_year: bool,
    julian: Option<i64>,
    time: Option<i64>,
    afternoon: Option<bool>,
    zone: Option<TimeZone>,
    before_christ: bool,
    /// Digits run together are a time, not a date.
    time_only: bool,
    /// Order of the numbers of a date.
    order: DateOrder,
}

impl Moment {
    fn decode(text: &str, styles: &Styles, time_only: bool) -> Decoded<Moment> {
        let fields = fields(text).ok_or(Wrong::Format)?;
        let mut moment = Moment { time_only, order: styles.order, ..Moment::default() };
        let mut at = 0;
        while let Some(field) = fields.get(at) {
            at += moment.take(field, &fields[at + 1..])?;
        }
        moment.finish_time()?;
        moment.day(styles)?;
        Ok(moment)
    }

    /// Takes a field; returns how many were used up.
    fn take(&mut self, field: &Field, next: &[Field]) -> Decoded<usize> {
        match field.kind {
            Kind::Number => self.number(&field.text)?,
            Kind::Date => self.date(&field.text)?,
            Kind::Time => self.set_time(&field.text)?,
            Kind::Offset => self.offset(&field.text)?,
            Kind::SignedWord => self.set_special(match field.text.as_str() {
                "-infinity" | "-inf" => Special::NegativeInfinity,
                "+infinity" | "+inf" => Special::Infinity,
                _ => return Err(Wrong::Format),
            })?,
            Kind::Word => return self.word(&field.text, next),
        }
        Ok(1)
    }

    fn word(&mut self, word: &str, next: &[Field]) -> Decoded<usize> {
        let special = match word {
            "now" => Special::Now,
            "today" => Special::Today,
            "tomorrow" => Special::Tomorrow,
            "yesterday" => Special::Yesterday,
            "epoch" => Special::Epoch,
            "infinity" | "inf" => Special::Infinity,
            _ => return self.plain_word(word, next),
        };
        self.set_special(special)?;
        Ok(1)
    }

    fn plain_word(&mut self, word: &str, next: &[Field]) -> Decoded<usize> {
        if let Some(number) = month(word) {
            // A number before it was the day, not the month.
            if let (Some(first), None, false) = (self.month, self.day, self.named_month) {
                self.day = Some(first);
            } else if self.month.is_some() {
                return Err(Wrong::Format);
            }
            (self.month, self.named_month) = (Some(number), true);
            return Ok(1);
        }
        match word {
            "am" | "pm" if self.afternoon.is_none() => self.afternoon = Some(word == "pm"),
            "bc" => self.before_christ = true,
            "ad" | "at" | "on" | "of" => {}
            "t" if self.has_date() || !next.is_empty() => {}
            "allballs" => self.put_time(0)?,
            "j" => {
                let days = next.first().filter(|field| field.kind == Kind::Number).ok_or(Wrong::Format)?;
                self.julian = Some(days.text.parse().map_err(|_| Wrong::Format)?);
                return Ok(2);
            }
            _ if is_weekday(word) => {}
            _ => return self.zone_word(word),
        }
        Ok(1)
    }

    fn zone_word(&mut self, word: &str) -> Decoded<usize> {
        let unknown = || if word.contains('/') { Wrong::Zone(word.to_owned()) } else { Wrong::Format };
        let zone = match lookup(word) {
            Some(zone) => zone,
            None => {
                // `utc+3` has the sign of POSIX.
                let at = word.find(['+', '-']).ok_or_else(unknown)?;
                let (name, offset) = word.split_at(at);
                lookup(name).ok_or_else(unknown)?;
                parse_offset(offset).and_then(|seconds| fixed(-seconds)).ok_or(Wrong::Offset)?
            }
        };
        if self.zone.replace(zone).is_some() {
            return Err(Wrong::Format);
        }
        Ok(1)
    }

    fn set_special(&mut self, special: Special) -> Decoded<()> {
        if self.special.replace(special).is_some() { Err(Wrong::Format) } else { Ok(()) }
    }

    fn has_date(&self) -> bool {
        self.year.is_some() || self.month.is_some() || self.day.is_some() || self.julian.is_some()
    }

    fn has_whole_date(&self) -> bool {
        self.julian.is_some()
            || (self.year.is_some() && (self.day_of_year || (self.month.is_some() && self.day.is_some())))
    }

    /// A number by itself: digits run together, or a year, month or day.
    fn number(&mut self, text: &str) -> Decoded<()> {
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
        match (whole.len(), fraction) {
            (4 | 6, _) if self.time_only && self.time.is_none() => self.put_digits(whole, fraction),
            // Year, month and day run together.
            (6.., None) if !self.has_date() => {
                let (rest, day) = whole.split_at(whole.len() - 2);
                let (year, month) = rest.split_at(rest.len() - 2);
                self.set_year(year)?;
                (self.month, self.day) = (Some(parse_number(month)?), Some(parse_number(day)?));
                Ok(())
            }
            (4, Some(day)) if !self.has_date() && day.len() == 3 => {
                self.set_year(whole)?;
                (self.day, self.day_of_year) = (Some(parse_number(day)?), true);
                Ok(())
            }
            (4 | 6, _) if self.has_whole_date() && self.time.is_none() => self.put_digits(whole, fraction),
            // Hours before AM or PM.
            (1..=2, None) if self.has_whole_date() && self.time.is_none() => self.put_clock(whole, "0", "0", None),
            (_, None) => self.date_part(whole),
            _ => Err(Wrong::Format),
        }
    }

    /// `hhmm` or `hhmmss`.
    fn put_digits(&mut self, digits: &str, fraction: Option<&str>) -> Decoded<()> {
        let (hours, rest) = digits.split_at(2);
        let (minutes, seconds) = rest.split_at(2);
        self.put_clock(hours, minutes, if seconds.is_empty() { "0" } else { seconds }, fraction)
    }

    fn set_year(&mut self, digits: &str) -> Decoded<()> {
        if self.year.is_some() {
            return Err(Wrong::Format);
        }
        (self.year, self.short_year) = (Some(parse_number(digits)?), digits.len() <= 2);
        Ok(())
    }

    /// A date with separators.
    fn date(&mut self, text: &str) -> Decoded<()> {
        if self.has_date() {
            // After a month's name: PostgreSQL does not accept `Jan 08-1999` either.
            return Err(Wrong::Format);
        }
        let parts: Vec<&str> = text.split(['-', '/', '.']).filter(|part| !part.is_empty()).collect();
        if let ([year, day], true) = (parts.as_slice(), parts.len() == 2)
            && year.len() >= 4
            && day.len() == 3
            && day.bytes().all(|c| c.is_ascii_digit())
        {
            self.set_year(year)?;
            (self.day, self.day_of_year) = (Some(parse_number(day)?), true);
            return Ok(());
        }
        if parts.len() > 3 {
            return Err(Wrong::Format);
        }
        // The name first: it decides what the numbers are.
        for part in &parts {
            if let Some(number) = month(part) {
                (self.month, self.named_month) = (Some(number), true);
            }
        }
        for part in parts.iter().filter(|part| month(part).is_none()) {
            if !part.bytes().all(|c| c.is_ascii_digit()) {
                return Err(Wrong::Format);
            }
            self.date_part(part)?;
        }
        Ok(())
    }

    /// A year, month or day, by what is there already and by the order of dates; with three digits and more it is the year.
    fn date_part(&mut self, digits: &str) -> Decoded<()> {
        let long = digits.len() >= 3;
        match (self.year, self.month, self.day) {
            (None, None, None) if long || self.order == DateOrder::Ymd => self.set_year(digits),
            (None, None, None) if self.order == DateOrder::Dmy => {
                self.day = Some(parse_number(digits)?);
                Ok(())
            }
            (None, None, None) | (Some(_), None, None) | (None, None, Some(_)) => {
                self.month = Some(parse_number(digits)?);
                Ok(())
            }
            (None, Some(_), None) if long || (self.named_month && self.order == DateOrder::Ymd) => {
                self.set_year(digits)
            }
            (None, Some(_), None) => {
                self.day = Some(parse_number(digits)?);
                Ok(())
            }
            (Some(short), Some(_), None) if long && self.named_month && self.short_year => {
                (self.day, self.year) = (Some(short), None);
                self.set_year(digits)
            }
            (Some(_), Some(_), None) => {
                self.day = Some(parse_number(digits)?);
                Ok(())
            }
            (None, Some(_), Some(_)) => self.set_year(digits),
            _ => Err(Wrong::Format),
        }
    }

    fn set_time(&mut self, text: &str) -> Decoded<()> {
        let (clock, fraction) = text.split_once('.').map_or((text, None), |(clock, fraction)| (clock, Some(fraction)));
        let parts: Vec<&str> = clock.split(':').collect();
        match parts.as_slice() {
            [hours, minutes] => self.put_clock(hours, minutes, "0", fraction),
            [hours, minutes, seconds] => self.put_clock(hours, minutes, seconds, fraction),
            _ => Err(Wrong::Format),
        }
    }

    fn put_clock(&mut self, hours: &str, minutes: &str, seconds: &str, fraction: Option<&str>) -> Decoded<()> {
        let (hours, minutes, seconds) = (parse_number(hours)?, parse_number(minutes)?, parse_number(seconds)?);
        let micros = parse_fraction(fraction.unwrap_or("")).ok_or(Wrong::Format)?;
        let time = hours.min(1000) * HOUR + minutes * MINUTE + seconds * SECOND + micros;
        if hours > 24 || minutes > 59 || seconds > 60 || time > DAY {
            return Err(Wrong::Field);
        }
        self.put_time(time)
    }

    fn put_time(&mut self, time: i64) -> Decoded<()> {
        if self.time.replace(time).is_some() { Err(Wrong::Format) } else { Ok(()) }
    }

    /// Reads an offset from UTC. Before any time it is the rest of a date (`jan 8 -1999` has no offset).
    fn offset(&mut self, text: &str) -> Decoded<()> {
        let seconds = parse_offset(text).ok_or_else(|| {
            if text[1..].bytes().all(|c| c.is_ascii_digit() || c == b':') { Wrong::Offset } else { Wrong::Format }
        })?;
        let zone = fixed(seconds).ok_or(Wrong::Offset)?;
        // After the name of a zone it belongs to that: `gmt +3`.
        if self.zone.replace(zone).is_some() || !(self.has_date() || self.time.is_some()) {
            return Err(Wrong::Format);
        }
        Ok(())
    }

    fn finish_time(&mut self) -> Decoded<()> {
        if let Some(afternoon) = self.afternoon {
            let time = self.time.ok_or(Wrong::Format)?;
            if time / HOUR > 12 {
                return Err(Wrong::Field);
            }
            self.time = Some(time % (12 * HOUR) + if afternoon { 12 * HOUR } else { 0 });
        }
        Ok(())
    }

    /// The day number; `None` if there is no date.
    fn day(&self, styles: &Styles) -> Decoded<Option<i64>> {
        let today = || split(local_now(styles)).0;
        match self.special {
            Some(Special::Now | Special::Today) => return Ok(Some(today())),
            Some(Special::Tomorrow) => return Ok(Some(today() + 1)),
            Some(Special::Yesterday) => return Ok(Some(today() - 1)),
            Some(Special::Epoch) => return Ok(Some(0)),
            Some(Special::Infinity | Special::NegativeInfinity) => return Ok(None),
            None => {}
        }
        if let Some(julian) = self.julian {
            return Ok(Some(julian - 2_440_588));
        }
        if !self.has_date() {
            return Ok(None);
        }
        let year = self.full_year()?;
        if self.day_of_year {
            let day = self.day.ok_or(Wrong::Format)?;
            let length = days_from_civil(year + 1, 1, 1) - days_from_civil(year, 1, 1);
            return if (1..=length).contains(&day) {
                Ok(Some(days_from_civil(year, 1, 1) + day - 1))
            } else {
                Err(Wrong::Field)
            };
        }
        let (month, day) = (self.month.ok_or(Wrong::Format)?, self.day.ok_or(Wrong::Format)?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(Wrong::MonthOrDay);
        }
        let (month, day) = (month as u8, day as u8);
        if day > days_in_month(year, month) {
            return Err(Wrong::Field);
        }
        Ok(Some(days_from_civil(year, month, day)))
    }

    fn full_year(&self) -> Decoded<i64> {
        let year = self.year.ok_or(Wrong::Format)?;
        match (self.before_christ, self.short_year) {
            (true, _) if year > 0 => Ok(1 - year),
            (false, true) => Ok(if year < 70 { year + 2000 } else { year + 1900 }),
            (false, false) if year > 0 => Ok(year),
            _ => Err(Wrong::Field),
        }
    }

    /// Microseconds of local time.
    fn local(&self, styles: &Styles) -> Decoded<i128> {
        let day = self.day(styles)?.ok_or(Wrong::Format)?;
        Ok(i128::from(day) * i128::from(DAY) + i128::from(self.time.unwrap_or(0)))
    }
}

fn parse_number(digits: &str) -> Decoded<i64> {
    match digits.parse::<i32>() {
        Ok(number) => Ok(i64::from(number)),
        Err(_) if !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()) => Err(Wrong::Field),
        Err(_) => Err(Wrong::Format),
    }
}

/// Microseconds of the digits after the point, rounded.
pub(super) fn parse_fraction(digits: &str) -> Option<i64> {
    if !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    if digits.is_empty() {
        return Some(0);
    }
    let seconds: f64 = format!("0.{digits}").parse().ok()?;
    Some((seconds * 1e6).round_ties_even() as i64)
}

/// The number of a month, by its name or an abbreviation.
pub(super) fn month(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = MONTHS.iter().position(|name| *name == word || (word.len() == 3 && name.starts_with(word)));
    at.or((word == "sept").then_some(8)).map(|at| at as i64 + 1)
}

fn is_weekday(word: &str) -> bool {
    const DAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    DAYS.iter().any(|name| *name == word || (word.len() == 3 && name.starts_with(word)))
        || matches!(word, "tues" | "weds" | "thur" | "thurs")
}
