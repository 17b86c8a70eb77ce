//! The list of the papers' experiments.

use super::bohm::{self, RMW, RMW_READS, SMALLBANK, STAGES, THETA};
use super::dur::{self, Simulation};
use super::hyper::{ABORTS, CYCLES, DML, LOGGING, SCAN, SYNOPSIS, TATP, THREADS, TPCC, VALIDATION};
use super::paxos_order::report::CHARTS;
use super::vmvcc::{CONTENTION, LADDER, LONG_READERS, SILO, STOCK_SCAN};
use super::{Experiment, How, Paper, Sweep};

const fn not_yet(name: &'static str, paper: Paper, figure: &'static str, shows: &'static str) -> Experiment {
    Experiment { name, paper, figure, shows, how: How::NotYet, outcome: "not yet" }
}

const fn sweep(
    (name, paper): (&'static str, Paper),
    figure: &'static str,
    shows: &'static str,
    sweep: &'static Sweep,
    outcome: &'static str,
) -> Experiment {
    Experiment { name, paper, figure, shows, how: How::Sweep(sweep), outcome }
}

const fn simulation(
    name: &'static str,
    figure: &'static str,
    shows: &'static str,
    simulation: &'static Simulation,
    outcome: &'static str,
) -> Experiment {
    Experiment { name, paper: Paper::Pandey, figure, shows, how: How::Simulation(simulation), outcome }
}

/// All of them, by paper.
pub const EXPERIMENTS: &[Experiment] = &[
    sweep(
        ("vmvcc-silo", Paper::Vmvcc),
        "11",
        "MVTO against Silo: YCSB with one key, scans of 100 keys, TPC-C",
        &SILO,
        "partly: reads are behind Silo's; mvto / silo is 0.76, 0.71, 0.82, 1.26, 1.63 (read, write, scan, TPC-C twice) (2 cores, 36 in the paper)",
    ),
    sweep(
        ("vmvcc-long-readers", Paper::Vmvcc),
        "12",
        "MVTO against 2PL: four keys, theta 0.85, with and without 8 long readers",
        &LONG_READERS,
        "reproduced: long readers cost mvto less, and it is ahead; at 100 % writes long readers leave mvto 0.75 and twopl 0.36 of their throughput (the paper: at least 0.78, and 0.15); mvto is 1.2 times twopl (4.0) (2 cores, 36 in the paper)",
    ),
    sweep(
        ("vmvcc-stock-scan", Paper::Vmvcc),
        "13",
        "TPC-C with a periodic scan of the stock",
        &STOCK_SCAN,
        "partly: mvto's latency stays, but scans do not stop twopl; mvto / twopl goes from 0.73 without scans to 0.74 with one every 100 ms (the paper: 0.88 to 54); mvto's p99.9 grows 0.9 times (1) (2 cores, 36 in the paper)",
    ),
    sweep(
        ("vmvcc-ladder", Paper::Vmvcc),
        "14",
        "MVTO with its optimisations one by one",
        &LADDER,
        "not here: needs 32 cores; steps give 0.99, 1.04, 0.99 on one thread and 1.19, 1.05, 0.99 on 2 (the paper: 2.8, 3, 3.7 on 32)",
    ),
    sweep(
        ("vmvcc-contention", Paper::Vmvcc),
        "15",
        "MVTO at theta 0.8 to 0.95",
        &CONTENTION,
        "not here: needs 32 cores; on 2 thread(s) reads are 1.9 and 1.9 times those of one (theta 0.8, 0.95), writes 2.0 and 1.8 times with 0.0 and 0.4 % aborts (the paper, 32: 22.8, 16.9; 11.7, 9.9; 4.8, 27.6)",
    ),
    sweep(
        ("hyper-scan", Paper::Hyper),
        "7",
        "sums over all rows beside dirty records",
        &SCAN,
        "partly: clean at the speed of memory, but a realistic share costs it; clean: 3146 million rows/s (the paper: above 740), 0.82 of the sequential limit, 1.11 of a single version's; dirty rows leave of that 0.43, 0.38, 0.29, 0.26 (0.1 %), 0.13, 0.15, 0.09, 0.05 (1 %), 0.04, 0.04, 0.01, 0.01 (10 %), read as newest with 1 and 4 versions and as oldest with 1 and 4",
    ),
    sweep(
        ("hyper-synopsis", Paper::Hyper),
        "8",
        "the same with and without synopses of versioned positions",
        &SYNOPSIS,
        "reproduced: 1,024 rows give 22.9 times the throughput without synopses at 0.1 % dirty rows, 9.8 times at 1 % (the paper: 5.5); best at 0.1 %: 32768 (1,024)",
    ),
    sweep(
        ("hyper-cycles", Paper::Hyper),
        "9",
        "where a scan's time goes",
        &CYCLES,
        "partly: versions cost more than a quarter at 0.1 %; ns of a row: 0.37 clean, of which 0.33 are the limit's; 28.59 if each is asked for versions; to find and verify versioned rows, to undo one version, to undo three more: 0.36 + 0.08 + 0.51 at 0.1 % dirty rows, 8.63 + 19.56 + 23.02 at 10 %",
    ),
    sweep(
        ("hyper-dml", Paper::Hyper),
        "section 4.2",
        "insert, update, delete",
        &DML,
        "partly: slower than the paper's; insert, update, delete with insert: 0.92, 0.69, 0.48 million/s alone, 1.38, 1.74, 0.99 a hundred in a transaction (the paper: 4, 2, 1); over a single version 0.65, 0.81, 1.03 and 0.66, 1.14, 1.18 (0.68, 0.59, 0.91), over twopl 0.42, 0.57, 0.46 and 0.47, 0.78, 0.51",
    ),
    sweep(
        ("hyper-tpcc", Paper::Hyper),
        "10a",
        "TPC-C on one thread",
        &TPCC,
        "partly: ahead of whole versions, but not of twopl; 39 thousand/s, 22 with a redo log in memory (the paper, with that log: 105); over a single version 0.97 (0.8), whole versions 1.26 (2.1), twopl 0.69 (5), rows 1.03 (about 1), mvto 0.96, silo 1.40, twin 1.22",
    ),
    sweep(
        ("hyper-tatp", Paper::Hyper),
        "section 4.3",
        "TATP",
        &TATP,
        "partly: ahead of whole versions, but not of twopl; 796 thousand/s, 614 with a redo log in memory (the paper, with that log: 408); over a single version 0.97 (0.97), whole versions 1.16 (1.2), twopl 0.67 (-), rows 0.90 (about 1), mvto 0.82, silo 0.61, twin 0.85",
    ),
    sweep(
        ("hyper-threads", Paper::Hyper),
        "11a-c",
        "TPC-C by threads with its log shipped or not, crossings, read-only share",
        &THREADS,
        "not here: needs 20 cores; 2 thread(s) give 2.06 times one (the paper: nearly 20 on 20); crossing warehouses always leaves 0.82, reading only gives 0.93 times; a log in memory leaves 0.55 of it, shipping leaves 0.91 of that (the paper: 0.83)",
    ),
    sweep(
        ("hyper-logging", Paper::Hyper),
        "section 4.4",
        "the cost of logging predicates: TPC-C, TATP, TPC-H by SQL",
        &LOGGING,
        "reproduced: over SI, TPC-C is 1.08 with SR-RL and 1.04 with SR-AL (the paper: 0.95, 0.93), TATP 1.10 and 1.11 (0.99, 0.98); TPC-H's queries keep 1.001 of their speed in geometric mean and 0.97 at least (the paper: more than TATP), with logs of 31604 bytes at most; the log of top-customer has 39 bytes (below 100)",
    ),
    sweep(
        ("hyper-validation", Paper::Hyper),
        "10b",
        "the cost of validation beside large reads",
        &VALIDATION,
        "reproduced: the cost of validation disappears with reads; over SI, TPC-C alone is 0.83 with SR-RL and 0.91 with SR-AL, top-customer alone 0.97 and 0.98 (the paper: almost 1)",
    ),
    sweep(
        ("hyper-aborts", Paper::Hyper),
        "10c",
        "aborts by granularity of validation",
        &ABORTS,
        "reproduced: SR-AL aborts as little as SI, SR-RL more; aborts by warehouses: SI 50.83, 34.51, 16.66, 0.01 %, SR-AL 50.84, 34.52, 16.65, 0.01 %, SR-RL 65.34, 47.88, 25.57, 0.01 %",
    ),
    sweep(
        ("bohm-stages", Paper::Bohm),
        "4",
        "threads of concurrency control and of execution",
        &STAGES,
        "not here: needs 40 cores: more threads that plan do more, lines of few of them end flat, both stages together scale; at best 1.17 M txn/s with 1, 2, 4, 8 threads that plan, as far as there are cores (the paper: nearly 2 at its peak)",
    ),
    sweep(
        ("bohm-10rmw", Paper::Bohm),
        "5",
        "10 read-modify-writes, theta 0.9 and 0",
        &RMW,
        "partly: holds: systems with versions are alike there; fails: locks are first without contention; needs 40 cores: locks are first under contention, by more than without, bohm is then twice hekaton and si, silo falls less than they do; on 2 threads bohm is, times the others, with theta 0.9 hekaton 0.94, si 0.92, silo 1.20, twopl 1.11 (the paper: above 2, above 2, -, behind), with theta 0 hekaton 0.98, si 1.03, silo 1.65, twopl 1.00 (about 1, about 1, -, behind); with 104 bytes it does 0.79 and 0.85 M txn/s",
    ),
    sweep(
        ("bohm-2rmw8r", Paper::Bohm),
        "6",
        "2 read-modify-writes and 8 reads",
        &RMW_READS,
        "partly: holds: bohm is close to it, hekaton and si are alike there; fails: silo is first without contention; needs 40 cores: bohm is first under contention, versions are then ahead of one version, the counter limits hekaton and si; on 2 threads bohm is, times the others, with theta 0.9 hekaton 0.92, si 1.01, silo 0.99, twopl 1.53 (the paper: ahead of all), with theta 0 hekaton 0.96, si 0.91, silo 1.19, twopl 1.57 (ahead of hekaton and si, close behind silo)",
    ),
    sweep(
        ("bohm-theta", Paper::Bohm),
        "7",
        "the same by theta",
        &THETA,
        "partly: holds: hekaton and si are alike up to theta 0.6; needs 40 cores: they part under high contention; hekaton / si is 0.95, 0.99, 0.99 at theta 0, 0.6, 0.95 (the paper: 1, 1, below); bohm is, times the others, at 0.95 hekaton 0.93, si 0.92, silo 0.90, twopl 1.48 (2 cores, 40 in the paper)",
    ),
    sweep(
        ("bohm-long-readers", Paper::Bohm),
        "8",
        "10 read-modify-writes beside reads of 10,000 records",
        &bohm::LONG_READERS,
        "partly: holds: at 1 % versions are ahead of one version, bohm is then ahead of hekaton and si; fails: at 100 % all are alike; needs 40 cores: at 1 % versions are many times ahead; at 1 % systems with versions are at least 1.9 times those with one (the paper: about 10), bohm, times the others, hekaton 1.08, si 1.14, silo 2.14, twopl 3.00; at 100 % the fastest is 3.3 times the slowest (1) (2 cores, 40 in the paper)",
    ),
    sweep(
        ("bohm-smallbank", Paper::Bohm),
        "9",
        "SmallBank",
        &SMALLBANK,
        "partly: holds: locks and silo are alike without contention; needs 40 cores: bohm is like them there, and three times hekaton and si, locks are first under contention, bohm is next, si is ahead of hekaton; on 2 threads bohm is, times the others, with 50 customers hekaton 0.52, si 0.51, silo 0.51, twopl 0.52 (the paper: ahead, ahead, -, behind), with 100,000 hekaton 0.51, si 0.51, silo 0.51, twopl 0.51 (3, 3, about 1, about 1)",
    ),
    simulation(
        "dur-bank",
        "4.1-4.3",
        "deferred update: Bank on 3 to 23 nodes, in virtual time",
        &dur::BANK,
        "partly: holds: conflict-aware falls with contention; fails: PXDUR is ahead of XDUR on 3 to 15 nodes, PXDUR's lead is less at high contention, XDUR is first on 19 and 23 nodes, conflict-aware gains with nodes, conflict-aware overtakes PXDUR on 23 nodes at low contention only; PXDUR is at most 1.02 times XDUR at low contention, at 19 nodes (the thesis: 1.13 at 11), and 1.02 at high; if a body computes at each access, 1.00 (1 us), 1.00 (3 us), 1.86 (10 us), 5.24 (30 us), 6.53 (100 us) times on 11 nodes; conflict-aware has 0.45 of its throughput at 11 nodes left at high contention, of that at low",
    ),
    simulation(
        "dur-tpcc",
        "4.4-4.6",
        "the same: TPC-C",
        &dur::TPCC,
        "partly: holds: PXDUR leads by a quarter at least, PXDUR's lead falls with contention; fails: PXDUR is ahead of XDUR at low contention, PXDUR is ahead of XDUR at medium on 7 to 15 nodes, PXDUR is far ahead of conflict-aware at high contention; PXDUR is at most 1.51 times XDUR at low contention, at 3 nodes (the thesis: 1.5 at 7), 1.51 at medium, at 3 (1.3 at 11), 1.49 at high (little); up to 1.2 times the competitor (10)",
    ),
    simulation(
        "dur-vacation",
        "4.7",
        "the same: Vacation",
        &dur::VACATION,
        "partly: holds: PXDUR is ahead of XDUR on 3 to 15 nodes; fails: XDUR is first on 19 and 23 nodes, conflict-aware is last everywhere; PXDUR is at most 1.05 times XDUR, at 11 nodes (the thesis: 1.12 at 7)",
    ),
    simulation(
        "dur-remote",
        "4.8-4.12",
        "the same with remote access",
        &dur::REMOTE,
        "partly: holds: remote access costs throughput, Bank: PXDUR and XDUR are alike on 3 to 15 nodes, Vacation: conflict-aware is first on few nodes; fails: TPC-C: PXDUR is ahead of XDUR on 3 to 15 nodes, TPC-C: PXDUR is ahead of conflict-aware on 3 to 15 nodes, conflict-aware is first on the most nodes; with 20 % remote access PXDUR is on average 1.00 times XDUR on TPC-C (the thesis: 1.21 to 1.24), and 1.19 times conflict-aware on Bank on the most nodes (less than 0.85)",
    ),
    not_yet("asr-tpcc", Paper::Pandey, "6.1-6.3", "serializability over a DBMS: TPC-C"),
    not_yet("asr-tpcw", Paper::Pandey, "6.4-6.6", "the same: TPC-W"),
    not_yet("asr-bank", Paper::Pandey, "6.7-6.9", "the same: Bank"),
    Experiment {
        name: "paxos-order",
        paper: Paper::Pandey,
        figure: "7.2",
        shows: "a verified total order against an unverified one",
        how: How::Clusters(CHARTS),
        outcome: "reproduced (2 cores, all replicas on one machine): at least 0.93 of the unverified core's throughput",
    },
    not_yet("morty-tpcc", Paper::Morty, "6", "re-execution against MVTSO, TAPIR, Spanner: TPC-C"),
    not_yet("morty-retwis", Paper::Morty, "7", "the same: Retwis"),
    not_yet("morty-cores", Paper::Morty, "8", "the same by cores"),
    not_yet("morty-theta", Paper::Morty, "9", "the same by theta"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{RUN_EXAMPLES, Scale};
    use crate::experiments::builder::tests::measured;
    use crate::experiments::figures::Figures;
    use crate::turns::distinct;

    #[test]
    fn the_help_says_what_a_full_run_costs() {
        let mut all = Vec::new();
        let mut wanted = Vec::new();
        for it in EXPERIMENTS {
            let How::Sweep(sweep) = it.how else { continue };
            let points = (sweep.points)(Scale::Full, 2).points;
            wanted.push(format!("{} {}", it.name, 3 * points.len()));
            all.extend(points.into_iter().map(|point| point.plan));
        }
        wanted.push(format!("all {}", 3 * distinct(&all.iter().collect::<Vec<_>>())));
        let missing: Vec<&String> = wanted.iter().filter(|it| !RUN_EXAMPLES.contains(&it[..])).collect();
        assert!(missing.is_empty(), "the help lacks {missing:?}");
    }

    /// Trials can fail: a sweep without some of its figures says so, or something else, and does not panic.
    #[test]
    fn every_outcome_can_do_without_any_figure() {
        for it in EXPERIMENTS {
            let How::Sweep(sweep) = it.how else { continue };
            let all = measured(&(sweep.points)(Scale::Full, 2), |_| 1.0);
            for missing in 0..all.len() {
                let mut rest = all.clone();
                rest.remove(missing);
                let outcome = (sweep.outcome)(&Figures { all: &rest, cores: 2 });
                assert!(!outcome.is_empty(), "{}", it.name);
            }
            assert!(!(sweep.outcome)(&Figures { all: &[], cores: 2 }).is_empty(), "{}", it.name);
        }
    }
}
