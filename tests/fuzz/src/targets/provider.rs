//! Stripe's responses: read without a panic, and paid is only what agrees with the order.

use crate::error::FuzzError;
use crate::mutate;
use crate::random::Random;
use crate::target::{Outcome, Target, rule};
use harness::{NOW, TestStore};
use serde_json::{Value, json};
use shared::model::{InternalId, Money, Order, OrderEffects, OrderStatus};
use shared::rules::payment::{Decision, PaymentState, Progress, decide};
use stripe::{
    Account, Balance, Charge, Dispute, Event, Expandable, List, PaymentIntent, PaymentStatus, Refund, Session,
};
use stripe::{SessionStatus, WebhookEndpoint};

/// Responses, and what is decided by them.
#[derive(Debug)]
pub struct Provider {
    order: Order,
    session: Value,
}

impl Target for Provider {
    const NAME: &'static str = "provider";
    /// The response, the order's status, and whether something is held for it.
    type Input = (String, OrderStatus, bool);

    fn start() -> Result<Self, FuzzError> {
        let orders = &TestStore::sample().live.orders;
        let order = orders.first().ok_or_else(|| FuzzError::setup("the sample store has no order"))?.clone();
        let order = Order { price: Money::from_minor(1_999), currency: "USD".to_owned(), ..order };
        let charge = json!({
            "id": "ch_1", "amount": 1999, "amount_refunded": 0, "refunded": false, "disputed": false, "currency": "usd",
            "livemode": false, "payment_intent": "pi_1",
        });
        let intent = json!({
            "id": "pi_1", "status": "succeeded", "amount": 1999, "amount_received": 1999, "currency": "usd",
            "livemode": false, "metadata": { "order": order.internal_id.as_str() }, "latest_charge": charge,
        });
        let session = json!({
            "id": "cs_test_1", "status": "complete", "payment_status": "paid", "amount_total": 1999, "currency": "usd",
            "client_reference_id": order.internal_id.as_str(), "metadata": {}, "livemode": false, "url": null,
            "expires_at": NOW, "payment_intent": intent, "data": [], "has_more": false, "reason": "x",
        });
        Ok(Self { order, session })
    }

    fn input(&self, random: &mut Random) -> Self::Input {
        use OrderStatus::{Cancelled, Failed, Paid, Pending, Refunded};
        let status = *random.pick(&[Pending, Pending, Paid, Failed, Cancelled, Refunded]);
        (mutate::json_text(random, &self.session), status, random.one_in(2))
    }

    fn check(&mut self, (text, status, held): &Self::Input) -> Result<Outcome, String> {
        let bytes = text.as_bytes();
        _ = serde_json::from_slice::<List<Event>>(bytes);
        _ = serde_json::from_slice::<PaymentIntent>(bytes);
        _ = serde_json::from_slice::<Charge>(bytes);
        _ = serde_json::from_slice::<Dispute>(bytes);
        _ = serde_json::from_slice::<Refund>(bytes);
        _ = serde_json::from_slice::<Account>(bytes);
        _ = serde_json::from_slice::<Balance>(bytes);
        _ = serde_json::from_slice::<WebhookEndpoint>(bytes);
        let Ok(session) = serde_json::from_slice::<Session>(bytes) else { return Ok(Outcome::Refused) };
        let order = Order { status: *status, ..self.order.clone() };
        let effects = OrderEffects { held: *held, ..OrderEffects::default() };
        let state = state(&session);
        let decision = decide(&order, &effects, &state);
        if matches!(decision, Decision::Pay | Decision::PayOrRefund) {
            let is_paid = session.status == Some(SessionStatus::Complete)
                && matches!(session.payment_status, PaymentStatus::Paid | PaymentStatus::NoPaymentRequired);
            let agrees = session.amount_total == Some(order.price.minor())
                && session.currency.as_deref().is_some_and(|currency| currency.eq_ignore_ascii_case("usd"))
                && session.metadata.order.as_deref() == Some(order.internal_id.as_str())
                && !session.livemode;
            rule(is_paid && agrees, || format!("{decision:?} by {session:?}"))?;
            rule(*status != OrderStatus::Paid && *status != OrderStatus::Refunded, || {
                format!("{decision:?} of {status:?}")
            })?;
        }
        if let Decision::RefundInPart(refunds) = decision {
            let amount = refunds.refunded;
            rule(amount > Money::ZERO && amount < order.price, || format!("{decision:?} of {:?}", order.price))?;
        }
        Ok(if decision == Decision::Nothing { Outcome::Refused } else { Outcome::Accepted })
    }
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
    }
}
