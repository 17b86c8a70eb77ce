//! The threaded tests of the ordered index under shuttle.
#![cfg(feature = "shuttle")]

#[path = "ordered/main.rs"]
mod ordered;
