//! Disputes: what the buyer's bank says of a payment is noted on its order, and acted on (rules.md, "Disputes").

use super::desk::SettleError;
use super::provider::DisputeState;
use super::refunds::take_off;
use crate::clock::Clock;
use crate::model::{
    DeliveryStep, Entitlement, InternalId, LoginKind, OrderDelivery, OrderEffects, OrderStatus, User, UserName,
};
use crate::rules::dispute::{decisive, is_older, is_taken_back, takes_back};
use crate::shop::accounts::bans;
use crate::shop::orders::change::after;
use crate::shop::orders::{self, StoredOrder};
use crate::shop::subscriptions::of_orders::end;
use crate::table::published::read_active_version;
use crate::table::transaction::{Write, send};
use crate::table::{Db, StoreError, TURNS, in_turns, keys, read_live};
use crate::telemetry::{PaymentEvent, payment_event};

/// Notes the state of a dispute on its order. One that takes the order back takes it off what ledgers call paid, recalls what
/// waits for game servers, takes back what ran, and bans the buyer if the store says so. The same state may be noted again; an
/// older one is not. Returns the order as it was before; `None` if it does not exist. After an error the same call may be
/// repeated.
pub async fn note_dispute(
    db: &Db,
    clock: &dyn Clock,
    order: &InternalId,
    dispute: &DisputeState,
) -> Result<Option<StoredOrder>, SettleError> {
    in_turns(TURNS, || async {
        let Some(stored) = orders::get(db, order).await? else { return Ok(None) };
        if !is_news(&stored, dispute) {
            return Ok(Some(stored));
        }
        note(db, clock, &stored, dispute).await?;
        tracing::error!(order = %order, state = dispute.state, "a payment is disputed");
        payment_event(PaymentEvent::Dispute, 1);
        after(db, clock, &stored).await?;
        Ok(Some(stored))
    })
    .await
}

/// Writes the state of a dispute and what follows from it.
async fn note(db: &Db, clock: &dyn Clock, stored: &StoredOrder, dispute: &DisputeState) -> Result<(), SettleError> {
    let mut disputes = stored.effects.disputes.clone();
    disputes.insert(dispute.id.clone(), dispute.state.clone());
    let decides = decisive(disputes.values().map(String::as_str));
    let takes_back = takes_back(decides);
    if takes_back && !is_taken_back(&stored.effects) {
        // Before it is noted, so that a repeated call does it again.
        ban_buyer(db, clock, stored).await?;
    }
    let begun = if takes_back { taken_back(stored) } else { None };
    let begun = begun.map(|next| stored.begin_delivery(next, clock.seconds())).transpose()?;
    let (with, others) = begun.map_or((None, Vec::new()), |(own, others)| (Some(own), others));
    let after = OrderEffects { dispute: Some(decides.to_owned()), ..stored.effects.clone() };
    let paid = if stored.order.status == OrderStatus::Paid {
        take_off(db, stored, &after, clock.seconds()).await?
    } else {
        Vec::new()
    };
    let ended = if takes_back { end(db, stored, true, clock.seconds()).await? } else { Vec::new() };
    let writes: Vec<Write> =
        [stored.set_disputes(&disputes, decides, with)].into_iter().chain(others).chain(paid).chain(ended).collect();
    Ok(send(db, writes).await?)
}

/// Whether the order does not say it yet.
fn is_news(stored: &StoredOrder, dispute: &DisputeState) -> bool {
    let noted = stored.effects.disputes.get(&dispute.id);
    noted.is_none_or(|noted| *noted != dispute.state && !is_older(&dispute.state, noted))
}

/// The delivery of a paid order that begins to be taken back. `None` if nothing is delivered, or it is taken back already.
fn taken_back(stored: &StoredOrder) -> Option<OrderDelivery> {
    let delivery = stored.effects.delivery.clone()?;
    let is_given = matches!(delivery.step, DeliveryStep::Queue | DeliveryStep::Queued);
    let next = OrderDelivery { step: DeliveryStep::Recall, next: 0, entitlement: Entitlement::ChargedBack, ..delivery };
    (is_given && stored.order.status == OrderStatus::Paid).then_some(next)
}

/// Bans the name of an order's buyer, if the store does so on disputes. Not after a login by name: anybody could have a
/// player banned by it.
async fn ban_buyer(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), StoreError> {
    let Some(owner) = stored.order.owner.filter(|_| stored.effects.via != Some(LoginKind::Name)) else { return Ok(()) };
    if !read_active_version(db).await?.is_some_and(|active| active.config.ban_on_dispute) {
        return Ok(());
    }
    let Some(user) = read_live::<User>(db, &keys::user(owner)).await? else { return Ok(()) };
    let Ok(name) = UserName::parse(&user.username) else { return Ok(()) };
    let reason = format!("the payment of order {} is disputed", stored.order.internal_id);
    let now = clock.seconds();
    if let Some(user) = bans::ban(db, &name, Some(&reason), now).await? {
        bans::cancel_subscriptions(db, user, now).await?;
    }
    Ok(())
}
