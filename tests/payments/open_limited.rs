//! Open checkouts of an address with limited items: at most ten, of those begun within the time of a hold (rules.md,
//! "Checkout").

use super::support::{Begun, act, add, agreed, buyer, call, create};
use serde_json::{Value, json};
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Call, Reply, TestStore};

/// An item with a global limit, and one without.
const LIMITED: u64 = 211;
const PLAIN: u64 = 302;
/// An address may begin ten checkouts in this time.
const ATTEMPTS: Duration = Duration::from_mins(10);
const TOO_MANY: &str =
    "Too many payments of limited items or coupons are open at your address. Finish one, or try again later.";

/// Ten open checkouts with a limited item, begun by buyers of one address at about the same time.
async fn ten(store: &TestStore) -> Vec<Begun> {
    let mut open = Vec::new();
    for n in 0..10 {
        let token = buyer(store, &format!("Buyer{n}"), LIMITED, 1).await;
        open.push(create(store, &token).await);
    }
    open
}

fn refused(reply: &Reply) -> Value {
    let data = reply.data();
    assert_eq!((reply.status.as_u16(), &data["success"]), (200, &json!(false)), "{data}");
    data["message"].clone()
}

#[tokio::test]
async fn the_eleventh_of_an_address_is_refused_until_one_is_paid() {
    let store = TestStore::open().await;
    let open = ten(&store).await;
    store.clock.advance(ATTEMPTS);
    let token = buyer(&store, "Eleventh", LIMITED, 1).await;
    let reply = call(&store, &token, "/payments/create", &agreed()).await;
    assert_eq!(refused(&reply), TOO_MANY);
    assert_eq!(reply.header("retry-after"), (25 * 60).to_string());
    // Another item, and another address.
    let plain = buyer(&store, "Plain", PLAIN, 1).await;
    create(&store, &plain).await;
    let far = buyer(&store, "Far", LIMITED, 1).await;
    let elsewhere = Call::post("/payments/create").token(&far).json(&agreed()).from_ip("198.51.100.9");
    assert_eq!(store.send(elsewhere).await.data()["success"], true);
    act(&store, &open[3], &Action::Pay).await;
    create(&store, &token).await;
    let twelfth = buyer(&store, "Twelfth", LIMITED, 1).await;
    assert_eq!(refused(&call(&store, &twelfth, "/payments/create", &agreed()).await), TOO_MANY);
    // One that has ended otherwise is not open either.
    act(&store, &open[4], &Action::Expire).await;
    create(&store, &twelfth).await;
}

#[tokio::test]
async fn a_buyer_who_changes_the_cart_has_one_place() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", LIMITED, 1).await;
    for n in 0..14 {
        if n % 7 == 6 {
            store.clock.advance(ATTEMPTS);
        }
        create(&store, &token).await;
        add(&store, &token, PLAIN, 1).await;
    }
}

#[tokio::test]
async fn a_cart_with_a_limited_item_is_offered_no_delayed_methods() {
    let mut store = TestStore::open().await;
    store.delay_payments().await;
    for (name, item, is_offered) in [("One", LIMITED, false), ("Two", PLAIN, true)] {
        let token = buyer(&store, name, item, 1).await;
        let begun = create(&store, &token).await;
        assert_eq!(store.payments.act(&begun.session, &Action::PayDelayed).is_ok(), is_offered, "{item}");
    }
}
