//! Failures of the `lab` command.

/// Why the command has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The arguments make no sense together.
    Arguments(String),
    /// The run failed.
    Run(String),
    /// The judges found a violation, which has been printed.
    Verdict,
}

impl Failure {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Arguments(_) => 2,
            Failure::Run(_) | Failure::Verdict => 1,
        }
    }
}
