//! `order …`. Here are `record`, `set-status` and `show`.

mod list;
mod provider;

pub(super) use list::list;
pub(super) use provider::{cancel, end_checkout, refund, settle};

use crate::answer::{Answer, GOOD, STRONG, WARN, columns, paint};
use crate::cli::{RecordOrder, SetStatus};
use crate::commands::common::{published, shown_time, time};
use crate::commands::items;
use crate::commands::users::find;
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::{Value, json};
use shared::http::wire::CurrencyFormat;
use shared::model::{CodeText, GiftCardPayment, InternalId, ItemId, Money, OrderLine, OrderStatus, Settings};
use shared::rules::order::{self as order_rules, UnknownCurrency};
use shared::store::orders::{self as store, StoredOrder};
use shared::store::{StoreError, keys, read_published};
use shared::usecases::orders::{self, LineRequest, NewOrder, PriceError, RecordError, SetStatusError, Statistics};
use std::fmt::Write as _;

pub(in crate::commands) async fn record(target: &Target, options: &RecordOrder) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let digits = active.config.digits;
    let mut requests = Vec::with_capacity(options.lines.len());
    for text in &options.lines {
        requests.push(line(target, text, digits).await?);
    }
    let owner = match &options.owner {
        Some(text) => Some(find(target, text).await?.id),
        None => None,
    };
    let code = |text: &str| {
        CodeText::parse(text).map_err(|_| Failure::refused("The code is blank.", "Leave it out, or give one."))
    };
    let coupon = options.coupon.as_deref().map(code).transpose()?;
    let gift_card = match options.gift.as_deref() {
        Some(text) => Some(gift(text, digits)?),
        None => None,
    };
    let recorded = match &options.id {
        Some(id) => store::get(&target.db, &InternalId::new(id)).await?,
        None => None,
    };
    let id = match &options.id {
        Some(id) => InternalId::new(id),
        None => orders::new_internal_id().ok_or_else(|| {
            Failure::new(Exit::Local, "The system has no random numbers for an id.", "Pass --id, or repair the system.")
        })?,
    };
    let created_at = options.at.as_deref().map(|text| time(text, target.clock.seconds())).transpose()?;
    let at = created_at.unwrap_or_else(|| target.clock.seconds());
    let lines = orders::price(&target.db, recorded.as_ref(), owner, &requests, coupon.as_ref(), at).await;
    let lines = lines.map_err(no_price)?;
    let settings: Option<Settings> = read_published(&target.db, &keys::settings(&active.version)).await?;
    let settings = settings.unwrap_or_default();
    let currency = currency(&settings, options.currency.as_deref(), recorded.as_ref())?;
    let price = match (&options.price, &recorded) {
        (Some(text), _) => items::money("--price", text, digits)?,
        (None, Some(recorded)) => recorded.order.price,
        (None, None) => charged(&settings, &currency, &lines, gift_card.as_ref())?,
    };
    let new = NewOrder {
        internal_id: Some(id.clone()),
        status: options.status,
        price,
        currency,
        digits,
        gateway: options.gateway.clone(),
        owner,
        lines,
        coupon,
        gift_card,
        created_at,
    };
    record_and_render(target, new, &id).await
}

/// Records an order and renders the result.
async fn record_and_render(target: &Target, new: NewOrder, id: &InternalId) -> Result<Answer, Failure> {
    let digits = new.digits;
    let recorded = orders::record(&target.db, target.clock.as_ref(), new).await;
    let recorded = recorded.map_err(|error| not_recorded(error, id))?;
    let order = &recorded.stored.order;
    let state = if recorded.already { "was recorded already; nothing was taken again" } else { "is recorded" };
    let mut text = format!("{} Order {} {state}: {}.", paint(GOOD, "ok"), order.internal_id, order.status.as_str());
    notes(&mut text, &recorded.unguarded, recorded.statistics);
    let mut json = facts(&recorded.stored, digits);
    json["already"] = recorded.already.into();
    json["unguarded"] = json!(recorded.unguarded);
    json["statistics"] = word(recorded.statistics).into();
    Ok(Answer::new(text, json))
}

/// The currency of an order, by the published settings.
fn currency(settings: &Settings, wanted: Option<&str>, recorded: Option<&StoredOrder>) -> Result<String, Failure> {
    let kept = recorded.map(|stored| stored.order.currency.as_str());
    let chosen = order_rules::currency(settings, wanted, kept).map_err(|UnknownCurrency(wanted)| {
        let all: Vec<&str> = settings.order_currencies().collect();
        let what = format!("{wanted:?} is not a currency of this store ({}).", all.join(", "));
        Failure::refused(what, "Correct it, or add it to `currencies` in store.yaml and publish.")
    })?;
    Ok(chosen.to_owned())
}

