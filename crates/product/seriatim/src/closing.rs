//! Closing of a database whose last handle is dropped: in bounded time, even if the disk does not respond.

use crate::{Error, Result};
use env::thread::{self, spawn_named};
use env::time::Duration;
use model::Fault;
use std::fmt;
use std::sync::{Arc, mpsc};

/// How long the drop of the last handle waits for the disk, and whom it reports a failure to.
#[derive(Clone, Debug)]
pub(crate) struct Closing {
    pub limit: Duration,
    pub on_failure: Option<OnFailure>,
}

/// Called with the reason why a database could not be closed cleanly.
#[derive(Clone)]
pub(crate) struct OnFailure(pub Arc<dyn Fn(&Error) + Send + Sync>);

impl fmt::Debug for OnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFailure")
    }
}

impl Default for Closing {
    fn default() -> Closing {
        Closing { limit: Duration::from_secs(60), on_failure: None }
    }
}

impl Closing {
    /// Runs `close` on a thread of its own, which goes on when the limit is reached.
    pub fn wait_for(&self, close: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        let (sender, closed) = mpsc::sync_channel(1);
        let closer = spawn_named("seriatim-close", move || {
            // Nobody receives it any more if the disk was too slow.
            let _ = sender.send(close());
        });
        let detail = match closer {
            // The log's own thread cannot wait for its end.
            Ok(_) if thread::current().name() == Some(wal::LOG_THREAD) => return Ok(()),
            Ok(_) => match closed.recv_timeout(self.limit) {
                Ok(closed) => return closed,
                Err(_) => format!(
                    "the disk has not taken the rest of the log within {:?}: what was acknowledged is durable; the database \
                     closes when the disk returns, and its directory stays locked until then",
                    self.limit
                ),
            },
            Err(error) => format!("cannot start the thread that closes the database: {error}"),
        };
        Err(Fault::Disk { detail }.into())
    }

    pub fn tell(&self, error: &Error) {
        if let Some(OnFailure(call)) = &self.on_failure {
            call(error);
        }
    }
}
