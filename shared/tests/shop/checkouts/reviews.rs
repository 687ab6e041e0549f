//! Orders that need an operator: they are accepted or refunded, and their refunds and disputes are found.

use crate::books::assert_quiet;
use crate::market::Market;
use crate::shop::{FIVE, paid};
use crate::till::money;
use shared::model::{InternalId, Money, OrderStatus, ReviewOutcome};
use shared::rules::payment::{PaymentState, Progress};
use shared::shop::orders::of_payment;
use shared::shop::payments::{OperatorError, RefundKind, Settled, WebhookEvent};

/// An order of two of five whose payment differs as `change` says.
async fn in_review(change: impl FnOnce(&mut PaymentState)) -> (Market, InternalId) {
    let market = Market::open().await;
    let order = market.checkout(1, &[(FIVE, 2)], None).await;
    market.provider.pay(&order);
    market.provider.set(&order, change);
    market.settle(&order).await;
    assert!(market.order(&order).await.effects.review.is_some());
    assert_eq!(market.status(&order).await, OrderStatus::Pending);
    (market, order)
}

fn other_amount(state: &mut PaymentState) {
    state.amount = money(150);
}

async fn accepted(market: &Market, order: &InternalId) -> Result<bool, OperatorError> {
    market.desk().accept(order).await.map(|(_, is_new)| is_new)
}

#[tokio::test]
async fn the_payment_of_an_order_in_review_is_known_at_once() {
    let (market, order) = in_review(other_amount).await;
    let intent = format!("intent-{order}");
    assert_eq!(of_payment(&market.db, &intent).await.unwrap(), Some(order.clone()));
    let dispute = WebhookEvent::Dispute(intent);
    market.desk().act(&dispute).await.unwrap();
    assert_eq!(market.order(&order).await.effects.dispute.as_deref(), Some("open"));
}

#[tokio::test]
async fn an_accepted_order_is_paid_as_it_is_and_its_refunds_count_in_proportion() {
    let (market, order) = in_review(other_amount).await;
    assert!(accepted(&market, &order).await.unwrap());
    assert!(!accepted(&market, &order).await.unwrap(), "a repeated call succeeds");
    let stored = market.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.review), (OrderStatus::Paid, None));
    let reviewed = stored.effects.reviewed.unwrap();
    assert_eq!(reviewed.outcome, ReviewOutcome::Accepted);
    assert_eq!(reviewed.reason, "the payment is of another amount");
    assert_eq!(market.settle(&order).await, Settled::Unchanged);
    assert_eq!((market.sold(FIVE).await, market.held(1, FIVE).await), (2, 2));
    // 75 of 150 are half of the order's 200.
    market.provider.set(&order, |state| state.refunded = money(75));
    market.settle(&order).await;
    assert_eq!(market.order(&order).await.effects.refunded, money(100));
    let part = market.desk().refund(&order, Some(money(100))).await;
    assert!(matches!(part, Err(OperatorError::OnlyInFull)), "{part:?}");
    let rest = market.desk().refund(&order, None).await.unwrap();
    assert_eq!((rest.amount, rest.stored.order.status), (money(75), OrderStatus::Refunded));
    market.sweep_later().await;
    assert_quiet(&market).await;
}

#[tokio::test]
async fn an_accepted_order_of_less_than_its_payment_is_refunded_by_the_last_part() {
    let (market, order) = in_review(|state| state.amount = money(401)).await;
    assert!(accepted(&market, &order).await.unwrap());
    for (refunded, noted, status) in [(400, 199, OrderStatus::Paid), (401, 199, OrderStatus::Refunded)] {
        market.provider.set(&order, |state| state.refunded = money(refunded));
        market.settle(&order).await;
        let stored = market.order(&order).await;
        assert_eq!((stored.effects.refunded, stored.order.status), (money(noted), status));
    }
    market.sweep_later().await;
    assert_quiet(&market).await;
}

