//! What came of trials, kept as it comes: what two figures share is measured once, and an interrupted run goes on where it was.

use crate::failure::Failure;
use crate::trial::{Measurement, Plan, Subject};
use crate::{machine, processes};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How often a trial is begun that fails, the attempts of interrupted runs included.
const MOST_ATTEMPTS: usize = 2;

/// What came of trials: in memory, and in a file if there is one.
#[derive(Debug, Default)]
pub struct Kept {
    file: Option<(PathBuf, File)>,
    here: Here,
    commit: Option<String>,
    lines: Vec<Line>,
}

/// What figures depend on besides the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Here {
    /// See [`processes::own_fingerprint`]. Empty in files of programs that named their commit: those measured something else if the
    /// repository went on while they ran.
    #[serde(default)]
    program: String,
    cores: usize,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    here: Here,
    /// For people.
    commit: Option<String>,
    /// The trial in its written form: numbers that were read again may differ in their last bit.
    trial: String,
    #[serde(flatten)]
    end: End,
}

/// What came of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum End {
    Measurement(Box<Measurement>),
    /// Why it has none.
    Failure(String),
}

/// What is known of a trial.
#[derive(Debug)]
pub(super) enum Known {
    Measured(Box<Measurement>),
    /// It failed as often as it is tried: the last reason.
    GivenUp(String),
    /// It is to be run.
    Open,
}

/// The written form of a trial.
pub(super) fn name<S: Subject>(trial: &Plan<S>) -> String {
    serde_json::to_string(trial).expect("a plan is plain data")
}

impl Kept {
    /// Keeps everything in memory: equal trials of several experiments are run once.
    pub fn in_memory() -> Kept {
        Kept::default()
    }

    /// Keeps everything in a file, too, which may have some: what this program left there on as many cores counts. An incomplete last
    /// line is what an interrupted run leaves, and goes.
    ///
    /// # Errors
    /// The file cannot be read or written, or is another one; this program's own file cannot be read.
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
        let program = processes::own_fingerprint()
            .map_err(|error| Failure::Run(format!("cannot read this program's file: {error}")))?;
        let here = Here { program, cores: machine::cores() };
        let (lines, others): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|line| line.here == here);
        if !others.is_empty() {
            eprintln!(
                "{}: {} trials of another build of this program, or with other cores, do not count",
                path.display(),
                others.len()
            );
        }
        Ok(Kept { file: Some((path.to_owned(), file)), here, commit: machine::commit(), lines })
    }

    /// What is known of a trial.
    pub(super) fn find<S: Subject>(&self, trial: &Plan<S>) -> Known {
        let name = name(trial);
        let ends = || self.lines.iter().filter(|line| line.trial == name).map(|line| &line.end);
        let measured = ends().find_map(|end| match end {
            End::Measurement(measurement) => Some(measurement.clone()),
            End::Failure(_) => None,
        });
        match (measured, ends().next_back()) {
            (Some(measurement), _) => Known::Measured(measurement),
            (None, Some(End::Failure(reason))) if ends().count() >= MOST_ATTEMPTS => Known::GivenUp(reason.clone()),
            (None, _) => Known::Open,
        }
    }

    /// Keeps what came of a trial: it is on the disk when this returns.
    pub(super) fn add<S: Subject>(&mut self, trial: &Plan<S>, end: End) -> Result<(), Failure> {
        let line = Line { here: self.here.clone(), commit: self.commit.clone(), trial: name(trial), end };
        if let Some((path, file)) = &mut self.file {
            let mut text = serde_json::to_string(&line).expect("figures are plain data");
            text.push('\n');
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_data())
                .map_err(|error| Failure::Run(format!("cannot keep a measurement in {}: {error}", path.display())))?;
        }
        self.lines.push(line);
        Ok(())
    }
}
