//! Measures the cost of executing a request without network, disk and agreement: batches of 300 requests of 40 bytes through an
//! executor.
//!
//! ```sh
//! cargo run --release -p seriatim-rsm --example execute -- [SESSIONS [BATCHES]]
//! ```
//!
//! Prints one JSON object a line: nanoseconds for one request (the median of some runs), with the empty service
//! (answers of no bytes) and with the key-value one (a put of 16 bytes to one of 100,000 keys), at a replica that
//! answers and at one that does not.

#![forbid(unsafe_code)]

use env::time::Instant;
use paxos::config::Options;
use paxos::core::Value;
use paxos::request::{Chunk, OPEN, Request};
use seriatim_rsm::executor::Executor;
use seriatim_rsm::kv::{Command, KeyValue};
use seriatim_rsm::service::{EmptyService, Service};
use std::hint::black_box;

const REQUESTS_PER_BATCH: u64 = 300;
/// Runs of which the median is reported.
const RUNS: usize = 5;

/// One measured load.
#[derive(Clone, Copy)]
struct Load {
    sessions: u64,
    batches: u64,
    /// Whether the clients belong to this replica.
    answers: bool,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let (sessions, batches) = (arguments.next().unwrap_or(1_200), arguments.next().unwrap_or(20_000));
    assert!((1..=65_536).contains(&sessions) && batches > 0, "1 to 65,536 sessions, at least one batch");
    for answers in [true, false] {
        let load = Load { sessions, batches, answers };
        report("empty", load, || EmptyService, |_, body| body.resize(40, 7));
        let put = |request, body: &mut Vec<u8>| {
            let key = format!("key{:08}", scattered(request) % 100_000);
            Command::Put { key: key.as_bytes(), value: &[7; 16] }.encode(body);
        };
        report("key-value", load, KeyValue::default, put);
    }
}

/// Neighbours far apart.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

fn report<S: Service>(name: &str, load: Load, service: impl Fn() -> S, body: impl Fn(u64, &mut Vec<u8>)) {
    let mut runs: Vec<f64> = (0..RUNS).map(|_| run(load, service(), &body)).collect();
    runs.sort_by(f64::total_cmp);
    let Load { sessions, batches, answers } = load;
    let (requests, median) = (batches * REQUESTS_PER_BATCH, runs[RUNS / 2]);
    println!(
        "{{\"service\":\"{name}\",\"answers\":{answers},\"sessions\":{sessions},\"requests\":{requests},\"ns_per_request\":{median:.1}}}"
    );
}

/// Nanoseconds a request.
fn run<S: Service>(load: Load, service: S, body: impl Fn(u64, &mut Vec<u8>)) -> f64 {
    let mut executor = Executor::new(&Options::new(3, u64::from(!load.answers)), service);
    let mut replies = Vec::new();
    let opening = batch((0..load.sessions).map(|nonce| (OPEN, nonce)), |_, _| {});
    executor.deliver(0, &opening, &mut replies).expect("a batch");
    let mut elapsed = 0;
    for number in 0..load.batches {
        // Sessions take turns, each with its next number.
        let requests = (number * REQUESTS_PER_BATCH..).take(REQUESTS_PER_BATCH as usize);
        let numbered = requests.map(|request| (request % load.sessions + 1, request / load.sessions + 1));
        let value = batch(numbered, |request, bytes| body(number * REQUESTS_PER_BATCH + request, bytes));
        replies.clear();
        let start = Instant::now();
        executor.deliver(number + 1, black_box(&value), &mut replies).expect("a batch");
        black_box(&replies);
        elapsed += start.elapsed().as_nanos();
    }
    let requests = load.batches * REQUESTS_PER_BATCH;
    assert_eq!(executor.executed().requests, requests, "every request was executed");
    elapsed as f64 / requests as f64
}

fn batch(requests: impl Iterator<Item = (u64, u64)>, body: impl Fn(u64, &mut Vec<u8>)) -> Value {
    let mut chunk = Chunk::new();
    let mut bytes = Vec::new();
    for (index, (session, sequence)) in requests.enumerate() {
        bytes.clear();
        body(index as u64, &mut bytes);
        chunk.push(Request { origin: 0, session, sequence, nonce: Some(7), body: &bytes }).expect("a batch holds it");
    }
    chunk.into_value()
}
