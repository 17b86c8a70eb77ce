//! Figures 10a and 11, section 4.3: TPC-C and TATP.

use super::{
    COLUMNS, LOGGED, MISSING, MVTO, NO_LOG, PAPER_SUBSCRIBERS, ROWS, SHIPPED, SILO, SINGLE, TWIN, TWOPL, WAREHOUSES,
    WHOLE_VERSIONS, subscribers, tatp_plan, tpcc_plan, warehouses,
};
use crate::cli::Scale;
use crate::experiments::builder::{Builder, Place, threads};
use crate::experiments::figures::Figures;
use crate::experiments::{Chart, Measure, Points, Style, Sweep, System};
use crate::trial::WorkloadPlan;
use serde_json::{Value, json};

const SYSTEMS: [System; 9] = [COLUMNS, SINGLE, LOGGED, ROWS, WHOLE_VERSIONS, TWOPL, MVTO, SILO, TWIN];

/// Figure 10a.
pub(in super::super) const TPCC: Sweep = Sweep {
    points: tpcc_points,
    charts: &[Chart {
        title: "TPC-C on one thread",
        panel: FIGURE_10A,
        measure: Measure::TxnPerS,
        style: Style::Bars,
        x: "",
        paper: &[("hyper", &[(0.0, 105_030.0)]), ("hyper, whole versions", &[(0.0, 50_000.0)])],
    }],
    outcome: |figures| {
        over_others(figures, FIGURE_10A, &Paper { rate: 105_030.0, single: 0.8, whole_versions: 2.1, twopl: Some(5.0) })
    },
};

const FIGURE_10A: &str = "figure 10a";

fn tpcc_points(scale: Scale, _: usize) -> Points {
    let mut it = Builder::new();
    it.forced("warehouses", WAREHOUSES, warehouses(scale));
    add_all(&mut it, FIGURE_10A, "TPC-C", &tpcc_plan(scale, warehouses(scale), json!({})));
    it.points
}

/// Section 4.3.
pub(in super::super) const TATP: Sweep = Sweep {
    points: tatp_points,
    charts: &[Chart {
        title: "TATP on one thread",
        panel: SECTION_4_3,
        measure: Measure::TxnPerS,
        style: Style::Bars,
        x: "",
        paper: &[
            ("hyper", &[(0.0, 407_564.0)]),
            ("hyper, single version", &[(0.0, 421_940.0)]),
            ("hyper, whole versions", &[(0.0, 340_715.0)]),
        ],
    }],
    outcome: |figures| {
        over_others(figures, SECTION_4_3, &Paper { rate: 407_564.0, single: 0.97, whole_versions: 1.2, twopl: None })
    },
};

const SECTION_4_3: &str = "section 4.3";

fn tatp_points(scale: Scale, _: usize) -> Points {
    let mut it = Builder::new();
    it.forced("subscribers", PAPER_SUBSCRIBERS, subscribers(scale));
    add_all(&mut it, SECTION_4_3, "TATP", &tatp_plan(subscribers(scale)));
    it.points
}

fn add_all(it: &mut Builder, panel: &'static str, label: &str, workload: &WorkloadPlan) {
    it.note("with a single version, one transaction runs at a time; twopl and silo keep one version, too, twin has no protocol");
    it.note(NO_LOG);
    for system in SYSTEMS {
        it.add(system, system.name, Place::new(panel, 0.0, label, 1), workload.clone());
    }
}

/// What the paper's text gives.
struct Paper {
    rate: f64,
    /// Over a single version.
    single: f64,
    /// Over whole versions.
    whole_versions: f64,
    /// Over two-phase locking.
    twopl: Option<f64>,
}

