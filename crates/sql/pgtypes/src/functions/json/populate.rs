//! Rows from objects: `jsonb_populate_record` and its kin. Source: PostgreSQL 15, `jsonfuncs.c`.

use super::super::table::*;
use super::scan::{Value, as_text, parse, unquote};
use crate::defined::{self, Attribute};
use crate::text::check_rules;
use crate::{Modifier, Record, RowShape, Styles, text};
use std::collections::HashMap;
use std::sync::Arc;

/// Puts objects into functions' names, for messages.
macro_rules! populating {
    ($record:literal, $recordset:literal, $to_record:literal, $to_recordset:literal, $json:expr) => {
        [
            typed($record, &[ANYELEMENT, $json], ANYELEMENT, |env, types, a| record(env, types[0], a, $record))
                .called_on_null(),
            typed_set($recordset, &[ANYELEMENT, $json], ANYELEMENT, |env, types, a| {
                if a[1].is_null() {
                    return Ok(vec![]);
                }
                let wanted = Wanted::of(types[0], &a[0], $recordset)?;
                let base = base(&a[0]);
                objects(&a[1], $recordset)?.into_iter().map(|object| wanted.row(env, base, object)).collect()
            })
            .called_on_null(),
            session($to_record, &[$json], RECORD, |_, _| Err(undetermined($to_record))),
            set($to_recordset, &[$json], RECORD, |_, _| Err(undetermined($to_recordset))).stable(),
            session(concat!($to_record, " as"), &[$json, RECORD], RECORD, |env, a| {
                Wanted::described(&a[1])?.row(env, None, a[0].as_text().unwrap_or_default())
            }),
            set(concat!($to_recordset, " as"), &[$json, RECORD], RECORD, |env, a| {
                let wanted = Wanted::described(&a[1])?;
                objects(&a[0], $to_recordset)?.into_iter().map(|object| wanted.row(env, None, object)).collect()
            })
            .stable(),
        ]
    };
}

/// The functions. Those whose names end in ` as` are called with the columns of FROM, as a row of the modifiers of their types.
pub(super) static FUNCTIONS: [[Function; 6]; 2] = [
    populating!("json_populate_record", "json_populate_recordset", "json_to_record", "json_to_recordset", JSON),
    populating!("jsonb_populate_record", "jsonb_populate_recordset", "jsonb_to_record", "jsonb_to_recordset", JSONB),
];

fn undetermined(function: &str) -> Error {
    let message = format!("could not determine row type for result of {function}");
    Error::new(state::FEATURE_NOT_SUPPORTED, message).hint(
        "Provide a non-null record argument, or call the function in the FROM clause using a column definition list.",
    )
}

fn invalid(message: String) -> Error {
    Error::new(state::INVALID_PARAMETER_VALUE, message)
}

/// The rows that are wanted.
struct Wanted {
    attributes: Vec<Attribute>,
    shape: Arc<RowShape>,
}

fn base(value: &Datum) -> Option<&Record> {
    if let Datum::Record(record) = value { Some(record) } else { None }
}

fn record(env: &dyn Env, data_type: Type, a: &[Datum], function: &str) -> Result<Datum> {
    let wanted = Wanted::of(data_type, &a[0], function)?;
    match a[1].as_text() {
        Some(json) => wanted.row(env, base(&a[0]), json),
        None => Ok(a[0].clone()),
    }
}

/// The elements of an array of objects.
fn objects<'t>(json: &'t Datum, function: &str) -> Result<Vec<&'t str>> {
    let elements = match parse(json.as_text().unwrap_or_default()) {
        Value::Array(elements) => elements,
        _ if function.starts_with("jsonb") => return Err(invalid(format!("cannot call {function} on a non-array"))),
        Value::Object(_) => return Err(invalid(format!("cannot call {function} on an object"))),
        _ => return Err(invalid(format!("cannot call {function} on a scalar"))),
    };
    if elements.iter().all(|element| element.starts_with('{')) {
        return Ok(elements);
    }
    Err(invalid(format!("argument of {function} must be an array of objects")))
}

impl Wanted {
    /// Rows of the type of the first argument.
    fn of(data_type: Type, value: &Datum, function: &str) -> Result<Wanted> {
        if let Some(oid) = data_type.composite() {
            let found = defined::find(oid).ok_or_else(|| defined::unknown(oid))?;
            return Ok(Wanted { attributes: found.attributes.clone(), shape: found.shape.clone() });
        }
        match base(value).and_then(|record| record.shape.clone()) {
            Some(shape) => {
                let modifiers = std::iter::repeat(Modifier::NONE);
                Ok(Wanted { attributes: attributes(&shape, modifiers), shape })
            }
            None if data_type == RECORD => Err(undetermined(function)),
            None => {
                let message = format!("first argument of {function} must be a row type");
                Err(Error::new(state::DATATYPE_MISMATCH, message))
            }
        }
    }

