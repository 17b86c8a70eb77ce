//! Section 4.3: SmallBank.

use super::*;
use crate::experiments::{Chart, Measure, Points, Style, Sweep};
use crate::workloads::smallbank as workload;

const HIGH: &str = "50 customers";
const LOW: &str = "100,000 customers";

const fn chart(title: &'static str, panel: &'static str, measure: Measure, paper: &'static [PaperSeries]) -> Chart {
    Chart { title, panel, measure, style: Style::Doublings, x: "threads", paper }
}

/// Figure 9.
pub(in super::super) const SMALLBANK: Sweep = Sweep {
    points,
    charts: &[
        chart("Few customers", HIGH, Measure::TxnPerS, NO_PAPER),
        chart("BOHM over the others", HIGH, Measure::Ratio(BOHM_OVER), NO_PAPER),
        chart("Aborts", HIGH, Measure::AbortPercent, NO_PAPER),
        chart("Many customers", LOW, Measure::TxnPerS, LOW_RATES),
        chart("BOHM over the others", LOW, Measure::Ratio(BOHM_OVER), LOW_RATIOS),
    ],
    outcome,
};

/// "In excess of 3 million", "about 1 million".
const LOW_RATES: &[PaperSeries] =
    &[("bohm", &[(40.0, 3.0e6)]), ("hekaton", &[(40.0, 1.0e6)]), ("si", &[(40.0, 1.0e6)])];
const LOW_RATIOS: &[PaperSeries] = &[("bohm / hekaton", &[(40.0, 3.0)]), ("bohm / si", &[(40.0, 3.0)])];

fn points(scale: Scale, cores: usize) -> Points {
    let mut it = builder_by_threads(cores);
    it.note("rows of accounts have 16 bytes, 8 in the workload of others: a stamp beside the balance names the write");
    for (panel, preset) in [(HIGH, "bohm-contended"), (LOW, "bohm")] {
        let changes = if scale == Scale::Smoke { json!({ "spin_us": 1 }) } else { json!({}) };
        let presets = Presets::read(workload::NAME, workload::PRESETS);
        let parameters = presets.and_then(|it| it.parameters(preset, &changes)).expect("a preset of the workload");
        add_by_threads(&mut it, &SYSTEMS, (panel, scale), cores, &WorkloadPlan::Smallbank(parameters));
    }
    it.points
}

fn outcome(figures: &Figures<'_>) -> String {
    let most = most(figures.cores);
    let (Some(high), Some(low)) = (bohm_over(figures, HIGH, most), bohm_over(figures, LOW, most)) else {
        return MISSING.to_owned();
    };
    let shown = format!(
        "on {most} threads bohm is, times the others, with 50 customers {} (the paper: ahead, ahead, ahead, behind), with 100,000 {} (3, 3, \
         about 1, about 1)",
        listed(&high),
        listed(&low)
    );
    if most < f64::from(PAPER_THREADS) {
        return format!("not here: needs {PAPER_THREADS} cores; {shown}");
    }
    let is_second = high[..3].iter().all(|(_, ratio)| *ratio >= 1.0) && high[3].1 <= 1.0;
    match (is_second, low[..2].iter().all(|(_, ratio)| *ratio >= 2.0)) {
        (true, true) => {
            format!("reproduced: the counter limits hekaton and si, and locks are first under contention; {shown}")
        }
        (false, true) => format!("partly: the counter limits hekaton and si, the contended order is another; {shown}"),
        (_, false) => format!("partly: the counter does not limit hekaton and si; {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Point;
    use crate::experiments::builder::tests::outcome;

    #[test]
    fn the_counter_is_the_limit() {
        let rate = |bohm: f64| {
            move |point: &Point| match (&point.series[..], point.panel) {
                ("bohm", _) => bohm,
                ("twopl", HIGH) => 4.0,
                ("hekaton" | "si", _) => 1.0,
                _ => 2.0,
            }
        };
        assert!(outcome(&SMALLBANK, 40, rate(3.0)).starts_with("reproduced"));
        assert!(outcome(&SMALLBANK, 40, rate(5.0)).starts_with("partly: the counter limits"));
        assert!(outcome(&SMALLBANK, 40, rate(1.5)).starts_with("partly: the counter does not"));
        assert!(outcome(&SMALLBANK, 2, rate(3.0)).starts_with("not here: needs 40 cores"));
    }
}
