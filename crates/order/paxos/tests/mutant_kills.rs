//! Few seeds of bare cores, under a name for each promise: enough to notice when it is broken. `mutants/*.patch` break them, and
//! `cargo xtask mutants` sees to it that these tests are awake.

#![cfg(feature = "sim")]

use seriatim_paxos::bare::{Exploration, explore};
use seriatim_paxos::core::Proved;
use std::ops::Range;

/// Bare cores, one exploration after another.
fn cores(exploration: &Exploration, seeds: Range<u64>) {
    for seed in seeds {
        let outcome = explore::<Proved>(seed, exploration, 0);
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
}

#[test]
fn two_majorities_have_a_replica_in_common() {
    cores(&Exploration { replicas: (2, 4), ..Exploration::default() }, 0..40);
}

#[test]
fn a_promise_tells_of_every_vote() {
    cores(&Exploration { replicas: (3, 5), crashes: false, ..Exploration::default() }, 0..100);
}

#[test]
fn nobody_votes_below_a_promise() {
    cores(&Exploration { replicas: (3, 5), ..Exploration::default() }, 0..200);
}

#[test]
fn the_newest_vote_is_proposed_again() {
    cores(&Exploration { replicas: (3, 5), ..Exploration::default() }, 0..800);
}

#[test]
fn a_commit_is_of_its_ballot_only() {
    cores(&Exploration { replicas: (3, 5), ..Exploration::default() }, 0..200);
}

#[test]
fn a_vote_counts_in_its_ballot_only() {
    cores(&Exploration { replicas: (3, 5), ..Exploration::default() }, 1_000..1_700);
}

#[test]
fn what_is_forgotten_is_in_the_snapshot() {
    cores(&Exploration::default(), 0..10);
}

#[test]
fn promises_and_votes_outlive_crashes() {
    cores(&Exploration::default(), 0..40);
}
