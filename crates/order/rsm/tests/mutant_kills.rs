//! Few seeds of the simulated clusters, under a name for each promise: enough to notice when it is broken. `mutants/*.patch` of this crate
//! and of the order below break them, and
//! `cargo xtask mutants` sees to it that these tests are awake.

#![cfg(feature = "sim")]

use paxos::config::Durability;
use seriatim_rsm::sim::{FaultLevel, FixedSettings, simulate};
use std::ops::Range;

/// Whole clusters, one run after another.
fn clusters(given: &FixedSettings, seeds: Range<u64>) {
    for seed in seeds {
        let violation = simulate(seed, given, 0).violation.map(|violation| violation.to_string());
        assert_eq!(violation, None, "seed {seed}");
    }
}

fn faults(faults: FaultLevel) -> FixedSettings {
    FixedSettings { faults: Some(faults), ..FixedSettings::default() }
}

fn journalled(faults: FaultLevel) -> FixedSettings {
    FixedSettings { faults: Some(faults), durability: Some(Durability::Fsync), ..FixedSettings::default() }
}

#[test]
fn votes_wait_for_the_disk() {
    clusters(&journalled(FaultLevel::PowerFailures), 0..12);
}

#[test]
fn a_sync_vouches_for_what_came_before_it() {
    clusters(&journalled(FaultLevel::Crashes), 0..12);
}

#[test]
fn a_journal_written_anew_forgets_nothing() {
    clusters(&journalled(FaultLevel::PowerFailures), 0..12);
}

#[test]
fn long_records_come_back_whole() {
    clusters(&journalled(FaultLevel::Crashes), 0..8);
}

#[test]
fn instances_come_in_order() {
    clusters(&faults(FaultLevel::Lossy), 0..4);
}

#[test]
fn a_request_is_executed_once() {
    clusters(&faults(FaultLevel::Lossy), 0..8);
}

#[test]
fn answers_are_remembered_with_the_state() {
    clusters(&faults(FaultLevel::Crashes), 0..30);
}

#[test]
fn snapshots_are_of_the_instance_that_they_name() {
    clusters(&faults(FaultLevel::Crashes), 0..4);
}

#[test]
fn whoever_is_behind_catches_up() {
    clusters(&faults(FaultLevel::Partitions), 0..4);
}

#[test]
fn lost_proposals_are_sent_again() {
    clusters(&faults(FaultLevel::Lossy), 0..8);
}

#[test]
fn a_silent_leader_is_replaced() {
    clusters(&faults(FaultLevel::Crashes), 0..4);
}

#[test]
fn whoever_has_forgotten_does_not_vote() {
    clusters(&journalled(FaultLevel::Crashes), 0..24);
}

#[test]
fn whoever_has_forgotten_nothing_is_welcome() {
    clusters(&journalled(FaultLevel::Crashes), 0..4);
}

#[test]
fn instances_are_kept_within_the_span() {
    clusters(&faults(FaultLevel::Calm), 0..8);
}

#[test]
fn the_service_is_not_overrun() {
    clusters(&faults(FaultLevel::Calm), 0..8);
}

#[test]
fn a_client_does_not_repeat_what_may_have_been_executed() {
    clusters(&faults(FaultLevel::Lossy), 0..24);
}
