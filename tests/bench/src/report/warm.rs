//! Warm invokes, the floor under them, and the local server under load.

use super::page::Page;
use crate::figures::Figures;
use crate::text::{self, MISSING, real};

/// Plot and table of warm invokes, the floor, and the throughput.
pub fn write(page: &mut Page, figures: &Figures) {
    page.heading("Warm");
    page.picture("performance/warm-latency.svg", "Shortest, median and longest of a hundred invokes, by endpoint");
    page.say(
        "Every endpoint answers its sample event, with the active version fresh and the page in the cache. Times are by the \
         clock, from the answer to a request for work to the function's answer; `delayed` is the median with 3 ms \
         added to every call to the database, as a network does. Processor time is the mean. Calls and \
         request units are counted at the database's door; calls side by side are one round trip. An outcome that \
         cannot be had again and again is counted and not timed.",
    );
    let rows: Vec<Vec<String>> = figures
        .endpoints
        .iter()
        .filter(|row| row.is_timed() || row.cost.calls > 0)
        .map(|row| {
            let times = [row.wall.min, row.wall.median, row.wall.p99, row.wall_delayed.median, row.cpu];
            let mut cells = vec![row.program.clone(), row.name.clone()];
            cells.extend(times.map(|time| if time > 0 { text::time(real(time)) } else { MISSING.to_owned() }));
            cells.extend([u64::from(row.cost.calls), u64::from(row.cost.round_trips)].map(text::count));
            cells.extend([row.cost.read_units, row.cost.write_units].map(text::amount));
            cells
        })
        .collect();
    page.table(
        &["<program", "<endpoint", "min", "median", "p99", "delayed", "CPU", "calls", "round trips", "reads", "writes"],
        &rows,
    );
    floor(page, figures);
    load(page, figures);
}

fn floor(page: &mut Page, figures: &Figures) {
    page.subheading("The floor");
    page.say(
        "The same calls written to a connected socket, without SDK, runtime or handler: from the first byte sent to \
         the last received. No program that asks the same can answer faster.",
    );
    let rows: Vec<Vec<String>> = figures
        .raw
        .iter()
        .map(|raw| {
            let mut cells = vec![raw.name.clone(), raw.calls.to_string()];
            cells.extend([raw.wall.min, raw.wall.median, raw.wall.p99].map(|time| text::time(real(time))));
            cells
        })
        .collect();
    page.table(&["<asked", "calls side by side", "min", "median", "p99"], &rows);
}

fn load(page: &mut Page, figures: &Figures) {
    page.subheading("Throughput");
    page.say(
        "The local server (`cargo run`), which has all five functions and the database in one process, asked over \
         loopback from the same machine. It says how many requests a developer's machine answers, and nothing of AWS.",
    );
    if figures.throughput.is_empty() {
        page.say(MISSING);
        return;
    }
    let rows: Vec<Vec<String>> = figures
        .throughput
        .iter()
        .map(|row| {
            let mut cells = vec![row.endpoint.clone(), row.connections.to_string(), text::count(row.per_second)];
            cells.extend([row.wall.median, row.wall.p99].map(|time| text::time(real(time))));
            cells
        })
        .collect();
    page.table(&["<endpoint", "connections", "requests per second", "median", "p99"], &rows);
}
