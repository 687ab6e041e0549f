//! Opening the provider's checkout of an order, and finding the one that is open already.

use super::begin::Request;
use super::desk::{Desk, SettleError, Settled};
use super::provider::{Provider, ProviderError};
use super::refunds::EndsGone;
use crate::model::{Cart, ChatId, InternalId, Money, OpenCheckout, OrderStatus, UserId};
use crate::shop::carts;
use crate::shop::orders::change::{clear_cart, complete};
use crate::shop::orders::{self, StoredOrder};
use crate::table::transaction::{Unguarded, Write, is_written, send_patiently, sent};
use crate::table::{Db, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub order: InternalId,
    /// The URL at which it is paid; `None` if the order is paid already.
    pub url: Option<String>,
}

/// Opens the provider's checkout of an order and stores it. An order without a price is paid at once. If the provider
/// refuses it permanently, what was held is given back.
pub(super) async fn open<P: Provider>(desk: &Desk<'_, &P>, stored: &StoredOrder) -> Result<Checkout, SettleError> {
    let order = stored.order.internal_id.clone();
    if stored.order.price == Money::ZERO {
        complete(desk.db, desk.clock, &order).await?;
        return Ok(Checkout { order, url: None });
    }
    let session = desk.open_session(stored).await?;
    let write: Write = stored.set_session(&session.id, &session.url);
    let stored_now = send_patiently::<Unguarded>(desk.db, vec![write.into()]).await.map(drop);
    if !is_written(stored_now)? {
        // Another request for the same order may have stored the same session, or ended the order.
        let now = orders::get(desk.db, &order).await?;
        let is_stored = |stored: &StoredOrder| {
            stored.effects.provider.as_ref().is_some_and(|provider| provider.session.as_ref() == Some(&session.id))
        };
        if !now.as_ref().is_some_and(is_stored) {
            // The session of an order that waits is opened again by the next request or the sweep, with the same key:
            // the provider then returns this one, and it must not be expired.
            if !now.is_some_and(|stored| stored.order.status == OrderStatus::Pending) {
                desk.provider.expire(&session.id).await?;
            }
            return Err(StoreError::Contended.into());
        }
    }
    Ok(Checkout { order, url: Some(session.url) })
}

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

/// Finds the checkout that a cart remembers. One that does not sell this cart, that another login began, that is for another chat
/// account than the one that is linked now, or that is paid and not confirmed yet, is ended first, or settled.
pub(super) async fn resume<P: Provider>(
    desk: &Desk<'_, &P>,
    remembered: &OpenCheckout,
    cart: &Cart,
    request: Request<'_>,
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
                && stored.effects.login.unwrap_or_default() == request.login
                && !is_for_another_chat(&stored, request.chat)
                && !is_unconfirmed(&stored)
                && stored.is_open(desk.clock.seconds()) =>
        {
            let url = stored.effects.provider.as_ref().and_then(|provider| provider.url.clone());
            let checkout = match url {
                Some(url) => Checkout { order: remembered.order.clone(), url: Some(url) },
                None => match open(desk, &stored).await {
                    Err(SettleError::Provider(ProviderError::NoCheckout(_))) => return Ok(Existing::Processing),
                    // It is too late to open it: it would be open for less than the provider's least time. It was given up.
                    Err(SettleError::Provider(ProviderError::Refused(_))) => return Ok(Existing::Ended),
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
            clear_cart(desk.db, &stored).await?;
            Ok(Existing::Paid)
        }
        OrderStatus::Failed | OrderStatus::Cancelled | OrderStatus::Refunded => {
            forget(desk.db, user, remembered).await?;
            Ok(Existing::Ended)
        }
    }
}

/// Whether the buyer has paid by a method that is confirmed later: then the order has no URL any more.
fn is_unconfirmed(stored: &StoredOrder) -> bool {
    stored.effects.provider.as_ref().is_some_and(|provider| provider.session.is_some() && provider.url.is_none())
}

/// Whether an order gives something to another chat account than the one that the buyer has linked now.
fn is_for_another_chat(stored: &StoredOrder, linked: Option<&ChatId>) -> bool {
    stored.effects.chat.as_ref().zip(linked).is_some_and(|(ordered, linked)| ordered != linked)
}

async fn forget(db: &Db, user: UserId, remembered: &OpenCheckout) -> Result<(), StoreError> {
    let write: Write = carts::forget_checkout(user, &remembered.order);
    // Another request may have forgotten it.
    sent(db, vec![write]).await?;
    Ok(())
}
