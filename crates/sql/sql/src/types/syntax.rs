//! How types are written in SQL.

use super::facts::{FACTS, IntervalRange};
use super::{Modifier, Scalar, Type};
use crate::error::{Result, SqlError, state};
use sqlparser::ast::{self, ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, TimezoneInfo};

/// Names that stand for another type's.
const ALIASES: &[(&str, Scalar)] = &[
    ("int", Scalar::Int4),
    ("decimal", Scalar::Numeric),
    ("dec", Scalar::Numeric),
    ("float", Scalar::Float8),
    ("character", Scalar::Bpchar),
    ("time without time zone", Scalar::Time),
];

/// Types that PostgreSQL has and this server does not: another error than a name that nobody knows.
const ABSENT: &[&str] = &[
    "bit",
    "varbit",
    "money",
    "xml",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "point",
    "line",
    "lseg",
    "box",
    "path",
    "polygon",
    "circle",
    "tsvector",
    "tsquery",
    "timetz",
    "time with time zone",
    "int4range",
    "int8range",
    "numrange",
    "tsrange",
    "tstzrange",
    "daterange",
    "refcursor",
    "tid",
    "pg_lsn",
    "txid_snapshot",
    "jsonpath",
    "regprocedure",
    "regoper",
    "regoperator",
    "regconfig",
    "regdictionary",
    "regcollation",
    "xid8",
    "cid",
];

const LENGTH_LIMIT: u64 = 10_485_760;

impl Type {
    /// The type that SQL's syntax names. `serial` is none.
    ///
    /// # Errors
    /// 42704 `type "x" does not exist`, 22023 for a modifier that it does not take.
    pub fn from_ast(data_type: &ast::DataType) -> Result<(Type, Modifier)> {
        let plain = |scalar| Ok((Type::of(scalar), Modifier::NONE));
        match data_type {
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
                Ok((Type::VARCHAR, character(length, "varchar", Modifier::NONE)?))
            }
            DataType::Char(length) | DataType::Character(length) => {
                Ok((Type::BPCHAR, character(length, "char", Modifier::of_length(1))?))
            }
            DataType::Bytea => plain(Scalar::Bytea),
            DataType::Date => plain(Scalar::Date),
            DataType::Time(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                Err(SqlError::unsupported("type time with time zone"))
            }
            DataType::Time(digits, _) => Ok((Type::TIME, seconds(*digits))),
            DataType::Timestamp(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                Ok((Type::TIMESTAMPTZ, seconds(*digits)))
            }
            DataType::Timestamp(digits, _) => Ok((Type::TIMESTAMP, seconds(*digits))),
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
                let (element, modifier) = Type::from_ast(element)?;
                let array = if element.is_array { Some(element) } else { element.to_array() };
                array.map(|array| (array, modifier)).ok_or_else(|| unknown(&format!("{}[]", element.name())))
            }
            DataType::Custom(name, modifiers) => custom(name, modifiers),
            other => Err(absent_or_unknown(&other.to_string().to_lowercase())),
        }
    }

    /// The type of this name, internal (`int4`, `_int4`, `char` for `"char"`) or of SQL (`integer`), arrays with
    /// brackets too.
    pub fn parse_name(name: &str) -> Option<Type> {
        if let Some(element) = name.strip_suffix("[]") {
            return Type::parse_name(element.trim_end())?.to_array();
        }
        for facts in FACTS {
            if name == facts.internal_name || name == facts.sql_name {
                return Some(Type::of(facts.scalar));
            }
            if facts.array_oid != 0 && name == facts.array_name {
                return Some(Type::array_of(facts.scalar));
            }
        }
        ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, scalar)| Type::of(*scalar))
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

fn absent_or_unknown(name: &str) -> SqlError {
    let word = name.split_once('(').map_or(name, |(word, _)| word);
    if ABSENT.contains(&word) { SqlError::unsupported(format!("type {word}")) } else { unknown(word) }
}

fn invalid(message: String) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// A name that the parser does not know as a type: `oid`, `name`, `"char"`, `pg_catalog.text`.
fn custom(name: &ast::ObjectName, modifiers: &[String]) -> Result<(Type, Modifier)> {
    let parts: Vec<String> = name.0.iter().map(word).collect();
    let dotted = || parts.join(".");
    let found = match parts.as_slice() {
        [name] => Type::parse_name(name),
        [schema, name] if schema == "pg_catalog" => Type::parse_name(name),
        _ => None,
    };
    let found = found.ok_or_else(|| match parts.as_slice() {
        [name] => absent_or_unknown(name),
        [schema, name] if schema == "pg_catalog" && ABSENT.contains(&name.as_str()) => absent_or_unknown(name),
        _ => unknown(&dotted()),
    })?;
    let numbers: Vec<i64> = modifiers
        .iter()
        .map(|modifier| {
            modifier.parse().map_err(|_| {
                SqlError::new(state::SYNTAX_ERROR, "type modifiers must be simple constants or identifiers")
            })
        })
        .collect::<Result<_>>()?;
    Ok((found, modifier_of(found, &numbers)?))
}

