//! `order record`.

use super::lines::{gift, requests};
use super::provider::{paid_checkout, settle_recorded};
use super::{facts, notes, unknown, word};
use crate::answer::{Answer, GOOD, WARN, paint};
use crate::cli::RecordOrder;
use crate::commands::common::{beginning, published};
use crate::commands::find_user::{find, near_user};
use crate::commands::items;
use crate::console::Console;
use crate::error::{Exit, Failure};
use crate::target::Target;
use serde_json::json;
use shared::model::{CodeText, GiftCardPayment, InternalId, Money, OrderLine, OrderStatus, Settings};
use shared::money::CurrencyFormat;
use shared::rules::order::{self as order_rules, UnknownCurrency};
use shared::shop::accounts::names;
use shared::shop::orders as store;
use shared::shop::orders::StoredOrder;
use shared::shop::orders::{self, LineRequest, NewOrder, OrderRequest, PaidCheckout, RecordError, RequestError};
use shared::table::{keys, read_published};
use std::fmt::Write as _;

/// The gateway of an order whose payment is at the provider, as checkouts name it.
const PROVIDER: &str = "Stripe";

pub(in crate::commands) async fn record(
    target: &Target,
    console: &Console,
    options: &RecordOrder,
) -> Result<Answer, Failure> {
    let active = published(target).await?;
    let digits = active.config.digits;
    let requests = requests(target, options, digits).await?;
    let owner = match &options.owner {
        Some(text) => Some(find(target, text).await?.id),
        None => None,
    };
    let coupon = options.coupon.as_deref().map(code).transpose()?;
    let gift_card = options.gift.as_deref().map(|text| gift(text, digits)).transpose()?;
    let paid = match &options.session {
        Some(session) => Some(paid_checkout(target, session).await?),
        None => None,
    };
    let id = internal_id(options, paid.as_ref())?;
    let recorded = store::get(&target.db, &id).await?;
    if let (Some(stored), Some(session)) = (&recorded, &options.session) {
        must_be_recorded_by(stored, session)?;
    }
    if recorded.is_none() {
        confirm_people(target, console, options, &requests).await?;
    }
    let created_at = options.at.as_deref().map(|text| beginning(text, target.clock.seconds())).transpose()?;
    let at = created_at.unwrap_or_else(|| target.clock.seconds());
    let is_past = options.past || paid.is_some() || recorded.is_some();
    let (lines, card) = (&requests, gift_card.as_ref());
    let request = OrderRequest { owner, lines, coupon: coupon.as_ref(), gift_card: card, at, is_past };
    let lines = orders::lines(&target.db, target.clock.as_ref(), &request).await.map_err(not_sold)?;
    let settings: Settings = read_published(&target.db, &keys::settings(&active.version)).await?.unwrap_or_default();
    let currency = match &paid {
        Some(paid) => paid.currency.clone(),
        None => currency(&settings, options.currency.as_deref(), recorded.as_ref())?,
    };
    let price = match (&paid, &options.price) {
        (Some(paid), _) => as_paid(paid, &lines, gift_card.as_ref(), digits)?,
        (None, Some(text)) => items::money("--price", text, digits)?,
        (None, None) => charged(&settings, &currency, &lines, gift_card.as_ref())?,
    };
    let new = NewOrder {
        internal_id: Some(id.clone()),
        status: options.status,
        price,
        currency,
        digits,
        gateway: options.gateway.clone().unwrap_or_else(|| PROVIDER.to_owned()),
        owner,
        lines,
        coupon,
        gift_card,
        created_at,
        payment: paid,
        delivers: !options.no_delivery,
    };
    record_and_render(target, new, &id, &settings).await
}

fn code(text: &str) -> Result<CodeText, Failure> {
    CodeText::parse(text).map_err(|_| Failure::refused("The code is blank.", "Leave it out, or give one."))
}

/// Asks before an order has no owner, or a gift is for a name that has no account: most often a name is missing or misspelt.
async fn confirm_people(
    target: &Target,
    console: &Console,
    options: &RecordOrder,
    requests: &[LineRequest],
) -> Result<(), Failure> {
    let mut doubts = Vec::new();
    if options.owner.is_none() {
        doubts.push("The order has no owner: nobody owns what it sells. --owner USER gives it one.".to_owned());
    }
    for name in requests.iter().filter(|request| request.recipient.is_none()).filter_map(|line| line.gift_to.as_ref()) {
        // A former name finds its account too.
        if names::find(&target.db, name.key()).await?.is_some() {
            continue;
        }
        let near = near_user(target, name.as_str()).await?;
        doubts.push(format!("There is no user {name}: an account is made for the name.{near}"));
    }
    if doubts.is_empty() || options.yes {
        return Ok(());
    }
    let shown = doubts.join("\n");
    let failure =
        |failure: Failure| Failure::new(failure.exit, shown.clone(), "Correct it, or add --yes if it is meant.");
    console.confirm(&shown, "Record it?", false).map_err(failure)
}

