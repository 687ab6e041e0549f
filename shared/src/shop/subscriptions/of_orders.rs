//! The part of a subscription in a change of one of its orders: a paid order begins or extends it, one that is refunded or
//! disputed ends it (rules.md, "Subscriptions"). It is written in the transaction of that change.

use crate::model::{
    Cancellation, CategoryId, InternalId, ItemId, LoginKind, OrderSubscription, ProviderAccount, ProviderCustomer,
    PublishedItem, Subscription, SubscriptionStatus, User, UserId, UserSubscription,
};
use crate::rules::payment::PaidPeriod;
use crate::rules::subscription::{
    access_until, cancelled, paid, rank_of, replaced, replaced_by, resumed, settled, with_entry,
};
use crate::shop::notices::of_orders as notices;
use crate::shop::orders::change::SetStatusError;
use crate::shop::orders::refusal::OrderRefusal;
use crate::shop::orders::{StoredOrder, active_version};
use crate::shop::{accounts, subscriptions};
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, keys, read_live};
use std::collections::BTreeMap;

/// The part of a paid order in its subscription.
pub(in crate::shop) struct Begun {
    /// The period, as the order keeps it.
    pub(in crate::shop) period: OrderSubscription,
    pub(in crate::shop) writes: Vec<Write>,
    /// The user whose account the writes change, and check.
    pub(in crate::shop) user: Option<UserId>,
}

/// The writes with which a paid order begins its subscription, or extends it; one that begins takes the place of what its
/// buyer has of the item and of other ranks of its category. `items` are the published ones of the order. `None` if it is not
/// a subscription's. Fails with [`OrderRefusal::Subscribed`] if the buyer would have paid for the same time twice.
pub(in crate::shop) async fn begin(
    db: &Db,
    stored: &StoredOrder,
    items: &BTreeMap<ItemId, PublishedItem>,
    period: Option<&PaidPeriod>,
    now: i64,
) -> Result<Option<Begun>, SetStatusError> {
    let Some((own, period)) = stored.effects.subscription.as_ref().zip(period) else { return Ok(None) };
    let own =
        OrderSubscription { id: Some(period.subscription.clone()), paid_until: Some(period.until), ..own.clone() };
    let read = subscriptions::get(db, &period.subscription).await?;
    let published = stored.order.lines.first().and_then(|line| items.get(&line.item));
    let rank_of = published.map_or_else(|| read.as_ref().and_then(|read| read.rank_of), rank_of);
    if read.as_ref().is_some_and(|read| stored.order.player().is_some_and(|player| player != read.user)) {
        return Err(StoreError::Contended.into());
    }
    let user = match stored.order.player() {
        Some(player) => read_live::<User>(db, &keys::user(player)).await?,
        None => None,
    };
    let others = user.iter().flat_map(|user| &user.subscriptions).filter(|other| other.id != period.subscription);
    let others: Vec<UserSubscription> = others.cloned().collect();
    must_not_be_paid_twice(stored, read.as_ref(), &others, now)?;
    // Access may have ended since the order was made.
    let restart = own.restart || (own.renewal && read.as_ref().is_some_and(|read| now >= access_until(read)));
    let own = OrderSubscription { restart, ..own };
    let next = match &read {
        Some(read) => Subscription { rank_of, ..paid(read, &stored.order.internal_id, period.until, now) },
        None => match new(stored, &own, period, rank_of, now) {
            Some(new) => new,
            None => return Ok(None),
        },
    };
    // One that is paid for a banned player is not renewed.
    let is_banned = user.as_ref().is_some_and(|user| user.banned) && !next.cancelled;
    let next = if is_banned { cancelled(&next, Cancellation::AtPeriodEnd, now) } else { next };
    let (mut writes, mut ended) = (Vec::new(), Vec::new());
    if !own.renewal {
        (writes, ended) = take_places(db, &next, &others, now).await?;
    }
    let replaces = if own.renewal { next.replaces } else { ended.iter().map(|one| one.id.clone()).collect() };
    let next = Subscription { replaces, ..next };
    writes.extend(subscriptions::put(read.as_ref(), next.clone())?);
    let changed: Vec<Subscription> = [next].into_iter().chain(ended).collect();
    let begins = (!own.renewal).then_some(stored);
    let written = user.as_ref().map(|user| user.id);
    writes.extend(user.map(|user| of_user(&user, &changed, begins, now)).transpose()?);
    Ok(Some(Begun { period: own, writes, user: written }))
}

