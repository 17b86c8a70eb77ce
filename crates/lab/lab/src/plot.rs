//! Plots, as SVG: lines, bars, and small multiples of bars. A paper's points are dashed beside ours.
//!
//! The library draws shapes and letters. Axes, ticks and the legend are laid out here: a legend over the data, ticks at 0.63, and bars of
//! ratios that do not begin at one are what a chart of a general kind makes of these figures.

mod bars;
mod canvas;
mod frame;
mod legend;
mod lines;
mod scale;

use canvas::Canvas;
use plotters::style::RGBColor;

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

    fn at(&self, x: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.x == x)
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

/// Style of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Lines by number.
    Lines,
    /// Lines by a number that doubles from place to place.
    Doublings,
    /// Bars by name, on one axis.
    Bars,
    /// Bars by name, each place on an axis of its own.
    Multiples,
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
    /// Lines or bars.
    pub style: Style,
    /// Whether the vertical axis is logarithmic; else it begins at zero.
    pub is_logarithmic: bool,
    /// A line across, from which bars go up or down, on a logarithmic axis.
    pub baseline: Option<f64>,
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
/// Of what a paper has and we have not.
const FOREIGN: RGBColor = RGBColor(110, 110, 110);

const SIZE: (u32, u32) = (800, 480);

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
        style: Style::Lines,
        is_logarithmic: false,
        baseline: None,
        size: SIZE,
    })
}

/// Draws a plot.
///
/// # Errors
/// The drawing library's, as a sentence.
pub fn draw(plot: &Plot<'_>) -> Result<String, String> {
    let mut svg = String::new();
    let canvas = Canvas::new(&mut svg, plot.size)?;
    let top = legend::draw(plot, &canvas)?;
    match plot.style {
        Style::Lines | Style::Doublings => lines::draw(plot, &canvas, top)?,
        Style::Bars => bars::draw(plot, &canvas, top)?,
        Style::Multiples => bars::draw_multiples(plot, &canvas, top)?,
    }
    canvas.finish()?;
    Ok(svg)
}

impl Plot<'_> {
    fn colour(&self, series: usize) -> RGBColor {
        COLOURS[series % COLOURS.len()]
    }

    /// The measured series of the same name as one of the paper's.
    fn ours(&self, paper: &Series) -> Option<usize> {
        self.series.iter().position(|series| series.name == paper.name)
    }

    /// All points that are drawn.
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().chain(&self.paper).flat_map(|series| &series.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(style: Style, is_logarithmic: bool) -> Plot<'static> {
        Plot {
            labels: Labels { title: "t", x: "workload", y: "ratio" },
            places: vec![(0.0, "read".to_owned()), (1.0, "write".to_owned())],
            series: vec![Series::new("ours", vec![Point::single(0.0, 0.9), Point::single(1.0, 0.01)])],
            paper: vec![Series::new("ours", vec![Point::single(0.0, 1.0), Point::single(7.0, 1.0)])],
            style,
            is_logarithmic,
            baseline: is_logarithmic.then_some(1.0),
            size: SIZE,
        }
    }

    #[test]
    fn every_line_is_drawn_and_named() {
        let point = |x: f64| Point { x, y: 10.0 * x, least: 9.0 * x, greatest: 11.0 * x };
        let series = ["proved", "etcd"].map(|name| Series::new(name, vec![point(3.0), point(5.0)]));
        let svg = lines(Labels { title: "Figure 7.2", x: "replicas", y: "requests/s" }, &series).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in ["Figure 7.2", "replicas", "requests/s", "proved", "etcd", "\n3\n", "\n5\n"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(lines(Labels { title: "", x: "", y: "" }, &[]).is_ok());
    }

    #[test]
    fn bars_have_names_below_their_values_above_and_the_papers_beside() {
        for is_logarithmic in [false, true] {
            for style in [Style::Bars, Style::Multiples] {
                let svg = draw(&plot(style, is_logarithmic)).unwrap();
                for text in ["read", "write", "ours", "the paper", "0.90"] {
                    assert!(svg.contains(text), "{text} in {svg}");
                }
            }
        }
    }

    #[test]
    fn the_paper_has_no_dash_where_there_is_no_bar() {
        let dashes = |plot: &Plot<'_>| draw(plot).unwrap().matches("stroke-width=\"2\"").count();
        let (with, mut without) = (plot(Style::Bars, false), plot(Style::Bars, false));
        without.paper[0].points.retain(|point| point.x < 2.0);
        assert_eq!(dashes(&with), dashes(&without));
        without.paper.clear();
        assert!(dashes(&with) > dashes(&without));
    }

    #[test]
    fn doublings_are_as_far_from_each_other() {
        let series = vec![Series::new("ours", [1.0, 2.0, 32.0].map(|x| Point::single(x, x)).to_vec())];
        let svg = draw(&Plot { series, paper: Vec::new(), ..plot(Style::Doublings, false) }).unwrap();
        let circles = svg.split("<circle cx=\"").skip(1);
        let x: Vec<i32> = circles.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
        assert!(((x[2] - x[1]) - 4 * (x[1] - x[0])).abs() <= 4, "{x:?}");
    }
}
