//! `lab report`: one page with charts, which needs nothing else.

use super::figures::{Figure, Figures, Outcome, distinct};
use super::{EXPERIMENTS, Experiment, How, Style, paxos_order};
use crate::cli::{ReportArguments, Scale};
use crate::failure::Failure;
use crate::plot::{self, Labels, Plot, Point, Series};
use crate::report::{counts, grouped, latency, or_dash, rates};
use std::fs;

/// Makes the page of what the arguments name.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for file in &arguments.files {
        let cannot = |error: &dyn std::fmt::Display| Failure::Run(format!("cannot read {}: {error}", file.display()));
        let text = fs::read_to_string(file).map_err(|error| cannot(&error))?;
        outcomes.extend(read(&text).map_err(|error| cannot(&error))?);
    }
    let page = page(&outcomes).map_err(Failure::Run)?;
    fs::write(&arguments.out, page)
        .map_err(|error| Failure::Run(format!("cannot write {}: {error}", arguments.out.display())))
}

/// What `lab run` has printed, or `lab experiment paxos-order`: the latter's rows say so, each by itself.
fn read(text: &str) -> serde_json::Result<Vec<Outcome>> {
    let values: Vec<serde_json::Value> = serde_json::from_str(text)?;
    if values.iter().any(|value| value["experiment"] == paxos_order::row::NAME && value.get("part").is_some()) {
        let rows: Vec<paxos_order::row::Row> = serde_json::from_str(text)?;
        return Ok(paxos_order::report::outcome(&rows).into_iter().collect());
    }
    serde_json::from_str(text)
}

/// Three beside each other on a wide screen.
const CHART_SIZE: (u32, u32) = (390, 320);
/// As wide as two of them.
const MULTIPLES_SIZE: (u32, u32) = (792, 320);

/// The page.
///
/// # Errors
/// An experiment that the lab does not know, or the drawing library's errors.
pub fn page(outcomes: &[Outcome]) -> Result<String, String> {
    let mut body = String::new();
    for outcome in outcomes {
        body += &section(outcome)?;
    }
    let verdicts: String = outcomes.iter().map(summary_line).collect();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Seriatim: the papers' experiments</title><style>{STYLE}</style></head><body><main><h1>The papers' \
         experiments</h1><p class=\"figure\">Our figures beside the papers', whose points are dashed.</p><table class=\"summary\"><tr><th>experiment<th>verdict<th>outcome</tr>{verdicts}</table>\
         {body}</main></body></html>\n"
    ))
}

const STYLE: &str = "\
body{margin:0;background:#f6f6f4;color:#1c1c1a;font:16px/1.5 system-ui,sans-serif}\
main{max-width:1242px;margin:0 auto;padding:24px}\
h1{font-size:28px;margin:8px 0 4px}h2{font-size:21px;margin:0}\
a{color:#0072b2;text-decoration:none}a:hover{text-decoration:underline}\
section{background:#fff;border:1px solid #ddd;border-radius:8px;padding:20px;margin:24px 0}\
.figure{color:#666;margin:0 0 8px}.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(350px,1fr));gap:12px;margin:16px 0}\
.charts div{border:1px solid #eee;border-radius:4px}.charts svg{display:block;width:100%;height:auto}\
@media(min-width:820px){.charts .double{grid-column:span 2}}\
.outcome{border-left:4px solid #999;padding:4px 12px;margin:12px 0;background:#fafafa}\
.reproduced{border-color:#009e73}.partly{border-color:#e69f00}.not{border-color:#999}\
.badge{display:inline-block;border-radius:10px;padding:0 10px;font-size:13px;color:#fff;background:#888;white-space:nowrap}\
.badge.reproduced{background:#00805c}.badge.partly{background:#b87700}\
.machine{color:#777;font-size:13px;margin:8px 0 0}\
.wide{overflow-x:auto}\
table{border-collapse:collapse;font-size:14px}th,td{text-align:right;padding:3px 10px;border-bottom:1px solid #eee}\
th{font-weight:600;color:#555}td{font-variant-numeric:tabular-nums}\
td.name,th.name,.summary td,.summary th{text-align:left;vertical-align:top}.summary{margin:16px 0;background:#fff;width:100%}.summary a{white-space:nowrap}\
ul{margin:6px 0;padding-left:20px;color:#444;font-size:14px}summary{cursor:pointer;color:#0072b2}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Smoke => "smoke",
        Scale::Full => "full",
    }
}

/// The first word of an outcome, which colours it; smoke scale decides nothing.
fn verdict(it: &Outcome) -> (&'static str, &'static str) {
    match (it.scale, it.outcome.split([':', ' ', ';']).next()) {
        (Scale::Smoke, _) => ("smoke", "not"),
        (Scale::Full, Some("reproduced")) => ("reproduced", "reproduced"),
        (Scale::Full, Some("partly")) => ("partly", "partly"),
        (Scale::Full, Some("undecided")) => ("undecided", "not"),
        (Scale::Full, _) => ("not here", "not"),
    }
}

fn summary_line(it: &Outcome) -> String {
    let (name, outcome, (word, class)) = (escaped(&it.experiment), escaped(&it.outcome), verdict(it));
    format!("<tr><td><a href=\"#{name}\">{name}</a><td><span class=\"badge {class}\">{word}</span><td>{outcome}</tr>")
}

