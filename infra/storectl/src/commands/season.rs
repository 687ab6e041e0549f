//! `delivery retry --today`: a new season of a server.

use super::common::shown_time;
use super::runs::{begin, reason_of, time_of};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{DeliveryRun, InternalId, OwnerRun, RunName, Server};
use shared::shop::delivery::{LeftOut, SeasonOrder, give_season, preview_season, season_orders};
use std::collections::BTreeMap;

/// Whether it is asked, and whether anything is changed.
pub(super) struct Options {
    pub(super) dry_run: bool,
    pub(super) yes: bool,
}

pub(super) async fn run(
    target: &Target,
    console: &Console,
    options: &Options,
    (name, run, server): (&RunName, &DeliveryRun, &Server),
) -> Result<Answer, Failure> {
    let (db, clock) = (&target.db, target.clock.as_ref());
    let orders = season_orders(db, name, run).await?;
    let mut planned = Sums::default();
    for order in &orders {
        planned.add(order, preview_season(db, clock, (name, run), order).await?);
    }
    let introduced = format!("Run {name} of {}, as published today: {}", server.name, time_of(run));
    let answer = |sums: &Sums, first: &str| {
        let json = json!({
            "run": name, "server": run.server, "item": run.item, "since": shown_time(run.since),
            "until": shown_time(run.until), "today": true, "orders": sums.orders, "commands": sums.commands,
            "left_out": sums.left_out,
        });
        Answer::new(format!("{introduced}\n{}", sums.lines(first)), json)
    };
    if options.dry_run || planned.commands == 0 {
        return Ok(answer(&planned, &format!("{} would run.", planned.counted())));
    }
    let shown = format!("{introduced}\n{}", planned.lines(&format!("{} run.", planned.counted())));
    console.confirm(&shown, "Give these orders what is published now?", options.yes)?;
    begin(target, name, &OwnerRun::Delivery(run.clone())).await?;
    let mut sums = Sums::default();
    let progress = console.progress("Orders", Some(orders.len() as u64));
    for order in &orders {
        let done = give_season(db, clock, (name, run), order).await.map_err(|error| {
            let done = format!("{} run; it is not known about order {order}.", sums.counted());
            let next = "Run the same command with the same --run again: it goes on, and gives nothing twice.";
            Failure::from(error).done(done).next(next)
        })?;
        sums.add(order, done);
        progress.advance(1);
    }
    Ok(answer(&sums, &format!("{} {} run.", paint(GOOD, "ok"), sums.counted())))
}

/// The number of commands that are given, and the orders with lines that are left out, by reason.
#[derive(Default)]
struct Sums {
    orders: usize,
    commands: usize,
    left_out: BTreeMap<LeftOut, Vec<InternalId>>,
}

impl Sums {
    fn add(&mut self, order: &InternalId, found: SeasonOrder) {
        self.orders += usize::from(found.commands > 0);
        self.commands += found.commands;
        for reason in found.left_out {
            self.left_out.entry(reason).or_default().push(order.clone());
        }
    }

    fn counted(&self) -> String {
        format!("{} commands of {} orders", self.commands, self.orders)
    }

    /// The first line, then one for each reason to leave orders out.
    fn lines(&self, first: &str) -> String {
        let left_out = self.left_out.iter().map(|(reason, orders)| {
            let shown: Vec<&str> = orders.iter().take(5).map(InternalId::as_str).collect();
            let more = if orders.len() > shown.len() { ", …" } else { "" };
            let (label, reason) = (paint(WARN, "left out:"), reason_of(*reason));
            format!("{label} in {} orders, lines {reason} ({}{more})", orders.len(), shown.join(", "))
        });
        [first.to_owned()].into_iter().chain(left_out).collect::<Vec<_>>().join("\n")
    }
}
