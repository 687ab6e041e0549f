//! `order list`.

use super::names::Names;
use super::{facts, format_of};
use crate::answer::{Answer, columns};
use crate::cli::ListOrders;
use crate::commands::common::{period, published, shown_time};
use crate::commands::find_user::read;
use crate::commands::items;
use crate::error::Failure;
use crate::target::Target;
use serde_json::json;
use shared::model::{ItemId, Money, Order, OrderLine, OrderStatus, PlayerName, UserId, UserName};
use shared::store::names;
use shared::store::orders::StoredOrder;
use shared::usecases::attention::needs_attention;
use shared::usecases::orders::each_order;
use std::cmp::Reverse;
use std::ops::Range;

struct Wanted<'a> {
    options: &'a ListOrders,
    player: Option<Player>,
    period: Range<i64>,
    digits: u8,
}

/// A player, who may have no account.
struct Player {
    user: Option<UserId>,
    name: Option<UserName>,
}

impl Player {
    async fn read(target: &Target, text: &str) -> Result<Self, Failure> {
        if let Ok(id) = text.parse::<UserId>() {
            let user = read(target, id).await?;
            return Ok(Self { user: Some(id), name: user.and_then(|user| UserName::parse(&user.username).ok()) });
        }
        let wrong = |error| Failure::refused(format!("{text:?} is not a player: {error}."), "Give an id or a name.");
        let name = UserName::parse(text).map_err(wrong)?;
        Ok(Self { user: names::owner(&target.db, &name).await?, name: Some(name) })
    }

    fn has(&self, order: &Order) -> bool {
        let is_user = |user: Option<UserId>| user.is_some() && user == self.user;
        let is_named = |name: &PlayerName| self.name.as_ref() == Some(name.key());
        let receives = |line: &OrderLine| {
            is_user(line.recipient)
                || line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref()).is_some_and(is_named)
        };
        is_user(order.owner) || order.lines.iter().any(receives)
    }
}

pub(in crate::commands) async fn list(target: &Target, options: &ListOrders) -> Result<Answer, Failure> {
    let digits = published(target).await?.config.digits;
    let player = match &options.player {
        Some(text) => Some(Player::read(target, text).await?),
        None => None,
    };
    if let Some(text) = &options.amount {
        items::money("--amount", text, digits)?;
    }
    let period = period(options.from.as_deref(), options.to.as_deref(), target.clock.seconds())?;
    let wanted = Wanted { options, player, period, digits };
    let mut orders = Vec::new();
    each_order(&target.db, |stored| orders.extend(wanted.has(&stored).then_some(stored))).await?;
    // By their own dates: an order that was recorded later may be older.
    orders.sort_by_key(|stored: &StoredOrder| Reverse((stored.order.created_at, stored.order.id)));
    let names = Names::read(target, &orders).await?;
    let row = |stored: &StoredOrder| {
        let (order, format) = (&stored.order, format_of(stored, digits));
        vec![
            order.internal_id.to_string(),
            order.status.as_str().to_owned(),
            format!("{} {}", format.money(order.price), order.currency),
            order.gateway.clone(),
            order.owner.map_or_else(|| "-".to_owned(), |owner| names.user(owner)),
            shown_time(order.created_at),
            notes(stored),
        ]
    };
    let rows: Vec<Vec<String>> = orders.iter().map(row).collect();
    let text = columns(&["ID", "STATUS", "PRICE", "GATEWAY", "PLAYER", "MADE", ""], &rows);
    let with_names = |stored: &StoredOrder| {
        let mut json = facts(stored, digits);
        names.add_to(&mut json, stored);
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

fn is_of_item(line: &OrderLine, text: &str) -> bool {
    let is_in = |name: &str| name.to_lowercase().contains(&text.trim().to_lowercase());
    match text.trim().parse::<ItemId>() {
        Ok(id) => line.item == id,
        Err(_) => line.chosen.as_ref().is_some_and(|chosen| is_in(&chosen.name)),
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
