//! The content of the table when a history is over, read without the service.

use super::bench::Bench;
use super::cart::{Cart, Line, Made};
use super::model::{Books, Status};
use super::ops::friend;
use super::shop::{ANY_PRICE, COLOURS, GIFT, ITEMS, LIMITED, OPTIONS, REFERRALS, SERVERS};
use shared::model::{Code, CodeText, ItemId, Money, OrderLine, OrderStatus, UserId, UserName};
use shared::shop::accounts::names;
use shared::shop::orders::{StoredOrder, each_order};
use shared::shop::payments::Provider as _;
use shared::shop::stock::ledgers;
use shared::shop::{carts, statistics};
use shared::table::keys;
use std::collections::BTreeSet;
use std::time::Duration;

/// Lets all checkouts expire, and sweeps until nothing is due. Every hour the sweep asks for the provider's webhook events.
pub async fn settle(bench: &Bench) {
    for round in 0..10 {
        bench.store.clock.advance(Duration::from_mins(65));
        let swept = bench.sweep().await.json();
        if round > 0 && swept["due"] == 0 && swept["failed"] == 0 {
            return;
        }
    }
}

/// The orders of a history, and everything that they add up to.
pub async fn read(bench: &Bench, buyer: &str, codes: &[String; 3]) -> (Vec<Made>, Books) {
    let db = &bench.store.db;
    let user = user(bench, buyer).await;
    let stored = orders_of(bench, user).await;
    let paid_until = |stored: &StoredOrder| stored.effects.subscription.as_ref().map(|own| own.paid_until.unwrap());
    let periods: BTreeSet<i64> = stored.iter().filter_map(paid_until).collect();
    let period = |until: i64| u8::try_from(periods.range(..=until).count()).unwrap();
    let made: Vec<Made> = stored.iter().map(|stored| made(stored, codes, paid_until(stored).map(period))).collect();
    let text = |place: usize| CodeText::parse(&codes[place]).unwrap();
    let item = ItemId::new(ITEMS[usize::from(LIMITED)]);
    let use_key = keys::code_use(&text(1), user);
    let mut wanted: Vec<keys::Key> = (0..3).map(|place| keys::code(&text(place))).collect();
    wanted.extend([keys::cart(user), keys::ledger(user), use_key]);
    let friend = match UserName::parse(&friend(codes)) {
        Ok(name) => names::owner(db, &name).await.unwrap(),
        Err(_) => None,
    };
    wanted.extend(friend.map(keys::ledger));
    let mut rows = db.batch_get(wanted).await.unwrap();
    let mut code_at = |place: usize| match shared::shop::codes::take(&mut rows, &text(place)).unwrap() {
        Some(Code::Coupon(coupon)) => i64::from(coupon.uses),
        Some(Code::Gift(card)) => card.balance.minor(),
        None => -1,
    };
    let (tenth, three, balance) = (code_at(0), code_at(1), code_at(2));
    let by_user = shared::shop::codes::take_uses(&mut rows, &text(1), user).unwrap().count;
    let ledger = ledgers::take(&mut rows, user).unwrap();
    let friends = friend.map(|friend| ledgers::take(&mut rows, friend).unwrap()).unwrap_or_default();
    let kept_of = |place: usize| if place == usize::from(GIFT) { &friends } else { &ledger };
    let of = |place: usize| kept_of(place).of(ItemId::new(ITEMS[place]));
    let cart = carts::take(&mut rows, user).unwrap();
    let sold = db.get(&keys::count(item), true).await.unwrap().unwrap_or_default();
    let given = statistics::patrons(db).await.unwrap().into_iter().find(|donor| donor.user == user);
    let place_of = |id: &str| made.iter().position(|made| made.id == id);
    let books = Books {
        statuses: stored.iter().map(|stored| status(stored.order.status.as_str())).collect(),
        cart: Cart {
            lines: cart.lines.iter().map(line_of_cart).collect(),
            next: u8::try_from(cart.next_line).unwrap().max(1),
            coupon: cart.coupon.as_ref().map(|coupon| place(codes, coupon.code.as_str())),
            card: cart.gift_card.is_some(),
            referral: cart.referral.as_ref().map(|code| place(&REFERRALS.map(ToOwned::to_owned), code.as_str())),
            checkout: cart.checkout.as_ref().and_then(|open| place_of(open.order.as_str())),
            changed: false,
        },
        sold: sold.get("sold").map_or(0, |sold| sold.as_n().unwrap().parse().unwrap()),
        tenth_uses: usize::try_from(tenth).unwrap(),
        three_uses: usize::try_from(three).unwrap(),
        three_uses_by_user: usize::try_from(by_user).unwrap(),
        balance,
        owned: [0, 1, 2, 3, 4, 5].map(|place| i64::from(of(place).all.units)),
        paid: (0..ITEMS.len()).map(|place| of(place).all.paid.minor()).sum(),
        given: given.map_or(0, |donor| donor.amount.minor()),
    };
    (made, books)
}

