//! Figures 4.4 to 4.6: TPC-C, fully partitioned: its transactions that write.

use super::bank::notes;
use super::*;
use crate::workloads::tpcc as workload;

const LOW: &str = "a warehouse for each client";
const MEDIUM: &str = "115 warehouses";
const HIGH: &str = "23 warehouses";

/// "PXDUR is able to improve upon XDUR by as much as 50% for the 7 node case"; "approximately 30% for the 11 node case".
const LOW_LEAD: &[PaperSeries] = &[(OVER_XDUR, &[(7.0, 1.5)])];
const MEDIUM_LEAD: &[PaperSeries] = &[(OVER_XDUR, &[(11.0, 1.3)])];

pub(in super::super) const TPCC: Simulation = Simulation {
    places,
    charts: &[
        rates("TPC-C, low contention (figure 4.4)", LOW),
        ratios("PXDUR over the others", LOW, LOW_LEAD),
        rates("TPC-C, medium contention (figure 4.5)", MEDIUM),
        ratios("PXDUR over the others", MEDIUM, MEDIUM_LEAD),
        rates("TPC-C, high contention (figure 4.6)", HIGH),
        ratios("PXDUR over the others", HIGH, &[]),
    ],
    outcome,
};

/// The thesis' clients, and its warehouses at low contention.
pub(super) const THESIS: u32 = 700;
/// Ours: every node holds every warehouse, and all nodes are in the memory of this machine.
const CLIENTS: u32 = 161;

pub(super) fn clients(scale: Scale) -> u32 {
    if scale == Scale::Smoke { CLIENTS / 7 } else { CLIENTS }
}

/// Items, customers and first orders of a warehouse are few, for the same reason.
pub(super) fn plan(warehouses: u32, remote: f64) -> WorkloadPlan {
    // An order has ten lines: so many of them that as many orders are remote as payments.
    let remote_items = (1.0 - (1.0 - remote / 100.0f64).powf(0.1)) * 100.0;
    let changes = serde_json::json!({
        "warehouses": warehouses, "items": 20, "customers": 10, "order_statuses": 0.0, "stock_levels": 0.0,
        "remote_payments": remote, "remote_items": remote_items,
    });
    WorkloadPlan::Tpcc(preset(workload::NAME, workload::PRESETS, "local", &changes))
}

pub(super) fn tpcc_notes(scale: Scale) -> Vec<String> {
    let mut notes = notes(scale, THESIS, clients(scale));
    notes.push(
        "20 items, 10 customers of a district and 10 first orders here: all nodes are in the memory of one machine"
            .to_owned(),
    );
    notes
}

fn places(scale: Scale) -> (Vec<Place>, Vec<String>) {
    let clients = clients(scale);
    let panels = match scale {
        Scale::Smoke => vec![(LOW, clients), (HIGH, 7)],
        Scale::Full => vec![(LOW, clients), (MEDIUM, 115), (HIGH, 23)],
    };
    let places = panels
        .into_iter()
        .flat_map(|(panel, warehouses)| by_nodes(panel, scale, clients, move |_| plan(warehouses, 0.0)))
        .collect();
    let mut notes = tpcc_notes(scale);
    notes.push(format!(
        "warehouses at low contention: {clients} here, {THESIS} in the thesis; one for each client in both"
    ));
    (places, notes)
}

fn outcome(figures: &Figures<'_>) -> String {
    let leads = [LOW, MEDIUM, HIGH].map(|panel| best_lead(figures, panel));
    let [Some((low, low_at)), Some((medium, medium_at)), Some((high, _))] = leads else {
        return MISSING.to_owned();
    };
    let ahead = |panel, xs: &[f64]| xs.iter().all(|x| compared(figures, panel, *x).is_some_and(|it| it.xdur > 1.0));
    let competitor = all_compared(figures, HIGH).into_iter().map(|(_, it)| it.conflict_aware).fold(0.0, f64::max);
    let shown = format!(
        "PXDUR is at most {low:.2} times XDUR at low contention, at {low_at:.0} nodes (the thesis: 1.5 at 7), {medium:.2} at medium, at \
         {medium_at:.0} (1.3 at 11), {high:.2} at high (little); up to {competitor:.1} times the competitor (10)"
    );
    claims()
        .anywhere("PXDUR is ahead of XDUR at low contention", ahead(LOW, &[3.0, 7.0, 11.0, 15.0]))
        .anywhere("PXDUR is ahead of XDUR at medium on 7 to 15 nodes", ahead(MEDIUM, &[7.0, 11.0, 15.0]))
        .anywhere("PXDUR leads by a quarter at least", low >= 1.25)
        .anywhere("PXDUR's lead falls with contention", low >= medium && medium >= high)
        .anywhere("PXDUR is far ahead of conflict-aware at high contention", competitor >= 2.0)
        .outcome(&shown)
}

#[cfg(test)]
mod tests {
    use super::super::cluster::System;
    use super::super::tests::outcome_of;
    use super::*;

    #[test]
    fn the_thesis_shape_is_recognized() {
        let thesis = |place: &Place, system: System| match (system, place.panel) {
            (System::Pxdur, LOW) => 1_500.0,
            (System::Pxdur, MEDIUM) => 1_300.0,
            (System::Pxdur, _) => 1_020.0,
            (System::Xdur, _) => 1_000.0,
            (System::ConflictAware, _) => 100.0,
        };
        assert!(outcome_of(&TPCC, thesis).starts_with("reproduced"), "{}", outcome_of(&TPCC, thesis));
        let reversed = outcome_of(&TPCC, |place, system| 2_000.0 - thesis(place, system));
        assert!(reversed.starts_with("partly: fails"), "{reversed}");
    }

    #[test]
    fn as_many_orders_are_remote_as_payments() {
        let WorkloadPlan::Tpcc(parameters) = plan(23, 10.0) else { panic!("TPC-C") };
        let local = (1.0 - parameters.remote_items / 100.0).powi(10);
        assert!((local - 0.9).abs() < 1e-9 && parameters.remote_payments == 10.0, "{parameters:?}");
    }
}
