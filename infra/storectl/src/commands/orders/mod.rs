//! `order …`. Here are `set-status` and `show`.

mod evidence;
mod lines;
mod list;
mod move_order;
mod names;
mod provider;
mod record;
mod redeliver;
mod refund;
mod refund_lines;

pub(super) use evidence::evidence;
pub(super) use list::list;
pub(super) use move_order::move_order;
pub(super) use provider::{cancel, end_order, provider, settle};
pub(super) use record::record;
pub(super) use redeliver::redeliver;
pub(super) use refund::{accept, give_back, refund};

use crate::answer::{Answer, GOOD, STRONG, WARN, narrow_columns, paint, wrapped};
use crate::cli::SetStatus;
use crate::commands::common::{published, shown_time};
use crate::commands::delivery::{self, Progress};
use crate::console::Console;
use crate::error::Failure;
use crate::target::Target;
use names::Names;
use serde_json::{Value, json};
use shared::model::{InternalId, ItemId, LoginKind, Money, OrderLine, OrderStatus};
use shared::money::CurrencyFormat;
use shared::rules::line_refund::line_id;
use shared::shop::delivery::{Listed, listed_of};
use shared::shop::orders as store;
use shared::shop::orders::StoredOrder;
use shared::shop::orders::{self, SetStatusError};
use shared::shop::statistics::Statistics;
use shared::table::StoreError;
use std::fmt::Write as _;

/// A write without a response. The id is named even if it was created here: with it the same can be tried again.
fn unknown(error: StoreError, id: &InternalId, what: &str) -> Failure {
    let next = format!("Run the same command with the id {id} again: nothing is taken twice.");
    if matches!(error, StoreError::Contended) {
        return Failure::from(error).done("Nothing was written.").next(next);
    }
    Failure::from(error).done(format!("It is not known whether {what}.")).next(next)
}

pub(in crate::commands) async fn set_status(
    target: &Target,
    console: &Console,
    options: &SetStatus,
) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let id = InternalId::new(&options.id);
    if let Some(stored) = store::get(&target.db, &id).await? {
        leaves_the_provider_right(&stored, console, options)?;
    }
    let changed = orders::set_status(&target.db, target.clock.as_ref(), &id, options.status).await;
    let changed = changed.map_err(|error| {
        let what = format!("The status is not changed: {error}.");
        match error {
            SetStatusError::Store(error) => unknown(error, &id, "the status was changed"),
            _ => Failure::refused(what, "Look at it with `storectl order show`."),
        }
    })?;
    let order = &changed.stored.order;
    let (from, to) = (changed.from.as_str(), order.status.as_str());
    let mut text = if from == to {
        format!("Nothing to do: order {} is {to}.", order.internal_id)
    } else {
        format!("{} Order {} was {from} and is {to}.", paint(GOOD, "ok"), order.internal_id)
    };
    if from != to {
        let warning = "Only what is stored has changed: nothing was charged or refunded at a payment provider.";
        _ = write!(text, "\n{} {warning}", paint(WARN, "warning"));
    }
    notes(&mut text, &changed.unguarded, changed.statistics);
    let mut json = facts(&changed.stored, digits);
    json["from"] = from.into();
    json["statistics"] = word(changed.statistics).into();
    Ok(Answer::new(text, json))
}

/// Refuses what would leave a checkout at the provider that can still be paid, and asks before an order whose payment is there
/// is called refunded.
fn leaves_the_provider_right(stored: &StoredOrder, console: &Console, options: &SetStatus) -> Result<(), Failure> {
    let (id, from) = (&stored.order.internal_id, stored.order.status);
    let payment = stored.effects.provider.as_ref().and_then(|checkout| checkout.intent.as_ref());
    match (from, options.status, payment) {
        (OrderStatus::Pending, OrderStatus::Failed | OrderStatus::Cancelled, _) => {
            let what = format!("The status is not changed: order {id} is {}.", from.as_str());
            Err(Failure::refused(what, format!("`storectl order cancel {id}` ends it.")))
        }
        (OrderStatus::Pending, OrderStatus::Paid, _) if stored.is_checkout() => {
            let what =
                format!("The status is not changed: the checkout of order {id} can still be paid, or is paid already.");
            let next = format!(
                "`storectl order settle {id}` asks the provider. If it was paid elsewhere: `storectl order cancel {id}`, then \
                 the same command again."
            );
            Err(Failure::refused(what, next))
        }
        (OrderStatus::Paid, OrderStatus::Refunded, Some(payment)) => {
            let shown = format!(
                "Order {id} was paid at the payment provider ({payment}), which gives nothing back by this: \
                 `storectl order refund {id}` does."
            );
            console.confirm(&shown, "Call it REFUNDED all the same? It is final.", options.yes)
        }
        _ => Ok(()),
    }
}

