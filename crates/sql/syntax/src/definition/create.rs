//! CREATE, except for tables and sequences.

use super::{database, role, sequence, storage, table};
use crate::ast::{
    Attribute, CreateDomain, CreateExtension, CreateIndex, CreateSchema, CreateSequence, CreateType, CreateView,
    Definition, DomainOption, Expr, Ident, IndexColumn, NewType,
};
use crate::reader::{Reader, Token};
use pgtypes::{Error, Result, state};

pub(super) fn create(reader: &mut Reader<'_>) -> Result<Definition> {
    let or_replace = reader.take("OR REPLACE");
    let _ = reader.take_any(&["GLOBAL", "LOCAL"]);
    let temporary = reader.take_any(&["TEMPORARY", "TEMP"]).is_some();
    if reader.take("VIEW") {
        return view(reader, or_replace, temporary).map(Definition::CreateView);
    }
    if or_replace {
        return Err(reader.unexpected());
    }
    let _ = !temporary && storage::unlogged(reader);
    if reader.take("TABLE") {
        return table::create(reader, temporary);
    }
    if reader.take("SEQUENCE") {
        return sequence(reader, temporary).map(Definition::CreateSequence);
    }
    if temporary {
        return Err(reader.unexpected());
    }
    if role::is_next(reader) {
        return role::create(reader).map(Definition::CreateRole);
    }
    match reader.take_any(&["INDEX", "UNIQUE INDEX", "SCHEMA", "TYPE", "DOMAIN", "EXTENSION", "DATABASE"]) {
        Some("INDEX") => index(reader, false).map(Definition::CreateIndex),
        Some("UNIQUE INDEX") => index(reader, true).map(Definition::CreateIndex),
        Some("SCHEMA") => schema(reader).map(Definition::CreateSchema),
        Some("TYPE") => data_type(reader).map(Definition::CreateType),
        Some("DATABASE") => database::create(reader).map(Definition::CreateDatabase),
        Some("DOMAIN") => domain(reader).map(Definition::CreateDomain),
        Some(_) => extension(reader).map(Definition::CreateExtension),
        None => Err(reader.unexpected()),
    }
}

fn view(reader: &mut Reader<'_>, or_replace: bool, temporary: bool) -> Result<CreateView> {
    let name = reader.object_name()?;
    let columns = reader.optional_names()?;
    if reader.take("WITH") {
        view_options(reader)?;
    }
    reader.expect("AS")?;
    let query = reader.query()?;
    if ["WITH CHECK", "WITH LOCAL CHECK", "WITH CASCADED CHECK"].iter().any(|words| reader.says(words)) {
        return Err(reader.unsupported("WITH CHECK OPTION"));
    }
    Ok(CreateView { name, or_replace, temporary, columns, query })
}

/// The options of a view. Those of security make no difference where every role may do everything.
fn view_options(reader: &mut Reader<'_>) -> Result<()> {
    for (name, value) in storage::named(reader)? {
        match name.as_str() {
            "check_option" => return Err(reader.unsupported("WITH CHECK OPTION")),
            "security_barrier" | "security_invoker" if value.as_deref() == Some("false") => {}
            "security_barrier" | "security_invoker" => {
                reader.no_effect(&format!("WITH ({name})"), "every role may do everything");
            }
            _ => {
                let message = format!("unrecognized parameter \"{name}\"");
                return Err(Error::new(state::INVALID_PARAMETER_VALUE, message));
            }
        }
    }
    Ok(())
}

fn sequence(reader: &mut Reader<'_>, temporary: bool) -> Result<CreateSequence> {
    let if_not_exists = reader.take("IF NOT EXISTS");
    let name = reader.object_name()?;
    let options = sequence::options(reader)?;
    if options.restart.is_some() || options.name.is_some() {
        return Err(sequence::redundant());
    }
    Ok(CreateSequence { name, temporary, if_not_exists, options })
}

