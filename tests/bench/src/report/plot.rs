//! What the three plots share: paper, colours, text, and an axis from values to pixels.

use crate::text::{real, short, time};
use plotters::coord::Shift;
use plotters::prelude::{
    Circle, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, PathElement, Rectangle, SVGBackend, Text,
};
pub use plotters::prelude::{RGBColor, WHITE};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, IntoTextStyle};

/// Why a plot could not be drawn.
pub type PlotError = DrawingAreaErrorKind<std::io::Error>;
/// What every drawing function returns.
pub type Drawn = Result<(), PlotError>;

/// Width of every plot in pixels: GitHub shows a page about as wide.
pub const WIDTH: i32 = 960;

/// For the functions, and for what is measured first.
pub const BLUE: RGBColor = RGBColor(0, 92, 175);
/// For what is measured second.
pub const ORANGE: RGBColor = RGBColor(200, 80, 0);
/// For text that explains.
pub const GRAY: RGBColor = RGBColor(87, 96, 106);
/// For lines that guide the eye.
pub const GRID: RGBColor = RGBColor(225, 228, 232);
/// For what lies under every other row.
pub const BAND: RGBColor = RGBColor(246, 248, 250);
/// For text.
pub const INK: RGBColor = RGBColor(31, 35, 40);

/// A family that every browser has something for.
const FAMILY: FontFamily<'_> = FontFamily::Name("Helvetica, Arial, sans-serif");
/// The crate writes its sizes divided by this.
const SIZE: f64 = 1.24;

/// A sheet that is drawn on.
pub struct Paper<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// How a text is set.
#[derive(Clone, Copy)]
pub struct Font {
    /// In pixels.
    pub size: i32,
    /// Its colour.
    pub color: RGBColor,
    /// Whether it is bold.
    pub bold: bool,
    /// Which of its ends lies at its point.
    pub at: HPos,
}

/// Text that names a row or a figure.
pub const LABEL: Font = Font { size: 12, color: INK, bold: false, at: HPos::Left };
/// Text that explains.
pub const NOTE: Font = Font { size: 12, color: GRAY, bold: false, at: HPos::Left };

impl Font {
    /// The same with its middle at its point.
    pub const fn centered(self) -> Self {
        Self { at: HPos::Center, ..self }
    }

    /// The same with its end at its point.
    pub const fn ending(self) -> Self {
        Self { at: HPos::Right, ..self }
    }

    /// The same in bold.
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

/// Draws on a white sheet of that height, under a title and what explains it, and returns the SVG.
pub fn sheet(
    height: i32,
    title: &str,
    note: &str,
    draw: impl FnOnce(&Paper<'_>) -> Drawn,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
        let paper = Paper { area: SVGBackend::with_string(&mut svg, size).into_drawing_area() };
        paper.area.fill(&WHITE)?;
        paper.frame(0, 0, WIDTH - 1, height - 1)?;
        paper.text(24, 28, title, Font { size: 17, ..LABEL.bold() })?;
        paper.text(24, 50, note, NOTE)?;
        draw(&paper)?;
        paper.area.present()?;
    }
    Ok(svg)
}

impl Paper<'_> {
    /// A text with its middle line at `y`.
    pub fn text(&self, x: i32, y: i32, text: &str, font: Font) -> Drawn {
        self.set(x, y, text, font, FontTransform::None)
    }

    /// A text that hides what is under it, which has the given colour.
    pub fn figure(&self, x: i32, y: i32, text: &str, font: Font, under: RGBColor) -> Drawn {
        let width = width_of(text);
        let left = match font.at {
            HPos::Left => x,
            HPos::Center => x - width / 2,
            HPos::Right => x - width,
        };
        self.filled(left - 1, y - 8, left + width + 1, y + 8, under)?;
        self.text(x, y, text, font)
    }

    /// A text from below to above, its middle at `y`.
    pub fn upward(&self, x: i32, y: i32, text: &str) -> Drawn {
        self.set(x, y, text, NOTE.centered(), FontTransform::Rotate270)
    }

    /// A line.
    pub fn line(&self, from: (i32, i32), to: (i32, i32), color: RGBColor, width: u32) -> Drawn {
        self.path(&[from, to], color, width)
    }

    /// A line through points.
    pub fn path(&self, points: &[(i32, i32)], color: RGBColor, width: u32) -> Drawn {
        self.area.draw(&PathElement::new(points.to_vec(), color.stroke_width(width)))
    }

