//! Orders that need an operator: how that is noted, and how it ends.

use crate::clock::Clock;
use crate::model::{ReviewOutcome, Reviewed};
use crate::rules::payment::PaymentState;
use crate::store::orders::{Payment, StoredOrder};
use crate::store::transaction::{Write, send};
use crate::store::{Db, StoreError};
use crate::telemetry::{PaymentEvent, payment_event};

/// Notes that an operator has to look at an order, and, if it is known only now, its payment.
pub(super) async fn review(
    db: &Db,
    stored: &StoredOrder,
    intent: Option<&str>,
    reason: &str,
) -> Result<(), StoreError> {
    tracing::error!(order = %stored.order.internal_id, reason, "a payment needs an operator");
    payment_event(PaymentEvent::Review, 1);
    let row = intent.map(|intent| Payment::put(&stored.order, intent)).transpose()?;
    let writes: Vec<Write> = std::iter::once(stored.set_review(reason, intent)).chain(row).collect();
    send(db, writes).await
}

/// The end of an operator's look that a refund in full is; `None` if no operator is needed.
pub(super) fn ended_by(stored: &StoredOrder, state: &PaymentState, clock: &dyn Clock) -> Option<Reviewed> {
    let reason = stored.effects.review.clone().filter(|_| state.is_refunded())?;
    Some(Reviewed { reason, outcome: ReviewOutcome::Refunded, at: clock.seconds() })
}

/// Notes what was decided.
pub(super) async fn end_review(db: &Db, stored: &StoredOrder, reviewed: &Reviewed) -> Result<(), StoreError> {
    let write: Write = stored.end_review(reviewed)?;
    send(db, vec![write]).await
}
