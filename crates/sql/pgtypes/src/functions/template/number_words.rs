//! Template patterns for numbers.

use super::super::table::*;

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Word {
    Nine,
    Zero,
    Point,
    Group,
    Sign,
    Minus,
    Plus,
    PlusMinus,
    /// `TH`, or `th`.
    Ordinal(bool),
    /// `RN`, or `rn`.
    Roman(bool),
    Currency,
    Literal(char),
}

/// Position of the sign of `S`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SignPlace {
    Before,
    After,
}

/// A template, taken apart.
#[derive(Default)]
pub(super) struct Template {
    pub(super) words: Vec<Word>,
    /// Digits before the point.
    pub(super) before: usize,
    /// Digits behind the point.
    pub(super) after: usize,
    /// Digits behind `V`: the number is multiplied by as many tens.
    pub(super) shift: usize,
    /// `FM`
    pub(super) fill: bool,
    pub(super) has_point: bool,
    /// The place of the first `0`, if it is before the point.
    pub(super) zero_start: Option<usize>,
    /// Digits up to the last `0`.
    pub(super) zero_end: usize,
    pub(super) sign: Option<SignPlace>,
    /// `PR`
    pub(super) brackets: bool,
    pub(super) has_plus: bool,
    pub(super) has_minus: bool,
    pub(super) scientific: bool,
    pub(super) roman: bool,
    shifts: bool,
    sign_digits: usize,
}

/// The words, the longer first where one begins another.
const WORDS: &[&str] =
    &["EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", "9", "0", ".", "D", ",", "G", "L", "S", "V", "B", "C"];

impl Template {
    /// Takes a template apart.
    pub(super) fn parse(template: &str) -> Result<Template> {
        let mut parsed = Template::default();
        let mut rest = template;
        while let Some(c) = rest.chars().next() {
            if c == '"' {
                let inside = rest[1..].split('"').next().unwrap_or("");
                parsed.words.extend(inside.chars().map(Word::Literal));
                rest = rest.get(inside.len() + 2..).unwrap_or("");
                continue;
            }
            let starts = |word: &&&str| rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
            match WORDS.iter().find(starts) {
                Some(word) => {
                    parsed.take(word, c.is_ascii_lowercase())?;
                    rest = &rest[word.len()..];
                }
                None => {
                    parsed.words.push(Word::Literal(c));
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        if parsed.sign == Some(SignPlace::Before) && !parsed.has_point && parsed.sign_digits == parsed.before {
            parsed.sign = Some(SignPlace::After);
        }
        Ok(parsed)
    }

    fn take(&mut self, word: &str, lower: bool) -> Result<()> {
        let refused = |message: &str| Err(Error::new(state::SYNTAX_ERROR, message));
        match word {
            "9" if self.brackets => return refused("\"9\" must be ahead of \"PR\""),
            "0" if self.brackets => return refused("\"0\" must be ahead of \"PR\""),
            "9" => {
                self.count_digit();
                self.words.push(Word::Nine);
            }
            "0" => {
                if self.zero_start.is_none() && !self.has_point {
                    self.zero_start = Some(self.before);
                }
                self.count_digit();
                self.zero_end = self.before + self.after;
                self.words.push(Word::Zero);
            }
            "." | "D" => {
                if self.has_point {
                    return refused("multiple decimal points");
                }
                if self.shifts {
                    return refused("cannot use \"V\" and decimal point together");
                }
                self.has_point = true;
                self.words.push(Word::Point);
            }
            "," | "G" => self.words.push(Word::Group),
            "S" => {
                if self.sign.is_some() {
                    return refused("cannot use \"S\" twice");
                }
                if self.has_plus || self.has_minus || self.brackets {
                    return refused("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
                }
                self.sign = Some(if self.has_point { SignPlace::After } else { SignPlace::Before });
                self.sign_digits = self.before;
                self.words.push(Word::Sign);
            }
            "MI" | "PL" | "SG" => {
                if self.sign.is_some() {
                    return refused(&format!("cannot use \"S\" and \"{word}\" together"));
                }
                self.has_minus |= word != "PL";
                self.has_plus |= word != "MI";
                self.words.push(match word {
                    "MI" => Word::Minus,
                    "PL" => Word::Plus,
                    _ => Word::PlusMinus,
                });
            }
            "PR" => {
                if self.sign.is_some() || self.has_plus || self.has_minus {
                    return refused("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
                }
                self.brackets = true;
            }
            "FM" => self.fill = true,
            "V" => {
                if self.has_point {
                    return refused("cannot use \"V\" and decimal point together");
                }
                self.shifts = true;
            }
            "EEEE" => self.scientific = true,
            "TH" => self.words.push(Word::Ordinal(lower)),
            "RN" => {
                self.roman = true;
                self.words.push(Word::Roman(lower));
            }
            "L" => self.words.push(Word::Currency),
            _ => {}
        }
        Ok(())
    }

    fn count_digit(&mut self) {
        if self.has_point {
            self.after += 1;
        } else {
            self.before += 1;
            self.shift += usize::from(self.shifts);
        }
    }
}
