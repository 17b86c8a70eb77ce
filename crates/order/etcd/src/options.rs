//! Where the etcd cluster is, and how it is used.

use env::time::Duration;
use std::fmt;

/// What a node trusts and shows, where etcd listens with TLS. Each is the text of a PEM file.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdTls {
    /// Certificates of the authorities that have signed the members' certificates.
    pub authorities: String,
    /// This node's certificate and its key, if etcd wants one (`--client-cert-auth`).
    pub identity: Option<(String, String)>,
}

impl fmt::Debug for EtcdTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No key in any log.
        write!(f, "EtcdTls(with identity: {})", self.identity.is_some())
    }
}

/// A user of etcd, where `etcdctl auth enable` was done.
#[derive(Clone, PartialEq, Eq)]
pub struct EtcdUser {
    /// Its name. Its role needs to read and write the keys from `PREFIX/` to `PREFIX0`.
    pub name: String,
    /// Its password.
    pub password: String,
}

impl fmt::Debug for EtcdUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No password in any log.
        write!(f, "EtcdUser({})", self.name)
    }
}

/// Options of a node of an order on etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdOptions {
    /// Addresses of etcd's members, as `http://HOST:PORT`, or `https://HOST:PORT` with `tls`. The first one is preferred; another one is used when it does not answer.
    pub endpoints: Vec<String>,
    /// How etcd's members are told from others, and this node from others. Default: no TLS.
    pub tls: Option<EtcdTls>,
    /// As whom this node comes. Default: nobody.
    pub user: Option<EtcdUser>,
    /// Where the order's keys are. Different prefixes are different orders. Default `/seriatim`.
    pub prefix: String,
    /// Number of this node; no other one that runs has it. A node that starts under the number of one that runs ends that one.
    pub node: u64,
    /// Batches under way at once. More help where batches are full and the way to etcd is long; otherwise fewer make larger batches,
    /// which cost etcd less. Default 1.
    pub in_flight: usize,
    /// Bytes of payloads in a batch of more than one. Default 256 KiB; at most 1 MiB.
    pub batch_bytes: usize,
    /// Time that the start may take until some member answers. Default 60 s.
    pub patience: Duration,
}

impl EtcdOptions {
    /// The defaults.
    #[must_use]
    pub fn new(node: u64, endpoints: Vec<String>) -> Self {
        Self {
            endpoints,
            tls: None,
            user: None,
            prefix: "/seriatim".into(),
            node,
            in_flight: 1,
            batch_bytes: 256 << 10,
            patience: Duration::from_secs(60),
        }
    }
}
