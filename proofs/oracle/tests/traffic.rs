//! That the traffic is worth comparing: it repeats, and it reaches everything that the core can put out.

use std::collections::BTreeMap;

use paxos::core::generated::{Event, Message, Output, Record, Role};
use seriatim_oracle::{Command, Machine, Traffic};

const EVENTS: u64 = 150_000;

/// Runs the traffic of a seed; `see` gets each step's outputs and the machine behind it.
fn run(seed: u64, mut see: impl FnMut(&Command, &[Output], &Machine)) -> u64 {
    let (mut machine, mut traffic) = (Machine::default(), Traffic::new(seed));
    for _ in 0..EVENTS {
        let command = traffic.next(&machine);
        let outputs = machine.run(command.clone());
        see(&command, &outputs, &machine);
        if let Command::Step(id, _) = command {
            traffic.sent(&machine, id, outputs);
        }
    }
    machine.run(Command::Mark);
    machine.digest.0
}

fn kind(message: &Message) -> &'static str {
    match message {
        Message::Prepare(..) => "Prepare",
        Message::Promise(_, _, votes) if votes.is_empty() => "Promise of nothing",
        Message::Promise(..) => "Promise",
        Message::Propose(..) => "Propose",
        Message::Accept(..) => "Accept",
        Message::Commit(..) => "Commit",
        Message::Reject(..) => "Reject",
        Message::Alive(..) => "Alive",
        Message::Query(..) => "Query",
        Message::Learned(decisions) if decisions.is_empty() => "Learned nothing",
        Message::Learned(..) => "Learned",
        Message::Snapshot(..) => "Snapshot",
        Message::Truncated(..) => "Truncated",
        Message::Forward(..) => "Forward",
    }
}

fn record_kind(record: &Record) -> &'static str {
    match record {
        Record::Ballot(..) => "journalled ballot",
        Record::Vote(..) => "journalled vote",
        Record::Decided(..) => "journalled decision",
        Record::Learned(..) => "journalled learning",
        Record::Snapshot(..) => "journalled snapshot",
        Record::Install(..) => "journalled installation",
        Record::Truncate(..) => "journalled truncation",
    }
}

fn output_kind(output: &Output) -> &'static str {
    match output {
        Output::Journal(record) => record_kind(record),
        Output::Send(_, message) | Output::Broadcast(message) => kind(message),
        Output::Deliver(_, value) if value.is_empty() => "delivered no-op",
        Output::Deliver(..) => "delivered",
        Output::Install(..) => "installed",
        Output::Return(..) => "returned",
    }
}

#[test]
fn equal_seeds_give_equal_digests() {
    let digest = run(7, |_, _, _| ());
    assert_eq!(run(7, |_, _, _| ()), digest);
    assert_ne!(run(8, |_, _, _| ()), digest);
}

/// What these commands do at least: each number is half of what they did when it was written, or less.
const REACHED: &[(&str, u64)] = &[
    ("Prepare", 1_000),
    ("Promise of nothing", 2_000),
    ("Promise", 1_000),
    ("Propose", 3_000),
    ("Accept", 8_000),
    ("Commit", 1_000),
    ("Reject", 700),
    ("Alive", 700),
    ("Query", 2_000),
    ("Learned nothing", 800),
    ("Learned", 800),
    ("Snapshot", 90),
    ("Truncated", 90),
    ("Forward", 2_000),
    ("journalled ballot", 4_000),
    ("journalled vote", 7_000),
    ("journalled decision", 2_000),
    ("journalled learning", 2_000),
    ("journalled snapshot", 400),
    ("journalled installation", 60),
    ("journalled truncation", 200),
    ("delivered no-op", 600),
    ("delivered", 2_000),
    ("installed", 60),
    ("returned", 7_000),
    ("leader", 30_000),
    ("preparing", 5_000),
    ("restarted with votes", 60),
    ("checkpoint", 100),
    ("learner's step", 4_000),
    ("message that nobody sent", 200),
    ("message that has waited", 10_000),
];

#[test]
fn everything_is_reached() {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    run(1, |command, outputs, machine| {
        let mut count = |what| *seen.entry(what).or_default() += 1;
        match command {
            Command::Report(..) => outputs.iter().for_each(|_| count("message that has waited")),
            Command::Step(id, event) => {
                outputs.iter().for_each(|output| count(output_kind(output)));
                match machine.replicas[*id as usize].state().role_now {
                    Role::Leading => count("leader"),
                    Role::Preparing => count("preparing"),
                    Role::Follower => {}
                }
                if *id >= machine.config.replicas {
                    count("learner's step");
                }
                if matches!(event, Event::Receive(src, _) if *src as usize >= machine.replicas.len()) {
                    count("message that nobody sent");
                }
            }
            Command::Restart(id) if machine.replicas[*id as usize].state().log.iter().next().is_some() => {
                count("restarted with votes");
            }
            Command::Shorten(_) => count("checkpoint"),
            _ => {}
        }
    });
    let rare: Vec<_> = REACHED.iter().filter(|(what, least)| seen.get(what).copied().unwrap_or(0) < *least).collect();
    assert!(rare.is_empty(), "too rare: {rare:?} of {seen:#?}");
}
