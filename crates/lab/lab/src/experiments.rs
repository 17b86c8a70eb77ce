//! The papers' experiments: each by one command, with the paper's shape beside ours and a line that says what came of it.

pub mod paxos_order;
