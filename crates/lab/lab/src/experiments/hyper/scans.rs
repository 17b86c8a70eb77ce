//! Section 4.1, figures 7 to 9: sums of a column beside versions.

use super::{COLUMNS, MISSING, MVTO, SINGLE, listed, variant};
use crate::cli::Scale;
use crate::engines::HyperVariant;
use crate::experiments::builder::{Builder, Place};
use crate::experiments::figures::{Figure, Figures};
use crate::experiments::{Chart, Measure, Points, Style, Sweep, System};
use crate::sums::{Parameters, ReaderName};
use crate::trial::WorkloadPlan;

/// Rows of the paper.
const PAPER_RECORDS: u64 = 100_000_000;

/// Rows at full scale: some 32 MB of values, beyond the caches of a core.
fn records(scale: Scale) -> u64 {
    if scale == Scale::Smoke { 3_000 } else { 4_000_000 }
}

/// Percentages of dirty rows, from none to the paper's most.
const SHARES: [f64; 4] = [0.0, 0.1, 1.0, 10.0];

/// The paper's "realistic number of dirty records": 100 thousand of 100 million.
const REALISTIC: f64 = 0.1;

/// A line: its name, who reads, and how many versions a dirty row has.
type Line = (&'static str, ReaderName, u32);

const NEWEST: Line = ("newest, 1 version", ReaderName::Newest, 1);
const NEWEST_4: Line = ("newest, 4 versions", ReaderName::Newest, 4);
const ALONE: Line = ("single version", ReaderName::Alone, 1);
const OLDEST: Line = ("oldest, 1 version", ReaderName::Oldest, 1);
const OLDEST_4: Line = ("oldest, 4 versions", ReaderName::Oldest, 4);

fn add(it: &mut Builder, system: System, series: &str, place: Place, (_, reader, versions): Line, scale: Scale) {
    let share = place.x;
    add_with(it, system, series, place, share, (reader, versions), scale);
}

fn add_with(
    it: &mut Builder,
    system: System,
    series: &str,
    place: Place,
    share: f64,
    (reader, versions): (ReaderName, u32),
    scale: Scale,
) {
    let records = records(scale);
    it.forced("rows", PAPER_RECORDS, records);
    it.note("the sequential limit is a sum over as many integers in one array, measured in turns with each sum");
    it.note("where there are no versions, lines that read the same are one measurement: no rows are dirty, or the reader is alone");
    let dirty = if reader == ReaderName::Alone { 0 } else { (records as f64 * share / 100.0).round() as u64 };
    let (reader, versions) =
        if dirty == 0 && reader != ReaderName::Alone { (ReaderName::Newest, 1) } else { (reader, versions) };
    it.add(system, series, place, WorkloadPlan::Sums(Parameters { records, dirty, versions, reader }));
}

fn place(panel: &'static str, share: f64) -> Place {
    Place::new(panel, share, format!("{share} %"), 1)
}

const ROWS_PER_S: Measure = Measure::MillionsPerS("records", "million rows/s");

/// Figure 7.
pub(in super::super) const SCAN: Sweep = Sweep {
    points: scan_points,
    charts: &[
        Chart {
            title: "Sum over all rows",
            panel: FIGURE_7,
            measure: ROWS_PER_S,
            style: Style::Bars,
            x: "dirty rows",
            paper: &[("hyper, at least", &[(0.0, 740.0)])],
        },
        Chart {
            title: "Share of the sequential limit",
            panel: FIGURE_7,
            measure: Measure::OfBare,
            style: Style::Bars,
            x: "dirty rows",
            paper: &[],
        },
    ],
    outcome: scan_outcome,
};

const FIGURE_7: &str = "figure 7";

fn scan_points(scale: Scale, _: usize) -> Points {
    let mut it = Builder::new();
    for share in SHARES {
        for line in [NEWEST, NEWEST_4, OLDEST, OLDEST_4] {
            add(&mut it, COLUMNS, line.0, place(FIGURE_7, share), line, scale);
        }
        add(&mut it, SINGLE, ALONE.0, place(FIGURE_7, share), ALONE, scale);
        add(&mut it, MVTO, MVTO.name, place(FIGURE_7, share), NEWEST, scale);
    }
    it.points
}

fn scan_outcome(figures: &Figures<'_>) -> String {
    let rate = |line: Line, share: f64| figures.at(FIGURE_7, line.0, share).map(|figure| figure.txn_per_s);
    let clean = figures.at(FIGURE_7, NEWEST.0, 0.0);
    let of_limit = clean.and_then(Figure::of_bare);
    let left = |share: f64| {
        let lines = [NEWEST, NEWEST_4, OLDEST, OLDEST_4].iter();
        lines.map(|line| Some(rate(*line, share)? / rate(NEWEST, 0.0)?)).collect::<Option<Vec<f64>>>()
    };
    let single = clean.and_then(|clean| Some(clean.txn_per_s / rate(ALONE, 0.0)?));
    let (Some(clean), Some(of_limit), Some(single)) = (clean, of_limit, single) else { return MISSING.to_owned() };
    let (Some(realistic), Some(one), Some(ten)) = (left(REALISTIC), left(1.0), left(10.0)) else {
        return MISSING.to_owned();
    };
    let million = clean.txn_per_s * clean.parameter("records").unwrap_or(0.0) / 1e6;
    let least = realistic.iter().copied().fold(f64::INFINITY, f64::min);
    let shown = format!(
        "clean: {million:.0} million rows/s (the paper: above 740), {of_limit:.2} of the sequential limit, \
         {single:.2} of a single version's; dirty rows leave of that \
         {} (0.1 %), {} (1 %), {} (10 %), read as newest with 1 and 4 versions and as oldest with 1 and 4",
        listed(realistic),
        listed(one),
        listed(ten)
    );
    match (of_limit >= 0.8, least >= 0.8) {
        (true, true) => format!("reproduced: at the speed of memory up to the paper's realistic share; {shown}"),
        (false, true) => {
            format!("partly: realistic shares cost little, but the clean scan is below 0.8 of the limit; {shown}")
        }
        (true, false) => format!("partly: clean at the speed of memory, but a realistic share costs it; {shown}"),
        (false, false) => format!("partly: below 0.8 of the limit, and a realistic share costs more; {shown}"),
    }
}

/// Figure 8.
pub(in super::super) const SYNOPSIS: Sweep = Sweep {
    points: synopsis_points,
    charts: &[Chart {
        title: "Sum over all rows, by rows of a synopsis",
        panel: FIGURE_8,
        measure: ROWS_PER_S,
        style: Style::Bars,
        x: "rows of a synopsis",
        paper: &[],
    }],
    outcome: synopsis_outcome,
};

const FIGURE_8: &str = "figure 8";

/// Rows of a block and its synopsis; the last has no synopses.
const SIZES: [(&str, u64, bool); 6] = [
    ("64", 64, true),
    ("256", 256, true),
    ("1024", 1024, true),
    ("4096", 4096, true),
    ("32768", 32_768, true),
    ("none", 1024, false),
];
/// Place of the paper's size among them, and of none.
const PAPER_SIZE: f64 = 2.0;
const NO_SYNOPSES: f64 = 5.0;

fn synopsis_points(scale: Scale, _: usize) -> Points {
    let mut it = Builder::new();
    it.note("a synopsis covers the rows of a block: the size of blocks, and of what one latch guards, varies with it");
    for share in [REALISTIC, 1.0] {
        for (x, (label, block_rows, has_synopses)) in SIZES.into_iter().enumerate() {
            let system = variant("hyper", HyperVariant { block_rows, has_synopses, ..HyperVariant::WHOLE });
            let place = Place::new(FIGURE_8, x as f64, label, 1);
            add_with(&mut it, system, &dirty(share), place, share, (ReaderName::Oldest, 1), scale);
        }
    }
    it.points
}

fn dirty(share: f64) -> String {
    format!("{share} % dirty")
}

fn synopsis_outcome(figures: &Figures<'_>) -> String {
    let rates = |share: f64| {
        let rate = |x: usize| figures.at(FIGURE_8, &dirty(share), x as f64).map(|figure| figure.txn_per_s);
        (0..SIZES.len()).map(rate).collect::<Option<Vec<f64>>>()
    };
    let over_none = |rates: &[f64]| rates[PAPER_SIZE as usize] / rates[NO_SYNOPSES as usize];
    let (Some(realistic), Some(one)) = (rates(REALISTIC), rates(1.0)) else { return MISSING.to_owned() };
    let best = (0..SIZES.len()).max_by(|a, b| realistic[*a].total_cmp(&realistic[*b])).unwrap_or_default();
    let gain = over_none(&realistic);
    let shown = format!(
        "1,024 rows give {gain:.1} times the throughput without synopses at 0.1 % dirty rows, {:.1} times at 1 % (the paper: 5.5); best \
         at 0.1 %: {} (1,024)",
        over_none(&one),
        SIZES[best].0
    );
    if gain >= 5.0 { format!("reproduced: {shown}") } else { format!("partly: synopses gain less; {shown}") }
}

/// Figure 9.
pub(in super::super) const CYCLES: Sweep = Sweep {
    points: cycles_points,
    charts: &[Chart {
        title: "Time of a row",
        panel: FIGURE_9,
        measure: Measure::NanosecondsOf("records", "ns a row"),
        style: Style::Bars,
        x: "dirty rows",
        paper: &[],
    }],
    outcome: cycles_outcome,
};

const FIGURE_9: &str = "figure 9";
const LOOK_AT_EACH: &str = "newest, no synopses";

fn cycles_points(scale: Scale, _: usize) -> Points {
    let mut it = Builder::new();
    it.note("the parts are differences of timed variants, and not samples of a profiler");
    let no_synopses = variant(LOOK_AT_EACH, HyperVariant { has_synopses: false, ..HyperVariant::WHOLE });
    for share in SHARES {
        for line in [NEWEST_4, OLDEST, OLDEST_4] {
            add(&mut it, COLUMNS, line.0, place(FIGURE_9, share), line, scale);
        }
        add(&mut it, no_synopses, LOOK_AT_EACH, place(FIGURE_9, share), NEWEST_4, scale);
    }
    it.points
}

fn cycles_outcome(figures: &Figures<'_>) -> String {
    let of_row = |series: &str, share: f64| figures.at(FIGURE_9, series, share)?.nanoseconds_of("records");
    let limit = figures.at(FIGURE_9, NEWEST_4.0, 0.0).and_then(|it| Some(it.bare_ns? / it.parameter("records")?));
    let parts = |share: f64| {
        let clean = of_row(NEWEST_4.0, 0.0)?;
        let (newest, oldest, oldest_4) =
            (of_row(NEWEST_4.0, share)?, of_row(OLDEST.0, share)?, of_row(OLDEST_4.0, share)?);
        Some([newest - clean, oldest - newest, oldest_4 - oldest])
    };
    let all = (limit, of_row(NEWEST_4.0, 0.0), of_row(LOOK_AT_EACH, 0.0), parts(REALISTIC), parts(10.0));
    let (Some(limit), Some(clean), Some(each), Some(realistic), Some(most)) = all else { return MISSING.to_owned() };
    let in_words = |[find, undo, more]: [f64; 3]| format!("{find:.2} + {undo:.2} + {more:.2}");
    let shown = format!(
        "ns of a row: {clean:.2} clean, of which {limit:.2} are the limit's; {each:.2} if each is asked for versions; to find and verify \
         versioned rows, to undo one version, to undo three more: {} at 0.1 % dirty rows, {} at 10 %",
        in_words(realistic),
        in_words(most)
    );
    let is_cheap = realistic.iter().sum::<f64>() <= 0.25 * clean;
    if is_cheap {
        format!("reproduced: versions are cheap at 0.1 %; {shown}")
    } else {
        format!("partly: versions cost more than a quarter at 0.1 %; {shown}")
    }
}
