//! The calls about coupons and gift cards on a cart: POST /cart/acceptCoupon, also with a code of each kind;
//! POST /cart/removeCoupon (api.md, "POST /cart/removeCoupon") and POST /cart/removeGiftcard (api.md,
//! "POST /cart/removeGiftcard").

use super::support::{
    NEW, RICH, WORN, amount, ask, cart_of, cents, coupon, gift, outcome, percent, put_cart, put_code, sample_code,
    stored, tell, text, view, with_code,
};
use serde_json::json;
use shared::model::{Cart, CategoryId, Code, Coupon, ItemId, Money, PaymentType};
use std::collections::BTreeSet;
use tests::{NOW, Reply, TestStore};

const ACCEPT: &str = "/cart/acceptCoupon";

async fn accept(store: &TestStore, name: &str, code: &str) -> Reply {
    tell(store, ACCEPT, name, "coupon", code).await
}

/// The coupon and the gift card on a cart.
fn on_cart(cart: &Cart) -> [Option<&str>; 2] {
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
    insta::assert_json_snapshot!("accept_coupon__a_percentage_is_applied", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let cart = stored(&store, RICH).await.unwrap();
    assert_eq!(on_cart(&cart), [Some("eighth"), None]);
    assert_eq!(cart.version, 2);
}

#[tokio::test]
async fn an_amount_is_applied() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!("accept_coupon__an_amount_is_applied", accept(&store, RICH, "THREEBACK").await.json());
}

#[tokio::test]
async fn a_gift_card_is_applied() {
    let store = TestStore::open().await;
    insta::assert_json_snapshot!(
        "accept_coupon__a_gift_card_is_applied",
        accept(&store, RICH, "GLOW-7QXM-2K4D").await.json()
    );
}

#[tokio::test]
async fn a_code_that_is_on_the_cart_already_succeeds_and_writes_nothing() {
    let store = TestStore::open().await;
    let reply = accept(&store, RICH, "hearth10").await;
    insta::assert_json_snapshot!(
        "accept_coupon__a_code_that_is_on_the_cart_already_succeeds_and_writes_nothing",
        reply.json()
    );
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

#[tokio::test]
async fn a_second_code_replaces_the_first_of_its_kind_and_the_message_says_so() {
    let store = TestStore::open().await;
    let [coupon, card, next_coupon, next_card] = ["THREEBACK", "GLOW-7QXM-2K4D", "HEARTH10", "ASH-3NTV-8WRC"];
    for (code, replaced, after) in [
        (coupon, "the coupon that was", [Some(coupon), None]),
        (card, "", [Some(coupon), Some(card)]),
        (next_coupon, "the coupon that was", [Some(next_coupon), Some(card)]),
        (next_card, "the gift card that was", [Some(next_coupon), Some(next_card)]),
    ] {
        let (success, message) = outcome(&accept(&store, RICH, code).await);
        assert!(success && message.contains(replaced), "{message}");
        assert_eq!(message.contains("replaces"), !replaced.is_empty(), "{message}");
        let lower = after.map(|code| code.map(str::to_lowercase));
        assert_eq!(on_cart(&stored(&store, RICH).await.unwrap()), lower.each_ref().map(Option::as_deref));
    }
}

#[tokio::test]
async fn a_gift_card_pays_from_what_the_coupon_leaves_whichever_is_entered_first() {
    let store = TestStore::open().await;
    put_code(&store, &Code::Coupon(coupon("half", percent(5_000)))).await;
    put_code(&store, &Code::Gift(gift("long-enough-card", 10_000))).await;
    for codes in [["half", "long-enough-card"], ["long-enough-card", "half"]] {
        put_cart(&store, &cart_of(NEW, &[(302, 3)])).await;
        let mut sums = Vec::new();
        for code in codes {
            let reply = accept(&store, NEW, code).await.json();
            assert_eq!(reply["success"], true, "{reply}");
            sums.push([reply["amount"].clone(), reply["sum"].clone()]);
        }
        // Of 9.00. What a card takes off is less once the coupon is there.
        let alone = if codes[0] == "half" { [json!(4.5), json!(0)] } else { [json!(0), json!(9)] };
        let both = if codes[0] == "half" { [json!(0), json!(4.5)] } else { [json!(4.5), json!(0)] };
        assert_eq!(sums, [alone, both]);
        let cart = view(&store, NEW).await["cart"].clone();
        let shown = ["coupon_code", "coupon_sum", "gift_code", "gift_sum", "price"].map(|field| cart[field].clone());
        assert_eq!(json!(shown), json!(["half", 4.5, "long-enough-card", 4.5, 0]));
    }
}

#[tokio::test]
async fn a_gift_card_leaves_nothing_or_the_least_amount_to_pay() {
    let store = TestStore::open().await;
    put_cart(&store, &cart_of(NEW, &[(302, 1)])).await;
    // Of 3.00; the least amount is 0.50.
    for (balance, pays) in [(249, 2.49), (250, 2.5), (251, 2.5), (299, 2.5), (300, 3.0), (301, 3.0)] {
        put_code(&store, &Code::Gift(gift("card", balance))).await;
        let reply = accept(&store, NEW, "card").await.json();
        assert_eq!(reply["sum"].as_f64(), Some(pays), "{balance}: {reply}");
    }
    // A coupon leaves less than the least amount: no card makes that more.
    put_code(&store, &Code::Coupon(coupon("most", amount(260)))).await;
    assert!(outcome(&accept(&store, NEW, "most").await).0);
    for (balance, pays) in [(39, 0), (40, 40)] {
        put_code(&store, &Code::Gift(gift("card", balance))).await;
        let reply = accept(&store, NEW, "card").await.json();
        assert_eq!((&reply["success"], cents(&reply["sum"])), (&json!(true), pays), "{balance}: {reply}");
    }
}

#[tokio::test]
async fn a_coupon_that_no_longer_applies_leaves_all_of_the_cart_to_the_card() {
    let store = TestStore::open().await;
    let ended = Code::Coupon(Coupon { ends_at: Some(NOW), ..coupon("ended", percent(5_000)) });
    put_code(&store, &ended).await;
    put_code(&store, &Code::Gift(gift("card", 10_000))).await;
    put_cart(&store, &with_code(cart_of(NEW, &[(302, 1)]), &ended)).await;
    assert_eq!(accept(&store, NEW, "card").await.json()["sum"], 3);
    let cart = view(&store, NEW).await["cart"].clone();
    assert_eq!(
        ["coupon_code", "coupon_sum", "gift_sum"].map(|field| cart[field].clone()),
        [json!(""), json!(0), json!(3)]
    );
}

const REMOVE_COUPON: &str = "/cart/removeCoupon";

#[tokio::test]
async fn the_coupon_is_removed_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, RICH).await.unwrap();
    let reply = ask(&store, REMOVE_COUPON, RICH).await;
    insta::assert_json_snapshot!("remove_coupon", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let after = stored(&store, RICH).await.unwrap();
    assert_eq!(after, Cart { coupon: None, version: before.version + 1, ..before });
    let cart = view(&store, RICH).await["cart"].clone();
    assert_eq!([&cart["coupon_code"], &cart["gift_code"]], [&json!(""), &json!("")]);
}

