//! The inputs of a change of an order: rows that are read together, and the accounts of players that gifts are for.

use super::{StoredOrder, active_version};
use crate::clock::Clock;
use crate::model::{
    ActiveVersion, Code, InternalId, ItemId, Ledger, Order, OrderLine, PlayerName, PublishedItem, StoreDelivery, UserId,
};
use crate::rules::order::users;
use crate::shop::accounts::{self, names};
use crate::shop::stock::{self, ledgers};
use crate::shop::{carts, codes};
use crate::table::{Db, StoreError, keys, published};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub(in crate::shop) struct OrderInputs {
    /// The order's users, owner and recipients, who have an account.
    pub(in crate::shop) users: BTreeSet<UserId>,
    /// The ledgers of those who have one.
    pub(in crate::shop) ledgers: BTreeMap<UserId, Ledger>,
    pub(in crate::shop) items: BTreeMap<ItemId, PublishedItem>,
    /// Units sold of the order's items that have a counter.
    pub(in crate::shop) counted: BTreeMap<ItemId, i64>,
    pub(in crate::shop) coupon: Option<Code>,
    pub(in crate::shop) has_use: bool,
    pub(in crate::shop) gift_card: Option<Code>,
    /// The order that the owner's cart remembers as its checkout; read only for the order of a checkout.
    pub(in crate::shop) checkout: Option<InternalId>,
    /// The game servers, and the commands of every sale.
    pub(in crate::shop) delivery: StoreDelivery,
}

impl OrderInputs {
    pub(in crate::shop) async fn read(db: &Db, order: &StoredOrder) -> Result<Self, StoreError> {
        let ActiveVersion { version, config, .. } = active_version(db).await?;
        let ids: BTreeSet<ItemId> = order.order.lines.iter().map(|line| line.item).collect();
        let (owner, of_order) = (order.order.owner, users(&order.order));
        let (coupon, gift) = (order.effects.coupon.as_ref(), order.effects.gift_card.as_ref());
        let of_item = |id: &ItemId| [keys::item(&version, *id), keys::count(*id)];
        let mut wanted: Vec<_> = ids.iter().flat_map(of_item).collect();
        wanted.extend(of_order.iter().flat_map(|user| [keys::user(*user), keys::ledger(*user)]));
        wanted.extend(coupon.map(keys::code));
        wanted.extend(coupon.zip(owner).map(|(code, user)| keys::code_use(code, user)));
        wanted.extend(gift.map(|gift| keys::code(&gift.code)));
        let cart = owner.filter(|_| order.is_checkout());
        wanted.extend(cart.map(keys::cart));
        let mut rows = db.batch_get(wanted).await?;
        let mut items = BTreeMap::new();
        let mut counted = BTreeMap::new();
        for id in ids {
            let key = keys::item(&version, id);
            if let Some(row) = rows.take(&key) {
                items.insert(id, row.published(&key)?.0);
            }
            counted.extend(stock::take(&mut rows, id)?.map(|sold| (id, sold)));
        }
        let cart = cart.map(|user| carts::take(&mut rows, user)).transpose()?;
        let uses = match coupon.zip(owner) {
            Some((code, user)) => codes::take_uses(&mut rows, code, user)?,
            None => 0,
        };
        Ok(Self {
            users: of_order.iter().copied().filter(|user| rows.take(&keys::user(*user)).is_some()).collect(),
            ledgers: ledgers::take_existing(&mut rows, of_order.iter().copied())?,
            items,
            counted,
            has_use: uses > 0,
            checkout: cart.and_then(|cart| cart.checkout).map(|checkout| checkout.order),
            delivery: config.delivery,
            coupon: coupon.map_or(Ok(None), |code| codes::take(&mut rows, code))?,
            gift_card: gift.map_or(Ok(None), |gift| codes::take(&mut rows, &gift.code))?,
        })
    }
}

/// The lines with the accounts of all recipients; `None` if they are all known. A recipient who is banned by now has
/// none.
pub(in crate::shop) async fn with_accounts(
    db: &Db,
    clock: &dyn Clock,
    order: &Order,
) -> Result<Option<Vec<OrderLine>>, StoreError> {
    let mut lines = order.lines.clone();
    for line in lines.iter_mut().filter(|line| line.recipient.is_none()) {
        let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        if let Some(name) = name {
            line.recipient = account(db, clock, name).await?;
        }
    }
    Ok((lines != order.lines).then_some(lines))
}

/// The account of a player, made if there is none; `None` if the name is banned.
pub(in crate::shop) async fn account(
    db: &Db,
    clock: &dyn Clock,
    name: &PlayerName,
) -> Result<Option<UserId>, StoreError> {
    if let Some(user) = names::owner(db, name.key()).await? {
        return Ok(Some(user));
    }
    let config = published::read_active_version(db).await?.unwrap_or_default().config;
    let row = accounts::create(db, &config, name, clock.seconds()).await?;
    Ok(row.map(|row| row.user))
}