/// The amount charged if it is not given.
fn charged(
    settings: &Settings,
    currency: &str,
    lines: &[OrderLine],
    gift_card: Option<&GiftCardPayment>,
) -> Result<Money, Failure> {
    order_rules::charged(settings, currency, lines, gift_card).ok_or_else(|| {
        let own = &settings.system_currency.name;
        let what = format!("The amount charged in {currency} is not known: prices are in {own}.");
        Failure::refused(what, "Give --price.")
    })
}

fn no_price(error: PriceError) -> Failure {
    let what = format!("The order is not recorded: {error}.");
    match error {
        PriceError::Store(error) => error.into(),
        PriceError::SomeWithCoupon => Failure::refused(what, "Give the TOTAL of every line, after the coupon."),
        PriceError::NotPublished(_)
        | PriceError::AnyPrice(_)
        | PriceError::Unavailable(_)
        | PriceError::OnlyOne(_)
        | PriceError::Coupon(_) => Failure::refused(what, "Give what was paid, as the line's TOTAL: ITEM:COUNT:TOTAL."),
    }
}

/// Reads `ITEM[:COUNT[:TOTAL]][@RECIPIENT]`.
async fn line(target: &Target, text: &str, digits: u8) -> Result<LineRequest, Failure> {
    let wrong = |what: &str| {
        let what = format!("The line {text:?} {what}.");
        Failure::refused(what, "Write it as ITEM[:COUNT[:TOTAL]][@RECIPIENT].")
    };
    // There is no @ before the recipient; a name may have any character.
    let (bought, recipient) = text.split_once('@').map_or((text, None), |(bought, name)| (bought, Some(name)));
    let mut parts = bought.split(':');
    let item: ItemId = parts.next().and_then(|id| id.trim().parse().ok()).ok_or_else(|| wrong("has no item"))?;
    let count = parts.next().map_or(Ok(1), str::parse::<u32>).map_err(|_| wrong("has no count"))?;
    let total = parts.next().map(|total| items::money("A line's total", total, digits)).transpose()?;
    if parts.next().is_some() || count == 0 {
        return Err(wrong("cannot be read"));
    }
    let recipient = match recipient {
        Some(name) => Some(find(target, name).await?.id),
        None => None,
    };
    Ok(LineRequest { item, count, total, recipient })
}

/// Reads `CODE:AMOUNT`. A code may have colons, an amount has none.
fn gift(text: &str, digits: u8) -> Result<GiftCardPayment, Failure> {
    let wrong = || Failure::refused("--gift cannot be read.", "Write it as CODE:AMOUNT.");
    let (code, amount) = text.rsplit_once(':').ok_or_else(wrong)?;
    let amount: Money = items::money("The amount of --gift", amount, digits)?;
    Ok(GiftCardPayment { code: CodeText::parse(code).map_err(|_| wrong())?, amount })
}

fn not_recorded(error: RecordError, id: &InternalId) -> Failure {
    let what = format!("The order is not recorded: {error}.");
    match error {
        RecordError::Invalid { .. } => Failure::refused(what, "Correct it and try again."),
        RecordError::Differs { .. } => {
            Failure::refused(what, "Look at it with `storectl order show`; a new order needs another --id.")
        }
        RecordError::UnknownUser(_) => Failure::refused(what, "Create the account first: `storectl user add`."),
        RecordError::Refused(_) => {
            Failure::refused(what, "Refund the buyer, or raise the limit and publish, then record it.")
        }
        RecordError::Conflict => Failure::new(Exit::Raced, what, "Run the same command with the same --id again."),
        RecordError::NoRandomness => Failure::new(Exit::Local, what, "Pass --id, or repair the system."),
        RecordError::Store(error) => unknown(error, id, "the order was recorded"),
    }
}

/// A write without a response. The id is named even if it was created here: with it the same can be tried again.
fn unknown(error: StoreError, id: &InternalId, what: &str) -> Failure {
    let next = format!("Run the same command with the id {id} again: nothing is taken twice.");
    Failure::from(error).done(format!("It is not known whether {what}.")).next(next)
}

