//! The live data of a demo store: accounts, bans, carts, codes, referral codes and orders. `storectl backup --demo` writes
//! them to [`LIVE`] in the store's folder; they are loaded into an empty table, for `cargo run` and the tests, with their
//! times moved to the day of loading. What follows from them is computed again, and a publish never touches them.

use archive::{ArchiveError, Content};
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use publish::LIVE;
use shared::model::{
    Cart, Code, Donations, Goal, Money, MonthSum, Order, OrderEffects, OrderStatus, PaidOrder, Patron, Referral, User,
    UserId, UserName,
};
use shared::rules::order::without_refunded;
use shared::rules::patrons;
use shared::rules::statistics::{Derived, derive};
use shared::shop::accounts::names;
use shared::shop::orders::lists::OwnedOrder;
use shared::shop::orders::{StoredOrder, lists};
use shared::shop::stock::{SOLD, ledgers};
use shared::table::bulk::write_each;
use shared::table::codec::{self, Item, Row, decode_live, key_of};
use shared::table::keys::{self, prefix};
use shared::table::single::{CODES, NEXT, ORDERS, USERS};
use shared::table::{Db, StoreError};
use std::collections::BTreeMap;
use std::path::Path;

/// The attributes with a second since 1970 UTC, in the rows of a demo store and what is nested in them.
const TIMES: [&str; 7] = ["created_at", "updated_at", "tokens_valid_after", "starts_at", "ends_at", "since", "begun"];

/// The reason why live data cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("{0:?} is not the time of a backup")]
    Time(String),
    #[error("{}", shared::fault::chain(.0))]
    Row(#[from] StoreError),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Live {
    pub users: Vec<User>,
    /// Carts; a user without one has never put anything in it.
    pub carts: Vec<Cart>,
    pub codes: Vec<Code>,
    pub referrals: Vec<Referral>,
    pub orders: Vec<Order>,
    pub derived: Derived,
    /// Rows that are loaded as they are: bans, and how often users used coupons.
    pub(crate) rows: Vec<Item>,
}

/// Reads the live data in a store's folder, whose times were meant at the time of the backup, for `now`, in seconds since
/// 1970 UTC. Its month is that of the top donators, and `goals` are those that every paid order counts towards.
pub fn read(dir: &Path, goals: &[Goal], now: i64) -> Result<Live, LiveError> {
    let (path, mut live) = (dir.join(LIVE), Live::default());
    if path.exists() {
        let seal = archive::verify(&path, Content::Demo)?;
        let taken_at: Timestamp = seal.taken_at.parse().map_err(|_| LiveError::Time(seal.taken_at.clone()))?;
        let later = now.saturating_sub(taken_at.as_second());
        for item in archive::items(&path, &seal)? {
            live.take(item?, later)?;
        }
        live.users.sort_by_key(|user| user.id);
        live.codes.sort_by_key(Code::id);
        live.orders.sort_by_key(|order| order.id);
    }
    let by_id: BTreeMap<UserId, &User> = live.users.iter().map(|user| (user.id, user)).collect();
    live.derived = derive(&live.orders, &by_id, goals, now);
    Ok(live)
}

impl Live {
    /// Takes a row, with its times `later` by so many seconds.
    fn take(&mut self, mut item: Item, later: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        shift(&mut item, later);
        let is = |kind: &str| key.pk.starts_with(kind);
        if is(prefix::USER) {
            self.users.push(account(decode_live(&key, item)?, later));
        } else if is(prefix::CART) {
            self.carts.push(Cart { checkout: None, ..decode_live(&key, item)? });
        } else if is(prefix::CODE) {
            self.codes.push(decode_live(&key, item)?);
        } else if is(prefix::REFERRAL) {
            self.referrals.push(decode_live(&key, item)?);
        } else if keys::is_order(&key) {
            self.orders.push(order(StoredOrder::decode(&key, Row::from(item))?));
        } else {
            self.rows.push(item);
        }
        Ok(())
    }
}

/// An account keeps the second at which it was made: tokens from before it are refused, and those of `events/` do not
/// change. Its subscriptions are the provider's.
fn account(user: User, later: i64) -> User {
    let created_at = user.created_at.saturating_sub(later);
    let updated_at = user.updated_at.max(created_at);
    User { created_at, updated_at, subscriptions: Vec::new(), customer: None, ..user }
}

