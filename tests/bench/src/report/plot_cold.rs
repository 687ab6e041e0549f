//! The plot of cold starts: every program's init and first invoke, against the peers.

use super::plot::{BAND, BLUE, Drawn, GRAY, LABEL, Log, NOTE, ORANGE, Paper, PlotError, RGBColor, WHITE, WIDTH, sheet};
use crate::figures::{Cold, Figures, Kind, Program};
use crate::text::{real, time};

const LEFT: i32 = 150;
const RIGHT: i32 = WIDTH - 40;
const TOP: i32 = 96;
const ROW: i32 = 30;

/// Processor time of init and of the first invoke, one row for each program.
pub fn draw(figures: &Figures) -> Result<String, PlotError> {
    let rows = i32::try_from(figures.programs.len()).unwrap_or_default();
    let bottom = TOP + rows * ROW;
    let note = "Median processor time of a fresh process, logarithmic. Further left is better.";
    sheet(bottom + 58, "Cold start", note, |paper| {
        let values = figures.programs.iter().filter_map(|program| program.cold).flat_map(both);
        let axis = Log::around(values, LEFT, RIGHT);
        for index in (0..rows).step_by(2) {
            paper.filled(16, TOP + index * ROW, WIDTH - 16, TOP + index * ROW + ROW, BAND)?;
        }
        axis.draw_times(paper, TOP, bottom, "processor time")?;
        legend(paper)?;
        for (index, program) in (0..rows).zip(&figures.programs) {
            let under = if index % 2 == 0 { BAND } else { WHITE };
            row(paper, axis, program, TOP + index * ROW + ROW / 2, under)?;
        }
        // The functions stand first; under them the peers.
        let ours = figures.programs.iter().take_while(|program| program.kind == Kind::Function).count();
        let y = TOP + i32::try_from(ours).unwrap_or_default() * ROW;
        paper.line((16, y), (WIDTH - 16, y), GRAY, 1)
    })
}

fn both(cold: Cold) -> [u64; 2] {
    [cold.init_cpu.median, cold.first_cpu.median]
}

fn legend(paper: &Paper<'_>) -> Drawn {
    paper.dot(LEFT + 5, TOP - 18, BLUE)?;
    paper.text(LEFT + 18, TOP - 18, "init: from exec to the first request for work", LABEL)?;
    paper.square(LEFT + 335, TOP - 18, ORANGE)?;
    paper.text(LEFT + 348, TOP - 18, "first invoke", LABEL)
}

/// Both marks on one line, each with its figure on the side away from the other.
fn row(paper: &Paper<'_>, axis: Log, program: &Program, y: i32, under: RGBColor) -> Drawn {
    let ours = program.kind == Kind::Function;
    paper.text(24, y, &program.name, if ours { LABEL.bold() } else { LABEL })?;
    let Some([init, first]) = program.cold.map(both) else {
        return paper.figure(LEFT + 12, y, "not measured", NOTE, under);
    };
    let (init_x, first_x) = (axis.at(init), axis.at(first));
    paper.line((init_x, y), (first_x, y), GRAY, 1)?;
    paper.square(first_x, y, ORANGE)?;
    paper.dot(init_x, y, BLUE)?;
    let (left, right) = if init_x < first_x { (init, first) } else { (first, init) };
    paper.figure(init_x.min(first_x) - 10, y, &time(real(left)), NOTE.ending(), under)?;
    paper.figure(init_x.max(first_x) + 10, y, &time(real(right)), NOTE, under)
}
