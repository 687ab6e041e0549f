//! What an operator does about an order at its payment provider. Each step ends with what the provider says then.

use super::provider::{Provider, ProviderError};
use super::settle::{SettleError, Settled, end, settle_or_end};
use crate::clock::Clock;
use crate::model::{InternalId, Money, OrderStatus};
use crate::store::orders::{self, StoredOrder};
use crate::store::{Db, StoreError};

/// Why an operator's step was not done.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// There is no such order.
    #[error("there is no order {0}")]
    Unknown(InternalId),
    /// The order was recorded, or cost nothing.
    #[error("the order has no payment at a provider")]
    NoPayment,
    /// Only a paid order can be refunded, and only a pending one cancelled.
    #[error("the order is {}", .0.as_str())]
    Status(OrderStatus),
    /// More than what is left of the payment.
    #[error("more than what is left of the payment")]
    TooMuch {
        /// What is left.
        rest: Money,
    },
    /// The buyer has paid by a method that confirms it later.
    #[error("the payment is being processed")]
    Processing,
    /// It could not be settled.
    #[error(transparent)]
    Settle(#[from] SettleError),
}

impl From<StoreError> for OperatorError {
    fn from(error: StoreError) -> Self {
        Self::Settle(error.into())
    }
}

impl From<ProviderError> for OperatorError {
    fn from(error: ProviderError) -> Self {
        Self::Settle(error.into())
    }
}

/// The result of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refunded {
    /// The stored order.
    pub stored: StoredOrder,
    /// What was refunded now.
    pub amount: Money,
}

/// Asks the provider about an order now, and writes what it says. A checkout that has expired is ended. Returns the
/// stored order.
///
/// # Errors
/// [`OperatorError`]; the same call may be repeated.
pub async fn settle_now<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &InternalId,
) -> Result<(StoredOrder, Settled), OperatorError> {
    let stored = read(db, id).await?;
    if !stored.is_checkout() {
        return Err(OperatorError::NoPayment);
    }
    let settled = settle_or_end(db, clock, provider, &stored).await?;
    Ok((read(db, id).await?, settled))
}

/// Refunds an amount of a paid order at the provider, everything that is left if `amount` is `None`. What was refunded
/// meanwhile counts, also by other means.
///
/// # Errors
/// [`OperatorError`]; the same call may be repeated, and refunds the same amount once.
pub async fn refund<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &InternalId,
    amount: Option<Money>,
) -> Result<Refunded, OperatorError> {
    let (stored, _) = settle_now(db, clock, provider, id).await?;
    if stored.order.status != OrderStatus::Paid {
        return Err(OperatorError::Status(stored.order.status));
    }
    let checkout = stored.effects.provider.as_ref();
    let intent = checkout.and_then(|checkout| checkout.intent.as_deref()).ok_or(OperatorError::NoPayment)?;
    let before = stored.effects.refunded;
    let rest = stored.order.price.less(before);
    let amount = amount.unwrap_or(rest);
    if amount > rest || amount == Money::ZERO {
        return Err(OperatorError::TooMuch { rest });
    }
    // With what was refunded before in its key, a repeated call is the same refund, and the next one is another.
    let key = format!("refund-{id}-{}", before.minor());
    provider.refund(&stored.order, intent, amount, &key).await?;
    let (stored, _) = settle_now(db, clock, provider, id).await?;
    Ok(Refunded { stored, amount })
}

/// Ends a pending order's checkout at the provider, and gives back what it holds. If the buyer has paid in the meantime, the
/// order is paid. Returns the stored order.
///
/// # Errors
/// [`OperatorError`]; the same call may be repeated.
pub async fn cancel<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &InternalId,
) -> Result<StoredOrder, OperatorError> {
    let stored = read(db, id).await?;
    if stored.order.status != OrderStatus::Pending {
        return Err(OperatorError::Status(stored.order.status));
    }
    if !stored.is_checkout() {
        return Err(OperatorError::NoPayment);
    }
    match end(db, clock, provider, &stored).await? {
        Settled::Open => Err(OperatorError::Processing),
        Settled::Changed | Settled::Unchanged => read(db, id).await,
    }
}

async fn read(db: &Db, id: &InternalId) -> Result<StoredOrder, OperatorError> {
    orders::get(db, id).await?.ok_or_else(|| OperatorError::Unknown(id.clone()))
}
