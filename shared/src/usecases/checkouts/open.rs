//! Opening the provider's checkout of an order.

use super::provider::Provider;
use super::settle::{complete, open_session};
use super::status::SettleError;
use crate::model::{InternalId, Money, OrderStatus};
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Sent, Write, send_patiently};
use crate::usecases::carts::CartSources;

/// A checkout that the buyer can pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    pub order: InternalId,
    /// The URL at which it is paid; `None` if the order is paid already.
    pub url: Option<String>,
}

/// Opens the provider's checkout of an order and stores it. An order without a price is paid at once. If the provider
/// refuses it permanently, what was held is given back.
pub(super) async fn open<P: Provider>(
    sources: &CartSources<'_>,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Checkout, SettleError> {
    let order = stored.order.internal_id.clone();
    if stored.order.price == Money::ZERO {
        complete(sources.db, sources.clock, stored).await?;
        return Ok(Checkout { order, url: None });
    }
    let session = open_session(sources.db, sources.clock, provider, stored).await?;
    let write: Write = stored.set_session(&session.id, &session.url);
    if send_patiently(sources.db, vec![write]).await? != Sent::Written {
        // Another request for the same order may have stored the same session, or ended the order.
        let now = orders::get(sources.db, &order).await?;
        let is_stored = |stored: &StoredOrder| {
            stored.effects.provider.as_ref().is_some_and(|provider| provider.session.as_ref() == Some(&session.id))
        };
        if !now.as_ref().is_some_and(is_stored) {
            // The session of an order that waits is opened again by the next request or the sweep, with the same key: the
            // provider then returns this one, and it must not be expired.
            if !now.is_some_and(|stored| stored.order.status == OrderStatus::Pending) {
                provider.expire(&session.id).await?;
            }
            return Err(SettleError::Conflict);
        }
    }
    Ok(Checkout { order, url: Some(session.url) })
}
