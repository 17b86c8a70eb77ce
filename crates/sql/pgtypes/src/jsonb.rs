//! Order of jsonb, which is kept as text in normal form: objects, arrays, booleans, numbers, strings, null, from the greatest
//! to the least; of two containers the longer is greater. Equal values hash equally: `1.0` is `1`.

use super::Numeric;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Compares two values.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    if left == right {
        return Ordering::Equal;
    }
    let (left, right) = (Reader { rest: left }.value(), Reader { rest: right }.value());
    match (left.length(), right.length()) {
        // A scalar by itself is kept like an array of one, and is less than such an array.
        (None, Some(_)) => alone_with(&right),
        (Some(_), None) => alone_with(&left).reverse(),
        _ => left.compare(&right),
    }
}

/// Compares a top-level scalar with a container.
fn alone_with(container: &Value<'_>) -> Ordering {
    match container {
        Value::Array(elements) => 1.cmp(&elements.len()).then(Ordering::Less),
        _ => Ordering::Less,
    }
}

/// Hashes a value so that equal ones have the same hash.
pub(super) fn hash(text: &str, hasher: &mut impl Hasher) {
    Reader { rest: text }.value().hash(hasher);
}

/// In the order of their kinds.
enum Value<'t> {
    Null,
    String(Cow<'t, str>),
    Number(Numeric),
    Bool(bool),
    Array(Vec<Value<'t>>),
    Object(Vec<Member<'t>>),
}

/// A key and its value.
type Member<'t> = (Cow<'t, str>, Value<'t>);

impl Value<'_> {
    fn kind(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::String(_) => 1,
            Value::Number(_) => 2,
            Value::Bool(_) => 3,
            Value::Array(_) => 4,
            Value::Object(_) => 5,
        }
    }

    /// Number of elements or members of a container.
    fn length(&self) -> Option<usize> {
        match self {
            Value::Array(elements) => Some(elements.len()),
            Value::Object(members) => Some(members.len()),
            _ => None,
        }
    }

    fn compare(&self, other: &Value<'_>) -> Ordering {
        match (self, other) {
            (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Number(a), Value::Number(b)) => a.compare(b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Array(a), Value::Array(b)) => {
                let elements = || a.iter().zip(b).map(|(a, b)| a.compare(b)).find(|order| order.is_ne());
                a.len().cmp(&b.len()).then_with(|| elements().unwrap_or(Ordering::Equal))
            }
            (Value::Object(a), Value::Object(b)) => {
                let pair = |((ka, a), (kb, b)): (&Member<'_>, &Member<'_>)| {
                    ka.as_bytes().cmp(kb.as_bytes()).then_with(|| a.compare(b))
                };
                let members = || a.iter().zip(b).map(pair).find(|order| order.is_ne());
                a.len().cmp(&b.len()).then_with(|| members().unwrap_or(Ordering::Equal))
            }
            _ => self.kind().cmp(&other.kind()),
        }
    }

    fn hash(&self, hasher: &mut impl Hasher) {
        self.kind().hash(hasher);
        match self {
            Value::Null => {}
            Value::String(text) => text.hash(hasher),
            Value::Number(number) => number.hash_value(hasher),
            Value::Bool(value) => value.hash(hasher),
            Value::Array(elements) => elements.iter().for_each(|element| element.hash(hasher)),
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                key.hash(hasher);
                value.hash(hasher);
            }),
        }
    }
}

/// Reads jsonb text in normal form. Malformed input yields some value; it never panics.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn value(&mut self) -> Value<'t> {
        match self.rest.as_bytes().first() {
            Some(b'"') => Value::String(self.string()),
            Some(b'[') => Value::Array(self.list(']', Self::value)),
            Some(b'{') => Value::Object(self.list('}', |reader| {
                let key = reader.string();
                reader.pass(": ");
                (key, reader.value())
            })),
            _ => match self.until(self.rest.find([',', ']', '}']).unwrap_or(self.rest.len())) {
                "null" => Value::Null,
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                number => Numeric::parse(number).map_or(Value::Null, Value::Number),
            },
        }
    }

    fn list<T>(&mut self, end: char, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        self.until(1);
        let mut list = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with(end) {
            list.push(read(self));
            if !self.pass(", ") {
                break;
            }
        }
        self.until(1);
        list
    }

    fn string(&mut self) -> Cow<'t, str> {
        let mut escaped = false;
        let closing = self.rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let quoted = self.until(closing.map_or(self.rest.len(), |at| at + 2));
        let plain = quoted.trim_matches('"');
        match plain.contains('\\') {
            false => plain.into(),
            true => serde_json::from_str::<String>(quoted).map_or(plain.into(), Cow::from),
        }
    }

    fn pass(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn until(&mut self, at: usize) -> &'t str {
        let (before, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    #[test]
    fn values_are_in_the_order_of_postgresql() {
        let ordered = [
            "[]",
            "null",
            "\"\"",
            "\"Z\"",
            "\"a\"",
            "\"a\\\"\"",
            "\"é\"",
            "-1",
            "9",
            "9.5",
            "10",
            "false",
            "true",
            "[null]",
            "[1]",
            "[[1]]",
            "[{\"a\": 1}]",
            "[1, 2]",
            "[2, 1]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": [1]}",
            "{\"b\": 0}",
            "{\"a\": 1, \"b\": 1}",
        ];
        for (i, left) in ordered.iter().enumerate() {
            for (j, right) in ordered.iter().enumerate() {
                assert_eq!(compare(left, right), i.cmp(&j), "{left} and {right}");
            }
        }
    }

    #[test]
    fn numbers_are_equal_by_value_and_hash_so() {
        let hashed = |text: &str| {
            let mut hasher = DefaultHasher::new();
            hash(text, &mut hasher);
            hasher.finish()
        };
        for (left, right) in [("1.0", "1"), ("[1, 2.50]", "[1.00, 2.5]"), ("{\"a\": 0.0}", "{\"a\": 0}")] {
            assert_eq!(compare(left, right), Ordering::Equal, "{left} and {right}");
            assert_eq!(hashed(left), hashed(right), "{left} and {right}");
        }
    }
}
