//! The `tpch` command: times of the 22 queries and of other questions, on the engines of this process and on what a user would pick
//! instead.
#![forbid(unsafe_code)]

mod jobs;
mod rivals;

use clap::{Args, Parser};
use env::time::{Duration, Instant};
use jobs::Job;
use rivals::Answered;
use seriatim_tpch::{Client, Data, Spread, Subject, open, queries};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// Engines are to be compared, not allocators.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Time the queries of TPC-H: the least of some runs, in milliseconds. All data is in memory.
#[derive(Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    tpch --scale 0.1\n  \
    tpch --scale 1 --engine hyper --vectors on --duckdb python3\n  \
    tpch --scale 0.1 --postgresql 'host=127.0.0.1 user=postgres dbname=tpch'\n  \
    tpch analytics --duckdb python3\n  \
    tpch beside-a-writer --updates 50000\n  \
    tpch behind-an-update --engine mvto,hyper"
)]
struct Arguments {
    #[command(subcommand)]
    job: Option<Job>,
    #[command(flatten)]
    queries: Queries,
}

#[derive(Args)]
struct Queries {
    /// Scale: 1 has 6 million items.
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Engines.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Subject::Mvto, Subject::Hyper])]
    engine: Vec<Subject>,
    /// Values of the setting enable_vectors: off is the row executor.
    #[arg(long, value_delimiter = ',', default_values_t = ["off".to_owned(), "on".to_owned()])]
    vectors: Vec<String>,
    /// Runs of each query.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// Processor time of all threads, the mean of the runs, instead of the least elapsed time: for engines of this process, on a machine
    /// that is busy. Its unit is 10 ms, of all runs together.
    #[arg(long)]
    processor: bool,
    /// Print the plans instead, for engines of this process.
    #[arg(long)]
    explain: bool,
    /// Queries, by number; all if none is given.
    #[arg(long, value_delimiter = ',')]
    query: Vec<usize>,
    /// PostgreSQL to time, too: an empty database, in which the tables are made.
    #[arg(long, value_name = "CONNECTION")]
    postgresql: Option<String>,
    /// Python with the package duckdb, to time DuckDB, too.
    #[arg(long, value_name = "PYTHON")]
    duckdb: Option<PathBuf>,
}

/// The times of one system, by query.
struct Times {
    name: String,
    of: Vec<Duration>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.job {
        Some(job) => job.run(),
        None => run(&arguments.queries),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tpch: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Queries) -> Result<(), Box<dyn Error>> {
    let data = Data::new(arguments.scale);
    let is_asked = |number: &usize| arguments.query.is_empty() || arguments.query.contains(number);
    let queries: Vec<(usize, String)> =
        (1..).zip(queries(arguments.scale)).filter(|(number, _)| is_asked(number)).collect();
    let mut all = Vec::new();
    for subject in &arguments.engine {
        all.extend(embedded(*subject, arguments, &data, &queries)?);
    }
    if arguments.explain {
        return Ok(());
    }
    let texts: Vec<&str> = queries.iter().map(|(_, query)| query.as_str()).collect();
    let mut push = |name: &str, of: Vec<Answered>| {
        all.push(Times { name: name.to_owned(), of: of.iter().map(|answered| answered.times.least()).collect() });
    };
    if let Some(connection) = &arguments.postgresql {
        push("PostgreSQL", rivals::postgresql(connection, arguments.repeat, &data, &texts)?);
    }
    if let Some(python) = &arguments.duckdb {
        push("DuckDB", rivals::duckdb(python, arguments.repeat, &data, &texts)?);
    }
    show(&queries, &all);
    Ok(())
}

fn embedded(
    subject: Subject,
    arguments: &Queries,
    data: &Data,
    queries: &[(usize, String)],
) -> Result<Vec<Times>, Box<dyn Error>> {
    let database = open(subject).map_err(|error| error.message().to_owned())?;
    let mut client = Client::new(&database).map_err(|error| error.message().to_owned())?;
    let begun = Instant::now();
    client.load(data).map_err(|error| error.message().to_owned())?;
    eprintln!("{subject:?}: loaded in {:.1} s", begun.elapsed().as_secs_f64());
    let mut all = Vec::new();
    for vectors in &arguments.vectors {
        client.run(&format!("SET enable_vectors = {vectors}")).map_err(|error| error.message().to_owned())?;
        if arguments.explain {
            explain(&mut client, queries)?;
            continue;
        }
        let mut of = Vec::new();
        for (number, query) in queries {
            let run = || client.run(query).map(drop).map_err(|error| format!("query {number}: {}", error.message()));
            of.push(match arguments.processor {
                true => processor_mean(arguments.repeat, run)?,
                false => Spread::of(arguments.repeat, run)?.0.least(),
            });
        }
        all.push(Times { name: format!("{subject:?} {vectors}"), of });
    }
    Ok(all)
}

fn explain(client: &mut Client, queries: &[(usize, String)]) -> Result<(), String> {
    for (number, query) in queries {
        let plan = client.run(&format!("EXPLAIN {query}"));
        let plan = plan.map_err(|error| format!("query {number}: {}", error.message()))?;
        println!("query {number}\n{}", plan.join("\n"));
    }
    Ok(())
}

/// The mean processor time of some runs.
fn processor_mean(repeat: usize, mut run: impl FnMut() -> Result<(), String>) -> Result<Duration, String> {
    let begun = processor_time()?;
    let repeat = repeat.max(1);
    (0..repeat).try_for_each(|_| run())?;
    Ok((processor_time()? - begun) / repeat as u32)
}

/// Processor time of this process so far, of threads that have ended, too.
fn processor_time() -> Result<Duration, String> {
    let line = std::fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    // Behind the name, which may have blanks: the state is the third field, user and system time are the 14th and 15th.
    let fields = line.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().skip(11).take(2);
    let ticks = fields.map(|field| field.parse::<u64>().map_err(|error| format!("/proc/self/stat: {error}")));
    Ok(Duration::from_millis(10 * ticks.sum::<Result<u64, String>>()?))
}

fn show(queries: &[(usize, String)], all: &[Times]) {
    let milliseconds = |time: &Duration| time.as_secs_f64() * 1000.0;
    let line = |first: &str, texts: Vec<String>| {
        let texts: String = texts.iter().map(|text| format!(" {text:>12}")).collect();
        println!("{first:<5}{texts}");
    };
    line("query", all.iter().map(|times| times.name.clone()).collect());
    for (at, (number, _)) in queries.iter().enumerate() {
        line(&number.to_string(), all.iter().map(|times| format!("{:.1}", milliseconds(&times.of[at]))).collect());
    }
    let mean = |times: &Times| {
        let sum: f64 = times.of.iter().map(|time| milliseconds(time).max(1e-6).ln()).sum();
        format!("{:.1}", (sum / times.of.len().max(1) as f64).exp())
    };
    line("mean", all.iter().map(mean).collect());
}