/// The writes that end what a subscription takes the place of, and what is stored by them.
async fn take_places(
    db: &Db,
    begun: &Subscription,
    others: &[UserSubscription],
    now: i64,
) -> Result<(Vec<Write>, Vec<Subscription>), StoreError> {
    let (mut writes, mut ended) = (Vec::new(), Vec::new());
    for entry in replaced(others, begun.item, begun.rank_of) {
        let Some(read) = subscriptions::get(db, &entry.id).await? else { continue };
        let after = replaced_by(&read, &begun.first, now);
        writes.extend(subscriptions::put(Some(&read), after.clone())?);
        ended.push(after);
    }
    Ok((writes, ended))
}

/// Refuses a payment for time that the buyer has paid for otherwise: of a subscription whose place another one has taken, and
/// of an item that another subscription of the buyer gives by now. Two payments for the same item may be on their way at
/// once, an old one that is tried again and a new one: which of them is heard first is kept.
fn must_not_be_paid_twice(
    stored: &StoredOrder,
    read: Option<&Subscription>,
    others: &[UserSubscription],
    now: i64,
) -> Result<(), OrderRefusal> {
    let item = stored.order.lines.first().map(|line| line.item);
    let is_replaced = read.is_some_and(|read| read.replaced_by.is_some());
    let has_another = others.iter().any(|other| Some(other.item) == item && other.has_access(now));
    if is_replaced || has_another { Err(OrderRefusal::Subscribed) } else { Ok(()) }
}

fn new(
    stored: &StoredOrder,
    own: &OrderSubscription,
    period: &PaidPeriod,
    rank_of: Option<CategoryId>,
    now: i64,
) -> Option<Subscription> {
    let (order, line) = (&stored.order, stored.order.lines.first()?);
    let name = line.chosen.as_ref().map_or_else(|| line.item.to_string(), |chosen| chosen.name.clone());
    let begun = Subscription {
        id: period.subscription.clone(),
        version: 0,
        user: order.player()?,
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
        detail: None,
        free_until: None,
        ends_at: None,
        rank_of,
        replaces: Vec::new(),
        replaced_by: None,
        cancelled: false,
        ended_at: None,
        stopped_at: None,
        lapsed_at: None,
        extended: 0,
        runs: Vec::new(),
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
        live: provider.is_some_and(|provider| provider.live),
    }
}

/// The write of the entries of subscriptions in the row of their user. `begins` is the order that the first of them begins
/// with: a login that proves its name leaves the provider's customer with its account.
fn of_user(user: &User, changed: &[Subscription], begins: Option<&StoredOrder>, now: i64) -> Result<Write, StoreError> {
    let entries = user.subscriptions.clone();
    let entries = changed.iter().fold(entries, |entries, subscription| with_entry(&entries, subscription, now));
    let proven = begins.filter(|stored| stored.effects.via == Some(LoginKind::Proven));
    let customer = proven.and_then(|_| changed.first()).map(|subscription| ProviderCustomer {
        id: subscription.customer.clone(),
        account: subscription.account.clone(),
        currency: subscription.currency.clone(),
    });
    let write = accounts::set_subscriptions(user.id, &user.subscriptions, &entries, customer.as_ref())?;
    // A ban that comes in between must find what it has to cancel.
    Ok(write.and_if(if user.banned { "attribute_exists(banned)" } else { "attribute_not_exists(banned)" }))
}

