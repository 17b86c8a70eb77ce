//! The options of COPY.

use super::target::name_of;
use crate::error::{Result, SqlError, state};
use crate::types::{Encoding, encoding};
use syntax::ast::{CopyOption, Ident};

/// The form of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// A line per row, escaped by backslashes.
    #[default]
    Text,
    /// A line per row, quoted.
    Csv,
    /// Lengths and bytes.
    Binary,
}

/// Format of the data.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) format: Format,
    pub(super) delimiter: u8,
    pub(super) null: String,
    pub(super) header: bool,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) force_quote: Vec<String>,
    /// Whether all columns are quoted.
    pub(super) force_quote_all: bool,
    pub(super) force_not_null: Vec<String>,
    pub(super) force_null: Vec<String>,
    /// Encoding of the data; `None`: the client's.
    pub(super) encoding: Option<Encoding>,
}

/// Options as written, before defaults.
#[derive(Default)]
struct WrittenOptions {
    format: Option<Format>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<bool>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<Vec<String>>,
    force_quote_all: bool,
    force_not_null: Option<Vec<String>>,
    force_null: Option<Vec<String>>,
    freeze: Option<bool>,
    encoding: Option<String>,
}

impl Options {
    /// Reads and checks the options of a statement.
    ///
    /// # Errors
    /// 42601, 22023, 0A000 as PostgreSQL raises them.
    pub(super) fn read(options: &[CopyOption], from: bool) -> Result<Options> {
        let mut written = WrittenOptions::default();
        options.iter().try_for_each(|option| written.take(option))?;
        written.check(from)
    }
}

impl WrittenOptions {
    fn take(&mut self, option: &CopyOption) -> Result<()> {
        match option {
            CopyOption::Format(name) => once(&mut self.format, format_of(name)?),
            CopyOption::Freeze(freeze) => once(&mut self.freeze, *freeze),
            CopyOption::Delimiter(delimiter) => once(&mut self.delimiter, delimiter.clone()),
            CopyOption::Null(null) => once(&mut self.null, null.clone()),
            CopyOption::Header(header) => once(&mut self.header, *header),
            CopyOption::Quote(quote) => once(&mut self.quote, quote.clone()),
            CopyOption::Escape(escape) => once(&mut self.escape, escape.clone()),
            CopyOption::ForceQuoteAll => {
                self.force_quote_all = true;
                once(&mut self.force_quote, vec![])
            }
            CopyOption::ForceQuote(columns) => once(&mut self.force_quote, names(columns)),
            CopyOption::ForceNotNull(columns) => once(&mut self.force_not_null, names(columns)),
            CopyOption::ForceNull(columns) => once(&mut self.force_null, names(columns)),
            CopyOption::Encoding(encoding) => once(&mut self.encoding, encoding.clone()),
        }
    }

