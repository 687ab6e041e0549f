//! What a checkout takes: with a coupon and a gift card on one cart (rules.md, "Coupons and gift cards"), and at the
//! prices with which it began, whichever way a sale goes (rules.md, "Sales").

use super::support::{act, add, buyer, cart, create, enter, login, refused, status, stored};
use crate::support::{at, republish, sale};
use serde_json::json;
use shared::model::{Code, CodeText};
use shared::shop::codes;
use shared::table::{codec, keys};
use stripe_stand_in::Action;
use tests::{NOW, TestStore};

fn text(code: &str) -> CodeText {
    CodeText::parse(code).unwrap()
}

async fn read(store: &TestStore, code: &str) -> Code {
    codes::take(&mut store.db.batch_get(vec![keys::code(&text(code))]).await.unwrap(), &text(code)).unwrap().unwrap()
}

async fn put(store: &TestStore, code: &serde_json::Value) {
    let code: Code = serde_json::from_value(code.clone()).unwrap();
    crate::support::put(store, codec::encode_live(&keys::code(code.text()), &code).unwrap()).await;
}

async fn put_card(store: &TestStore, balance: i64) {
    put(store, &json!({ "kind": "gift", "id": 901, "code": "a-card-of-ours", "active": true, "balance": balance, "start_balance": balance }))
        .await;
}

/// Half of everything.
async fn put_coupon(store: &TestStore) {
    let discount = json!({ "percentage": 5_000 });
    put(store, &json!({ "kind": "coupon", "id": 902, "code": "half", "active": true, "discount": discount })).await;
}

#[tokio::test]
async fn the_coupon_comes_first_and_the_card_pays_from_what_is_left() {
    let store = TestStore::open().await;
    put_card(&store, 400).await;
    put_coupon(&store).await;
    let token = buyer(&store, "Buyer", 302, 4).await;
    for code in ["a-card-of-ours", "HALF"] {
        assert!(enter(&store, &token, code).await.0);
    }
    // Of 12.00.
    let shown = cart(&store, &token).await;
    assert_eq!(["coupon_sum", "gift_sum", "price"].map(|field| shown[field].clone()), [json!(6), json!(4), json!(2)]);
    let begun = create(&store, &token).await;
    let order = stored(&store, &begun.order).await;
    assert_eq!((order.order.price.minor(), order.order.total().minor()), (200, 600), "a gift card counts as money");
    let card = order.effects.gift_card.unwrap();
    assert_eq!(
        (order.effects.coupon, card.code, card.amount.minor()),
        (Some(text("half")), text("a-card-of-ours"), 400)
    );
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(status(&store, &token, &begun).await.1, "PAID");
    let shown = cart(&store, &token).await;
    assert_eq!([&shown["coupon_code"], &shown["gift_code"]], ["", ""], "both were used");
    assert!(matches!(read(&store, "half").await, Code::Coupon(coupon) if coupon.uses == 1));
    assert!(matches!(read(&store, "a-card-of-ours").await, Code::Gift(card) if card.balance.minor() == 0));
    act(&store, &begun, &Action::Refund(None)).await;
    assert!(matches!(read(&store, "half").await, Code::Coupon(coupon) if coupon.uses == 0));
    assert!(matches!(read(&store, "a-card-of-ours").await, Code::Gift(card) if card.balance.minor() == 400));
}

#[tokio::test]
async fn a_card_that_pays_nothing_stays_on_the_cart_and_is_not_used() {
    let store = TestStore::open().await;
    put_card(&store, 280).await;
    put(
        &store,
        &json!({ "kind": "coupon", "id": 902, "code": "all", "active": true, "discount": { "percentage": 10_000 } }),
    )
    .await;
    let [owner, other] = [login(&store, "Buyer").await, login(&store, "Buyer").await];
    add(&store, &owner, 302, 1).await;
    assert!(enter(&store, &owner, "a-card-of-ours").await.0 && enter(&store, &owner, "all").await.0);
    // Another login's card does not matter if it pays nothing.
    let begun = create(&store, &other).await;
    assert_eq!(stored(&store, &begun.order).await.effects.gift_card, None);
    let shown = cart(&store, &owner).await;
    assert_eq!((&shown["coupon_code"], &shown["items"]), (&json!(""), &json!(0)));
    add(&store, &owner, 302, 1).await;
    assert_eq!(cart(&store, &owner).await["gift_code"], "a-card-of-ours");
}

#[tokio::test]
async fn of_two_codes_the_one_that_no_longer_applies_is_removed() {
    let store = TestStore::open().await;
    for (ended, total) in [("half", "2.00"), ("a-card-of-ours", "3.00")] {
        put_card(&store, 400).await;
        put_coupon(&store).await;
        let token = buyer(&store, &format!("Buyer{}", ended.len()), 302, 2).await;
        assert!(enter(&store, &token, "half").await.0 && enter(&store, &token, "a-card-of-ours").await.0);
        let mut code = serde_json::to_value(read(&store, ended).await).unwrap();
        code["ends_at"] = json!(NOW);
        put(&store, &code).await;
        let message = refused(&store, &token, &json!({})).await;
        assert_eq!(
            message,
            format!("The code on your cart no longer applies and was removed. The new total is {total}.")
        );
        let shown = cart(&store, &token).await;
        let left = ["coupon_code", "gift_code"].map(|field| shown[field].clone());
        assert_eq!(left, if ended == "half" { ["", "a-card-of-ours"] } else { ["half", ""] });
        assert_eq!(format!("{:.2}", shown["price"].as_f64().unwrap()), total);
    }
}

#[tokio::test]
async fn a_cart_with_a_coupon_of_limited_uses_is_offered_no_delayed_methods() {
    let mut store = TestStore::open().await;
    store.delay_payments().await;
    for (name, max_uses, is_offered) in [("One", Some(5), false), ("Two", None, true)] {
        let discount = json!({ "percentage": 5_000 });
        let coupon =
            json!({ "kind": "coupon", "id": 902, "code": name.to_lowercase(), "active": true, "discount": discount });
        let mut coupon: Code = serde_json::from_value(coupon).unwrap();
        if let Code::Coupon(coupon) = &mut coupon {
            coupon.max_uses = max_uses;
        }
        crate::support::put(&store, codec::encode_live(&keys::code(coupon.text()), &coupon).unwrap()).await;
        let token = buyer(&store, name, 302, 4).await;
        assert!(enter(&store, &token, name).await.0);
        let begun = create(&store, &token).await;
        assert_eq!(store.payments.act(&begun.session, &Action::PayDelayed).is_ok(), is_offered, "{name}");
    }
}

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
