//! The rectangle in which points are, with its axes.

use super::canvas::{Anchor, Canvas, LABEL, TICK};
use super::scale::{Scale, tick};
use super::{Plot, Point};
use plotters::style::{BLACK, Color};

/// Space on a logarithmic axis below what hangs from a baseline, for its value.
const BELOW: f64 = 1.6;

/// Its sides, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub left: i32,
    pub right: i32,
    pub top: i32,
    pub bottom: i32,
}

impl Frame {
    /// Below the legend, with room for ticks and labels.
    pub fn new(canvas: &Canvas<'_>, top: i32) -> Frame {
        Frame { left: 66, right: canvas.width - 16, top: top + 4, bottom: canvas.height - 50 }
    }

    /// The vertical axis of the plot.
    pub fn vertical(self, plot: &Plot<'_>) -> Scale {
        let pixels = (self.bottom, self.top);
        let hangs = |point: &Point| plot.baseline.is_some_and(|baseline| point.y < baseline);
        let least = |point: &Point| if hangs(point) { point.least / BELOW } else { point.least };
        let ends = |point: &Point| [least(point), point.y, point.greatest];
        let values = plot.points().flat_map(ends).chain(plot.baseline);
        if plot.is_logarithmic {
            let values: Vec<f64> = values.collect();
            return Scale::logarithmic(values.into_iter(), pixels);
        }
        Scale::from_zero(values.fold(0.0, f64::max), pixels)
    }

    /// Draws the vertical axis with lines across, and both labels.
    pub fn draw(self, plot: &Plot<'_>, vertical: &Scale, canvas: &Canvas<'_>) -> Result<(), String> {
        for &value in &vertical.ticks {
            let y = vertical.pixel(value);
            canvas.line(vec![(self.left, y), (self.right, y)], BLACK.mix(0.1), 1)?;
            canvas.text(&tick(value), (self.left - 6, y), TICK, Anchor::Right)?;
        }
        if let Some(baseline) = plot.baseline {
            let y = vertical.pixel(baseline);
            canvas.line(vec![(self.left, y), (self.right, y)], BLACK.mix(0.5), 1)?;
        }
        canvas.line(vec![(self.left, self.top), (self.left, self.bottom)], BLACK.mix(0.5), 1)?;
        canvas.line(vec![(self.left, self.bottom), (self.right, self.bottom)], BLACK.mix(0.5), 1)?;
        canvas.text(plot.labels.y, (14, (self.top + self.bottom) / 2), LABEL, Anchor::Upright)?;
        self.label(plot, canvas)
    }

    /// Draws the label of the horizontal axis.
    pub fn label(self, plot: &Plot<'_>, canvas: &Canvas<'_>) -> Result<(), String> {
        canvas.text(plot.labels.x, ((self.left + self.right) / 2, self.bottom + 28), LABEL, Anchor::Below)
    }
}
