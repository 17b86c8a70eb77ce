//! Section 4.4: what serializability costs.

use super::{MISSING, PAPER_SUBSCRIBERS, SI, SR_AL, SR_RL, WAREHOUSES, subscribers, tatp_plan, tpcc_plan, warehouses};
use crate::cli::Scale;
use crate::experiments::builder::{Builder, Place};
use crate::experiments::figures::Figures;
use crate::experiments::{Chart, Measure, Points, Style, Sweep};
use serde_json::json;

/// Section 4.4, the log of predicates alone: one stream of transactions has nobody to be validated against.
pub(in super::super) const LOGGING: Sweep = Sweep {
    points: logging_points,
    charts: &[
        Chart {
            title: "One stream of transactions",
            panel: SECTION_4_4,
            measure: Measure::TxnPerS,
            style: Style::Multiples,
            x: "each on an axis of its own",
            paper: &[],
        },
        Chart {
            title: "Over snapshot isolation",
            panel: SECTION_4_4,
            measure: Measure::Ratio(&[("SR-RL / SI", "SR-RL", "SI"), ("SR-AL / SI", "SR-AL", "SI")]),
            style: Style::Bars,
            x: "workload",
            paper: &[("SR-RL / SI", &[(0.0, 0.953), (1.0, 0.99)]), ("SR-AL / SI", &[(0.0, 0.933), (1.0, 0.98)])],
        },
    ],
    outcome: logging_outcome,
};

const SECTION_4_4: &str = "section 4.4";

fn logging_points(scale: Scale, _: usize) -> Points {
    let mut it = Builder::new();
    it.forced("warehouses", WAREHOUSES, warehouses(scale));
    it.forced("subscribers", PAPER_SUBSCRIBERS, subscribers(scale));
    it.note("TPC-H is missing: the lab does not have it");
    it.note("the log of top-customer stays below 100 bytes: a test of hyper holds that");
    let workloads =
        [("TPC-C", tpcc_plan(scale, warehouses(scale), json!({}))), ("TATP", tatp_plan(subscribers(scale)))];
    for (number, (label, workload)) in workloads.into_iter().enumerate() {
        for system in [SI, SR_RL, SR_AL] {
            it.add(system, system.name, Place::new(SECTION_4_4, number as f64, label, 1), workload.clone());
        }
    }
    it.points
}

fn logging_outcome(figures: &Figures<'_>) -> String {
    let ratio = |over: &str, x: f64| figures.ratio(SECTION_4_4, over, SI.name, x);
    let all = (ratio(SR_RL.name, 0.0), ratio(SR_AL.name, 0.0), ratio(SR_RL.name, 1.0), ratio(SR_AL.name, 1.0));
    let (Some(rows), Some(columns), Some(tatp_rows), Some(tatp_columns)) = all else { return MISSING.to_owned() };
    let shown = format!(
        "over SI, TPC-C is {rows:.2} with SR-RL and {columns:.2} with SR-AL (the paper: 0.95, 0.93), TATP {tatp_rows:.2} and \
         {tatp_columns:.2} (0.99, 0.98)"
    );
    let is_cheap = [rows, columns, tatp_rows, tatp_columns].into_iter().all(|ratio| ratio >= 0.93);
    if is_cheap { format!("reproduced: {shown}") } else { format!("partly: it costs more than 7 %; {shown}") }
}
