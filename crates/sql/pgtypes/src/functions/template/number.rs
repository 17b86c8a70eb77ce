//! `to_char` of numbers, and `to_number`.
//!
//! Source: PostgreSQL 15, `NUM_processor` and `NUM_numpart_to_char` in `formatting.c`, whose columns this reproduces.

use super::super::arguments::Arguments;
use super::super::table::*;
use super::number_words::{SignPlace, Template, Word};
use super::ordinal;

/// The functions.
pub(super) static FUNCTIONS: &[Function] = &[
    pure("to_char", &[INT4, TEXT], TEXT, |a| to_char(&Numeric::from(a.int4(0)?), a.text(1)?)),
    pure("to_char", &[INT8, TEXT], TEXT, |a| to_char(&Numeric::from(a.int8(0)?), a.text(1)?)),
    pure("to_char", &[NUMERIC, TEXT], TEXT, |a| to_char(a.numeric(0)?, a.text(1)?)),
    pure("to_char", &[FLOAT4, TEXT], TEXT, |a| float_to_char(&Numeric::from_f32(a.float4(0)?), a.text(1)?, 6)),
    pure("to_char", &[FLOAT8, TEXT], TEXT, |a| float_to_char(&Numeric::from_f64(a.float8(0)?), a.text(1)?, 15)),
    pure("to_number", &[TEXT, TEXT], NUMERIC, |a| to_number(a.text(0)?, a.text(1)?)),
];

fn to_char(value: &Numeric, template: &str) -> Result<Datum> {
    write(value, &Template::parse(template)?)
}

/// A float shows no more digits behind the point than it has.
fn float_to_char(value: &Numeric, template: &str, digits: usize) -> Result<Datum> {
    let mut template = Template::parse(template)?;
    let integer = value.abs().trunc(0).to_string().len();
    template.after = template.after.min(digits.saturating_sub(integer));
    write(value, &template)
}

fn write(value: &Numeric, template: &Template) -> Result<Datum> {
    if template.roman {
        return Ok(roman(value, template).into());
    }
    if template.scientific {
        return Ok(scientific(value, template.after).into());
    }
    let shifted = if template.shift > 0 {
        value.mul(&Numeric::from(10).power(&Numeric::from(template.shift as i64))?)?
    } else {
        value.clone()
    };
    let rounded = shifted.round(i32::try_from(template.after).unwrap_or(i32::MAX))?;
    let printed = rounded.to_string();
    let (negative, mut digits) = match printed.strip_prefix('-') {
        Some(digits) => (true, digits.to_owned()),
        None => (false, printed),
    };
    let integer = digits.find('.').unwrap_or(digits.len());
    let missing = template.before.saturating_sub(integer);
    if integer > template.before {
        let hashes = |count: usize| "#".repeat(count);
        digits = if template.after > 0 {
            format!("{}.{}", hashes(template.before), hashes(template.after))
        } else {
            hashes(template.before)
        };
    }
    Ok(Writer::new(template, negative, &digits, missing).write().into())
}

/// Writes one number, column by column.
struct Writer<'t> {
    template: &'t Template,
    negative: bool,
    number: &'t [u8],
    /// The next character of the number.
    at: usize,
    /// The column of the template's digits and point.
    column: usize,
    /// Columns before the number's first digit.
    missing: usize,
    /// With FM, the last character that must be written.
    last_relevant: Option<usize>,
    sign_written: bool,
    in_number: bool,
    columns: usize,
    out: String,
}

