//! What an order is decided by: read at once, strongly consistent, and never from a cache.

use super::stored::{Stored, merged};
use shared::model::{Code, ItemId, Pointer, PublishedItem, UserId};
use shared::store::codec::decode_live;
use shared::store::{Db, StoreError, codes, keys};
use std::collections::{BTreeMap, BTreeSet};

/// What is published now; an empty pointer in an empty table.
pub(super) async fn pointer(db: &Db) -> Result<Pointer, StoreError> {
    let key = keys::pointer();
    let item = db.get(&key, true).await?;
    item.map_or_else(|| Ok(Pointer::default()), |item| decode_live(&key, item))
}

/// Everything around an order.
#[derive(Debug)]
pub(super) struct Around {
    /// The order as it stands in the table.
    pub(super) stored: Option<Stored>,
    /// The owner, where the user is there.
    pub(super) owner: Option<UserId>,
    /// Whether the owner has a ledger.
    pub(super) has_ledger: bool,
    /// The published items among the order's.
    pub(super) items: BTreeMap<ItemId, PublishedItem>,
    /// The order's items that are counted.
    pub(super) counted: BTreeSet<ItemId>,
    /// The coupon's code.
    pub(super) coupon: Option<Code>,
    /// Whether the owner has used the coupon.
    pub(super) has_use: bool,
    /// The gift card's code.
    pub(super) gift_card: Option<Code>,
}

impl Around {
    /// Reads what surrounds `order`.
    pub(super) async fn read(db: &Db, order: &Stored) -> Result<Self, StoreError> {
        let version = pointer(db).await?.version;
        let ids: Vec<ItemId> = merged(&order.order.lines).into_keys().collect();
        let (own, owner) = (order.key(), order.order.owner);
        let (coupon, gift) = (order.trace.coupon.as_ref(), order.trace.gift_card.as_ref());
        let mut wanted = vec![own.clone()];
        wanted.extend(ids.iter().flat_map(|id| [keys::item(&version, *id), keys::count(*id)]));
        wanted.extend(owner.into_iter().flat_map(|user| [keys::user(user), keys::ledger(user)]));
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
        Ok(Self {
            stored: rows.take(&own).map(|row| Stored::decode(&own, row)).transpose()?,
            owner: owner.filter(|user| rows.take(&keys::user(*user)).is_some()),
            has_ledger: owner.is_some_and(|user| rows.take(&keys::ledger(user)).is_some()),
            items,
            counted,
            has_use: uses > 0,
            coupon: coupon.map_or(Ok(None), |code| codes::take(&mut rows, code))?,
            gift_card: gift.map_or(Ok(None), |gift| codes::take(&mut rows, &gift.code))?,
        })
    }
}
