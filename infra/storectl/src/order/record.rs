//! `order record`.

use super::settle::{paid_checkout, settle_recorded};
use super::show::facts;
use super::{notes, status, unknown};
use crate::arguments::{beginning, money};
use crate::prelude::*;
use crate::user::{as_at_login, find, near_user, on_servers};
use shared::model::{
    CodeText, GiftCardPayment, InternalId, ItemId, LineVariable, Money, OrderLine, OrderStatus, PlayerName, ServerId,
    Settings, UserId,
};
use shared::money::CurrencyFormat;
use shared::rules::order::{self as order_rules, UnknownCurrency};
use shared::shop::accounts::names;
use shared::shop::orders as store;
use shared::shop::orders::StoredOrder;
use shared::shop::orders::{self, LineRequest, NewOrder, OrderRequest, PaidCheckout, RecordError, RequestError};
use shared::table::{keys, read_published};
use std::fmt::Write as _;

#[derive(Debug, Clone, Args)]
pub struct RecordOrder {
    /// The id that buyers and the gateway use; a random one by default.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// A paid checkout at the payment provider whose order is missing, by its id there (`cs_…`).
    #[arg(long, value_name = "ID", conflicts_with_all = ["id", "status", "price", "currency"])]
    pub session: Option<String>,
    /// PENDING, PAID, FAILED, CANCELLED or REFUNDED.
    #[arg(long, default_value = "PAID", value_parser = status)]
    pub status: OrderStatus,
    /// The amount charged, in `--currency`; if not given, the sum of the lines less the gift card.
    #[arg(long, value_name = "A")]
    pub price: Option<String>,
    /// Currency of the price: the store's (if not given), or another one that buyers may pay in.
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// Name of the payment gateway.
    #[arg(long, value_name = "NAME", required_unless_present = "session")]
    pub gateway: Option<String>,
    /// The owner, id or name; without it the order has none, which is asked.
    #[arg(long, value_name = "USER")]
    pub owner: Option<String>,
    /// A line: item, count, and what the line cost after any coupon, in the store's currency; with @ and a player's
    /// name or a user's id, a gift for them: it counts for their limits and ownership, not the owner's.
    #[arg(long = "line", value_name = "ITEM:COUNT:TOTAL[@RECIPIENT]", required = true)]
    pub lines: Vec<String>,
    /// A variable's value; with more than one --line, LINE is the place of the one it belongs to, from 1.
    #[arg(long = "var", value_name = "[LINE:]ID=VALUE", value_parser = variable_of_line)]
    pub variables: Vec<ForLine<(u64, String)>>,
    /// The selected server; LINE as for --var.
    #[arg(long = "server", value_name = "[LINE:]ID", value_parser = server_of_line)]
    pub servers: Vec<ForLine<u64>>,
    /// Coupon that was used.
    #[arg(long, value_name = "CODE", conflicts_with = "gift")]
    pub coupon: Option<String>,
    /// Gift card that was used, and what was taken from it, at most what the lines cost.
    #[arg(long, value_name = "CODE:AMOUNT")]
    pub gift: Option<String>,
    /// When it was made, a time or the beginning of a day such as 2026-05-01 (UTC); now by default.
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// It was sold before: record it although a checkout would refuse it now.
    #[arg(long)]
    pub past: bool,
    /// Run none of its commands on game servers: it was delivered before.
    #[arg(long)]
    pub no_delivery: bool,
    /// Do not ask about an order without an owner, or a recipient who has no account.
    #[arg(long, short)]
    pub yes: bool,
}

/// A value of one of an order's lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForLine<T> {
    /// The line's place, from 1; `None` if the order has one line only.
    pub line: Option<usize>,
    pub value: T,
}

fn variable_of_line(text: &str) -> Result<ForLine<(u64, String)>, String> {
    let (id, value) = text.split_once('=').ok_or("write it as ID=VALUE, or LINE:ID=VALUE, such as 2:1=Morning")?;
    let ForLine { line, value: id } = server_of_line(id)?;
    Ok(ForLine { line, value: (id, value.to_owned()) })
}

fn server_of_line(text: &str) -> Result<ForLine<u64>, String> {
    let (line, id) = text.split_once(':').map_or((None, text), |(line, id)| (Some(line), id));
    let line = line.map(|line| line.trim().parse().map_err(|_| "the LINE before : must be a number".to_owned()));
    let id = id.trim().parse().map_err(|_| "the ID must be a number".to_owned())?;
    Ok(ForLine { line: line.transpose()?, value: id })
}

/// The gateway of an order whose payment is at the provider, as checkouts name it.
const PROVIDER: &str = "Stripe";

