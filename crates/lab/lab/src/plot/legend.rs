//! Title and legend, above the axes, where no point can be.

use super::canvas::{Anchor, Canvas, LABEL, TITLE, width_of};
use super::{FOREIGN, Plot, Style};
use plotters::style::{Color, RGBAColor};

const ROW: i32 = 18;
const MARK: i32 = 18;
const GAP: i32 = 16;

/// An entry: how it is marked, and its name.
struct Entry {
    name: String,
    colour: RGBAColor,
    is_dashed: bool,
}

/// Draws both. Returns the first free line below.
pub(super) fn draw(plot: &Plot<'_>, canvas: &Canvas<'_>) -> Result<i32, String> {
    canvas.text(plot.labels.title, (canvas.width / 2, 8), TITLE, Anchor::Below)?;
    let (left, mut x, mut y) = (16, 16, 44);
    for entry in entries(plot) {
        let width = MARK + 6 + width_of(&entry.name, LABEL) + GAP;
        if x > left && x + width > canvas.width {
            (x, y) = (left, y + ROW);
        }
        match (entry.is_dashed, plot.style) {
            (true, _) => canvas.dashes(vec![(x, y), (x + MARK, y)], entry.colour)?,
            (false, Style::Bars | Style::Multiples) => {
                canvas.rectangle((x + 2, y - 5), (x + MARK - 4, y + 5), entry.colour)?;
            }
            (false, Style::Lines | Style::Doublings) => canvas.line(vec![(x, y), (x + MARK, y)], entry.colour, 3)?,
        }
        canvas.text(&entry.name, (x + MARK + 6, y), LABEL, Anchor::Left)?;
        x += width;
    }
    Ok(y + ROW)
}

/// The measured series; then the paper: once for lines that have the colour of ours, and by name for others.
fn entries(plot: &Plot<'_>) -> Vec<Entry> {
    let ours = plot.series.iter().enumerate().map(|(number, series)| Entry {
        name: series.name.clone(),
        colour: plot.colour(number).mix(0.9),
        is_dashed: false,
    });
    let mut entries: Vec<Entry> = ours.collect();
    let paper = |name: String| Entry { name, colour: FOREIGN.mix(1.0), is_dashed: true };
    if plot.paper.iter().any(|series| plot.ours(series).is_some()) {
        entries.push(paper("the paper".to_owned()));
    }
    let foreign = plot.paper.iter().filter(|series| plot.ours(series).is_none());
    entries.extend(foreign.map(|series| paper(format!("{}, the paper", series.name))));
    entries
}
