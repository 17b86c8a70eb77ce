//! Few seeds of the simulations, under a name for each promise: enough to notice when it is broken. `mutants/*.patch` break them, and
//! `cargo xtask mutants` sees to it that these tests are awake.

#![cfg(feature = "sim")]

use seriatim_paxos::config::Durability;
use seriatim_paxos::core::Proved;
use seriatim_paxos::sim::bare::{Exploration, explore};
use seriatim_paxos::sim::{Given, Weather, simulate};
use std::ops::Range;

/// Bare cores, one exploration after another.
fn cores(exploration: &Exploration, seeds: Range<u64>) {
    for seed in seeds {
        let outcome = explore::<Proved>(seed, exploration, 0);
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
}

/// Whole clusters, one run after another.
fn clusters(given: &Given, seeds: Range<u64>) {
    for seed in seeds {
        let violation = simulate(seed, given, 0).violation.map(|violation| violation.to_string());
        assert_eq!(violation, None, "seed {seed}");
    }
}

fn weather(weather: Weather) -> Given {
    Given { weather: Some(weather), ..Given::default() }
}

fn journalled(weather: Weather) -> Given {
    Given { weather: Some(weather), durability: Some(Durability::Fsync), ..Given::default() }
}

// --- The core. ------------------------------------------------------------------------------------------------------

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

// --- The runtime. ---------------------------------------------------------------------------------------------------

#[test]
fn votes_wait_for_the_disk() {
    clusters(&journalled(Weather::PowerFailures), 0..12);
}

#[test]
fn a_sync_vouches_for_what_came_before_it() {
    clusters(&journalled(Weather::Crashes), 0..12);
}

#[test]
fn a_journal_written_anew_forgets_nothing() {
    clusters(&journalled(Weather::PowerFailures), 0..12);
}

#[test]
fn long_records_come_back_whole() {
    clusters(&journalled(Weather::Crashes), 0..8);
}

#[test]
fn instances_come_in_order() {
    clusters(&weather(Weather::Lossy), 0..4);
}

#[test]
fn a_request_is_executed_once() {
    clusters(&weather(Weather::Lossy), 0..8);
}

#[test]
fn answers_are_remembered_with_the_state() {
    clusters(&weather(Weather::Crashes), 0..30);
}

#[test]
fn snapshots_are_of_the_instance_that_they_name() {
    clusters(&weather(Weather::Crashes), 0..4);
}

#[test]
fn whoever_is_behind_catches_up() {
    clusters(&weather(Weather::Partitions), 0..4);
}

#[test]
fn lost_proposals_are_sent_again() {
    clusters(&weather(Weather::Lossy), 0..8);
}

#[test]
fn a_silent_leader_is_replaced() {
    clusters(&weather(Weather::Crashes), 0..4);
}

#[test]
fn whoever_has_forgotten_does_not_vote() {
    clusters(&journalled(Weather::Crashes), 0..24);
}

#[test]
fn whoever_has_forgotten_nothing_is_welcome() {
    clusters(&journalled(Weather::Crashes), 0..4);
}

#[test]
fn instances_are_kept_within_the_span() {
    clusters(&weather(Weather::Calm), 0..8);
}

#[test]
fn the_service_is_not_overrun() {
    clusters(&weather(Weather::Calm), 0..8);
}

#[test]
fn a_client_does_not_repeat_what_may_have_been_executed() {
    clusters(&weather(Weather::Lossy), 0..24);
}
