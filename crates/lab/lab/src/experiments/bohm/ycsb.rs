//! Section 4.2: YCSB of ten keys, by threads and by popularity.

use super::*;
use crate::experiments::{Chart, Measure, Points, Style, Sweep};

const RMW_HIGH: &str = "10RMW, theta 0.9, 1,000 bytes";
const RMW_LOW: &str = "10RMW, theta 0, 1,000 bytes";
const SMALL_HIGH: &str = "10RMW, theta 0.9, 104 bytes";
const SMALL_LOW: &str = "10RMW, theta 0, 104 bytes";
const READS_HIGH: &str = "2RMW-8R, theta 0.9";
const READS_LOW: &str = "2RMW-8R, theta 0";
const BY_THETA: &str = "2RMW-8R by theta";

const fn by_threads(
    title: &'static str,
    panel: &'static str,
    measure: Measure,
    paper: &'static [PaperSeries],
) -> Chart {
    Chart { title, panel, measure, style: Style::Doublings, x: "threads", paper }
}

/// Figure 5.
pub(in super::super) const RMW: Sweep = Sweep {
    points: rmw_points,
    charts: &[
        by_threads("Ten read-modify-writes of popular records", RMW_HIGH, Measure::TxnPerS, NO_PAPER),
        by_threads("BOHM over the others", RMW_HIGH, Measure::Ratio(BOHM_OVER), RMW_PAPER),
        by_threads("Aborts", RMW_HIGH, Measure::AbortPercent, NO_PAPER),
        by_threads("Of evenly drawn records", RMW_LOW, Measure::TxnPerS, NO_PAPER),
        by_threads("Of popular small records", SMALL_HIGH, Measure::TxnPerS, NO_PAPER),
        by_threads("Of evenly drawn small records", SMALL_LOW, Measure::TxnPerS, NO_PAPER),
    ],
    outcome: rmw_outcome,
};

/// "Over twice the throughput of the other multi-versioned systems".
const RMW_PAPER: &[PaperSeries] = &[("bohm / hekaton", &[(40.0, 2.0)]), ("bohm / si", &[(40.0, 2.0)])];

fn rmw_points(scale: Scale, cores: usize) -> Points {
    let mut it = builder_by_threads(cores);
    for (panel, theta, bytes) in
        [(RMW_HIGH, 0.9, 1_000), (RMW_LOW, 0.0, 1_000), (SMALL_HIGH, 0.9, 104), (SMALL_LOW, 0.0, 104)]
    {
        let workload = ycsb_plan(scale, "bohm-10rmw", json!({ "theta": theta, "record_bytes": bytes }));
        add_by_threads(&mut it, &SYSTEMS, (panel, scale), cores, &workload);
        if bytes == 104 {
            add_by_threads(&mut it, &KEEPING, (panel, scale), cores, &workload);
        }
    }
    it.points
}

/// What a system keeps with most threads of what it does at best.
fn kept(figures: &Figures<'_>, panel: &str, system: System, most: f64) -> Option<f64> {
    let all = figures.all.iter().filter(|it| it.panel == panel && it.series == system.name);
    Some(figures.at(panel, system.name, most)?.txn_per_s / all.map(|it| it.txn_per_s).fold(0.0, f64::max))
}

fn rmw_outcome(figures: &Figures<'_>) -> String {
    let most = most(figures.cores);
    let kept = |system| kept(figures, RMW_HIGH, system, most);
    let of_bohm = |panel| Some(figures.at(panel, BOHM.name, most)?.txn_per_s / 1e6);
    let all = (
        bohm_over(figures, RMW_HIGH, most),
        bohm_over(figures, RMW_LOW, most),
        of_bohm(SMALL_HIGH),
        of_bohm(SMALL_LOW),
    );
    let (Some(high), Some(low), Some(small_high), Some(small_low)) = all else { return MISSING.to_owned() };
    let (Some(silo), Some(hekaton), Some(si)) = (kept(SILO), kept(HEKATON), kept(SI)) else {
        return MISSING.to_owned();
    };
    let shown = format!(
        "on {most} threads bohm is, times the others, with theta 0.9 {} (the paper: above 2, above 2, -, behind), with theta 0 {} (about 1, \
         about 1, -, behind); with 104 bytes it does {small_high:.2} and {small_low:.2} M txn/s",
        listed(&high),
        listed(&low)
    );
    let lead = |[.., (_, twopl)]: [(&str, f64); 4]| 1.0 / twopl;
    let twice = high[..2].iter().all(|(_, ratio)| *ratio >= 2.0);
    Claims::new(figures.cores)
        .anywhere("locks are first without contention", is_first(TWOPL, low))
        .anywhere("systems with versions are alike there", low[..2].iter().all(|(_, ratio)| is_alike(*ratio)))
        .at_scale("locks are first under contention", is_first(TWOPL, high))
        .at_scale("by more than without", lead(high) > lead(low))
        .at_scale("bohm is then twice hekaton and si", twice)
        .at_scale("silo falls less than they do", silo > hekaton.max(si))
        .outcome(&shown)
}

