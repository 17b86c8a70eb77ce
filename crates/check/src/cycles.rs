//! The second judge: dependency cycles.

use crate::Model;
use crate::history::History;
use crate::report::Judgement;

/// Looks for cycles.
pub fn judge(_history: &History, _model: Model) -> Judgement {
    Judgement::not_applicable("dependency cycles are judged from the next commit on".to_owned())
}
