//! POST /payments/create: from a cart to a checkout at the provider (rules.md, "Checkout").

use super::support::{act, add, agreed, begin, buyer, call, cart, create, login, refused, status, stored};
use crate::support::{STALE, fill_cart, item, republish, run_for_each_unit, run_on_fifty_servers};
use publish::files::Decimal;
use serde_json::{Value, json};
use shared::model::{ChatId, InternalId, LoginKind, UserId};
use shared::shop::orders;
use shared::table::codec::encode_live;
use shared::table::keys;
use std::time::Duration;
use stripe_stand_in::Action;
use tests::{Dump, NOW, Stable, TestStore};

const PATH: &str = "/payments/create";

fn words(label: &str, state: &str) -> (String, String) {
    (label.to_owned(), state.to_owned())
}

#[tokio::test]
async fn a_cart_is_paid_once_and_leaves_the_cart() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 2).await;
    let reply = call(&store, &token, PATH, &agreed()).await;
    let mut data = reply.data();
    (data["order_id"], data["data"]["url"]) = (json!("[order]"), json!("[url]"));
    insta::assert_json_snapshot!("a_checkout", data);
    let begun = create(&store, &token).await;
    assert_eq!(store.payments.sessions(), std::slice::from_ref(&begun.session), "the same checkout again");
    assert_eq!(status(&store, &token, &begun).await, words("pending", "PENDING"));
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(status(&store, &token, &begun).await, words("success", "PAID"));
    let cart = call(&store, &token, "/cart/get", &json!({})).await.data();
    assert_eq!((&cart["items"], &cart["cart"]["price"]), (&json!([]), &json!(0)));
    assert_eq!(refused(&store, &token, &json!({})).await, "Your cart is empty.");
}

#[tokio::test]
async fn an_order_keeps_the_referral_the_consent_the_login_and_the_chat_account() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    let chat = ChatId::parse("80351110224678912").unwrap();
    let key = keys::chat(&chat);
    let item = encode_live(&key, &json!({ "name": "buyer", "logged_in_at": NOW, "expires_at": NOW + 3_600 })).unwrap();
    tests::put(&store.db, item).await;
    assert_eq!(call(&store, &token, "/cart/add/403", &json!({ "server_id": 1 })).await.status, 200);
    assert_eq!(
        call(&store, &token, "/cart/setReferral", &json!({ "ref_code": "Lantern" })).await.data()["success"],
        true
    );
    let mut body = agreed();
    body["chatId"] = json!(chat);
    let reply = call(&store, &token, PATH, &body).await.data();
    let id = InternalId::new(reply["order_id"].as_str().unwrap_or_else(|| panic!("{reply}")));
    let effects = orders::get(&store.db, &id).await.unwrap().unwrap().effects;
    let referral = effects.referral.unwrap();
    assert_eq!((referral.code.as_str(), referral.owner), ("lantern", UserId::new(2)));
    assert_eq!((effects.consented_at, effects.via), (Some(NOW), Some(LoginKind::Name)));
    assert_eq!(effects.chat, Some(chat));
}

#[tokio::test]
async fn a_paid_checkout_is_found_without_any_webhook_event() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    store.payments.act(&begun.session, &Action::Pay).unwrap();
    assert_eq!(status(&store, &token, &begun).await, words("success", "PAID"));
}

#[tokio::test]
async fn the_provider_is_asked_at_most_every_ten_seconds() {
    let store = TestStore::open().await;
    let (token, begun) = begin(&store).await;
    for _ in 0..3 {
        assert_eq!(status(&store, &token, &begun).await, words("pending", "PENDING"));
    }
    let looks = || store.payments.received().iter().filter(|call| call.route.starts_with("GET ")).count();
    assert_eq!(looks(), 1);
    store.clock.advance(Duration::from_secs(11));
    status(&store, &token, &begun).await;
    assert_eq!(looks(), 2);
}

#[tokio::test]
async fn an_expired_checkout_gives_back_what_it_held() {
    let store = TestStore::open().await;
    republish(&store, |files| item(files, 302).global_limit = Some(3.into())).await;
    // One is sold already.
    let (first, second) = (login(&store, "First").await, login(&store, "Second").await);
    add(&store, &first, 302, 2).await;
    add(&store, &second, 302, 1).await;
    let begun = create(&store, &first).await;
    assert_eq!(refused(&store, &second, &json!({})).await, "\"Marsh Toad\" is sold out.");
    act(&store, &begun, &Action::Expire).await;
    assert_eq!(status(&store, &first, &begun).await, words("cancelled", "CANCELLED"));
    store.clock.advance(STALE);
    create(&store, &second).await;
}

