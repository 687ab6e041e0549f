//! A subscription that the owner cancels (rules.md, "Subscriptions").

use super::desk::Desk;
use super::provider::Provider;
use super::status::SettleError;
use crate::model::{Cancellation, Subscription};
use crate::rules::subscription::{cancelled, is_over_for};
use crate::store::transaction::{Write, sent};
use crate::store::{StoreError, TURNS, in_turns, subscriptions};
use crate::usecases::orders::subscription::write;

impl<P: Provider> Desk<'_, &P> {
    /// Cancels a subscription, and asks its provider to. One that is over, or is cancelled already, is only asked about.
    /// Returns the stored subscription; `None` if no subscription has this id. After an error the same call may be repeated.
    /// If it is one of the provider's, the cancellation is stored, and the sweep asks for it again.
    pub async fn cancel_subscription(&self, id: &str, how: Cancellation) -> Result<Option<Subscription>, SettleError> {
        in_turns(TURNS, || async {
            let Some(read) = subscriptions::get(self.db, id).await? else { return Ok(None) };
            let now = self.clock.seconds();
            if let Some(next) = after(&read, how, now) {
                let writes: Vec<Write> = write(self.db, &read, &next, now).await?;
                if !sent(self.db, writes).await? {
                    return Err(StoreError::Contended.into());
                }
            }
            self.settle_subscription(id).await
        })
        .await
    }
}

/// The subscription with its cancellation; `None` if that changes nothing.
fn after(read: &Subscription, how: Cancellation, now: i64) -> Option<Subscription> {
    if is_over_for(read, how, now) {
        return None;
    }
    let next = cancelled(read, how, now);
    (Subscription { due: read.due, ..next.clone() } != *read).then_some(next)
}
