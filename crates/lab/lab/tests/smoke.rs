//! Every workload at smoke size on every engine, through the `lab` program, as a user runs it.

use check::{History, Model, judge};
use clap::ValueEnum;
use serde_json::Value;
use seriatim_lab::engines::{DoorName, EngineName};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
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
    let output = lab(&format!("{arguments} --format json"));
    assert!(output.status.success(), "lab {arguments}: {}", text(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).expect("standard output is one JSON value");
    rows.as_array().expect("a list").clone()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is a number in {row}"))
}

/// Checks what must hold of every row.
fn check_row(row: &Value, engine: &str, workload: &str, threads: u64) {
    assert_eq!((&row["engine"], &row["workload"]), (&engine.into(), &workload.into()));
    assert_eq!(row["threads"], threads);
    assert!(number(row, "txn_per_s_min") > 0.0);
    assert!(number(row, "txn_per_s_min") <= number(row, "txn_per_s"));
    assert!(number(row, "txn_per_s") <= number(row, "txn_per_s_max"));
    assert!(number(row, "p50_us") > 0.0);
    assert!(number(row, "p50_us") <= number(row, "p99_us"));
    assert!(number(row, "p99_us") <= number(row, "p999_us"));
    assert!(number(row, "rss_mb") > 0.0 || !cfg!(target_os = "linux"));
    assert!(number(row, "seconds") > 0.0 && number(row, "cores") >= 1.0);
    let aborts = row["aborts"].as_object().expect("aborts by reason");
    let aborted: f64 = aborts.values().map(|count| count.as_f64().expect("a count")).sum();
    let attempts = aborted + number(row, "committed");
    assert!((number(row, "abort_ratio") - aborted / attempts).abs() < 1e-9, "{row}");
    if let Some(kinds) = row["txn_per_s_by_kind"].as_object().filter(|kinds| !kinds.is_empty()) {
        let sum: f64 = kinds.values().map(|rate| rate.as_f64().expect("a rate")).sum();
        let rate = number(row, "committed") / (number(row, "seconds") * number(row, "repeats"));
        assert!((sum / rate - 1.0).abs() < 0.01, "kinds are all there is: {row}");
    }
    assert_eq!(row["txn_per_s_by_kind"].as_object().is_none_or(|kinds| kinds.is_empty()), workload == "ycsb", "{row}");
    assert_eq!(row["bare_ns"].is_number(), row["over_bare_ns"].is_number());
    for field in ["isolation", "durability", "storage", "door", "allocator"] {
        assert!(row[field].is_string(), "{field} in {row}");
    }
}

fn engines() -> impl Iterator<Item = (EngineName, String)> {
    EngineName::value_variants().iter().map(|&engine| (engine, engine.to_string()))
}

/// Engines whose histories have a serial order.
fn serializable() -> impl Iterator<Item = (EngineName, String)> {
    engines().filter(|(engine, _)| engine.is_serializable())
}

/// A path for a test's file or directory; the test's name keeps tests apart.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn judge_file(path: &Path) {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let report = judge(&History::read(BufReader::new(file)).expect("a history"), Model::Strict);
    assert!(report.valid && !report.judges_disagree, "{}: {report}", path.display());
    assert!(report.counts.committed > 0);
}

#[test]
fn ycsb_runs_on_every_engine_in_turns() {
    let others: Vec<String> = engines().skip(1).map(|(_, name)| name).collect();
    let compare = if others.is_empty() { String::new() } else { format!("--compare {}", others.join(",")) };
    let first = engines().next().expect("an engine").1;
    let rows = rows(&format!(
        "workload ycsb --engine {first} {compare} --threads 1,2 --transactions 2000 --records 1000 --keys-per-txn 4 \
         --theta 0.9 --scans 5 --scan-length 10 --repeat 2"
    ));
    let mut expected = Vec::new();
    for threads in [1, 2] {
        expected.extend(engines().map(|(_, name)| (name, threads)));
    }
    assert_eq!(rows.len(), expected.len());
    for (row, (engine, threads)) in rows.iter().zip(expected) {
        check_row(row, &engine, "ycsb", threads);
        assert_eq!(
            (&row["committed"], &row["repeats"]),
            (&4000.into(), &2.into()),
            "every transaction commits at last"
        );
        assert!(number(row, "bare_ns") > 0.0 && row["over_bare_ns"].is_number());
        assert_eq!(row["parameters"]["keys_per_txn"], 4);
        assert_eq!(row["parameters"]["theta"], 0.9);
    }
}

