//! The scheduled sweep: whatever was interrupted is finished.

use super::follow_up::follow_up;
use super::provider::Provider;
use super::settle::{SettleError, Settled, end, settle};
use super::take::settle_take;
use crate::clock::Clock;
use crate::model::{InternalId, OrderStatus};
use crate::store::keys::Key;
use crate::store::orders::{self, Due};
use crate::store::transaction::{Sent, send};
use crate::store::{Db, StoreError};
use crate::usecases::orders::refusal::Write;

/// How many seconds later an order that still waits is looked at again: a delayed method confirms after days.
const LATER: i64 = 900;

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    for due in orders::due(db, clock.seconds()).await? {
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
    Ok(swept)
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
        return if follow_up(db, id).await? { Ok(()) } else { Err(SettleError::Conflict) };
    }
    // Without a key of the provider nothing can be asked.
    let Some(provider) = provider else { return Ok(()) };
    let is_over = stored.effects.provider.as_ref().is_none_or(|provider| clock.seconds() >= provider.expires_at);
    let settled =
        if is_over { end(db, clock, provider, &stored).await? } else { settle(db, clock, provider, &stored).await? };
    if settled == Settled::Open {
        let writes: Vec<Write> = stored.postpone(clock.seconds().saturating_add(LATER))?;
        let _: Sent<_> = send(db, writes).await?;
    }
    Ok(())
}
