//! A checkout that is open already, when its buyer asks for one.

use super::bought::clear_cart;
use super::desk::Desk;
use super::gone::EndsGone;
use super::open::{Checkout, open};
use super::provider::{Provider, ProviderError};
use super::status::{SettleError, Settled};
use crate::model::{Cart, Login, OpenCheckout, OrderStatus, UserId};
use crate::store::transaction::{Write, is_written, sent};
use crate::store::{Db, StoreError, carts, orders};

pub(super) enum Existing {
    /// It sells the same cart and can be paid.
    Open(Checkout),
    /// Its payment has not ended.
    Processing,
    /// It is paid, and what was bought has left the cart; the cart has to be read again.
    Paid,
    /// It has ended without a payment; the cart has to be read again.
    Ended,
}

/// Finds the checkout that a cart remembers. If the cart has changed since, or another login began it, that checkout is
/// ended first.
pub(super) async fn resume<P: Provider>(
    desk: &Desk<'_, &P>,
    remembered: &OpenCheckout,
    cart: &Cart,
    login: Login,
) -> Result<Existing, SettleError> {
    let user = cart.user;
    let Some(stored) = orders::get(desk.db, &remembered.order).await? else {
        forget(desk.db, user, remembered).await?;
        return Ok(Existing::Ended);
    };
    match stored.order.status {
        OrderStatus::Pending
            if remembered.version == cart.version
                // One that was stored without a login is of no login by name.
                && stored.effects.login.unwrap_or_default() == login
                && stored.is_open(desk.clock.seconds()) =>
        {
            let url = stored.effects.provider.as_ref().and_then(|provider| provider.url.clone());
            let checkout = match url {
                Some(url) => Checkout { order: remembered.order.clone(), url: Some(url) },
                None => match open(desk, &stored).await {
                    Err(SettleError::Provider(ProviderError::NoCheckout(_))) => return Ok(Existing::Processing),
                    opened => opened?,
                },
            };
            Ok(Existing::Open(checkout))
        }
        OrderStatus::Pending => {
            let ended = desk.end(&stored).await;
            let ended = desk.or_gone(&stored, ended, EndsGone::Later).await;
            Ok(match ended? {
                Settled::Open | Settled::Gone => Existing::Processing,
                Settled::Changed | Settled::Unchanged => {
                    let stored = orders::get(desk.db, &remembered.order).await?;
                    let is_paid = stored.is_some_and(|stored| stored.order.status == OrderStatus::Paid);
                    if is_paid { Existing::Paid } else { Existing::Ended }
                }
            })
        }
        OrderStatus::Paid => {
            is_written(clear_cart(desk.db, stored).await)?;
            Ok(Existing::Paid)
        }
        OrderStatus::Failed | OrderStatus::Cancelled | OrderStatus::Refunded => {
            forget(desk.db, user, remembered).await?;
            Ok(Existing::Ended)
        }
    }
}

async fn forget(db: &Db, user: UserId, remembered: &OpenCheckout) -> Result<(), StoreError> {
    let write: Write = carts::forget_checkout(user, &remembered.order);
    // Another request may have forgotten it.
    sent(db, vec![write]).await?;
    Ok(())
}
