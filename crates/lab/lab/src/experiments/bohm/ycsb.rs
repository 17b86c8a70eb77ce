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

fn rmw_outcome(figures: &Figures<'_>) -> String {
    let most = most(figures.cores);
    let (Some(high), Some(low)) = (bohm_over(figures, RMW_HIGH, most), bohm_over(figures, RMW_LOW, most)) else {
        return MISSING.to_owned();
    };
    let shown = format!(
        "on {most} threads bohm is, times the others, with theta 0.9 {} (the paper: above 2, above 2, ahead, behind), with theta 0 {} \
         (about 1, about 1)",
        listed(&high),
        listed(&low)
    );
    if most < f64::from(PAPER_THREADS) {
        return format!("not here: needs {PAPER_THREADS} cores; {shown}");
    }
    let [(_, hekaton), (_, si), (_, silo), (_, twopl)] = high;
    match (twopl <= 1.0, hekaton >= 2.0 && si >= 2.0, silo >= 1.0) {
        (true, true, true) => format!("reproduced: locks first, bohm twice the others with versions; {shown}"),
        (_, true, _) => {
            format!("partly: bohm is twice the others with versions, the rest is in another order; {shown}")
        }
        _ => format!("partly: bohm is not twice the others with versions; {shown}"),
    }
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
         si, close to silo)",
        listed(&high),
        listed(&low)
    );
    if most < f64::from(PAPER_THREADS) {
        return format!("not here: needs {PAPER_THREADS} cores; {shown}");
    }
    let is_first = high.iter().all(|(_, ratio)| *ratio >= 1.0);
    let [(_, hekaton), (_, si), (_, silo), _] = low;
    match (is_first, hekaton >= 1.0 && si >= 1.0 && silo >= 0.8) {
        (true, true) => format!("reproduced: bohm is first, and close to silo without contention; {shown}"),
        (true, false) => format!("partly: bohm is first under contention alone; {shown}"),
        (false, _) => format!("partly: bohm is not first under contention; {shown}"),
    }
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

const THETAS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 0.95];

fn theta_points(scale: Scale, cores: usize) -> Points {
    let mut it = builder();
    let threads = most(cores) as u32;
    it.forced("threads", u64::from(PAPER_THREADS), threads);
    let thetas: &[f64] = if scale == Scale::Smoke { &[0.0, 0.95] } else { &THETAS };
    for &theta in thetas {
        let workload = ycsb_plan(scale, "bohm-2rmw8r", json!({ "theta": theta }));
        let place = |clients| Place::new(BY_THETA, theta, theta.to_string(), clients);
        add_all(&mut it, &SYSTEMS, &place, threads, &workload);
    }
    it.points
}

fn theta_outcome(figures: &Figures<'_>) -> String {
    let ratio = |theta: f64| figures.ratio(BY_THETA, HEKATON.name, SI.name, theta);
    let [low, .., high] = THETAS;
    let middle = THETAS[3];
    let all = (ratio(low), ratio(middle), ratio(high), bohm_over(figures, BY_THETA, high));
    let (Some(at_low), Some(at_middle), Some(at_high), Some(over)) = all else { return MISSING.to_owned() };
    let shown = format!(
        "hekaton / si is {at_low:.2}, {at_middle:.2}, {at_high:.2} at theta {low}, {middle}, {high} (the paper: 1, 1, below); bohm is, times the \
         others, at {high} {}{}",
        listed(&over),
        on_cores(figures)
    );
    match ([at_low, at_middle].iter().all(|ratio| (0.85..=1.15).contains(ratio)), at_high < at_low) {
        (true, true) => format!("reproduced: validation costs nothing but under contention; {shown}"),
        (true, false) => format!("partly: validation costs nothing, under contention neither; {shown}"),
        (false, _) => format!("partly: validation costs more than 15 % without contention; {shown}"),
    }
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

    #[test]
    fn locks_are_first_where_all_is_written() {
        assert!(outcome(&RMW, 40, rates(2.0, 0.9, 1.8, 3.0)).starts_with("reproduced"));
        assert!(outcome(&RMW, 40, rates(2.0, 0.9, 1.8, 1.0)).starts_with("partly: bohm is twice"));
        assert!(outcome(&RMW, 40, rates(2.0, 1.9, 1.8, 1.0)).starts_with("partly: bohm is not twice"));
        assert!(outcome(&RMW, 2, rates(2.0, 0.9, 1.8, 3.0)).starts_with("not here: needs 40 cores"));
    }

    #[test]
    fn bohm_is_first_where_much_is_read() {
        assert!(outcome(&RMW_READS, 40, rates(2.0, 1.0, 1.8, 1.5)).starts_with("reproduced"));
        assert!(outcome(&RMW_READS, 40, rates(2.0, 1.0, 2.8, 1.5)).starts_with("partly: bohm is not first"));
        assert!(outcome(&RMW_READS, 2, rates(2.0, 1.0, 1.8, 1.5)).starts_with("not here: needs 40 cores"));
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
        assert!(outcome(&THETA, 2, rate(0.98, 0.6)).starts_with("reproduced"));
        assert!(outcome(&THETA, 2, rate(0.98, 1.2)).starts_with("partly: validation costs nothing"));
        assert!(outcome(&THETA, 2, rate(0.5, 0.4)).starts_with("partly: validation costs more"));
    }
}