#[tokio::test]
async fn a_changed_cart_ends_the_old_checkout_and_begins_another() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 1).await;
    let old = create(&store, &token).await;
    add(&store, &token, 302, 1).await;
    let new = create(&store, &token).await;
    assert_ne!(old.order, new.order);
    assert_eq!(status(&store, &token, &old).await, words("cancelled", "CANCELLED"));
    store.payments.act(&old.session, &Action::Pay).unwrap_err();
    act(&store, &new, &Action::Pay).await;
    assert_eq!(status(&store, &token, &new).await, words("success", "PAID"));
}

#[tokio::test]
async fn an_any_price_line_without_a_chosen_price_is_paid_at_the_price_that_is_shown() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 601, 2).await;
    let cart = call(&store, &token, "/cart/get", &json!({})).await.data();
    assert_eq!((&cart["items"][0]["price"], &cart["cart"]["price"]), (&json!(5), &json!(10)));
    let begun = create(&store, &token).await;
    assert_eq!(stored(&store, &begun.order).await.order.price.minor(), 1_000);
    let chosen = call(&store, &token, "/cart/changePrice/1", &json!({ "price": "7.50" })).await;
    assert_eq!(chosen.status, 200, "{}", chosen.text);
    let begun = create(&store, &token).await;
    assert_eq!(stored(&store, &begun.order).await.order.price.minor(), 1_500);
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(status(&store, &token, &begun).await, words("success", "PAID"));
}

#[tokio::test]
async fn what_is_shown_of_an_any_price_item_is_at_least_its_minimum_everywhere() {
    let store = TestStore::open().await;
    republish(&store, |files| {
        let firewood = item(files, 601);
        firewood.min_price = Some(Decimal("4.50".to_owned().into()));
        firewood.discount = Some(Decimal("2.00".to_owned().into()));
    })
    .await;
    let token = buyer(&store, "Buyer", 601, 1).await;
    let cart = call(&store, &token, "/cart/get", &json!({})).await.data();
    let category = call(&store, &token, "/categories/get/support", &json!({})).await.data();
    let shown = category["items"].as_array().unwrap().iter().find(|item| item["id"] == 601).unwrap();
    assert_eq!([&cart["items"][0]["price"], &shown["price"], &shown["discount"]], [4.5, 4.5, 0.5]);
    let begun = create(&store, &token).await;
    assert_eq!(stored(&store, &begun.order).await.order.price.minor(), 450);
}

/// An item is sold at the price that the cart shows, and is not sold if the cart shows it as unavailable.
#[tokio::test]
async fn a_step_is_sold_at_the_carts_price_and_only_if_it_can_be_bought() {
    let store = TestStore::open().await;
    let token = store.token("Thornwick");
    fill_cart(&store, 1, &[103, 101, 104]).await;
    for (line, name) in [(1, "Warden"), (2, "Squire")] {
        let message = refused(&store, &token, &json!({})).await;
        assert_eq!(message, format!("\"{name}\" cannot be bought now. Remove it from your cart."));
        assert_eq!(call(&store, &token, &format!("/cart/remove/{line}"), &json!({})).await.status, 200);
    }
    assert_eq!(cart(&store, &token).await["price"], 25);
    let begun = create(&store, &token).await;
    assert_eq!(stored(&store, &begun.order).await.order.price.minor(), 2_500);
}

#[tokio::test]
async fn every_refusal_is_a_sentence() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    assert_eq!(refused(&store, &token, &json!({})).await, "Your cart is empty.");
    add(&store, &token, 302, 1).await;
    for field in ["termsAndConditions", "privacyPolicy"] {
        let message = refused(&store, &token, &json!({ (field): false })).await;
        assert_eq!(message, "Please accept the terms and conditions and the privacy policy.");
    }
    let message = refused(&store, &token, &json!({ "paymentMethod": "Barter" })).await;
    assert_eq!(message, "This payment method is not available.");
}

#[tokio::test]
async fn fields_of_a_wrong_type_are_named() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    let many: serde_json::Map<String, Value> = (0..9).map(|n| (format!("d{n}"), json!("x"))).collect();
    for (field, value) in [
        ("paymentMethod", json!(7)),
        ("paymentMethod", json!(" ")),
        ("termsAndConditions", json!("yes")),
        ("privacyPolicy", Value::Null),
        ("details", Value::Object(many)),
        ("details", json!({ "name": "x".repeat(256) })),
        ("details", json!({ "name": 1 })),
        ("chatId", json!(12)),
    ] {
        let mut body = agreed();
        body[field] = value.clone();
        let reply = call(&store, &token, PATH, &body).await;
        assert_eq!(reply.status, 400, "{field} {value}: {}", reply.text);
        assert!(reply.text.contains(field), "{}", reply.text);
    }
}

