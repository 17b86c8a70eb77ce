//! Commands that inspect and maintain a database.

use crate::cluster::check_not_of_a_node;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Format};
use clap::Args;
use env::RealDisk;
use serde_json::{Value as Json, json};
use seriatim::{Builder, Database, Error, Fault, KeyKind, Schema};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Opens a database, unless it belongs to a node of a cluster.
pub fn open(builder: Builder, path: &Path) -> Outcome<Database> {
    check_not_of_a_node(path)?;
    open_any(builder, path)
}

/// Opens a database. Prints a line if it waits for a killed process that is still terminating.
pub fn open_any(builder: Builder, path: &Path) -> Outcome<Database> {
    let opened = match builder.clone().directory_lock_limit(Duration::ZERO).open(path) {
        Err(Error::Fault(Fault::Locked { detail, by_ending: true })) => {
            // The reader of standard error may have closed it.
            let _ = writeln!(std::io::stderr(), "seriatim: waiting until it has ended: {detail}");
            builder.open(path)
        }
        opened => opened,
    };
    opened.map_err(|error| Failure::of_database(path, &error))
}

/// Opens an existing database: a mistyped path is an error, not a new database.
pub fn open_existing(path: &Path, builder: Builder) -> Outcome<Database> {
    check_existing(path)?;
    open(builder, path)
}

/// Commands that only read add nothing to a database, so it may use all available memory.
fn with_all_memory(builder: Builder) -> Builder {
    builder.memory(usize::try_from(env::memory()).unwrap_or(usize::MAX))
}

fn check_existing(path: &Path) -> Outcome {
    match Database::exists(path)? {
        true => Ok(()),
        false => Err(Failure::Trouble(format!("there is no database in {}", path.display()))),
    }
}

/// The database in a directory.
#[derive(Args)]
pub struct Name {
    /// Database in the directory. CREATE DATABASE of SQL makes others.
    #[arg(long = "database", value_name = "NAME", default_value = "postgres")]
    name: String,
}

impl Name {
    /// A builder that opens it.
    pub fn choose(&self, builder: Builder) -> Builder {
        builder.database(&*self.name)
    }
}

/// Opens a database of an existing directory for reading only.
pub fn open_database_to_read(path: &Path, database: &Name) -> Outcome<Database> {
    open_existing(path, database.choose(with_all_memory(Database::builder().read_only())))
}

/// Opens an existing database for reading only: other readers may do so at the same time, and the directory is not changed.
pub fn open_to_read(path: &Path) -> Outcome<Database> {
    open_existing(path, with_all_memory(Database::builder().read_only()))
}

/// List the tables with their columns, keys, indexes and row counts.
///
/// Tables that only SQL can open (no primary key, or column types of SQL only) are listed by \dt in `seriatim sql`.
#[derive(Args)]
#[command(after_help = "Examples:\n  seriatim tables --data ./data\n  seriatim tables --data ./data --format json")]
pub struct Tables {
    /// Database directory.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    #[command(flatten)]
    database: Name,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Tables {
    pub fn run(&self) -> Outcome {
        let db = open_database_to_read(&self.data, &self.database)?;
        let mut tables = db.tables();
        tables.sort_by(|a, b| a.name().cmp(b.name()));
        let snapshot = db.snapshot()?;
        let mut counted = Vec::new();
        for schema in &tables {
            counted.push((&**schema, db.open_table(schema.name())?.len(&snapshot)?));
        }
        snapshot.finish()?;
        match self.format {
            Format::Table => {
                describe(&counted)?;
                if !db.tables_for_sql_alone().is_empty() {
                    println!("And tables of SQL: seriatim sql --data {} -c '\\dt'", self.data.display());
                }
                Ok(())
            }
            Format::Json => output::json(&counted.iter().map(|(schema, rows)| as_json(schema, *rows)).collect()),
        }
    }
}

/// A paragraph for each table.
fn describe(tables: &[(&Schema, u64)]) -> Outcome {
    let mut out = std::io::stdout().lock();
    for (schema, rows) in tables {
        let rows = output::counted(*rows, "row");
        match schema.key() {
            KeyKind::U64 => writeln!(out, "{}: {rows} of bytes by unsigned integer", schema.name())?,
            KeyKind::Bytes => writeln!(out, "{}: {rows} of bytes by bytes", schema.name())?,
            KeyKind::Columns(key) => {
                writeln!(out, "{}: {rows} by {}", schema.name(), column_names(schema, key).join(", "))?;
            }
        }
        for column in schema.columns() {
            writeln!(out, "    {} {}{}", column.name, column.kind, if column.nullable { " null" } else { "" })?;
        }
        for index in schema.indexes() {
            let unique = if index.unique { "unique " } else { "" };
            let columns = column_names(schema, &index.columns).join(", ");
            writeln!(out, "    {unique}index {} ({columns})", index.name)?;
        }
    }
    Ok(out.flush()?)
}

fn as_json(schema: &Schema, rows: u64) -> Json {
    let columns = schema
        .columns()
        .iter()
        .map(|column| json!({ "name": column.name, "type": column.kind.to_string(), "nullable": column.nullable }));
    let indexes = schema.indexes().iter().map(
        |index| json!({ "name": index.name, "unique": index.unique, "columns": column_names(schema, &index.columns) }),
    );
    let key = match schema.key() {
        KeyKind::U64 => json!("u64"),
        KeyKind::Bytes => json!("bytes"),
        KeyKind::Columns(key) => json!(column_names(schema, key)),
    };
    json!({
        "table": schema.name(),
        "rows": rows,
        "key": key,
        "columns": columns.collect::<Vec<_>>(),
        "indexes": indexes.collect::<Vec<_>>(),
    })
}

fn column_names<'a>(schema: &'a Schema, columns: &[u16]) -> Vec<&'a str> {
    columns.iter().map(|&column| schema.columns()[usize::from(column)].name.as_str()).collect()
}

