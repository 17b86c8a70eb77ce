//! The start-up parameter `options`: settings as arguments of PostgreSQL's command line.

use crate::error::{Result, SqlError, state};

/// Reads `-c name=value` and `--name=value`, separated by white space; a backslash takes the character behind it as it is.
///
/// # Errors
/// 42601 for anything else.
pub(super) fn options(text: &str) -> Result<Vec<(String, String)>> {
    let mut words = split(text).into_iter();
    let mut settings = Vec::new();
    while let Some(word) = words.next() {
        let (flag, setting) = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => ("--", setting.to_owned()),
            (None, Some("")) => ("-c ", words.next().ok_or_else(|| invalid(&word))?),
            (None, Some(setting)) => ("-c ", setting.to_owned()),
            (None, None) => return Err(invalid(&word)),
        };
        let Some((name, value)) = setting.split_once('=') else {
            return Err(SqlError::new(state::SYNTAX_ERROR, format!("{flag}{setting} requires a value")));
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(characters.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

fn invalid(word: &str) -> SqlError {
    SqlError::new(state::SYNTAX_ERROR, format!("invalid command-line argument for server process: {word}"))
        .hint("Give settings as -c name=value or --name=value.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_from_a_command_line() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("-c search_path=a,b", &[("search_path", "a,b")]),
            ("  -csearch_path=a  --statement-timeout=5s", &[("search_path", "a"), ("statement_timeout", "5s")]),
            (r"-c application_name=two\ words\\ ", &[("application_name", r"two words\")]),
            ("-c my.own=", &[("my.own", "")]),
        ];
        for (text, expected) in cases {
            let read = options(text).unwrap();
            let read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(read, *expected, "{text}");
        }
        for (text, message) in [
            ("-c", "invalid command-line argument for server process: -c"),
            ("x", "invalid command-line argument for server process: x"),
            ("-c work_mem", "-c work_mem requires a value"),
            ("--work_mem", "--work_mem requires a value"),
        ] {
            let error = options(text).unwrap_err();
            assert_eq!((error.code(), error.message()), ("42601", message));
        }
    }
}
