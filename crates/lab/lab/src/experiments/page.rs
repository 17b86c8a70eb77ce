//! `lab report`: one page with charts, which needs nothing else.

use super::figures::{Figures, Outcome};
use super::{EXPERIMENTS, Experiment, How, Style};
use crate::cli::{ReportArguments, Scale};
use crate::failure::Failure;
use crate::plot::{self, Labels, Plot, Point, Series};
use crate::report::grouped;
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
        outcomes.extend(serde_json::from_str::<Vec<Outcome>>(&text).map_err(|error| cannot(&error))?);
    }
    let page = page(&outcomes).map_err(Failure::Run)?;
    fs::write(&arguments.out, page)
        .map_err(|error| Failure::Run(format!("cannot write {}: {error}", arguments.out.display())))
}

const CHART_SIZE: (u32, u32) = (560, 360);

/// The page.
///
/// # Errors
/// An experiment that the lab does not know, or the drawing library's errors.
pub fn page(outcomes: &[Outcome]) -> Result<String, String> {
    let mut body = String::new();
    for outcome in outcomes {
        body += &section(outcome)?;
    }
    let toc: String = outcomes.iter().map(|it| format!("<a href=\"#{0}\">{0}</a>", escaped(&it.experiment))).collect();
    let verdicts: String = outcomes.iter().map(summary_line).collect();
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Seriatim: the papers' experiments</title><style>{STYLE}</style></head><body><main><h1>The papers' \
         experiments</h1><nav>{toc}</nav><table class=\"summary\"><tr><th>experiment<th>scale<th>outcome</tr>{verdicts}</table>\
         {body}</main></body></html>\n"
    ))
}

const STYLE: &str = "\
body{margin:0;background:#f6f6f4;color:#1c1c1a;font:16px/1.5 system-ui,sans-serif}\
main{max-width:1200px;margin:0 auto;padding:24px}\
h1{font-size:28px;margin:8px 0 4px}h2{font-size:21px;margin:0}\
nav a{margin-right:16px}a{color:#0072b2}\
section{background:#fff;border:1px solid #ddd;border-radius:8px;padding:20px;margin:24px 0}\
.figure{color:#666;margin:0 0 8px}.charts{display:flex;flex-wrap:wrap;gap:12px;margin:12px 0}\
.charts svg{max-width:100%;height:auto;border:1px solid #eee;border-radius:4px}\
.outcome{border-left:4px solid #999;padding:4px 12px;margin:12px 0;background:#fafafa}\
.reproduced{border-color:#009e73}.partly{border-color:#e69f00}.not{border-color:#999}\
table{border-collapse:collapse;font-size:14px}th,td{text-align:right;padding:3px 10px;border-bottom:1px solid #eee}\
th:first-child,td:first-child,.summary td,.summary th{text-align:left}.summary{margin:16px 0;background:#fff;width:100%}\
ul{margin:6px 0;color:#444}summary{cursor:pointer;color:#0072b2}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Smoke => "smoke",
        Scale::Full => "full",
    }
}

/// The first word of an outcome, which colours it.
fn class(outcome: &str) -> &'static str {
    match outcome.split([':', ' ']).next() {
        Some("reproduced") => "reproduced",
        Some("partly") => "partly",
        _ => "not",
    }
}

fn summary_line(it: &Outcome) -> String {
    let (name, outcome) = (escaped(&it.experiment), escaped(&it.outcome));
    format!("<tr><td><a href=\"#{name}\">{name}</a><td>{}<td>{outcome}</tr>", scale_name(it.scale))
}

fn section(outcome: &Outcome) -> Result<String, String> {
    let known = EXPERIMENTS.iter().find(|experiment| experiment.name == outcome.experiment);
    let experiment = known.ok_or_else(|| format!("there is no experiment {}", outcome.experiment))?;
    let first = outcome.figures.first();
    let machine = format!(
        "{} core(s); {} scale; {} x {:.1} s; {}; {}; commit {}",
        outcome.cores,
        scale_name(outcome.scale),
        first.map_or(0, |it| it.repeats),
        first.map_or(0.0, |it| it.seconds),
        first.map_or("", |it| &it.isolation),
        first.map_or("", |it| &it.durability),
        outcome.commit.as_deref().unwrap_or("unknown")
    );
    let notes: String = outcome.notes.iter().map(|note| format!("<li>{}</li>", escaped(note))).collect();
    Ok(format!(
        "<section id=\"{name}\"><h2>{name}</h2><p class=\"figure\">{}, figure {}: {}</p><div class=\"outcome {}\">{}</div>\
         <ul><li>{}</li>{notes}</ul><div class=\"charts\">{}</div><details><summary>All figures</summary>{}</details></section>",
        escaped(experiment.paper.title()),
        escaped(experiment.figure),
        escaped(experiment.shows),
        class(&outcome.outcome),
        escaped(&outcome.outcome),
        escaped(&machine),
        charts(experiment, outcome)?,
        table(outcome),
        name = escaped(experiment.name),
    ))
}

fn charts(experiment: &Experiment, outcome: &Outcome) -> Result<String, String> {
    let How::Sweep(sweep) = experiment.how else { return Ok(String::new()) };
    let figures = Figures { all: &outcome.figures, cores: outcome.cores };
    let mut drawn = String::new();
    for chart in sweep.charts {
        let series = figures.series(chart);
        if series.is_empty() {
            continue;
        }
        let paper = chart
            .paper
            .iter()
            .map(|(name, points)| Series::new(*name, points.iter().map(|&(x, y)| Point::single(x, y)).collect()));
        drawn += &plot::draw(&Plot {
            labels: Labels { title: chart.title, x: chart.x, y: chart.measure.name() },
            places: if chart.style == Style::Bars { figures.labels(chart) } else { Vec::new() },
            series,
            paper: paper.collect(),
            has_bars: chart.style == Style::Bars,
            is_logarithmic: chart.measure.is_logarithmic(),
            size: CHART_SIZE,
        })?;
    }
    Ok(drawn)
}

fn table(outcome: &Outcome) -> String {
    let rows: String = outcome
        .figures
        .iter()
        .map(|it| {
            let others = it.other_cores.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}"));
            format!(
                "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{:.2}<td>{:.1}<td>{:.1}<td>{:.1}<td>{:.0}<td>{others}</tr>",
                escaped(&it.panel),
                escaped(&it.label),
                escaped(&it.series),
                it.threads,
                grouped(it.txn_per_s),
                grouped(it.txn_per_s_min),
                grouped(it.txn_per_s_max),
                it.abort_ratio * 100.0,
                it.p50_us,
                it.p99_us,
                it.p999_us,
                it.rss_mb,
            )
        })
        .collect();
    format!(
        "<table><tr><th>panel<th>at<th>system<th>threads<th>txn/s<th>least<th>most<th>aborts, %<th>p50, us<th>p99, us<th>p99.9, \
         us<th>memory, MiB<th>others' cores</tr>{rows}</table>"
    )
}
