//! What follows from a payment or a refund: the statistics, and the buyer's cart without what was bought. Each is marked on
//! the order, so that it is done once, and the next caller continues.

use crate::model::{Cart, CodeText, InternalId, OrderStatus};
use crate::rules::checkout::without_bought;
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, RETRIES, StoreError, carts, keys, read_live};
use crate::usecases::orders::{CatchUp, catch_up_once, pause_before};

/// Does what still follows from an order. Whether all of it is done.
///
/// # Errors
/// [`StoreError`] if the database does not respond; the same call may be repeated.
pub async fn follow_up(db: &Db, id: &InternalId) -> Result<bool, StoreError> {
    // The sweep tries again.
    let counted = catch_up_once(db, id).await? != CatchUp::Conflict;
    for round in 0..=RETRIES {
        pause_before(round).await;
        let Some(stored) = orders::get(db, id).await? else { return Ok(true) };
        if stored.effects.cart_cleared == Some(false) {
            clear_cart(db, &stored).await?;
            continue;
        }
        let is_done = counted && !stored.statistics_due() && stored.order.status != OrderStatus::Pending;
        if !is_done || stored.effects.due.is_none() {
            return Ok(is_done);
        }
        let writes: Vec<Write> = stored.finish();
        if send(db, writes).await? == Sent::Written {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes what was bought from the buyer's cart, if the cart still remembers the order.
async fn clear_cart(db: &Db, stored: &StoredOrder) -> Result<(), StoreError> {
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
    // On a conflict the caller reads both again.
    let _: Sent<_> = send(db, writes).await?;
    Ok(())
}
