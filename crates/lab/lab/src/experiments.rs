//! The papers' experiments: each is one command that shows the paper's shape beside ours and a line with the outcome.

pub mod paxos_order;
