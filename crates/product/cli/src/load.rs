//! `seriatim load`.

use crate::csv_table::{CsvTable, Dialect, Records};
use crate::failure::{Failure, Outcome};
use crate::inspect::{self, open_existing};
use crate::memory::Memory;
use crate::opening;
use crate::output::counted;
use crate::values::{self, Inference};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use seriatim::{ColumnType, Database, Error, KeyKind, RowTable, Schema, Value};
use std::fs::File;
use std::io::{IsTerminal, Read, stderr};
use std::path::{Path, PathBuf};

/// Advice for messages about creating a table.
const SAY_KEY: &str = "name the columns of the table's key: --key COLUMNS";

/// Load a CSV file into a table; creates the table if it does not exist.
///
/// The first line names the columns. The file is read twice: first to infer the columns' types (bigint, double precision,
/// boolean, date, else text; an empty field is NULL), then to load. Each batch is one transaction: after an error the earlier
/// batches stay and the failed one is rolled back; a new table that is still empty is dropped.
///
/// The table is visible to SQL. For a table with constraints, which only SQL checks, use COPY or \copy.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim load --data ./data cities cities.csv --key id\n  \
    seriatim load --data ./data details order_details.csv --key order_id,product_id\n  \
    seriatim load --data ./data cities newer.csv --replace\n  \
    gunzip -c cities.csv.gz | seriatim load --data ./data cities - --key id\n  \
    seriatim load --data ./data people people.csv --key id --types zip=text,born=date --null NULL --delimiter ';'")]
pub struct Load {
    /// Database directory; created if it does not exist.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    #[command(flatten)]
    database: inspect::Name,
    /// Name of the table.
    table: String,
    /// CSV file; `-` reads standard input, which is buffered in memory.
    file: PathBuf,
    /// Columns of the primary key, most significant first. Not needed if the table exists.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    key: Vec<String>,
    /// Replace rows whose key exists, instead of stopping with an error.
    #[arg(long)]
    replace: bool,
    /// Column types, instead of inferred ones: bigint, double precision, boolean, date, text.
    #[arg(long, value_name = "COLUMN=TYPE,...", value_delimiter = ',', value_parser = column_type)]
    types: Vec<(String, ColumnType)>,
    /// Text that means NULL.
    #[arg(long, value_name = "STRING", default_value = "")]
    null: String,
    /// Field delimiter: one ASCII character, or \t.
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = delimiter)]
    delimiter: u8,
    #[command(flatten)]
    memory: Memory,
    /// Rows per transaction.
    #[arg(long, value_name = "ROWS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,
}

fn column_type(text: &str) -> Result<(String, ColumnType), String> {
    let (column, name) = text.split_once('=').ok_or("say COLUMN=TYPE")?;
    let kind = values::type_called(name)
        .ok_or_else(|| format!("{name} is none of bigint, double precision, boolean, date and text"))?;
    Ok((column.to_owned(), kind))
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            &[byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(byte),
            _ => Err("one ASCII character other than a quote, or \\t".into()),
        },
    }
}

impl Load {
    fn builder(&self) -> seriatim::Builder {
        self.database.choose(self.memory.limit(Database::builder()))
    }

    pub fn run(&self) -> Outcome {
        let source = Source::of(&self.file)?;
        let dialect = Dialect { delimiter: self.delimiter, null: self.null.clone() };
        let (db, table, created) = if self.key.is_empty() {
            if !Database::exists(&self.data)? {
                let data = self.data.display();
                return Err(Failure::Trouble(format!("there is no database in {data} yet; to create it, {SAY_KEY}")));
            }
            let db = open_existing(&self.data, self.builder())?;
            let table = db
                .open_table(&self.table)
                .map_err(|error| Failure::Trouble(format!("{error}; to create it, {SAY_KEY}")))?;
            (db, table, false)
        } else {
            // Errors in the file are found before a directory is created for it.
            let inferred = self.infer(&source, &dialect)?;
            let db = inspect::open(self.builder(), &self.data)?;
            opening::warnings(&db, &self.data).iter().for_each(|line| eprintln!("{line}"));
            match db.open_table(&self.table) {
                Ok(table) => (db, table, false),
                Err(_) => {
                    let table = db.create_table(&inferred)?;
                    (db, table, true)
                }
            }
        };
        self.check_existing(table.schema())?;
        let mut loaded = 0;
        let outcome = self.insert_all(&db, &table, &source, &dialect, &mut loaded);
        if outcome.is_err() && created && loaded == 0 {
            // An empty table would hold the next attempt to this one's key and types.
            db.drop_table(&self.table)?;
        }
        outcome?;
        db.close()?;
        println!("{} loaded into {}", counted(loaded, "row"), self.table);
        Ok(())
    }

