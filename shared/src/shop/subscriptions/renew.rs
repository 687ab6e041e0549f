//! The order of a paid invoice that renews a subscription (rules.md, "Subscriptions").

use crate::model::{
    InternalId, Money, Order, OrderDelivery, OrderEffects, OrderLine, OrderStatus, OrderSubscription, ProviderAccount,
    ProviderCheckout, PublishedItem, Subscription,
};
use crate::rules::payment::{PaidPeriod, PaymentState, Progress};
use crate::shop::delivery::{deliveries, freeze, withdraw};
use crate::shop::orders::by_month;
use crate::shop::orders::owned_orders::OwnedOrder;
use crate::shop::orders::{self, StoredOrder, next_number};
use crate::shop::payments::desk::{Desk, SettleError};
use crate::shop::payments::provider::Provider;
use crate::shop::subscriptions;
use crate::table::transaction::{Write, sent};
use crate::table::{Db, StoreError, keys, published, read_published};
use crate::telemetry::{PaymentEvent, payment_event};
use std::collections::BTreeMap;

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
        let found = subscriptions::get(self.db, &period.subscription).await?;
        if found.is_some() {
            return Ok(found);
        }
        self.settle_first(began_with).await?;
        Ok(subscriptions::get(self.db, &period.subscription).await?)
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
            .chain(by_month::put(&order)?)
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
