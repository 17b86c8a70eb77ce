//! Cuts a text into the fields of a date, a time or an interval, as PostgreSQL's `ParseDateTime` does.

use crate::numeric::is_space;

/// Kind of a field, by its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Digits, perhaps with a point in them.
    Number,
    /// With hyphens, slashes or points between its parts.
    Date,
    /// With colons.
    Time,
    /// A sign and digits, colons, points.
    Offset,
    /// Letters.
    Word,
    /// A sign and letters: an infinity.
    SignedWord,
}

/// A field, in small letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub kind: Kind,
    pub text: String,
}

/// More fields than any date or interval has.
const MAX_FIELDS: usize = 25;

/// The fields of a text; `None` if it has none, too many, or a character that belongs to no field.
pub(super) fn fields(text: &str) -> Option<Vec<Field>> {
    let bytes = text.as_bytes();
    let mut fields = Vec::new();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        if is_space(char::from(first)) {
            at += 1;
            continue;
        }
        let (kind, end) = match first {
            b'0'..=b'9' => after_digit(bytes, at),
            b'.' => (Kind::Number, run(bytes, at + 1, |c| c.is_ascii_digit())),
            b'+' | b'-' => after_sign(bytes, at)?,
            _ if is_letter(first) => after_letter(bytes, at),
            _ if first.is_ascii_punctuation() => {
                at += 1;
                continue;
            }
            _ => return None,
        };
        let text: String = text.get(at..end)?.chars().filter(|c| !is_space(*c)).collect();
        fields.push(Field { kind, text: text.to_lowercase() });
        if fields.len() > MAX_FIELDS {
            return None;
        }
        at = end;
    }
    if fields.is_empty() { None } else { Some(fields) }
}

/// Letters beyond ASCII too, so that they are cut between characters.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

fn run(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    from + bytes[from..].iter().take_while(|c| belongs(**c)).count()
}

fn after_digit(bytes: &[u8], start: usize) -> (Kind, usize) {
    let end = run(bytes, start, |c| c.is_ascii_digit());
    match bytes.get(end) {
        Some(b':') => (Kind::Time, run(bytes, end, |c| c.is_ascii_digit() || c == b':' || c == b'.')),
        Some(&separator @ (b'-' | b'/' | b'.')) => {
            let next = run(bytes, end + 1, |c| c.is_ascii_digit());
            if next > end + 1 {
                // Digits follow: a date if the separator comes again, else a number with a fraction if it is a point.
                return match bytes.get(next) {
                    Some(again) if *again == separator => {
                        (Kind::Date, run(bytes, next + 1, |c| c.is_ascii_digit() || c == separator))
                    }
                    _ if separator == b'.' => (Kind::Number, next),
                    _ => (Kind::Date, next),
                };
            }
            if separator == b'.' && !bytes.get(next).copied().is_some_and(is_letter) {
                return (Kind::Number, next);
            }
            // A month's name may stand in the middle.
            (Kind::Date, run(bytes, end, |c| c.is_ascii_digit() || is_letter(c) || c == separator))
        }
        _ => (Kind::Number, end),
    }
}

fn after_sign(bytes: &[u8], start: usize) -> Option<(Kind, usize)> {
    let begin = run(bytes, start + 1, |c| is_space(char::from(c)));
    match bytes.get(begin) {
        Some(b'0'..=b'9') => Some((
            Kind::Offset,
            // A hyphen inside separates years from months.
            run(bytes, begin, |c| c.is_ascii_digit() || matches!(c, b':' | b'.' | b'-')),
        )),
        Some(c) if is_letter(*c) => Some((Kind::SignedWord, run(bytes, begin, is_letter))),
        _ => None,
    }
}

/// A word; with a separator behind it, a date (`jan-08-1999`) or the name of a time zone (`europe/vienna`).
fn after_letter(bytes: &[u8], start: usize) -> (Kind, usize) {
    let end = run(bytes, start, is_letter);
    match bytes.get(end) {
        Some(b'-' | b'/' | b'.' | b'+' | b'_') | Some(b'0'..=b'9') => {
            let belongs =
                |c: u8| c.is_ascii_digit() || is_letter(c) || matches!(c, b'-' | b'/' | b'.' | b'_' | b'+' | b':');
            let long = run(bytes, end, belongs);
            let text = &bytes[start..long];
            if is_month(&bytes[start..end]) && !matches!(bytes[end], b'0'..=b'9' | b'_' | b'+') && long > end + 1 {
                return (Kind::Date, long);
            }
            let zone = text.contains(&b'/') || text.contains(&b'_') || (end == start + 3 && starts_zone(text));
            if zone { (Kind::Word, long) } else { (Kind::Word, end) }
        }
        _ => (Kind::Word, end),
    }
}

/// Returns whether three letters and the rest of the word begin a month's name.
fn is_month(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| super::moment::month(&word.to_lowercase()).is_some())
}

/// Zones such as `est5edt` and `etc`.
fn starts_zone(text: &[u8]) -> bool {
    text.get(3..4).is_some_and(|c| c[0].is_ascii_digit())
        && text.len() > 4
        && text.last().is_some_and(u8::is_ascii_alphabetic)
}