pub async fn record(at: &Deployment, console: &Console, options: &RecordOrder) -> Outcome {
    let active = at.published().await?;
    let digits = active.config.digits;
    let requests = requests(at, options, digits).await?;
    let owner = match &options.owner {
        Some(text) => Some(find(at, text).await?.id),
        None => None,
    };
    let coupon = options.coupon.as_deref().map(code).transpose()?;
    let gift_card = options.gift.as_deref().map(|text| gift(text, digits)).transpose()?;
    let paid = match &options.session {
        Some(session) => Some(paid_checkout(at, session).await?),
        None => None,
    };
    let id = internal_id(options, paid.as_ref())?;
    let recorded = store::get(&at.db, &id).await?;
    if let (Some(stored), Some(session)) = (&recorded, &options.session) {
        must_be_recorded_by(stored, session)?;
    }
    if recorded.is_none() {
        confirm_people(at, console, options, &requests).await?;
    }
    let created_at = options.at.as_deref().map(|text| beginning(text, at.clock.seconds())).transpose()?;
    let made_at = created_at.unwrap_or_else(|| at.clock.seconds());
    let is_past = options.past || paid.is_some() || recorded.is_some();
    let (lines, card) = (&requests, gift_card.as_ref());
    let request = OrderRequest { owner, lines, coupon: coupon.as_ref(), gift_card: card, at: made_at, is_past };
    let lines = orders::lines(&at.db, at.clock.as_ref(), &request).await.map_err(not_sold)?;
    let settings: Settings = read_published(&at.db, &keys::settings(&active.version)).await?.unwrap_or_default();
    let currency = match &paid {
        Some(paid) => paid.currency.clone(),
        None => currency(&settings, options.currency.as_deref(), recorded.as_ref())?,
    };
    let price = match (&paid, &options.price) {
        (Some(paid), _) => as_paid(paid, &lines, gift_card.as_ref(), digits)?,
        (None, Some(text)) => money("--price", text, digits)?,
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
    record_and_render(at, new, &id, &settings).await
}

fn code(text: &str) -> Result<CodeText> {
    CodeText::parse(text).map_err(|_| Failure::refused("The code is blank.", "Leave it out, or give one."))
}

/// Asks before an order has no owner, or a gift is for a name that has no account: most often a name is missing or misspelt.
async fn confirm_people(
    at: &Deployment,
    console: &Console,
    options: &RecordOrder,
    requests: &[LineRequest],
) -> Result<()> {
    let mut doubts = Vec::new();
    if options.owner.is_none() {
        doubts.push("The order has no owner: no one owns what it sells. --owner USER gives it one.".to_owned());
    }
    for name in requests.iter().filter(|request| request.recipient.is_none()).filter_map(|line| line.gift_to.as_ref()) {
        // A former name finds its account too.
        if names::find(&at.db, name.key()).await?.is_some() {
            continue;
        }
        let near = near_user(at, name.as_str()).await?;
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
fn internal_id(options: &RecordOrder, paid: Option<&PaidCheckout>) -> Result<InternalId> {
    match (paid, &options.id) {
        (Some(paid), _) => Ok(paid.order.clone()),
        (None, Some(id)) => Ok(InternalId::new(id.trim())),
        (None, None) => orders::new_internal_id().ok_or_else(|| {
            Failure::new(Exit::Local, "The system has no random numbers for an id.", "Pass --id, or repair the system.")
        }),
    }
}

/// An order that exists may only be one that the same command has recorded.
fn must_be_recorded_by(stored: &StoredOrder, session: &str) -> Result<()> {
    let known = stored.session();
    if known == Some(session) && stored.effects.recorded_as == Some(OrderStatus::Paid) {
        return Ok(());
    }
    let (id, status) = (&stored.order.internal_id, stored.order.status.as_str());
    let what = format!("The order is not recorded: order {id} exists and is {status}.");
    Err(Failure::refused(what, format!("`storectl order settle {id}` asks the provider about it.")))
}

/// The amount of a payment, which must be what the lines cost.
fn as_paid(paid: &PaidCheckout, lines: &[OrderLine], gift_card: Option<&GiftCardPayment>, digits: u8) -> Result<Money> {
    let total: Money = lines.iter().map(|line| line.total).sum();
    let total = gift_card.map_or(total, |payment| total.less(payment.amount));
    if total == paid.amount || total + paid.tax.amount == paid.amount {
        return Ok(paid.amount);
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

async fn record_and_render(at: &Deployment, new: NewOrder, id: &InternalId, settings: &Settings) -> Outcome {
    let (digits, has_payment) = (new.digits, new.payment.is_some());
    let recorded = orders::record(&at.db, at.clock.as_ref(), new).await;
    let mut recorded = recorded.map_err(|error| not_recorded(error, id))?;
    if has_payment {
        recorded.stored = settle_recorded(at, id).await?;
    }
    let order = &recorded.stored.order;
    let state = if recorded.already { "was recorded already; nothing was taken again" } else { "is recorded" };
    let mut text = ok!("Order {} {state}: {}.", order.internal_id, order.status.as_str());
    let statistics = notes(&mut text, &recorded.unguarded, &recorded.stored);
    let cost =
        order_rules::charged(settings, &order.currency, &order.lines, recorded.stored.effects.gift_card.as_ref());
    if let Some(cost) =
        cost.filter(|cost| order.status == OrderStatus::Paid && *cost + order.tax_on_top() != order.price)
    {
        let format = CurrencyFormat::new(digits);
        let (cost, price) = (format.money(cost), format.money(order.price));
        let note = "Goals and donators count the price, upgrades the lines. `order set-status ID REFUNDED` takes an order back.";
        _ = write!(text, "\n{}", note!("Its lines cost {cost}, and {price} was paid. {note}"));
    }
    let (order, already) = (facts(&recorded.stored, None), recorded.already);
    Ok(Printed::new(text, &facts! { #[serde(flatten)] order, already, unguarded: recorded.unguarded, statistics }))
}

fn currency(settings: &Settings, wanted: Option<&str>, recorded: Option<&StoredOrder>) -> Result<String> {
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
) -> Result<Money> {
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

/// The lines with their variables and servers.
pub async fn requests(at: &Deployment, options: &RecordOrder, digits: u8) -> Result<Vec<LineRequest>> {
    let mut lines = Vec::with_capacity(options.lines.len());
    for text in &options.lines {
        lines.push(line(at, text, digits).await?);
    }
    for variable in &options.variables {
        let (id, value) = variable.value.clone();
        of(&mut lines, "--var", variable)?.variables.push(LineVariable { id, value });
    }
    for server in &options.servers {
        of(&mut lines, "--server", server)?.server = Some(ServerId::new(server.value));
    }
    for line in &mut lines {
        line.variables.sort_by_key(|variable| variable.id);
    }
    Ok(lines)
}

fn of<'a, T>(lines: &'a mut [LineRequest], option: &str, about: &ForLine<T>) -> Result<&'a mut LineRequest> {
    let count = lines.len();
    let place = match (about.line, count) {
        (Some(place), _) => Some(place),
        (None, 1) => Some(1),
        (None, _) => None,
    };
    let line = place.and_then(|place| lines.get_mut(place.checked_sub(1)?));
    line.ok_or_else(|| {
        let what = format!("The order has {count} lines, and {option} does not say which of them it is about.");
        Failure::refused(what, format!("Write the line's place before it, from 1 to {count}: {option} LINE:…"))
    })
}

/// Reads `ITEM:COUNT:TOTAL[@RECIPIENT]`.
async fn line(at: &Deployment, text: &str, digits: u8) -> Result<LineRequest> {
    let wrong = |what: &str| {
        let what = format!("The line {text:?} {what}.");
        Failure::refused(what, "Write it as ITEM:COUNT:TOTAL[@RECIPIENT]; TOTAL is what the buyer paid for all units.")
    };
    // There is no @ before the recipient; a name may have any character.
    let (bought, recipient) = text.split_once('@').map_or((text, None), |(bought, name)| (bought, Some(name)));
    let mut parts = bought.split(':');
    let item: ItemId = parts.next().and_then(|id| id.trim().parse().ok()).ok_or_else(|| wrong("has no item"))?;
    let count: u32 = parts.next().and_then(|count| count.parse().ok()).ok_or_else(|| wrong("has no count"))?;
    let total = parts.next().ok_or_else(|| wrong("has no total"))?;
    let total = money("A line's total", total, digits)?;
    if parts.next().is_some() || count == 0 {
        return Err(wrong("cannot be read"));
    }
    let (recipient, gift_to) = match recipient {
        Some(text) => player(at, text).await?,
        None => (None, None),
    };
    Ok(LineRequest { item, count, total, recipient, gift_to, variables: Vec::new(), server: None })
}

/// A player who gets something: an account, or a name that has none yet.
pub async fn player(at: &Deployment, text: &str) -> Result<(Option<UserId>, Option<PlayerName>)> {
    if text.parse::<UserId>().is_ok() {
        let user = find(at, text).await?;
        return Ok((Some(user.id), PlayerName::parse(&user.username).ok()));
    }
    if let Ok(name) = PlayerName::parse(&as_at_login(at, text).await?) {
        let owner = names::owner(&at.db, name.key()).await?;
        if owner.is_none() && on_servers(at, name.clone()).await?.is_none() {
            let what = format!("No player can be called {name}: names of this store do not begin with that sign.");
            return Err(Failure::refused(what, "Correct it; `players: {bedrock: …}` in store.yaml allows a sign."));
        }
        return Ok((owner, Some(name)));
    }
    // An account that was not made by a login may have another name.
    Ok((Some(find(at, text).await?.id), None))
}

/// Reads `CODE:AMOUNT`. A code may have colons, an amount has none.
pub fn gift(text: &str, digits: u8) -> Result<GiftCardPayment> {
    let wrong = || Failure::refused("--gift cannot be read.", "Write it as CODE:AMOUNT.");
    let (code, amount) = text.rsplit_once(':').ok_or_else(wrong)?;
    let amount: Money = money("The amount of --gift", amount, digits)?;
    Ok(GiftCardPayment { code: CodeText::parse(code).map_err(|_| wrong())?, amount })
}
