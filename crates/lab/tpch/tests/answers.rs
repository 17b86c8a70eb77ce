//! The 22 queries have one answer: by the row executor, by operators over batches on both engines, by PostgreSQL.
//!
//! `TPCH_SCALE` makes more rows.

use seriatim_tpch::{Client, Data, SCHEMA, Subject, TABLES, open, queries};
use std::io::Write;
use std::process::{Command, Stdio};
use testing::reference::Reference;
use testing::{has, text};

/// 60,000 items. At smaller scales dbgen makes keys of partsupp twice.
const SCALE: f64 = 0.01;

#[test]
fn every_way_to_run_a_query_gives_one_answer() {
    let scale = std::env::var("TPCH_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(SCALE);
    let data = Data::with_few_texts(scale);
    let queries = queries(scale);
    let mut expected: Option<Vec<Vec<String>>> = None;
    for subject in [Subject::Mvto, Subject::Hyper] {
        let database = open(subject).expect("a database");
        let mut client = Client::new(&database).expect("a session");
        client.load(&data).expect("the rows are loaded");
        // By rows once: the engine makes no difference there.
        for vectors in if expected.is_none() { &["off", "force"][..] } else { &["on"] } {
            client.run(&format!("SET enable_vectors = {vectors}")).expect("a setting");
            let answers = queries.iter().enumerate().map(|(at, query)| {
                client.run(query).unwrap_or_else(|error| panic!("{subject:?}, {vectors}, query {}: {error:?}", at + 1))
            });
            let answers: Vec<Vec<String>> = answers.collect();
            match &expected {
                None => expected = Some(answers),
                Some(expected) => compare(&format!("{subject:?}, vectors {vectors}"), &answers, expected),
            }
        }
        let used = queries.iter().filter(|query| {
            let plan = client.run(&format!("EXPLAIN {query}")).expect("a plan");
            plan.iter().any(|line| line.contains("Vectors"))
        });
        assert!(used.count() >= 20, "most queries run over batches");
    }
    let expected = expected.expect("answers");
    let answered = expected.iter().filter(|rows| rows.iter().any(|row| !row.trim_matches('|').is_empty())).count();
    assert!(answered >= 18, "only {answered} queries have rows");
    let what = "the answers of TPC-H";
    if has("psql", what)
        && let Some(reference) = Reference::start(what)
    {
        load(&reference, &data);
        let answers: Vec<Vec<String>> = queries.iter().map(|query| ask(&reference, query)).collect();
        compare("PostgreSQL", &answers, &expected);
    }
}

fn compare(who: &str, answers: &[Vec<String>], expected: &[Vec<String>]) {
    for (at, (answer, expected)) in answers.iter().zip(expected).enumerate() {
        let first = answer.iter().zip(expected).find(|(left, right)| left != right);
        let count = (answer.len(), expected.len());
        assert!(answer == expected, "query {} by {who}: {count:?} rows, first difference {first:?}", at + 1);
    }
}

fn load(reference: &Reference, data: &Data) {
    let mut psql = psql(reference).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("psql starts");
    let mut input = psql.stdin.take().expect("a pipe");
    write!(input, "{SCHEMA}").expect("psql reads");
    for table in TABLES {
        writeln!(input, "COPY {table} FROM STDIN WITH (DELIMITER '|');").expect("psql reads");
        data.lines(table, &mut |lines| input.write_all(lines.as_bytes())).expect("psql reads");
        writeln!(input, "\\.").expect("psql reads");
    }
    writeln!(input, "ANALYZE;").expect("psql reads");
    drop(input);
    assert!(psql.wait().expect("psql ends").success());
}

fn ask(reference: &Reference, query: &str) -> Vec<String> {
    let output = psql(reference).args(["-c", query]).output().expect("psql runs");
    assert!(output.status.success(), "{query}: {}", text(&output.stderr));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

fn psql(reference: &Reference) -> Command {
    let mut command = testing::psql(reference.port);
    command.env("LC_ALL", "C.UTF-8");
    command
}
