//! Measurements that are kept as they are made: what two figures share is measured once, and an interrupted run goes on where it was.

use crate::failure::Failure;
use crate::machine;
use crate::trial::{Measurement, Plan, Subject};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Measurements by trial: in memory, and in a file if there is one.
#[derive(Debug, Default)]
pub struct Kept {
    file: Option<(PathBuf, File, Here)>,
    /// By the written form of the trial. None: nothing is kept, and equal trials are run again.
    measured: Option<HashMap<String, Measurement>>,
}

/// What figures depend on besides the trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Here {
    commit: Option<String>,
    cores: usize,
    build: String,
    allocator: String,
}

/// A line of the file. The trial is in its written form: numbers that were read again may differ in their last bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    here: Here,
    trial: String,
    measurement: Measurement,
}

impl Here {
    fn now() -> Here {
        Here {
            commit: machine::commit(),
            cores: machine::cores(),
            build: machine::BUILD.to_owned(),
            allocator: machine::ALLOCATOR.to_owned(),
        }
    }
}

/// The written form of a trial.
pub(super) fn name<S: Subject>(trial: &Plan<S>) -> String {
    serde_json::to_string(trial).expect("a plan is plain data")
}

impl Kept {
    /// Keeps nothing.
    pub fn nothing() -> Kept {
        Kept::default()
    }

    /// Keeps measurements for as long as it is there.
    pub fn in_memory() -> Kept {
        Kept { file: None, measured: Some(HashMap::new()) }
    }

    /// Keeps measurements in a file, which may have some: those of this commit, build and machine count. An incomplete last line is
    /// what an interrupted run leaves, and goes.
    ///
    /// # Errors
    /// The file cannot be read or written, or is another one.
    pub fn in_file(path: &Path) -> Result<Kept, Failure> {
        let cannot =
            |error: io::Error| Failure::Run(format!("cannot keep measurements in {}: {error}", path.display()));
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(cannot)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(cannot)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let lines: Vec<Line> =
            text[..whole].lines().map(serde_json::from_str).collect::<Result<_, _>>().map_err(|error| {
                Failure::Arguments(format!("{} holds no measurements of this program: {error}", path.display()))
            })?;
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(cannot)?;
        let here = Here::now();
        let (lines, others): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|line| line.here == here);
        if !others.is_empty() {
            eprintln!(
                "{}: {} measurements of another commit, build or machine do not count",
                path.display(),
                others.len()
            );
        }
        let measured = lines.into_iter().map(|line| (line.trial, line.measurement)).collect();
        Ok(Kept { file: Some((path.to_owned(), file, here)), measured: Some(measured) })
    }

    /// The measurement of a trial, if it was made.
    pub(super) fn find<S: Subject>(&self, trial: &Plan<S>) -> Option<Measurement> {
        self.measured.as_ref()?.get(&name(trial)).cloned()
    }

    /// Keeps a measurement.
    pub(super) fn add<S: Subject>(&mut self, trial: &Plan<S>, measurement: &Measurement) -> Result<(), Failure> {
        let trial = name(trial);
        if let Some(measured) = &mut self.measured {
            measured.insert(trial.clone(), measurement.clone());
        }
        let Some((path, file, here)) = &mut self.file else { return Ok(()) };
        let line = Line { here: here.clone(), trial, measurement: measurement.clone() };
        let mut text = serde_json::to_string(&line).expect("figures are plain data");
        text.push('\n');
        file.write_all(text.as_bytes())
            .map_err(|error| Failure::Run(format!("cannot keep a measurement in {}: {error}", path.display())))
    }
}
