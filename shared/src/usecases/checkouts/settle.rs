//! Writing what the provider says of an order.

use super::follow_up::follow_up;
use super::provider::{Provider, ProviderError, Session};
use super::refund::refund_in_part;
use crate::clock::Clock;
use crate::model::{InternalId, Money, Order, OrderLine, OrderStatus, PlayerName, UserId};
use crate::rules::payment::{Decision, PaymentState, decide};
use crate::store::names;
use crate::store::orders::{self, StoredOrder};
use crate::store::transaction::{Sent, send, send_patiently};
use crate::store::{Db, RETRIES, StoreError, published};
use crate::telemetry;
use crate::telemetry::PaymentEvent;
use crate::usecases::accounts;
use crate::usecases::orders::effects::Limits;
use crate::usecases::orders::refusal::Write;
use crate::usecases::orders::transition::{Planned, Step, plan};
use crate::usecases::orders::{SetStatusError, pause_before};
use futures_util::future::BoxFuture;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The payment has not ended; the order waits.
    Open,
    /// The order has changed.
    Changed,
    /// The order says already what the provider says.
    Unchanged,
}

/// Why an order was not settled. The same call may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// The provider.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// Other writes kept changing the same items.
    #[error("other writes kept changing the same items")]
    Conflict,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Asks the provider what became of an order's checkout, and writes it. An order whose checkout was never opened waits.
///
/// # Errors
/// [`SettleError`].
pub async fn settle<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Settled, SettleError> {
    let Some(session) = stored.effects.provider.as_ref().and_then(|provider| provider.session.as_deref()) else {
        return Ok(Settled::Open);
    };
    let state = provider.look(session).await?;
    settle_with(db, clock, provider, &stored.order.internal_id, &state).await
}

/// [`settle`], or [`end`] if the time of a pending order's checkout is up.
///
/// # Errors
/// [`SettleError`].
pub(super) async fn settle_or_end<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Settled, SettleError> {
    let is_over = stored.order.status == OrderStatus::Pending && !stored.is_open(clock.seconds());
    if is_over { end(db, clock, provider, stored).await } else { settle(db, clock, provider, stored).await }
}

/// [`settle`], unless the provider was asked about the same order less than `every` seconds ago; then `None`.
///
/// # Errors
/// [`SettleError`].
pub async fn ask<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
    every: i64,
) -> Result<Option<Settled>, SettleError> {
    let now = clock.seconds();
    let write: Write = stored.set_asked(now, now.saturating_sub(every));
    match send(db, vec![write]).await? {
        Sent::Written => settle(db, clock, provider, stored).await.map(Some),
        Sent::Conflict | Sent::Refused(_) => Ok(None),
    }
}

/// Ends an order's checkout at the provider, and writes what came of it. A session whose URL was never stored is asked for
/// again by the same key, so that nothing stays open that could be paid.
///
/// # Errors
/// [`SettleError`].
pub(super) async fn end<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Settled, SettleError> {
    let id = &stored.order.internal_id;
    if stored.order.price == Money::ZERO {
        complete(db, clock, stored).await?;
        return Ok(Settled::Changed);
    }
    let known = stored.effects.provider.as_ref().and_then(|provider| provider.session.clone());
    let session = match known {
        Some(session) => session,
        None => match open_session(db, clock, provider, stored).await {
            Ok(session) => session.id,
            Err(SettleError::Provider(error)) if error.is_refusal() => return Ok(Settled::Changed),
            Err(error) => return Err(error),
        },
    };
    provider.expire(&session).await?;
    let state = provider.look(&session).await?;
    settle_with(db, clock, provider, id, &state).await
}

