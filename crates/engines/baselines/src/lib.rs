//! Baselines: the protocols that the engines of this house are measured against, as small as they can honestly be and
//! as fast as their ideas allow.
//!
//! - [`twopl`]: strict two-phase locking, the textbook's answer, behind the same doors as every other engine.
#![forbid(unsafe_code)]

pub mod twopl;
