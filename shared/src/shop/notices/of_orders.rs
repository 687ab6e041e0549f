//! The notices of orders and subscriptions, each for the transaction of what it tells of. Whether an owner is told, and under which id,
//! follows from the rows before and after, so that a repeated request tells the same or nothing.

use super::{put, tells};
use crate::model::{
    About, Money, NoticeEvent, NoticeLine, NoticeOrder, NoticeRefund, NoticeTarget, Order, OrderLine, OrderStatus,
    StoreConfig, Subscription, SubscriptionStatus, User,
};
use crate::rules::dispute::{is_over, is_taken_back, takes_back};
use crate::rules::notice::id;
use crate::rules::order::returned_units;
use crate::rules::subscription::access_until;
use crate::shop::orders::{StoredOrder, active_version};
use crate::table::codec::Row;
use crate::table::transaction::Write;
use crate::table::{Db, StoreError, keys};

/// The write of a notice, if a target wants it.
type Told = Result<Option<Write>, StoreError>;

/// Who is told, and what the player is called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::shop) struct Telling {
    targets: Vec<NoticeTarget>,
    player: String,
    /// Code of the store's currency; empty if it takes no payments.
    currency: String,
}

impl Telling {
    /// Of a store, with the player's row if it was read. What cannot be read of it keeps no order waiting.
    pub(in crate::shop) fn new(config: &StoreConfig, player: Option<Row>) -> Self {
        if config.notify.is_empty() {
            return Self::default();
        }
        let user = player.and_then(|row| row.live_found::<User>().ok());
        let player = user.map(|user| user.username).unwrap_or_default();
        Self { targets: config.notify.clone(), player, currency: config.payments.currency.clone() }
    }

    /// Reads what [`Telling::new`] needs, for a change that has not read it. A store without targets costs one read.
    pub(in crate::shop) async fn read(db: &Db, order: &Order) -> Result<Self, StoreError> {
        let config = active_version(db).await?.config;
        if config.notify.is_empty() {
            return Ok(Self::default());
        }
        let player = match order.player() {
            Some(user) => db.get(&keys::user(user), true).await?.map(Row::from),
            None => None,
        };
        Ok(Self::new(&config, player))
    }

    fn put(&self, event: NoticeEvent, id: String, at: i64, order: NoticeOrder) -> Told {
        let is_told = tells(&self.targets, event);
        is_told.then(|| put(event, id, at, About::Order(Box::new(order)))).transpose()
    }

    /// The notice of a change of an order's status.
    pub(in crate::shop) fn changed(&self, before: &StoredOrder, after: &StoredOrder, now: i64) -> Told {
        match (before.order.status, after.order.status) {
            (OrderStatus::Paid, OrderStatus::Refunded) => self.refunded(before, after, now),
            (_, OrderStatus::Paid) => self.paid(after, now),
            _ => Ok(None),
        }
    }

    /// The notice of an order that became paid.
    pub(in crate::shop) fn paid(&self, after: &StoredOrder, now: i64) -> Told {
        let is_renewal = after.effects.subscription.as_ref().is_some_and(|own| own.renewal);
        let is_free =
            after.order.total() + after.order.price == Money::ZERO && after.effects.virtual_currency == Money::ZERO;
        let (event, word) = match (is_renewal, is_free) {
            (true, _) => (NoticeEvent::Renewed, "renewed"),
            (false, true) => (NoticeEvent::FreeOrder, "free_order"),
            (false, false) => (NoticeEvent::Paid, "paid"),
        };
        self.put(event, id(&[word, after.order.internal_id.as_str()]), now, self.order(after))
    }

    /// The notice of money that went back, at the provider or by hand; none if nothing did since `before`.
    pub(in crate::shop) fn refunded(&self, before: &StoredOrder, after: &StoredOrder, now: i64) -> Told {
        let is_all = after.order.status == OrderStatus::Refunded;
        let refund = self.refund(before, after);
        // What its last line gave back was told with that.
        let was_told = before.effects.line_refunds > 0 && before.order.lines.iter().all(|line| line.units() == 0);
        if refund.amount == Money::ZERO && (!is_all || was_told) {
            return Ok(None);
        }
        let of = after.order.internal_id.as_str();
        let so_far = after.came_back().minor().to_string();
        let failed = after.effects.failed_refunds.minor().to_string();
        // After a refund that failed, the same sum is another refund.
        let has_failed = after.effects.failed_refunds > Money::ZERO;
        let parts = ["refunded", of, so_far.as_str(), failed.as_str()];
        let id = id(if has_failed { &parts } else { &parts[..3] });
        self.put(NoticeEvent::Refunded, id, now, NoticeOrder { refund: Some(refund), ..self.order(after) })
    }

