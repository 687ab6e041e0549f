//! Writes live data into an empty table, in the shape in which everything else reads it.

use super::Live;
use shared::model::{Code, Donations, Money, MonthSum, Order, OrderStatus, PaidOrder, Patron, UserId, UserName};
use shared::rules::patrons;
use shared::shop::accounts::names;
use shared::shop::orders::owned_orders::OwnedOrder;
use shared::shop::stock::{SOLD, ledgers};
use shared::table::bulk::write_each;
use shared::table::codec::{self, Item};
use shared::table::single::{CODES, NEXT, ORDERS, USERS};
use shared::table::{Db, StoreError, keys};
use std::collections::BTreeMap;

/// Loads an empty table. What is there under the same keys is overwritten; nothing is removed. After an error, items
/// that were written before stay.
pub async fn seed(db: &Db, live: &Live) -> Result<(), StoreError> {
    write_each(db, items(live).into_iter(), &|_| {}).await
}

fn items(live: &Live) -> Vec<Result<Item, StoreError>> {
    let mut items: Vec<Result<Item, StoreError>> = Vec::new();
    items.extend(live.users.iter().map(|user| codec::encode_live(&keys::user(user.id), user)));
    let named = live.users.iter().filter_map(|user| Some((UserName::parse(&user.username).ok()?, user)));
    items.extend(named.map(|(name, user)| names::row(&name, user.id, user.tokens_valid_after)));
    items.extend(live.rows.iter().cloned().map(Ok));
    items.extend(live.carts.iter().map(|cart| codec::encode_live(&keys::cart(cart.user), cart)));
    items.extend(live.codes.iter().map(|code| codec::encode_live(&keys::code(code.text()), code)));
    items.extend(live.referrals.iter().map(|found| codec::encode_live(&keys::referral(&found.code), found)));
    items.extend(live.orders.iter().map(|order| codec::encode_live(&keys::order(&order.internal_id), order)));
    items.extend(live.orders.iter().filter_map(OwnedOrder::item).map(|found| found.map(|(_, item)| item)));
    let derived = &live.derived;
    items.extend(derived.ledgers.iter().map(|(user, ledger)| Ok(ledgers::row(*user, ledger))));
    items.extend(derived.sold.iter().map(|(item, sold)| Ok(codec::numbered(&keys::count(*item), SOLD, *sold))));
    items.push(codec::encode_live(&keys::donations(), &derived.donations));
    items.extend(derived.patrons.iter().map(|donor| codec::encode_live(&keys::patron(donor.user), donor)));
    items.push(codec::encode_live(&keys::top_patrons(), &patrons::largest(derived.patrons.iter().map(Patron::from))));
    items.extend(paid_orders(live));
    items.extend(month_sums(live));
    items.extend(sequences(live).map(|(kind, next)| Ok(codec::numbered(&keys::sequence(kind), NEXT, next))));
    items
}

fn owned(live: &Live) -> impl Iterator<Item = (&Order, UserId)> {
    let paid = live.orders.iter().filter(|order| order.status == OrderStatus::Paid);
    paid.filter_map(|order| Some((order, order.player()?)))
}

/// The paid orders with an owner and an amount above zero, by time.
fn paid_orders(live: &Live) -> impl Iterator<Item = Result<Item, StoreError>> {
    owned(live).filter(|(order, _)| order.price > Money::ZERO).map(|(order, user)| {
        let key = keys::paid_order(order.created_at, order.id);
        codec::encode_live(&key, &PaidOrder::new(order, user))
    })
}

/// The sums that users gave in the month of the top donators.
fn month_sums(live: &Live) -> impl Iterator<Item = Result<Item, StoreError>> {
    let of = &live.derived.donations.month;
    let mut sums: BTreeMap<UserId, Money> = BTreeMap::new();
    for (order, user) in owned(live).filter(|(order, _)| Donations::month_of(order.created_at) == *of) {
        let sum = sums.entry(user).or_default();
        *sum = *sum + order.total();
    }
    let given = sums.into_iter().filter(|(_, amount)| *amount > Money::ZERO);
    given.map(move |(user, amount)| codec::encode_live(&keys::month_sum(of, user), &MonthSum { user, amount }))
}

/// For every kind of id the first number that is free.
fn sequences(live: &Live) -> impl Iterator<Item = (&'static str, u64)> {
    let next = |ids: &mut dyn Iterator<Item = u64>| ids.max().unwrap_or(0) + 1;
    [
        (USERS, next(&mut live.users.iter().map(|user| user.id.get()))),
        (ORDERS, next(&mut live.orders.iter().map(|order| order.id.get()))),
        (CODES, next(&mut live.codes.iter().map(Code::id).map(shared::model::CodeId::get))),
    ]
    .into_iter()
}
