//! Plots, as SVG.

use plotters::prelude::{
    ChartBuilder, Circle, DrawingAreaErrorKind, EmptyElement, IntoDrawingArea, LineSeries, PathElement, Rectangle,
    SVGBackend, SeriesLabelPosition, Text,
};
use plotters::series::DashedLineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, TextStyle, WHITE};
use std::ops::Range;

/// A line or a kind of bar: points with the least and greatest value of the repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// By ascending `x`.
    pub points: Vec<Point>,
}

impl Series {
    /// A series of this name.
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Series {
        Series { name: name.into(), points }
    }
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// The least of the repeats.
    pub least: f64,
    /// The greatest of the repeats.
    pub greatest: f64,
}

impl Point {
    /// A point without a spread.
    pub fn single(x: f64, y: f64) -> Point {
        Point { x, y, least: y, greatest: y }
    }
}

/// Labels around the lines.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// Above.
    pub title: &'a str,
    /// Below.
    pub x: &'a str,
    /// On the left.
    pub y: &'a str,
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    /// Around it.
    pub labels: Labels<'a>,
    /// Names of places on the horizontal axis; the numbers themselves where there are none.
    pub places: Vec<(f64, String)>,
    /// What was measured.
    pub series: Vec<Series>,
    /// What a paper has measured: dashed, in the colour of the series of the same name.
    pub paper: Vec<Series>,
    /// Whether bars stand side by side at each place instead of lines between them.
    pub has_bars: bool,
    /// Whether the vertical axis is logarithmic; else it begins at zero.
    pub is_logarithmic: bool,
    /// Width and height, in pixels.
    pub size: (u32, u32),
}

/// Told apart in print and by the colour-blind (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

const SIZE: (u32, u32) = (800, 480);
const FONT: &str = "sans-serif";
/// Share of the space between two places that their bars take.
const BARS: f64 = 0.8;

/// Draws lines with their spread as bars, from zero up.
///
/// # Errors
/// The drawing library's, as a sentence.
pub fn lines(labels: Labels<'_>, series: &[Series]) -> Result<String, String> {
    draw(&Plot {
        labels,
        places: Vec::new(),
        series: series.to_vec(),
        paper: Vec::new(),
        has_bars: false,
        is_logarithmic: false,
        size: SIZE,
    })
}

/// Draws a plot.
///
/// # Errors
/// The drawing library's, as a sentence.
pub fn draw(plot: &Plot<'_>) -> Result<String, String> {
    let mut svg = String::new();
    draw_on(plot, SVGBackend::with_string(&mut svg, plot.size)).map_err(|error| format!("cannot draw: {error}"))?;
    Ok(svg)
}

fn draw_on<'a>(
    plot: &Plot<'_>,
    backend: SVGBackend<'a>,
) -> Result<(), DrawingAreaErrorKind<impl std::error::Error + Send + Sync + use<'a>>> {
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let (x, y) = ranges(plot);
    let floor = y.start;
    let scale = |value: f64| if plot.is_logarithmic { value.max(f64::MIN_POSITIVE).log10() } else { value };
    let mut chart = ChartBuilder::on(&area)
        .caption(plot.labels.title, (FONT, 18).into_font())
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(x, y)?;
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(plot.labels.x).y_desc(plot.labels.y).light_line_style(BLACK.mix(0.04)).bold_line_style(BLACK.mix(0.12));
    let (show_x, show_y) = (|x: &f64| format!("{x:.0}"), |y: &f64| shown(*y, plot.is_logarithmic));
    mesh.x_label_formatter(&show_x).y_label_formatter(&show_y);
    if !plot.places.is_empty() {
        mesh.disable_x_mesh().x_labels(0);
    }
    mesh.draw()?;
    for (number, series) in plot.series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let shift = |x: f64| if plot.has_bars { x + bar(plot, number).0 } else { x };
        if plot.has_bars {
            let width = bar(plot, number).1;
            let bars = series.points.iter().map(|point| {
                let left = shift(point.x) - width / 2.0;
                Rectangle::new([(left, floor), (left + width, scale(point.y))], colour.mix(0.85).filled())
            });
            chart
                .draw_series(bars)?
                .label(&series.name)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 18, y + 5)], colour.mix(0.85).filled()));
        } else {
            let line = series.points.iter().map(|point| (point.x, scale(point.y)));
            chart
                .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
                .label(&series.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
            let dots = series.points.iter().map(|point| Circle::new((point.x, scale(point.y)), 3, colour.filled()));
            chart.draw_series(dots)?;
        }
        let spread = series.points.iter().filter(|point| point.least < point.greatest).map(|point| {
            let x = shift(point.x);
            PathElement::new([(x, scale(point.least)), (x, scale(point.greatest))], BLACK.mix(0.7))
        });
        chart.draw_series(spread)?;
    }
    for paper in &plot.paper {
        let number = plot.series.iter().position(|series| series.name == paper.name);
        let colour = number.map_or(RGBColor(110, 110, 110), |number| COLOURS[number % COLOURS.len()]);
        let shift = |x: f64| match number {
            Some(number) if plot.has_bars => x + bar(plot, number).0,
            _ => x,
        };
        if plot.has_bars {
            let width = number.map_or(BARS, |number| bar(plot, number).1);
            for point in &paper.points {
                let (x, y) = (shift(point.x), scale(point.y));
                let line = [(x - width / 2.0, y), (x + width / 2.0, y)];
                chart.draw_series(DashedLineSeries::new(line, 5, 3, BLACK.stroke_width(2)))?;
            }
        } else {
            let line = paper.points.iter().map(|point| (point.x, scale(point.y)));
            chart.draw_series(DashedLineSeries::new(line, 5, 4, colour.stroke_width(2)))?;
            let dots = paper.points.iter().map(|point| Circle::new((point.x, scale(point.y)), 3, colour));
            chart.draw_series(dots)?;
        }
        let line = if plot.has_bars { BLACK } else { colour };
        chart
            .draw_series(std::iter::empty::<PathElement<(f64, f64)>>())?
            .label(format!("{}, the paper", paper.name))
            .legend(move |(x, y)| {
                EmptyElement::at((x, y))
                    + PathElement::new([(0, 0), (7, 0)], line.stroke_width(2))
                    + PathElement::new([(11, 0), (18, 0)], line.stroke_width(2))
            });
    }
    let style = TextStyle::from((FONT, 12).into_font()).pos(Pos::new(HPos::Center, VPos::Top));
    let places = plot
        .places
        .iter()
        .map(|(x, name)| EmptyElement::at((*x, floor)) + Text::new(name.clone(), (0, 6), style.clone()));
    chart.draw_series(places)?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.2))
        .draw()?;
    area.present()
}