/// Show counters of the database, and the result of recovery.
#[derive(Args)]
#[command(
    name = "stats",
    after_help = "Examples:\n  seriatim stats --data ./data\n  seriatim stats --data ./data --format json"
)]
pub struct StatsOf {
    /// Database directory.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl StatsOf {
    pub fn run(&self) -> Outcome {
        let db = open_to_read(&self.data)?;
        let engine = db.stats().engine;
        let mut fields = vec![("tables", json!(db.tables().len() + db.tables_for_sql_alone().len()))];
        if let Some(log) = &engine.log {
            fields.extend([
                ("log_segments", json!(log.segments)),
                ("log_since_checkpoint_bytes", json!(log.bytes_since_checkpoint())),
                ("checkpoint_bytes", json!(log.checkpoint_bytes)),
            ]);
        }
        fields.push(("memory_bytes", json!(engine.memory_bytes)));
        fields.push(("recovery", json!(db.recovery().map(|found| found.to_string()))));
        output::record(self.format, fields)
    }
}

/// Verify every file of a closed database: checksums, record order, completeness.
#[derive(Args)]
#[command(after_help = "Examples:\n  seriatim verify ./data\n\n\
    Exit codes: 0 no damage; 1 damaged, with a report of where; 2 it cannot be read, or is open.")]
pub struct Verify {
    /// Database directory.
    data: PathBuf,
}

impl Verify {
    pub fn run(&self) -> Outcome {
        check_existing(&self.data)?;
        let report = match wal::verify(&RealDisk::read_only(&self.data)) {
            Ok(report) => report,
            Err(wal::LogError::Corrupt(damage)) => {
                println!("DAMAGED: {damage}");
                return Err(Failure::Finding);
            }
            Err(error) => return Err(Failure::Trouble(format!("{}: {error}", self.data.display()))),
        };
        let mut out = std::io::stdout().lock();
        for segment in &report.segments {
            let (records, bytes) = (output::grouped(segment.records), segment.bytes());
            write!(out, "{}: {records} records in {} bytes", segment.file, output::grouped(bytes))?;
            match segment.parts {
                0 => writeln!(out)?,
                parts => writeln!(out, ", {} parts of large ones among them", output::grouped(parts))?,
            }
        }
        match &report.checkpoint {
            Some(checkpoint) => writeln!(out, "checkpoint: {} entries", output::grouped(checkpoint.rows))?,
            None => writeln!(out, "no checkpoint")?,
        }
        writeln!(out, "{}", if report.clean { "closed cleanly" } else { "not closed: it was killed, or has crashed" })?;
        if let Some(cut) = &report.cut {
            let (file, offset, bytes) = (&cut.file, cut.offset, output::grouped(cut.bytes));
            writeln!(out, "{file}: {bytes} bytes from offset {offset} on were never acknowledged and will be cut off")?;
        }
        if report.unfinished > 0 {
            let count = output::grouped(report.unfinished);
            writeln!(
                out,
                "{count} large records without an end, of transactions that did not commit: they are passed over"
            )?;
        }
        for damage in &report.survivable {
            writeln!(out, "damaged, and a second copy is intact: {damage}")?;
        }
        for damage in &report.damage {
            writeln!(out, "DAMAGED: {damage}")?;
        }
        if !report.is_sound() {
            return Err(Failure::Finding);
        }
        writeln!(out, "sound: {} records", output::grouped(report.records()))?;
        Ok(())
    }
}

/// Write a checkpoint, which shortens the log and the next start.
#[derive(Args)]
#[command(after_help = "Examples:\n  seriatim checkpoint --data ./data")]
pub struct Checkpoint {
    /// Database directory.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl Checkpoint {
    pub fn run(&self) -> Outcome {
        let db = open_existing(&self.data, with_all_memory(Database::builder()))?;
        let report = db.checkpoint()?;
        db.close()?;
        println!(
            "{}, {}, {} written in {:.1} s",
            output::counted(report.tables as u64, "table"),
            output::counted(report.rows, "row"),
            output::counted(report.bytes, "byte"),
            report.elapsed.as_secs_f64()
        );
        Ok(())
    }
}

/// Back up a database to another directory, which can be opened as a database.
#[derive(Args)]
#[command(after_help = "Examples:\n  seriatim backup --data ./data ./backup-of-monday")]
pub struct Backup {
    /// Database directory.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Target directory; must be empty or not exist.
    to: PathBuf,
}

impl Backup {
    pub fn run(&self) -> Outcome {
        let db = open_to_read(&self.data)?;
        let report = db.backup_to(&self.to)?;
        let (tables, rows) = (output::counted(report.tables, "table"), output::counted(report.rows, "row"));
        println!("{tables}, {rows} copied to {}", self.to.display());
        Ok(())
    }
}
