//! Aggregates that collect values into a text, bytes, an array or JSON.

use super::super::Accumulator;
use super::super::arguments::{Arguments, check_length};
use super::super::json;
use super::*;

/// The aggregates of texts and bytes, and those with pairs.
pub(super) static AGGREGATES: &[Aggregate] = &[
    aggregate("string_agg", &[TEXT, TEXT], TEXT, || Box::new(Texts(None))).called_on_null(),
    aggregate("string_agg", &[BYTEA, BYTEA], BYTEA, || Box::new(Bytes(None))).called_on_null(),
    aggregate("array_agg", &[ANYARRAY], ANYARRAY, || Box::new(Arrays { element: None, values: vec![], bytes: 0 }))
        .called_on_null(),
    aggregate("array_agg", &[ANYENUM], ANYARRAY, || {
        Box::new(Arrays { element: Some(Scalar::Enum(0)), values: vec![], bytes: 0 })
    })
    .called_on_null(),
];

/// The number of types that `each_scalar` names.
const SCALARS: usize = 26;

macro_rules! each_scalar {
    ($row:ident) => {
        [
            $row!(Bool),
            $row!(Int2),
            $row!(Int4),
            $row!(Int8),
            $row!(Float4),
            $row!(Float8),
            $row!(Numeric),
            $row!(Text),
            $row!(Varchar),
            $row!(Bpchar),
            $row!(Name),
            $row!(Char),
            $row!(Bytea),
            $row!(Date),
            $row!(Time),
            $row!(Timestamp),
            $row!(Timestamptz),
            $row!(Interval),
            $row!(Uuid),
            $row!(Json),
            $row!(Jsonb),
            $row!(Oid),
            $row!(Xid),
            $row!(Regclass),
            $row!(Regtype),
            $row!(Record),
        ]
    };
}

macro_rules! array_of {
    ($scalar:ident) => {
        aggregate("array_agg", &[Type::of(Scalar::$scalar)], Type::array_of(Scalar::$scalar), || {
            Box::new(Arrays { element: Some(Scalar::$scalar), values: vec![], bytes: 0 })
        })
        .called_on_null()
    };
}

/// `array_agg` of each type: a value alone does not tell its array's type.
pub(super) static ARRAYS: [Aggregate; SCALARS] = each_scalar!(array_of);

/// Texts with what is between them; the first separator does not count, and NULLs are passed over.
struct Texts(Option<String>);

impl Accumulator for Texts {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let Some(value) = arguments.optional_text(0)? else { return Ok(()) };
        match &mut self.0 {
            None => self.0 = Some(value.to_owned()),
            Some(text) => {
                text.push_str(arguments.optional_text(1)?.unwrap_or(""));
                text.push_str(value);
                check_length(text.len())?;
            }
        }
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        Ok(self.0.as_deref().into())
    }

    fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, String::capacity)
    }
}

/// The bytea counterpart of [`Texts`].
struct Bytes(Option<Vec<u8>>);

impl Accumulator for Bytes {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if arguments[0].is_null() {
            return Ok(());
        }
        let value = arguments.bytes(0)?;
        match &mut self.0 {
            None => self.0 = Some(value.to_vec()),
            Some(bytes) => {
                if !arguments[1].is_null() {
                    bytes.extend_from_slice(arguments.bytes(1)?);
                }
                bytes.extend_from_slice(value);
                check_length(bytes.len())?;
            }
        }
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        Ok(self.0.clone().into())
    }

    fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::capacity)
    }
}

/// An array of all values; without an element type, they are arrays and say it themselves.
struct Arrays {
    element: Option<Scalar>,
    values: Vec<Datum>,
    bytes: usize,
}

