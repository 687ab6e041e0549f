//! Everything in the table that waits for a decision of the store's owner, but for commands of game servers, which
//! [`crate::shop::delivery::audit`] finds.

use crate::model::{InternalId, Money, OrderStatus, ServerId, Subscription, SubscriptionState, SubscriptionStatus};
use crate::rules::dispute::{FRAUD_WARNING, is_over, needs_response};
use crate::rules::subscription::shown_state;
use crate::shop::delivery::servers::StoredKey;
use crate::shop::orders::StoredOrder;
use crate::table::bulk::each;
use crate::table::codec::{Item, Row, decode_live, key_of, noted};
use crate::table::keys::{self, prefix};
use crate::table::{Db, StoreError};
use std::collections::BTreeSet;

/// For how many seconds after an order was made its payment can be disputed.
const DISPUTABLE: i64 = 120 * 86_400;

/// What waits for the owner.
#[derive(Debug, Default)]
pub struct Attention {
    /// Orders whose payment does not agree with them.
    pub reviews: Vec<InternalId>,
    /// Paid orders with a refund that failed and was not sent again.
    pub refunds: Vec<InternalId>,
    /// Orders with a dispute in which the bank waits for a response.
    pub disputes: Vec<StoredOrder>,
    /// Paid orders whose bank warns of fraud. A refund may prevent a dispute.
    pub warnings: Vec<InternalId>,
    /// Paid orders whose commands run for nobody, because they were recorded without an owner.
    pub ownerless: Vec<InternalId>,
    /// Subscriptions whose last renewal was not paid.
    pub past_due: Vec<Subscription>,
    /// The servers that have a key.
    pub connected: BTreeSet<ServerId>,
}

/// Looks at every item once. Rows that cannot be read are left out.
pub async fn attention(db: &Db, now: i64) -> Result<Attention, StoreError> {
    let mut found = Attention::default();
    each(db, "", |item| found.add(item, now)).await?;
    found.past_due.sort_by_key(|subscription| subscription.paid_until);
    Ok(found)
}

impl Attention {
    fn add(&mut self, item: Item, now: i64) -> Result<(), StoreError> {
        let key = key_of(&item)?;
        if keys::is_order(&key) {
            if let Some(stored) = noted(StoredOrder::decode(&key, Row::from(item))) {
                self.add_order(stored, now);
            }
        } else if key.pk.starts_with(prefix::SUBSCRIPTION) {
            let subscription: Option<Subscription> = noted(decode_live(&key, item));
            self.past_due.extend(subscription.filter(is_past_due));
        } else if key.pk.starts_with(prefix::SERVER) {
            self.connected.extend(noted(decode_live::<StoredKey>(&key, item)).map(|key| key.server));
        }
        Ok(())
    }

    fn add_order(&mut self, stored: StoredOrder, now: i64) {
        let StoredOrder { order, effects } = &stored;
        let (id, is_paid) = (&order.internal_id, order.status == OrderStatus::Paid);
        self.reviews.extend(effects.review.is_some().then(|| id.clone()));
        self.refunds.extend((effects.unreturned > Money::ZERO).then(|| id.clone()));
        let is_warned = effects.dispute.as_deref() == Some(FRAUD_WARNING) && now < order.created_at + DISPUTABLE;
        self.warnings.extend((is_paid && is_warned).then(|| id.clone()));
        let mut of_owner = order.lines.iter().filter(|line| !line.is_gift());
        let lacks_owner = order.owner.is_none() && effects.delivery.is_some() && of_owner.any(|line| line.units() > 0);
        self.ownerless.extend((is_paid && lacks_owner).then(|| id.clone()));
        if effects.disputes.values().chain(&effects.dispute).any(|state| needs_response(state)) {
            self.disputes.push(stored);
        }
    }
}

/// Whether an order is in review, has an open dispute, or waits for a refund to be sent again.
pub fn needs_attention(StoredOrder { order, effects }: &StoredOrder) -> bool {
    let is_open = |dispute: &String| !is_over(dispute) && order.status == OrderStatus::Paid;
    effects.review.is_some() || effects.dispute.as_ref().is_some_and(is_open) || effects.unreturned > Money::ZERO
}

/// Whether the provider waits for a payment, or has given up on one, without having ended the subscription.
fn is_past_due(subscription: &Subscription) -> bool {
    subscription.status != SubscriptionStatus::Ended
        && matches!(shown_state(subscription), SubscriptionState::PastDue | SubscriptionState::Unpaid)
}
