//! A subscription that the owner lets give access for longer than what is paid (rules.md, "Subscriptions").

use crate::clock::Clock;
use crate::model::{RunName, Subscription};
use crate::rules::subscription::extended;
use crate::store::transaction::{Write, send};
use crate::store::{Db, StoreError, TURNS, in_turns, subscriptions};
use crate::usecases::orders::subscription::write;

/// Lets a subscription give access for so many seconds longer, once per run of the owner's; the sweep moves what runs at its end.
/// Returns it as it is stored then; `None` if the run did so before, or it gives no access. The same call may be repeated.
pub async fn extend_subscription(
    db: &Db,
    clock: &dyn Clock,
    id: &str,
    (run, seconds): (&RunName, i64),
) -> Result<Option<Subscription>, StoreError> {
    in_turns(TURNS, || async {
        let now = clock.seconds();
        let Some(read) = subscriptions::get(db, id).await? else { return Ok(None) };
        let Some(next) = extended(&read, run, seconds, now) else { return Ok(None) };
        let writes: Vec<Write> = write(db, &read, &next, now).await?;
        send(db, writes).await?;
        Ok(Some(next))
    })
    .await
}