fn notes(text: &mut String, unguarded: &[ItemId], statistics: Statistics) {
    if !unguarded.is_empty() {
        let items: Vec<String> = unguarded.iter().map(ToString::to_string).collect();
        let items = items.join(", ");
        _ = write!(text, "\n{} No longer published, so without a limit: {items}", paint(WARN, "note"));
    }
    if statistics == Statistics::Behind {
        let note = "Goals and donators do not show it yet; `storectl doctor` updates them.";
        _ = write!(text, "\n{} {note}", paint(WARN, "note"));
    }
}

const fn word(statistics: Statistics) -> &'static str {
    match statistics {
        Statistics::Current => "current",
        Statistics::Behind => "behind",
    }
}

pub(in crate::commands) async fn show(target: &Target, id: &str) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let digits = active.config.digits;
    let stored = store::get(&target.db, &InternalId::new(id)).await?;
    let stored = stored.ok_or_else(|| {
        Failure::refused("There is no order with this internal id.", "It is matched exactly, case included.")
    })?;
    let names = Names::read(target, std::slice::from_ref(&stored)).await?;
    let (order, format) = (&stored.order, format_of(&stored, digits));
    let owner = order.owner.map_or_else(|| "a guest".to_owned(), |owner| names.user(owner));
    let mut lines = vec![
        format!("{} {}", paint(STRONG, order.internal_id.as_str()), order.status.as_str()),
        format!("number {}, {} {}, {}, of {owner}", order.id, format.money(order.price), order.currency, order.gateway),
        shown_time(order.created_at),
    ];
    lines.extend(order.moved_to.map(|player| format!("moved to {}", names.user(player))));
    let card = stored.effects.gift_card.as_ref().map(|part| part.code.to_string());
    lines.extend(buyer_lines(&stored, format, &names, card.as_deref()));
    lines.extend(checkout_lines(&stored, format));
    lines.extend(own_lines(&stored, format));
    if stored.statistics_due() {
        lines.push(paint(WARN, "goals and donators do not show it yet; `storectl doctor` updates them"));
    }
    let row = |(place, line): (usize, &OrderLine)| {
        let (count, total) = (line.count.to_string(), format.money(line.total).to_string());
        let returned = (line.returned > 0).then(|| format!("{} refunded", line.returned));
        let choices = [returned.unwrap_or_default(), names.choices(line)];
        let note = choices.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ");
        vec![line_id(place, line).to_string(), line.item.to_string(), names.item(line), count, total, note]
    };
    let rows: Vec<_> = order.lines.iter().enumerate().map(row).collect();
    let mut text: Vec<String> = lines.iter().map(|line| wrapped(line)).collect();
    text.push(narrow_columns(&["LINE", "ITEM", "NAME", "COUNT", "TOTAL", ""], &rows));
    let (Listed { commands, unreadable }, now) = (listed_of(&target.db, &stored).await?, target.clock.seconds());
    let progress = Progress::of(commands.iter(), now);
    text.extend(progress.as_ref().map(|progress| format!("delivery: {progress}")));
    let of_commands = commands.iter().flat_map(|command| delivery::lines(command, &active, now));
    text.extend(of_commands.map(|line| wrapped(&line)));
    text.extend(delivery::left_out(&unreadable));
    let mut json = facts(&stored, digits);
    json["unreadable"] = delivery::named(&unreadable).into();
    json["commands"] = commands.iter().map(|command| delivery::facts(command, &active, now)).collect();
    json["delivery"] = json!(progress);
    names.add_to(&mut json, &stored);
    Ok(Answer::new(text.join("\n"), json))
}

/// The buyer of an order and the codes that were used, in words; `card` is how the gift card is named.
fn buyer_lines(stored: &StoredOrder, format: CurrencyFormat, names: &Names, card: Option<&str>) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    lines.extend(effects.via.map(|via| match via {
        LoginKind::Name => "logged in by name".to_owned(),
        LoginKind::Proven => "logged in by a token that proves the account".to_owned(),
    }));
    lines.extend(effects.chat.as_ref().map(|chat| format!("chat account {chat}")));
    lines.extend(effects.consented_at.map(|at| format!("agreed to terms and privacy policy at {}", shown_time(at))));
    lines.extend(effects.coupon.as_ref().map(|coupon| format!("coupon {coupon}")));
    let part = effects.gift_card.as_ref().zip(card);
    lines.extend(part.map(|(part, card)| format!("gift card {card} paid {}", format.money(part.amount))));
    if effects.virtual_currency > Money::ZERO {
        lines.push(format!("paid {} in virtual currency", format.money(effects.virtual_currency)));
    }
    let referral = effects.referral.as_ref();
    lines.extend(referral.map(|found| format!("referral {} of {}", found.code, names.user(found.owner))));
    lines
}

