//! The decision about an order when its payment provider was asked (rules.md, "Checkout"). One rule for webhooks, the
//! sweep, buyers and operators: it depends on what the provider says now and on the order, never on what a message
//! said.

use crate::model::{
    InternalId, Money, Order, OrderEffects, OrderStatus, PaymentFacts, ProviderAccount, ProviderCheckout,
    RefundOutcome, Refunds, ReviewOutcome, Tax, TaxMode,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The buyer can still pay.
    Open,
    /// The provider has ended it without a payment.
    Expired,
    /// The buyer has paid, by a method that confirms it later.
    Processing,
    Failed,
    Paid,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentState {
    pub session: String,
    /// The order that it names. `None` if it is not one of ours.
    pub order: Option<InternalId>,
    /// The amount, in minor units of `currency`.
    pub amount: Money,
    /// Currency code, in any case.
    pub currency: String,
    /// Whether it is of the mode of our key: test or live.
    pub same_mode: bool,
    pub progress: Progress,
    pub intent: Option<String>,
    /// The amount refunded of it or lost in disputes, without the refunds that failed.
    pub refunded: Money,
    pub failed_refunds: Money,
    /// The attempts of ours that it has refunds of, by number, with the present state of each.
    pub attempts: Vec<(u32, RefundOutcome)>,
    /// The disputes of it: the provider's id, and the state in the provider's words.
    pub disputes: Vec<(String, String)>,
    /// The period of a subscription that it is for.
    pub period: Option<PaidPeriod>,
    /// The tax of it, if it has any. Whether it came on top is what the order says.
    pub tax: Tax,
    /// What reports need. No decision follows from it.
    pub facts: PaymentFacts,
    /// The fingerprint of the card that it was made with.
    pub card: Option<String>,
}

/// The period of a subscription that a payment is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaidPeriod {
    /// The provider's id of the subscription.
    pub subscription: String,
    /// The provider's id of the buyer.
    pub customer: String,
    /// The order that the subscription began with. `None` if it is not one of ours.
    pub began_with: Option<InternalId>,
    /// When it ends, seconds since 1970 UTC.
    pub until: i64,
    /// Whether it is a further period, with an order of its own.
    pub renewal: bool,
}

impl PaymentState {
    pub fn is_refunded(&self) -> bool {
        self.refunded >= self.amount && self.refunded > Money::ZERO
    }
}