/// The writes that store a subscription that has changed, with its entry in the row of its user.
pub(in crate::shop) async fn write(
    db: &Db,
    read: &Subscription,
    next: &Subscription,
    now: i64,
) -> Result<Vec<Write>, StoreError> {
    let mut writes = subscriptions::put(Some(read), next.clone())?;
    let active = async { if notices::cancels(read, next) { active_version(db).await.map(Some) } else { Ok(None) } };
    let key = keys::user(next.user);
    let (user, active) = tokio::try_join!(read_live::<User>(db, &key), active)?;
    if let Some(user) = &user {
        writes.push(of_user(user, std::slice::from_ref(next), None, now)?);
    }
    if let Some(active) = active {
        writes.extend(notices::cancelled(&active.config, (read, next), user.as_ref(), now)?);
    }
    Ok(writes)
}

/// The writes that cancel the subscription of an order that is taken back. The newest order ends it at once, with the
/// access; an older one, if it is disputed, at the end of the period that is paid.
pub(in crate::shop) async fn end(
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
pub(in crate::shop) async fn resume(db: &Db, stored: &StoredOrder, now: i64) -> Result<Vec<Write>, StoreError> {
    let Some(read) = of_order(db, stored).await? else { return Ok(Vec::new()) };
    if read.newest != stored.order.internal_id || read.stopped_at.is_none() {
        return Ok(vec![subscriptions::unchanged(&read)]);
    }
    write(db, &read, &resumed(&read, now), now).await
}

/// The player to whom the lines of an order that is being paid are moved: of a renewal the one to whom its subscription was.
pub(in crate::shop) async fn moved_to(db: &Db, stored: &StoredOrder) -> Result<Option<UserId>, StoreError> {
    let is_renewal = stored.effects.subscription.as_ref().is_some_and(|own| own.renewal);
    let read = if is_renewal { of_order(db, stored).await? } else { None };
    Ok(match read {
        Some(read) => Some(read.user).filter(|user| stored.order.owner.is_some_and(|owner| owner != *user)),
        None => stored.order.moved_to,
    })
}

/// The reason for which the subscription of an order is not moved to another player.
#[derive(Debug)]
pub(in crate::shop) enum NotMoved {
    /// Another order pays its newest period.
    Older(InternalId),
    /// The player has one of the item, or another rank of its category.
    Subscribed,
}

/// The writes with which the subscription of an order becomes another player's; none if it has none.
pub(in crate::shop) async fn move_to(
    db: &Db,
    stored: &StoredOrder,
    user: UserId,
    now: i64,
) -> Result<Result<Vec<Write>, NotMoved>, StoreError> {
    let Some(read) = of_order(db, stored).await? else { return Ok(Ok(Vec::new())) };
    if read.newest != stored.order.internal_id {
        return Ok(Err(NotMoved::Older(read.newest)));
    }
    let known = accounts::read(db, [read.user, user].into_iter()).await?;
    let entries = known.get(&user).map_or(&[][..], |user| &user.subscriptions);
    let gives = access_until(&read) > now;
    if gives && replaced(entries, read.item, read.rank_of).any(|other| other.has_access(now)) {
        return Ok(Err(NotMoved::Subscribed));
    }
    let next = Subscription { user, ..read.clone() };
    let mut writes = subscriptions::put(Some(&read), next.clone())?;
    if let Some(before) = known.get(&read.user) {
        let others: Vec<UserSubscription> =
            before.subscriptions.iter().filter(|entry| entry.id != read.id).cloned().collect();
        writes.push(accounts::set_subscriptions(before.id, &before.subscriptions, &others, None)?);
    }
    writes.extend(known.get(&user).map(|user| of_user(user, &[next], None, now)).transpose()?);
    Ok(Ok(writes))
}

async fn of_order(db: &Db, stored: &StoredOrder) -> Result<Option<Subscription>, StoreError> {
    match stored.effects.subscription.as_ref().and_then(|own| own.id.as_deref()) {
        Some(id) => subscriptions::get(db, id).await,
        None => Ok(None),
    }
}
