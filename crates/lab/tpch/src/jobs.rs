//! Questions over one large table of integers.

use crate::rivals::{self, Answered};
use clap::{Args, Subcommand};
use env::time::{Duration, Instant};
use serde_json::{Map, Value, json};
use seriatim_tpch::{
    Behind, BehindUpdate, Beside, BesideWriter, Client, Facts, Question, Spread, Subject, behind_an_open_update,
    beside_a_writer, open,
};
use sql::database::Database;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Times DuckDB's time that a question may take on as many threads: of a plain scan, and of one with groups, a join or a sort above it.
const MOST_OF_DUCKDB: [f64; 2] = [2.0, 3.0];

/// Updates in a second beside which a scan is to be measured.
const UPDATES_PER_SECOND: u64 = 50_000;

/// How much longer a scan may take beside them.
const MOST_SLOWDOWN: f64 = 0.3;

/// The longest that a SELECT behind an open UPDATE may take.
const LONGEST_BEHIND: Duration = Duration::from_millis(1);

/// The jobs beside TPC-H.
#[derive(Subcommand)]
pub enum Job {
    /// Time six questions over a table of integers: the median of some runs with the least and the greatest, beside DuckDB's. Every
    /// answer is compared with one computed without a database.
    Analytics(Analytics),
    /// Time a sum over the table alone, and beside a session of this process that updates single rows at a rate. Every sum is checked
    /// against the updates that had committed, and those that had begun.
    BesideAWriter(Writer),
    /// Time SELECTs of rows that another session has updated in a transaction that is still open. Every answer is checked.
    BehindAnUpdate(Update),
}

/// The table, and where results go.
#[derive(Args)]
struct Table {
    /// Rows of the table.
    #[arg(long, default_value_t = 10_000_000)]
    rows: u32,
    /// Engines.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Subject::Hyper])]
    engine: Vec<Subject>,
    /// Write the figures as JSON, too: a file, or - for the standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
pub struct Analytics {
    #[command(flatten)]
    table: Table,
    /// Runs of each question.
    #[arg(long, default_value_t = 9)]
    repeat: usize,
    /// PostgreSQL to time, too: an empty database, in which the tables are made.
    #[arg(long, value_name = "CONNECTION")]
    postgresql: Option<String>,
    /// Python with the package duckdb, to time DuckDB, too, on as many threads.
    #[arg(long, value_name = "PYTHON")]
    duckdb: Option<PathBuf>,
}

#[derive(Args)]
pub struct Writer {
    #[command(flatten)]
    table: Table,
    /// Scans alone, and again as many beside the writer.
    #[arg(long, default_value_t = 300)]
    scans: usize,
    /// Updates that are due in a second.
    #[arg(long, default_value_t = UPDATES_PER_SECOND)]
    updates: u64,
}

#[derive(Args)]
pub struct Update {
    #[command(flatten)]
    table: Table,
    /// Rows that the UPDATE holds.
    #[arg(long, default_value_t = 100)]
    held: u32,
    /// Reads of one of them. For each ten there is a sum over all of them.
    #[arg(long, default_value_t = 20_000)]
    reads: usize,
}

impl Job {
    /// Runs it and prints what it has measured.
    pub fn run(&self) -> Result<(), Box<dyn Error>> {
        match self {
            Job::Analytics(job) => job.run(),
            Job::BesideAWriter(job) => job.run(),
            Job::BehindAnUpdate(job) => job.run(),
        }
    }
}

impl Table {
    fn facts(&self) -> Facts {
        Facts::new(self.rows)
    }

    /// A database with the table, and a session.
    fn loaded(&self, subject: Subject) -> Result<(Arc<Database>, Client), Box<dyn Error>> {
        let database = open(subject).map_err(|error| error.message().to_owned())?;
        let mut client = Client::new(&database).map_err(|error| error.message().to_owned())?;
        let begun = Instant::now();
        client.load(&self.facts()).map_err(|error| error.message().to_owned())?;
        eprintln!("{subject:?}: loaded {} rows in {:.1} s", self.rows, begun.elapsed().as_secs_f64());
        Ok((database, client))
    }

