//! Figures 4.1 to 4.3: Bank, fully partitioned.

use super::*;
use crate::workloads::bank as workload;

const LOW: &str = "5,000 accounts";
const MEDIUM: &str = "2,000 accounts";
const HIGH: &str = "500 accounts";
/// Beyond the thesis: how long must a body take, so that executing in parallel pays?
const BODIES: &str = "5,000 accounts on 11 nodes, by what a body computes";

/// "For the 11 node case PXDUR gives an improvement of about 13% over XDUR."
const LEAD: &[PaperSeries] = &[(OVER_XDUR, &[(11.0, 1.13)])];

pub(in super::super) const BANK: Simulation = Simulation {
    places,
    charts: &[
        rates("Bank, low contention (figure 4.1)", LOW),
        ratios("PXDUR over the others", LOW, LEAD),
        rates("Bank, medium contention (figure 4.2)", MEDIUM),
        ratios("PXDUR over the others", MEDIUM, LEAD),
        rates("Bank, high contention (figure 4.3)", HIGH),
        ratios("PXDUR over the others", HIGH, &[]),
        Chart { x: "us at each access", ..rates("Bank on 11 nodes, by what a body computes", BODIES) },
        Chart { x: "us at each access", ..ratios("PXDUR over the others", BODIES, &[]) },
    ],
    outcome,
};

/// Clients of all nodes.
pub(super) const CLIENTS: u32 = 920;

pub(super) fn plan(preset_name: &str, nodes: u64, remote: f64) -> WorkloadPlan {
    let changes = serde_json::json!({ "partitions": nodes, "remote": remote });
    WorkloadPlan::Bank(preset(workload::NAME, workload::PRESETS, preset_name, &changes))
}

pub(super) fn clients(scale: Scale) -> u32 {
    if scale == Scale::Smoke { CLIENTS / 10 } else { CLIENTS }
}

/// Microseconds of an access.
const ACCESSES: [f64; 5] = [1.0, 3.0, 10.0, 30.0, 100.0];

fn places(scale: Scale) -> (Vec<Place>, Vec<String>) {
    let panels = [(LOW, "dur-low"), (MEDIUM, "dur-medium"), (HIGH, "dur-high")];
    let mut places: Vec<Place> = panels
        .into_iter()
        .flat_map(|(panel, preset)| by_nodes(panel, scale, clients(scale), move |nodes| plan(preset, nodes, 0.0)))
        .collect();
    let accesses = if scale == Scale::Smoke { &ACCESSES[2..3] } else { &ACCESSES[..] };
    places.extend(accesses.iter().map(|&microseconds| Place {
        panel: BODIES,
        x: microseconds,
        label: format!("{microseconds:.0} us"),
        nodes: 11,
        clients: clients(scale),
        workload: plan("dur-low", 11, 0.0),
        calibrated_on: plan("dur-low", 3, 0.0),
        access_ns: Some(microseconds * 1e3),
    }));
    (places, notes(scale, CLIENTS, clients(scale)))
}

/// What differs from the thesis in all of these experiments.
pub(super) fn notes(scale: Scale, thesis: u32, clients: u32) -> Vec<String> {
    let mut notes = vec![format!(
        "in virtual time: the engine as it is, on modelled machines of {CORES} cores, with {} executing threads (MaxSpec) where there is \
         more than one",
        cluster::MAX_SPEC
    )];
    if clients != thesis {
        notes.push(format!("clients: {clients} here, {thesis} in the thesis"));
    }
    if scale == Scale::Smoke {
        notes.push("3 and 7 nodes here, 3 to 23 in the thesis".to_owned());
    }
    notes
}

/// PXDUR over XDUR for each length of an access.
fn by_body(figures: &Figures<'_>) -> String {
    let leads = all_compared(figures, BODIES).into_iter().map(|(x, it)| format!("{:.2} ({x:.0} us)", it.xdur));
    leads.collect::<Vec<_>>().join(", ")
}

fn outcome(figures: &Figures<'_>) -> String {
    let [low, medium, high] = [LOW, MEDIUM, HIGH].map(|panel| all_compared(figures, panel));
    let (Some((low_lead, low_at)), Some((high_lead, _))) = (best_lead(figures, LOW), best_lead(figures, HIGH)) else {
        return MISSING.to_owned();
    };
    let up_to_15 = |of: &[(f64, Compared)]| of.iter().filter(|(x, _)| *x <= 15.0).all(|(_, it)| it.xdur > 1.0);
    let rate = |panel, x| figures.at(panel, CONFLICT_AWARE, x).map_or(0.0, |it| it.txn_per_s);
    let at_23 = compared(figures, LOW, 23.0);
    let shown = format!(
        "PXDUR is at most {low_lead:.2} times XDUR at low contention, at {low_at:.0} nodes (the thesis: 1.13 at 11), and {high_lead:.2} at \
         high; if a body computes at each access, {} times on 11 nodes; conflict-aware has {:.2} of its throughput at 11 nodes left at \
         high contention, of that at low",
        by_body(figures),
        rate(HIGH, 11.0) / rate(LOW, 11.0).max(1.0)
    );
    claims()
        .anywhere("PXDUR is ahead of XDUR on 3 to 15 nodes", up_to_15(&low) && up_to_15(&medium) && up_to_15(&high))
        .anywhere("PXDUR's lead is less at high contention", high_lead < low_lead)
        .anywhere(
            "XDUR is first on 19 and 23 nodes",
            low.iter().filter(|(x, _)| *x >= 19.0).all(|(_, it)| it.xdur <= 1.0),
        )
        .anywhere("conflict-aware falls with contention", rate(HIGH, 11.0) < rate(LOW, 11.0))
        .anywhere("conflict-aware gains with nodes", rate(LOW, 23.0) > rate(LOW, 3.0))
        .anywhere("conflict-aware overtakes PXDUR on 23 nodes at low contention only", {
            let ahead = |it: Option<Compared>| it.is_some_and(|it| it.conflict_aware < 1.0);
            ahead(at_23) && !ahead(compared(figures, HIGH, 23.0))
        })
        .outcome(&shown)
}

#[cfg(test)]
mod tests {
    use super::super::cluster::System;
    use super::super::tests::outcome_of;
    use super::*;

    #[test]
    fn the_thesis_shape_is_recognized() {
        let thesis = |place: &Place, system: System| {
            let high = place.panel == HIGH;
            match system {
                System::Pxdur if place.nodes <= 15 => {
                    if high {
                        1_050.0
                    } else {
                        1_130.0
                    }
                }
                System::Pxdur => 990.0,
                System::Xdur => 1_000.0,
                System::ConflictAware if high => 100.0,
                System::ConflictAware => 400.0 + 30.0 * place.nodes as f64,
            }
        };
        assert!(outcome_of(&BANK, thesis).starts_with("reproduced"), "{}", outcome_of(&BANK, thesis));
        let equal = outcome_of(&BANK, |_, _| 1_000.0);
        assert!(equal.contains("fails: PXDUR is ahead of XDUR on 3 to 15 nodes"), "{equal}");
    }
}
