//! Plots, as SVG.

use plotters::prelude::{
    ChartBuilder, Circle, DrawingAreaErrorKind, IntoDrawingArea, LineSeries, PathElement, SVGBackend,
    SeriesLabelPosition,
};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, WHITE};
use std::ops::Range;

/// A line: points with the least and greatest value of the repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// By ascending `x`.
    pub points: Vec<Point>,
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

/// Draws lines with their spread as bars, from zero up.
///
/// # Errors
/// The drawing library's, as a sentence.
pub fn lines(labels: Labels<'_>, series: &[Series]) -> Result<String, String> {
    let mut svg = String::new();
    draw(labels, series, SVGBackend::with_string(&mut svg, SIZE)).map_err(|error| format!("cannot draw: {error}"))?;
    Ok(svg)
}

fn draw<'a>(
    labels: Labels<'_>,
    series: &[Series],
    backend: SVGBackend<'a>,
) -> Result<(), DrawingAreaErrorKind<impl std::error::Error + Send + Sync + use<'a>>> {
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    let (x, y) = ranges(series);
    let mut chart = ChartBuilder::on(&area)
        .caption(labels.title, (FONT, 18).into_font())
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(90)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_desc(labels.x)
        .y_desc(labels.y)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| crate::report::grouped(*y))
        .draw()?;
    for (series, colour) in series.iter().zip(COLOURS.into_iter().cycle()) {
        let line = series.points.iter().map(|point| (point.x, point.y));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
            .label(&series.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        let spread = |point: &Point| PathElement::new([(point.x, point.least), (point.x, point.greatest)], colour);
        chart.draw_series(series.points.iter().map(spread))?;
        chart.draw_series(series.points.iter().map(|point| Circle::new((point.x, point.y), 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()
}

/// All points, with room above; never empty.
fn ranges(series: &[Series]) -> (Range<f64>, Range<f64>) {
    let points = || series.iter().flat_map(|series| &series.points);
    let least_x = points().map(|point| point.x).reduce(f64::min).unwrap_or(0.0);
    let greatest_x = points().map(|point| point.x).reduce(f64::max).unwrap_or(1.0);
    let greatest_y = points().map(|point| point.greatest).fold(1.0, f64::max);
    (least_x - 0.5..greatest_x + 0.5, 0.0..greatest_y * 1.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_and_named() {
        let point = |x: f64| Point { x, y: 10.0 * x, least: 9.0 * x, greatest: 11.0 * x };
        let series =
            ["proved", "etcd"].map(|name| Series { name: name.to_owned(), points: vec![point(3.0), point(5.0)] });
        let svg = lines(Labels { title: "Figure 7.2", x: "replicas", y: "requests/s" }, &series).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(
            ["Figure 7.2", "replicas", "requests/s", "proved", "etcd"].iter().all(|text| svg.contains(text)),
            "{svg}"
        );
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(lines(Labels { title: "", x: "", y: "" }, &[]).is_ok());
    }
}
