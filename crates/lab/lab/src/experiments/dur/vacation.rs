//! Figure 4.7: Vacation, fully partitioned.

use super::bank::notes;
use super::*;
use crate::workloads::vacation as workload;

const PANEL: &str = "100 relations";

/// "The biggest performance improvement is obtained for the 7 node scenario where PXDUR shows a 12% improvement over XDUR."
const LEAD: &[PaperSeries] = &[(OVER_XDUR, &[(7.0, 1.12)])];

pub(in super::super) const VACATION: Simulation = Simulation {
    places,
    charts: &[rates("Vacation (figure 4.7)", PANEL), ratios("PXDUR over the others", PANEL, LEAD)],
    outcome,
};

/// Clients of all nodes.
pub(super) const CLIENTS: u32 = 700;

pub(super) fn clients(scale: Scale) -> u32 {
    if scale == Scale::Smoke { CLIENTS / 10 } else { CLIENTS }
}

pub(super) fn plan(nodes: u64, remote: f64) -> WorkloadPlan {
    let changes = serde_json::json!({ "partitions": nodes, "remote": remote });
    WorkloadPlan::Vacation(preset(workload::NAME, workload::PRESETS, "dur", &changes))
}

fn places(scale: Scale) -> (Vec<Place>, Vec<String>) {
    let places = by_nodes(PANEL, scale, clients(scale), |nodes| plan(nodes, 0.0)).collect();
    (places, notes(scale, CLIENTS, clients(scale)))
}

fn outcome(figures: &Figures<'_>) -> String {
    let all = all_compared(figures, PANEL);
    let Some((lead, at)) = best_lead(figures, PANEL) else { return MISSING.to_owned() };
    let is_last = all.iter().all(|(_, it)| it.conflict_aware > 1.0 && it.conflict_aware > it.xdur);
    let shown = format!("PXDUR is at most {lead:.2} times XDUR, at {at:.0} nodes (the thesis: 1.12 at 7)");
    claims()
        .anywhere("PXDUR is ahead of XDUR on 3 to 15 nodes", {
            all.iter().filter(|(x, _)| *x <= 15.0).all(|(_, it)| it.xdur > 1.0)
        })
        .anywhere("XDUR is first on 19 and 23 nodes", {
            all.iter().filter(|(x, _)| *x >= 19.0).all(|(_, it)| it.xdur <= 1.0)
        })
        .anywhere("conflict-aware is last everywhere", is_last)
        .outcome(&shown)
}
