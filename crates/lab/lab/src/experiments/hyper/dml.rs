//! Section 4.2: inserts, updates, deletions with inserts.

use super::{COLUMNS, MISSING, MVTO, NO_LOG, SINGLE, TWOPL, listed};
use crate::cli::Scale;
use crate::experiments::builder::{Builder, Place};
use crate::experiments::figures::Figures;
use crate::experiments::{Chart, Measure, PaperSeries, Points, Style, Sweep, System};
use crate::trial::WorkloadPlan;
use crate::workloads::dml;
use crate::workloads::parameters::{DEFAULT, Presets};
use serde_json::json;

/// Section 4.2.
pub(in super::super) const DML: Sweep = Sweep {
    points: dml_points,
    charts: &[chart("One operation in a transaction", ONE), chart("A hundred operations in a transaction", HUNDRED)],
    outcome: dml_outcome,
};

const ONE: &str = "1 operation";
const HUNDRED: &str = "100 operations";

const fn chart(title: &'static str, panel: &'static str) -> Chart {
    let measure = Measure::MillionsPerS("operations", "million operations/s");
    Chart { title, panel, measure, style: Style::Bars, x: "operation", paper: PAPER }
}

const PAPER: &[PaperSeries] = &[
    ("hyper", &[(0.0, 4.0), (1.0, 2.0), (2.0, 1.0)]),
    ("hyper, single version", &[(0.0, 5.9), (1.0, 3.4), (2.0, 1.1)]),
];

/// Rows of the paper.
const PAPER_RECORDS: u64 = 100_000_000;

/// Place, name, and percentages of updates and of deletions with inserts.
const KINDS: [(f64, &str, u32, u32); 3] =
    [(0.0, "insert", 0, 0), (1.0, "update", 100, 0), (2.0, "delete, insert", 0, 100)];

fn dml_points(scale: Scale, _: usize) -> Points {
    let mut it = Builder::new();
    let records: u64 = if scale == Scale::Smoke { 2_000 } else { 1_000_000 };
    it.forced("rows", PAPER_RECORDS, records);
    it.note(NO_LOG);
    it.note("operations of a transaction: 1 and 100 here, not given in the paper");
    for (panel, operations) in [(ONE, 1), (HUNDRED, 100)] {
        for (x, label, updates, delete_inserts) in KINDS {
            let changes = json!({
                "records": records, "operations": operations, "updates": updates, "delete_inserts": delete_inserts,
            });
            let presets = Presets::read(dml::NAME, dml::PRESETS);
            let parameters = presets.and_then(|it| it.parameters(DEFAULT, &changes)).expect("a preset of the workload");
            for system in [COLUMNS, SINGLE, MVTO, TWOPL] {
                let workload = WorkloadPlan::Dml(dml::Parameters::clone(&parameters));
                it.add(system, system.name, Place::new(panel, x, label, 1), workload);
            }
        }
    }
    it.points
}

fn dml_outcome(figures: &Figures<'_>) -> String {
    let millions = |panel: &str, x: f64| {
        let it = figures.at(panel, COLUMNS.name, x)?;
        Some(it.txn_per_s * it.parameter("operations")? / 1e6)
    };
    let all = |panel: &str| KINDS.iter().map(|(x, ..)| millions(panel, *x)).collect::<Option<Vec<f64>>>();
    let (Some(one), Some(hundred)) = (all(ONE), all(HUNDRED)) else { return MISSING.to_owned() };
    let over = |panel: &str, other: System| {
        listed(KINDS.iter().filter_map(|(x, ..)| figures.ratio(panel, COLUMNS.name, other.name, *x)))
    };
    let shown = format!(
        "insert, update, delete with insert: {} million/s alone, {} a hundred in a transaction (the paper: 4, 2, 1); over a single \
         version {} and {} (0.68, 0.59, 0.91), over twopl {} and {}",
        listed(one.iter().copied()),
        listed(hundred.iter().copied()),
        over(ONE, SINGLE),
        over(HUNDRED, SINGLE),
        over(ONE, TWOPL),
        over(HUNDRED, TWOPL),
    );
    let is_as_fast = hundred.iter().zip([4.0, 2.0, 1.0]).all(|(here, paper)| *here >= paper);
    if is_as_fast { format!("reproduced: {shown}") } else { format!("partly: slower than the paper's; {shown}") }
}
