//! `delivery retry`, of commands by their ids or as a named run of a server.

use super::common::{past, published, shown_time};
use super::delivery::{Decision, decide, left_out as unreadable_lines, named};
use super::queues::{find, shown_server};
use super::season;
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::{DecideDelivery, RetryDelivery};
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use jiff::Timestamp;
use serde_json::{Value, json};
use shared::model::{ActiveVersion, Command, CommandId, DeliveryRun, InternalId, OwnerRun, RunName, Server};
use shared::shop::delivery::run;
use shared::shop::delivery::{LeftOut, OrderRun, orders_of, preview, run_again};
use shared::table::keys::Key;
use std::collections::BTreeMap;

pub(super) async fn retry(target: &Target, console: &Console, options: &RetryDelivery) -> Result<Answer, Failure> {
    let Some(server) = &options.server else {
        let RetryDelivery { ids, order, yes, .. } = options.clone();
        return decide(target, console, &DecideDelivery { ids, order, yes }, Decision::Retry).await;
    };
    let active = published(target).await?;
    let server = find(&active, server)?;
    let now = target.clock.seconds();
    let name = options.run.as_ref().ok_or_else(|| {
        nameless("A run of a server needs a name, under which nothing runs again twice.", &server.name, now)
    })?;
    let run = wanted(target, options, (name, server), now).await?;
    if options.today {
        let asked = season::Options { dry_run: options.dry_run, yes: options.yes };
        return season::run(target, console, &asked, (name, &run, server)).await;
    }
    let found = orders_of(&target.db, name, &run, now).await?;
    let mut planned = Sums { unreadable: found.unreadable, ..Sums::default() };
    for order in &found.orders {
        planned.add(preview(&target.db, target.clock.as_ref(), (name, &run), order).await?, |_| None);
    }
    let said = Said { name, run: &run, active: &active };
    if options.dry_run || planned.again.is_empty() {
        return Ok(said.answer(&planned, &format!("{} would run again.", planned.counted())));
    }
    let shown = format!("{}\n{}", said.introduced(), planned.lines(&format!("{} run again.", planned.counted())));
    console.confirm(&shown, "Run these again, although they have run?", options.yes)?;
    begin(target, name, &OwnerRun::Delivery(run.clone())).await?;
    let mut sums = Sums { unreadable: planned.unreadable, ..Sums::default() };
    let progress = console.progress("Orders", Some(found.orders.len() as u64));
    for order in &found.orders {
        let done = run_again(&target.db, target.clock.as_ref(), (name, &run), order).await;
        let done = done.map_err(|error| interrupted(error.into(), &sums, order))?;
        sums.add(done, |next| Some(next.id));
        progress.advance(1);
    }
    Ok(said.answer(&sums, &format!("{} {} run again.", paint(GOOD, "ok"), sums.counted())))
}

/// Stores a run under its name, unless it is.
pub(super) async fn begin(target: &Target, name: &RunName, run: &OwnerRun) -> Result<(), Failure> {
    if run::begin(&target.db, name, run).await? == *run {
        return Ok(());
    }
    Err(Failure::new(Exit::Raced, "Another call began a run of this name just now.", "Run the same command again."))
}

/// A run needs a name; proposes one that begins with `about`.
pub(super) fn nameless(what: &str, about: &str, now: i64) -> Failure {
    let about = about.to_lowercase();
    let signs = about.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' });
    let name: String = signs.take(RunName::LONGEST / 2).collect();
    let day = Timestamp::from_second(now).map_or_else(|_| now.to_string(), |at| at.strftime("%Y-%m-%d").to_string());
    Failure::new(Exit::Usage, what, format!("Add --run {name}-{day}, and use the same name if you repeat it."))
}

fn interrupted(failure: Failure, sums: &Sums, order: &InternalId) -> Failure {
    let done = format!("{} run again; it is not known about those of order {order}.", sums.counted());
    failure.done(done).next("Run the same command with the same --run again: it goes on, and gives nothing twice.")
}

