//! The transaction with which a checkout begins: it holds what is sold, writes the order and marks the cart.

use crate::model::{Cart, Held, Ledger, OpenCheckout, PlayerName, UserId};
use crate::rules::cart::PricedLine;
use crate::rules::checkout::{Beneficiary, MayOwn, may_own};
use crate::rules::held::held;
use crate::rules::pricing::Buyer;
use crate::store::keys::{self, Key};
use crate::store::orders::StoredOrder;
use crate::store::owned_orders::OwnedOrder;
use crate::store::reservations::Reservation;
use crate::store::transaction::Write;
use crate::store::unfinished::Unfinished;
use crate::store::{Db, StoreError, carts, chat, ledgers, users};
use crate::usecases::carts::CartContext;
use crate::usecases::orders::effects::{spent, take_codes, to_check};
use crate::usecases::orders::inputs::OrderInputs;
use crate::usecases::orders::refusal::{Guarded, Limit, OrderRefusal, OwnedLimit};
use std::collections::{BTreeMap, BTreeSet};

/// A player that a gift in the cart is for.
#[derive(Debug, Clone)]
pub(super) struct Recipient {
    pub(super) name: PlayerName,
    /// The account, if there is one.
    pub(super) user: Option<UserId>,
    /// The ledger of the account; read only if it is too much for one condition.
    pub(super) ledger: Option<Ledger>,
}

impl Recipient {
    pub(super) fn key(&self) -> Key {
        keys::name(self.name.key())
    }
}

/// The players that gifts are for, by name in lower case.
pub(super) type Recipients = BTreeMap<String, Recipient>;

/// The reason why a transaction cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum HoldError {
    /// No state of the table allows it.
    #[error(transparent)]
    Refused(#[from] OrderRefusal),
    /// An item cannot be encoded.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads what recipients own if there is more to compare than one condition can.
pub(super) async fn read_ledgers(
    db: &Db,
    lines: &[PricedLine<'_>],
    recipients: &mut Recipients,
) -> Result<(), StoreError> {
    let large = may_own(lines).into_iter().filter(|(_, limits)| limits.len() > ledgers::AT_ONCE);
    let user = |(who, _)| match who {
        Beneficiary::Buyer => None,
        Beneficiary::Player(name) => recipients.get(&name)?.user,
    };
    let users: BTreeSet<UserId> = large.filter_map(user).collect();
    if users.is_empty() {
        return Ok(());
    }
    let mut rows = db.batch_get(users.iter().map(|user| keys::ledger(*user)).collect()).await?;
    for recipient in recipients.values_mut() {
        let user = recipient.user.filter(|user| users.contains(user));
        recipient.ledger = user.map(|user| ledgers::take(&mut rows, user)).transpose()?;
    }
    Ok(())
}

/// The writes with which a checkout begins. `context` is what was read of the buyer, `reservation` its units that are
/// reserved already.
pub(super) fn writes(
    order: &StoredOrder,
    context: &CartContext,
    lines: &[PricedLine<'_>],
    recipients: &Recipients,
    inputs: &OrderInputs,
    reservation: Option<&Reservation>,
) -> Result<Vec<Guarded>, HoldError> {
    let mut writes = vec![order.put_new()?.into()];
    writes.extend(OwnedOrder::put(&order.order)?.map(Guarded::from));
    writes.extend(order.effects.due.map(|due| Unfinished::put(&order.order, due)).transpose()?.map(Guarded::from));
    writes.push(carts::write(&with_checkout(&context.cart, order))?.into());
    // A subscription is checked against the others that were read.
    let mut written = order.order.owner.filter(|_| order.effects.subscription.is_some());
    let subscribed = written.map(|owner| users::must_have_subscriptions(owner, &context.subscriptions)).transpose()?;
    writes.extend(subscribed.map(Guarded::from));
    if order.effects.held {
        writes.extend(reservation.map(|reservation| reservation.check().into()));
        writes.extend(take_codes(order, inputs)?);
        written = written.or_else(|| order.order.owner.filter(|_| spent(order).is_some()));
    }
    let recipient_accounts: BTreeSet<UserId> = recipients.values().filter_map(|recipient| recipient.user).collect();
    writes.extend(to_check(inputs, written).map(|user| {
        if recipient_accounts.contains(&user) {
            // A ban is of the present name: the one that was typed may be a former one.
            return users::must_not_be_banned(user).guarded_by(Limit::Ban);
        }
        users::must_exist(user).into()
    }));
    let mut judged = BTreeSet::new();
    for (who, limits) in may_own(lines) {
        let now = order.order.created_at;
        let (user, read, is_buyer) = match &who {
            Beneficiary::Buyer => (order.order.owner, Some(context.owner(now)), true),
            Beneficiary::Player(name) => {
                let recipient = recipients.get(name);
                let read = recipient.and_then(|recipient| recipient.ledger.as_ref());
                let read = read.map(|ledger| Buyer { ledger, subscriptions: &[], now });
                (recipient.and_then(|recipient| recipient.user), read, false)
            }
        };
        // A gift for the buyer's own name, or for a player under a former and the present name: one transaction cannot
        // check a ledger twice.
        if let (Some(item), true) = (limits.first(), user.is_some_and(|user| !judged.insert(user))) {
            return Err(OrderRefusal::Recipient { item: item.sold }.into());
        }
        writes.extend(user.map(|user| ownership(user, &limits, read, is_buyer, now)).transpose()?);
    }
    let bans = recipients.values().map(|recipient| keys::ban(recipient.name.key()));
    writes.extend(bans.map(|ban| Write::check(ban).only_if_absent().guarded_by(Limit::Ban)));
    let chat = order.effects.chat.as_ref().zip(order.order.owner);
    writes.extend(chat.map(|(id, user)| chat::claim(id, user, order.order.created_at).guarded_by(Limit::Chat)));
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

/// The condition that a user does not own more than the checkout allows. A ledger that was read must allow it, and
/// still be the same.
fn ownership(
    user: UserId,
    limits: &[MayOwn],
    read: Option<Buyer<'_>>,
    is_buyer: bool,
    now: i64,
) -> Result<Guarded, OrderRefusal> {
    let most: Vec<ledgers::AtMost> = limits.iter().map(|limit| (limit.item, limit.most)).collect();
    let refusal = |limit: &MayOwn| match limit.limit {
        _ if !is_buyer => OrderRefusal::Recipient { item: limit.sold },
        Some(most) => OrderRefusal::UserLimit { item: limit.sold, limit: most },
        None => OrderRefusal::Owned { item: limit.sold },
    };
    let owns_more = |limit: &&MayOwn| read.is_some_and(|read| u64::from(read.owned(limit.item).units) > limit.most);
    if let Some(limit) = limits.iter().find(owns_more) {
        return Err(refusal(limit));
    }
    let limits = limits.iter().map(|limit| OwnedLimit { item: limit.item, most: limit.most, refusal: refusal(limit) });
    let write = ledgers::check(user, &most, read.map(|read| read.ledger.version), now);
    Ok(write.guarded_by(Limit::Ownership { limits: limits.collect(), now }))
}