#[test]
fn rows_say_by_which_door_transactions_entered() {
    for (name, engine) in engines() {
        for door in [DoorName::Interactive, DoorName::Program, DoorName::Declared, DoorName::Batch] {
            if !name.has_door(door) {
                continue;
            }
            let rows = rows(&format!(
                "workload tpcc --engine {engine} --door {door} --transactions 60 --items 20 --customers 20"
            ));
            check_row(&rows[0], &engine, "tpcc", 1);
            assert_eq!(rows[0]["door"], door.name());
            let kinds = rows[0]["txn_per_s_by_kind"].as_object().expect("rates by kind");
            assert!(kinds.contains_key("NewOrder") && kinds.contains_key("Payment"), "{kinds:?}");
        }
    }
}

#[test]
fn bohm_runs_with_more_threads_than_cores() {
    let threads = "--planners 3 --executors 5 --threads 4";
    for door in ["declared", "batch"] {
        let rows = rows(&format!(
            "workload ycsb --engine bohm --door {door} {threads} --preset bohm-10rmw --records 500 --transactions 2000"
        ));
        check_row(&rows[0], "bohm", "ycsb", 4);
        assert_eq!(rows[0]["abort_ratio"], 0.0, "nothing is guessed, so nothing aborts: {}", rows[0]);
    }
}

#[test]
fn dur_runs_over_each_order_by_each_policy() {
    for order in ["sequencer", "paxos"] {
        for policy in ["speculative", "conflict-aware", "speculative --speculative 1"] {
            let file = scratch(&format!("dur-{order}-{}.jsonl", policy.len()));
            let rows = rows(&format!(
                "workload bank --engine dur --nodes 3 --order {order} --policy {policy} --door declared --threads 6 --accounts 20 \
                 --transactions 600 --history {}",
                file.display()
            ));
            check_row(&rows[0], "dur", "bank", 6);
            judge_file(&file);
        }
    }
}

#[test]
fn prepared_transactions_are_all_run_and_audited() {
    for (_, engine) in engines() {
        let rows = rows(&format!(
            "workload ycsb --engine {engine} --door prepared --threads 2 --preset bohm-10rmw --records 500 --transactions 301"
        ));
        assert_eq!((&rows[0]["engine"], &rows[0]["door"]), (&engine.into(), &"prepared".into()));
        assert_eq!((&rows[0]["committed"], &rows[0]["p50_us"]), (&301.into(), &0.0.into()), "there are no latencies");
        assert!(number(&rows[0], "txn_per_s") > 0.0);
    }
}

#[test]
fn prepared_transactions_run_for_a_time() {
    for (_, engine) in engines() {
        let rows = rows(&format!(
            "workload smallbank --engine {engine} --door prepared --threads 2 --customers 50 --seconds 0.02 --warm-up 0.01"
        ));
        assert!(number(&rows[0], "committed") > 0.0 && number(&rows[0], "txn_per_s") > 0.0);
        // The clock stands while a round is drawn, and a round is not cut short before it has run for so long.
        assert!(number(&rows[0], "seconds") >= 0.02, "{}", rows[0]);
        let kinds = rows[0]["txn_per_s_by_kind"].as_object().expect("rates by kind");
        let sum: f64 = kinds.values().filter_map(Value::as_f64).sum();
        assert!(
            (sum / number(&rows[0], "txn_per_s") - 1.0).abs() < 0.001,
            "what was counted warming up is gone: {kinds:?}"
        );
    }
}

