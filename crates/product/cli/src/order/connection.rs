//! Connections from the commands to a cluster.

use super::node::key;
use crate::failure::{Failure, Outcome};
use crate::units::duration;
use clap::Args;
use net::auth::SharedKey;
use rsm::client::{BlockingClient, ClientError, ClientOptions};
use rsm::kv::{Answer, Command};
use serde_json::Value as Json;
use std::path::PathBuf;
use std::time::Duration;

/// Addresses of the replicas that `seriatim order cluster 3` starts.
pub const DEFAULT_ADDRESSES: [&str; 3] = ["127.0.0.1:7400", "127.0.0.1:7401", "127.0.0.1:7402"];

/// Replica addresses.
#[derive(Args)]
pub struct Addresses {
    /// Replica addresses. One that answers is enough; it redirects to the leader.
    #[arg(long = "at", value_name = "ADDR:PORT,...", value_delimiter = ',', default_values = DEFAULT_ADDRESSES)]
    at: Vec<String>,
}

impl Addresses {
    /// All of them.
    pub fn list(&self) -> Vec<String> {
        self.at.clone()
    }
}

/// The key of clients.
#[derive(Args)]
pub struct KeyFile {
    /// Key file for clients, if the replicas use one.
    #[arg(id = "key_file", long = "key", value_name = "FILE")]
    key: Option<PathBuf>,
}

impl KeyFile {
    /// The key, if there is one.
    pub fn read(&self) -> Outcome<Option<SharedKey>> {
        self.key.as_deref().map(key).transpose()
    }
}

/// The key of clients, and the time limit.
#[derive(Args)]
pub struct Access {
    #[command(flatten)]
    key: KeyFile,
    /// Time to wait for an answer.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    timeout: Duration,
}

impl Access {
    fn client(&self, addresses: Vec<String>) -> Outcome<BlockingClient> {
        let options =
            ClientOptions { key: self.key.read()?, time_limit: self.timeout, ..ClientOptions::new(addresses) };
        BlockingClient::new(options).map_err(Failure::trouble)
    }

    /// Returns each replica's status as JSON, or the error of its request.
    pub fn statuses(&self, addresses: &[String]) -> Outcome<Vec<Result<Json, String>>> {
        let client = self.client(addresses.to_vec())?;
        Ok(addresses.iter().map(|address| status(&client, address)).collect())
    }
}

/// Returns the status of the replica at this address, or the error of the request.
pub fn status(client: &BlockingClient, address: &str) -> Result<Json, String> {
    let text = client.status(address).map_err(|error| match error {
        ClientError::TimedOut { connection: Some(why) } => why,
        ClientError::TimedOut { connection: None } => "no answer came in time".into(),
        other => other.to_string(),
    })?;
    let json: Json = serde_json::from_str(&text).map_err(|error| format!("its answer is not JSON: {error}"))?;
    if json.get("id").is_some() { Ok(json) } else { Err("it has only just started".into()) }
}

/// Replica addresses, key and time limit.
#[derive(Args)]
pub struct Connection {
    #[command(flatten)]
    addresses: Addresses,
    #[command(flatten)]
    access: Access,
}

impl Connection {
    /// Submits a command to be ordered and executed, and passes the service's answer to `hear`.
    pub fn ask(&self, command: &Command<'_>, hear: impl FnOnce(Answer<'_>) -> Outcome) -> Outcome {
        let client = self.access.client(self.addresses.list())?;
        let answer = client.execute(command.to_bytes().into()).map_err(Failure::trouble)?;
        hear(Answer::decode(&answer.bytes).map_err(Failure::trouble)?)
    }
}
