//! `seriatim order get`, `put`, `del`, `cas`, `add` and `list`: the replicated key-value example.
//!
//! Every command is ordered, reads too: at any replica, a get sees everything that was acknowledged before it began.

use super::connection::Connection;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Format};
use clap::Args;
use rsm::kv::{Answer, Command};
use serde_json::json;
use std::io::{Read, Write, stdin, stdout};

/// Print the value of a key.
#[derive(Args)]
#[command(
    after_help = "Example:\n  seriatim order get colour\n\nExit codes: 0 found; 1 the key does not exist; 2 no answer."
)]
pub struct Get {
    /// The key.
    key: String,
    #[command(flatten)]
    connection: Connection,
}

/// Set the value of a key.
#[derive(Args)]
#[command(after_help = "Examples:\n  seriatim order put colour blue\n  seriatim order put letter - < letter.txt")]
pub struct Put {
    /// The key.
    key: String,
    /// New value; `-` reads standard input.
    value: String,
    #[command(flatten)]
    connection: Connection,
}

/// Delete a key.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 deleted; 1 the key did not exist; 2 no answer.")]
pub struct Del {
    /// The key.
    key: String,
    #[command(flatten)]
    connection: Connection,
}

/// Change a key's value if it has the expected value (compare and set).
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim order cas colour --expect blue --set red\n  \
    seriatim order cas lock --expect-none --set me\n  \
    seriatim order cas lock --expect me --delete\n\n\
    Exit codes: 0 changed; 1 the value differs (the actual value is printed); 2 no answer.")]
#[command(group = clap::ArgGroup::new("expected").required(true))]
#[command(group = clap::ArgGroup::new("new").required(true))]
pub struct Cas {
    /// The key.
    key: String,
    /// Expected value.
    #[arg(long, value_name = "VALUE", group = "expected")]
    expect: Option<String>,
    /// Expect that the key does not exist.
    #[arg(long, group = "expected")]
    expect_none: bool,
    /// New value.
    #[arg(long, value_name = "VALUE", group = "new")]
    set: Option<String>,
    /// Delete the key.
    #[arg(long, group = "new")]
    delete: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Add to a key's numeric value and print the sum.
#[derive(Args)]
#[command(after_help = "Examples:\n  seriatim order add visits\n  seriatim order add stock -3")]
pub struct Add {
    /// The key; a missing one counts as 0.
    key: String,
    /// Number to add.
    #[arg(default_value_t = 1, allow_negative_numbers = true)]
    delta: i64,
    #[command(flatten)]
    connection: Connection,
}

/// List keys and values in byte order.
#[derive(Args)]
#[command(after_help = "Examples:\n  seriatim order list\n  seriatim order list user/ --limit 10 --after user/0042")]
pub struct List {
    /// Prefix of the keys.
    #[arg(default_value = "")]
    prefix: String,
    /// Only keys after this one.
    #[arg(long, value_name = "KEY")]
    after: Option<String>,
    /// Maximum number of keys.
    #[arg(long, default_value_t = 1_000)]
    limit: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    connection: Connection,
}

impl Get {
    pub fn run(&self) -> Outcome {
        self.connection.ask(&Command::Get { key: self.key.as_bytes() }, |answer| match answer {
            Answer::Value(Some(value)) => print(value),
            Answer::Value(None) => Err(Failure::Finding),
            other => unexpected(&other),
        })
    }
}

impl Put {
    pub fn run(&self) -> Outcome {
        let mut value = Vec::new();
        match self.value.as_str() {
            "-" => drop(
                stdin()
                    .read_to_end(&mut value)
                    .map_err(|error| Failure::Trouble(format!("standard input: {error}")))?,
            ),
            text => value.extend_from_slice(text.as_bytes()),
        }
        self.connection.ask(&Command::Put { key: self.key.as_bytes(), value: &value }, |answer| match answer {
            Answer::Done { .. } => Ok(()),
            other => unexpected(&other),
        })
    }
}

impl Del {
    pub fn run(&self) -> Outcome {
        self.connection.ask(&Command::Delete { key: self.key.as_bytes() }, |answer| match answer {
            Answer::Done { existed: true } => Ok(()),
            Answer::Done { existed: false } => Err(Failure::Finding),
            other => unexpected(&other),
        })
    }
}

impl Cas {
    pub fn run(&self) -> Outcome {
        let expected = self.expect.as_ref().map(String::as_bytes);
        let new = self.set.as_ref().map(String::as_bytes);
        let command = Command::CompareAndSet { key: self.key.as_bytes(), expected, new };
        self.connection.ask(&command, |answer| match answer {
            Answer::Swapped => Ok(()),
            Answer::Differs(current) => {
                current.map_or(Ok(()), print)?;
                Err(Failure::Finding)
            }
            other => unexpected(&other),
        })
    }
}

impl Add {
    pub fn run(&self) -> Outcome {
        self.connection.ask(&Command::Add { key: self.key.as_bytes(), delta: self.delta }, |answer| match answer {
            Answer::Counter(sum) => print(sum.to_string().as_bytes()),
            other => unexpected(&other),
        })
    }
}

impl List {
    pub fn run(&self) -> Outcome {
        let after = self.after.as_ref().map(String::as_bytes);
        let command = Command::List { prefix: self.prefix.as_bytes(), after, limit: self.limit };
        self.connection.ask(&command, |answer| match answer {
            Answer::Listed { entries, more } if self.format == Format::Json => {
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                let entries: Vec<_> =
                    entries.iter().map(|(key, value)| json!({ "key": text(key), "value": text(value) })).collect();
                output::json(&json!({ "entries": entries, "more": more }))
            }
            Answer::Listed { entries, more } => {
                let mut out = stdout().lock();
                for (key, value) in &entries {
                    writeln!(out, "{}\t{}", String::from_utf8_lossy(key), String::from_utf8_lossy(value))?;
                }
                out.flush()?;
                if let (true, Some((last, _))) = (more, entries.last()) {
                    eprintln!("seriatim: there are more; go on with --after {}", String::from_utf8_lossy(last));
                }
                Ok(())
            }
            other => unexpected(&other),
        })
    }
}

/// The value as it is, on a line of its own.
fn print(value: &[u8]) -> Outcome {
    let mut out = stdout().lock();
    out.write_all(value)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// The error of an answer that refuses the command or is another service's.
fn unexpected<T>(answer: &Answer<'_>) -> Outcome<T> {
    Err(match answer {
        Answer::Refused(refusal) => Failure::trouble(refusal),
        _ => Failure::trouble("the answer does not fit the command: does the cluster run the key-value service?"),
    })
}
