//! Signals of the operating system that stop a command.

use crate::failure::{Failure, Outcome};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The first SIGINT or SIGTERM asks to stop, the second insists.
pub fn stop_on_signals() -> Outcome<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())
            .map_err(Failure::trouble)?;
        signal_hook::flag::register(signal, stop.clone()).map_err(Failure::trouble)?;
    }
    Ok(stop)
}

/// SIGINT and SIGTERM ask to stop, however often they come: only SIGKILL insists.
pub fn note_signals() -> Outcome<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(Failure::trouble)?;
    }
    Ok(stop)
}
