//! The experiments at smoke size, through the `lab` program, as a user runs it.

use serde_json::Value;
use std::process::{Command, Output};

fn lab(arguments: &str) -> Output {
    let arguments = arguments.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_lab")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The rows that a command prints, after checking that it succeeded.
fn rows(arguments: &str) -> Vec<Value> {
    let output = lab(&format!("experiment paxos-order {arguments} --format json"));
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).expect("standard output is one JSON value");
    rows.as_array().expect("a list").clone()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is a number in {row}"))
}

#[test]
fn the_cores_alone_take_the_same_events() {
    let rows = rows("--part core --replicas 3,5 --repeat 2 --seconds 0.002");
    let subjects: Vec<_> = rows.iter().map(|row| (row["engine"].as_str().unwrap(), number(row, "replicas"))).collect();
    assert_eq!(subjects, [("proved", 3.0), ("plain", 3.0), ("proved", 5.0), ("plain", 5.0)]);
    for pair in rows.chunks(2) {
        assert_eq!(pair[0]["events_per_batch"], pair[1]["events_per_batch"]);
        assert!(number(&pair[0], "ns_per_batch") > 0.0 && number(&pair[0], "of_plain") > 0.0);
    }
}

/// Checks what must hold of every row about throughput or latency.
fn check_row(row: &Value, part: &str) {
    assert_eq!((&row["experiment"], &row["part"]), (&"paxos-order".into(), &part.into()));
    assert!(number(row, "requests_per_s_min") > 0.0);
    assert!(number(row, "requests_per_s_min") <= number(row, "requests_per_s"));
    assert!(number(row, "requests_per_s") <= number(row, "requests_per_s_max"));
    assert!(number(row, "batches_per_s") > 0.0 && number(row, "cpu_us_per_request") >= 0.0);
    assert!(number(row, "p50_us") > 0.0);
    assert!(number(row, "p50_us") <= number(row, "p99_us") && number(row, "p99_us") <= number(row, "p999_us"));
    assert!(number(row, "seconds") > 0.0 && number(row, "cores") >= 1.0);
}

/// Small: few clients, a moment each.
const SMOKE: &str = "--clients 30 --seconds 0.1 --warm-up 0.05 --replicas 3";

#[test]
fn both_cores_order_requests_in_memory_and_on_a_disk() {
    let plot = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("paxos-order.svg");
    let rows =
        rows(&format!("{SMOKE} --engines proved,plain --durability memory,fsync --repeat 2 --plot {}", plot.display()));
    let subjects: Vec<_> = rows.iter().map(|row| [&row["engine"], &row["durability"]]).collect();
    assert_eq!(subjects, [["proved", "memory"], ["plain", "memory"], ["proved", "fsync"], ["plain", "fsync"]]);
    for row in &rows {
        check_row(row, "throughput");
        assert!(number(row, "of_plain") > 0.0);
        assert_eq!((&row["replicas"], &row["clients"], &row["repeats"]), (&3.into(), &30.into(), &2.into()));
    }
    assert!(std::fs::read_to_string(plot).expect("a plot").contains("proved, fsync"));
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (figures, page) = (directory.join("paxos-order.json"), directory.join("paxos-order.html"));
    std::fs::write(&figures, serde_json::to_vec(&rows).expect("rows")).expect("a file can be written");
    let made = lab(&format!("report {} --out {}", figures.display(), page.display()));
    assert!(made.status.success(), "{}", text(&made.stderr));
    let page = std::fs::read_to_string(page).expect("the page is there");
    assert!(page.contains("<section id=\"paxos-order\">") && page.matches("<svg").count() == 2, "{page}");
    assert!(page.contains("verified over unverified, the paper"), "the thesis' shares stand beside ours");
}

#[test]
fn ready_made_batches_count_as_the_requests_in_them() {
    let rows = rows(&format!("--part batches {SMOKE} --engines proved --in-flight 2,4 --repeat 1"));
    assert_eq!(rows.len(), 1);
    check_row(&rows[0], "batches");
    assert!([2.0, 4.0].contains(&number(&rows[0], "in_flight")));
    // Not exactly 300: what was delivered at one end of the measured time may have been answered outside of it.
    assert!(number(&rows[0], "requests_per_batch") > 1.0, "{}", rows[0]);
}

