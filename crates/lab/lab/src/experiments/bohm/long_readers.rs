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
    // Between 1 and 100 % the paper's lines fall evenly towards each other: one place shows that.
    let shares: &[f64] = if scale == Scale::Smoke { &[1.0, 100.0] } else { &[0.0, 1.0, 10.0, 100.0] };
    for &share in shares {
        let workload = ycsb_plan(scale, "bohm-long-reads", json!({ "long_reads": share }));
        let place = || Place::new(PANEL, share, format!("{share} %"), threads);
        add_all(&mut it, &SYSTEMS, &place, &workload);
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
    let [(_, hekaton), (_, si), ..] = over;
    Claims::new(figures.cores)
        .anywhere("at 1 % versions are ahead of one version", least > 1.0)
        .anywhere("bohm is then ahead of hekaton and si", hekaton.min(si) > 1.0)
        .anywhere("at 100 % all are alike", spread <= 2.0)
        .at_scale("at 1 % versions are many times ahead", least >= 5.0)
        .outcome(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Point;
    use crate::experiments::builder::tests::outcome;

    #[test]
    fn long_reads_stop_what_has_one_version() {
        let says = |cores: usize, one_version: f64, what: &str| {
            let rate = move |point: &Point| match &point.series[..] {
                _ if point.x == 100.0 => 1.0,
                "silo" | "twopl" => one_version,
                "bohm" => 12.0,
                _ => 10.0,
            };
            let outcome = outcome(&LONG_READERS, cores, rate);
            assert!(outcome.contains(what), "{outcome}");
        };
        says(40, 1.0, "reproduced");
        says(40, 5.0, "fails: at 1 % versions are many times ahead");
        says(2, 5.0, "all are alike; needs 40 cores: at 1 % versions are many times ahead");
        says(2, 20.0, "fails: at 1 % versions are ahead");
        let slowest = |point: &Point| if &*point.series == "bohm" { 1.0 } else { 3.0 };
        let said = outcome(&LONG_READERS, 2, slowest);
        assert!(said.contains("bohm is then ahead of hekaton and si, at 100 % all are alike; needs"), "{said}");
    }
}