/// A refused request begins no checkout, and neither does another request for the open one.
#[tokio::test]
async fn the_eleventh_checkout_of_an_address_is_refused_with_a_time() {
    let store = TestStore::open().await;
    let token = login(&store, "Buyer").await;
    for _ in 0..10 {
        add(&store, &token, 302, 1).await;
        refused(&store, &token, &json!({ "termsAndConditions": false })).await;
        let begun = create(&store, &token).await;
        assert_eq!(create(&store, &token).await.order, begun.order);
    }
    add(&store, &token, 302, 1).await;
    for (wait, seconds, when) in [(0, "600", "10 minutes"), (599, "1", "1 second")] {
        store.clock.advance(Duration::from_secs(wait));
        let reply = call(&store, &token, PATH, &agreed()).await;
        assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (200, seconds));
        assert_eq!(reply.data()["message"], format!("Too many attempts. Please try again in {when}."));
    }
    store.clock.advance(Duration::from_secs(1));
    create(&store, &token).await;
}

#[tokio::test]
async fn a_buyers_mistakes_are_no_checkouts_and_sixty_requests_are_the_most() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 301, 1).await;
    let mistakes = [json!({}), json!({ "privacyPolicy": false }), json!({ "paymentMethod": "Barter" })];
    for place in 0..58 {
        let message = refused(&store, &token, &mistakes[place % 3]).await;
        assert!(!message.starts_with("Too many"), "{place}: {message}");
    }
    call(&store, &token, "/cart/remove/1", &json!({})).await;
    add(&store, &token, 302, 1).await;
    let begun = create(&store, &token).await;
    assert_eq!(create(&store, &token).await.order, begun.order);
    let reply = call(&store, &token, PATH, &agreed()).await;
    assert_eq!(reply.data()["message"], "Too many attempts. Please try again in 10 minutes.");
    assert_eq!(reply.header("retry-after"), "600");
    let revoked = call(&store, &store.token("Grimble"), PATH, &agreed()).await;
    assert_eq!(revoked.status, 401, "the token comes first");
    store.clock.advance(Duration::from_mins(10));
    assert_eq!(create(&store, &token).await.order, begun.order);
}

#[tokio::test]
async fn a_provider_that_is_away_is_503_and_the_same_call_goes_on() {
    let mut store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 1).await;
    let at = store.payments.base_url();
    store.set_payment_provider("http://127.0.0.1:9");
    let reply = call(&store, &token, PATH, &agreed()).await;
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (503, "1"), "{}", reply.text);
    store.set_payment_provider(&at);
    let begun = create(&store, &token).await;
    act(&store, &begun, &Action::Pay).await;
    assert_eq!(status(&store, &token, &begun).await, words("success", "PAID"));
}

/// More commands were published since the line was added.
#[tokio::test]
async fn more_than_an_order_may_have_is_refused_and_nothing_is_held() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 101).await;
    run_for_each_unit(&store).await;
    let at_most = |most: u32| format!("At most {most} of \"Marsh Toad\" can be bought at once.");
    let first = refused(&store, &token, &json!({})).await;
    republish(&store, |files| item(files, 302).most = Some(1.into())).await;
    let second = refused(&store, &token, &json!({})).await;
    assert_eq!([first, second], [at_most(100), at_most(1)]);
    assert!(store.payments.sessions().is_empty());
}

#[tokio::test]
async fn an_order_that_would_run_over_a_thousand_commands_is_refused_and_nothing_is_held() {
    let store = TestStore::open().await;
    let token = buyer(&store, "Buyer", 302, 1).await;
    run_on_fifty_servers(&store, 20).await;
    let before = Dump::read(&store).await;
    let message = "One order can run at most 1000 commands on game servers. Remove something from your cart.";
    assert_eq!(refused(&store, &token, &json!({})).await, message);
    let changes = Dump::read(&store).await.changes(&before, &Stable::all());
    assert_eq!(changes, [] as [String; 0], "only requests are counted");
    assert!(store.payments.sessions().is_empty());
    run_on_fifty_servers(&store, 19).await;
    create(&store, &token).await;
}
