//! Stripe's responses: read without a panic, and paid is only what agrees with the order.

use crate::{Outcome, PARSER, mutate, tries};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{from_slice, json};
use shared::model::OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};
use shared::model::{InternalId, Money, Order, OrderEffects, PaymentFacts, Tax};
use shared::rules::payment::{Decision, PaymentState, Progress, decide};
use stripe::{
    Account, Balance, Charge, Dispute, Event, Expandable, List, PaymentIntent, PaymentStatus, Refund, Session,
    SessionStatus, WebhookEndpoint,
};
use tests::{NOW, TestStore};

#[test]
fn responses_of_the_provider() {
    let order = TestStore::sample().live.orders[0].clone();
    let order = Order { price: Money::from_minor(1_999), currency: "USD".to_owned(), ..order };
    let session = json!({
        "id": "cs_test_1", "status": "complete", "payment_status": "paid", "amount_total": 1999, "currency": "usd",
        "client_reference_id": order.internal_id.as_str(), "metadata": {}, "livemode": false, "url": null,
        "expires_at": NOW, "data": [], "has_more": false, "reason": "x",
        "payment_intent": {
            "id": "pi_1", "status": "succeeded", "amount": 1999, "amount_received": 1999, "currency": "usd",
            "livemode": false, "metadata": { "order": order.internal_id.as_str() },
            "latest_charge": {
                "id": "ch_1", "amount": 1999, "amount_refunded": 0, "refunded": false, "disputed": false,
                "currency": "usd", "livemode": false, "payment_intent": "pi_1",
            },
        },
    });
    let statuses = select(vec![Pending, Pending, Paid, Failed, Cancelled, Refunded]);
    let inputs = (mutate::json_text(Just(session)), statuses, any::<bool>());
    tries("provider", PARSER, inputs, |(text, status, held)| {
        let bytes = text.as_bytes();
        _ = (from_slice::<List<Event>>(bytes), from_slice::<PaymentIntent>(bytes), from_slice::<Charge>(bytes));
        _ = (from_slice::<Dispute>(bytes), from_slice::<Refund>(bytes), from_slice::<Account>(bytes));
        _ = (from_slice::<Balance>(bytes), from_slice::<WebhookEndpoint>(bytes));
        let Ok(session) = from_slice::<Session>(bytes) else { return Ok(false) };
        let effects = OrderEffects { held, ..OrderEffects::default() };
        decided(&Order { status, ..order.clone() }, &effects, &session)
    });
}

fn decided(order: &Order, effects: &OrderEffects, session: &Session) -> Outcome {
    let decision = decide(order, effects, &state(session));
    if matches!(decision, Decision::Pay | Decision::PayOrRefund) {
        let is_paid = session.status == Some(SessionStatus::Complete)
            && matches!(session.payment_status, PaymentStatus::Paid | PaymentStatus::NoPaymentRequired);
        let agrees = session.amount_total == Some(order.price.minor())
            && session.currency.as_deref().is_some_and(|currency| currency.eq_ignore_ascii_case("usd"))
            && session.metadata.order.as_deref() == Some(order.internal_id.as_str())
            && !session.livemode;
        prop_assert!(is_paid && agrees, "{decision:?} by {session:?}");
        prop_assert!(!matches!(order.status, Paid | Refunded), "{decision:?} of {:?}", order.status);
    }
    if let Decision::RefundInPart(refunds) = &decision {
        let amount = refunds.refunded;
        prop_assert!(amount > Money::ZERO && amount < order.price, "{decision:?} of {:?}", order.price);
    }
    Ok(decision != Decision::Nothing)
}

/// A session as a payment's state, with a key of the test mode.
fn state(session: &Session) -> PaymentState {
    let intent = session.payment_intent.as_ref();
    let charge = intent.and_then(Expandable::object).and_then(|intent| intent.latest_charge.as_ref()?.object());
    let progress = match (session.status.as_ref(), &session.payment_status) {
        (Some(SessionStatus::Complete), PaymentStatus::Paid | PaymentStatus::NoPaymentRequired) => Progress::Paid,
        (Some(SessionStatus::Complete), _) => Progress::Processing,
        (Some(SessionStatus::Expired), _) => Progress::Expired,
        _ => Progress::Open,
    };
    PaymentState {
        session: session.id.to_string(),
        order: session.metadata.order.as_deref().map(InternalId::new),
        amount: Money::from_minor(session.amount_total.unwrap_or_default()),
        currency: session.currency.clone().unwrap_or_default(),
        same_mode: !session.livemode,
        progress,
        intent: intent.map(|intent| intent.id().to_string()),
        refunded: Money::from_minor(charge.map_or(0, |charge| charge.amount_refunded)),
        failed_refunds: Money::ZERO,
        attempts: Vec::new(),
        disputes: Vec::new(),
        period: None,
        tax: Tax::default(),
        facts: PaymentFacts::default(),
        card: None,
    }
}