fn over_others(figures: &Figures<'_>, panel: &str, paper: &Paper) -> String {
    let over = |system: System| figures.ratio(panel, COLUMNS.name, system.name, 0.0);
    let rate = figures.at(panel, COLUMNS.name, 0.0).map(|figure| figure.txn_per_s);
    let all = (rate, over(WHOLE_VERSIONS), over(TWOPL), over(ROWS), over(MVTO), over(SILO), over(TWIN));
    let (Some(rate), Some(whole), Some(twopl), Some(rows), Some(mvto), Some(silo), Some(twin)) = all else {
        return MISSING.to_owned();
    };
    let Some(single) = over(SINGLE) else { return MISSING.to_owned() };
    let Some(logged) = figures.at(panel, LOGGED.name, 0.0).map(|figure| figure.txn_per_s) else {
        return MISSING.to_owned();
    };
    let paper_twopl = paper.twopl.map_or("-".to_owned(), |ratio| ratio.to_string());
    let shown = format!(
        "{:.0} thousand/s, {:.0} with a redo log in memory (the paper, with that log: {:.0}); over a single version {single:.2} ({}), whole versions {whole:.2} ({}), twopl {twopl:.2} ({paper_twopl}), rows {rows:.2} \
         (about 1), mvto {mvto:.2}, silo {silo:.2}, twin {twin:.2}",
        rate / 1e3,
        logged / 1e3,
        paper.rate / 1e3,
        paper.single,
        paper.whole_versions
    );
    match (whole >= 1.05, twopl > 1.0) {
        (true, true) => format!("reproduced: ahead of whole versions and of twopl; {shown}"),
        (true, false) => format!("partly: ahead of whole versions, but not of twopl; {shown}"),
        (false, true) => format!("partly: ahead of twopl, but not of whole versions; {shown}"),
        (false, false) => format!("partly: ahead of neither whole versions nor twopl; {shown}"),
    }
}

/// Figure 11.
pub(in super::super) const THREADS: Sweep = Sweep {
    points: threads_points,
    charts: &[
        Chart {
            title: "TPC-C by threads",
            panel: FIGURE_11A,
            measure: Measure::Speedup,
            style: Style::Doublings,
            x: "threads",
            paper: &[],
        },
        Chart {
            title: "By partition-crossing transactions",
            panel: FIGURE_11B,
            measure: Measure::TxnPerS,
            style: Style::Lines,
            x: "orders and payments that cross warehouses, %",
            paper: &[],
        },
        Chart {
            title: "By read-only transactions",
            panel: FIGURE_11C,
            measure: Measure::TxnPerS,
            style: Style::Lines,
            x: "read-only transactions, %",
            paper: &[],
        },
    ],
    outcome: threads_outcome,
};

const FIGURE_11A: &str = "figure 11a";
const FIGURE_11B: &str = "figure 11b";
const FIGURE_11C: &str = "figure 11c";

/// Cores and warehouses of the paper.
const PAPER_THREADS: u32 = 20;
const THREAD_COUNTS: [u32; 5] = [1, 2, 5, 10, PAPER_THREADS];

/// Those for which the machine has cores.
fn thread_counts(cores: usize) -> impl Iterator<Item = u32> {
    THREAD_COUNTS.into_iter().filter(move |count| *count <= threads(PAPER_THREADS, cores))
}

fn most_threads(cores: usize) -> u32 {
    thread_counts(cores).last().unwrap_or(1)
}

