//! The example job: its sums are exact, it stops on request, and no acknowledged order is lost when it is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use testing::{Directory, Ran};

const ENGINES: [&str; 2] = ["mvto", "hyper"];

fn orders(data: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_northwind"));
    command.arg("--data").arg(data).args(options);
    command
}

fn finished(data: &Path, options: &[&str]) -> Ran {
    Ran::of(&mut orders(data, options))
}

#[test]
fn orders_add_up_from_run_to_run() {
    for (engine, next) in [("mvto", "hyper"), ("hyper", "mvto")] {
        orders_add_up(engine, next);
    }
}

/// The second run opens with another engine what the first has left.
fn orders_add_up(engine: &str, next: &str) {
    let directory = Directory::new("orders");
    let out = finished(directory.path(), &["--orders", "300", "--threads", "3", "--engine", engine]).ok();
    assert!(out.starts_with("loaded "), "{out}");
    assert!(out.contains("a generated sample"), "it says where the tables are from: {out}");
    let last = out.lines().last().unwrap();
    assert!(last.starts_with("audit ok: 300 orders with "), "{last}");

    let out = finished(directory.path(), &["--orders", "200", "--durability", "async", "--engine", next]).ok();
    let first = out.lines().next().unwrap();
    assert_eq!(
        first,
        "recovered: 300 acknowledged orders of the previous run, all found; 0 orders unacknowledged but complete; none by \
         half (300 acknowledged in 1 runs)"
    );
    assert!(out.lines().last().unwrap().starts_with("audit ok: 500 orders with "), "{out}");
}

#[test]
fn the_sample_has_northwinds_shape() {
    let directory = Directory::new("sample");
    finished(directory.path(), &["--orders", "0"]).ok();
    let db = seriatim::Database::builder().read_only().open(directory.path()).unwrap();
    let snapshot = db.snapshot().unwrap();
    let rows = |name: &str| db.open_table(name).unwrap().len(&snapshot).unwrap();
    assert_eq!(
        ["categories", "customers", "employees", "orders", "products", "shippers", "suppliers"].map(rows),
        [8, 91, 9, 830, 77, 6, 29]
    );
    assert!(rows("order_details") >= rows("orders"));
}

#[test]
fn csv_files_are_checked_before_anything_is_loaded() {
    let (directory, csv) = (Directory::new("bad-csv"), Directory::new("bad-csv-files"));
    csv.file("categories.csv", "category_id,category_name,description\n1,Beverages,\n");
    let options = ["--orders", "0", "--csv", csv.path().to_str().unwrap()];
    finished(directory.path(), &options).refused(2, "customers.csv: No such file");
    csv.file("categories.csv", "category_id,category_name\n1,Beverages\n");
    finished(directory.path(), &options).refused(2, "categories.csv:1: column description is missing");
    // A failed run left nothing behind that blocks the next.
    finished(directory.path(), &["--orders", "1"]).ok();
}

#[test]
fn a_mistyped_path_creates_nothing() {
    let directory = Directory::new("mistyped");
    let complaint = "--csv /nosuch: there is no such directory";
    finished(directory.path(), &["--csv", "/nosuch"]).refused(2, complaint);
    assert!(!directory.path().exists());
}

#[test]
fn a_database_in_use_is_left_alone() {
    let directory = Directory::new("in-use");
    let _db = seriatim::Database::open(directory.path()).unwrap();
    let holder = format!("process {} has this database open", std::process::id());
    finished(directory.path(), &[]).refused(2, &holder);
}

#[test]
fn help_has_examples() {
    assert!(finished(Path::new("."), &["--help"]).ok().contains("Examples:\n  northwind "));
}

/// Waits until the running program says that it has placed so many orders, and returns how many it said.
fn wait_for_orders(child: &mut Child, at_least: u64) -> u64 {
    let out = BufReader::new(child.stdout.take().unwrap());
    for line in out.lines() {
        let line = line.unwrap();
        assert!(!line.contains("FAILED"), "{line}");
        // "1.0 s  3,038 orders/s  3,580 orders  30,649 units moved ..."
        let placed = line.split("  ").find_map(|part| part.strip_suffix(" orders"));
        let placed = placed.and_then(|number| number.replace(',', "").parse().ok()).unwrap_or(0);
        if placed >= at_least {
            return placed;
        }
    }
    panic!("it ended before it had placed {at_least} orders")
}

