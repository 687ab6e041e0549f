//! Opening the provider's checkout of an order.

use super::desk::Desk;
use super::provider::Provider;
use super::settle::complete;
use super::status::SettleError;
use crate::model::{InternalId, Money, OrderStatus};
use crate::store::StoreError;
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Unguarded, Write, is_written, send_patiently};

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
        complete(desk.db, desk.clock, stored).await?;
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
