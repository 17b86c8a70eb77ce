//! Types.

use super::object_name;
use crate::ast;
use pgtypes::{Error, Result, state};
use pgtypes::{IntervalRange, Modifier, Scalar, Type, type_not_found};
use sqlparser::ast::{self as parser, ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, TimezoneInfo};

/// A type with its meaning: 42704 `type "x" does not exist`, 22023 for a modifier that the type does not accept. `serial` is not
/// a type.
pub(crate) fn data_type(written: DataType) -> ast::DataType {
    let (text, meaning) = (written.to_string(), meaning(&written));
    let is_array = matches!(written, DataType::Array(_));
    let name = match element(written) {
        DataType::Custom(name, _) => Some(object_name(name)),
        // Names that are types in other systems only.
        other if meaning.is_err() => {
            let word = other.to_string();
            let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            is_word.then(|| ast::ObjectName::from(vec![ast::Ident::new(word.to_ascii_lowercase())]))
        }
        _ => None,
    };
    ast::DataType { text, name, is_array, meaning }
}

/// The type of the elements, of all dimensions.
fn element(mut written: DataType) -> DataType {
    loop {
        match written {
            DataType::Array(
                ArrayElemTypeDef::SquareBracket(element, _)
                | ArrayElemTypeDef::AngleBracket(element)
                | ArrayElemTypeDef::Parenthesis(element),
            ) => written = *element,
            other => return other,
        }
    }
}

fn meaning(written: &DataType) -> Result<(Type, Modifier)> {
    let plain = |scalar| Ok((Type::of(scalar), Modifier::NONE));
    match written {
        DataType::Boolean | DataType::Bool => plain(Scalar::Bool),
        DataType::SmallInt(None) | DataType::Int2(None) => plain(Scalar::Int2),
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => plain(Scalar::Int4),
        DataType::BigInt(None) | DataType::Int8(None) => plain(Scalar::Int8),
        DataType::Real | DataType::Float4 => plain(Scalar::Float4),
        DataType::Float8 | DataType::DoublePrecision => plain(Scalar::Float8),
        DataType::Float(precision) => float(precision),
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info),
        DataType::Text => plain(Scalar::Text),
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            Ok((Type::VARCHAR, character(length, Type::VARCHAR, Modifier::NONE)?))
        }
        DataType::Char(length) | DataType::Character(length) => {
            Ok((Type::BPCHAR, character(length, Type::BPCHAR, Modifier::of_length(1))?))
        }
        DataType::Bytea => plain(Scalar::Bytea),
        DataType::Date => plain(Scalar::Date),
        DataType::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => Err(type_not_found("time with time zone")),
        DataType::Time(digits, _) => with_digits(Type::TIME, *digits),
        DataType::Timestamp(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            with_digits(Type::TIMESTAMPTZ, *digits)
        }
        DataType::Timestamp(digits, _) => with_digits(Type::TIMESTAMP, *digits),
        DataType::Interval { fields, precision } => {
            let digits = precision.map(|precision| precision.min(6) as u8);
            Ok((Type::INTERVAL, Modifier::of_interval(fields.as_ref().map(range), digits)))
        }
        DataType::Uuid => plain(Scalar::Uuid),
        DataType::JSON => plain(Scalar::Json),
        DataType::JSONB => plain(Scalar::Jsonb),
        DataType::Regclass => plain(Scalar::Regclass),
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => {
            let (element, modifier) = meaning(element)?;
            let array = if element.is_array { Some(element) } else { element.to_array() };
            let array = array.ok_or_else(|| type_not_found(&format!("{}[]", element.name())))?;
            Ok((array, modifier))
        }
        DataType::Custom(name, modifiers) => custom(name, modifiers),
        other => Err(type_not_found(&other.to_string().to_lowercase())),
    }
}

/// A name that the parser does not know as a type: `oid`, `name`, `"char"`, `pg_catalog.text`.
fn custom(name: &parser::ObjectName, modifiers: &[String]) -> Result<(Type, Modifier)> {
    let parts: Vec<String> = name.0.iter().map(word).collect();
    let found = match parts.as_slice() {
        [name] => Type::parse_name(name),
        [schema, name] if schema == "pg_catalog" => Type::parse_name(name),
        [schema, oid] if schema == ast::BY_IDENTIFIER => oid.parse().ok().map(|oid| Type::of(Scalar::Enum(oid))),
        _ => None,
    };
    let found = found.ok_or_else(|| match parts.as_slice() {
        [schema, name] if schema == "pg_catalog" => {
            let absent = type_not_found(name);
            if absent.code() == state::FEATURE_NOT_SUPPORTED { absent } else { type_not_found(&parts.join(".")) }
        }
        _ => type_not_found(&parts.join(".")),
    })?;
    let number = |modifier: &String| {
        modifier
            .parse()
            .map_err(|_| Error::new(state::SYNTAX_ERROR, "type modifiers must be simple constants or identifiers"))
    };
    let numbers: Vec<i64> = modifiers.iter().map(number).collect::<Result<_>>()?;
    Ok((found, found.modifier(&numbers)?))
}

/// A part of a name: unchanged if quoted, else in lower case.
fn word(part: &parser::ObjectNamePart) -> String {
    match part.as_ident() {
        Some(ident) if ident.quote_style.is_some() => ident.value.clone(),
        Some(ident) => ident.value.to_lowercase(),
        None => part.to_string(),
    }
}

fn invalid(message: &str) -> Error {
    Error::new(state::INVALID_PARAMETER_VALUE, message)
}

