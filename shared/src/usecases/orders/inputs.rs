//! Everything that decides about an order, read together.

use super::active_version;
use crate::model::{Code, ItemId, PublishedItem, UserId};
use crate::rules::order::users;
use crate::store::orders::StoredOrder;
use crate::store::{Db, StoreError, codes, keys};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that decides about an order.
#[derive(Debug)]
pub(super) struct OrderInputs {
    /// The order as it is in the table.
    pub(super) stored: Option<StoredOrder>,
    /// The order's users, owner and recipients, who have an account.
    pub(super) users: BTreeSet<UserId>,
    /// The order's users who have a ledger.
    pub(super) ledgers: BTreeSet<UserId>,
    /// The order's items that are published.
    pub(super) items: BTreeMap<ItemId, PublishedItem>,
    /// The order's items that have a counter.
    pub(super) counted: BTreeSet<ItemId>,
    /// The code of the coupon.
    pub(super) coupon: Option<Code>,
    /// Whether the owner has used the coupon.
    pub(super) has_use: bool,
    /// The code of the gift card.
    pub(super) gift_card: Option<Code>,
}

impl OrderInputs {
    /// Reads everything that decides about `order`.
    pub(super) async fn read(db: &Db, order: &StoredOrder) -> Result<Self, StoreError> {
        let version = active_version(db).await?.version;
        let ids: BTreeSet<ItemId> = order.order.lines.iter().map(|line| line.item).collect();
        let (own, owner, of_order) = (order.key(), order.order.owner, users(&order.order));
        let (coupon, gift) = (order.effects.coupon.as_ref(), order.effects.gift_card.as_ref());
        let mut wanted = vec![own.clone()];
        wanted.extend(ids.iter().flat_map(|id| [keys::item(&version, *id), keys::count(*id)]));
        wanted.extend(of_order.iter().flat_map(|user| [keys::user(*user), keys::ledger(*user)]));
        wanted.extend(coupon.map(keys::code));
        wanted.extend(coupon.zip(owner).map(|(code, user)| keys::code_use(code, user)));
        wanted.extend(gift.map(|gift| keys::code(&gift.code)));
        let mut rows = db.batch_get(wanted).await?;
        let mut items = BTreeMap::new();
        let mut counted = BTreeSet::new();
        for id in ids {
            let key = keys::item(&version, id);
            if let Some(row) = rows.take(&key) {
                items.insert(id, row.published(&key)?.0);
            }
            counted.extend(rows.take(&keys::count(id)).map(|_| id));
        }
        let uses = match coupon.zip(owner) {
            Some((code, user)) => codes::take_uses(&mut rows, code, user)?,
            None => 0,
        };
        let mut with = |key: fn(UserId) -> keys::Key| -> BTreeSet<UserId> {
            of_order.iter().copied().filter(|user| rows.take(&key(*user)).is_some()).collect()
        };
        Ok(Self {
            users: with(keys::user),
            ledgers: with(keys::ledger),
            stored: rows.take(&own).map(|row| StoredOrder::decode(&own, row)).transpose()?,
            items,
            counted,
            has_use: uses > 0,
            coupon: coupon.map_or(Ok(None), |code| codes::take(&mut rows, code))?,
            gift_card: gift.map_or(Ok(None), |gift| codes::take(&mut rows, &gift.code))?,
        })
    }
}
