//! PostgreSQL's advanced regular expressions, as far as they are regular: translated for the `regex` crate.
//!
//! Deviation: lookaround and back-references are refused. The `regex` crate finds in linear time, whatever the pattern, where
//! a match begins; [`Tree`] finds what PostgreSQL takes of it.

use super::super::arguments::invalid;
use super::super::table::*;
use super::preference::{Tree, is_determined};
use super::search::Pattern;
use ::regex::RegexBuilder;
use regex_syntax::ast::ErrorKind;
use regex_syntax::ast::parse::{Parser, ParserBuilder};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The bytes that one compiled pattern may take.
pub(super) const COMPILED_BYTES: usize = 4 << 20;
/// The greatest number in a bound (PostgreSQL's `DUPMAX`).
const MOST_TIMES: u64 = 255;
/// Number of compiled patterns kept per thread.
const KEPT: usize = 128;

/// Matching options of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Options {
    /// `i`: letters match in both cases.
    pub(super) caseless: bool,
    /// `n` or `p`: `.` and negated brackets do not match a newline.
    pub(super) dot_stops: bool,
    /// `n` or `w`: `^` and `$` match at lines.
    pub(super) lines: bool,
    /// `x`: white space and comments do not count.
    pub(super) extended: bool,
    /// `q`: the pattern is plain text.
    pub(super) literal: bool,
    /// `g`: all matches, not the first.
    pub(super) global: bool,
}

impl Options {
    /// Reads the letters of a flags argument.
    pub(super) fn parse(flags: &str) -> Result<Options> {
        let mut options = Options::default();
        for flag in flags.chars() {
            match flag {
                'g' => options.global = true,
                'i' => options.caseless = true,
                'c' => options.caseless = false,
                'm' | 'n' => (options.dot_stops, options.lines) = (true, true),
                'p' => (options.dot_stops, options.lines) = (true, false),
                'w' => (options.dot_stops, options.lines) = (false, true),
                's' => (options.dot_stops, options.lines) = (false, false),
                'x' => options.extended = true,
                't' => options.extended = false,
                'q' => options.literal = true,
                'b' | 'e' => {}
                _ => return Err(invalid(format!("invalid regular expression option: \"{flag}\""))),
            }
        }
        Ok(options)
    }
}

thread_local! {
    static COMPILED: RefCell<HashMap<(String, Options), Rc<Pattern>>> = RefCell::default();
}

/// The pattern, compiled now or before on this thread.
pub(super) fn compiled(pattern: &str, options: Options) -> Result<Rc<Pattern>> {
    let key = (pattern.to_owned(), Options { global: false, ..options });
    if let Some(regex) = COMPILED.with_borrow(|compiled| compiled.get(&key).cloned()) {
        return Ok(regex);
    }
    let regex = Rc::new(compile(pattern, key.1)?);
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.len() >= KEPT {
            compiled.clear();
        }
        compiled.insert(key, regex.clone());
    });
    Ok(regex)
}

fn compile(pattern: &str, mut options: Options) -> Result<Pattern> {
    let mut pattern = pattern;
    if let Some(literal) = pattern.strip_prefix("***=") {
        (pattern, options.literal) = (literal, true);
    } else {
        pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    }
    if let Some((letters, rest)) = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'))
        && !letters.is_empty()
        && letters.chars().all(|c| c.is_ascii_alphabetic())
    {
        let embedded = Options::parse(letters).map_err(|_| malformed("invalid embedded option"))?;
        options.caseless |= embedded.caseless;
        options.extended |= embedded.extended;
        options.literal |= embedded.literal;
        (options.dot_stops, options.lines) = (embedded.dot_stops, embedded.lines);
        pattern = rest;
    }
    let translated = match options {
        Options { literal: true, .. } => ::regex::escape(pattern),
        _ => translate(pattern)?,
    };
    let regex = RegexBuilder::new(&translated)
        .case_insensitive(options.caseless)
        .dot_matches_new_line(!options.dot_stops)
        .multi_line(options.lines)
        .ignore_whitespace(options.extended)
        .size_limit(COMPILED_BYTES)
        .build()
        .map_err(|error| refusal(&translated, &error))?;
    let ast = ParserBuilder::new().ignore_whitespace(options.extended).build().parse(&translated);
    let ast = ast.map_err(|_| malformed("syntax error"))?;
    let tree = (!is_determined(&ast)).then(|| Tree::new(&translated, &ast, options));
    Ok(Pattern::new(regex, translated, options, tree))
}