fn threads_points(scale: Scale, cores: usize) -> Points {
    let mut it = Builder::new();
    let most = most_threads(cores);
    let warehouses = if scale == Scale::Smoke { 2 } else { u64::from(PAPER_THREADS.min(2 * most)) };
    it.forced("threads", PAPER_THREADS.into(), most);
    it.forced("warehouses", PAPER_THREADS.into(), warehouses);
    it.note("clients keep to their home warehouses but are not pinned to cores");
    it.note(
        "the log is shipped by TCP to a second process of this machine, which stores it in memory on the same cores and acknowledges \
         it later; the paper's goes to another machine by remote memory access",
    );
    for count in thread_counts(cores) {
        for system in [COLUMNS, LOGGED, SHIPPED, MVTO] {
            let place = Place::new(FIGURE_11A, count.into(), count.to_string(), count);
            it.add(system, system.name, place, tpcc_plan(scale, warehouses, json!({})));
        }
    }
    // The ends, between which the outcome compares, the middle, and the share of TPC-C as it is.
    let shares = |usual| if scale == Scale::Smoke { vec![0, 100] } else { vec![0, usual, 50, 100] };
    let crossings = shares(11).into_iter().map(|share| (FIGURE_11B, share, crossing(share)));
    let reads = shares(8).into_iter().map(|share| (FIGURE_11C, share, reading(share)));
    for (panel, share, changes) in crossings.chain(reads) {
        let place = Place::new(panel, share.into(), format!("{share} %"), most);
        it.add(COLUMNS, COLUMNS.name, place, tpcc_plan(scale, warehouses, changes));
    }
    it.points
}

/// Parameters by which this percentage of the payments, and of the orders with their ten items on average, cross warehouses.
fn crossing(percent: u32) -> Value {
    const ITEMS: f64 = 10.0;
    let stays = 1.0 - f64::from(percent) / 100.0;
    json!({ "remote_payments": percent, "remote_items": 100.0 * (1.0 - stays.powf(1.0 / ITEMS)) })
}

/// Parameters by which this percentage of the transactions are the two that only read, the others in their proportions.
fn reading(percent: u32) -> Value {
    const WRITERS: f64 = 92.0;
    let (reads, writes) = (f64::from(percent) / 2.0, f64::from(100 - percent) / WRITERS);
    json!({ "order_statuses": reads, "stock_levels": reads, "payments": 43.0 * writes, "deliveries": 4.0 * writes })
}

fn threads_outcome(figures: &Figures<'_>) -> String {
    let most = most_threads(figures.cores);
    let rate = |panel: &str, x: f64| figures.at(panel, COLUMNS.name, x).map(|figure| figure.txn_per_s);
    let over = |panel: &str, x: f64, first: f64| Some(rate(panel, x)? / rate(panel, first)?);
    let ratio = |one: System, other: System| figures.ratio(FIGURE_11A, one.name, other.name, most.into());
    let all = (over(FIGURE_11A, most.into(), 1.0), over(FIGURE_11B, 100.0, 0.0), over(FIGURE_11C, 100.0, 0.0));
    let (Some(speedup), Some(crossing), Some(reading)) = all else { return MISSING.to_owned() };
    let (Some(logged), Some(shipped)) = (ratio(LOGGED, COLUMNS), ratio(SHIPPED, LOGGED)) else {
        return MISSING.to_owned();
    };
    let shown = format!(
        "{most} thread(s) give {speedup:.2} times one (the paper: nearly 20 on 20); crossing warehouses always leaves {crossing:.2}, \
         reading only gives {reading:.2} times; a log in memory leaves {logged:.2} of it, shipping leaves {shipped:.2} of that (the \
         paper: 0.83)"
    );
    if most < PAPER_THREADS {
        return format!("not here: needs {PAPER_THREADS} cores; {shown}");
    }
    let is_linear = speedup >= 0.8 * f64::from(PAPER_THREADS);
    if is_linear { format!("reproduced: {shown}") } else { format!("partly: it scales less; {shown}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_leave_the_orders_what_the_mix_leaves_them() {
        for percent in [0, 50, 100] {
            let mix = reading(percent);
            let sum: f64 = mix.as_object().expect("shares").values().filter_map(|share| share.as_f64()).sum();
            let orders = 45.0 * f64::from(100 - percent) / 92.0;
            assert!((100.0 - sum - orders).abs() < 1e-9, "{percent}: {sum}");
        }
        assert_eq!(crossing(100)["remote_items"], 100.0);
        assert!((crossing(50)["remote_items"].as_f64().expect("a share") - 6.7).abs() < 0.1);
    }
}
