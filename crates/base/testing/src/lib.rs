//! What the tests of several crates share: temporary directories, commands that ran, programs that may be missing, ports, proxies,
//! certificates, members of etcd, brokers of Kafka, the engine to test, and PostgreSQL to compare with.
//!
//! For `[dev-dependencies]` only. It depends on no other crate of the workspace.
#![forbid(unsafe_code)]

mod authority;
pub mod brokers;
mod directory;
mod engine;
mod members;
mod ports;
mod programs;
mod proxy;
mod ran;
pub mod reference;

pub use authority::Authority;
pub use directory::Directory;
pub use engine::Engine;
pub use members::Members;
pub use ports::free_ports;
pub use programs::{has, psql, say, skip, text, version};
pub use proxy::Proxy;
pub use ran::Ran;
