//! PostgreSQL and DuckDB under the same queries.

use crate::least;
use env::time::Duration;
use postgres::{Client, NoTls};
use seriatim_tpch::{Data, SCHEMA, TABLES};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// DuckDB's part. It is not linked: a user has it as a package of Python.
const DUCKDB: &str = include_str!("duckdb.py");

/// Loads the tables into an empty database and times the queries there.
pub fn postgresql(
    connection: &str,
    repeat: usize,
    data: &Data,
    queries: &[(usize, String)],
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let mut client = Client::connect(connection, NoTls)?;
    client.batch_execute(SCHEMA)?;
    for table in TABLES {
        let mut copy = client.copy_in(&format!("COPY {table} FROM STDIN WITH (DELIMITER '|')"))?;
        data.lines(table, &mut |lines| copy.write_all(lines.as_bytes()))?;
        copy.finish()?;
    }
    client.batch_execute("VACUUM ANALYZE")?;
    let time = |(_, query): &(usize, String)| least(repeat, || client.simple_query(query).map(drop));
    Ok(queries.iter().map(time).collect::<Result<_, _>>()?)
}

/// The same with DuckDB in memory, on as many threads as there are cores.
pub fn duckdb(
    python: &Path,
    repeat: usize,
    data: &Data,
    queries: &[(usize, String)],
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("seriatim-tpch-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let times = in_directory(&directory, python, repeat, data, queries);
    fs::remove_dir_all(&directory)?;
    times
}

fn in_directory(
    directory: &Path,
    python: &Path,
    repeat: usize,
    data: &Data,
    queries: &[(usize, String)],
) -> Result<Vec<Duration>, Box<dyn Error>> {
    fs::write(directory.join("schema.sql"), SCHEMA)?;
    fs::write(directory.join("tables"), TABLES.join("\n"))?;
    for table in TABLES {
        let mut file = fs::File::create(directory.join(table))?;
        data.lines(table, &mut |lines| file.write_all(lines.as_bytes()))?;
    }
    for (number, query) in queries {
        fs::write(directory.join(format!("query-{number:02}.sql")), query)?;
    }
    let threads = env::thread::available_parallelism().map_or(1, usize::from);
    let output = Command::new(python)
        .args(["-c", DUCKDB])
        .arg(directory)
        .args([repeat.max(1).to_string(), threads.to_string()])
        .output()?;
    if !output.status.success() {
        return Err(format!("DuckDB: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let times = String::from_utf8(output.stdout)?;
    let times = times.lines().map(|line| Ok(Duration::from_secs_f64(line.parse::<f64>()? / 1000.0)));
    let times = times.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    if times.len() == queries.len() { Ok(times) } else { Err("DuckDB answered fewer queries".into()) }
}
