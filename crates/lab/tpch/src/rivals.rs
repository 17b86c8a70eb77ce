//! PostgreSQL and DuckDB under the same queries.

use env::time::Duration;
use postgres::{Client, NoTls, SimpleQueryMessage};
use serde_json::Value;
use seriatim_tpch::{Source, Spread};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// DuckDB's part. It is not linked: a user has it as a package of Python.
const DUCKDB: &str = include_str!("duckdb.py");

/// What one query took, and what it answered: values with `|` between them, NULL as nothing.
#[derive(Debug)]
pub struct Answered {
    pub times: Spread,
    pub rows: Vec<String>,
}

/// Loads the tables into an empty database and times the queries there.
pub fn postgresql(
    connection: &str,
    repeat: usize,
    source: &impl Source,
    queries: &[&str],
) -> Result<Vec<Answered>, Box<dyn Error>> {
    let mut client = Client::connect(connection, NoTls)?;
    client.batch_execute(source.schema())?;
    for table in source.tables() {
        let mut copy = client.copy_in(&format!("COPY {table} FROM STDIN WITH (DELIMITER '|')"))?;
        source.lines(table, &mut |lines| copy.write_all(lines.as_bytes()))?;
        copy.finish()?;
    }
    client.batch_execute("VACUUM ANALYZE")?;
    let mut all = Vec::new();
    for query in queries {
        let (times, messages) = Spread::of(repeat, || client.simple_query(query))?;
        all.push(Answered { times, rows: messages.iter().filter_map(line).collect() });
    }
    Ok(all)
}

fn line(message: &SimpleQueryMessage) -> Option<String> {
    let SimpleQueryMessage::Row(row) = message else { return None };
    let values: Vec<&str> = (0..row.len()).map(|at| row.get(at).unwrap_or_default()).collect();
    Some(values.join("|"))
}

/// The same with DuckDB in memory, on as many threads as there are cores.
pub fn duckdb(
    python: &Path,
    repeat: usize,
    source: &impl Source,
    queries: &[&str],
) -> Result<Vec<Answered>, Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("seriatim-tpch-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let times = in_directory(&directory, python, repeat, source, queries);
    fs::remove_dir_all(&directory)?;
    times
}

fn in_directory(
    directory: &Path,
    python: &Path,
    repeat: usize,
    source: &impl Source,
    queries: &[&str],
) -> Result<Vec<Answered>, Box<dyn Error>> {
    fs::write(directory.join("schema.sql"), source.schema())?;
    fs::write(directory.join("tables"), source.tables().join("\n"))?;
    for table in source.tables() {
        let mut file = fs::File::create(directory.join(table))?;
        source.lines(table, &mut |lines| file.write_all(lines.as_bytes()))?;
    }
    for (number, query) in queries.iter().enumerate() {
        fs::write(directory.join(format!("query-{number:02}.sql")), query)?;
    }
    let output = Command::new(python)
        .args(["-c", DUCKDB])
        .arg(directory)
        .args([repeat.max(1).to_string(), threads().to_string()])
        .output()?;
    if !output.status.success() {
        return Err(format!("DuckDB: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let all: Vec<Answered> = String::from_utf8(output.stdout)?.lines().map(answered).collect::<Result<_, _>>()?;
    if all.len() == queries.len() { Ok(all) } else { Err("DuckDB answered fewer queries".into()) }
}

fn answered(line: &str) -> Result<Answered, Box<dyn Error>> {
    let line: Value = serde_json::from_str(line)?;
    let all = |name: &str| line[name].as_array().ok_or_else(|| format!("DuckDB's part prints no {name}"));
    let times = all("ms")?.iter().filter_map(Value::as_f64).map(|ms| Duration::from_secs_f64(ms / 1000.0)).collect();
    Ok(Answered { times, rows: all("rows")?.iter().filter_map(Value::as_str).map(str::to_owned).collect() })
}

/// Threads that a query may use, in every system.
pub fn threads() -> usize {
    env::thread::available_parallelism().map_or(1, usize::from)
}
