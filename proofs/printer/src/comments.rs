//! The comments of the Coq sources, which become the documentation of what is printed.
//!
//! Coq's extraction drops them, so the sources are read for them: the comment directly above a definition, the one at the
//! end of a constructor's or a field's line, the names of a constructor's arguments, and the headings (`(* --- ... --- *)`).
//! Nothing but text for readers comes from here.

use std::collections::BTreeMap;

/// The comments of all sources, by the names of Coq.
#[derive(Debug, Default)]
pub struct Comments {
    /// Above a definition, or behind a constructor or a field.
    pub texts: BTreeMap<String, String>,
    /// The names of a constructor's arguments.
    pub arguments: BTreeMap<String, Vec<String>>,
    /// The heading above a definition, if it is the first under it.
    pub headings: BTreeMap<String, String>,
}

const DEFINITIONS: &[&str] = &["Definition", "Record", "Inductive", "Parameter"];

impl Comments {
    /// Adds those of one source.
    pub fn read(&mut self, source: &str) {
        let (mut above, mut heading, mut in_type) = (None, None, false);
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            let trimmed = line.trim();
            if trimmed.is_empty() {
                above = None;
            } else if line.starts_with("(*") {
                let text = comment(line, &mut lines);
                match text.strip_prefix("---") {
                    Some(title) => heading = Some(title.trim_end_matches('-').trim().to_owned()),
                    None => above = Some(text),
                }
            } else if let Some(name) = defined(line) {
                self.headings.extend(heading.take().map(|title| (name.to_owned(), title)));
                self.texts.extend(above.take().map(|text| (name.to_owned(), text)));
                in_type = (line.starts_with("Record") || line.starts_with("Inductive")) && !code(line).ends_with('.');
            } else if in_type {
                self.part(trimmed);
                in_type = !code(trimmed).ends_with('.');
            }
        }
    }

    /// A line of a constructor or a field.
    fn part(&mut self, line: &str) {
        let text = line.split_once("(*").and_then(|(_, rest)| rest.strip_suffix("*)")).map(str::trim);
        let code = code(line);
        let name = match code.strip_prefix('|') {
            Some(constructor) => {
                self.constructor(constructor);
                first_word(constructor)
            }
            None => code.split_once(':').map_or("", |(name, _)| name.trim()),
        };
        if let Some(text) = text.filter(|_| is_name(name)) {
            self.texts.insert(name.to_owned(), text.to_owned());
        }
    }

    /// `Prepare (b : ballot) (first last : instance)` has the arguments b, first and last.
    fn constructor(&mut self, code: &str) {
        let name = first_word(code);
        if is_name(name) && name.starts_with(char::is_uppercase) {
            let groups = code.split('(').skip(1).filter_map(|group| group.split_once(':'));
            let arguments = groups.flat_map(|(names, _)| names.split_whitespace()).map(str::to_owned).collect();
            self.arguments.insert(name.to_owned(), arguments);
        }
    }
}

/// A line without the comment behind it.
fn code(line: &str) -> &str {
    line.split_once("(*").map_or(line, |(code, _)| code).trim()
}

/// The text of a comment that begins at `line`, its lines joined.
fn comment<'s>(line: &'s str, rest: &mut impl Iterator<Item = &'s str>) -> String {
    let mut text = line.trim_start_matches("(*").trim().to_owned();
    while !text.ends_with("*)") {
        let Some(next) = rest.next() else { break };
        text.push(' ');
        text.push_str(next.trim());
    }
    text.trim_end_matches("*)").trim().to_owned()
}

fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let keyword = words.next()?;
    words.next().filter(|name| DEFINITIONS.contains(&keyword) && is_name(name))
}

fn first_word(text: &str) -> &str {
    text.split(|letter: char| letter.is_whitespace() || letter == '.').find(|word| !word.is_empty()).unwrap_or("")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '\'')
}