    /// The schema that fits the whole file.
    fn infer(&self, source: &Source, dialect: &Dialect) -> Outcome<Schema> {
        let name = &*source.name;
        let bar = Bar::new(source.length()?, "reading");
        let mut records = Records::open(name, source.open()?, dialect)?;
        let header: Vec<String> = records.header().iter().map(str::to_owned).collect();
        self.check_columns(name, &header)?;
        let mut columns: Vec<Found> = header.iter().map(|column| self.found(column)).collect();
        while let Some((line, record)) = records.next()? {
            for ((found, column), field) in columns.iter_mut().zip(&header).zip(record) {
                found
                    .see(field, &self.null)
                    .map_err(|what| Failure::Trouble(format!("{name}:{line}: column {column} {what}")))?;
            }
            bar.at(records.bytes_read());
        }
        let mut schema = Schema::table(&self.table);
        for (column, found) in header.iter().zip(&columns) {
            let kind = found.said.unwrap_or_else(|| found.inference.conclude());
            // A column that has no NULL in this file may have one in the next.
            schema = if found.is_key { schema.column(column, kind) } else { schema.nullable(column, kind) };
        }
        schema.key(self.key.iter().map(String::as_str)).build().map_err(Failure::trouble)
    }

    fn found(&self, column: &str) -> Found {
        let said = self.types.iter().find(|(name, _)| name == column).map(|(_, kind)| *kind);
        Found { said, is_key: self.key.iter().any(|key| key == column), inference: Inference::default() }
    }

    fn check_columns(&self, name: &str, header: &[String]) -> Outcome {
        if let Some((_, twice)) = self.key.iter().enumerate().find(|(at, column)| self.key[..*at].contains(column)) {
            return Err(Failure::Trouble(format!("--key names {twice} twice")));
        }
        let named = self.key.iter().map(|column| ("--key", column));
        let typed = self.types.iter().map(|(column, _)| ("--types", column));
        match named.chain(typed).find(|(_, column)| !header.contains(column)) {
            Some((option, column)) => Err(Failure::Trouble(format!(
                "{option} names {column}, but {name} has no such column: {}",
                header.join(", ")
            ))),
            None => Ok(()),
        }
    }

    /// Checks that the columns and the key given on the command line match the existing table.
    fn check_existing(&self, schema: &Schema) -> Outcome {
        let KeyKind::Columns(key) = schema.key() else {
            return Err(Failure::Trouble(format!("table {} is a table of bytes, which no CSV file fits", self.table)));
        };
        let key: Vec<&str> = key.iter().map(|&column| schema.columns()[usize::from(column)].name.as_str()).collect();
        if !self.key.is_empty() && self.key != key {
            return Err(Failure::Trouble(format!("table {} is there and has the key {}", self.table, key.join(","))));
        }
        for (name, kind) in &self.types {
            let stored = schema.columns().iter().find(|column| column.name == *name);
            if let Some(stored) = stored.filter(|stored| stored.kind != *kind) {
                return Err(Failure::Trouble(format!(
                    "table {} is there, and its column {name} is {}, not {kind}",
                    self.table, stored.kind
                )));
            }
        }
        Ok(())
    }

