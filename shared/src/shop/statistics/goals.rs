//! Goals that are reached: the sweep tells of each once, and runs its commands (rules.md, "Goals").

use super::{STATISTICS_TURNS, VersionedDonations};
use crate::clock::Clock;
use crate::model::{
    About, ActiveVersion, Command, CommandEvent, CommandId, CommandState, CommandTemplate, Delivery, Goal, InternalId,
    ItemId, Money, NoticeEvent, Server, Settings,
};
use crate::rules::command_text::{CommandText, Placeholder};
use crate::rules::goals::{next, reached};
use crate::shop::delivery::{commands, place_of};
use crate::shop::notices;
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, in_turns};
use std::collections::BTreeMap;

/// How often reached goals are reported in one sweep: the next one goes on.
const MOST_TOLD: usize = 50;
/// The player of a command that no player has caused: no account can have this name.
const NO_PLAYER: &str = "-";

/// Tells of every goal that is reached, each time once: the mark, the commands and the notice are one transaction. What no longer
/// reaches a goal after a refund was told all the same.
pub async fn tell_reached(
    db: &Db,
    clock: &dyn Clock,
    (active, settings): (&ActiveVersion, &Settings),
) -> Result<(), StoreError> {
    if settings.goals.is_empty() {
        return Ok(());
    }
    let telling = Telling { db, clock, active, settings };
    for _ in 0..MOST_TOLD {
        if !in_turns(STATISTICS_TURNS, || telling.tell_next()).await? {
            break;
        }
    }
    Ok(())
}

struct Telling<'a> {
    db: &'a Db,
    clock: &'a dyn Clock,
    active: &'a ActiveVersion,
    settings: &'a Settings,
}

impl Telling<'_> {
    /// Tells of the first goal that is reached and was not told; `false` if there is none.
    async fn tell_next(&self) -> Result<bool, StoreError> {
        let mut shown = VersionedDonations::read(self.db).await?;
        let (sums, told) = (&shown.donations.goals, &shown.donations.reached);
        let of =
            |sums: &BTreeMap<String, Money>, goal: &Goal| sums.get(&goal.id.to_string()).copied().unwrap_or_default();
        let due = |goal| Some((goal, next(goal, of(sums, goal), of(told, goal))?));
        let Some((goal, (sum, times))) = self.settings.goals.iter().find_map(due) else { return Ok(false) };
        let has_notice = notices::tells(&self.active.config.notify, NoticeEvent::Goal);
        if goal.commands.is_empty() && !has_notice {
            // No target wants it: what is reached by now needs no turn of its own.
            let all = reached(goal, of(sums, goal));
            shown.donations.reached.insert(goal.id.to_string(), all);
            send(self.db, vec![shown.write()?]).await?;
            return Ok(true);
        }
        let now = self.clock.seconds();
        let mut writes = self.commands(goal, times, now).await?;
        if has_notice {
            let about = About::Goal {
                id: goal.id.to_string(),
                name: goal.name.clone(),
                sum,
                currency: self.settings.system_currency.name.clone(),
                digits: self.active.config.digits,
                times,
            };
            let id = format!("goal-{}-{}", goal.id, sum.minor());
            writes.push(notices::put(NoticeEvent::Goal, id, now, about)?);
        }
        shown.donations.reached.insert(goal.id.to_string(), sum);
        writes.push(shown.write()?);
        send(self.db, writes).await?;
        Ok(true)
    }

    /// The writes of the goal's commands.
    async fn commands(&self, goal: &Goal, times: u64, now: i64) -> Result<Vec<Write>, StoreError> {
        let servers = &self.active.config.delivery.servers;
        let is_on = |(template, server): &(&CommandTemplate, &Server)| {
            template.servers.is_empty() || template.servers.contains(&server.id)
        };
        let on_each = |template| servers.iter().map(move |server| (template, server)).filter(is_on);
        let all: Vec<(&CommandTemplate, &Server)> = goal.commands.iter().flat_map(on_each).collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let first = commands::reserve(self.db, u32::try_from(all.len()).unwrap_or(u32::MAX)).await?;
        let mut writes = Vec::new();
        for (number, (template, server)) in (first.get()..).zip(all) {
            let id = CommandId::new(number).map_err(|_| StoreError::no_more_ids())?;
            let order = InternalId::new(&format!("goal-{}-{times}", goal.id));
            let command = self.command((id, order), template, server, now);
            writes.extend(commands::put_new(&command, place_of(&command).as_ref())?);
        }
        Ok(writes)
    }

    fn command(
        &self,
        (id, order): (CommandId, InternalId),
        template: &CommandTemplate,
        server: &Server,
        now: i64,
    ) -> Command {
        let currency = &self.settings.system_currency.name;
        let value = |placeholder| match placeholder {
            Placeholder::Server => server.name.as_str(),
            Placeholder::Currency => currency,
            // Publishing refuses the others.
            _ => "",
        };
        let text = CommandText::parse(&template.run).map_or_else(|_| template.run.clone(), |text| text.fill(value));
        let due = now.saturating_add(i64::from(template.delay));
        let state = if due > now { CommandState::Waiting } else { CommandState::Ready };
        Command {
            id,
            version: 0,
            order,
            line: 0,
            item: ItemId::new(0),
            event: CommandEvent::Bought,
            server: server.id,
            player: NO_PLAYER.to_owned(),
            player_id: None,
            text,
            lasting: None,
            ends: None,
            retried_as: None,
            retry_of: None,
            runs: Vec::new(),
            paid_at: None,
            delayed: template.delay > 0,
            output: None,
            delivery: Delivery { once: template.once, ..Delivery::new(state, due) },
        }
    }
}
