//! What a million visits cost, and what ten thousand per second need.

use super::page::Page;
use crate::figures::Figures;
use crate::lookup::{CHECK_STATUS, NODE};
use crate::price::visit::{POLLS, VISIT, node_polls, node_visit, ours, requests};
use crate::price::{
    Bill, CONCURRENCY_QUOTA, GATEWAY_QUOTA, GROWTH_IN_TEN_SECONDS, LAMBDA_GB_SECOND, Line, MEMORY, Needs,
    ONE_PROCESSOR, REQUESTS_PER_CONCURRENCY, REQUESTS_PER_START, TABLE_QUOTA, VISITS, VISITS_PER_SECOND, bill, billed,
    needs,
};
use crate::text::{self, MISSING, real};
use std::fmt::Write as _;

/// A part of a bill.
type Part = (&'static str, fn(&Bill) -> f64);
/// A need, and the quota that it has to stay within.
type Row = (&'static str, fn(&Needs) -> f64, f64);

/// The bill of a million visits, and the needs of ten thousand per second.
pub fn write(page: &mut Page, figures: &Figures) {
    page.heading("The price of a million visits");
    visit(page, figures);
    prices(page, figures);
    node(page, figures);
    page.heading("Ten thousand visits per second");
    many(page, figures);
}

/// The two sentences that stand at the top of the page.
pub fn in_short(figures: &Figures) -> Vec<String> {
    let Some(ours) = ours(figures, &VISIT) else { return Vec::new() };
    let bill = bill(&ours, VISITS);
    let mut point = format!(
        "A million visits of {} requests cost {} USD at list prices, {} USD of it the gateway's",
        requests(),
        text::dollars(bill.total()),
        text::dollars(bill.gateway),
    );
    if let Some(node) = node_visit(figures) {
        let _ = write!(point, ", in Node about {} USD", text::dollars(self::bill(&node, VISITS).total()));
    }
    vec![point + "."]
}

fn visit(page: &mut Page, figures: &Figures) {
    page.say(&format!(
        "A visit is {} requests: a buyer opens the store, a category and the cart, enters a coupon, pays, and waits \
         for the order. A run has whole processors, a function of {MEMORY} MB (the default of `template.yaml`) has \
         {MEMORY} of the {} MB at which Lambda gives one. So its processor time is stretched by that share and its \
         waiting is not: duration = (delayed − CPU) + CPU × {} / {MEMORY}. Every started millisecond is billed. A \
         first poll of a window is counted and not timed: it takes a round trip more than the others.",
        requests(),
        text::count(ONE_PROCESSOR.into()),
        ONE_PROCESSOR,
    ));
    let lines = VISIT.iter().map(|step| (step, ours(figures, [step]).and_then(|lines| lines.into_iter().next())));
    let rows: Vec<Vec<String>> = lines
        .map(|(step, line)| {
            let cell = |of: &dyn Fn(&Line) -> String| line.as_ref().map_or_else(|| MISSING.to_owned(), of);
            vec![
                step.part.to_owned(),
                line.as_ref().map_or(step.endpoint, |line| &line.endpoint).to_owned(),
                step.times.to_string(),
                cell(&|line| text::time(line.duration)),
                cell(&|line| text::short(&text::time(billed(line.duration)))),
                cell(&|line| text::amount(line.cost.read_units)),
                cell(&|line| text::amount(line.cost.write_units)),
            ]
        })
        .collect();
    page.table(&["<part", "<request", "times", "duration", "billed", "reads", "writes"], &rows);
}

fn prices(page: &mut Page, figures: &Figures) {
    page.say(&format!(
        "List prices of us-east-1 without free tiers: API Gateway (HTTP API) 1.00 USD per million requests, Lambda on \
         arm64 0.20 USD per million requests and {LAMBDA_GB_SECOND} USD per GB-second, DynamoDB on demand 0.125 USD \
         per million read and 0.625 USD per million write request units. One request in {} starts an instance, and its \
         init is billed. Not in it: traffic out of AWS, logs, storage, and the active version that every instance reads once \
         in a few seconds. USD per million visits:",
        text::amount(REQUESTS_PER_START),
    ));
    let whole = [ours(figures, &VISIT), node_visit(figures)];
    let only_polls = [ours(figures, &POLLS), node_polls(figures)];
    let bills: Vec<Option<Bill>> = whole.into_iter().chain(only_polls).map(|l| l.map(|l| bill(&l, VISITS))).collect();
    let parts: [Part; 8] = [
        ("API Gateway, requests", |bill| bill.gateway),
        ("Lambda, requests", |bill| bill.requests),
        ("Lambda, time", |bill| bill.time),
        ("Lambda, starts", |bill| bill.starts),
        ("DynamoDB, reads", |bill| bill.reads),
        ("DynamoDB, writes", |bill| bill.writes),
        ("**together**", Bill::total),
        ("without the gateway", Bill::behind_the_gateway),
    ];
    let rows: Vec<Vec<String>> = parts
        .iter()
        .map(|(name, part)| {
            let price =
                |bill: &Option<Bill>| bill.as_ref().map_or_else(|| MISSING.to_owned(), |b| text::dollars(part(b)));
            std::iter::once((*name).to_owned()).chain(bills.iter().map(price)).collect()
        })
        .collect();
    page.table(&["<part", "visit", "visit, Node (assumed)", "five polls", "five polls, Node (measured)"], &rows);
}

fn node(page: &mut Page, figures: &Figures) {
    page.say(&format!(
        "Of Node only {CHECK_STATUS} is measured, so that the five polls within a window are a comparison and the \
         whole visit is an estimate: Node is assumed to ask the database what the functions ask, to wait as long as \
         they do, and to need as many times their processor time as it needs for {CHECK_STATUS}. Starts are billed as \
         measured on whole processors, which is kind to Node: with {MEMORY} MB its init takes longer."
    ));
    let Some(peak_rss) = figures.program(NODE).and_then(|node| node.peak_rss) else { return };
    let held = text::mebibytes(real(peak_rss));
    let fits = match peak_rss {
        much if much > 128 << 20 => "which is more than a function of 128 MB has",
        // What Lambda itself keeps in a sandbox lies between these.
        near if near > 96 << 20 => "which leaves a function of 128 MB next to nothing",
        _ => "which a function of 128 MB has as well, with a fourteenth of a processor",
    };
    page.say(&format!("Node is given {MEMORY} MB too, as is usual. It holds {held}, {fits}."));
}

fn many(page: &mut Page, figures: &Figures) {
    let Some(lines) = ours(figures, &VISIT) else {
        page.say(MISSING);
        return;
    };
    let ours = needs(&lines, VISITS_PER_SECOND);
    page.say(&format!(
        "{} visits per second, spread evenly, are {} requests per second. Invokes that run at once are rate times \
         duration (Little's law). Quotas are AWS's defaults for an account and region, or for a table.",
        text::amount(VISITS_PER_SECOND),
        text::amount(ours.requests),
    ));
    let node = node_visit(figures).map(|lines| needs(&lines, VISITS_PER_SECOND));
    let rows: [Row; 5] = [
        ("API Gateway, requests per second", |needs| needs.requests, GATEWAY_QUOTA),
        ("Lambda, invokes at once", |needs| needs.concurrency.ceil(), CONCURRENCY_QUOTA),
        ("Lambda, requests per second", |needs| needs.requests, CONCURRENCY_QUOTA * REQUESTS_PER_CONCURRENCY),
        ("DynamoDB, read units per second", |needs| needs.reads, TABLE_QUOTA),
        ("DynamoDB, write units per second", |needs| needs.writes, TABLE_QUOTA),
    ];
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(name, of, quota)| {
            let needed = of(&ours);
            let node = node.as_ref().map_or_else(|| MISSING.to_owned(), |node| text::amount(of(node)));
            let enough = if needed <= *quota { "enough" } else { "**raise**" };
            vec![(*name).to_owned(), text::amount(needed), node, text::amount(*quota), enough.to_owned()]
        })
        .collect();
    page.table(&["<what", "needed", "Node (assumed)", "default quota", "<"], &rows);
    raise(page, &ours);
}

fn raise(page: &mut Page, needs: &Needs) {
    let mut points = vec![
        format!(
            "API Gateway: a throttle quota of {} requests per second. `ThrottleRate` and `ThrottleBurst` in \
             `template.yaml` end at what an account has by default; their `MaxValue` has to follow.",
            text::amount(needs.requests)
        ),
        format!(
            "Lambda: a quota of {} concurrent executions. It takes {} requests per second for each of them, however \
             short they are, so that short requests need more quota than they need instances.",
            text::amount(needs.concurrency_quota()),
            text::amount(REQUESTS_PER_CONCURRENCY),
        ),
        format!(
            "Lambda lets a function grow by {} requests per second every ten seconds: such a rate is reached in steps, \
             not at once.",
            text::amount(GROWTH_IN_TEN_SECONDS)
        ),
    ];
    if needs.reads.max(needs.writes) > TABLE_QUOTA {
        points.push(format!(
            "DynamoDB: a quota of {} read and {} write request units per second for the table, and a warm throughput \
             to match, because a new table begins with less.",
            text::amount(needs.reads.max(TABLE_QUOTA)),
            text::amount(needs.writes.max(TABLE_QUOTA)),
        ));
    }
    page.list(&points);
}
