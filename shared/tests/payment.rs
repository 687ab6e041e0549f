//! What is done about an order when its provider was asked: every state of a payment and of an order.

use shared::model::{InternalId, Money, Order, OrderEffects, OrderNumber, OrderStatus};
use shared::rules::payment::{Decision, PaymentState, Progress, decide};

fn money(minor: i64) -> Money {
    Money::from_minor(minor)
}

fn order(status: OrderStatus, price: Money) -> Order {
    Order {
        id: OrderNumber::new(1),
        internal_id: InternalId::new("order"),
        price,
        currency: "EUR".to_owned(),
        digits: Some(2),
        status,
        gateway: "Stripe".to_owned(),
        created_at: 0,
        owner: None,
        lines: Vec::new(),
    }
}

/// What is expected of every payment, order and hold.
#[expect(clippy::match_same_arms, reason = "a table, in the order of the rules")]
fn expected(progress: Progress, status: OrderStatus, is_held: bool, is_right: bool, refunded: i64) -> &'static str {
    use OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};
    match (progress, status) {
        (Progress::Open | Progress::Processing, _) | (Progress::Paid, Refunded) => "nothing",
        (Progress::Expired, Pending) => "cancel",
        (Progress::Failed, Pending) => "fail",
        (Progress::Expired | Progress::Failed, _) => "nothing",
        (Progress::Paid, _) if !is_right => "review",
        (Progress::Paid, Paid) if refunded == 0 => "nothing",
        (Progress::Paid, Paid) if refunded < 300 => "refund in part",
        (Progress::Paid, Paid) => "refund",
        (Progress::Paid, Pending) if refunded == 300 => "cancel",
        (Progress::Paid, Failed | Cancelled) if refunded == 300 => "nothing",
        (Progress::Paid, _) if is_held => "pay",
        (Progress::Paid, _) => "pay or refund",
    }
}

fn name(decision: Decision) -> &'static str {
    match decision {
        Decision::Nothing => "nothing",
        Decision::Pay => "pay",
        Decision::PayOrRefund => "pay or refund",
        Decision::End(OrderStatus::Cancelled) => "cancel",
        Decision::End(OrderStatus::Failed) => "fail",
        Decision::End(_) => "?",
        Decision::Refund => "refund",
        Decision::RefundInPart(_) => "refund in part",
        Decision::Review(_) => "review",
    }
}

type Change = fn(&mut PaymentState);

#[test]
fn every_state_of_a_payment_and_an_order_is_decided() {
    let progresses = [Progress::Open, Progress::Expired, Progress::Processing, Progress::Failed, Progress::Paid];
    let right = |progress: Progress, refunded: i64| PaymentState {
        order: Some(InternalId::new("order")),
        amount: money(300),
        currency: "eur".to_owned(),
        same_mode: true,
        progress,
        intent: Some("intent".to_owned()),
        refunded: money(refunded),
    };
    let wrong: [Change; 4] = [
        |state| state.order = Some(InternalId::new("another")),
        |state| state.amount = Money::from_minor(299),
        |state| state.currency = "usd".to_owned(),
        |state| state.same_mode = false,
    ];
    for progress in progresses {
        for status in OrderStatus::ALL {
            for is_held in [false, true] {
                for refunded in [0, 150, 300] {
                    let order = order(status, money(300));
                    let effects = OrderEffects { held: is_held, ..OrderEffects::default() };
                    let state = right(progress, refunded);
                    let decided = name(decide(&order, &effects, &state));
                    let note = format!("{progress:?} {status:?} held: {is_held} refunded: {refunded}");
                    assert_eq!(decided, expected(progress, status, is_held, true, refunded), "{note}");
                    for change in wrong {
                        let mut state = state.clone();
                        change(&mut state);
                        let decided = name(decide(&order, &effects, &state));
                        assert_eq!(decided, expected(progress, status, is_held, false, refunded), "{note}, wrong");
                        // An operator is notified once.
                        let told = OrderEffects { review: Some(String::new()), ..effects.clone() };
                        assert_ne!(name(decide(&order, &told, &state)), "review", "{note}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_refund_that_is_noted_already_changes_nothing() {
    let order = order(OrderStatus::Paid, money(300));
    let state = PaymentState {
        order: Some(InternalId::new("order")),
        amount: money(300),
        currency: "EUR".to_owned(),
        same_mode: true,
        progress: Progress::Paid,
        intent: None,
        refunded: money(100),
    };
    let noted = |refunded: i64| OrderEffects { refunded: money(refunded), ..OrderEffects::default() };
    assert_eq!(decide(&order, &noted(99), &state), Decision::RefundInPart(money(100)));
    assert_eq!(decide(&order, &noted(100), &state), Decision::Nothing);
    assert_eq!(decide(&order, &noted(101), &state), Decision::Nothing);
    let free = Order { price: Money::ZERO, status: OrderStatus::Pending, ..order };
    let state = PaymentState { amount: Money::ZERO, refunded: Money::ZERO, ..state };
    assert_eq!(decide(&free, &OrderEffects { held: true, ..OrderEffects::default() }, &state), Decision::Pay);
}
