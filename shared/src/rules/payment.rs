//! What is done about an order when its payment provider was asked (rules.md, "Checkout"). One rule for webhooks, the
//! sweep, buyers and operators: it depends on what the provider says now and on the order, never on what a message said.

use crate::model::{InternalId, Money, Order, OrderEffects, OrderStatus};

/// How far a payment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The buyer can still pay.
    Open,
    /// The provider has ended it without a payment.
    Expired,
    /// The buyer has paid, by a method that confirms it later.
    Processing,
    /// The payment failed.
    Failed,
    /// Paid.
    Paid,
}

/// What the provider says of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentState {
    /// The order that it names.
    pub order: Option<InternalId>,
    /// The amount, in minor units of `currency`.
    pub amount: Money,
    /// Currency code, in any case.
    pub currency: String,
    /// Whether it is of the mode of our key: test or live.
    pub same_mode: bool,
    /// How far it is.
    pub progress: Progress,
    /// The provider's id of the payment.
    pub intent: Option<String>,
    /// What was refunded of it.
    pub refunded: Money,
}

/// What is done about an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing.
    Nothing,
    /// It is paid. Everything is held for it already.
    Pay,
    /// It is paid, but nothing is held: if it cannot be taken any more, the payment is refunded.
    PayOrRefund,
    /// It ends without a payment.
    End(OrderStatus),
    /// The payment was refunded.
    Refund,
    /// This much of the payment is refunded by now.
    RefundInPart(Money),
    /// An operator has to look at it.
    Review(&'static str),
}

/// Decides what is done about an order.
#[must_use]
pub fn decide(order: &Order, effects: &OrderEffects, state: &PaymentState) -> Decision {
    match (state.progress, order.status) {
        (Progress::Paid, OrderStatus::Refunded) | (Progress::Open | Progress::Processing, _) => Decision::Nothing,
        (Progress::Paid, status) => match disagreement(order, state) {
            Some(_) if effects.review.is_some() => Decision::Nothing,
            Some(reason) => Decision::Review(reason),
            None if status == OrderStatus::Paid => refunded(order, effects, state.refunded),
            // It was refunded before it was seen: it never becomes paid here.
            None if state.refunded >= order.price && state.refunded > Money::ZERO => end(order, OrderStatus::Cancelled),
            None if effects.held => Decision::Pay,
            None => Decision::PayOrRefund,
        },
        (Progress::Expired, _) => end(order, OrderStatus::Cancelled),
        (Progress::Failed, _) => end(order, OrderStatus::Failed),
    }
}

fn end(order: &Order, status: OrderStatus) -> Decision {
    if order.status == OrderStatus::Pending { Decision::End(status) } else { Decision::Nothing }
}

fn refunded(order: &Order, effects: &OrderEffects, refunded: Money) -> Decision {
    if refunded >= order.price && refunded > Money::ZERO {
        Decision::Refund
    } else if refunded > effects.refunded {
        Decision::RefundInPart(refunded)
    } else {
        Decision::Nothing
    }
}

fn disagreement(order: &Order, state: &PaymentState) -> Option<&'static str> {
    if state.order.as_ref() != Some(&order.internal_id) {
        Some("the payment names another order")
    } else if !state.same_mode {
        Some("the payment is of another mode, test or live")
    } else if !state.currency.eq_ignore_ascii_case(&order.currency) {
        Some("the payment is in another currency")
    } else if state.amount != order.price {
        Some("the payment is of another amount")
    } else {
        None
    }
}