/// Figure 6.
pub(in super::super) const RMW_READS: Sweep = Sweep {
    points: reads_points,
    charts: &[
        by_threads("Two read-modify-writes and eight reads of popular records", READS_HIGH, Measure::TxnPerS, NO_PAPER),
        by_threads("BOHM over the others", READS_HIGH, Measure::Ratio(BOHM_OVER), NO_PAPER),
        by_threads("Aborts", READS_HIGH, Measure::AbortPercent, NO_PAPER),
        by_threads("Of evenly drawn records", READS_LOW, Measure::TxnPerS, NO_PAPER),
        by_threads("BOHM over the others", READS_LOW, Measure::Ratio(BOHM_OVER), NO_PAPER),
    ],
    outcome: reads_outcome,
};

fn reads_points(scale: Scale, cores: usize) -> Points {
    let mut it = builder_by_threads(cores);
    for (panel, theta) in [(READS_HIGH, 0.9), (READS_LOW, 0.0)] {
        let workload = ycsb_plan(scale, "bohm-2rmw8r", json!({ "theta": theta }));
        add_by_threads(&mut it, &SYSTEMS, (panel, scale), cores, &workload);
    }
    it.points
}

fn reads_outcome(figures: &Figures<'_>) -> String {
    let most = most(figures.cores);
    let (Some(high), Some(low)) = (bohm_over(figures, READS_HIGH, most), bohm_over(figures, READS_LOW, most)) else {
        return MISSING.to_owned();
    };
    let shown = format!(
        "on {most} threads bohm is, times the others, with theta 0.9 {} (the paper: ahead of all), with theta 0 {} (ahead of hekaton and \
         si, close behind silo)",
        listed(&high),
        listed(&low)
    );
    let [(_, hekaton), (_, si), (_, silo), (_, twopl)] = high;
    let [(_, low_hekaton), (_, low_si), (_, low_silo), _] = low;
    Claims::new(figures.cores)
        .anywhere("silo is first without contention", is_first(SILO, low))
        .anywhere("bohm is close to it", low_silo >= 1.0 / ALIKE)
        .anywhere("hekaton and si are alike there", is_alike(low_hekaton / low_si))
        .at_scale("bohm is first under contention", is_first(BOHM, high))
        .at_scale("versions are then ahead of one version", hekaton.max(si) < silo.min(twopl))
        .at_scale("the counter limits hekaton and si", low_hekaton.min(low_si) > 1.0)
        .outcome(&shown)
}

/// Figure 7.
pub(in super::super) const THETA: Sweep = Sweep {
    points: theta_points,
    charts: &[
        Chart {
            title: "Two read-modify-writes and eight reads",
            panel: BY_THETA,
            measure: Measure::TxnPerS,
            style: Style::Lines,
            x: "theta",
            paper: NO_PAPER,
        },
        Chart {
            title: "What validation costs",
            panel: BY_THETA,
            measure: Measure::Ratio(&[("hekaton / si", "hekaton", "si")]),
            style: Style::Lines,
            x: "theta",
            paper: &[("hekaton / si", &[(0.0, 1.0), (0.2, 1.0), (0.4, 1.0), (0.6, 1.0)])],
        },
        Chart {
            title: "Aborts",
            panel: BY_THETA,
            measure: Measure::AbortPercent,
            style: Style::Lines,
            x: "theta",
            paper: NO_PAPER,
        },
    ],
    outcome: theta_outcome,
};

/// Where nothing is popular, where the paper's lines still lie on each other, and where they part. Those of figure 6 are among them.
const THETAS: [f64; 4] = [0.0, 0.6, 0.9, 0.95];

fn theta_points(scale: Scale, cores: usize) -> Points {
    let mut it = builder();
    let threads = most(cores) as u32;
    it.forced("threads", u64::from(PAPER_THREADS), threads);
    let thetas: &[f64] = if scale == Scale::Smoke { &[0.0, 0.95] } else { &THETAS };
    for &theta in thetas {
        let workload = ycsb_plan(scale, "bohm-2rmw8r", json!({ "theta": theta }));
        let place = || Place::new(BY_THETA, theta, theta.to_string(), threads);
        add_all(&mut it, &SYSTEMS, &place, &workload);
    }
    it.points
}

