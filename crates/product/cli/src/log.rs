//! The server's log: a line for each event, as text or as JSON, to a file or to standard error.
//!
//! Whoever has something to say emits an event of `tracing`; this is its only subscriber. A line that cannot be written is lost: a
//! full disk or a closed pipe does not stop the server.

use crate::failure::{Failure, Outcome};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::{Map, Value as Json};
use std::fmt::{Debug, Write as _};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Where the log goes, and how it looks.
#[derive(Args)]
#[command(next_help_heading = "Log")]
pub struct Log {
    /// File that the log is appended to. Default: standard error.
    #[arg(long = "log", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Format of a line of the log.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
}

/// Format of a line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Time, session, severity, message.
    Text,
    /// One object per line.
    Json,
}

impl Log {
    /// Returns whether standard error has lines of JSON and nothing else.
    pub fn is_json_on_standard_error(&self) -> bool {
        self.file.is_none() && self.log_format == Format::Json
    }

    /// Begins to log.
    pub fn begin(&self) -> Outcome {
        let to = match &self.file {
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path).map_err(Failure::file(path))?;
                Target::File(file)
            }
            None => Target::StandardError,
        };
        let lines = Lines { format: self.log_format, to: Mutex::new(to) };
        // Nobody else sets one, and a second server in the process would log to the first one's.
        let _ = tracing::subscriber::set_global_default(lines);
        Ok(())
    }
}

enum Target {
    File(File),
    StandardError,
}

/// Writes events as lines.
struct Lines {
    format: Format,
    to: Mutex<Target>,
}

impl Lines {
    fn write(&self, line: &str) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        // One call for each line, so that lines of other processes do not come between.
        let _ = match &mut *to {
            Target::File(file) => file.write_all(line.as_bytes()),
            Target::StandardError => std::io::stderr().write_all(line.as_bytes()),
        };
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO && metadata.target() == wire::LOG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1) // There are none.
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = match *event.metadata().level() {
            Level::ERROR => "ERROR",
            Level::WARN => "WARNING",
            _ => "LOG",
        };
        let severity = fields.0.remove("severity").unwrap_or_else(|| level.into());
        let line = match self.format {
            Format::Text => as_text(&severity, &fields.0),
            Format::Json => as_json(severity, fields.0),
        };
        self.write(&line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The fields of an event, without those that are empty.
#[derive(Default)]
struct Fields(Map<String, Json>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Json>) {
        let value = value.into();
        if value.as_str() != Some("") {
            self.0.insert(field.name().to_owned(), value);
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format!("{value:?}"));
    }
}

fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// Names of the fields that say who it is about: they stand before the message.
const WHO: [&str; 4] = ["pid", "user", "database", "application"];

fn as_text(severity: &Json, fields: &Map<String, Json>) -> String {
    let shown = |value: &Json| value.as_str().map_or_else(|| value.to_string(), |text| text.replace('\n', "\n\t"));
    let mut line = now();
    for name in WHO {
        if let Some(value) = fields.get(name) {
            let _ = write!(line, " {name}={}", shown(value));
        }
    }
    let message = fields.get("message").map(shown).unwrap_or_default();
    let _ = write!(line, " {}: {message}", shown(severity));
    for (name, value) in fields.iter().filter(|(name, _)| *name != "message" && !WHO.contains(&name.as_str())) {
        let _ = write!(line, " {name}={}", shown(value));
    }
    line.push('\n');
    line
}

fn as_json(severity: Json, fields: Map<String, Json>) -> String {
    let mut line = Map::new();
    line.insert("time".into(), now().into());
    line.insert("severity".into(), severity);
    line.extend(fields);
    let mut line = Json::Object(line).to_string();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_text_has_no_other_line() {
        let fields = Map::from_iter([
            ("pid".to_owned(), Json::from(7)),
            ("message".to_owned(), Json::from("two\nlines")),
            ("statement".to_owned(), Json::from("SELECT\n1")),
        ]);
        let line = as_text(&Json::from("ERROR"), &fields);
        let (_, rest) = line.split_once(' ').unwrap();
        assert_eq!(rest, "pid=7 ERROR: two\n\tlines statement=SELECT\n\t1\n");
        let json: Json = serde_json::from_str(&as_json(Json::from("LOG"), fields)).unwrap();
        assert_eq!((json["message"].as_str(), json["severity"].as_str()), (Some("two\nlines"), Some("LOG")));
    }
}
