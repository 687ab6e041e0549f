//! A subscription that the owner cancels (rules.md, "Subscriptions").

use super::provider::Provider;
use super::status::SettleError;
use super::subscription::settle_subscription;
use crate::clock::Clock;
use crate::model::{Cancellation, Subscription};
use crate::rules::subscription::{cancelled, is_over_for};
use crate::store::transaction::{Sent, Write, send};
use crate::store::{Db, RETRIES, pause_before, subscriptions};
use crate::usecases::orders::subscription::write;

/// Cancels a subscription, and asks its provider to. One that is over, or is cancelled already, is only asked about.
/// Returns the stored subscription; `None` if no subscription has this id. After an error the same call may be repeated.
/// If it is one of the provider's, the cancellation is stored, and the sweep asks for it again.
pub async fn cancel_subscription<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &str,
    how: Cancellation,
) -> Result<Option<Subscription>, SettleError> {
    for round in 0..=RETRIES {
        pause_before(round).await;
        let Some(read) = subscriptions::get(db, id).await? else { return Ok(None) };
        let now = clock.seconds();
        if let Some(next) = after(&read, how, now) {
            let writes: Vec<Write> = write(db, &read, &next, now).await?;
            if send(db, writes).await? != Sent::Written {
                continue;
            }
        }
        return settle_subscription(db, clock, provider, id).await;
    }
    Err(SettleError::Conflict)
}

/// The subscription with its cancellation; `None` if that changes nothing.
fn after(read: &Subscription, how: Cancellation, now: i64) -> Option<Subscription> {
    if is_over_for(read, how, now) {
        return None;
    }
    let next = cancelled(read, how, now);
    (Subscription { due: read.due, ..next.clone() } != *read).then_some(next)
}
