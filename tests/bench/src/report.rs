//! `infra/docs/performance.md` and its plots, rendered from figures. The same figures give the same files.
//!
//! It measures nothing and judges nothing: verdicts come from [`crate::budgets`], prices from [`crate::price`].

mod budgets;
mod cold;
mod cost;
mod page;
mod plot;
mod plot_cold;
mod plot_scale;
mod plot_warm;
mod scale;
#[cfg(test)]
mod tests;
mod warm;

use crate::figures::{Figures, Kind};
use crate::lookup::{CHECK_STATUS, HELLO, NODE, PYTHON};
use crate::text;
use page::Page;
pub use plot::PlotError;
use std::fmt::Write as _;

/// The command that writes the page.
const COMMAND: &str = "cargo run --release -p bench";

/// The page and its plots: the file's name below `infra/docs`, and what stands in it.
pub fn files(figures: &Figures) -> Result<[(&'static str, String); 4], PlotError> {
    Ok([
        ("performance.md", page(figures)),
        ("performance/cold-start.svg", plot_cold::draw(figures)?),
        ("performance/warm-latency.svg", plot_warm::draw(figures)?),
        ("performance/cost-against-size.svg", plot_scale::draw(figures)?),
    ])
}

/// The page.
pub fn page(figures: &Figures) -> String {
    let mut page = Page::default();
    page.say("# Performance");
    page.say(&format!(
        "Written by `{COMMAND}` on {} (UTC). Do not edit it: the next run writes it anew.",
        figures.date
    ));
    in_short(&mut page, figures);
    run(&mut page, figures);
    budgets::write(&mut page, figures);
    cold::write(&mut page, figures);
    warm::write(&mut page, figures);
    scale::write(&mut page, figures);
    cost::write(&mut page, figures);
    limits(&mut page, figures);
    page.finish()
}

fn in_short(page: &mut Page, figures: &Figures) {
    let mut points = Vec::new();
    let init = |name: &str| {
        let cold = figures.program(name)?.cold?;
        Some(text::time(text::real(cold.init_cpu.median + cold.first_cpu.median)))
    };
    if let (Some(ours), Some(hello)) = (init("payments"), init(HELLO)) {
        let mut point = format!("From exec to the first answer, payments uses {ours} of a processor");
        if let Some(node) = init(NODE) {
            let _ = write!(point, ", the same in Node {node}");
        }
        if let Some(python) = init(PYTHON) {
            let _ = write!(point, ", in Python {python}");
        }
        points.push(format!("{point}. A hello world without a database uses {hello}."));
    }
    let warm = |row: Option<&crate::figures::Endpoint>| row.map(|row| text::time(text::real(row.wall.median)));
    if let Some(ours) = warm(figures.of_functions(CHECK_STATUS)) {
        let node =
            warm(figures.endpoint(NODE, CHECK_STATUS)).map_or_else(String::new, |node| format!(", in Node {node}"));
        points.push(format!("Warm, {CHECK_STATUS} takes {ours}{node}, without a network."));
    }
    points.extend(cost::in_short(figures));
    page.list(&points);
}

fn run(page: &mut Page, figures: &Figures) {
    page.heading("The run");
    let machine = &figures.machine;
    let mut rows = vec![
        vec!["processor".to_owned(), format!("{}, {} cores", machine.processor, machine.cores)],
        vec!["memory".to_owned(), format!("{:.1} GiB", text::real(machine.memory) / 1_073_741_824.0)],
        vec!["kernel".to_owned(), machine.kernel.clone()],
    ];
    rows.extend(figures.versions.iter().map(|(name, version)| vec![name.clone(), version.clone()]));
    page.table(&["<what", "<version"], &rows);
    page.say(&format!(
        "The bench plays Lambda's Runtime API on loopback and starts the release binaries as Lambda does: unpacked, \
         environment cleared and set, one request at a time. An embedded engine plays DynamoDB, behind TLS 1.3. \
         Programs take turns, so that a busy moment meets all of them: {} fresh processes of each, {} of each on a \
         slice of a processor, {} warm invokes of each endpoint. Processors are kept from halting by threads that run only \
         where nothing else wants to.",
        text::count(figures.rounds.cold.into()),
        text::count(figures.rounds.slow.into()),
        text::count(figures.rounds.warm.into()),
    ));
    page.say("To repeat it:");
    page.code(&format!(
        "{COMMAND}                        # the functions; the peers keep the figures that are committed\n\
         {COMMAND} -- --peers             # the peers as well\n\
         {COMMAND} -- --check             # holds the figures against the budgets; fails if one is missed\n\
         {COMMAND} -- --check --stable    # the same, only for what a noisy machine measures as well",
    ));
    let older: Vec<String> = figures
        .programs
        .iter()
        .filter(|program| program.date != figures.date)
        .map(|program| format!("{} ({})", program.name, program.date))
        .collect();
    if !older.is_empty() {
        page.say(&format!("Older than this run, and perhaps of another machine: {}.", older.join(", ")));
    }
}

fn limits(page: &mut Page, figures: &Figures) {
    page.heading("What this does not show");
    let mut points = vec![
        format!("One machine with {} cores, and not a processor of Lambda's.", figures.machine.cores),
        "An embedded engine, not DynamoDB: its calls are shorter than AWS's, and its counts of request units are \
         computed by the rules that AWS publishes."
            .to_owned(),
        "No network: what the delay adds is the same for every call, which a network's is not.".to_owned(),
        "No gateway, no download of a package, no start of a sandbox: on AWS they come before exec.".to_owned(),
        "Bench, engine and program share the cores. It costs every program alike, and by the clock more than in \
         processor time."
            .to_owned(),
    ];
    if figures.programs.iter().any(|program| program.kind == Kind::Node || program.kind == Kind::Python) {
        points.push(format!(
            "The peers answer {CHECK_STATUS} alone. Each of our functions carries its whole set of routes, which makes \
             its start the longer one."
        ));
    }
    page.list(&points);
}