#[test]
fn transactions_come_at_a_rate() {
    for (_, engine) in engines() {
        let rows = rows(&format!(
            "workload ycsb --engine {engine} --door declared --rate 5000 --threads 2 --records 500 --transactions 400"
        ));
        check_row(&rows[0], &engine, "ycsb", 2);
        assert_eq!((&rows[0]["committed"], &rows[0]["rate"]), (&400.into(), &5000.0.into()));
        assert!(number(&rows[0], "p99_us") > 0.0, "every one is timed");
    }
}

#[test]
fn timed_runs_count_after_a_warm_up() {
    let first = engines().next().expect("an engine").1;
    let rows = rows(&format!("workload ycsb --engine {first} --seconds 1 --warm-up 0.01 --records 100"));
    check_row(&rows[0], &first, "ycsb", 1);
}

#[test]
fn long_readers_are_counted_apart() {
    for (_, engine) in engines() {
        let rows = rows(&format!(
            "workload ycsb --engine {engine} --threads 1 --long-readers 1 --long-reader-keys 50 --records 200 \
             --seconds 1 --warm-up 0"
        ));
        check_row(&rows[0], &engine, "ycsb", 1);
        let readers = &rows[0]["long_readers"];
        assert_eq!(readers["threads"], 1);
        assert!(number(readers, "txn_per_s") >= 0.0 && readers["aborts"].is_object());
        assert_eq!(
            rows[0]["kept_versions"].is_number(),
            ["mvto", "hyper", "twopl", "hekaton", "si"].contains(&&engine[..]),
            "others do not count"
        );
    }
}

#[test]
fn workload_histories_pass_both_judges() {
    for (_, engine) in serializable() {
        let bank = scratch(&format!("bank-{engine}.jsonl"));
        let arguments = "--threads 2 --transactions 600 --accounts 8 --audits 10";
        check_row(
            &rows(&format!("workload bank --engine {engine} {arguments} --history {}", bank.display()))[0],
            &engine,
            "bank",
            2,
        );
        judge_file(&bank);
        let ycsb = scratch(&format!("ycsb-{engine}.jsonl"));
        let arguments = "--threads 1,2 --transactions 600 --records 20 --keys-per-txn 3 --scans 20 --scan-length 5";
        let own = "--own-at-statement --long-readers 1 --long-reader-keys 20";
        assert_eq!(
            rows(&format!("workload ycsb --engine {engine} {arguments} {own} --history {}", ycsb.display())).len(),
            2
        );
        for threads in [1, 2] {
            judge_file(&scratch(&format!("ycsb-{engine}-{engine}-{threads}-1.jsonl")));
        }
    }
}

#[test]
fn every_workload_runs_on_every_engine_and_its_histories_pass_both_judges() {
    let workloads = [
        ("smallbank", "--customers 30"),
        ("smallbank", "--preset bohm-contended --spin-us 1"),
        ("dml", "--records 50 --operations 3 --updates 40 --delete-inserts 40"),
        ("tatp", "--subscribers 40"),
        ("vacation", "--relations 12 --users 70 --queried 100"),
        (
            "tpcc",
            "--warehouses 2 --items 60 --customers 20 --remote-items 10 --top-customers 2 --long-reader-interval 1",
        ),
        ("ycsb", "--preset bohm-2rmw8r --records 50 --record-bytes 40 --theta 0.9"),
    ];
    for (name, engine) in engines() {
        for (number, (workload, arguments)) in workloads.into_iter().enumerate() {
            let file = scratch(&format!("{workload}-{number}-{engine}.jsonl"));
            let common = format!("--threads 2 --transactions 600 --long-readers 1 --history {}", file.display());
            let rows = rows(&format!("workload {workload} --engine {engine} {arguments} {common}"));
            check_row(&rows[0], &engine, workload, 2);
            if name.is_serializable() {
                judge_file(&file);
            }
        }
    }
}

