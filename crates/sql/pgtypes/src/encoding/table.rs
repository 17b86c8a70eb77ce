//! The characters of an encoding and their codes, read from a file of `tables` at the first use.
//!
//! A code is the number that a character's bytes are, the first one highest. ASCII is itself in every encoding, and in no file. A
//! line of a file gives a code in hexadecimal digits and the characters of the codes from there on:
//!
//! ```text
//! [EUC_KR]
//! A1A1 {3000}、。·‥
//! ```
//!
//! What does not show is written by its number in braces. A mark behind the code tells lines that are not pairs of one code and one
//! character: `<` the code is read as the character, which is written by another code or none; `>` the opposite; `+` a code of two
//! characters; `=` as many codes of four bytes as the last number says, for characters in sequence.

use super::Encoding;
use std::sync::OnceLock;

/// Conversions between codes and characters.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Characters by code.
    characters: Pages,
    /// Codes by character.
    codes: Pages,
    /// Codes of two characters.
    pairs: Vec<(char, char, u32)>,
    /// Sequences of GB18030: the first code's place, the first character, and their number.
    sequences: Vec<(u32, u32, u32)>,
}

/// Marks the characters of a code that stands for a pair: the rest is the pair's place.
const PAIR: u32 = 1 << 31;

impl Encoding {
    /// Its table. UTF-8 and MULE_INTERNAL have an empty one.
    pub(super) fn table(self) -> &'static Table {
        static TABLES: [OnceLock<Table>; 42] = [const { OnceLock::new() }; 42];
        TABLES[usize::from(self as u8)].get_or_init(|| Table::read(self.name(), self.file()))
    }

    fn file(self) -> &'static str {
        match self {
            Encoding::SqlAscii | Encoding::Utf8 | Encoding::MuleInternal => "",
            Encoding::EucJp => include_str!("tables/euc_jp.txt"),
            Encoding::EucCn => include_str!("tables/euc_cn.txt"),
            Encoding::EucKr => include_str!("tables/euc_kr.txt"),
            Encoding::EucTw => include_str!("tables/euc_tw.txt"),
            Encoding::EucJis2004 => include_str!("tables/euc_jis_2004.txt"),
            Encoding::Sjis => include_str!("tables/sjis.txt"),
            Encoding::Big5 => include_str!("tables/big5.txt"),
            Encoding::Gbk => include_str!("tables/gbk.txt"),
            Encoding::Uhc => include_str!("tables/uhc.txt"),
            Encoding::Gb18030 => include_str!("tables/gb18030.txt"),
            Encoding::Johab => include_str!("tables/johab.txt"),
            Encoding::ShiftJis2004 => include_str!("tables/shift_jis_2004.txt"),
            _ => include_str!("tables/single.txt"),
        }
    }
}

impl Table {
    /// The character of a code, or its two.
    pub(super) fn characters(&self, code: u32) -> Option<(char, Option<char>)> {
        match self.characters.get(code) {
            0 => self.in_sequence(code).map(|character| (character, None)),
            pair @ PAIR.. => {
                let (first, second, _) = self.pairs[(pair & !PAIR) as usize];
                Some((first, Some(second)))
            }
            character => char::from_u32(character).map(|character| (character, None)),
        }
    }

    /// The code of the first character of `text`, or of the first two; with the bytes of UTF-8 that it stands for.
    pub(super) fn code(&self, text: &str) -> Option<(u32, usize)> {
        let mut characters = text.chars();
        let first = characters.next()?;
        if !self.pairs.is_empty()
            && let Some(second) = characters.next()
            && let Some((_, _, code)) = self.pairs.iter().find(|pair| (pair.0, pair.1) == (first, second))
        {
            return Some((*code, first.len_utf8() + second.len_utf8()));
        }
        let code = match self.codes.get(u32::from(first)) {
            0 => self.sequence_code(first)?,
            code => code,
        };
        Some((code, first.len_utf8()))
    }

    fn in_sequence(&self, code: u32) -> Option<char> {
        let place = place(code)?;
        let after = self.sequences.partition_point(|(first, ..)| *first <= place);
        let (first, character, count) = self.sequences[after.checked_sub(1)?];
        (place - first < count).then(|| char::from_u32(character + place - first)).flatten()
    }

