//! POST /cart/acceptCoupon.

use super::support::{
    NEW, RICH, WORN, cart_of, coupon, gift, outcome, percent, put_cart, put_code, sample_code, stored, tell, text,
};
use serde_json::json;
use shared::model::{Cart, CategoryId, Code, Coupon, ItemId, Money, PaymentType};
use std::collections::BTreeSet;
use tests::{Reply, TestStore};

const PATH: &str = "/cart/acceptCoupon";

pub async fn accept(store: &TestStore, name: &str, code: &str) -> Reply {
    tell(store, PATH, name, "coupon", code).await
}

/// The coupon and the gift card on a cart.
pub fn on_cart(cart: &Cart) -> [Option<&str>; 2] {
    [cart.coupon.as_ref().map(|on| on.code.as_str()), cart.gift_card.as_ref().map(|on| on.code.as_str())]
}

/// Expects a refusal with only `success` and `message`, and no write but the count of an unknown code; returns the
/// message.
async fn refusal(store: &TestStore, name: &str, code: &str) -> String {
    let before = stored(store, name).await;
    store.calls.clear();
    let reply = accept(store, name, code).await;
    let (success, message) = outcome(&reply);
    assert!(!success, "{code}: {}", reply.text);
    assert_eq!(reply.json().as_object().unwrap().len(), 2, "{code}: {}", reply.text);
    let key = shared::table::keys::code(&text(code));
    let is_unknown = store.db.get(&key, true).await.unwrap().is_none();
    assert_eq!(store.calls.writes(), usize::from(is_unknown), "{code}");
    assert_eq!(stored(store, name).await, before, "{code}");
    message
}

#[tokio::test]
async fn a_percentage_is_applied() {
    let store = TestStore::open().await;
    let reply = accept(&store, RICH, "EIGHTH").await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let cart = stored(&store, RICH).await.unwrap();
    assert_eq!(on_cart(&cart), [Some("eighth"), None]);
    assert_eq!(cart.version, 2);
}

#[tokio::test]
async fn an_amount_is_applied() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(accept(&store, RICH, "THREEBACK").await.json());
}

#[tokio::test]
async fn a_gift_card_is_applied() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(accept(&store, RICH, "GLOW-7QXM-2K4D").await.json());
}

#[tokio::test]
async fn a_code_that_is_on_the_cart_already_succeeds_and_writes_nothing() {
    let store = TestStore::open().await;
    let reply = accept(&store, RICH, "hearth10").await;
    insta::assert_json_snapshot!(reply.json());
    assert_eq!(store.calls.writes(), 0);
    let reply = accept(&store, WORN, "WARM-4CFY-6TGS").await;
    assert_eq!([&reply.json()["success"], &reply.json()["sum"]], [&json!(true), &json!(9.49)]);
    assert_eq!(store.calls.writes(), 0);
}

#[tokio::test]
async fn a_code_that_was_issued_again_is_another_code() {
    let store = TestStore::open().await;
    let Code::Coupon(old) = sample_code("HEARTH10") else { unreachable!("a coupon") };
    let new = Code::Coupon(Coupon { id: shared::model::CodeId::new(77), ..old });
    put_code(&store, &new).await;
    assert!(outcome(&accept(&store, RICH, "HEARTH10").await).0);
    assert_eq!(stored(&store, RICH).await.unwrap().coupon.unwrap().id, new.id());
}

#[tokio::test]
async fn every_refusal_has_a_message_of_its_own() {
    let store = TestStore::open().await;
    let refused = [
        (RICH, "NOSUCHCODE"),
        (RICH, "MIDWINTER"),
        (RICH, "ONCEONLY"),
        (RICH, "COLD-5HJP-9ZLB"),
        (NEW, "HEARTH10"),
        (RICH, "DRAGONHOARD"),
        (WORN, "RANKUP"),
    ];
    let mut messages = BTreeSet::new();
    for (name, code) in refused {
        messages.insert(refusal(&store, name, code).await);
    }
    assert_eq!(messages.len(), refused.len(), "{messages:?}");
    for code in ["HEARTH10", "EIGHTH"] {
        assert!(messages.insert(outcome(&accept(&store, RICH, code).await).1), "{code}");
    }
}

#[tokio::test]
async fn codes_that_are_not_valid_now_are_refused_with_one_message() {
    let store = TestStore::open().await;
    let message = refusal(&store, RICH, "MIDWINTER").await;
    for code in ["MIDSUMMER", "STAFFONLY", "DUST-6MWK-1RQX", "SOOT-8VBN-3FDJ"] {
        assert_eq!(refusal(&store, RICH, code).await, message, "{code}");
    }
    let used_up = refusal(&store, RICH, "ONCEONLY").await;
    assert_eq!(refusal(&store, RICH, "FIRSTHUNDRED").await, used_up);
    assert!(outcome(&accept(&store, WORN, "ONCEONLY").await).0, "another user may still use it");
}

#[tokio::test]
async fn a_coupon_for_a_category_covers_its_subcategories_and_no_other_category() {
    let store = TestStore::open().await;
    let mut scoped = coupon("companions", percent(5_000));
    scoped.scope.categories.push(CategoryId::new(3));
    scoped.scope.items.push(ItemId::new(402));
    put_code(&store, &Code::Coupon(scoped)).await;
    put_cart(&store, &cart_of(NEW, &[(302, 1), (311, 2), (402, 1), (401, 1)])).await;
    // Half of 3.00, of 16.00 and of 2.99.
    assert_eq!(accept(&store, NEW, "companions").await.json()["amount"], 11.0);
}

#[tokio::test]
async fn applying_takes_neither_uses_nor_balance() {
    let store = TestStore::open().await;
    for code in ["ASH-3NTV-8WRC", "EIGHTH"] {
        let key = shared::table::keys::code(&text(code));
        let before = store.db.get(&key, true).await.unwrap();
        assert!(outcome(&accept(&store, RICH, code).await).0);
        assert_eq!(store.db.get(&key, true).await.unwrap(), before);
    }
    assert!(store.calls.operations().iter().filter(|name| *name == "UpdateItem").count() == 2);
}

#[tokio::test]
async fn no_code_can_be_used_for_a_subscription() {
    let store = TestStore::open().await;
    let mut scoped = coupon("boosts", percent(1_000));
    scoped.scope.categories.push(CategoryId::new(4));
    put_code(&store, &Code::Coupon(scoped)).await;
    let mut minimum = coupon("much", percent(1_000));
    minimum.minimum = Money::from_minor(800);
    put_code(&store, &Code::Coupon(minimum)).await;
    put_code(&store, &Code::Gift(gift("card", 2_000))).await;
    let mut cart = cart_of(NEW, &[(602, 1)]);
    cart.lines[0].payment_type = PaymentType::Subscription;
    put_cart(&store, &cart).await;
    let sentence = "This code cannot be used for a subscription.";
    for (code, message) in [
        ("EIGHTH", sentence),
        ("card", sentence),
        ("boosts", "This code applies to nothing in your cart."),
        ("much", "This coupon applies to carts of 8.00 or more."),
    ] {
        assert_eq!(refusal(&store, NEW, code).await, message, "{code}");
    }
}
