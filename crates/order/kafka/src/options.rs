//! Where the Kafka cluster is, and how it is used.

use env::time::Duration;
use std::fmt;

/// What a node trusts and shows, where Kafka listens with TLS. Each is the text of a PEM file.
#[derive(Clone, PartialEq, Eq)]
pub struct KafkaTls {
    /// Certificates of the authorities that have signed the brokers' certificates.
    pub authorities: String,
    /// This node's certificate and its key, if the brokers want one (`ssl.client.auth=required`).
    pub identity: Option<(String, String)>,
}

impl fmt::Debug for KafkaTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No key in any log.
        write!(f, "KafkaTls(with identity: {})", self.identity.is_some())
    }
}

/// How a user proves its password (SASL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// It sends the password: only with TLS.
    Plain,
    /// SCRAM with SHA-256.
    ScramSha256,
    /// SCRAM with SHA-512.
    ScramSha512,
}

/// A user of Kafka, where brokers listen with SASL.
#[derive(Clone, PartialEq, Eq)]
pub struct KafkaUser {
    /// Its name.
    pub name: String,
    /// Its password.
    pub password: String,
    /// How it proves it.
    pub mechanism: Mechanism,
}

impl fmt::Debug for KafkaUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No password in any log.
        write!(f, "KafkaUser({}, {:?})", self.name, self.mechanism)
    }
}

/// Options of a node of an order on Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KafkaOptions {
    /// Addresses of some brokers, as `HOST:PORT`; they name the others.
    pub brokers: Vec<String>,
    /// How brokers are told from others, and this node from others. Default: no TLS.
    pub tls: Option<KafkaTls>,
    /// As whom this node comes. Default: nobody.
    pub user: Option<KafkaUser>,
    /// The order's topic, which has one partition. Different topics are different orders. It is made if it is not there. Default
    /// `seriatim`.
    pub topic: String,
    /// Copies of the topic, if it is made here, and at least so many if not. More than half of them have to have a record before it is
    /// acknowledged. Default 3; 1 is for tests.
    pub replication: u16,
    /// Number of this node; no other one that runs has it. A node that starts under the number of one that runs ends that one.
    pub node: u64,
    /// Bytes of payloads in a batch of more than one. Default 256 KiB; at most 1 MiB.
    pub batch_bytes: usize,
    /// Time that the start may take until the topic can be used. Default 60 s.
    pub patience: Duration,
}

impl KafkaOptions {
    /// The defaults.
    #[must_use]
    pub fn new(node: u64, brokers: Vec<String>) -> Self {
        Self {
            brokers,
            tls: None,
            user: None,
            topic: "seriatim".into(),
            replication: 3,
            node,
            batch_bytes: 256 << 10,
            patience: Duration::from_secs(60),
        }
    }
}
