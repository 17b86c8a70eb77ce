//! Runs of experiments that are interrupted, through the `lab` program.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments.split_whitespace());
    command
}

fn lab(arguments: &str) -> Output {
    command(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file that is not there yet.
fn new_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

/// The figures of an output, without other fields; the output of a failed run is as good.
fn figures(output: &Output) -> Vec<Value> {
    let outcomes: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list of outcomes");
    outcomes[0]["figures"].as_array().expect("a list").clone()
}

fn rates(output: &Output) -> Vec<u64> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    figures(output).iter().map(|it| it["txn_per_s"].as_f64().expect("a number").round() as u64).collect()
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).expect("the file is there").lines().map(str::to_owned).collect()
}

/// Kills a process that is not waited for yet, as the system does that has no memory left.
fn kill(process: u32) {
    let killed = Command::new("kill").args(["-KILL", &process.to_string()]).status().expect("there is a kill");
    assert!(killed.success(), "process {process} is there");
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let kept = new_file("kept.jsonl");
    let command = format!("run vmvcc-ladder --format json --resume {}", kept.display());
    let first = rates(&lab(&command));
    let again = lab(&command);
    assert!(text(&again.stderr).contains("all trials were measured before"), "{}", text(&again.stderr));
    assert_eq!(rates(&again), first, "nothing was run twice");
    // An interrupted run may leave a part of a line.
    let lines = std::fs::read_to_string(&kept).expect("the file is there");
    assert_eq!(lines.lines().count(), first.len());
    std::fs::write(&kept, &lines[..lines.len() - 10]).expect("a file can be written");
    let rest = lab(&command);
    let (rest_rates, progress) = (rates(&rest), text(&rest.stderr));
    assert_eq!(rest_rates[..first.len() - 1], first[..first.len() - 1], "what was kept stays");
    assert_eq!(progress.matches(" on mvto, ").count(), 1, "the last trial alone is run again: {progress}");
    assert_eq!(std::fs::read_to_string(&kept).expect("the file is there").lines().count(), first.len());
    std::fs::write(&kept, "something else\n").expect("a file can be written");
    assert_eq!(lab(&command).status.code(), Some(2), "another file is left alone");
}

/// A run in the background, and what it says.
struct Running {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Running {
    fn start(arguments: &str) -> Running {
        let mut child =
            command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        Running { child, said }
    }

    /// Waits for a line that begins so.
    fn wait_for(&mut self, beginning: &str) -> String {
        let mut line = String::new();
        while !line.starts_with(beginning) {
            line.clear();
            assert!(self.said.read_line(&mut line).expect("a line") > 0, "it ended before it said {beginning}");
        }
        line
    }

    /// Its trial, which goes on for a day. It has said that trials begin: before, its children are others.
    fn trial(&self) -> u32 {
        let path = format!("/proc/{0}/task/{0}/children", self.child.id());
        loop {
            let children = std::fs::read_to_string(&path).expect("the system lists children");
            if let Some(child) = children.split_whitespace().next() {
                return child.parse().expect("a process");
            }
            std::thread::yield_now();
        }
    }

    /// Kills it and waits until nobody has its end of the pipe: its trial has ended, too.
    fn kill(mut self) {
        kill(self.child.id());
        self.child.wait().expect("its end");
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("the end of the pipe");
    }
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let kept = new_file("kept-killed.jsonl");
    let arguments = format!("run vmvcc-ladder --format json --resume {}", kept.display());
    let mut first = Running::start(&arguments);
    first.wait_for("[2/");
    first.kill();
    let before = lines(&kept);
    assert!(before.len() >= 2, "each trial is kept as it ends");
    let rest = lab(&arguments);
    let all = rates(&rest);
    assert_eq!(text(&rest.stderr).matches(" on mvto, ").count(), all.len() - before.len());
    assert_eq!(lines(&kept)[..before.len()], before[..], "what was kept stays");
}

#[test]
fn the_trial_of_a_killed_run_ends() {
    let kept = new_file("kept-orphan.jsonl");
    let mut running = Running::start(&format!("run vmvcc-stock-scan --seconds 86400 --resume {}", kept.display()));
    running.wait_for("vmvcc-stock-scan: ");
    running.trial();
    // It waits for the trial's end of the pipe.
    running.kill();
    assert_eq!(lines(&kept), [""; 0]);
}

#[test]
fn trials_that_are_killed_are_named_and_tried_once_more() {
    const POINTS: usize = 4;
    let kept = new_file("kept-trials.jsonl");
    let arguments =
        format!("run vmvcc-stock-scan --scale smoke --seconds 86400 --format json --resume {}", kept.display());
    for attempt in 1..=2 {
        let mut running = Running::start(&arguments);
        running.wait_for("vmvcc-stock-scan: ");
        for number in 1..=POINTS {
            kill(running.trial());
            let line = running.wait_for(&format!("[{number}/{POINTS}]"));
            assert!(line.contains("the trial ended with signal: 9"), "{line}");
        }
        assert_eq!(running.child.wait().expect("its end").code(), Some(1));
        let failures = lines(&kept).iter().filter(|line| line.contains("\"failure\":\"the trial ended")).count();
        assert_eq!(failures, attempt * POINTS);
    }
    let over = lab(&arguments);
    assert_eq!(over.status.code(), Some(1));
    assert!(text(&over.stderr).contains("4 trial(s) failed"), "{}", text(&over.stderr));
    assert!(figures(&over).is_empty());
    let outcomes: Vec<Value> = serde_json::from_slice(&over.stdout).expect("a list of outcomes");
    let failed = outcomes[0]["failed"].as_array().expect("a list");
    let named = |at: usize| failed[at].as_str().expect("a sentence");
    assert!(
        failed.len() == POINTS && named(0).starts_with("figure 13 at ") && named(0).contains("given up"),
        "{failed:?}"
    );
    let table = lab(&arguments.replace(" --format json", ""));
    assert_eq!(
        text(&table.stdout).matches("- a trial failed: figure 13 at ").count(),
        POINTS,
        "{}",
        text(&table.stdout)
    );
}