#[tokio::test]
async fn what_cannot_be_taken_any_more_is_not_accepted() {
    let (market, order) = in_review(other_amount).await;
    // The provider says that it has ended, and what it held is sold to another buyer.
    market.provider.set(&order, |state| state.progress = Progress::Expired);
    market.settle(&order).await;
    market.record(paid("other", Some(2), &[(FIVE, 4, 100)])).await.unwrap();
    market.provider.set(&order, |state| state.progress = Progress::Paid);
    let gone = accepted(&market, &order).await;
    assert!(matches!(gone, Err(OperatorError::SoldOut)), "{gone:?}");
    assert_eq!(market.status(&order).await, OrderStatus::Cancelled);
}

#[tokio::test]
async fn an_order_whose_payment_is_disputed_meanwhile_is_not_accepted() {
    let (market, order) = in_review(other_amount).await;
    let disputed = |words: &str| vec![("dp_1".to_owned(), words.to_owned())];
    market.provider.set(&order, |state| state.disputes = disputed("needs_response"));
    let refused = accepted(&market, &order).await;
    assert!(matches!(&refused, Err(OperatorError::Disputed(state)) if state == "needs_response"), "{refused:?}");
    assert_eq!(market.status(&order).await, OrderStatus::Pending);
    market.provider.set(&order, |state| state.disputes = disputed("won"));
    assert!(accepted(&market, &order).await.unwrap());
    assert_eq!(market.status(&order).await, OrderStatus::Paid);
}

#[tokio::test]
async fn a_refund_ends_a_review_in_every_status() {
    for (progress, status) in [(None, OrderStatus::Cancelled), (Some(Progress::Failed), OrderStatus::Failed)] {
        let changes: [fn(&mut PaymentState); 2] = [other_amount, |state| state.currency = "usd".to_owned()];
        for change in changes {
            let (market, order) = in_review(change).await;
            if let Some(progress) = progress {
                market.provider.set(&order, |state| state.progress = progress);
                market.settle(&order).await;
                market.provider.set(&order, |state| state.progress = Progress::Paid);
            }
            for kind in [RefundKind::Made, RefundKind::Already] {
                let refunded = market.desk().refund(&order, None).await.unwrap();
                assert_eq!((refunded.kind, refunded.total), (kind, market.provider.state(&order).unwrap().amount));
                assert_eq!(refunded.stored.order.status, status);
                assert_eq!(refunded.stored.effects.review, None);
                assert_eq!(refunded.stored.effects.reviewed.unwrap().outcome, ReviewOutcome::Refunded);
            }
            assert!(matches!(accepted(&market, &order).await, Err(OperatorError::NoReview)));
            assert_eq!(market.settle(&order).await, Settled::Unchanged);
            assert_eq!((market.sold(FIVE).await, market.cart(1).await.checkout), (0, None));
        }
    }
}

#[tokio::test]
async fn a_refund_in_the_dashboard_ends_a_review_too() {
    let (market, order) = in_review(other_amount).await;
    market.provider.set(&order, |state| state.refunded = state.amount);
    let event = WebhookEvent::Payment(format!("intent-{order}"));
    market.desk().act(&event).await.unwrap();
    let stored = market.order(&order).await;
    assert_eq!((stored.order.status, stored.effects.review), (OrderStatus::Cancelled, None));
    assert_eq!(market.sold(FIVE).await, 0);
}

#[tokio::test]
async fn another_orders_payment_is_never_refunded() {
    let (market, order) = in_review(|state| state.order = Some("another".into())).await;
    let refused = market.desk().refund(&order, None).await;
    assert!(matches!(refused, Err(OperatorError::Foreign)), "{refused:?}");
    assert_eq!(of_payment(&market.db, &format!("intent-{order}")).await.unwrap(), None);
    assert_eq!((market.provider.refunds(), market.status(&order).await), (0, OrderStatus::Pending));
    assert_ne!(Money::ZERO, market.order(&order).await.order.price);
}
