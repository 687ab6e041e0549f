//! `order list`.

use super::names::Names;
use super::{facts, format_of};
use crate::answer::{Answer, columns};
use crate::cli::ListOrders;
use crate::commands::common::{period, published, shown_time};
use crate::commands::delivery::Progress;
use crate::commands::find_user::{near_user, read};
use crate::commands::items;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{Item, ItemId, Money, Order, OrderLine, OrderStatus, PlayerName, UserId, UserName};
use shared::shop::accounts;
use shared::shop::accounts::names;
use shared::shop::orders::StoredOrder;
use shared::shop::orders::each_order;
use shared::shop::upkeep::attention::needs_attention;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

struct Wanted<'a> {
    options: &'a ListOrders,
    player: Option<Player>,
    period: Range<i64>,
    digits: u8,
}

/// A player, who may have no account, under the present name and former ones.
struct Player {
    user: Option<UserId>,
    names: Vec<UserName>,
}

impl Player {
    async fn read(target: &Target, text: &str) -> Result<Self, Failure> {
        if let Ok(id) = text.parse::<UserId>() {
            return Ok(Self { user: Some(id), names: names_of(target, id).await? });
        }
        let wrong = |error| Failure::refused(format!("{text:?} is not a user: {error}."), "Give an id or a name.");
        let name = UserName::parse(text).map_err(wrong)?;
        let user = names::find(&target.db, &name).await?.map(|row| row.user);
        let mut names = match user {
            Some(id) => names_of(target, id).await?,
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
async fn names_of(target: &Target, id: UserId) -> Result<Vec<UserName>, Failure> {
    let present = read(target, id).await?.and_then(|user| UserName::parse(&user.username).ok());
    let former = accounts::former_names(&target.db, id).await?;
    Ok(present.into_iter().chain(former).collect())
}

pub(in crate::commands) async fn list(target: &Target, options: &ListOrders) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let player = match &options.user {
        Some(text) => Some(Player::read(target, text).await?),
        None => None,
    };
    if let Some(text) = &options.amount {
        items::money("--amount", text, digits)?;
    }
    let period = period(options.from.as_deref(), options.to.as_deref(), target.clock.seconds())?;
    let wanted = Wanted { options, player, period, digits };
    let (mut orders, mut seen) = (Vec::new(), Seen::default());
    each_order(&target.db, |stored| {
        seen.add(&wanted, &stored.order);
        orders.extend(wanted.has(&stored).then_some(stored));
    })
    .await?;
    seen.check(target, &wanted).await?;
    // By their own dates: an order that was recorded later may be older.
    orders.sort_by_key(|stored: &StoredOrder| Reverse((stored.order.created_at, stored.order.id)));
    let names = Names::read(target, &orders).await?;
    let delivery = Progress::of_orders(target, &orders).await?;
    let row = |stored: &StoredOrder| {
        let (order, format) = (&stored.order, format_of(stored, digits));
        vec![
            order.internal_id.to_string(),
            order.status.as_str().to_owned(),
            format!("{} {}", format.money(order.price), order.currency),
            order.gateway.clone(),
            order.owner.map_or_else(|| "-".to_owned(), |owner| names.user(owner)),
            shown_time(order.created_at),
            delivery.get(order.internal_id.as_str()).map(ToString::to_string).unwrap_or_default(),
            notes(stored),
        ]
    };
    let rows: Vec<Vec<String>> = orders.iter().map(row).collect();
    let text = columns(&["ID", "STATUS", "PRICE", "GATEWAY", "PLAYER", "MADE", "DELIVERY", ""], &rows);
    let with_names = |stored: &StoredOrder| {
        let mut json = facts(stored, digits);
        names.add_to(&mut json, stored);
        json["delivery"] = json!(delivery.get(stored.order.internal_id.as_str()));
        json
    };
    let orders: Vec<_> = orders.iter().map(with_names).collect();
    Ok(Answer::new(text, json!({ "orders": orders })))
}

impl Wanted<'_> {
    fn has(&self, stored: &StoredOrder) -> bool {
        let StoredOrder { order, effects } = stored;
        let options = self.options;
        options.status.is_none_or(|status| order.status == status)
            && self.player.as_ref().is_none_or(|player| player.has(order))
            && options.item.as_ref().is_none_or(|item| order.lines.iter().any(|line| is_of_item(line, item)))
            && self.period.contains(&order.created_at)
            && options.amount.as_ref().is_none_or(|amount| self.is_amount(order, amount))
            && options.provider_id.as_ref().is_none_or(|id| has_provider_id(stored, id))
            && (!options.open || effects.due.is_some())
            && (!options.review || needs_attention(stored))
    }

    fn is_amount(&self, order: &Order, text: &str) -> bool {
        items::money("--amount", text, order.digits.unwrap_or(self.digits)).is_ok_and(|amount| amount == order.price)
    }
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
    async fn check(&self, target: &Target, wanted: &Wanted<'_>) -> Result<(), Failure> {
        let is_unknown = |player: &Player| player.names.len() == 1 && player.user.is_none();
        let is_erased = |player: &Player| player.names.is_empty();
        if let Some((text, player)) = wanted.options.user.as_ref().zip(wanted.player.as_ref())
            && !self.user
            && (is_unknown(player) || is_erased(player))
        {
            let near = near_user(target, text).await?;
            let what = format!("No order and no account has the user {text}.{near}");
            return Err(Failure::refused(what, "`storectl user list` shows all accounts."));
        }
        match &wanted.options.item {
            Some(text) if !self.item => self.check_item(target, text).await,
            _ => Ok(()),
        }
    }

    async fn check_item(&self, target: &Target, text: &str) -> Result<(), Failure> {
        let catalog: Vec<Item> = items::all(target).await?.into_iter().map(|published| published.item).collect();
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
    notes.extend(effects.due.map(|due| format!("due {}", shown_time(due))));
    let refunded_in_part = stored.order.status == OrderStatus::Paid && effects.refunded > Money::ZERO;
    notes.extend(refunded_in_part.then(|| "refunded in part".to_owned()));
    notes.extend((effects.unreturned > Money::ZERO).then(|| "a refund failed".to_owned()));
    notes.extend(effects.over_limit.then(|| "over a limit".to_owned()));
    notes.extend(effects.review.iter().map(|review| format!("review: {review}")));
    notes.extend(effects.dispute.iter().map(|dispute| format!("dispute: {dispute}")));
    notes.join(", ")
}
