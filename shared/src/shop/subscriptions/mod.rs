//! Subscriptions: their rows, their part in a change of an order, the order of a paid invoice that renews one, and bringing them and
//! the payment provider together (rules.md, "Subscriptions").

pub(in crate::shop) mod at_provider;
pub(in crate::shop) mod of_orders;

pub use at_provider::extend_subscription;

use crate::model::{
    InternalId, Money, Order, OrderDelivery, OrderEffects, OrderLine, OrderStatus, OrderSubscription, ProviderAccount,
    ProviderCheckout, PublishedItem, Subscription,
};
use crate::rules::payment::{PaidPeriod, PaymentState, Progress};
use crate::shop::delivery::{deliveries, freeze, withdraw};
use crate::shop::orders::lists::{self, OwnedOrder};
use crate::shop::orders::{self, StoredOrder, next_number};
use crate::shop::payments::desk::{Desk, SettleError};
use crate::shop::payments::provider::Provider;
use crate::table::keys::{self, Key};
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, published, read_live, read_published};
use crate::telemetry::{PaymentEvent, payment_event};
use serde::Serialize;
use std::collections::BTreeMap;

/// Reads a subscription, strongly consistent.
pub async fn get(db: &Db, id: &str) -> Result<Option<Subscription>, StoreError> {
    read_live(db, &keys::subscription(id)).await
}

/// The writes that store a subscription, on the condition that it is still as it was read, and that let the sweep look at
/// it when it is due.
pub fn put(read: Option<&Subscription>, next: Subscription) -> Result<Vec<Write>, StoreError> {
    let version = read.map_or(0, |read| read.version);
    let next = Subscription { version: version.wrapping_add(1), ..next };
    let row = Write::put_live(keys::subscription(&next.id), &next)?;
    let row = if read.is_some() { row.only_if_equal("version", version) } else { row.only_if_absent() };
    let (before, after) = (read.and_then(due_key), due_key(&next));
    let gone = before.filter(|before| Some(before) != after.as_ref()).map(Write::delete);
    let wanted = after.map(|key| put_due(key, &next.id)).transpose()?;
    Ok([row].into_iter().chain(gone).chain(wanted).collect())
}

/// The key of the row by which the sweep finds a subscription; `None` if nothing is left to do about it.
pub fn due_key(subscription: &Subscription) -> Option<Key> {
    Some(keys::unfinished_subscription(subscription.due?, &subscription.id))
}

/// The writes that remove a row of a subscription that is not the one by which the sweep finds it, if the subscription is still
/// as it was read, or missing.
pub fn without_row(read: Option<&Subscription>, id: &str, row: &Key) -> Vec<Write> {
    let as_read = read.map_or_else(|| Write::check(keys::subscription(id)).only_if_absent(), unchanged);
    vec![as_read, Write::delete(row.clone())]
}

/// The writes that let the sweep find a subscription when it is due, if it is still as it was read.
pub fn with_row(read: &Subscription) -> Result<Vec<Write>, StoreError> {
    let row = due_key(read).map(|key| put_due(key, &read.id));
    Ok([unchanged(read)].into_iter().chain(row.transpose()?).collect())
}

/// The condition that a subscription is still as it was read.
pub fn unchanged(read: &Subscription) -> Write {
    Write::check(keys::subscription(&read.id)).only_if_equal("version", read.version)
}

fn put_due(key: Key, id: &str) -> Result<Write, StoreError> {
    Write::put_live(key, &DueSubscription { subscription: id })
}

#[derive(Serialize)]
struct DueSubscription<'a> {
    subscription: &'a str,
}

impl<P: Provider> Desk<'_, &P> {
    /// Writes what an invoice of a subscription says: of the first one on the order that the subscription began with, of a paid
    /// further one on an order of its own, which is made once. One that is neither is counted: it was made in the provider's
    /// dashboard. After an error the same call may be repeated.
    pub(in crate::shop) async fn settle_invoice(&self, state: &PaymentState) -> Result<(), SettleError> {
        let Some((period, began_with)) =
            state.period.as_ref().and_then(|period| Some((period, period.began_with.as_ref()?)))
        else {
            return Ok(());
        };
        if !period.renewal {
            let first = self.settle_first(began_with).await?;
            let paid_by = first.as_ref().and_then(|stored| stored.effects.provider.as_ref()?.intent.as_ref());
            if paid_by.zip(state.intent.as_ref()).is_some_and(|(paid_by, intent)| paid_by != intent) {
                without_order(state, "a paid invoice is neither the first nor a renewal");
            }
            return Ok(());
        }
        let Some(order) = state.order.as_ref().filter(|_| state.progress == Progress::Paid) else { return Ok(()) };
        if orders::get(self.db, order).await?.is_none() {
            let Some(renewed) = self.subscription_of_period(period, began_with).await? else {
                without_order(state, "a paid invoice has no subscription");
                return Ok(());
            };
            self.write_renewal(&renewed, period, state).await?;
        }
        self.apply(order, state).await?;
        Ok(())
    }
}

