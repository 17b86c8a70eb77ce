//! Whole replicated databases in simulation: the nodes' code over the replicas of the proved order, with all I/O replaced. Networks, disks,
//! clocks and the turns of threads follow from one seed.
//!
//! | file | what it does |
//! | --- | --- |
//! | `setting.rs` | draws a run: sizes, limits, delays, faults |
//! | `run.rs` | the run from its beginning to its end |
//! | `orders.rs`, `replica.rs` | the nodes of the order, the network between them, their disks |
//! | `order.rs`, `store.rs` | what the replicated store calls: its end of the order, its local store |
//! | `nodes.rs` | nodes of the database start, stop, stand still, and give each other their states |
//! | `clients.rs` | clients on all nodes, and the judges |
//! | `faults.rs` | what goes wrong, and how it ends |
//! | `flat.rs` | a long run, and what nodes keep meanwhile |
//!
//! A run demands: both judges find the clients' history strictly serializable; no node stops by itself; once the faults are over, all
//! nodes serve within a bounded time, and have the same state, byte for byte, and everything that was acknowledged.
//!
//! `make sim-cluster SEEDS=10000` runs many; a failure prints its seed and the command that tells its story.

mod clients;
mod faults;
mod flat;
#[path = "../common/items.rs"]
mod items;
#[path = "../common/mixed.rs"]
mod mixed;
mod nodes;
mod order;
mod orders;
mod replica;
mod run;
mod setting;
mod store;

use run::simulate;
use sim::{Outcome, Tally};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Steps of a story that a failure prints.
const TRACE_LINES: usize = 400;

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")))
}

/// The seed that runs, for panics that end the process.
static SEED: AtomicU64 = AtomicU64::new(0);

fn run_seed(seed: u64, trace_lines: usize) -> Outcome {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            eprintln!("while seed {0} runs; again: make sim-cluster SEED={0}", SEED.load(SeqCst));
            before(panic);
        }));
    });
    SEED.store(seed, SeqCst);
    simulate(seed, trace_lines)
}

#[test]
fn many_seeds() {
    let (first, seeds) = (number_from("FIRST").unwrap_or(0), number_from("SEEDS").unwrap_or(30));
    let mut met = Tally::new();
    for seed in first..first + seeds {
        let Outcome { tally, violation, .. } = run_seed(seed, 0);
        if let Some(violation) = violation {
            panic!("seed {seed}: {violation}\nagain, with its story: make sim-cluster SEED={seed}");
        }
        tally.into_iter().for_each(|(what, count)| *met.entry(what).or_default() += count);
    }
    println!("{seeds} seeds met {met:#?}");
    let rare = [
        "installs",
        "lost rows",
        "nodes lost",
        "pauses",
        "states fetched",
        "unknown outcomes",
        "writes cut off by a crash",
    ];
    for what in rare {
        assert!(seeds < 100 || met.contains_key(what), "{seeds} seeds have met no {what}: {met:?}");
    }
}

/// Seeds that have found what `tests/states.rs` and the order's `kept.rs` test by themselves: holders that waited for the order which
/// waited for them; an order that forgot what no node had on its disk yet; nodes whose first word found no room, because they did not
/// listen; an empty state, from a node that had nothing yet; rows that were lost and that no journal had any more.
#[test]
fn seeds_that_failed_once() {
    for seed in [67, 410, 1_179, 2_012, 4_467, 6_382, 6_461] {
        assert_eq!(run_seed(seed, 0).violation.map(|violation| violation.to_string()), None, "seed {seed}");
    }
}

/// What nodes keep does not grow with time: two minutes, or as many as the environment says.
#[test]
fn what_is_kept_stays_flat() {
    let minutes = number_from("MINUTES").unwrap_or(2);
    let (outcome, kept) = flat::run(1, minutes);
    println!("met {:#?}", outcome.tally);
    kept.iter().enumerate().for_each(|(minute, most)| println!("minute {minute}: {most:?}"));
    assert_eq!(outcome.violation.map(|violation| violation.to_string()), None);
    assert_eq!(kept.len() as u64, minutes);
    flat::assert_flat(&kept);
}

/// Questions of readers fill the log of the order. Nodes that all stop then come back: they have missed nothing.
#[test]
fn nodes_that_stop_after_reads_alone_come_back() {
    let outcome = run::reads_and_a_power_failure(7);
    assert!(outcome.tally.get("snapshots of the order").is_some_and(|count| *count > 0), "{:?}", outcome.tally);
    assert_eq!(outcome.violation.map(|violation| violation.to_string()), None);
}

/// A fetch that lasts longer than the order keeps anything ends, though the clients of the others do not pause.
#[test]
fn a_state_that_takes_long_is_enough() {
    let first = number_from("FIRST").unwrap_or(0);
    for seed in first..first + 10 {
        let Outcome { tally, violation, .. } = run::a_state_takes_long_under_load(seed);
        assert_eq!(violation.map(|violation| violation.to_string()), None, "seed {seed}");
        // A second one, at most: the order may have forgotten more before the first one has said where it ends.
        let asked = tally.get("states asked for").copied().unwrap_or(0);
        assert!((1..=2).contains(&asked), "seed {seed}: {asked} states were asked for");
    }
}

/// When the node is killed meanwhile, its replica begins with a snapshot that may have been another one's. The next life fetches one state,
/// and misses nothing of what follows it.
#[test]
fn a_fetch_that_a_kill_has_cut_off_is_begun_once_more() {
    let first = number_from("FIRST").unwrap_or(0);
    for seed in first..first + 4 {
        let Outcome { tally, violation, .. } = run::a_long_fetch_begins_again_under_load(seed);
        assert_eq!(violation.map(|violation| violation.to_string()), None, "seed {seed}");
        assert_eq!(tally.get("states fetched"), Some(&1), "seed {seed}");
    }
}

/// Whoever has given up its votes for what its consumer lacks leaves them with a majority: the only holder of a state may be lost.
#[test]
fn a_holder_that_is_lost_takes_nothing_along() {
    let first = number_from("FIRST").unwrap_or(0);
    for seed in first..first + 20 {
        let violation = run::a_holder_is_lost(seed).violation;
        assert_eq!(violation.map(|violation| violation.to_string()), None, "seed {seed}");
    }
}

/// The seed that the environment names, with its story; without one, any.
#[test]
fn one_seed() {
    let seed = number_from("SEED").unwrap_or(1);
    let lines = number_from("TRACE").map_or(TRACE_LINES, |lines| lines as usize);
    let Outcome { tally, digest, violation, story } = run_seed(seed, lines);
    story.iter().for_each(|line| println!("{line}"));
    println!("met {tally:#?}, digest {digest:016x}");
    assert_eq!(violation.map(|violation| violation.to_string()), None, "seed {seed}");
}

/// A failure can be replayed.
#[test]
fn equal_seeds_take_equal_steps() {
    for seed in [3, 10, 14] {
        assert_eq!(run_seed(seed, 0).digest, run_seed(seed, 1).digest, "seed {seed}");
    }
}
