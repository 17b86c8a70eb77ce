//! A blocking client: each call runs the client until its answer arrives.

use std::fmt;
use std::io;

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};

use super::remote::{self, Answer, Client, ClientError, ClientOptions};

/// A client that blocks its caller. Nothing runs between calls: a connection that breaks meanwhile is replaced by the next call.
pub struct BlockingClient {
    client: Client,
    options: ClientOptions,
    runtime: Runtime,
}

impl fmt::Debug for BlockingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockingClient({})", self.options.addresses.join(", "))
    }
}

/// Why there is no client.
#[derive(Debug)]
pub enum StartError {
    /// The operating system gives no timer or no events.
    System(io::Error),
    /// The options are of no use.
    Client(ClientError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "{error}"),
            Self::Client(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl BlockingClient {
    /// A client of these replicas.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn new(options: ClientOptions) -> Result<Self, StartError> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(StartError::System)?;
        let client = {
            let _entered = runtime.enter();
            Client::start(options.clone()).map_err(StartError::Client)?
        };
        Ok(Self { client, options, runtime })
    }

    /// See [`Client::execute`].
    ///
    /// # Errors
    /// Errors of [`Client::execute`].
    pub fn execute(&self, body: Bytes) -> Result<Answer, ClientError> {
        self.runtime.block_on(self.client.execute(body))
    }

    /// See [`status`](remote::status), of the replica at this address.
    ///
    /// # Errors
    /// Errors of [`status`](remote::status).
    pub fn status(&self, address: &str) -> Result<String, ClientError> {
        self.runtime.block_on(remote::status(address, self.options.key.as_ref(), self.options.time_limit))
    }
}
