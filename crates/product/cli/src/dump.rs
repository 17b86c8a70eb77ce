//! `seriatim dump`.

use crate::failure::{Failure, Outcome};
use crate::inspect::{Name, open_database_to_read};
use crate::values;
use clap::{Args, ValueEnum};
use serde_json::Value as Json;
use seriatim::{Database, Error, Row, RowKind, RowTable};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Write a consistent snapshot of a table to standard output.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim dump --data ./data products > products.csv\n  \
    seriatim dump --data ./data products --format json | jq .product_name\n\n\
    CSV starts with a header line, and `seriatim load` reads it. JSON is one object per line.")]
pub struct Dump {
    /// Database directory.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    #[command(flatten)]
    database: Name,
    /// Name of the table.
    table: String,
    /// Output format.
    #[arg(long, value_enum, default_value_t = DumpFormat::Csv)]
    format: DumpFormat,
    /// Text for NULL in CSV.
    #[arg(long, value_name = "STRING", default_value = "")]
    null: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum DumpFormat {
    Csv,
    Json,
}

impl Dump {
    pub fn run(&self) -> Outcome {
        let db = open_database_to_read(&self.data, &self.database)?;
        let table = db.open_table(&self.table).map_err(|error| self.unknown(&db, &error))?;
        let snapshot = db.snapshot()?;
        let mut out = BufWriter::new(io::stdout().lock());
        match self.format {
            DumpFormat::Csv => self.write_csv(&table, table.iter(&snapshot), &mut out)?,
            DumpFormat::Json => write_json(&table, table.iter(&snapshot), &mut out)?,
        }
        out.flush()?;
        snapshot.finish()?;
        Ok(())
    }

    /// A table that is not there, or that only SQL can open.
    fn unknown(&self, db: &Database, error: &Error) -> Failure {
        if !db.tables_for_sql_alone().contains(&self.table) {
            return Failure::trouble(error);
        }
        let (data, table) = (self.data.display(), &self.table);
        Failure::Trouble(format!(
            "{error}; by SQL: seriatim sql --data {data} -c 'COPY {table} TO STDOUT (FORMAT csv, HEADER)', or pg_dump \
             where a server runs"
        ))
    }

    fn write_csv(
        &self,
        table: &RowTable,
        rows: impl Iterator<Item = seriatim::Result<Row>>,
        out: &mut impl Write,
    ) -> Outcome {
        let mut writer = csv::Writer::from_writer(out);
        let failed = |error: csv::Error| match error.into_kind() {
            csv::ErrorKind::Io(error) => Failure::from(error),
            other => Failure::trouble(format!("{other:?}")),
        };
        writer.write_record(names(table)).map_err(failed)?;
        for row in rows {
            let row = row?;
            let fields = row.values().into_iter().map(|value| values::to_field(value, &self.null));
            writer.write_record(fields.collect::<Vec<_>>()).map_err(failed)?;
        }
        Ok(writer.flush()?)
    }
}

fn write_json(table: &RowTable, rows: impl Iterator<Item = seriatim::Result<Row>>, out: &mut impl Write) -> Outcome {
    let names = names(table);
    for row in rows {
        let row = row?;
        // Field by field: a JSON object of the library would sort its names.
        for (at, (name, value)) in names.iter().zip(row.values()).enumerate() {
            let (before, value) = (if at == 0 { '{' } else { ',' }, values::to_json(value));
            write!(out, "{before}{}:{value}", Json::from(name.as_str()))?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn names(table: &RowTable) -> Vec<String> {
    match table.schema().rows() {
        RowKind::Typed => table.schema().columns().iter().map(|column| column.name.clone()).collect(),
        RowKind::Bytes => vec!["key".into(), "value".into()],
    }
}