    /// A dot.
    pub fn dot(&self, x: i32, y: i32, color: RGBColor) -> Drawn {
        self.area.draw(&Circle::new((x, y), 5, color.filled()))
    }

    /// What makes a dot a ring.
    pub fn hole(&self, x: i32, y: i32) -> Drawn {
        self.area.draw(&Circle::new((x, y), 3, WHITE.filled()))
    }

    /// A square of the dot's size, for those who do not tell colours apart.
    pub fn square(&self, x: i32, y: i32, color: RGBColor) -> Drawn {
        self.filled(x - 4, y - 4, x + 4, y + 4, color)
    }

    /// A filled rectangle.
    pub fn filled(&self, left: i32, top: i32, right: i32, bottom: i32, color: RGBColor) -> Drawn {
        self.area.draw(&Rectangle::new([(left, top), (right, bottom)], color.filled()))
    }

    /// A rectangle's outline.
    pub fn frame(&self, left: i32, top: i32, right: i32, bottom: i32) -> Drawn {
        self.area.draw(&Rectangle::new([(left, top), (right, bottom)], GRID.stroke_width(1)))
    }

    fn set(&self, x: i32, y: i32, text: &str, font: Font, turned: FontTransform) -> Drawn {
        let weight = if font.bold { FontStyle::Bold } else { FontStyle::Normal };
        let style = FontDesc::new(FAMILY, f64::from(font.size) * SIZE, weight)
            .transform(turned)
            .into_text_style(&(0, 0))
            .color(&font.color)
            .pos(Pos::new(font.at, VPos::Center));
        self.area.draw(&Text::new(text.to_owned(), (x, y), style))
    }
}

/// A logarithmic axis from values to pixels.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    low: f64,
    high: f64,
    from: i32,
    to: i32,
}

impl Log {
    /// An axis on which the values have some room at both ends.
    pub fn around(values: impl Iterator<Item = u64> + Clone, from: i32, to: i32) -> Self {
        let least = real(values.clone().min().unwrap_or(1).max(1));
        let most = real(values.max().unwrap_or(1).max(1));
        Self { low: step_below(least / 1.5), high: step_above(most * 1.5), from, to }
    }

    /// The pixel of a value.
    pub fn at(&self, value: u64) -> i32 {
        self.of(real(value.max(1)))
    }

    /// Values at which the axis has a line and a name: 1, 2 and 5 of every decade where there is room, else 1.
    pub fn ticks(&self) -> Vec<f64> {
        let decade = f64::from(self.to - self.from) / (self.high / self.low).log10();
        let steps: &[f64] = if decade >= 170.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let first = self.low.log10().floor();
        let decades = std::iter::successors(Some(10_f64.powf(first)), |decade| Some(decade * 10.0));
        let ticks = decades.take_while(|decade| *decade <= self.high * 1.001);
        let inside = |tick: &f64| *tick >= self.low * 0.999 && *tick <= self.high * 1.001;
        ticks.flat_map(|decade| steps.iter().map(move |step| decade * step)).filter(inside).collect()
    }

    /// Draws lines and names of times between two heights, and what the axis shows.
    pub fn draw_times(&self, paper: &Paper<'_>, top: i32, bottom: i32, name: &str) -> Drawn {
        for tick in self.ticks() {
            let x = self.of(tick);
            paper.line((x, top), (x, bottom), GRID, 1)?;
            paper.text(x, bottom + 14, &short(&time(tick)), NOTE.centered())?;
        }
        paper.line((self.from, bottom), (self.to, bottom), GRAY, 1)?;
        paper.text(i32::midpoint(self.from, self.to), bottom + 36, name, NOTE.centered())
    }

    fn of(&self, value: f64) -> i32 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + pixels(part * f64::from(self.to - self.from))
    }
}

/// A length in whole pixels.
#[expect(clippy::cast_possible_truncation, reason = "no plot is wider than a few thousand pixels")]
pub fn pixels(length: f64) -> i32 {
    length.round() as i32
}

/// About how wide a label is in pixels.
pub fn width_of(label: &str) -> i32 {
    i32::try_from(label.chars().count()).map_or(0, |letters| letters * 13 / 2)
}

/// The next of 1, 2 and 5 times a power of ten at a value or below.
fn step_below(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    [5.0, 2.0].into_iter().map(|step| step * decade).find(|step| *step <= value).unwrap_or(decade)
}

/// The next of 1, 2 and 5 times a power of ten at a value or above.
pub fn step_above(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|step| step * decade).find(|step| *step >= value).unwrap_or(decade * 10.0)
}
