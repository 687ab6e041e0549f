//! The consequences of a change of an order, once it is written: the buyer's cart without what was bought, the delivery, and the
//! statistics. They are started here and nowhere else; the sweep finishes what is left.

use super::StoredOrder;
use crate::clock::Clock;
use crate::model::{Cart, CodeText};
use crate::rules::checkout::without_bought;
use crate::shop::carts;
use crate::shop::delivery::follow_or_leave;
use crate::shop::orders;
use crate::shop::statistics::{Statistics, follow as count};
use crate::table::transaction::{Write, is_written, send, sent};
use crate::table::{Db, RETRIES, StoreError, in_turns, keys, read_live};

/// Clears the buyer's cart and delivers. The cart is left to the sweep if its buyer keeps changing it, the delivery if it fails,
/// the statistics in any case. `stored` is the order before or after the change.
pub(in crate::shop) async fn after(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), StoreError> {
    is_written(clear_cart(db, stored.clone()).await)?;
    if stored.effects.delivery.is_some() {
        follow_or_leave(db, clock, stored).await;
    }
    Ok(())
}

/// [`after`] of a tool's change: whatever fails is left to the sweep, and the statistics follow at once.
pub(in crate::shop) async fn after_at_once(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Statistics {
    if let Err(error) = after(db, clock, stored).await {
        tracing::warn!(order = %stored.order.internal_id, %error, "left to the sweep");
    }
    count(db, &stored.order.internal_id).await
}

/// Removes what was bought from the buyer's cart, if that is not done yet. After an error, and if the buyer kept changing the cart,
/// the same call may be repeated.
pub(in crate::shop) async fn clear_cart(db: &Db, stored: StoredOrder) -> Result<(), StoreError> {
    if stored.effects.cart_cleared != Some(false) || sent(db, writes(db, &stored).await?).await? {
        return Ok(());
    }
    in_turns(RETRIES, || async {
        let read = orders::get(db, &stored.order.internal_id).await?;
        match read.filter(|stored| stored.effects.cart_cleared == Some(false)) {
            Some(stored) => send(db, writes(db, &stored).await?).await,
            None => Ok(()),
        }
    })
    .await
}

/// The mark, and the cart if it still remembers the order.
async fn writes(db: &Db, stored: &StoredOrder) -> Result<Vec<Write>, StoreError> {
    let cart = match stored.order.owner {
        Some(owner) => read_live::<Cart>(db, &keys::cart(owner)).await?,
        None => None,
    };
    let id = &stored.order.internal_id;
    let cart = cart.filter(|cart| cart.checkout.as_ref().is_some_and(|checkout| checkout.order == *id));
    let mut writes: Vec<Write> = vec![stored.set_cart_cleared()];
    if let Some(cart) = cart {
        let gift_card = stored.effects.gift_card.as_ref().map(|payment| &payment.code);
        let codes: Vec<&CodeText> = stored.effects.coupon.iter().chain(gift_card).collect();
        writes.push(carts::write(&without_bought(&cart, &stored.order.lines, &codes))?);
    }
    Ok(writes)
}