#[test]
fn requests_at_a_rate_are_timed() {
    let rows = rows(&format!("--part latency {SMOKE} --engines proved --repeat 1 --bar-rate 1000"));
    assert_eq!(rows.len(), 2);
    rows.iter().for_each(|row| check_row(row, "latency"));
}

#[test]
fn service_comes_back_when_the_leader_is_killed() {
    let rows = rows(&format!("--part failover {SMOKE} --engines proved --repeat 1 --suspicion-ms 100"));
    assert_eq!(rows.len(), 1);
    assert!(number(&rows[0], "outage_ms") > 0.0 && number(&rows[0], "half_load_ms") >= number(&rows[0], "outage_ms"));
}

#[test]
fn memory_is_looked_at_three_times() {
    let rows = rows(&format!("--part memory {SMOKE} --engines proved --requests 2000"));
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert!(["start_mb", "middle_mb", "end_mb"].iter().all(|field| number(row, field) > 0.0), "{row}");
    }
}

#[test]
fn a_replica_that_was_away_catches_up() {
    let rows = rows(&format!("--part catch-up {SMOKE} --engines proved --repeat 1 --requests 1000 --bar-rate 2000"));
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row["durability"], "fsync");
        assert!(number(row, "requests_behind") >= 1000.0 && number(row, "catch_up_s") > 0.0);
    }
}

#[test]
fn what_is_missing_or_makes_no_sense_is_said() {
    let missing = lab("experiment paxos-order --engines etcd --etcd /no/such/etcd");
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("etcd-server"), "{}", text(&missing.stderr));
    let senseless = lab("experiment paxos-order --part core --engines etcd --etcd /no/such/etcd");
    assert_eq!(senseless.status.code(), Some(1));
    assert_eq!(lab("experiment paxos-order --replicas 0").status.code(), Some(2));
    assert_eq!(lab("experiment paxos-order --engines zab").status.code(), Some(2));
}

#[test]
fn the_documentation_lists_every_experiment() {
    let listed = text(&lab("list --format markdown").stdout);
    let documentation = include_str!("../../../../docs/experiments.md");
    assert!(documentation.contains(listed.trim_end()), "run `lab list --format markdown` into docs/experiments.md");
    let table = text(&lab("list").stdout);
    assert!(table.lines().count() > 30 && table.contains("vmvcc-stock-scan"), "{table}");
}

#[test]
fn every_sweep_runs_at_smoke_scale_and_makes_a_page() {
    let output = lab("run all --scale smoke --format json");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let outcomes: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list of outcomes");
    let names: Vec<&str> = outcomes.iter().filter_map(|outcome| outcome["experiment"].as_str()).collect();
    let vmvcc = ["vmvcc-silo", "vmvcc-long-readers", "vmvcc-stock-scan", "vmvcc-ladder", "vmvcc-contention"];
    let hyper = [
        "hyper-scan",
        "hyper-synopsis",
        "hyper-cycles",
        "hyper-dml",
        "hyper-tpcc",
        "hyper-tatp",
        "hyper-threads",
        "hyper-logging",
        "hyper-validation",
        "hyper-aborts",
    ];
    let bohm = ["bohm-stages", "bohm-10rmw", "bohm-2rmw8r", "bohm-theta", "bohm-long-readers", "bohm-smallbank"];
    let dur = ["dur-bank", "dur-tpcc", "dur-vacation", "dur-remote"];
    assert_eq!(names, [&vmvcc[..], &hyper[..], &bohm[..], &dur[..], &["paxos-order"]].concat());
    for outcome in &outcomes {
        assert!(outcome["outcome"].as_str().expect("a text").starts_with("smoke scale decides nothing"));
        let figures = outcome["figures"].as_array().expect("a list");
        assert!(!figures.is_empty());
        for figure in figures {
            assert!(number(figure, "txn_per_s_min") > 0.0, "{figure}");
            assert!(number(figure, "p999_us") >= number(figure, "p50_us"), "{figure}");
        }
    }
    let scanned = &outcomes[2]["figures"][2];
    assert!(scanned["long_reader_txn_per_s"].is_number() && scanned["label"] == "100 ms", "{scanned}");
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (figures, page) = (directory.join("figures.json"), directory.join("figures.html"));
    std::fs::write(&figures, &output.stdout).expect("a file can be written");
    let made = lab(&format!("report {} --out {}", figures.display(), page.display()));
    assert!(made.status.success(), "{}", text(&made.stderr));
    let page = std::fs::read_to_string(page).expect("the page is there");
    assert!(names.iter().all(|name| page.contains(&format!("<section id=\"{name}\">"))));
    assert!(page.matches("<svg").count() >= 12, "{} charts", page.matches("<svg").count());
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org").count());
}