/// Twenty times: kill -9 at some moment, start again, and every acknowledged order is there and none by half. All in one
/// directory, so that later recoveries stand on earlier ones, and by engines that take turns.
#[test]
fn twenty_kills_take_no_acknowledged_order_away() {
    let directory = Directory::new("kill");
    let mut randomness = env::Randomness::from_seed(20);
    let mut acknowledged_before = 0;
    for round in 1..=20 {
        let engine = ENGINES[round / 2 % 2];
        let options = ["--seconds", "600", "--threads", "3", "--every", "0.02", "--engine", engine];
        let mut child = orders(directory.path(), &options).stdout(Stdio::piped()).spawn().unwrap();
        let said = wait_for_orders(&mut child, randomness.in_range(0..150));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();

        let ran = finished(directory.path(), &["--orders", "0", "--engine", ENGINES[round % 2]]);
        let recovered = ran.out.lines().find(|line| line.starts_with("recovered: ")).unwrap_or_default().to_owned();
        let out = ran.ok();
        assert!(recovered.contains(" acknowledged orders of the previous run, all found; "), "round {round}: {out}");
        assert!(recovered.contains("; none by half ("), "round {round}: {out}");
        let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
        let previous = number(recovered["recovered: ".len()..].split(' ').next().unwrap());
        assert!(previous >= said, "round {round}: {said} were reported, {recovered}");
        let in_all = number(recovered.split('(').nth(1).unwrap().split(' ').next().unwrap());
        assert_eq!(in_all, acknowledged_before + previous, "round {round}: {recovered}");
        acknowledged_before = in_all;
        let last = out.lines().last().unwrap();
        assert!(last.starts_with("audit ok: "), "round {round}: {last}");
    }
    assert!(acknowledged_before > 0);
}

/// Tables that are created one by one and a load that is one transaction: wherever the kill falls, the next run loads what
/// is not there.
#[test]
fn a_kill_while_loading_is_survived() {
    for wait_for in ["CONTROL", "LOCK", "wal-0000000001.log"] {
        let directory = Directory::new("kill-load");
        let mut child = orders(directory.path(), &["--orders", "0"]).stdout(Stdio::null()).spawn().unwrap();
        while !directory.path().join(wait_for).exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before there was {wait_for}");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let out = finished(directory.path(), &["--orders", "5"]).ok();
        assert!(out.lines().last().unwrap().starts_with("audit ok: 5 orders with "), "{wait_for}: {out}");
    }
}

/// Orders acknowledged without waiting for the disk may be lost, but no more than announced.
#[test]
fn what_was_acknowledged_without_a_promise_is_not_held_against_it() {
    let directory = Directory::new("none");
    let options = ["--seconds", "600", "--durability", "none", "--every", "0.02"];
    let mut child = orders(directory.path(), &options).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_orders(&mut child, 100);
    child.kill().unwrap();
    child.wait().unwrap();
    let out = finished(directory.path(), &["--orders", "0"]).ok();
    let recovered = out.lines().find(|line| line.starts_with("recovered: ")).unwrap();
    assert!(recovered.contains("all found") || recovered.contains("lost, which its durability allowed"), "{recovered}");
    assert!(recovered.contains("none by half"), "{recovered}");
}

/// The audit can fail: take an acknowledged order away, or half of one, and it says so.
#[test]
fn a_missing_or_halved_order_fails_the_audit() {
    let directory = Directory::new("missing");
    finished(directory.path(), &["--orders", "50", "--threads", "1"]).ok();
    let order = 1_000_000_000_001i64;
    let db = seriatim::Database::open(directory.path()).unwrap();
    let details = db.open_table("order_details").unwrap();
    let lines: Vec<_> = db
        .read(|at| details.range(at, order..=order).collect::<Result<Vec<_>, _>>())
        .unwrap()
        .iter()
        .map(|row| row.values().into_iter().map(|value| value.to_owned()).collect::<Vec<_>>())
        .collect();
    db.run(|txn| details.delete(txn, &lines[0][..2])).unwrap();
    drop(db);
    let ran = finished(directory.path(), &["--orders", "0"]);
    assert!(ran.out.lines().last().unwrap().starts_with("audit FAILED: order 1000000000001 "), "{ran:?}");
    ran.refused(1, "order 1000000000001");

    let db = seriatim::Database::open(directory.path()).unwrap();
    let (details, stock) = (db.open_table("order_details").unwrap(), db.open_table("products").unwrap());
    db.run(|txn| {
        for line in &lines[1..] {
            details.delete(txn, &line[..2])?;
        }
        for line in &lines {
            let seriatim::Value::Int(quantity) = line[3] else { panic!("{line:?}") };
            stock.update(txn, &line[1..2], [("units_in_stock", seriatim::Change::Add(quantity))])?;
        }
        db.open_table("orders")?.delete(txn, order)?;
        db.open_table("placed_orders")?.delete(txn, order)
    })
    .unwrap();
    drop(db);
    // All of it is gone, and nothing but the journal knows.
    let ran = finished(directory.path(), &["--orders", "0"]);
    assert_eq!(
        ran.out.lines().last(),
        Some("audit FAILED: order 1000000000001 was acknowledged and is missing"),
        "{ran:?}"
    );
    assert_eq!(ran.code, 1);
}

#[test]
fn a_signal_ends_it_with_an_audit() {
    for signal in ["INT", "TERM"] {
        let directory = Directory::new("signal");
        let options = ["--seconds", "600", "--every", "0.02"];
        let mut child = orders(directory.path(), &options).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("loaded "), "{first}");
        // A line of progress: the threads are at work.
        lines.next().unwrap().unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        let last = lines.map(Result::unwrap).last().unwrap();
        assert!(last.starts_with("audit ok: "), "{signal}: {last}");
        assert!(child.wait().unwrap().success());
    }
}
