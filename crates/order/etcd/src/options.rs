//! Where the etcd cluster is, and how it is used.

use env::time::Duration;

/// Options of a node of an order on etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdOptions {
    /// Addresses of etcd's members, as `http://HOST:PORT`. The first one is preferred; another one is used when it does not answer.
    pub endpoints: Vec<String>,
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
            prefix: "/seriatim".into(),
            node,
            in_flight: 1,
            batch_bytes: 256 << 10,
            patience: Duration::from_secs(60),
        }
    }
}