fn schema(reader: &mut Reader<'_>) -> Result<CreateSchema> {
    let if_not_exists = reader.take("IF NOT EXISTS");
    let name = if reader.says("AUTHORIZATION") { None } else { Some(reader.object_name()?) };
    let owner = if reader.take("AUTHORIZATION") { Some(reader.name()?) } else { None };
    if reader.says("CREATE") || reader.says("GRANT") {
        return Err(reader.unsupported("a statement inside CREATE SCHEMA"));
    }
    Ok(CreateSchema { name, if_not_exists, owner })
}

fn domain(reader: &mut Reader<'_>) -> Result<CreateDomain> {
    let name = reader.object_name()?;
    reader.take("AS");
    let data_type = reader.data_type()?;
    let mut collation = None;
    let mut options = vec![];
    loop {
        if reader.take("COLLATE") {
            collation = Some(reader.object_name()?);
            continue;
        }
        let constraint = if reader.take("CONSTRAINT") { Some(reader.name()?) } else { None };
        options.push(match reader.take_any(&["NOT NULL", "NULL", "CHECK"]) {
            Some("NOT NULL") => DomainOption::NotNull,
            Some("NULL") => DomainOption::Null,
            Some(_) => DomainOption::Check(constraint, Box::new(reader.expression_in_parentheses()?)),
            None if constraint.is_none() && reader.says("DEFAULT") => DomainOption::Default(reader.column_default()?),
            None if constraint.is_none() && reader.is_done() => break,
            None => return Err(reader.unexpected()),
        });
    }
    Ok(CreateDomain { name, data_type, collation, options })
}

fn data_type(reader: &mut Reader<'_>) -> Result<CreateType> {
    let name = reader.object_name()?;
    if reader.says("AS") && *reader.peek_at(1) == Token::LParen {
        reader.take("AS");
        return Ok(CreateType { name, kind: NewType::Composite(attributes(reader)?) });
    }
    if !reader.says("AS ENUM") {
        let kind = match () {
            () if reader.says("AS RANGE") => "CREATE TYPE AS RANGE",
            () if reader.is_done() || *reader.peek() == Token::LParen => "CREATE TYPE of a base type",
            () => return Err(reader.unexpected()),
        };
        let hint = "Make an enum, CREATE TYPE ... AS ENUM, or a composite type, CREATE TYPE ... AS (...).";
        return Err(reader.unsupported(kind).hint(hint));
    }
    reader.expect("AS ENUM")?;
    reader.expect_token(&Token::LParen)?;
    let labels = if *reader.peek() == Token::RParen { vec![] } else { reader.list(Reader::string)? };
    reader.expect_token(&Token::RParen)?;
    Ok(CreateType { name, kind: NewType::Enum(labels) })
}

/// The attributes of a composite type, in parentheses. There may be none.
fn attributes(reader: &mut Reader<'_>) -> Result<Vec<Attribute>> {
    reader.expect_token(&Token::LParen)?;
    let attributes = if *reader.peek() == Token::RParen { vec![] } else { reader.list(attribute)? };
    reader.expect_token(&Token::RParen)?;
    Ok(attributes)
}

/// `name type [COLLATE collation]`
pub(super) fn attribute(reader: &mut Reader<'_>) -> Result<Attribute> {
    let (name, data_type) = (reader.name()?, reader.data_type()?);
    let collation = if reader.take("COLLATE") { Some(reader.object_name()?) } else { None };
    Ok(Attribute { name, data_type, collation })
}

fn extension(reader: &mut Reader<'_>) -> Result<CreateExtension> {
    let if_not_exists = reader.take("IF NOT EXISTS");
    let name = reader.name()?;
    reader.take("WITH");
    while let Some(option) = reader.take_any(&["SCHEMA", "VERSION", "CASCADE"]) {
        match option {
            "VERSION" if !matches!(reader.peek(), Token::Word(_)) => drop(reader.string()?),
            "CASCADE" => {}
            _ => drop(reader.name()?),
        }
    }
    Ok(CreateExtension { name, if_not_exists })
}