/// The order's id: the one that is given or that the provider's checkout names, otherwise a new one.
fn internal_id(options: &RecordOrder, paid: Option<&PaidCheckout>) -> Result<InternalId, Failure> {
    match (paid, &options.id) {
        (Some(paid), _) => Ok(paid.order.clone()),
        (None, Some(id)) => Ok(InternalId::new(id.trim())),
        (None, None) => orders::new_internal_id().ok_or_else(|| {
            Failure::new(Exit::Local, "The system has no random numbers for an id.", "Pass --id, or repair the system.")
        }),
    }
}

/// An order that exists may only be one that the same command has recorded.
fn must_be_recorded_by(stored: &StoredOrder, session: &str) -> Result<(), Failure> {
    let known = stored.session();
    if known == Some(session) && stored.effects.recorded_as == Some(OrderStatus::Paid) {
        return Ok(());
    }
    let (id, status) = (&stored.order.internal_id, stored.order.status.as_str());
    let what = format!("The order is not recorded: order {id} exists and is {status}.");
    Err(Failure::refused(what, format!("`storectl order settle {id}` asks the provider about it.")))
}

/// The amount of a payment, which must be what the lines cost.
fn as_paid(
    paid: &PaidCheckout,
    lines: &[OrderLine],
    gift_card: Option<&GiftCardPayment>,
    digits: u8,
) -> Result<Money, Failure> {
    let total: Money = lines.iter().map(|line| line.total).sum();
    let total = gift_card.map_or(total, |payment| total.less(payment.amount));
    if total == paid.amount {
        return Ok(total);
    }
    let format = CurrencyFormat::new(digits);
    let what = format!(
        "The order is not recorded: its lines cost {}, and the buyer paid {} {}.",
        format.money(total),
        format.money(paid.amount),
        paid.currency
    );
    Err(Failure::refused(what, "Give what each line cost, as its TOTAL: --line ITEM:COUNT:TOTAL."))
}

async fn record_and_render(
    target: &Target,
    new: NewOrder,
    id: &InternalId,
    settings: &Settings,
) -> Result<Answer, Failure> {
    let (digits, has_payment) = (new.digits, new.payment.is_some());
    let recorded = orders::record(&target.db, target.clock.as_ref(), new).await;
    let mut recorded = recorded.map_err(|error| not_recorded(error, id))?;
    if has_payment {
        recorded.stored = settle_recorded(target, id).await?;
    }
    let order = &recorded.stored.order;
    let state = if recorded.already { "was recorded already; nothing was taken again" } else { "is recorded" };
    let mut text = format!("{} Order {} {state}: {}.", paint(GOOD, "ok"), order.internal_id, order.status.as_str());
    notes(&mut text, &recorded.unguarded, recorded.statistics);
    let cost =
        order_rules::charged(settings, &order.currency, &order.lines, recorded.stored.effects.gift_card.as_ref());
    if let Some(cost) = cost.filter(|cost| order.status == OrderStatus::Paid && *cost != order.price) {
        let format = CurrencyFormat::new(digits);
        let (cost, price) = (format.money(cost), format.money(order.price));
        let note = "Goals and donators count the price, upgrades the lines. `order set-status ID REFUNDED` takes an order back.";
        _ = write!(text, "\n{} Its lines cost {cost}, and {price} was paid. {note}", paint(WARN, "note"));
    }
    let mut json = facts(&recorded.stored, digits);
    json["already"] = recorded.already.into();
    json["unguarded"] = json!(recorded.unguarded);
    json["statistics"] = word(recorded.statistics).into();
    Ok(Answer::new(text, json))
}

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

fn not_sold(error: RequestError) -> Failure {
    let what = format!("The order is not recorded: {}.", error.to_string().trim_end_matches('.'));
    match error {
        RequestError::Store(error) => error.into(),
        RequestError::UnknownUser(_) => Failure::refused(what, "Create the account first: `storectl user add`."),
        _ => Failure::refused(
            what,
            "A checkout would refuse it too. Correct it, or add --past to record what was sold before.",
        ),
    }
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
        RecordError::NoRandomness => Failure::new(Exit::Local, what, "Pass --id, or repair the system."),
        RecordError::Store(error) => unknown(error, id, "the order was recorded"),
    }
}
