//! Bars side by side, on one axis or each place on its own.

use super::canvas::{Anchor, Canvas, TICK};
use super::frame::Frame;
use super::scale::{Scale, shown};
use super::{FOREIGN, Plot};
use plotters::style::{BLACK, Color};

/// Share of a place that its bars take.
const BARS: f64 = 0.78;
/// Space above the highest bar for its value.
const ABOVE: f64 = 1.15;

/// Draws all places on one axis.
pub(super) fn draw(plot: &Plot<'_>, canvas: &Canvas<'_>, top: i32) -> Result<(), String> {
    let plot = &known_places(plot);
    let frame = Frame::new(canvas, top + 10);
    let scale = frame.vertical(plot);
    frame.draw(plot, &scale, canvas)?;
    for (number, (x, name)) in plot.places.iter().enumerate() {
        Place::new(plot, frame, number, *x).draw(plot, &scale, name, canvas)?;
    }
    Ok(())
}

/// Draws each place on an axis of its own, from zero: what is compared are the bars of a place, whose values stand above them.
pub(super) fn draw_multiples(plot: &Plot<'_>, canvas: &Canvas<'_>, top: i32) -> Result<(), String> {
    let plot = &known_places(plot);
    let frame = Frame { left: 16, ..Frame::new(canvas, top + 10) };
    for (number, (x, name)) in plot.places.iter().enumerate() {
        let all = plot.series.iter().chain(&plot.paper);
        let greatest = all.filter_map(|series| series.at(*x)).map(|point| point.greatest).fold(0.0, f64::max);
        let scale = Scale::from_zero(greatest * ABOVE, (frame.bottom, frame.top));
        let place = Place::new(plot, frame, number, *x);
        let (left, right) = (place.left + 4, place.left + place.width - 4);
        canvas.line(vec![(left, frame.bottom), (right, frame.bottom)], BLACK.mix(0.5), 1)?;
        place.draw(plot, &scale, name, canvas)?;
    }
    frame.label(plot, canvas)
}

/// The plot without what the paper has of other places.
fn known_places<'a>(plot: &Plot<'a>) -> Plot<'a> {
    let mut plot = plot.clone();
    let places = &plot.places;
    let is_known = |x: f64| places.iter().any(|(place, _)| *place == x);
    plot.paper.iter_mut().for_each(|series| series.points.retain(|point| is_known(point.x)));
    plot
}

/// A place of the horizontal axis.
struct Place {
    x: f64,
    left: i32,
    width: i32,
    bottom: i32,
}

impl Place {
    fn new(plot: &Plot<'_>, frame: Frame, number: usize, x: f64) -> Place {
        let width = (frame.right - frame.left) / plot.places.len().max(1) as i32;
        Place { x, left: frame.left + number as i32 * width, width, bottom: frame.bottom }
    }

    /// Left and right side of a bar.
    fn bar(&self, plot: &Plot<'_>, series: usize) -> (i32, i32) {
        let width = f64::from(self.width) * BARS / plot.series.len().max(1) as f64;
        let left = f64::from(self.left) + f64::from(self.width) * (1.0 - BARS) / 2.0 + width * series as f64;
        ((left + width * 0.05) as i32, (left + width * 0.95) as i32)
    }

    fn draw(&self, plot: &Plot<'_>, scale: &Scale, name: &str, canvas: &Canvas<'_>) -> Result<(), String> {
        let base = plot.baseline.map_or(self.bottom, |baseline| scale.pixel(baseline));
        for (number, series) in plot.series.iter().enumerate() {
            let Some(point) = series.at(self.x) else { continue };
            let ((left, right), y) = (self.bar(plot, number), scale.pixel(point.y));
            canvas.rectangle((left, y.min(base)), (right, y.max(base)), plot.colour(number).mix(0.85))?;
            let middle = (left + right) / 2;
            if point.least < point.greatest {
                let ends = [point.least, point.greatest].map(|value| (middle, scale.pixel(value)));
                canvas.line(ends.to_vec(), BLACK.mix(0.6), 1)?;
            }
            let (at, anchor) = if y > base {
                (scale.pixel(point.least).max(y) + 3, Anchor::Below)
            } else {
                (scale.pixel(point.greatest).min(y) - 3, Anchor::Above)
            };
            canvas.text(&shown(point.y), (middle, at), TICK - 1, anchor)?;
        }
        for paper in &plot.paper {
            let Some(point) = paper.at(self.x) else { continue };
            let whole = (self.left + self.width / 10, self.left + self.width * 9 / 10);
            let (left, right) = plot.ours(paper).map_or(whole, |number| self.bar(plot, number));
            let (y, colour) = (scale.pixel(point.y), if plot.ours(paper).is_some() { BLACK } else { FOREIGN });
            canvas.dashes(vec![(left - 3, y), (right + 3, y)], colour.mix(0.9))?;
        }
        canvas.text(name, (self.left + self.width / 2, self.bottom + 6), TICK, Anchor::Below)
    }
}
