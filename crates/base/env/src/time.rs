//! Real time, for waits with a limit and for measurements; never for timestamps, which come from a [`Clock`](crate::Clock).

pub use std::time::{Duration, Instant};
