//! A coupon and a gift card on one cart, by POST /cart/acceptCoupon.

use super::accept_coupon::{accept, on_cart};
use super::support::{
    NEW, RICH, amount, cart_of, cents, coupon, gift, outcome, percent, put_cart, put_code, stored, view, with_code,
};
use serde_json::json;
use shared::model::{Code, Coupon};
use tests::{NOW, TestStore};

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