    fn sequence_code(&self, character: char) -> Option<u32> {
        let number = u32::from(character);
        let holds = |(_, first, count): &&(u32, u32, u32)| number.wrapping_sub(*first) < *count;
        let (place, first, _) = self.sequences.iter().find(holds)?;
        Some(code_at(place + number - first))
    }

    /// Reads the section `[name]` of a file. Files are part of the program: a line that is not of the form ends the section's
    /// conversion of that line, and the tests compare every character.
    fn read(name: &str, file: &str) -> Table {
        let mut table = Table::default();
        let begins = |line: &&str| line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) == Some(name);
        let section = file.lines().skip_while(|line| !begins(line)).skip(1);
        for line in section.take_while(|line| !line.starts_with('[')) {
            if let Some((head, characters)) = line.split_once(' ') {
                let code = head.trim_end_matches(['<', '>', '+', '=']);
                if let Ok(number) = u32::from_str_radix(code, 16) {
                    table.read_line(number, &head[code.len()..], characters);
                }
            }
        }
        table
    }

    fn read_line(&mut self, code: u32, mark: &str, characters: &str) {
        let mut shown = characters_of(characters);
        match (mark, shown.as_slice()) {
            ("+", [first, second]) => {
                self.characters.set(code, PAIR | self.pairs.len() as u32);
                self.pairs.push((*first, *second, code));
            }
            ("=", [first, last]) => {
                if let Some(place) = place(code) {
                    self.sequences.push((place, u32::from(*first), u32::from(*last) - u32::from(*first) + 1));
                }
            }
            _ => {
                for (code, character) in (code..).zip(shown.drain(..)) {
                    if mark != ">" {
                        self.characters.set(code, u32::from(character));
                    }
                    if mark != "<" {
                        self.codes.set(u32::from(character), code);
                    }
                }
            }
        }
    }
}

/// The characters of a line: themselves, or their numbers in braces.
fn characters_of(text: &str) -> Vec<char> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        match rest.split_once('}').filter(|_| first == '{') {
            Some((number, after)) => {
                found.extend(u32::from_str_radix(number, 16).ok().and_then(char::from_u32));
                rest = after;
            }
            None => found.push(first),
        }
    }
    found
}

/// The place of a code of four bytes among all of GB18030: bytes 1 and 3 have 126 values each, bytes 2 and 4 are digits.
fn place(code: u32) -> Option<u32> {
    let [a, b, c, d] = code.to_be_bytes().map(u32::from);
    let (a, b, c, d) = (a.checked_sub(0x81)?, b.checked_sub(0x30)?, c.checked_sub(0x81)?, d.checked_sub(0x30)?);
    Some(((a * 10 + b) * 126 + c) * 10 + d)
}

/// The opposite of [`place`].
fn code_at(place: u32) -> u32 {
    let (rest, d) = (place / 10, place % 10);
    let (rest, c) = (rest / 126, rest % 126);
    u32::from_be_bytes([rest / 10 + 0x81, rest % 10 + 0x30, c + 0x81, d + 0x30].map(|byte| byte as u8))
}

/// Maps numbers to numbers other than zero, by pages of 256.
#[derive(Debug, Default)]
struct Pages {
    /// Number of the first entry of each page, divided by 256, and the page's place; ascending by number.
    places: Vec<(u32, usize)>,
    pages: Vec<[u32; 256]>,
}

impl Pages {
    /// The number at a place; 0: none.
    fn get(&self, at: u32) -> u32 {
        match self.find(at) {
            Ok(found) => self.pages[self.places[found].1][(at & 0xff) as usize],
            Err(_) => 0,
        }
    }

    fn set(&mut self, at: u32, value: u32) {
        let found = self.find(at).unwrap_or_else(|before| {
            self.places.insert(before, (at >> 8, self.pages.len()));
            self.pages.push([0; 256]);
            before
        });
        self.pages[self.places[found].1][(at & 0xff) as usize] = value;
    }

    fn find(&self, at: u32) -> Result<usize, usize> {
        self.places.binary_search_by_key(&(at >> 8), |(number, _)| *number)
    }
}
