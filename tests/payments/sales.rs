//! A checkout keeps the prices with which it began, whichever way a sale goes (rules.md, "Sales").

use super::support::{act, add, buyer, cart, create, enter, login, status, stored};
use crate::support::{at, republish, sale};
use stripe_stand_in::Action;
use tests::TestStore;

async fn price(store: &TestStore, order: &str) -> i64 {
    stored(store, order).await.order.price.minor()
}

#[tokio::test]
async fn a_checkout_keeps_its_price_when_a_sale_begins_or_ends_and_the_next_has_the_new_one() {
    let store = TestStore::open().await;
    republish(&store, |files| files.sales.content.0 = vec![sale(1, 50, (100, 200))]).await;
    for (before, edge, old, new) in [(99, 100, 300, 150), (199, 200, 150, 300)] {
        let token = login(&store, &format!("Buyer{edge}")).await;
        at(&store, before);
        add(&store, &token, 302, 1).await;
        let begun = create(&store, &token).await;
        at(&store, edge);
        assert_eq!(create(&store, &token).await.order, begun.order, "the cart has not changed");
        act(&store, &begun, &Action::Pay).await;
        assert_eq!(status(&store, &token, &begun).await.1, "PAID");
        assert_eq!(price(&store, &begun.order).await, old);
        add(&store, &token, 302, 1).await;
        assert_eq!(price(&store, &create(&store, &token).await.order).await, new);
    }
}

/// A known trap: units × coupon × sale.
#[tokio::test]
async fn units_coupon_and_sale_add_up_to_the_cent_and_what_the_cart_shows_is_paid() {
    let store = TestStore::open().await;
    for (with_codes, clear, to_pay) in [
        // Three at 4.49 less 33 %: 3.01 each; the coupon takes 12.5 % of 9.03.
        (true, 9.03, 7.9),
        // The sale takes off 4.44, and the coupon would take 1.68.
        (false, 9.03, 9.03),
    ] {
        republish(&store, |files| {
            let mut one = sale(1, 33, (0, 3_000));
            one.with_codes = with_codes;
            files.sales.content.0 = vec![one];
        })
        .await;
        let token = buyer(&store, if with_codes { "Both" } else { "Better" }, 203, 3).await;
        // A coupon that is no better than the sale is not used up for nothing.
        assert_eq!(enter(&store, &token, "EIGHTH").await.0, with_codes);
        let shown = cart(&store, &token).await;
        assert_eq!((shown["clear_price"].as_f64(), shown["price"].as_f64()), (Some(clear), Some(to_pay)), "{shown}");
        let begun = create(&store, &token).await;
        act(&store, &begun, &Action::Pay).await;
        let order = stored(&store, &begun.order).await.order;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::disallowed_types,
            reason = "an amount in the test's own words"
        )]
        let minor = |amount: f64| (amount * 100.0).round() as i64;
        assert_eq!(order.price.minor(), minor(to_pay));
        assert_eq!(order.lines.iter().map(|line| line.total.minor()).sum::<i64>(), order.price.minor());
    }
}
