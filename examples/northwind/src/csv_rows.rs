//! CSV files as rows of the tables.

use crate::failure::{Failure, Outcome};
use csv::{Position, StringRecord};
use seriatim::{Column, ColumnType, Date, Schema, Value};
use std::io::Read;

/// A row, and its line in the file.
pub type Line = (u64, Vec<Value>);

/// Reads all rows of a file whose header names exactly the columns of `schema`, in any order. An empty field is NULL.
pub fn read(name: &str, file: impl Read, schema: &Schema) -> Outcome<Vec<Line>> {
    let complaint = |error: csv::Error| Failure::Trouble(format!("{name}: {error}"));
    let mut reader = csv::Reader::from_reader(file);
    let fields = fields(name, reader.headers().map_err(complaint)?, schema)?;
    let (mut rows, mut record) = (Vec::new(), StringRecord::new());
    while reader.read_record(&mut record).map_err(complaint)? {
        let line = record.position().map_or(0, Position::line);
        let columns = schema.columns().iter().zip(&fields);
        let value = |(column, &field): (&Column, &usize)| {
            let text = &record[field];
            value(text, column).ok_or_else(|| {
                Failure::Trouble(format!("{name}:{line}: column {} has {text:?}, not a {}", column.name, column.kind))
            })
        };
        rows.push((line, columns.map(value).collect::<Outcome<_>>()?));
    }
    Ok(rows)
}

/// Returns the position of each column of the schema in the header.
fn fields(name: &str, header: &StringRecord, schema: &Schema) -> Outcome<Vec<usize>> {
    if let Some(extra) = header.iter().find(|field| schema.column(field).is_none()) {
        return Err(Failure::Trouble(format!("{name}:1: table {} has no column {extra}", schema.name())));
    }
    let position = |column: &Column| header.iter().position(|field| field == column.name);
    let missing = |column: &Column| Failure::Trouble(format!("{name}:1: column {} is missing", column.name));
    schema.columns().iter().map(|column| position(column).ok_or_else(|| missing(column))).collect()
}

/// Parses a field. `None` if it does not fit the column.
fn value(text: &str, column: &Column) -> Option<Value> {
    if text.is_empty() {
        return column.nullable.then_some(Value::Null);
    }
    Some(match column.kind {
        ColumnType::Bool => match text {
            "true" | "t" | "1" => Value::Bool(true),
            "false" | "f" | "0" => Value::Bool(false),
            _ => return None,
        },
        ColumnType::Int => Value::Int(text.parse().ok()?),
        ColumnType::Float => Value::Float(text.parse().ok()?),
        ColumnType::Text => Value::Text(text.to_owned()),
        ColumnType::Date => Value::Date(Date::parse(text)?.days),
        ColumnType::Bytes | ColumnType::Timestamp => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let columns = Schema::table("pets").column("id", ColumnType::Int).column("name", ColumnType::Text);
        columns.nullable("born", ColumnType::Date).key(["id"]).build().unwrap()
    }

    fn rows(text: &str) -> Result<Vec<Line>, String> {
        read("pets.csv", text.as_bytes(), &schema()).map_err(|failure| match failure {
            Failure::Trouble(what) => what,
            Failure::Finding => unreachable!("no audit here"),
        })
    }

    #[test]
    fn columns_come_in_any_order_and_empty_is_null() {
        let row = vec![Value::Int(7), Value::Text("Ann, \"the cat\"".into()), Value::Null];
        assert_eq!(rows("born,name,id\n,\"Ann, \"\"the cat\"\"\",7\n").unwrap(), [(2, row)]);
    }

    #[test]
    fn errors_name_file_line_and_column() {
        assert_eq!(rows("id,name\n").unwrap_err(), "pets.csv:1: column born is missing");
        assert_eq!(rows("id,name,born,legs\n").unwrap_err(), "pets.csv:1: table pets has no column legs");
        let error = rows("id,name,born\n1,a,\nx,b,\n").unwrap_err();
        assert!(error.starts_with("pets.csv:3: column id has \"x\""), "{error}");
        let error = rows("id,name,born\n1,,\n").unwrap_err();
        assert!(error.starts_with("pets.csv:2: column name has \"\""), "{error}");
    }
}
