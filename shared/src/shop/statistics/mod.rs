//! Goals, donators and patrons: their rows, and how they follow from orders in a transaction of their own, guarded by a mark on each
//! order, so that it is counted once and a busy row never blocks an order. Tools write it at once ([`catch_up`]); for the orders of
//! functions the sweep does ([`catch_up_all`]). How long commands took, as the shop's pages show it, is kept with the sums that they
//! read anyway.

mod following;
mod goals;
mod patrons;

pub use following::{ORDERS_AT_ONCE, catch_up, catch_up_all, rename_in_statistics};
pub use goals::tell_reached;
pub use patrons::{
    Erased, differs as patrons_differ, erase_from_cart, erase_from_order, erase_names, repair as repair_patrons,
};

use crate::clock::Clock;
use crate::model::{
    ActiveVersion, Donations, Donor, Money, MonthSum, PaidOrder, RecentDonation, Settings, ShownTimes, TopPatrons,
    UserId,
};
use crate::rules::delivery_times::DeliveryTimes;
use crate::shop::accounts;
use crate::shop::delivery::measures::times;
use crate::table::client::Rows;
use crate::table::codec::{Row, decode_live, encode_live, number};
use crate::table::keys::{self, Key};
use crate::table::transaction::{VERSION, Write, send};
use crate::table::{Db, StoreError, in_turns};

/// How often a transaction of the statistics is tried: all orders write the same item, and in each round one of them
/// succeeds. If all rounds fail, the order's mark shows that the statistics are behind.
const STATISTICS_TURNS: u32 = 8;

/// How many users are read at once.
const USERS: usize = 25;
/// How many rows a page of the paid orders has.
const ROWS: i32 = 25;
/// How long a month's sum is kept after its first order, in seconds: only the newest month is ever shown.
const KEPT_SECONDS: i64 = 100 * 86_400;

/// Reads goals, top and recent donators; a store without paid orders has none.
pub async fn donations(db: &Db) -> Result<Donations, StoreError> {
    let key = keys::donations();
    let item = db.get(&key, false).await?;
    item.map_or_else(|| Ok(Donations::default()), |item| decode_live(&key, item))
}

/// Reads the largest patrons; a store without paid orders has none.
pub async fn top_patrons(db: &Db) -> Result<TopPatrons, StoreError> {
    let key = keys::top_patrons();
    let item = db.get(&key, false).await?;
    item.map_or_else(|| Ok(TopPatrons::default()), |item| decode_live(&key, item))
}

/// Takes a user's all-time sum, in the store's currency, less refunds, out of the rows, which were read by
/// [`keys::patron`]; zero for a user without a paid order.
pub fn take_sum(rows: &mut Rows, user: UserId) -> Result<Money, StoreError> {
    let key = keys::patron(user);
    let donor: Option<Donor> = rows.take_live(&key)?;
    Ok(donor.map_or(Money::ZERO, |donor| donor.amount))
}

/// Reads the row of every patron, in no order. Not for requests: the cost grows with the number of patrons.
pub async fn patrons(db: &Db) -> Result<Vec<Donor>, StoreError> {
    db.query(&keys::patrons()).await?.into_iter().map(Row::live_found).collect()
}

/// The donations item as it was read. Every transaction that writes statistics writes its next version too, so that
/// such transactions run one after another.
#[derive(Debug)]
pub struct VersionedDonations {
    pub donations: Donations,
    version: u64,
}

impl VersionedDonations {
    /// Reads it, strongly consistent. Read everything else that a change depends on after it: then the version guards
    /// that as well.
    pub async fn read(db: &Db) -> Result<Self, StoreError> {
        let key = keys::donations();
        let Some(item) = db.get(&key, true).await? else {
            return Ok(Self { donations: Donations::default(), version: 0 });
        };
        let version = item.get(VERSION).and_then(|value| value.as_n().ok()).and_then(|text| text.parse().ok());
        Ok(Self { donations: decode_live(&key, item)?, version: version.unwrap_or_default() })
    }

    pub fn write(&self) -> Result<Write, StoreError> {
        let key = keys::donations();
        let mut item = encode_live(&key, &self.donations)?;
        item.extend([number(VERSION, self.version.saturating_add(1))]);
        Ok(Write::put(key, item).and_at(self.version))
    }
}

