//! Ports for programs that a test starts.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;

/// Free ports of 127.0.0.1, outside the range that the system gives to clients: a program that is started again finds its own free.
pub fn free_ports(count: usize) -> Vec<u16> {
    let mut found: Vec<u16> = Vec::new();
    while found.len() < count {
        let port = 20_000 + (RandomState::new().hash_one(found.len()) % 12_000) as u16;
        if !found.contains(&port) && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            found.push(port);
        }
    }
    found
}