/// Writes what the provider says of an order, conditional on the order's status, and what follows from it.
///
/// # Errors
/// [`SettleError`].
pub async fn settle_with<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    id: &InternalId,
    state: &PaymentState,
) -> Result<Settled, SettleError> {
    let mut is_paid = false;
    for round in 0..=RETRIES {
        pause_before(round).await;
        let Some(stored) = orders::get(db, id).await? else { return Ok(Settled::Unchanged) };
        let decision = decide(&stored.order, &stored.effects, state);
        let written = match decision {
            Decision::Nothing => {
                follow_up(db, id).await?;
                return Ok(match stored.order.status {
                    OrderStatus::Pending => Settled::Open,
                    _ if is_paid => Settled::Changed,
                    _ => Settled::Unchanged,
                });
            }
            Decision::Pay | Decision::PayOrRefund => pay(db, clock, provider, &stored, state).await?,
            Decision::End(to) => change(db, &stored, &Step::to(to, clock.seconds())).await?.is_written(),
            Decision::Refund => {
                change(db, &stored, &Step::to(OrderStatus::Refunded, clock.seconds())).await?.is_written()
            }
            Decision::RefundInPart(refunded) => refund_in_part(db, clock, &stored, refunded).await?,
            Decision::Review(reason) => review(db, &stored, reason).await?,
        };
        if !written {
            telemetry::conflict();
        } else if matches!(decision, Decision::Pay | Decision::PayOrRefund) && state.refunded > Money::ZERO {
            // It is seen for the first time when a part is refunded already.
            is_paid = true;
        } else {
            follow_up(db, id).await?;
            return Ok(Settled::Changed);
        }
    }
    Err(SettleError::Conflict)
}

/// Pays an order that costs nothing.
pub(super) async fn complete(db: &Db, clock: &dyn Clock, stored: &StoredOrder) -> Result<(), SettleError> {
    let id = &stored.order.internal_id;
    for round in 0..=RETRIES {
        pause_before(round).await;
        let Some(stored) = orders::get(db, id).await? else { return Ok(()) };
        let is_paid = match stored.order.status {
            OrderStatus::Pending => paid(db, clock, &stored, None).await?,
            _ => Paid::Written,
        };
        match is_paid {
            Paid::Written => {
                if let Err(error) = follow_up(db, id).await {
                    tracing::warn!(order = %id, %error, "left to the sweep");
                }
                return Ok(());
            }
            Paid::Refused => return give_up(db, clock, id).await,
            Paid::Conflict => {}
        }
    }
    Err(SettleError::Conflict)
}

/// Opens the provider's session of an order. If the provider refuses it permanently, what is held is given back.
pub(super) async fn open_session<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
) -> Result<Session, SettleError> {
    let opened = provider.open(stored).await;
    if opened.as_ref().is_err_and(ProviderError::is_refusal) {
        give_up(db, clock, &stored.order.internal_id).await?;
    }
    Ok(opened?)
}

/// Ends an order that cannot be paid, and gives back what it holds.
async fn give_up(db: &Db, clock: &dyn Clock, id: &InternalId) -> Result<(), SettleError> {
    for round in 0..=RETRIES {
        pause_before(round).await;
        let Some(stored) = orders::get(db, id).await? else { return Ok(()) };
        let step = Step::to(OrderStatus::Cancelled, clock.seconds());
        if stored.order.status != OrderStatus::Pending || change(db, &stored, &step).await?.is_written() {
            return Ok(());
        }
    }
    Err(SettleError::Conflict)
}

/// The outcome of an attempt to change a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paid {
    /// It is written.
    Written,
    /// Something changed in between.
    Conflict,
    /// A limit does not allow it.
    Refused,
}

impl Paid {
    const fn is_written(self) -> bool {
        matches!(self, Self::Written)
    }
}