    /// Prints a table, or what it says as JSON.
    fn show(&self, lines: &[Vec<String>], figures: &Value) -> Result<(), Box<dyn Error>> {
        let text = serde_json::to_string_pretty(figures)?;
        match self.json.as_deref() {
            Some(file) if file == Path::new("-") => {
                println!("{text}");
                return Ok(());
            }
            Some(file) => std::fs::write(file, text + "\n")?,
            None => {}
        }
        let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |at: usize| lines.iter().filter_map(|line| line.get(at)).map(String::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        for line in lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells: Vec<String> = cells
                .map(|(at, (cell, width))| if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
                .collect();
            println!("{}", cells.join("  ").trim_end());
        }
        Ok(())
    }

    /// What every result says of its run.
    fn head(&self, job: &str) -> Map<String, Value> {
        let head = json!({ "job": job, "rows": self.rows, "threads": rivals::threads() });
        if let Value::Object(head) = head { head } else { Map::new() }
    }
}

impl Analytics {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let (facts, questions) = (self.table.facts(), self.table.facts().questions());
        let statements: Vec<&str> = questions.iter().map(|question| question.statement.as_str()).collect();
        let mut systems = Vec::new();
        for &subject in &self.table.engine {
            let (_database, mut client) = self.table.loaded(subject)?;
            let mut all = Vec::new();
            for statement in &statements {
                let run = || client.run(statement).map_err(|error| format!("{statement}: {}", error.message()));
                let (times, rows) = Spread::of(self.repeat, run)?;
                all.push(Answered { times, rows });
            }
            systems.push((format!("{subject:?}").to_lowercase(), all));
        }
        if let Some(python) = &self.duckdb {
            systems.push(("DuckDB".to_owned(), rivals::duckdb(python, self.repeat, &facts, &statements)?));
        }
        if let Some(connection) = &self.postgresql {
            systems.push(("PostgreSQL".to_owned(), rivals::postgresql(connection, self.repeat, &facts, &statements)?));
        }
        for (system, all) in &systems {
            compare(system, &questions, all)?;
        }
        let lines = self.lines(&questions, &systems);
        self.table.show(&lines, &self.figures(&questions, &systems))
    }

    fn lines(&self, questions: &[Question], systems: &[(String, Vec<Answered>)]) -> Vec<Vec<String>> {
        let head = ["question", "system", "median ms", "least", "most", "of DuckDB", "bar"];
        let mut lines = vec![head.map(str::to_owned).to_vec()];
        for (at, question) in questions.iter().enumerate() {
            for (system, all) in systems {
                let times = &all[at].times;
                let mut line = vec![question.name.clone(), system.clone()];
                line.extend(
                    [times.median(), times.least(), times.most()].map(|time| format!("{:.2}", milliseconds(time))),
                );
                if let Some(ratio) = of_duckdb(systems, at, times) {
                    line.push(format!("{ratio:.2}"));
                    let most = most_of_duckdb(question);
                    line.extend(is_ours(system).then(|| bar(ratio <= most, &format!("<= {most}"))));
                }
                lines.push(line);
            }
        }
        lines
    }

    fn figures(&self, questions: &[Question], systems: &[(String, Vec<Answered>)]) -> Value {
        let mut rows = Vec::new();
        for (at, question) in questions.iter().enumerate() {
            for (system, all) in systems {
                let mut figures = self.table.head("analytics");
                figures.insert("question".to_owned(), json!(question.name));
                figures.insert("system".to_owned(), json!(system));
                figures.insert("ms".to_owned(), spread(&all[at].times, milliseconds));
                let ratio = of_duckdb(systems, at, &all[at].times);
                figures.insert("of_duckdb".to_owned(), json!(ratio));
                figures.insert("bar_of_duckdb".to_owned(), json!(most_of_duckdb(question)));
                rows.push(Value::Object(figures));
            }
        }
        Value::Array(rows)
    }
}

/// The figure that DuckDB's time is compared with, if it was timed.
fn of_duckdb(systems: &[(String, Vec<Answered>)], at: usize, times: &Spread) -> Option<f64> {
    let (_, all) = systems.iter().find(|(system, _)| system == "DuckDB")?;
    Some(times.median().as_secs_f64() / all[at].times.median().as_secs_f64().max(1e-9))
}

fn is_ours(system: &str) -> bool {
    !matches!(system, "DuckDB" | "PostgreSQL")
}

/// Checks a system's answers.
fn compare(system: &str, questions: &[Question], all: &[Answered]) -> Result<(), String> {
    for (question, answered) in questions.iter().zip(all) {
        if answered.rows != question.answer {
            let first = answered.rows.iter().zip(&question.answer).find(|(is, expected)| is != expected);
            let counts = (answered.rows.len(), question.answer.len());
            return Err(format!("{system} answers {:?} wrong: {counts:?} rows, first {first:?}", question.name));
        }
    }
    Ok(())
}

impl Writer {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let head = ["figure", "engine", "median ms", "least", "most", "", "bar"];
        let (mut lines, mut figures) = (vec![head.map(str::to_owned).to_vec()], Vec::new());
        for &subject in &self.table.engine {
            let (database, client) = self.table.loaded(subject)?;
            drop(client);
            let how = BesideWriter { scans: self.scans.max(1), updates_per_second: self.updates };
            let beside = beside_a_writer(&database, self.table.facts(), how)?;
            let engine = format!("{subject:?}").to_lowercase();
            lines.extend(self.lines(&engine, &beside));
            let mut row = self.table.head("beside-a-writer");
            row.insert("engine".to_owned(), json!(engine));
            row.insert(
                "writer".to_owned(),
                json!("a session of the same process, prepared UPDATE of one row by key, each a transaction"),
            );
            row.insert("alone_ms".to_owned(), spread(&beside.alone, milliseconds));
            row.insert("beside_ms".to_owned(), spread(&beside.beside, milliseconds));
            row.insert("slowdown".to_owned(), json!(beside.slowdown()));
            row.insert("bar_slowdown".to_owned(), json!(MOST_SLOWDOWN));
            row.insert("updates_due_per_s".to_owned(), json!(self.updates));
            row.insert("updates_per_s".to_owned(), json!(beside.updates_per_second()));
            row.insert("bar_updates_per_s".to_owned(), json!(UPDATES_PER_SECOND));
            let aborts =
                beside.aborts.iter().map(|((of, rule), count)| json!({ "of": of, "rule": rule, "count": count }));
            row.insert("aborts".to_owned(), aborts.collect());
            figures.push(Value::Object(row));
        }
        self.table.show(&lines, &Value::Array(figures))
    }

