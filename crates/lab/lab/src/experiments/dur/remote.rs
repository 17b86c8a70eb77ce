//! Figures 4.8 to 4.12: transactions that access what is at home on other nodes.

use super::*;
use super::{bank, tpcc, vacation};

const BANK_10: &str = "Bank, 10 % remote";
const BANK_20: &str = "Bank, 20 % remote";
const TPCC_10: &str = "TPC-C, 10 % remote";
const TPCC_20: &str = "TPC-C, 20 % remote";
const VACATION_10: &str = "Vacation, 10 % remote";
const SHARES: &str = "Bank on 7 nodes, by remote share";

/// "PXDUR and XDUR give similar throughput for 3 - 15 node cases."
const SIMILAR: &[PaperSeries] = &[(OVER_XDUR, &[(3.0, 1.0), (15.0, 1.0)])];
/// "In the range of 21 - 24%", on 3 to 15 nodes.
const TPCC_LEAD: &[PaperSeries] = &[(OVER_XDUR, &[(3.0, 1.22), (15.0, 1.22)])];

pub(in super::super) const REMOTE: Simulation = Simulation {
    places,
    charts: &[
        rates("Bank, 10 % remote access (figure 4.8)", BANK_10),
        ratios("PXDUR over the others", BANK_10, SIMILAR),
        rates("Bank, 20 % remote access (figure 4.9)", BANK_20),
        ratios("PXDUR over the others", BANK_20, SIMILAR),
        rates("TPC-C, 10 % remote access (figure 4.10)", TPCC_10),
        ratios("PXDUR over the others", TPCC_10, TPCC_LEAD),
        rates("TPC-C, 20 % remote access (figure 4.11)", TPCC_20),
        ratios("PXDUR over the others", TPCC_20, TPCC_LEAD),
        rates("Vacation, 10 % remote access (figure 4.12)", VACATION_10),
        ratios("PXDUR over the others", VACATION_10, &[]),
        Chart { x: "% remote", ..rates("Bank on 7 nodes, by remote access", SHARES) },
    ],
    outcome,
};

/// Shares of remote transactions, of a hundred.
const REMOTE_SHARES: [f64; 6] = [0.0, 1.0, 5.0, 20.0, 50.0, 100.0];

fn places(scale: Scale) -> (Vec<Place>, Vec<String>) {
    let mut places = Vec::new();
    for (panel, remote) in [(BANK_10, 10.0), (BANK_20, 20.0)] {
        places.extend(by_nodes(panel, scale, bank::clients(scale), move |nodes| bank::plan("dur-low", nodes, remote)));
    }
    let clients = tpcc::clients(scale);
    for (panel, remote) in [(TPCC_10, 10.0), (TPCC_20, 20.0)] {
        places.extend(by_nodes(panel, scale, clients, move |_| tpcc::plan(clients, remote)));
    }
    places.extend(by_nodes(VACATION_10, scale, vacation::clients(scale), |nodes| vacation::plan(nodes, 10.0)));
    let shares = if scale == Scale::Smoke { &REMOTE_SHARES[..1] } else { &REMOTE_SHARES[..] };
    places.extend(shares.iter().map(|&remote| Place {
        panel: SHARES,
        x: remote,
        label: format!("{remote:.0} %"),
        nodes: 7,
        clients: bank::clients(scale),
        workload: bank::plan("dur-low", 7, remote),
        calibrated_on: bank::plan("dur-low", 3, 0.0),
        access_ns: None,
    }));
    let mut notes = tpcc::tpcc_notes(scale);
    notes.push("Bank and TPC-C at low contention, as the thesis says of all but Vacation".to_owned());
    (places, notes)
}

fn outcome(figures: &Figures<'_>) -> String {
    let [bank, tpcc, vacation] = [BANK_20, TPCC_20, VACATION_10].map(|panel| all_compared(figures, panel));
    if bank.is_empty() || tpcc.is_empty() || vacation.is_empty() {
        return MISSING.to_owned();
    }
    let up_to_15 = |of: &[(f64, Compared)], is_so: fn(Compared) -> bool| {
        of.iter().filter(|(x, _)| *x <= 15.0).all(|(_, it)| is_so(*it))
    };
    let last = |of: &[(f64, Compared)]| of.last().map_or(f64::NAN, |(_, it)| it.conflict_aware);
    let rate = |x| figures.at(SHARES, PXDUR, x).map_or(0.0, |it| it.txn_per_s);
    let mean = tpcc.iter().map(|(_, it)| it.xdur).sum::<f64>() / tpcc.len() as f64;
    let shown = format!(
        "with 20 % remote access PXDUR is on average {mean:.2} times XDUR on TPC-C (the thesis: 1.21 to 1.24), and {:.2} times \
         conflict-aware on Bank on the most nodes (less than 0.85)",
        last(&bank)
    );
    claims()
        .anywhere("remote access costs throughput", rate(100.0) < rate(0.0))
        .anywhere(
            "Bank: PXDUR and XDUR are alike on 3 to 15 nodes",
            up_to_15(&bank, |it| (0.85..1.18).contains(&it.xdur)),
        )
        .anywhere("TPC-C: PXDUR is ahead of XDUR on 3 to 15 nodes", up_to_15(&tpcc, |it| it.xdur > 1.0))
        .anywhere(
            "TPC-C: PXDUR is ahead of conflict-aware on 3 to 15 nodes",
            up_to_15(&tpcc, |it| it.conflict_aware > 1.0),
        )
        .anywhere("conflict-aware is first on the most nodes", last(&bank) < 1.0 && last(&tpcc) < 1.0)
        .anywhere(
            "Vacation: conflict-aware is first on few nodes",
            vacation.first().is_some_and(|(_, it)| it.conflict_aware < 1.0),
        )
        .outcome(&shown)
}
