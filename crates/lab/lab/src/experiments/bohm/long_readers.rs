//! Section 4.2.3: updates among long transactions that only read.

use super::*;
use crate::experiments::{Chart, Measure, Points, Style, Sweep};

const PANEL: &str = "figure 8";

/// Figure 8.
pub(in super::super) const LONG_READERS: Sweep = Sweep {
    points,
    charts: &[
        Chart {
            title: "Updates, and reads of 10,000 records",
            panel: PANEL,
            measure: Measure::TxnPerS,
            style: Style::Lines,
            x: "long reads, % of the transactions",
            paper: NO_PAPER,
        },
        Chart {
            title: "Versions over one version",
            panel: PANEL,
            measure: Measure::Ratio(OVER_ONE),
            style: Style::Lines,
            x: "long reads, % of the transactions",
            paper: &[
                ("bohm / silo", &[(1.0, 10.0), (100.0, 1.0)]),
                ("bohm / twopl", &[(1.0, 10.0), (100.0, 1.0)]),
                ("hekaton / silo", &[(1.0, 10.0), (100.0, 1.0)]),
            ],
        },
        Chart {
            title: "Aborts",
            panel: PANEL,
            measure: Measure::AbortPercent,
            style: Style::Lines,
            x: "long reads, % of the transactions",
            paper: NO_PAPER,
        },
    ],
    outcome,
};

const OVER_ONE: &[(&str, &str, &str)] = &[
    ("bohm / silo", "bohm", "silo"),
    ("bohm / twopl", "bohm", "twopl"),
    ("bohm / hekaton", "bohm", "hekaton"),
    ("hekaton / silo", "hekaton", "silo"),
    ("mvto / silo", "mvto", "silo"),
    ("hyper / silo", "hyper", "silo"),
];

fn points(scale: Scale, cores: usize) -> Points {
    let mut it = builder();
    let threads = most(cores) as u32;
    it.forced("threads", u64::from(PAPER_THREADS), threads);
    let shares: &[f64] = if scale == Scale::Smoke { &[1.0, 100.0] } else { &[0.0, 1.0, 5.0, 20.0, 50.0, 100.0] };
    for &share in shares {
        let workload = ycsb_plan(scale, "bohm-long-reads", json!({ "long_reads": share }));
        let place = |clients| Place::new(PANEL, share, format!("{share} %"), clients);
        add_all(&mut it, &SYSTEMS, &place, threads, &workload);
    }
    it.points
}

/// Systems with versions.
const VERSIONED: [System; 3] = [BOHM, HEKATON, SI];

fn outcome(figures: &Figures<'_>) -> String {
    let least = |x: f64| {
        let ratio = |over: System, under: System| figures.ratio(PANEL, over.name, under.name, x);
        let all = VERSIONED.into_iter().flat_map(|over| [SILO, TWOPL].map(|under| ratio(over, under)));
        all.collect::<Option<Vec<f64>>>().map(|ratios| ratios.into_iter().fold(f64::INFINITY, f64::min))
    };
    let at_end = |system: System| figures.at(PANEL, system.name, 100.0).map(|figure| figure.txn_per_s);
    let at_end: Option<Vec<f64>> = PAPER_SYSTEMS.into_iter().map(at_end).collect();
    let (Some(least), Some(over), Some(at_end)) = (least(1.0), bohm_over(figures, PANEL, 1.0), at_end) else {
        return MISSING.to_owned();
    };
    let spread = at_end.iter().copied().fold(0.0, f64::max) / at_end.iter().copied().fold(f64::INFINITY, f64::min);
    let shown = format!(
        "at 1 % systems with versions are at least {least:.1} times those with one (the paper: about 10), bohm, times the others, {}; at 100 % \
         the fastest is {spread:.1} times the slowest (1){}",
        listed(&over),
        on_cores(figures)
    );
    match (least >= 5.0, spread <= 2.0) {
        (true, true) => format!("reproduced: long reads stop what has one version; {shown}"),
        (true, false) => format!("partly: long reads stop what has one version, and alone differ, too; {shown}"),
        (false, _) if least > 1.0 => format!("partly: versions help less; {shown}"),
        (false, _) => format!("partly: versions do not always help; {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Point;
    use crate::experiments::builder::tests::outcome;

    #[test]
    fn long_reads_stop_what_has_one_version() {
        let rate = |one_version: f64| {
            move |point: &Point| {
                let has_one = [SILO.name, TWOPL.name].contains(&&point.series[..]);
                if has_one && point.x < 100.0 { one_version } else { 10.0 }
            }
        };
        assert!(outcome(&LONG_READERS, 2, rate(1.0)).starts_with("reproduced"));
        assert!(outcome(&LONG_READERS, 2, rate(5.0)).starts_with("partly: versions help less"));
        assert!(outcome(&LONG_READERS, 2, rate(20.0)).starts_with("partly: versions do not"));
    }
}