#[test]
fn presets_can_be_changed_and_are_checked() {
    let first = engines().next().expect("an engine").1;
    let rows = rows(&format!(
        "workload ycsb --engine {first} --preset vmvcc-four-keys --records 500 --transactions 50 --reads 10"
    ));
    let parameters = &rows[0]["parameters"];
    assert_eq!((&parameters["keys_per_txn"], &parameters["theta"]), (&4.into(), &0.85.into()));
    assert_eq!((&parameters["records"], &parameters["reads"]), (&500.into(), &10.0.into()));
    for (arguments, named) in [
        ("ycsb --preset vmvcc", "it has bohm-10rmw"),
        ("ycsb --rmws 1 --reads 0 --keys-per-txn 2", "blind writes beside"),
        ("ycsb --storage hash --scans 1", "ordered storage"),
        ("tpcc --warehouses 0", "1 to 65,535 warehouses"),
        ("ycsb --preset bohm-10rmw --record-bytes 8 --history x", "name no writes"),
    ] {
        let output = lab(&format!("workload {arguments} --engine {first}"));
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(named), "lab {arguments}: {}", text(&output.stderr));
    }
}

#[test]
fn mixed_histories_of_all_engines_pass_both_judges() {
    for (threads, limits) in [(2, "small"), (4, "small"), (3, "default")] {
        let file = scratch(&format!("mixed-{threads}.jsonl"));
        let output = lab(&format!(
            "history --engine all --operations 6000 --threads {threads} --keys 30 --limits {limits} --seed {threads} --out {}",
            file.display()
        ));
        let judged = text(&output.stdout);
        assert!(output.status.success(), "{judged}{}", text(&output.stderr));
        for (_, engine) in serializable() {
            assert!(judged.contains(&format!("{engine}: ok: strict serializable")), "{judged}");
            judge_file(&scratch(&format!("mixed-{threads}-{engine}.jsonl")));
        }
    }
}

/// What is not serializable is not among all, and the judges say why.
#[test]
fn a_history_of_snapshot_isolation_is_refused() {
    let output = lab("history --engine si --operations 6000 --threads 2 --keys 20 --limits default");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(!text(&output.stdout).starts_with("ok"), "{}", text(&output.stdout));
}

#[test]
fn a_history_through_the_interactive_door_passes_both_judges() {
    let first = engines().next().expect("an engine").1;
    let arguments = format!("history --engine {first} --operations 3000 --threads 2 --keys 30 --door");
    let output = lab(&format!("{arguments} interactive"));
    assert!(output.status.success() && text(&output.stdout).starts_with("ok: strict serializable"));
    let refused = lab(&format!("{arguments} declared"));
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("declare no footprint"), "{}", text(&refused.stderr));
}

#[test]
fn durable_databases_are_measured_on_the_disk_and_removed() {
    for (_, engine) in engines().filter(|(engine, _)| engine.is_durable()) {
        let data = scratch(&format!("data-{engine}"));
        for durability in ["none", "async", "fsync"] {
            let rows = rows(&format!(
                "workload bank --engine {engine} --threads 2 --transactions 100 --accounts 50 --durability {durability} \
                 --data {}",
                data.display()
            ));
            check_row(&rows[0], &engine, "bank", 2);
            assert_eq!((&rows[0]["durability"], &rows[0]["storage"]), (&durability.into(), &"disk".into()));
        }
        assert_eq!(data.read_dir().expect("the directory itself stays").count(), 0);
    }
}

#[test]
fn engines_without_a_disk_say_so() {
    for (_, engine) in engines().filter(|(engine, _)| !engine.is_durable()) {
        let output = lab(&format!("workload bank --engine {engine} --durability fsync"));
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("keeps nothing on a disk"), "{}", text(&output.stderr));
    }
}