    fn lines(&self, engine: &str, beside: &Beside) -> Vec<Vec<String>> {
        let scans = [("scan alone", &beside.alone), ("scan beside the writer", &beside.beside)];
        let mut lines: Vec<Vec<String>> = scans
            .map(|(name, times)| {
                let times =
                    [times.median(), times.least(), times.most()].map(|time| format!("{:.2}", milliseconds(time)));
                [name.to_owned(), engine.to_owned()].into_iter().chain(times).collect()
            })
            .into();
        let mut figure = |name: &str, value: String, bar: String| {
            let before = [name, engine, "", "", ""].map(str::to_owned);
            lines.push(before.into_iter().chain([value, bar]).collect());
        };
        let (slowdown, reached) = (beside.slowdown(), beside.updates_per_second());
        // A writer that sleeps between its bursts is at its rate within a burst.
        let is_reached = reached >= UPDATES_PER_SECOND as f64 * 0.99;
        let most = format!("<= {:.0} %", MOST_SLOWDOWN * 100.0);
        figure("slowdown", format!("{:.0} %", slowdown * 100.0), bar(slowdown <= MOST_SLOWDOWN, &most));
        figure("updates/s in process", format!("{reached:.0}"), bar(is_reached, &format!(">= {UPDATES_PER_SECOND}")));
        if beside.aborts.is_empty() {
            figure("aborts", "0".to_owned(), String::new());
        }
        for ((of, rule), count) in &beside.aborts {
            figure(&format!("aborts of a {of}, {rule}"), count.to_string(), String::new());
        }
        lines
    }
}

impl Update {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let head = ["SELECT behind an open UPDATE", "engine", "reads", "p50 us", "p99", "most", "bar"];
        let (mut lines, mut figures) = (vec![head.map(str::to_owned).to_vec()], Vec::new());
        for &subject in &self.table.engine {
            let (database, client) = self.table.loaded(subject)?;
            drop(client);
            let how = BehindUpdate { held: self.held, reads: self.reads.max(1) };
            let behind = behind_an_open_update(&database, self.table.facts(), how)?;
            let engine = format!("{subject:?}").to_lowercase();
            lines.extend(self.lines(&engine, &behind));
            let mut row = self.table.head("behind-an-update");
            row.insert("engine".to_owned(), json!(engine));
            row.insert("held".to_owned(), json!(self.held));
            row.insert("one_row_us".to_owned(), spread(&behind.one, microseconds));
            row.insert("all_rows_us".to_owned(), spread(&behind.all, microseconds));
            row.insert("bar_us".to_owned(), json!(microseconds(LONGEST_BEHIND)));
            row.insert("failed".to_owned(), json!(behind.failed));
            row.insert("commit_failed".to_owned(), json!(behind.commit_failed));
            figures.push(Value::Object(row));
        }
        self.table.show(&lines, &Value::Array(figures))
    }

    fn lines(&self, engine: &str, behind: &Behind) -> Vec<Vec<String>> {
        let names = [("one row".to_owned(), &behind.one), (format!("all {} rows", self.held), &behind.all)];
        let mut lines: Vec<Vec<String>> = names
            .map(|(name, times)| {
                let quantiles = [times.median(), times.quantile(0.99), times.most()];
                let mut line = vec![name, engine.to_owned(), times.len().to_string()];
                line.extend(quantiles.map(|time| format!("{:.1}", microseconds(time))));
                line.push(bar(times.quantile(0.99) < LONGEST_BEHIND, "p99 < 1000"));
                line
            })
            .into();
        if behind.failed > 0 {
            lines.push(vec![format!("{} reads waited until their limit", behind.failed), engine.to_owned()]);
        }
        if let Some(state) = behind.commit_failed {
            lines.push(vec![format!("the UPDATE's COMMIT failed with {state}"), engine.to_owned()]);
        }
        lines
    }
}

fn most_of_duckdb(question: &Question) -> f64 {
    let has_more_than_a_scan = ["GROUP BY", "ORDER BY"].iter().any(|clause| question.statement.contains(clause));
    MOST_OF_DUCKDB[usize::from(has_more_than_a_scan)]
}

/// A bar, and whether a figure is within.
fn bar(is_met: bool, bar: &str) -> String {
    format!("{bar} {}", if is_met { "met" } else { "MISSED" })
}

fn spread(times: &Spread, unit: impl Fn(Duration) -> f64) -> Value {
    json!({
        "runs": times.len(),
        "median": unit(times.median()),
        "p99": unit(times.quantile(0.99)),
        "least": unit(times.least()),
        "most": unit(times.most()),
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