pub(in crate::commands) async fn set_status(target: &Target, options: &SetStatus) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let id = InternalId::new(&options.id);
    let changed = orders::set_status(&target.db, target.clock.as_ref(), &id, options.status).await;
    let changed = changed.map_err(|error| {
        let what = format!("The status is not changed: {error}.");
        match error {
            SetStatusError::Store(error) => unknown(error, &id, "the status was changed"),
            SetStatusError::Conflict => Failure::new(Exit::Raced, what, "Run the same command again."),
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
    let digits = published(target).await?.config.digits;
    let stored = store::get(&target.db, &InternalId::new(id)).await?;
    let stored = stored.ok_or_else(|| {
        Failure::refused("There is no order with this internal id.", "It is matched exactly, case included.")
    })?;
    let (order, format) = (&stored.order, format_of(&stored, digits));
    let owner = order.owner.map_or_else(|| "a guest".to_owned(), |owner| format!("user {owner}"));
    let mut lines = vec![
        format!("{} {}", paint(STRONG, order.internal_id.as_str()), order.status.as_str()),
        format!("number {}, {} {}, {}, of {owner}", order.id, format.money(order.price), order.currency, order.gateway),
        shown_time(order.created_at),
    ];
    lines.extend(checkout_lines(&stored, format));
    if stored.statistics_due() {
        lines.push(paint(WARN, "goals and donators do not show it yet; `storectl doctor` updates them"));
    }
    let gift = |line: &OrderLine| line.recipient.map(|user| format!("gift for user {user}")).unwrap_or_default();
    let row = |line: &OrderLine| {
        vec![line.item.to_string(), line.count.to_string(), format.money(line.total).to_string(), gift(line)]
    };
    lines.push(columns(&["ITEM", "COUNT", "TOTAL", ""], &order.lines.iter().map(row).collect::<Vec<_>>()));
    Ok(Answer::new(lines.join("\n"), facts(&stored, digits)))
}

/// What an order says of its checkout, in words.
fn checkout_lines(stored: &StoredOrder, format: CurrencyFormat) -> Vec<String> {
    let effects = &stored.effects;
    let mut lines = Vec::new();
    if let Some(checkout) = &effects.provider {
        let session = checkout.session.as_deref().unwrap_or("not opened yet");
        let intent = checkout.intent.as_ref().map(|intent| format!(", payment {intent}")).unwrap_or_default();
        lines.push(format!("checkout {session}{intent}, ends {}", shown_time(checkout.expires_at)));
    }
    lines.extend(effects.due.map(|due| format!("something is left to do at {}", shown_time(due))));
    if effects.held {
        lines.push("holds what it sells".to_owned());
    }
    if refunded(stored) > Money::ZERO {
        lines.push(format!("refunded: {} of {}", format.money(refunded(stored)), format.money(stored.order.price)));
    }
    if effects.over_limit {
        lines.push(paint(WARN, "a recipient is over a limit: another gift came in between"));
    }
    lines.extend(effects.review.iter().map(|review| paint(WARN, &format!("needs an operator: {review}"))));
    lines.extend(effects.dispute.iter().map(|dispute| paint(WARN, &format!("disputed: {dispute}"))));
    lines
}

/// What was given back of an order's price: `effects.refunded` counts only parts.
fn refunded(stored: &StoredOrder) -> Money {
    if stored.order.status == OrderStatus::Refunded { stored.order.price } else { stored.effects.refunded }
}

/// The format of an order's amounts: in the digits with which it was recorded, or the store's.
fn format_of(stored: &StoredOrder, digits: u8) -> CurrencyFormat {
    CurrencyFormat::new(stored.order.digits.unwrap_or(digits))
}

fn facts(stored: &StoredOrder, digits: u8) -> Value {
    let (order, effects, format) = (&stored.order, &stored.effects, format_of(stored, digits));
    let line = |line: &OrderLine| {
        json!({
            "item": line.item, "count": line.count, "total": format.money(line.total),
            "payment_type": line.payment_type, "recipient": line.recipient,
        })
    };
    let gift = effects.gift_card.as_ref();
    json!({
        "id": order.id, "internal_id": order.internal_id, "status": order.status, "price": format.money(order.price),
        "currency": order.currency, "gateway": order.gateway, "created_at": shown_time(order.created_at),
        "owner": order.owner, "lines": order.lines.iter().map(line).collect::<Vec<_>>(), "coupon": effects.coupon,
        "gift_card": gift.map(|part| json!({ "code": part.code, "amount": format.money(part.amount) })),
        "statistics_due": stored.statistics_due(), "held": effects.held, "due": effects.due.map(shown_time),
        "provider": effects.provider.as_ref().map(|checkout| {
            json!({ "session": checkout.session, "intent": checkout.intent, "until": shown_time(checkout.expires_at) })
        }),
        "refunded": format.money(refunded(stored)), "over_limit": effects.over_limit, "review": effects.review,
        "dispute": effects.dispute,
    })
}