#[tokio::test]
async fn if_there_is_no_coupon_the_message_says_so_and_nothing_is_written() {
    let store = TestStore::open().await;
    for name in [WORN, NEW] {
        let reply = ask(&store, REMOVE_COUPON, name).await;
        assert_eq!(reply.json(), json!({ "success": false, "message": "No coupon is on your cart." }));
    }
    assert_eq!(store.calls.writes(), 0);
    assert!(stored(&store, WORN).await.unwrap().gift_card.is_some(), "a code of the other kind stays");
}

const REMOVE_GIFTCARD: &str = "/cart/removeGiftcard";

#[tokio::test]
async fn the_gift_card_is_removed_and_nothing_else_changes() {
    let store = TestStore::open().await;
    let before = stored(&store, WORN).await.unwrap();
    let reply = ask(&store, REMOVE_GIFTCARD, WORN).await;
    insta::assert_json_snapshot!("remove_giftcard", reply.json());
    assert_eq!(reply.header("cache-control"), "no-store");
    let after = stored(&store, WORN).await.unwrap();
    assert_eq!(after, Cart { gift_card: None, version: before.version + 1, ..before });
    let cart = view(&store, WORN).await["cart"].clone();
    assert_eq!([&cart["coupon_code"], &cart["gift_code"]], [&json!(""), &json!("")]);
}

#[tokio::test]
async fn if_there_is_no_gift_card_the_message_says_so_and_nothing_is_written() {
    let store = TestStore::open().await;
    for name in [RICH, NEW] {
        let reply = ask(&store, REMOVE_GIFTCARD, name).await;
        assert_eq!(reply.json(), json!({ "success": false, "message": "No gift card is on your cart." }));
    }
    assert_eq!(store.calls.writes(), 0);
    assert!(stored(&store, RICH).await.unwrap().coupon.is_some(), "a code of the other kind stays");
}