/// An order as if it had been recorded by hand, less what is refunded of it: its payment is not here.
fn order(StoredOrder { order, effects }: StoredOrder) -> Order {
    if order.status == OrderStatus::Refunded {
        return order;
    }
    let mut left = without_refunded(&order, effects.refunded);
    for line in &mut left.lines {
        line.count = line.count.saturating_sub(std::mem::take(&mut line.returned));
    }
    left.lines.retain(|line| line.count > 0);
    left
}

fn shift(item: &mut Item, later: i64) {
    for (name, value) in item {
        match value {
            AttributeValue::N(second) if TIMES.contains(&name.as_str()) => {
                if let Ok(before) = second.parse::<i64>() {
                    *second = before.saturating_add(later).to_string();
                }
            }
            AttributeValue::M(inner) => shift(inner, later),
            AttributeValue::L(values) => {
                for value in values {
                    if let AttributeValue::M(inner) = value {
                        shift(inner, later);
                    }
                }
            }
            _ => {}
        }
    }
}

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
    for order in &live.orders {
        match lists::items(&StoredOrder { order: order.clone(), effects: OrderEffects::default() }) {
            Ok(rows) => items.extend(rows.into_iter().map(|(_, item)| Ok(item))),
            Err(error) => items.push(Err(error)),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::repository;

    const DAY: i64 = 86_400;

    fn sample() -> std::path::PathBuf {
        repository().join("infra/sample-store")
    }

    /// The names and values of every number, nested ones included.
    fn numbers(item: &Item) -> Vec<(String, i64)> {
        let of = |(name, value): (&String, &AttributeValue)| match value {
            AttributeValue::N(number) => vec![(name.clone(), number.parse().unwrap())],
            AttributeValue::M(inner) => numbers(inner),
            AttributeValue::L(values) => {
                values.iter().filter_map(|value| value.as_m().ok()).flat_map(numbers).collect()
            }
            _ => Vec::new(),
        };
        item.iter().flat_map(of).collect()
    }

    #[test]
    fn every_time_of_the_sample_store_moves_with_the_day_of_loading() {
        let seal = archive::verify(&sample().join(LIVE), Content::Demo).unwrap();
        let mut times = 0;
        for item in archive::items(&sample().join(LIVE), &seal).unwrap() {
            let before = item.unwrap();
            let mut after = before.clone();
            shift(&mut after, DAY);
            for ((name, before), (_, after)) in numbers(&before).into_iter().zip(numbers(&after)) {
                // No amount, count or id is as large.
                let is_time = before > 1_000_000_000;
                times += usize::from(is_time);
                assert_eq!(after - before, if is_time { DAY } else { 0 }, "{name} {before}");
            }
        }
        assert!(times > 40, "{times}");
    }

    #[test]
    fn orders_are_as_old_on_every_day_and_accounts_are_of_the_same_day() {
        let read = |now| read(&sample(), &[], now).unwrap();
        // 2031-03-15T12:00:00Z, and the first hour of a month.
        let (one, other) = (1_931_342_400, 1_932_771_600);
        let (before, after) = (read(one), read(other));
        let ages = |live: &Live, now: i64| live.orders.iter().map(|order| now - order.created_at).collect::<Vec<_>>();
        assert_eq!(ages(&before, one), ages(&after, other));
        let made = |live: &Live| live.users.iter().map(|user| user.created_at).collect::<Vec<_>>();
        assert_eq!(made(&before), made(&after));
        assert!(after.users.iter().all(|user| user.updated_at >= user.created_at));
        let months = (before.derived.donations.month.as_str(), after.derived.donations.month.as_str());
        assert_eq!(months, ("2031-03", "2031-04"));
        let top =
            |live: &Live| live.derived.donations.top.iter().map(|donor| donor.amount).sum::<shared::model::Money>();
        assert!(top(&before) > top(&after), "the orders of the last days are of the month before");
        assert_eq!(before.derived.patrons, after.derived.patrons);
    }

    #[test]
    fn a_store_without_live_data_has_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path(), &[], 0).unwrap().users.is_empty());
        std::fs::write(dir.path().join(LIVE), "{}\n").unwrap();
        assert!(read(dir.path(), &[], 0).unwrap_err().to_string().contains(LIVE));
    }
}
