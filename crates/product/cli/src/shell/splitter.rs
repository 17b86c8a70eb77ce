//! Splits lines into statements, at semicolons that stand in no quotes, comments or parentheses.

/// Text between two terminators.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement with its semicolon.
    Statement(String),
    /// A command of the shell, without its backslash.
    Backslash(String),
}

/// Lexical context at the current position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Inside {
    /// Plain text.
    #[default]
    Nothing,
    /// `'...'`; whether backslashes escape (`E'...'`).
    Quote(bool),
    /// `"..."`
    Name,
    /// `$tag$...$tag$`
    Dollar(String),
    /// `/* ... */`, so deep.
    Comment(u32),
}

/// Takes lines, gives pieces.
#[derive(Debug, Default)]
pub struct Splitter {
    text: String,
    /// Number of bytes of `text` already scanned.
    at: usize,
    inside: Inside,
    parentheses: u32,
}

impl Splitter {
    /// Adds a line, with its newline.
    pub fn feed(&mut self, line: &str) {
        self.text.push_str(line);
    }

    /// Returns whether no statement has begun.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns the rest of the text at the end of the input.
    pub fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(self).text;
        if rest.trim().is_empty() { None } else { Some(rest) }
    }

    /// The next piece that is complete.
    pub fn next(&mut self) -> Option<Piece> {
        if self.inside == Inside::Nothing && self.text[..self.at].trim().is_empty() {
            let begun = self.text.trim_start();
            if let Some(command) = begun.strip_prefix('\\') {
                let end = command.find('\n')?;
                let piece = Piece::Backslash(command[..end].trim().to_owned());
                let rest = command[end + 1..].to_owned();
                *self = Splitter { text: rest, ..Splitter::default() };
                return Some(piece);
            }
        }
        while let Some(c) = self.text[self.at..].chars().next() {
            let here = self.at;
            self.at += c.len_utf8();
            if self.step(here, c) {
                let rest = self.text.split_off(self.at);
                let statement = std::mem::replace(&mut self.text, rest);
                (self.at, self.parentheses) = (0, 0);
                return Some(Piece::Statement(statement));
            }
        }
        None
    }

    /// Takes one character; whether it ends a statement.
    fn step(&mut self, here: usize, c: char) -> bool {
        let follows = |what: &str| self.text[here..].starts_with(what);
        match &self.inside {
            Inside::Nothing => match c {
                ';' if self.parentheses == 0 => return true,
                '(' => self.parentheses += 1,
                ')' => self.parentheses = self.parentheses.saturating_sub(1),
                '\'' => self.inside = Inside::Quote(is_escape_prefix(&self.text[..here])),
                '"' => self.inside = Inside::Name,
                '-' if follows("--") => {
                    self.at = self.text[here..].find('\n').map_or(self.text.len(), |end| here + end);
                }
                '/' if follows("/*") => {
                    self.inside = Inside::Comment(1);
                    self.at += 1;
                }
                '$' => {
                    if let Some(tag) = dollar_tag(&self.text[here..]) {
                        self.at = here + tag.len();
                        self.inside = Inside::Dollar(tag);
                    }
                }
                _ => {}
            },
            Inside::Quote(escapes) => match c {
                '\\' if *escapes => self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8),
                '\'' => self.inside = Inside::Nothing,
                _ => {}
            },
            Inside::Name if c == '"' => self.inside = Inside::Nothing,
            Inside::Name => {}
            Inside::Dollar(tag) => {
                if follows(tag) {
                    self.at = here + tag.len();
                    self.inside = Inside::Nothing;
                }
            }
            Inside::Comment(depth) => {
                let depth = *depth;
                if follows("/*") {
                    self.inside = Inside::Comment(depth + 1);
                    self.at += 1;
                } else if follows("*/") {
                    self.inside = if depth > 1 { Inside::Comment(depth - 1) } else { Inside::Nothing };
                    self.at += 1;
                }
            }
        }
        false
    }
}

/// Returns whether the text ends with the E of `E'...'`.
fn is_escape_prefix(before: &str) -> bool {
    let mut last = before.chars().rev();
    matches!(last.next(), Some('e' | 'E')) && !last.next().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// `$tag$` at the beginning of the text.
fn dollar_tag(text: &str) -> Option<String> {
    let end = text[1..].find('$')? + 1;
    let tag = &text[1..end];
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_') && !tag.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| text[..=end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut splitter = Splitter::default();
        let mut pieces = Vec::new();
        for line in text.split_inclusive('\n') {
            splitter.feed(line);
            while let Some(piece) = splitter.next() {
                pieces.push(match piece {
                    Piece::Statement(text) => text.trim().to_owned(),
                    Piece::Backslash(command) => format!("\\{command}"),
                });
            }
        }
        pieces.extend(splitter.rest().map(|rest| format!("rest {}", rest.trim())));
        pieces
    }

    #[test]
    fn semicolons_end_statements_only_outside_of_everything() {
        assert_eq!(split("a; b;\n"), ["a;", "b;"]);
        assert_eq!(split("select ';' , \"x;y\" -- no; end\n, $$;$$, $t$ ; $$ ; $t$ /* ; /* ; */ ; */;\n").len(), 1);
        assert_eq!(split("select E'\\';' ;select 'it''s;';"), ["select E'\\';' ;", "select 'it''s;';"]);
        assert_eq!(split("create rule (a; b); c;"), ["create rule (a; b);", "c;"]);
        assert_eq!(split("select $1; select 2"), ["select $1;", "rest select 2"]);
        assert_eq!(split("\\dt\nselect 1;\n\\q\n"), ["\\dt", "select 1;", "\\q"]);
        assert_eq!(split("insert into t values ('a\n;b');\n"), ["insert into t values ('a\n;b');"]);
    }
}
