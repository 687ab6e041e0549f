//! Addresses whose payments were refused.

use crate::books::assert_books;
use crate::shop::{PLAIN, Refused, Shop, request};
use shared::model::InternalId;
use shared::rules::checkout::CheckoutRefusal;
use shared::shop::payments::{Checkout, WebhookEvent};
use std::time::Duration;
use stripe_stand_in::Action;

const HOME: &str = "hash-of-home";

async fn create(shop: &Shop, user: u64, address: &str) -> Result<Checkout, Refused> {
    shop.fill(user, &[(PLAIN, 1)], None).await;
    shop.create_as(&shop.instance(), user, request(Some(address))).await
}

/// The seconds that an address has to wait, if it has to.
fn waits(created: &Result<Checkout, Refused>) -> Option<u64> {
    match created {
        Err(Refused::Refused(CheckoutRefusal::RefusedPayments { retry_seconds })) => Some(*retry_seconds),
        _ => None,
    }
}

/// The bank refuses a payment; what the provider says of it.
async fn decline(shop: &Shop, order: &InternalId) -> WebhookEvent {
    let before = shop.events().await;
    shop.act(order, Action::Decline);
    let is_new = |event: &WebhookEvent| matches!(event, WebhookEvent::Refused(_)) && !before.contains(event);
    shop.events().await.into_iter().find(is_new).unwrap()
}

#[tokio::test]
async fn after_three_refused_payments_an_address_waits_and_no_other_does() {
    let shop = Shop::open().await;
    let order = create(&shop, 1, HOME).await.unwrap().order;
    let other = create(&shop, 2, HOME).await.unwrap().order;
    let [first, second] = [decline(&shop, &order).await, decline(&shop, &order).await];
    // However often and in whichever order they are heard, each counts once.
    for event in [&second, &first, &second, &first, &first] {
        shop.hear(event).await;
    }
    create(&shop, 3, HOME).await.unwrap();
    shop.clock.advance(Duration::from_mins(10));
    let third = decline(&shop, &other).await;
    shop.hear(&third).await;
    assert_eq!(waits(&create(&shop, 4, HOME).await), Some(50 * 60));
    create(&shop, 4, "elsewhere").await.unwrap();
    // Who has a checkout open goes on with it, and may pay at last.
    assert_eq!(shop.create_as(&shop.instance(), 1, request(Some(HOME))).await.unwrap().order, order);
    shop.pay(&order).await;
    assert_eq!(shop.order(&order).await.address(), None);
    shop.clock.advance(Duration::from_mins(50));
    shop.hear(&first).await;
    let last = create(&shop, 5, HOME).await.unwrap().order;
    // With the third, which is not an hour old, it makes two.
    let fourth = decline(&shop, &last).await;
    shop.hear(&fourth).await;
    create(&shop, 6, HOME).await.unwrap();
    assert_books(&shop).await;
}

#[tokio::test]
async fn a_payment_that_is_refused_while_a_checkout_begins_stops_it() {
    let shop = Shop::open().await;
    let order = create(&shop, 1, HOME).await.unwrap().order;
    let events = [decline(&shop, &order).await, decline(&shop, &order).await, decline(&shop, &order).await];
    shop.hear(&events[0]).await;
    shop.hear(&events[1]).await;
    shop.fill(2, &[(PLAIN, 1)], None).await;
    let by = shop.instance();
    let first = crate::shop::load(&by.db, 2, Some(HOME)).await.unwrap();
    // It is heard after the buyer was read, and before the order is written.
    shop.hear(&events[2]).await;
    let request = request(Some(HOME));
    let reload = || crate::shop::load(&by.db, 2, Some(HOME));
    let created = shared::shop::payments::create(&by.sources(&shop), &shop.stripe, request, first, reload).await;
    assert_eq!(waits(&created), Some(3_600));
}
