//! `infra/docs/performance.md`, made of a run's figures and its verdicts.

use crate::budgets::Verdict;
use crate::figures::{Figures, HELLO, Measured, USER, real};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

fn micros(nanoseconds: u64) -> String {
    if nanoseconds == 0 { "–".to_owned() } else { format!("{:.0}", real(nanoseconds) / 1e3) }
}

fn millis(nanoseconds: u64) -> String {
    format!("{:.2}", real(nanoseconds) / 1e6)
}

/// A table. A heading that begins with `<` is of a column of words, the others hold figures.
fn table(page: &mut String, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let names: Vec<&str> = headings.iter().map(|heading| heading.trim_start_matches('<')).collect();
    let rule: Vec<&str> = headings.iter().map(|name| if name.starts_with('<') { "---" } else { "---:" }).collect();
    _ = writeln!(page, "| {} |\n|{}|", names.join(" | "), rule.join("|"));
    rows.for_each(|row| _ = writeln!(page, "| {} |", row.join(" | ")));
    page.push('\n');
}

/// The machine and the versions of what ran on it.
fn machine() -> String {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = file("/proc/cpuinfo");
    let model = cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    };
    let versions = ["rustc", "node", "python3"].map(version);
    let kernel = file("/proc/sys/kernel/osrelease");
    let model = model.map_or("unknown", |(_, model)| model);
    format!("{model}, {cores} cores; Linux {}; {}; Node {}; {}.", kernel.trim(), versions[0], versions[1], versions[2])
}

pub fn page(date: &str, figures: &Figures, verdicts: &[Verdict]) -> String {
    let mut page = format!(
        "# Performance\n\n\
         Measured on {date} (UTC) by `cargo run --release -p bench -- --peers --write`, which writes this page: do not edit it.\n\
         {}\n\n\
         The bench implements Lambda's Runtime API on loopback and starts the release binaries as Lambda does, with an embedded\n\
         engine behind TLS 1.3 in DynamoDB's place: {} fresh processes of each program, {} warm invokes of each endpoint, in turns.\n\
         Bench, engine and program share the processors. There is no gateway, no network and no start of a sandbox, so that only\n\
         counts, sizes and ratios within the run can be compared with another machine.\n\n",
        machine(),
        figures.rounds.0,
        figures.rounds.1,
    );
    budgets(&mut page, verdicts);
    programs(&mut page, figures);
    warm(&mut page, figures);
    format!("{}\n", page.trim_end())
}

fn budgets(page: &mut String, verdicts: &[Verdict]) {
    page.push_str("## Budgets\n\nThe figure that uses most of each. `.ci/run` checks all of them, with the binaries that SAM built.\n\n");
    let mut worst: Vec<&Verdict> = Vec::new();
    for verdict in verdicts {
        match worst.iter_mut().find(|worst| worst.what == verdict.what) {
            Some(worst) if worst.used() < verdict.used() => *worst = verdict,
            Some(_) => {}
            None => worst.push(verdict),
        }
    }
    let rows = worst.into_iter().map(|Verdict { what, of, value, limit }| {
        let [value, limit] = if what.ends_with("bytes") {
            [value, limit].map(|bytes| format!("{bytes:.0}"))
        } else {
            [value, limit].map(|number| format!("{number:.2}"))
        };
        vec![(*what).to_owned(), value, of.clone(), limit]
    });
    table(page, &["<budget", "figure", "<of", "at most"], rows);
}

fn programs(page: &mut String, figures: &Figures) {
    page.push_str(
        "## Programs\n\n\
         Cold: init lasts from exec to the first request for work. The functions open their connection to the database in it, the\n\
         peers in their first invoke, so that only both together are what a cold start costs. Medians in milliseconds. Of a program\n\
         for an interpreter, the size is that of the bundle. Memory is the peak of the resident set after the warm invokes.\n\n",
    );
    let row = |program: &Measured| {
        let cold = program.cold;
        let unconnected = cold.init_cpu_unconnected.map_or_else(|| "–".to_owned(), |init| millis(init.median));
        let mut row = vec![program.name.to_owned()];
        row.extend([program.bytes, program.zip_bytes].map(|bytes| format!("{:.2} MB", real(bytes) / 1e6)));
        row.push(format!("{:.1} MiB", real(program.peak_rss) / 1_048_576.0));
        row.extend([millis(cold.init_cpu.median), unconnected, millis(cold.first_cpu.median)]);
        row.push(millis(cold.init_cpu.median + cold.first_cpu.median));
        row.push(millis(cold.init_wall.median + cold.first_wall.median));
        row
    };
    let headings = ["<program", "binary", "zip", "memory", "init CPU", "without connection", "first invoke CPU"];
    table(page, &[&headings[..], &["both, CPU", "both, wall"]].concat(), figures.programs.iter().map(row));
}

fn warm(page: &mut String, figures: &Figures) {
    page.push_str(
        "## Warm\n\n\
         Every endpoint with its sample event, with the active version fresh and the page in the cache, in microseconds: by the\n\
         clock from handing over the event to the response, and the mean of the processor time. Calls and request units are counted\n\
         in front of the database; concurrent calls are one round trip. An outcome that cannot be repeated at will is only counted.\n\n",
    );
    let hello = figures.endpoint(HELLO, HELLO).map_or(f64::NAN, |row| real(row.cpu));
    let rows = figures.endpoints.iter().map(|row| {
        let mut cells = vec![row.program.to_owned(), row.name.to_owned()];
        cells.extend([row.wall.min, row.wall.median, row.wall.p99, row.cpu].map(micros));
        cells.push(if row.cpu == 0 { "–".to_owned() } else { format!("{:.1}×", real(row.cpu) / hello) });
        cells.extend([row.cost.calls.to_string(), row.cost.round_trips.to_string()]);
        cells.extend([row.cost.read_units, row.cost.write_units].map(|units| format!("{}", units + 0.0)));
        cells
    });
    let headings = ["<program", "<endpoint", "min", "median", "p99", "CPU", "of hello's", "calls", "round trips"];
    table(page, &[&headings[..], &["reads", "writes"]].concat(), rows);
    let ours = figures.endpoint("auth", USER).map_or(0, |row| row.wall.median);
    _ = writeln!(
        page,
        "The call of `{USER}` on an open socket, without SDK, runtime or handler, takes {} µs (median; shortest {}): no program that\n\
         makes this call can be faster. The function takes {:.1} times as long.",
        micros(figures.raw.median),
        micros(figures.raw.min),
        real(ours) / real(figures.raw.median.max(1)),
    );
}