    /// The notice of units of lines that were returned and of which nothing comes back at the provider: that part is reported when the
    /// provider has it.
    pub(in crate::shop) fn returned(&self, before: &StoredOrder, lines: &[OrderLine], now: i64) -> Told {
        let order = Order { lines: lines.to_vec(), ..before.order.clone() };
        let after = StoredOrder { order, effects: before.effects.clone() };
        let number = returned_units(&after.order).to_string();
        let id = id(&["refunded", after.order.internal_id.as_str(), "units", number.as_str()]);
        let refund = Some(self.refund(before, &after));
        self.put(NoticeEvent::Refunded, id, now, NoticeOrder { refund, ..self.order(&after) })
    }

    /// The notice of a dispute that begins or is decided; none of what is between. `dispute` is its id, `state` the provider's word.
    pub(in crate::shop) fn disputed(&self, before: &StoredOrder, (dispute, state): (&str, &str), now: i64) -> Told {
        let noted = before.effects.disputes.get(dispute).map(String::as_str);
        let begins = noted.is_none_or(|noted| takes_back(state) && !takes_back(noted));
        if !begins && !is_over(state) {
            return Ok(None);
        }
        let id = id(&["disputed", before.order.internal_id.as_str(), dispute, state]);
        let order = NoticeOrder { dispute: Some(state.to_owned()), ..self.order(before) };
        self.put(NoticeEvent::Disputed, id, now, order)
    }

    fn order(&self, stored: &StoredOrder) -> NoticeOrder {
        let StoredOrder { order, effects } = stored;
        let card = effects.card();
        let (currency, total) = match self.in_store_currency(stored) {
            Some(total) => (&self.currency, total),
            None => (&order.currency, order.price + card),
        };
        NoticeOrder {
            id: order.internal_id.clone(),
            status: order.status.as_str().to_owned(),
            player: self.player.clone(),
            lines: order.lines.iter().map(line).collect(),
            currency: currency.clone(),
            digits: order.digits,
            total,
            virtual_total: effects.virtual_currency,
            gift_card: card,
            tax: order.tax.as_ref().map(|tax| tax.amount).unwrap_or_default(),
            coupon: effects.coupon.as_ref().map(ToString::to_string),
            referral: effects.referral.as_ref().map(|referral| referral.code.to_string()),
            method: effects.facts.as_ref().and_then(|facts| facts.method.clone()),
            refund: None,
            dispute: effects.dispute.clone(),
        }
    }

    /// The total of an order that was charged in another currency than the store's, in which its lines and its gift card are; `None`
    /// if all of it is in one.
    fn in_store_currency(&self, StoredOrder { order, effects }: &StoredOrder) -> Option<Money> {
        let is_other = !self.currency.is_empty() && order.currency != self.currency;
        let total = order.total() + order.tax_on_top();
        (is_other && order.price + effects.card() != total).then_some(total)
    }

    /// What went back between two states of an order, and in all: of the payment, and of a gift card.
    fn refund(&self, before: &StoredOrder, after: &StoredOrder) -> NoticeRefund {
        let back = |stored: &StoredOrder| {
            let (card, paid) = (stored.effects.card(), stored.came_back());
            let paid = match self.in_store_currency(stored) {
                Some(total) => total.less(card).portion(paid, stored.order.price),
                None => paid,
            };
            // A payment that was taken back by the bank gives the card nothing back.
            let is_whole = stored.order.status == OrderStatus::Refunded && !is_taken_back(&stored.effects);
            paid + if is_whole { card } else { stored.order.card_for_returned(card) }
        };
        NoticeRefund { amount: back(after).less(back(before)), refunded: back(after) }
    }
}

fn line(line: &OrderLine) -> NoticeLine {
    let chosen = line.chosen.as_ref();
    NoticeLine {
        item: line.item.get(),
        name: chosen.map_or_else(|| format!("item {}", line.item), |chosen| chosen.name.clone()),
        count: line.count,
        total: line.total,
        virtual_total: line.virtual_total,
        gift_to: chosen.and_then(|chosen| chosen.gift_to.as_ref()).map(ToString::to_string),
    }
}

/// Whether a change of a subscription is that it ends, or will not be renewed.
pub(in crate::shop) fn cancels(before: &Subscription, after: &Subscription) -> bool {
    let ends = |one: &Subscription| {
        one.cancelled
            || match one.status {
                SubscriptionStatus::Cancelled | SubscriptionStatus::Ended => true,
                SubscriptionStatus::Active | SubscriptionStatus::PastDue => false,
            }
    };
    ends(after) && !ends(before)
}

/// The notice of a subscription that [`cancels`]. Who buys it again and cancels again is reported again.
pub(in crate::shop) fn cancelled(
    config: &StoreConfig,
    (before, after): (&Subscription, &Subscription),
    user: Option<&User>,
    now: i64,
) -> Told {
    if !tells(&config.notify, NoticeEvent::Cancelled) {
        return Ok(None);
    }
    let about = About::Subscription {
        order: after.first.clone(),
        player: user.map(|user| user.username.clone()).unwrap_or_default(),
        item: after.item.get(),
        name: after.name.clone(),
        until: access_until(after),
    };
    let id = id(&["cancelled", &after.id, &before.version.wrapping_add(1).to_string()]);
    put(NoticeEvent::Cancelled, id, now, about).map(Some)
}
