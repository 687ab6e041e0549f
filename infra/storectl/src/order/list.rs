//! `order list`.

use super::show::{Names, facts};
use super::status;
use crate::arguments::{money, period};
use crate::coupon::items;
use crate::delivery::Progress;
use crate::prelude::*;
use crate::user::{as_at_login, near_user, read};
use shared::model::{Item, ItemId, Money, Order, OrderLine, OrderStatus, PlayerName, UserId, UserName};
use shared::money::CurrencyFormat;
use shared::shop::accounts;
use shared::shop::accounts::names;
use shared::shop::orders::{StoredOrder, each_order};
use shared::shop::upkeep::needs_attention;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Debug, Clone, Args)]
pub struct ListOrders {
    /// Only orders with this status.
    #[arg(long, value_parser = status)]
    pub status: Option<OrderStatus>,
    /// Only orders that this user bought, or that have a gift for them: id or name, also a former one or one without an
    /// account.
    #[arg(long, alias = "player", value_name = "USER")]
    pub user: Option<String>,
    /// Only orders with this item: its id, or a part of the name under which it was sold.
    #[arg(long, value_name = "ITEM")]
    pub item: Option<String>,
    /// Only orders made at or after this time, or on or after this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Only orders made before this time, or up to the end of this day (UTC).
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Only orders of exactly this amount.
    #[arg(long, value_name = "A")]
    pub amount: Option<String>,
    /// Only the order with this id at the payment provider: of its checkout or of its payment.
    #[arg(long, value_name = "ID")]
    pub provider_id: Option<String>,
    /// Only orders with something left to do.
    #[arg(long)]
    pub open: bool,
    /// Only orders that need an operator, whose refund failed, or that are paid and in a dispute that is not decided.
    #[arg(long)]
    pub review: bool,
}

pub async fn list(at: &Deployment, options: &ListOrders) -> Outcome {
    let player = match &options.user {
        Some(text) => Some(Player::read(at, text).await?),
        None => None,
    };
    if let Some(text) = &options.amount {
        money("--amount", text, at.published().await?.config.digits)?;
    }
    let period = period(options.from.as_deref(), options.to.as_deref(), at.clock.seconds())?;
    let wanted = Wanted { options, player, period };
    let (mut orders, mut seen) = (Vec::new(), Seen::default());
    each_order(&at.db, |stored| {
        seen.add(&wanted, &stored.order);
        orders.extend(wanted.has(&stored).then_some(stored));
    })
    .await?;
    seen.check(at, &wanted).await?;
    // By their own dates: an order that was recorded later may be older.
    orders.sort_by_key(|stored: &StoredOrder| Reverse((stored.order.created_at, stored.order.id)));
    let names = Names::read(at, &orders).await?;
    let delivery = Progress::of_orders(at, &orders).await?;
    let row = |stored: &StoredOrder| {
        let (order, format) = (&stored.order, CurrencyFormat::of(&stored.order));
        [
            order.internal_id.to_string(),
            order.status.as_str().to_owned(),
            format!("{} {}", format.money(order.price), order.currency),
            order.gateway.clone(),
            order.owner.map_or_else(|| "-".to_owned(), |owner| names.user(owner)),
            Time(order.created_at).to_string(),
            delivery.get(order.internal_id.as_str()).map(ToString::to_string).unwrap_or_default(),
            notes(stored),
        ]
    };
    let text = columns(["ID", "STATUS", "PRICE", "GATEWAY", "PLAYER", "MADE", "DELIVERY", ""], orders.iter().map(row));
    let orders = orders.iter().map(|stored| {
        let (order, delivery) = (facts(stored, Some(&names)), delivery.get(stored.order.internal_id.as_str()));
        facts! { #[serde(flatten)] order, delivery }
    });
    Ok(Printed::new(text, &facts! { orders: orders.collect::<Vec<_>>() }))
}

struct Wanted<'a> {
    options: &'a ListOrders,
    player: Option<Player>,
    period: Range<i64>,
}

impl Wanted<'_> {
    fn has(&self, stored: &StoredOrder) -> bool {
        let StoredOrder { order, effects } = stored;
        let options = self.options;
        options.status.is_none_or(|status| order.status == status)
            && self.player.as_ref().is_none_or(|player| player.has(order))
            && options.item.as_ref().is_none_or(|item| order.lines.iter().any(|line| is_of_item(line, item)))
            && self.period.contains(&order.created_at)
            && options.amount.as_ref().is_none_or(|amount| is_amount(order, amount))
            && options.provider_id.as_ref().is_none_or(|id| has_provider_id(stored, id))
            && (!options.open || effects.due.is_some())
            && (!options.review || needs_attention(stored))
    }
}

fn is_amount(order: &Order, text: &str) -> bool {
    money("--amount", text, order.digits).is_ok_and(|amount| amount == order.price)
}

/// A player, who may have no account, under the present name and former ones.
struct Player {
    user: Option<UserId>,
    names: Vec<UserName>,
}

