//! Whole clusters in simulation: see `seriatim_rsm::sim` for what is simulated and what is demanded.
//!
//! `make sim-paxos SEEDS=100000` runs many; a failure prints its seed and the command that tells its story, step by step.

#![cfg(feature = "sim")]

use seriatim_rsm::sim::{FixedSettings, Outcome, Tally, simulate};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Steps of a story that a failure prints.
const TRACE_LINES: usize = 400;

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

fn run(seed: u64, trace_lines: usize) -> Outcome {
    let outcome = catch_unwind(AssertUnwindSafe(|| simulate(seed, &FixedSettings::default(), trace_lines)));
    outcome.unwrap_or_else(|panic| {
        eprintln!("seed {seed} panics; again: make sim-paxos SEED={seed}");
        resume_unwind(panic)
    })
}

#[test]
fn many_seeds() {
    let (first, seeds) = (number_from("FIRST").unwrap_or(0), number_from("SEEDS").unwrap_or(200));
    let mut met = Tally::new();
    for seed in first..first + seeds {
        let Outcome { tally, violation, .. } = run(seed, 0);
        if let Some(violation) = violation {
            panic!("seed {seed}: {violation}\nagain, with its story: make sim-paxos SEED={seed}");
        }
        tally.into_iter().for_each(|(what, count)| *met.entry(what).or_default() += count);
    }
    println!("{seeds} seeds met {met:#?}");
    let rare = [
        "compactions",
        "installs",
        "lost memories",
        "pauses",
        "stopped by the disk",
        "unknown outcomes",
        "writes cut off by a crash",
    ];
    for what in rare {
        assert!(seeds < 100 || met.contains_key(what), "{seeds} seeds have met no {what}: {met:?}");
    }
}

/// A failure can be replayed.
#[test]
fn equal_seeds_take_equal_steps() {
    for seed in [3, 10, 14] {
        assert_eq!(run(seed, 0).digest, run(seed, 1).digest, "seed {seed}");
    }
    assert_ne!(run(3, 0).digest, run(10, 0).digest);
}

/// The seed that the environment names, with its trace; without one, any.
#[test]
fn one_seed() {
    let seed = number_from("SEED").unwrap_or(1);
    let Outcome { tally, digest, violation, story } =
        run(seed, number_from("TRACE").map_or(TRACE_LINES, |trace_lines| trace_lines as usize));
    story.iter().for_each(|line| println!("{line}"));
    println!("met {tally:#?}, digest {digest:016x}");
    assert_eq!(violation.map(|violation| violation.to_string()), None, "seed {seed}");
}