#[test]
fn tables_are_for_people() {
    let first = engines().next().expect("an engine").1;
    let output = lab(&format!("workload bank --engine {first} --transactions 200 --accounts 10"));
    let table = text(&output.stdout);
    let lines: Vec<&str> = table.lines().collect();
    let header = lines.iter().position(|line| line.starts_with("engine")).expect("a header");
    assert!(lines[header + 1].starts_with(&first) && lines[header].len() == lines[header + 1].len(), "{table}");
    assert!(text(&output.stderr).contains("[1/1] bank on"), "progress goes to standard error");
}

#[test]
fn without_arguments_it_prints_help() {
    let output = lab("");
    assert!(output.status.success() && text(&output.stdout).contains("Usage: lab"));
    for arguments in [
        "--help",
        "workload --help",
        "workload ycsb --help",
        "workload bank --help",
        "workload smallbank --help",
        "workload dml --help",
        "workload tatp --help",
        "workload tpcc --help",
        "workload vacation --help",
        "history --help",
    ] {
        let output = lab(arguments);
        assert!(output.status.success(), "lab {arguments}");
        assert_eq!(text(&output.stdout).contains("Examples:"), arguments != "workload --help", "lab {arguments}");
    }
}

#[test]
fn bad_arguments_are_named_and_exit_with_two() {
    let first = engines().next().expect("an engine").1;
    let cases = [
        ("workload ycsb".to_owned(), "--engine"),
        ("workload ycsb --engine oracle".to_owned(), "oracle"),
        (format!("workload ycsb --engine {first} --theta 1"), "below 1"),
        (format!("workload ycsb --engine {first} --reads 101"), "between 0 and 100"),
        (format!("workload ycsb --engine {first} --threads 0"), "--threads"),
        (format!("workload ycsb --engine {first} --threads 1,x"), "--threads"),
        (format!("workload ycsb --engine {first} --records 0"), "--records"),
        (format!("workload ycsb --engine {first} --seconds 0"), "above 0"),
        (format!("workload ycsb --engine {first} --seconds 1 --transactions 5"), "--transactions"),
        (format!("workload bank --engine {first} --accounts 1"), "--accounts"),
        (format!("workload bank --engine {first} --compare {first}"), "stands twice"),
        (format!("history --engine {first} --operations 0"), "--operations"),
        (format!("history --engine {first},oracle"), "the engines are"),
        (format!("workload bank --engine {first} --door revolving"), "revolving"),
        ("wrokload".to_owned(), "workload"),
    ];
    for (arguments, named) in cases {
        let output = lab(&arguments);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "lab {arguments}: {complaint}");
        assert!(complaint.contains(named), "lab {arguments}: {complaint}");
        assert!(output.stdout.is_empty(), "nothing but rows goes to standard output");
    }
}

#[test]
fn a_history_that_cannot_be_written_is_an_error() {
    let first = engines().next().expect("an engine").1;
    let output = lab(&format!("workload bank --engine {first} --transactions 5 --history /nowhere/at/all.jsonl"));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/nowhere/at/all.jsonl"), "{}", text(&output.stderr));
}

/// Decision 0138: whoever draws a number from a row has its trial run behind what those before it would write. So a client that waits for
/// each of its transactions guesses right always, and the same transactions submitted together miss seldom.
#[test]
fn footprints_of_tpcc_do_not_miss_one_by_one() {
    let tpcc = "workload tpcc --engine bohm --threads 1 --transactions 640 --warehouses 1 --items 200 --customers 60";
    let missed = |door: &str| {
        let row = rows(&format!("{tpcc} --door {door}")).remove(0);
        assert_eq!(row["committed"], 640, "{row}");
        row["aborts"].get("footprint-missed").map_or(0, |count| count.as_u64().expect("a count"))
    };
    assert_eq!(missed("declared"), 0);
}
