//! Names of types as written in SQL.

use super::facts::FACTS;
use super::{Modifier, Scalar, Type};
use crate::error::{Error, Result, state};

/// Names that stand for another type's.
const ALIASES: &[(&str, Scalar)] = &[
    ("int", Scalar::Int4),
    ("decimal", Scalar::Numeric),
    ("dec", Scalar::Numeric),
    ("float", Scalar::Float8),
    ("character", Scalar::Bpchar),
    ("time without time zone", Scalar::Time),
];

/// Types that PostgreSQL has and this server does not: their error differs from that of an unknown name.
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
    "regconfig",
    "regdictionary",
    "xid8",
    "cid",
];

const LENGTH_LIMIT: u64 = 10_485_760;

impl Type {
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

    /// Modifier of a type that is written with these numbers in parentheses.
    ///
    /// # Errors
    /// 22023 for a number that the type does not take, 42601 for a type that takes none.
    pub fn modifier(self, numbers: &[i64]) -> Result<Modifier> {
        let positive = |number: i64| u64::try_from(number).unwrap_or(0);
        match (self.scalar, numbers) {
            (_, []) => Ok(Modifier::NONE),
            (Scalar::Varchar, [length]) => length_modifier(positive(*length), "varchar"),
            (Scalar::Bpchar, [length]) => length_modifier(positive(*length), "char"),
            (Scalar::Numeric, [precision]) => numeric_modifier(*precision, 0),
            (Scalar::Numeric, [precision, scale]) => numeric_modifier(*precision, *scale),
            (Scalar::Time | Scalar::Timestamp | Scalar::Timestamptz, [digits]) => Ok(seconds(Some(positive(*digits)))),
            (Scalar::Interval, [digits]) => Ok(Modifier::of_interval(None, Some(positive(*digits).min(6) as u8))),
            (Scalar::Varchar | Scalar::Bpchar | Scalar::Numeric, _) => Err(invalid("invalid type modifier")),
            _ => Err(Error::new(
                state::SYNTAX_ERROR,
                format!("type modifier is not allowed for type \"{}\"", self.internal_name()),
            )),
        }
    }
}

/// Error for a name that is no type here: 0A000 for a type that PostgreSQL has, else 42704.
pub fn type_not_found(name: &str) -> Error {
    let word = name.split_once('(').map_or(name, |(word, _)| word);
    if ABSENT.contains(&word) {
        return Error::unsupported(format!("type {word}")).hint(instead_of(word));
    }
    Error::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// What to use in the place of a type.
fn instead_of(absent: &str) -> &'static str {
    match absent {
        "money" => "Use numeric.",
        "bit" | "varbit" => "Use text of 0 and 1, or an integer with & and |.",
        "inet" | "cidr" | "macaddr" | "macaddr8" => "Use text, with a CHECK of its form.",
        "point" | "line" | "lseg" | "box" | "path" | "polygon" | "circle" => "Use columns of type double precision.",
        "tsvector" | "tsquery" | "regconfig" | "regdictionary" => "Use LIKE, ILIKE or a regular expression on text.",
        "timetz" | "time with time zone" => "Use timestamptz, or time and a column with the zone.",
        "jsonpath" => "Use ->, ->>, #> and @> on jsonb.",
        range if range.ends_with("range") => "Use two columns, with a CHECK of their order.",
        _ => "Use text, and convert in the application.",
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(state::INVALID_PARAMETER_VALUE, message)
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::IntervalRange;

    /// Type and modifier of `numeric(5,2)`, `varchar(2)[]`, `interval year to month` and the like.
    pub(crate) fn written(text: &str) -> (Type, Modifier) {
        if let Some(element) = text.strip_suffix("[]") {
            let (element, modifier) = written(element);
            return (element.to_array().expect("an array type"), modifier);
        }
        let range = match text {
            "interval day" => Some(IntervalRange::DAY),
            "interval minute to second" => Some(IntervalRange::MINUTE_TO_SECOND),
            "interval year to month" => Some(IntervalRange::YEAR_TO_MONTH),
            _ => None,
        };
        if let Some(range) = range {
            return (Type::INTERVAL, Modifier::of_interval(Some(range), None));
        }
        let (name, numbers) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((name, numbers)) => {
                (name, numbers.split(',').map(|number| number.parse().expect("a number")).collect())
            }
            None => (text, vec![]),
        };
        // SQL's `char` is the type that PostgreSQL calls `bpchar`; in quotes it is another.
        let data_type = if name == "char" { Type::BPCHAR } else { Type::parse_name(name).expect("a type") };
        (data_type, data_type.modifier(&numbers).expect("a modifier"))
    }

    #[test]
    fn modifiers_are_checked_as_postgresql_does() {
        let cases: [(Type, &[i64], &str, &str); 6] = [
            (Type::VARCHAR, &[0], "22023", "length for type varchar must be at least 1"),
            (Type::BPCHAR, &[10_485_761], "22023", "length for type char cannot exceed 10485760"),
            (Type::NUMERIC, &[1001], "22023", "NUMERIC precision 1001 must be between 1 and 1000"),
            (Type::NUMERIC, &[10, 1001], "22023", "NUMERIC scale 1001 must be between -1000 and 1000"),
            (Type::VARCHAR, &[1, 2], "22023", "invalid type modifier"),
            (Type::OID, &[3], "42601", "type modifier is not allowed for type \"oid\""),
        ];
        for (data_type, numbers, code, message) in cases {
            let error = data_type.modifier(numbers).unwrap_err();
            assert_eq!((error.code(), error.message()), (code, message));
        }
        assert_eq!(Type::NUMERIC.format(Type::NUMERIC.modifier(&[10, 2]).unwrap()), "numeric(10,2)");
        assert_eq!(Type::TIME.modifier(&[9]).unwrap(), Type::TIME.modifier(&[6]).unwrap());
    }

    #[test]
    fn absent_types_are_told_from_unknown_ones() {
        assert_eq!(type_not_found("inet").code(), state::FEATURE_NOT_SUPPORTED);
        assert_eq!(type_not_found("bit(3)").message(), "type bit is not supported");
        assert_eq!(type_not_found("foo").message(), "type \"foo\" does not exist");
    }
}