/// Writes that an order is paid. What was not held and cannot be taken any more is refunded.
async fn pay<P: Provider>(
    db: &Db,
    clock: &dyn Clock,
    provider: &P,
    stored: &StoredOrder,
    state: &PaymentState,
) -> Result<bool, SettleError> {
    match paid(db, clock, stored, state.intent.as_deref()).await? {
        Paid::Written => Ok(true),
        Paid::Conflict => Ok(false),
        Paid::Refused => {
            let id = &stored.order.internal_id;
            let Some(intent) = &state.intent else { return Ok(false) };
            tracing::error!(order = %id, "a late payment is refunded: what it bought is gone");
            telemetry::payment_event(PaymentEvent::AutomaticRefund, 1);
            let before = state.refunded;
            let (rest, key) = (stored.order.price.less(before), format!("refund-{id}-{}", before.minor()));
            match provider.refund(&stored.order, intent, rest, &key).await {
                Err(ProviderError::Refused(reason)) => return review(db, stored, &reason).await,
                refunded => refunded?,
            }
            if stored.order.status != OrderStatus::Pending {
                return Ok(true);
            }
            Ok(change(db, stored, &Step::to(OrderStatus::Cancelled, clock.seconds())).await?.is_written())
        }
    }
}

/// Notes that an operator has to look at an order.
async fn review(db: &Db, stored: &StoredOrder, reason: &str) -> Result<bool, SettleError> {
    tracing::error!(order = %stored.order.internal_id, reason, "a payment needs an operator");
    telemetry::payment_event(PaymentEvent::Review, 1);
    let write: Write = stored.set_review(reason);
    Ok(send(db, vec![write]).await? == Sent::Written)
}

/// Writes that an order is paid. Recipients without an account get one. What is held cannot be refused: if a gift came in
/// between, the limit is exceeded, and the order says so.
async fn paid(db: &Db, clock: &dyn Clock, stored: &StoredOrder, intent: Option<&str>) -> Result<Paid, SettleError> {
    let lines = with_accounts(db, clock, &stored.order).await?;
    let step = Step { intent, lines: lines.as_deref(), ..Step::to(OrderStatus::Paid, clock.seconds()) };
    match change(db, stored, &step).await? {
        Paid::Refused if stored.effects.held => change(db, stored, &Step { limits: Limits::Ignored, ..step }).await,
        paid => Ok(paid),
    }
}

/// Changes an order's status. The future is boxed, so that its code is compiled here and not again in every crate that
/// waits for it.
fn change<'a>(db: &'a Db, stored: &'a StoredOrder, step: &'a Step<'a>) -> BoxFuture<'a, Result<Paid, SettleError>> {
    Box::pin(try_change(db, stored, step))
}

async fn try_change(db: &Db, stored: &StoredOrder, step: &Step<'_>) -> Result<Paid, SettleError> {
    let Planned { writes, .. } = match plan(db, stored, step).await {
        Ok(planned) => planned,
        Err(SetStatusError::Refused(_)) => return Ok(Paid::Refused),
        Err(SetStatusError::Store(error)) => return Err(error.into()),
        Err(SetStatusError::Forbidden { .. } | SetStatusError::Unknown(_) | SetStatusError::Conflict) => {
            return Ok(Paid::Conflict);
        }
    };
    Ok(match send_patiently(db, writes).await? {
        Sent::Written => Paid::Written,
        Sent::Conflict => Paid::Conflict,
        Sent::Refused(_) => Paid::Refused,
    })
}

/// The lines with the accounts of all recipients; `None` if they are all known. A recipient who is banned by now has none.
async fn with_accounts(db: &Db, clock: &dyn Clock, order: &Order) -> Result<Option<Vec<OrderLine>>, StoreError> {
    let mut lines = order.lines.clone();
    for line in lines.iter_mut().filter(|line| line.recipient.is_none()) {
        let name = line.chosen.as_ref().and_then(|chosen| chosen.gift_to.as_ref());
        if let Some(name) = name {
            line.recipient = account(db, clock, name).await?;
        }
    }
    Ok((lines != order.lines).then_some(lines))
}

/// The account of a player, made if there is none; `None` if the name is banned.
async fn account(db: &Db, clock: &dyn Clock, name: &PlayerName) -> Result<Option<UserId>, StoreError> {
    if let Some(user) = names::owner(db, name.key()).await? {
        return Ok(Some(user));
    }
    let config = published::read_active_version(db).await?.unwrap_or_default().config;
    let row = accounts::create(db, &config, name, clock.seconds(), std::future::ready(Ok(()))).await?;
    Ok(row.map(|row| row.user))
}