fn float(precision: &ExactNumberInfo) -> Result<(Type, Modifier)> {
    let scalar = match precision {
        ExactNumberInfo::None | ExactNumberInfo::Precision(25..=53) => Scalar::Float8,
        ExactNumberInfo::Precision(1..=24) => Scalar::Float4,
        ExactNumberInfo::Precision(0) => return Err(invalid("precision for type float must be at least 1 bit")),
        ExactNumberInfo::Precision(_) => return Err(invalid("precision for type float must be less than 54 bits")),
        ExactNumberInfo::PrecisionAndScale(..) => {
            return Err(Error::new(state::SYNTAX_ERROR, "syntax error at or near \",\""));
        }
    };
    Ok((Type::of(scalar), Modifier::NONE))
}

/// A number of the syntax as a modifier; those that are too large stay so.
fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn numeric(info: &ExactNumberInfo) -> Result<(Type, Modifier)> {
    let numbers = match *info {
        ExactNumberInfo::None => vec![],
        ExactNumberInfo::Precision(precision) => vec![clamped(precision)],
        ExactNumberInfo::PrecisionAndScale(precision, scale) => vec![clamped(precision), scale],
    };
    Ok((Type::NUMERIC, Type::NUMERIC.modifier(&numbers)?))
}

fn character(length: &Option<CharacterLength>, data_type: Type, otherwise: Modifier) -> Result<Modifier> {
    match length {
        None => Ok(otherwise),
        Some(CharacterLength::IntegerLength { length, .. }) => Ok(data_type.modifier(&[clamped(*length)])?),
        Some(CharacterLength::Max) => Err(Error::new(state::SYNTAX_ERROR, "syntax error at or near \"max\"")),
    }
}

/// A type of time; more than six digits of a second mean six.
fn with_digits(data_type: Type, digits: Option<u64>) -> Result<(Type, Modifier)> {
    let numbers: Vec<i64> = digits.into_iter().map(clamped).collect();
    Ok((data_type, data_type.modifier(&numbers)?))
}

fn range(fields: &parser::IntervalFields) -> IntervalRange {
    use parser::IntervalFields as Fields;
    match fields {
        Fields::Year => IntervalRange::YEAR,
        Fields::Month => IntervalRange::MONTH,
        Fields::Day => IntervalRange::DAY,
        Fields::Hour => IntervalRange::HOUR,
        Fields::Minute => IntervalRange::MINUTE,
        Fields::Second => IntervalRange::SECOND,
        Fields::YearToMonth => IntervalRange::YEAR_TO_MONTH,
        Fields::DayToHour => IntervalRange::DAY_TO_HOUR,
        Fields::DayToMinute => IntervalRange::DAY_TO_MINUTE,
        Fields::DayToSecond => IntervalRange::DAY_TO_SECOND,
        Fields::HourToMinute => IntervalRange::HOUR_TO_MINUTE,
        Fields::HourToSecond => IntervalRange::HOUR_TO_SECOND,
        Fields::MinuteToSecond => IntervalRange::MINUTE_TO_SECOND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::{dialect::PostgreSqlDialect, parser::Parser};

    fn parse(text: &str) -> Result<String> {
        let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).unwrap();
        let (data_type, modifier) = super::data_type(parser.parse_data_type().unwrap()).meaning?;
        Ok(data_type.format(modifier))
    }

    #[test]
    fn types_are_named_as_sql_names_them() {
        let cases = [
            ("int", "integer"),
            ("INT8", "bigint"),
            ("decimal(10,2)", "numeric(10,2)"),
            ("dec", "numeric"),
            ("float(24)", "real"),
            ("float", "double precision"),
            ("double precision", "double precision"),
            ("varchar(3)", "character varying(3)"),
            ("char", "character(1)"),
            ("character(7)", "character(7)"),
            ("bpchar", "bpchar"),
            ("\"char\"", "\"char\""),
            ("timestamp(3) with time zone", "timestamp(3) with time zone"),
            ("timestamptz", "timestamp with time zone"),
            ("time", "time without time zone"),
            ("interval", "interval"),
            ("interval year to month", "interval year to month"),
            ("int[]", "integer[]"),
            ("int[3][]", "integer[]"),
            ("_int4", "integer[]"),
            ("pg_catalog.regtype", "regtype"),
            ("pg_catalog.text", "text"),
            ("regclass", "regclass"),
            ("name", "name"),
            ("oid", "oid"),
            ("uuid", "uuid"),
            ("jsonb", "jsonb"),
            ("Text", "text"),
        ];
        for (written, name) in cases {
            assert_eq!(parse(written).unwrap(), name, "{written}");
        }
    }

    #[test]
    fn what_is_no_type_says_so() {
        let cases = [
            ("foo", "42704", "type \"foo\" does not exist"),
            ("public.foo", "42704", "type \"public.foo\" does not exist"),
            ("datetime", "42704", "type \"datetime\" does not exist"),
            ("varchar(0)", "22023", "length for type varchar must be at least 1"),
            ("numeric(1001)", "22023", "NUMERIC precision 1001 must be between 1 and 1000"),
            ("float(54)", "22023", "precision for type float must be less than 54 bits"),
            ("oid(3)", "42601", "type modifier is not allowed for type \"oid\""),
            ("timetz", "0A000", "type time with time zone is not supported"),
        ];
        for (written, code, message) in cases {
            let error = parse(written).unwrap_err();
            assert_eq!((error.code(), error.message()), (code, message), "{written}");
        }
    }
}
