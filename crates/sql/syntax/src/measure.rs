//! How much memory the parsing of a text takes, found without parsing it.

/// Bytes that a token takes while its statement is parsed, in lists of tokens and in trees: most where these clauses begin, as
/// measured with long lists in each. A relation of FROM takes much more than a value of a row.
const BEGIN_CLAUSES: [(&str, usize); 9] = [
    ("VALUES", 400),
    ("IN", 700),
    ("ARRAY", 700),
    ("SELECT", 2150),
    ("FROM", 2150),
    ("ORDER", 2150),
    ("GROUP", 2150),
    ("JOIN", 2150),
    ("WITH", 2150),
];
/// Where none of them has begun.
const ELSEWHERE: usize = 700;
/// Of a space or a comment, which no tree has.
const SPACE: usize = 100;
/// Copies of a word or a string in tokens and trees.
const COPIES: usize = 3;

/// Bytes that [`crate::statements`] takes for a text, about: less than twice as many where that is exceeded.
pub fn parsing_bytes(text: &str) -> usize {
    let (mut bytes, mut each) = (text.len(), ELSEWHERE);
    each_token(text, |token| {
        let begun = BEGIN_CLAUSES.iter().find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(token));
        each = begun.map_or(each, |(_, each)| *each);
        bytes = bytes.saturating_add(match token {
            [b'-', b'-', ..] | [b'/', b'*', ..] => SPACE + token.len(),
            [first, ..] if first.is_ascii_whitespace() => SPACE + token.len(),
            _ => each + COPIES * token.len(),
        });
    });
    bytes
}

/// A number of tokens that a text does not exceed.
pub(crate) fn tokens_at_most(text: &str) -> usize {
    let mut tokens = 0;
    each_token(text, |_| tokens += 1);
    tokens
}

/// Shows tokens of a text, at least as many as it has. Strings, quoted names and comments are read as the tokenizer reads them. From
/// the first place on where that is not certain, each of their words and signs is shown.
fn each_token(text: &str, mut see: impl FnMut(&[u8])) {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    while scan.at < scan.bytes.len() {
        let start = scan.at;
        if !scan.pass() {
            return words_and_signs(&scan.bytes[start..]).for_each(see);
        }
        // A quote without its end, or an escape there.
        scan.at = scan.at.min(scan.bytes.len());
        see(&scan.bytes[start..scan.at]);
    }
}

/// The most tokens that there may be, whatever the bytes before were: none ends within letters or within digits.
fn words_and_signs(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let kind = |byte: &u8| (is_letter(*byte), byte.is_ascii_digit());
    bytes.chunk_by(move |left, right| kind(left) == kind(right) && kind(left) != (false, false))
}

/// Letters of names: all of Unicode's are.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

