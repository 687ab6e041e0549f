//! The plot of cost against size: what an invoke costs in a store of few and of many items.

use super::plot::{
    BLUE, Drawn, GRAY, GRID, LABEL, NOTE, ORANGE, Paper, PlotError, RGBColor, WHITE, WIDTH, pixels, sheet, step_above,
};
use crate::figures::{Figures, ScalePoint};
use crate::lookup::SCALED;
use crate::text::{amount, count, real, short, time};

const LEFT: i32 = 96;
const PANEL: (i32, i32) = (198, 170);
/// From the left end of a panel to that of the next.
const STRIDE: usize = 216;
const TOP: i32 = 104;
const BETWEEN: i32 = 34;

/// One row of panels: a figure of a point, how it is shown, and how it is drawn.
struct Figure {
    name: &'static str,
    of: fn(&ScalePoint) -> f64,
    show: fn(f64) -> String,
    color: RGBColor,
    top: i32,
}

/// Processor time and request units of an invoke against the number of items, a panel for each endpoint.
pub fn draw(figures: &Figures) -> Result<String, PlotError> {
    let below = TOP + PANEL.1 + BETWEEN;
    let rows = [
        Figure { name: "CPU per invoke", of: |point| real(point.cpu), show: time, color: BLUE, top: TOP },
        Figure {
            name: "request units per invoke",
            of: |point| point.cost.read_units + point.cost.write_units,
            show: amount,
            color: ORANGE,
            top: below,
        },
    ];
    let series: Vec<Vec<&ScalePoint>> = SCALED.iter().map(|endpoint| over_items(figures, endpoint)).collect();
    let mut note =
        "One invoke in a store of few and of many items: a flat line means that the store's size costs nothing."
            .to_owned();
    if series.iter().any(|points| points.iter().any(|point| is_smaller(point, points))) {
        note += " Hollow: the answer has less in it.";
    }
    sheet(below + PANEL.1 + 58, "Cost against the size of the store", &note, |paper| {
        for row in &rows {
            let most = series.iter().flatten().map(|point| (row.of)(point)).fold(0.0, f64::max);
            let high = step_above(most.max(1.0) * 1.2);
            scale(paper, row, high)?;
            for (points, left) in series.iter().zip((LEFT..).step_by(STRIDE)) {
                panel(paper, row, high, points, left)?;
            }
        }
        for (endpoint, left) in SCALED.iter().zip((LEFT..).step_by(STRIDE)) {
            paper.text(left + PANEL.0 / 2, TOP - 16, endpoint, LABEL.bold().centered())?;
        }
        let middle = i32::midpoint(LEFT, WIDTH - 16);
        paper.text(middle, below + PANEL.1 + 38, "items in the store, logarithmic", NOTE.centered())
    })
}

/// The points of an endpoint that differ in items alone: the longest such row, of ten lines where there is one.
fn over_items<'a>(figures: &'a Figures, endpoint: &str) -> Vec<&'a ScalePoint> {
    let of: Vec<&ScalePoint> = figures.scale.iter().filter(|point| point.endpoint == endpoint).collect();
    let alike = |one: &ScalePoint| {
        let mut row: Vec<_> = of.iter().copied().filter(|p| (p.lines, p.orders) == (one.lines, one.orders)).collect();
        row.sort_by_key(|point| point.items);
        row.dedup_by_key(|point| point.items);
        row
    };
    let rank =
        |row: &Vec<&ScalePoint>| (row.len(), row.iter().all(|p| p.lines == 10), row.iter().all(|p| p.orders == 0));
    of.iter().map(|point| alike(point)).max_by_key(rank).unwrap_or_default()
}

fn scale(paper: &Paper<'_>, row: &Figure, high: f64) -> Drawn {
    paper.upward(28, row.top + PANEL.1 / 2, row.name)?;
    for quarter in [0.0, 0.5, 1.0] {
        let value = high * quarter;
        let shown = if quarter > 0.0 { short(&(row.show)(value)) } else { "0".to_owned() };
        paper.text(LEFT - 8, height(row, high, value), &shown, NOTE.ending())?;
    }
    Ok(())
}

fn panel(paper: &Paper<'_>, row: &Figure, high: f64, points: &[&ScalePoint], left: i32) -> Drawn {
    let right = left + PANEL.0;
    for quarter in [0.25, 0.5, 0.75, 1.0] {
        let y = height(row, high, high * quarter);
        paper.line((left, y), (right, y), GRID, 1)?;
    }
    let bottom = row.top + PANEL.1;
    paper.line((left, bottom), (right, bottom), GRAY, 1)?;
    let places = places(points, left, right);
    for (point, x) in points.iter().zip(&places) {
        paper.line((*x, bottom), (*x, bottom + 4), GRAY, 1)?;
        if row.color == ORANGE {
            paper.text(*x, bottom + 16, &count(point.items), NOTE.centered())?;
        }
    }
    let line: Vec<(i32, i32)> =
        points.iter().zip(&places).map(|(point, x)| (*x, height(row, high, (row.of)(point)))).collect();
    if line.is_empty() {
        return paper.text(left + PANEL.0 / 2, row.top + PANEL.1 / 2, "not measured", NOTE.centered());
    }
    paper.path(&line, row.color, 2)?;
    for (point, (x, y)) in points.iter().zip(&line) {
        paper.figure(*x, y - 16, &(row.show)((row.of)(point)), LABEL.centered(), WHITE)?;
    }
    for (point, (x, y)) in points.iter().zip(&line) {
        paper.dot(*x, *y, row.color)?;
        if is_smaller(point, points) {
            paper.hole(*x, *y)?;
        }
    }
    Ok(())
}

/// Whether the answer of a point has less in it than that of the largest store.
fn is_smaller(point: &ScalePoint, points: &[&ScalePoint]) -> bool {
    points.last().is_some_and(|last| !point.is_alike(last))
}

/// Where the points of a panel stand, by the logarithm of their items.
fn places(points: &[&ScalePoint], left: i32, right: i32) -> Vec<i32> {
    let log = |point: &&ScalePoint| real(point.items.max(1)).ln();
    let (Some(first), Some(last)) = (points.first().map(log), points.last().map(log)) else { return Vec::new() };
    let room = f64::from(right - left - 64);
    let part = |point| if last > first { (log(point) - first) / (last - first) } else { 0.5 };
    points.iter().map(|point| left + 32 + pixels(part(point) * room)).collect()
}

fn height(row: &Figure, high: f64, value: f64) -> i32 {
    row.top + PANEL.1 - pixels(value / high * f64::from(PANEL.1))
}