/// The facts about an order's payment, if the order lacks some of them.
pub fn new_facts(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Option<PaymentFacts> {
    let known = effects.facts.clone().unwrap_or_default();
    let next = known.with(&state.facts);
    let is_paid = state.progress == Progress::Paid && state.order.as_ref() == Some(&order.internal_id);
    (is_paid && next != known).then_some(next)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Nothing,
    /// It is paid. Everything is held for it already.
    Pay,
    /// It is paid, but nothing is held: if it cannot be taken any more, the payment is refunded.
    PayOrRefund,
    /// It ends without a payment.
    End(OrderStatus),
    Refund,
    /// Only a part of the payment is refunded, and not what was noted: more by now, or less because a refund failed.
    RefundInPart(Refunds),
    /// Refunds of an order that is not paid, or not any more, have failed, or were made again.
    RefundFailed(Refunds),
    /// It cannot be taken any more, and its refund was begun: the refund is finished.
    FinishRefund,
    /// The payment of an order that needed an operator is refunded in full.
    EndReview,
    /// An operator has to look at it.
    Review(&'static str),
}

/// Whether a provider's checkout is the order's own: by its id if that is known, otherwise by the order that it names.
pub fn is_own(order: &Order, effects: &OrderEffects, state: &PaymentState) -> bool {
    match &effects.provider {
        Some(checkout) => match &checkout.session {
            Some(session) => *session == state.session,
            None => state.order.as_ref() == Some(&order.internal_id),
        },
        None => false,
    }
}

/// Account and mode of a checkout, seen from the account of our keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the same account and mode.
    Own,
    /// In another account, or in the other mode.
    Other,
    /// In the same mode; one of the accounts is not known.
    Unknown,
}

pub fn origin(checkout: &ProviderCheckout, ours: &ProviderAccount) -> Origin {
    match (checkout.account.as_ref(), ours.id.as_ref()) {
        _ if checkout.live != ours.live => Origin::Other,
        (Some(account), Some(ours)) if account != ours => Origin::Other,
        (Some(_), Some(_)) => Origin::Own,
        _ => Origin::Unknown,
    }
}

/// Whether no checkout may begin in the account of our keys: the store is leaving it, unless it is certainly another one.
pub fn is_left(leaving: Option<&ProviderAccount>, ours: &ProviderAccount) -> bool {
    leaving.is_some_and(|account| may_be_same(account, ours))
}

/// Whether an account is that of our keys, as far as is known: the same mode, and no other id.
pub fn may_be_same(account: &ProviderAccount, ours: &ProviderAccount) -> bool {
    let is_other = account.id.as_ref().zip(ours.id.as_ref()).is_some_and(|(account, ours)| account != ours);
    account.live == ours.live && !is_other
}

/// The amount of an order's payment: its price, and the tax on top of it, which is in the price once the order is paid.
pub fn amount_due(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Money {
    let is_settled = order.status.was_paid();
    let is_on_top = effects.provider.as_ref().is_some_and(|checkout| checkout.tax_on_top);
    if is_on_top && !is_settled { order.price + state.tax.amount } else { order.price }
}

/// The tax that an order keeps when it becomes paid. It is on top of the price only if that makes what was paid.
pub fn tax_of(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Option<Tax> {
    let checkout = effects.provider.as_ref().filter(|checkout| checkout.tax != TaxMode::None)?;
    let is_paid = agrees(order, effects, state);
    Some(Tax { on_top: checkout.tax_on_top && is_paid, ..state.tax.clone() })
}

/// Whether amount and currency of a payment are those of its order.
pub fn agrees(order: &Order, effects: &OrderEffects, state: &PaymentState) -> bool {
    state.currency.eq_ignore_ascii_case(&order.currency) && state.amount == amount_due(order, effects, state)
}

pub fn decide(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Decision {
    match state.progress {
        Progress::Open | Progress::Processing => Decision::Nothing,
        Progress::Expired => end(order, OrderStatus::Cancelled),
        Progress::Failed => end(order, OrderStatus::Failed),
        Progress::Paid => paid(order, effects, state),
    }
}

fn end(order: &Order, status: OrderStatus) -> Decision {
    if order.status == OrderStatus::Pending { Decision::End(status) } else { Decision::Nothing }
}

fn paid(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Decision {
    if let Some(reason) = foreign(order, effects, state) {
        return review(order, effects, reason);
    }
    let (news, disagreement) = (news(order, effects, state), disagreement(order, effects, state));
    match (order.status, news) {
        (OrderStatus::Paid, Some(_)) if state.is_refunded() => Decision::Refund,
        // It was refunded before it was seen: it never becomes paid here.
        (OrderStatus::Pending, _) if state.is_refunded() => Decision::End(OrderStatus::Cancelled),
        (OrderStatus::Refunded | OrderStatus::Failed | OrderStatus::Cancelled, Some(news)) => {
            Decision::RefundFailed(news)
        }
        (OrderStatus::Refunded | OrderStatus::Failed | OrderStatus::Cancelled, None) if state.is_refunded() => {
            if effects.review.is_some() {
                Decision::EndReview
            } else {
                Decision::Nothing
            }
        }
        (OrderStatus::Refunded, None) => Decision::Nothing,
        // What was refunded once is not paid by itself, because the refund failed or this read is older.
        (OrderStatus::Failed | OrderStatus::Cancelled, None) if was_refunded(effects, state.intent.as_ref()) => {
            Decision::Nothing
        }
        (status, news) => match disagreement {
            Some(reason) => review(order, effects, reason),
            None if status == OrderStatus::Paid => news.map_or(Decision::Nothing, Decision::RefundInPart),
            None => unpaid(order, effects),
        },
    }
}

/// Whether a payment of an order that ended without it was refunded, and no part of it failed to go back.
pub fn was_returned(effects: &OrderEffects, intent: Option<&String>) -> bool {
    let outcome = effects.refund.as_ref().and_then(|attempt| attempt.outcome);
    let is_done = matches!(outcome, Some(RefundOutcome::Refunded | RefundOutcome::Failed));
    effects.unreturned == Money::ZERO && (is_done || was_refunded(effects, intent))
}

/// Whether the payment of an order that ended without it was refunded before. Then the order has the payment's id, as has one
/// that an operator or an attempt of ours decides about.
fn was_refunded(effects: &OrderEffects, intent: Option<&String>) -> bool {
    if effects.failed_refunds > Money::ZERO {
        return true;
    }
    if let Some(reviewed) = &effects.reviewed {
        return reviewed.outcome == ReviewOutcome::Refunded;
    }
    let known = effects.provider.as_ref().and_then(|provider| provider.intent.as_ref());
    effects.refund.is_none() && effects.review.is_none() && known.is_some() && known == intent
}

/// The decision about an order that is not paid, and whose payment agrees with it.
fn unpaid(order: &Order, effects: &OrderEffects) -> Decision {
    let Some(attempt) = &effects.refund else {
        return if effects.held { Decision::Pay } else { Decision::PayOrRefund };
    };
    match attempt.outcome {
        None => Decision::FinishRefund,
        Some(RefundOutcome::Refused | RefundOutcome::Abandoned) => {
            review(order, effects, "a late payment was not refunded")
        }
        Some(RefundOutcome::Refunded | RefundOutcome::Failed) => end(order, OrderStatus::Cancelled),
    }
}

/// An operator is asked once.
fn review(order: &Order, effects: &OrderEffects, reason: &'static str) -> Decision {
    let is_known = effects.review.is_some() || effects.reviewed.is_some() || order.status == OrderStatus::Refunded;
    if is_known { Decision::Nothing } else { Decision::Review(reason) }
}

/// The amount refunded by now; `None` if that is noted already, or older than what is noted: reads of the provider may
/// overtake each other. A refund that failed never succeeds, so that of two reads the one with more failures is the
/// newer one, and among equal failures the one with more refunds.
fn news(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Option<Refunds> {
    let price = amount_due(order, effects, state);
    let in_order = |amount: Money| {
        if state.amount == price { amount } else { amount.portion(price, state.amount) }
    };
    // Rounded up, the last minor unit would be noted before it is refunded, and the refund in full be no news.
    let most = if state.is_refunded() { price } else { price.less(Money::from_minor(1)) };
    let (refunded, failed) = (in_order(state.refunded).min(most), in_order(state.failed_refunds));
    let noted = match order.status {
        OrderStatus::Paid => effects.refunded,
        // Of an order that is not paid, what is refunded is noted only once a refund has failed.
        _ => price.less(effects.unreturned),
    };
    let promised = match &effects.refund {
        _ if order.status != OrderStatus::Paid => price,
        Some(attempt) if matches!(attempt.outcome, Some(RefundOutcome::Refunded | RefundOutcome::Failed)) => {
            (noted + effects.unreturned).max(in_order(attempt.after))
        }
        _ => noted + effects.unreturned,
    };
    let unreturned = if failed > Money::ZERO { promised.less(refunded) } else { Money::ZERO };
    ((failed, refunded) > (effects.failed_refunds, noted)).then_some(Refunds { refunded, failed, unreturned })
}

/// The reason why a payment is not the order's own.
fn foreign(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Option<&'static str> {
    if state.order.as_ref() != Some(&order.internal_id) {
        Some("the payment names another order")
    } else if !state.same_mode && !is_accepted(effects) {
        Some("the payment is of another mode, test or live")
    } else {
        None
    }
}

/// Whether the payment is not what the order asked for, and no operator has accepted that.
fn disagreement(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Option<&'static str> {
    if is_accepted(effects) {
        None
    } else if !state.currency.eq_ignore_ascii_case(&order.currency) {
        Some("the payment is in another currency")
    } else if state.amount != amount_due(order, effects, state) {
        Some("the payment is of another amount")
    } else {
        None
    }
}

fn is_accepted(effects: &OrderEffects) -> bool {
    effects.reviewed.as_ref().is_some_and(|reviewed| reviewed.outcome == ReviewOutcome::Accepted)
}
