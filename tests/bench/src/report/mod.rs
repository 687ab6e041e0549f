//! `infra/docs/performance.md` and its plots, rendered from figures. The same figures give the same files.
//!
//! It measures nothing and judges nothing: verdicts come from [`crate::budgets`], prices from [`crate::price`].

mod page;
mod plots;
mod tables;

use crate::figures::{CHECK_STATUS, Figures, HELLO, NODE, PYTHON};
use crate::text::{count, real, time};
use page::Page;
pub use plots::PlotError;

/// The command that writes the page.
const COMMAND: &str = "cargo run --release -p bench";

/// The page and its plots: the name below `infra/docs`, and the content.
pub fn files(figures: &Figures) -> Result<[(&'static str, String); 4], PlotError> {
    Ok([
        ("performance.md", page(figures)),
        ("performance/cold-start.svg", plots::cold(figures)?),
        ("performance/warm-latency.svg", plots::warm(figures)?),
        ("performance/cost-against-size.svg", plots::scale(figures)?),
    ])
}

fn page(figures: &Figures) -> String {
    let mut page = Page::default();
    page.say("# Performance");
    page.say(&format!(
        "Measured by `{COMMAND}` on {} (UTC). Do not edit this page: the next run writes it again.",
        figures.date
    ));
    page.list(&in_short(figures));
    run(&mut page, figures);
    tables::budgets(&mut page, figures);
    tables::cold(&mut page, figures);
    tables::sizes(&mut page, figures);
    tables::warm(&mut page, figures);
    tables::scale(&mut page, figures);
    tables::price(&mut page, figures);
    page.heading("What this does not show");
    page.list(&[
        format!("One machine with {} cores, and not a processor of Lambda's.", figures.machine.cores),
        "An embedded engine, not DynamoDB: its calls are shorter than AWS's, and its counts of request units are \
         computed by the rules that AWS publishes."
            .to_owned(),
        "No network: the added delay is the same for every call, which a network's is not.".to_owned(),
        "No gateway, no download of a package, no start of a sandbox: on AWS they come before exec.".to_owned(),
        "Bench, engine and program share the cores. All programs are slower for it, more by the clock than in \
         processor time."
            .to_owned(),
        format!("The peers have only {CHECK_STATUS}. Each function has all its routes, which makes its start longer."),
        "Many requests at once. Checkouts of one item per second, a flash sale and half an hour of mixed traffic are \
         measured by other programs: \"A flash sale on a model of contention\" and \"Load\" in \
         [performance-notes.md](performance-notes.md)."
            .to_owned(),
    ]);
    page.finish()
}

fn in_short(figures: &Figures) -> Vec<String> {
    let both = |name: &str| {
        let cold = figures.program(name)?.cold?;
        Some(time(real(cold.init_cpu.median + cold.first_cpu.median)))
    };
    let peers = |of: &dyn Fn(&str) -> Option<String>| {
        let named = [("Node", NODE), ("Python", PYTHON)].into_iter();
        named.filter_map(|(name, peer)| Some(format!(", in {name} {}", of(peer)?))).collect::<String>()
    };
    let warm = |name: &str| figures.endpoint(name, CHECK_STATUS).map(|row| time(real(row.wall.median)));
    let mut points = Vec::new();
    if let (Some(ours), Some(hello)) = (both("payments"), both(HELLO)) {
        points.push(format!(
            "From exec to the first response, payments uses {ours} of a processor{}. A hello world without a database \
             uses {hello}.",
            peers(&both)
        ));
    }
    if let Some(ours) = warm("payments") {
        points.push(format!("Warm, {CHECK_STATUS} takes {ours}{}, without a network.", peers(&warm)));
    }
    points.extend(tables::price_in_short(figures));
    points
}

fn run(page: &mut Page, figures: &Figures) {
    page.heading("The run");
    let machine = &figures.machine;
    let mut rows = vec![
        vec!["processor".to_owned(), format!("{}, {} cores", machine.processor, machine.cores)],
        vec!["memory".to_owned(), format!("{:.1} GiB", real(machine.memory) / 1_073_741_824.0)],
        vec!["kernel".to_owned(), machine.kernel.clone()],
    ];
    rows.extend(figures.versions.iter().map(|(name, version)| vec![name.clone(), version.clone()]));
    page.table(&["<what", "<version"], &rows);
    page.say(&format!(
        "The bench implements Lambda's Runtime API on loopback and starts the release binaries as Lambda does: unpacked, \
         environment cleared and set, one request at a time. An embedded engine behind TLS 1.3 takes DynamoDB's place. \
         Programs take turns, so that a busy moment affects all of them: {} fresh processes of each and {} warm invokes \
         of each endpoint.",
        count(figures.rounds.cold.into()),
        count(figures.rounds.warm.into()),
    ));
    if let Some(remark) = &figures.remark {
        page.say(remark);
    }
    page.say("To repeat it:");
    page.code(&format!(
        "{COMMAND}                        # the functions; the peers keep the committed figures\n\
         {COMMAND} -- --peers             # the peers as well\n\
         {COMMAND} -- --check             # compares the figures with the budgets; fails if one is missed\n\
         {COMMAND} -- --check --stable    # the same, only for what can be measured on a busy machine",
    ));
    let older = figures.programs.iter().filter(|program| program.date != figures.date);
    let older: Vec<String> = older.map(|program| format!("{} ({})", program.name, program.date)).collect();
    if !older.is_empty() {
        page.say(&format!("Older than this run, and perhaps of another machine: {}.", older.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;

    #[test]
    fn plots_are_xml_and_name_what_they_show() {
        let figures = document::committed().unwrap().unwrap();
        let [_, plots @ ..] = files(&figures).unwrap();
        let [cold, warm, scale] = plots.map(|(_, svg)| {
            let document = roxmltree::Document::parse(&svg).expect("XML");
            let texts = document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text());
            texts.map(|text| text.trim().to_owned()).collect::<Vec<_>>()
        });
        let has = |texts: &[String], wanted: &str| assert!(texts.iter().any(|text| text.contains(wanted)), "{wanted}");
        for program in &figures.programs {
            has(&cold, &program.name);
        }
        for row in figures.endpoints.iter().filter(|row| row.is_timed()) {
            has(&warm, &row.name);
        }
        for endpoint in crate::figures::SCALED {
            has(&scale, endpoint);
        }
    }

    #[test]
    fn a_program_without_starts_keeps_its_row() {
        let mut figures = document::committed().unwrap().unwrap();
        (figures.programs[1].cold, figures.programs[1].peak_rss) = (None, None);
        let page = page(&figures);
        assert!(page.contains("| cart | – | – | – | – | – | – | – |"), "{page}");
        assert!(page.lines().filter(|line| !line.starts_with(['|', '!'])).all(|line| line.chars().count() <= 120));
    }
}