    /// Rows of these columns, whose values are the modifiers of their types.
    fn described(columns: &Datum) -> Result<Wanted> {
        let columns = base(columns).ok_or_else(|| undetermined("json_to_record"))?;
        let shape = columns.shape.clone().ok_or_else(|| undetermined("json_to_record"))?;
        let modifiers = columns.fields.iter().map(|it| Modifier(it.as_i64().map_or(-1, |number| number as i32)));
        Ok(Wanted { attributes: attributes(&shape, modifiers), shape })
    }

    /// The row of an object. Where the object has no such name, the field is that of `base`.
    fn row(&self, env: &dyn Env, base: Option<&Record>, json: &str) -> Result<Datum> {
        let members = match parse(json) {
            Value::Object(members) => members,
            Value::Array(_) => return Err(invalid("cannot call populate_composite on an array".to_owned())),
            _ => return Err(invalid("cannot call populate_composite on a scalar".to_owned())),
        };
        let mut values = HashMap::with_capacity(members.len());
        for (name, value) in members {
            values.insert(unquote(name)?, value);
        }
        let styles = env.styles();
        let field = |(at, attribute): (usize, &Attribute)| {
            let before = base.and_then(|base| base.fields.get(at)).unwrap_or(&Datum::Null);
            match values.get(&*attribute.name) {
                None => Ok(before.clone()),
                Some(json) => {
                    check_rules(attribute)?;
                    let key = Key { name: &attribute.name, env, styles: &styles };
                    key.value(attribute.data_type, attribute.modifier, before, json)
                }
            }
        };
        let fields = self.attributes.iter().enumerate().map(field).collect::<Result<_>>()?;
        Ok(Datum::Record(Arc::new(Record { fields, shape: Some(self.shape.clone()) })))
    }
}

fn attributes(shape: &RowShape, modifiers: impl Iterator<Item = Modifier>) -> Vec<Attribute> {
    let attribute = |(place, ((name, data_type), modifier)): (u16, (&(smol_str::SmolStr, Type), Modifier))| Attribute {
        name: name.clone(),
        data_type: *data_type,
        modifier,
        place,
        domain: None,
    };
    (0..).zip(shape.fields.iter().zip(modifiers)).map(attribute).collect()
}

/// What the values of one name have in common.
struct Key<'k> {
    name: &'k str,
    env: &'k dyn Env,
    styles: &'k Styles,
}

impl Key<'_> {
    fn value(&self, data_type: Type, modifier: Modifier, before: &Datum, json: &str) -> Result<Datum> {
        match parse(json) {
            Value::Null => Ok(Datum::Null),
            Value::String(_) => self.scalar(data_type, modifier, json),
            Value::Array(elements) if data_type.is_array => {
                let element = Type::of(data_type.scalar);
                let array = crate::stack::ensure_stack(|| self.array(element, modifier, &elements))?;
                check_dimensions(&array)?;
                Ok(array.into())
            }
            _ if data_type.is_array => Err(self.no_array()),
            _ if data_type.composite().is_some() => {
                let wanted = Wanted::of(data_type, before, "populate_composite")?;
                crate::stack::ensure_stack(|| wanted.row(self.env, base(before), json))
            }
            _ => self.scalar(data_type, modifier, json),
        }
    }

    fn scalar(&self, data_type: Type, modifier: Modifier, json: &str) -> Result<Datum> {
        let written = match data_type {
            Type::JSON | Type::JSONB => Datum::from(json),
            _ => as_text(json)?,
        };
        match written.as_text() {
            Some(written) => text::parse(written, data_type, modifier, self.styles),
            None => Ok(Datum::Null),
        }
    }

    fn array(&self, element: Type, modifier: Modifier, elements: &[&str]) -> Result<Array> {
        let is_nested = elements.first().is_some_and(|first| first.starts_with('['));
        let value = |json: &&str| match parse(json) {
            Value::Array(inner) if is_nested => {
                crate::stack::ensure_stack(|| self.array(element, modifier, &inner)).map(Datum::from)
            }
            _ if is_nested => Err(self.no_array()),
            Value::Array(_) => Err(malformed()),
            _ => self.value(element, modifier, &Datum::Null, json),
        };
        Ok(Array::new(element.scalar, elements.iter().map(value).collect::<Result<_>>()?))
    }

    fn no_array(&self) -> Error {
        Error::new(state::INVALID_TEXT_REPRESENTATION, "expected JSON array")
            .hint(format!("See the value of key \"{}\".", self.name))
    }
}

fn malformed() -> Error {
    Error::new(state::INVALID_TEXT_REPRESENTATION, "malformed JSON array")
        .detail("Multidimensional arrays must have sub-arrays with matching dimensions.")
}

/// All arrays of one depth must have the same length.
fn check_dimensions(array: &Array) -> Result<()> {
    let inner = |element: &Datum| element.as_array().map(Array::dimensions);
    let first = array.elements.first().and_then(inner);
    for element in &array.elements {
        if inner(element) != first {
            return Err(malformed());
        }
        element.as_array().map_or(Ok(()), check_dimensions)?;
    }
    Ok(())
}
