//! Each file of `tests/histories` against both models, and its recorded report.
//!
//! A file's first line says, in fields that the format ignores, what it is about, and per model the expected `[replay, cycles]`: `pass`,
//! `not-applicable`, or the name of the anomaly that must be the only kind found. The full report is recorded beside it; after a change
//! that is meant to alter reports, run with `RECORD=1` and review the difference.

use seriatim_check::report::Judgement;
use seriatim_check::{History, Model, Verdict, judge};
use std::fs;
use std::path::{Path, PathBuf};

const MODELS: [(&str, Model); 2] = [("serializable", Model::Serializable), ("strict", Model::Strict)];

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    let entries = fs::read_dir(folder).expect("the histories are there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let mut scripts: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    scripts.sort();
    scripts
}

/// The judge's answer in one word.
fn word(judgement: &Judgement) -> String {
    let mut names: Vec<&str> = judgement.findings.iter().map(|f| f.anomaly.name()).collect();
    names.sort_unstable();
    names.dedup();
    match judgement.verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::NotApplicable => "not-applicable".to_owned(),
        Verdict::Fail => names.join("+"),
    }
}

#[test]
fn every_script_gets_its_verdicts() {
    let mut wrong = Vec::new();
    for path in scripts() {
        let text = fs::read_to_string(&path).expect("readable");
        let first = text.lines().next().expect("a first line");
        let first: serde_json::Value = serde_json::from_str(first).expect("JSON");
        let history = History::read(text.as_bytes()).expect("a history");
        for (name, model) in MODELS {
            let report = judge(&history, model);
            let found = serde_json::json!([word(&report.replay), word(&report.cycles)]);
            if found != first[name] {
                let file = path.file_stem().unwrap_or_default().display();
                wrong.push(format!("{file} {name}: expected {}, found {found}\n{report}", first[name]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_script_has_its_recorded_reports() {
    let record = std::env::var_os("RECORD").is_some();
    for path in scripts() {
        let text = fs::read(&path).expect("readable");
        let history = History::read(&text[..]).expect("a history");
        let reports: Vec<String> = MODELS.iter().map(|(_, model)| report(&history, *model)).collect();
        let reports = reports.join("\n");
        let recorded = path.with_extension("txt");
        if record {
            fs::write(&recorded, &reports).expect("writable");
        }
        let expected = fs::read_to_string(&recorded).unwrap_or_default();
        assert_eq!(expected, reports, "{}", path.display());
    }
}

fn report(history: &History, model: Model) -> String {
    let mut report = judge(history, model);
    report.replay.elapsed_us = 0;
    report.cycles.elapsed_us = 0;
    report.to_string()
}
