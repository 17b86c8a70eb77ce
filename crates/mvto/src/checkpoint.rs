//! Checkpoints.
use crate::engine::Mvto;
/// What a checkpoint wrote.
#[derive(Clone, Debug, Default)]
pub struct CheckpointReport;
