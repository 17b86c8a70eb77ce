//! Lines.

use super::canvas::{Anchor, Canvas, Pixel, TICK};
use super::frame::Frame;
use super::scale::{Scale, tick};
use super::{FOREIGN, Plot, Style};
use plotters::style::{BLACK, Color};

/// Draws the lines, and the paper's.
pub(super) fn draw(plot: &Plot<'_>, canvas: &Canvas<'_>, top: i32) -> Result<(), String> {
    let frame = Frame::new(canvas, top);
    let (x, y) = (horizontal(plot, frame), frame.vertical(plot));
    frame.draw(plot, &y, canvas)?;
    for &value in &x.ticks {
        let named = plot.places.iter().find(|(place, _)| *place == value);
        let name = named.map_or_else(|| tick(value), |(_, name)| name.clone());
        canvas.text(&name, (x.pixel(value), frame.bottom + 6), TICK, Anchor::Below)?;
    }
    for paper in &plot.paper {
        let colour = plot.ours(paper).map_or(FOREIGN, |number| plot.colour(number)).mix(0.9);
        let points: Vec<Pixel> = paper.points.iter().map(|point| (x.pixel(point.x), y.pixel(point.y))).collect();
        points.iter().try_for_each(|&at| canvas.dot(at, colour, false))?;
        canvas.dashes(points, colour)?;
    }
    for (number, series) in plot.series.iter().enumerate() {
        let colour = plot.colour(number).mix(0.9);
        for point in series.points.iter().filter(|point| point.least < point.greatest) {
            let ends = [point.least, point.greatest].map(|value| (x.pixel(point.x), y.pixel(value)));
            canvas.line(ends.to_vec(), BLACK.mix(0.5), 1)?;
        }
        let points: Vec<Pixel> = series.points.iter().map(|point| (x.pixel(point.x), y.pixel(point.y))).collect();
        canvas.line(points.clone(), colour, 2)?;
        points.into_iter().try_for_each(|at| canvas.dot(at, colour, true))?;
    }
    Ok(())
}

/// All places, ours and the paper's.
fn horizontal(plot: &Plot<'_>, frame: Frame) -> Scale {
    let mut places: Vec<f64> = plot.points().map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    Scale::places(&places, plot.style == Style::Doublings, (frame.left, frame.right))
}