/// Where a bar stands beside the middle of its place, and how wide it is.
fn bar(plot: &Plot<'_>, number: usize) -> (f64, f64) {
    let width = BARS / plot.series.len().max(1) as f64;
    ((number as f64 + 0.5) * width - BARS / 2.0, width * 0.92)
}

/// A value of the vertical axis, as text.
fn shown(value: f64, is_logarithmic: bool) -> String {
    let value = if is_logarithmic { 10f64.powf(value) } else { value };
    match value.abs() {
        100.0.. => crate::report::grouped(value),
        10.0..100.0 => format!("{value:.0}"),
        1.0..10.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

/// All points, with room above; never empty.
fn ranges(plot: &Plot<'_>) -> (Range<f64>, Range<f64>) {
    let points = || plot.series.iter().chain(&plot.paper).flat_map(|series| &series.points);
    let least_x = points().map(|point| point.x).reduce(f64::min).unwrap_or(0.0);
    let greatest_x = points().map(|point| point.x).reduce(f64::max).unwrap_or(1.0);
    let margin = if plot.has_bars { 0.6 } else { ((greatest_x - least_x) * 0.04).max(0.5) };
    let x = least_x - margin..greatest_x + margin;
    let greatest_y = points().map(|point| point.greatest).reduce(f64::max).unwrap_or(1.0);
    if !plot.is_logarithmic {
        return (x, 0.0..greatest_y.max(1e-9) * 1.4);
    }
    let least_y = points().map(|point| point.least).filter(|y| *y > 0.0).reduce(f64::min).unwrap_or(1.0);
    let (low, high) = (least_y.log10(), greatest_y.max(least_y).log10());
    (x, low - 0.15 - (high - low) * 0.05..high + 0.25 + (high - low) * 0.35)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_and_named() {
        let point = |x: f64| Point { x, y: 10.0 * x, least: 9.0 * x, greatest: 11.0 * x };
        let series = ["proved", "etcd"].map(|name| Series::new(name, vec![point(3.0), point(5.0)]));
        let svg = lines(Labels { title: "Figure 7.2", x: "replicas", y: "requests/s" }, &series).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(
            ["Figure 7.2", "replicas", "requests/s", "proved", "etcd"].iter().all(|text| svg.contains(text)),
            "{svg}"
        );
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(lines(Labels { title: "", x: "", y: "" }, &[]).is_ok());
    }

    #[test]
    fn bars_have_names_below_and_the_papers_points_above() {
        let plot = |is_logarithmic| Plot {
            labels: Labels { title: "t", x: "workload", y: "ratio" },
            places: vec![(0.0, "read".to_owned()), (1.0, "write".to_owned())],
            series: vec![Series::new("ours", vec![Point::single(0.0, 0.9), Point::single(1.0, 0.01)])],
            paper: vec![Series::new("ours", vec![Point::single(0.0, 1.0)])],
            has_bars: true,
            is_logarithmic,
            size: SIZE,
        };
        for is_logarithmic in [false, true] {
            let svg = draw(&plot(is_logarithmic)).unwrap();
            assert!(["read", "write", "ours, the paper"].iter().all(|text| svg.contains(text)), "{svg}");
        }
    }
}