/// A part of a name: as it is written in quotes, else in small letters.
fn word(part: &ast::ObjectNamePart) -> String {
    match part.as_ident() {
        Some(ident) if ident.quote_style.is_some() => ident.value.clone(),
        Some(ident) => ident.value.to_lowercase(),
        None => part.to_string(),
    }
}

fn modifier_of(data_type: Type, numbers: &[i64]) -> Result<Modifier> {
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    match (data_type.scalar, numbers) {
        (_, []) => Ok(Modifier::NONE),
        (Scalar::Varchar, [length]) => length_modifier(positive(*length), "varchar"),
        (Scalar::Bpchar, [length]) => length_modifier(positive(*length), "char"),
        (Scalar::Numeric, [precision]) => numeric_modifier(*precision, 0),
        (Scalar::Numeric, [precision, scale]) => numeric_modifier(*precision, *scale),
        (Scalar::Time | Scalar::Timestamp | Scalar::Timestamptz, [digits]) => Ok(seconds(Some(positive(*digits)))),
        (Scalar::Interval, [digits]) => Ok(Modifier::of_interval(None, Some(positive(*digits).min(6) as u8))),
        (Scalar::Varchar | Scalar::Bpchar | Scalar::Numeric, _) => Err(invalid("invalid type modifier".into())),
        _ => Err(SqlError::new(
            state::SYNTAX_ERROR,
            format!("type modifier is not allowed for type \"{}\"", data_type.internal_name()),
        )),
    }
}

fn float(precision: &ExactNumberInfo) -> Result<(Type, Modifier)> {
    let scalar = match precision {
        ExactNumberInfo::None | ExactNumberInfo::Precision(25..=53) => Scalar::Float8,
        ExactNumberInfo::Precision(1..=24) => Scalar::Float4,
        ExactNumberInfo::Precision(0) => {
            return Err(invalid("precision for type float must be at least 1 bit".into()));
        }
        ExactNumberInfo::Precision(_) => {
            return Err(invalid("precision for type float must be less than 54 bits".into()));
        }
        ExactNumberInfo::PrecisionAndScale(..) => {
            return Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \",\""));
        }
    };
    Ok((Type::of(scalar), Modifier::NONE))
}

fn numeric(info: &ExactNumberInfo) -> Result<(Type, Modifier)> {
    let modifier = match *info {
        ExactNumberInfo::None => Modifier::NONE,
        ExactNumberInfo::Precision(precision) => numeric_modifier(precision.min(1 << 31) as i64, 0)?,
        ExactNumberInfo::PrecisionAndScale(precision, scale) => numeric_modifier(precision.min(1 << 31) as i64, scale)?,
    };
    Ok((Type::NUMERIC, modifier))
}

fn numeric_modifier(precision: i64, scale: i64) -> Result<Modifier> {
    if !(1..=1000).contains(&precision) {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok(Modifier::of_numeric(precision as u16, scale as i16))
}

fn character(length: &Option<CharacterLength>, name: &str, otherwise: Modifier) -> Result<Modifier> {
    match length {
        None => Ok(otherwise),
        Some(CharacterLength::IntegerLength { length, .. }) => length_modifier(*length, name),
        Some(CharacterLength::Max) => Err(SqlError::new(state::SYNTAX_ERROR, "syntax error at or near \"max\"")),
    }
}

fn length_modifier(length: u64, name: &str) -> Result<Modifier> {
    match length {
        0 => Err(invalid(format!("length for type {name} must be at least 1"))),
        1..=LENGTH_LIMIT => Ok(Modifier::of_length(length as u32)),
        _ => Err(invalid(format!("length for type {name} cannot exceed {LENGTH_LIMIT}"))),
    }
}

/// The modifier of the types of time; more than six digits mean six.
fn seconds(digits: Option<u64>) -> Modifier {
    digits.map_or(Modifier::NONE, |digits| Modifier(digits.min(6) as i32))
}

fn range(fields: &ast::IntervalFields) -> IntervalRange {
    use ast::IntervalFields as Fields;
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
        let (data_type, modifier) = Type::from_ast(&parser.parse_data_type().unwrap())?;
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