    /// Loads the file in batches, and counts in `loaded` the rows of those that are committed.
    fn insert_all(
        &self,
        db: &Database,
        table: &RowTable,
        source: &Source,
        dialect: &Dialect,
        loaded: &mut u64,
    ) -> Outcome {
        let name = &*source.name;
        let bar = Bar::new(source.length()?, "loading");
        let mut rows = CsvTable::open(name, source.open()?, table.schema(), dialect)?;
        loop {
            let mut batch: Vec<(u64, Vec<Value>)> = Vec::new();
            while (batch.len() as u64) < self.batch {
                let after = |failure| self.after(*loaded, failure);
                let Some(row) = rows.next().map_err(after)? else { break };
                batch.push(row);
            }
            if batch.is_empty() {
                return Ok(());
            }
            self.write(db, table, &batch)
                .map_err(|(line, error)| self.after(*loaded, Failure::Trouble(format!("{name}:{line}: {error}"))))?;
            *loaded += batch.len() as u64;
            bar.at(rows.bytes_read());
        }
    }

    /// A failure with what it left behind.
    fn after(&self, loaded: u64, failure: Failure) -> Failure {
        match failure {
            Failure::Trouble(what) => {
                Failure::Trouble(format!("{what}; {} loaded into {} before", counted(loaded, "row"), self.table))
            }
            other => other,
        }
    }

    /// Writes a batch in one transaction, or says which line stopped it.
    fn write(&self, db: &Database, table: &RowTable, batch: &[(u64, Vec<Value>)]) -> Result<(), (u64, Error)> {
        let mut line = batch[0].0;
        let outcome = db.run(|txn| {
            for (at, row) in batch {
                line = *at;
                if self.replace { table.put(txn, &row[..])? } else { table.insert(txn, &row[..])? }
            }
            Ok(())
        });
        outcome.map_err(|error| (line, error))
    }
}

/// State of a column during the first pass over the file.
struct Found {
    said: Option<ColumnType>,
    is_key: bool,
    inference: Inference,
}

impl Found {
    fn see(&mut self, field: &str, null: &str) -> Result<(), String> {
        if field == null {
            return if self.is_key { Err("is NULL, and it is part of the key".into()) } else { Ok(()) };
        }
        match self.said {
            Some(kind) if values::parse(field, kind).is_none() => {
                Err(format!("has {field:?}, which is not of type {kind}"))
            }
            Some(_) => Ok(()),
            None => {
                self.inference.see(field);
                Ok(())
            }
        }
    }
}

/// Input of the load. It is read twice.
struct Source {
    /// Name of the input in error messages.
    name: String,
    content: Content,
}

enum Content {
    File(PathBuf),
    /// Standard input, which can be read once only.
    Bytes(Vec<u8>),
}

impl Source {
    fn of(path: &Path) -> Outcome<Source> {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| Failure::Trouble(format!("cannot read standard input: {error}")))?;
            return Ok(Source { name: "standard input".into(), content: Content::Bytes(bytes) });
        }
        let file = File::open(path).map_err(Failure::file(path))?;
        // A pipe would not survive the first reading.
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(Failure::Trouble(format!("{} is not a file; `-` is standard input", path.display())));
        }
        Ok(Source { name: path.display().to_string(), content: Content::File(path.to_owned()) })
    }

    fn open(&self) -> Outcome<Box<dyn Read + '_>> {
        Ok(match &self.content {
            Content::File(path) => Box::new(File::open(path).map_err(Failure::file(path))?),
            Content::Bytes(bytes) => Box::new(&bytes[..]),
        })
    }

    fn length(&self) -> Outcome<u64> {
        Ok(match &self.content {
            Content::File(path) => path.metadata().map_err(Failure::file(path))?.len(),
            Content::Bytes(bytes) => bytes.len() as u64,
        })
    }
}

/// A progress bar on a terminal, nothing elsewhere.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(length: u64, what: &'static str) -> Bar {
        Bar(stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg} {bar:40} {bytes}/{total_bytes} {eta}");
            let bar = ProgressBar::new(length).with_message(what);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        }))
    }

    fn at(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
