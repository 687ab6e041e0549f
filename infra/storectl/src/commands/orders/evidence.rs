//! `order evidence`: what is known of an order, as text for a dispute.

use super::names::Names;
use super::{buyer_lines, checkout_lines, format_of};
use crate::answer::Answer;
use crate::commands::common::{published, shown_time};
use crate::commands::delivery::{facts, left_out, shown_state, times};
use crate::commands::queues::shown_server;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{Command, InternalId, Settings};
use shared::rules::delivery::state_at;
use shared::shop::delivery::{Listed, listed_of};
use shared::shop::orders as store;
use shared::shop::orders::StoredOrder;
use shared::table::{keys, read_published};

/// The facts that the times of a command prove and do not prove.
const MEANING: &str = "`received` is when the game server confirmed that it had the command, `asked` when it asked whether it may \
                       still run, and `ran` when it reported that it handed the command to its console. None of them says \
                       what the command did there. `responded` is what the server's console responded to an agent, and \
                       `began` when an agent reported that it sent the command and had no response, `refused` when it \
                       reported that the console did nothing.";

pub(in crate::commands) async fn evidence(target: &Target, id: &str) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let stored = store::get(&target.db, &InternalId::new(id)).await?.ok_or_else(|| {
        Failure::refused("There is no order with this internal id.", "It is matched exactly, case included.")
    })?;
    let settings: Option<Settings> = read_published(&target.db, &keys::settings(&active.version)).await?;
    let names = Names::read(target, std::slice::from_ref(&stored)).await?;
    let Listed { commands, unreadable } = listed_of(&target.db, &stored).await?;
    let now = target.clock.seconds();
    let mut lines = vec![format!("Evidence for order {id}, printed {}", shown_time(now))];
    lines.extend(settings.map(|settings| format!("Store: {}", settings.website_name)));
    lines.extend(about_order(&stored, &names, active.config.digits));
    lines.push(String::new());
    lines.push("Delivery to game servers:".to_owned());
    if commands.is_empty() {
        lines.push("  no command ran or waits for this order".to_owned());
    }
    for command in &commands {
        let state = shown_state(state_at(&command.delivery, now));
        let server = shown_server(&active, command.server);
        lines.push(format!("  {} on {server} for {}: {state}", command.event.as_str(), player(command)));
        lines.push(format!("    {}", if command.text.is_empty() { "(erased)" } else { command.text.as_str() }));
        lines.push(format!("    {}", times(command)));
        lines.extend(command.output.as_ref().map(|output| format!("    responded: {output}")));
    }
    lines.extend(left_out(&unreadable));
    if !commands.is_empty() {
        lines.push(MEANING.to_owned());
    }
    let entries: Vec<_> = commands.iter().map(|command| facts(command, &active, now)).collect();
    let mut json = super::facts(&stored, active.config.digits);
    names.add_to(&mut json, &stored);
    if let Some(part) = &stored.effects.gift_card {
        json["gift_card"]["code"] = part.code.masked().into();
    }
    json["commands"] = json!(entries);
    let text = anstream::adapter::strip_str(&lines.join("\n")).to_string();
    json["text"] = text.as_str().into();
    Ok(Answer::new(text, json))
}

fn player(command: &Command) -> &str {
    if command.player.is_empty() { "an erased player" } else { &command.player }
}

fn about_order(stored: &StoredOrder, names: &Names, digits: u8) -> Vec<String> {
    let (order, format) = (&stored.order, format_of(stored, digits));
    let owner = order.owner.map_or_else(|| "a guest".to_owned(), |owner| names.user(owner));
    let mut lines = vec![
        format!("Order: number {}, made {}, {}", order.id, shown_time(order.created_at), order.status.as_str()),
        format!("Payment: {} {} by {}", format.money(order.price), order.currency, order.gateway),
    ];
    lines.extend(checkout_lines(stored, format).into_iter().map(|line| format!("  {line}")));
    lines.push(format!("Buyer: {owner}"));
    lines.extend(order.moved_to.map(|player| format!("  moved to {} at the buyer's wish", names.user(player))));
    // A bank reads it, and the card may have a balance.
    let card = stored.effects.gift_card.as_ref().map(|part| part.code.masked());
    lines.extend(buyer_lines(stored, format, names, card.as_deref()).into_iter().map(|line| format!("  {line}")));
    if stored.effects.consented_at.is_none() {
        lines.push("  consent to terms and privacy policy: not recorded".to_owned());
    }
    lines.push("Bought:".to_owned());
    for line in &order.lines {
        let (name, total) = (names.item(line), format.money(line.total));
        let choices = names.choices(line);
        let choices = if choices.is_empty() { String::new() } else { format!(" ({choices})") };
        lines.push(format!("  {} × {name} (item {}), {total} {}{choices}", line.count, line.item, order.currency));
    }
    lines
}
