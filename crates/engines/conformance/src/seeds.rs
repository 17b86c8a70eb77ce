//! Seeds of random tests, and their report on failure.

use env::Randomness;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::fmt::Debug;

const VARIABLE: &str = "CONFORMANCE_SEED";

/// The seed of this run: `CONFORMANCE_SEED`, or another one each time.
pub fn fresh() -> u64 {
    chosen().unwrap_or_else(|| Randomness::from_entropy().in_range(0..1 << 32))
}

/// The seed of this run: `CONFORMANCE_SEED`, or the same each time. For concurrent runs, which a seed alone does not replay.
pub fn fixed() -> u64 {
    chosen().unwrap_or(0)
}

fn chosen() -> Option<u64> {
    let text = std::env::var(VARIABLE).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{VARIABLE}={text} is not a number")))
}

/// The command that repeats the test of this thread with a seed.
pub fn replay(seed: u64) -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let thread = std::thread::current();
    format!("{VARIABLE}={seed} cargo test -p {package} {}", thread.name().unwrap_or_default())
}

/// A source of random values: the same ones for the same seed.
pub fn source(seed: u64) -> TestRunner {
    runner(seed, Config::default())
}

/// Runs `test` on random programs. A program that fails is made shorter, and the failure names the seed.
pub fn for_all<S: Strategy>(cases: u32, programs: &S, test: impl Fn(&S::Value) -> Result<(), TestCaseError>)
where
    S::Value: Debug,
{
    let seed = fresh();
    let config = Config { failure_persistence: None, source_file: None, ..Config::with_cases(cases) };
    match runner(seed, config).run(programs, |program| test(&program)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, program)) => panic!("{reason}\nprogram: {program:#?}\nreplay: {}", replay(seed)),
        Err(TestError::Abort(reason)) => panic!("{reason}\nreplay: {}", replay(seed)),
    }
}

fn runner(seed: u64, config: Config) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