    /// Checks the options in PostgreSQL's order, so that of several mistakes the same one is reported.
    fn check(self, from: bool) -> Result<Options> {
        let format = self.format.unwrap_or_default();
        let (csv, binary) = (format == Format::Csv, format == Format::Binary);
        refuse(binary && self.delimiter.is_some(), state::SYNTAX_ERROR, "cannot specify DELIMITER in BINARY mode")?;
        refuse(binary && self.null.is_some(), state::SYNTAX_ERROR, "cannot specify NULL in BINARY mode")?;
        let encoding = self.encoding.as_deref().map(|name| encoding_named(name, from)).transpose()?;
        let delimiter = one_byte(self.delimiter.as_deref(), if csv { b',' } else { b'\t' }, "delimiter")?;
        let null = self.null.unwrap_or_else(|| if csv { "".into() } else { "\\N".into() });
        check_delimiter(delimiter, &null, csv)?;
        let unsupported = state::FEATURE_NOT_SUPPORTED;
        refuse(binary && self.header == Some(true), unsupported, "cannot specify HEADER in BINARY mode")?;
        refuse(!csv && self.quote.is_some(), unsupported, "COPY quote available only in CSV mode")?;
        let quote = one_byte(self.quote.as_deref(), b'"', "quote")?;
        let same = csv && delimiter == quote;
        refuse(same, state::INVALID_PARAMETER_VALUE, "COPY delimiter and quote must be different")?;
        refuse(!csv && self.escape.is_some(), unsupported, "COPY escape available only in CSV mode")?;
        let escape = one_byte(self.escape.as_deref(), quote, "escape")?;
        for (columns, what, allowed, only) in [
            (&self.force_quote, "force quote", !from, "TO"),
            (&self.force_not_null, "force not null", from, "FROM"),
            (&self.force_null, "force null", from, "FROM"),
        ] {
            let written = columns.is_some();
            refuse(written && !csv, unsupported, format!("COPY {what} available only in CSV mode"))?;
            refuse(written && !allowed, unsupported, format!("COPY {what} only available using COPY {only}"))?;
        }
        let delimited = !binary && null.as_bytes().contains(&delimiter);
        refuse(delimited, unsupported, "COPY delimiter must not appear in the NULL specification")?;
        let quoted = csv && null.as_bytes().contains(&quote);
        refuse(quoted, unsupported, "CSV quote character must not appear in the NULL specification")?;
        Ok(Options {
            format,
            delimiter,
            null,
            header: self.header.unwrap_or(false),
            quote,
            escape,
            force_quote: self.force_quote.unwrap_or_default(),
            force_quote_all: self.force_quote_all,
            force_not_null: self.force_not_null.unwrap_or_default(),
            force_null: self.force_null.unwrap_or_default(),
            encoding,
        })
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<()> {
    match place.replace(value) {
        Some(_) => Err(SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options")),
        None => Ok(()),
    }
}

fn refuse(wrong: bool, code: &'static str, message: impl Into<String>) -> Result<()> {
    if wrong { Err(SqlError::new(code, message)) } else { Ok(()) }
}

fn format_of(name: &str) -> Result<Format> {
    match name {
        "text" => Ok(Format::Text),
        "csv" => Ok(Format::Csv),
        "binary" => Ok(Format::Binary),
        other => {
            let message = format!("COPY format \"{other}\" not recognized");
            Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
        }
    }
}

/// # Errors
/// 22023 for an unknown name, 42883 for an encoding that does not convert to UTF-8.
fn encoding_named(name: &str, from: bool) -> Result<Encoding> {
    let encoding = Encoding::named(name).ok_or_else(|| {
        let message = "argument to option \"encoding\" must be a valid encoding name";
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    })?;
    let (source, destination) = if from { (encoding, Encoding::Utf8) } else { (Encoding::Utf8, encoding) };
    encoding::convert(b"", source, destination)?;
    Ok(encoding)
}

fn one_byte(written: Option<&str>, default: u8, what: &str) -> Result<u8> {
    match written.map(str::as_bytes) {
        None => Ok(default),
        Some(&[byte]) => Ok(byte),
        Some(_) => {
            let message = format!("COPY {what} must be a single one-byte character");
            Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
        }
    }
}

fn check_delimiter(delimiter: u8, null: &str, csv: bool) -> Result<()> {
    let invalid = state::INVALID_PARAMETER_VALUE;
    refuse(matches!(delimiter, b'\n' | b'\r'), invalid, "COPY delimiter cannot be newline or carriage return")?;
    let broken = null.contains(['\n', '\r']);
    refuse(broken, invalid, "COPY null representation cannot use newline or carriage return")?;
    // What could be an escape or its continuation.
    let special = matches!(delimiter, b'\\' | b'.' | b'a'..=b'z' | b'0'..=b'9');
    refuse(!csv && special, invalid, format!("COPY delimiter cannot be \"{}\"", char::from(delimiter)))
}

fn names(columns: &[Ident]) -> Vec<String> {
    columns.iter().map(name_of).collect()
}