/// The checkout of an order, in words.
fn checkout_lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    if let Some(checkout) = &effects.provider {
        let session = checkout.session.as_deref().unwrap_or("not opened yet");
        let intent = checkout.intent.as_ref().map(|intent| format!(", payment {intent}")).unwrap_or_default();
        lines.push(format!("checkout {session}{intent}, ends {}", shown_time(checkout.expires_at)));
    }
    if refunded(stored) > Money::ZERO {
        lines.push(format!("refunded: {} of {}", format.money(refunded(stored)), format.money(stored.order.price)));
    }
    lines.extend(refund::lines(stored, format));
    lines.extend(effects.dispute.iter().map(|dispute| {
        let all = effects.disputes.iter().map(|(id, state)| format!("{id} {state}")).collect::<Vec<_>>();
        paint(WARN, &format!("dispute: {dispute} ({})", all.join(", ")))
    }));
    lines
}

/// Facts about an order that only the store's operator needs, in words.
fn own_lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    lines.extend(effects.due.map(|due| format!("something is left to do at {}", shown_time(due))));
    if effects.held {
        lines.push("holds what it sells".to_owned());
    }
    lines.extend(refund::own_lines(stored, format));
    if effects.over_limit {
        lines.push(paint(WARN, "a recipient is over a limit: another gift came in between"));
    }
    lines.extend(effects.review.iter().map(|review| paint(WARN, &format!("needs an operator: {review}"))));
    lines
}

/// The refunded part of an order's price: `effects.refunded` counts only parts.
fn refunded(stored: &StoredOrder) -> Money {
    if stored.order.status == OrderStatus::Refunded { stored.order.price } else { stored.effects.refunded }
}

/// The format of an order's amounts: in the digits with which it was recorded, or the store's.
pub(in crate::commands) fn format_of(stored: &StoredOrder, digits: u8) -> CurrencyFormat {
    CurrencyFormat::new(stored.order.digits.unwrap_or(digits))
}

fn facts(stored: &StoredOrder, digits: u8) -> Value {
    let (order, effects, format) = (&stored.order, &stored.effects, format_of(stored, digits));
    let line = |(place, line): (usize, &OrderLine)| {
        let chosen = line.chosen.as_ref();
        json!({
            "line": line_id(place, line), "returned": line.returned, "item": line.item, "name": chosen.map(|chosen| &chosen.name), "count": line.count,
            "total": format.money(line.total), "payment_type": line.payment_type, "recipient": line.recipient,
            "gift_to": chosen.and_then(|chosen| chosen.gift_to.as_ref()),
            "variables": chosen.map_or(&[][..], |chosen| &chosen.variables),
            "server": chosen.and_then(|chosen| chosen.server),
        })
    };
    let gift = effects.gift_card.as_ref();
    json!({
        "id": order.id, "internal_id": order.internal_id, "status": order.status, "price": format.money(order.price),
        "currency": order.currency, "gateway": order.gateway, "created_at": shown_time(order.created_at),
        "owner": order.owner, "moved_to": order.moved_to, "lines": order.lines.iter().enumerate().map(line).collect::<Vec<_>>(), "coupon": effects.coupon,
        "gift_card": gift.map(|part| json!({ "code": part.code, "amount": format.money(part.amount) })),
        "virtual_currency": format.money(effects.virtual_currency), "referral": effects.referral,
        "via": effects.via, "chat": effects.chat, "consented_at": effects.consented_at.map(shown_time),
        "statistics_due": stored.statistics_due(), "held": effects.held, "due": effects.due.map(shown_time),
        "provider": effects.provider.as_ref().map(|checkout| {
            json!({ "session": checkout.session, "intent": checkout.intent, "until": shown_time(checkout.expires_at) })
        }),
        "refunded": format.money(refunded(stored)), "over_limit": effects.over_limit, "review": effects.review,
        "dispute": effects.dispute, "disputes": effects.disputes, "refund": effects.refund.as_ref().map(|last| {
            json!({
                "number": last.number, "before": format.money(last.before), "after": format.money(last.after),
                "at": shown_time(last.at), "outcome": last.outcome, "reason": last.reason,
            })
        }),
        "failed_refunds": format.money(effects.failed_refunds), "unreturned": format.money(effects.unreturned),
        "reviewed": effects.reviewed.as_ref().map(|reviewed| {
            json!({ "reason": reviewed.reason, "outcome": reviewed.outcome, "at": shown_time(reviewed.at) })
        }),
    })
}
