//! Template patterns for dates and times.

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    YearGrouped,
    /// The last digits of the year.
    Year(u32),
    /// The last digits of the ISO year.
    IsoYear(u32),
    Century,
    Quarter,
    Month,
    /// The name; `true`: all of it, padded.
    MonthName(bool, Case),
    RomanMonth(Case),
    IsoWeek,
    Week,
    WeekOfMonth,
    DayOfYear,
    IsoDayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayName(bool, Case),
    Julian,
    Hour24,
    Hour12,
    Minute,
    Second,
    /// Digits of the fraction.
    Fraction(u32),
    SecondOfDay,
    /// With dots.
    Meridiem(bool, Case),
    Era(bool, Case),
    ZoneName(Case),
    ZoneHours,
    ZoneMinutes,
    Offset,
}

/// Letter case of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Capital,
    Lower,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Field {
        field: Field,
        /// Spelling in the template, for messages.
        name: String,
        /// `FM`: no padding.
        fill: bool,
        /// `TH`, or `th`.
        ordinal: Option<bool>,
    },
    /// A character that stands for itself: letters and quoted text.
    Literal(char),
    /// A blank or punctuation outside of quotes.
    Separator(char),
}

/// Patterns in which the case of letters does not matter; longer ones first if one begins another.
const NUMBERS: &[(&str, Field)] = &[
    ("Y,YYY", Field::YearGrouped),
    ("YYYY", Field::Year(4)),
    ("YYY", Field::Year(3)),
    ("YY", Field::Year(2)),
    ("IYYY", Field::IsoYear(4)),
    ("IYY", Field::IsoYear(3)),
    ("IY", Field::IsoYear(2)),
    ("IDDD", Field::IsoDayOfYear),
    ("ID", Field::IsoDayOfWeek),
    ("IW", Field::IsoWeek),
    ("HH24", Field::Hour24),
    ("HH12", Field::Hour12),
    ("HH", Field::Hour12),
    ("MI", Field::Minute),
    ("SSSSS", Field::SecondOfDay),
    ("SSSS", Field::SecondOfDay),
    ("SS", Field::Second),
    ("MS", Field::Fraction(3)),
    ("US", Field::Fraction(6)),
    ("FF1", Field::Fraction(1)),
    ("FF2", Field::Fraction(2)),
    ("FF3", Field::Fraction(3)),
    ("FF4", Field::Fraction(4)),
    ("FF5", Field::Fraction(5)),
    ("FF6", Field::Fraction(6)),
    ("MM", Field::Month),
    ("DDD", Field::DayOfYear),
    ("DD", Field::Day),
    ("WW", Field::Week),
    ("CC", Field::Century),
    ("TZH", Field::ZoneHours),
    ("TZM", Field::ZoneMinutes),
    ("OF", Field::Offset),
    ("Y", Field::Year(1)),
    ("I", Field::IsoYear(1)),
    ("D", Field::DayOfWeek),
    ("W", Field::WeekOfMonth),
    ("J", Field::Julian),
    ("Q", Field::Quarter),
];

/// Patterns whose case of letters is also the output's.
fn letters() -> impl Iterator<Item = (&'static str, Field)> {
    use Case::{Capital, Lower, Upper};
    [
        ("MONTH", Field::MonthName(true, Upper)),
        ("Month", Field::MonthName(true, Capital)),
        ("month", Field::MonthName(true, Lower)),
        ("MON", Field::MonthName(false, Upper)),
        ("Mon", Field::MonthName(false, Capital)),
        ("mon", Field::MonthName(false, Lower)),
        ("DAY", Field::DayName(true, Upper)),
        ("Day", Field::DayName(true, Capital)),
        ("day", Field::DayName(true, Lower)),
        ("DY", Field::DayName(false, Upper)),
        ("Dy", Field::DayName(false, Capital)),
        ("dy", Field::DayName(false, Lower)),
        ("RM", Field::RomanMonth(Upper)),
        ("rm", Field::RomanMonth(Lower)),
        ("A.M.", Field::Meridiem(true, Upper)),
        ("P.M.", Field::Meridiem(true, Upper)),
        ("a.m.", Field::Meridiem(true, Lower)),
        ("p.m.", Field::Meridiem(true, Lower)),
        ("AM", Field::Meridiem(false, Upper)),
        ("PM", Field::Meridiem(false, Upper)),
        ("am", Field::Meridiem(false, Lower)),
        ("pm", Field::Meridiem(false, Lower)),
        ("B.C.", Field::Era(true, Upper)),
        ("A.D.", Field::Era(true, Upper)),
        ("b.c.", Field::Era(true, Lower)),
        ("a.d.", Field::Era(true, Lower)),
        ("BC", Field::Era(false, Upper)),
        ("AD", Field::Era(false, Upper)),
        ("bc", Field::Era(false, Lower)),
        ("ad", Field::Era(false, Lower)),
    ]
    .into_iter()
}

fn field_at(rest: &str) -> Option<(usize, Field)> {
    let named = letters().find(|(word, _)| rest.starts_with(word));
    let number = || {
        let starts = |word: &str| rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        NUMBERS.iter().copied().find(|(word, _)| starts(word))
    };
    let zone = || match rest {
        _ if rest.starts_with("TZ") => Some(("TZ", Field::ZoneName(Case::Upper))),
        _ if rest.starts_with("tz") => Some(("tz", Field::ZoneName(Case::Lower))),
        _ => None,
    };
    named.or_else(number).or_else(zone).map(|(word, field)| (word.len(), field))
}

/// Takes a template apart.
pub(super) fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    let (mut fill, mut translated) = (false, false);
    while let Some(c) = rest.chars().next() {
        let head = rest.get(..2).unwrap_or("");
        if ["FM", "TM", "FX"].iter().any(|prefix| head.eq_ignore_ascii_case(prefix)) {
            fill |= head.eq_ignore_ascii_case("FM");
            translated |= head.eq_ignore_ascii_case("TM");
            rest = &rest[2..];
            continue;
        }
        if let Some((length, field)) = field_at(rest) {
            let name = rest[..length].to_owned();
            rest = &rest[length..];
            let suffix = rest.get(..2).filter(|suffix| suffix.eq_ignore_ascii_case("TH"));
            let ordinal = suffix.map(|suffix| suffix.starts_with('t'));
            rest = &rest[suffix.map_or(0, str::len)..];
            let is_name = matches!(field, Field::MonthName(..) | Field::DayName(..));
            pieces.push(Piece::Field { field, name, fill: fill || (translated && is_name), ordinal });
            (fill, translated) = (false, false);
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => {
                let inside = rest.split('"').next().unwrap_or("");
                pieces.extend(inside.chars().map(Piece::Literal));
                rest = rest.get(inside.len() + 1..).unwrap_or("");
            }
            '\\' if rest.starts_with('"') => {
                pieces.push(Piece::Literal('"'));
                rest = &rest[1..];
            }
            c if c.is_alphanumeric() => pieces.push(Piece::Literal(c)),
            c => pieces.push(Piece::Separator(c)),
        }
    }
    pieces
}

/// The months' names.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The days' names.
pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The months as Roman numerals.
pub(super) const ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

impl Case {
    /// A capitalized word in this case.
    pub(super) fn apply(self, word: &str) -> String {
        match self {
            Case::Upper => word.to_uppercase(),
            Case::Capital => word.to_owned(),
            Case::Lower => word.to_lowercase(),
        }
    }
}
