//! Names and places.

use std::fmt;

/// A place in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// Line, from 1. 0: the place is not known.
    pub line: u32,
    /// Character of the line, from 1.
    pub column: u32,
}

/// From where to where a node stands in the text. Two spans are always equal: where an expression is written does not change
/// what it says, and `=` on trees compares what they say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// Its first character.
    pub start: Location,
    /// The character after its last.
    pub end: Location,
}

impl Span {
    /// The span of something whose place is not known.
    pub const NOWHERE: Span = Span { start: Location { line: 0, column: 0 }, end: Location { line: 0, column: 0 } };

    /// Returns the smallest span around both.
    pub fn union(self, other: Span) -> Span {
        match (self.start.line, other.start.line) {
            (0, _) => other,
            (_, 0) => self,
            _ => Span { start: self.start.min(other.start), end: self.end.max(other.end) },
        }
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

/// A name of one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// Its text without quotes, as it is written.
    pub value: String,
    /// Whether it is in quotes: otherwise its case means nothing.
    pub quoted: bool,
    /// Its place.
    pub span: Span,
}

impl Ident {
    /// A name without quotes.
    pub fn new(value: impl Into<String>) -> Ident {
        Ident { value: value.into(), quoted: false, span: Span::NOWHERE }
    }

    /// A name in quotes.
    pub fn quoted(value: impl Into<String>) -> Ident {
        Ident { value: value.into(), quoted: true, span: Span::NOWHERE }
    }

    /// Returns whether it is this word, in any case and without quotes.
    pub fn is_word(&self, word: &str) -> bool {
        !self.quoted && self.value.eq_ignore_ascii_case(word)
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quoted { write!(f, "\"{}\"", self.value.replace('"', "\"\"")) } else { f.write_str(&self.value) }
    }
}

/// A name of words with dots between them: `schema.table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName(pub Vec<Ident>);

impl ObjectName {
    /// Returns where it stands.
    pub fn span(&self) -> Span {
        self.0.iter().fold(Span::NOWHERE, |span, part| span.union(part.span))
    }
}

impl From<Vec<Ident>> for ObjectName {
    fn from(parts: Vec<Ident>) -> ObjectName {
        ObjectName(parts)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::print::separated(f, &self.0, ".")
    }
}
