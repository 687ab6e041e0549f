//! `order record`, `set-status` and `show`.

use super::users::find;
use super::{items, published, shown_time, time};
use crate::answer::{Answer, GOOD, STRONG, WARN, columns, paint};
use crate::cli::{RecordOrder, SetStatus};
use crate::error::{Exit, Failure};
use crate::orders::{self, GiftPart, NewLine, NewOrder, RecordError, SetStatusError, Statistics, Stored};
use crate::target::Target;
use serde_json::{Value, json};
use shared::http::wire::Wire;
use shared::model::{CodeText, InternalId, ItemId, Money, Settings};
use shared::store::codec::decode_published;
use shared::store::{StoreError, keys};
use std::fmt::Write as _;

pub(super) async fn record(target: &Target, options: &RecordOrder) -> Result<Answer, Failure> {
    let pointer = published(target).await?;
    let digits = pointer.config.digits;
    let mut lines = Vec::with_capacity(options.lines.len());
    for text in &options.lines {
        lines.push(line(target, &pointer.version, text, digits).await?);
    }
    let price = match &options.price {
        Some(text) => items::money("--price", text, digits)?,
        None => lines.iter().map(|line| line.total).sum(),
    };
    let owner = match &options.owner {
        Some(text) => Some(find(target, text).await?.id),
        None => None,
    };
    let code = |text: &str| {
        CodeText::parse(text).map_err(|_| Failure::refused("The code is blank.", "Leave it out, or give one."))
    };
    let gift_card = match options.gift.as_deref() {
        Some(text) => Some(gift(text, digits)?),
        None => None,
    };
    let id = match &options.id {
        Some(id) => InternalId::new(id),
        None => orders::internal_id().ok_or_else(|| {
            Failure::new(Exit::Local, "The system gives no random numbers for an id.", "Pass --id, or mend the system.")
        })?,
    };
    let new = NewOrder {
        internal_id: Some(id.clone()),
        status: options.status,
        price,
        currency: match &options.currency {
            Some(currency) => currency.clone(),
            None => currency(target, &pointer.version).await?,
        },
        gateway: options.gateway.clone(),
        owner,
        lines,
        coupon: options.coupon.as_deref().map(code).transpose()?,
        gift_card,
        created_at: options.at.as_deref().map(|text| time(text, target.clock.seconds())).transpose()?,
    };
    let recorded = orders::record(&target.db, target.clock.as_ref(), new).await;
    let recorded = recorded.map_err(|error| not_recorded(error, &id))?;
    let order = &recorded.stored.order;
    let said = if recorded.already { "was recorded already; nothing was taken again" } else { "is recorded" };
    let mut text = format!("{} Order {} {said}: {}.", paint(GOOD, "ok"), order.internal_id, order.status.as_str());
    notes(&mut text, &recorded.unguarded, recorded.statistics);
    let mut json = facts(&recorded.stored, digits);
    json["already"] = recorded.already.into();
    json["unguarded"] = json!(recorded.unguarded);
    json["statistics"] = word(recorded.statistics).into();
    Ok(Answer::new(text, json))
}

/// The store's currency.
async fn currency(target: &Target, version: &str) -> Result<String, Failure> {
    let key = keys::settings(version);
    let read = target.db.get(&key, true).await?.map(|item| decode_published(&key, &item)).transpose();
    let read: Option<(Settings, usize)> = read.map_err(|error: StoreError| Failure::from(error))?;
    Ok(read.map(|(settings, _)| settings.system_currency.name).unwrap_or_default())
}

/// Reads `ITEM[:COUNT[:TOTAL]]`; without a total the line costs what the item costs now.
async fn line(target: &Target, version: &str, text: &str, digits: u8) -> Result<NewLine, Failure> {
    let wrong =
        |what: &str| Failure::refused(format!("The line {text:?} {what}."), "Write it as ITEM[:COUNT[:TOTAL]].");
    let mut parts = text.split(':');
    let item: ItemId = parts.next().and_then(|id| id.trim().parse().ok()).ok_or_else(|| wrong("names no item"))?;
    let count = parts.next().map_or(Ok(1), str::parse::<u32>).map_err(|_| wrong("has no count"))?;
    let total = parts.next();
    if parts.next().is_some() || count == 0 {
        return Err(wrong("cannot be read"));
    }
    let total = match total {
        Some(total) => items::money("A line's total", total, digits)?,
        None => {
            let published = items::item(target, version, item).await?;
            published.item.price.less(published.item.discount).times(count)
        }
    };
    Ok(NewLine { item, count, total })
}

/// Reads `CODE:AMOUNT`; a code may hold colons, an amount none.
fn gift(text: &str, digits: u8) -> Result<GiftPart, Failure> {
    let wrong = || Failure::refused("--gift cannot be read.", "Write it as CODE:AMOUNT.");
    let (code, amount) = text.rsplit_once(':').ok_or_else(wrong)?;
    let amount: Money = items::money("The amount of --gift", amount, digits)?;
    Ok(GiftPart { code: CodeText::parse(code).map_err(|_| wrong())?, amount })
}

