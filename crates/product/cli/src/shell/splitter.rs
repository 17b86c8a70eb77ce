//! Splits lines into statements, at semicolons that stand in no quotes, comments or parentheses, and commands of the shell.

/// Text between two terminators.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement with its semicolon.
    Statement(String),
    /// A command of the shell, without its backslash. One within a statement leaves the statement as it is.
    Backslash(String),
}

/// Command of a line that psql understands without a backslash: `help`, `quit` or `exit` alone.
pub fn bare_command(line: &str) -> Option<&'static str> {
    let word = line.trim().trim_end_matches(';').trim_end();
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    if is("help") {
        return Some("?");
    }
    (is("quit") || is("exit")).then_some("q")
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

    /// Returns whether quotes or a comment are open, in which a backslash is text.
    pub fn is_quoted(&self) -> bool {
        self.inside != Inside::Nothing
    }

    /// The next piece that is complete.
    pub fn next(&mut self) -> Option<Piece> {
        if let Some(command) = self.bare_line() {
            return Some(Piece::Backslash(command.to_owned()));
        }
        while let Some(c) = self.text[self.at..].chars().next() {
            let here = self.at;
            // No token of SQL has a backslash.
            if c == '\\' && self.inside == Inside::Nothing {
                return self.backslash(here);
            }
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

    /// Takes a bare command at the beginning of a statement, where its word would be an error of SQL.
    fn bare_line(&mut self) -> Option<&'static str> {
        if self.is_quoted() || !self.text[..self.at].trim().is_empty() {
            return None;
        }
        let begun = self.text.trim_start();
        let (line, rest) = begun.split_once('\n')?;
        let command = bare_command(line)?;
        *self = Splitter { text: rest.to_owned(), ..Splitter::default() };
        Some(command)
    }

    /// Takes out a command that begins here, up to the end of its line.
    fn backslash(&mut self, here: usize) -> Option<Piece> {
        let end = here + self.text[here..].find('\n')?;
        let command = self.text[here + 1..end].trim().to_owned();
        self.text.replace_range(here..end, "");
        Some(Piece::Backslash(command))
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

    #[test]
    fn commands_stand_anywhere_but_in_quotes() {
        assert_eq!(split("select (1\n\\dt\n);\n"), ["\\dt", "select (1\n\n);"]);
        assert_eq!(split("select 1 \\q\n"), ["\\q", "rest select 1"]);
        assert_eq!(split("select 1; \\x on\nselect 2;\n"), ["select 1;", "\\x on", "select 2;"]);
        assert_eq!(split("select '\n\\q\n', /*\n\\q\n*/ $$\\q\n$$;\n").len(), 1);
    }

    #[test]
    fn psqls_words_are_commands_where_a_statement_begins() {
        assert_eq!(split("help\n HELP ; \nquit;\nexit\n"), ["\\?", "\\?", "\\q", "\\q"]);
        assert_eq!(split("select 1;\nexit\n"), ["select 1;", "\\q"]);
        assert_eq!(split("select 1 as\nexit\n;\n"), ["select 1 as\nexit\n;"], "a column's name");
        assert_eq!(split("helpful;\n"), ["helpful;"]);
    }
}