#[test]
fn what_cannot_be_run_says_so() {
    for (arguments, named) in [
        ("run vmvcc", "there is no experiment vmvcc"),
        ("run asr-bank", "cannot be run yet"),
        ("run dur-bank --history .", "runs in virtual time"),
        ("run bohm-stages --history .", "name no writes"),
        ("run paxos-order --history .", "orders requests"),
    ] {
        let output = lab(arguments);
        assert_eq!(output.status.code(), Some(2), "lab {arguments}");
        assert!(text(&output.stderr).contains(named), "lab {arguments}: {}", text(&output.stderr));
    }
    let output = lab("report /nowhere/figures.json");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/nowhere/figures.json"), "{}", text(&output.stderr));
}

#[test]
fn a_run_is_shown_to_people_beside_the_papers_ratios() {
    let output = lab("run vmvcc-long-readers --scale smoke");
    let table = text(&output.stdout);
    assert!(output.status.success() && table.contains("mvto, long readers"), "{table}");
    assert!(table.contains("beside long readers at 100:") && table.contains("the paper's 4.00"), "{table}");
    assert!(table.contains("vmvcc-long-readers: smoke scale decides nothing"), "{table}");
}

#[test]
fn the_order_is_run_as_the_other_experiments_are() {
    let table = text(&lab("run paxos-order").stdout);
    for wanted in ["proved, memory", "plain, fsync", "memory at 3:", "fsync at 3:", "the paper's 1.16"] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
    assert!(table.contains("paxos-order: smoke scale decides nothing; its figures alone would say: "), "{table}");
}

#[test]
fn what_two_figures_share_is_measured_once() {
    let output = lab("run bohm-2rmw8r bohm-theta --format json");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).matches(" on silo, ").count(), 3, "theta 0.9, 0 and 0.95");
    let outcomes: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list of outcomes");
    let rate = |outcome: &Value, theta: f64| {
        let figures = outcome["figures"].as_array().expect("a list").clone();
        let is_it = |it: &&Value| it["series"] == "silo" && it["parameters"]["theta"] == theta;
        number(figures.iter().find(is_it).expect("a point"), "txn_per_s")
    };
    assert_eq!(rate(&outcomes[0], 0.0), rate(&outcomes[1], 0.0));
}

#[test]
fn a_history_of_prepared_transactions_is_submitted_in_batches() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bohm-histories");
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    let output = lab(&format!("run bohm-2rmw8r --history {}", directory.display()));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let file = std::fs::File::open(directory.join("bohm-2rmw8r-1.jsonl")).expect("the first point is bohm's");
    let history = check::History::read(std::io::BufReader::new(file)).expect("a history");
    let report = check::judge(&history, check::Model::Strict);
    assert!(report.valid && !report.judges_disagree, "{report}");
}

#[test]
fn histories_of_an_experiment_pass_both_judges() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let output = lab(&format!("run vmvcc-stock-scan --history {}", directory.display()));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let points = text(&output.stdout).matches("figure 13").count();
    assert!(points >= 4, "{}", text(&output.stdout));
    for number in 1..=4 {
        let path = directory.join(format!("vmvcc-stock-scan-{number}.jsonl"));
        let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let history = check::History::read(std::io::BufReader::new(file)).expect("a history");
        let report = check::judge(&history, check::Model::Strict);
        assert!(report.valid && !report.judges_disagree, "{}: {report}", path.display());
    }
    let refused = lab("run vmvcc-stock-scan --scale full --history /tmp");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("--scale smoke"), "{}", text(&refused.stderr));
}