fn theta_outcome(figures: &Figures<'_>) -> String {
    let ratio = |theta: f64| figures.ratio(BY_THETA, HEKATON.name, SI.name, theta);
    let [low, middle, .., high] = THETAS;
    let all = (ratio(low), ratio(middle), ratio(high), bohm_over(figures, BY_THETA, high));
    let (Some(at_low), Some(at_middle), Some(at_high), Some(over)) = all else { return MISSING.to_owned() };
    let shown = format!(
        "hekaton / si is {at_low:.2}, {at_middle:.2}, {at_high:.2} at theta {low}, {middle}, {high} (the paper: 1, 1, below); bohm is, times the \
         others, at {high} {}{}",
        listed(&over),
        on_cores(figures)
    );
    Claims::new(figures.cores)
        .anywhere("hekaton and si are alike up to theta 0.6", is_alike(at_low) && is_alike(at_middle))
        .at_scale("they part under high contention", at_high < 1.0 / ALIKE)
        .outcome(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Point;
    use crate::experiments::builder::tests::outcome;

    /// Rates by system.
    fn rates(bohm: f64, hekaton: f64, silo: f64, twopl: f64) -> impl Fn(&Point) -> f64 {
        move |point| match &point.series[..] {
            "bohm" => bohm,
            "hekaton" | "si" => hekaton,
            "silo" => silo,
            _ => twopl,
        }
    }

    fn says(sweep: &Sweep, cores: usize, rates: impl Fn(&Point) -> f64, what: &str) {
        let outcome = outcome(sweep, cores, rates);
        assert!(outcome.contains(what), "{outcome}");
    }

    #[test]
    fn locks_are_first_where_all_is_written() {
        let shape = |low: [f64; 4], high: [f64; 4]| {
            move |point: &Point| {
                let [bohm, hekaton, silo, twopl] = if point.panel == RMW_HIGH { high } else { low };
                let falls = if &*point.series == "hekaton" && point.x < 40.0 { 2.0 } else { 1.0 };
                falls * rates(bohm, hekaton, silo, twopl)(point)
            }
        };
        let even = [1.0, 1.1, 1.1, 1.2];
        says(&RMW, 40, shape(even, [2.0, 0.9, 1.8, 3.0]), "partly: holds: locks are first without");
        says(&RMW, 40, shape(even, [2.0, 0.9, 1.8, 3.0]), "fails: silo falls less");
        says(
            &RMW,
            40,
            shape(even, [2.0, 1.9, 1.8, 1.0]),
            "fails: locks are first under contention, by more than without, bohm is then twice",
        );
        says(&RMW, 2, shape(even, [2.0, 0.9, 1.8, 3.0]), "there; needs 40 cores: locks are first under contention");
        says(
            &RMW,
            2,
            shape([3.0, 1.0, 1.0, 1.0], [2.0, 0.9, 1.8, 3.0]),
            "fails: locks are first without contention, systems with versions",
        );
    }

    #[test]
    fn all_of_figure_5_can_be_reproduced() {
        let rate = |point: &Point| match (&point.series[..], point.panel == RMW_HIGH, point.x < 40.0) {
            ("hekaton" | "si", true, true) => 2.0,
            ("hekaton" | "si", true, false) => 0.9,
            ("bohm", true, _) => 2.0,
            ("silo", true, _) => 1.8,
            (_, true, _) => 3.0,
            ("twopl", false, _) => 1.2,
            _ => 1.1,
        };
        says(&RMW, 40, rate, "reproduced: holds: ");
    }

    #[test]
    fn bohm_is_first_where_much_is_read() {
        let shape = |low: [f64; 4], high: [f64; 4]| {
            move |point: &Point| {
                let [bohm, hekaton, silo, twopl] = if point.panel == READS_HIGH { high } else { low };
                rates(bohm, hekaton, silo, twopl)(point)
            }
        };
        let (low, high) = ([1.9, 1.0, 2.0, 1.5], [2.0, 1.8, 1.0, 1.0]);
        says(&RMW_READS, 40, shape(low, high), "reproduced: holds: ");
        says(
            &RMW_READS,
            40,
            shape(low, [2.0, 1.8, 2.5, 1.0]),
            "fails: bohm is first under contention, versions are then ahead",
        );
        says(&RMW_READS, 40, shape([1.0, 1.5, 2.0, 1.5], high), "fails: bohm is close to it, the counter limits");
        says(
            &RMW_READS,
            2,
            shape([3.0, 1.0, 2.0, 1.5], high),
            "fails: silo is first without contention; needs 40 cores",
        );
    }

    #[test]
    fn validation_costs_under_contention() {
        let rate = |low: f64, high: f64| {
            move |point: &Point| match &point.series[..] {
                "hekaton" if point.x > 0.9 => high,
                "hekaton" => low,
                _ => 1.0,
            }
        };
        says(&THETA, 40, rate(0.98, 0.6), "reproduced");
        says(&THETA, 40, rate(0.98, 1.2), "fails: they part");
        says(&THETA, 2, rate(0.98, 0.6), "needs 40 cores: they part");
        says(&THETA, 2, rate(0.5, 0.4), "partly: fails: hekaton and si are alike");
    }
}
