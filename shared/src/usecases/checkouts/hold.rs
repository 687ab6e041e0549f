//! The transaction with which a checkout begins: it holds what is sold, writes the order and marks the cart.

use crate::model::{Cart, Held, OpenCheckout, PlayerName, UserId};
use crate::rules::cart::PricedLine;
use crate::rules::checkout::{Beneficiary, MayOwn, held, may_own};
use crate::store::keys::{self, Key};
use crate::store::orders::StoredOrder;
use crate::store::takes::Take;
use crate::store::unfinished::Unfinished;
use crate::store::{StoreError, carts, ledgers};
use crate::usecases::orders::effects::{spent, take_codes, users_exist};
use crate::usecases::orders::inputs::OrderInputs;
use crate::usecases::orders::refusal::{Limit, OrderRefusal, OwnedLimit, Write};
use std::collections::BTreeMap;

/// A player that a gift in the cart is for.
#[derive(Debug, Clone)]
pub(super) struct Recipient {
    /// The name.
    pub(super) name: PlayerName,
    /// The account, if there is one.
    pub(super) user: Option<UserId>,
}

impl Recipient {
    /// The key of the name's index row.
    pub(super) fn key(&self) -> Key {
        keys::name(self.name.key())
    }
}

/// The players that gifts are for, by name in lower case.
pub(super) type Recipients = BTreeMap<String, Recipient>;

/// Why a transaction cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum HoldError {
    /// No state of the table allows it.
    #[error(transparent)]
    Refused(#[from] OrderRefusal),
    /// An item cannot be encoded.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The writes with which a checkout begins. `cart` is as it was read, `take` the units that are counted already.
pub(super) fn writes(
    order: &StoredOrder,
    cart: &Cart,
    lines: &[PricedLine<'_>],
    recipients: &Recipients,
    inputs: &OrderInputs,
    take: Option<&Take>,
) -> Result<Vec<Write>, HoldError> {
    let mut writes = vec![order.put_new()?];
    writes.extend(order.effects.due.map(|due| Unfinished::put(&order.order, due)).transpose()?);
    writes.push(carts::write(&with_checkout(cart, order))?);
    let mut written = None;
    if order.effects.held {
        writes.extend(take.map(Take::check));
        writes.extend(take_codes(order, inputs)?);
        written = order.order.owner.filter(|_| spent(order).is_some());
    }
    writes.extend(users_exist(inputs, written));
    for (who, limits) in may_own(lines) {
        let (user, is_buyer) = match &who {
            Beneficiary::Buyer => (order.order.owner, true),
            Beneficiary::Player(name) => (recipients.get(name).and_then(|recipient| recipient.user), false),
        };
        writes.extend(user.map(|user| ownership(user, &limits, is_buyer)));
    }
    let bans = recipients.values().map(|recipient| keys::ban(recipient.name.key()));
    writes.extend(bans.map(|ban| Write::check(ban).only_if_absent().guarded_by(Limit::Ban)));
    Ok(writes)
}

/// The cart that remembers the checkout. It sells the version that this write makes.
fn with_checkout(cart: &Cart, order: &StoredOrder) -> Cart {
    let until = order.effects.provider.as_ref().map_or(0, |provider| provider.expires_at);
    let held = if order.effects.held { held(&order.order.lines, &order.effects) } else { Held::default() };
    let version = cart.version.saturating_add(1);
    let order = order.order.internal_id.clone();
    Cart { checkout: Some(OpenCheckout { order, version, until, held }), ..cart.clone() }
}

/// The condition that a user does not own more than the checkout allows.
fn ownership(user: UserId, limits: &[MayOwn], is_buyer: bool) -> Write {
    let most: Vec<ledgers::AtMost> = limits.iter().map(|limit| (limit.item, limit.most)).collect();
    let refusal = |limit: &MayOwn| match limit.limit {
        _ if !is_buyer => OrderRefusal::Recipient { item: limit.sold },
        Some(most) => OrderRefusal::UserLimit { item: limit.sold, limit: most },
        None => OrderRefusal::Owned { item: limit.sold },
    };
    let limits = limits.iter().map(|limit| OwnedLimit { item: limit.item, most: limit.most, refusal: refusal(limit) });
    ledgers::check(user, &most).guarded_by(Limit::Ownership(limits.collect()))
}
