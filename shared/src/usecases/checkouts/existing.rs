//! A checkout that is open already, when its buyer asks for one.

use super::create::{Checkout, open};
use super::follow_up::follow_up;
use super::provider::Provider;
use super::settle::{SettleError, Settled, end};
use crate::model::{OpenCheckout, OrderStatus, UserId};
use crate::store::orders;
use crate::store::transaction::{Sent, send};
use crate::store::{Db, StoreError, carts};
use crate::usecases::carts::CartSources;
use crate::usecases::orders::refusal::Write;

/// What became of it.
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

/// Finds the checkout that a cart remembers. If the cart has changed since, that checkout is ended first.
pub(super) async fn resume<P: Provider>(
    sources: &CartSources<'_>,
    provider: &P,
    remembered: &OpenCheckout,
    version: u64,
    user: UserId,
) -> Result<Existing, SettleError> {
    let Some(stored) = orders::get(sources.db, &remembered.order).await? else {
        forget(sources.db, user, remembered).await?;
        return Ok(Existing::Ended);
    };
    match stored.order.status {
        OrderStatus::Pending if remembered.version == version && stored.is_open(sources.clock.seconds()) => {
            let url = stored.effects.provider.as_ref().and_then(|provider| provider.url.clone());
            let checkout = match url {
                Some(url) => Checkout { order: remembered.order.clone(), url: Some(url) },
                None => open(sources, provider, &stored).await?,
            };
            Ok(Existing::Open(checkout))
        }
        OrderStatus::Pending => Ok(match end(sources.db, sources.clock, provider, &stored).await? {
            Settled::Open => Existing::Processing,
            Settled::Changed | Settled::Unchanged => {
                let stored = orders::get(sources.db, &remembered.order).await?;
                let is_paid = stored.is_some_and(|stored| stored.order.status == OrderStatus::Paid);
                if is_paid { Existing::Paid } else { Existing::Ended }
            }
        }),
        OrderStatus::Paid => {
            follow_up(sources.db, &remembered.order).await?;
            Ok(Existing::Paid)
        }
        OrderStatus::Failed | OrderStatus::Cancelled | OrderStatus::Refunded => {
            forget(sources.db, user, remembered).await?;
            Ok(Existing::Ended)
        }
    }
}

async fn forget(db: &Db, user: UserId, remembered: &OpenCheckout) -> Result<(), StoreError> {
    let write: Write = carts::forget_checkout(user, &remembered.order);
    // Another request may have forgotten it.
    let _: Sent<_> = send(db, vec![write]).await?;
    Ok(())
}
