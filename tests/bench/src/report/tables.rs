//! The sections with tables.

use super::page::Page;
use crate::budgets::{Verdict, judge};
use crate::figures::{FUNCTIONS, Figures, NODE, SCALED};
use crate::price::{
    self, LAMBDA_GB_SECOND, Line, MEMORY, ONE_PROCESSOR, POLLS, REQUESTS_PER_START, VISIT, bill, billed,
};
use crate::text::{self, MISSING, amount, count, dollars, real, time};

fn optional<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| MISSING.to_owned(), show)
}

/// One row for each budget, and what was missed.
pub fn budgets(page: &mut Page, figures: &Figures) {
    page.heading("Budgets");
    page.say(
        "One line for each budget, with the figure that uses most of it. All but counts and sizes are ratios to another \
         figure of the same run. Those marked `CI` are checked by `.ci/run`, the ratios among them with half as much \
         again allowed for a busy machine.",
    );
    let mut groups: Vec<Vec<Verdict>> = Vec::new();
    for verdict in judge(figures, false) {
        match groups.iter_mut().find(|group| group[0].budget.what == verdict.budget.what) {
            Some(group) => group.push(verdict),
            None => groups.push(vec![verdict]),
        }
    }
    let rows = groups.iter().filter_map(|group| {
        let worst = group.iter().rev().max_by(|one, other| one.used().total_cmp(&other.used()))?;
        let missed = group.iter().filter(|verdict| verdict.is_missed()).count();
        Some(vec![
            worst.budget.what.to_owned(),
            worst.value_text(),
            worst.of.clone(),
            worst.budget.limit_text()
                + if group.iter().any(|verdict| verdict.budget != worst.budget) { " (varies)" } else { "" },
            if worst.budget.stable { "✓" } else { "" }.to_owned(),
            if missed > 0 { format!("**missed** by {missed} of {}", group.len()) } else { worst.outcome().to_owned() },
        ])
    });
    page.table(&["<budget", "figure", "<of", "budget", "CI", "<outcome"], &rows.collect::<Vec<_>>());
    let missed = groups.iter().flatten().filter(|verdict| verdict.is_missed()).map(|verdict| {
        let Verdict { budget, of, .. } = verdict;
        format!("{}, {of}: {}, budget {}", budget.what, verdict.value_text(), budget.limit_text())
    });
    let missed: Vec<String> = missed.collect();
    if !missed.is_empty() {
        page.say("Missed:");
        page.list(&missed);
    }
}

/// Plot and table of cold starts.
pub fn cold(page: &mut Page, figures: &Figures) {
    page.heading("Cold start");
    page.picture("performance/cold-start.svg", "Processor time of init and of the first invoke");
    page.say(
        "Init lasts from exec to the first request for work. The functions open their connection to the database in \
         it, the peers in their first invoke, so only both together are what a cold start costs. Processor time is that \
         of the whole process. Medians.",
    );
    let rows = figures.programs.iter().map(|program| {
        let cell = |of: fn(&crate::figures::Cold) -> Option<u64>| {
            optional(program.cold.as_ref().and_then(of), |nanoseconds| time(real(nanoseconds)))
        };
        vec![
            program.name.clone(),
            cell(|cold| Some(cold.init_cpu.median)),
            cell(|cold| cold.init_cpu_unconnected.map(|init| init.median)),
            cell(|cold| Some(cold.init_wall.median)),
            cell(|cold| Some(cold.first_cpu.median)),
            cell(|cold| Some(cold.first_wall.median)),
            cell(|cold| Some(cold.init_cpu.median + cold.first_cpu.median)),
            cell(|cold| Some(cold.init_wall.median + cold.first_wall.median)),
        ]
    });
    let headings =
        ["<program", "init CPU", "without connection", "init, wall", "first invoke CPU", "first invoke, wall"];
    page.table(&[&headings[..], &["both, CPU", "both, wall"]].concat(), &rows.collect::<Vec<_>>());
}

