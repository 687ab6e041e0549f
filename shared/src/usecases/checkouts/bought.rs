//! The buyer's cart without what was bought. It is marked on the order, so that it is done once, and the next caller
//! continues.

use crate::clock::Clock;
use crate::model::{Cart, CodeText};
use crate::rules::checkout::without_bought;
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, RETRIES, StoreError, carts, keys, pause_before, read_live};
use crate::usecases::delivery::follow_or_leave;

/// Completes a change of the order: the cart without what was bought, and the delivery, which is left to the sweep if
/// it fails.
pub(super) async fn follow_up(db: &Db, clock: &dyn Clock, stored: StoredOrder) -> Result<bool, StoreError> {
    let is_cleared = clear_cart(db, stored.clone()).await?;
    if stored.effects.delivery.is_some() {
        follow_or_leave(db, clock, &stored).await;
    }
    Ok(is_cleared)
}

/// Removes what was bought from the buyer's cart, if that is not done yet. `false` if the buyer kept changing the cart: the
/// sweep then does it. After an error the same call may be repeated.
pub(super) async fn clear_cart(db: &Db, mut stored: StoredOrder) -> Result<bool, StoreError> {
    for round in 0..=RETRIES {
        pause_before(round).await;
        if stored.effects.cart_cleared != Some(false) || send(db, writes(db, &stored).await?).await? == Sent::Written {
            return Ok(true);
        }
        let Some(read) = orders::get(db, &stored.order.internal_id).await? else { return Ok(true) };
        stored = read;
    }
    Ok(false)
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
