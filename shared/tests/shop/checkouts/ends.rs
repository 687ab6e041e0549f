//! Steps of a cumulative category that end: what has ended is no step and pays for none.

use crate::shop::{DAY, STEPS, Shop, gift, published_item, step};
use crate::sums::assert_audit;
use serde_json::json;
use shared::model::{InternalId, OrderStatus};
use tests::Prepared;

const LOW: u64 = STEPS[0];
const HIGH: u64 = STEPS[1];
const PRICES: [i64; 2] = [300, 1_000];

/// Both steps last thirty days.
async fn open() -> Shop {
    static CONTENTS: Prepared = Prepared::new();
    let publish = |shop: Shop| async move {
        let tiers: Vec<_> = STEPS.iter().zip(PRICES).map(|(id, price)| json!({ "item": id, "price": price })).collect();
        for (id, price) in STEPS.iter().zip(PRICES) {
            let mut step = step(*id, 3, price, &json!(tiers));
            step["delivery"] = json!({ "expires_after": 30 * DAY });
            shop.write_item(published_item(&step)).await;
        }
        shop.name(2, "user-2").await;
    };
    Shop::copy_of(&CONTENTS, publish).await
}

/// Buys a step; the order, and what it cost.
async fn buy(shop: &Shop, step: u64) -> (InternalId, i64) {
    let order = shop.buy(1, &[(step, 1)], None).await;
    shop.sweep().await;
    let price = shop.order(&order).await.order.price.minor();
    (order, price)
}

#[tokio::test]
async fn a_step_that_has_ended_is_bought_again_at_its_price() {
    let shop = open().await;
    assert_eq!(buy(&shop, LOW).await.1, 300);
    shop.days(1);
    shop.fill(1, &[(LOW, 1)], None).await;
    shop.create(1).await.unwrap_err();
    assert_eq!(buy(&shop, HIGH).await.1, 700, "the difference, as long as the lower step lasts");
    shop.days(29);
    // The lower step has ended, the higher one lasts a day longer.
    shop.fill(1, &[(LOW, 1)], None).await;
    shop.create(1).await.unwrap_err();
    shop.days(1);
    assert_eq!((buy(&shop, LOW).await.1, buy(&shop, HIGH).await.1), (300, 700));
    shop.days(31);
    assert_eq!(buy(&shop, HIGH).await.1, 1_000);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn what_is_returned_of_a_step_that_has_ended_changes_no_price() {
    let shop = open().await;
    let (first, _) = buy(&shop, LOW).await;
    shop.days(31);
    buy(&shop, LOW).await;
    for refunded in [100, 200] {
        shop.refund_there(&first, refunded).await;
        shop.sweep().await;
        assert_audit(&shop.db).await;
    }
    assert_eq!(shop.status(&first).await, OrderStatus::Refunded);
    assert_eq!(buy(&shop, HIGH).await.1, 700);
    assert_audit(&shop.db).await;
}

#[tokio::test]
async fn a_step_can_be_given_again_once_it_has_ended_and_not_before() {
    let shop = open().await;
    shop.fill_with(1, vec![gift(1, LOW, "user-2")], None).await;
    let order = shop.create(1).await.unwrap().order;
    shop.pay(&order).await;
    for days in [0, 29] {
        shop.days(days);
        shop.fill_with(3, vec![gift(1, LOW, "user-2")], None).await;
        let refused = shop.refusal(3).await;
        assert!(refused.contains("recipient"), "{refused}");
    }
    shop.days(1);
    let order = shop.create(3).await.unwrap().order;
    shop.pay(&order).await;
    // What was owned before ends were stored lasts.
    Shop::own_uncounted(&shop.db, 4, LOW).await;
    shop.name(4, "user-4").await;
    shop.fill_with(5, vec![gift(1, LOW, "user-4")], None).await;
    shop.refusal(5).await;
}
