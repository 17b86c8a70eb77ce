//! Section 4.3: SmallBank.

use super::*;
use crate::experiments::{Chart, Measure, Points, Style, Sweep};
use crate::workloads::smallbank as workload;

const HIGH: &str = "50 customers";
const LOW: &str = "100,000 customers";

/// One thread more: that which plans has little to do where a transaction computes for 50 us, and would take a core of two.
pub(super) const BESIDE: &str = "bohm, planning beside";

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
    it.note(format!(
        "\"{BESIDE}\" has a thread that plans beyond those that execute: a core of {} that only plans would execute nothing",
        most(cores)
    ));
    it.note("rows of accounts have 16 bytes, 8 in the workload of others: a stamp beside the balance names the write");
    for (panel, preset) in [(HIGH, "bohm-contended"), (LOW, "bohm")] {
        let changes = if scale == Scale::Smoke { json!({ "spin_us": 1 }) } else { json!({}) };
        let presets = Presets::read(workload::NAME, workload::PRESETS);
        let parameters = presets.and_then(|it| it.parameters(preset, &changes)).expect("a preset of the workload");
        let workload = WorkloadPlan::Smallbank(parameters);
        add_by_threads(&mut it, &SYSTEMS, (panel, scale), cores, &workload);
        let threads = most(cores) as u32;
        let beside = System { name: BESIDE, stages: Stages { planners: 1, executors: threads }, ..BOHM };
        it.add(beside, BESIDE, Place::new(panel, f64::from(threads), threads.to_string(), threads), workload);
    }
    it.points
}

fn outcome(figures: &Figures<'_>) -> String {
    let most = most(figures.cores);
    let (Some(high), Some(low)) = (bohm_over(figures, HIGH, most), bohm_over(figures, LOW, most)) else {
        return MISSING.to_owned();
    };
    let shown = format!(
        "on {most} threads bohm is, times the others, with 50 customers {} (the paper: ahead, ahead, -, behind), with 100,000 {} (3, 3, \
         about 1, about 1)",
        listed(&high),
        listed(&low)
    );
    let [(_, hekaton), (_, si), (_, silo), (_, twopl)] = high;
    let [(_, low_hekaton), (_, low_si), (_, low_silo), (_, low_twopl)] = low;
    Claims::new(figures.cores)
        .anywhere("locks and silo are alike without contention", is_alike(low_silo / low_twopl))
        .at_scale("bohm is like them there", is_alike(low_silo) && is_alike(low_twopl))
        .at_scale("and three times hekaton and si", low_hekaton.min(low_si) >= 2.0)
        .at_scale("locks are first under contention", is_first(TWOPL, high))
        .at_scale("bohm is next", hekaton.min(si).min(silo) >= 1.0 && twopl <= 1.0)
        .at_scale("si is ahead of hekaton", si < hekaton)
        .outcome(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Point;
    use crate::experiments::builder::tests::outcome;

    #[test]
    fn the_counter_is_the_limit() {
        let says = |cores: usize, bohm: f64, what: &str| {
            let rate = move |point: &Point| match (&point.series[..], point.panel) {
                ("bohm", _) => bohm,
                ("twopl", HIGH) => 4.0,
                ("si", HIGH) => 1.1,
                ("hekaton" | "si", _) => 1.0,
                _ => 2.9,
            };
            let outcome = outcome(&SMALLBANK, cores, rate);
            assert!(outcome.contains(what), "{outcome}");
        };
        says(40, 3.0, "reproduced");
        says(40, 5.0, "fails: bohm is like them there, locks are first under contention, bohm is next");
        says(40, 1.5, "fails: bohm is like them there, and three times hekaton and si, bohm is next");
        says(2, 3.0, "partly: holds: locks and silo are alike without contention; needs 40 cores: bohm is like them");
    }
}
