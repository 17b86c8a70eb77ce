//! COPY.

use crate::ast::{Copy, CopyOption, CopySource, CopyStream, Ident};
use crate::reader::{Reader, Token};
use pgtypes::{Error, Result, state};

/// Reads COPY.
///
/// # Errors
/// 42601, 0A000
pub(crate) fn copy(reader: &mut Reader<'_>) -> Result<Copy> {
    reader.expect("COPY")?;
    let mut options = vec![];
    let source = source(reader, &mut options)?;
    let is_query = matches!(source, CopySource::Query(_));
    let to = match reader.take_any(&["FROM", "TO"]) {
        Some("FROM") if is_query => return Err(Error::new(state::SYNTAX_ERROR, "COPY FROM needs a table")),
        Some(direction) => direction == "TO",
        None => return Err(reader.unexpected()),
    };
    let stream = stream(reader)?;
    if reader.take("DELIMITERS") || reader.take("USING DELIMITERS") {
        options.push(CopyOption::Delimiter(reader.string()?));
    }
    reader.take("WITH");
    if reader.take_token(&Token::LParen) {
        options.extend(reader.list(option)?);
        reader.expect_token(&Token::RParen)?;
    } else {
        while let Some(option) = old_option(reader)? {
            options.push(option);
        }
    }
    if to && reader.says("WHERE") {
        let error = Error::new(state::SYNTAX_ERROR, "WHERE clause not allowed with COPY TO");
        return Err(error.at(reader.unexpected().fields().position.unwrap_or_default()));
    }
    let condition = if reader.take("WHERE") { Some(Box::new(reader.expression()?)) } else { None };
    Ok(Copy { source, to, stream, options, condition })
}

fn source(reader: &mut Reader<'_>, options: &mut Vec<CopyOption>) -> Result<CopySource> {
    if reader.take_token(&Token::LParen) {
        let query = reader.query()?;
        reader.expect_token(&Token::RParen)?;
        return Ok(CopySource::Query(Box::new(query)));
    }
    if reader.take("BINARY") {
        options.push(CopyOption::Format("binary".into()));
    }
    Ok(CopySource::Table { name: reader.object_name()?, columns: reader.optional_names()? })
}

fn stream(reader: &mut Reader<'_>) -> Result<CopyStream> {
    match reader.take_any(&["STDIN", "STDOUT", "PROGRAM"]) {
        Some("PROGRAM") => {
            reader.string()?;
            Ok(CopyStream::Program)
        }
        Some(_) => Ok(CopyStream::Client),
        None => {
            reader.string()?;
            Ok(CopyStream::File)
        }
    }
}

/// An option in parentheses.
fn option(reader: &mut Reader<'_>) -> Result<CopyOption> {
    let name = reader.folded_name()?;
    Ok(match name.as_str() {
        "format" => CopyOption::Format(word(reader)?),
        "freeze" => CopyOption::Freeze(switch(reader, "freeze")?),
        "header" if reader.says("MATCH") => return Err(reader.unsupported("HEADER MATCH in COPY")),
        "header" => CopyOption::Header(switch(reader, "header")?),
        "delimiter" => CopyOption::Delimiter(reader.string()?),
        "null" => CopyOption::Null(reader.string()?),
        "quote" => CopyOption::Quote(reader.string()?),
        "escape" => CopyOption::Escape(reader.string()?),
        "encoding" => CopyOption::Encoding(reader.string()?),
        "force_quote" if reader.take_token(&Token::Mul) => CopyOption::ForceQuoteAll,
        "force_quote" => CopyOption::ForceQuote(columns(reader)?),
        "force_not_null" => CopyOption::ForceNotNull(columns(reader)?),
        "force_null" => CopyOption::ForceNull(columns(reader)?),
        "default" | "on_error" | "reject_limit" | "log_verbosity" => {
            return Err(reader.unsupported(&format!("the COPY option {}", name.to_uppercase())));
        }
        _ => return Err(Error::new(state::SYNTAX_ERROR, format!("option \"{name}\" not recognized"))),
    })
}

fn columns(reader: &mut Reader<'_>) -> Result<Vec<Ident>> {
    if *reader.peek() == Token::Mul {
        return Err(reader.unsupported("* for all columns in an option of COPY"));
    }
    reader.names_in_parentheses()
}

/// A name or a string.
fn word(reader: &mut Reader<'_>) -> Result<String> {
    if matches!(reader.peek(), Token::SingleQuotedString(_)) { reader.string() } else { reader.folded_name() }
}

/// A truth value, which may be a string; none means true.
fn switch(reader: &mut Reader<'_>, option: &str) -> Result<bool> {
    if let Token::Number(digits, _) = reader.peek() {
        let on = digits != "0";
        reader.skip();
        return Ok(on);
    }
    if !matches!(reader.peek(), Token::SingleQuotedString(_)) {
        return Ok(!matches!(reader.take_any(&["TRUE", "ON", "FALSE", "OFF"]), Some("FALSE" | "OFF")));
    }
    match reader.string()?.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::new(state::SYNTAX_ERROR, format!("{option} requires a Boolean value"))),
    }
}

/// An option in the syntax before PostgreSQL 9.0, if one comes next.
fn old_option(reader: &mut Reader<'_>) -> Result<Option<CopyOption>> {
    let forms = [
        "BINARY",
        "CSV",
        "FREEZE",
        "HEADER",
        "DELIMITER",
        "NULL",
        "QUOTE",
        "ESCAPE",
        "ENCODING",
        "FORCE QUOTE",
        "FORCE NOT NULL",
        "FORCE NULL",
    ];
    Ok(Some(match reader.take_any(&forms) {
        Some("BINARY") => CopyOption::Format("binary".into()),
        Some("CSV") => CopyOption::Format("csv".into()),
        Some("FREEZE") => CopyOption::Freeze(true),
        Some("HEADER") => CopyOption::Header(true),
        Some("DELIMITER") => CopyOption::Delimiter(value(reader)?),
        Some("NULL") => CopyOption::Null(value(reader)?),
        Some("QUOTE") => CopyOption::Quote(value(reader)?),
        Some("ESCAPE") => CopyOption::Escape(value(reader)?),
        Some("ENCODING") => CopyOption::Encoding(reader.string()?),
        Some("FORCE QUOTE") if reader.take_token(&Token::Mul) => CopyOption::ForceQuoteAll,
        Some("FORCE QUOTE") => CopyOption::ForceQuote(reader.list(Reader::name)?),
        Some("FORCE NOT NULL") => CopyOption::ForceNotNull(reader.list(Reader::name)?),
        Some(_) => CopyOption::ForceNull(reader.list(Reader::name)?),
        None => return Ok(None),
    }))
}

/// `[AS] 'value'`
fn value(reader: &mut Reader<'_>) -> Result<String> {
    reader.take("AS");
    reader.string()
}
