//! The scheduled sweep: finishes what was interrupted.

use super::follow_up::follow_up;
use super::notice::act;
use super::provider::Provider;
use super::settle::{SettleError, Settled, settle_or_end};
use super::take::settle_take;
use crate::clock::Clock;
use crate::model::{InternalId, OrderStatus};
use crate::store::keys::Key;
use crate::store::orders;
use crate::store::transaction::{Sent, send};
use crate::store::unfinished::{self, Due, Notices};
use crate::store::{Db, StoreError};
use crate::telemetry::overdue_orders;
use crate::usecases::orders::catch_up;
use crate::usecases::orders::refusal::Write;
use serde::Serialize;
use std::collections::BTreeSet;

/// How many seconds later an order that still waits is looked at again: a delayed method confirms after days.
const LATER: i64 = 900;

/// After how many seconds an order that is still due is overdue.
pub const OVERDUE: i64 = 900;

/// How often the provider's notices are asked for, in seconds: one may be lost.
const NOTICES_EVERY: i64 = 3_600;
/// How many seconds before the last time is asked for again: the provider's clock is not ours.
const OVERLAP: i64 = 300;

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Swept {
    /// Orders that were due.
    pub due: usize,
    /// Those that are finished, or wait for the provider.
    pub done: usize,
    /// Those that the next sweep looks at again.
    pub failed: usize,
}

/// Looks at every order that is due. One that fails does not keep the others waiting.
///
/// # Errors
/// [`StoreError`] if the due orders cannot be read.
pub async fn sweep<P: Provider>(db: &Db, clock: &dyn Clock, provider: Option<&P>) -> Result<Swept, StoreError> {
    let mut swept = Swept::default();
    for due in unfinished::due(db, clock.seconds()).await? {
        swept.due += 1;
        let (id, settled) = match &due {
            Due::Order(row, id) => (id, look_at(db, clock, provider, row, id).await),
            Due::Take(take) => (&take.order, settle_take(db, take).await.map_err(SettleError::from)),
        };
        match settled {
            Ok(()) => swept.done += 1,
            Err(error) => {
                tracing::error!(order = %id, error = %error, "an order could not be finished");
                swept.failed += 1;
            }
        }
    }
    if let Some(provider) = provider {
        swept.failed += notices(db, clock, provider).await?;
    }
    let overdue = unfinished::due(db, clock.seconds().saturating_sub(OVERDUE)).await?;
    overdue_orders(u32::try_from(overdue.len()).unwrap_or(u32::MAX));
    Ok(swept)
}

/// Acts on the provider's notices of the last hour again, if an hour has passed. The number of those that failed.
async fn notices<P: Provider>(db: &Db, clock: &dyn Clock, provider: &P) -> Result<usize, StoreError> {
    let now = clock.seconds();
    let since = Notices::read(db).await?.map(|notices| notices.since);
    let mut failed = 0;
    match since {
        Some(since) if now.saturating_sub(since) < NOTICES_EVERY => return Ok(0),
        Some(since) => match provider.notices_since(since.saturating_sub(OVERLAP)).await {
            Ok(notices) => {
                for notice in notices.into_iter().collect::<BTreeSet<_>>() {
                    if let Err(error) = act(db, clock, provider, &notice).await {
                        tracing::error!(notice = ?notice, error = %error, "a notice of the payment provider failed");
                        failed += 1;
                    }
                }
            }
            Err(error) => {
                tracing::error!(error = %error, "the payment provider's notices could not be asked for");
                failed += 1;
            }
        },
        None => {}
    }
    // One that failed is asked for again.
    if failed == 0 {
        let write: Write = Notices { since: now }.put()?;
        let _: Sent<_> = send(db, vec![write]).await?;
    }
    Ok(failed)
}

async fn look_at<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: Option<&P>,
    row: &Key,
    id: &InternalId,
) -> Result<(), SettleError> {
    let stored = orders::get(db, id).await?.filter(|stored| stored.unfinished().as_ref() == Some(row));
    let Some(stored) = stored else {
        // Something else has finished or postponed the order meanwhile, or it is gone.
        let delete: Write = Write::delete(row.clone());
        let _: Sent<_> = send(db, vec![delete]).await?;
        return Ok(());
    };
    if stored.order.status != OrderStatus::Pending {
        catch_up(db, id).await?;
        return if follow_up(db, id).await? { Ok(()) } else { Err(SettleError::Conflict) };
    }
    // Without a key of the provider nothing can be asked.
    let Some(provider) = provider else { return Ok(()) };
    if settle_or_end(db, clock, provider, &stored).await? == Settled::Open {
        let writes: Vec<Write> = stored.postpone(clock.seconds().saturating_add(LATER))?;
        let _: Sent<_> = send(db, writes).await?;
    }
    Ok(())
}
