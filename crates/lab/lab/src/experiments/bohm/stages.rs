//! Section 4.1: threads that plan, and threads that execute.

use super::*;
use crate::experiments::{Chart, Measure, Points, Style, Sweep};

const PANEL: &str = "figure 4";

/// Figure 4.
pub(in super::super) const STAGES: Sweep = Sweep {
    points,
    charts: &[
        Chart {
            title: "Ten read-modify-writes of 8-byte records",
            panel: PANEL,
            measure: Measure::TxnPerS,
            style: Style::Doublings,
            x: "threads that execute",
            paper: NO_PAPER,
        },
        Chart {
            title: "Over one thread that executes",
            panel: PANEL,
            measure: Measure::Speedup,
            style: Style::Doublings,
            x: "threads that execute",
            paper: NO_PAPER,
        },
    ],
    outcome,
};

const COUNTS: [u32; 6] = [1, 2, 4, 8, 16, 32];

fn name_of(planners: u32) -> String {
    format!("{planners} that plan")
}

fn points(scale: Scale, cores: usize) -> Points {
    let mut it = Builder::new();
    if cores < PAPER_THREADS as usize {
        it.note(format!(
            "threads that plan and execute together are no more than {cores} here, {PAPER_THREADS} in the paper"
        ));
    }
    it.note("transactions are drawn, and their footprints computed, before the clock runs");
    let workload = ycsb_plan(scale, "bohm-10rmw", json!({ "record_bytes": 8 }));
    for planners in COUNTS.into_iter().filter(|planners| *planners <= 8) {
        for executors in COUNTS.into_iter().filter(|executors| (planners + executors) as usize <= cores.max(2)) {
            let system = System { stages: Stages { planners, executors }, ..BOHM };
            let place = Place::new(PANEL, f64::from(executors), executors.to_string(), planners + executors);
            it.add(system, &name_of(planners), place, workload.clone());
        }
    }
    it.points
}

fn outcome(figures: &Figures<'_>) -> String {
    let rates = |planners: u32| -> Vec<f64> {
        let name = name_of(planners);
        figures.all.iter().filter(|it| it.series == name).map(|it| it.txn_per_s).collect()
    };
    let lines: Vec<Vec<f64>> = COUNTS.into_iter().map(rates).take_while(|rates| !rates.is_empty()).collect();
    let best: Vec<f64> = lines.iter().map(|line| line.iter().copied().fold(0.0, f64::max)).collect();
    if best.is_empty() {
        return MISSING.to_owned();
    }
    let shown: Vec<String> = best.iter().map(|rate| format!("{:.2}", rate / 1e6)).collect();
    let shown = format!(
        "at best {} M txn/s with 1, 2, 4, 8 threads that plan, as far as there are cores (the paper: nearly 2 at its peak)",
        shown.join(", ")
    );
    let flat = |line: &Vec<f64>| matches!(line[..], [.., before, last] if last < FLAT * before);
    let both = |threads: u32| Some(figures.at(PANEL, &name_of(threads), f64::from(threads))?.txn_per_s);
    let linear = both(1).zip(both(8)).is_some_and(|(one, eight)| eight >= LINEAR * 8.0 * one);
    Claims::new(figures.cores)
        .at_scale("more threads that plan do more", best.windows(2).all(|pair| pair[1] > pair[0]))
        .at_scale("lines of few of them end flat", lines.iter().take(2).all(flat))
        .at_scale("both stages together scale", linear)
        .outcome(&shown)
}

/// What the last doubling of executing threads brings at most where planning limits.
const FLAT: f64 = 1.25;
/// Of a linear increase.
const LINEAR: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Point;
    use crate::experiments::builder::tests::outcome;

    #[test]
    fn planning_scales_until_execution_limits() {
        let rate = |by_planner: fn(f64) -> f64| {
            move |point: &Point| {
                let planners = f64::from(point.plan.settings.stages.planners);
                by_planner(planners).min(point.x * 3.0) * 1e5
            }
        };
        assert!(outcome(&STAGES, 40, rate(|planners| planners * 3.0)).starts_with("reproduced"));
        let is_refuted = |rate: fn(f64) -> f64, claim: &str| {
            let outcome = outcome(&STAGES, 40, move |point| {
                let planners = f64::from(point.plan.settings.stages.planners);
                rate(planners).min(point.x * 3.0) * 1e5
            });
            assert!(outcome.starts_with("partly") && outcome.contains(claim), "{outcome}");
        };
        is_refuted(|_| 3.0, "fails: more threads that plan do more, both stages together scale");
        is_refuted(|planners| 3.0 + planners.sqrt(), "fails: both stages together scale");
        is_refuted(|planners| planners * 300.0, "fails: more threads that plan do more, lines of few of them end flat");
        assert!(outcome(&STAGES, 2, rate(|_| 2.0)).starts_with("not here: needs 40 cores"));
    }
}