fn section(outcome: &Outcome) -> Result<String, String> {
    let known = EXPERIMENTS.iter().find(|experiment| experiment.name == outcome.experiment);
    let experiment = known.ok_or_else(|| format!("there is no experiment {}", outcome.experiment))?;
    let notes = outcome.notes.iter().map(|note| format!("<li>{}</li>", escaped(note)));
    let failed = outcome.failed.iter().map(|failed| format!("<li><b>A trial failed:</b> {}</li>", escaped(failed)));
    let notes: String = notes.chain(failed).collect();
    Ok(format!(
        "<section id=\"{name}\"><h2>{name}</h2><p class=\"figure\">{}, figure {}: {}</p><div class=\"outcome {}\">{}</div>\
         <ul>{notes}</ul><div class=\"charts\">{}</div><details><summary>All figures</summary><div class=\"wide\">{}</div></details>\
         <p class=\"machine\">{}</p></section>",
        escaped(experiment.paper.title()),
        escaped(experiment.figure),
        escaped(experiment.shows),
        verdict(outcome).1,
        escaped(&outcome.outcome),
        charts(experiment, outcome)?,
        table(outcome),
        escaped(&machine(outcome)),
        name = escaped(experiment.name),
    ))
}

/// Where and how the figures were measured.
fn machine(outcome: &Outcome) -> String {
    let first = outcome.figures.first();
    format!(
        "{} core(s); {} scale, {} x {:.2} s; {}; {}; {}; allocator {}; commit {}",
        outcome.cores,
        scale_name(outcome.scale),
        first.map_or(0, |it| it.repeats),
        first.map_or(0.0, |it| it.seconds),
        distinct(&outcome.figures, |it| &it.isolation),
        distinct(&outcome.figures, |it| &it.durability),
        outcome.build,
        outcome.allocator,
        outcome.commit.as_deref().unwrap_or("unknown")
    )
}

fn charts(experiment: &Experiment, outcome: &Outcome) -> Result<String, String> {
    let charts = match experiment.how {
        How::Sweep(sweep) => sweep.charts,
        How::Simulation(simulation) => simulation.charts,
        How::Clusters(charts) => charts,
        How::NotYet => &[],
    };
    let figures = Figures { all: &outcome.figures, cores: outcome.cores };
    let mut drawn = String::new();
    for chart in charts {
        let series = figures.series(chart);
        if series.is_empty() {
            continue;
        }
        let paper = chart
            .paper
            .iter()
            .map(|(name, points)| Series::new(*name, points.iter().map(|&(x, y)| Point::single(x, y)).collect()));
        let has_names = matches!(chart.style, Style::Bars | Style::Multiples);
        let is_double = chart.style == Style::Multiples;
        let svg = plot::draw(&Plot {
            labels: Labels { title: chart.title, x: chart.x, y: chart.measure.name() },
            places: if has_names { figures.labels(chart) } else { Vec::new() },
            series,
            paper: paper.collect(),
            style: chart.style,
            is_logarithmic: chart.measure.is_logarithmic(),
            baseline: chart.measure.baseline(),
            size: if is_double { MULTIPLES_SIZE } else { CHART_SIZE },
        })?;
        drawn += &format!("<div{}>{svg}</div>", if is_double { " class=\"double\"" } else { "" });
    }
    Ok(drawn)
}

fn table(outcome: &Outcome) -> String {
    let row = |it: &Figure| {
        let names =
            [&it.panel, &it.label, &it.series].map(|name| format!("<td class=\"name\">{}", escaped(name))).concat();
        let numbers = [
            it.threads.to_string(),
            grouped(it.txn_per_s),
            grouped(it.txn_per_s_min),
            grouped(it.txn_per_s_max),
            or_dash(it.over_bare_ns.map(grouped)),
            format!("{:.2}", it.abort_ratio * 100.0),
            latency(it.p50_us),
            latency(it.p99_us),
            latency(it.p999_us),
            or_dash(it.rss_mb.map(grouped)),
            or_dash(it.kept_versions.map(|count| grouped(count as f64))),
            or_dash(it.other_cores.map(|cores| format!("{cores:.2}"))),
        ];
        let numbers = numbers.map(|number| format!("<td>{number}")).concat();
        let readers = it.long_reader_txn_per_s;
        let readers = readers.map(|rate| format!("{rate:.1} a second; {}", counts(&it.long_reader_aborts)));
        let details = [rates(&it.txn_per_s_by_kind), counts(&it.aborts), or_dash(readers)]
            .map(|it| format!("<td class=\"name\">{}", escaped(&it)));
        format!("<tr>{names}{numbers}{}</tr>", details.concat())
    };
    let rows: String = outcome.figures.iter().map(row).collect();
    format!(
        "<table><tr><th class=\"name\">panel<th class=\"name\">at<th class=\"name\">system<th>clients<th>a second<th>least<th>most<th>over \
         bare, ns<th>aborts, %<th>p50, us<th>p99, us<th>p99.9, us<th>memory, MiB<th>versions kept<th>others' cores<th \
         class=\"name\">a second, by kind<th class=\"name\">aborts, by rule<th class=\"name\">long readers, and their aborts</tr>{rows}</table>"
    )
}