/// Fails unless orders that were paid, their refunds and their tax are what the provider says of them.
pub async fn compare_with_provider(bench: &Bench, orders: &[StoredOrder]) -> Result<(), String> {
    bench.store.payments.clear_faults();
    for StoredOrder { order, effects } in orders {
        let session = effects.provider.as_ref().and_then(|checkout| checkout.session.as_deref());
        let is_paid = matches!(order.status, OrderStatus::Paid | OrderStatus::Refunded);
        let Some(session) = session.filter(|_| is_paid && order.price > Money::ZERO) else { continue };
        let says = bench.stripe.fetch(session).await.unwrap();
        let returned = if order.status == OrderStatus::Refunded { order.price } else { effects.refunded };
        let tax = order.tax.as_ref().map_or(Money::ZERO, |tax| tax.amount);
        if (order.price, returned, tax) != (says.amount, says.refunded, says.tax.amount) {
            return Err(format!("the provider says {says:?} of {order:?}, of which {returned:?} is refunded"));
        }
    }
    Ok(())
}

/// The user with a name.
pub async fn user(bench: &Bench, name: &str) -> UserId {
    names::owner(&bench.store.db, &UserName::parse(name).unwrap()).await.unwrap().unwrap()
}

/// Every order of a user, by number.
pub async fn orders_of(bench: &Bench, user: UserId) -> Vec<StoredOrder> {
    let mut found = Vec::new();
    let take = |stored: StoredOrder| found.extend((stored.order.owner == Some(user)).then_some(stored));
    each_order(&bench.store.db, take).await.unwrap();
    found.sort_by_key(|stored| stored.order.id);
    found
}

fn made(stored: &StoredOrder, codes: &[String; 3], period: Option<u8>) -> Made {
    let card = stored.effects.gift_card.as_ref();
    Made {
        id: stored.order.internal_id.to_string(),
        lines: stored.order.lines.iter().map(line_of_order).collect(),
        coupon: stored.effects.coupon.as_ref().map(|coupon| place(codes, coupon.as_str())),
        from_card: card.map_or(0, |payment| payment.amount.minor()),
        price: stored.order.price.minor(),
        tax: stored.order.tax_on_top().minor(),
        period,
    }
}

/// A line of an order. What a unit cost is not in it, so that the choice of a price is 0.
fn line_of_order(line: &OrderLine) -> Line {
    let chosen = line.chosen.as_ref().unwrap();
    let item = item(line.item);
    let choice = match item {
        SERVERS => u16::try_from(chosen.server.unwrap().get()).unwrap(),
        OPTIONS => colour(&chosen.variables),
        _ => 0,
    };
    Line { id: u8::try_from(chosen.line.get()).unwrap(), item, count: u16::try_from(line.units()).unwrap(), choice }
}

fn line_of_cart(line: &shared::model::Line) -> Line {
    let item = item(line.item);
    let choice = match item {
        SERVERS => u16::try_from(line.server.unwrap().get()).unwrap(),
        OPTIONS => colour(&line.variables),
        ANY_PRICE => line.price.map_or(0, |price| u16::try_from(price.minor() / 100).unwrap()),
        _ => 0,
    };
    Line { id: u8::try_from(line.id.get()).unwrap(), item, count: u16::try_from(line.count).unwrap(), choice }
}

fn item(id: ItemId) -> u8 {
    u8::try_from(ITEMS.iter().position(|item| id.get() == *item).unwrap()).unwrap()
}

fn colour(variables: &[shared::model::LineVariable]) -> u16 {
    let chosen = &variables.iter().find(|variable| variable.id == 2).unwrap().value;
    u16::try_from(COLOURS.iter().position(|colour| colour == chosen).unwrap()).unwrap()
}

fn place(all: &[String], text: &str) -> u8 {
    u8::try_from(all.iter().position(|known| known == text).unwrap()).unwrap()
}

pub fn status(name: &str) -> Status {
    match name {
        "" => Status::Absent,
        "PENDING" => Status::Pending,
        "PAID" => Status::Paid,
        "CANCELLED" => Status::Cancelled,
        "FAILED" => Status::Failed,
        "REFUNDED" => Status::Refunded,
        other => panic!("no history has an order that is {other:?}"),
    }
}
