//! Limits of a node of an order.

use env::time::Duration;

/// Limits of a node of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLimits {
    /// Own proposals that were not delivered yet; one more is [`OrderError::Busy`](crate::OrderError::Busy). Default
    /// 65,536.
    pub proposals: usize,
    /// Bytes of them after which no more are taken. Default 8 MiB.
    pub proposed_bytes: usize,
    /// Payloads that were ordered and wait to be taken; while there are so many, the node falls behind. Default 65,536.
    pub deliveries: usize,
    /// Bytes of them after which it does. Default 64 MiB. A payload counts its bytes and its share of this, so that both
    /// limits are kept.
    pub delivered_bytes: usize,
    /// Bytes of payloads that are kept for those who resume before them
    /// ([`keep_from`](crate::TotalOrder::keep_from)); beyond that the oldest are forgotten, or, in an order that keeps them on each node
    /// for itself, the node is delivered no more until it says that it needs less. Default 16 MiB.
    pub kept_bytes: usize,
    /// An order that keeps payloads on each node for itself forgets none before a majority of the consumers has it on its disk, as they say
    /// ([`keep_from`](crate::TotalOrder::keep_from)): the loss of a minority of the disks then loses nothing. For consumers that all have
    /// disks: without their words it stands still. The same on all nodes. Default false.
    pub forgets_by_majority: bool,
    /// Time after which an undelivered payload is submitted again, where it can be lost on its way. Default 1 s; at
    /// least 1 ms.
    pub retry: Duration,
}

impl Default for OrderLimits {
    fn default() -> Self {
        Self {
            proposals: 1 << 16,
            proposed_bytes: 8 << 20,
            deliveries: 1 << 16,
            delivered_bytes: 64 << 20,
            kept_bytes: 16 << 20,
            forgets_by_majority: false,
            retry: Duration::from_secs(1),
        }
    }
}