fn is_of_name(byte: u8) -> bool {
    is_letter(byte) || byte.is_ascii_digit() || byte == b'$'
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    /// Passes over what is at most one token; `false` if where that ends is not certain.
    fn pass(&mut self) -> bool {
        match (self.bytes[self.at], self.next(1)) {
            (quote @ (b'\'' | b'"'), _) => self.pass_quoted(quote, false),
            (b'-', Some(b'-')) => return self.begins_sign() && self.pass_line(),
            (b'/', Some(b'*')) => return self.begins_sign() && self.pass_comment(),
            (b'$', _) => return self.pass_parameter(),
            (b'0'..=b'9', _) => return self.pass_number(),
            (b'e' | b'E' | b'x' | b'X', Some(b'\'')) => {
                self.at += 1;
                self.pass_quoted(b'\'', true);
            }
            (byte, _) if is_letter(byte) => self.pass_while(is_of_name),
            _ => self.at += 1,
        }
        true
    }

    fn next(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn pass_while(&mut self, belongs: impl Fn(u8) -> bool) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len());
    }

    /// Behind the sign of an operator, `--` and `/*` may belong to it.
    fn begins_sign(&self) -> bool {
        self.at == 0 || !b"+-*/<>=~!@#%^&|`?".contains(&self.bytes[self.at - 1])
    }

    /// A doubled quote is part of it, or begins the next: that is the same.
    fn pass_quoted(&mut self, quote: u8, has_escapes: bool) {
        self.at += 1;
        while let Some(byte) = self.next(0) {
            self.at += 1;
            match byte {
                b'\\' if has_escapes => self.at += 1,
                _ if byte == quote && self.next(0) == Some(quote) => self.at += 1,
                _ if byte == quote => return,
                _ => {}
            }
        }
    }

    fn pass_line(&mut self) -> bool {
        self.pass_while(|byte| byte != b'\n' && byte != b'\r');
        true
    }

    fn pass_comment(&mut self) -> bool {
        let mut open = 0;
        while let Some(byte) = self.next(0) {
            match (byte, self.next(1)) {
                (b'/', Some(b'*')) => (open, self.at) = (open + 1, self.at + 2),
                (b'*', Some(b'/')) => (open, self.at) = (open - 1, self.at + 2),
                _ => self.at += 1,
            }
            if open == 0 {
                break;
            }
        }
        true
    }

    /// `$1`. A string in dollars is not followed.
    fn pass_parameter(&mut self) -> bool {
        let digits = self.bytes[self.at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_parameter = digits > 0 && !self.next(1 + digits).is_some_and(is_of_name);
        if is_parameter {
            self.at += 1 + digits;
        }
        is_parameter
    }

    /// Digits, perhaps with an exponent. What else there may be behind them is not followed.
    fn pass_number(&mut self) -> bool {
        let start = self.at;
        self.pass_while(|byte| byte.is_ascii_digit());
        if matches!(self.next(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.next(1), Some(b'+' | b'-')));
            if self.next(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
                self.at += 1 + sign;
                self.pass_while(|byte| byte.is_ascii_digit());
            }
        }
        let ends = !self.next(0).is_some_and(is_of_name);
        if !ends {
            self.at = start;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    /// Those before the first error, too.
    fn tokens(text: &str) -> usize {
        let mut tokens = Vec::new();
        let _ = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location_into_buf(&mut tokens);
        tokens.len()
    }

    #[test]
    fn what_statements_consist_of_is_counted_as_it_is() {
        for text in [
            "select a, \"b c\" from t1 where x = 'it''s; here' and y <> $1 -- why 'not'\n or z",
            "/* app='x' /* nested */ */ insert into t values (1, 1e-7, E'a\\'b', 'c\\'), (2, X'1f', '\"')",
            "select 'é''', ä from \"\u{20ac}\"",
        ] {
            let (most, exact) = (tokens_at_most(text), tokens(text));
            assert!((exact..=exact + 2).contains(&most), "{text}: {most} of {exact}");
        }
        let long = format!("select '{}'", "a, b ".repeat(1000));
        assert_eq!(tokens_at_most(&long), 3);
    }

    #[test]
    fn clauses_weigh_what_their_tokens_take() {
        let of = |begin: &str, one: &str| {
            (parsing_bytes(&format!("{begin}{}", one.repeat(1000))) - parsing_bytes(begin)) / 1000
        };
        assert_eq!(of("values ", "(1),"), 4 * 404);
        assert_eq!(of("select x from y where z in (", "1,"), 2 * 704);
        assert_eq!(of("Select ", "1,"), 2 * 2154);
        assert_eq!(of("select", " "), 102);
        assert_eq!(of("select 1 --", "x"), 2);
    }

    /// Pieces that begin, end and look like strings, numbers and comments, in any order.
    #[test]
    fn no_text_has_more_tokens_than_counted() {
        const PIECES: [&str; 40] = [
            "'", "'", "\"", "\\", "e", "E", "x", "X'", "b", "n'", "u&'", "u&\"", "$", "$$", "$a$", "$1", "--", "-",
            "/*", "*/", "/", "*", "\n", "\r", " ", "1", "0", "0x", "L", "_", ".", "e5", "e-", "1e", "<", "@", "#", "é",
            "a,", "\u{a0}",
        ];
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut draw = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        for _ in 0..200_000 {
            let text: String = (0..1 + draw(14)).map(|_| PIECES[draw(PIECES.len())]).collect();
            let (most, exact) = (tokens_at_most(&text), tokens(&text));
            assert!(most >= exact, "{text:?}: {most} of {exact}");
        }
    }
}