/// Notes that a buyer has paid something for which the table has no order: it was restored to an earlier time, for example.
pub(in crate::shop) fn without_order(state: &PaymentState, what: &str) {
    if state.progress == Progress::Paid && state.refunded < state.amount {
        let order = state.order.as_ref().map(ToString::to_string);
        tracing::error!(order, session = state.session, "{what}");
        payment_event(PaymentEvent::PaidWithoutOrder, 1);
    }
}

impl<P: Provider> Desk<'_, &P> {
    /// The subscription of a period. The order that it began with may not be paid here yet.
    async fn subscription_of_period(
        &self,
        period: &PaidPeriod,
        began_with: &InternalId,
    ) -> Result<Option<Subscription>, SettleError> {
        let found = get(self.db, &period.subscription).await?;
        if found.is_some() {
            return Ok(found);
        }
        self.settle_first(began_with).await?;
        Ok(get(self.db, &period.subscription).await?)
    }

    /// Settles the order that a subscription began with. Returns it as it was before.
    async fn settle_first(&self, order: &InternalId) -> Result<Option<StoredOrder>, SettleError> {
        let stored = orders::get(self.db, order).await?;
        if let Some(stored) = &stored {
            self.settle(stored).await?;
        }
        Ok(stored)
    }

    /// Writes the order of a renewal, pending: that it is paid is written as of every order.
    async fn write_renewal(
        &self,
        subscription: &Subscription,
        period: &PaidPeriod,
        state: &PaymentState,
    ) -> Result<(), SettleError> {
        let Some(before) = orders::get(self.db, &subscription.newest).await? else {
            return Err(StoreError::unreadable(&keys::order(&subscription.newest), "order").into());
        };
        let now = self.clock.seconds();
        // What was never delivered of the purchase is not delivered twice: it is withdrawn, and the renewal gives it. One whose
        // place another has taken gives nothing.
        let restart = subscription.replaced_by.is_none() && withdraw(self.db, &before, now).await?;
        let mut order = draft(subscription, period, state, &before, self.provider.account(), restart, now);
        order.order.id = next_number(self.db).await?;
        let commands = commands(self.db, &mut order, &before).await?;
        let (due, owned) = (order.due_rows(order.effects.due)?, OwnedOrder::put(&order.order)?);
        let writes: Vec<Write> = std::iter::once(order.put_new()?)
            .chain(lists::put(&order)?)
            .chain(due)
            .chain(owned)
            .chain(commands)
            .collect();
        // If it conflicts, another request has made the same order.
        sent(self.db, writes).await?;
        Ok(())
    }
}

fn draft(
    subscription: &Subscription,
    period: &PaidPeriod,
    state: &PaymentState,
    before: &StoredOrder,
    account: ProviderAccount,
    restart: bool,
    now: i64,
) -> StoredOrder {
    let lines = before.order.lines.iter().take(1);
    let (total, left) = (subscription.price, Vec::new());
    let lines = lines.map(|line| OrderLine {
        total,
        renewal: true,
        term: None,
        since: None,
        left: left.clone(),
        discount: Money::ZERO,
        ..line.clone()
    });
    let owner = before.order.owner.or(Some(subscription.user));
    let order = Order {
        internal_id: InternalId::of_invoice(&state.session),
        price: subscription.price,
        currency: subscription.currency.clone(),
        status: OrderStatus::Pending,
        created_at: now,
        owner,
        moved_to: Some(subscription.user).filter(|user| Some(*user) != owner),
        lines: lines.collect(),
        tax: None,
        ..before.order.clone()
    };
    let (tax, tax_on_top) =
        before.effects.provider.as_ref().map_or_else(Default::default, |before| (before.tax, before.tax_on_top));
    let checkout = ProviderCheckout::paid(state.session.clone(), None, account, now);
    let effects = OrderEffects {
        recorded_as: Some(OrderStatus::Pending),
        counted: Some(false),
        via: before.effects.via,
        chat: before.effects.chat.clone(),
        // Nothing is left to be taken once it is paid.
        held: true,
        provider: Some(ProviderCheckout { tax, tax_on_top, ..checkout }),
        due: Some(now),
        subscription: Some(OrderSubscription {
            plan: subscription.plan,
            customer: Some(subscription.customer.clone()),
            id: Some(subscription.id.clone()),
            paid_until: Some(period.until),
            renewal: true,
            restart,
        }),
        ..OrderEffects::default()
    };
    StoredOrder { order, effects }
}

/// The commands of a renewal: those that are published now, and of an item that no longer is, those of the order before.
async fn commands(db: &Db, order: &mut StoredOrder, before: &StoredOrder) -> Result<Option<Write>, StoreError> {
    let active = published::read_active_version(db).await?.unwrap_or_default();
    let item = order.order.lines.first().map(|line| line.item);
    let published: Option<PublishedItem> = match item {
        Some(item) => read_published(db, &keys::item(&active.version, item)).await?,
        None => None,
    };
    if let Some(published) = published.filter(|published| published.item.is_subscription) {
        let items = BTreeMap::from([(published.item.id, published)]);
        return freeze(order, &items, &active.config.delivery);
    }
    if before.effects.delivery.is_none() {
        return Ok(None);
    }
    let frozen = deliveries::frozen(db, &before.order.internal_id).await?;
    order.effects.delivery = Some(OrderDelivery::default());
    deliveries::put_frozen(&order.order.internal_id, &frozen).map(Some)
}
