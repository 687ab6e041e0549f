//! `subscription extend`: an outage is given back to who pays for a time.

use super::found;
use crate::answer::{Answer, GOOD, paint};
use crate::cli::ExtendSubscriptions;
use crate::commands::runs::{begin, nameless, taken};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{Extension, OwnerRun, RunName, Subscription};
use shared::rules::subscription::extended;
use shared::shop::delivery::run;
use shared::shop::delivery::{TimedEnd, extend_end, timed_ends};
use shared::shop::subscriptions::extend_subscription;
use shared::table::bulk::all;
use shared::table::keys::prefix;

const DAY: i64 = 86_400;

pub(in crate::commands) async fn extend(
    target: &Target,
    console: &Console,
    options: &ExtendSubscriptions,
) -> Result<Answer, Failure> {
    let now = target.clock.seconds();
    let name = options
        .run
        .as_ref()
        .ok_or_else(|| nameless("This needs a name, under which nothing is extended twice.", "outage", now))?;
    let seconds = i64::from(options.days) * DAY;
    let run = Extension { seconds, subscription: options.id.clone(), done: false };
    let said = Said { name, days: options.days };
    let before = run::get(&target.db, name).await?;
    let is_begun = before.is_some();
    match before {
        None => {}
        Some(OwnerRun::Extension(before)) if before == run => {}
        Some(OwnerRun::Extension(before)) if (Extension { done: false, ..before.clone() }) == run => {
            return Ok(said.answer(&[], 0, format!("Nothing to do: run {name} is done.")));
        }
        Some(OwnerRun::Extension(before)) => {
            let of = before.subscription.map_or_else(String::new, |id| format!(" of {id}"));
            let what = format!("There is a run {name} already, for {} days{of}.", before.seconds / DAY);
            return Err(Failure::refused(what, "Repeat it with the same days and id, or take another name."));
        }
        Some(OwnerRun::Delivery(_)) => return Err(taken(name)),
    }
    let (subscriptions, ends) = planned(target, options, (name, seconds), now).await?;
    let counted = format!("{} subscriptions and {} ends of timed items", subscriptions.len(), ends.len());
    let shown = format!("{counted} are moved by {} days. The provider's days of payment stay.", options.days);
    if options.dry_run {
        return Ok(said.answer(&subscriptions, ends.len(), shown));
    }
    if !(subscriptions.is_empty() && ends.is_empty()) {
        console.confirm(&shown, "Extend these?", options.yes)?;
    } else if !is_begun {
        return Ok(said.answer(&[], 0, "Nothing to do: nothing lasts for a time.".to_owned()));
    }
    begin(target, name, &OwnerRun::Extension(run)).await?;
    let (mut written, mut moved) = (Vec::new(), 0);
    let progress = console.progress("Moving", Some((subscriptions.len() + ends.len()) as u64));
    let (db, clock) = (&target.db, target.clock.as_ref());
    for id in subscriptions {
        let extended = extend_subscription(db, clock, &id, (name, seconds)).await.map_err(interrupted)?;
        written.extend(extended.map(|one| one.id));
        progress.advance(1);
    }
    for end in &ends {
        moved += usize::from(extend_end(db, clock, end, (name, seconds)).await.map_err(interrupted)?);
        progress.advance(1);
    }
    run::finish(db, name).await.map_err(interrupted)?;
    let text = format!(
        "{} {} subscriptions and {moved} ends of timed items are moved by {} days. The provider's days of payment stay.",
        paint(GOOD, "ok"),
        written.len(),
        options.days
    );
    Ok(said.answer(&written, moved, text))
}

/// The subscriptions and ends of timed items that the run is about and has not moved.
async fn planned(
    target: &Target,
    options: &ExtendSubscriptions,
    (name, seconds): (&RunName, i64),
    now: i64,
) -> Result<(Vec<String>, Vec<TimedEnd>), Failure> {
    let is_moved = |one: &Subscription| extended(one, name, seconds, now).is_some();
    if let Some(id) = &options.id {
        let one = found(target, id).await?.subscription;
        let is_before = one.runs.contains(name);
        if !is_moved(&one) && !is_before {
            let what = format!("Subscription {} gives no access any more.", one.id);
            return Err(Failure::refused(what, "Only what still lasts can last longer."));
        }
        return Ok(([one.id].into_iter().filter(|_| !is_before).collect(), Vec::new()));
    }
    let stored = all::<Subscription>(&target.db, prefix::SUBSCRIPTION).await?.into_iter().map(|(_, one)| one);
    let subscriptions = stored.filter(is_moved).map(|one| one.id).collect();
    Ok((subscriptions, timed_ends(&target.db, name, now).await?))
}

fn interrupted(error: shared::table::StoreError) -> Failure {
    let next = "Run the same command with the same --run again: it goes on, and extends nothing twice.";
    Failure::from(error).done("Some are extended, and not all.").next(next)
}

struct Said<'a> {
    name: &'a RunName,
    days: u16,
}

impl Said<'_> {
    fn answer(&self, subscriptions: &[String], ends: usize, text: String) -> Answer {
        let json = json!({ "run": self.name, "days": self.days, "subscriptions": subscriptions, "timed_ends": ends });
        Answer::new(text, json)
    }
}