fn not_recorded(error: RecordError, id: &InternalId) -> Failure {
    let said = format!("The order is not recorded: {error}.");
    match error {
        RecordError::Invalid { .. } => Failure::refused(said, "Mend it and try again."),
        RecordError::Differs { .. } => {
            Failure::refused(said, "Look at it with `storectl order show`; a new order needs another --id.")
        }
        RecordError::UnknownOwner(_) => Failure::refused(said, "Make the account first: `storectl user add`."),
        RecordError::Refused(_) => {
            Failure::refused(said, "Give the buyer their money back, or raise the limit and publish, then record it.")
        }
        RecordError::Busy => Failure::new(Exit::Raced, said, "Run the same command with the same --id again."),
        RecordError::NoRandomness => Failure::new(Exit::Local, said, "Pass --id, or mend the system."),
        RecordError::Store(error) => unknown(error, id, "the order was recorded"),
    }
}

/// A write without an answer. The id is named even where it was made here: with it the same can be tried again.
fn unknown(error: StoreError, id: &InternalId, what: &str) -> Failure {
    let next = format!("Run the same command with the id {id} again: nothing happens twice.");
    Failure::from(error).done(format!("It is not known whether {what}.")).next(next)
}

pub(super) async fn set_status(target: &Target, options: &SetStatus) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let id = InternalId::new(&options.id);
    let changed = orders::set_status(&target.db, &id, options.status).await;
    let changed = changed.map_err(|error| {
        let said = format!("The status is not changed: {error}.");
        match error {
            SetStatusError::Store(error) => unknown(error, &id, "the status was changed"),
            SetStatusError::Busy => Failure::new(Exit::Raced, said, "Run the same command again."),
            _ => Failure::refused(said, "Look at it with `storectl order show`."),
        }
    })?;
    let order = &changed.stored.order;
    let (from, to) = (changed.from.as_str(), order.status.as_str());
    let mut text = if from == to {
        format!("Nothing to do: order {} is {to}.", order.internal_id)
    } else {
        format!("{} Order {} was {from} and is {to}.", paint(GOOD, "ok"), order.internal_id)
    };
    notes(&mut text, &changed.unguarded, changed.statistics);
    let mut json = facts(&changed.stored, digits);
    json["from"] = from.into();
    json["statistics"] = word(changed.statistics).into();
    Ok(Answer::new(text, json))
}

fn notes(text: &mut String, unguarded: &[ItemId], statistics: Statistics) {
    if !unguarded.is_empty() {
        let items: Vec<String> = unguarded.iter().map(ToString::to_string).collect();
        let items = items.join(", ");
        _ = write!(text, "\n{} Not published any more, so guarded by no limit: {items}", paint(WARN, "note"));
    }
    if statistics == Statistics::Behind {
        let note = "Goals and donators do not show it yet; `storectl doctor` lets them follow.";
        _ = write!(text, "\n{} {note}", paint(WARN, "note"));
    }
}

const fn word(statistics: Statistics) -> &'static str {
    match statistics {
        Statistics::Current => "current",
        Statistics::Behind => "behind",
    }
}

pub(super) async fn show(target: &Target, id: &str) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let stored = orders::show(&target.db, &InternalId::new(id)).await?;
    let stored = stored.ok_or_else(|| {
        Failure::refused("There is no order with this internal id.", "It is matched exactly, case included.")
    })?;
    let (order, wire) = (&stored.order, Wire::new(digits));
    let owner = order.owner.map_or_else(|| "nobody".to_owned(), |owner| format!("user {owner}"));
    let mut lines = vec![
        format!("{} {}", paint(STRONG, order.internal_id.as_str()), order.status.as_str()),
        format!("number {}, {} {}, {}, of {owner}", order.id, wire.money(order.price), order.currency, order.gateway),
        shown_time(order.created_at),
    ];
    if stored.statistics_due() {
        lines.push(paint(WARN, "goals and donators do not show it yet; `storectl doctor` lets them follow"));
    }
    let row = |line: &NewLine| vec![line.item.to_string(), line.count.to_string(), wire.money(line.total).to_string()];
    lines.push(columns(&["ITEM", "COUNT", "TOTAL"], &order.lines.iter().map(row).collect::<Vec<_>>()));
    Ok(Answer::new(lines.join("\n"), facts(&stored, digits)))
}

fn facts(stored: &Stored, digits: u8) -> Value {
    let (order, trace, wire) = (&stored.order, &stored.trace, Wire::new(digits));
    let line = |line: &NewLine| json!({ "item": line.item, "count": line.count, "total": wire.money(line.total) });
    let gift = trace.gift_card.as_ref();
    json!({
        "id": order.id, "internal_id": order.internal_id, "status": order.status, "price": wire.money(order.price),
        "currency": order.currency, "gateway": order.gateway, "created_at": shown_time(order.created_at),
        "owner": order.owner, "lines": order.lines.iter().map(line).collect::<Vec<_>>(), "coupon": trace.coupon,
        "gift_card": gift.map(|part| json!({ "code": part.code, "amount": wire.money(part.amount) })),
        "statistics_due": stored.statistics_due(),
    })
}
