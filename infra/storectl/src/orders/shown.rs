//! The statistics as they stand in the table: one item with a version, and the rows from which its lists are found
//! again. Whoever writes any of them writes the item's next version too, so that all of them are written in turn.

use super::tally::donor;
use super::transact::{Change, Write};
use super::verdict::Role;
use aws_sdk_dynamodb::types::AttributeValue;
use shared::model::{Donations, Donor, MonthSum, PaidOrder, RecentDonation, User, UserId};
use shared::store::codec::{Item, Row, decode_live, encode_live, key_of};
use shared::store::keys::{self, Key};
use shared::store::{Db, StoreError};
use std::collections::BTreeMap;

/// The attribute that counts the writes of the item.
const VERSION: &str = "version";
/// How many rows are looked at in one go.
const PAGE: usize = 25;

/// The item that is shown, as it was read.
#[derive(Debug)]
pub(super) struct Shown {
    /// What it says.
    pub(super) donations: Donations,
    version: Option<u64>,
}

impl Shown {
    /// Reads it. What else is read for a change must be read after it: then the version guards that as well.
    pub(super) async fn read(db: &Db) -> Result<Self, StoreError> {
        let key = keys::donations();
        let Some(item) = db.get(&key, true).await? else {
            return Ok(Self { donations: Donations::default(), version: None });
        };
        let version = item.get(VERSION).and_then(|value| value.as_n().ok()).and_then(|text| text.parse().ok());
        Ok(Self { donations: decode_live(&key, item)?, version })
    }

    /// The write of its next version.
    pub(super) fn write(&self) -> Result<Write, StoreError> {
        let key = keys::donations();
        let mut item = encode_live(&key, &self.donations)?;
        let next = self.version.unwrap_or_default().saturating_add(1);
        item.insert(VERSION.to_owned(), AttributeValue::N(next.to_string()));
        let write = Write::new(Role::Basis, key, Change::Put(item)).name("#version", VERSION);
        Ok(match self.version {
            None => write.only_if("attribute_not_exists(#version)"),
            Some(read) => write.only_if("#version = :read").number(":read", read),
        })
    }
}

/// Users by id; those who are gone are missing.
pub(super) async fn users(db: &Db, ids: impl Iterator<Item = UserId>) -> Result<BTreeMap<UserId, User>, StoreError> {
    let ids: std::collections::BTreeSet<UserId> = ids.collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut rows = db.batch_get(ids.iter().map(|id| keys::user(*id)).collect()).await?;
    let mut users = BTreeMap::new();
    for id in ids {
        let key = keys::user(id);
        if let Some(row) = rows.take(&key) {
            users.insert(id, row.live(&key)?);
        }
    }
    Ok(users)
}

/// The first of a month's ranking who are still users.
pub(super) async fn top_of(db: &Db, ranking: &[MonthSum]) -> Result<Vec<Donor>, StoreError> {
    let mut top = Vec::new();
    for part in ranking.chunks(PAGE) {
        let users = users(db, part.iter().map(|sum| sum.user)).await?;
        top.extend(part.iter().filter_map(|sum| Some(donor(users.get(&sum.user)?, sum.amount))));
        if top.len() >= Donations::TOP {
            break;
        }
    }
    top.truncate(Donations::TOP);
    Ok(top)
}

/// The sums of a month.
pub(super) async fn month_sums(db: &Db, month: &str) -> Result<Vec<MonthSum>, StoreError> {
    let rows = db.query(&keys::month(month)).await?;
    rows.into_iter().map(Row::live_found).collect()
}

/// The newest paid orders whose owners are still users, newest first, without those that `skip` names. `known` are
/// those that were shown so far, whose names are taken over.
pub(super) async fn newest(
    db: &Db,
    known: &[RecentDonation],
    skip: impl Fn(&PaidOrder) -> bool,
) -> Result<Vec<(Key, RecentDonation)>, StoreError> {
    let (mut found, mut start) = (Vec::new(), None);
    loop {
        let (items, next) = page(db, start).await?;
        let mut rows: Vec<(Key, PaidOrder)> = Vec::with_capacity(items.len());
        for item in items {
            let key = key_of(&item)?;
            rows.push((key.clone(), decode_live(&key, item)?));
        }
        rows.retain(|(_, row)| !skip(row));
        let shown = |row: &PaidOrder| known.iter().find(|donation| donation.order == row.order);
        let strangers = rows.iter().filter(|(_, row)| shown(row).is_none()).map(|(_, row)| row.user);
        let users = users(db, strangers).await?;
        for (key, row) in rows {
            let donation = shown(&row).cloned().or_else(|| Some(donation(&row, users.get(&row.user)?)));
            found.extend(donation.map(|donation| (key, donation)));
        }
        start = next;
        if found.len() >= Donations::RECENT || start.is_none() {
            found.truncate(Donations::RECENT);
            return Ok(found);
        }
    }
}

/// A paid order with its owner's name.
pub(super) fn donation(row: &PaidOrder, user: &User) -> RecentDonation {
    RecentDonation {
        order: row.order.clone(),
        user: user.id,
        username: user.username.clone(),
        avatar: user.avatar.clone(),
        amount: row.amount,
        currency: row.currency.clone(),
        at: row.at,
    }
}

/// Some paid orders from the newest on, and where to go on.
async fn page(db: &Db, start: Option<Item>) -> Result<(Vec<Item>, Option<Item>), StoreError> {
    let request = db.client().query().table_name(db.table()).consistent_read(true).scan_index_forward(false);
    let request = request.key_condition_expression("#pk = :pk").expression_attribute_names("#pk", keys::PK);
    let request = request.expression_attribute_values(":pk", AttributeValue::S(keys::paid()));
    let request = request.limit(i32::try_from(PAGE).unwrap_or(i32::MAX)).set_exclusive_start_key(start);
    let page = Box::pin(request.send()).await.map_err(|error| StoreError::from_sdk("Query", error))?;
    Ok((page.items.unwrap_or_default(), page.last_evaluated_key.filter(|key| !key.is_empty())))
}
