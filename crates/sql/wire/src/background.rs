//! A server on a thread of its own, for programs that do other things.

use crate::Server;
use env::thread::{JoinHandle, spawn_named};
use std::io;
use std::net::SocketAddr;
use tokio::sync::oneshot;

/// A server that runs until this is dropped, which lets running statements end and closes all connections.
#[derive(Debug)]
pub struct Background {
    address: SocketAddr,
    /// Dropped first: that stops the server.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves on a thread of its own.
    ///
    /// # Errors
    /// The operating system refuses another thread.
    pub fn start(self) -> io::Result<Background> {
        let (stop, stopped) = oneshot::channel::<()>();
        let address = self.address();
        let serve = move || {
            self.run(async {
                // The sender is dropped, and sends nothing.
                let _ = stopped.await;
            });
        };
        let thread = spawn_named("seriatim-server", serve)?;
        Ok(Background { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Background {
    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic of that thread was reported there.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
