//! Values as text: types of CSV fields, and the output format of values.

use serde_json::Value as Json;
use seriatim::{ColumnType, Date, Value, ValueRef};

/// Parses a field as a value of a column of this type.
pub fn parse(field: &str, kind: ColumnType) -> Option<Value> {
    Some(match kind {
        ColumnType::Bool => match field.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => Value::Bool(true),
            "false" | "f" | "no" | "0" => Value::Bool(false),
            _ => return None,
        },
        ColumnType::Int => Value::Int(field.parse().ok()?),
        ColumnType::Float => Value::Float(field.parse().ok()?),
        ColumnType::Text => Value::Text(field.to_owned()),
        ColumnType::Date => Value::Date(Date::parse(field)?.days),
        ColumnType::Bytes | ColumnType::Timestamp => return None,
    })
}

/// Returns the type by its name in `--types`.
pub fn type_called(name: &str) -> Option<ColumnType> {
    Some(match name.to_ascii_lowercase().as_str() {
        "bigint" | "int" | "integer" | "int8" => ColumnType::Int,
        "double precision" | "double" | "float" | "float8" | "real" => ColumnType::Float,
        "boolean" | "bool" => ColumnType::Bool,
        "date" => ColumnType::Date,
        "text" | "varchar" | "string" => ColumnType::Text,
        _ => return None,
    })
}

/// Types that fit all fields of a column seen so far.
///
/// A type fits only if the value reads back as it was written. `007` and `+49` are texts, since a number would lose the zeros
/// and the sign. Integers too large for their type, or for an exact float among floats, are texts too.
#[derive(Clone, Debug)]
pub struct Inference {
    integer: bool,
    float: bool,
    boolean: bool,
    date: bool,
    seen: bool,
}

impl Default for Inference {
    fn default() -> Inference {
        Inference { integer: true, float: true, boolean: true, date: true, seen: false }
    }
}

impl Inference {
    /// Records a field that is not NULL.
    pub fn see(&mut self, field: &str) {
        self.seen = true;
        self.integer = self.integer && is_plain_integer(field);
        self.float = self.float && is_plain_float(field);
        self.boolean = self.boolean && matches!(field.to_ascii_lowercase().as_str(), "true" | "false");
        self.date = self.date && Date::parse(field).is_some();
    }

    /// The narrowest type that holds every field seen; text for a column without any.
    pub fn conclude(&self) -> ColumnType {
        match self {
            Inference { seen: false, .. } => ColumnType::Text,
            Inference { integer: true, .. } => ColumnType::Int,
            Inference { float: true, .. } => ColumnType::Float,
            Inference { boolean: true, .. } => ColumnType::Bool,
            Inference { date: true, .. } => ColumnType::Date,
            _ => ColumnType::Text,
        }
    }
}

fn is_plain_integer(field: &str) -> bool {
    field.parse::<i64>().is_ok_and(|number| number.to_string() == field)
}

/// Beyond this, not every integer is exact as a float.
const EXACT_FLOAT: i64 = 1 << 53;

fn is_plain_float(field: &str) -> bool {
    let digits = field.strip_prefix('-').unwrap_or(field);
    let whole = digits.split(['.', 'e', 'E']).next().unwrap_or("");
    if is_plain_integer(field) {
        return field.parse::<i64>().is_ok_and(|number| (-EXACT_FLOAT..=EXACT_FLOAT).contains(&number));
    }
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    let well_formed =
        !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() > whole.len();
    well_formed && !leading_zero && field.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A value as a CSV field.
pub fn to_field(value: ValueRef<'_>, null: &str) -> String {
    match value {
        ValueRef::Null => null.to_owned(),
        ValueRef::Text(text) => text.to_owned(),
        other => other.to_string(),
    }
}

/// A value as JSON; what JSON has no form for (dates, bytes, floats that are no number) as text.
pub fn to_json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Bool(v) => v.into(),
        ValueRef::Int(v) => v.into(),
        ValueRef::Float(v) if v.is_finite() => v.into(),
        ValueRef::Text(v) => v.into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(fields: &[&str]) -> ColumnType {
        let mut inference = Inference::default();
        fields.iter().for_each(|field| inference.see(field));
        inference.conclude()
    }

    #[test]
    fn the_narrowest_type_wins() {
        assert_eq!(inferred(&["1", "-2", "9223372036854775807"]), ColumnType::Int);
        assert_eq!(inferred(&["1", "2.50", "-3e-2"]), ColumnType::Float);
        assert_eq!(inferred(&["true", "FALSE"]), ColumnType::Bool);
        assert_eq!(inferred(&["1996-07-04", "2000-02-29"]), ColumnType::Date);
        assert_eq!(inferred(&["1996-07-04", "soon"]), ColumnType::Text);
        assert_eq!(inferred(&[]), ColumnType::Text);
    }

    #[test]
    fn what_a_number_would_change_stays_a_text() {
        for fields in [
            &["051100"][..],
            &["+49"],
            &["-0"],
            &["9223372036854775808"],
            &["9007199254740993", "0.5"],
            &["007.5"],
            &["inf"],
            &["NaN"],
            &[".5"],
            &["1 "],
            &["1999-02-29"],
            &["1e999"],
        ] {
            assert_eq!(inferred(fields), ColumnType::Text, "{fields:?}");
        }
    }

    #[test]
    fn fields_read_back_as_they_were_written() {
        for (field, kind) in [("-7", ColumnType::Int), ("2.5", ColumnType::Float), ("1996-07-04", ColumnType::Date)] {
            assert_eq!(to_field(parse(field, kind).unwrap().as_ref(), ""), field);
        }
        assert_eq!(parse("x", ColumnType::Int), None);
        assert_eq!(to_field(ValueRef::Null, "\\N"), "\\N");
    }
}