/// Sizes and memory.
pub fn sizes(page: &mut Page, figures: &Figures) {
    page.heading("Size and memory");
    page.say(
        "The binary is what Lambda starts, the zip what is uploaded; of a program for an interpreter it is the bundle, \
         without the interpreter. Memory is the peak of the resident set after the warm invokes.",
    );
    let rows = figures.programs.iter().map(|program| {
        let sizes = [program.bytes, program.zip_bytes].map(|bytes| text::megabytes(real(bytes)));
        let [bytes, zip] = sizes;
        let rss = optional(program.peak_rss, |rss| text::mebibytes(real(rss)));
        vec![program.name.clone(), bytes, zip, rss, program.date.clone()]
    });
    page.table(&["<program", "binary", "zip", "peak RSS", "<measured"], &rows.collect::<Vec<_>>());
}

/// Plot and table of warm invokes, and the raw calls.
pub fn warm(page: &mut Page, figures: &Figures) {
    page.heading("Warm");
    page.picture("performance/warm-latency.svg", "Shortest, median and 99th percentile of an invoke, by endpoint");
    page.say(
        "Every endpoint with its sample event, with the active version fresh and the page in the cache. Times are by \
         the clock, from handing over the event to the response; `delayed` is the median with 3 ms added to every call \
         to the database, as by a network. Processor time is the mean. Calls and request units are counted in front of \
         the database; concurrent calls are one round trip. An outcome that cannot be repeated at will is counted and \
         not timed.",
    );
    let rows = figures.endpoints.iter().filter(|row| row.is_timed() || row.cost.calls > 0).map(|row| {
        let times = [row.wall.min, row.wall.median, row.wall.p99, row.wall_delayed.median, row.cpu];
        let mut cells = vec![row.program.clone(), row.name.clone()];
        cells.extend(times.map(|nanoseconds| optional((nanoseconds > 0).then_some(nanoseconds), |n| time(real(n)))));
        cells.extend([row.cost.calls, row.cost.round_trips].map(|number| count(number.into())));
        cells.extend([row.cost.read_units, row.cost.write_units].map(amount));
        cells
    });
    let headings = ["<program", "<endpoint", "min", "median", "p99", "delayed", "CPU", "calls", "round trips"];
    page.table(&[&headings[..], &["reads", "writes"]].concat(), &rows.collect::<Vec<_>>());
    page.subheading("The raw calls");
    page.say(
        "The same calls on an open socket, without SDK, runtime or handler: from the first byte sent to the last \
         received. No program that makes the same calls can be faster.",
    );
    let rows = figures.raw.iter().map(|raw| {
        let mut cells = vec![raw.name.clone(), raw.calls.to_string()];
        cells.extend([raw.wall.min, raw.wall.median, raw.wall.p99].map(|nanoseconds| time(real(nanoseconds))));
        cells
    });
    page.table(&["<calls of", "concurrent calls", "min", "median", "p99"], &rows.collect::<Vec<_>>());
}

/// Plot and tables of what an invoke costs in stores of different size.
pub fn scale(page: &mut Page, figures: &Figures) {
    page.heading("Scale");
    page.picture("performance/cost-against-size.svg", "Processor time of an invoke in stores of 10 to 100,000 items");
    page.say(
        "The same request in stores of different size, with carts of different length and buyers with different \
         histories. Only what the response contains may cost more. What a buyer has bought is one item of the table, a \
         ledger: it grows with the distinct items, of which 10,000 orders have at most as many as the store, and not \
         with the orders. Times are medians by the clock, processor time is the mean.",
    );
    for endpoint in SCALED {
        let mut points: Vec<_> = figures.scale.iter().filter(|point| point.endpoint == endpoint).collect();
        points.sort_by_key(|point| (point.items, point.lines, point.orders));
        let rows = points.into_iter().map(|point| {
            let mut cells: Vec<String> = [point.items, point.lines.into(), point.orders.into()].map(count).into();
            cells.extend([point.wall.median, point.cpu].map(|nanoseconds| time(real(nanoseconds))));
            cells.push(count(point.cost.calls.into()));
            cells.extend([point.cost.read_units, point.cost.write_units].map(amount));
            cells.push(format!("{} B", count(point.answer_bytes)));
            cells
        });
        page.subheading(endpoint);
        let headings = ["items", "lines in the cart", "past orders", "wall", "CPU", "calls", "reads", "writes"];
        page.table(&[&headings[..], &["response"]].concat(), &rows.collect::<Vec<_>>());
    }
}