/// The run as it was begun under its name, or as it is to begin. Refuses another run under the same name.
async fn wanted(
    target: &Target,
    options: &RetryDelivery,
    (name, server): (&RunName, &Server),
    now: i64,
) -> Result<DeliveryRun, Failure> {
    let before = run::get(&target.db, name).await?;
    // Times are those of when it was begun.
    let begun = if let Some(OwnerRun::Delivery(run)) = &before { run.until } else { now };
    let time = past(options.since.as_deref(), options.until.as_deref(), begun)?;
    let run =
        DeliveryRun { server: server.id, since: time.start, until: time.end, item: options.item, today: options.today };
    match before {
        Some(OwnerRun::Delivery(before)) if before == run => Ok(run),
        None => Ok(run),
        Some(OwnerRun::Delivery(before)) => {
            let what = format!("There is a run {name} already, of {}.", time_of(&before));
            let next = "Repeat it with the same --server, --since, --until, --item and --today, or take another name.";
            Err(Failure::refused(what, next))
        }
        Some(OwnerRun::Extension(_)) => Err(taken(name)),
    }
}

/// Another kind of run has the name.
pub(super) fn taken(name: &RunName) -> Failure {
    Failure::refused(format!("There is a run {name} already, of another command."), "Take another name.")
}

/// The server, the item and the time of a run.
pub(super) fn time_of(run: &DeliveryRun) -> String {
    let item = run.item.map_or_else(String::new, |item| format!(", item {item}"));
    let since = if run.since > 0 { shown_time(run.since) } else { "the beginning".to_owned() };
    format!("server {}{item}, from {since} until {}", run.server, shown_time(run.until))
}

/// The commands that run again, and those that are left out, by reason.
#[derive(Default)]
struct Sums {
    orders: usize,
    /// With the ids under which they run again, once they have them.
    again: Vec<(CommandId, Option<CommandId>)>,
    left_out: BTreeMap<LeftOut, Vec<CommandId>>,
    unreadable: Vec<Key>,
}

impl Sums {
    fn add(&mut self, order: OrderRun, id: impl Fn(&Command) -> Option<CommandId>) {
        self.orders += usize::from(!order.again.is_empty());
        self.again.extend(order.again.iter().map(|(before, next)| (before.id, id(next))));
        for (command, reason) in order.left_out {
            self.left_out.entry(reason).or_default().push(command.id);
        }
    }

    fn counted(&self) -> String {
        format!("{} commands of {} orders", self.again.len(), self.orders)
    }

    /// The first line, then one for each reason to leave something out.
    fn lines(&self, first: &str) -> String {
        let left_out = self.left_out.iter().map(|(reason, ids)| {
            let shown: Vec<String> = ids.iter().take(10).map(ToString::to_string).collect();
            let more = if ids.len() > shown.len() { ", …" } else { "" };
            let label = paint(WARN, "left out:");
            format!("{label} {} {} (ids {}{more})", ids.len(), reason_of(*reason), shown.join(", "))
        });
        let lines = [first.to_owned()].into_iter().chain(left_out).chain(unreadable_lines(&self.unreadable));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// A run, as it is shown.
struct Said<'a> {
    name: &'a RunName,
    run: &'a DeliveryRun,
    active: &'a ActiveVersion,
}

impl Said<'_> {
    fn introduced(&self) -> String {
        format!("Run {} of {}: {}", self.name, shown_server(self.active, self.run.server), time_of(self.run))
    }

    fn answer(&self, sums: &Sums, first: &str) -> Answer {
        let again: Vec<Value> =
            sums.again.iter().map(|(before, next)| json!({ "id": before, "again": next })).collect();
        let json = json!({
            "run": self.name, "server": self.run.server, "item": self.run.item, "since": shown_time(self.run.since),
            "until": shown_time(self.run.until), "orders": sums.orders, "commands": again, "left_out": sums.left_out,
            "unreadable": named(&sums.unreadable),
        });
        Answer::new(format!("{}\n{}", self.introduced(), sums.lines(first)), json)
    }
}

pub(super) const fn reason_of(reason: LeftOut) -> &'static str {
    match reason {
        LeftOut::TakenBack => "of orders that were refunded or disputed",
        LeftOut::UnitsRefunded => "of units that were refunded",
        LeftOut::Banned => "of banned players",
        LeftOut::Erased => "of erased players",
        LeftOut::Ended => "of items that have ended",
        LeftOut::OnItsWay => "still on their way; repeat the run in five minutes",
        LeftOut::GivesNothing => "of items that give nothing there now",
        LeftOut::DoneByHand => "done by hand",
        LeftOut::NotMade => "that cannot be made again; give them by hand, or `delivery retry ID` sends the same text",
    }
}
