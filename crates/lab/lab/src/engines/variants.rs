//! Variants of `hyper` that experiments compare: validation, layout and synopses.
//!
//! Source: HyPer (SIGMOD '15), sections 4 and 4.4: snapshot isolation beside validation by rows and by attributes; row- and column-based
//! storage; whole records as versions without synopses, as in Hekaton; one version of each row.

use super::redo_log::RedoLog;
use hyper::Options;
use serde::{Deserialize, Serialize};

/// What an experiment changes of `hyper`. Other engines have none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HyperVariant {
    /// What is validated.
    pub validation: ValidationName,
    /// Whether rows are stored whole, and not by column.
    pub by_row: bool,
    /// Whether versions are whole rows.
    pub whole_versions: bool,
    /// Rows of a block, and of its synopsis.
    pub block_rows: u64,
    /// Whether scans use the synopses.
    pub has_synopses: bool,
    /// Whether a transaction's start may move to the present; in the paper it aborts.
    pub moves_starts: bool,
    /// Whether there is one version of each row, and one transaction at a time.
    #[serde(default)]
    pub single_version: bool,
    /// Where the redo log is, if the data are in memory.
    #[serde(default)]
    pub log: RedoLog,
}

/// What is validated, by the paper's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValidationName {
    /// Nothing: snapshot isolation, not serializable.
    Si,
    /// Predicates and whole rows.
    SrRl,
    /// Predicates and the columns that were looked at.
    SrAl,
}

impl HyperVariant {
    /// The engine as it is.
    pub const WHOLE: HyperVariant = HyperVariant {
        validation: ValidationName::SrAl,
        by_row: false,
        whole_versions: false,
        block_rows: 16_384,
        has_synopses: true,
        moves_starts: true,
        single_version: false,
        log: RedoLog::None,
    };

    /// Returns the isolation level of its transactions, if it is not the engine's.
    pub fn weaker_isolation(self) -> Option<&'static str> {
        (self.validation == ValidationName::Si).then_some("snapshot isolation, not serializable")
    }

    /// Changes the options.
    pub(super) fn apply(self, options: Options) -> Options {
        let HyperVariant { validation, by_row, whole_versions, block_rows, has_synopses, moves_starts, .. } = self;
        let single_version = self.single_version;
        let validation = match validation {
            ValidationName::Si => hyper::Validation::Snapshots,
            ValidationName::SrRl => hyper::Validation::Rows,
            ValidationName::SrAl => hyper::Validation::Columns,
        };
        Options {
            validation,
            by_row,
            whole_versions,
            block_rows,
            has_synopses,
            moves_starts,
            single_version,
            ..options
        }
    }
}

impl Default for HyperVariant {
    fn default() -> HyperVariant {
        HyperVariant::WHOLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_as_it_is_has_the_default_options() {
        let changed = HyperVariant::WHOLE.apply(Options::default());
        assert_eq!(format!("{changed:?}"), format!("{:?}", Options::default()));
    }
}
