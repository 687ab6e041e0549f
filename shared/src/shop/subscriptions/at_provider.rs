//! Bringing a subscription and its provider together: what the store wants of it is asked for, what the provider says is
//! written, invoices that no webhook event told of get their orders, and the end of access is moved.

use super::of_orders::write;
use crate::clock::Clock;
use crate::model::{Cancellation, ProviderAccount, RunName, Subscription, SubscriptionStatus, User};
use crate::rules::payment::{PaymentState, may_be_same};
use crate::rules::subscription::{
    ProviderSubscription, SOON, access_until, call_of, cancelled, extended, is_over_for, observed, settled,
};
use crate::shop::delivery::move_end;
use crate::shop::payments::desk::{Desk, SettleError};
use crate::shop::payments::provider::{Provider, ProviderError};
use crate::shop::{orders, subscriptions};
use crate::table::transaction::{Write, send, sent};
use crate::table::{Db, StoreError, TURNS, in_turns, keys, read_live};

impl<P: Provider> Desk<'_, &P> {
    /// Asks the provider about a subscription, and writes what it says. One that is not ours changes nothing. Returns it as it
    /// is stored then. After an error the same call may be repeated.
    pub async fn settle_subscription(&self, id: &str) -> Result<Option<Subscription>, SettleError> {
        in_turns(TURNS, || async {
            let Some(before) = subscriptions::get(self.db, id).await? else { return Ok(None) };
            let now = self.clock.seconds();
            let next = match unwanted(self.db, &before).await? {
                Some(how) => cancelled(&before, how, now),
                None => before.clone(),
            };
            let seen = match elsewhere(&next, &self.provider.account(), now) {
                Some(seen) => seen,
                None => carry_out(self.provider, &next).await?,
            };
            if seen.period_end > before.paid_until && self.renew_missed(&before).await? {
                // Their orders have changed it.
                return Err(StoreError::Contended.into());
            }
            let next = observed(&next, &seen, now);
            let next = if move_end(self.db, &next, now).await? {
                settled(Subscription { scheduled: access_until(&next), ..next }, now)
            } else {
                Subscription { due: Some(now + SOON), ..next }
            };
            if next == before {
                return Ok(Some(before));
            }
            // One that was read earlier may be written after one that was read later and changed nothing: the sweep asks about
            // what has changed once more.
            let said = |one: &Subscription| (one.status, one.detail, one.cancelled, one.free_until, one.ends_at);
            let is_changed = said(&next) != said(&before);
            let due = next.due.map(|due| if is_changed { due.min(now + SOON) } else { due });
            let next = Subscription { due, ..next };
            let writes: Vec<Write> = write(self.db, &before, &next, now).await?;
            send(self.db, writes).await?;
            Ok(Some(next))
        })
        .await
    }
}

/// How a subscription is cancelled that no one is to be charged for any more: its account was erased, or is banned.
async fn unwanted(db: &Db, subscription: &Subscription) -> Result<Option<Cancellation>, StoreError> {
    Ok(match read_live::<User>(db, &keys::user(subscription.user)).await? {
        None => Some(Cancellation::Now),
        Some(user) if user.banned && !subscription.cancelled => Some(Cancellation::AtPeriodEnd),
        Some(_) => None,
    })
}

impl<P: Provider> Desk<'_, &P> {
    /// Ends what a subscription has taken the place of, unless that is done. What fails is left to the sweep too.
    pub(in crate::shop) async fn end_replaced(&self, subscription: Option<&Subscription>) -> Result<(), SettleError> {
        for id in subscription.iter().flat_map(|own| &own.replaces) {
            let read = subscriptions::get(self.db, id).await?;
            if read.is_some_and(|read| read.requested.is_some() || read.scheduled != access_until(&read)) {
                self.settle_subscription(id).await?;
            }
        }
        Ok(())
    }
}

/// The state of a subscription that is certainly one of another account or mode, in which no key can ask: it is given up
/// once it gives no access any more.
fn elsewhere(subscription: &Subscription, ours: &ProviderAccount, now: i64) -> Option<ProviderSubscription> {
    if may_be_same(&subscription.account, ours) {
        return None;
    }
    tracing::warn!(subscription = subscription.id, "a subscription is one of another account of the payment provider");
    let is_over = now >= access_until(subscription);
    Some(ProviderSubscription {
        status: if is_over { SubscriptionStatus::Ended } else { subscription.status },
        ..as_stored(subscription)
    })
}

/// What is known of a subscription that no provider can be asked about.
const fn as_stored(subscription: &Subscription) -> ProviderSubscription {
    ProviderSubscription {
        status: subscription.status,
        detail: subscription.detail,
        cancelled: subscription.cancelled,
        period_end: subscription.paid_until,
        free_until: subscription.free_until,
        ends_at: subscription.ends_at,
        ended_at: None,
    }
}

/// Asks for what is requested, and then for the state. A subscription that the provider no longer has is over.
async fn carry_out<P: Provider>(
    provider: &P,
    subscription: &Subscription,
) -> Result<ProviderSubscription, ProviderError> {
    let asked = match call_of(subscription) {
        Some(how) if subscription.status != SubscriptionStatus::Ended => {
            provider.cancel_subscription(&subscription.id, how).await
        }
        _ => Ok(()),
    };
    let seen = match asked {
        Ok(()) => provider.subscription(&subscription.id).await,
        Err(error) => Err(error),
    };
    match seen {
        Err(ProviderError::NoCheckout(reason)) if subscription.account == provider.account() => {
            tracing::error!(subscription = subscription.id, reason, "the payment provider has no such subscription");
            Ok(ProviderSubscription { status: SubscriptionStatus::Ended, ..as_stored(subscription) })
        }
        seen => seen,
    }
}

impl<P: Provider> Desk<'_, &P> {
    /// Makes the orders of paid invoices that have none, the oldest first. Whether there were any.
    async fn renew_missed(&self, subscription: &Subscription) -> Result<bool, SettleError> {
        let mut missed: Vec<PaymentState> = Vec::new();
        let mut after = None;
        'pages: loop {
            let page = self.provider.invoices(&subscription.id, after.as_deref()).await?;
            for invoice in page.payments {
                let renews = invoice.period.as_ref().is_some_and(|period| period.renewal);
                let Some(order) = invoice.order.as_ref().filter(|_| renews) else { continue };
                if orders::get(self.db, order).await?.is_some() {
                    break 'pages;
                }
                missed.push(invoice);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        for invoice in missed.iter().rev() {
            self.settle_invoice(invoice).await?;
        }
        Ok(!missed.is_empty())
    }
}

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