fn index(reader: &mut Reader<'_>, unique: bool) -> Result<CreateIndex> {
    reader.take("CONCURRENTLY");
    let if_not_exists = reader.take("IF NOT EXISTS");
    let name = if !if_not_exists && reader.says("ON") { None } else { Some(reader.name()?) };
    reader.expect("ON")?;
    reader.take("ONLY");
    let table = reader.object_name()?;
    let method = if reader.take("USING") { Some(reader.name()?) } else { None };
    let columns = index_columns(reader)?;
    let included = if reader.take("INCLUDE") { included(reader)? } else { vec![] };
    let nulls_not_distinct = nulls_not_distinct(reader);
    storage::with_parameters(reader)?;
    if reader.take("TABLESPACE") {
        storage::tablespace(reader, "TABLESPACE")?;
    }
    let predicate = if reader.take("WHERE") { Some(reader.expression()?) } else { None };
    Ok(CreateIndex { name, if_not_exists, unique, table, method, columns, included, nulls_not_distinct, predicate })
}

/// `NULLS [NOT] DISTINCT`, if it is there; distinct is the default.
pub(super) fn nulls_not_distinct(reader: &mut Reader<'_>) -> bool {
    reader.take_any(&["NULLS NOT DISTINCT", "NULLS DISTINCT"]) == Some("NULLS NOT DISTINCT")
}

/// The columns of INCLUDE, from the parentheses on.
pub(super) fn included(reader: &mut Reader<'_>) -> Result<Vec<Ident>> {
    reader.expect_token(&Token::LParen)?;
    let names = reader.list(|reader| {
        let is_expression = *reader.peek() == Token::LParen || *reader.peek_at(1) == Token::LParen;
        if is_expression {
            let message = "expressions are not supported in included columns";
            return Err(Error::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        reader.name()
    })?;
    reader.expect_token(&Token::RParen)?;
    Ok(names)
}

/// The target of ON CONFLICT: the columns of an index, and its WHERE.
///
/// # Errors
/// 42601, 0A000
pub(crate) fn conflict_target(reader: &mut Reader<'_>) -> Result<(Vec<IndexColumn>, Option<Expr>)> {
    let columns = index_columns(reader)?;
    let predicate = if reader.take("WHERE") { Some(reader.expression()?) } else { None };
    Ok((columns, predicate))
}

/// The columns of an index, and of the target of ON CONFLICT, in parentheses.
fn index_columns(reader: &mut Reader<'_>) -> Result<Vec<IndexColumn>> {
    reader.expect_token(&Token::LParen)?;
    let columns = reader.list(index_column)?;
    reader.expect_token(&Token::RParen)?;
    Ok(columns)
}

/// `name [operator class] [ASC | DESC] [NULLS FIRST | LAST]`; instead of the name a call, or an expression in parentheses.
fn index_column(reader: &mut Reader<'_>) -> Result<IndexColumn> {
    let key = match (reader.peek(), reader.peek_at(1)) {
        (Token::LParen, _) => reader.expression_in_parentheses()?,
        (_, Token::LParen | Token::Period) => reader.call()?,
        _ => Expr::Identifier(reader.name()?),
    };
    if reader.says("COLLATE") {
        return Err(reader.unsupported("COLLATE in an index"));
    }
    let ends = |reader: &Reader<'_>| ["ASC", "DESC", "NULLS"].iter().any(|word| reader.says(word));
    let mut class = None;
    if matches!(reader.peek(), Token::Word(_)) && !ends(reader) {
        class = Some(reader.object_name()?);
        if *reader.peek() == Token::LParen {
            return Err(reader.unsupported("parameters of an operator class"));
        }
    }
    let descending = reader.take_any(&["ASC", "DESC"]) == Some("DESC");
    let nulls_first = reader.take_any(&["NULLS FIRST", "NULLS LAST"]).map(|words| words == "NULLS FIRST");
    Ok(IndexColumn { key, class, descending, nulls_first })
}
