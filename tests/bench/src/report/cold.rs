//! Cold starts, sizes and memory.

use super::page::Page;
use crate::figures::{Cold, Figures, Program};
use crate::text::{self, MISSING, real};

/// Plot and tables of cold starts, then sizes and memory.
pub fn write(page: &mut Page, figures: &Figures) {
    page.heading("Cold start");
    page.picture(
        "performance/cold-start.svg",
        "Processor time of init and of the first invoke, functions against peers",
    );
    page.say(
        "Init lasts from exec to the first request for work. The functions open their connection to the database in \
         it, the peers in their first invoke, so that only both together say what a cold start costs. Processor time \
         is that of the whole process. Medians.",
    );
    starts(page, figures.programs.iter().map(|program| (program, program.cold)));
    if figures.programs.iter().all(|program| program.slow.is_none()) {
        page.say("On a slice of a processor nothing was measured: this machine cannot limit it.");
        return sizes(page, figures);
    }
    page.say(
        "The same with 7.2 % of one processor, which is what Lambda gives a function of 128 MB. By the clock a program \
         then waits for its next slice, so that what fits into one slice is far ahead of what does not.",
    );
    starts(page, figures.programs.iter().map(|program| (program, program.slow)));
    sizes(page, figures);
}

fn starts<'a>(page: &mut Page, rows: impl Iterator<Item = (&'a Program, Option<Cold>)>) {
    let rows: Vec<Vec<String>> = rows
        .map(|(program, cold)| {
            let time = |of: fn(Cold) -> Option<u64>| {
                cold.and_then(of).map_or_else(|| MISSING.to_owned(), |time| text::time(real(time)))
            };
            vec![
                program.name.clone(),
                time(|cold| Some(cold.init_cpu.median)),
                time(|cold| cold.init_cpu_unconnected.map(|init| init.median)),
                time(|cold| Some(cold.init_wall.median)),
                time(|cold| Some(cold.first_cpu.median)),
                time(|cold| Some(cold.first_wall.median)),
                time(|cold| Some(cold.init_cpu.median + cold.first_cpu.median)),
                time(|cold| Some(cold.init_wall.median + cold.first_wall.median)),
            ]
        })
        .collect();
    page.table(
        &[
            "<program",
            "init CPU",
            "without connection",
            "init, wall",
            "first invoke CPU",
            "first invoke, wall",
            "both, CPU",
            "both, wall",
        ],
        &rows,
    );
}

fn sizes(page: &mut Page, figures: &Figures) {
    page.heading("Size and memory");
    page.say(
        "The binary is what Lambda starts, the zip what is uploaded to it; of a program for an interpreter it is the \
         bundle, without the interpreter. Memory is the peak of the resident set after the warm invokes.",
    );
    let size = |bytes: Option<u64>| bytes.map_or_else(|| MISSING.to_owned(), |bytes| text::megabytes(real(bytes)));
    let rows: Vec<Vec<String>> = figures
        .programs
        .iter()
        .map(|program| {
            let rss = program.peak_rss.map_or_else(|| MISSING.to_owned(), |rss| text::mebibytes(real(rss)));
            vec![program.name.clone(), size(program.bytes), size(program.zip_bytes), rss, program.date.clone()]
        })
        .collect();
    page.table(&["<program", "binary", "zip", "peak RSS", "<measured"], &rows);
}