impl Player {
    async fn read(at: &Deployment, text: &str) -> Result<Self> {
        if let Ok(id) = text.parse::<UserId>() {
            return Ok(Self { user: Some(id), names: names_of(at, id).await? });
        }
        let wrong = |error| Failure::refused(format!("{text:?} is not a user: {error}."), "Give an id or a name.");
        let name = UserName::parse(&as_at_login(at, text).await?).map_err(wrong)?;
        let user = names::find(&at.db, &name).await?.map(|row| row.user);
        let mut names = match user {
            Some(id) => names_of(at, id).await?,
            None => Vec::new(),
        };
        names.push(name);
        Ok(Self { user, names })
    }

    fn has(&self, order: &Order) -> bool {
        let is_user = |user: Option<UserId>| user.is_some() && user == self.user;
        let is_named = |name: &PlayerName| self.names.contains(name.key());
        let receives = |line: &OrderLine| {
            is_user(line.recipient)
                || line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref()).is_some_and(is_named)
        };
        is_user(order.owner) || is_user(order.moved_to) || order.lines.iter().any(receives)
    }
}

/// The present name of an account and its former ones.
async fn names_of(at: &Deployment, id: UserId) -> Result<Vec<UserName>> {
    let present = read(at, id).await?.and_then(|user| UserName::parse(&user.username).ok());
    let former = accounts::former_names(&at.db, id).await?;
    Ok(present.into_iter().chain(former).collect())
}

/// What all orders have of the user and the item that are looked for: what none has is most often misspelt.
#[derive(Default)]
struct Seen {
    user: bool,
    item: bool,
    /// The names under which items were sold.
    names: BTreeSet<String>,
}

impl Seen {
    fn add(&mut self, wanted: &Wanted<'_>, order: &Order) {
        self.user |= wanted.player.as_ref().is_some_and(|player| player.has(order));
        let Some(item) = &wanted.options.item else { return };
        self.item |= order.lines.iter().any(|line| is_of_item(line, item));
        self.names.extend(order.lines.iter().filter_map(|line| Some(line.chosen.as_ref()?.name.clone())));
    }

    /// Refuses a user and an item that neither an order nor the store has.
    async fn check(&self, at: &Deployment, wanted: &Wanted<'_>) -> Result<()> {
        let is_unknown = |player: &Player| player.names.len() == 1 && player.user.is_none();
        let is_erased = |player: &Player| player.names.is_empty();
        if let Some((text, player)) = wanted.options.user.as_ref().zip(wanted.player.as_ref())
            && !self.user
            && (is_unknown(player) || is_erased(player))
        {
            let near = near_user(at, text).await?;
            let what = format!("No order and no account has the user {text}.{near}");
            return Err(Failure::refused(what, "`storectl user list` shows all accounts."));
        }
        match &wanted.options.item {
            Some(text) if !self.item => self.check_item(at, text).await,
            _ => Ok(()),
        }
    }

    async fn check_item(&self, at: &Deployment, text: &str) -> Result<()> {
        let catalog: Vec<Item> = items(at).await?.into_iter().map(|published| published.item).collect();
        let is_published = |item: &Item| match text.trim().parse::<ItemId>() {
            Ok(id) => item.id == id,
            Err(_) => has_part(&item.name, text),
        };
        if catalog.iter().any(is_published) {
            return Ok(());
        }
        let ids: Vec<String> = catalog.iter().map(|item| item.id.to_string()).collect();
        let names = catalog.iter().map(|item| &item.name).chain(&self.names).chain(&ids).map(String::as_str);
        let near = publish::nearest(text, names).map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        let what = format!("No order and no published item is {text}.{near}");
        Err(Failure::refused(what, "Give an id, or a part of a name."))
    }
}

fn has_part(name: &str, text: &str) -> bool {
    name.to_lowercase().contains(&text.trim().to_lowercase())
}

fn is_of_item(line: &OrderLine, text: &str) -> bool {
    match text.trim().parse::<ItemId>() {
        Ok(id) => line.item == id,
        Err(_) => line.chosen.as_ref().is_some_and(|chosen| has_part(&chosen.name, text)),
    }
}

fn has_provider_id(stored: &StoredOrder, id: &str) -> bool {
    let checkout = stored.effects.provider.as_ref();
    checkout
        .is_some_and(|checkout| [&checkout.session, &checkout.intent].into_iter().flatten().any(|known| known == id))
}

/// Unusual properties, in few words.
fn notes(stored: &StoredOrder) -> String {
    let effects = &stored.effects;
    let mut notes: Vec<String> = Vec::new();
    notes.extend(effects.held.then(|| "held".to_owned()));
    notes.extend(effects.due.map(|due| format!("due {}", Time(due))));
    let refunded_in_part = stored.order.status == OrderStatus::Paid && effects.refunded > Money::ZERO;
    notes.extend(refunded_in_part.then(|| "refunded in part".to_owned()));
    notes.extend((effects.unreturned > Money::ZERO).then(|| "a refund failed".to_owned()));
    notes.extend(effects.over_limit.then(|| "over a limit".to_owned()));
    notes.extend(effects.review.iter().map(|review| format!("review: {review}")));
    notes.extend(effects.dispute.iter().map(|dispute| format!("dispute: {dispute}")));
    notes.join(", ")
}
