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
    it.note("clients run beside them, here on the same cores");
    let workload = ycsb_plan(scale, "bohm-10rmw", json!({ "record_bytes": 8 }));
    for planners in COUNTS.into_iter().filter(|planners| *planners <= 8) {
        for executors in COUNTS.into_iter().filter(|executors| (planners + executors) as usize <= cores.max(2)) {
            let system = System { stages: Stages { planners, executors }, ..BOHM };
            let clients = bohm_clients(planners + executors);
            let place = Place::new(PANEL, f64::from(executors), executors.to_string(), clients);
            it.add(system, &name_of(planners), place, workload.clone());
        }
    }
    it.points
}

fn outcome(figures: &Figures<'_>) -> String {
    let best = |planners: u32| {
        let name = name_of(planners);
        let rates = figures.all.iter().filter(|it| it.series == name).map(|it| it.txn_per_s);
        rates.reduce(f64::max)
    };
    let best: Vec<f64> = COUNTS.into_iter().map_while(best).collect();
    let Some(first) = best.first() else { return MISSING.to_owned() };
    let shown: Vec<String> = best.iter().map(|rate| format!("{:.2}", rate / 1e6)).collect();
    let shown = format!(
        "at best {} M txn/s with 1, 2, 4, 8 threads that plan, as far as there are cores (the paper: nearly 2 at its peak)",
        shown.join(", ")
    );
    if figures.cores < PAPER_THREADS as usize {
        return format!("not here: needs {PAPER_THREADS} cores; {shown}");
    }
    let last = best.last().expect("there is a first one");
    let grows = best.windows(2).all(|pair| pair[1] > pair[0]);
    match (grows, last >= &(3.0 * first)) {
        (true, true) => format!("reproduced: planning scales; {shown}"),
        (true, false) => format!("partly: planning scales less; {shown}"),
        (false, _) => format!("partly: planning does not scale; {shown}"),
    }
}

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
                by_planner(planners).min(point.x) * 1e5
            }
        };
        assert!(outcome(&STAGES, 40, rate(|planners| planners * 3.0)).starts_with("reproduced"));
        assert!(
            outcome(&STAGES, 40, rate(|planners| 4.0 + planners.sqrt())).starts_with("partly: planning scales less")
        );
        assert!(outcome(&STAGES, 40, rate(|_| 2.0)).starts_with("partly: planning does not"));
        assert!(outcome(&STAGES, 2, rate(|_| 2.0)).starts_with("not here: needs 40 cores"));
    }
}