impl<'t> Writer<'t> {
    fn new(template: &'t Template, negative: bool, number: &'t str, missing: usize) -> Writer<'t> {
        let sign_written = if template.has_plus || template.has_minus {
            template.has_minus
        } else {
            !negative && template.fill && template.sign.is_none()
        };
        let mut columns = (template.after + template.before).saturating_sub(1);
        if !sign_written && missing == 0 {
            columns += 1;
        }
        let last_relevant = (template.fill && template.has_point).then(|| last_relevant(template, number, missing));
        Writer {
            template,
            negative,
            number: number.as_bytes(),
            at: 0,
            column: 0,
            missing,
            last_relevant: last_relevant.flatten(),
            sign_written,
            in_number: false,
            columns,
            out: String::new(),
        }
    }

    fn write(mut self) -> String {
        for word in &self.template.words {
            match *word {
                Word::Nine | Word::Zero | Word::Point => self.digit(*word),
                Word::Group if self.in_number => self.out.push(','),
                Word::Group | Word::Currency if self.template.fill => {}
                Word::Group | Word::Currency => self.out.push(' '),
                Word::Minus | Word::Plus => self.one_sign(*word == Word::Plus),
                Word::PlusMinus => self.out.push(if self.negative { '-' } else { '+' }),
                Word::Ordinal(lower)
                    if !self.negative
                        && !self.template.has_point
                        && self.number.first().is_some_and(|digit| *digit != b'#') =>
                {
                    let suffix = ordinal(std::str::from_utf8(self.number).unwrap_or(""));
                    self.out.push_str(&if lower { suffix.to_owned() } else { suffix.to_uppercase() });
                }
                Word::Literal(c) => self.out.push(c),
                Word::Sign | Word::Ordinal(_) | Word::Roman(_) => {}
            }
        }
        self.out
    }

    /// `MI` and `PL`: their sign, or a blank.
    fn one_sign(&mut self, plus: bool) {
        if plus != self.negative {
            self.out.push(if plus { '+' } else { '-' });
        } else if !self.template.fill {
            self.out.push(' ');
        }
    }

    /// Returns whether the digit is a lone zero before the point. It is written only if a `0` requires it.
    fn is_lone_zero(&self) -> bool {
        self.template.zero_start.is_none()
            && self.at == 0
            && self.number.first() == Some(&b'0')
            && self.template.after != 0
    }

    fn ends_at_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.number.get(last) == Some(&b'.'))
    }

    fn digit(&mut self, word: Word) {
        let fill = self.template.fill;
        let zero_start = self.template.zero_start;
        let begins = self.column >= self.missing || zero_start == Some(self.column);
        if !self.sign_written && begins && (!self.is_lone_zero() || self.ends_at_point()) {
            self.leading_sign();
        }
        if self.column < self.missing {
            if zero_start.is_some_and(|start| start <= self.column) {
                self.out.push('0');
                self.in_number = true;
            } else if !fill {
                self.out.push(' ');
            }
        } else {
            match self.number.get(self.at).copied() {
                Some(b'.') => self.out.push('.'),
                _ if word != Word::Zero && self.last_relevant.is_some_and(|last| self.at > last) => {}
                _ if self.is_lone_zero() => {
                    if !fill {
                        self.out.push(' ');
                    } else if self.ends_at_point() {
                        self.out.push('0');
                    }
                }
                Some(digit) => {
                    self.out.push(char::from(digit));
                    self.in_number = true;
                }
                None => {}
            }
            self.at = (self.at + 1).min(self.number.len());
        }
        self.trailing_sign();
        self.column += 1;
    }

    fn leading_sign(&mut self) {
        match (self.template.sign, self.template.brackets) {
            (Some(SignPlace::Before), _) => self.out.push(if self.negative { '-' } else { '+' }),
            (Some(SignPlace::After), _) => return,
            (None, true) if !self.negative && self.template.fill => {}
            (None, true) => self.out.push(if self.negative { '<' } else { ' ' }),
            (None, false) if self.negative => self.out.push('-'),
            (None, false) if !self.template.fill => self.out.push(' '),
            (None, false) => {}
        }
        self.sign_written = true;
    }

    fn trailing_sign(&mut self) {
        let mut end = self.columns + usize::from(self.missing > 0) + usize::from(self.template.has_point);
        if self.last_relevant == Some(self.at) {
            end = self.column;
        }
        if self.column + 1 != end {
            return;
        }
        if self.sign_written && self.template.brackets {
            if self.negative {
                self.out.push('>');
            } else if !self.template.fill {
                self.out.push(' ');
            }
        } else if self.template.sign == Some(SignPlace::After) {
            self.out.push(if self.negative { '-' } else { '+' });
        }
    }
}

/// Index of the last digit behind the point that is not zero or that a `0` requires; the point if no digit is.
fn last_relevant(template: &Template, number: &str, missing: usize) -> Option<usize> {
    let point = number.find('.')?;
    let last = number.rfind(|c| c != '0').unwrap_or(point).max(point);
    let asked = template.zero_end.saturating_sub(missing).min(number.len() - 1);
    Some(if template.zero_end > missing { last.max(asked) } else { last })
}

/// Roman numerals up to 3999, right-aligned in fifteen columns.
fn roman(value: &Numeric, template: &Template) -> String {
    const PARTS: &[(i64, &str)] = &[
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let Some(mut left) = value.to_i64().filter(|value| (1..4000).contains(value)) else {
        return "#".repeat(15);
    };
    let mut out = String::new();
    for &(part, letters) in PARTS {
        while left >= part {
            out.push_str(letters);
            left -= part;
        }
    }
    if template.words.contains(&Word::Roman(true)) {
        out.make_ascii_lowercase();
    }
    if template.fill { out } else { format!("{out:>15}") }
}

/// One digit before the point, and an exponent of at least two digits.
fn scientific(value: &Numeric, digits: usize) -> String {
    let text = format!("{:.digits$e}", value.to_f64());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    let space = if mantissa.starts_with('-') { "" } else { " " };
    format!("{space}{mantissa}e{sign}{exponent:0>2}")
}

/// The number in a text, as far as the template has digits for it.
fn to_number(text: &str, template: &str) -> Result<Datum> {
    let template = Template::parse(template)?;
    let negative = text.contains('-') || (template.brackets && text.contains('<'));
    let (mut integer, mut fraction, mut behind_point) = (String::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '.' if template.has_point => behind_point = true,
            c if c.is_ascii_digit() => {
                let (part, limit) =
                    if behind_point { (&mut fraction, template.after) } else { (&mut integer, template.before) };
                if part.len() < limit {
                    part.push(c);
                }
            }
            _ => {}
        }
    }
    if integer.is_empty() && fraction.is_empty() {
        // What was read: nothing.
        let message = "invalid input syntax for type numeric: \" \"";
        return Err(Error::new(state::INVALID_TEXT_REPRESENTATION, message));
    }
    let sign = if negative { "-" } else { "" };
    let number = Numeric::parse(&format!("{sign}{integer:0>1}.{fraction}0"))?;
    let number = number.round(i32::try_from(template.after).unwrap_or(i32::MAX))?;
    if template.shift == 0 {
        return Ok(number.into());
    }
    number.div(&Numeric::from(10).power(&Numeric::from(template.shift as i64))?).map(Datum::Numeric)
}