impl Accumulator for Arrays {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let value = &arguments[0];
        if self.element.is_none() {
            if value.is_null() {
                return Err(Error::new(state::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
            }
            let array = arguments.array(0)?;
            self.check_shape(array)?;
            Array::check_dimensions(array.dimensions().len() + 1)?;
        }
        self.bytes += bytes_of(value);
        self.values.push(value.clone());
        Ok(())
    }

    fn value(&self) -> Result<Datum> {
        let nested = self.values.first().and_then(Datum::as_array).map(|array| array.element);
        // The values of an enum, and rows, say themselves of which type they are.
        let known = self.values.iter().find(|value| !value.is_null()).map(|value| value.natural_type().scalar);
        let own = known.filter(|_| matches!(self.element, Some(Scalar::Enum(_) | Scalar::Record)));
        let Some(element) = own.or(self.element).or(nested).filter(|_| !self.values.is_empty()) else {
            return Ok(Datum::Null);
        };
        Ok(Array::new(element, self.values.clone()).into())
    }

    fn memory(&self) -> usize {
        self.bytes
    }
}

impl Arrays {
    fn check_shape(&self, array: &Array) -> Result<()> {
        let message = match self.values.first().and_then(Datum::as_array) {
            _ if array.elements.is_empty() => "cannot accumulate empty arrays",
            Some(first) if first.elements.len() != array.elements.len() => {
                "cannot accumulate arrays of different dimensionality"
            }
            _ => return Ok(()),
        };
        Err(Error::new(state::ARRAY_SUBSCRIPT_ERROR, message))
    }
}

macro_rules! json_of {
    ($scalar:ident) => {
        [
            aggregate("json_agg", &[Type::of(Scalar::$scalar)], JSON, || {
                JsonValues::start(Type::of(Scalar::$scalar), false)
            })
            .called_on_null(),
            aggregate("jsonb_agg", &[Type::of(Scalar::$scalar)], JSONB, || {
                JsonValues::start(Type::of(Scalar::$scalar), true)
            })
            .called_on_null(),
        ]
    };
}

macro_rules! json_object_of {
    ($scalar:ident) => {
        [
            aggregate("json_object_agg", &[ANY, Type::of(Scalar::$scalar)], JSON, || {
                JsonMembers::start(Type::of(Scalar::$scalar), false)
            })
            .called_on_null(),
            aggregate("jsonb_object_agg", &[ANY, Type::of(Scalar::$scalar)], JSONB, || {
                JsonMembers::start(Type::of(Scalar::$scalar), true)
            })
            .called_on_null(),
        ]
    };
}

static JSON_ARRAYS: [[Aggregate; 2]; SCALARS] = each_scalar!(json_of);
static JSON_OBJECTS: [[Aggregate; 2]; SCALARS] = each_scalar!(json_object_of);

/// JSON aggregates of arrays, whose element type comes from each value, and of enums.
static JSON_OF_ARRAYS: [Aggregate; 8] = [
    aggregate("json_agg", &[ANYARRAY], JSON, || JsonValues::start(ANYARRAY, false)).called_on_null(),
    aggregate("jsonb_agg", &[ANYARRAY], JSONB, || JsonValues::start(ANYARRAY, true)).called_on_null(),
    aggregate("json_object_agg", &[ANY, ANYARRAY], JSON, || JsonMembers::start(ANYARRAY, false)).called_on_null(),
    aggregate("jsonb_object_agg", &[ANY, ANYARRAY], JSONB, || JsonMembers::start(ANYARRAY, true)).called_on_null(),
    aggregate("json_agg", &[ANYENUM], JSON, || JsonValues::start(ANYENUM, false)).called_on_null(),
    aggregate("jsonb_agg", &[ANYENUM], JSONB, || JsonValues::start(ANYENUM, true)).called_on_null(),
    aggregate("json_object_agg", &[ANY, ANYENUM], JSON, || JsonMembers::start(ANYENUM, false)).called_on_null(),
    aggregate("jsonb_object_agg", &[ANY, ANYENUM], JSONB, || JsonMembers::start(ANYENUM, true)).called_on_null(),
];

/// `json_agg` of rows that are JSON already: each begins a line.
pub(in super::super) static JSON_AGG_OF_ROWS: Aggregate =
    aggregate("json_agg", &[JSON], JSON, || JsonValues::of_rows()).called_on_null();

/// The tables of `json_agg` and its kin, by type.
pub(super) fn json_tables() -> impl Iterator<Item = &'static [Aggregate]> {
    let by_scalar = JSON_ARRAYS.iter().chain(&JSON_OBJECTS).map(|pair| &pair[..]);
    by_scalar.chain([&JSON_OF_ARRAYS[..]])
}

/// Type of an aggregated value: the declared one, or for an array the type that its value carries.
fn type_of(declared: Type, value: &Datum) -> Type {
    if declared == ANYARRAY { json::natural_type(value) } else { declared }
}

/// The text of a JSON that grows.
fn finished(text: &str, end: &str, binary: bool) -> Result<Datum> {
    let text = [text, end].concat();
    if binary { json::normalized(&text) } else { Ok(text.into()) }
}

/// A JSON array of all values.
struct JsonValues {
    data_type: Type,
    binary: bool,
    /// Whether the values are rows.
    rows: bool,
    text: String,
}

impl JsonValues {
    fn start(data_type: Type, binary: bool) -> Box<dyn Accumulator> {
        Box::new(JsonValues { data_type, binary, rows: data_type == RECORD, text: String::new() })
    }

    fn of_rows() -> Box<dyn Accumulator> {
        Box::new(JsonValues { data_type: JSON, binary: false, rows: true, text: String::new() })
    }
}

impl Accumulator for JsonValues {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let data_type = type_of(self.data_type, &arguments[0]);
        let is_structured = data_type.is_array || self.rows;
        self.text.push_str(match self.text.is_empty() {
            true => "[",
            false if is_structured && !arguments[0].is_null() => ", \n ",
            false => ", ",
        });
        json::push_value(&mut self.text, data_type, &arguments[0], &Default::default())?;
        check_length(self.text.len())
    }

    fn value(&self) -> Result<Datum> {
        if self.text.is_empty() { Ok(Datum::Null) } else { finished(&self.text, "]", self.binary) }
    }

    fn memory(&self) -> usize {
        self.text.capacity()
    }
}

/// A JSON object of pairs.
struct JsonMembers {
    data_type: Type,
    binary: bool,
    text: String,
}

impl JsonMembers {
    fn start(data_type: Type, binary: bool) -> Box<dyn Accumulator> {
        Box::new(JsonMembers { data_type, binary, text: String::new() })
    }
}

impl Accumulator for JsonMembers {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if arguments[0].is_null() {
            let message = "field name must not be null";
            return Err(Error::new(state::INVALID_PARAMETER_VALUE, message));
        }
        self.text.push_str(if self.text.is_empty() { "{ " } else { ", " });
        json::push_key(&mut self.text, json::natural_type(&arguments[0]), &arguments[0], &Default::default())?;
        self.text.push_str(" : ");
        json::push_value(&mut self.text, type_of(self.data_type, &arguments[1]), &arguments[1], &Default::default())?;
        check_length(self.text.len())
    }

    fn value(&self) -> Result<Datum> {
        if self.text.is_empty() { Ok(Datum::Null) } else { finished(&self.text, " }", self.binary) }
    }

    fn memory(&self) -> usize {
        self.text.capacity()
    }
}
