//! The bare core under a scheduler that may do whatever the model permits.
//!
//! `SEED=n cargo test -p seriatim-paxos --features sim --test sim_core -- one_seed --nocapture` tells one run.

#![cfg(feature = "sim")]

use seriatim_paxos::bare::{Exploration, explore};
use seriatim_paxos::core::Proved;
use sim::Tally;

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

#[test]
fn many_seeds() {
    let seeds = number_from("SEEDS").unwrap_or(2_000);
    let mut met = Tally::new();
    for seed in 0..seeds {
        let outcome = explore::<Proved>(seed, &Exploration::default(), 0);
        if let Some(violation) = outcome.violation {
            let again = "cargo test -p seriatim-paxos --features sim --test sim_core -- one_seed --nocapture";
            panic!("seed {seed}: {violation}\nagain: SEED={seed} {again}");
        }
        outcome.tally.into_iter().for_each(|(what, count)| *met.entry(what).or_default() += count);
    }
    println!("{seeds} seeds met {met:?}");
}

#[test]
fn one_seed() {
    let seed = number_from("SEED").unwrap_or(1);
    let outcome = explore::<Proved>(seed, &Exploration::default(), 200);
    outcome.story.iter().for_each(|line| println!("{line}"));
    println!("met {:?}, digest {:016x}", outcome.tally, outcome.digest);
    assert_eq!(outcome.violation, None);
}
