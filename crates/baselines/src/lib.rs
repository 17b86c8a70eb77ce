//! Seriatim: baselines.
