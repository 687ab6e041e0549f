//! The part of a subscription in a change of one of its orders: a paid order begins or extends it, one that is refunded or
//! disputed ends it (rules.md, "Subscriptions"). It is written in the transaction of that change.

use crate::model::{
    Cancellation, LoginKind, OrderSubscription, ProviderAccount, ProviderCheckout, ProviderCustomer, Subscription,
    SubscriptionStatus, User, UserId,
};
use crate::rules::payment::PaidPeriod;
use crate::rules::subscription::{access_until, cancelled, paid, resumed, settled, with_entry};
use crate::store::orders::StoredOrder;
use crate::store::transaction::Write;
use crate::store::{Db, StoreError, keys, read_live, subscriptions, users};

/// The part of a paid order in its subscription.
pub(in crate::usecases) struct Begun {
    /// The period, as the order keeps it.
    pub(in crate::usecases) period: OrderSubscription,
    pub(in crate::usecases) writes: Vec<Write>,
    /// The user whose account the writes change, and check.
    pub(in crate::usecases) user: Option<UserId>,
}

/// The writes with which a paid order begins its subscription, or extends it. `None` if it is not a subscription's.
pub(in crate::usecases) async fn begin(
    db: &Db,
    stored: &StoredOrder,
    period: Option<&PaidPeriod>,
    now: i64,
) -> Result<Option<Begun>, StoreError> {
    let Some((own, period)) = stored.effects.subscription.as_ref().zip(period) else { return Ok(None) };
    let own =
        OrderSubscription { id: Some(period.subscription.clone()), paid_until: Some(period.until), ..own.clone() };
    let read = subscriptions::get(db, &period.subscription).await?;
    // Access may have ended since the order was made.
    let restart = own.restart || (own.renewal && read.as_ref().is_some_and(|read| now >= access_until(read)));
    let own = OrderSubscription { restart, ..own };
    let next = match &read {
        Some(read) => paid(read, &stored.order.internal_id, period.until, now),
        None => match new(stored, &own, period, now) {
            Some(new) => new,
            None => return Ok(None),
        },
    };
    let mut writes = subscriptions::put(read.as_ref(), next.clone())?;
    let user = of_user(db, &next, (!own.renewal).then_some(stored), now).await?;
    let written = user.as_ref().map(|_| next.user);
    writes.extend(user);
    Ok(Some(Begun { period: own, writes, user: written }))
}

fn new(stored: &StoredOrder, own: &OrderSubscription, period: &PaidPeriod, now: i64) -> Option<Subscription> {
    let (order, line) = (&stored.order, stored.order.lines.first()?);
    let name = line.chosen.as_ref().map_or_else(|| line.item.to_string(), |chosen| chosen.name.clone());
    let begun = Subscription {
        id: period.subscription.clone(),
        version: 0,
        user: order.owner?,
        item: line.item,
        name,
        price: order.price,
        currency: order.currency.clone(),
        plan: own.plan,
        customer: period.customer.clone(),
        account: account(stored),
        first: order.internal_id.clone(),
        newest: order.internal_id.clone(),
        paid_until: period.until,
        status: SubscriptionStatus::Active,
        cancelled: false,
        ended_at: None,
        stopped_at: None,
        requested: None,
        scheduled: 0,
        due: None,
    };
    let scheduled = access_until(&begun);
    Some(settled(Subscription { scheduled, ..begun }, now))
}

/// The account at the provider that an order was paid in.
fn account(stored: &StoredOrder) -> ProviderAccount {
    let provider = stored.effects.provider.as_ref();
    ProviderAccount {
        id: provider.and_then(|provider| provider.account.clone()),
        live: provider.and_then(ProviderCheckout::is_live).unwrap_or_default(),
    }
}

/// The write of a subscription's entry in the row of its user; `None` if the user was erased. `begins` is the order that it
/// begins with: a login that proves its name leaves the provider's customer with its account.
async fn of_user(
    db: &Db,
    subscription: &Subscription,
    begins: Option<&StoredOrder>,
    now: i64,
) -> Result<Option<Write>, StoreError> {
    let Some(user) = read_live::<User>(db, &keys::user(subscription.user)).await? else { return Ok(None) };
    let entries = with_entry(&user.subscriptions, subscription, now);
    let customer = begins.filter(|stored| stored.effects.via == Some(LoginKind::Proven)).map(|_| ProviderCustomer {
        id: subscription.customer.clone(),
        account: subscription.account.clone(),
        currency: subscription.currency.clone(),
    });
    users::set_subscriptions(subscription.user, &user.subscriptions, &entries, customer.as_ref()).map(Some)
}

/// The writes that store a subscription that has changed, with its entry in the row of its user.
pub(in crate::usecases) async fn write(
    db: &Db,
    read: &Subscription,
    next: &Subscription,
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let mut writes = subscriptions::put(Some(read), next.clone())?;
    writes.extend(of_user(db, next, None, now).await?);
    Ok(writes)
}

/// The writes that cancel the subscription of an order that is taken back. The newest order ends it at once, with the
/// access; an older one, if it is disputed, at the end of the period that is paid.
pub(in crate::usecases) async fn end(
    db: &Db,
    stored: &StoredOrder,
    is_disputed: bool,
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let Some(read) = of_order(db, stored).await? else { return Ok(Vec::new()) };
    let is_newest = read.newest == stored.order.internal_id;
    let how = match (is_newest, is_disputed) {
        (true, _) => Cancellation::Now,
        (false, true) => Cancellation::AtPeriodEnd,
        (false, false) => return Ok(vec![subscriptions::unchanged(&read)]),
    };
    let next = cancelled(&read, how, now);
    if next == read { Ok(vec![subscriptions::unchanged(&read)]) } else { write(db, &read, &next, now).await }
}

/// The writes with which the newest order of a subscription that is delivered again gives access to the end of what is paid.
/// The subscription stays cancelled.
pub(in crate::usecases) async fn resume(db: &Db, stored: &StoredOrder, now: i64) -> Result<Vec<Write>, StoreError> {
    let Some(read) = of_order(db, stored).await? else { return Ok(Vec::new()) };
    if read.newest != stored.order.internal_id || read.stopped_at.is_none() {
        return Ok(vec![subscriptions::unchanged(&read)]);
    }
    write(db, &read, &resumed(&read, now), now).await
}

async fn of_order(db: &Db, stored: &StoredOrder) -> Result<Option<Subscription>, StoreError> {
    match stored.effects.subscription.as_ref().and_then(|own| own.id.as_deref()) {
        Some(id) => subscriptions::get(db, id).await,
        None => Ok(None),
    }
}
