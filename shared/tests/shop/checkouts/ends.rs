//! Steps of a cumulative category that end: what has ended is no step and pays for none.

use crate::market::{Market, STEPS, gift};
use crate::shop::{DAY, own_uncounted, published_item};
use crate::sums::assert_audit;
use serde_json::json;
use shared::model::{InternalId, Money, OrderStatus};
use std::time::Duration;
use tests::Prepared;

const LOW: u64 = STEPS[0];
const HIGH: u64 = STEPS[1];
const PRICES: [i64; 2] = [300, 1_000];

/// Both steps last thirty days.
async fn open() -> Market {
    static CONTENTS: Prepared = Prepared::new();
    let publish = |market: Market| async move {
        let tiers: Vec<_> = STEPS.iter().zip(PRICES).map(|(id, price)| json!({ "item": id, "price": price })).collect();
        for (id, price) in STEPS.iter().zip(PRICES) {
            let item =
                json!({ "id": id, "name": format!("step {id}"), "price": price, "active": true, "gifting": true });
            let delivery = json!({ "expires_after": 30 * DAY });
            let published = json!({ "item": item, "category": 3, "ladder": tiers, "delivery": delivery });
            market.write_item(published_item("v1", &published)).await;
        }
        market.name(2, "user-2").await;
    };
    Market::copy_of(&CONTENTS, publish).await
}

fn wait(market: &Market, days: i64) {
    market.clock.advance(Duration::from_secs(u64::try_from(days * DAY).unwrap()));
}

/// Buys a step; the order, and what it cost.
async fn buy(market: &Market, step: u64) -> (InternalId, i64) {
    let order = market.checkout(1, &[(step, 1)], None).await;
    market.pay(&order).await;
    market.sweep().await;
    let price = market.order(&order).await.order.price.minor();
    (order, price)
}

#[tokio::test]
async fn a_step_that_has_ended_is_bought_again_at_its_price() {
    let market = open().await;
    assert_eq!(buy(&market, LOW).await.1, 300);
    wait(&market, 1);
    market.fill(1, &[(LOW, 1)], None).await;
    market.create(1).await.unwrap_err();
    assert_eq!(buy(&market, HIGH).await.1, 700, "the difference, as long as the lower step lasts");
    wait(&market, 29);
    // The lower step has ended, the higher one lasts a day longer.
    market.fill(1, &[(LOW, 1)], None).await;
    market.create(1).await.unwrap_err();
    wait(&market, 1);
    assert_eq!((buy(&market, LOW).await.1, buy(&market, HIGH).await.1), (300, 700));
    wait(&market, 31);
    assert_eq!(buy(&market, HIGH).await.1, 1_000);
    assert_audit(&market.db).await;
}

#[tokio::test]
async fn what_is_returned_of_a_step_that_has_ended_changes_no_price() {
    let market = open().await;
    let (first, _) = buy(&market, LOW).await;
    wait(&market, 31);
    buy(&market, LOW).await;
    for refunded in [100, 300] {
        market.provider.set(&first, |state| state.refunded = Money::from_minor(refunded));
        market.settle(&first).await;
        market.sweep().await;
        assert_audit(&market.db).await;
    }
    assert_eq!(market.status(&first).await, OrderStatus::Refunded);
    assert_eq!(buy(&market, HIGH).await.1, 700);
    assert_audit(&market.db).await;
}

#[tokio::test]
async fn a_step_can_be_given_again_once_it_has_ended_and_not_before() {
    let market = open().await;
    market.fill_with(1, vec![gift(1, LOW, "user-2")], None).await;
    let order = market.create(1).await.unwrap().order;
    market.pay(&order).await;
    for days in [0, 29] {
        wait(&market, days);
        market.fill_with(3, vec![gift(1, LOW, "user-2")], None).await;
        let refused = market.refusal(3).await;
        assert!(refused.contains("recipient"), "{refused}");
    }
    wait(&market, 1);
    let order = market.create(3).await.unwrap().order;
    market.pay(&order).await;
    // What was owned before ends were stored lasts.
    own_uncounted(&market.db, 4, LOW).await;
    market.name(4, "user-4").await;
    market.fill_with(5, vec![gift(1, LOW, "user-4")], None).await;
    market.refusal(5).await;
}