fn malformed(what: &str) -> Error {
    Error::new(state::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

/// 2201B for a pattern whose automaton would be too large.
pub(super) fn too_complex() -> Error {
    malformed("regular expression is too complex")
}

/// The error in PostgreSQL's words.
fn refusal(pattern: &str, error: &::regex::Error) -> Error {
    if matches!(error, ::regex::Error::CompiledTooBig(_)) {
        return too_complex();
    }
    match Parser::new().parse(pattern) {
        Err(error) => malformed(match error.kind() {
            ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened => "parentheses () not balanced",
            ErrorKind::ClassUnclosed => "brackets [] not balanced",
            ErrorKind::ClassRangeInvalid | ErrorKind::ClassRangeLiteral => "invalid character range",
            ErrorKind::RepetitionMissing => "quantifier operand invalid",
            ErrorKind::RepetitionCountInvalid | ErrorKind::RepetitionCountDecimalEmpty | ErrorKind::DecimalInvalid => {
                "invalid repetition count(s)"
            }
            ErrorKind::RepetitionCountUnclosed => "braces {} not balanced",
            ErrorKind::EscapeUnrecognized | ErrorKind::EscapeUnexpectedEof | ErrorKind::ClassEscapeInvalid => {
                "invalid escape \\ sequence"
            }
            ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference => {
                return Error::unsupported("a regular expression with lookaround or back-references")
                    .hint("Match without it, and compare the parts in the query.");
            }
            _ => "syntax error",
        }),
        Ok(_) => malformed("invalid character class"),
    }
}

/// Rewrites what the two syntaxes write differently.
fn translate(pattern: &str) -> Result<String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    let mut quantified = false;
    while let Some(c) = rest.next() {
        let is_bound = c == '{' && rest.peek().is_some_and(char::is_ascii_digit);
        let is_quantifier = is_bound || matches!(c, '*' | '+' | '?');
        if is_quantifier && quantified {
            return Err(malformed("quantifier operand invalid"));
        }
        match c {
            '\\' => push_escape(&mut out, rest.next().ok_or_else(|| malformed("invalid escape \\ sequence"))?),
            '[' => push_bracket(&mut out, &mut rest)?,
            '(' => {
                out.push(c);
                // `(?:` and its kin: the question mark is no quantifier.
                if let Some(mark) = rest.next_if_eq(&'?') {
                    out.push(mark);
                    if !matches!(rest.peek(), Some(':' | '=' | '!' | '<')) {
                        return Err(malformed("quantifier operand invalid"));
                    }
                }
            }
            '{' if is_bound => push_bound(&mut out, &mut rest)?,
            // Only a number makes a bound.
            '{' => out.push_str("\\{"),
            _ => out.push(c),
        }
        if is_quantifier {
            // The one that does not greed.
            out.extend(rest.next_if_eq(&'?'));
        }
        quantified = is_quantifier;
    }
    Ok(out)
}

/// `{m}`, `{m,}` or `{m,n}`, of which the brace has been read.
fn push_bound(out: &mut String, rest: &mut Rest<'_>) -> Result<()> {
    let bound: String = std::iter::from_fn(|| rest.next_if(|c| *c != '}')).collect();
    let is_too_large = |number: &str| number.parse::<u64>().map_or(!number.is_empty(), |number| number > MOST_TIMES);
    if rest.next().is_none() {
        return Err(malformed("braces {} not balanced"));
    }
    if bound.split(',').any(is_too_large) {
        return Err(malformed("invalid repetition count(s)"));
    }
    out.push('{');
    out.push_str(&bound);
    out.push('}');
    Ok(())
}

fn push_escape(out: &mut String, escaped: char) {
    match escaped {
        'm' => out.push_str("\\b{start}"),
        'M' => out.push_str("\\b{end}"),
        'y' => out.push_str("\\b"),
        'Y' => out.push_str("\\B"),
        'Z' => out.push_str("\\z"),
        'B' => out.push_str("\\\\"),
        'e' => out.push_str("\\x1b"),
        'b' => out.push_str("\\x08"),
        '0' => out.push_str("\\x00"),
        'A' | 'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' | 'u' | 'U' | 'x' | '1'..='9' => {
            out.push('\\');
            out.push(escaped);
        }
        c if c.is_ascii_alphanumeric() => {
            out.push('\\');
            out.push(c);
        }
        c => out.push_str(&::regex::escape(c.encode_utf8(&mut [0; 4]))),
    }
}

type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// A bracket expression: `[` is plain inside, and nothing but `-`, `^`, `]` and classes is special.
fn push_bracket(out: &mut String, rest: &mut Rest<'_>) -> Result<()> {
    let ahead: String = rest.clone().take(6).collect();
    for (word, boundary) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
        if ahead == word {
            out.push_str(boundary);
            rest.nth(5);
            return Ok(());
        }
    }
    out.push('[');
    if rest.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut first = true;
    loop {
        let c = rest.next().ok_or_else(|| malformed("brackets [] not balanced"))?;
        match c {
            ']' if !first => break,
            '\\' => push_escape(out, rest.next().ok_or_else(|| malformed("brackets [] not balanced"))?),
            '[' if matches!(rest.peek(), Some(':' | '.' | '=')) => push_class(out, rest)?,
            '[' | ']' | '&' | '~' | '^' => {
                out.push('\\');
                out.push(c);
            }
            // At an end it is itself; two would be a difference of sets.
            '-' if first || rest.peek() == Some(&']') => out.push_str("\\-"),
            _ => out.push(c),
        }
        first = false;
    }
    out.push(']');
    Ok(())
}

/// `[:alpha:]`, `[.a.]`, `[=a=]` inside brackets.
fn push_class(out: &mut String, rest: &mut Rest<'_>) -> Result<()> {
    let kind = rest.next().unwrap_or(':');
    let mut name = String::new();
    loop {
        let c = rest.next().ok_or_else(|| malformed("brackets [] not balanced"))?;
        if c == kind && rest.next_if_eq(&']').is_some() {
            break;
        }
        name.push(c);
    }
    match (kind, name.as_str()) {
        (':', "alpha") => out.push_str("\\p{Alphabetic}"),
        (':', "upper") => out.push_str("\\p{Uppercase}"),
        (':', "lower") => out.push_str("\\p{Lowercase}"),
        (':', "digit") => out.push_str("0-9"),
        (':', "alnum") => out.push_str("\\p{Alphabetic}\\d"),
        (':', "space") => out.push_str("\\s"),
        (':', "punct" | "blank" | "cntrl" | "graph" | "print" | "xdigit" | "word" | "ascii") => {
            out.push_str(&format!("[:{name}:]"));
        }
        (':', _) => return Err(malformed("invalid character class")),
        (_, name) if name.chars().count() == 1 => out.push_str(&::regex::escape(name)),
        _ => return Err(malformed("invalid collating element")),
    }
    Ok(())
}