/// The first users of a month's ranking who still have an account.
pub async fn top_donors(db: &Db, ranking: &[MonthSum]) -> Result<Vec<Donor>, StoreError> {
    let mut top = Vec::new();
    for part in ranking.chunks(USERS) {
        let users = accounts::read(db, part.iter().map(|sum| sum.user)).await?;
        top.extend(part.iter().filter_map(|sum| Some(Donor::new(users.get(&sum.user)?, sum.amount))));
        if top.len() >= Donations::TOP {
            break;
        }
    }
    top.truncate(Donations::TOP);
    Ok(top)
}

pub async fn month_sums(db: &Db, month: &str) -> Result<Vec<MonthSum>, StoreError> {
    db.query(&keys::month(month)).await?.into_iter().map(Row::live_found).collect()
}

/// The write of a user's sum of a month, kept for a while after `at`. A sum of zero has no row.
pub fn write_month_sum(month: &str, sum: &MonthSum, at: i64) -> Result<Write, StoreError> {
    let key = keys::month_sum(month, sum.user);
    if sum.amount == Money::ZERO {
        return Ok(Write::delete(key));
    }
    Ok(Write::put_live(key, sum)?.kept_until(at.saturating_add(KEPT_SECONDS)))
}

/// The most paid orders that are read at once.
const MOST_PAID_ORDERS: usize = 100_000;

/// The paid orders with an owner and an amount above zero that were made at `second` (since 1970 UTC) or later, oldest first.
pub async fn paid_since(db: &Db, second: i64) -> Result<Vec<PaidOrder>, StoreError> {
    let first = keys::paid_from(second);
    db.query_first(&keys::paid(), (&first, "~"), MOST_PAID_ORDERS, |row| Some(row.live_found()))
        .await?
        .into_iter()
        .collect()
}

/// The newest paid orders with an amount above zero whose owners still have an account, newest first, without those
/// that `skip` selects. `known` are the donations shown so far; their names are kept.
pub async fn newest(
    db: &Db,
    known: &[RecentDonation],
    skip: impl Fn(&PaidOrder) -> bool,
) -> Result<Vec<(Key, RecentDonation)>, StoreError> {
    let (mut found, mut start) = (Vec::new(), None);
    loop {
        // The partition grows with every order, so it is read page by page.
        let (page, next) = db.query_descending(&keys::paid(), ROWS, start).await?;
        let mut rows: Vec<(Key, PaidOrder)> = Vec::with_capacity(page.len());
        for row in page {
            let key = row.key()?;
            let order = row.live(&key)?;
            rows.push((key, order));
        }
        // Orders that cost nothing have rows from before they were left out.
        rows.retain(|(_, row)| row.amount > Money::ZERO && !skip(row));
        let shown = |row: &PaidOrder| known.iter().find(|donation| donation.order == row.order);
        let unknown = rows.iter().filter(|(_, row)| shown(row).is_none()).map(|(_, row)| row.user);
        let users = accounts::read(db, unknown).await?;
        for (key, row) in rows {
            let donation = shown(&row).cloned().or_else(|| Some(RecentDonation::new(&row, users.get(&row.user)?)));
            found.extend(donation.map(|donation| (key, donation)));
        }
        start = next;
        if found.len() >= Donations::RECENT || start.is_none() {
            found.truncate(Donations::RECENT);
            return Ok(found);
        }
    }
}

/// Fewer commands than this in 24 hours say nothing.
const LEAST_COMMANDS: u64 = 10;

/// Notes the times of the last 24 hours, if the shop shows them and they have changed.
pub async fn note_times(
    db: &Db,
    clock: &dyn Clock,
    (active, settings): (&ActiveVersion, &Settings),
) -> Result<(), StoreError> {
    if settings.shop.as_ref().is_none_or(|shop| !shop.delivery_times) {
        return Ok(());
    }
    let (mut all, now) = (DeliveryTimes::default(), clock.seconds());
    for server in &active.config.delivery.servers {
        all.add_all(&times(db, server.id, now - 86_400, now + 1).await?.own);
    }
    let shown = all.within(50).zip(all.within(95)).filter(|_| all.commands() >= LEAST_COMMANDS);
    let delivery = shown.map(|(half, most)| ShownTimes { half, most });
    in_turns(STATISTICS_TURNS, || async {
        let mut read = VersionedDonations::read(db).await?;
        if read.donations.delivery == delivery {
            return Ok(());
        }
        read.donations.delivery = delivery;
        send(db, vec![read.write()?]).await
    })
    .await
}