fn total(lines: &[Line]) -> f64 {
    bill(lines).iter().map(|(_, price)| price).sum()
}

/// The sentence about prices at the top of the page.
pub fn price_in_short(figures: &Figures) -> Option<String> {
    let lines = price::lines(figures, &FUNCTIONS, &VISIT)?;
    let [(_, gateway), ..] = bill(&lines);
    let requests: u32 = lines.iter().map(|line| line.times).sum();
    Some(format!(
        "A million visits of {requests} requests cost {} USD at list prices, {} USD of it the gateway's.",
        dollars(total(&lines)),
        dollars(gateway)
    ))
}

/// The bill of a million visits.
pub fn price(page: &mut Page, figures: &Figures) {
    page.heading("The price of a million visits");
    page.say(&format!(
        "In a visit a buyer opens the store, a category and the cart, enters a coupon, pays, and waits for the order. A \
         run has whole processors; a function of {MEMORY} MB (the default of `template.yaml`) has {MEMORY} of the {} MB \
         at which Lambda gives one. So its processor time takes longer by that share and its waiting does not: duration \
         = (delayed − CPU) + CPU × {ONE_PROCESSOR} / {MEMORY}. Every started millisecond is billed.",
        amount(ONE_PROCESSOR),
    ));
    let rows = VISIT.iter().map(|step| {
        let line = price::lines(figures, &FUNCTIONS, &[*step]).and_then(|mut lines| lines.pop());
        let cell = |of: &dyn Fn(&Line) -> String| optional(line.as_ref(), of);
        vec![
            step.0.to_owned(),
            step.1.to_owned(),
            step.2.to_string(),
            cell(&|line| time(line.duration)),
            cell(&|line| text::short(&time(billed(line.duration)))),
            cell(&|line| amount(line.cost.read_units)),
            cell(&|line| amount(line.cost.write_units)),
        ]
    });
    page.table(&["<part", "<request", "times", "duration", "billed", "reads", "writes"], &rows.collect::<Vec<_>>());
    page.say(&format!(
        "List prices of us-east-1 without free tiers: API Gateway (HTTP API) 1.00 USD per million requests, Lambda on \
         arm64 0.20 USD per million requests and {LAMBDA_GB_SECOND} USD per GB-second, DynamoDB on demand 0.125 USD per \
         million read and 0.625 USD per million write request units. One request in {REQUESTS_PER_START} starts an \
         instance, and its init is billed. Not included: traffic out of AWS, logs, storage, and the active version that \
         every instance reads once in a few seconds. USD per million visits, and for five requests to \
         payments/checkStatus, which Node was measured with as well:",
    ));
    let columns = [
        price::lines(figures, &FUNCTIONS, &VISIT),
        price::lines(figures, &FUNCTIONS, &POLLS),
        price::lines(figures, &[NODE], &POLLS),
    ];
    let bills = columns.each_ref().map(|lines| lines.as_deref().map(bill));
    let names = bill(&[]).map(|(name, _)| name);
    let mut rows: Vec<Vec<String>> = names
        .iter()
        .enumerate()
        .map(|(place, name)| {
            let prices = bills.iter().map(|bill| optional(bill.as_ref(), |bill| dollars(bill[place].1)));
            std::iter::once((*name).to_owned()).chain(prices).collect()
        })
        .collect();
    let totals = columns.iter().map(|lines| optional(lines.as_deref(), |lines| dollars(total(lines))));
    rows.push(std::iter::once("**together**".to_owned()).chain(totals).collect());
    page.table(&["<part", "visit", "five requests", "five requests, Node"], &rows);
}
