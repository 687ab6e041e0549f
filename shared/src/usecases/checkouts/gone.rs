//! An order whose checkout the provider does not have: it was deleted there, or belongs to another account or mode
//! (rules.md, "Checkout").

use super::desk::Desk;
use super::draft::GRACE;
use super::provider::{Provider, ProviderError};
use super::review::review;
use super::status::{SettleError, Settled, give_up};
use crate::model::OrderStatus;
use crate::rules::payment::{Origin, origin};
use crate::store::orders::StoredOrder;

/// The note on an order of another account or mode.
pub const STRANDED: &str = "the payment provider's account or mode has changed since";

/// When an order whose checkout the provider does not have is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndsGone {
    /// At once: an operator has confirmed it.
    Now,
    /// Once its time is over.
    Later,
}

impl<P: Provider> Desk<'_, &P> {
    /// The outcome, or, if the provider has no such checkout, that of the order then. An order of the keys' own account and
    /// mode is cancelled. One of another account or mode may still be paid there: it is marked for an operator, and what it
    /// holds is given back after its end.
    pub(super) async fn or_gone(
        &self,
        stored: &StoredOrder,
        settled: Result<Settled, SettleError>,
        ends: EndsGone,
    ) -> Result<Settled, SettleError> {
        let reason = match settled {
            Err(SettleError::Provider(ProviderError::NoCheckout(reason))) => reason,
            settled => return settled,
        };
        let Some(checkout) = stored.effects.provider.as_ref().filter(|_| stored.order.status == OrderStatus::Pending)
        else {
            return Err(ProviderError::NoCheckout(reason).into());
        };
        let now = self.clock.seconds();
        tracing::warn!(order = %stored.order.internal_id, reason, "the payment provider has no such checkout");
        let is_over = match origin(checkout, &self.provider.account()) {
            Origin::Own => ends == EndsGone::Now || now >= checkout.expires_at,
            Origin::Other | Origin::Unknown => {
                if stored.effects.review.is_none() {
                    review(self.db, stored, None, STRANDED).await?;
                }
                now >= checkout.expires_at.saturating_add(GRACE)
            }
        };
        if !is_over {
            return Ok(Settled::Gone);
        }
        give_up(self.db, self.clock, &stored.order.internal_id).await?;
        Ok(Settled::Changed)
    }
}
