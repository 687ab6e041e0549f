//! The plot of warm invokes: the shortest, the middle and the longest of a hundred, one row for each endpoint.

use super::plot::{BAND, BLUE, Drawn, GRAY, LABEL, Log, NOTE, Paper, PlotError, RGBColor, WIDTH, sheet, width_of};
use crate::figures::{Figures, Spread};
use crate::lookup::FUNCTIONS;
use crate::text::{real, time};

const NAMES: i32 = 116;
const RIGHT: i32 = WIDTH - 96;
const TOP: i32 = 96;
const ROW: i32 = 22;
/// The same as a step.
const STRIDE: usize = 22;

struct Row<'a> {
    group: &'a str,
    name: &'a str,
    wall: Spread,
}

/// An invoke by the clock, one row for each endpoint, then the peers and the floor.
pub fn draw(figures: &Figures) -> Result<String, PlotError> {
    let rows = rows(figures);
    let bottom = TOP + ROW * i32::try_from(rows.len()).unwrap_or_default();
    let note = "An invoke by the clock without a network, logarithmic. Further left is better.";
    sheet(bottom + 58, "Warm invoke", note, |paper| {
        let left = NAMES + 24 + rows.iter().map(|row| width_of(row.name)).max().unwrap_or_default();
        let axis = Log::around(rows.iter().flat_map(|row| [row.wall.min, row.wall.p99]), left, RIGHT);
        bands(paper, &rows)?;
        axis.draw_times(paper, TOP, bottom, "time of an invoke")?;
        legend(paper, left)?;
        paper.text(WIDTH - 24, TOP - 18, "median", NOTE.ending())?;
        let mut group = "";
        for (row, top) in rows.iter().zip((TOP..).step_by(STRIDE)) {
            let y = top + ROW / 2;
            if row.group != group {
                group = row.group;
                paper.text(24, y, group, LABEL.bold())?;
            }
            paper.text(NAMES, y, row.name, LABEL)?;
            mark(paper, axis, row, y)?;
        }
        Ok(())
    })
}

fn rows(figures: &Figures) -> Vec<Row<'_>> {
    let endpoints = figures.endpoints.iter().filter(|row| row.is_timed());
    let endpoints = endpoints.map(|row| Row { group: &row.program, name: &row.name, wall: row.wall });
    let floor = figures.raw.iter().map(|row| Row { group: "bare socket", name: &row.name, wall: row.wall });
    endpoints.chain(floor).collect()
}

/// Every other group lies on a band.
fn bands(paper: &Paper<'_>, rows: &[Row<'_>]) -> Drawn {
    let mut shaded = false;
    let mut group = "";
    for (row, top) in rows.iter().zip((TOP..).step_by(STRIDE)) {
        if row.group != group {
            group = row.group;
            shaded = !shaded;
        }
        if shaded {
            paper.filled(16, top, WIDTH - 16, top + ROW, BAND)?;
        }
    }
    Ok(())
}

fn legend(paper: &Paper<'_>, left: i32) -> Drawn {
    let y = TOP - 18;
    range(paper, [left, left + 24, left + 56], y, BLUE)?;
    paper.text(left + 68, y, "shortest, median, 99 of 100 not longer", LABEL)
}

fn mark(paper: &Paper<'_>, axis: Log, row: &Row<'_>, y: i32) -> Drawn {
    let color = if FUNCTIONS.contains(&row.group) { BLUE } else { GRAY };
    range(paper, [row.wall.min, row.wall.median, row.wall.p99].map(|time| axis.at(time)), y, color)?;
    paper.text(WIDTH - 24, y, &time(real(row.wall.median)), LABEL.ending())
}

fn range(paper: &Paper<'_>, [min, median, p99]: [i32; 3], y: i32, color: RGBColor) -> Drawn {
    paper.line((min, y), (p99, y), color, 2)?;
    paper.line((min, y - 5), (min, y + 5), color, 2)?;
    paper.line((p99, y - 5), (p99, y + 5), color, 2)?;
    paper.dot(median, y, color)
}
