//! What is drawn on: the library's shapes, in pixels.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, DashedPathElement, Drawable, PathElement, PointCollection, Rectangle, Text};
use plotters::prelude::{IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, FontTransform, IntoFont, RGBAColor, TextStyle, WHITE};

/// A place, in pixels from the left and from the top.
pub(super) type Pixel = (i32, i32);

/// Height of letters. The library makes them a fifth smaller.
pub(super) const TITLE: i32 = 19;
pub(super) const LABEL: i32 = 15;
pub(super) const TICK: i32 = 14;

/// Where a text stands beside its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Left,
    Right,
    Above,
    Below,
    /// In the middle, read from below.
    Upright,
}

pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    pub width: i32,
    pub height: i32,
}

fn cannot(error: impl std::fmt::Display) -> String {
    format!("cannot draw: {error}")
}

impl<'a> Canvas<'a> {
    pub fn new(svg: &'a mut String, size: (u32, u32)) -> Result<Canvas<'a>, String> {
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(cannot)?;
        Ok(Canvas { area, width: size.0 as i32, height: size.1 as i32 })
    }

    pub fn finish(self) -> Result<(), String> {
        self.area.present().map_err(cannot)
    }

    fn draw<E>(&self, element: &E) -> Result<(), String>
    where
        for<'b> &'b E: PointCollection<'b, Pixel>,
        E: Drawable<SVGBackend<'a>>,
    {
        self.area.draw(element).map_err(cannot)
    }

    pub fn line(&self, points: Vec<Pixel>, colour: RGBAColor, width: u32) -> Result<(), String> {
        self.draw(&PathElement::new(points, colour.stroke_width(width)))
    }

    pub fn dashes(&self, points: Vec<Pixel>, colour: RGBAColor) -> Result<(), String> {
        self.draw(&DashedPathElement::new(points, 5, 4, colour.stroke_width(2)))
    }

    pub fn rectangle(&self, from: Pixel, to: Pixel, colour: RGBAColor) -> Result<(), String> {
        self.draw(&Rectangle::new([from, to], colour.filled()))
    }

    pub fn dot(&self, at: Pixel, colour: RGBAColor, is_filled: bool) -> Result<(), String> {
        let style = if is_filled { colour.filled() } else { colour.stroke_width(1) };
        self.draw(&Circle::new(at, 3, style))
    }

    pub fn text(&self, text: &str, at: Pixel, size: i32, anchor: Anchor) -> Result<(), String> {
        let (horizontal, vertical) = match anchor {
            Anchor::Left => (HPos::Left, VPos::Center),
            Anchor::Right => (HPos::Right, VPos::Center),
            Anchor::Above => (HPos::Center, VPos::Bottom),
            Anchor::Below => (HPos::Center, VPos::Top),
            Anchor::Upright => (HPos::Center, VPos::Center),
        };
        let font = ("sans-serif", size).into_font();
        let font = if anchor == Anchor::Upright { font.transform(FontTransform::Rotate270) } else { font };
        let colour = BLACK.mix(0.85);
        let style = TextStyle::from(font).pos(Pos::new(horizontal, vertical)).color(&colour);
        self.draw(&Text::new(text.to_owned(), at, style))
    }
}

/// About how wide a text of this size is.
pub(super) fn width_of(text: &str, size: i32) -> i32 {
    text.chars().count() as i32 * size * 46 / 100
}
